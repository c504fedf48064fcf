"""Conditional independence, by partial correlation and by G2, and the online selection that rests on it (OSFS)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .dependence import standardize_column
from .jit import kernel
from .rows import unsigned

Array = Any

KEPT, IRRELEVANT, REDUNDANT, REPLACED = range(4)  # entries of ``counts``
NO_SLOT = -1
FLAT = 1e-12  # of a variance: what is left of one that others determine
MOST_CELLS = 1 << 22  # of a table of counts: a test that needs more finds dependence


class IndependenceState(NamedTuple):
    """The kept columns and how all pairs of them correlate."""

    order: Array  # int32: slots in order of arrival, then the free ones
    ids: Array  # int64, per slot
    relevance: Array  # float64, per slot: correlation with the target, with its sign
    columns: Array  # float64, slots x rows: centred, of length 1, times the weights of rows
    correlations: Array  # float64, slots x slots
    codes: Array  # int32, slots x rows, of discrete columns; no rows where all tests are by correlation
    n_levels: Array  # int64, per slot; 0 for a column that is not discrete
    counts: Array  # int64: kept; not relevant, redundant, replaced so far


@kernel
def is_independent(correlation: float, n_given: int, n_rows: int, critical: float) -> bool:
    """Fisher's Z test of a partial correlation given ``n_given`` others; where it cannot be taken, dependent."""
    freedom = n_rows - n_given - 3
    if np.isnan(correlation) or freedom <= 0 or abs(correlation) >= 1.0:
        return False
    return bool(np.sqrt(freedom) * abs(0.5 * np.log((1.0 + correlation) / (1.0 - correlation))) < critical)


@kernel
def partial_correlation(state: Any, one: int, given: Array, n_given: int, matrix: Array) -> float:
    """The correlation of a kept column and the target given others; NaN if those determine one of the two.

    Given    matrix: scratch for (n_given + 2) squared numbers.
    """
    size = n_given + 2
    for a in range(n_given):
        slot = given[a]
        matrix[0, a + 2] = matrix[a + 2, 0] = state.correlations[one, slot]
        matrix[1, a + 2] = matrix[a + 2, 1] = state.relevance[slot]
        for b in range(n_given):
            matrix[a + 2, b + 2] = 1.0 if a == b else state.correlations[slot, given[b]]
    matrix[0, 1] = matrix[1, 0] = state.relevance[one]
    matrix[0, 0] = matrix[1, 1] = 1.0
    for out in range(size - 1, 1, -1):  # take one after the other out of all covariances
        pivot = matrix[out, out]
        if pivot < FLAT:
            continue
        for a in range(out):
            share = matrix[a, out] / pivot
            for b in range(out):
                matrix[a, b] -= share * matrix[out, b]
    if matrix[0, 0] < FLAT or matrix[1, 1] < FLAT:
        return np.nan
    return float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))


class Tests(NamedTuple):
    """What the tests need beside the kept columns."""

    critical: float  # of Fisher's Z
    limits: Array  # float64: of G2, by degrees of freedom
    classes: Array  # int32, per row
    n_classes: int
    table: Array  # float64, scratch for counts


@kernel
def is_independent_by_counts(state: Any, tests: Any, mine: Array, n_mine: int, given: Array, n_given: int) -> bool:
    """The G2 test of a coded variable and the classes given kept columns; one of too many cells finds dependence.

    Degrees of freedom are counted where there are rows: a value that does not occur with some of the others has none.
    """
    strata = 1
    for g in range(n_given):
        strata *= state.n_levels[given[g]]
        if strata * n_mine * tests.n_classes > tests.table.size:
            return False
    n_classes, block = tests.n_classes, n_mine * tests.n_classes
    table = tests.table
    for cell in range(strata * block):
        table[cell] = 0.0
    for row in range(mine.size):
        stratum = 0
        for g in range(n_given):
            stratum = stratum * state.n_levels[given[g]] + state.codes[given[g], row]
        table[stratum * block + mine[row] * n_classes + tests.classes[row]] += 1.0
    total = 0.0
    freedom = 0
    by_class = np.empty(n_classes)
    for stratum in range(strata):
        there = 0.0
        levels = classes = 0
        by_class[:] = 0.0
        for a in range(n_mine):
            row_sum = 0.0
            for c in range(n_classes):
                count = table[stratum * block + a * n_classes + c]
                row_sum += count
                by_class[c] += count
                if count > 0.0:
                    total += count * np.log(count)
            if row_sum > 0.0:
                total -= row_sum * np.log(row_sum)
                levels += 1
            there += row_sum
        if there == 0.0:
            continue
        for c in range(n_classes):
            if by_class[c] > 0.0:
                total -= by_class[c] * np.log(by_class[c])
                classes += 1
        total += there * np.log(there)
        freedom += (levels - 1) * (classes - 1)
    if freedom == 0:
        return True
    return bool(2.0 * total < tests.limits[min(freedom, tests.limits.size - 1)])


@kernel
def test_by_counts(
    state: Any,
    tests: Any,
    indptr: Array,
    indices: Array,
    codes: Array,
    n_levels: Array,
    n_rows: int,
    start: int,
    stop: int,
    related: Array,
) -> None:
    """Which discrete columns from ``start`` to ``stop`` are related to the classes; of others ``related`` stays."""
    dense, nobody = np.zeros(n_rows, np.int32), np.empty(0, np.int64)
    most = 1
    for column in range(start, stop):
        most = max(most, n_levels[column])
    mine = Tests(tests.critical, tests.limits, tests.classes, tests.n_classes, np.empty(most * tests.n_classes))
    for column in range(start, stop):
        if n_levels[column] > 0:
            dense[:] = 0
            for i in range(indptr[column], indptr[column + 1]):
                dense[indices[i]] = codes[i]
            related[column] = not is_independent_by_counts(state, mine, dense, n_levels[column], nobody, 0)


@kernel
def is_independent_given(
    state: Any, tests: Any, one: int, given: Array, n_given: int, n_rows: int, matrix: Array
) -> bool:
    """Whether a kept column is independent of the target given others: by counts if all of them are discrete."""
    discrete = state.n_levels[one] > 0
    for g in range(n_given):
        discrete = discrete and state.n_levels[given[g]] > 0
    if discrete:
        return is_independent_by_counts(state, tests, state.codes[one], state.n_levels[one], given, n_given)
    partial = partial_correlation(state, one, given, n_given, matrix)
    return is_independent(partial, n_given, n_rows, tests.critical)


@kernel
def is_separated(state: Any, tests: Any, one: int, always: int, most: int, n_rows: int) -> bool:
    """Whether some of the other kept columns, ``most`` at most, make a column independent of the target.

    With ``always``, a slot, only sets that it is in are tried.
    """
    kept = state.counts[KEPT]
    pool, n_pool = np.empty(kept, np.int64), 0
    for at in range(kept):
        slot = state.order[at]
        if slot != one and slot != always:
            pool[n_pool] = slot
            n_pool += 1
    fixed = 0 if always == NO_SLOT else 1
    given, chosen = np.empty(most, np.int64), np.empty(most, np.int64)
    matrix = np.empty((most + 2, most + 2))
    if fixed:
        given[0] = always
    for size in range(1 - fixed, most - fixed + 1):
        if size > n_pool:
            break
        for i in range(size):
            chosen[i] = i
        while True:
            for i in range(size):
                given[fixed + i] = pool[chosen[i]]
            if is_independent_given(state, tests, one, given, fixed + size, n_rows, matrix):
                return True
            i = size - 1
            while i >= 0 and chosen[i] == n_pool - size + i:
                i -= 1
            if i < 0:
                break
            chosen[i] += 1
            for j in range(i + 1, size):
                chosen[j] = chosen[j - 1] + 1
    return False


@kernel
def offer_to_blanket(
    state: Any,
    tests: Any,
    fast: bool,
    most: int,
    indptr: Array,
    indices: Array,
    values: Array,
    ids: Array,
    codes: Array,
    n_levels: Array,
    relevance: Array,
    norms: Array,
    weights: Array,
    candidates: Array,
    start: int,
) -> int:
    """Offer relevant columns to the kept ones, one by one; how many of ``candidates`` were dealt with.

    A newcomer joins. Then every kept column, in order of arrival and the newcomer last, goes if some of the others make
    it independent of the target. ``fast`` asks the newcomer first, and turns it away at once; the others are then asked
    with sets alone that the newcomer is in. Stops early when there is no free slot.
    """
    counts, order, n_rows = state.counts, state.order, weights.size
    for number in range(start, candidates.size):
        if counts[KEPT] == order.size:
            return number
        column = candidates[number]
        slot = order[counts[KEPT]]
        state.ids[slot] = ids[column]
        state.relevance[slot] = relevance[column]
        state.n_levels[slot] = n_levels[column]
        if n_levels[column] > 0:
            mine = state.codes[slot]
            mine[:] = 0
            for i in range(indptr[column], indptr[column + 1]):
                mine[indices[i]] = codes[i]
        for at in range(counts[KEPT]):
            product = 0.0
            kept = state.columns[order[at]]
            for i in range(unsigned(indptr[column]), unsigned(indptr[column + 1])):
                product += values[i] * kept[unsigned(indices[i])]
            state.correlations[slot, order[at]] = state.correlations[order[at], slot] = product / norms[column]
        counts[KEPT] += 1
        if fast and is_separated(state, tests, slot, NO_SLOT, most, n_rows):
            counts[KEPT] -= 1
            counts[REDUNDANT] += 1
            continue
        standardize_column(indptr, indices, values, weights, column, norms[column], state.columns[slot])
        at = 0
        while at < counts[KEPT]:
            other = order[at]
            newest = other == slot
            if (not newest or not fast) and is_separated(state, tests, other, slot if fast else NO_SLOT, most, n_rows):
                counts[KEPT] -= 1
                for later in range(at, counts[KEPT]):
                    order[later] = order[later + 1]
                order[counts[KEPT]] = other
                counts[REDUNDANT if newest else REPLACED] += 1
            else:
                at += 1
    return int(candidates.size)
