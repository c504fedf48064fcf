"""Examine columns: values as codes, constant columns, missing values and copies.

Columns are sparse, ``indptr, indices, values`` as in a ColumnBlock.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool

MISSING = -1  # the code of a missing value
MAX_LISTED_LEVELS = 64  # found one by one; if there are more, all values are sorted
NO_COPY = -1
GOLDEN = 0.6180339887498949  # multiples of it are spread evenly between integers


@kernel
def code_columns(
    indptr: I64, values: F64, wanted: Bool, start: int, stop: int, codes: I32, n_levels: I64
) -> None:
    """Write for every non-zero which value of its column it is: 1, 2, ... in ascending order.

    Code 0 is the value 0; a missing value has code MISSING.

    Back     codes; n_levels: the number of different values of each ``wanted`` column, 0 counted
             whether it occurs or not.
    """
    listed = np.empty(MAX_LISTED_LEVELS)
    for column in range(start, stop):
        if not wanted[column]:
            continue
        begin, end = indptr[column], indptr[column + 1]
        levels, n_found = listed, find_levels(values, begin, end, listed)
        if n_found > MAX_LISTED_LEVELS:
            levels, n_found = np.sort(values[begin:end]), 0  # NaN last
            for i in range(levels.size):
                if levels[i] == levels[i] and (n_found == 0 or levels[i] != levels[n_found - 1]):
                    levels[n_found] = levels[i]
                    n_found += 1
        for i in range(begin, end):
            codes[i] = (
                MISSING if values[i] != values[i] else position_of(levels, n_found, values[i]) + 1
            )
        n_levels[column] = n_found + 1


@kernel
def find_levels(values: F64, begin: int, end: int, levels: F64) -> int:
    """Write the different values from ``begin`` to before ``end`` in ascending order.

    Back     levels; their number, or one more than ``levels`` has room for.
    """
    n_found = 0
    for i in range(begin, end):
        if values[i] != values[i]:
            continue
        at = position_of(levels, n_found, values[i])
        if at == n_found or levels[at] != values[i]:
            if n_found == levels.size:
                return n_found + 1
            for j in range(n_found, at, -1):
                levels[j] = levels[j - 1]
            levels[at] = values[i]
            n_found += 1
    return n_found


@kernel
def position_of(levels: F64, n: int, value: float) -> int:
    """Return where a value is, or belongs, among the first ``n`` levels, which ascend."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if levels[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_discrete(
    indptr: I64, values: F64, max_levels: int, start: int, stop: int, discrete: Bool
) -> None:
    """Mark the columns from ``start`` to before ``stop`` that hold few different integers only.

    Given    max_levels: the largest number of different values, 0 among them, of a discrete column.
    """
    levels = np.empty(max_levels - 1)
    for column in range(start, stop):
        discrete[column] = True
        for i in range(indptr[column], indptr[column + 1]):
            if values[i] == values[i] and values[i] != np.floor(values[i]):
                discrete[column] = False
                break
        if discrete[column]:
            begin, end = indptr[column], indptr[column + 1]
            discrete[column] = find_levels(values, begin, end, levels) <= levels.size


@kernel
def count_constant(indptr: I64, values: F64, n_rows: int) -> int:
    """Return the number of columns whose present values are all equal."""
    n_constant = 0
    for column in range(indptr.size - 1):
        begin, end = indptr[column], indptr[column + 1]
        has_zeros = end - begin < n_rows
        first = np.nan
        varies = False
        for i in range(begin, end):
            if values[i] == values[i]:
                if has_zeros or (first == first and values[i] != first):
                    varies = True
                    break
                first = values[i]
        n_constant += not varies
    return n_constant


@kernel
def fingerprint(indptr: I64, indices: I32, values: F64, column: int) -> float:
    """Return a number that is the same for equal columns.

    It is hardly ever the same for columns that differ in shift, unit or labels.
    """
    total = 0.0
    for i in range(indptr[column], indptr[column + 1]):
        along = GOLDEN * (indices[i] + 1)
        factor = 1.0 + along - np.floor(along)
        total += factor if values[i] != values[i] else factor * values[i]
    return total


@kernel
def are_equal(line: F64 | I32, other: F64 | I32) -> bool:
    """Return True if two lines are equal, missing values included."""
    for row in range(line.size):
        if line[row] != other[row] and (line[row] == line[row] or other[row] == other[row]):
            return False
    return True
