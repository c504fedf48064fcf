"""Tests of conditional independence: by partial correlation with Fisher's Z, by counts with G2 or chi squared.

Variables are slots of a state with ``correlations``, slots x slots, ``codes``, slots x rows, and
``n_levels``, per slot and 0 for a variable that is not discrete. A test of discrete variables alone
is by counts, any other by correlation. The outcome is a statistic and its degrees of freedom, or
NaN and the reason why there is none.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64

NORMAL, DETERMINED, UNTAKEN = (
    0,
    -1,
    -2,
)  # instead of degrees of freedom: Fisher's |W|; why a test was not taken
FLAT = 1e-12  # of a variance: what is left of one that others determine
TINY = 1e-300
STRONGEST = 1.7976931348623157e308  # an association without doubt


class VariableSlots(Protocol):
    """What a state has of the variables in its slots."""

    @property
    def correlations(self) -> F64: ...

    @property
    def codes(self) -> I32: ...

    @property
    def n_levels(self) -> I64: ...


class Tests(NamedTuple):
    """What the tests need beside the variables."""

    critical: float  # of Fisher's Z
    limits: F64  # of G2 and chi squared, by degrees of freedom
    pearson: bool  # whether counts are tested by chi squared
    n_rows: int
    rows_each: int  # rows there must be for each degree of freedom by counts, for each variable by correlation
    table: F64  # scratch for counts
    strata: I64  # per row, scratch
    matrix: F64  # scratch for the squared number of variables in a test by correlation


@kernel
def partial_correlation(
    state: VariableSlots, one: int, other: int, given: I64, n_given: int, matrix: F64
) -> float:
    """The correlation of two variables given others; NaN if those determine one of the two.

    Given    matrix: scratch for (n_given + 2) squared numbers.
    """
    size = n_given + 2
    for a in range(n_given):
        slot = given[a]
        matrix[0, a + 2] = matrix[a + 2, 0] = state.correlations[one, slot]
        matrix[1, a + 2] = matrix[a + 2, 1] = state.correlations[other, slot]
        for b in range(n_given):
            matrix[a + 2, b + 2] = 1.0 if a == b else state.correlations[slot, given[b]]
    matrix[0, 1] = matrix[1, 0] = state.correlations[one, other]
    matrix[0, 0] = matrix[1, 1] = 1.0
    for out in range(size - 1, 1, -1):  # take one after the other out of all covariances
        pivot = matrix[out, out]
        if pivot < FLAT:
            continue
        for a in range(out):
            coefficient = matrix[a, out] / pivot
            for b in range(out):
                matrix[a, b] -= coefficient * matrix[out, b]
    if matrix[0, 0] < FLAT or matrix[1, 1] < FLAT:
        return np.nan
    return float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))


@kernel
def fisher_statistic(tests: Tests, correlation: float, n_given: int) -> tuple[float, int]:
    """Fisher's |W| of a partial correlation given ``n_given`` others."""
    freedom = tests.n_rows - n_given - 3
    if freedom <= 0 or tests.rows_each * (n_given + 2) > tests.n_rows:
        return np.nan, UNTAKEN
    if np.isnan(correlation):
        return np.nan, DETERMINED
    if abs(correlation) >= 1.0:
        return np.inf, NORMAL
    return np.sqrt(freedom) * abs(0.5 * np.log((1.0 + correlation) / (1.0 - correlation))), NORMAL


@kernel
def stratify(state: VariableSlots, tests: Tests, given: I64, n_given: int) -> int:
    """Write each row's stratum, its values of the given variables; how many there can be, 0 if too many to count."""
    n_strata = 1
    for g in range(n_given):
        n_strata *= state.n_levels[given[g]]
        if n_strata > tests.table.size:
            return 0
    if n_strata > 1:
        for row in range(tests.n_rows):
            stratum = 0
            for g in range(n_given):
                stratum = stratum * state.n_levels[given[g]] + state.codes[given[g], row]
            tests.strata[row] = stratum
    return n_strata


@kernel
def count_statistic(
    tests: Tests,
    one: I32,
    n_one: int,
    other: I32,
    n_other: int,
    strata: I64,
    n_strata: int,
    table: F64,
) -> tuple[float, int]:
    """G2 or chi squared of two coded variables within strata, and its degrees of freedom.

    Those are counted where there are rows: a value that does not occur with some of the others has
    none. A test that ``table`` has no room for is not taken.
    """
    block = n_one * n_other
    too_thin = tests.rows_each * (n_one - 1) * (n_other - 1) * n_strata > tests.n_rows
    if n_strata == 0 or too_thin or n_strata * block > table.size:
        return np.nan, UNTAKEN
    table[: n_strata * block] = 0.0
    if n_strata == 1:
        for row in range(one.size):
            table[one[row] * n_other + other[row]] += 1.0
    else:
        for row in range(one.size):
            table[strata[row] * block + one[row] * n_other + other[row]] += 1.0
    total = 0.0
    freedom = 0
    by_other = np.empty(n_other)
    for stratum in range(n_strata):
        there = 0.0
        levels = others = 0
        by_other[:] = 0.0
        for a in range(n_one):
            row_sum = 0.0
            for c in range(n_other):
                count = table[stratum * block + a * n_other + c]
                row_sum += count
                by_other[c] += count
                if count > 0.0 and not tests.pearson:
                    total += count * np.log(count)
            if row_sum > 0.0:
                if not tests.pearson:
                    total -= row_sum * np.log(row_sum)
                levels += 1
            there += row_sum
        if there == 0.0:
            continue
        for c in range(n_other):
            if by_other[c] > 0.0:
                if not tests.pearson:
                    total -= by_other[c] * np.log(by_other[c])
                others += 1
        total += (
            off_expected(table, stratum * block, n_one, by_other)
            if tests.pearson
            else there * np.log(there)
        )
        freedom += (levels - 1) * (others - 1)
    if freedom == 0:
        return 0.0, 1
    return total if tests.pearson else 2.0 * total, freedom


@kernel
def off_expected(table: F64, start: int, n_one: int, by_other: F64) -> float:
    """Pearson's sum of (count - expected) ** 2 / expected over the cells of a stratum."""
    there = by_other.sum()
    total = 0.0
    for a in range(n_one):
        row_sum = 0.0
        for c in range(by_other.size):
            row_sum += table[start + a * by_other.size + c]
        for c in range(by_other.size):
            expected = row_sum * by_other[c] / there
            if expected > 0.0:
                total += (table[start + a * by_other.size + c] - expected) ** 2 / expected
    return total


@kernel
def statistic_given(
    state: VariableSlots, tests: Tests, one: int, other: int, given: I64, n_given: int
) -> tuple[float, int]:
    """The statistic of two variables given others."""
    discrete = state.n_levels[one] > 0 and state.n_levels[other] > 0
    for g in range(n_given):
        discrete = discrete and state.n_levels[given[g]] > 0
    if discrete:
        n_strata = stratify(state, tests, given, n_given)
        pair = state.codes[one], state.n_levels[one], state.codes[other], state.n_levels[other]
        return count_statistic(tests, *pair, tests.strata, n_strata, tests.table)
    partial = partial_correlation(state, one, other, given, n_given, tests.matrix)
    return fisher_statistic(tests, partial, n_given)


@kernel
def is_independent(tests: Tests, value: float, freedom: int) -> bool:
    """Whether a test finds independence; one that was not taken does not."""
    limit = (
        tests.critical if freedom <= NORMAL else tests.limits[min(freedom, tests.limits.size - 1)]
    )
    return bool(value < limit)


@kernel
def association(tests: Tests, value: float, freedom: int) -> float:
    """How sure a test is of dependence, -ln p; 0 if it finds none or one of the two is determined; NaN if not taken."""
    if freedom == UNTAKEN:
        return np.nan
    if freedom == DETERMINED or is_independent(tests, value, freedom):
        return 0.0
    if np.isinf(value):
        return STRONGEST
    return -log_tail(value * value, 1) if freedom == NORMAL else -log_tail(value, freedom)


@kernel
def log_tail(value: float, freedom: int) -> float:
    """ln of the chance that chi squared is larger: of the upper incomplete gamma function, by series or fraction."""
    a, x = 0.5 * freedom, 0.5 * value
    if x <= 0.0:
        return 0.0
    scale = a * np.log(x) - x - math.lgamma(a)
    if x < a + 1.0:
        term = total = 1.0 / a
        n = a
        while term > 1e-17 * total:
            n += 1.0
            term *= x / n
            total += term
        return float(np.log1p(-min(np.exp(scale + np.log(total)), 1.0 - 1e-16)))
    b = x + 1.0 - a
    c, d = 1.0 / TINY, 1.0 / b
    fraction = d
    step = 0.0
    n = 0.0
    while abs(step - 1.0) > 1e-15 and n < 10_000.0:
        n += 1.0
        factor = -n * (n - a)
        b += 2.0
        d = factor * d + b
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = b + factor / c
        c = c if abs(c) > TINY else TINY
        step = c * d
        fraction *= step
    return float(scale + np.log(fraction))


@kernel
def next_set(chosen: I64, size: int, n: int) -> int:
    """Write the next set of ``n`` numbers over the last, which had ``size`` of them; return how many it has.

    Sets of one size come in lexicographic order, and after the last of them the first of the next
    size.
    """
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i < 0:
        i, size = 0, size + 1
        chosen[0] = 0
    else:
        chosen[i] += 1
    for j in range(i + 1, size):
        chosen[j] = chosen[j - 1] + 1
    return size
