"""SAOLA and group-SAOLA (Yu, Wu, Ding, Pei 2016, algorithms 1 and 2): columns against kept ones, pair by pair."""

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
    """The kept columns, a slot each. What a measure does not need has no columns."""

    order: I32 = array(
        "slots", low=0, below="slots", numbered=True
    )  # slots in order of arrival, then the free ones
    ids: I64 = array("slots", low=0, below=NO_ID)
    group: I64 = array("slots", low=NO_GROUP)
    measure: I8 = array("slots", low=0, below=2)  # what its relevance is measured by
    relevance: F64 = array("slots", 2)  # by both measures, where they were taken
    has_missing: Bool = array("slots")  # whether values are missing
    # times the weights of rows; centred, of length 1 where nothing is missing
    columns: F64 = array("slots", "column_rows", finite=False)
    codes: I32 = array("slots", "code_rows", low=-1)
    n_levels: I64 = array("slots", low=0)
    level_counts: F64 = array("slots", "levels", low=0)  # the weight of rows with each code
    # kept; not relevant, dropped on arrival, dropped later; kept of groups that are closed
    counts: I64 = array(5, low=0)
    current: I64 = array(
        1, low=NO_GROUP, start=NO_GROUP
    )  # the group that is open, if there are groups
    measured: I64 = array(2, low=0)  # relevant features so far, by measure
    prints: F64 = array(
        "slots", finite=False
    )  # what copies have in common; 0 where copies do not matter


class NewColumns(NamedTuple):
    """Columns of a block, CSC, and how relevant they are."""

    indptr: I64
    indices: I32
    values: F64  # as ``centre_columns`` gives them
    given: F64  # as they came
    ids: I64
    codes: I32  # per non-zero; none where nothing is measured by uncertainty
    n_levels: I64
    measure: I8
    relevance: F64  # columns x 2: by both measures, where they were taken
    norms: F64  # lengths of the centred columns
    has_missing: Bool
    copies: I64  # the kept feature that a column is a copy of, if it was dropped for that; otherwise ``NO_COPY``


class Rule(NamedTuple):
    """In which way the paper and the reference library differ, and whether copies are dropped."""

    ties_lose: bool  # whether a newcomer no more relevant than a kept one can be redundant
    strict: bool  # whether a pair must depend more than the bound, not just as much
    larger_bound: (
        bool  # whether the bound is the larger relevance of the two (SAOLA-max), not the loser's
    )
    least: tuple[float, float]  # pairs that depend less, by each measure, say nothing
    drops_copies: (
        bool  # whether a newcomer that is equal to a kept one is dropped before anything else
    )


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
    """Compare relevant columns with the kept ones, one by one; how many of ``candidates`` were dealt with.

    Problem  newcomer F, kept Y in order of arrival, dep(.) the relevance for the target:
                 if dep(Y) > dep(F) and dep(F, Y) >= dep(F):       F is redundant, and compared no further
                 else if dep(F) > dep(Y) and dep(F, Y) >= dep(Y):  Y goes
             What is left of F is kept; beyond ``budget`` the least relevant goes, of equals the
             last to arrive. A member of a group is compared with the kept ones of its own group
             alone.
    Given    new: with a measure for each column; a pair is measured by uncertainty if both columns are, otherwise by
             correlation, and where values are missing over the rows that have both.
    Back     ``state``, changed in place. It stops early when there is no free slot for the next one.

    A newcomer no more relevant than the last of a full selection is cut whatever it depends on,
    unless it removes a kept one: it is compared only with those that it could remove, if any, and
    with all if it does.
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
    joint, margin = scratch(state, n_levels, candidates, weights.size)
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
        copied = False  # whether this column is in the free slot already
        doomed = relevance[column, measure[column]] <= entry
        redundant = False
        at = counts[CLOSED]
        while at < counts[KEPT]:
            slot = order[at]
            pair = (
                UNCERTAINTY
                if measure[column] == UNCERTAINTY == state.measure[slot]
                else CORRELATION
            )
            mine, its = relevance[column, pair], state.relevance[slot, pair]
            loses, wins = who_may_go(rule, mine, its)
            at += 1
            if not wins and (doomed or not loses):
                continue
            if has_missing[column] or state.has_missing[slot]:
                if not copied:
                    keep_as_it_is(state, free, new, column, weights)
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
            if not is_redundant(rule, mine, its, depends, pair):
                continue
            if doomed:  # it would make room for itself, if no earlier one makes it redundant: from the start
                doomed = False
                at = counts[CLOSED]
            elif loses:
                redundant = True
                break
            else:
                at -= 1
                remove(state, at)
                counts[REPLACED] += 1
                entry = -np.inf
        if redundant or doomed:
            counts[REDUNDANT] += 1
            continue
        slot = keep(state, new, column, weights)
        if (
            counts[KEPT] > budget
        ):  # a group is cut when it closes: then the budget here is out of reach
            worst = least_relevant(state)
            counts[REDUNDANT if order[worst] == slot else REPLACED] += 1
            remove(state, worst)
        entry = entry_relevance(state, budget)
    return int(candidates.size)


@kernel
def scratch(state: SaolaState, n_levels: I64, candidates: I64, n_rows: int) -> tuple[F64, F64]:
    """For the counts of any pair of a candidate and a kept column, and for those of one of them."""
    levels = state.level_counts.shape[1]
    largest = levels
    for column in candidates:
        largest = max(largest, n_levels[column])
    return scratch_for(largest, levels, n_rows)


@kernel
def keep(state: SaolaState, new: NewColumns, column: int, weights: F64) -> int:
    """Write a column to the next free slot, which counts from now on; which it is."""
    slot = int(state.order[state.counts[KEPT]])
    state.counts[KEPT] += 1
    state.ids[slot] = new.ids[column]
    state.group[slot] = state.current[0]
    state.prints[slot] = fingerprint(new.indptr, new.indices, new.given, column)
    write(state, slot, new, column, weights)
    return slot


@kernel
def write(state: SaolaState, slot: int, new: NewColumns, column: int, weights: F64) -> None:
    """Write a column and its relevance to a slot."""
    state.measure[slot] = new.measure[column]
    state.relevance[slot, CORRELATION] = new.relevance[column, CORRELATION]
    state.relevance[slot, UNCERTAINTY] = new.relevance[column, UNCERTAINTY]
    state.has_missing[slot] = new.has_missing[column]
    if new.has_missing[column]:
        keep_as_it_is(state, slot, new, column, weights)
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
    """The first kept feature, of any group, that a column is a copy of; ``NO_COPY`` if there is none.

    Copies are equally relevant to the last bit, so that few columns are looked at any closer.
    """
    free, mine, is_written = state.order[state.counts[KEPT]], 0.0, False
    for at in range(state.counts[KEPT]):
        slot = state.order[at]
        if (
            state.relevance[slot, CORRELATION] != new.relevance[column, CORRELATION]
            or state.relevance[slot, UNCERTAINTY] != new.relevance[column, UNCERTAINTY]
            or state.measure[slot] != new.measure[column]
            or state.has_missing[slot] != new.has_missing[column]
        ):
            continue
        if not is_written:
            mine = fingerprint(new.indptr, new.indices, new.given, column)
            write(state, free, new, column, weights)
            is_written = True
        if state.prints[slot] == mine and (
            are_equal(state.columns[slot], state.columns[free])
            if state.columns.shape[1]
            else are_equal(state.codes[slot], state.codes[free])
        ):
            return int(state.ids[slot])
    return NO_COPY


@kernel
def entry_relevance(state: SaolaState, budget: int) -> float:
    """The relevance that a newcomer must exceed, or it is cut at once unless it removes a kept feature."""
    if state.counts[KEPT] < budget:
        return -np.inf
    slot = state.order[least_relevant(state)]
    return float(state.relevance[slot, state.measure[slot]] + EQUAL)


@kernel
def who_may_go(rule: Rule, mine: float, its: float) -> tuple[bool, bool]:
    """Whether a newcomer can be redundant for a kept feature of such relevance, and whether it can remove it."""
    return bool(its > mine + EQUAL or (rule.ties_lose and its >= mine - EQUAL)), bool(
        mine > its + EQUAL
    )


@kernel
def is_redundant(rule: Rule, mine: float, its: float, depends: float, pair: int) -> bool:
    """Whether two features of these relevances depend on each other so much that the less relevant one goes."""
    bound = max(mine, its) if rule.larger_bound else min(mine, its)
    enough = depends > bound + EQUAL if rule.strict else depends >= bound - EQUAL
    return bool(enough and depends >= rule.least[pair] - EQUAL)


@kernel
def close_group(state: SaolaState, rule: Rule, budget: int, weights: F64) -> None:
    """Prune between the open group and all closed ones, in both directions, and close it (algorithm 2, step 20 on).

    What has been removed removes nothing any more.
    """
    counts, order = state.counts, state.order
    levels = state.level_counts.shape[1]
    joint, margin = scratch_for(levels, levels, weights.size)
    old = 0
    while old < counts[CLOSED] < counts[KEPT]:
        new = counts[CLOSED]
        while new < counts[KEPT]:
            one, other = order[new], order[old]
            pair = (
                UNCERTAINTY
                if state.measure[one] == UNCERTAINTY == state.measure[other]
                else CORRELATION
            )
            mine, its = state.relevance[one, pair], state.relevance[other, pair]
            loses, wins = who_may_go(rule, mine, its)
            if loses or wins:
                depends = dependence_of_kept(state, one, other, pair, weights, joint, margin)
                if is_redundant(rule, mine, its, depends, pair):
                    counts[REPLACED] += 1
                    if wins:
                        remove(state, old)
                        counts[CLOSED] -= 1
                        break
                    remove(state, new)
                    continue
            new += 1
        else:  # the closed one stays
            old += 1
    while counts[KEPT] > budget:
        remove(state, least_relevant(state))
        counts[REPLACED] += 1
    counts[CLOSED] = counts[KEPT]


@kernel
def dependence_of_kept(
    state: SaolaState, one: int, other: int, pair: int, weights: F64, joint: F64, margin: F64
) -> float:
    """The dependence of the columns in two slots, over the rows that have both values."""
    if pair == CORRELATION:
        if state.has_missing[one] or state.has_missing[other]:
            return abs(correlate_present(state.columns[one], state.columns[other], weights))
        product = 0.0
        for row in range(weights.size):
            product += state.columns[one, row] * state.columns[other, row] / weights[row]
        return abs(product)
    n_one, n_other = state.n_levels[one], state.n_levels[other]
    return uncertainty_of(
        *entropies_present(
            state.codes[one], n_one, state.codes[other], n_other, weights, joint, margin
        )
    )


@kernel
def keep_as_it_is(state: SaolaState, slot: int, new: NewColumns, column: int, weights: F64) -> None:
    """Write a column to a slot as it is, missing values and all."""
    state.has_missing[slot] = True
    state.n_levels[slot] = new.n_levels[column]
    if state.columns.shape[1]:
        spread_values(new.indptr, new.indices, new.values, weights, column, state.columns[slot])
    if new.codes.size:
        spread_codes(new.indptr, new.indices, new.codes, column, state.codes[slot])


@kernel
def remove(state: SaolaState, at: int) -> None:
    """Free the slot at a position in the order of arrival."""
    state.counts[KEPT] -= 1
    move_to_end(state.order, at, state.counts[KEPT])


@kernel
def least_relevant(state: SaolaState) -> int:
    """Where in the order the least relevant column is, each by its own measure; of equals the last to arrive."""
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
def measure_present(
    new: NewColumns,
    weights: F64,
    target: F64,
    classes: I32,
    n_classes: int,
    start: int,
    stop: int,
    present: F64,
) -> None:
    """The relevance of columns with missing values, from ``start`` to ``stop``, by both measures.

    Back     ``new.relevance``; ``new.norms``, 1 where a column varies and 0 where it does not; ``present``, how many
             rows of equal weight say as much as those that have a value.
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
