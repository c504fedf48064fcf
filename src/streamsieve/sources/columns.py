"""Sources by columns, matrices cut into blocks of columns, and columns in another order than a source has them."""

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
from .base import ColumnSource, DataSource, Report, SourceFacts, by_rows

BLOCK_VALUES = 1 << 20  # and columns, of a block at most
BYTES_PER_COLUMN = 200  # of a block, beside its values: what methods note of each
FRACTION_OF_MEMORY = (
    0.4  # for rows to transpose, or columns to gather: working on them takes as much again
)
ENTRY_BYTES, COLUMN_BYTES = 12, 32  # of columns that are gathered
MAX_FILLED_WIDTH = (
    1 << 26
)  # features: in wider data columns without a value are not offered, or they would take all time


def by_columns(source: DataSource, report: Report | None = None) -> ColumnSource:
    """The columns of a source; rows are transposed in memory, if they fit, with a ``report`` on the reading."""
    from .transpose import transposed_in_memory

    if not isinstance(source, ColumnSource):
        return transposed_in_memory(by_rows(source), report)
    source.complete()
    return source


class RangedColumns(ColumnSource):
    """Columns that can be read from the middle: an author writes ``columns_between`` and, for a better cut, ``_cuts``.

    A shard has the source, which must be cheap to pickle, and the ids that are its own.
    """

    @abstractmethod
    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        """The columns of ids from ``first`` to before ``stop``."""

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """The ids that ``n`` parts of a range begin with, or fewer: ascending, from ``first`` on."""
        return sorted({first + (stop - first) * part // n for part in range(n)})

    def column_blocks(self) -> Iterator[ColumnBlock]:
        """The columns in order, in blocks."""
        return self.columns_between(0, self.n_features or 0)

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return self._ranges(0, self.n_features or 0, n)

    def _ranges(self, first: int, stop: int, n: int) -> list[ColumnSource]:
        starts = self.cuts(first, stop, n)
        return [ColumnRange(self, *ids) for ids in zip(starts, [*starts[1:], stop], strict=True)]


class ColumnRange(ColumnSource):
    """The columns of a source with ids from ``first`` to before ``stop``."""

    def __init__(self, source: RangedColumns, first: int, stop: int) -> None:
        facts = replace(
            source.facts, n_features=source.n_features, names_in_blocks=source.has_names
        )
        super().__init__(replace(facts, feature_names=None, encoding=None))
        self.source, self.first, self.stop = source, first, stop

    def column_blocks(self) -> Iterator[ColumnBlock]:
        return self.source.columns_between(self.first, self.stop)

    def targets(self) -> NDArray[Any]:
        return self.source.targets()

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return self.source._ranges(self.first, self.stop, n)


class MatrixColumns(ColumnSource):
    """Columns of a matrix in memory, dense or CSC: of all features, or of those in ``ids``; ``names`` are theirs.

    What else is known of the data are ``facts``. A shard has a matrix of its own columns, and the
    features from ``first`` to before ``stop``: those without a column have no values.
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
        n_rows, has_labels = int(matrix.shape[0]), y is not None
        super().__init__(
            SourceFacts(
                name,
                n_rows,
                n_features,
                names,
                has_labels=has_labels,
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
        before = (
            self.matrix.indptr if is_sparse(self.matrix) else np.arange(n_columns + 1) * self.n_rows
        )
        filled = (self.n_features or 0) <= MAX_FILLED_WIDTH
        columns = np.concatenate([[self.first], ids, [self.stop]])
        work = np.append(0, before) + (columns if filled else np.arange(n_columns + 2))
        cuts = fair_cuts(columns, work, n)
        if not filled:
            at = np.unique(np.searchsorted(ids, cuts))
            cuts = [self.first, *ids[at[(at > 0) & (at < n_columns)]].tolist()]
        return [
            self._between(ids, *bounds) for bounds in zip(cuts, [*cuts[1:], self.stop], strict=True)
        ]

    def _between(self, ids: NDArray[np.int64], first: int, stop: int) -> ColumnSource:
        begin, end = np.searchsorted(ids, [first, stop]).tolist()
        names = None if self.names is None else self.names[begin:end]
        matrix = some_columns(self.matrix, begin, end)
        part = MatrixColumns(self.name, matrix, self.y, self.n_features or 0, ids[begin:end], names)
        part.facts = replace(
            part.facts,
            value_type=self.facts.value_type,
            feature_names=None,
            names_in_blocks=names is not None,
        )
        part.first, part.stop = first, stop
        return part

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickle keeps; columns of a dense matrix side by side, which can be sent without a copy."""
        return self.__dict__ | (
            {} if is_sparse(self.matrix) else {"matrix": np.asfortranarray(self.matrix)}
        )


def fair_cuts(ids: NDArray[np.int64], work: NDArray[np.int64], n: int) -> list[int]:
    """The ids that ``n`` parts of about the same work begin with, or fewer.

    ``work`` is how much of it is before each of some ``ids``, the first of which begins and the
    last of which ends all.
    """
    wanted = work[0] + (work[-1] - work[0]) * np.arange(n) / n
    found = np.interp(wanted, work, ids).astype(np.int64)
    return [int(ids[0]), *np.unique(found[(ids[0] < found) & (found < ids[-1])]).tolist()]


def some_columns(matrix: Any, start: int, stop: int) -> Any:
    """Some columns of a dense or a CSC matrix, without copying their values."""
    if not is_sparse(matrix):
        return matrix[:, start:stop]
    from scipy.sparse import csc_array

    begin, end = matrix.indptr[start], matrix.indptr[stop]
    part = csc_array((matrix.shape[0], stop - start), dtype=matrix.dtype)
    part.indptr = matrix.indptr[start : stop + 1] - begin
    part.indices, part.data = (
        matrix.indices[begin:end],
        matrix.data[begin:end],
    )  # the constructor copies short views
    return part


def block_columns() -> int:
    """How many columns make a block of a good size, if they are as good as empty."""
    return fitting(BLOCK_VALUES, BYTES_PER_COLUMN)


def blocks_of_columns(
    matrix: Any, names: NDArray[Any] | None, origin: str, ids: NDArray[np.int64] | None = None
) -> Iterator[ColumnBlock]:
    """The columns of a matrix in memory, dense or CSC; without ``ids`` they are numbered from 0."""
    n_rows, n_columns = matrix.shape
    if is_sparse(matrix):
        yield from cut_columns(
            matrix.indptr, matrix.indices, matrix.data, ids, n_rows, names, origin
        )
        return
    at_once = max(1, BLOCK_VALUES // max(1, n_rows))
    for start in range(0, n_columns, at_once):
        own, part = (
            None if all_of is None else all_of[start : start + at_once] for all_of in (ids, names)
        )
        yield columns_of(matrix[:, start : start + at_once], start, own, part, origin=origin)


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
    for start, stop in line_ranges(indptr, block_columns(), BLOCK_VALUES):
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


def with_empty_columns(
    blocks: Iterable[ColumnBlock],
    n_features: int,
    n_rows: int,
    first: int = 0,
    stop: int | None = None,
) -> Iterator[ColumnBlock]:
    """The same columns, of ascending ids, and those that have no value before, between and after them.

    They go from ``first`` to before ``stop``, up to the width ``n_features`` of the data if that is
    not given.
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
            yield from _filled(block, first, last + 1)
        first = last + 1
    none = np.empty(0, np.int64)
    nothing = ColumnBlock(
        np.zeros(1, np.int64),
        none.astype(np.int32),
        none.astype(np.float64),
        none,
        n_rows,
        origin=origin,
    )
    yield from _filled(nothing, first, n_features if stop is None else stop)


def _filled(block: ColumnBlock, first: int, end: int) -> Iterator[ColumnBlock]:
    """The columns of a block and empty ones, for all ids from ``first`` to before ``end``."""
    at_once = block_columns()
    for start in range(first, end, at_once):
        ids = np.arange(start, min(end, start + at_once))
        some = block.columns(*np.searchsorted(block.ids, [start, start + ids.size]).tolist())
        indptr = np.zeros(ids.size + 1, np.int64)
        indptr[some.ids - start + 1] = np.diff(some.indptr)
        yield some.derived(indptr=np.cumsum(indptr), ids=ids)


# ---- in another order


class OrderedColumns(ColumnSource):
    """The columns of a source that can be read again, in the order that ``order`` has their ids in.

    Of a matrix in memory, columns are picked block by block. Other columns are gathered in memory
    as far as they fit, those that come first in the new order, and the source is read again for the
    next.
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
            self._gathered()
            if self.source.matrix is None or self.source.ids is not None
            else self._picked()
        )

    def _picked(self) -> Iterator[ColumnBlock]:
        matrix, names = self.source.matrix, self.source.feature_names
        if is_sparse(matrix):
            matrix = canonical(matrix.tocsc())
            sizes = np.diff(matrix.indptr)[self.order]
        else:
            sizes = np.full(self.order.size, matrix.shape[0])
        bounds = np.append(0, np.cumsum(sizes, dtype=np.int64))
        for start, stop in line_ranges(bounds, block_columns(), BLOCK_VALUES):
            ids = self.order[start:stop]
            yield columns_of(
                matrix[:, ids], 0, ids, None if names is None else names[ids], origin=self.name
            )

    def _gathered(self) -> Iterator[ColumnBlock]:
        rank = np.full(
            int(self.order.max(initial=-1)) + 2, -1
        )  # the last is that of all ids beyond
        rank[self.order] = np.arange(self.order.size)
        done = 0
        while done < self.order.size:
            block, done = self._next_columns(rank, done)
            if block is not None:
                block = block.picked(np.argsort(rank[block.ids]))
                for start, stop in line_ranges(block.indptr, block_columns(), BLOCK_VALUES):
                    yield block.columns(start, stop)

    def _next_columns(self, rank: NDArray[np.int64], first: int) -> tuple[ColumnBlock | None, int]:
        """Return as many columns as fit, from the one that is ``first`` in the new order, and where they end there."""
        limit = FRACTION_OF_MEMORY * available_memory()
        parts: list[ColumnBlock] = []
        stop, held = self.order.size, 0.0
        for block in self.source.column_blocks():
            at = rank[np.minimum(block.ids, rank.size - 1)]
            wanted = np.flatnonzero((first <= at) & (at < stop))
            if wanted.size:
                parts.append(block.picked(wanted))
                held += float(bytes_of(parts[-1]).sum())
            if held > limit and stop > first + 1:
                kept = ColumnBlock.joined(parts)
                in_order = np.argsort(rank[kept.ids])
                sizes = np.cumsum(bytes_of(kept)[in_order])
                some = in_order[: max(1, int(np.searchsorted(sizes, limit / 2)))]
                stop = int(rank[kept.ids[some]].max()) + 1
                parts = [kept.picked(np.sort(some))]
                held = float(bytes_of(parts[0]).sum())
        return (ColumnBlock.joined(parts) if parts else None), stop

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return [
            OrderedColumns(self.source, part) for part in np.array_split(self.order, n) if part.size
        ]


def bytes_of(block: ColumnBlock) -> NDArray[np.int64]:
    """Return what every column of a block takes."""
    return np.diff(block.indptr) * ENTRY_BYTES + COLUMN_BYTES
