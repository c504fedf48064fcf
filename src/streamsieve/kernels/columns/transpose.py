"""Transpose rows into columns: count entries by range of ids, scatter them, sort each range."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import I32, I64, U32, Ints, unsigned

# the words of an entry, uint32 each: row, offset of the id in its bucket, float32 bits
ROW, COLUMN, VALUE = range(3)


@kernel
def count_ranges(indices: Ints, shift: int, counts: I64) -> None:
    """Add to ``counts`` the number of ids in each range of 2 ** ``shift`` ids."""
    for i in range(indices.size):
        counts[unsigned(indices[i]) >> unsigned(shift)] += 1


@kernel
def scatter_entries(
    indptr: I64,
    indices: Ints,
    bits: U32,
    first_row: int,
    shift: int,
    bucket_of: I32,
    starts: I64,
    ends: I64,
    entries: U32,
) -> None:
    """Write the entries of rows to ``entries``, those of a bucket together and in order of rows.

    Given    bits: the values, float32, seen as uint32; bucket_of: the bucket of every range of
             2 ** ``shift`` ids; starts: the first id of every bucket.
    Back     ends: where the entries of each bucket end.
    """
    ends[:] = 0
    for i in range(indptr[0], indptr[-1]):
        ends[bucket_of[unsigned(indices[i]) >> unsigned(shift)]] += 1
    before = 0
    for bucket in range(ends.size):
        before, ends[bucket] = before + ends[bucket], before
    for row in range(indptr.size - 1):
        for i in range(indptr[row], indptr[row + 1]):
            bucket = bucket_of[unsigned(indices[i]) >> unsigned(shift)]
            at = ends[bucket]
            entries[at, ROW] = np.uint32(first_row + row)
            entries[at, COLUMN] = np.uint32(indices[i] - starts[bucket])
            entries[at, VALUE] = bits[i]
            ends[bucket] = at + 1


@kernel
def sort_entries(entries: U32, columns: Ints | U32, indptr: I64, rows: I32, bits: U32) -> None:
    """Sort the entries of a bucket by columns, and keep the order of rows within each.

    Given    columns: the column of every entry, 0, 1, ...; indptr: zeros, one more than there are
             columns.
    """
    for i in range(columns.size):
        indptr[columns[i] + 1] += 1
    indptr[:] = np.cumsum(indptr)
    for i in range(columns.size):
        at = indptr[columns[i]]
        rows[at] = entries[i, ROW]
        bits[at] = entries[i, VALUE]
        indptr[columns[i]] = at + 1
    indptr[1:] = indptr[:-1].copy()
    indptr[0] = 0
