"""OGFS (Wang, Zhao, Hu, Cheung, Wang, Wu 2013): scores of classes within a group, sparse regression between groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import NO_GROUP, NO_ID, array
from ..jit import kernel
from ..types import F64, I32, I64, unsigned
from .dependence import CONSTANT, EQUAL, correlate_with, standardize_column
from .slots import move_to_end

KEPT, SEEN, IRRELEVANT, REDUNDANT, CLOSED = range(5)  # entries of ``counts``
FLAT = 1e-12  # of a scatter: what is left within classes that a column separates
SAME = 1.0 - 1e-10  # |correlation| from which on two columns are the same
CONVERGED, MAX_SWEEPS = 1e-10, 10_000  # the largest change of a weight in a sweep


class GroupState(NamedTuple):
    """The kept columns, those of the open group last, and how all pairs of them correlate."""

    order: I32 = array(
        "slots", low=0, below="slots", numbered=True
    )  # slots in order of arrival, then the free ones
    ids: I64 = array("slots", low=0, below=NO_ID)
    group: I64 = array("slots", low=0)
    between: F64 = array("slots")  # the fraction of scatter that is between classes
    columns: F64 = array("slots", "rows")  # centred, of length 1
    correlations: F64 = array("slots", "slots")
    # correlations with the classes, one against all others
    classes: F64 = array("slots", "regressions")
    weights: F64 = array("slots", "regressions")  # of the last regressions
    counts: I64 = array(
        5, low=0
    )  # kept; seen, not relevant, redundant so far; kept of groups that are closed
    current: I64 = array(1, low=NO_GROUP, start=NO_GROUP)  # the group that is open


class NewColumns(NamedTuple):
    """Columns of a block, CSC, and their scatter."""

    indptr: I64
    indices: I32
    values: F64
    ids: I64
    groups: I64
    between: F64  # the fraction of scatter that is between classes
    norms: F64  # lengths of the centred columns, 0 for constant ones


class GroupRule(NamedTuple):
    """When a column stays."""

    epsilon: float  # what it must add to the score of all
    critical: F64  # of Student's t, by degrees of freedom
    penalty: float  # of the regressions; 0 for one that goes by the number of columns seen
    budget: int


@kernel
def scatter_of_classes(
    indptr: I64,
    indices: I32,
    values: F64,
    codes: I32,
    class_counts: F64,
    start: int,
    stop: int,
    between: F64,
    norms: F64,
) -> None:
    """What fraction of the scatter of columns from ``start`` to ``stop`` is between the classes; ``norms``: lengths.

    Lengths are of the centred columns, 0 for constant ones.
    """
    n_classes = class_counts.size
    means, zeros = np.empty(n_classes), np.empty(n_classes)
    for column in range(start, stop):
        begin, end = unsigned(indptr[column]), unsigned(indptr[column + 1])
        squares = 0.0
        means[:] = 0.0
        zeros[:] = class_counts
        for i in range(begin, end):
            code = codes[unsigned(indices[i])]
            means[code] += values[i]
            zeros[code] -= 1.0
            squares += values[i] * values[i]
        mean = means.sum() / codes.size
        outer = inner = 0.0
        for c in range(n_classes):
            means[c] /= class_counts[c]
            outer += class_counts[c] * (means[c] - mean) ** 2
            inner += zeros[c] * means[c] * means[c]
        for i in range(begin, end):
            inner += (values[i] - means[codes[unsigned(indices[i])]]) ** 2
        between[column] = norms[column] = 0.0
        if outer + inner > CONSTANT * squares:
            between[column] = outer / (outer + inner)
            norms[column] = np.sqrt(outer + inner)


@kernel
def score(between: float, within: float) -> float:
    """Scatter between classes for that within them."""
    return float(between / max(within, FLAT))


@kernel
def scores_of_kept(state: GroupState) -> tuple[float, float, float, float]:
    """Return sums of scatter between and within classes over the kept columns; mean and deviation of their scores."""
    kept = state.counts[KEPT]
    fractions = state.between[state.order[:kept]]
    scores = fractions / np.maximum(1.0 - fractions, FLAT)
    between, mean = fractions.sum(), scores.sum() / max(kept, 1)
    squares = ((scores - mean) * (scores - mean)).sum()
    return between, kept - between, mean, np.sqrt(squares / max(kept - 1, 1))


@kernel
def select_in_groups(
    state: GroupState,
    rule: GroupRule,
    new: NewColumns,
    codes: I32,
    class_counts: F64,
    weights: F64,
    start: int,
) -> int:
    """Compare columns with the kept ones, one by one, closing groups on the way; how many were dealt with.

    Problem  a column joins the kept ones, U, if it raises their score, the scatter between classes of all of U for that
             within them, by more than ``epsilon``; or if its own score is not the mean of theirs by
             Student's t. Copies never join. When the next group begins, regressions decide which of
             all kept ones stay.
    Back     ``state``, changed in place. It stops early when there is no free slot.
    """
    counts, order = state.counts, state.order
    indptr, indices, values, norms = new.indptr, new.indices, new.values, new.norms
    groups, between = new.groups, new.between
    sums = scores_of_kept(state)
    for column in range(start, new.ids.size):
        if groups[column] != state.current[0]:
            if close_group(state, rule, weights.size):
                sums = scores_of_kept(state)
            state.current[0] = groups[column]
        kept = counts[KEPT]
        if kept == order.size:
            return column
        counts[SEEN] += 1
        if norms[column] == 0.0 or not is_relevant(rule, between[column], kept, sums):
            counts[IRRELEVANT] += 1
            continue
        slot = order[kept]
        copy = False
        for at in range(kept):
            correlation = correlate_with(
                indptr, indices, values, column, norms[column], state.columns[order[at]]
            )
            state.correlations[slot, order[at]] = state.correlations[order[at], slot] = correlation
            copy = copy or abs(correlation) >= SAME
        if copy:
            counts[REDUNDANT] += 1
            continue
        counts[KEPT] += 1
        state.ids[slot], state.group[slot], state.between[slot] = (
            new.ids[column],
            groups[column],
            between[column],
        )
        standardize_column(
            indptr, indices, values, weights, column, norms[column], state.columns[slot]
        )
        correlate_with_classes(state.columns[slot], codes, class_counts, state.classes[slot])
        state.weights[slot] = 0.0
        sums = scores_of_kept(state)
    return int(new.ids.size)


@kernel
def is_relevant(
    rule: GroupRule, between: float, kept: int, sums: tuple[float, float, float, float]
) -> bool:
    """Whether a column with that fraction of scatter between classes joins."""
    all_between, all_within, mean, deviation = sums
    mine = score(between, 1.0 - between)
    before = score(all_between, all_within) if kept else 0.0
    if score(all_between + between, all_within + 1.0 - between) - before > rule.epsilon:
        return True
    if kept < 2:
        return False
    critical = rule.critical[min(kept - 1, rule.critical.size - 1)]
    return bool(abs(mine - mean) > critical * deviation / np.sqrt(kept) + EQUAL * mean)


@kernel
def correlate_with_classes(standard: F64, codes: I32, class_counts: F64, out: F64) -> None:
    """Correlations with each class against all others; of two classes with the second alone."""
    sums = np.zeros(class_counts.size)
    for row in range(codes.size):
        sums[codes[row]] += standard[row]
    first = class_counts.size - out.size
    for r in range(out.size):
        count = class_counts[first + r]
        out[r] = sums[first + r] / np.sqrt(count * (1.0 - count / codes.size))


@kernel
def close_group(state: GroupState, rule: GroupRule, n_rows: int) -> bool:
    """Close the open group: drop what regressions give no weight, then beyond the budget what they give least.

    Whether there was anything to close.
    """
    counts, order = state.counts, state.order
    if counts[CLOSED] == counts[KEPT]:
        return False
    penalty = (
        rule.penalty if rule.penalty > 0.0 else np.sqrt(2.0 * np.log(1.0 + counts[SEEN]) / n_rows)
    )
    for r in range(state.weights.shape[1]):
        regress(state, r, penalty)
    kept = 0
    for at in range(counts[KEPT]):
        slot = order[at]
        if weight_of(state, slot) > 0.0:
            order[at], order[kept] = order[kept], slot
            kept += 1
        else:
            counts[REDUNDANT] += 1
    counts[KEPT] = kept
    while counts[KEPT] > rule.budget:
        worst = 0
        for at in range(1, counts[KEPT]):
            if weight_of(state, order[at]) <= weight_of(state, order[worst]) + EQUAL:
                worst = at
        counts[KEPT] -= 1
        move_to_end(order, worst, counts[KEPT])
        counts[REDUNDANT] += 1
    counts[CLOSED] = counts[KEPT]
    return True


@kernel
def weight_of(state: GroupState, slot: int) -> float:
    """The largest weight of a column in any regression."""
    return float(np.abs(state.weights[slot]).max())


@kernel
def regress(state: GroupState, r: int, penalty: float) -> None:
    """The Lasso of a class on the kept columns, by coordinate descent from the weights of before.

    Problem  min over w  |c - X w|^2 / 2 + penalty |w|_1,  c and the columns of X centred and of length 1. ``left`` is
             X'(c - X w), kept up to date by the correlations of columns: a weight that changes
             costs one of them each.
    """
    kept, order = state.counts[KEPT], state.order
    left = np.empty(kept)
    for at in range(kept):
        left[at] = state.classes[order[at], r]
        for other in range(kept):
            if other != at:
                left[at] -= (
                    state.correlations[order[at], order[other]] * state.weights[order[other], r]
                )
        left[at] -= state.weights[order[at], r]
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for at in range(kept):
            slot = order[at]
            before = state.weights[slot, r]
            pull = left[at] + before
            weight = 0.0
            if abs(pull) > penalty + EQUAL:
                weight = pull - penalty if pull > 0.0 else pull + penalty
            change = weight - before
            if change != 0.0:
                state.weights[slot, r] = weight
                for other in range(kept):
                    left[other] -= change * (
                        1.0 if other == at else state.correlations[slot, order[other]]
                    )
                largest = max(largest, abs(change))
        if largest < CONVERGED:
            return
