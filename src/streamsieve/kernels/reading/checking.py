"""Whether rows of ids and values are as a block promises, at the speed of memory."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import I64, U32, Ints

SIGN = np.uint32(0x80000000)
INFINITY = np.uint32(0x7F800000)  # the bits of a float32; those of NaN are above


@kernel
def check_rows(indptr: I64, indices: Ints, bits: U32) -> tuple[int, int, bool, bool]:
    """Whether ids ascend within each row and values are neither 0 nor NaN nor infinite.

    Given    indptr: ascending from 0 to the number of entries; indices: int32 or int64; bits: the values, float32, seen
             as uint32.
    Returns  the lowest id and the highest (0 and -1 if there are no entries), whether rows are canonical (every id
             above the one before it in its row, no value 0), and whether all values are finite.

    No loop over entries knows of rows or branches, so each runs in vector registers: ids that do not rise are counted
    from entry to entry, and those where a row begins, which are not faults, are taken off again.
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
