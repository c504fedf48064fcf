"""Learn SOFS by signal to noise for two classes or numbers, with eight bytes per feature.

After Wu, Hoi, Mei, Yu 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import inlined, inlined_summing, kernel, summing
from ..table import probe, remove
from ..types import F32, F64, I32, I64, unsigned
from .batch import Rows, max_row_length
from .confidence import MIN_SCALE, SCALE
from .curve import Curve, count_mistakes, count_squares
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
    slot_by_bounds,
    slot_for,
    update_heap,
)
from .scaling import kept_length
from .storing import (
    NEAREST,
    cell_of,
    clip_precision,
    clip_step,
    clip_to_float32,
    merge_into_cell,
    noise_of,
    rounded,
)

EXCESS, WEIGHT = 0, 1  # columns of ``cells``
SIZE, SEEN = 0, 1  # entries of ``usual``
QUANTILE = 0.9  # of the absolute errors: their scale
MAX_ERROR_RATIO = 3.0  # errors are clipped to so many times their scale
MIN_RATE = 0.02  # smallest step of the logarithm of the scale
MAX_ERROR = 1e308  # an error that is not clipped


class SignalState(NamedTuple):
    """The state of SOFS: ``cells`` has one row per feature, other arrays one per kept feature.

    A row of ``cells`` has the precision above its start, ``(1/S - 1) / scale``, made by
    ``clip_precision``, and the shadow weight of a feature that is not kept. If the sign bit of the
    first entry is set, it gives the slot of a kept feature instead, ``-1 - bits``. A row of zeros
    is a feature never seen. In fixed memory, where features that are not kept share cells, no cell
    gives a slot.
    """

    # excess, weight; in fixed memory one row per cell
    cells: F32 = array("features", 2, finite=False)
    member: I64 = MEMBER  # the position of the feature
    member_id: I64 = MEMBER_ID
    # a lower bound of ``current_key``, by which the heap is ordered
    key: F64 = array("budget", finite=False)
    heap: I32 = SLOT_NUMBERS  # slots in heap order
    heap_position: I32 = SLOT_NUMBERS  # where each slot is in the heap
    current_key: F64 = array("budget", finite=False)  # the current key, mu^2 / S / scale
    weight: F64 = array("budget")  # mu
    excess: F32 = array("budget", low=0)
    bias: F64 = array(1, 2)  # weight and excess of the intercept
    scale: F64 = SCALE  # the remaining share of old precision after forgetting
    kept_squares: F64 = array(1, low=0)  # the sum of squared lengths of the kept parts of rows
    # if large errors are clipped: the scale of errors, and the rows it was estimated from
    usual: F64 = array(2, low=0)
    counts: I64 = COUNTS  # kept features, mistakes, updates


@kernel
def signal_update(
    state: SignalState,
    ids: I64,
    table: I32 | None,
    rows: Rows,
    gammas: F64,
    curve: Curve | None,
    decay: float,
    share: float,
    first_size: float,
) -> None:
    """Learn the rows of one block, in order.

    Problem  per row, with K the kept features, S the diagonal covariance, e = y - mu.x over K and
             the intercept, and gamma that of the row; classes are y = 1 and y = -1, and a row is
             learned only if y e > 0 (hinge loss):
                 D = gamma + S_b c^2 + sum over K of S_jj x_j^2
                 kept      mu_j += e S_jj x_j / D
                 shadows   mu_j += e_j S_jj x_j / (D + S_jj x_j^2)
                           with e_j = e - mu_j x_j, or 0 for classes if y e_j < 0
                 all       1/S_jj += x_j^2 / gamma
             then keep the B features of largest |mu_j| / sqrt(S_jj). Shadow weights take no part in
             the score: each learns as if it were the only one added to the kept ones. The intercept
             is a kept feature b outside the budget; its input c is ``share`` times the root mean
             square length of the kept part of the rows so far. For numbers with outliers (Huber), e
             and e_j are clipped at 3 Q, and the growth of precision is multiplied by
             min(1, 3 Q / |e|). Q is a running 0.9 quantile of |e|, updated after the row; while it
             is 0 nothing is clipped.
    Given    as in ``confidence_update``; ``rows.codes`` or, for numbers, ``rows.numbers``;
             first_size: Q before the first row, or below 0 if nothing is clipped; table: None, or
             in fixed memory the table of kept features (see ``storing``), where positions are ids.
    Back     ``state``, ``table`` and ``curve``, changed in place.

    In fixed memory, features of a row that share a cell step one after the other, lowest id first,
    and the resulting cell is compared with the kept features. A feature that enters takes over the
    contents of its cell, which is empty afterwards; otherwise the other features in the cell would
    enter next with the same weight.

    Only the features of the row change their keys and only they compete: O(m log B) per row. A
    member whose key falls moves in the heap at once; one whose key rises stays where it is, with a
    bound that is too low, until it reaches the root and an outsider is compared with it. Keys are
    squared, and divided by the scale so that keys of different ages are comparable.
    """
    cells, weight, excess, counts = state.cells, state.weight, state.excess, state.counts
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member_id, current_key = state.member_id, state.current_key
    flags = cells.view(np.int32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    max_length = max_row_length(indptr)
    kept = make_row_features(max_length)
    out = make_row_features(max_length)
    scores = np.empty(1)
    is_numeric = rows.numbers.size > 0
    bias_weight, bias_excess, scale = state.bias[0, 0], state.bias[0, 1], state.scale[0]
    kept_squares = state.kept_squares[0]
    for row in range(rows.factors.size):
        begin, end = unsigned(indptr[row]), unsigned(indptr[row + 1])
        factor, gamma = rows.factors[row], gammas[row]
        scale *= decay
        if scale < MIN_SCALE:
            rescale(state, scale)
            bias_excess *= scale
            scale = 1.0
        score = squares = 0.0
        n_kept = n_out = unsigned(0)
        for i in range(begin, end):
            position = unsigned(indices[i])
            flag = (
                flags[position, EXCESS]
                if table is None
                else -table[probe(table, member_id, int(indices[i]))]
            )
            x = values[i] * factor
            if flag < 0:
                slot = unsigned(-1 - flag)
                term = weight[slot] * x
                score += term
                squares += x * x
                if curve is not None:
                    curve.sums[curve.bucket[slot], 0] += term
                kept.place[n_kept] = slot
                kept.x[n_kept] = x
                kept.excess[n_kept] = excess[slot]
                n_kept += unsigned(1)
            else:
                out.place[n_out] = position
                out.x[n_out] = x
                if table is None:
                    out.excess[n_out] = cells[position, EXCESS]
                    out.weight[n_out] = cells[position, WEIGHT]
                n_out += unsigned(1)
        kept_squares = kept_squares * decay + squares
        constant = share * kept_length(kept_squares, rows.counted[row], rows.mean_squares[row])
        score += bias_weight * constant
        rows.scores[row, 0] = score
        low, high = -MAX_ERROR, MAX_ERROR
        if is_numeric:
            error = rows.numbers[row] - score
            if curve is not None:
                count_squares(curve, bias_weight * constant, rows.numbers[row])
        else:
            sign = 1.0 if rows.codes[row] == 1 else -1.0
            error = sign - score
            counts[MISTAKES] += sign * score <= 0.0
            if curve is not None:
                state.bias[0, 0] = bias_weight
                count_mistakes(curve, state.bias, constant, rows.codes[row], scores)
            if sign * error <= 0.0:
                continue
            low, high = min(0.0, sign * MAX_ERROR), max(0.0, sign * MAX_ERROR)
        if gamma == 0.0:
            continue
        counts[UPDATES] += 1
        growth, inverse_scale = 1.0 / (gamma * scale), 1.0 / scale
        clipped_error = error
        if first_size >= 0.0:
            if state.usual[SEEN] == 0.0:
                state.usual[SIZE] = first_size
            if state.usual[SIZE] > 0.0:
                high = MAX_ERROR_RATIO * state.usual[SIZE]
                low = -high
                if abs(error) > high:
                    growth *= high / abs(error)
                clipped_error = min(max(error, low), high)
            update_error_scale(state.usual, abs(error))
        bias_variance = 1.0 / (1.0 + bias_excess * scale)
        spread = gamma + bias_variance * constant * constant
        noise = noise_of(counts[UPDATES])
        spread += learn_kept(kept.x, kept.excess, n_kept, scale, growth, noise, kept.variance_x)
        if table is None:
            learn_shadows(
                out.x,
                out.excess,
                out.weight,
                n_out,
                scale,
                growth,
                noise,
                spread,
                error,
                low,
                high,
                out.key,
            )
        else:
            learn_cells(
                out.place,
                out.x,
                cells,
                n_out,
                scale,
                growth,
                noise,
                spread,
                error,
                low,
                high,
                out.key,
            )
        step = clip_step(clipped_error / spread)
        bias_weight = clip_to_float32(bias_weight + step * bias_variance * constant)
        bias_excess = clip_precision(bias_excess + constant * constant * growth)
        for i in range(n_kept):
            slot = unsigned(kept.place[i])
            weight[slot] += step * kept.variance_x[i]
            excess[slot] = kept.excess[i]
            current_key[slot] = weight[slot] * weight[slot] * (inverse_scale + excess[slot])
            if current_key[slot] < key[slot]:
                key[slot] = current_key[slot]
                update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
        max_key = -1.0
        for i in range(n_out):
            if table is None:
                position = unsigned(out.place[i])
                cells[position, EXCESS] = out.excess[i]
                cells[position, WEIGHT] = out.weight[i]
            max_key = max(max_key, out.key[i])
        if slot_for(heap, key, counts[KEPT], max_key) != NO_SLOT:
            for i in range(n_out):
                if table is not None:
                    cell, _ = cell_of(out.place[i], cells.shape[0])
                    out.key[i] = key_of(cells[cell, EXCESS], cells[cell, WEIGHT], inverse_scale)
                if slot_for(heap, key, counts[KEPT], out.key[i]) != NO_SLOT:
                    insert_if_larger(state, ids, table, curve, out.place[i], out.key[i])
    state.bias[0, 0], state.bias[0, 1], state.scale[0] = bias_weight, bias_excess, scale
    state.kept_squares[0] = kept_squares


class RowFeatures(NamedTuple):
    """The kept features of a row or its outsiders, as arrays for vectorised loops."""

    place: I64  # slots of kept features, positions of outsiders, in fixed memory ids
    x: F64
    excess: F32
    weight: F32  # of outsiders
    variance_x: F64  # S x, of kept features
    key: F64  # of outsiders


@kernel
def make_row_features(max_length: int) -> RowFeatures:
    """Return arrays for the features of the longest row, not filled in."""
    return RowFeatures(
        np.empty(max_length, np.int64),
        np.empty(max_length),
        np.empty(max_length, np.float32),
        np.empty(max_length, np.float32),
        np.empty(max_length),
        np.empty(max_length),
    )


@kernel
def update_error_scale(error_scale: F64, size: float) -> None:
    """Move the scale of errors towards its quantile, after one more absolute error ``size``."""
    error_scale[SEEN] += 1.0
    if error_scale[SIZE] == 0.0:  # no prediction was wrong yet
        error_scale[SIZE] = size
        return
    rate = max(MIN_RATE, 1.0 / np.sqrt(error_scale[SEEN]))
    error_scale[SIZE] *= np.exp(
        QUANTILE * rate if size > error_scale[SIZE] else (QUANTILE - 1.0) * rate
    )


@kernel
def insert_if_larger(
    state: SignalState,
    ids: I64,
    table: I32 | None,
    curve: Curve | None,
    position: int,
    value: float,
) -> None:
    """Give the outsider at ``position`` a free slot, or the root's if its key is larger."""
    cells, counts, current_key = state.cells, state.counts, state.current_key
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    slot = slot_by_bounds(heap, heap_position, key, member_id, counts[KEPT], current_key, value)
    if slot == NO_SLOT:
        return
    if table is not None:
        swap_features(state, table, slot, position)
    else:
        if slot < counts[KEPT]:
            cells[member[slot], EXCESS] = clip_precision(state.excess[slot])
            cells[member[slot], WEIGHT] = clip_to_float32(state.weight[slot])
        state.weight[slot] = cells[position, WEIGHT]
        state.excess[slot] = cells[position, EXCESS]
        cells.view(np.int32)[position, EXCESS] = -1 - slot
    current_key[slot] = value
    insert(heap, heap_position, key, member, member_id, counts, slot, position, ids, value)
    if table is not None:
        table[probe(table, member_id, position)] = slot + 1
    if curve is not None:
        curve.bucket[slot] = curve.grid.size - 1


@kernel
def swap_features(state: SignalState, table: I32, slot: int, feature: int) -> None:
    """Move a feature from its cell to a slot, and the previous member of the slot to its cell."""
    cells = state.cells
    weight, excess = state.weight[slot], state.excess[slot]
    cell, sign = cell_of(feature, cells.shape[0])
    state.weight[slot] = sign * cells[cell, WEIGHT]
    state.excess[slot] = cells[cell, EXCESS]
    cells[cell, EXCESS] = cells[cell, WEIGHT] = 0.0
    if slot < state.counts[KEPT]:
        cell, sign = cell_of(state.member_id[slot], cells.shape[0])
        merge_into_cell(cells, cell, EXCESS, WEIGHT, excess, sign * weight)
        remove(table, state.member_id, state.member_id[slot])


@kernel
def rescale(state: SignalState, scale: float) -> None:
    """Multiply the scale into the stored precisions before it becomes too small."""
    flags = state.cells.view(np.int32)
    for position in range(state.cells.shape[0]):
        if flags[position, EXCESS] > 0:
            state.cells[position, EXCESS] = clip_precision(state.cells[position, EXCESS] * scale)
    for slot in range(state.counts[KEPT]):
        state.excess[slot] = clip_precision(state.excess[slot] * scale)
        state.key[slot] *= scale
        state.current_key[slot] *= scale
    # keys that are too small have become equal
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])


# ---- the steps of a row, by the rules of ``signal_update``


@summing
def learn_kept(
    x: F64, excess: F32, count: int, scale: float, growth: float, noise: int, variance_x: F64
) -> float:
    """Update the precisions of a row's kept features; return their part of D.

    Back     excess: updated; variance_x: S x, with S from before the row.
    """
    spread = 0.0
    for i in range(count):
        variance = 1.0 / (1.0 + excess[i] * scale)
        excess[i] = rounded(clip_precision(excess[i] + x[i] * x[i] * growth), noise)
        variance_x[i] = variance * x[i]
        spread += variance * x[i] * x[i]
    return spread


@summing
def learn_shadows(
    x: F64,
    excess: F32,
    weight: F32,
    count: int,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
    key: F64,
) -> None:
    """Update the precisions and shadow weights of a row's outsiders, and fill in their keys."""
    for i in range(count):
        excess[i], weight[i] = step_shadow(
            x[i], excess[i], weight[i], scale, growth, noise, spread, error, low, high
        )
        key[i] = key_of(excess[i], weight[i], 1.0 / scale)


@kernel
def learn_cells(
    features: I64,
    x: F64,
    cells: F32,
    count: int,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
    key: F64,
) -> None:
    """Update the cells of a row's outsiders, one after the other, since some may share a cell.

    The rules are those of ``learn_shadows``.
    """
    # two loops, which are not vectorised and would otherwise test the noise for every outsider
    if noise < 0:
        for i in range(count):
            learn_cell(
                features[i], x[i], cells, scale, growth, NEAREST, spread, error, low, high, key, i
            )
    else:
        for i in range(count):
            learn_cell(
                features[i], x[i], cells, scale, growth, noise, spread, error, low, high, key, i
            )


@inlined
def learn_cell(
    feature: int,
    x: float,
    cells: F32,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
    key: F64,
    rank: int,
) -> None:
    """Update the cell of one outsider, and fill in its key."""
    cell_number, sign = cell_of(feature, cells.shape[0])
    cell = unsigned(cell_number)
    cells[cell, EXCESS], cells[cell, WEIGHT] = step_shadow(
        sign * x,
        cells[cell, EXCESS],
        cells[cell, WEIGHT],
        scale,
        growth,
        noise,
        spread,
        error,
        low,
        high,
    )
    key[rank] = key_of(cells[cell, EXCESS], cells[cell, WEIGHT], 1.0 / scale)


@inlined_summing
def step_shadow(
    x: float,
    excess: float,
    weight: float,
    scale: float,
    growth: float,
    noise: int,
    spread: float,
    error: float,
    low: float,
    high: float,
) -> tuple[np.float32, np.float32]:
    """Return the precision and the shadow weight of an outsider after a row of value ``x``.

    Its error is clipped to ``low`` and ``high``. S x / (D + S x^2) is computed as
    x / (D / S + x^2), with one division.
    """
    outsider_error = min(max(error - weight * x, low), high)
    x_squared = x * x
    step = outsider_error * x / (spread * (1.0 + excess * scale) + x_squared)
    return rounded(clip_precision(excess + x_squared * growth), noise), rounded(
        clip_to_float32(weight + step), noise
    )


@inlined_summing
def key_of(excess: float, weight: float, inverse_scale: float) -> float:
    """Return the key: squared signal to noise, divided by the scale."""
    return np.float64(weight) * np.float64(weight) * (inverse_scale + excess)
