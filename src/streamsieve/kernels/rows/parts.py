"""Parts of rows: some features of each."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..table import probe
from ..types import I32, I64, U8, Bool, Floats, Ints, unsigned
from .batch import longest_row

ALL_MARKED = np.ones(1, np.uint8)  # marks that say nothing


@kernel
def keep_known(
    marks: U8,
    table: I32,
    ids: I64,
    indptr: I64,
    indices: Ints,
    values: Floats,
    kept_indptr: I64,
    kept_indices: Ints,
    kept_values: Floats,
) -> int:
    """Copy the entries of features in a table of few, numbered by their position in it; how many there are.

    ``marks``, of a size that is a power of two, has a 1 at the lowest bits of every id in the table. Most features are
    found to be absent by that, without a branch.
    """
    found = np.empty(longest_row(indptr), np.int64)
    mask = unsigned(marks.size - 1)
    filled = 0
    for row in range(indptr.size - 1):
        n_found = 0
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            found[n_found] = i
            n_found += int(marks[unsigned(indices[i]) & mask])
        for at in range(n_found):
            i = found[at]
            position = table[probe(table, ids, int(indices[i]))] - 1
            if position >= 0:
                kept_indices[filled] = position
                kept_values[filled] = values[i]
                filled += 1
        kept_indptr[row + 1] = filled
    return filled


@kernel
def keep_allowed(
    allowed: Bool,
    indptr: I64,
    indices: Ints,
    values: Floats,
    kept_indptr: I64,
    kept_indices: Ints,
    kept_values: Floats,
) -> int:
    """Copy the entries at positions that are allowed; how many there are. All are written, those not allowed over."""
    filled = 0
    for row in range(indptr.size - 1):
        for i in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            kept_indices[filled] = indices[i]
            kept_values[filled] = values[i]
            filled += int(allowed[unsigned(indices[i])])
        kept_indptr[row + 1] = filled
    return filled
