"""Arrow IPC files: tables of named columns, or sparse rows as lists of ids and values, mapped into memory.

What is not compressed in the file is not copied: ids and values of a block are views of the file. So a file must not be
cut short while it is read; one that is written anew beside its place and moved over it, as here, may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from .base import Source, file_size
from .column_lists import ColumnListSource, is_columns
from .lists import LABEL, SparseSource, is_sparse
from .tables import BATCH_VALUES, ColumnTableSource, damage_named, rows_at_once

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"ARROW1"
OTHERS = {  # how files begin that are Arrow's too
    b"\xff\xff\xff\xff": "an Arrow stream: write it as an Arrow file instead (pyarrow.ipc.new_file)",
    b"FEA1": "a Feather file of version 1: write it in version 2",
}


def open_arrow(path: Path, target: str | None, columns: list[str] | None) -> Source:
    """The source for an Arrow file: columns or sparse rows if it has the fields of those."""
    with arrow_file(path) as file:
        by_columns, sparse = is_columns(file.schema), is_sparse(file.schema)
    if by_columns:
        return ColumnArrowSource(path)
    return SparseArrowSource(path) if sparse else ArrowSource(path, target, columns)


@contextmanager
def arrow_file(path: Path, places: list[int] | None = None) -> Iterator[pa.RecordBatchFileReader]:
    """An open file; all columns are mapped, or those at some places read, which copies them."""
    import pyarrow as pa

    file_size(path)
    with path.open("rb") as raw:
        start = raw.read(len(MAGIC))
    for other, kind in OTHERS.items():
        if start.startswith(other):
            raise DataError(f"{path}: this is {kind}")
    if start != MAGIC:
        raise DataError(f"{path}: not an Arrow file, or cut short; write it again")
    with damage_named(path, "an Arrow file"), pa.memory_map(str(path)) as mapped:
        yield pa.ipc.open_file(mapped, options=pa.ipc.IpcReadOptions(included_fields=places))


def count_rows(path: Path, column: str) -> int:
    """The number of rows, from this column of every batch."""
    with arrow_file(path) as file:
        places = [file.schema.get_field_index(column)]
    with arrow_file(path, places) as file:
        return sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))


def batches(
    path: Path, n_bytes: int | None, target: str | None, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The batches of a file that has not changed its size, with all columns or these.

    Arrow believes what a file says of itself. What could lead it out of the mapping is checked here: the sizes of all
    columns, and of the ``target``, which may be text, every entry.
    """
    if file_size(path) != n_bytes:
        raise DataError(f"{path}: has changed since it was opened; open it again")
    places = None
    if columns is not None:
        with arrow_file(path) as file:
            places = [file.schema.get_field_index(column) for column in columns]
    with arrow_file(path, places) as file:
        for number in range(file.num_record_batches):
            batch = file.get_batch(number)
            batch.validate()
            if target is not None:
                batch.column(target).validate(full=True)
            yield batch


class ArrowSource(ColumnTableSource):
    """Columns of numbers in an Arrow file."""

    def __init__(self, path: str | Path, target: str | None = None, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        self.n_bytes = file_size(self.path)
        super().__init__(str(path), target, columns)
        self.n_rows = count_rows(self.path, self.used[-1])

    def _column_names(self) -> list[str]:
        with arrow_file(self.path) as file:
            names: list[str] = file.schema.names
        self._n_columns = len(names)
        return names

    def _batches(self) -> Iterator[pa.RecordBatch]:
        rows = rows_at_once(len(self.used), BATCH_VALUES)
        wanted = self.used if len(self.used) < self._n_columns else None
        for batch in batches(self.path, self.n_bytes, str(self.target) if self.has_labels else None, wanted):
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def _read(self, columns: list[str]) -> pa.Table:
        import pyarrow as pa

        return pa.Table.from_batches(list(batches(self.path, self.n_bytes, None, columns)))


class SparseArrowSource(SparseSource):
    """Sparse rows in an Arrow file."""

    def __init__(self, path: str | Path) -> None:
        with arrow_file(Path(path)) as file:
            super().__init__(Path(path), file.schema)
        self.n_bytes = file_size(self.path)
        self.n_rows = count_rows(self.path, self.used[-1])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return batches(self.path, self.n_bytes, LABEL if self.has_labels else None)


class ColumnArrowSource(ColumnListSource):
    """Columns in an Arrow file."""

    def __init__(self, path: str | Path) -> None:
        with arrow_file(Path(path)) as file:
            super().__init__(Path(path), file.schema)
        self.n_bytes = file_size(self.path)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return batches(self.path, self.n_bytes, None)
