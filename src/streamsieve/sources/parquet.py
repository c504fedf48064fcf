"""Parquet files: tables of named columns, or sparse rows as lists of ids and values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, tidy_rows
from ..errors import DataError
from .base import BaseSource, file_size
from .tables import BatchSource, TableSource, labels

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH_ROWS = 4096
WIDTH_KEY, NAMES_KEY = b"n_features", b"feature_names"
SPARSE_COLUMNS = ["label", "indices", "values"]


def open_parquet(path: Path, target: str | None, columns: list[str] | None) -> BaseSource:
    """The source for a Parquet file: sparse rows if it has the columns of those."""
    with parquet_file(path) as file:
        schema = file.schema_arrow
        sparse = schema.names == SPARSE_COLUMNS and all(is_list(schema.field(name).type) for name in SPARSE_COLUMNS[1:])
    return SparseParquetSource(path) if sparse else ParquetSource(path, target, columns)


def is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind))


def parquet_file(path: Path) -> pq.ParquetFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file_size(path)
    try:
        return pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: not a Parquet file, or cut short ({error}); write it again") from error


class ParquetSource(TableSource):
    """Columns of numbers in a Parquet file."""

    def __init__(self, path: str | Path, target: str | None = None, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        super().__init__(str(path), target, columns)

    def _column_names(self) -> list[str]:
        with parquet_file(self.path) as file:
            self.n_rows = file.metadata.num_rows
            names: list[str] = file.schema_arrow.names
            return names

    def _batches(self) -> Iterator[pa.RecordBatch]:
        used = [*self.columns, *([str(self.target)] if self.has_target else [])]
        rows = max(1, min(BATCH_ROWS, (1 << 22) // len(used)))
        with parquet_file(self.path) as file:
            yield from file.iter_batches(rows, columns=used)


class SparseParquetSource(BatchSource):
    """Sparse rows: columns ``label``, ``indices`` (list of int) and ``values`` (list of float)."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(str(path))
        self.path = Path(path)
        with parquet_file(self.path) as file:
            self.n_rows = file.metadata.num_rows
            metadata = file.schema_arrow.metadata or {}
        if WIDTH_KEY in metadata:
            self.n_features = int(metadata[WIDTH_KEY])
        if NAMES_KEY in metadata:
            self.feature_names = np.array(json.loads(metadata[NAMES_KEY]), dtype=object)

    def _blocks(self) -> Iterator[RowBlock]:
        first_row = 0
        with parquet_file(self.path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                yield self._block(batch, first_row)
                first_row += batch.num_rows

    def _entries(self, lists: pa.Array, fits: Callable[[Any], bool], what: str, first_row: int) -> NDArray[Any]:
        entries = lists.flatten()
        if entries.null_count or not fits(entries.type):
            found = "missing entries" if entries.null_count else f"{entries.type} values"
            raise DataError(
                f"{self.name}: from row {first_row + 1} on, a list of {what} holds {found}; write the file again"
            )
        numbers: NDArray[Any] = entries.to_numpy(zero_copy_only=False)
        return numbers

    def _block(self, batch: pa.RecordBatch, first_row: int) -> RowBlock:
        import pyarrow.types as kind

        def is_number(type_: pa.DataType) -> bool:
            return bool(kind.is_integer(type_) or kind.is_floating(type_))

        lists, weights = batch.column("indices"), batch.column("values")
        if lists.null_count or weights.null_count or not lists.offsets.equals(weights.offsets):
            raise DataError(
                f"{self.name}: from row {first_row + 1} on, indices and values differ in length; write the file again"
            )
        indptr = lists.offsets.to_numpy().astype(np.int64)
        indptr -= indptr[0]
        indices: NDArray[Any] = self._entries(lists, kind.is_integer, "whole numbers", first_row)
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        with np.errstate(over="ignore"):
            values = self._entries(weights, is_number, "numbers", first_row).astype(np.float32, copy=False)
        if indices.size and indices.min() < 0:
            raise DataError(f"{self.name}: a negative feature id; ids start at 0")
        width = max(self.n_features or 0, int(indices.max()) + 1 if indices.size else 0)
        falls = np.diff(indices) <= 0
        starts = indptr[1:-1]
        falls[starts[(starts > 0) & (starts < indices.size)] - 1] = False
        if falls.any() or not values.all():
            (indptr, indices, values), repeated = tidy_rows(indptr, indices, values, width)
            if repeated:
                raise DataError(f"{self.name}: row {first_row + repeated[0] + 1}: feature {repeated[1]} stands twice")
        y = labels(batch.column("label"), "label", self.name, first_row)
        return RowBlock(indptr, indices, values, y, width, self.name)
