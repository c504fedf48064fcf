"""Conditional independence by partial correlation, and the online selection that rests on it (OSFS, Fast-OSFS)."""

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


class IndependenceState(NamedTuple):
    """The kept columns and how all pairs of them correlate."""

    order: Array  # int32: slots in order of arrival, then the free ones
    ids: Array  # int64, per slot
    relevance: Array  # float64, per slot: correlation with the target, with its sign
    columns: Array  # float64, slots x rows: centred, of length 1, times the weights of rows
    correlations: Array  # float64, slots x slots
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


@kernel
def is_separated(state: Any, one: int, always: int, most: int, n_rows: int, critical: float) -> bool:
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
            if is_independent(
                partial_correlation(state, one, given, fixed + size, matrix), fixed + size, n_rows, critical
            ):
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
    fast: bool,
    most: int,
    critical: float,
    indptr: Array,
    indices: Array,
    values: Array,
    ids: Array,
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
        for at in range(counts[KEPT]):
            product = 0.0
            kept = state.columns[order[at]]
            for i in range(unsigned(indptr[column]), unsigned(indptr[column + 1])):
                product += values[i] * kept[unsigned(indices[i])]
            state.correlations[slot, order[at]] = state.correlations[order[at], slot] = product / norms[column]
        counts[KEPT] += 1
        if fast and is_separated(state, slot, NO_SLOT, most, n_rows, critical):
            counts[KEPT] -= 1
            counts[REDUNDANT] += 1
            continue
        standardize_column(indptr, indices, values, weights, column, norms[column], state.columns[slot])
        at = 0
        while at < counts[KEPT]:
            other = order[at]
            newest = other == slot
            if (not newest or not fast) and is_separated(
                state, other, slot if fast else NO_SLOT, most, n_rows, critical
            ):
                counts[KEPT] -= 1
                for later in range(at, counts[KEPT]):
                    order[later] = order[later + 1]
                order[counts[KEPT]] = other
                counts[REDUNDANT if newest else REPLACED] += 1
            else:
                at += 1
    return int(candidates.size)
