"""Check the entries of rows, sort them by id, and make them from names and from tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import MAX_ID
from ..jit import kernel
from ..types import F32, F64, I64, U8, U32, Floats, Ints

SIGN = np.uint32(0x80000000)
INFINITY = np.uint32(0x7F800000)  # bits of a float32; those of NaN are larger
NOT_FINITE = -1
NO_LEVEL = -1

# FNV-1a, 64 bits (Fowler, Noll, Vo)
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
ONE = np.uint64(1)

Ids = NDArray[Any]  # int32 or int64


@kernel
def check_rows(indptr: I64, indices: Ints, bits: U32) -> tuple[int, int, bool, bool]:
    """Check whether ids ascend within each row and values are neither 0 nor NaN nor infinite.

    Given    indptr: ascending from 0 to the number of entries; indices: int32 or int64; bits: the
             float32 values, viewed as uint32.
    Back     the lowest id and the highest (0 and -1 if there are no entries), whether the rows are
             canonical (every id larger than the one before it in its row, no value 0), and whether
             all values are finite.

    The loops over entries have no branches and ignore where rows begin, so they are vectorised:
    ids that do not ascend are counted over all entries, and then those at the start of a row,
    which are allowed, are subtracted.
    """
    lowest = highest = indices[0] if indices.size else indices.dtype.type(0)
    falls = np.int32(0)
    later = indices[1:]
    for i in range(later.size):
        falls += np.int32(later[i] <= indices[i])
        lowest = min(lowest, later[i])
        highest = max(highest, later[i])
    for row in range(1, indptr.size - 1):
        begin = indptr[row]
        if 0 < begin < indptr[row + 1]:
            falls -= np.int32(indices[begin] <= indices[begin - 1])
    min_bits, max_bits = INFINITY, np.uint32(0)
    for i in range(bits.size):
        size_bits = np.uint32(bits[i] & ~SIGN)
        min_bits = min(min_bits, size_bits)
        max_bits = max(max_bits, size_bits)
    if not indices.size:
        return 0, -1, True, True
    return int(lowest), int(highest), bool(falls == 0 and min_bits != 0), bool(max_bits < INFINITY)


@kernel
def join_entries(
    ids: Ids, values: F64, joined_ids: Ids, joined_values: Floats, first_entry: I64
) -> int:
    """Copy the entries of a row sorted by id, without zeros in float32; return their number.

    Values with the same id are added in their order. ``first_entry`` holds, for every copied entry,
    the first of the entries that were added.
    """
    is_ascending = True
    for i in range(1, ids.size):
        is_ascending &= ids[i - 1] < ids[i]
    # mergesort is stable
    order = np.arange(ids.size) if is_ascending else np.argsort(ids, kind="mergesort")
    filled = rank = 0
    while rank < order.size:
        entry = order[rank]
        total = values[entry]
        rank += 1
        while rank < order.size and ids[order[rank]] == ids[entry]:
            total += values[order[rank]]
            rank += 1
        joined_ids[filled], joined_values[filled], first_entry[filled] = ids[entry], total, entry
        filled += np.float32(total) != 0.0
    return filled


@kernel
def join_row(ids: Ids, values: F64, kept_ids: Ids, kept_values: Floats) -> int:
    """Join the entries of a row; return their number, ``NOT_FINITE`` if one overflows float32."""
    filled = join_entries(ids, values, kept_ids, kept_values, np.empty(ids.size, np.int64))
    for i in range(filled):
        if not np.isfinite(np.float32(kept_values[i])):
            return NOT_FINITE
    return filled


@kernel
def hash_names(text: U8, offsets: I64, ids: I64) -> None:
    """Fill in the id of every name, which is its hash without the last bit.

    Given    text: all names in UTF-8, joined; offsets: where each begins, and the end.
    Back     ids.
    """
    for name in range(ids.size):
        bits = BASIS
        for position in range(offsets[name], offsets[name + 1]):
            bits = (bits ^ np.uint64(text[position])) * PRIME
        feature = np.int64(bits >> ONE)
        ids[name] = feature if feature < MAX_ID else MAX_ID


@kernel
def join_rows(
    bounds: I64,
    ids: I64,
    values: F64,
    indptr: I64,
    joined_ids: I64,
    joined_values: F32,
    first_entry: I64,
) -> int:
    """Join the entries of every row; return the number of joined entries.

    Given    bounds: the entries of row r begin at ``bounds[r]``.
    Back     indptr, joined_ids, joined_values, first_entry: as from ``join_entries``.
    """
    filled = 0
    for row in range(bounds.size - 1):
        begin, end = bounds[row], bounds[row + 1]
        before = filled
        filled += join_entries(
            ids[begin:end],
            values[begin:end],
            joined_ids[before:],
            joined_values[before:],
            first_entry[before:],
        )
        first_entry[before:filled] += begin
        indptr[row + 1] = filled
    return filled


@kernel
def count_entries(numbers: Any, codes: I64, indptr: I64) -> None:
    """Count the entries of every row: numbers that are not 0, and levels that are present."""
    for row in range(codes.shape[0]):
        count = 0
        for column in range(numbers.shape[1]):
            count += numbers[row, column] != 0
        for column in range(codes.shape[1]):
            count += codes[row, column] != NO_LEVEL
        indptr[row + 1] = indptr[row] + count


@kernel
def write_entries(numbers: Any, codes: I64, ids: Any, values: Any) -> None:
    """Write the entries of every row in ascending order of their ids.

    Given    numbers: the numeric columns of a table, which are the features 0, 1, ...; codes: for
             every text column the id of a feature after these, or NO_LEVEL.
    Back     ids and values, with room for as many entries as ``count_entries`` has counted.
    """
    filled = 0
    for row in range(codes.shape[0]):
        for column in range(numbers.shape[1]):
            if numbers[row, column] != 0:
                ids[filled], values[filled] = column, numbers[row, column]
                filled += 1
        first = filled
        for column in range(codes.shape[1]):
            code = codes[row, column]
            if code != NO_LEVEL:
                target = filled
                while target > first and ids[target - 1] > code:
                    ids[target] = ids[target - 1]
                    target -= 1
                ids[target], values[filled] = code, 1
                filled += 1
