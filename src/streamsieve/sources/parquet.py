"""Parquet files: tables of named columns, sparse rows as lists of ids and values, or columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..machine import refuse_beyond_memory
from .base import ColumnSource, Report, Source, file_size
from .changes import FileState
from .column_lists import FEATURE, ColumnListSource, Section, batches_of_columns, is_columns
from .columns import block_columns
from .formats import Layout
from .options import ReadOptions
from .prefetch import read_ahead
from .sparse_lists import INDICES, VALUES, SparseSource, is_sparse, write_sparse
from .tables import (
    BATCH_ROWS,
    BatchSource,
    ColumnTableSource,
    as_array,
    batch_values,
    damage_named,
    rows_at_once,
    write_table,
)
from .writers import block_nonzeros, write_batches

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BUFFER = 1 << 16  # bytes of a column that are read together
PAGE = 1 << 21  # bytes of a column that are decoded together, and its dictionary: most writers make both smaller
MOST_METADATA = 2**31 - 1  # bytes: a file of columns has the target there


def open_file(path: Path, options: ReadOptions, columns: list[str] | None) -> Source:
    """The source for a Parquet file: columns or sparse rows if it has the fields of those."""
    with parquet_file(path) as file:
        by_columns, sparse = is_columns(file.schema_arrow), is_sparse(file.schema_arrow)
    if by_columns:
        return ColumnParquetSource(path)
    if sparse:
        return SparseParquetSource(path)
    return ParquetSource(path, options.target, columns, options)


@contextmanager
def parquet_file(path: Path) -> Iterator[pq.ParquetFile]:
    """An open file, read as it is decoded: Arrow's own ways would hold all of a row group, or of a file."""
    import pyarrow.parquet as pq

    file_size(path)
    limits = {"thrift_string_size_limit": MOST_METADATA, "thrift_container_size_limit": MOST_METADATA}
    with (
        damage_named(path, "a Parquet file"),
        pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER, **limits) as file,
    ):
        yield file


class RowGroups(BatchSource):
    """Rows of a file, in groups; a shard begins and ends with a group, if there are enough of them."""

    path: Path
    _file: FileState

    def _group_starts(self) -> list[int]:
        """The first row of every group, and the number of rows."""
        with parquet_file(self.path) as file:
            groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
            return [0, *np.cumsum([group.num_rows for group in groups], dtype=np.int64).tolist()]

    def _shards(self, n: int) -> list[Source]:
        n_rows, first = self.n_rows or 0, self._first_row
        cuts = [n_rows * part // n for part in range(n)]
        groups = np.array([start - first for start in self._group_starts() if first <= start < first + n_rows])
        if groups.size >= n:
            cuts = [int(groups[np.abs(groups - cut).argmin()]) for cut in cuts]
        return self._row_ranges([0, *cuts])

    def _batches_of(self, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The rows of this source in batches of so many."""
        known = self._file.begin(self.name, self.path)
        starts, first = self._group_starts(), self._first_row
        last = first + (self.n_rows or 0)
        with parquet_file(self.path) as file:
            inside = [number for number, start in enumerate(starts[:-1]) if start < last and starts[number + 1] > first]
            at = starts[inside[0]] if inside else 0
            refuse_large_groups(self.path, file, inside, columns)
            for batch in file.iter_batches(rows, row_groups=inside, columns=columns):
                begin, end = max(first, at), min(last, at + batch.num_rows)
                if begin < end:
                    yield batch.slice(begin - at, end - begin)
                at += batch.num_rows
        known.refuse_changed(self.name, self.path)


class ParquetSource(RowGroups, ColumnTableSource):
    """Columns of numbers in a Parquet file."""

    def __init__(
        self,
        path: str | Path,
        target: str | None = None,
        columns: list[str] | None = None,
        options: ReadOptions | None = None,
    ) -> None:
        self.path = Path(path)
        self._file = FileState.of(self.path)
        self.n_bytes = self._file.size
        super().__init__(str(path), target, columns, options)

    def _column_names(self) -> list[str]:
        with parquet_file(self.path) as file:
            self.n_rows = file.metadata.num_rows
            names: list[str] = file.schema_arrow.names
            return names

    def _types(self) -> dict[str, pa.DataType]:
        with parquet_file(self.path) as file:
            return dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return self._batches_of(self.used, rows_at_once(len(self.used), batch_values()))

    def _batches_with(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        return self._batches_of(columns, BATCH_ROWS)

    def _read(self, columns: list[str]) -> pa.Table:
        with parquet_file(self.path) as file:
            if self.n_rows == file.metadata.num_rows:
                return file.read(columns=columns)
        import pyarrow as pa

        return pa.Table.from_batches(list(self._batches_of(columns, BATCH_ROWS)))


class SparseParquetSource(RowGroups, SparseSource):
    """Sparse rows in a Parquet file."""

    def __init__(self, path: str | Path) -> None:
        with parquet_file(Path(path)) as file:
            super().__init__(Path(path), file.schema_arrow)
            self.n_rows = file.metadata.num_rows
            self._entries_per_row = entries_per_row(file.metadata)
        self._file = FileState.of(self.path)
        self.n_bytes = self._file.size

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return self._batches_of(self.used, rows_at_once(self._entries_per_row, block_nonzeros()))


class ColumnParquetSource(ColumnListSource):
    """Columns in a Parquet file; a shard begins with a row group, if there are enough of them."""

    def __init__(self, path: str | Path) -> None:
        with parquet_file(Path(path)) as file:
            super().__init__(Path(path), file.schema_arrow)
        self._file = FileState.of(self.path)
        self.n_bytes = self._file.size

    def _schema(self) -> pa.Schema:
        with parquet_file(self.path) as file:
            return file.schema_arrow

    def _batches(self, sections: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        known = self._file.begin(self.name, self.path)
        with parquet_file(self.path) as file:
            for number in range(file.num_row_groups) if sections is None else sections:
                group = file.metadata.row_group(number)  # each by itself: some columns are a thousand times longer
                columns = int(block_nonzeros() * group.num_rows / max(1, entries_of(group)))
                yield from file.iter_batches(
                    max(1, min(columns, block_columns())), row_groups=[number], columns=self.used
                )
        known.refuse_changed(self.name, self.path)

    def _survey(self) -> Iterator[Section]:
        with parquet_file(self.path) as file:
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                if group.num_rows:
                    yield Section(number, *self._bounds(number, group), group.num_rows, entries_of(group))

    def _bounds(self, number: int, group: pq.RowGroupMetaData) -> tuple[int, int]:
        """The ids of the first and the last record of a row group."""
        known = next(leaf.statistics for leaf in leaves_of(group) if leaf.path_in_schema == FEATURE)
        if known is not None and known.has_min_max:
            return known.min, known.max
        ids = self._ids_of(number)
        return int(ids[0]), int(ids[-1])

    def _ids_of(self, section: int) -> NDArray[np.int64]:
        with parquet_file(self.path) as file:
            return as_array(file.read_row_group(section, columns=[FEATURE]).column(0).combine_chunks())

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        cuts = super().cuts(first, stop, n)
        starts = np.array([section.first for section in self._sections[1:] if first < section.first < stop])
        if starts.size < n - 1:  # some groups are read for two shards
            return cuts
        return sorted({first, *(int(starts[np.abs(starts - cut).argmin()]) for cut in cuts[1:])})


def refuse_large_groups(path: Path, file: pq.ParquetFile, groups: list[int], columns: list[str]) -> None:
    """Refuse row groups that take more memory to read than there is: their columns are decoded side by side."""
    used = set(columns)
    for number in groups:
        leaves = leaves_of(file.metadata.row_group(number))
        sizes = [leaf.total_uncompressed_size for leaf in leaves if leaf.path_in_schema.split(".")[0] in used]
        needed = sum(min(size, BUFFER) + 2 * min(size, PAGE) for size in sizes)
        unit = "column" if len(sizes) == 1 else "columns"
        what = f"{path}: {len(sizes):,} {unit} of row group {number + 1}, which are read together,"
        refuse_beyond_memory(needed, what, "write the file with smaller row groups")


def entries_per_row(metadata: pq.FileMetaData) -> float:
    """The mean length of a list of values, so that a batch of long rows has few of them."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return float(sum(map(entries_of, groups)) / max(1, metadata.num_rows))


def entries_of(group: pq.RowGroupMetaData) -> int:
    """The entries of all lists of values in a part of a file."""
    return sum(leaf.num_values for leaf in leaves_of(group) if leaf.path_in_schema.split(".")[0] == VALUES)


def leaves_of(group: pq.RowGroupMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    """What is known of each column of a part of a file."""
    return (group.column(number) for number in range(group.num_columns))


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as a table or as lists of ids and values; the number of rows."""
    write = write_table if layout.as_table else write_sparse
    return write(lambda schema: create(path, schema), blocks, layout)


def write_columns(path: Path, source: ColumnSource, report: Report | None) -> None:
    batches = read_ahead(batches_of_columns(source, report), 1)  # sorted while the one before is written
    write_batches(batches, lambda schema: create(path, schema))


def create(path: Path, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    if INDICES not in schema.names:
        return pq.ParquetWriter(path, schema, compression="zstd")
    # Ids that ascend are hardly ever worth a dictionary: their differences are coded in less.
    ascending = [f"{INDICES}.list.element", *([FEATURE] if FEATURE in schema.names else [])]
    others = [f"{VALUES}.list.element", *(name for name in schema.names if name not in (INDICES, VALUES, FEATURE))]
    known = dict.fromkeys(ascending, "DELTA_BINARY_PACKED")
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=others, column_encoding=known)
