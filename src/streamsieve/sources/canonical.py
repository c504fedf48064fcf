"""Rows as they came in a file, brought into the form of a block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]


def canonical_rows(
    indptr: NDArray[np.int64], indices: NDArray[Any], values: NDArray[np.float32], width: int
) -> tuple[Rows, tuple[int, int] | None]:
    """The rows with ascending ids and without zeros; and the row and id of the first that appears twice, if any."""
    from scipy.sparse import csr_array

    matrix = csr_array((values, indices, indptr), shape=(indptr.size - 1, width), copy=True)
    matrix.has_sorted_indices = False
    matrix.sort_indices()
    same = np.zeros(matrix.indices.size, bool)
    same[1:] = matrix.indices[1:] == matrix.indices[:-1]
    starts = matrix.indptr[:-1]
    same[starts[starts < same.size]] = False
    if same.any():
        at = int(np.flatnonzero(same)[0])
        repeated = int(np.searchsorted(matrix.indptr, at, side="right")) - 1, int(matrix.indices[at])
        return (indptr, indices, values), repeated
    matrix.eliminate_zeros()
    return (matrix.indptr.astype(np.int64), matrix.indices.astype(indices.dtype), matrix.data), None
