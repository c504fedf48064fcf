"""Learn from rows of which only some attributes are measured, or on features drawn at random.

OFS with partial inputs (Wang, Zhao, Hoi, Jin 2014, algorithm 4), and its random baselines (sections
4.1 and 4.3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import array
from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .batch import Rows, is_mistake, max_row_length
from .first_order import MIN_SCALE, apply_step, rescale, set_steps
from .members import COUNTS, KEPT, MEMBER, MEMBER_ID, MISTAKES, SLOT_NUMBERS, UPDATES
from .scaling import NORMS, ROWS
from .storing import clip_to_float32

EXPLORED, ASKED, TURN, PENDING = 0, 1, 2, 3  # entries of ``question``
MAX_VALUE = 1e39  # larger than every float32
# the scaling of a seen value: none, standardised, divided by its standard deviation
NOT_SCALED, CENTRED, SPREAD = 0, 1, 2


class PartialState(NamedTuple):
    """A FirstOrderState with, per feature, the state of asking and of running standardisation.

    These arrays start with zeros.
    """

    slots: I32 = array("features", low=0)
    member: I64 = MEMBER
    member_id: I64 = MEMBER_ID
    key: F64 = array("budget")
    heap: I32 = SLOT_NUMBERS
    heap_position: I32 = SLOT_NUMBERS
    weight: F64 = array("budget", "vectors")
    bias: F64 = array("vectors", 1)
    scale: F64 = array(1, low=MIN_SCALE**2, below=2.0, start=1)
    squares: F64 = array(1, finite=False)
    counts: I64 = COUNTS
    shift: I64 = array("features")  # the feature at a position of the shuffled order, less it
    turn: I64 = array("features", low=0)  # the number of the row that last asked for the feature
    seen: F64 = array("features", low=0)  # how often it was measured
    mean: F64 = array("features", low=-MAX_VALUE, below=MAX_VALUE)
    deviation: F64 = array("features", low=0)  # sum of squared deviations from the mean
    value: F64 = array("features", low=-MAX_VALUE, below=MAX_VALUE)  # scratch for the current row
    asked: I64 = array("budget", low=0)  # the features asked for, ascending
    # whether they were drawn at random, their number, the number of the row, whether it is pending
    question: I64 = array(4, low=0)
    totals: F64 = array(2, low=0)  # sum of the norms of the seen values, rows


@kernel
def choose_attributes(
    state: PartialState, random: np.random.Generator, epsilon: float, n_features: int
) -> None:
    """Choose which features of the next row to measure.

    With probability ``epsilon`` these are B features drawn from all, otherwise the kept features
    whose weight is not 0.
    """
    asked, question = state.asked, state.question
    question[TURN] += 1
    question[EXPLORED] = random.random() < epsilon
    count = 0
    if question[EXPLORED]:
        count = min(asked.size, n_features)
        for i in range(count):
            k = i + int(random.random() * (n_features - i))
            drawn = state.shift[k] + k
            state.shift[k] = state.shift[i] + i - k
            state.shift[i] = drawn - i
            asked[i] = drawn
    else:
        for slot in range(state.counts[KEPT]):
            if state.weight[slot, 0] != 0.0:
                asked[count] = state.member[slot]
                count += 1
    asked[:count] = np.sort(asked[:count])
    for i in range(count):
        state.turn[asked[i]] = question[TURN]
    question[ASKED] = count


@kernel
def partial_update(
    state: PartialState,
    ids: I64,
    rows: Rows,
    random: np.random.Generator,
    epsilon: float,
    eta: float,
    radius: float,
    trigger: int,
    n_features: int,
    scaling: int,
    unit_length: bool,
    intercept_size: float,
) -> None:
    """Learn rows of two classes, in order, from the features asked for (OFS algorithm 4).

    Problem  per row: decide which features to measure; compute the score from them; if y score
             <= 1, divide every seen value by the probability that it is seen,
             (B/d) epsilon + [w_j != 0] (1 - epsilon), step by eta, project to the ball of
             ``radius``, keep the B largest weights.
    Given    scaling, unit_length, intercept_size: as requested by ``normalize`` and
             ``fit_intercept``, computed from seen values only. A pending question is answered by
             the first row.
    Back     ``state``, changed in place. Values that were not asked for are never read.
    """
    budget = state.asked.size
    seen_values, outsider_size = np.empty(budget), np.empty(budget)
    positions = np.empty(budget, np.int64)
    scores, steps = np.empty(1), np.empty(1)
    for row in range(rows.codes.size):
        if not state.question[PENDING]:
            choose_attributes(state, random, epsilon, n_features)
        state.question[PENDING] = 0
        count = state.question[ASKED]
        asked = state.asked[:count]
        for i in range(rows.indptr[row], rows.indptr[row + 1]):
            if state.turn[rows.indices[i]] == state.question[TURN]:
                state.value[rows.indices[i]] = rows.values[i]
        squares = 0.0
        for i in range(count):
            seen_values[i] = scale_seen_value(state, asked[i], scaling)
            state.value[asked[i]] = 0.0
            squares += seen_values[i] * seen_values[i]
        norm = np.sqrt(squares)
        if unit_length and norm > 0.0:
            for i in range(count):
                seen_values[i] /= norm
            norm = 1.0
        state.totals[NORMS] += norm
        state.totals[ROWS] += 1.0
        constant = intercept_size * state.totals[NORMS] / state.totals[ROWS]
        scores[0] = state.bias[0, 0] * constant
        for i in range(count):
            slot = state.slots[asked[i]] - 1
            if slot >= 0:
                scores[0] += state.weight[slot, 0] * seen_values[i]
        scores[0] *= state.scale[0]
        rows.scores[row, 0] = np.nan if state.question[EXPLORED] else scores[0]
        state.counts[MISTAKES] += is_mistake(scores, rows.codes[row])
        if not set_steps(
            scores, rows.codes[row], trigger, eta * rows.weights[row], state.scale[0], steps
        ):
            continue
        state.counts[UPDATES] += 1
        n_nonzero = 0
        for i in range(count):
            if seen_values[i] != 0.0:
                slot = state.slots[asked[i]] - 1
                in_use = slot >= 0 and state.weight[slot, 0] != 0.0
                probability = budget / n_features * epsilon + (1.0 - epsilon if in_use else 0.0)
                seen_values[n_nonzero] = seen_values[i] / probability
                positions[n_nonzero] = asked[i]
                n_nonzero += 1
        apply_step(
            state,
            ids,
            None,
            positions,
            seen_values,
            1.0,
            0,
            n_nonzero,
            constant,
            steps,
            radius,
            outsider_size,
        )
        if state.scale[0] < MIN_SCALE:
            rescale(state)


@kernel
def scale_seen_value(state: PartialState, position: int, scaling: int) -> float:
    """Update the running mean and spread of a feature with its seen value; return it scaled."""
    x = state.value[position]
    if scaling == NOT_SCALED:
        return float(x)
    state.seen[position] += 1.0
    deviation = x - state.mean[position]
    state.mean[position] += deviation / state.seen[position]
    state.deviation[position] += deviation * (x - state.mean[position])
    spread = np.sqrt(state.deviation[position] / state.seen[position])
    if scaling == CENTRED:
        return clip_to_float32((x - state.mean[position]) / spread) if spread > 0.0 else 0.0
    return clip_to_float32(x / spread) if spread > 0.0 else float(x)


class RandomState(NamedTuple):
    """The weights of features that are kept at random."""

    slots: I32 = array("features", low=0)  # its slot + 1, 0 for an outsider
    member: I64 = MEMBER
    member_id: I64 = MEMBER_ID
    weight: F64 = array("budget", "vectors")
    bias: F64 = array("vectors", 1)
    counts: I64 = COUNTS  # kept features, mistakes, updates


@kernel
def random_update(
    state: RandomState,
    ids: I64,
    rows: Rows,
    random: np.random.Generator,
    eta: float,
    trigger: int,
    n_features: int,
) -> None:
    """Learn rows, in order, by a perceptron that redraws its B features after each step (RAND).

    After a step the kept features are those with a weight that are in a random subset of B of all
    ``n_features`` (the baseline of OFS). Whether a feature is in the subset is drawn for one after
    the other, with the probability conditional on the earlier draws: O(B + m) per step.
    """
    slots, weight, counts = state.slots, state.weight, state.counts
    budget, n_classes = weight.shape
    scores, steps = np.empty(n_classes), np.empty(n_classes)
    is_outsider = np.empty(max_row_length(rows.indptr), np.bool_)
    for row in range(rows.codes.size):
        begin, end = rows.indptr[row], rows.indptr[row + 1]
        factor = rows.factors[row]
        for c in range(n_classes):
            scores[c] = state.bias[c, 0] * rows.constants[row]
            for i in range(begin, end):
                slot = slots[rows.indices[i]] - 1
                if slot >= 0:
                    scores[c] += weight[slot, c] * (rows.values[i] * factor)
            rows.scores[row, c] = scores[c]
        counts[MISTAKES] += is_mistake(scores, rows.codes[row])
        has_steps = set_steps(scores, rows.codes[row], trigger, eta * rows.weights[row], 1.0, steps)
        for c in range(n_classes):
            state.bias[c, 0] += steps[c] * rows.constants[row]
        if not has_steps:
            continue
        counts[UPDATES] += 1
        for i in range(begin, end):
            slot = slots[rows.indices[i]] - 1
            is_outsider[i - begin] = slot < 0
            if slot >= 0:
                for c in range(n_classes):
                    weight[slot, c] += steps[c] * (rows.values[i] * factor)
        n_members = counts[KEPT]
        n_kept = 0
        for slot in range(n_members):
            if random.random() * (n_features - slot) < budget - n_kept:
                move_slot(state, slot, n_kept)
                n_kept += 1
            else:
                slots[state.member[slot]] = 0
        n_considered = n_members
        for i in range(begin, end):
            position = rows.indices[i]
            if is_outsider[i - begin]:
                if random.random() * (n_features - n_considered) < budget - n_kept:
                    state.member[n_kept] = position
                    state.member_id[n_kept] = ids[position] if ids.size else position
                    for c in range(n_classes):
                        weight[n_kept, c] = steps[c] * (rows.values[i] * factor)
                    n_kept += 1
                    slots[position] = n_kept
                n_considered += 1
        counts[KEPT] = n_kept


@kernel
def move_slot(state: RandomState, old: int, new: int) -> None:
    """Move a kept feature to another slot."""
    state.member[new] = state.member[old]
    state.member_id[new] = state.member_id[old]
    state.weight[new] = state.weight[old]
    state.slots[state.member[new]] = new + 1


@kernel
def thin_rows(
    indptr: I64, seen: int, n_features: int, random: np.random.Generator, is_kept: Bool
) -> None:
    """Mark the entries of each row in a new random subset of ``seen`` of all ``n_features``."""
    for row in range(indptr.size - 1):
        n_taken = 0
        for i in range(indptr[row], indptr[row + 1]):
            is_kept[i] = random.random() * (n_features - (i - indptr[row])) < seen - n_taken
            n_taken += is_kept[i]
