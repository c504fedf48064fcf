"""Sources by columns, and matrices cut into blocks of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, columns_of, is_sparse, next_cut
from .base import ColumnSource, DataSource, Report, by_rows

BLOCK_VALUES = 1 << 20
WIDEST_FILLED = 1 << 32  # features: in data that is wider, columns without a value are not offered


def by_columns(source: DataSource, report: Report | None = None) -> ColumnSource:
    """The columns of a source; rows are transposed in memory, if they fit, with a ``report`` on the reading."""
    from .transpose import transposed_in_memory

    return source if isinstance(source, ColumnSource) else transposed_in_memory(by_rows(source), report)


def blocks_of_columns(matrix: Any, names: NDArray[Any] | None, origin: str) -> Iterator[ColumnBlock]:
    """The columns of a matrix in memory, dense or CSC."""
    n_rows, n_columns = matrix.shape
    if is_sparse(matrix):
        yield from cut_columns(matrix.indptr, matrix.indices, matrix.data, None, n_rows, names, origin)
        return
    at_once = max(1, BLOCK_VALUES // max(1, n_rows))
    for start in range(0, n_columns, at_once):
        part = None if names is None else names[start : start + at_once]
        yield columns_of(matrix[:, start : start + at_once], start, names=part, origin=origin)


def cut_columns(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    ids: NDArray[np.int64] | None,
    n_rows: int,
    names: NDArray[Any] | None,
    origin: str,
) -> Iterator[ColumnBlock]:
    """CSC arrays in blocks; without ``ids`` the columns are numbered from 0."""
    start, n_columns = 0, indptr.size - 1
    while start < n_columns:
        stop = next_cut(indptr, start, BLOCK_VALUES, BLOCK_VALUES)
        begin, end = indptr[start], indptr[stop]
        yield ColumnBlock(
            indptr[start : stop + 1] - begin,
            indices[begin:end],
            values[begin:end],
            np.arange(start, stop) if ids is None else ids[start:stop],
            n_rows,
            None if names is None else names[start:stop],
            origin=origin,
        )
        start = stop


def with_empty_columns(blocks: Iterable[ColumnBlock], n_features: int, n_rows: int) -> Iterator[ColumnBlock]:
    """The same columns, of ascending ids, and those that have no value between and after them, up to a width."""
    if n_features > WIDEST_FILLED:
        yield from blocks
        return
    first = 0
    origin = ""
    for block in blocks:
        last, origin = int(block.ids[-1]), block.origin
        if last + 1 - first == block.n_columns:
            yield block
        else:
            yield from _filled(block, first, last + 1)
        first = last + 1
    none = np.empty(0, np.int64)
    nothing = ColumnBlock(
        np.zeros(1, np.int64), none.astype(np.int32), none.astype(np.float64), none, n_rows, origin=origin
    )
    yield from _filled(nothing, first, n_features)


def _filled(block: ColumnBlock, first: int, end: int) -> Iterator[ColumnBlock]:
    """The columns of a block and empty ones, for all ids from ``first`` to before ``end``."""
    for start in range(first, end, BLOCK_VALUES):
        ids = np.arange(start, min(end, start + BLOCK_VALUES))
        lines = np.searchsorted(block.ids, np.append(ids, ids[-1] + 1))
        begin, stop = block.indptr[lines[0]], block.indptr[lines[-1]]
        yield block.derived(
            indptr=block.indptr[lines] - begin,
            indices=block.indices[begin:stop],
            values=block.values[begin:stop],
            ids=ids,
        )
