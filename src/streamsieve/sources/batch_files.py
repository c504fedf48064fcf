"""Parquet and Arrow files: tables of named columns, sparse rows as lists, or columns as lists.

Sparse rows are lists of ids and values. Arrow files are mapped into memory, and data that is not
compressed in the file is not copied: ids and values of a block are views of the file. So a file
must not be cut short while it is read; it may be replaced by a new file that is moved over it, as
this package does. The size of the file is checked before every batch; if the file is cut short
between that check and the use of the batch, the system ends the process (SIGBUS).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError
from ..machine import map_file, refuse_beyond_memory
from .base import ColumnSource, Report, Source
from .batch_rows import (
    INDICES,
    VALUES,
    BatchTable,
    ListReader,
    SparseSource,
    is_list,
    is_sparse,
    write_sparse,
)
from .column_lists import COLUMN, FEATURE, ColumnListSource, Section, batches_of_columns, is_columns
from .columns import columns_per_block
from .file_state import FileState
from .formats import Layout
from .options import ReadOptions
from .prefetch import read_ahead
from .tables import as_array, explain_damage, rows_at_once, write_table
from .writers import block_nonzeros, write_batches

MAGIC = b"ARROW1"
OTHER_SIGNATURES = {  # signatures of other Arrow formats
    b"\xff\xff\xff\xff": (
        "an Arrow stream: write it as an Arrow file instead (pyarrow.ipc.new_file)"
    ),
    b"FEA1": "a Feather file of version 1: write it in version 2",
}
BUFFER = 1 << 16  # bytes of a Parquet column that are read together
# Bytes of a column that are decoded together, or of its dictionary; most files have smaller ones.
PAGE = 1 << 21
MAX_METADATA = 2**31 - 1  # bytes; in a file of columns it has the target


class BatchFile(ABC):
    """A file of records with named columns, readable from any record on; records may be columns."""

    cuts_at_sections = False  # True if reading part of a section costs as much as all of it
    names: list[str]  # of all columns
    n_rows: int

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, FileState.of(path)
        self.n_bytes = self.state.size

    @classmethod
    def open(cls, path: Path, options: ReadOptions, columns: list[str] | None) -> Source:
        """Return the source for a file of columns, of sparse rows or of a table, by its fields."""
        file = cls(path)
        schema = file.schema()
        if is_columns(schema):
            return ColumnListSource(file, schema)
        return (
            SparseSource(file, schema) if is_sparse(schema) else BatchTable(file, columns, options)
        )

    @classmethod
    def write_rows(cls, path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
        """Write rows as a table or as lists of ids and values; return the number of rows."""
        write = write_table if layout.as_table else write_sparse
        return write(lambda schema: cls.create(path, schema), blocks, layout)

    @classmethod
    def write_columns(cls, path: Path, source: ColumnSource, report: Report | None) -> None:
        """Write columns as records."""
        # A batch is prepared while the previous one is written.
        batches = read_ahead(batches_of_columns(source, report), 1)
        write_batches(batches, lambda schema: cls.create(path, schema))

    @staticmethod
    @abstractmethod
    def create(path: Path, schema: pa.Schema) -> Any:
        """Return a writer of batches."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the schema, read again each time: it may hold the target of all rows."""

    # ---- rows

    @abstractmethod
    def batches(
        self, columns: list[str], first: int, stop: int, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of the records from ``first`` to before ``stop``.

        A batch has at most ``batch_size`` records. DataError is raised if the file changed since it
        was opened.
        """

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        """Return these columns of the records from ``first`` to before ``stop``."""
        batches = list(self.batches(columns, first, stop, max(1, stop - first)))
        return (
            pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in columns})
        )

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the first records of up to ``n`` parts of a range, beginning with ``first``."""
        return sorted({first + (stop - first) * part // n for part in range(n)})

    def list_batch_size(self) -> int:
        """Return the number of records with lists that make a batch of a good size."""
        return max(1, self.n_rows)

    # ---- columns as records

    @abstractmethod
    def sections(self) -> Iterator[Section]:
        """Yield the sections that have records, in order."""

    @abstractmethod
    def section_batches(
        self, columns: list[str], sections: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records of some sections, or of all, in order."""

    def ids_of(self, section: int) -> NDArray[np.int64]:
        """Return the feature ids of the records of a section."""
        return np.concatenate(
            [
                as_array(batch.column(FEATURE))
                for batch in self.section_batches([FEATURE], [section])
            ]
        )


class ParquetFile(BatchFile):
    """A Parquet file, readable from any row group on."""

    cuts_at_sections = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.open_reader() as file:
            self.names, self.n_rows = file.schema_arrow.names, file.metadata.num_rows

    @staticmethod
    def create(path: Path, schema: pa.Schema) -> Any:
        if INDICES not in schema.names:
            return pq.ParquetWriter(path, schema, compression="zstd")
        # A dictionary rarely helps for ascending ids: their differences take less space.
        ascending = [f"{INDICES}.list.element", *([FEATURE] if FEATURE in schema.names else [])]
        others = [
            f"{VALUES}.list.element",
            *(name for name in schema.names if name not in (INDICES, VALUES, FEATURE)),
        ]
        return pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=others,
            column_encoding=dict.fromkeys(ascending, "DELTA_BINARY_PACKED"),
        )

    @contextmanager
    def open_reader(self) -> Iterator[pq.ParquetFile]:
        """Open the file so that it is read while it is decoded.

        Arrow's default modes would hold a whole row group or file in memory.
        """
        with (
            explain_damage(self.path, "a Parquet file"),
            pq.ParquetFile(
                self.path,
                pre_buffer=False,
                buffer_size=BUFFER,
                thrift_string_size_limit=MAX_METADATA,
                thrift_container_size_limit=MAX_METADATA,
            ) as file,
        ):
            yield file

    def schema(self) -> pa.Schema:
        with self.open_reader() as file:
            return file.schema_arrow

    def starts(self) -> list[int]:
        """Return the first row of every row group, followed by the number of rows."""
        with self.open_reader() as file:
            return [
                0,
                *np.cumsum([group.num_rows for group in groups_of(file)], dtype=np.int64).tolist(),
            ]

    def batches(
        self, columns: list[str], first: int, stop: int, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        with self.state.watch(str(self.path), self.path), self.open_reader() as file:
            starts = self.starts()
            groups = [
                number
                for number, start in enumerate(starts[:-1])
                if start < stop and starts[number + 1] > first
            ]
            row = starts[groups[0]] if groups else 0
            refuse_large_groups(self.path, file, groups, columns)
            for batch in file.iter_batches(batch_size, row_groups=groups, columns=columns):
                begin, end = max(first, row), min(stop, row + batch.num_rows)
                if begin < end:
                    yield batch.slice(begin - row, end - begin)
                row += batch.num_rows

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        with self.open_reader() as file:
            if (first, stop) == (0, file.metadata.num_rows):
                return file.read(columns=columns)
        return super().read(columns, first, stop)

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the first rows of up to ``n`` parts, at row groups if there are enough of them."""
        cuts = super().cuts(first, stop, n)
        groups = np.array([start for start in self.starts() if first <= start < stop])
        if groups.size >= n:
            cuts = sorted({first, *(int(groups[np.abs(groups - cut).argmin()]) for cut in cuts)})
        return cuts

    def list_batch_size(self) -> int:
        with self.open_reader() as file:
            entries = sum(map(entries_of, groups_of(file)))
        # Long rows come in batches of few rows.
        return rows_at_once(entries / max(1, self.n_rows), block_nonzeros())

    def sections(self) -> Iterator[Section]:
        with self.open_reader() as file:
            for number, group in enumerate(groups_of(file)):
                if group.num_rows:
                    statistics = next(
                        leaf.statistics
                        for leaf in leaves_of(group)
                        if leaf.path_in_schema == FEATURE
                    )
                    has_bounds = statistics is not None and statistics.has_min_max
                    first, last = (
                        (statistics.min, statistics.max)
                        if has_bounds
                        else self.ids_of(number)[[0, -1]].tolist()
                    )
                    yield Section(number, first, last, group.num_rows, entries_of(group))

    def section_batches(
        self, columns: list[str], sections: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        with self.state.watch(str(self.path), self.path), self.open_reader() as file:
            for number in range(file.num_row_groups) if sections is None else sections:
                # Sized group by group, as some columns are a thousand times longer than others.
                group = file.metadata.row_group(number)
                records = int(block_nonzeros() * group.num_rows / max(1, entries_of(group)))
                batch_size = max(1, min(records, columns_per_block()))
                yield from file.iter_batches(batch_size, row_groups=[number], columns=columns)


def refuse_large_groups(
    path: Path, file: pq.ParquetFile, groups: list[int], columns: list[str]
) -> None:
    """Raise an error if reading row groups takes more memory than there is.

    The columns of a row group are decoded side by side.
    """
    selected = set(columns)
    for number in groups:
        sizes = [
            leaf.total_uncompressed_size
            for leaf in leaves_of(file.metadata.row_group(number))
            if leaf.path_in_schema.split(".")[0] in selected
        ]
        needed = sum(min(size, BUFFER) + 2 * min(size, PAGE) for size in sizes)
        unit = "column" if len(sizes) == 1 else "columns"
        refuse_beyond_memory(
            needed,
            f"{path}: {len(sizes):,} {unit} of row group {number + 1}, which are read together,",
            "write the file with smaller row groups",
        )


def groups_of(file: pq.ParquetFile) -> list[pq.RowGroupMetaData]:
    """Return the metadata of every row group."""
    return [file.metadata.row_group(number) for number in range(file.num_row_groups)]


def entries_of(group: pq.RowGroupMetaData) -> int:
    """Return the number of entries of all lists of values in a row group."""
    return sum(
        leaf.num_values for leaf in leaves_of(group) if leaf.path_in_schema.split(".")[0] == VALUES
    )


def leaves_of(group: pq.RowGroupMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    """Return the metadata of each column of a row group."""
    return (group.column(number) for number in range(group.num_columns))


class ArrowFile(BatchFile):
    """An Arrow file, mapped into memory, with its record batches."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.open_reader() as file:
            self.names = file.schema.names
        with self.open_reader(self.names[:1]) as file:  # the labels, of sparse rows
            self._batch_rows = [
                file.get_batch(number).num_rows for number in range(file.num_record_batches)
            ]
        self.n_rows = sum(self._batch_rows)

    @staticmethod
    def create(path: Path, schema: pa.Schema) -> Any:
        return pa.ipc.new_file(str(path), schema)

    @contextmanager
    def open_reader(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatchFileReader]:
        """Open the file with all columns mapped, or with only some columns, which are copied."""
        with self.path.open("rb") as raw:
            start = raw.read(len(MAGIC))
        for signature, kind in OTHER_SIGNATURES.items():
            if start.startswith(signature):
                raise DataError(f"{self.path}: this is {kind}")
        if start != MAGIC:
            raise DataError(f"{self.path}: not an Arrow file, or cut short; write it again")
        with explain_damage(self.path, "an Arrow file"):
            mapped = pa.py_buffer(map_file(self.path))
            file = pa.ipc.open_file(mapped)
            if columns is not None:
                fields = [file.schema.get_field_index(column) for column in columns]
                file = pa.ipc.open_file(
                    mapped, options=pa.ipc.IpcReadOptions(included_fields=fields)
                )
            yield file

    def schema(self) -> pa.Schema:
        with self.open_reader() as file:
            return file.schema

    def batches(
        self, columns: list[str], first: int, stop: int, batch_size: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of the records from ``first`` to before ``stop``.

        Arrow trusts the metadata of a file. Errors that could lead to reads outside the mapping are
        found here: the sizes of all columns are checked and, in columns that may be text, every
        entry. Lists are checked by their readers.
        """
        state, schema, row = self.state.begin(str(self.path), self.path), self.schema(), 0
        column_types = {name: schema.field(name).type for name in columns}
        checked_columns = [
            name
            for name, kind in column_types.items()
            if not pa.types.is_primitive(kind) and not is_list(kind)
        ]
        is_whole = len(columns) == len(self.names) or any(map(is_list, column_types.values()))
        with self.open_reader(None if is_whole else columns) as file:
            for number, rows in enumerate(self._batch_rows):
                begin, end = max(first, row), min(stop, row + rows)
                if begin < end:
                    state.check_unchanged(str(self.path), self.path)
                    batch = file.get_batch(number)
                    batch.validate()
                    for name in checked_columns:
                        batch.column(name).validate(full=True)
                    for start in range(begin - row, end - row, batch_size):
                        yield batch.slice(start, min(batch_size, end - row - start))
                row += rows
        state.check_unchanged(str(self.path), self.path)

    def sections(self) -> Iterator[Section]:
        record, lists = 0, ListReader(str(self.path), COLUMN)
        for number, batch in enumerate(self.section_batches(self.names, None)):
            if batch.num_rows:
                ids, ends = (
                    as_array(batch.column(FEATURE)),
                    lists.offsets(batch.column(VALUES), record),
                )
                yield Section(number, int(ids[0]), int(ids[-1]), batch.num_rows, int(ends[-1]))
            record += batch.num_rows

    def section_batches(
        self, columns: list[str], sections: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        with self.state.watch(str(self.path), self.path) as state, self.open_reader() as file:
            for number in range(file.num_record_batches) if sections is None else sections:
                state.check_unchanged(str(self.path), self.path)
                batch = file.get_batch(number)
                batch.validate()
                yield batch
