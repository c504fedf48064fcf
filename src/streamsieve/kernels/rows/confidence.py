"""SOFS by confidence (Wu, Hoi, Mei, Yu 2017, algorithms 4 and 6), two classes: four bytes per feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel, summing
from ..types import F32, F64, I32, I64, Floats, unsigned
from .batch import Rows, longest_row
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
from .storing import BITS_OF_INFINITY, bounded, limited, noise_of, rounded, storable

MIN_SCALE = 1e-12
SCALE = array(1, low=MIN_SCALE, below=2.0, start=1)


class ConfidenceState(NamedTuple):
    """What SOFS remembers. ``cells`` has one entry per feature, everything else one per kept feature.

    A cell >= 0 holds the bits of a float32: the precision above its start, ``(1/S_jj - 1) /
    scale``, of a feature that is not kept, made by ``storable``. A cell < 0 names the slot of a
    kept one, ``-1 - cell``. Zero is a feature never seen, so a fresh array of zeros, which costs no
    memory until it is touched, is the start.
    """

    cells: I32 = array("features", below=BITS_OF_INFINITY)
    member: I64 = MEMBER  # the position of the feature in ``cells``
    member_id: I64 = MEMBER_ID  # its id
    key: F64 = array("budget", low=0)  # a lower bound of ``excess``, by which the heap is ordered
    heap: I32 = SLOT_NUMBERS  # slots in heap order
    heap_position: I32 = SLOT_NUMBERS  # where it is in the heap
    weight: F64 = array("budget")  # mu_j
    excess: F32 = array("budget", low=0)  # (1/S_jj - 1) / scale
    bias: F64 = array(1, 2)  # weight and excess of the intercept
    scale: F64 = SCALE  # what forgetting has left of old precision
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
    Given    ids: the id at a position, or empty where position and id are the same; gammas: the gamma of each row,
             which learns nothing if that is 0; curve: a Curve, or None.
    Back     ``state`` and ``curve``, changed in place.

    Only features of the row change their precision, and beside the common decay it only grows, so
    only they can enter and the heap of the kept ones may be lazy: O(m) per row plus O(log B) per
    root refreshed. All features of the row step before any outsider is compared. Entering is
    strict: on a tie the member stays.
    """
    cells, weight, excess, counts = state.cells, state.weight, state.excess, state.counts
    outside = cells.view(np.float32)
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    longest = longest_row(indptr)
    before, grown = np.empty(longest, np.float32), np.empty(longest, np.float32)
    pull = np.empty(longest)
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
                part = weight[slot] * (values[i] * factor)
                score += part
                if curve is not None:
                    curve.sums[curve.bucket[slot], 0] += part
                before[i - begin] = excess[slot]
            else:
                before[i - begin] = outside[position]
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
            before, scale, growth, noise, values, factor, begin, end - begin, pull, grown
        )
        step = limited((1.0 - margin) * sign / (spread + row_gamma))
        bias_weight = bounded(bias_weight + step * bias_variance * constant)
        bias_excess = storable(bias_excess + constant * constant * growth)
        threshold = np.float32(-1.0 if counts[KEPT] < weight.size else state.key[state.heap[0]])
        best = threshold
        for i in range(begin, end):
            position = unsigned(indices[i])
            cell = cells[position]
            if cell < 0:
                slot = unsigned(-1 - cell)
                weight[slot] += step * pull[i - begin]
                excess[slot] = grown[i - begin]
            else:
                outside[position] = grown[i - begin]
                best = max(best, grown[i - begin])
        if best > threshold:
            for i in range(begin, end):
                if grown[i - begin] > threshold and cells[indices[i]] >= 0:
                    weight_if_kept = step * pull[i - begin]
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
    pull: F64,
    grown: F32,
) -> float:
    """What a row does to the precisions of its features; apart, so that it can be vectorised.

    Given    excess: the stored precisions, (1/S - 1) / scale; values: those of the row from ``begin`` on, to be
             multiplied by ``factor``; noise: see ``rounded``.
    Back     pull: S x, with S as it was before the row; grown: excess + x^2 growth; and the row's x'Sx.
    """
    spread = 0.0
    for i in range(count):
        x = values[begin + i] * factor
        variance = 1.0 / (1.0 + excess[i] * scale)
        pull[i] = variance * x
        grown[i] = rounded(storable(excess[i] + x * x * growth), noise)
        spread += variance * x * x
    return spread


@kernel
def rescale(state: ConfidenceState, scale: float) -> None:
    """Put what forgetting has left into the stored precisions, before the scale becomes too small."""
    outside = state.cells.view(np.float32)
    for position in range(outside.size):
        if state.cells[position] > 0:
            outside[position] = storable(outside[position] * scale)
    for slot in range(state.excess.size):
        state.excess[slot] = storable(state.excess[slot] * scale)
        state.key[slot] = np.float32(state.key[slot] * scale)
    # keys too small for float32 are equal now
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])


@kernel
def insert_if_larger(
    state: ConfidenceState, ids: I64, curve: Curve | None, position: int, weight: float
) -> None:
    """Let the outsider at ``position`` take a free slot, or the root's if its precision is larger."""
    cells, excess, counts = state.cells, state.excess, state.counts
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    value = cells.view(np.float32)[position]
    slot = slot_by_bounds(heap, heap_position, key, member_id, counts[KEPT], excess, value)
    if slot == NO_SLOT:
        return
    if slot < counts[KEPT]:
        cells.view(np.float32)[member[slot]] = storable(excess[slot])
    cells[position] = -1 - slot
    state.weight[slot], excess[slot] = weight, value
    insert(heap, heap_position, key, member, member_id, counts, slot, position, ids, value)
    if curve is not None:
        curve.bucket[slot] = curve.grid.size - 1
