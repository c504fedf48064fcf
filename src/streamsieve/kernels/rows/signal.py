"""SOFS by signal to noise (after Wu, Hoi, Mei, Yu 2017), two classes: eight bytes per feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from ..types import F32, F64, I32, I64, unsigned
from .batch import Rows, longest_row
from .confidence import SMALLEST_SCALE, learn_precisions
from .curve import Curve, count_mistakes
from .members import KEPT, MISTAKES, NO_SLOT, UPDATES, insert, slot_for, update_heap

EXCESS, WEIGHT = 0, 1  # columns of ``cells``


class SignalState(NamedTuple):
    """What SOFS remembers. ``cells`` has a row per feature, everything else an entry per kept feature.

    A row of ``cells`` is the precision above its start, ``(1/S - 1) / scale``, and the shadow weight of a feature that
    is not kept. A first entry with its sign bit set names the slot of a kept one instead, ``-1 - bits``. All zeros is
    a feature never seen.
    """

    cells: F32  # per feature position: excess, weight
    member: I64  # per slot: the position of the feature
    member_id: I64
    key: F64  # a lower bound of ``fresh``, by which the heap is ordered
    heap: I32  # slots in heap order
    heap_position: I32  # per slot: where it is in the heap
    fresh: F64  # per slot: mu^2 / S / scale, what it is kept by
    weight: F64  # mu
    excess: F32
    bias: F64  # 1 x 2: weight and excess of the intercept
    scale: F64  # what forgetting has left of old precision
    counts: I64  # kept features, mistakes, updates


@kernel
def signal_update(state: SignalState, ids: I64, rows: Rows, curve: Curve | None, gamma: float, decay: float) -> None:
    """Learn the rows of one block, in order.

    Problem  per row, with S the diagonal covariance, m = y mu.x over the kept features, loss = max(0, 1 - m) and
             beta = 1 / (x'Sx + gamma); if loss > 0:
                 kept      mu_j += loss beta y S_jj x_j
                 shadows   mu_j += max(0, 1 - m - y mu_j x_j) beta y S_jj x_j
                 all       1/S_jj += x_j^2 / gamma
             then keep the B features of largest |mu_j| / sqrt(S_jj). Shadow weights take no part in the score: each
             learns as if it were the only one added to the kept ones.
    Given    as in ``confidence_update``.
    Back     ``state`` and ``curve``, changed in place.

    Only the features of the row change their keys and only they compete: O(m log B) per row. A member whose key
    falls moves in the heap at once; one whose key rises stays where it is, with a bound that is too low, until it comes
    to the root and an outsider is compared with it. Keys are squared, and divided by the scale so that those of
    different ages compare.
    """
    cells, weight, excess, counts = state.cells, state.weight, state.excess, state.counts
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member_id, fresh = state.member_id, state.fresh
    flags = cells.view(np.int32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    longest = longest_row(indptr)
    before, grown = np.empty(longest, np.float32), np.empty(longest, np.float32)
    pull = np.empty(longest)
    scores = np.empty(1)
    bias_weight, bias_excess, scale = state.bias[0, 0], state.bias[0, 1], state.scale[0]
    for row in range(rows.codes.size):
        begin, end = unsigned(indptr[row]), unsigned(indptr[row + 1])
        sign = 1.0 if rows.codes[row] == 1 else -1.0
        constant = rows.constants[row]
        scale *= decay
        if scale < SMALLEST_SCALE:
            rescale(state, scale)
            bias_excess *= scale
            scale = 1.0
        score = bias_weight * constant
        for i in range(begin, end):
            position = unsigned(indices[i])
            flag = flags[position, EXCESS]
            if flag < 0:
                slot = unsigned(-1 - flag)
                score += weight[slot] * values[i]
                if curve is not None:
                    curve.sums[curve.bucket[slot], 0] += weight[slot] * values[i]
                before[i - begin] = excess[slot]
            else:
                before[i - begin] = cells[position, EXCESS]
        margin = sign * score
        if margin <= 0.0:
            counts[MISTAKES] += 1
        if curve is not None:
            state.bias[0, 0] = bias_weight
            count_mistakes(curve, state.bias, constant, rows.codes[row], scores)
        if margin >= 1.0:
            continue
        counts[UPDATES] += 1
        row_gamma = gamma / rows.weights[row]
        growth = 1.0 / (row_gamma * scale)
        bias_variance = 1.0 / (1.0 + bias_excess * scale)
        spread = bias_variance * constant * constant
        spread += learn_precisions(before, scale, growth, values, begin, end - begin, pull, grown)
        beta = sign / (spread + row_gamma)
        start = 1.0 / scale
        bias_weight += (1.0 - margin) * beta * bias_variance * constant
        bias_excess += constant * constant * growth
        best = -1.0
        for i in range(begin, end):
            x = np.float64(values[i])
            position = unsigned(indices[i])
            flag = flags[position, EXCESS]
            step = beta * pull[i - begin]
            if flag < 0:
                slot = unsigned(-1 - flag)
                weight[slot] += (1.0 - margin) * step
                excess[slot] = grown[i - begin]
                fresh[slot] = weight[slot] * weight[slot] * (start + excess[slot])
                if fresh[slot] < key[slot]:
                    key[slot] = fresh[slot]
                    update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
            else:
                shadow = np.float64(cells[position, WEIGHT])
                cells[position, WEIGHT] = shadow + max(0.0, 1.0 - margin - sign * shadow * x) * step
                cells[position, EXCESS] = grown[i - begin]
                best = max(best, key_of(cells, position, start))
        if slot_for(heap, key, counts[KEPT], best) != NO_SLOT:
            for i in range(begin, end):
                if flags[indices[i], EXCESS] >= 0:
                    value = key_of(cells, indices[i], start)
                    if slot_for(heap, key, counts[KEPT], value) != NO_SLOT:
                        insert_if_larger(state, ids, curve, indices[i], value)
    state.bias[0, 0], state.bias[0, 1], state.scale[0] = bias_weight, bias_excess, scale


@kernel
def key_of(cells: F32, position: int, start: float) -> float:
    """The squared signal to noise of an outsider, over the scale, of which ``start`` is the inverse."""
    shadow = np.float64(cells[position, WEIGHT])
    return float(shadow * shadow * (start + cells[position, EXCESS]))


@kernel
def insert_if_larger(state: SignalState, ids: I64, curve: Curve | None, position: int, value: float) -> None:
    """Let the outsider at ``position`` take a free slot, or the root's if its own key, ``value``, is larger."""
    cells, counts, fresh = state.cells, state.counts, state.fresh
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    slot = slot_for(heap, key, counts[KEPT], value)
    while slot != NO_SLOT and slot < counts[KEPT] and key[slot] != fresh[slot]:
        key[slot] = fresh[slot]
        update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
        slot = slot_for(heap, key, counts[KEPT], value)
    if slot == NO_SLOT:
        return
    if slot < counts[KEPT]:
        cells[member[slot], EXCESS] = state.excess[slot]
        cells[member[slot], WEIGHT] = state.weight[slot]
    state.weight[slot] = cells[position, WEIGHT]
    state.excess[slot] = cells[position, EXCESS]
    cells.view(np.int32)[position, EXCESS] = -1 - slot
    fresh[slot] = value
    insert(heap, heap_position, key, member, member_id, counts, slot, position, ids, value)
    if curve is not None:
        curve.bucket[slot] = curve.grid.size - 1


@kernel
def rescale(state: SignalState, scale: float) -> None:
    """Put what forgetting has left into the stored precisions, before the scale becomes too small."""
    flags = state.cells.view(np.int32)
    for position in range(state.cells.shape[0]):
        if flags[position, EXCESS] > 0:
            state.cells[position, EXCESS] = state.cells[position, EXCESS] * scale
    for slot in range(state.counts[KEPT]):
        state.excess[slot] = state.excess[slot] * scale
        state.key[slot] *= scale
        state.fresh[slot] *= scale
