"""Learn SOFS for many classes by signal to noise or by confidence.

Wu, Hoi, Mei, Yu 2017, section 3.6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import inlined, kernel
from ..table import probe, remove
from ..types import F32, F64, I32, I64, unsigned
from .batch import MAX_SCORE, Rows, is_mistake, max_row_length, set_directions
from .class_steps import (
    BOUND,
    column_of,
    compute_losses,
    compute_variance_x,
    copy_cell,
    entry_bound,
    fill_cell,
    gather_outsiders,
    key_of,
    learn_cells,
    learn_outsiders,
    list_steps,
    locate_cells,
    round_up,
    scatter_outsiders,
    spread_of,
    sum_of_key,
    swap_features,
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
from .storing import clip_precision, clip_step, clip_to_float32, noise_of, rounded


class SecondOrderState(NamedTuple):
    """The state of SOFS for many classes, by both criteria.

    ``cells`` has one row per feature: an upper bound of ``sum_c part_of_key``, infinite if unknown;
    then per class the precision above its start, ``(1/S - 1) / scale``, and, if outsiders have
    shadow weights, the weight. If the sign bit of the first entry is set, it gives the slot of a
    kept feature instead, ``-1 - bits``. A row of zeros is a feature never seen. In fixed memory,
    where features that are not kept share cells, no cell gives a slot.
    """

    cells: F32 = array("features", "cell_width", finite=False)
    member: I64 = MEMBER  # the position of the feature
    member_id: I64 = MEMBER_ID
    # a lower bound of ``current_key``, by which the heap is ordered
    key: F64 = array("budget", finite=False)
    heap: I32 = SLOT_NUMBERS  # slots in heap order
    heap_position: I32 = SLOT_NUMBERS  # where each slot is in the heap
    # the current key; a confidence that only grows is updated when it is needed
    current_key: F64 = array("budget", finite=False)
    weight: F64 = array("budget", "vectors")  # mu
    excess: F32 = array("budget", "vectors", low=0)  # (1/S - 1) / scale
    bias: F64 = array("vectors", 2)  # weight and excess of the intercept
    scale: F64 = SCALE  # the remaining share of old precision after forgetting
    kept_squares: F64 = array(1, low=0)  # the sum of squared lengths of the kept parts of rows
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

    Problem  per row, with a_c the directions of the classes (eq. 10 and 11), m = sum_c a_c mu_c.x
             over the kept features, loss = max(0, 1 - m), beta = 1 / (sum_cj a_c^2 S_cj x_j^2 +
             gamma); if loss > 0:
                 kept      mu_cj += loss beta a_c S_cj x_j
                 shadows   mu_cj += max(0, 1 - m - sum_c a_c mu_cj x_j) beta a_c S_cj x_j
                 all       1/S_cj += a_c^2 x_j^2 / gamma
             then keep the B features of largest key. Shadow weights take no part in the score: each
             learns as if it were the only one added to the kept ones. With them the key is signal
             to noise, sqrt(sum_c mu_cj^2 / S_cj); without, confidence, -sum_c S_cj (section 3.6),
             and a feature that enters starts with the step of its row.
    Given    as in ``confidence_update``; rule: MAX_SCORE or UNIFORM; share and table: with shadow
             weights, as in ``signal_update``.
    Back     ``state``, ``table`` and ``curve``, changed in place.

    Only the features of the row change their keys and only they compete. Of an outsider only the s
    classes that step, those with a_c != 0, are visited: O(m (s + log B) + m_K C) per row with m_K
    kept features. The key of an outsider is a sum over all classes; it is computed only if an upper
    bound of it, updated by differences, is above the smallest key of the kept features. A member
    whose key falls moves in the heap at once; one whose key rises stays where it is, with a bound
    that is too low, until it reaches the root and an outsider is compared with it.
    """
    cells, weight, excess, bias, counts = (
        state.cells,
        state.weight,
        state.excess,
        state.bias,
        state.counts,
    )
    heap, heap_position, member_id = state.heap, state.heap_position, state.member_id
    key, current_key, kept_squares = state.key, state.current_key, state.kept_squares
    flags = cells.view(np.int32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    n_classes = weight.shape[1]
    shadows = cells.shape[1] > 1 + n_classes  # True if cells hold the weights of outsiders
    # then a confidence in the heap may be too high, and is not a lower bound
    keys_decay = decay < 1.0 and not shadows
    max_steps = 2 if rule == MAX_SCORE else n_classes
    kept = make_row_features(max_row_length(indptr), max_steps)
    out = make_row_features(max_row_length(indptr), max_steps)
    scores, curve_scores, directions = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    new_weight, new_excess = np.empty((1, n_classes)), np.empty((1, n_classes), np.float32)
    steps = ClassSteps(np.empty(n_classes, np.int64), np.empty(n_classes), np.empty(n_classes))
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
            # into both arrays, since a branch would often be mispredicted
            kept.place[n_kept] = -1 - flag
            kept.x[n_kept] = x
            out.place[n_out] = position
            out.x[n_out] = x
            if table is None:
                out.bound[n_out] = cells[position, BOUND]
            n_kept += unsigned(flag < 0)
            n_out += unsigned(flag >= 0)
        if table is not None:
            locate_cells(out.place, out.x, n_out, cells.shape[0], out.ids)
        for i in range(n_kept):
            slot, x = unsigned(kept.place[i]), kept.x[i]
            squares += x * x
            for c in range(unsigned(n_classes)):
                scores[c] += weight[slot, c] * x
            if curve is not None:
                for c in range(unsigned(n_classes)):
                    curve.sums[curve.bucket[slot], c] += weight[slot, c] * x
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
        n_steps = list_steps(directions, steps.classes, steps.direction)
        spread = gamma
        for s in range(n_steps):
            c, squared = unsigned(steps.classes[s]), steps.direction[s] * steps.direction[s]
            for i in range(n_kept):
                kept.excess[s, i] = excess[unsigned(kept.place[i]), c]
            gather_outsiders(cells, c, out.place, n_out, shadows, out.excess, out.weight, s)
            compute_variance_x(kept.x, kept.excess, n_kept, scale, kept.variance_x, s)
            compute_variance_x(out.x, out.excess, n_out, scale, out.variance_x, s)
            spread += squared * constant * constant / (1.0 + bias[c, 1] * scale)
            spread += squared * spread_of(kept.x, kept.variance_x, n_kept, s)
            spread += squared * spread_of(out.x, out.variance_x, n_out, s)
        loss, noise = 1.0 - margin, noise_of(counts[UPDATES])
        if table is None:
            compute_losses(
                out.x, out.weight, steps.direction, n_steps, n_out, loss, shadows, out.loss
            )
        else:
            learn_cells(
                cells,
                out.place,
                out.x,
                n_out,
                steps.classes,
                steps.direction,
                n_steps,
                loss,
                scale,
                gamma,
                noise,
                spread,
                out.bound,
            )
        for s in range(n_steps):
            c, direction = unsigned(steps.classes[s]), steps.direction[s]
            step, growth = direction / spread, direction * direction / (gamma * scale)
            steps.step[s] = step
            kept_step = clip_step(loss * step)
            bias[c, 0] = clip_to_float32(
                bias[c, 0] + kept_step * constant / (1.0 + bias[c, 1] * scale)
            )
            bias[c, 1] = clip_precision(bias[c, 1] + constant * constant * growth)
            for i in range(n_kept):
                slot = unsigned(kept.place[i])
                weight[slot, c] += kept_step * kept.variance_x[s, i]
                excess[slot, c] = rounded(
                    clip_precision(kept.excess[s, i] + kept.x[i] * kept.x[i] * growth), noise
                )
            if table is None:
                learn_outsiders(
                    *(out.x, out.excess, out.weight, out.variance_x, out.loss, out.bound, n_out),
                    *(scale, growth, noise, step, shadows, s),
                )
                scatter_outsiders(cells, c, out.place, n_out, shadows, out.excess, out.weight, s)
        if shadows or keys_decay:
            for i in range(n_kept):
                slot = unsigned(kept.place[i])
                current_key[slot] = key_of(weight, excess, slot, scale, shadows)
                if keys_decay or current_key[slot] < key[slot]:
                    key[slot] = current_key[slot]
                    update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
        max_bound = 0.0
        for i in range(n_out):
            cells[unsigned(out.place[i]), BOUND] = out.bound[i]
            max_bound = max(max_bound, out.bound[i])
        if keys_decay or max_bound > entry_bound(
            heap, key, counts[KEPT], n_classes, scale, shadows
        ):
            compare_outsiders(
                *(state, ids, table, curve, out, n_out, steps, n_steps),
                *(new_weight, new_excess, scale, shadows, keys_decay),
            )
    state.scale[0] = scale


class RowFeatures(NamedTuple):
    """The kept features of a row or its outsiders; a first axis, if any, has the classes that step.

    These arrays are separate from the state so that the loops over them are vectorised.
    """

    place: I64  # slots of kept features, positions of outsiders, in fixed memory cells
    x: F64  # in fixed memory with the sign of the outsider in its cell
    excess: F32
    variance_x: F64  # S x
    weight: F32  # of outsiders, as all that follow: shadow weights
    loss: F64  # the loss if this feature were added
    bound: F64  # the first entries of their cells
    ids: I64  # in fixed memory their ids


class ClassSteps(NamedTuple):
    """The classes that step."""

    classes: I64
    direction: F64
    step: F64  # direction times beta


@kernel
def make_row_features(max_length: int, max_steps: int) -> RowFeatures:
    """Return arrays for the features of the longest row, not filled in."""
    shape = max_steps, max_length
    return RowFeatures(
        np.empty(max_length, np.int64),
        np.empty(max_length),
        np.empty(shape, np.float32),
        np.empty(shape),
        np.empty(shape, np.float32),
        np.empty(max_length),
        np.empty(max_length),
        np.empty(max_length, np.int64),
    )


@kernel
def compare_outsiders(
    state: SecondOrderState,
    ids: I64,
    table: I32 | None,
    curve: Curve | None,
    out: RowFeatures,
    n_out: int,
    steps: ClassSteps,
    n_steps: int,
    new_weight: F64,
    new_excess: F32,
    scale: float,
    shadows: bool,
    keys_decay: bool,
) -> None:
    """Give each outsider of the row, in order, a free slot, or the root's if its key is larger.

    ``new_weight`` and ``new_excess`` are scratch, 1 x C: an outsider in the form of a slot.
    """
    cells, weight, excess, current_key, counts = (
        state.cells,
        state.weight,
        state.excess,
        state.current_key,
        state.counts,
    )
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    flags, n_classes = cells.view(np.int32), weight.shape[1]
    has_changed = keys_decay
    for i in range(n_out):
        if has_changed:
            refresh_root(
                heap,
                heap_position,
                key,
                current_key,
                member_id,
                counts[KEPT],
                weight,
                excess,
                scale,
                shadows,
            )
            has_changed = False
        position = unsigned(out.place[i])
        bound = out.bound[i] if table is None else np.float64(cells[position, BOUND])
        if not bound > entry_bound(heap, key, counts[KEPT], n_classes, scale, shadows):
            continue
        copy_cell(cells, position, shadows, new_weight, new_excess)
        new_key = key_of(new_weight, new_excess, unsigned(0), scale, shadows)
        cells[position, BOUND] = round_up(sum_of_key(new_key, n_classes, scale, shadows), 0.0)
        if slot_for(heap, key, counts[KEPT], new_key) == NO_SLOT:
            continue
        refresh_root(
            heap,
            heap_position,
            key,
            current_key,
            member_id,
            counts[KEPT],
            weight,
            excess,
            scale,
            shadows,
        )
        slot = slot_for(heap, key, counts[KEPT], new_key)
        if slot == NO_SLOT:
            continue
        current_key[slot] = new_key
        if table is not None:
            leaving = member_id[slot] if slot < counts[KEPT] else -1
            swap_features(
                cells, out.ids[i], weight, excess, unsigned(slot), leaving, new_weight, new_excess
            )
            if leaving >= 0:
                remove(table, member_id, leaving)
            insert(
                heap, heap_position, key, member, member_id, counts, slot, out.ids[i], ids, new_key
            )
            table[probe(table, member_id, out.ids[i])] = slot + 1
        else:
            if slot < counts[KEPT]:
                fill_cell(cells, unsigned(member[slot]), shadows, weight, excess, unsigned(slot))
            if not shadows:
                for s in range(n_steps):
                    new_weight[0, steps.classes[s]] = clip_to_float32(
                        out.loss[i] * steps.step[s] * out.variance_x[s, i]
                    )
            for c in range(n_classes):
                weight[slot, c] = new_weight[0, c]
                excess[slot, c] = new_excess[0, c]
            flags[position, BOUND] = -1 - slot
            insert(
                heap, heap_position, key, member, member_id, counts, slot, position, ids, new_key
            )
        has_changed = keys_decay
        if curve is not None:
            curve.bucket[slot] = curve.grid.size - 1


@inlined
def refresh_root(
    heap: I32,
    heap_position: I32,
    key: F64,
    current_key: F64,
    member_id: I64,
    kept: int,
    weight: F64,
    excess: F32,
    scale: float,
    shadows: bool,
) -> None:
    """Update bounds until that of the root is exact; the root then has the smallest key of all.

    The confidence itself is updated, too: it may have decayed since its feature was last seen.
    """
    while kept == key.size:  # while there are free slots no member has to leave
        root = heap[0]
        if not shadows:
            current_key[root] = key_of(weight, excess, unsigned(root), scale, shadows)
        # a NaN ends the loop, too
        if not (current_key[root] < key[root] or current_key[root] > key[root]):
            break
        key[root] = current_key[root]
        update_heap(heap, heap_position, key, member_id, kept, root)


@kernel
def rescale(state: SecondOrderState, scale: float, shadows: bool) -> None:
    """Multiply the scale into the stored precisions before it becomes too small."""
    flags = state.cells.view(np.int32)
    for position in range(state.cells.shape[0]):
        if flags[position, BOUND] > 0:
            for c in range(state.weight.shape[1]):
                column = column_of(unsigned(c), shadows)
                state.cells[position, column] = clip_precision(
                    state.cells[position, column] * scale
                )
    for slot in range(state.counts[KEPT]):
        for c in range(state.weight.shape[1]):
            state.excess[slot, c] = clip_precision(state.excess[slot, c] * scale)
        if shadows:
            state.key[slot] *= np.sqrt(scale)
            state.current_key[slot] *= np.sqrt(scale)
    state.bias[:, 1] *= scale
    # keys that are too small have become equal
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])
