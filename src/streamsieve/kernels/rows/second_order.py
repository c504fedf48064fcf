"""SOFS for many classes (Wu, Hoi, Mei, Yu 2017, section 3.6): by signal to noise and by confidence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import inlined, kernel
from ..table import probe, remove
from ..types import F32, F64, I32, I64, unsigned
from .batch import MAX_SCORE, Rows, is_mistake, longest_row, set_directions
from .class_steps import (
    BOUND,
    add_to_curve,
    column_of,
    copy_cell,
    exchange,
    fill_cell,
    find_cells,
    find_losses,
    find_pulls,
    gather_outsiders,
    has_shadows,
    key_of,
    learn_cells,
    learn_outsiders,
    limit_of,
    list_steps,
    rounded_up,
    scatter_outsiders,
    spread_of,
    sum_of_key,
)
from .confidence import MIN_SCALE, SCALE
from .curve import Curve, count_mistakes
from .members import (
    COUNTS,
    KEPT,
    MEMBER,
    MEMBER_ID,
    MISTAKES,
    NO_SLOT,
    SLOT_NUMBERS,
    UPDATES,
    insert,
    rebuild_heap,
    slot_for,
    update_heap,
)
from .scaling import kept_length
from .storing import bounded, limited, noise_of, rounded, storable


class SecondOrderState(NamedTuple):
    """What both rules remember.

    ``cells`` has a row per feature: an upper bound of ``sum_c part_of_key``, infinite if not known;
    then per class the precision above its start, ``(1/S - 1) / scale``, and, if outsiders have
    shadow weights, the weight. A first entry with its sign bit set names the slot of a kept feature
    instead, ``-1 - bits``. All zeros is a feature never seen. In fixed memory, where features that
    are not kept share cells, none names a slot.
    """

    cells: F32 = array("features", "cell_width", finite=False)
    member: I64 = MEMBER  # the position of the feature
    member_id: I64 = MEMBER_ID
    key: F64 = array(
        "budget", finite=False
    )  # a lower bound of ``fresh``, by which the heap is ordered
    heap: I32 = SLOT_NUMBERS  # slots in heap order
    heap_position: I32 = SLOT_NUMBERS  # where it is in the heap
    # per slot: what it is kept by; a confidence that only grows is brought up to date when it is
    # needed
    fresh: F64 = array("budget", finite=False)
    weight: F64 = array("budget", "vectors")  # mu
    excess: F32 = array("budget", "vectors", low=0)  # (1/S - 1) / scale
    bias: F64 = array("vectors", 2)  # weight and excess of the intercept
    scale: F64 = SCALE  # what forgetting has left of old precision
    kept_squares: F64 = array(
        1, low=0
    )  # the squared length of the kept part of the rows so far, summed
    counts: I64 = COUNTS  # kept features, mistakes, updates


@kernel
def second_order_update(
    state: SecondOrderState,
    ids: I64,
    table: I32 | None,
    rows: Rows,
    gammas: F64,
    curve: Curve | None,
    decay: float,
    rule: int,
    share: float,
) -> None:
    """Learn the rows of one block, in order.

    Problem  per row, with a_c the directions of the classes (eq. 10 and 11), m = sum_c a_c mu_c.x over the kept
             features, loss = max(0, 1 - m), beta = 1 / (sum_cj a_c^2 S_cj x_j^2 + gamma); if loss >
             0:
                 kept      mu_cj += loss beta a_c S_cj x_j
                 shadows   mu_cj += max(0, 1 - m - sum_c a_c mu_cj x_j) beta a_c S_cj x_j
                 all       1/S_cj += a_c^2 x_j^2 / gamma
             then keep the B features of largest key. Shadow weights take no part in the score: each
             learns as if it were the only one added to the kept ones. With them the key is signal
             to noise, sqrt(sum_c mu_cj^2 / S_cj); without, confidence, -sum_c S_cj (section 3.6),
             and a newcomer starts with the step of its row.
    Given    as in ``confidence_update``; rule: MAX_SCORE or UNIFORM; share: with shadow weights the intercept's input
             is as in ``signal_update``; table: as there, with shadow weights.
    Back     ``state``, ``table`` and ``curve``, changed in place.

    Only the features of the row change their keys and only they compete; of an outsider only the
    classes that step, those with a_c != 0, are visited: O(m (s + log B) + m_K C) per row with s of
    them and m_K kept features. The key of an outsider is a sum over all classes, which is taken
    only if an upper bound of it, kept by difference, is above the smallest key of the kept ones. A
    member whose key falls moves in the heap at once; one whose key rises stays where it is, with a
    bound that is too low, until it comes to the root and an outsider is compared with it.
    """
    cells, weight, excess, bias, counts = (
        state.cells,
        state.weight,
        state.excess,
        state.bias,
        state.counts,
    )
    heap, heap_position, member_id = state.heap, state.heap_position, state.member_id
    key, fresh, kept_squares = state.key, state.fresh, state.kept_squares
    flags = cells.view(np.int32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    n_classes = weight.shape[1]
    shadows = has_shadows(cells, n_classes)
    decays = (
        decay < 1.0 and not shadows
    )  # then what the heap has of a confidence may be too high, and is no bound
    most_steps = 2 if rule == MAX_SCORE else n_classes
    kept = start_part(longest_row(indptr), most_steps)
    out = start_part(longest_row(indptr), most_steps)
    scores, curve_scores, directions = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    new_weight, new_excess = np.empty((1, n_classes)), np.empty((1, n_classes), np.float32)
    steps = Steps(np.empty(n_classes, np.int64), np.empty(n_classes), np.empty(n_classes))
    scale = state.scale[0]
    for row in range(rows.codes.size):
        factor, gamma = rows.factors[row], gammas[row]
        scale *= decay
        if scale < MIN_SCALE:
            rescale(state, scale, shadows)
            scale = 1.0
        scores[:] = 0.0
        squares = 0.0
        n_kept = n_out = unsigned(0)
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            position = unsigned(indices[i])
            flag = (
                flags[position, BOUND]
                if table is None
                else -table[probe(table, member_id, int(indices[i]))]
            )
            x = values[i] * factor
            kept.at[n_kept] = -1 - flag  # into both, since a branch would be mispredicted often
            kept.x[n_kept] = x
            out.at[n_out] = position
            out.x[n_out] = x
            if table is None:
                out.bound[n_out] = cells[position, BOUND]
            n_kept += unsigned(flag < 0)
            n_out += unsigned(flag >= 0)
        if table is not None:
            find_cells(out.at, out.x, n_out, cells.shape[0], out.id)
        for i in range(n_kept):
            slot, x = unsigned(kept.at[i]), kept.x[i]
            squares += x * x
            for c in range(unsigned(n_classes)):
                scores[c] += weight[slot, c] * x
            if curve is not None:
                add_to_curve(weight, slot, x, curve.sums, curve.bucket[slot])
        constant = rows.constants[row]
        if shadows:
            kept_squares[0] = kept_squares[0] * decay + squares
            constant = share * kept_length(
                kept_squares[0], rows.counted[row], rows.mean_squares[row]
            )
        for c in range(n_classes):
            scores[c] += bias[c, 0] * constant
            rows.scores[row, c] = scores[c]
        counts[MISTAKES] += is_mistake(scores, rows.codes[row])
        if curve is not None:
            count_mistakes(curve, bias, constant, rows.codes[row], curve_scores)
        margin = set_directions(scores, rows.codes[row], rule, directions)
        if margin >= 1.0 or gamma == 0.0:
            continue
        counts[UPDATES] += 1
        n_steps = list_steps(directions, steps.of, steps.direction)
        spread = gamma
        for s in range(n_steps):
            c, squared = unsigned(steps.of[s]), steps.direction[s] * steps.direction[s]
            for i in range(n_kept):
                kept.excess[s, i] = excess[unsigned(kept.at[i]), c]
            gather_outsiders(cells, c, out.at, n_out, shadows, out.excess, out.weight, s)
            find_pulls(kept.x, kept.excess, n_kept, scale, kept.pull, s)
            find_pulls(out.x, out.excess, n_out, scale, out.pull, s)
            spread += squared * constant * constant / (1.0 + bias[c, 1] * scale)
            spread += squared * spread_of(kept.x, kept.pull, n_kept, s)
            spread += squared * spread_of(out.x, out.pull, n_out, s)
        loss, noise = 1.0 - margin, noise_of(counts[UPDATES])
        if table is None:
            find_losses(out.x, out.weight, steps.direction, n_steps, n_out, loss, shadows, out.loss)
        else:
            how = steps.of, steps.direction, n_steps
            learn_cells(
                cells, out.at, out.x, n_out, *how, loss, scale, gamma, noise, spread, out.bound
            )
        for s in range(n_steps):
            c, direction = unsigned(steps.of[s]), steps.direction[s]
            step, growth = direction / spread, direction * direction / (gamma * scale)
            steps.step[s] = step
            taken = limited(loss * step)
            bias[c, 0] = bounded(bias[c, 0] + taken * constant / (1.0 + bias[c, 1] * scale))
            bias[c, 1] = storable(bias[c, 1] + constant * constant * growth)
            for i in range(n_kept):
                slot = unsigned(kept.at[i])
                weight[slot, c] += taken * kept.pull[s, i]
                excess[slot, c] = rounded(
                    storable(kept.excess[s, i] + kept.x[i] * kept.x[i] * growth), noise
                )
            if table is None:
                learn_outsiders(
                    *(out.x, out.excess, out.weight, out.pull, out.loss, out.bound, n_out),
                    *(scale, growth, noise, step, shadows, s),
                )
                scatter_outsiders(cells, c, out.at, n_out, shadows, out.excess, out.weight, s)
        if shadows or decays:
            for i in range(n_kept):
                slot = unsigned(kept.at[i])
                fresh[slot] = key_of(weight, excess, slot, scale, shadows)
                if decays or fresh[slot] < key[slot]:
                    key[slot] = fresh[slot]
                    update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
        highest = 0.0
        for i in range(n_out):
            cells[unsigned(out.at[i]), BOUND] = out.bound[i]
            highest = max(highest, out.bound[i])
        if decays or highest > limit_of(heap, key, counts[KEPT], n_classes, scale, shadows):
            compare_outsiders(
                *(state, ids, table, curve, out, n_out, steps, n_steps),
                *(new_weight, new_excess, scale, shadows, decays),
            )
    state.scale[0] = scale


class Part(NamedTuple):
    """The kept features of a row, or the others, one after the other; where there are two axes, per class that steps.

    Apart from the state, so that the loops over them are vectorised.
    """

    at: I64  # slots, or positions, which in fixed memory are cells; there x is with the sign that it has in the cell
    x: F64
    excess: F32
    pull: F64  # S x
    weight: F32  # this and what follows is of outsiders alone: shadow weights,
    loss: F64  # what the loss would have been with this feature,
    bound: F64  # the first entries of their cells,
    id: I64  # in fixed memory their ids


class Steps(NamedTuple):
    """The classes that step."""

    of: I64  # which they are
    direction: F64
    step: F64  # direction times beta


@kernel
def start_part(longest: int, most_steps: int) -> Part:
    shape = most_steps, longest
    return Part(
        np.empty(longest, np.int64),
        np.empty(longest),
        np.empty(shape, np.float32),
        np.empty(shape),
        np.empty(shape, np.float32),
        np.empty(longest),
        np.empty(longest),
        np.empty(longest, np.int64),
    )


@kernel
def compare_outsiders(
    state: SecondOrderState,
    ids: I64,
    table: I32 | None,
    curve: Curve | None,
    out: Part,
    n_out: int,
    steps: Steps,
    n_steps: int,
    new_weight: F64,
    new_excess: F32,
    scale: float,
    shadows: bool,
    decays: bool,
) -> None:
    """Let every outsider of the row, in order, take a free slot, or the root's if its own key is larger.

    ``new_weight`` and ``new_excess`` are scratch, 1 x C: an outsider as a slot would have it.
    """
    cells, weight, excess, fresh, counts = (
        state.cells,
        state.weight,
        state.excess,
        state.fresh,
        state.counts,
    )
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    flags, n_classes = cells.view(np.int32), weight.shape[1]
    changed = decays
    for i in range(n_out):
        if changed:
            freshen_root(
                heap,
                heap_position,
                key,
                fresh,
                member_id,
                counts[KEPT],
                weight,
                excess,
                scale,
                shadows,
            )
            changed = False
        position = unsigned(out.at[i])
        bound = out.bound[i] if table is None else np.float64(cells[position, BOUND])
        if not bound > limit_of(heap, key, counts[KEPT], n_classes, scale, shadows):
            continue
        copy_cell(cells, position, shadows, new_weight, new_excess)
        own = key_of(new_weight, new_excess, unsigned(0), scale, shadows)
        cells[position, BOUND] = rounded_up(sum_of_key(own, n_classes, scale, shadows), 0.0)
        if slot_for(heap, key, counts[KEPT], own) == NO_SLOT:
            continue
        freshen_root(
            heap, heap_position, key, fresh, member_id, counts[KEPT], weight, excess, scale, shadows
        )
        slot = slot_for(heap, key, counts[KEPT], own)
        if slot == NO_SLOT:
            continue
        fresh[slot] = own
        if table is not None:
            leaving = member_id[slot] if slot < counts[KEPT] else -1
            exchange(
                cells, out.id[i], weight, excess, unsigned(slot), leaving, new_weight, new_excess
            )
            if leaving >= 0:
                remove(table, member_id, leaving)
            insert(heap, heap_position, key, member, member_id, counts, slot, out.id[i], ids, own)
            table[probe(table, member_id, out.id[i])] = slot + 1
        else:
            if slot < counts[KEPT]:
                fill_cell(cells, unsigned(member[slot]), shadows, weight, excess, unsigned(slot))
            if not shadows:
                for s in range(n_steps):
                    new_weight[0, steps.of[s]] = bounded(
                        out.loss[i] * steps.step[s] * out.pull[s, i]
                    )
            for c in range(n_classes):
                weight[slot, c] = new_weight[0, c]
                excess[slot, c] = new_excess[0, c]
            flags[position, BOUND] = -1 - slot
            insert(heap, heap_position, key, member, member_id, counts, slot, position, ids, own)
        changed = decays
        if curve is not None:
            curve.bucket[slot] = curve.grid.size - 1


@inlined
def freshen_root(
    heap: I32,
    heap_position: I32,
    key: F64,
    fresh: F64,
    member_id: I64,
    kept: int,
    weight: F64,
    excess: F32,
    scale: float,
    shadows: bool,
) -> None:
    """Bring bounds up to date until that of the root is, which then has the smallest key of all.

    Confidence is brought up to date itself: it may have decayed since its feature was last seen.
    """
    while kept == key.size:  # while there is room nobody must go
        root = heap[0]
        if not shadows:
            fresh[root] = key_of(weight, excess, unsigned(root), scale, shadows)
        if not (
            fresh[root] < key[root] or fresh[root] > key[root]
        ):  # what is not a number ends it, too
            break
        key[root] = fresh[root]
        update_heap(heap, heap_position, key, member_id, kept, root)


@kernel
def rescale(state: SecondOrderState, scale: float, shadows: bool) -> None:
    """Put what forgetting has left into the stored precisions, before the scale becomes too small."""
    flags = state.cells.view(np.int32)
    for position in range(state.cells.shape[0]):
        if flags[position, BOUND] > 0:
            for c in range(state.weight.shape[1]):
                column = column_of(unsigned(c), shadows)
                state.cells[position, column] = storable(state.cells[position, column] * scale)
    for slot in range(state.counts[KEPT]):
        for c in range(state.weight.shape[1]):
            state.excess[slot, c] = storable(state.excess[slot, c] * scale)
        if shadows:
            state.key[slot] *= np.sqrt(scale)
            state.fresh[slot] *= np.sqrt(scale)
    state.bias[:, 1] *= scale
    # keys that have become too small are equal now
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])
