"""Test conditional independence: Fisher's Z of partial correlations, G2 or chi2 of counts.

Variables are slots of a state with ``correlations``, slots x slots, ``codes``, slots x rows, and
``n_levels``, per slot and 0 for a variable that is not discrete. If all variables are discrete, a
test is by counts, otherwise by correlation. The outcome is a statistic and its degrees of freedom,
or NaN and the reason why there is none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64

# instead of degrees of freedom: for Fisher's |W|; the reasons why there is no statistic
NORMAL, DETERMINED, NOT_TAKEN = 0, -1, -2
FLAT = 1e-12  # of a variance: the remainder of a variable that others determine
TINY = 1e-300
MAX_ASSOCIATION = 1.7976931348623157e308  # the association of an infinite statistic


class TestSettings(NamedTuple):
    """Settings and scratch arrays of the tests."""

    critical: float  # of Fisher's Z
    limits: F64  # of G2 and chi squared, by degrees of freedom
    pearson: bool  # True for chi squared of counts, False for G2
    n_rows: int
    # rows required for each degree of freedom (by counts) or for each variable (by correlation)
    rows_each: int
    table: F64  # scratch for counts
    strata: I64  # per row, scratch
    matrix: F64  # scratch for the squared number of variables in a test by correlation


@kernel
def partial_correlation(
    state: Any, first: int, second: int, given: I64, n_given: int, matrix: F64
) -> float:
    """Return the correlation of two variables given others; NaN if those determine one of them.

    Given    matrix: scratch for (n_given + 2) squared numbers.
    """
    size = n_given + 2
    for a in range(n_given):
        slot = given[a]
        matrix[0, a + 2] = matrix[a + 2, 0] = state.correlations[first, slot]
        matrix[1, a + 2] = matrix[a + 2, 1] = state.correlations[second, slot]
        for b in range(n_given):
            matrix[a + 2, b + 2] = 1.0 if a == b else state.correlations[slot, given[b]]
    matrix[0, 1] = matrix[1, 0] = state.correlations[first, second]
    matrix[0, 0] = matrix[1, 1] = 1.0
    for out in range(size - 1, 1, -1):  # condition all covariances on one after the other
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
def fisher_statistic(tests: TestSettings, correlation: float, n_given: int) -> tuple[float, int]:
    """Return Fisher's |W| of a partial correlation given ``n_given`` others."""
    freedom = tests.n_rows - n_given - 3
    if freedom <= 0 or tests.rows_each * (n_given + 2) > tests.n_rows:
        return np.nan, NOT_TAKEN
    if np.isnan(correlation):
        return np.nan, DETERMINED
    if abs(correlation) >= 1.0:
        return np.inf, NORMAL
    return np.sqrt(freedom) * abs(0.5 * np.log((1.0 + correlation) / (1.0 - correlation))), NORMAL


@kernel
def stratify(state: Any, tests: TestSettings, given: I64, n_given: int) -> int:
    """Write the stratum of each row: its combination of values of the given variables.

    Back     ``tests.strata``; the number of possible strata, 0 if they are too many to count.
    """
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
    tests: TestSettings,
    x: I32,
    n_x: int,
    y: I32,
    n_y: int,
    strata: I64,
    n_strata: int,
    table: F64,
) -> tuple[float, int]:
    """Return G2 or chi squared of two coded variables within strata, and its degrees of freedom.

    Degrees of freedom are counted in strata with rows only: a value that does not occur in a
    stratum adds none. A test for which ``table`` is too small is not taken.
    """
    block = n_x * n_y
    too_thin = tests.rows_each * (n_x - 1) * (n_y - 1) * n_strata > tests.n_rows
    if n_strata == 0 or too_thin or n_strata * block > table.size:
        return np.nan, NOT_TAKEN
    table[: n_strata * block] = 0.0
    if n_strata == 1:
        for row in range(x.size):
            table[x[row] * n_y + y[row]] += 1.0
    else:
        for row in range(x.size):
            table[strata[row] * block + x[row] * n_y + y[row]] += 1.0
    statistic = 0.0
    freedom = 0
    y_counts = np.empty(n_y)
    for stratum in range(n_strata):
        n_stratum = 0.0
        x_levels = y_levels = 0
        y_counts[:] = 0.0
        for a in range(n_x):
            row_sum = 0.0
            for c in range(n_y):
                count = table[stratum * block + a * n_y + c]
                row_sum += count
                y_counts[c] += count
                if count > 0.0 and not tests.pearson:
                    statistic += count * np.log(count)
            if row_sum > 0.0:
                if not tests.pearson:
                    statistic -= row_sum * np.log(row_sum)
                x_levels += 1
            n_stratum += row_sum
        if n_stratum == 0.0:
            continue
        for c in range(n_y):
            if y_counts[c] > 0.0:
                if not tests.pearson:
                    statistic -= y_counts[c] * np.log(y_counts[c])
                y_levels += 1
        statistic += (
            pearson_statistic(table, stratum * block, n_x, y_counts)
            if tests.pearson
            else n_stratum * np.log(n_stratum)
        )
        freedom += (x_levels - 1) * (y_levels - 1)
    if freedom == 0:
        return 0.0, 1
    return statistic if tests.pearson else 2.0 * statistic, freedom


@kernel
def pearson_statistic(table: F64, start: int, n_x: int, y_counts: F64) -> float:
    """Return Pearson's sum of (count - expected) ** 2 / expected over the cells of a stratum."""
    n_stratum = y_counts.sum()
    total = 0.0
    for a in range(n_x):
        row_sum = 0.0
        for c in range(y_counts.size):
            row_sum += table[start + a * y_counts.size + c]
        for c in range(y_counts.size):
            expected = row_sum * y_counts[c] / n_stratum
            if expected > 0.0:
                total += (table[start + a * y_counts.size + c] - expected) ** 2 / expected
    return total


@kernel
def statistic_given(
    state: Any, tests: TestSettings, first: int, second: int, given: I64, n_given: int
) -> tuple[float, int]:
    """Return the statistic of two variables given others, and its degrees of freedom."""
    discrete = state.n_levels[first] > 0 and state.n_levels[second] > 0
    for g in range(n_given):
        discrete = discrete and state.n_levels[given[g]] > 0
    if discrete:
        n_strata = stratify(state, tests, given, n_given)
        return count_statistic(
            tests,
            state.codes[first],
            state.n_levels[first],
            state.codes[second],
            state.n_levels[second],
            tests.strata,
            n_strata,
            tests.table,
        )
    partial = partial_correlation(state, first, second, given, n_given, tests.matrix)
    return fisher_statistic(tests, partial, n_given)


@kernel
def is_independent(tests: TestSettings, value: float, freedom: int) -> bool:
    """Return True if a test finds independence; False if it was not taken."""
    limit = (
        tests.critical if freedom <= NORMAL else tests.limits[min(freedom, tests.limits.size - 1)]
    )
    return bool(value < limit)


@kernel
def association(tests: TestSettings, value: float, freedom: int) -> float:
    """Return the strength of a dependence, -ln p.

    It is 0 if the test finds independence or one variable is determined, and NaN if the test was
    not taken.
    """
    if freedom == NOT_TAKEN:
        return np.nan
    if freedom == DETERMINED or is_independent(tests, value, freedom):
        return 0.0
    if np.isinf(value):
        return MAX_ASSOCIATION
    return -log_tail(value * value, 1) if freedom == NORMAL else -log_tail(value, freedom)


@kernel
def log_tail(value: float, freedom: int) -> float:
    """Return ln of the probability that chi squared is larger than a value.

    That is the upper incomplete gamma function, by its series or its continued fraction.
    """
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
    """Write the next set of numbers below ``n`` over the last one; return its size.

    Given    size: of the last set.

    Sets of one size come in lexicographic order; after the last of them comes the first of the next
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
