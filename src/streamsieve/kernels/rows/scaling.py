"""Scale rows to a common length and columns to a common scale, in one pass.

Dense columns are centred and divided by their standard deviation, sparse ones divided by their
standard deviation or by a typical size.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel, summing
from ..table import probe
from ..types import F64, I32, I64, Floats, Ints, unsigned
from .storing import clip_to_float32

NO_VALUE = -1
# in standard deviations: a smaller value is a rounding error, which division by the length of a row
# would make large
AT_MEAN = 1e-9
ROUNDING = 1e-12  # share of a mean square: a smaller variance is a rounding error
# entries of ``totals``: the sum of row norms, rows; the sum of squared norms, rows that have values
NORMS, ROWS, SQUARES, COUNTED = 0, 1, 2, 3


@summing
def squares_of(values: Floats, begin: int, end: int) -> float:
    """Return the squared length of a row."""
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
    max_ratio: float,
    decay: float,
    totals: F64,
    factors: F64,
    constants: F64,
    mean_squares: F64,
    counted: F64,
) -> None:
    """Compute what learning needs of the lengths of rows: factors, constants, mean squares, counts.

    Given    unit_length: whether every row is divided by its length; share: the input of the
             intercept as a multiple of the mean length; max_ratio: the largest squared length of a
             row as a multiple of the mean so far; longer rows are scaled down; decay: the factor
             by which a row shrinks the sums before it; totals: see above, updated.
    Back     the fields of ``Rows`` of these names. Empty rows count in the mean length, not in the
             mean square.
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
                max_squares = max_ratio * (totals[SQUARES] / totals[COUNTED])
                if squares > max_squares:
                    factor *= np.sqrt(max_squares / squares)
                    squares = max_squares
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
    """Return the root mean square length of the kept part of rows; of all rows if none is kept."""
    return float(np.sqrt(kept_squares / rows if kept_squares > 0.0 else mean_square))


@kernel
def scale_by_spread(
    indptr: I64,
    indices: Ints,
    values: Floats,
    seen: F64,
    sums: F64,
    squares: F64,
    learn: bool,
    scaled: Floats,
) -> None:
    """Divide sparse values by the standard deviation of their feature over all rows so far.

    Zeros count, and values are not centred.

    Given    seen: the number of rows so far; sums, squares: of the values of each feature. With
             ``learn`` they are updated row by row. A feature that has not varied yet is unchanged.
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
            scaled[i] = clip_to_float32(values[i] / np.sqrt(variance)) if varies else values[i]


@kernel
def standardize(matrix: F64, seen: F64, means: F64, deviations: F64, learn: bool) -> None:
    """Standardise dense rows in place by the statistics of their columns over all rows so far.

    Given    means, deviations: the mean of each column and the sum of squared deviations from it
             (Welford). With ``learn`` they are updated row by row. A column that has not varied yet
             gives 0.
    """
    for row in range(matrix.shape[0]):
        if learn:
            seen[0] += 1.0
        for j in range(matrix.shape[1]):
            x = matrix[row, j]
            if learn:
                deviation = x - means[j]
                means[j] += deviation / seen[0]
                deviations[j] += deviation * (x - means[j])
            spread = np.sqrt(deviations[j] / seen[0])
            matrix[row, j] = clip_to_float32((x - means[j]) / spread) if spread > 0.0 else 0.0


@kernel
def scale_columns(
    indptr: I64,
    indices: Ints,
    values: Floats,
    dense: I64,
    means: F64,
    deviations: F64,
    seen: F64,
    table: I32,
    own_ids: I64,
    sizes: F64,
    typical: float,
    learn: bool,
    scaled_indptr: I64,
    scaled_indices: Ints,
    scaled_values: Floats,
) -> bool:
    """Scale every column of a block of rows; ids ascend as before.

    Given    dense: the ids of the dense columns, ascending; means, deviations: the mean of each and
             the sum of squared deviations from it over the ``seen`` rows so far (Welford), updated
             with ``learn``; table, own_ids, sizes: the sparse columns that have their own size
             (``kernels.table``); typical: the size of all other columns.
    Back     the scaled rows. A dense column has a value in every row, unless it has not varied yet
             or the value is at the mean; there must be room for all of them. The result is True if
             the rows have other columns than before; usually they do not, and then
             ``scaled_indices`` is not filled in, because the old indices are valid.
    """
    n_dense, factor = dense.size, 1.0 / typical
    dense_values, scaled_dense = np.empty(n_dense), np.empty(n_dense, np.float32)
    # of the dense columns in a row, which in most data are those of the row before
    offsets = np.full(n_dense, NO_VALUE)
    filled, has_new_columns = 0, False
    scaled_indptr[0] = 0
    for row in range(indptr.size - 1):
        begin, end = indptr[row], indptr[row + 1]
        length = end - begin
        seen[0] += learn
        is_complete = columns_are_at(offsets, dense, indices, begin, end) or locate_columns(
            offsets, dense, indices, begin, end
        )
        if not is_complete and not has_new_columns:
            copy_ids(indices, indptr[0], scaled_indices, 0, filled)
            has_new_columns = True
        if is_complete:
            if sizes.size:
                for i in range(begin, end):
                    column_factor = sparse_factor(table, own_ids, sizes, factor, indices[i])
                    scaled_values[filled + i - begin] = clip_to_float32(values[i] * column_factor)
            else:
                for i in range(length):
                    scaled_values[unsigned(filled + i)] = clip_to_float32(
                        values[unsigned(begin + i)] * factor
                    )
            if has_new_columns:
                copy_ids(indices, begin, scaled_indices, filled, length)
        else:
            length = merge_row(
                *(indices, values, begin, end, dense, table, own_ids, sizes, factor),
                *(dense_values, offsets, scaled_indices, scaled_values, filled),
            )
        if is_complete and is_run(offsets):
            target = filled + offsets[0]
            n_zeros = standardize_row(
                values, begin + offsets[0], seen[0], means, deviations, learn, scaled_values, target
            )
        else:
            if is_complete:
                for rank in range(n_dense):
                    dense_values[rank] = values[unsigned(begin + offsets[rank])]
            n_zeros = standardize_row(
                dense_values, 0, seen[0], means, deviations, learn, scaled_dense, 0
            )
            for rank in range(n_dense):
                scaled_values[unsigned(filled + offsets[rank])] = scaled_dense[rank]
        if n_zeros:
            if not has_new_columns:
                copy_ids(indices, indptr[0], scaled_indices, 0, filled + length)
                has_new_columns = True
            length = drop_zeros(scaled_indices, scaled_values, filled, length)
        if not is_complete:
            offsets[-1] = NO_VALUE
        filled += length
        scaled_indptr[row + 1] = filled
    return has_new_columns


@inlined
def copy_ids(numbers: Ints, begin: int, copied: Ints, target: int, count: int) -> None:
    """Copy ``count`` ids from ``begin`` on to ``target``."""
    for i in range(count):
        copied[unsigned(target + i)] = numbers[unsigned(begin + i)]


@inlined
def sparse_factor(table: I32, own_ids: I64, sizes: F64, factor: float, feature: int) -> float:
    """Return the factor of the values of a sparse column, if some columns have their own size."""
    position = table[probe(table, own_ids, int(feature))] - 1
    return 1.0 / sizes[position] if position >= 0 else factor


@inlined
def is_run(numbers: I64) -> bool:
    """Return True if ascending numbers are consecutive."""
    return bool(numbers.size and numbers[-1] - numbers[0] == numbers.size - 1)


@inlined
def columns_are_at(offsets: I64, dense: I64, indices: Ints, begin: int, end: int) -> bool:
    """Return True if the dense columns are at these offsets in a row."""
    if not offsets.size:
        return True
    if (
        not 0 <= offsets[-1] < end - begin
        or indices[begin + offsets[0]] != dense[0]
        or indices[begin + offsets[-1]] != dense[-1]
    ):
        return False
    # the ids of a row ascend, so as many ids between the first and the last must be the same
    if is_run(dense):
        return is_run(offsets)
    difference = 0
    for rank in range(dense.size):
        difference |= indices[unsigned(begin + offsets[rank])] ^ dense[rank]
    return difference == 0


@kernel
def locate_columns(offsets: I64, dense: I64, indices: Ints, begin: int, end: int) -> bool:
    """Fill in the offsets of the dense columns in a row; return True if all are present."""
    i = begin
    for rank in range(dense.size):
        while i < end and indices[i] < dense[rank]:
            i += 1
        if i == end or indices[i] != dense[rank]:
            return False
        offsets[rank] = i - begin
    return True


@kernel
def merge_row(
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    dense: I64,
    table: I32,
    own_ids: I64,
    sizes: F64,
    factor: float,
    dense_values: Floats,
    offsets: I64,
    scaled_indices: Ints,
    scaled_values: Floats,
    target: int,
) -> int:
    """Copy a row with room for the dense columns that it lacks; return its length.

    Back     dense_values: the values of the dense columns; offsets: their offsets in the new row;
             the new row, whose sparse columns are scaled.
    """
    i, filled = begin, target
    for rank in range(dense.size + 1):
        while i < end and (rank == dense.size or indices[i] < dense[rank]):
            scaled_indices[filled] = indices[i]
            column_factor = (
                sparse_factor(table, own_ids, sizes, factor, indices[i]) if sizes.size else factor
            )
            scaled_values[filled] = clip_to_float32(values[i] * column_factor)
            filled += 1
            i += 1
        if rank < dense.size:
            dense_values[rank] = 0.0
            if i < end and indices[i] == dense[rank]:
                dense_values[rank] = values[i]
                i += 1
            scaled_indices[filled] = dense[rank]
            offsets[rank] = filled - target
            filled += 1
    return filled - target


@summing
def standardize_row(
    row_values: Floats,
    begin: int,
    seen: float,
    means: F64,
    deviations: F64,
    learn: bool,
    scaled_values: Floats,
    target: int,
) -> int:
    """Standardise the dense columns of one row; return how many values are 0.

    A column that has not varied yet gives 0.
    """
    inverse_seen = 1.0 / max(1.0, seen)
    n_zeros = 0
    for rank in range(means.size):
        value = row_values[unsigned(begin + rank)]
        if learn:
            deviation = value - means[rank]
            means[rank] += deviation * inverse_seen
            deviations[rank] += deviation * (value - means[rank])
        variance = deviations[rank] * inverse_seen
        scaled_value = np.float32(
            clip_to_float32((value - means[rank]) / np.sqrt(variance)) if variance > 0.0 else 0.0
        )
        if abs(scaled_value) < AT_MEAN:
            scaled_value = np.float32(0.0)
        scaled_values[unsigned(target + rank)] = scaled_value
        n_zeros += scaled_value == 0.0
    return n_zeros


@kernel
def drop_zeros(indices: Ints, values: Floats, begin: int, length: int) -> int:
    """Remove zeros from a row; return its new length."""
    filled = begin
    for i in range(begin, begin + length):
        if values[i] != 0.0:
            indices[filled] = indices[i]
            values[filled] = values[i]
            filled += 1
    return filled - begin
