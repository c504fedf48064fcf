"""First-order selection: the perceptron with truncation, and sparse projection (P1 algorithms 1 to 3 and 5, P4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .curve import count_mistakes
from .jit import kernel
from .members import KEPT, MISTAKES, NO_SLOT, UPDATES, seat, settle, slot_for
from .rows import is_mistake, longest_row

Array = Any

ON_MISTAKE, ON_MARGIN, ON_LOSS = 0, 1, 2  # y s <= 0; y s <= 1; y s < 1
SMALLEST_SCALE = 1e-100
SUM_ANEW_EVERY = 256  # updates


class FirstOrderState(NamedTuple):
    """The weights are ``scale * weight``, so that what multiplies all of them touches none."""

    slots: Array  # int32, per feature position: its slot + 1, 0 for an outsider
    member: Array  # int64, per slot: the position of the feature
    member_id: Array  # int64
    key: Array  # float64: largest |weight| over the classes
    heap: Array  # int32
    place: Array  # int32
    weight: Array  # float64, slots x C
    bias: Array  # float64, C x 1: the intercept, of the same scale
    scale: Array  # float64
    squares: Array  # float64: the sum of squares of ``weight`` and ``bias``
    counts: Array  # int64: kept features, mistakes, updates


@kernel
def triggered(score: float, sign: float, trigger: int) -> bool:
    """Whether a class has something to learn from a row."""
    if trigger == ON_MISTAKE:
        return sign * score <= 0.0
    return sign * score <= 1.0 if trigger == ON_MARGIN else sign * score < 1.0


@kernel
def sign_of(c: int, code: int, n_scores: int) -> float:
    """+1 where the class of weight vector c is the row's, -1 otherwise; one vector stands for two classes."""
    positive = code == 1 if n_scores == 1 else code == c
    return 1.0 if positive else -1.0


@kernel
def first_order_update(
    state: Any, ids: Array, rows: Any, curve: Any, eta: float, shrink: float, radius: float, trigger: int
) -> None:
    """Learn the rows of one block, in order.

    Problem  per row of sign y_c for class c (one against the rest):
                 W <- shrink W;  if class c triggers:  w_c += eta y_c x
                 if any did:  W <- min(1, radius / ||W||) W,  then keep the B features of largest max_c |w_cj|
             PET is shrink 1 and radius infinite; FOFS shrink 1 - lambda eta and radius 1/sqrt(lambda).
    Given    as in ``confidence_update``; trigger: ON_MISTAKE, ON_MARGIN or ON_LOSS.
    Back     ``state`` and ``curve``, changed in place.

    Outside the kept set every weight is exactly 0, so after a step only kept features and those of the row can be
    non-zero: O(m log B). What multiplies all weights goes into ``scale``; the norm is carried along, and summed anew
    now and then lest rounding errors add up.
    """
    slots, weight, counts = state.slots, state.weight, state.counts
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    n_classes = weight.shape[1]
    newcomer = np.empty((longest_row(indptr), n_classes))
    scores, curve_scores, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for row in range(rows.codes.size):
        begin, end = indptr[row], indptr[row + 1]
        constant = rows.constants[row]
        scale = state.scale[0]
        for c in range(n_classes):
            scores[c] = state.bias[c, 0] * constant
        for i in range(begin, end):
            slot = slots[indices[i]] - 1
            if slot >= 0:
                for c in range(n_classes):
                    part = weight[slot, c] * values[i]
                    scores[c] += part
                    if curve is not None:
                        curve.sums[curve.bucket[slot], c] += part
        for c in range(n_classes):
            scores[c] *= scale
        if is_mistake(scores, rows.codes[row]):
            counts[MISTAKES] += 1
        if curve is not None:
            count_mistakes(curve, state.bias, constant, rows.codes[row], curve_scores)
        learns = False
        scale *= shrink
        for c in range(n_classes):
            sign = sign_of(c, rows.codes[row], n_classes)
            steps[c] = 0.0
            if triggered(scores[c], sign, trigger):
                learns = True
                steps[c] = eta * rows.weights[row] * sign / scale
        state.scale[0] = scale
        if learns:
            counts[UPDATES] += 1
            step(state, ids, curve, indices[begin:end], values[begin:end], constant, steps, radius, newcomer)
        if state.scale[0] < SMALLEST_SCALE:
            rescale(state)


@kernel
def step(
    state: Any,
    ids: Array,
    curve: Any,
    indices: Array,
    values: Array,
    constant: float,
    steps: Array,
    radius: float,
    newcomer: Array,
) -> None:
    """Add ``steps[c]`` times the row to the stored weights, project and truncate."""
    weight, slots = state.weight, state.slots
    outside = 0.0
    if state.counts[UPDATES] % SUM_ANEW_EVERY == 0:
        sum_squares(state)
    squares = state.squares[0]
    for c in range(steps.size):
        squares -= state.bias[c, 0] * state.bias[c, 0]
        state.bias[c, 0] += steps[c] * constant
        squares += state.bias[c, 0] * state.bias[c, 0]
    for i in range(indices.size):
        slot = slots[indices[i]] - 1
        x = float(values[i])
        if slot >= 0:
            for c in range(steps.size):
                squares -= weight[slot, c] * weight[slot, c]
                weight[slot, c] += steps[c] * x
                squares += weight[slot, c] * weight[slot, c]
            state.key[slot] = largest(weight[slot])
            settle(state, slot)
            newcomer[i, 0] = np.nan
        else:
            for c in range(steps.size):
                newcomer[i, c] = steps[c] * x
                outside += newcomer[i, c] * newcomer[i, c]
    norm = np.sqrt(max(0.0, squares + outside)) * state.scale[0]
    if norm > radius:
        state.scale[0] *= radius / norm
    for i in range(indices.size):
        if not np.isnan(newcomer[i, 0]):
            key = largest(newcomer[i])
            slot = slot_for(state, key)
            if slot != NO_SLOT:
                if slot < state.counts[KEPT]:
                    slots[state.member[slot]] = 0
                for c in range(steps.size):
                    squares -= weight[slot, c] * weight[slot, c]
                    weight[slot, c] = newcomer[i, c]
                    squares += weight[slot, c] * weight[slot, c]
                slots[indices[i]] = slot + 1
                seat(state, ids, slot, indices[i], key)
                if curve is not None:
                    curve.bucket[slot] = curve.grid.size - 1
    state.squares[0] = squares


@kernel
def largest(weight: Array) -> float:
    """The largest |weight| over the classes."""
    top = 0.0
    for c in range(weight.size):
        top = max(top, abs(weight[c]))
    return top


@kernel
def sum_squares(state: Any) -> None:
    """The sum of squares of all stored weights, from scratch."""
    squares = 0.0
    for slot in range(state.counts[KEPT]):
        for c in range(state.weight.shape[1]):
            squares += state.weight[slot, c] * state.weight[slot, c]
    for c in range(state.bias.shape[0]):
        squares += state.bias[c, 0] * state.bias[c, 0]
    state.squares[0] = squares


@kernel
def rescale(state: Any) -> None:
    """Put the scale into the stored weights before it becomes too small."""
    scale = state.scale[0]
    for slot in range(state.counts[KEPT]):
        for c in range(state.weight.shape[1]):
            state.weight[slot, c] *= scale
        state.key[slot] *= scale
    for c in range(state.bias.shape[0]):
        state.bias[c, 0] *= scale
    state.scale[0] = 1.0
    sum_squares(state)
