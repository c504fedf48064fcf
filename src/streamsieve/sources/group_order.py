"""Columns in another order than a source has them: those of a group together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, canonical, columns_of, next_cut
from ..machine import available_memory
from ..values import is_sparse
from .base import ColumnSource
from .columns import BLOCK_VALUES, block_columns
from .transpose import FRACTION_OF_MEMORY

BYTES_PER_ENTRY, BYTES_PER_COLUMN = 12, 32


class OrderedColumns(ColumnSource):
    """The columns of a source that can be read again, in the order that ``order`` has their ids in.

    Of a matrix in memory, columns are picked block by block. Other columns are gathered in memory as far as they fit,
    those that come first in the new order, and the source is read again for the next.
    """

    def __init__(self, source: ColumnSource, order: NDArray[np.int64]) -> None:
        super().__init__(replace(source.facts, columns_splittable=True, has_groups=False, group_names=None))
        self.source = source
        self.order: NDArray[np.int64] = order

    def targets(self) -> NDArray[Any]:
        return self.source.targets()

    def column_blocks(self) -> Iterator[ColumnBlock]:
        in_memory = self.source.matrix is not None and self.source.ids is None
        return self._picked() if in_memory else self._gathered()

    def _picked(self) -> Iterator[ColumnBlock]:
        matrix, names = self.source.matrix, self.source.feature_names
        if is_sparse(matrix):
            matrix = canonical(matrix.tocsc())
            sizes = np.diff(matrix.indptr)[self.order]
        else:
            sizes = np.full(self.order.size, matrix.shape[0])
        bounds, start = np.append(0, np.cumsum(sizes, dtype=np.int64)), 0
        while start < self.order.size:
            stop = next_cut(bounds, start, block_columns(), BLOCK_VALUES)
            ids = self.order[start:stop]
            own = None if names is None else names[ids]
            yield columns_of(matrix[:, ids], ids=ids, names=own, origin=self.name)
            start = stop

    def _gathered(self) -> Iterator[ColumnBlock]:
        highest = int(self.order.max(initial=-1))
        rank = np.full(highest + 2, -1)  # the last is that of all ids beyond
        rank[self.order] = np.arange(self.order.size)
        done = 0
        while done < self.order.size:
            block, stop = self._next_columns(rank, done)
            if block is not None:
                yield from in_blocks(taken(block, np.argsort(rank[block.ids])))
            done = stop

    def _next_columns(self, rank: NDArray[np.int64], first: int) -> tuple[ColumnBlock | None, int]:
        """As many columns as fit, from the one on that is ``first`` in the new order, and where they end there."""
        limit = FRACTION_OF_MEMORY * available_memory()
        parts: list[ColumnBlock] = []
        stop, held = self.order.size, 0.0
        for block in self.source.column_blocks():
            at = rank[np.minimum(block.ids, rank.size - 1)]
            wanted = np.flatnonzero((first <= at) & (at < stop))
            if wanted.size:
                parts.append(taken(block, wanted))
                held += float(bytes_of(parts[-1]).sum())
            if held > limit and stop > first + 1:
                kept = ColumnBlock.joined(parts)
                in_order = np.argsort(rank[kept.ids])
                sizes = np.cumsum(bytes_of(kept)[in_order])
                some = in_order[: max(1, int(np.searchsorted(sizes, limit / 2)))]
                stop = int(rank[kept.ids[some]].max()) + 1
                parts = [taken(kept, np.sort(some))]
                held = float(bytes_of(parts[0]).sum())
        return (ColumnBlock.joined(parts) if parts else None), stop

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return [OrderedColumns(self.source, part) for part in np.array_split(self.order, n) if part.size]


def taken(block: ColumnBlock, columns: NDArray[np.int64]) -> ColumnBlock:
    """Some columns of a block, by their positions, in that order."""
    lengths = np.diff(block.indptr)[columns]
    indptr = np.append(0, np.cumsum(lengths))
    entries = np.repeat(block.indptr[columns] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return block.derived(
        indptr=indptr,
        indices=block.indices[entries],
        values=block.values[entries],
        ids=block.ids[columns],
        names=None if block.names is None else block.names[columns],
        groups=None if block.groups is None else block.groups[columns],
    )


def bytes_of(block: ColumnBlock) -> NDArray[np.int64]:
    """What every column of a block takes."""
    return np.diff(block.indptr) * BYTES_PER_ENTRY + BYTES_PER_COLUMN


def in_blocks(block: ColumnBlock) -> Iterator[ColumnBlock]:
    """A block in parts of a good size."""
    start = 0
    while start < block.n_columns:
        stop = next_cut(block.indptr, start, block_columns(), BLOCK_VALUES)
        yield block.columns(start, stop)
        start = stop
