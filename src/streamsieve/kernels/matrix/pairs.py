"""Pairs of rows: features as lines of scaled numbers, and the distances between all rows.

Data comes in blocks, a line per feature and a column per row, float32. Lines are padded with zeros
to a multiple of ``LANE`` rows, so that every loop over rows takes whole vector registers. Only the
part above the diagonal is used of matrices of pairs: each pair is computed once.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..types import F32, F64, I64, Floats, Ints, unsigned

LANE = 32  # rows that are computed together
TILE = 8  # features whose distances are summed in registers
PARTIAL = 64  # features whose distances are summed in float32
MAX_SIZE = 1e300  # of a value: differences of such values do not overflow
MAX_UNSCALED = 1e30  # of a feature that is not scaled: sums of such differences fit in a float32
FLAT = 1e-300  # a range this small has no inverse: the feature is constant
# how features are scaled: to [0, 1], to mean 0 and deviation 1, not at all
MIN_MAX, STANDARD, NONE = 0, 1, 2


@kernel
def gather_columns(X: Floats, features: I64, block: F64) -> None:
    """Write columns of a dense matrix in row-major order as lines of ``block``."""
    for row in range(X.shape[0]):
        line = X[row]
        for k in range(features.size):
            block[k, row] = line[features[k]]


@kernel
def gather_lines(X: Floats, features: I64, block: F64) -> None:
    """Write columns of a dense matrix in column-major order, given transposed, as lines."""
    for k in range(features.size):
        line = X[features[k]]
        for row in range(line.size):
            block[k, row] = line[row]


@kernel
def gather_sparse(indptr: Ints, indices: Ints, values: Floats, features: I64, block: F64) -> None:
    """Write columns of a CSC matrix as lines of ``block``."""
    for k in range(features.size):
        block[k] = 0.0
        for i in range(indptr[features[k]], indptr[features[k] + 1]):
            block[k, indices[i]] = values[i]


@kernel
def measure_block(
    block: F64, n_lines: int, n_rows: int, kind: int, shift: F64, factor: F64
) -> tuple[int, int]:
    """Compute the shift and the factor that scale every line: (x - shift) * factor.

    The factor of a constant line is 0. Lines that are not scaled are shifted to begin at 0, so that
    float32 holds their differences, which are all that is used.

    Back     the first line with a number that cannot be used, or -1; the number of non-zeros.
    """
    present = 0
    for k in range(n_lines):
        low, high, total = np.inf, -np.inf, 0.0
        for row in range(n_rows):
            x = block[k, row]
            if not abs(x) <= MAX_SIZE:
                return k, present
            low, high = min(low, x), max(high, x)
            present += x != 0.0
        for row in range(n_rows):
            total += block[k, row] - low
        span = high - low
        shift[k], factor[k] = low, 0.0
        if span <= FLAT:
            continue
        if kind == NONE:
            factor[k] = 1.0
            if span > MAX_UNSCALED:
                return k, present
        elif kind == MIN_MAX:
            factor[k] = 1.0 / span
        else:
            mean, squares = low + total / n_rows, 0.0
            for row in range(n_rows):
                squares += ((block[k, row] - mean) / span) ** 2
            shift[k], factor[k] = mean, np.sqrt(n_rows / squares) / span
    return -1, present


@kernel
def scale_block(block: F64, n_rows: int, shift: F64, factor: F64, out: F32) -> None:
    """Write (block - shift) * factor, a line per feature, rounded to float32 at the end."""
    for k in range(shift.size):
        for row in range(n_rows):
            out[k, row] = (block[k, row] - shift[k]) * factor[k]


@summing
def add_distances(block: F32, first: int, last: int, partial: F32, distances: F64) -> None:
    """Add to ``distances[n, i]``, i > n, the sum over features of |x_n - x_i|.

    Given    block: its number of features is a multiple of ``TILE``; first, last: the rows n from
             ``first`` to before ``last``; partial: scratch, a padded line of float32.

    Sums of up to ``PARTIAL`` features are float32, of all features float64.
    """
    features, width = block.shape
    for begin in range(0, features, PARTIAL):
        end = min(features, begin + PARTIAL)
        for n in range(first, last):
            left = n // LANE * LANE
            partial[left:] = np.float32(0.0)
            for j in range(begin, end, TILE):
                add_tile(block, j, n, left, partial)
            line = distances[n]
            for i in range(unsigned(left), unsigned(width)):
                line[i] += partial[i]


@summing
def add_tile(block: F32, j: int, n: int, left: int, partial: F32) -> None:
    """Add the distances of row n over ``TILE`` features."""
    x0, x1, x2, x3 = block[j], block[j + 1], block[j + 2], block[j + 3]
    x4, x5, x6, x7 = block[j + 4], block[j + 5], block[j + 6], block[j + 7]
    a0, a1, a2, a3 = x0[n], x1[n], x2[n], x3[n]
    a4, a5, a6, a7 = x4[n], x5[n], x6[n], x7[n]
    for i in range(unsigned(left), unsigned(partial.size)):
        partial[i] += (
            abs(x0[i] - a0)
            + abs(x1[i] - a1)
            + abs(x2[i] - a2)
            + abs(x3[i] - a3)
            + abs(x4[i] - a4)
            + abs(x5[i] - a5)
            + abs(x6[i] - a6)
            + abs(x7[i] - a7)
        )


@summing
def distance_deviation(distances: F64, n_rows: int) -> float:
    """Return the standard deviation of the distances above the diagonal."""
    count = max(1, n_rows * (n_rows - 1) // 2)
    total = squares = 0.0
    for n in range(n_rows):
        for i in range(n + 1, n_rows):
            total += distances[n, i]
    mean = total / count
    for n in range(n_rows):
        for i in range(n + 1, n_rows):
            squares += (distances[n, i] - mean) ** 2
    return float(np.sqrt(squares / count))
