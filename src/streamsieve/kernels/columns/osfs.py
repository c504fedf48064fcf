"""OSFS and Fast-OSFS (Wu, Yu, Ding, Wang, Zhu 2013): columns that join and leave as tests of independence say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import NO_ID, array
from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .contents import NO_COPY, are_equal, fingerprint
from .dependence import correlate_with, most_levels, spread_codes, standardize_column
from .independence import Tests, count_statistic, is_independent, next_set, statistic_given
from .slots import move_to_end

KEPT, IRRELEVANT, REDUNDANT, REPLACED = range(4)  # entries of ``counts``
TARGET = 0  # its slot, and its position in the order
NO_SLOT = -1
MAX_CELLS = 1 << 22  # of a table of counts: a test that needs more finds dependence


class IndependenceState(NamedTuple):
    """The target and the kept columns, and how all pairs of them correlate."""

    # the target's slot, those of kept columns in order of arrival, then the free ones
    order: I32 = array("slots", low=0, below="slots", numbered=True)
    ids: I64 = array("slots", low=0, below=NO_ID)
    columns: F64 = array("slots", "rows")  # centred, of length 1, times the weights of rows
    correlations: F64 = array("slots", "slots")
    # slots x rows, of discrete variables; no rows where all tests are by correlation
    codes: I32 = array("slots", "code_rows", low=0)
    n_levels: I64 = array(
        "slots", low=0, below="max_levels"
    )  # per slot; 0 for a variable that is not discrete
    counts: I64 = array(4, low=0)  # kept; not relevant, redundant, replaced so far
    prints: F64 = array(
        "slots", finite=False
    )  # what copies have in common; 0 where copies do not matter


class NewColumns(NamedTuple):
    """Columns of a block, CSC, and how they correlate with the target."""

    indptr: I64
    indices: I32
    values: F64  # as ``centre_columns`` gives them
    given: F64  # as they came
    ids: I64
    codes: I32  # per non-zero, where some columns are discrete
    n_levels: I64  # 0 for a column that is not discrete
    relevance: F64
    norms: F64  # lengths of the centred columns
    copies: I64  # the kept feature that a column is a copy of, if it was dropped for that; otherwise ``NO_COPY``


@kernel
def relate_by_counts(
    state: IndependenceState,
    tests: Tests,
    indptr: I64,
    indices: I32,
    codes: I32,
    n_levels: I64,
    start: int,
    stop: int,
    related: Bool,
) -> None:
    """Which discrete columns from ``start`` to ``stop`` are related to the classes; of others ``related`` stays."""
    classes, n_classes = state.codes[TARGET], state.n_levels[TARGET]
    dense, nobody = np.zeros(tests.n_rows, np.int32), np.empty(0, np.int64)
    table = np.empty(min(most_levels(n_levels, start, stop) * n_classes, MAX_CELLS))
    for column in range(start, stop):
        if n_levels[column] > 0:
            spread_codes(indptr, indices, codes, column, dense)
            value, freedom = count_statistic(
                tests, dense, n_levels[column], classes, n_classes, nobody, 1, table
            )
            related[column] = not is_independent(tests, value, freedom)


@kernel
def is_separated(state: IndependenceState, tests: Tests, one: int, always: int, most: int) -> bool:
    """Whether some of the other kept columns, ``most`` at most, make a column independent of the target.

    With ``always``, a slot, only sets that it is in are tried.
    """
    pool = state.order[1 : state.counts[KEPT] + 1]
    pool = pool[(pool != one) & (pool != always)]
    fixed = 0 if always == NO_SLOT else 1
    given, chosen = np.full(most, always), np.arange(most + 1)
    size = 1 - fixed
    while size <= min(most - fixed, pool.size):
        for i in range(size):
            given[fixed + i] = pool[chosen[i]]
        value, freedom = statistic_given(state, tests, one, TARGET, given, fixed + size)
        if is_independent(tests, value, freedom):
            return True
        size = next_set(chosen, size, pool.size)
    return False


@kernel
def copy_of(state: IndependenceState, free: int, new: NewColumns, column: int, weights: F64) -> int:
    """The first kept feature that a column is a copy of; ``NO_COPY`` if there is none. A free slot is written to.

    Copies correlate equally with the target to the last bit, so that few columns are looked at any
    closer.
    """
    mine, is_written = 0.0, False
    for at in range(1, state.counts[KEPT] + 1):
        slot = state.order[at]
        if state.correlations[slot, TARGET] != new.relevance[column]:
            continue
        if not is_written:
            mine = fingerprint(new.indptr, new.indices, new.given, column)
            standardize_column(
                new.indptr,
                new.indices,
                new.values,
                weights,
                column,
                new.norms[column],
                state.columns[free],
            )
            is_written = True
        if state.prints[slot] == mine and are_equal(state.columns[slot], state.columns[free]):
            return int(state.ids[slot])
    return NO_COPY


@kernel
def update_blanket(
    state: IndependenceState,
    tests: Tests,
    fast: bool,
    drops_copies: bool,
    most: int,
    new: NewColumns,
    weights: F64,
    candidates: I64,
    start: int,
) -> int:
    """Compare relevant columns with the kept ones, one by one; how many of ``candidates`` were dealt with.

    A newcomer joins, unless it is a copy of a kept column and ``drops_copies``. Then every kept
    column, in order of arrival and the newcomer last, goes if some of the others make it
    independent of the target. ``fast`` asks the newcomer first, and drops it at once; the others
    are then asked with sets alone that the newcomer is in. Stops early when there is no free slot.
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
        if fast and is_separated(state, tests, slot, NO_SLOT, most):
            counts[KEPT] -= 1
            counts[REDUNDANT] += 1
            continue
        standardize_column(
            indptr, indices, values, weights, column, norms[column], state.columns[slot]
        )
        at = 1
        while at <= counts[KEPT]:
            other = order[at]
            newest = other == slot
            if (not newest or not fast) and is_separated(
                state, tests, other, slot if fast else NO_SLOT, most
            ):
                move_to_end(order, at, counts[KEPT])
                counts[KEPT] -= 1
                counts[REDUNDANT if newest else REPLACED] += 1
            else:
                at += 1
    return int(candidates.size)
