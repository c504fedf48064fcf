"""Rows of files that have them in batches: tables and sparse rows in Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of
from ..errors import DataError
from ..machine import reading_threads
from .base import Missing, NoRowsError, Source, SourceFacts
from .columns import RangedColumns
from .inference import ColumnStats, Known, infer_by_types
from .options import ReadOptions
from .prefetch import ordered_map, read_ahead
from .tables import BATCH_ROWS, DecodedRows, Finish, TableSource, batch_values, labels, rows_at_once

if TYPE_CHECKING:
    from .batch_files import BatchFile

BATCHES_AHEAD = 2

Part = TypeVar("Part", RowBlock, DecodedRows)


class BatchSource(Source):
    """Rows in a file: read on one thread, decoded and checked on several, in order; a shard has some of them."""

    label_column: str | None  # if the rows have labels

    def hold(self, file: BatchFile) -> None:
        """Have all rows of a file."""
        self.file, self.first, self.stop = file, 0, file.n_rows

    def batches(self, columns: list[str], at_once: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return these columns of all rows, so many or less at a time."""
        return self.file.batches(columns, self.first, self.stop, at_once)

    def numbered(self, columns: list[str], at_once: int = BATCH_ROWS) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches that hold rows, each with the number of its first row in the file."""
        row = self.first
        for batch in self.batches(columns, at_once):
            if batch.num_rows:
                yield batch, row
            row += batch.num_rows

    def decoded(
        self, batches: Iterator[tuple[pa.RecordBatch, int]], decode: Callable[[pa.RecordBatch, int], Part]
    ) -> Iterator[Part]:
        """Yield what ``decode`` makes of every batch and the number of its first row."""
        rows = self.bytes_read = 0
        threads = reading_threads()
        ahead = read_ahead(batches, 1)  # batches are large: one read ahead, one for every thread
        with closing(ordered_map(lambda item: decode(*item), ahead, threads, threads)) as parts:
            for part in parts:
                rows += part.n_rows
                self.bytes_read = (self.facts.n_bytes or 0) * rows // (self.stop - self.first)
                yield part
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def labels(self) -> Iterator[NDArray[Any]]:
        if self.label_column is None:
            raise DataError(f"{self.name}: the rows have no labels")
        row = -1
        for batch, row in self.numbered([self.label_column]):
            yield labels(batch.column(self.label_column), self.label_column, self.name, row)
        if row < 0:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _shards(self, n: int) -> list[Source]:
        starts = self.file.cuts(self.first, self.stop, n)
        return [self._part(*bounds) for bounds in zip(starts, [*starts[1:], self.stop], strict=True)]

    def _part(self, first: int, stop: int) -> Source:
        part, n_bytes = copy(self), self.file.n_bytes * (stop - first) // max(1, self.file.n_rows)
        part.first, part.stop, part.bytes_read = first, stop, 0
        part.facts = replace(self.facts, n_rows=stop - first, n_bytes=n_bytes)
        return part


def file_facts(file: BatchFile) -> SourceFacts:
    """Return what is known of a file of rows."""
    return SourceFacts(str(file.path), file.n_rows, n_bytes=file.n_bytes, splittable=True, columns_splittable=True)


class BatchTable(BatchSource, TableSource, RangedColumns):
    """A table in a file that can be read by rows and by columns."""

    def __init__(self, file: BatchFile, columns: list[str] | None, options: ReadOptions) -> None:
        TableSource.__init__(self, file_facts(file), file.names, columns, options)
        self.hold(file)

    def infer(self, options: ReadOptions, known: Known) -> list[ColumnStats]:
        """Return what its columns hold: their types say it, so that only those are read whose values must be known."""
        schema = self.file.schema()
        types = {name: schema.field(name).type for name in self.features_and_weight}
        return infer_by_types(self.name, types, self.batches, options, known)

    # ---- rows

    def _decoded(self, missing: Missing, finish: Finish) -> Iterator[DecodedRows]:
        used = [*self.features_and_weight, *([] if self.label_column is None else [self.label_column])]
        batches = self.numbered(used, rows_at_once(len(used), batch_values()))
        return self.decoded(batches, lambda batch, first: finish(self.decode(batch, first, missing)))

    def targets(self) -> NDArray[Any]:
        if self.label_column is None:
            raise DataError(f"{self.name}: the rows have no labels")
        column = self._read([self.label_column]).column(0).combine_chunks()
        return labels(column, self.label_column, self.name, self.first)

    # ---- columns

    def complete(self) -> None:
        if not self.grows:
            return
        names = [self._encoding.columns[at].name for at in self._encoding.texts]
        for batch in self.batches(names):
            texts, no_numbers = [batch.column(name) for name in names], np.empty((batch.num_rows, 0))
            self._encoding.learn(self._encoding.encode(no_numbers, texts, self.where(0), True))
        self.grows = False

    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        blocks = self._encoded_columns if self._encoding.has_groups else self._number_columns
        return read_ahead(blocks(first, stop), BATCHES_AHEAD)

    def _read(self, columns: list[str]) -> pa.Table:
        """Return these columns alone, all rows of them."""
        table = self.file.read(columns, self.first, self.stop)
        if not table.num_rows:
            raise NoRowsError(f"{self.name}: holds no rows")
        return table

    def _column_groups(self, positions: Sequence[int]) -> Iterator[list[tuple[int, pa.Array]]]:
        """Yield some columns by their positions, as many at a time as are worth reading at once."""
        at_once = max(1, batch_values() // max(1, self.n_rows or 1))
        for start in range(0, len(positions), at_once):
            names = {self.columns[position]: position for position in positions[start : start + at_once]}
            table = self._read(list(names))
            yield [(position, table.column(name).combine_chunks()) for name, position in names.items()]

    def _encoded_columns(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        """Yield the features from ``first`` to before ``stop``; those of late levels come last."""
        encoding, where = self._encoding, self.where(self.first)
        begin = int(np.searchsorted(encoding.starts, first, side="right")) - 1
        end = int(np.searchsorted(encoding.starts, min(stop, encoding.n_first)))
        for columns in self._column_groups(range(begin, end)):
            blocks = [encoding.column_block(position, column, where) for position, column in columns]
            blocks = [block.masked(block.ids < encoding.n_first) for block in blocks]
            block = ColumnBlock.joined([block for block in blocks if block.n_columns] or blocks[:1])
            yield block.columns(*np.searchsorted(block.ids, [first, stop]).tolist())
        late = range(max(first, encoding.n_first), stop)
        positions = sorted({encoding.late[feature - encoding.n_first].column for feature in late})
        found: dict[int, ColumnBlock] = {}
        for columns in self._column_groups(positions):
            for position, column in columns:
                block = encoding.column_block(position, column, where)
                found |= {feature: block.columns(at, at + 1) for at, feature in enumerate(block.ids.tolist())}
        if late:
            yield ColumnBlock.joined([found[feature] for feature in late])

    def _number_columns(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        for matrix in self._matrices(first, stop):
            names = np.array(self.columns[first : first + matrix.shape[1]], dtype=object)
            yield columns_of(matrix, first, names=names, origin=self.name)
            first += matrix.shape[1]

    def dense_columns(self) -> Iterator[NDArray[np.float64]] | None:
        if self._encoding.has_groups:
            return None
        return read_ahead(self._matrices(0, len(self.columns)), BATCHES_AHEAD)

    def _matrices(self, first: int, stop: int) -> Iterator[NDArray[np.float64]]:
        encoding, where = self._encoding, self.where(self.first)
        for columns in self._column_groups(range(first, stop)):
            matrix = np.empty((len(columns[0][1]), len(columns)), order="F")
            for at, (position, column) in enumerate(columns):
                matrix[:, at] = encoding.filled_column(position, column, where)
            yield matrix
