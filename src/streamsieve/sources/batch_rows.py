"""Rows of files that have them in batches: tables and sparse rows in Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of
from ..errors import DataError
from ..machine import reading_threads
from .base import Missing, NoRowsError, Source, SourceFacts
from .columns import RangedColumns
from .inference import ColumnStats, Content, infer_by_types
from .options import ReadOptions
from .prefetch import ordered_map, read_ahead
from .tables import BATCH_ROWS, DecodedRows, Finish, TableSource, batch_values, labels, rows_at_once

if TYPE_CHECKING:
    import pyarrow as pa

BATCHES_AHEAD = 2

Part = TypeVar("Part", RowBlock, DecodedRows)


class BatchFile(Protocol):
    """A file of records with named columns, which can be read from any of them on."""

    path: Path
    n_bytes: int
    n_rows: int
    names: list[str]  # of all columns

    def schema(self) -> pa.Schema:
        """Return its schema."""

    def batches(self, columns: list[str], first: int, stop: int, at_once: int) -> Iterator[pa.RecordBatch]:
        """Return these columns of some records, so many or less at a time; the file must be as it was opened."""

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        """Return these columns of some records."""

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the records that ``n`` parts of some may begin with, or fewer, from the first on."""


class BatchRows:
    """The records of a file from ``first`` on: read on one thread, decoded and checked on several, in order."""

    def __init__(self, file: BatchFile, name: str) -> None:
        self.file, self.name, self.first, self.stop = file, name, 0, file.n_rows

    @property
    def n_bytes(self) -> int:
        """Return about how much of the file they are."""
        return self.file.n_bytes * (self.stop - self.first) // max(1, self.file.n_rows)

    def batches(self, columns: list[str], at_once: int) -> Iterator[pa.RecordBatch]:
        """Return these columns of all records, so many or less at a time."""
        return self.file.batches(columns, self.first, self.stop, at_once)

    def numbered(self, columns: list[str], at_once: int) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Return batches that hold records, each with the number of its first record in the file."""
        record = self.first
        for batch in self.batches(columns, at_once):
            if batch.num_rows:
                yield batch, record
            record += batch.num_rows

    def decoded(
        self,
        batches: Iterator[tuple[pa.RecordBatch, int]],
        decode: Callable[[pa.RecordBatch, int], Part],
        source: Source,
    ) -> Iterator[Part]:
        """Return what ``decode`` makes of every batch and the number of its first record."""
        rows = source.bytes_read = 0
        threads = reading_threads()
        ahead = read_ahead(batches, 1)  # batches are large: one read ahead, one for every thread
        with closing(ordered_map(lambda item: decode(*item), ahead, threads, threads)) as parts:
            for part in parts:
                rows += part.n_rows
                source.bytes_read = self.n_bytes * rows // (self.stop - self.first)
                yield part
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def labels(self, column: str) -> Iterator[NDArray[Any]]:
        """Return the labels in a column, which is all that is read."""
        found = False
        for batch, row in self.numbered([column], BATCH_ROWS):
            found = True
            yield labels(batch.column(column), column, self.name, row)
        if not found:
            raise NoRowsError(f"{self.name}: holds no rows")

    def parts(self, n: int) -> list[BatchRows]:
        """Return the records in ``n`` parts, or fewer."""
        starts = self.file.cuts(self.first, self.stop, n)
        return [self._between(*bounds) for bounds in zip(starts, [*starts[1:], self.stop], strict=True)]

    def _between(self, first: int, stop: int) -> BatchRows:
        part = copy(self)
        part.first, part.stop = first, stop
        return part


class BatchSource(Source):
    """Rows in a file; a shard has some of its records."""

    rows: BatchRows
    label_column: str

    def labels(self) -> Iterator[NDArray[Any]]:
        if not self.has_labels:
            raise DataError(f"{self.name}: the rows have no labels")
        return self.rows.labels(self.label_column)

    def _shards(self, n: int) -> list[Source]:
        return [self._part(rows) for rows in self.rows.parts(n)]

    def _part(self, rows: BatchRows) -> Source:
        part = copy(self)
        part.rows, part.bytes_read = rows, 0
        part.facts = replace(self.facts, n_rows=rows.stop - rows.first, n_bytes=rows.n_bytes)
        return part


def file_facts(file: BatchFile) -> SourceFacts:
    """Return what is known of a file of rows."""
    return SourceFacts(str(file.path), file.n_rows, n_bytes=file.n_bytes, splittable=True, columns_splittable=True)


class BatchTable(BatchSource, TableSource, RangedColumns):
    """A table in a file that can be read by rows and by columns."""

    def __init__(self, file: BatchFile, columns: list[str] | None, options: ReadOptions) -> None:
        TableSource.__init__(self, file_facts(file), file.names, columns, options)
        self.rows, self.label_column = BatchRows(file, self.name), str(options.target)

    def infer(self, options: ReadOptions, known: dict[str, Content]) -> list[ColumnStats]:
        """Return what its columns hold: their types say it, so that only those are read whose values must be known."""
        schema = self.rows.file.schema()
        types = {name: schema.field(name).type for name in self.decoder.features_and_weight}
        return infer_by_types(self.name, types, self._batches_with, options, known)

    def _batches_with(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self.rows.batches(columns, BATCH_ROWS)

    # ---- rows

    def _decoded(self, missing: Missing, finish: Finish) -> Iterator[DecodedRows]:
        decoder, used = self.decoder, self.decoder.used
        batches = self.rows.numbered(used, rows_at_once(len(used), batch_values()))
        return self.rows.decoded(batches, lambda batch, first: finish(decoder.decode(batch, first, missing)), self)

    def targets(self) -> NDArray[Any]:
        if not self.has_labels:
            raise DataError(f"{self.name}: the rows have no labels")
        column = self._read([self.label_column]).column(0).combine_chunks()
        return labels(column, self.label_column, self.name, self.rows.first)

    # ---- columns

    def complete(self) -> None:
        if not self.decoder.grows:
            return
        encoding, where = self.decoder.encoding, self.decoder.where(0)
        names = [encoding.columns[at].name for at in encoding.texts]
        for batch in self._batches_with(names):
            encoding.extend([batch.column(name) for name in names], where)
        self.decoder = replace(self.decoder, grows=False)

    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        blocks = self._encoded_columns if self.decoder.encoding.has_groups else self._number_columns
        return read_ahead(blocks(first, stop), BATCHES_AHEAD)

    def _read(self, columns: list[str]) -> pa.Table:
        """Return these columns alone, all rows of them."""
        table = self.rows.file.read(columns, self.rows.first, self.rows.stop)
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
        encoding, where = self.decoder.encoding, self.decoder.where(self.rows.first)
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
        if self.decoder.encoding.has_groups:
            return None
        return read_ahead(self._matrices(0, len(self.columns)), BATCHES_AHEAD)

    def _matrices(self, first: int, stop: int) -> Iterator[NDArray[np.float64]]:
        encoding, where = self.decoder.encoding, self.decoder.where(self.rows.first)
        for columns in self._column_groups(range(first, stop)):
            matrix = np.empty((len(columns[0][1]), len(columns)), order="F")
            for at, (position, column) in enumerate(columns):
                matrix[:, at] = encoding.filled_column(position, column, where)
            yield matrix
