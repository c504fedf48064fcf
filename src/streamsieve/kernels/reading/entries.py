"""Entries of rows: checked at the speed of memory, brought in order of id, made of names and of tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import MAX_ID
from ..jit import kernel
from ..types import F32, F64, I64, U8, U32, Floats, Ints

SIGN = np.uint32(0x80000000)
INFINITY = np.uint32(0x7F800000)  # the bits of a float32; those of NaN are above
NOT_FINITE = -1
NO_LEVEL = -1

# FNV-1a, 64 bits (Fowler, Noll, Vo)
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
ONE = np.uint64(1)

Ids = NDArray[Any]  # int32 or int64


@kernel
def check_rows(indptr: I64, indices: Ints, bits: U32) -> tuple[int, int, bool, bool]:
    """Find out whether ids ascend within each row and values are neither 0 nor NaN nor infinite.

    Given    indptr: ascending from 0 to the number of entries; indices: int32 or int64; bits: the values, float32, seen
             as uint32.
    Returns  the lowest id and the highest (0 and -1 if there are no entries), whether rows are canonical (every id
             above the one before it in its row, no value 0), and whether all values are finite.

    No loop over entries knows of rows or branches, so each runs in vector registers: ids that do
    not rise are counted from entry to entry, and those where a row begins, which are not faults,
    are taken off again.
    """
    lowest = highest = indices[0] if indices.size else indices.dtype.type(0)
    falls = np.int32(0)
    later = indices[1:]
    for i in range(later.size):
        falls += np.int32(later[i] <= indices[i])
        lowest = min(lowest, later[i])
        highest = max(highest, later[i])
    for row in range(1, indptr.size - 1):
        at = indptr[row]
        if 0 < at < indptr[row + 1]:
            falls -= np.int32(indices[at] <= indices[at - 1])
    smallest, largest = INFINITY, np.uint32(0)
    for i in range(bits.size):
        size = np.uint32(bits[i] & ~SIGN)
        smallest = min(smallest, size)
        largest = max(largest, size)
    if not indices.size:
        return 0, -1, True, True
    return int(lowest), int(highest), bool(falls == 0 and smallest != 0), bool(largest < INFINITY)


@kernel
def join_entries(ids: Ids, values: F64, joined_ids: Ids, joined_values: Floats, first: I64) -> int:
    """Copy the entries of a row in order of id, without those that are 0 in float32; return how many.

    Values of one id are added in their order; ``first`` is, of every entry, the first of those it
    was made of.
    """
    ascending = True
    for i in range(1, ids.size):
        ascending &= ids[i - 1] < ids[i]
    order = (
        np.arange(ids.size) if ascending else np.argsort(ids, kind="mergesort")
    )  # which is stable
    filled = at = 0
    while at < order.size:
        entry = order[at]
        total = values[entry]
        at += 1
        while at < order.size and ids[order[at]] == ids[entry]:
            total += values[order[at]]
            at += 1
        joined_ids[filled], joined_values[filled], first[filled] = ids[entry], total, entry
        filled += np.float32(total) != 0.0
    return filled


@kernel
def settle_row(ids: Ids, values: F64, kept_ids: Ids, kept_values: Floats) -> int:
    """Join the entries of a row; return how many there are, ``NOT_FINITE`` if one is no float32."""
    filled = join_entries(ids, values, kept_ids, kept_values, np.empty(ids.size, np.int64))
    for i in range(filled):
        if not np.isfinite(np.float32(kept_values[i])):
            return NOT_FINITE
    return filled


@kernel
def hash_names(text: U8, offsets: I64, ids: I64) -> None:
    """Fill in the id of every name: its hash without the last bit.

    Given    text: all names in UTF-8, one after the other; offsets: where each begins, and the end.
    Back     ids.
    """
    for name in range(ids.size):
        bits = BASIS
        for at in range(offsets[name], offsets[name + 1]):
            bits = (bits ^ np.uint64(text[at])) * PRIME
        feature = np.int64(bits >> ONE)
        ids[name] = feature if feature < MAX_ID else MAX_ID


@kernel
def add_up(
    bounds: I64, ids: I64, values: F64, indptr: I64, joined_ids: I64, joined_values: F32, first: I64
) -> int:
    """Join the entries of every row; return how many there are then.

    Given    the entries of row r are those from ``bounds[r]`` on.
    Back     indptr, joined_ids, joined_values, first: as ``join_entries`` gives them.
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
            first[before:],
        )
        first[before:filled] += begin
        indptr[row + 1] = filled
    return filled


@kernel
def count_entries(numbers: Any, codes: I64, indptr: I64) -> None:
    """Count the entries of every row: numbers that are not 0, and levels that are there."""
    for row in range(codes.shape[0]):
        count = 0
        for column in range(numbers.shape[1]):
            count += numbers[row, column] != 0
        for column in range(codes.shape[1]):
            count += codes[row, column] != NO_LEVEL
        indptr[row + 1] = indptr[row] + count


@kernel
def write_entries(
    numbers: Any, codes: I64, order: I64, number_ids: I64, n_first: int, ids: Any, values: Any
) -> None:
    """Write the entries of every row in ascending order of their ids.

    Given    numbers, codes: a line per row, a column per column of the table, of its kind; a code is
             the id of a feature or NO_LEVEL. order: the columns of the table as they come, those of
             numbers as 0, 1, ..., those of text as -1, -2, ...; number_ids: the features of
             numbers. Ids below ``n_first`` ascend with the columns; others were given to levels
             that came late.
    Back     ids and values, with room for as many entries as ``count_entries`` has counted.
    """
    at = 0
    for row in range(codes.shape[0]):
        for position in order:
            if position >= 0:
                if numbers[row, position] != 0:
                    ids[at], values[at] = number_ids[position], numbers[row, position]
                    at += 1
            elif 0 <= codes[row, -1 - position] < n_first:
                ids[at], values[at] = codes[row, -1 - position], 1
                at += 1
        begin = at
        for column in range(codes.shape[1]):
            code = codes[row, column]
            if code >= n_first:
                place = at
                while place > begin and ids[place - 1] > code:
                    ids[place] = ids[place - 1]
                    place -= 1
                ids[place], values[at] = code, 1
                at += 1
