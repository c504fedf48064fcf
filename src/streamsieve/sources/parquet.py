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
from .batch_rows import BatchTable
from .column_lists import FEATURE, ColumnListSource, Section, batches_of_columns, is_columns
from .columns import block_columns
from .file_state import FileState
from .formats import Layout
from .options import ReadOptions
from .prefetch import read_ahead
from .sparse_lists import INDICES, VALUES, SparseSource, is_sparse, write_sparse
from .tables import as_array, damage_named, rows_at_once, write_table
from .writers import block_nonzeros, write_batches

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BUFFER = 1 << 16  # bytes of a column that are read together
PAGE = 1 << 21  # bytes of a column that are decoded together, and its dictionary: most writers make both smaller
MOST_METADATA = 2**31 - 1  # bytes: a file of columns has the target there


def open_file(path: Path, options: ReadOptions, columns: list[str] | None) -> Source:
    """Return the source for a Parquet file: columns or sparse rows if it has the fields of those."""
    file = ParquetFile(path)
    schema = file.schema()
    if is_columns(schema):
        return ColumnListSource(file, schema)
    if is_sparse(schema):
        return SparseSource(file, schema, rows_at_once(file.entries_per_row(), block_nonzeros()))
    return BatchTable(file, columns, options)


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file that is read as it is decoded: Arrow's own ways would hold all of a row group, or of a file."""
    import pyarrow.parquet as pq

    file_size(path)
    limits = {"thrift_string_size_limit": MOST_METADATA, "thrift_container_size_limit": MOST_METADATA}
    with (
        damage_named(path, "a Parquet file"),
        pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER, **limits) as file,
    ):
        yield file


class ParquetFile:
    """A Parquet file, which is read from a row group on."""

    cuts_at_sections = True  # a part of a row group costs as much to read as all of it

    def __init__(self, path: Path) -> None:
        self.path, self.state = path, FileState.of(path)
        with opened(path) as file:
            self.names: list[str] = file.schema_arrow.names
            self.n_rows: int = file.metadata.num_rows
        self.n_bytes = self.state.size

    def schema(self) -> pa.Schema:
        """Return its schema."""
        with opened(self.path) as file:
            return file.schema_arrow

    # ---- rows

    def batches(self, columns: list[str], first: int, stop: int, at_once: int) -> Iterator[pa.RecordBatch]:
        """Yield these columns of some rows, so many or less at a time."""
        known = self.state.begin(str(self.path), self.path)
        starts = self._group_starts()
        with opened(self.path) as file:
            inside = [number for number, start in enumerate(starts[:-1]) if start < stop and starts[number + 1] > first]
            at = starts[inside[0]] if inside else 0
            refuse_large_groups(self.path, file, inside, columns)
            for batch in file.iter_batches(at_once, row_groups=inside, columns=columns):
                begin, end = max(first, at), min(stop, at + batch.num_rows)
                if begin < end:
                    yield batch.slice(begin - at, end - begin)
                at += batch.num_rows
        known.refuse_changed(str(self.path), self.path)

    def read(self, columns: list[str], first: int, stop: int) -> pa.Table:
        """Return these columns of some rows."""
        import pyarrow as pa

        with opened(self.path) as file:
            if (first, stop) == (0, file.metadata.num_rows):
                return file.read(columns=columns)
        return pa.Table.from_batches(list(self.batches(columns, first, stop, stop - first)))

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        """Return the rows that ``n`` parts begin with: those of groups, if there are enough of them."""
        cuts = [first + (stop - first) * part // n for part in range(n)]
        groups = np.array([start for start in self._group_starts() if first <= start < stop])
        if groups.size >= n:
            cuts = [int(groups[np.abs(groups - cut).argmin()]) for cut in cuts]
        return sorted({first, *cuts})

    def _group_starts(self) -> list[int]:
        """Return the first row of every group, and the number of rows."""
        with opened(self.path) as file:
            groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
            return [0, *np.cumsum([group.num_rows for group in groups], dtype=np.int64).tolist()]

    def entries_per_row(self) -> float:
        """Return the mean length of a list of values, so that a batch of long rows has few of them."""
        with opened(self.path) as file:
            groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
            return float(sum(map(entries_of, groups)) / max(1, self.n_rows))

    # ---- columns as records

    def sections(self) -> Iterator[Section]:
        """Yield the row groups that have records."""
        with opened(self.path) as file:
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                if group.num_rows:
                    yield Section(number, *self._bounds(number, group), group.num_rows, entries_of(group))

    def _bounds(self, number: int, group: pq.RowGroupMetaData) -> tuple[int, int]:
        """Return the ids of the first and the last record of a row group."""
        known = next(leaf.statistics for leaf in leaves_of(group) if leaf.path_in_schema == FEATURE)
        if known is not None and known.has_min_max:
            return known.min, known.max
        ids = self.ids_of(number)
        return int(ids[0]), int(ids[-1])

    def ids_of(self, section: int) -> NDArray[np.int64]:
        """Return the ids of the records of a row group."""
        with opened(self.path) as file:
            return as_array(file.read_row_group(section, columns=[FEATURE]).column(0).combine_chunks())

    def section_batches(self, columns: list[str], sections: Sequence[int] | None) -> Iterator[pa.RecordBatch]:
        """Yield the records of some row groups, or of all."""
        known = self.state.begin(str(self.path), self.path)
        with opened(self.path) as file:
            for number in range(file.num_row_groups) if sections is None else sections:
                group = file.metadata.row_group(number)  # each by itself: some columns are a thousand times longer
                records = int(block_nonzeros() * group.num_rows / max(1, entries_of(group)))
                at_once = max(1, min(records, block_columns()))
                yield from file.iter_batches(at_once, row_groups=[number], columns=columns)
        known.refuse_changed(str(self.path), self.path)


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
