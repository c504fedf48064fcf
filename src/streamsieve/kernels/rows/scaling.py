"""Rows brought to a common length or a common spread, in one pass."""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel, summing
from ..types import F64, I64, Floats, Ints, unsigned
from .storing import bounded

ROUNDING = 1e-12  # of a mean square: a variance below it is what rounding has left of none
NORMS, ROWS, SQUARES, COUNTED = 0, 1, 2, 3  # ``totals``: of row norms, rows; of squared norms, rows that have values


@summing
def squares_of(values: Floats, begin: int, end: int) -> float:
    """The squared length of a row."""
    squares = 0.0
    for i in range(unsigned(begin), unsigned(end)):
        squares += np.float64(values[i]) * np.float64(values[i])
    return squares


@kernel
def measure_rows(
    indptr: I64,
    values: Floats,
    unit_length: bool,
    share: float,
    longest: float,
    decay: float,
    totals: F64,
    factors: F64,
    constants: F64,
    mean_squares: F64,
    counted: F64,
) -> None:
    """What a kernel must know of the length of rows before it learns them.

    Given    unit_length: whether every row is divided by its length; share: the intercept's input, in mean lengths;
             longest: a row whose squared length is more than that many times the mean so far is shortened to it;
             decay: what a row leaves of the sums before it; totals: see above, which go on.
    Back     the fields of ``Rows`` of these names. Empty rows count for the mean length, not for the mean square.
    """
    for row in range(indptr.size - 1):
        squares = squares_of(values, indptr[row], indptr[row + 1])
        factor = 1.0
        totals[SQUARES] *= decay
        totals[COUNTED] *= decay
        if squares > 0.0:
            if unit_length:
                factor = 1.0 / np.sqrt(squares)
                squares = 1.0
            if totals[COUNTED] > 0.0:
                most = longest * (totals[SQUARES] / totals[COUNTED])
                if squares > most:
                    factor *= np.sqrt(most / squares)
                    squares = most
            totals[SQUARES] += squares
            totals[COUNTED] += 1.0
        totals[NORMS] += np.sqrt(squares)
        totals[ROWS] += 1.0
        factors[row] = factor
        constants[row] = share * totals[NORMS] / totals[ROWS]
        counted[row] = totals[COUNTED]
        mean_squares[row] = totals[SQUARES] / totals[COUNTED] if totals[COUNTED] > 0.0 else 0.0


@inlined
def kept_length(kept_squares: float, rows: float, mean_square: float) -> float:
    """The root mean square length of the kept part of the rows; of all of them while nothing of them was kept."""
    return float(np.sqrt(kept_squares / rows if kept_squares > 0.0 else mean_square))


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
            mean_square = squares[indices[i]] / seen[0]
            variance = mean_square - mean * mean
            varies = variance > ROUNDING * mean_square
            scaled[i] = bounded(values[i] / np.sqrt(variance)) if varies else values[i]


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
            matrix[row, j] = bounded((x - means[j]) / spread) if spread > 0.0 else 0.0
