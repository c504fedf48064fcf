"""Parquet and Arrow files: tables of named columns, sparse rows as lists of ids and values, or columns.

Arrow files are mapped into memory, and what is not compressed in the file is not copied: ids and
values of a block are views of the file. So a file must not be cut short while it is read; one that
is written anew beside it and moved over it, as here, may be. Its size is looked at before every
batch; where it is cut short between that and the use of the batch, the system ends the process
(SIGBUS).
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
from .columns import block_columns
from .file_state import FileState
from .formats import Layout
from .options import ReadOptions
from .prefetch import read_ahead
from .tables import as_array, damage_named, rows_at_once, write_table
from .writers import block_nonzeros, write_batches

MAGIC = b"ARROW1"
OTHERS = {  # how files begin that are Arrow's too
    b"\xff\xff\xff\xff": (
        "an Arrow stream: write it as an Arrow file instead (pyarrow.ipc.new_file)"
    ),
    b"FEA1": "a Feather file of version 1: write it in version 2",
}
BUFFER = 1 << 16  # bytes of a column of Parquet that are read together
PAGE = (
    1 << 21
)  # bytes of a column that are decoded together, and its dictionary: most writers make both smaller
MAX_METADATA = 2**31 - 1  # bytes: a file of columns has the target there


class BatchFile(ABC):
    """A file of records with named columns, which can be read from any of them on; the records may be columns."""

    cuts_at_sections = False  # whether a part of a section costs as much to read as all of it
    names: list[str]  # of all columns
    n_rows: int

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, FileState.of(path)
        self.n_bytes = self.state.size

    @classmethod
    def open(cls, path: Path, options: ReadOptions, columns: list[str] | None) -> Source:
        """Return the source for a file: columns or sparse rows if it has the fields of those, otherwise a table."""
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
        batches = read_ahead(
            batches_of_columns(source, report), 1
        )  # sorted while the one before is written
        write_batches(batches, lambda schema: cls.create(path, schema))

    @staticmethod
    @abstractmethod
    def create(path: Path, schema: pa.Schema) -> Any:
        """Return a writer of batches."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return its schema, which is read again: it may hold the target of all rows."""

    # ---- rows

    @abstractmethod
    def batches(
        self, columns: list[str], first: int, stop: int, at_once: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of some records, so many or less at a time; the file must be as it was opened."""

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        """Return these columns of some records."""
        batches = list(self.batches(columns, first, stop, max(1, stop - first)))
        return (
            pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in columns})
        )

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the records that ``n`` parts of some may begin with, or fewer, from the first on."""
        return sorted({first + (stop - first) * part // n for part in range(n)})

    def lists_at_once(self) -> int:
        """Return how many records with lists make a batch of a good size."""
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
        """Return the ids of the records of a section."""
        return np.concatenate(
            [
                as_array(batch.column(FEATURE))
                for batch in self.section_batches([FEATURE], [section])
            ]
        )


class ParquetFile(BatchFile):
    """A Parquet file, which is read from a row group on."""

    cuts_at_sections = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.opened() as file:
            self.names, self.n_rows = file.schema_arrow.names, file.metadata.num_rows

    @staticmethod
    def create(path: Path, schema: pa.Schema) -> Any:
        if INDICES not in schema.names:
            return pq.ParquetWriter(path, schema, compression="zstd")
        # Ids that ascend are hardly ever worth a dictionary: their differences are coded in less.
        ascending = [f"{INDICES}.list.element", *([FEATURE] if FEATURE in schema.names else [])]
        others = [
            f"{VALUES}.list.element",
            *(name for name in schema.names if name not in (INDICES, VALUES, FEATURE)),
        ]
        encodings = dict.fromkeys(ascending, "DELTA_BINARY_PACKED")
        return pq.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=others, column_encoding=encodings
        )

    @contextmanager
    def opened(self) -> Iterator[pq.ParquetFile]:
        """Open the file, to be read as it is decoded: Arrow's own ways would hold all of a row group, or of a file."""
        limits = {
            "thrift_string_size_limit": MAX_METADATA,
            "thrift_container_size_limit": MAX_METADATA,
        }
        with (
            damage_named(self.path, "a Parquet file"),
            pq.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER, **limits) as file,
        ):
            yield file

    def schema(self) -> pa.Schema:
        with self.opened() as file:
            return file.schema_arrow

    def starts(self) -> list[int]:
        """Return the first row of every row group, and the number of rows."""
        with self.opened() as file:
            return [
                0,
                *np.cumsum([group.num_rows for group in groups_of(file)], dtype=np.int64).tolist(),
            ]

    def batches(
        self, columns: list[str], first: int, stop: int, at_once: int
    ) -> Iterator[pa.RecordBatch]:
        state, starts = self.state.begin(str(self.path), self.path), self.starts()
        with self.opened() as file:
            inside = [
                number
                for number, start in enumerate(starts[:-1])
                if start < stop and starts[number + 1] > first
            ]
            at = starts[inside[0]] if inside else 0
            refuse_large_groups(self.path, file, inside, columns)
            for batch in file.iter_batches(at_once, row_groups=inside, columns=columns):
                begin, end = max(first, at), min(stop, at + batch.num_rows)
                if begin < end:
                    yield batch.slice(begin - at, end - begin)
                at += batch.num_rows
        state.refuse_changed(str(self.path), self.path)

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        with self.opened() as file:
            if (first, stop) == (0, file.metadata.num_rows):
                return file.read(columns=columns)
        return super().read(columns, first, stop)

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the rows that ``n`` parts begin with: those of groups, if there are enough of them."""
        cuts = super().cuts(first, stop, n)
        groups = np.array([start for start in self.starts() if first <= start < stop])
        if groups.size >= n:
            cuts = sorted({first, *(int(groups[np.abs(groups - cut).argmin()]) for cut in cuts)})
        return cuts

    def lists_at_once(self) -> int:
        with self.opened() as file:
            entries = sum(map(entries_of, groups_of(file)))
        return rows_at_once(
            entries / max(1, self.n_rows), block_nonzeros()
        )  # a batch of long rows has few of them

    def sections(self) -> Iterator[Section]:
        with self.opened() as file:
            for number, group in enumerate(groups_of(file)):
                if group.num_rows:
                    ids = next(
                        leaf.statistics
                        for leaf in leaves_of(group)
                        if leaf.path_in_schema == FEATURE
                    )
                    is_noted = ids is not None and ids.has_min_max
                    first, last = (
                        (ids.min, ids.max) if is_noted else self.ids_of(number)[[0, -1]].tolist()
                    )
                    yield Section(number, first, last, group.num_rows, entries_of(group))

    def section_batches(
        self, columns: list[str], sections: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        state = self.state.begin(str(self.path), self.path)
        with self.opened() as file:
            for number in range(file.num_row_groups) if sections is None else sections:
                group = file.metadata.row_group(
                    number
                )  # each by itself: some columns are a thousand times longer
                records = int(block_nonzeros() * group.num_rows / max(1, entries_of(group)))
                at_once = max(1, min(records, block_columns()))
                yield from file.iter_batches(at_once, row_groups=[number], columns=columns)
        state.refuse_changed(str(self.path), self.path)


def refuse_large_groups(
    path: Path, file: pq.ParquetFile, groups: list[int], columns: list[str]
) -> None:
    """Refuse row groups that take more memory to read than there is: their columns are decoded side by side."""
    used = set(columns)
    for number in groups:
        leaves = leaves_of(file.metadata.row_group(number))
        sizes = [
            leaf.total_uncompressed_size
            for leaf in leaves
            if leaf.path_in_schema.split(".")[0] in used
        ]
        needed = sum(min(size, BUFFER) + 2 * min(size, PAGE) for size in sizes)
        unit = "column" if len(sizes) == 1 else "columns"
        what = f"{path}: {len(sizes):,} {unit} of row group {number + 1}, which are read together,"
        refuse_beyond_memory(needed, what, "write the file with smaller row groups")


def groups_of(file: pq.ParquetFile) -> list[pq.RowGroupMetaData]:
    """Return what is known of every row group."""
    return [file.metadata.row_group(number) for number in range(file.num_row_groups)]


def entries_of(group: pq.RowGroupMetaData) -> int:
    """Return the number of entries of all lists of values in a part of a file."""
    return sum(
        leaf.num_values for leaf in leaves_of(group) if leaf.path_in_schema.split(".")[0] == VALUES
    )


def leaves_of(group: pq.RowGroupMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    """Return what is known of each column of a part of a file."""
    return (group.column(number) for number in range(group.num_columns))


class ArrowFile(BatchFile):
    """An Arrow file, mapped into memory, with its record batches."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.opened() as file:
            self.names = file.schema.names
        with self.opened(self.names[:1]) as file:  # of sparse rows the labels
            self._batch_rows = [
                file.get_batch(number).num_rows for number in range(file.num_record_batches)
            ]
        self.n_rows = sum(self._batch_rows)

    @staticmethod
    def create(path: Path, schema: pa.Schema) -> Any:
        return pa.ipc.new_file(str(path), schema)

    @contextmanager
    def opened(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatchFileReader]:
        """Open the file; all columns are mapped, or those named read, which copies them."""
        with self.path.open("rb") as raw:
            start = raw.read(len(MAGIC))
        for other, kind in OTHERS.items():
            if start.startswith(other):
                raise DataError(f"{self.path}: this is {kind}")
        if start != MAGIC:
            raise DataError(f"{self.path}: not an Arrow file, or cut short; write it again")
        with damage_named(self.path, "an Arrow file"):
            mapped = pa.py_buffer(map_file(self.path))
            file = pa.ipc.open_file(mapped)
            if columns is not None:
                fields = [file.schema.get_field_index(column) for column in columns]
                file = pa.ipc.open_file(
                    mapped, options=pa.ipc.IpcReadOptions(included_fields=fields)
                )
            yield file

    def schema(self) -> pa.Schema:
        with self.opened() as file:
            return file.schema

    def batches(
        self, columns: list[str], first: int, stop: int, at_once: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of some rows, so many or less at a time.

        Arrow believes what a file says of itself. What could lead it out of the mapping is checked
        here: the sizes of all columns and, of columns that may be text, every entry. Lists are
        checked where they are read.
        """
        state, schema, at = self.state.begin(str(self.path), self.path), self.schema(), 0
        types = {name: schema.field(name).type for name in columns}
        checked = [
            name
            for name, kind in types.items()
            if not pa.types.is_primitive(kind) and not is_list(kind)
        ]
        is_whole = len(columns) == len(self.names) or any(map(is_list, types.values()))
        with self.opened(None if is_whole else columns) as file:
            for number, rows in enumerate(self._batch_rows):
                begin, end = max(first, at), min(stop, at + rows)
                if begin < end:
                    state.refuse_changed(str(self.path), self.path)
                    batch = file.get_batch(number)
                    batch.validate()
                    for name in checked:
                        batch.column(name).validate(full=True)
                    for start in range(begin - at, end - at, at_once):
                        yield batch.slice(start, min(at_once, end - at - start))
                at += rows
        state.refuse_changed(str(self.path), self.path)

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
        state = self.state.begin(str(self.path), self.path)
        with self.opened() as file:
            for number in range(file.num_record_batches) if sections is None else sections:
                state.refuse_changed(str(self.path), self.path)
                batch = file.get_batch(number)
                batch.validate()
                yield batch
        state.refuse_changed(str(self.path), self.path)
