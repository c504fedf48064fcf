"""SAOLA and group-SAOLA (P3 algorithms 1 and 2): columns against the kept ones, pair by pair, in order of arrival."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..jit import kernel
from .dependence import (
    EQUAL,
    correlate_present,
    correlate_with_kept,
    entropies_present,
    scratch_cells,
    spread_codes,
    spread_values,
    standardize_column,
    uncertainty,
    uncertainty_of,
)

Array = Any

CORRELATION, UNCERTAINTY = 0, 1  # columns of ``relevance``: the measures
KEPT, IRRELEVANT, REDUNDANT, REPLACED, CLOSED = range(5)  # entries of ``counts``


class SaolaState(NamedTuple):
    """The kept columns, a slot each. What a measure does not need has no columns."""

    order: Array  # int32: slots in order of arrival, then the free ones
    ids: Array  # int64, per slot
    group: Array  # int64, per slot
    measure: Array  # int8, per slot: what its relevance is measured by
    relevance: Array  # float64, slots x 2: by both measures, where they were taken
    gaps: Array  # bool, per slot: whether values are missing
    columns: Array  # float64, slots x rows: times the weights of rows; centred, of length 1 where nothing is missing
    codes: Array  # int32, slots x rows
    n_levels: Array  # int64, per slot
    level_counts: Array  # float64, slots x levels: the weight of rows with each code
    counts: Array  # int64: kept; not relevant, redundant, replaced so far; kept of groups that are closed
    current: Array  # int64: the group that is open, if there are groups


class Rule(NamedTuple):
    """In which way the papers and the reference library differ."""

    ties_lose: bool  # whether a newcomer no more relevant than a kept one can be redundant
    strict: bool  # whether a pair must depend more than the bound, not just as much
    larger_bound: bool  # whether the bound is the larger relevance of the two (SAOLA-max), not the loser's
    least: tuple[float, float]  # pairs that depend less, by each measure, say nothing


@kernel
def offer_columns(
    state: Any,
    rule: Any,
    budget: int,
    indptr: Array,
    indices: Array,
    values: Array,
    ids: Array,
    codes: Array,
    n_levels: Array,
    measure: Array,
    relevance: Array,
    norms: Array,
    gaps: Array,
    weights: Array,
    candidates: Array,
    start: int,
) -> int:
    """Offer relevant columns to the kept ones, one by one; how many of ``candidates`` were dealt with.

    Problem  newcomer F, kept Y in order of arrival, dep(.) the relevance for the target:
                 if dep(Y) > dep(F) and dep(F, Y) >= dep(F):       F is redundant, and the rest of the walk is off
                 else if dep(F) > dep(Y) and dep(F, Y) >= dep(Y):  Y goes
             What is left of F is kept; beyond ``budget`` the least relevant goes, of equals the last to arrive. A
             member of a group meets the kept ones of its own group alone.
    Given    measure: of each column; a pair is measured by uncertainty if both columns are, else by correlation.
             gaps: which columns have missing values; a pair with some is measured over the rows that have both.
    Back     ``state``, changed in place. It stops early when there is no free slot for the next one.
    """
    counts, order = state.counts, state.order
    largest = 1
    for c in candidates:
        largest = max(largest, n_levels[c])
    levels = state.level_counts.shape[1]
    joint = np.empty(scratch_cells(max(largest, levels), levels, weights.size))
    margin = np.empty(max(largest, levels))
    entry = entry_relevance(state, budget)
    for number in range(start, candidates.size):
        if counts[KEPT] == order.size:
            return number
        column = candidates[number]
        free = order[counts[KEPT]]
        spread = False  # whether this column is in the free slot already
        redundant = False
        doomed = relevance[column, measure[column]] <= entry
        at = counts[CLOSED]
        while at < counts[KEPT]:
            slot = order[at]
            pair = UNCERTAINTY if measure[column] == UNCERTAINTY == state.measure[slot] else CORRELATION
            mine, its = relevance[column, pair], state.relevance[slot, pair]
            loses, wins = compared(rule, mine, its)
            if wins or (loses and not doomed):
                if gaps[column] or state.gaps[slot]:
                    if not spread:
                        keep_values(state, free, indptr, indices, values, codes, column, n_levels[column], weights)
                        spread = True
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
                    depends = correlate_with_kept(indptr, indices, values, column, norms[column], state.columns[slot])
                if is_redundant(rule, mine, its, depends, pair):
                    if doomed:  # not if it makes room for itself; but an earlier one may make it redundant first
                        doomed = False
                        at = counts[CLOSED]
                        continue
                    if loses:
                        redundant = True
                        break
                    remove(state, at)
                    counts[REPLACED] += 1
                    entry = -np.inf
                    continue
            at += 1
        if redundant or doomed:
            counts[REDUNDANT] += 1
            continue
        slot = order[counts[KEPT]]
        counts[KEPT] += 1
        state.ids[slot] = ids[column]
        state.group[slot] = state.current[0]
        state.measure[slot] = measure[column]
        state.relevance[slot, CORRELATION] = relevance[column, CORRELATION]
        state.relevance[slot, UNCERTAINTY] = relevance[column, UNCERTAINTY]
        state.gaps[slot] = gaps[column]
        if gaps[column]:
            keep_values(state, slot, indptr, indices, values, codes, column, n_levels[column], weights)
        elif state.columns.shape[1]:
            standardize_column(indptr, indices, values, weights, column, norms[column], state.columns[slot])
        if measure[column] == UNCERTAINTY and not gaps[column]:
            keep_codes(state, slot, indptr, indices, codes, column, n_levels[column], weights)
        if counts[KEPT] > budget:  # a group is cut when it closes: then the budget here is out of reach
            worst = least_relevant(state)
            counts[REDUNDANT if order[worst] == slot else REPLACED] += 1
            remove(state, worst)
        entry = entry_relevance(state, budget)
    return int(candidates.size)


@kernel
def entry_relevance(state: Any, budget: int) -> float:
    """The relevance that a newcomer must exceed, or it is cut at once unless it removes a kept feature."""
    if state.counts[KEPT] < budget:
        return -np.inf
    slot = state.order[least_relevant(state)]
    return float(state.relevance[slot, state.measure[slot]] + EQUAL)


@kernel
def compared(rule: Any, mine: float, its: float) -> tuple[bool, bool]:
    """Whether a newcomer can lose its place to a kept feature of other relevance, and whether it can take its place."""
    return bool(its > mine + EQUAL or (rule.ties_lose and its >= mine - EQUAL)), bool(mine > its + EQUAL)


@kernel
def is_redundant(rule: Any, mine: float, its: float, depends: float, pair: int) -> bool:
    """Whether two features of these relevances depend on each other so much that the less relevant one goes."""
    bound = max(mine, its) if rule.larger_bound else min(mine, its)
    enough = depends > bound + EQUAL if rule.strict else depends >= bound - EQUAL
    return bool(enough and depends >= rule.least[pair] - EQUAL)


@kernel
def close_group(state: Any, rule: Any, budget: int, weights: Array) -> None:
    """Prune between the open group and all closed ones, in both directions, and close it (P3 algorithm 2, step 20 on).

    What has been removed removes nothing any more.
    """
    counts, order = state.counts, state.order
    levels = state.level_counts.shape[1]
    joint = np.empty(scratch_cells(levels, levels, weights.size))
    margin = np.empty(levels)
    old = 0
    while old < counts[CLOSED] < counts[KEPT]:
        gone = False
        new = counts[CLOSED]
        while new < counts[KEPT]:
            one, other = order[new], order[old]
            pair = UNCERTAINTY if state.measure[one] == UNCERTAINTY == state.measure[other] else CORRELATION
            mine, its = state.relevance[one, pair], state.relevance[other, pair]
            loses, wins = compared(rule, mine, its)
            if loses or wins:
                depends = dependence_of_kept(state, one, other, pair, weights, joint, margin)
                if is_redundant(rule, mine, its, depends, pair):
                    counts[REPLACED] += 1
                    if wins:
                        gone = True
                        break
                    remove(state, new)
                    continue
            new += 1
        if gone:
            remove(state, old)
            counts[CLOSED] -= 1
        else:
            old += 1
    while counts[KEPT] > budget:
        remove(state, least_relevant(state))
        counts[REPLACED] += 1
    counts[CLOSED] = counts[KEPT]


@kernel
def dependence_of_kept(
    state: Any, one: int, other: int, pair: int, weights: Array, joint: Array, margin: Array
) -> float:
    """The dependence of the columns in two slots, over the rows that have both values."""
    if pair == CORRELATION:
        if state.gaps[one] or state.gaps[other]:
            return abs(correlate_present(state.columns[one], state.columns[other], weights))
        product = 0.0
        for row in range(weights.size):
            product += state.columns[one, row] * state.columns[other, row] / weights[row]
        return abs(product)
    n_one, n_other = state.n_levels[one], state.n_levels[other]
    bits = entropies_present(state.codes[one], n_one, state.codes[other], n_other, weights, joint, margin)
    return uncertainty_of(bits[0], bits[1], bits[2])


@kernel
def keep_values(
    state: Any,
    slot: int,
    indptr: Array,
    indices: Array,
    values: Array,
    codes: Array,
    column: int,
    n_levels: int,
    weights: Array,
) -> None:
    """Write a column to a slot as it is, missing values and all."""
    state.gaps[slot] = True
    state.n_levels[slot] = n_levels
    if state.columns.shape[1]:
        spread_values(indptr, indices, values, weights, column, state.columns[slot])
    if codes.size:
        spread_codes(indptr, indices, codes, column, state.codes[slot])


@kernel
def keep_codes(
    state: Any, slot: int, indptr: Array, indices: Array, codes: Array, column: int, n_levels: int, weights: Array
) -> None:
    """Write a coded column, and the weight of each level, to a slot."""
    mine, level_counts = state.codes[slot], state.level_counts[slot]
    state.n_levels[slot] = n_levels
    spread_codes(indptr, indices, codes, column, mine)
    level_counts[:] = 0.0
    for row in range(weights.size):
        level_counts[mine[row]] += weights[row]


@kernel
def remove(state: Any, at: int) -> None:
    """Free the slot at a place in the order of arrival."""
    slot = state.order[at]
    state.counts[KEPT] -= 1
    for later in range(at, state.counts[KEPT]):
        state.order[later] = state.order[later + 1]
    state.order[state.counts[KEPT]] = slot


@kernel
def least_relevant(state: Any) -> int:
    """The place of the kept column of least relevance, each by its own measure; of equals the last to arrive."""
    worst = 0
    for at in range(1, state.counts[KEPT]):
        slot, other = state.order[at], state.order[worst]
        if state.relevance[slot, state.measure[slot]] <= state.relevance[other, state.measure[other]] + EQUAL:
            worst = at
    return worst


@kernel
def measure_present(
    indptr: Array,
    indices: Array,
    values: Array,
    codes: Array,
    n_levels: Array,
    gaps: Array,
    weights: Array,
    target: Array,
    classes: Array,
    n_classes: int,
    start: int,
    stop: int,
    relevance: Array,
    norms: Array,
    present: Array,
) -> None:
    """The relevance of columns with missing values, from ``start`` to ``stop``, by both measures.

    ``norms`` gets 1 where a column varies, 0 where it does not; ``present`` how many rows of equal
    weight say as much as those that have a value.
    """
    largest = n_classes
    for column in range(start, stop):
        largest = max(largest, n_levels[column])
    dense, coded = np.empty(weights.size), np.empty(weights.size, np.int32)
    joint, margin = np.empty(scratch_cells(largest, n_classes, weights.size)), np.empty(largest)
    for column in range(start, stop):
        if not gaps[column]:
            continue
        spread_values(indptr, indices, values, weights, column, dense)
        total = squares = 0.0
        for row in range(weights.size):
            if dense[row] == dense[row]:
                total += weights[row]
                squares += weights[row] * weights[row]
        present[column] = total * total / squares if squares > 0.0 else 0.0
        relevance[column, CORRELATION] = abs(correlate_present(dense, target, weights))
        norms[column] = 1.0 if correlate_present(dense, dense, weights) > 0.0 else 0.0
        if codes.size and classes.size:
            spread_codes(indptr, indices, codes, column, coded)
            bits = entropies_present(coded, n_levels[column], classes, n_classes, weights, joint, margin)
            relevance[column, UNCERTAINTY] = uncertainty_of(bits[0], bits[1], bits[2])
