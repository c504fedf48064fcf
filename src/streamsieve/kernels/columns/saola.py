"""SAOLA and group-SAOLA (Yu, Wu, Ding, Pei 2016, algorithms 1 and 2): pairwise comparisons."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import NO_GROUP, NO_ID, array
from ..jit import kernel
from ..types import F64, I8, I32, I64, Bool
from .contents import NO_COPY, are_equal, fingerprint
from .dependence import (
    EQUAL,
    correlate_present,
    correlate_with,
    entropies_present,
    most_levels,
    scratch_for,
    spread_and_count,
    spread_codes,
    spread_values,
    standardize_column,
    uncertainty,
    uncertainty_of,
)
from .slots import move_to_end

CORRELATION, UNCERTAINTY = 0, 1  # columns of ``relevance``: the measures
KEPT, IRRELEVANT, REDUNDANT, REPLACED, CLOSED = range(5)  # entries of ``counts``


class SaolaState(NamedTuple):
    """The kept columns, a slot each. Arrays that a measure does not need have no columns."""

    # slots in order of arrival, then the free ones
    order: I32 = array("slots", low=0, below="slots", numbered=True)
    ids: I64 = array("slots", low=0, below=NO_ID)
    group: I64 = array("slots", low=NO_GROUP)
    measure: I8 = array("slots", low=0, below=2)  # of the relevance of the column
    relevance: F64 = array("slots", 2)  # by both measures, where they were taken
    has_missing: Bool = array("slots")  # whether values are missing
    # times the weights of rows; centred, of length 1 where nothing is missing
    columns: F64 = array("slots", "column_rows", finite=False)
    codes: I32 = array("slots", "code_rows", low=-1)
    n_levels: I64 = array("slots", low=0)
    level_counts: F64 = array("slots", "levels", low=0)  # the weight of rows with each code
    # kept; not relevant, dropped on arrival, dropped later; kept of groups that are closed
    counts: I64 = array(5, low=0)
    # the group that is open, if there are groups
    current: I64 = array(1, low=NO_GROUP, start=NO_GROUP)
    measured: I64 = array(2, low=0)  # relevant features so far, by measure
    # fingerprints, equal for copies; 0 where copies do not matter
    prints: F64 = array("slots", finite=False)


class NewColumns(NamedTuple):
    """Columns of a block in CSC form, and their relevance."""

    indptr: I64
    indices: I32
    values: F64  # as ``centre_columns`` gives them
    given: F64  # as they were given
    ids: I64
    codes: I32  # per non-zero; none where nothing is measured by uncertainty
    n_levels: I64
    measure: I8
    relevance: F64  # columns x 2: by both measures, where they were taken
    norms: F64  # lengths of the centred columns
    has_missing: Bool
    # for a column dropped as a copy the kept feature that it is equal to; otherwise ``NO_COPY``
    copies: I64


class Rule(NamedTuple):
    """The differences between the paper and the reference library, and what is done with copies."""

    ties_lose: bool  # True if a new column as relevant as a kept one can be redundant
    strict: bool  # True if a pair must depend more than the bound, not just as much
    larger_bound: bool  # True for the larger relevance of the two (SAOLA-max), not the smaller
    least: tuple[float, float]  # by measure: dependences below it are ignored
    drops_copies: bool  # True if a new column equal to a kept one is dropped at once


@kernel
def compare_with_kept(
    state: SaolaState,
    rule: Rule,
    budget: int,
    new: NewColumns,
    weights: F64,
    candidates: I64,
    start: int,
) -> int:
    """Compare relevant columns with the kept ones, one by one; return how many are done.

    Problem  new column F, kept Y in order of arrival, dep(.) the relevance for the target:
                 if dep(Y) > dep(F) and dep(F, Y) >= dep(F):       F is redundant and dropped
                 else if dep(F) > dep(Y) and dep(F, Y) >= dep(Y):  Y is removed
             An F that is not redundant is kept; beyond ``budget`` the least relevant column is
             removed, of equal ones the last to arrive. A member of a group is compared with
             the kept ones of its group only.
    Given    new: with a measure for each column. A pair is measured by uncertainty if both columns
             are, otherwise by correlation; where values are missing, over the rows that have both.
    Back     ``state``, changed in place. It stops early when there is no free slot.

    A new column no more relevant than the last of a full selection is dropped whatever it depends
    on, unless it removes a kept one: it is compared only with those that it could remove, if any,
    and with all if it does.
    """
    counts, order = state.counts, state.order
    indptr, indices, values, codes, n_levels = (
        new.indptr,
        new.indices,
        new.values,
        new.codes,
        new.n_levels,
    )
    measure, relevance, norms, has_missing = new.measure, new.relevance, new.norms, new.has_missing
    levels = state.level_counts.shape[1]
    max_levels = max(levels, most_levels(n_levels, 0, n_levels.size))
    joint, margin = scratch_for(max_levels, levels, weights.size)
    entry = entry_relevance(state, budget)
    for number in range(start, candidates.size):
        if counts[KEPT] == order.size:
            return number
        column = candidates[number]
        if rule.drops_copies:
            new.copies[column] = copy_of(state, new, column, weights)
            if new.copies[column] != NO_COPY:
                counts[REDUNDANT] += 1
                continue
        free = order[counts[KEPT]]
        copied = False  # True once this column is in the free slot
        is_cut = relevance[column, measure[column]] <= entry
        dropped = False
        at = counts[CLOSED]
        while at < counts[KEPT]:
            slot = order[at]
            pair = (
                UNCERTAINTY
                if measure[column] == UNCERTAINTY == state.measure[slot]
                else CORRELATION
            )
            new_relevance, kept_relevance = relevance[column, pair], state.relevance[slot, pair]
            can_lose, can_win = possible_removals(rule, new_relevance, kept_relevance)
            at += 1
            if not can_win and (is_cut or not can_lose):
                continue
            if has_missing[column] or state.has_missing[slot]:
                if not copied:
                    write_raw_column(state, free, new, column, weights)
                    copied = True
                depends = dependence_of_kept(state, free, slot, pair, weights, joint, margin)
            elif pair == UNCERTAINTY:
                depends = uncertainty(
                    indptr,
                    indices,
                    codes,
                    column,
                    n_levels[column],
                    weights,
                    state.codes[slot],
                    state.level_counts[slot],
                    state.n_levels[slot],
                    joint,
                    margin,
                )
            else:
                depends = abs(
                    correlate_with(
                        indptr, indices, values, column, norms[column], state.columns[slot]
                    )
                )
            if not is_redundant(rule, new_relevance, kept_relevance, depends, pair):
                continue
            if is_cut:  # it makes room for itself, unless it is redundant: from the start
                is_cut = False
                at = counts[CLOSED]
            elif can_lose:
                dropped = True
                break
            else:
                at -= 1
                remove_column(state, at)
                counts[REPLACED] += 1
                entry = -np.inf
        if dropped or is_cut:
            counts[REDUNDANT] += 1
            continue
        slot = keep_column(state, new, column, weights)
        # of an open group the budget here is out of reach: it is cut when it closes
        if counts[KEPT] > budget:
            worst = find_least_relevant(state)
            counts[REDUNDANT if order[worst] == slot else REPLACED] += 1
            remove_column(state, worst)
        entry = entry_relevance(state, budget)
    return int(candidates.size)


@kernel
def keep_column(state: SaolaState, new: NewColumns, column: int, weights: F64) -> int:
    """Write a column to the next free slot, which is then in use; return the slot."""
    slot = int(state.order[state.counts[KEPT]])
    state.counts[KEPT] += 1
    state.ids[slot] = new.ids[column]
    state.group[slot] = state.current[0]
    state.prints[slot] = fingerprint(new.indptr, new.indices, new.given, column)
    write_column(state, slot, new, column, weights)
    return slot


@kernel
def write_column(state: SaolaState, slot: int, new: NewColumns, column: int, weights: F64) -> None:
    """Write a column and its relevance to a slot."""
    state.measure[slot] = new.measure[column]
    state.relevance[slot, CORRELATION] = new.relevance[column, CORRELATION]
    state.relevance[slot, UNCERTAINTY] = new.relevance[column, UNCERTAINTY]
    state.has_missing[slot] = new.has_missing[column]
    if new.has_missing[column]:
        write_raw_column(state, slot, new, column, weights)
        return
    if state.columns.shape[1]:
        standardize_column(
            new.indptr,
            new.indices,
            new.values,
            weights,
            column,
            new.norms[column],
            state.columns[slot],
        )
    if new.measure[column] == UNCERTAINTY:
        state.n_levels[slot] = new.n_levels[column]
        spread_and_count(
            new.indptr,
            new.indices,
            new.codes,
            column,
            weights,
            state.codes[slot],
            state.level_counts[slot],
        )


@kernel
def copy_of(state: SaolaState, new: NewColumns, column: int, weights: F64) -> int:
    """Return the first kept feature, of any group, that a column is a copy of, or ``NO_COPY``.

    A free slot is written to. Copies have equal relevance, to the last bit, so that few columns are
    compared in full.
    """
    free_slot = state.order[state.counts[KEPT]]
    for at in range(state.counts[KEPT]):
        slot = state.order[at]
        if (
            state.relevance[slot, CORRELATION] != new.relevance[column, CORRELATION]
            or state.relevance[slot, UNCERTAINTY] != new.relevance[column, UNCERTAINTY]
            or state.measure[slot] != new.measure[column]
            or state.has_missing[slot] != new.has_missing[column]
            or state.prints[slot] != fingerprint(new.indptr, new.indices, new.given, column)
        ):
            continue
        write_column(state, free_slot, new, column, weights)
        if (
            are_equal(state.columns[slot], state.columns[free_slot])
            if state.columns.shape[1]
            else are_equal(state.codes[slot], state.codes[free_slot])
        ):
            return int(state.ids[slot])
    return NO_COPY


@kernel
def entry_relevance(state: SaolaState, budget: int) -> float:
    """Return the relevance that a new column must exceed.

    Otherwise it is dropped at once, unless it removes a kept feature.
    """
    if state.counts[KEPT] < budget:
        return -np.inf
    slot = state.order[find_least_relevant(state)]
    return float(state.relevance[slot, state.measure[slot]] + EQUAL)


@kernel
def possible_removals(rule: Rule, new: float, kept: float) -> tuple[bool, bool]:
    """Return whether a new column can be redundant for a kept one, and whether it can remove it.

    Given    new, kept: the relevance of the two columns.
    """
    return bool(kept > new + EQUAL or (rule.ties_lose and kept >= new - EQUAL)), bool(
        new > kept + EQUAL
    )


@kernel
def is_redundant(rule: Rule, first: float, second: float, depends: float, pair: int) -> bool:
    """Return True if two columns depend so much that the less relevant of them is redundant."""
    bound = max(first, second) if rule.larger_bound else min(first, second)
    is_above = depends > bound + EQUAL if rule.strict else depends >= bound - EQUAL
    return bool(is_above and depends >= rule.least[pair] - EQUAL)


@kernel
def close_group(state: SaolaState, rule: Rule, budget: int, weights: F64) -> None:
    """Close the open group: prune between it and all closed groups (algorithm 2, from step 20 on).

    Columns are compared in both directions; a column that was removed removes no others.
    """
    counts, order = state.counts, state.order
    levels = state.level_counts.shape[1]
    joint, margin = scratch_for(levels, levels, weights.size)
    closed_at = 0
    while closed_at < counts[CLOSED] < counts[KEPT]:
        new_at = counts[CLOSED]
        while new_at < counts[KEPT]:
            slot, closed_slot = order[new_at], order[closed_at]
            pair = (
                UNCERTAINTY
                if state.measure[slot] == UNCERTAINTY == state.measure[closed_slot]
                else CORRELATION
            )
            new_relevance, kept_relevance = (
                state.relevance[slot, pair],
                state.relevance[closed_slot, pair],
            )
            can_lose, can_win = possible_removals(rule, new_relevance, kept_relevance)
            if can_lose or can_win:
                depends = dependence_of_kept(state, slot, closed_slot, pair, weights, joint, margin)
                if is_redundant(rule, new_relevance, kept_relevance, depends, pair):
                    counts[REPLACED] += 1
                    if can_win:
                        remove_column(state, closed_at)
                        counts[CLOSED] -= 1
                        break
                    remove_column(state, new_at)
                    continue
            new_at += 1
        else:  # the column of the closed group stays
            closed_at += 1
    while counts[KEPT] > budget:
        remove_column(state, find_least_relevant(state))
        counts[REPLACED] += 1
    counts[CLOSED] = counts[KEPT]


@kernel
def dependence_of_kept(
    state: SaolaState, first: int, second: int, pair: int, weights: F64, joint: F64, margin: F64
) -> float:
    """Return the dependence of the columns in two slots, over the rows that have both values."""
    if pair == CORRELATION:
        if state.has_missing[first] or state.has_missing[second]:
            return abs(correlate_present(state.columns[first], state.columns[second], weights))
        product = 0.0
        for row in range(weights.size):
            product += state.columns[first, row] * state.columns[second, row] / weights[row]
        return abs(product)
    n_first, n_second = state.n_levels[first], state.n_levels[second]
    return uncertainty_of(
        *entropies_present(
            state.codes[first], n_first, state.codes[second], n_second, weights, joint, margin
        )
    )


@kernel
def write_raw_column(
    state: SaolaState, slot: int, new: NewColumns, column: int, weights: F64
) -> None:
    """Write a column to a slot as it is, with its missing values."""
    state.has_missing[slot] = True
    state.n_levels[slot] = new.n_levels[column]
    if state.columns.shape[1]:
        spread_values(new.indptr, new.indices, new.values, weights, column, state.columns[slot])
    if new.codes.size:
        spread_codes(new.indptr, new.indices, new.codes, column, state.codes[slot])


@kernel
def remove_column(state: SaolaState, at: int) -> None:
    """Free the slot at a position in the order of arrival."""
    state.counts[KEPT] -= 1
    move_to_end(state.order, at, state.counts[KEPT])


@kernel
def find_least_relevant(state: SaolaState) -> int:
    """Return where in the order the least relevant column is, of equal ones the last to arrive.

    The relevance of each is by its own measure.
    """
    worst = 0
    for at in range(1, state.counts[KEPT]):
        slot, other = state.order[at], state.order[worst]
        if (
            state.relevance[slot, state.measure[slot]]
            <= state.relevance[other, state.measure[other]] + EQUAL
        ):
            worst = at
    return worst


@kernel
def measure_with_missing(
    new: NewColumns,
    weights: F64,
    target: F64,
    classes: I32,
    n_classes: int,
    start: int,
    stop: int,
    present: F64,
) -> None:
    """Measure the relevance of columns with missing values, from ``start`` to before ``stop``.

    Back     ``new.relevance``, by both measures; ``new.norms``: 1 for a column that varies, else
             0; ``present``: the number of rows of equal weight that are as informative as the rows
             with a value.
    """
    dense, coded = np.empty(weights.size), np.empty(weights.size, np.int32)
    joint, margin = scratch_for(most_levels(new.n_levels, start, stop), n_classes, weights.size)
    for column in range(start, stop):
        if not new.has_missing[column]:
            continue
        spread_values(new.indptr, new.indices, new.values, weights, column, dense)
        total = squares = 0.0
        for row in range(weights.size):
            if dense[row] == dense[row]:
                total += weights[row]
                squares += weights[row] * weights[row]
        present[column] = total * total / squares if squares > 0.0 else 0.0
        new.relevance[column, CORRELATION] = abs(correlate_present(dense, target, weights))
        new.norms[column] = 1.0 if correlate_present(dense, dense, weights) > 0.0 else 0.0
        if new.codes.size and classes.size:
            spread_codes(new.indptr, new.indices, new.codes, column, coded)
            new.relevance[column, UNCERTAINTY] = uncertainty_of(
                *entropies_present(
                    coded, new.n_levels[column], classes, n_classes, weights, joint, margin
                )
            )
