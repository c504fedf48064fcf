"""Transpose rows into columns in memory, and read all of a source as one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import DataError
from ..machine import available_memory, more_memory, size_text
from .base import ColumnSource, DataSource, Report, Source, as_row_source
from .columns import FRACTION_OF_MEMORY, MatrixColumns, as_column_source

DENSE = 0.5  # the fraction of non-zeros above which a matrix is kept dense
MAX_ROWS = 2**31 - 1
WIDE = 1 << 20  # features: of wider rows only the columns that occur are made, if they are few
TRANSPOSE_ONCE = (
    "and this method needs its rows column by column; transpose them once: streamsieve convert {}"
    " columns.parquet --columns"
)
NEEDS_ALL = (
    "and this method needs all of it; take fewer rows or features, or a method that reads rows or"
    " columns"
)
ROWS_READ, FEATURES_READ = "rows read", "features read"  # units of progress


def columns_of_rows(source: Source, blocks: list[RowBlock]) -> MatrixColumns:
    """Return the columns of all rows of a source: CSC of all ids, or of those that occur.

    The list of blocks is emptied, to free their memory.
    """
    from scipy.sparse import csr_array

    y = labels_of_blocks(source, [block.y for block in blocks])
    rows = RowBlock.joined(blocks)
    blocks.clear()
    indices, ids = rows.indices, None
    width = n_features = max(rows.n_features, source.n_features or 0)
    if source.feature_names is None and width > WIDE and width > 4 * indices.size:
        present, indices = np.unique(indices, return_inverse=True)
        ids, width = present.astype(np.int64), present.size
    matrix = csr_array((rows.values, indices, rows.indptr), shape=(rows.n_rows, width))
    return transpose_matrix(source, matrix.tocsc(), y, n_features, ids)


def transpose_matrix(
    source: Source,
    matrix: Any,
    y: NDArray[Any],
    n_features: int,
    ids: NDArray[np.int64] | None = None,
) -> MatrixColumns:
    """Return the columns of rows, from a matrix of them in memory."""
    return MatrixColumns(
        source.name,
        matrix,
        y,
        n_features,
        ids,
        source.feature_names,
        value_type=np.float32,
        first_id=source.facts.first_id,
    )


def labels_of_blocks(source: Source, labels: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Return the labels of all rows; text that came as objects becomes an array of text."""
    if not labels:
        raise DataError(f"{source.name}: holds no rows")
    present = [np.asarray(part) for part in labels if part is not None]
    if len(present) < len(labels):
        raise DataError(
            f"{source.name}: the rows have no labels, but columns are scored against labels"
        )
    y = np.concatenate(present)
    if y.size > MAX_ROWS:
        raise DataError(f"{source.name}: {y.size:,} rows; columns may have at most {MAX_ROWS:,}")
    return y.astype(str) if y.dtype == object else y


def transpose_in_memory(source: Source, report: Report | None = None) -> MatrixColumns:
    """Return the columns of rows that fit in memory."""
    room = MemoryBudget(source, report, ROWS_READ, TRANSPOSE_ONCE.format(source.name))
    dense = gather_rows(source, source.dense_rows("keep"), room)
    if dense is not None:
        return transpose_matrix(source, *dense, dense[0].shape[1])
    blocks = []
    for block in source.row_blocks("keep"):
        room.take(block.n_rows, block.n_bytes)
        blocks.append(block)
    return columns_of_rows(source, blocks)


class MemoryBudget:
    """The memory that data may take; data that does not fit is rejected, with ``advice``.

    ``unit`` is what is counted, for progress reports: ``count`` of them have been taken.
    """

    def __init__(self, source: DataSource, report: Report | None, unit: str, advice: str) -> None:
        self.source, self.report, self.unit, self.advice = source, report, unit, advice
        self.limit = FRACTION_OF_MEMORY * available_memory()
        self.count = self.n_bytes = 0
        self.total = source.n_rows if unit == ROWS_READ else source.n_features

    def take(self, count: int, n_bytes: int) -> None:
        """Count some more rows or columns that have been read."""
        self.count, self.n_bytes = self.count + count, self.n_bytes + n_bytes
        self.expect(self.n_bytes)
        if self.report:
            self.report(self.unit, self.count, self.total)

    def expect(self, n_bytes: int) -> None:
        """Raise DataError if data that takes ``n_bytes`` in all does not fit."""
        if n_bytes > self.limit:
            raise DataError(
                f"{self.source.name}: does not fit in {size_text(self.limit)} of memory,"
                f" {self.advice}, or {more_memory(int(n_bytes / FRACTION_OF_MEMORY))}"
            )


def gather_rows(
    source: Source, parts: Iterator[DenseRows] | None, room: MemoryBudget
) -> tuple[NDArray[np.float32], NDArray[Any]] | None:
    """Return all rows of a table as one matrix, and their labels.

    Return None if the source is not a table, or if its first rows are mostly zeros. Later rows may
    be wider.
    """
    first = None if parts is None else next(parts, None)
    if (
        parts is None
        or first is None
        or np.count_nonzero(first.values) <= DENSE * first.values.size
    ):
        return None
    matrices, labels = [], []
    room.expect(first.values[:1].nbytes * (source.n_rows or 0))
    whole = np.zeros((source.n_rows or 0, first.values.shape[1]), np.float32)
    for part in chain([first], parts):
        labels.append(part.y)
        if source.n_rows is None:
            matrices.append(part.values)
        else:
            whole = set_width(whole, part.values.shape[1])
            rows = slice(room.count, room.count + part.n_rows)
            whole[rows, : part.values.shape[1]] = part.values
        room.take(part.n_rows, part.values.nbytes)
    if matrices:
        width = matrices[-1].shape[1]
        whole = (
            matrices[0]
            if len(matrices) == 1
            else np.concatenate([set_width(part, width) for part in matrices])
        )
    return whole, labels_of_blocks(source, labels)


def set_width(matrix: NDArray[np.float32], width: int) -> NDArray[np.float32]:
    """Return a matrix with columns of zeros added, up to a width."""
    missing_columns = width - matrix.shape[1]
    return np.pad(matrix, ((0, 0), (0, missing_columns))) if missing_columns > 0 else matrix


class WholeMatrix(NamedTuple):
    """All of a source: an array or a CSC matrix, whose columns are the features ``ids``.

    ``ids`` is None if the columns are all features.
    """

    values: Any
    y: NDArray[Any]
    ids: NDArray[np.int64] | None
    n_features: int


def whole_matrix(source: DataSource, report: Report | None = None) -> WholeMatrix:
    """Return all of a source in memory, as dense or as sparse as its first rows or columns are."""
    if source.matrix is None and not isinstance(source, ColumnSource):
        rows = as_row_source(source)
        dense = gather_rows(
            rows, dense_parts(rows), MemoryBudget(rows, report, ROWS_READ, NEEDS_ALL)
        )
        if dense is not None:
            return WholeMatrix(*dense, None, dense[0].shape[1])
    columns = as_column_source(source, report)
    if columns.matrix is not None:
        return WholeMatrix(
            columns.matrix,
            columns.targets(),
            columns.ids,
            columns.n_features or columns.matrix.shape[1],
        )
    room = MemoryBudget(columns, report, FEATURES_READ, NEEDS_ALL)
    return dense_table(columns, room) or whole_columns(columns, room)


def dense_parts(source: Source) -> Iterator[DenseRows] | None:
    """Yield rows with every value written out; return None if the rows are too sparse.

    They are the rows of a table, or sparse rows of a known width with few zeros.
    """
    table, width = source.dense_rows("keep"), source.n_features or 0
    if table is not None or not width or not source.rewindable:
        return table
    blocks = source.row_blocks("keep")
    first = next(blocks, None)
    if first is None or first.n_nonzero <= DENSE * first.n_rows * width:
        return None
    wide = (
        block.derived(n_features=max(width, block.n_features)) for block in chain([first], blocks)
    )
    return (DenseRows(block.to_dense(np.float32), block.y) for block in wide)


def dense_table(source: ColumnSource, room: MemoryBudget) -> WholeMatrix | None:
    """Return all columns of a table, one row of the array per column.

    Return None if the first columns are mostly zeros, or if the source is not a table.
    """
    parts, y = source.dense_columns(), source.targets()
    first = None if parts is None else next(parts, None)
    if parts is None or first is None or np.count_nonzero(first) <= DENSE * first.size:
        return None
    room.expect(4 * (source.n_features or 0) * y.size)
    lines = np.empty((source.n_features or 0, y.size), np.float32)
    for part in chain([first], parts):
        with np.errstate(over="ignore"):
            lines[room.count : room.count + part.shape[1]] = part.T
        room.take(part.shape[1], 4 * part.size)
    return WholeMatrix(lines.T, y, None, len(lines))


def whole_columns(source: ColumnSource, room: MemoryBudget) -> WholeMatrix:
    """Return all columns that have values."""
    from scipy.sparse import csc_array, hstack

    y = source.targets()
    parts: list[Any] = []  # SciPy's matrices have no types
    ids: list[NDArray[np.int64]] = []
    dense = False
    for whole in source.column_blocks():
        block = whole.without_empty()
        csc = csc_array(
            (block.values.astype(np.float32), block.indices, block.indptr),
            (y.size, block.n_columns),
        )
        dense = dense if parts else block.n_nonzero > DENSE * y.size * block.n_columns
        parts.append(csc.T.toarray() if dense else csc)
        ids.append(block.ids)
        room.take(
            whole.n_columns,
            parts[-1].nbytes if dense else 8 * block.n_nonzero + 8 * block.n_columns,
        )
    combined = np.concatenate(parts).T if dense else hstack(parts).tocsc()
    return WholeMatrix(combined, y, np.concatenate(ids), source.n_features or combined.shape[1])
