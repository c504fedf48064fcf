"""Learn SOFS by confidence for two classes, with four bytes per feature.

Wu, Hoi, Mei, Yu 2017, algorithms 4 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel, summing
from ..types import F32, F64, I32, I64, Floats, unsigned
from .batch import Rows, max_row_length
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
    slot_by_bounds,
)
from .storing import BITS_OF_INFINITY, clip_precision, clip_step, clip_to_float32, noise_of, rounded

MIN_SCALE = 1e-12
SCALE = array(1, low=MIN_SCALE, below=2.0, start=1)


class ConfidenceState(NamedTuple):
    """The state of SOFS: ``cells`` has one entry per feature, other arrays one per kept feature.

    A cell >= 0 holds the bits of a float32 made by ``clip_precision``: the precision above its
    start, ``(1/S_jj - 1) / scale``, of a feature that is not kept. A cell < 0 gives the slot of a
    kept feature, ``-1 - cell``. A zero is a feature never seen, so the state starts with an array
    of zeros, which takes no memory until it is touched.
    """

    cells: I32 = array("features", below=BITS_OF_INFINITY)
    member: I64 = MEMBER  # the position of the feature in ``cells``
    member_id: I64 = MEMBER_ID  # its id
    key: F64 = array("budget", low=0)  # a lower bound of ``excess``, by which the heap is ordered
    heap: I32 = SLOT_NUMBERS  # slots in heap order
    heap_position: I32 = SLOT_NUMBERS  # where each slot is in the heap
    weight: F64 = array("budget")  # mu_j
    excess: F32 = array("budget", low=0)  # (1/S_jj - 1) / scale
    bias: F64 = array(1, 2)  # weight and excess of the intercept
    scale: F64 = SCALE  # the remaining share of old precision after forgetting
    counts: I64 = COUNTS  # kept features, mistakes, updates


@kernel
def confidence_update(
    state: ConfidenceState, ids: I64, rows: Rows, gammas: F64, curve: Curve | None, decay: float
) -> None:
    """Learn the rows of one block, in order.

    Problem  per row, with S the diagonal covariance and loss = max(0, 1 - y mu.x):
                 beta = 1 / (x'Sx + gamma)
                 if loss > 0:  mu_j += loss beta y S_jj x_j,   1/S_jj += x_j^2 / gamma
             then keep the B features of largest 1/S_jj and set the other mu_j to 0. The intercept
             is one more feature, always kept, of value ``rows.constants``. Before each row all
             precisions above 1 shrink by ``decay``.
    Given    ids: the id at each position, or empty if position and id are the same; gammas: the
             gamma of each row, 0 if nothing is learned from it; curve: a Curve, or None.
    Back     ``state`` and ``curve``, changed in place.

    Only features of the row change their precision, which only grows apart from the common decay.
    So only they can enter, and the heap of kept features may be lazy: O(m) per row plus O(log B)
    per refreshed root. All features of the row step before any outsider is compared. An outsider
    must be strictly better: on a tie the member stays.
    """
    cells, weight, excess, counts = state.cells, state.weight, state.excess, state.counts
    excess_in_cells = cells.view(np.float32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    max_length = max_row_length(indptr)
    old_excess, new_excess = np.empty(max_length, np.float32), np.empty(max_length, np.float32)
    variance_x = np.empty(max_length)
    scores = np.empty(1)
    bias_weight, bias_excess, scale = state.bias[0, 0], state.bias[0, 1], state.scale[0]
    for row in range(rows.codes.size):
        begin, end = unsigned(indptr[row]), unsigned(indptr[row + 1])
        sign = 1.0 if rows.codes[row] == 1 else -1.0
        factor, constant = rows.factors[row], rows.constants[row]
        scale *= decay
        if scale < MIN_SCALE:
            rescale(state, scale)
            bias_excess *= scale
            scale = 1.0
        score = bias_weight * constant
        for i in range(begin, end):
            position = unsigned(indices[i])
            cell = cells[position]
            if cell < 0:
                slot = unsigned(-1 - cell)
                term = weight[slot] * (values[i] * factor)
                score += term
                if curve is not None:
                    curve.sums[curve.bucket[slot], 0] += term
                old_excess[i - begin] = excess[slot]
            else:
                old_excess[i - begin] = excess_in_cells[position]
        rows.scores[row, 0] = score
        margin = sign * score
        counts[MISTAKES] += margin <= 0.0
        if curve is not None:
            state.bias[0, 0] = bias_weight
            count_mistakes(curve, state.bias, constant, rows.codes[row], scores)
        row_gamma = gammas[row]
        if margin >= 1.0 or row_gamma == 0.0:
            continue
        counts[UPDATES] += 1
        growth = 1.0 / (row_gamma * scale)
        bias_variance = 1.0 / (1.0 + bias_excess * scale)
        spread = bias_variance * constant * constant
        noise = noise_of(counts[UPDATES])
        spread += learn_precisions(
            old_excess,
            scale,
            growth,
            noise,
            values,
            factor,
            begin,
            end - begin,
            variance_x,
            new_excess,
        )
        step = clip_step((1.0 - margin) * sign / (spread + row_gamma))
        bias_weight = clip_to_float32(bias_weight + step * bias_variance * constant)
        bias_excess = clip_precision(bias_excess + constant * constant * growth)
        threshold = np.float32(-1.0 if counts[KEPT] < weight.size else state.key[state.heap[0]])
        max_excess = threshold
        for i in range(begin, end):
            position = unsigned(indices[i])
            cell = cells[position]
            if cell < 0:
                slot = unsigned(-1 - cell)
                weight[slot] += step * variance_x[i - begin]
                excess[slot] = new_excess[i - begin]
            else:
                excess_in_cells[position] = new_excess[i - begin]
                max_excess = max(max_excess, new_excess[i - begin])
        if max_excess > threshold:
            for i in range(begin, end):
                if new_excess[i - begin] > threshold and cells[indices[i]] >= 0:
                    weight_if_kept = step * variance_x[i - begin]
                    insert_if_larger(state, ids, curve, indices[i], weight_if_kept)
    state.bias[0, 0], state.bias[0, 1], state.scale[0] = bias_weight, bias_excess, scale


@summing
def learn_precisions(
    excess: F32,
    scale: float,
    growth: float,
    noise: int,
    values: Floats,
    factor: float,
    begin: int,
    count: int,
    variance_x: F64,
    new_excess: F32,
) -> float:
    """Update the precisions of the features of a row.

    This is a separate function so that it can be vectorised.

    Given    excess: the stored precisions, (1/S - 1) / scale; values: those of the row begin at
             ``begin`` and are multiplied by ``factor``; noise: see ``rounded``.
    Back     variance_x: S x, with S from before the row; new_excess: excess + x^2 growth; and x'Sx
             of the row.
    """
    spread = 0.0
    for i in range(count):
        x = values[begin + i] * factor
        variance = 1.0 / (1.0 + excess[i] * scale)
        variance_x[i] = variance * x
        new_excess[i] = rounded(clip_precision(excess[i] + x * x * growth), noise)
        spread += variance * x * x
    return spread


@kernel
def rescale(state: ConfidenceState, scale: float) -> None:
    """Multiply the scale into the stored precisions before it becomes too small."""
    excess_in_cells = state.cells.view(np.float32)
    for position in range(excess_in_cells.size):
        if state.cells[position] > 0:
            excess_in_cells[position] = clip_precision(excess_in_cells[position] * scale)
    for slot in range(state.excess.size):
        state.excess[slot] = clip_precision(state.excess[slot] * scale)
        state.key[slot] = np.float32(state.key[slot] * scale)
    # keys that are too small for float32 have become equal
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])


@kernel
def insert_if_larger(
    state: ConfidenceState, ids: I64, curve: Curve | None, position: int, weight: float
) -> None:
    """Give the outsider at ``position`` a free slot, or the root's if its precision is larger."""
    cells, excess, counts = state.cells, state.excess, state.counts
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    value = cells.view(np.float32)[position]
    slot = slot_by_bounds(heap, heap_position, key, member_id, counts[KEPT], excess, value)
    if slot == NO_SLOT:
        return
    if slot < counts[KEPT]:
        cells.view(np.float32)[member[slot]] = clip_precision(excess[slot])
    cells[position] = -1 - slot
    state.weight[slot], excess[slot] = weight, value
    insert(heap, heap_position, key, member, member_id, counts, slot, position, ids, value)
    if curve is not None:
        curve.bucket[slot] = curve.grid.size - 1
