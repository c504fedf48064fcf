"""Columns brought to a common scale: dense ones centred and divided by their spread, sparse ones by a typical size."""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..table import probe
from ..types import F32, F64, I32, I64, Floats, Ints


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
) -> int:
    """The rows of a block with every column on its scale; ids ascend as before.

    Given    dense: the ids of the dense columns, ascending; means, deviations: of each, the mean and the sum of squared
             deviations from it over the ``seen`` rows so far (Welford), which go on with ``learn``; table, own,
             sizes: the sparse columns that have a size of their own (``kernels.table``); typical: that of all others.
    Back     the scaled rows, and how many values they have. A dense column has a value in every row, unless it has not
             varied yet or is at its mean; room is needed for all of them.
    """
    n_dense = dense.size
    x, z = np.empty(n_dense), np.empty(n_dense, np.float32)
    at = np.full(n_dense, -1)  # where in a row its dense columns are: in most data where they were in the row before
    filled = 0
    scaled_indptr[0] = 0
    for row in range(indptr.size - 1):
        begin, end = indptr[row], indptr[row + 1]
        here = scaled_indices[filled:], scaled_values[filled:]
        if are_at(at, dense, indices[begin:end]) or locate(at, dense, indices[begin:end]):
            for rank in range(n_dense):
                x[rank] = values[begin + at[rank]]
            length = end - begin
            copy_row(indices[begin:end], values[begin:end], 1.0 / typical, *here)
        else:
            length = merge_row(indices[begin:end], values[begin:end], dense, 1.0 / typical, x, at, *here)
        if own.size:
            scale_own(table, own, sizes, typical, length, *here)
        seen[0] += learn
        standardize_row(x, seen[0], means, deviations, learn, z)
        zeros = 0
        for rank in range(n_dense):
            scaled_values[filled + at[rank]] = z[rank]
            zeros += z[rank] == 0.0
        if zeros:
            length = without_zeros(length, *here)
        filled += length
        scaled_indptr[row + 1] = filled
    return filled


@kernel
def are_at(at: I64, dense: I64, indices: Ints) -> bool:
    """Whether the dense columns are at these offsets in a row."""
    if at.size and not 0 <= at[-1] < indices.size:
        return False
    differ = 0
    for rank in range(at.size):
        differ |= indices[at[rank]] ^ dense[rank]
    return differ == 0


@kernel
def locate(at: I64, dense: I64, indices: Ints) -> bool:
    """Find the offsets of the dense columns in a row; whether all are there."""
    i = 0
    for rank in range(dense.size):
        while i < indices.size and indices[i] < dense[rank]:
            i += 1
        if i == indices.size or indices[i] != dense[rank]:
            at[-1] = -1
            return False
        at[rank] = i
    return True


@kernel
def copy_row(indices: Ints, values: Floats, factor: float, scaled_indices: Ints, scaled_values: Floats) -> None:
    for i in range(indices.size):
        scaled_indices[i] = indices[i]
    for i in range(indices.size):
        scaled_values[i] = values[i] * factor


@kernel
def merge_row(
    indices: Ints,
    values: Floats,
    dense: I64,
    factor: float,
    x: F64,
    at: I64,
    scaled_indices: Ints,
    scaled_values: Floats,
) -> int:
    """A row with room for the dense columns that it lacks; ``x`` are their values and ``at`` where they are then."""
    i = filled = 0
    for rank in range(dense.size):
        while i < indices.size and indices[i] < dense[rank]:
            scaled_indices[filled] = indices[i]
            scaled_values[filled] = values[i] * factor
            filled += 1
            i += 1
        x[rank] = 0.0
        if i < indices.size and indices[i] == dense[rank]:
            x[rank] = values[i]
            i += 1
        scaled_indices[filled] = dense[rank]
        at[rank] = filled
        filled += 1
    copy_row(indices[i:], values[i:], factor, scaled_indices[filled:], scaled_values[filled:])
    return filled + indices.size - i


@kernel
def scale_own(table: I32, own: I64, sizes: F64, typical: float, length: int, indices: Ints, values: Floats) -> None:
    """Give the columns that have a size of their own their scale."""
    for i in range(length):
        position = table[probe(table, own, int(indices[i]))] - 1
        if position >= 0:
            values[i] *= typical / sizes[position]


@summing
def standardize_row(x: F64, seen: float, means: F64, deviations: F64, learn: bool, z: F32) -> None:
    """The dense columns of one row, centred and divided by their standard deviation; 0 where that is 0."""
    share = 1.0 / max(1.0, seen)
    for rank in range(x.size):
        if learn:
            off = x[rank] - means[rank]
            means[rank] += off * share
            deviations[rank] += off * (x[rank] - means[rank])
        variance = deviations[rank] * share
        z[rank] = (x[rank] - means[rank]) / np.sqrt(variance) if variance > 0.0 else 0.0


@kernel
def without_zeros(length: int, indices: Ints, values: Floats) -> int:
    """Close the gaps that zeros leave in a row; how long it is then."""
    filled = 0
    for i in range(length):
        if values[i] != 0.0:
            indices[filled] = indices[i]
            values[filled] = values[i]
            filled += 1
    return filled
