"""Arrow IPC files, mapped into memory: tables of named columns, sparse rows as lists of ids and values, or columns.

What is not compressed in the file is not copied: ids and values of a block are views of the file. So a file must not be
cut short while it is read; one that is written anew beside it and moved over it, as here, may be. Its size is looked at
before every batch; where it is cut short between that and the use of the batch, the system ends the process (SIGBUS).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError
from ..machine import map_file
from .base import ColumnSource, Report, Source, file_size
from .batch_rows import BatchTable
from .column_lists import COLUMN, FEATURE, ColumnListSource, Section, batches_of_columns, is_columns
from .file_state import FileState
from .formats import Layout
from .options import ReadOptions
from .prefetch import read_ahead
from .sparse_lists import VALUES, ListReader, SparseSource, is_list, is_sparse, write_sparse
from .tables import as_array, damage_named, write_table
from .writers import write_batches

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"ARROW1"
OTHERS = {  # how files begin that are Arrow's too
    b"\xff\xff\xff\xff": "an Arrow stream: write it as an Arrow file instead (pyarrow.ipc.new_file)",
    b"FEA1": "a Feather file of version 1: write it in version 2",
}


def open_file(path: Path, options: ReadOptions, columns: list[str] | None) -> Source:
    """Return the source for an Arrow file: columns or sparse rows if it has the fields of those."""
    file = ArrowFile(path)
    schema = file.schema()
    if is_columns(schema):
        return ColumnListSource(file, schema)
    if is_sparse(schema):
        return SparseSource(file, schema, max(1, file.n_rows))
    return BatchTable(file, columns, options)


@contextmanager
def opened(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatchFileReader]:
    """Open a file; all columns are mapped, or those named read, which copies them."""
    import pyarrow as pa

    file_size(path)
    with path.open("rb") as raw:
        start = raw.read(len(MAGIC))
    for other, kind in OTHERS.items():
        if start.startswith(other):
            raise DataError(f"{path}: this is {kind}")
    if start != MAGIC:
        raise DataError(f"{path}: not an Arrow file, or cut short; write it again")
    with damage_named(path, "an Arrow file"):
        mapped = pa.py_buffer(map_file(path))
        file = pa.ipc.open_file(mapped)
        if columns is not None:
            fields = [file.schema.get_field_index(column) for column in columns]
            file = pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=fields))
        yield file


class ArrowFile:
    """An Arrow file, mapped into memory."""

    cuts_at_sections = False

    def __init__(self, path: Path) -> None:
        self.path = path
        with opened(path) as file:
            self.names: list[str] = file.schema.names
        with opened(path, self.names[-1:]) as file:
            self._batch_rows = [file.get_batch(number).num_rows for number in range(file.num_record_batches)]
        self.n_rows, self.state = sum(self._batch_rows), FileState.of(path)
        self.n_bytes = self.state.size

    def schema(self) -> pa.Schema:
        """Return its schema."""
        with opened(self.path) as file:
            return file.schema

    # ---- rows

    def batches(self, columns: list[str], first: int, stop: int, at_once: int) -> Iterator[pa.RecordBatch]:
        """Yield these columns of some rows, so many or less at a time.

        Arrow believes what a file says of itself. What could lead it out of the mapping is checked here: the sizes of
        all columns and, of columns that may be text, every entry.
        """
        known = self.state.begin(str(self.path), self.path)
        schema, at = self.schema(), 0
        checked = [name for name in columns if not has_sizes(schema.field(name).type)]
        is_whole = len(columns) == len(self.names) or any(is_list(schema.field(name).type) for name in columns)
        with opened(self.path, None if is_whole else columns) as file:
            for number, rows in enumerate(self._batch_rows):
                begin, end = max(first, at), min(stop, at + rows)
                if begin < end:
                    known.refuse_changed(str(self.path), self.path)
                    batch = file.get_batch(number)
                    batch.validate()
                    for name in checked:
                        batch.column(name).validate(full=True)
                    for start in range(begin - at, end - at, at_once):
                        yield batch.slice(start, min(at_once, end - at - start))
                at += rows
        known.refuse_changed(str(self.path), self.path)

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        """Return these columns of some rows."""
        import pyarrow as pa

        batches = list(self.batches(columns, first, stop, max(1, stop - first)))
        return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in columns})

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the rows that ``n`` parts begin with."""
        return sorted({first + (stop - first) * part // n for part in range(n)})

    # ---- columns as records

    def sections(self) -> Iterator[Section]:
        """Yield the record batches that have records."""
        record = 0
        for number, batch in enumerate(self.section_batches(self.names, None)):
            if batch.num_rows:
                ids, lists = as_array(batch.column(FEATURE)), ListReader(str(self.path), COLUMN)
                ends = lists.offsets(batch.column(VALUES), record)
                yield Section(number, int(ids[0]), int(ids[-1]), batch.num_rows, int(ends[-1]))
            record += batch.num_rows

    def ids_of(self, section: int) -> NDArray[np.int64]:
        """Return the ids of the records of a record batch."""
        batches = self.section_batches(self.names, [section])
        return np.concatenate([as_array(batch.column(FEATURE)) for batch in batches])

    def section_batches(self, columns: list[str], sections: Sequence[int] | None) -> Iterator[pa.RecordBatch]:
        """Yield the records of some record batches, or of all."""
        known = self.state.begin(str(self.path), self.path)
        with opened(self.path) as file:
            for number in range(file.num_record_batches) if sections is None else sections:
                known.refuse_changed(str(self.path), self.path)
                batch = file.get_batch(number)
                batch.validate()
                yield batch
        known.refuse_changed(str(self.path), self.path)


def has_sizes(kind: pa.DataType) -> bool:
    """Return True for a type of which a check of sizes is enough; lists are checked where they are read."""
    import pyarrow.types as types

    return bool(types.is_primitive(kind)) or is_list(kind)


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as a table or as lists of ids and values; the number of rows."""
    write = write_table if layout.as_table else write_sparse
    return write(lambda schema: create(path, schema), blocks, layout)


def write_columns(path: Path, source: ColumnSource, report: Report | None) -> None:
    batches = read_ahead(batches_of_columns(source, report), 1)  # sorted while the one before is written
    write_batches(batches, lambda schema: create(path, schema))


def create(path: Path, schema: pa.Schema) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(str(path), schema)
