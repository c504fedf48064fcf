"""Rows brought to a common length, and columns to a common scale, in one pass.

Dense columns are centred and divided by their spread, sparse ones divided by their spread or by a
typical size.
"""

from __future__ import annotations

import numpy as np

from ..jit import inlined, kernel, summing
from ..table import probe
from ..types import F64, I32, I64, Floats, Ints, unsigned
from .storing import bounded

NO_VALUE = -1
AT_MEAN = (
    1e-9  # standard deviations from it: a rounding, which the length of a row would make large
)
ROUNDING = 1e-12  # of a mean square: a variance below it is what rounding has left of none
NORMS, ROWS, SQUARES, COUNTED = (
    0,
    1,
    2,
    3,
)  # ``totals``: of row norms, rows; of squared norms, rows that have values


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
             longest: a row whose squared length is more than that many times the mean so far is
             shortened to it; decay: what a row leaves of the sums before it; totals: see above,
             which go on.
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
    indptr: I64,
    indices: Ints,
    values: Floats,
    seen: F64,
    sums: F64,
    squares: F64,
    learn: bool,
    scaled: Floats,
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
    own: I64,
    sizes: F64,
    typical: float,
    learn: bool,
    scaled_indptr: I64,
    scaled_indices: Ints,
    scaled_values: Floats,
) -> bool:
    """The rows of a block with every column on its scale; ids ascend as before.

    Given    dense: the ids of the dense columns, ascending; means, deviations: of each, the mean and the sum of squared
             deviations from it over the ``seen`` rows so far (Welford), which go on with ``learn``;
             table, own, sizes: the sparse columns that have a size of their own
             (``kernels.table``); typical: that of all others.
    Back     the scaled rows. A dense column has a value in every row, unless it has not varied yet or is at its mean;
             room is needed for all of them. Whether the rows have other columns than before: if
             not, which is the usual case, ``scaled_indices`` is not filled in, and those of before
             hold.
    """
    n_dense, factor = dense.size, 1.0 / typical
    x, z = np.empty(n_dense), np.empty(n_dense, np.float32)
    at = np.full(
        n_dense, NO_VALUE
    )  # where in a row its dense columns are: in most data where they were in the last
    filled, changed = 0, False
    scaled_indptr[0] = 0
    for row in range(indptr.size - 1):
        begin, end = indptr[row], indptr[row + 1]
        length = end - begin
        seen[0] += learn
        complete = are_at(at, dense, indices, begin, end) or locate(at, dense, indices, begin, end)
        if not complete and not changed:
            copy(indices, indptr[0], scaled_indices, 0, filled)
            changed = True
        if complete:
            if sizes.size:
                for i in range(begin, end):
                    own_factor = factor_of(table, own, sizes, factor, indices[i])
                    scaled_values[filled + i - begin] = bounded(values[i] * own_factor)
            else:
                for i in range(length):
                    scaled_values[unsigned(filled + i)] = bounded(
                        values[unsigned(begin + i)] * factor
                    )
            if changed:
                copy(indices, begin, scaled_indices, filled, length)
        else:
            length = merge_row(
                *(indices, values, begin, end, dense, table, own, sizes, factor),
                *(x, at, scaled_indices, scaled_values, filled),
            )
        if complete and is_run(at):
            to = filled + at[0]
            zeros = standardize_row(
                values, begin + at[0], seen[0], means, deviations, learn, scaled_values, to
            )
        else:
            if complete:
                for rank in range(n_dense):
                    x[rank] = values[unsigned(begin + at[rank])]
            zeros = standardize_row(x, 0, seen[0], means, deviations, learn, z, 0)
            for rank in range(n_dense):
                scaled_values[unsigned(filled + at[rank])] = z[rank]
        if zeros:
            if not changed:
                copy(indices, indptr[0], scaled_indices, 0, filled + length)
                changed = True
            length = without_zeros(scaled_indices, scaled_values, filled, length)
        if not complete:
            at[-1] = NO_VALUE
        filled += length
        scaled_indptr[row + 1] = filled
    return changed


@inlined
def copy(numbers: Ints, begin: int, copied: Ints, to: int, count: int) -> None:
    for i in range(count):
        copied[unsigned(to + i)] = numbers[unsigned(begin + i)]


@inlined
def factor_of(table: I32, own: I64, sizes: F64, factor: float, feature: int) -> float:
    """What the values of a sparse column are multiplied by, where some have a size of their own."""
    position = table[probe(table, own, int(feature))] - 1
    return 1.0 / sizes[position] if position >= 0 else factor


@inlined
def is_run(numbers: I64) -> bool:
    """Whether ascending numbers follow one another without a gap."""
    return bool(numbers.size and numbers[-1] - numbers[0] == numbers.size - 1)


@inlined
def are_at(at: I64, dense: I64, indices: Ints, begin: int, end: int) -> bool:
    """Whether the dense columns are at these offsets in the row from ``begin`` to ``end``."""
    if not at.size:
        return True
    if (
        not 0 <= at[-1] < end - begin
        or indices[begin + at[0]] != dense[0]
        or indices[begin + at[-1]] != dense[-1]
    ):
        return False
    if is_run(
        dense
    ):  # the ids of a row ascend: then as many between these two can only be the same
        return is_run(at)
    differ = 0
    for rank in range(dense.size):
        differ |= indices[unsigned(begin + at[rank])] ^ dense[rank]
    return differ == 0


@kernel
def locate(at: I64, dense: I64, indices: Ints, begin: int, end: int) -> bool:
    """Find the offsets of the dense columns in a row; whether all are there."""
    i = begin
    for rank in range(dense.size):
        while i < end and indices[i] < dense[rank]:
            i += 1
        if i == end or indices[i] != dense[rank]:
            return False
        at[rank] = i - begin
    return True


@kernel
def merge_row(
    indices: Ints,
    values: Floats,
    begin: int,
    end: int,
    dense: I64,
    table: I32,
    own: I64,
    sizes: F64,
    factor: float,
    x: Floats,
    at: I64,
    scaled_indices: Ints,
    scaled_values: Floats,
    to: int,
) -> int:
    """A row with room for the dense columns that it lacks; ``x`` are their values and ``at`` where they are then."""
    i, filled = begin, to
    for rank in range(dense.size + 1):
        while i < end and (rank == dense.size or indices[i] < dense[rank]):
            scaled_indices[filled] = indices[i]
            own_factor = factor_of(table, own, sizes, factor, indices[i]) if sizes.size else factor
            scaled_values[filled] = bounded(values[i] * own_factor)
            filled += 1
            i += 1
        if rank < dense.size:
            x[rank] = 0.0
            if i < end and indices[i] == dense[rank]:
                x[rank] = values[i]
                i += 1
            scaled_indices[filled] = dense[rank]
            at[rank] = filled - to
            filled += 1
    return filled - to


@summing
def standardize_row(
    x: Floats, begin: int, seen: float, means: F64, deviations: F64, learn: bool, z: Floats, to: int
) -> int:
    """The dense columns of one row, centred and divided by their standard deviation; how many come out as 0.

    One that has not varied yet does.
    """
    share = 1.0 / max(1.0, seen)
    zeros = 0
    for rank in range(means.size):
        value = x[unsigned(begin + rank)]
        if learn:
            off = value - means[rank]
            means[rank] += off * share
            deviations[rank] += off * (value - means[rank])
        variance = deviations[rank] * share
        scaled = np.float32(
            bounded((value - means[rank]) / np.sqrt(variance)) if variance > 0.0 else 0.0
        )
        if abs(scaled) < AT_MEAN:
            scaled = np.float32(0.0)
        z[unsigned(to + rank)] = scaled
        zeros += scaled == 0.0
    return zeros


@kernel
def without_zeros(indices: Ints, values: Floats, begin: int, length: int) -> int:
    """Close the gaps that zeros leave in a row; how long it is then."""
    filled = begin
    for i in range(begin, begin + length):
        if values[i] != 0.0:
            indices[filled] = indices[i]
            values[filled] = values[i]
            filled += 1
    return filled - begin
