"""Markov blankets of all columns: IAMB and MMMB (Tsamardinos, Aliferis, Statnikov 2003)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .dependence import correlate_with, spread_codes, standardize_column
from .independence import (
    FLAT,
    TestSettings,
    association,
    count_statistic,
    fisher_statistic,
    next_set,
    statistic_given,
    stratify,
)

CENTRE = 0  # the slot of the variable whose blanket or neighbours are sought
FIRST_SLOTS = 16
# relative: associations that differ by no more are equal, so that rounding does not decide
ASSOCIATION_TOLERANCE = 1e-9


class Columns(NamedTuple):
    """Columns in CSC form, none of them constant; the target is the last."""

    indptr: I64
    indices: I32
    values: F64
    norms: F64  # lengths of the centred columns
    codes: I32  # per non-zero, where some columns are discrete
    n_levels: I64  # per column; 0 for one that is not discrete


class Variables(NamedTuple):
    """The columns that tests are about, one slot for each."""

    correlations: F64  # slots x slots
    codes: I32  # slots x rows; no rows where no column is discrete
    n_levels: I64  # per slot


@kernel
def empty_variables(columns: Columns, n_slots: int, n_rows: int) -> Variables:
    """Return slots without variables; the codes take no memory if no column is discrete."""
    code_rows = n_rows if columns.n_levels.max() > 0 else 0
    return Variables(
        np.zeros((n_slots, n_slots)),
        np.zeros((n_slots, code_rows), np.int32),
        np.zeros(n_slots, np.int64),
    )


@kernel
def double_slots(variables: Variables) -> Variables:
    """Return the same variables with twice the slots."""
    slots, code_rows = variables.codes.shape
    doubled = Variables(
        np.zeros((2 * slots, 2 * slots)),
        np.zeros((2 * slots, code_rows), np.int32),
        np.zeros(2 * slots, np.int64),
    )
    doubled.correlations[:slots, :slots] = variables.correlations
    doubled.codes[:slots] = variables.codes
    doubled.n_levels[:slots] = variables.n_levels
    return doubled


@kernel
def double_rows(matrix: F64) -> F64:
    """Return the same matrix with twice the rows."""
    doubled = np.zeros((2 * matrix.shape[0], matrix.shape[1]))
    doubled[: matrix.shape[0]] = matrix
    return doubled


@kernel
def write_codes(columns: Columns, column: int, variables: Variables, slot: int) -> None:
    """Write the codes of a column to a slot, if the column is discrete."""
    variables.n_levels[slot] = columns.n_levels[column]
    if columns.n_levels[column] > 0:
        spread_codes(columns.indptr, columns.indices, columns.codes, column, variables.codes[slot])


@kernel
def product_with(columns: Columns, column: int, dense: F64) -> float:
    """Return the product of a column of length 1, not centred, with a centred vector."""
    return correlate_with(
        columns.indptr, columns.indices, columns.values, column, columns.norms[column], dense
    )


@kernel
def standardize(columns: Columns, column: int, weights: F64, out: F64) -> None:
    """Write a column, centred and of length 1, times the weights of rows."""
    standardize_column(
        columns.indptr, columns.indices, columns.values, weights, column, columns.norms[column], out
    )


@kernel
def is_stronger(strength: float, other: float) -> bool:
    """Return True if an association is larger than another by more than rounding."""
    return bool(strength - other > ASSOCIATION_TOLERANCE * other)


# ---- IAMB


@kernel
def residual_statistic(
    tests: TestSettings, shared: float, spread: float, other_spread: float, n_given: int
) -> tuple[float, int]:
    """Return the statistic of two variables given others.

    Given    shared, spread, other_spread: the covariance and the variances that the others leave.
    """
    correlation = np.nan
    if spread >= FLAT and other_spread >= FLAT:
        correlation = shared / np.sqrt(spread * other_spread)
    return fisher_statistic(tests, correlation, n_given)


@kernel
def grow_blanket(columns: Columns, tests: TestSettings, weights: F64) -> tuple[I64, F64, Variables]:
    """Add columns to the blanket of the target: the first phase of IAMB.

    Problem  while there is one, the column most associated with the target, given all columns that
             joined before, joins.
    Back     the columns that joined, in order; their associations at that time; and all of them as
             variables, the target first.

    The variance of every column that the blanket does not explain, ``spread``, and its covariance
    with the target, ``shared``, are kept up to date: a column that joins costs one product with the
    part of it that is new.
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
    variables = empty_variables(columns, FIRST_SLOTS, n_rows)
    write_codes(columns, n_columns, variables, CENTRE)
    basis = np.zeros((FIRST_SLOTS, n_rows))
    joined, strengths = np.empty(n_columns, np.int64), np.empty(n_columns)
    slots = np.arange(1, n_columns + 1)
    by_counts = columns.n_levels[n_columns] > 0
    for n_joined in range(n_columns):
        if n_joined + 2 > variables.n_levels.size:
            variables = double_slots(variables)
            basis = double_rows(basis)
        n_strata = stratify(variables, tests, slots, n_joined) if by_counts else 0
        best, best_strength = -1, 0.0
        for column in range(n_columns):
            if not free[column]:
                continue
            if by_counts and columns.n_levels[column] > 0:
                write_codes(columns, column, variables, n_joined + 1)
                value, freedom = count_statistic(
                    tests,
                    variables.codes[n_joined + 1],
                    columns.n_levels[column],
                    variables.codes[CENTRE],
                    variables.n_levels[CENTRE],
                    tests.strata,
                    n_strata,
                    tests.table,
                )
            else:
                value, freedom = residual_statistic(
                    tests, shared[column], spread[column], target_spread, n_joined
                )
            strength = association(tests, value, freedom)
            if is_stronger(strength, best_strength):
                best, best_strength = column, strength
        if best < 0:
            return joined[:n_joined], strengths[:n_joined], variables
        joined[n_joined], strengths[n_joined] = best, best_strength
        free[best] = False
        by_counts = by_counts and columns.n_levels[best] > 0
        write_codes(columns, best, variables, n_joined + 1)
        standardize(columns, best, weights, standard)
        variables.correlations[n_joined + 1, CENTRE] = variables.correlations[
            CENTRE, n_joined + 1
        ] = standard @ target
        for earlier in range(n_joined):
            product = product_with(columns, joined[earlier], standard)
            variables.correlations[n_joined + 1, earlier + 1] = variables.correlations[
                earlier + 1, n_joined + 1
            ] = product
        new = basis[n_joined]
        new[:] = standard
        for _ in range(2):  # the second time removes what rounding left
            for earlier in range(n_joined):
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
                column_product = product_with(columns, column, new)
                spread[column] -= column_product * column_product
                shared[column] -= column_product * product
    return joined, strengths, variables


@kernel
def sweep(matrix: F64, pivot: int, sign: float) -> None:
    """Condition all variables of a covariance matrix on one, in place; or undo that.

    Given    sign: 1 to condition on the variable at ``pivot``, -1 to undo it.

    Afterwards the matrix has, between variables that are not conditioned on, their conditional
    covariances; between one of these and one that is conditioned on, the coefficients of the
    regression on the latter; among those conditioned on, minus the inverse of their covariances.
    """
    scale = matrix[pivot, pivot]
    row = matrix[pivot].copy()
    matrix -= np.outer(row / scale, row)
    matrix[pivot] = matrix[:, pivot] = sign * row / scale
    matrix[pivot, pivot] = -1.0 / scale


@kernel
def shrink_blanket(variables: Variables, tests: TestSettings, n: int) -> Bool:
    """Return which of the ``n`` columns stay in the blanket: the second phase of IAMB.

    In order, each column that is independent of the target given the others leaves.
    """
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
        given = np.flatnonzero(stays) + 1  # slot 0 is the target
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
def find_weakest_association(
    variables: Variables,
    tests: TestSettings,
    slot: int,
    pool: I64,
    n_pool: int,
    fixed: int,
    max_given: int,
    given: I64,
) -> tuple[float, int]:
    """Return the smallest association of a slot with the centre given sets of a pool.

    Sets consist of the first ``fixed`` entries of ``given`` and slots of the pool, at least one and
    at most ``max_given`` in all; smaller sets come first. The search ends at the first set that
    separates the two (association 0).

    Back     the smallest association; the size of the set that separates, or 0; and in ``given``
             that set.
    """
    weakest = np.inf
    size, chosen = 1 - fixed, np.arange(max_given + 1)
    while size <= min(max_given - fixed, n_pool):
        for i in range(size):
            given[fixed + i] = pool[chosen[i]]
        strength = association(
            tests, *statistic_given(variables, tests, slot, CENTRE, given, fixed + size)
        )
        if strength == 0.0:
            return 0.0, fixed + size
        if strength < weakest:
            weakest = strength
        size = next_set(chosen, size, n_pool)
    return weakest, 0


@kernel
def find_parents_and_children(
    columns: Columns, tests: TestSettings, centre: int, max_given: int, weights: F64
) -> tuple[I64, F64, I64, I64]:
    """Return the candidate parents and children of a column, by max-min (MMPC).

    Problem  while there is one, the column joins whose smallest association with the centre, given
             sets of the columns that joined, is largest and above 0. Then, in order, each column
             leaves that some set of the others separates from the centre.
    Given    max_given: the largest size of a set to condition on.
    Back     the parents and children; the smallest association of every column; the set that
             separates each other column from the centre, and its size.
    """
    n_columns, n_rows = columns.norms.size, weights.size
    weakest = np.zeros(n_columns)
    separators, n_separators = (
        np.zeros((n_columns, max_given), np.int64),
        np.zeros(n_columns, np.int64),
    )
    standard, given = np.empty(n_rows), np.empty(max_given, np.int64)
    variables = empty_variables(columns, FIRST_SLOTS, n_rows)
    write_codes(columns, centre, variables, CENTRE)
    standardize(columns, centre, weights, standard)
    relevance = np.zeros(n_columns)
    for column in range(n_columns):
        if column != centre:
            write_codes(columns, column, variables, 1)
            relevance[column] = product_with(columns, column, standard)
            variables.correlations[1, CENTRE] = relevance[column]
            strength = association(tests, *statistic_given(variables, tests, 1, CENTRE, given, 0))
            weakest[column] = strength if strength > 0.0 else 0.0
    candidates = np.flatnonzero(weakest)
    shared = np.zeros((FIRST_SLOTS, candidates.size))  # correlations of slots with candidates
    joined, pool = np.empty(candidates.size, np.int64), np.arange(1, candidates.size + 1)
    free = np.ones(candidates.size, np.bool_)
    shared[CENTRE] = relevance[candidates]
    n_joined = 0
    while True:
        best, best_strength = -1, 0.0
        for number in range(candidates.size):
            if free[number] and is_stronger(weakest[candidates[number]], best_strength):
                best, best_strength = number, weakest[candidates[number]]
        if best < 0:
            break
        if n_joined + 3 > variables.n_levels.size:
            variables = double_slots(variables)
            shared = double_rows(shared)
        free[best] = False
        joined[n_joined] = candidates[best]
        n_joined += 1
        variables.correlations[n_joined, :n_joined] = variables.correlations[
            :n_joined, n_joined
        ] = shared[:n_joined, best]
        write_codes(columns, candidates[best], variables, n_joined)
        standardize(columns, candidates[best], weights, standard)
        for number in range(candidates.size):
            column = candidates[number]
            if not free[number]:
                continue
            shared[n_joined, number] = product_with(columns, column, standard)
            write_codes(columns, column, variables, n_joined + 1)
            variables.correlations[n_joined + 1, : n_joined + 1] = shared[: n_joined + 1, number]
            given[0] = n_joined
            strength, size = find_weakest_association(
                variables, tests, n_joined + 1, pool, n_joined - 1, 1, max_given, given
            )
            weakest[column] = min(weakest[column], strength)
            if strength == 0.0:
                free[number] = False
                record_separator(separators, n_separators, column, joined, given, size)
    stays = np.ones(n_joined, np.bool_)
    for slot in range(1, n_joined + 1):
        others = np.flatnonzero(stays) + 1
        others = others[others != slot]
        strength, size = find_weakest_association(
            variables, tests, slot, others, others.size, 0, max_given, given
        )
        weakest[joined[slot - 1]] = min(weakest[joined[slot - 1]], strength)
        if strength == 0.0:
            stays[slot - 1] = False
            record_separator(separators, n_separators, joined[slot - 1], joined, given, size)
    return joined[:n_joined][stays], weakest, separators, n_separators


@kernel
def record_separator(
    separators: I64, n_separators: I64, column: int, joined: I64, given: I64, size: int
) -> None:
    """Write the set of slots that separates a column from the centre, as column numbers."""
    n_separators[column] = size
    separators[column, :size] = joined[given[:size] - 1]


@kernel
def association_of_columns(
    columns: Columns, tests: TestSettings, column: int, other: int, given: I64, weights: F64
) -> float:
    """Return the association of two columns given some others."""
    n_rows, size = weights.size, given.size + 2
    variable_columns = np.empty(size, np.int64)
    variable_columns[CENTRE], variable_columns[1], variable_columns[2:] = other, column, given
    variables = empty_variables(columns, size, n_rows)
    standard = np.empty(n_rows)
    for slot in range(size):
        write_codes(columns, variable_columns[slot], variables, slot)
        standardize(columns, variable_columns[slot], weights, standard)
        for earlier in range(slot):
            product = product_with(columns, variable_columns[earlier], standard)
            variables.correlations[slot, earlier] = variables.correlations[earlier, slot] = product
    return association(
        tests, *statistic_given(variables, tests, 1, CENTRE, np.arange(2, size), given.size)
    )
