"""Sources by columns: matrices cut into blocks of columns, and columns in another order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, canonical, columns_of, line_ranges
from ..errors import DataError
from ..machine import available_memory, fitting
from ..values import is_sparse
from .base import ColumnSource, DataSource, Report, SourceFacts, as_row_source

BLOCK_VALUES = 1 << 20  # the largest number of values of a block, and of columns
BYTES_PER_COLUMN = 200  # of a block, beside its values: what methods store for each
# For rows to transpose, or columns to gather; working on them takes as much again.
FRACTION_OF_MEMORY = 0.4
ENTRY_BYTES, COLUMN_BYTES = 12, 32  # of memory, for columns that are gathered
# Features; columns without values are left out of wider data, as they would take all the time.
MAX_FILLED_WIDTH = 1 << 26


def as_column_source(source: DataSource, report: Report | None = None) -> ColumnSource:
    """Return a source of columns, transposing rows in memory if they fit.

    ``report`` is called while rows are read.
    """
    from .transpose import transpose_in_memory

    if not isinstance(source, ColumnSource):
        return transpose_in_memory(as_row_source(source), report)
    source.complete()
    return source


class RangedColumns(ColumnSource):
    """Columns that can be read from the middle.

    A subclass defines ``columns_between`` and, for better balanced parts, ``cuts``. A shard has the
    source, which must be cheap to pickle, and its range of ids.
    """

    @abstractmethod
    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        """Yield the columns of ids from ``first`` to before ``stop``."""

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the first ids of up to ``n`` parts of a range, ascending from ``first``."""
        return sorted({first + (stop - first) * part // n for part in range(n)})

    def column_blocks(self) -> Iterator[ColumnBlock]:
        """Yield the columns in order, in blocks."""
        return self.columns_between(0, self.n_features or 0)

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return self._ranges(0, self.n_features or 0, n)

    def _ranges(self, first: int, stop: int, n: int) -> list[ColumnSource]:
        starts = self.cuts(first, stop, n)
        return [ColumnRange(self, *ids) for ids in zip(starts, [*starts[1:], stop], strict=True)]


class ColumnRange(ColumnSource):
    """The columns of a source with ids from ``first`` to before ``stop``."""

    def __init__(self, source: RangedColumns, first: int, stop: int) -> None:
        super().__init__(
            replace(
                source.facts,
                n_features=source.n_features,
                feature_names=None,
                names_in_blocks=source.has_names,
                encoding=None,
            )
        )
        self.source, self.first, self.stop = source, first, stop

    def column_blocks(self) -> Iterator[ColumnBlock]:
        return self.source.columns_between(self.first, self.stop)

    def targets(self) -> NDArray[Any]:
        return self.source.targets()

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return self.source._ranges(self.first, self.stop, n)


class MatrixColumns(ColumnSource):
    """Columns of a matrix in memory, dense or CSC.

    The columns are those of all features, or of the features ``ids``; ``names`` are their names.
    Other facts about the data are passed as ``facts``. A shard has a matrix of its own columns, and
    the features from ``first`` to before ``stop``; features without a column have no values.
    """

    def __init__(
        self,
        name: str,
        matrix: Any,
        y: NDArray[Any] | None,
        n_features: int,
        ids: NDArray[np.int64] | None = None,
        names: NDArray[Any] | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(
            SourceFacts(
                name,
                int(matrix.shape[0]),
                n_features,
                names,
                has_labels=y is not None,
                columns_splittable=True,
                **facts,
            )
        )
        self.matrix, self.ids, self.y, self.names = matrix, ids, y, names
        self.first, self.stop = 0, n_features

    def column_blocks(self) -> Iterator[ColumnBlock]:
        blocks = blocks_of_columns(self.matrix, self.names, self.name, self.ids)
        bounds = self.n_features or 0, self.n_rows or 0, self.first, self.stop
        return blocks if self.ids is None else with_empty_columns(blocks, *bounds)

    def targets(self) -> NDArray[Any]:
        if self.y is None:
            raise DataError(f"{self.name}: the rows have no labels")
        return self.y

    def _column_shards(self, n: int) -> list[ColumnSource]:
        n_columns = self.matrix.shape[1]
        ids = np.arange(n_columns) if self.ids is None else self.ids
        work_before = (
            self.matrix.indptr if is_sparse(self.matrix) else np.arange(n_columns + 1) * self.n_rows
        )
        is_filled = (self.n_features or 0) <= MAX_FILLED_WIDTH
        columns = np.concatenate([[self.first], ids, [self.stop]])
        work = np.append(0, work_before) + (columns if is_filled else np.arange(n_columns + 2))
        cuts = balanced_cuts(columns, work, n)
        if not is_filled:
            positions = np.unique(np.searchsorted(ids, cuts))
            cuts = [self.first, *ids[positions[(positions > 0) & (positions < n_columns)]].tolist()]
        return [
            self._column_range(ids, *bounds)
            for bounds in zip(cuts, [*cuts[1:], self.stop], strict=True)
        ]

    def _column_range(self, ids: NDArray[np.int64], first: int, stop: int) -> ColumnSource:
        begin, end = np.searchsorted(ids, [first, stop]).tolist()
        names = None if self.names is None else self.names[begin:end]
        matrix = (
            slice_lines(self.matrix, begin, end)
            if is_sparse(self.matrix)
            else self.matrix[:, begin:end]
        )
        part = MatrixColumns(
            self.name, matrix, self.y, self.n_features or 0, ids[begin:end], names
        ).with_facts(
            value_type=self.facts.value_type,
            feature_names=None,
            names_in_blocks=names is not None,
        )
        part.first, part.stop = first, stop
        return part

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle.

        Columns of a dense matrix are stored side by side, so that they are sent without a copy.
        """
        return self.__dict__ | (
            {} if is_sparse(self.matrix) else {"matrix": np.asfortranarray(self.matrix)}
        )


def balanced_cuts(ids: NDArray[np.int64], work: NDArray[np.int64], n: int) -> list[int]:
    """Return the first ids of up to ``n`` parts of about the same work.

    ``work`` is the cumulative work before each of ``ids``; the first of these begins the range, and
    the last one ends it.
    """
    goals = work[0] + (work[-1] - work[0]) * np.arange(n) / n
    cuts = np.interp(goals, work, ids).astype(np.int64)
    return [int(ids[0]), *np.unique(cuts[(ids[0] < cuts) & (cuts < ids[-1])]).tolist()]


def slice_lines(matrix: Any, start: int, stop: int) -> Any:
    """Return some rows of a CSR or columns of a CSC matrix without copying their values."""
    from scipy.sparse import csc_array, csr_array

    (n_rows, n_columns), n_lines = matrix.shape, stop - start
    if matrix.format == "csr":
        lines = csr_array((n_lines, n_columns), dtype=matrix.dtype)
    else:
        lines = csc_array((n_rows, n_lines), dtype=matrix.dtype)
    begin, end = matrix.indptr[start], matrix.indptr[stop]
    lines.indptr = matrix.indptr[start : stop + 1] - begin
    # Assigned here because the constructor copies short views.
    lines.indices, lines.data = matrix.indices[begin:end], matrix.data[begin:end]
    return lines


def columns_per_block() -> int:
    """Return the number of almost empty columns that make a block of a good size."""
    return fitting(BLOCK_VALUES, BYTES_PER_COLUMN)


def blocks_of_columns(
    matrix: Any, names: NDArray[Any] | None, origin: str, ids: NDArray[np.int64] | None = None
) -> Iterator[ColumnBlock]:
    """Yield the columns of a matrix, dense or CSC; without ``ids`` they are numbered from 0."""
    n_rows, n_columns = matrix.shape
    if is_sparse(matrix):
        yield from cut_columns(
            matrix.indptr, matrix.indices, matrix.data, ids, n_rows, names, origin
        )
        return
    block_size = max(1, BLOCK_VALUES // max(1, n_rows))
    for start in range(0, n_columns, block_size):
        block_ids, block_names = (
            None if array is None else array[start : start + block_size] for array in (ids, names)
        )
        yield columns_of(
            matrix[:, start : start + block_size], start, block_ids, block_names, origin=origin
        )


def cut_columns(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    ids: NDArray[np.int64] | None,
    n_rows: int,
    names: NDArray[Any] | None,
    origin: str,
) -> Iterator[ColumnBlock]:
    """Yield CSC arrays in blocks; without ``ids`` the columns are numbered from 0."""
    ends = indptr.astype(np.int64, copy=False)  # once, not for every block
    for start, stop in line_ranges(ends, columns_per_block(), BLOCK_VALUES):
        begin, end = indptr[start], indptr[stop]
        yield ColumnBlock(
            indptr[start : stop + 1] - begin,
            indices[begin:end],
            values[begin:end],
            np.arange(start, stop) if ids is None else ids[start:stop],
            n_rows,
            None if names is None else np.asarray(names[start:stop]),
            origin=origin,
        )


def with_empty_columns(
    blocks: Iterable[ColumnBlock],
    n_features: int,
    n_rows: int,
    first: int = 0,
    stop: int | None = None,
) -> Iterator[ColumnBlock]:
    """Yield the same columns, of ascending ids, and columns without values for all other ids.

    Ids go from ``first`` to before ``stop``, or to the width ``n_features`` if that is None.
    """
    if n_features > MAX_FILLED_WIDTH:
        yield from blocks
        return
    origin = ""
    for block in blocks:
        last, origin = int(block.ids[-1]), block.origin
        if last + 1 - first == block.n_columns:
            yield block
        else:
            yield from _fill_block(block, first, last + 1)
        first = last + 1
    no_columns = columns_of(np.empty((n_rows, 0)), origin=origin)
    yield from _fill_block(no_columns, first, n_features if stop is None else stop)


def _fill_block(block: ColumnBlock, first: int, end: int) -> Iterator[ColumnBlock]:
    """Yield the columns of a block and empty ones, for all ids from ``first`` to before ``end``."""
    block_size = columns_per_block()
    for start in range(first, end, block_size):
        ids = np.arange(start, min(end, start + block_size))
        part = block.columns(*np.searchsorted(block.ids, [start, start + ids.size]).tolist())
        indptr = np.zeros(ids.size + 1, np.int64)
        indptr[part.ids - start + 1] = np.diff(part.indptr)
        yield part.derived(indptr=np.cumsum(indptr), ids=ids)


# ---- in another order


class OrderedColumns(ColumnSource):
    """The columns of a rewindable source, in the order of the ids in ``order``.

    From a matrix in memory, columns are picked block by block. From other sources, the first
    columns in the new order are gathered as far as they fit in memory, and the source is read again
    for the next ones.
    """

    def __init__(self, source: ColumnSource, order: NDArray[np.int64]) -> None:
        super().__init__(
            replace(source.facts, columns_splittable=True, has_groups=False, group_names=None)
        )
        self.source = source
        self.order: NDArray[np.int64] = order

    def targets(self) -> NDArray[Any]:
        return self.source.targets()

    def column_blocks(self) -> Iterator[ColumnBlock]:
        return (
            self._gather_blocks()
            if self.source.matrix is None or self.source.ids is not None
            else self._pick_blocks()
        )

    def _pick_blocks(self) -> Iterator[ColumnBlock]:
        matrix, names = self.source.matrix, self.source.feature_names
        if is_sparse(matrix):
            matrix = canonical(matrix.tocsc())
            sizes = np.diff(matrix.indptr)[self.order]
        else:
            sizes = np.full(self.order.size, matrix.shape[0])
        bounds = np.append(0, np.cumsum(sizes, dtype=np.int64))
        for start, stop in line_ranges(bounds, columns_per_block(), BLOCK_VALUES):
            ids = self.order[start:stop]
            yield columns_of(
                matrix[:, ids], 0, ids, None if names is None else names[ids], origin=self.name
            )

    def _gather_blocks(self) -> Iterator[ColumnBlock]:
        # The last entry stands for all larger ids.
        rank = np.full(int(self.order.max(initial=-1)) + 2, -1)
        rank[self.order] = np.arange(self.order.size)
        n_done = 0
        while n_done < self.order.size:
            block, n_done = self._next_columns(rank, n_done)
            if block is not None:
                block = block.picked(np.argsort(rank[block.ids]))
                for start, stop in line_ranges(block.indptr, columns_per_block(), BLOCK_VALUES):
                    yield block.columns(start, stop)

    def _next_columns(self, rank: NDArray[np.int64], first: int) -> tuple[ColumnBlock | None, int]:
        """Return as many columns as fit, from position ``first`` of the new order, and their end.

        The columns are None if the source has none of them.
        """
        limit = FRACTION_OF_MEMORY * available_memory()
        parts: list[ColumnBlock] = []
        stop, held_bytes = self.order.size, 0.0
        for block in self.source.column_blocks():
            ranks = rank[np.minimum(block.ids, rank.size - 1)]
            wanted = np.flatnonzero((first <= ranks) & (ranks < stop))
            if wanted.size:
                parts.append(block.picked(wanted))
                held_bytes += float(bytes_of(parts[-1]).sum())
            if held_bytes > limit and stop > first + 1:
                gathered = ColumnBlock.joined(parts)
                in_order = np.argsort(rank[gathered.ids])
                total_bytes = np.cumsum(bytes_of(gathered)[in_order])
                first_columns = in_order[: max(1, int(np.searchsorted(total_bytes, limit / 2)))]
                stop = int(rank[gathered.ids[first_columns]].max()) + 1
                parts = [gathered.picked(np.sort(first_columns))]
                held_bytes = float(bytes_of(parts[0]).sum())
        return (ColumnBlock.joined(parts) if parts else None), stop

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return [
            OrderedColumns(self.source, part) for part in np.array_split(self.order, n) if part.size
        ]


def bytes_of(block: ColumnBlock) -> NDArray[np.int64]:
    """Return the memory of every column of a block, in bytes."""
    return np.diff(block.indptr) * ENTRY_BYTES + COLUMN_BYTES
