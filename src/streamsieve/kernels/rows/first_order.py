"""Learn by first-order selection: perceptron with truncation (PET), sparse projection (FOFS).

Wu, Hoi, Mei, Yu 2017 (the paper of SOFS), algorithms 1 to 3 and 5. FOFS is OFS of Wang, Zhao, Hoi,
Jin 2014.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel
from ..types import F64, I32, I64, Floats, Ints, unsigned
from .batch import Rows, is_mistake, max_row_length
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

ON_MISTAKE, ON_MARGIN, ON_LOSS = 0, 1, 2  # y s <= 0; y s <= 1; y s < 1
# so that squares of weights divided by it are finite, whatever the step and the values
MIN_SCALE = 1e-30
RESUM_INTERVAL = 256  # updates
IS_MEMBER = -1.0  # in place of the size of an outsider: the feature is kept already


class FirstOrderState(NamedTuple):
    """The kept weights, ``scale * weight``, so that a common factor changes only the scale."""

    slots: I32 = array("features", low=0)  # its slot + 1, 0 for an outsider
    member: I64 = MEMBER  # the position of the feature
    member_id: I64 = MEMBER_ID
    # a lower bound of the largest |weight| over the classes, by which the heap is ordered
    key: F64 = array("budget")
    heap: I32 = SLOT_NUMBERS
    heap_position: I32 = SLOT_NUMBERS  # where each slot is in the heap
    weight: F64 = array("budget", "vectors")
    bias: F64 = array("vectors", 1)  # the intercept, of the same scale
    scale: F64 = array(1, low=MIN_SCALE**2, below=2.0, start=1)
    squares: F64 = array(1, finite=False)  # the sum of squares of ``weight`` and ``bias``
    counts: I64 = COUNTS  # kept features, mistakes, updates


@kernel
def set_steps(scores: F64, code: int, trigger: int, size: float, scale: float, steps: F64) -> bool:
    """Fill in the steps of the weight vectors for a row; return True if any vector steps.

    A vector that steps has +``size / scale`` if its class is that of the row, otherwise -``size /
    scale``. One vector serves two classes.
    """
    has_steps = False
    for c in range(scores.size):
        sign = 1.0 if code == (1 if scores.size == 1 else c) else -1.0
        margin = sign * scores[c]
        is_triggered = (
            margin <= 0.0
            if trigger == ON_MISTAKE
            else margin <= 1.0
            if trigger == ON_MARGIN
            else margin < 1.0
        )
        has_steps = has_steps or is_triggered
        steps[c] = size * sign / scale if is_triggered else 0.0
    return has_steps


@kernel
def first_order_update(
    state: FirstOrderState,
    ids: I64,
    rows: Rows,
    curve: Curve | None,
    eta: float,
    shrink: float,
    radius: float,
    trigger: int,
) -> None:
    """Learn the rows of one block, in order.

    Problem  per row of sign y_c for class c (one against the rest):
                 W <- shrink W;  if class c triggers:  w_c += eta y_c x
                 if any did:  W <- min(1, radius / ||W||) W,
                              then keep the B features of largest max_c |w_cj|
             PET has shrink 1 and an infinite radius; FOFS has shrink 1 - lambda eta and radius
             1/sqrt(lambda).
    Given    as in ``confidence_update``; trigger: ON_MISTAKE, ON_MARGIN or ON_LOSS.
    Back     ``state`` and ``curve``, changed in place.

    Outside the kept set every weight is exactly 0, so after a step only kept features and those of
    the row can be non-zero: O(m log B). A member whose weight falls moves in the heap at once; one
    whose weight rises moves only when it reaches the root and an outsider is compared with it. A
    factor of all weights goes into ``scale``. The norm is updated by differences, and summed again
    from time to time so that rounding errors do not accumulate.
    """
    slots, weight, counts = state.slots, state.weight, state.counts
    indptr, indices, values = rows.indptr, rows.indices, rows.values
    n_classes = weight.shape[1]
    outsider_size = np.empty(max_row_length(indptr))
    scores, curve_scores, steps = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for row in range(rows.codes.size):
        begin, end = unsigned(indptr[row]), unsigned(indptr[row + 1])
        factor, constant = rows.factors[row], rows.constants[row]
        scale = state.scale[0]
        for c in range(n_classes):
            scores[c] = state.bias[c, 0] * constant
        for i in range(begin, end):
            slot_plus_1 = slots[unsigned(indices[i])]
            if slot_plus_1 > 0:
                slot = unsigned(slot_plus_1 - 1)
                for c in range(n_classes):
                    term = weight[slot, c] * (values[i] * factor)
                    scores[c] += term
                    if curve is not None:
                        curve.sums[curve.bucket[slot], c] += term
        for c in range(n_classes):
            scores[c] *= scale
            rows.scores[row, c] = scores[c]
        counts[MISTAKES] += is_mistake(scores, rows.codes[row])
        if curve is not None:
            count_mistakes(curve, state.bias, constant, rows.codes[row], curve_scores)
        scale *= shrink
        state.scale[0] = scale
        if set_steps(scores, rows.codes[row], trigger, eta * rows.weights[row], scale, steps):
            counts[UPDATES] += 1
            apply_step(
                state,
                ids,
                curve,
                indices,
                values,
                factor,
                begin,
                end,
                constant,
                steps,
                radius,
                outsider_size,
            )
        if state.scale[0] < MIN_SCALE:
            rescale(state)


@kernel
def apply_step(
    state: Any,
    ids: I64,
    curve: Curve | None,
    indices: Ints,
    values: Floats,
    factor: float,
    begin: int,
    end: int,
    constant: float,
    steps: F64,
    radius: float,
    outsider_size: F64,
) -> None:
    """Add ``steps[c]`` times a row to the weights, project, truncate.

    Given    state: a FirstOrderState, or a PartialState, which has the same arrays; indices,
             values: the entries of the row, from ``begin`` to ``end``, values to be multiplied by
             ``factor``; outsider_size: scratch of the length of the row, for the largest |weight|
             over the classes that each outsider would have.
    Back     ``state`` and ``curve``, changed in place.
    """
    weight, slots, counts = state.weight, state.slots, state.counts
    heap, heap_position, key = state.heap, state.heap_position, state.key
    member, member_id = state.member, state.member_id
    outsider_squares = step_squares = max_step = 0.0
    for c in range(steps.size):
        max_step = max(max_step, abs(steps[c]))
    if counts[UPDATES] % RESUM_INTERVAL == 0:
        sum_squares(state)
    squares = state.squares[0]
    for c in range(steps.size):
        squares -= state.bias[c, 0] * state.bias[c, 0]
        state.bias[c, 0] += steps[c] * constant
        squares += state.bias[c, 0] * state.bias[c, 0]
    for i in range(begin, end):
        slot_plus_1 = slots[unsigned(indices[i])]
        x = values[i] * factor
        if slot_plus_1 > 0:
            slot = unsigned(slot_plus_1 - 1)
            for c in range(steps.size):
                squares -= weight[slot, c] * weight[slot, c]
                weight[slot, c] += steps[c] * x
                squares += weight[slot, c] * weight[slot, c]
            size = max_abs_weight(weight, slot)
            if size < key[slot]:
                key[slot] = size
                update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
            outsider_size[i - begin] = IS_MEMBER
        else:
            outsider_size[i - begin] = abs(x) * max_step
            outsider_squares += x * x
    for c in range(steps.size):
        step_squares += outsider_squares * steps[c] * steps[c]
    norm = np.sqrt(max(0.0, squares + step_squares)) * state.scale[0]
    if norm > radius:
        state.scale[0] *= radius / norm
    for i in range(begin, end):
        if outsider_size[i - begin] > IS_MEMBER:
            slot = slot_for(heap, key, counts[KEPT], outsider_size[i - begin])
            while (
                slot != NO_SLOT
                and slot < counts[KEPT]
                and key[slot] != max_abs_weight(weight, slot)
            ):
                key[slot] = max_abs_weight(weight, slot)
                update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)
                slot = slot_for(heap, key, counts[KEPT], outsider_size[i - begin])
            if slot != NO_SLOT:
                if slot < counts[KEPT]:
                    slots[member[slot]] = 0
                for c in range(steps.size):
                    squares -= weight[slot, c] * weight[slot, c]
                    weight[slot, c] = steps[c] * (values[i] * factor)
                    squares += weight[slot, c] * weight[slot, c]
                slots[indices[i]] = slot + 1
                insert(
                    heap,
                    heap_position,
                    key,
                    member,
                    member_id,
                    counts,
                    slot,
                    indices[i],
                    ids,
                    outsider_size[i - begin],
                )
                if curve is not None:
                    curve.bucket[slot] = curve.grid.size - 1
    state.squares[0] = squares


@kernel
def max_abs_weight(weight: F64, slot: int) -> float:
    """Return the largest |weight| of a slot over the classes."""
    largest = 0.0
    for c in range(weight.shape[1]):
        largest = max(largest, abs(weight[slot, c]))
    return largest


@kernel
def sum_squares(state: Any) -> None:
    """Compute the sum of squares of all stored weights from scratch."""
    squares = 0.0
    for slot in range(state.counts[KEPT]):
        for c in range(state.weight.shape[1]):
            squares += state.weight[slot, c] * state.weight[slot, c]
    for c in range(state.bias.shape[0]):
        squares += state.bias[c, 0] * state.bias[c, 0]
    state.squares[0] = squares


@kernel
def rescale(state: Any) -> None:
    """Multiply the scale into the stored weights before it becomes too small."""
    scale = state.scale[0]
    state.weight[: state.counts[KEPT]] *= scale
    state.key[: state.counts[KEPT]] *= scale
    state.bias[:, 0] *= scale
    state.scale[0] = 1.0
    sum_squares(state)
    # keys that are too small have become equal
    rebuild_heap(state.heap, state.heap_position, state.key, state.member_id, state.counts[KEPT])
