"""Parquet files: tables of named columns, or sparse rows as lists of ids and values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .base import BaseSource, file_size
from .lists import BLOCK_NONZEROS, VALUES, SparseSource, is_sparse
from .tables import BATCH_VALUES, ColumnTableSource, damage_named, rows_at_once

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def open_parquet(path: Path, target: str | None, columns: list[str] | None) -> BaseSource:
    """The source for a Parquet file: sparse rows if it has the columns of those."""
    with parquet_file(path) as file:
        sparse = is_sparse(file.schema_arrow)
    return SparseParquetSource(path) if sparse else ParquetSource(path, target, columns)


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """An open file, read as it is decoded: Arrow's own buffering would hold all of a file that has been read."""
    import pyarrow.parquet as pq

    file_size(path)
    with damage_named(path, "a Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
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


def entries_per_row(metadata: pq.FileMetaData) -> float:
    """The mean length of a list of values, so that a batch of long rows has few of them."""
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    entries = sum(
        group.column(column).num_values
        for group in groups
        for column in range(group.num_columns)
        if group.column(column).path_in_schema.split(".")[0] == VALUES
    )
    return float(entries / max(1, metadata.num_rows))
