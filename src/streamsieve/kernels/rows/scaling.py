"""Rows brought to a common length or a common spread, in one pass."""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..types import F64, I64, Floats, Ints, unsigned

NORMS, ROWS = 0, 1  # entries of ``totals``: the sum of row norms, the number of rows


@kernel
def scale_rows_to_length_one(indptr: I64, values: Floats, scaled: Floats) -> None:
    """``scaled`` = ``values`` with every row divided by its Euclidean norm; empty rows stay empty."""
    for row in range(indptr.size - 1):
        squares = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            squares += np.float64(values[i]) * np.float64(values[i])
        norm = np.sqrt(squares)
        for i in range(indptr[row], indptr[row + 1]):
            scaled[i] = values[i] / norm if norm > 0.0 else 0.0


@summing
def intercept_inputs(indptr: I64, values: Floats, size: float, totals: F64, constants: F64) -> None:
    """``constants[r]`` = ``size`` times the mean norm of all rows so far, row r included; ``totals`` goes on."""
    norms, rows = totals[NORMS], totals[ROWS]
    for row in range(indptr.size - 1):
        squares = 0.0
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            squares += np.float64(values[i]) * np.float64(values[i])
        norms += np.sqrt(squares)
        rows += 1.0
        constants[row] = size * norms / rows
    totals[NORMS], totals[ROWS] = norms, rows


@kernel
def scale_by_spread(
    indptr: I64, indices: Ints, values: Floats, seen: F64, sums: F64, squares: F64, learn: bool, scaled: Floats
) -> None:
    """Sparse values divided by their feature's standard deviation over all rows so far, zeros included; not centred.

    Given    seen: the number of rows so far; sums, squares: of each feature's values. With ``learn`` they go on, row
             by row. A feature that has not varied yet is left as it is.
    """
    for row in range(indptr.size - 1):
        if learn:
            seen[0] += 1.0
            for i in range(indptr[row], indptr[row + 1]):
                x = np.float64(values[i])
                sums[indices[i]] += x
                squares[indices[i]] += x * x
        for i in range(indptr[row], indptr[row + 1]):
            mean = sums[indices[i]] / seen[0]
            variance = squares[indices[i]] / seen[0] - mean * mean
            scaled[i] = values[i] / np.sqrt(variance) if variance > 0.0 else values[i]


@kernel
def standardize(matrix: F64, seen: F64, means: F64, deviations: F64, learn: bool) -> None:
    """Dense rows centred and divided by the standard deviation of their columns over all rows so far, in place.

    Given    means, deviations: of each column, the mean and the sum of squared deviations from it (Welford). With
             ``learn`` they go on, row by row. A column that has not varied yet gives 0.
    """
    for row in range(matrix.shape[0]):
        if learn:
            seen[0] += 1.0
        for j in range(matrix.shape[1]):
            x = matrix[row, j]
            if learn:
                off = x - means[j]
                means[j] += off / seen[0]
                deviations[j] += off * (x - means[j])
            spread = np.sqrt(deviations[j] / seen[0])
            matrix[row, j] = (x - means[j]) / spread if spread > 0.0 else 0.0
