"""Scores of rows under a small set of weights."""

from __future__ import annotations

from typing import Any

from ..jit import kernel
from ..table import probe

Array = Any


@kernel
def score_rows(
    table: Array, ids: Array, weights: Array, indptr: Array, indices: Array, values: Array, scores: Array
) -> None:
    """Add to ``scores[r, c]`` the sum of ``weights[j, c] * value`` over the features j of row r that have weights."""
    for row in range(scores.shape[0]):
        for i in range(indptr[row], indptr[row + 1]):
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                for c in range(scores.shape[1]):
                    scores[row, c] += weights[position, c] * values[i]


@kernel
def keep_selected(
    table: Array,
    ids: Array,
    indptr: Array,
    indices: Array,
    values: Array,
    kept_indptr: Array,
    kept_indices: Array,
    kept_values: Array,
) -> int:
    """Copy the entries of features in the table, numbered by their position in it; how many there are."""
    filled = 0
    for row in range(indptr.size - 1):
        for i in range(indptr[row], indptr[row + 1]):
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                kept_indices[filled] = position
                kept_values[filled] = values[i]
                filled += 1
        kept_indptr[row + 1] = filled
    return filled
