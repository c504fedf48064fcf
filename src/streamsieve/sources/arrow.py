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
from .arrow_values import is_text
from .base import ColumnSource, NoRowsError, Report, Source, file_size
from .changes import FileState
from .column_lists import FEATURE, ColumnListSource, Section, batches_of_columns, is_columns
from .formats import Layout
from .options import ReadOptions
from .prefetch import read_ahead
from .sparse_lists import VALUES, SparseSource, is_sparse, write_sparse
from .tables import BatchSource, ColumnTableSource, as_array, batch_values, damage_named, rows_at_once, write_table
from .writers import LABEL, write_batches

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"ARROW1"
OTHERS = {  # how files begin that are Arrow's too
    b"\xff\xff\xff\xff": "an Arrow stream: write it as an Arrow file instead (pyarrow.ipc.new_file)",
    b"FEA1": "a Feather file of version 1: write it in version 2",
}


def open_file(path: Path, options: ReadOptions, columns: list[str] | None) -> Source:
    """The source for an Arrow file: columns or sparse rows if it has the fields of those."""
    with arrow_file(path) as file:
        by_columns, sparse = is_columns(file.schema), is_sparse(file.schema)
    if by_columns:
        return ColumnArrowSource(path)
    if sparse:
        return SparseArrowSource(path)
    return ArrowSource(path, options.target, columns, options)


@contextmanager
def arrow_file(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatchFileReader]:
    """An open file; all columns are mapped, or those named read, which copies them."""
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


class RecordBatches(BatchSource):
    """Rows of a file, in batches; a shard has a range of rows."""

    path: Path

    def _count(self, column: str) -> None:
        """Find the numbers of rows and bytes, from this column of every batch."""
        with arrow_file(self.path, [column]) as file:
            self._batch_rows = [file.get_batch(number).num_rows for number in range(file.num_record_batches)]
        self.n_rows = sum(self._batch_rows)
        self._file = FileState.of(self.path)
        self.n_bytes = self._file.size

    def _shards(self, n: int) -> list[Source]:
        n_rows = self.n_rows or 0
        return self._row_ranges(n_rows * part // n for part in range(n))

    def _batches_of(self, texts: Iterable[str], columns: list[str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of this source, of a file that has not changed, with all columns or these.

        Arrow believes what a file says of itself. What could lead it out of the mapping is checked here: the sizes of
        all columns, and of ``texts``, columns that may be text, every entry.
        """
        known = self._file.begin(self.name, self.path)
        first, at = self._first_row, 0
        last = first + (self.n_rows or 0)
        with arrow_file(self.path, columns) as file:
            for number, rows in enumerate(self._batch_rows):
                begin, end = max(first, at), min(last, at + rows)
                if begin < end:
                    known.refuse_changed(self.name, self.path)
                    batch = file.get_batch(number)
                    batch.validate()
                    for text in texts:
                        batch.column(text).validate(full=True)
                    yield batch.slice(begin - at, end - begin)
                at += rows
        known.refuse_changed(self.name, self.path)


class ArrowSource(RecordBatches, ColumnTableSource):
    """Columns of numbers in an Arrow file."""

    def __init__(
        self,
        path: str | Path,
        target: str | None = None,
        columns: list[str] | None = None,
        options: ReadOptions | None = None,
    ) -> None:
        self.path = Path(path)
        super().__init__(str(path), target, columns, options)
        self._count(self.used[-1])

    def _column_names(self) -> list[str]:
        with arrow_file(self.path) as file:
            names: list[str] = file.schema.names
        self._n_columns = len(names)
        return names

    def _types(self) -> dict[str, pa.DataType]:
        with arrow_file(self.path) as file:
            return dict(zip(file.schema.names, file.schema.types, strict=True))

    def _texts(self, columns: list[str]) -> list[str]:
        """The target and columns of text, among some."""
        coded = [] if self.encoding is None else [one.name for one in self.encoding.columns if one.kind != "number"]
        wanted = set(columns)
        return [name for name in (*coded, str(self.target)) if name in wanted]

    def _batches(self) -> Iterator[pa.RecordBatch]:
        rows = rows_at_once(len(self.used), batch_values())
        wanted = self.used if len(self.used) < self._n_columns else None
        for batch in self._batches_of(self._texts(self.used), wanted):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def _batches_with(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        types = self._types()
        return self._batches_of([name for name in columns if is_text(types[name])], columns)

    def _read(self, columns: list[str]) -> pa.Table:
        import pyarrow as pa

        batches = list(self._batches_of(self._texts(columns), columns))
        if not batches:
            raise NoRowsError(f"{self.name}: holds no rows")
        return pa.Table.from_batches(batches)


class SparseArrowSource(RecordBatches, SparseSource):
    """Sparse rows in an Arrow file."""

    def __init__(self, path: str | Path) -> None:
        with arrow_file(Path(path)) as file:
            super().__init__(Path(path), file.schema)
        self._count(self.used[-1])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return self._batches_of([LABEL] if self.has_labels else [], None)


class ColumnArrowSource(ColumnListSource):
    """Columns in an Arrow file."""

    def __init__(self, path: str | Path) -> None:
        with arrow_file(Path(path)) as file:
            super().__init__(Path(path), file.schema)
        self._file = FileState.of(self.path)
        self.n_bytes = self._file.size

    def _schema(self) -> pa.Schema:
        with arrow_file(self.path) as file:
            return file.schema

    def _batches(self, sections: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        known = self._file.begin(self.name, self.path)
        with arrow_file(self.path) as file:
            for number in range(file.num_record_batches) if sections is None else sections:
                known.refuse_changed(self.name, self.path)
                batch = file.get_batch(number)
                batch.validate()
                yield batch
        known.refuse_changed(self.name, self.path)

    def _survey(self) -> Iterator[Section]:
        column = 0
        for number, batch in enumerate(self._batches()):
            if batch.num_rows:
                ids, ends = as_array(batch.column(FEATURE)), self._offsets(batch.column(VALUES), column)
                yield Section(number, int(ids[0]), int(ids[-1]), batch.num_rows, int(ends[-1]))
            column += batch.num_rows

    def _ids_of(self, section: int) -> NDArray[np.int64]:
        return np.concatenate([as_array(batch.column(FEATURE)) for batch in self._batches([section])])


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
