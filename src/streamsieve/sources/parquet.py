"""Parquet files: tables of named columns, or sparse rows as lists of ids and values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .base import Source, file_size
from .column_lists import ColumnListSource, is_columns
from .lists import BLOCK_NONZEROS, VALUES, SparseSource, is_sparse
from .tables import BATCH_VALUES, ColumnTableSource, damage_named, rows_at_once

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_METADATA = 2**31 - 1  # bytes: a file of columns has the target there


def open_parquet(path: Path, target: str | None, columns: list[str] | None) -> Source:
    """The source for a Parquet file: columns or sparse rows if it has the fields of those."""
    with parquet_file(path) as file:
        by_columns, sparse = is_columns(file.schema_arrow), is_sparse(file.schema_arrow)
    if by_columns:
        return ColumnParquetSource(path)
    return SparseParquetSource(path) if sparse else ParquetSource(path, target, columns)


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """An open file, read as it is decoded: Arrow's own buffering would hold all of a file that has been read."""
    import pyarrow.parquet as pq

    file_size(path)
    limits = {"thrift_string_size_limit": MOST_METADATA, "thrift_container_size_limit": MOST_METADATA}
    with damage_named(path, "a Parquet file"), pq.ParquetFile(path, pre_buffer=False, **limits) as file:
        yield file


class ParquetSource(ColumnTableSource):
    """Columns of numbers in a Parquet file."""

    def __init__(self, path: str | Path, target: str | None = None, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        self.n_bytes = file_size(self.path)
        super().__init__(str(path), target, columns)

    def _column_names(self) -> list[str]:
        with parquet_file(self.path) as file:
            self.n_rows = file.metadata.num_rows
            names: list[str] = file.schema_arrow.names
            return names

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with parquet_file(self.path) as file:
            yield from file.iter_batches(rows_at_once(len(self.used), BATCH_VALUES), columns=self.used)

    def _read(self, columns: list[str]) -> pa.Table:
        with parquet_file(self.path) as file:
            return file.read(columns=columns)


class SparseParquetSource(SparseSource):
    """Sparse rows in a Parquet file."""

    def __init__(self, path: str | Path) -> None:
        with parquet_file(Path(path)) as file:
            super().__init__(Path(path), file.schema_arrow)
            self.n_rows = file.metadata.num_rows
        self.n_bytes = file_size(self.path)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with parquet_file(self.path) as file:
            rows = rows_at_once(entries_per_row(file.metadata), BLOCK_NONZEROS)
            yield from file.iter_batches(rows, columns=self.used)


class ColumnParquetSource(ColumnListSource):
    """Columns in a Parquet file."""

    def __init__(self, path: str | Path) -> None:
        with parquet_file(Path(path)) as file:
            super().__init__(Path(path), file.schema_arrow)
        self.n_bytes = file_size(self.path)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with parquet_file(self.path) as file:
            for number in range(file.num_row_groups):  # each by itself: some columns are a thousand times longer
                group = file.metadata.row_group(number)
                columns = max(1, int(BLOCK_NONZEROS * group.num_rows / max(1, entries_of(group))))
                yield from file.iter_batches(columns, row_groups=[number], columns=self.used)


def entries_per_row(metadata: pq.FileMetaData) -> float:
    """The mean length of a list of values, so that a batch of long rows has few of them."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return float(sum(map(entries_of, groups)) / max(1, metadata.num_rows))


def entries_of(group: pq.RowGroupMetaData) -> int:
    """The entries of all lists of values in a part of a file."""
    columns = (group.column(number) for number in range(group.num_columns))
    return sum(column.num_values for column in columns if column.path_in_schema.split(".")[0] == VALUES)
