"""Rows brought to a common length."""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import kernel

Array = Any


@kernel
def scale_rows_to_length_one(indptr: Array, values: Array, scaled: Array) -> None:
    """``scaled`` = ``values`` with every row divided by its Euclidean norm; empty rows stay empty."""
    for row in range(indptr.size - 1):
        squares = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            squares += float(values[i]) * float(values[i])
        norm = np.sqrt(squares)
        for i in range(indptr[row], indptr[row + 1]):
            scaled[i] = values[i] / norm
