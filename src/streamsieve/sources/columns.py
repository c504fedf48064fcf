"""Sources by columns: as they lie in the file where a format has columns, otherwise turned around in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, columns_of, next_cut
from ..errors import DataError
from ..machine import available_memory
from .base import Source

BLOCK_VALUES = 1 << 20
SHARE_OF_MEMORY = 0.4  # of what is available, for rows to turn around: turning takes as much again


@runtime_checkable
class ColumnSource(Protocol):
    """Columns from somewhere. What is not known before reading is None."""

    name: str
    n_rows: int | None
    n_features: int | None
    feature_names: NDArray[Any] | None

    def column_blocks(self) -> Iterator[ColumnBlock]:
        """The columns in order of their ids, in blocks of a size the source prefers."""
        ...

    def targets(self) -> NDArray[Any]:
        """The target of every row."""
        ...


def by_columns(source: Source | ColumnSource) -> ColumnSource:
    """The columns of a source."""
    return source if isinstance(source, ColumnSource) else TransposedSource(source)


class TransposedSource:
    """All rows of a source, read once and turned around in memory."""

    def __init__(self, source: Source) -> None:
        from scipy.sparse import csr_array

        self.name, self.feature_names = source.name, source.feature_names
        self.n_rows: int | None
        self.n_features: int | None
        limit = SHARE_OF_MEMORY * available_memory()
        blocks, held = [], 0
        for block in source.row_blocks():
            held += block.values.nbytes + block.indices.nbytes + block.indptr.nbytes
            if held > limit:
                raise DataError(
                    f"{source.name}: its rows do not fit in {limit / 1e9:.1f} GB, and this method needs them column by "
                    "column; use a method for rows, or a machine with more memory"
                )
            blocks.append(block)
        if any(block.y is None for block in blocks):
            raise DataError(f"{self.name}: the rows have no labels, and columns are measured against them")
        self.y = np.concatenate([np.asarray(block.y) for block in blocks])
        self.n_rows = self.y.size
        self.n_features = max(source.n_features or 0, max(block.n_features for block in blocks))
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(block.indptr) for block in blocks]))])
        indices = np.concatenate([block.indices for block in blocks])
        values = np.concatenate([block.values for block in blocks])
        blocks.clear()
        self.matrix = csr_array((values, indices, indptr), shape=(self.n_rows, self.n_features)).tocsc()

    def column_blocks(self) -> Iterator[ColumnBlock]:
        return blocks_of_columns(self.matrix, self.feature_names, self.name)

    def targets(self) -> NDArray[Any]:
        return self.y


def blocks_of_columns(matrix: Any, names: NDArray[Any] | None, origin: str) -> Iterator[ColumnBlock]:
    """The columns of a matrix in memory, dense or CSC."""
    n_rows, n_columns = matrix.shape
    sparse = hasattr(matrix, "indptr")
    start = 0
    while start < n_columns:
        if sparse:
            stop = next_cut(matrix.indptr, start, BLOCK_VALUES, BLOCK_VALUES)
        else:
            stop = min(n_columns, start + max(1, BLOCK_VALUES // max(1, n_rows)))
        known = {} if names is None else {"names": names[start:stop]}
        if sparse:
            begin, end = matrix.indptr[start], matrix.indptr[stop]
            yield ColumnBlock(
                matrix.indptr[start : stop + 1] - begin,
                matrix.indices[begin:end],
                matrix.data[begin:end],
                np.arange(start, stop),
                n_rows,
                origin=origin,
                **known,
            )
        else:
            yield columns_of(matrix[:, start:stop], start, origin=origin, **known)
        start = stop
