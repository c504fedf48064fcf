"""Rows of another source, each block changed on its way."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

from numpy.typing import NDArray

from ..blocks import RowBlock
from .base import Missing, Source


class WrappedRows(Source):
    """The rows of another source; an author writes ``_changed``, or ``row_blocks``."""

    def __init__(self, rows: Source) -> None:
        super().__init__(rows.name)
        self._take(rows)

    def _take(self, rows: Source) -> None:
        self.rows = rows
        self.n_rows, self.n_features, self.feature_names = rows.n_rows, rows.n_features, rows.feature_names
        self.rewindable, self.splittable, self.has_labels = rows.rewindable, rows.splittable, rows.has_labels
        self.takes_target, self.target = rows.takes_target, rows.target
        self.first_id, self.renumbered, self.kept = rows.first_id, rows.renumbered, rows.kept
        self.encoding, self.notes, self.incomplete = rows.encoding, rows.notes, rows.incomplete
        self.weight, self.n_bytes, self.bytes_read = rows.weight, rows.n_bytes, rows.bytes_read

    def _changed(self, block: RowBlock) -> RowBlock:
        """Return a block as it is handed on."""
        return block

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        for block in self.rows.row_blocks(missing):
            self.bytes_read = self.rows.bytes_read
            yield self._changed(block)

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
        part._take(shard)
        return part
