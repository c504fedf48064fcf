"""Exact copies of columns that are kept: equal in every value."""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64

NO_COPY = -1
GOLDEN = 0.6180339887498949  # multiples of it are spread evenly between integers


@kernel
def fingerprint(indptr: I64, indices: I32, values: F64, column: int) -> float:
    """A number that equal columns have in common, and columns that differ in shift, unit or labels hardly ever."""
    total = 0.0
    for i in range(indptr[column], indptr[column + 1]):
        along = GOLDEN * (indices[i] + 1)
        factor = 1.0 + along - np.floor(along)
        total += factor if values[i] != values[i] else factor * values[i]
    return total


@kernel
def are_equal(one: F64 | I32, other: F64 | I32) -> bool:
    """Whether two lines hold the same, missing values included."""
    for row in range(one.size):
        if one[row] != other[row] and (one[row] == one[row] or other[row] == other[row]):
            return False
    return True
