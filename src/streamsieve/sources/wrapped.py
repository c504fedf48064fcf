"""Rows of another source, each block changed on its way."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

from numpy.typing import NDArray

from ..blocks import RowBlock
from .base import Missing, Source


class WrappedRows(Source):
    """The rows of another source; an author writes ``_changed``, or ``row_blocks``, and what is other of the facts."""

    def __init__(self, rows: Source, **changes: Any) -> None:
        super().__init__(replace(rows.facts, **changes))
        self.rows = rows

    def _changed(self, block: RowBlock) -> RowBlock:
        """Return a block as it is handed on."""
        return block

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        for block in self.rows.row_blocks(missing):
            self.bytes_read = self.rows.bytes_read
            yield self._changed(block)

    def complete(self) -> None:
        self.rows.complete()

    def all_names(self) -> NDArray[Any] | None:
        return self.rows.all_names() if self.facts.names_in_blocks else self.feature_names

    def labels_as_written(self) -> None:
        self.rows.labels_as_written()

    def labels(self) -> Iterator[NDArray[Any]]:
        return self.rows.labels()

    def targets(self) -> NDArray[Any]:
        return self.rows.targets()

    def _shards(self, n: int) -> list[Source]:
        return [self._around(shard) for shard in self.rows.shards(n)]

    def _around(self, shard: Source) -> Self:
        part = copy(self)
        part.rows, part.bytes_read = shard, 0
        part.facts = replace(self.facts, n_rows=shard.n_rows, n_bytes=shard.facts.n_bytes)
        return part
