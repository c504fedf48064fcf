"""What columns hold: which values, as codes; whether they vary, whether some are missing, and which are copies.

Columns are sparse, ``indptr, indices, values`` as in a ColumnBlock.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, Bool

MISSING = -1  # the code of a missing value
MAX_LISTED_LEVELS = 64  # that are found one by one; of more, all values are sorted
NO_COPY = -1
GOLDEN = 0.6180339887498949  # multiples of it are spread evenly between integers


@kernel
def code_columns(
    indptr: I64, values: F64, wanted: Bool, start: int, stop: int, codes: I32, n_levels: I64
) -> None:
    """``codes`` = for every non-zero which of its column's values it is, 1, 2, ... in ascending order; 0 is the zero.

    A missing value has code MISSING. ``n_levels`` gets the number of different values of each
    column that is wanted, 0 among them whether it occurs or not.
    """
    few = np.empty(MAX_LISTED_LEVELS)
    for column in range(start, stop):
        if not wanted[column]:
            continue
        begin, end = indptr[column], indptr[column + 1]
        levels, known = few, find_levels(values, begin, end, few)
        if known > MAX_LISTED_LEVELS:
            levels, known = np.sort(values[begin:end]), 0  # NaN last
            for i in range(levels.size):
                if levels[i] == levels[i] and (known == 0 or levels[i] != levels[known - 1]):
                    levels[known] = levels[i]
                    known += 1
        for i in range(begin, end):
            codes[i] = (
                MISSING if values[i] != values[i] else position_of(levels, known, values[i]) + 1
            )
        n_levels[column] = known + 1


@kernel
def find_levels(values: F64, begin: int, end: int, levels: F64) -> int:
    """Write the different values from ``begin`` to ``end`` in ascending order; how many, or one more than have room."""
    known = 0
    for i in range(begin, end):
        if values[i] != values[i]:
            continue
        at = position_of(levels, known, values[i])
        if at == known or levels[at] != values[i]:
            if known == levels.size:
                return known + 1
            for j in range(known, at, -1):
                levels[j] = levels[j - 1]
            levels[at] = values[i]
            known += 1
    return known


@kernel
def position_of(levels: F64, known: int, value: float) -> int:
    """Where a value is, or belongs, among ascending ones."""
    low, high = 0, known
    while low < high:
        middle = (low + high) // 2
        if levels[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_discrete(
    indptr: I64, values: F64, most: int, start: int, stop: int, discrete: Bool
) -> None:
    """Which columns from ``start`` to ``stop`` hold integers alone, ``most`` different ones with 0 at most."""
    levels = np.empty(most - 1)
    for column in range(start, stop):
        discrete[column] = True
        for i in range(indptr[column], indptr[column + 1]):
            if values[i] == values[i] and values[i] != np.floor(values[i]):
                discrete[column] = False
                break
        if discrete[column]:
            known = find_levels(values, indptr[column], indptr[column + 1], levels)
            discrete[column] = known <= levels.size


@kernel
def find_missing(indptr: I64, values: F64, start: int, stop: int, has_missing: Bool) -> None:
    """Which columns from ``start`` to ``stop`` have missing values."""
    for column in range(start, stop):
        has_missing[column] = False
        for i in range(indptr[column], indptr[column + 1]):
            if values[i] != values[i]:
                has_missing[column] = True
                break


@kernel
def count_constant(indptr: I64, values: F64, n_rows: int) -> int:
    """How many columns never vary, as far as their values are there."""
    constant = 0
    for column in range(indptr.size - 1):
        begin, end = indptr[column], indptr[column + 1]
        zeros = end - begin < n_rows
        first = np.nan
        varies = False
        for i in range(begin, end):
            if values[i] == values[i]:
                if zeros or (first == first and values[i] != first):
                    varies = True
                    break
                first = values[i]
        constant += not varies
    return constant


@kernel
def fingerprint(indptr: I64, indices: I32, values: F64, column: int) -> float:
    """Return a number that equal columns share, and columns that differ in shift, unit or labels hardly ever do."""
    total = 0.0
    for i in range(indptr[column], indptr[column + 1]):
        along = GOLDEN * (indices[i] + 1)
        factor = 1.0 + along - np.floor(along)
        total += factor if values[i] != values[i] else factor * values[i]
    return total


@kernel
def are_equal(one: F64 | I32, other: F64 | I32) -> bool:
    """Return True if two lines hold the same, missing values included."""
    for row in range(one.size):
        if one[row] != other[row] and (one[row] == one[row] or other[row] == other[row]):
            return False
    return True
