"""Markov blankets from all columns at once: IAMB and MMMB (Tsamardinos, Aliferis, Statnikov 2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .dependence import correlate_with, spread_codes, standardize_column
from .independence import (
    FLAT,
    Tests,
    association,
    count_statistic,
    fisher_statistic,
    next_set,
    statistic_given,
    stratify,
)

CENTRE = 0  # the slot of the variable whose blanket or neighbours are sought
FIRST_SLOTS = 16
AS_STRONG = (
    1e-9  # associations no further apart, for their size, are equal: rounding must not decide
)


class Columns(NamedTuple):
    """Columns, CSC and none of them constant; the target is the last."""

    indptr: I64
    indices: I32
    values: F64
    norms: F64  # lengths of the centred columns
    codes: I32  # per non-zero, where some columns are discrete
    n_levels: I64  # per column; 0 for one that is not discrete


class Variables(NamedTuple):
    """Columns that tests are about, a slot each."""

    correlations: F64  # slots x slots
    codes: I32  # slots x rows; no rows where no column is discrete
    n_levels: I64  # per slot


@kernel
def no_variables(columns: Columns, n_slots: int, n_rows: int) -> Variables:
    coded = n_rows if columns.n_levels.max() > 0 else 0
    return Variables(
        np.zeros((n_slots, n_slots)),
        np.zeros((n_slots, coded), np.int32),
        np.zeros(n_slots, np.int64),
    )


@kernel
def with_more_variables(variables: Variables) -> Variables:
    """The same variables, with twice the slots."""
    slots, coded = variables.codes.shape
    more = Variables(
        np.zeros((2 * slots, 2 * slots)),
        np.zeros((2 * slots, coded), np.int32),
        np.zeros(2 * slots, np.int64),
    )
    more.correlations[:slots, :slots] = variables.correlations
    more.codes[:slots] = variables.codes
    more.n_levels[:slots] = variables.n_levels
    return more


@kernel
def with_more_rows(matrix: F64) -> F64:
    """The same matrix, with twice the rows."""
    more = np.zeros((2 * matrix.shape[0], matrix.shape[1]))
    more[: matrix.shape[0]] = matrix
    return more


@kernel
def take_codes(columns: Columns, column: int, variables: Variables, slot: int) -> None:
    """Write a column's codes, if it has some, to a slot."""
    variables.n_levels[slot] = columns.n_levels[column]
    if columns.n_levels[column] > 0:
        spread_codes(columns.indptr, columns.indices, columns.codes, column, variables.codes[slot])


@kernel
def product_with(columns: Columns, column: int, dense: F64) -> float:
    """Return the product of a column, scaled to length 1 but not centred, and a centred vector."""
    return correlate_with(
        columns.indptr, columns.indices, columns.values, column, columns.norms[column], dense
    )


@kernel
def standardize(columns: Columns, column: int, weights: F64, out: F64) -> None:
    standardize_column(
        columns.indptr, columns.indices, columns.values, weights, column, columns.norms[column], out
    )


@kernel
def is_stronger(one: float, other: float) -> bool:
    return bool(one - other > AS_STRONG * other)


# ---- IAMB


@kernel
def residual_statistic(
    tests: Tests, shared: float, spread: float, other_spread: float, n_given: int
) -> tuple[float, int]:
    """The statistic of two variables given others, from what those leave of their covariance and variances."""
    correlation = np.nan
    if spread >= FLAT and other_spread >= FLAT:
        correlation = shared / np.sqrt(spread * other_spread)
    return fisher_statistic(tests, correlation, n_given)


@kernel
def grow_blanket(columns: Columns, tests: Tests, weights: F64) -> tuple[I64, F64, Variables]:
    """IAMB's first phase: the column most associated with the target given all that joined joins, while there is one.

    Back     the columns that joined, in order; their associations then; and all as variables, the target first.

    What the blanket leaves of every column's variance, ``spread``, and of its covariance with the
    target, ``shared``, is kept up to date: a column that joins costs one product with the part of
    it that is new.
    """
    n_columns = columns.norms.size - 1
    n_rows = weights.size
    free = np.ones(n_columns, np.bool_)
    spread, shared = np.ones(n_columns), np.zeros(n_columns)
    target, standard = np.empty(n_rows), np.empty(n_rows)
    standardize(columns, n_columns, weights, target)
    for column in range(n_columns):
        shared[column] = product_with(columns, column, target)
    target_spread = 1.0
    variables = no_variables(columns, FIRST_SLOTS, n_rows)
    take_codes(columns, n_columns, variables, CENTRE)
    basis = np.zeros((FIRST_SLOTS, n_rows))
    joined, strengths = np.empty(n_columns, np.int64), np.empty(n_columns)
    slots = np.arange(1, n_columns + 1)
    by_counts = columns.n_levels[n_columns] > 0
    for n in range(n_columns):
        if n + 2 > variables.n_levels.size:
            variables = with_more_variables(variables)
            basis = with_more_rows(basis)
        n_strata = stratify(variables, tests, slots, n) if by_counts else 0
        best, top = -1, 0.0
        for column in range(n_columns):
            if not free[column]:
                continue
            if by_counts and columns.n_levels[column] > 0:
                take_codes(columns, column, variables, n + 1)
                value, freedom = count_statistic(
                    tests,
                    variables.codes[n + 1],
                    columns.n_levels[column],
                    variables.codes[CENTRE],
                    variables.n_levels[CENTRE],
                    tests.strata,
                    n_strata,
                    tests.table,
                )
            else:
                value, freedom = residual_statistic(
                    tests, shared[column], spread[column], target_spread, n
                )
            strength = association(tests, value, freedom)
            if is_stronger(strength, top):
                best, top = column, strength
        if best < 0:
            return joined[:n], strengths[:n], variables
        joined[n], strengths[n] = best, top
        free[best] = False
        by_counts = by_counts and columns.n_levels[best] > 0
        take_codes(columns, best, variables, n + 1)
        standardize(columns, best, weights, standard)
        variables.correlations[n + 1, CENTRE] = variables.correlations[CENTRE, n + 1] = (
            standard @ target
        )
        for earlier in range(n):
            product = product_with(columns, joined[earlier], standard)
            variables.correlations[n + 1, earlier + 1] = variables.correlations[
                earlier + 1, n + 1
            ] = product
        new = basis[n]
        new[:] = standard
        for _ in range(2):  # the second time takes out what rounding left in
            for earlier in range(n):
                new -= (new @ basis[earlier]) * basis[earlier]
        length = np.sqrt(new @ new)
        if length * length < FLAT:
            new[:] = 0.0
            continue
        new /= length
        product = target @ new
        target_spread -= product * product
        for column in range(n_columns):
            if free[column]:
                mine = product_with(columns, column, new)
                spread[column] -= mine * mine
                shared[column] -= mine * product
    return joined, strengths, variables


@kernel
def sweep(matrix: F64, pivot: int, sign: float) -> None:
    """Condition all variables of a covariance matrix on one, in place (``sign`` 1), or take that back (-1).

    Between variables that are not conditioned on it then holds what is left of their covariances;
    with those that are, the coefficients of the regression on them; among the latter, less their
    inverse.
    """
    scale = matrix[pivot, pivot]
    row = matrix[pivot].copy()
    matrix -= np.outer(row / scale, row)
    matrix[pivot] = matrix[:, pivot] = sign * row / scale
    matrix[pivot, pivot] = -1.0 / scale


@kernel
def shrink_blanket(variables: Variables, tests: Tests, n: int) -> Bool:
    """IAMB's second phase: which of ``n`` columns stay. In order, each goes that is independent given the others."""
    stays = np.ones(n, np.bool_)
    swept = variables.correlations[: n + 1, : n + 1].copy()
    np.fill_diagonal(swept, 1.0)
    for slot in range(1, n + 1):
        if swept[slot, slot] < FLAT:  # the others determine it
            stays[slot - 1] = False
        else:
            sweep(swept, slot, 1.0)
    for slot in range(1, n + 1):
        if not stays[slot - 1]:
            continue
        given = np.flatnonzero(stays) + 1  # the slots after that of the target
        if variables.n_levels[CENTRE] > 0 and (variables.n_levels[given] > 0).all():
            value, freedom = statistic_given(
                variables, tests, slot, CENTRE, given[given != slot], given.size - 1
            )
        else:
            spread = -1.0 / swept[slot, slot]
            shared = swept[slot, CENTRE] * spread
            target_spread = swept[CENTRE, CENTRE] + swept[slot, CENTRE] * shared
            value, freedom = residual_statistic(
                tests, shared, spread, target_spread, given.size - 1
            )
        if association(tests, value, freedom) == 0.0:
            stays[slot - 1] = False
            sweep(swept, slot, -1.0)
    return stays


# ---- MMMB


@kernel
def weakest_association(
    variables: Variables,
    tests: Tests,
    one: int,
    pool: I64,
    n_pool: int,
    fixed: int,
    most: int,
    given: I64,
) -> tuple[float, int]:
    """The least association of a slot and the centre given sets of a pool, and the size of the set that gives it.

    Sets are ``given``'s first ``fixed`` and up to ``most`` in all, one at least; smaller ones come
    first. At the first that separates the two, association 0, it ends, and ``given`` holds the set.
    """
    least = np.inf
    size, chosen = 1 - fixed, np.arange(most + 1)
    while size <= min(most - fixed, n_pool):
        for i in range(size):
            given[fixed + i] = pool[chosen[i]]
        value, freedom = statistic_given(variables, tests, one, CENTRE, given, fixed + size)
        strength = association(tests, value, freedom)
        if strength == 0.0:
            return 0.0, fixed + size
        if strength < least:
            least = strength
        size = next_set(chosen, size, n_pool)
    return least, 0


@kernel
def parents_and_children(
    columns: Columns, tests: Tests, centre: int, most: int, weights: F64
) -> tuple[I64, F64, I64, I64]:
    """The candidate parents and children of a column by max-min, with sets of ``most`` at most to condition on.

    Next joins the column whose least association with the centre, given sets of those that joined,
    is largest, while there is one with any. Then, in order, every one that some set of the others
    separates from the centre goes.

    Back     the columns found; the least association of every column; the set that separates each of the others from
             the centre, and its size.
    """
    n_columns, n_rows = columns.norms.size, weights.size
    least = np.zeros(n_columns)
    separators, n_separators = np.zeros((n_columns, most), np.int64), np.zeros(n_columns, np.int64)
    standard, given = np.empty(n_rows), np.empty(most, np.int64)
    variables = no_variables(columns, FIRST_SLOTS, n_rows)
    take_codes(columns, centre, variables, CENTRE)
    standardize(columns, centre, weights, standard)
    relevance = np.zeros(n_columns)
    for column in range(n_columns):
        if column != centre:
            take_codes(columns, column, variables, 1)
            relevance[column] = product_with(columns, column, standard)
            variables.correlations[1, CENTRE] = relevance[column]
            value, freedom = statistic_given(variables, tests, 1, CENTRE, given, 0)
            strength = association(tests, value, freedom)
            least[column] = strength if strength > 0.0 else 0.0
    candidates = np.flatnonzero(least)
    shared = np.zeros((FIRST_SLOTS, candidates.size))  # correlations of slots with candidates
    joined, pool = np.empty(candidates.size, np.int64), np.arange(1, candidates.size + 1)
    free = np.ones(candidates.size, np.bool_)
    shared[CENTRE] = relevance[candidates]
    n = 0
    while True:
        best, top = -1, 0.0
        for number in range(candidates.size):
            if free[number] and is_stronger(least[candidates[number]], top):
                best, top = number, least[candidates[number]]
        if best < 0:
            break
        if n + 3 > variables.n_levels.size:
            variables = with_more_variables(variables)
            shared = with_more_rows(shared)
        free[best] = False
        joined[n] = candidates[best]
        n += 1
        variables.correlations[n, :n] = variables.correlations[:n, n] = shared[:n, best]
        take_codes(columns, candidates[best], variables, n)
        standardize(columns, candidates[best], weights, standard)
        for number in range(candidates.size):
            column = candidates[number]
            if not free[number]:
                continue
            shared[n, number] = product_with(columns, column, standard)
            take_codes(columns, column, variables, n + 1)
            variables.correlations[n + 1, : n + 1] = shared[: n + 1, number]
            given[0] = n
            strength, size = weakest_association(
                variables, tests, n + 1, pool, n - 1, 1, most, given
            )
            least[column] = min(least[column], strength)
            if strength == 0.0:
                free[number] = False
                separate(separators, n_separators, column, joined, given, size)
    stays = np.ones(n, np.bool_)
    for slot in range(1, n + 1):
        others = np.flatnonzero(stays) + 1
        others = others[others != slot]
        strength, size = weakest_association(
            variables, tests, slot, others, others.size, 0, most, given
        )
        least[joined[slot - 1]] = min(least[joined[slot - 1]], strength)
        if strength == 0.0:
            stays[slot - 1] = False
            separate(separators, n_separators, joined[slot - 1], joined, given, size)
    return joined[:n][stays], least, separators, n_separators


@kernel
def separate(
    separators: I64, n_separators: I64, column: int, joined: I64, given: I64, size: int
) -> None:
    """Note the set of slots that separates a column from the centre."""
    n_separators[column] = size
    separators[column, :size] = joined[given[:size] - 1]


@kernel
def association_of_columns(
    columns: Columns, tests: Tests, one: int, other: int, given: I64, weights: F64
) -> float:
    """How strongly two columns are associated given some others."""
    n_rows, size = weights.size, given.size + 2
    wanted = np.empty(size, np.int64)
    wanted[CENTRE], wanted[1], wanted[2:] = other, one, given
    variables = no_variables(columns, size, n_rows)
    standard = np.empty(n_rows)
    for slot in range(size):
        take_codes(columns, wanted[slot], variables, slot)
        standardize(columns, wanted[slot], weights, standard)
        for earlier in range(slot):
            product = product_with(columns, wanted[earlier], standard)
            variables.correlations[slot, earlier] = variables.correlations[earlier, slot] = product
    value, freedom = statistic_given(variables, tests, 1, CENTRE, np.arange(2, size), given.size)
    return association(tests, value, freedom)
