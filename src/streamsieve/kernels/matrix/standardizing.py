"""All columns of a matrix, standardised."""

from __future__ import annotations

from ..columns.slots import USED, Slots, held_length, measure_column, put_column
from ..jit import kernel
from ..types import F64, I32, I64


@kernel
def measure_columns(indptr: I64, values: F64, n_rows: int, means: F64, scales: F64) -> int:
    """``means`` and ``scales`` = those of some columns, a scale of 0 where one does not vary.

    Back     how many values are held of those that do.
    """
    room = 0
    for column in range(means.size):
        begin, end = indptr[column], indptr[column + 1]
        means[column], scales[column] = measure_column(n_rows, values, begin, end)
        if scales[column] > 0.0:
            room += held_length(n_rows, end - begin)
    return room


@kernel
def hold_columns(
    slots: Slots, indptr: I64, indices: I32, values: F64, ids: I64, n_rows: int, means: F64, scales: F64
) -> None:
    """Hold all columns that vary, for which there must be slots and room."""
    for column in range(ids.size):
        if scales[column] > 0.0:
            begin, end = indptr[column], indptr[column + 1]
            mean, scale = means[column], scales[column]
            put_column(slots, slots.ends[USED], ids[column], n_rows, mean, scale, indices, values, begin, end)
            slots.ends[USED] += 1
