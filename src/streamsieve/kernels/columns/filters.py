"""Batch filters over coded columns: FCBF (Yu, Liu 2003) and mRMR (Peng, Long, Ding 2005)."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool
from .dependence import EQUAL, pair_entropies, scratch_for, spread_and_count, uncertainty


@kernel
def filter_by_correlation(
    indptr: I64, indices: I32, codes: I32, n_levels: I64, relevance: F64, order: I64, weights: F64
) -> Bool:
    """Return which columns FCBF keeps.

    Given    order: all columns, the most relevant first. Each column C that is still kept removes
             all columns F after it that depend on C no less than on the target Y:
             SU(F, C) >= SU(F, Y).
    """
    stays = np.ones(order.size, np.bool_)
    max_levels = n_levels.max()
    dense, counts = np.empty(weights.size, np.int32), np.empty(max_levels)
    joint, margin = scratch_for(max_levels, max_levels, weights.size)
    for rank in range(order.size):
        column = order[rank]
        if not stays[column]:
            continue
        spread_and_count(indptr, indices, codes, column, weights, dense, counts)
        for later in range(rank + 1, order.size):
            other = order[later]
            if stays[other]:
                shared = uncertainty(
                    indptr,
                    indices,
                    codes,
                    other,
                    n_levels[other],
                    weights,
                    dense,
                    counts,
                    n_levels[column],
                    joint,
                    margin,
                )
                stays[other] = shared < relevance[other] - EQUAL
    return stays


@kernel
def add_information(
    indptr: I64,
    indices: I32,
    codes: I32,
    n_levels: I64,
    weights: F64,
    dense: I32,
    counts: F64,
    n_other: int,
    wanted: Bool,
    out: F64,
) -> None:
    """Add the mutual information, in bits, of all ``wanted`` columns and a variable to ``out``.

    Given    dense, counts, n_other: the variable, as in ``pair_entropies``.
    """
    joint, margin = scratch_for(n_levels.max(), n_other, weights.size)
    for column in range(n_levels.size):
        if wanted[column]:
            first, second, together = pair_entropies(
                indptr,
                indices,
                codes,
                column,
                n_levels[column],
                weights,
                dense,
                counts,
                n_other,
                joint,
                margin,
            )
            out[column] += max(0.0, first + second - together)


@kernel
def select_by_mrmr(
    indptr: I64,
    indices: I32,
    codes: I32,
    n_levels: I64,
    relevance: F64,
    weights: F64,
    budget: int,
    by_quotient: bool,
    scores: F64,
) -> I64:
    """Return the columns that mRMR chooses, in the order of choice.

    Problem  next is always the column with the largest relevance minus its mean mutual information
             with those chosen before, or divided by it; of equal ones the first.
    Given    relevance: mutual information with the target; by_quotient: True to divide.
    Back     scores: of the columns when they were chosen.
    """
    n_columns = n_levels.size
    chosen = np.empty(min(budget, n_columns), np.int64)
    free = np.ones(n_columns, np.bool_)
    shared = np.zeros(n_columns)
    dense, counts = np.empty(weights.size, np.int32), np.empty(n_levels.max())
    for number in range(chosen.size):
        best, top = -1, 0.0
        for column in range(n_columns):
            if free[column]:
                value = relevance[column]
                if number > 0:
                    mean = shared[column] / number
                    value = value / max(mean, EQUAL) if by_quotient else value - mean
                if best < 0 or value > top + EQUAL:
                    best, top = column, value
        chosen[number] = best
        scores[number] = top
        free[best] = False
        if number + 1 < chosen.size:
            spread_and_count(indptr, indices, codes, best, weights, dense, counts)
            add_information(
                indptr,
                indices,
                codes,
                n_levels,
                weights,
                dense,
                counts,
                n_levels[best],
                free,
                shared,
            )
    return chosen
