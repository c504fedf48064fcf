"""SOFS for many classes (Wu, Hoi, Mei, Yu 2017, section 3.6): by signal to noise and by confidence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from ..types import F32, F64, I32, I64
from .batch import Rows, is_mistake, longest_row, set_directions
from .confidence import SMALLEST_SCALE, bounded, storable
from .curve import Curve, count_mistakes
from .members import KEPT, MISTAKES, NO_SLOT, UPDATES, insert, rebuild_heap, slot_for, update_heap
from .scaling import kept_length


class SecondOrderState(NamedTuple):
    """What both rules remember.

    ``cells`` has a row per feature: per class the precision above its start, ``(1/S - 1) / scale``; and, if outsiders
    have shadow weights, per class the weight. A first entry with its sign bit set names the slot of a kept feature
    instead, ``-1 - bits``. All zeros is a feature never seen.
    """

    cells: F32  # per feature position: C or 2 C
    member: I64  # per slot: the position of the feature
    member_id: I64
    key: F64  # a lower bound of ``fresh``, by which the heap is ordered
    heap: I32  # slots in heap order
    heap_position: I32  # per slot: where it is in the heap
    fresh: F64  # per slot: what it is kept by
    weight: F64  # slots x C: mu
    excess: F32  # slots x C: (1/S - 1) / scale
    bias: F64  # C x 2: weight and excess of the intercept
    scale: F64  # what forgetting has left of old precision
    kept_squares: F64  # the squared length of the kept part of the rows so far, summed
    counts: I64  # kept features, mistakes, updates


@kernel
def second_order_update(
    state: SecondOrderState,
    ids: I64,
    rows: Rows,
    gammas: F64,
    curve: Curve | None,
    decay: float,
    rule: int,
    share: float,
) -> None:
    """Learn the rows of one block, in order.

    Problem  per row, with a_c the directions of the classes (eq. 10 and 11), m = sum_c a_c mu_c.x over the kept
             features, loss = max(0, 1 - m), beta = 1 / (sum_cj a_c^2 S_cj x_j^2 + gamma); if loss > 0:
                 kept      mu_cj += loss beta a_c S_cj x_j
                 shadows   mu_cj += max(0, 1 - m - sum_c a_c mu_cj x_j) beta a_c S_cj x_j
                 all       1/S_cj += a_c^2 x_j^2 / gamma
             then keep the B features of largest key. Shadow weights take no part in the score: each learns as if it
             were the only one added to the kept ones. With them the key is signal to noise, sqrt(sum_c mu_cj^2 /
             S_cj); without, confidence, -sum_c S_cj (section 3.6), and a newcomer starts with the step of its row.
    Given    as in ``confidence_update``; rule: MAX_SCORE or UNIFORM; share: with shadow weights the intercept's input
             is as in ``signal_update``.
    Back     ``state`` and ``curve``, changed in place.

    Only the features of the row change their keys and only they compete: O(m (C + log B)) per row. A member whose key
    falls moves in the heap at once; one whose key rises stays where it is, with a bound that is too low, until it comes
    to the root and an outsider is compared with it.
    """
    cells, weight, excess, counts = state.cells, state.weight, state.excess, state.counts
    heap, heap_position, member_id = state.heap, state.heap_position, state.member_id
    flags = cells.view(np.int32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    n_classes = weight.shape[1]
    shadows = cells.shape[1] > n_classes
    decays = decay < 1.0 and not shadows  # then what the heap has of a confidence may be too high, and is no bound
    longest = longest_row(indptr)
    covariance = np.empty((longest, n_classes))
    newcomer = np.empty((longest, n_classes))
    keys = np.empty(longest)
    scores, curve_scores, directions = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for row in range(rows.codes.size):
        begin, end = indptr[row], indptr[row + 1]
        factor = rows.factors[row]
        state.scale[0] *= decay
        if state.scale[0] < SMALLEST_SCALE:
            rescale(state, shadows)
        scale = state.scale[0]
        scores[:] = 0.0
        squares = 0.0
        for i in range(begin, end):
            flag = flags[indices[i], 0]
            if flag < 0:
                x = values[i] * factor
                squares += x * x
                for c in range(n_classes):
                    part = weight[-1 - flag, c] * x
                    scores[c] += part
                    if curve is not None:
                        curve.sums[curve.bucket[-1 - flag], c] += part
        constant = rows.constants[row]
        if shadows:
            state.kept_squares[0] = state.kept_squares[0] * decay + squares
            constant = share * kept_length(state.kept_squares[0], rows.counted[row], rows.mean_squares[row])
        for c in range(n_classes):
            scores[c] += state.bias[c, 0] * constant
            rows.scores[row, c] = scores[c]
        if is_mistake(scores, rows.codes[row]):
            counts[MISTAKES] += 1
        if curve is not None:
            count_mistakes(curve, state.bias, constant, rows.codes[row], curve_scores)
        margin = set_directions(scores, rows.codes[row], rule, directions)
        row_gamma = gammas[row]
        if margin >= 1.0 or row_gamma == 0.0:
            continue
        counts[UPDATES] += 1
        spread = 0.0
        for c in range(n_classes):
            variance = 1.0 / (1.0 + state.bias[c, 1] * scale)
            spread += directions[c] * directions[c] * variance * constant * constant
        for i in range(begin, end):
            x = values[i] * factor
            flag = flags[indices[i], 0]
            for c in range(n_classes):
                stored = excess[-1 - flag, c] if flag < 0 else cells[indices[i], c]
                variance = 1.0 / (1.0 + stored * scale)
                covariance[i - begin, c] = variance
                spread += directions[c] * directions[c] * variance * x * x
        beta = 1.0 / (spread + row_gamma)
        growth = 1.0 / (row_gamma * scale)
        for c in range(n_classes):
            variance = 1.0 / (1.0 + state.bias[c, 1] * scale)
            state.bias[c, 0] += (1.0 - margin) * beta * directions[c] * variance * constant
            state.bias[c, 1] = storable(state.bias[c, 1] + directions[c] * directions[c] * constant * constant * growth)
        for i in range(begin, end):
            x = values[i] * factor
            position = indices[i]
            flag = flags[position, 0]
            loss = 1.0 - margin
            if flag < 0:
                slot = -1 - flag
                for c in range(n_classes):
                    weight[slot, c] += loss * beta * directions[c] * covariance[i - begin, c] * x
                    excess[slot, c] = storable(excess[slot, c] + directions[c] * directions[c] * x * x * growth)
                state.fresh[slot] = key_of(weight, slot, excess, slot, shadows, scale)
                if decays or state.fresh[slot] < state.key[slot]:
                    state.key[slot] = state.fresh[slot]
                    update_heap(heap, heap_position, state.key, member_id, counts[KEPT], slot)
                keys[i - begin] = -np.inf
                continue
            for c in range(n_classes):
                newcomer[i - begin, c] = cells[position, n_classes + c] if shadows else 0.0
                loss -= directions[c] * newcomer[i - begin, c] * x
            loss = max(0.0, loss)
            for c in range(n_classes):
                step = loss * beta * directions[c] * covariance[i - begin, c] * x
                newcomer[i - begin, c] = bounded(newcomer[i - begin, c] + step)
                cells[position, c] = storable(cells[position, c] + directions[c] * directions[c] * x * x * growth)
                if shadows:
                    cells[position, n_classes + c] = newcomer[i - begin, c]
            keys[i - begin] = key_of(newcomer, i - begin, cells, position, shadows, scale)
        for i in range(begin, end):
            key = keys[i - begin]
            if key > -np.inf and (decays or slot_for(heap, state.key, counts[KEPT], key) != NO_SLOT):
                freshen_root(state, shadows, scale)
                slot = slot_for(heap, state.key, counts[KEPT], key)
                if slot != NO_SLOT:
                    insert_outsider(state, ids, slot, indices[i], key, newcomer, i - begin, shadows)
                    if curve is not None:
                        curve.bucket[slot] = curve.grid.size - 1


@kernel
def key_of(weights: F64, row: int, precisions: F32, at: int, shadows: bool, scale: float) -> float:
    """Signal to noise, ``sqrt(sum_c mu_c^2 / S_c)`` over the root of the scale; or confidence, ``-sum_c S_c``.

    Dividing by the scale keeps keys of different ages comparable when precision decays.
    """
    total = 0.0
    for c in range(weights.shape[1]):
        if shadows:
            total += weights[row, c] * weights[row, c] * (1.0 / scale + precisions[at, c])
        else:
            total -= 1.0 / (1.0 + precisions[at, c] * scale)
    return float(np.sqrt(total)) if shadows else total


@kernel
def freshen_root(state: SecondOrderState, shadows: bool, scale: float) -> None:
    """Bring bounds up to date until that of the root is, which then has the smallest key of all.

    Confidence is brought up to date itself: it may have decayed since its feature was last seen.
    """
    while state.counts[KEPT] == state.key.size:  # while there is room nobody must go
        root = state.heap[0]
        if not shadows:
            state.fresh[root] = key_of(state.weight, root, state.excess, root, False, scale)
        if state.fresh[root] == state.key[root]:
            break
        state.key[root] = state.fresh[root]
        update_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT], root)


@kernel
def insert_outsider(
    state: SecondOrderState, ids: I64, slot: int, position: int, key: float, weights: F64, row: int, shadows: bool
) -> None:
    """Move the outsider at ``position`` into a slot, and the member that had it, if any, out."""
    cells, n_classes = state.cells, weights.shape[1]
    if slot < state.counts[KEPT]:
        for c in range(n_classes):
            cells[state.member[slot], c] = state.excess[slot, c]
            if shadows:
                cells[state.member[slot], n_classes + c] = bounded(state.weight[slot, c])
    for c in range(n_classes):
        state.weight[slot, c] = weights[row, c]
        state.excess[slot, c] = cells[position, c]
    cells.view(np.int32)[position, 0] = -1 - slot
    state.fresh[slot] = key
    members = state.heap, state.heap_position, state.key, state.member, state.member_id, state.counts
    insert(*members, slot, position, ids, key)


@kernel
def rescale(state: SecondOrderState, shadows: bool) -> None:
    """Put what forgetting has left into the stored precisions, before the scale becomes too small."""
    scale = state.scale[0]
    flags = state.cells.view(np.int32)
    for position in range(state.cells.shape[0]):
        if flags[position, 0] >= 0:
            for c in range(state.weight.shape[1]):
                state.cells[position, c] = state.cells[position, c] * scale
    for slot in range(state.counts[KEPT]):
        for c in range(state.weight.shape[1]):
            state.excess[slot, c] = state.excess[slot, c] * scale
        if shadows:
            state.key[slot] *= np.sqrt(scale)
            state.fresh[slot] *= np.sqrt(scale)
    for c in range(state.weight.shape[1]):
        state.bias[c, 1] *= scale
    state.scale[0] = 1.0
    # keys that have become too small are equal now
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])
