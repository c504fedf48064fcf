"""OGFS (Wang, Zhao, Hu, Cheung, Wang, Wu 2013): selection within groups and between groups.

Within a group columns are selected by the scatter of classes, between groups by sparse regression.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import NO_GROUP, NO_ID, array
from ..jit import kernel
from ..types import F64, I32, I64, unsigned
from .dependence import CONSTANT, EQUAL, correlate_with, standardize_column
from .slots import move_to_end

KEPT, SEEN, IRRELEVANT, REDUNDANT, CLOSED = range(5)  # entries of ``counts``
FLAT = 1e-12  # of a scatter: the least within classes, for a column that separates them
SAME = 1.0 - 1e-10  # the |correlation| from which on two columns are the same
CONVERGED, MAX_SWEEPS = 1e-10, 10_000  # the largest change of a weight in a sweep


class GroupState(NamedTuple):
    """The kept columns, those of the open group last, and the correlations of all pairs."""

    # slots in order of arrival, then the free ones
    order: I32 = array("slots", low=0, below="slots", numbered=True)
    ids: I64 = array("slots", low=0, below=NO_ID)
    group: I64 = array("slots", low=0)
    between: F64 = array("slots")  # the fraction of scatter that is between classes
    columns: F64 = array("slots", "rows")  # centred, of length 1
    correlations: F64 = array("slots", "slots")
    # correlations with the classes, one against all others
    classes: F64 = array("slots", "regressions")
    weights: F64 = array("slots", "regressions")  # of the last regressions
    # kept; seen, not relevant, redundant so far; kept of groups that are closed
    counts: I64 = array(5, low=0)
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
    """The conditions under which a column is kept."""

    epsilon: float  # the least gain in the score of all kept columns
    critical: F64  # of Student's t, by degrees of freedom
    penalty: float  # of the regressions; 0: by the number of columns seen
    budget: int


@kernel
def measure_class_scatter(
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
    """Measure the scatter of columns from ``start`` to before ``stop`` between the classes.

    Back     between: the fraction of the scatter that is between classes; norms: the lengths of the
             centred columns, 0 for constant ones.
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
    """Return the scatter between classes divided by that within them."""
    return float(between / max(within, FLAT))


@kernel
def scores_of_kept(state: GroupState) -> tuple[float, float, float, float]:
    """Return the scatter of all kept columns, and the mean and deviation of their scores.

    Back     the sums of scatter between classes and within them; the mean and the deviation.
    """
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
    """Compare columns with the kept ones, one by one, and close each group at its end.

    Problem  a column joins the kept ones, U, if it raises their score, the scatter between classes
             of all of U divided by that within them, by more than ``epsilon``; or if its own score
             differs from the mean of theirs by Student's t. Copies never join. When the next group
             begins, regressions decide which of all kept columns stay.
    Back     the number of columns done; ``state``, changed in place. It stops early when there is
             no free slot.
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
    """Return True if a column with this fraction of scatter between classes joins."""
    all_between, all_within, mean, deviation = sums
    column_score = score(between, 1.0 - between)
    score_before = score(all_between, all_within) if kept else 0.0
    if score(all_between + between, all_within + 1.0 - between) - score_before > rule.epsilon:
        return True
    if kept < 2:
        return False
    critical = rule.critical[min(kept - 1, rule.critical.size - 1)]
    return bool(abs(column_score - mean) > critical * deviation / np.sqrt(kept) + EQUAL * mean)


@kernel
def correlate_with_classes(column: F64, codes: I32, class_counts: F64, out: F64) -> None:
    """Write the correlation with each class against all others; of two classes only the second."""
    sums = np.zeros(class_counts.size)
    for row in range(codes.size):
        sums[codes[row]] += column[row]
    first = class_counts.size - out.size
    for k in range(out.size):
        count = class_counts[first + k]
        out[k] = sums[first + k] / np.sqrt(count * (1.0 - count / codes.size))


@kernel
def close_group(state: GroupState, rule: GroupRule, n_rows: int) -> bool:
    """Close the open group: drop the columns to which regressions give no weight.

    Of more columns than the budget those with the smallest weights are dropped, too.

    Back     False if there was nothing to close.
    """
    counts, order = state.counts, state.order
    if counts[CLOSED] == counts[KEPT]:
        return False
    penalty = (
        rule.penalty if rule.penalty > 0.0 else np.sqrt(2.0 * np.log(1.0 + counts[SEEN]) / n_rows)
    )
    for class_ in range(state.weights.shape[1]):
        fit_lasso(state, class_, penalty)
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
    """Return the largest absolute weight of a column in any regression."""
    return float(np.abs(state.weights[slot]).max())


@kernel
def fit_lasso(state: GroupState, class_: int, penalty: float) -> None:
    """Fit the Lasso of a class on the kept columns, by coordinate descent from the last weights.

    Problem  min over w  |c - X w|^2 / 2 + penalty |w|_1,  c and the columns of X centred and of
             length 1. ``residuals``, X'(c - X w), are kept up to date by the correlations of
             columns: a weight that changes costs one line of them.
    """
    kept, order = state.counts[KEPT], state.order
    residuals = np.empty(kept)
    for at in range(kept):
        residuals[at] = state.classes[order[at], class_]
        for other in range(kept):
            if other != at:
                residuals[at] -= (
                    state.correlations[order[at], order[other]]
                    * state.weights[order[other], class_]
                )
        residuals[at] -= state.weights[order[at], class_]
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for at in range(kept):
            slot = order[at]
            before = state.weights[slot, class_]
            target_weight = residuals[at] + before
            weight = 0.0
            if abs(target_weight) > penalty + EQUAL:
                weight = target_weight - penalty if target_weight > 0.0 else target_weight + penalty
            change = weight - before
            if change != 0.0:
                state.weights[slot, class_] = weight
                for other in range(kept):
                    residuals[other] -= change * (
                        1.0 if other == at else state.correlations[slot, order[other]]
                    )
                largest = max(largest, abs(change))
        if largest < CONVERGED:
            return
