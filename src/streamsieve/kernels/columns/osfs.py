"""OSFS and Fast-OSFS (Wu, Yu, Ding, Wang, Zhu 2013): columns kept by tests of independence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import NO_ID, array
from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .contents import NO_COPY, are_equal, fingerprint
from .dependence import correlate_with, most_levels, spread_codes, standardize_column
from .independence import TestSettings, count_statistic, is_independent, next_set, statistic_given
from .slots import move_to_end

KEPT, IRRELEVANT, REDUNDANT, REPLACED = range(4)  # entries of ``counts``
TARGET = 0  # the slot of the target, and its position in the order
NO_SLOT = -1
MAX_CELLS = 1 << 22  # of a table of counts: a test that needs more finds dependence


class IndependenceState(NamedTuple):
    """The target and the kept columns, and the correlations of all pairs."""

    # the target's slot, those of kept columns in order of arrival, then the free ones
    order: I32 = array("slots", low=0, below="slots", numbered=True)
    ids: I64 = array("slots", low=0, below=NO_ID)
    columns: F64 = array("slots", "rows")  # centred, of length 1, times the weights of rows
    correlations: F64 = array("slots", "slots")
    # slots x rows, of discrete variables; no rows where all tests are by correlation
    codes: I32 = array("slots", "code_rows", low=0)
    # per slot; 0 for a variable that is not discrete
    n_levels: I64 = array("slots", low=0, below="max_levels")
    counts: I64 = array(4, low=0)  # kept; not relevant, redundant, replaced so far
    # fingerprints, equal for copies; 0 where copies do not matter
    prints: F64 = array("slots", finite=False)


class NewColumns(NamedTuple):
    """Columns of a block in CSC form, and their correlations with the target."""

    indptr: I64
    indices: I32
    values: F64  # as ``centre_columns`` gives them
    given: F64  # as they were given
    ids: I64
    codes: I32  # per non-zero, where some columns are discrete
    n_levels: I64  # 0 for a column that is not discrete
    relevance: F64
    norms: F64  # lengths of the centred columns
    # for a column dropped as a copy the kept feature that it is equal to; otherwise ``NO_COPY``
    copies: I64


@kernel
def mark_related(
    state: IndependenceState,
    tests: TestSettings,
    indptr: I64,
    indices: I32,
    codes: I32,
    n_levels: I64,
    start: int,
    stop: int,
    related: Bool,
) -> None:
    """Mark the discrete columns from ``start`` to before ``stop`` that are related to the classes.

    Back     related; entries of columns that are not discrete stay as they are.
    """
    classes, n_classes = state.codes[TARGET], state.n_levels[TARGET]
    dense, no_strata = np.zeros(tests.n_rows, np.int32), np.empty(0, np.int64)
    table = np.empty(min(most_levels(n_levels, start, stop) * n_classes, MAX_CELLS))
    for column in range(start, stop):
        if n_levels[column] > 0:
            spread_codes(indptr, indices, codes, column, dense)
            related[column] = not is_independent(
                tests,
                *count_statistic(
                    tests, dense, n_levels[column], classes, n_classes, no_strata, 1, table
                ),
            )


@kernel
def is_separated(
    state: IndependenceState, tests: TestSettings, slot: int, required: int, max_given: int
) -> bool:
    """Return True if some of the other kept columns make a column independent of the target.

    Given    required: a slot that every set to condition on has, or ``NO_SLOT``; max_given: the
             largest size of such a set.
    """
    pool = state.order[1 : state.counts[KEPT] + 1]
    pool = pool[(pool != slot) & (pool != required)]
    n_required = 0 if required == NO_SLOT else 1
    given, chosen = np.full(max_given, required), np.arange(max_given + 1)
    size = 1 - n_required
    while size <= min(max_given - n_required, pool.size):
        for i in range(size):
            given[n_required + i] = pool[chosen[i]]
        if is_independent(
            tests, *statistic_given(state, tests, slot, TARGET, given, n_required + size)
        ):
            return True
        size = next_set(chosen, size, pool.size)
    return False


@kernel
def copy_of(
    state: IndependenceState, free_slot: int, new: NewColumns, column: int, weights: F64
) -> int:
    """Return the first kept feature that a column is a copy of; ``NO_COPY`` if there is none.

    A free slot is written to. Copies have equal correlations with the target, to the last bit, so
    that few columns are compared in full.
    """
    for at in range(1, state.counts[KEPT] + 1):
        slot = state.order[at]
        if state.correlations[slot, TARGET] != new.relevance[column] or state.prints[
            slot
        ] != fingerprint(new.indptr, new.indices, new.given, column):
            continue
        standardize_column(
            new.indptr,
            new.indices,
            new.values,
            weights,
            column,
            new.norms[column],
            state.columns[free_slot],
        )
        if are_equal(state.columns[slot], state.columns[free_slot]):
            return int(state.ids[slot])
    return NO_COPY


@kernel
def update_blanket(
    state: IndependenceState,
    tests: TestSettings,
    fast: bool,
    drops_copies: bool,
    max_given: int,
    new: NewColumns,
    weights: F64,
    candidates: I64,
    start: int,
) -> int:
    """Compare relevant columns with the kept ones, one by one; return how many are done.

    A new column joins, unless it is a copy of a kept column and ``drops_copies``. Then every kept
    column, in order of arrival and the new one last, leaves if some of the others make it
    independent of the target. With ``fast`` the new column is tested first, and dropped at once;
    the others are then tested given only the sets that include the new column.

    Given    candidates: the relevant columns; max_given: the largest size of a set to condition on.
    Back     ``state``, changed in place. It stops early when there is no free slot.
    """
    counts, order = state.counts, state.order
    indptr, indices, values, norms = new.indptr, new.indices, new.values, new.norms
    for number in range(start, candidates.size):
        if counts[KEPT] + 1 == order.size:
            return number
        column = candidates[number]
        slot = order[counts[KEPT] + 1]
        if drops_copies:
            new.copies[column] = copy_of(state, slot, new, column, weights)
            if new.copies[column] != NO_COPY:
                counts[REDUNDANT] += 1
                continue
        state.ids[slot] = new.ids[column]
        state.prints[slot] = fingerprint(indptr, indices, new.given, column)
        state.correlations[slot, TARGET] = state.correlations[TARGET, slot] = new.relevance[column]
        state.n_levels[slot] = new.n_levels[column]
        if new.n_levels[column] > 0:
            spread_codes(indptr, indices, new.codes, column, state.codes[slot])
        for at in range(1, counts[KEPT] + 1):
            correlation = correlate_with(
                indptr, indices, values, column, norms[column], state.columns[order[at]]
            )
            state.correlations[slot, order[at]] = state.correlations[order[at], slot] = correlation
        counts[KEPT] += 1
        if fast and is_separated(state, tests, slot, NO_SLOT, max_given):
            counts[KEPT] -= 1
            counts[REDUNDANT] += 1
            continue
        standardize_column(
            indptr, indices, values, weights, column, norms[column], state.columns[slot]
        )
        at = 1
        while at <= counts[KEPT]:
            other = order[at]
            is_new = other == slot
            if (not is_new or not fast) and is_separated(
                state, tests, other, slot if fast else NO_SLOT, max_given
            ):
                move_to_end(order, at, counts[KEPT])
                counts[KEPT] -= 1
                counts[REDUNDANT if is_new else REPLACED] += 1
            else:
                at += 1
    return int(candidates.size)
