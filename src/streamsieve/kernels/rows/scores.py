"""Scores of rows under a small set of weights."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..table import probe
from ..types import F64, I32, I64, Floats, Ints
from .scaling import squares_of


@kernel
def score_rows(
    table: I32, ids: I64, weights: F64, indptr: I64, indices: Ints, values: Floats, unit_length: bool, scores: F64
) -> None:
    """Add to ``scores[r, c]`` the sum of ``weights[j, c] * value`` over the features j of row r that have weights.

    With ``unit_length`` the sum is divided by the length of the row.
    """
    for row in range(scores.shape[0]):
        factor = 1.0
        if unit_length:
            squares = squares_of(values, indptr[row], indptr[row + 1])
            factor = 1.0 / np.sqrt(squares) if squares > 0.0 else 1.0  # values that were scaled may all be 0
        for i in range(indptr[row], indptr[row + 1]):
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                for c in range(scores.shape[1]):
                    scores[row, c] += weights[position, c] * (values[i] * factor)


@kernel
def measure_squares(indptr: I64, values: Floats, squares: F64) -> None:
    """The squared length of every row."""
    for row in range(squares.size):
        squares[row] = squares_of(values, indptr[row], indptr[row + 1])
