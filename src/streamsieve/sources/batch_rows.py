"""Rows of files that have them in batches: tables, and sparse rows as lists of ids and values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, canonical_rows, columns_of, next_cut
from ..errors import DataError
from ..json_text import from_json, to_json
from ..kernels.reading.entries import check_rows
from ..machine import reading_threads
from ..values import frozen
from .arrow_values import is_numeric
from .base import MAX_INDEX, Missing, NoRowsError, Source, SourceFacts, refuse_not_finite
from .columns import RangedColumns, cut_columns
from .encoded_rows import codes_of, column_cells, encode_rows, filled_column, text_cells
from .formats import Layout
from .inference import ColumnStats, Known, infer_by_types
from .options import ReadOptions
from .prefetch import ordered_map, read_ahead
from .tables import (
    BATCH_ROWS,
    DecodedRows,
    Finish,
    TableSource,
    as_array,
    batch_values,
    labels,
    rows_at_once,
)
from .writers import LABEL, Create, block_nonzeros, regroup, write_batches

if TYPE_CHECKING:
    from .batch_files import BatchFile

BATCHES_AHEAD = 2
INDICES, VALUES = "indices", "values"  # columns of sparse rows, in addition to ``LABEL``
WIDTH_KEY, NAMES_KEY = b"n_features", b"feature_names"  # in a schema's metadata
RENUMBERED_KEY = b"renumbered"  # the mark of a selection

Part = TypeVar("Part", RowBlock, DecodedRows)


class BatchSource(Source):
    """Rows of a file, or of a shard of it.

    One thread reads them, several decode and check them; they stay in order.
    """

    label_column: str | None  # None if the rows have no labels

    def set_file(self, file: BatchFile) -> None:
        """Use all rows of a file."""
        self.file, self.first, self.stop = file, 0, file.n_rows

    def batches(self, columns: list[str], batch_size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return these columns of all rows, at most ``batch_size`` rows at a time."""
        return self.file.batches(columns, self.first, self.stop, batch_size)

    def numbered_batches(
        self, columns: list[str], batch_size: int = BATCH_ROWS
    ) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield non-empty batches, each with the number of its first row in the file."""
        row = self.first
        for batch in self.batches(columns, batch_size):
            if batch.num_rows:
                yield batch, row
            row += batch.num_rows

    def decode_batches(
        self,
        batches: Iterator[tuple[pa.RecordBatch, int]],
        decode: Callable[[pa.RecordBatch, int], Part],
    ) -> Iterator[Part]:
        """Yield the results of ``decode`` for every batch and the number of its first row."""
        rows = self.bytes_read = 0
        threads = reading_threads()
        # Batches are large: one is read ahead, and each thread decodes one.
        batches_ahead = read_ahead(batches, 1)
        with closing(
            ordered_map(lambda item: decode(*item), batches_ahead, threads, threads)
        ) as parts:
            for part in parts:
                rows += part.n_rows
                self.bytes_read = (self.facts.n_bytes or 0) * rows // (self.stop - self.first)
                yield part
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def labels(self) -> Iterator[NDArray[Any]]:
        if self.label_column is None:
            raise DataError(f"{self.name}: the rows have no labels")
        row = -1
        for batch, row in self.numbered_batches([self.label_column]):
            yield labels(batch.column(self.label_column), self.label_column, self.name, row)
        if row < 0:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _shards(self, n: int) -> list[Source]:
        starts = self.file.cuts(self.first, self.stop, n)
        return [
            self._part(*bounds) for bounds in zip(starts, [*starts[1:], self.stop], strict=True)
        ]

    def _part(self, first: int, stop: int) -> Source:
        part, n_bytes = copy(self), self.file.n_bytes * (stop - first) // max(1, self.file.n_rows)
        part.first, part.stop, part.bytes_read = first, stop, 0
        part.facts = replace(self.facts, n_rows=stop - first, n_bytes=n_bytes)
        return part


def file_facts(file: BatchFile) -> SourceFacts:
    """Return the facts known about a file of rows."""
    return SourceFacts(
        str(file.path), file.n_rows, n_bytes=file.n_bytes, splittable=True, columns_splittable=True
    )


class BatchTable(BatchSource, TableSource, RangedColumns):
    """A table in a file that can be read by rows and by columns."""

    def __init__(self, file: BatchFile, columns: list[str] | None, options: ReadOptions) -> None:
        TableSource.__init__(self, file_facts(file), file.names, columns, options)
        self.set_file(file)

    def infer(self, options: ReadOptions, known_contents: Known) -> list[ColumnStats]:
        """Return the contents of the columns.

        The types of the columns tell most of it; only columns whose values matter are read.
        """
        schema = self.file.schema()
        types = {name: schema.field(name).type for name in self.features_and_weight}
        return infer_by_types(self.name, types, self.batches, options, known_contents)

    # ---- rows

    def _decode_rows(self, missing: Missing, finish: Finish) -> Iterator[DecodedRows]:
        columns = [
            *self.features_and_weight,
            *([] if self.label_column is None else [self.label_column]),
        ]
        batches = self.numbered_batches(columns, rows_at_once(len(columns), batch_values()))
        return self.decode_batches(
            batches, lambda batch, first: finish(self.decode(batch, first, missing))
        )

    def targets(self) -> NDArray[Any]:
        if self.label_column is None:
            raise DataError(f"{self.name}: the rows have no labels")
        column = self._read([self.label_column]).column(0).combine_chunks()
        return labels(column, self.label_column, self.name, self.first)

    # ---- columns

    def complete(self) -> None:
        if not self.grows:
            return
        encoding, where = self._encoding, self.where(0)
        names = dict.fromkeys(encoding.columns[at].table_column for at in encoding.texts)
        for batch in self.batches(list(names)):
            no_numbers = np.empty((batch.num_rows, 0))
            cells = text_cells(encoding, batch, where)
            encoding.learn(encode_rows(encoding, no_numbers, cells, where, True))
        self.grows = False

    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        n_numbers = self._encoding.n_numbers
        numbers = self._number_columns(first, min(stop, n_numbers))
        levels = self._level_columns(max(first, n_numbers), stop)
        return read_ahead(chain(numbers, levels), BATCHES_AHEAD)

    def _read(self, columns: list[str]) -> pa.Table:
        """Return these columns with all rows."""
        table = self.file.read(columns, self.first, self.stop)
        if not table.num_rows:
            raise NoRowsError(f"{self.name}: holds no rows")
        return table

    def _column_groups(self, positions: Sequence[int]) -> Iterator[list[tuple[int, pa.Array]]]:
        """Yield columns by their positions, as many at a time as are worth reading together."""
        group_size = max(1, batch_values() // max(1, self.n_rows or 1))
        for start in range(0, len(positions), group_size):
            names = {
                position: self._encoding.columns[position].table_column
                for position in positions[start : start + group_size]
            }
            table = self._read(list(dict.fromkeys(names.values())))
            yield [
                (position, table.column(name).combine_chunks()) for position, name in names.items()
            ]

    def _number_columns(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        for matrix in self._matrices(first, stop):
            names = self._encoding.feature_names[first : first + matrix.shape[1]]
            yield columns_of(matrix, first, names=np.asarray(names), origin=self.name)
            first += matrix.shape[1]

    def _level_columns(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        """Yield levels as columns; the columns of text that they are in are held in memory."""
        if first >= stop:
            return
        encoding, where = self._encoding, self.where(self.first)
        wanted = np.unique(encoding.levels.columns[first - encoding.n_numbers :][: stop - first])
        parts = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for columns in self._column_groups([encoding.texts[column] for column in wanted]):
            for position, values in columns:
                cells = column_cells(encoding.columns[position], values, where)
                codes, _ = codes_of(encoding, encoding.texts.index(position), cells, where, True)
                rows = np.flatnonzero((codes >= first) & (codes < stop))
                parts.append((codes[rows], rows))
        ids, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(ids, kind="stable")
        yield from cut_columns(
            np.searchsorted(ids[order], np.arange(first, stop + 1)),
            rows[order].astype(np.int32),
            np.ones(order.size),
            np.arange(first, stop),
            self.n_rows or 0,
            encoding.feature_names[first:stop],
            self.name,
        )

    def dense_columns(self) -> Iterator[NDArray[np.float64]] | None:
        if self._encoding.has_groups:
            return None
        return read_ahead(self._matrices(0, self._encoding.n_numbers), BATCHES_AHEAD)

    def _matrices(self, first: int, stop: int) -> Iterator[NDArray[np.float64]]:
        encoding, where = self._encoding, self.where(self.first)
        for columns in self._column_groups(encoding.others[first:stop]):
            matrix = np.empty((len(columns[0][1]), len(columns)), order="F")
            for index, (position, column) in enumerate(columns):
                matrix[:, index] = filled_column(encoding, position, column, where)
            yield matrix


# ---- lists of ids and values


def is_sparse(schema: pa.Schema) -> bool:
    """Return True if a schema has a column of lists of ids and one of lists of values."""
    return all(
        schema.names.count(name) == 1 and is_list(schema.field(name).type)
        for name in (INDICES, VALUES)
    )


def is_list(kind: pa.DataType) -> bool:
    """Return True for the types of lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def read_count(metadata: Mapping[bytes, bytes], key: bytes) -> int:
    """Return a number of rows or features in a schema's metadata, or raise ValueError."""
    digits = metadata[key].strip()
    if not digits.isdigit() or len(digits) > len(str(MAX_INDEX)) or int(digits) > MAX_INDEX + 1:
        shown = digits[:40].decode(errors="backslashreplace")
        raise ValueError(
            f"{key.decode()} must be an integer from 0 to {MAX_INDEX + 1:,}, got {shown!r}"
        )
    return int(digits)


class ListReader(NamedTuple):
    """A reader of lists of integers and values, which are checked; ``unit`` names a record."""

    name: str  # of the file
    unit: str

    def offsets(self, lists: pa.Array, first: int) -> NDArray[np.int64]:
        """Return the starts of the lists of records, counted from 0."""
        if lists.null_count:
            raise self._length_error(first)
        offsets: NDArray[np.int64] = as_array(lists.offsets).astype(np.int64)
        if offsets[0] < 0 or offsets[-1] > len(lists.values) or (np.diff(offsets) < 0).any():
            raise self._damage_error(first, "the lists are damaged")
        offsets -= offsets[0]
        return offsets

    def shared_offsets(self, batch: pa.RecordBatch, first: int) -> NDArray[np.int64]:
        """Return the starts of the lists of records, which must be the same for ids and values."""
        indptr = self.offsets(batch.column(INDICES), first)
        if not np.array_equal(indptr, self.offsets(batch.column(VALUES), first)):
            raise self._length_error(first)
        return indptr

    def entries(
        self, lists: pa.Array, fits: Callable[[Any], bool], what: str, first: int
    ) -> NDArray[Any]:
        """Return the entries of all lists, whose type must satisfy ``fits``."""
        entries = lists.flatten()
        if entries.null_count or not fits(entries.type):
            content = "missing entries" if entries.null_count else f"{entries.type} values"
            raise self._damage_error(first, f"a list of {what} holds {content}")
        return as_array(entries)

    def _length_error(self, first: int) -> DataError:
        return self._damage_error(first, "indices and values differ in length")

    def _damage_error(self, first: int, what: str) -> DataError:
        return DataError(
            f"{self.name}: from {self.unit} {first + 1} on, {what}; write the file again"
        )


class SparseSource(BatchSource):
    """Sparse rows in a file.

    They have columns ``indices`` (list of int) and ``values`` (list of float), and ``label`` if
    they have labels.
    """

    def __init__(self, file: BatchFile, schema: pa.Schema) -> None:
        self.set_file(file)
        self.label_column = LABEL if LABEL in file.names else None
        self.batch_size, metadata = file.list_batch_size(), schema.metadata or {}
        self.lists = ListReader(str(file.path), "row")
        try:
            names = from_json(metadata[NAMES_KEY]) if NAMES_KEY in metadata else []
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("the feature names must be a list of strings")
            feature_names = np.array(names, dtype=object) if NAMES_KEY in metadata else None
            width = None if feature_names is None else len(names)
            width = read_count(metadata, WIDTH_KEY) if WIDTH_KEY in metadata else width
            mark = metadata[RENUMBERED_KEY].decode() if RENUMBERED_KEY in metadata else None
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{file.path}: its metadata cannot be read ({error}); write the file again"
            ) from error
        if feature_names is not None and len(names) != width:
            raise DataError(
                f"{file.path}: its metadata has {len(names):,} names for {width:,} features; write"
                " the file again"
            )
        facts = replace(
            file_facts(file), n_features=width, feature_names=feature_names, renumbered=mark
        )
        super().__init__(replace(facts, has_labels=self.label_column is not None))

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        return self.decode_batches(
            self._cut_batches(), lambda batch, first: self._block(batch, first, missing)
        )

    def _cut_batches(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches of a good size, each with the number of its first row."""
        max_nonzeros, columns = (
            block_nonzeros(),
            [INDICES, VALUES, *([LABEL] if self.has_labels else [])],
        )
        for batch, row in self.numbered_batches(columns, self.batch_size):
            indptr = self.lists.shared_offsets(batch, row)
            start = 0
            while start < batch.num_rows:
                stop = next_cut(indptr, start, rows_at_once(1, max_nonzeros), max_nonzeros)
                yield batch.slice(start, stop - start), row + start
                start = stop

    def _block(self, batch: pa.RecordBatch, first_row: int, missing: Missing) -> RowBlock:
        indptr = self.lists.shared_offsets(batch, first_row)
        indices = self.lists.entries(
            batch.column(INDICES), pa.types.is_integer, "integers", first_row
        )
        if indices.dtype == np.uint64 and indices.size and indices.max() > MAX_INDEX:
            raise self._id_error(int(indices.max()))
        indices = frozen(
            indices, indices.dtype if indices.dtype in (np.int32, np.int64) else np.int64
        )
        with np.errstate(over="ignore"):
            values = frozen(
                self.lists.entries(batch.column(VALUES), is_numeric, "numbers", first_row),
                np.float32,
            )
        lowest, highest, is_canonical, is_finite = check_rows(
            indptr, indices, values.view(np.uint32)
        )
        if lowest < 0:
            raise DataError(f"{self.name}: a negative feature id; ids start at 0")
        if highest > MAX_INDEX:
            raise self._id_error(highest)
        width = highest + 1 if self.n_features is None else self.n_features
        if highest >= width:
            row = first_row + int(
                np.searchsorted(indptr, np.argmax(indices >= width), side="right")
            )
            raise DataError(
                f"{self.name}: row {row}: feature {int(indices[indices >= width][0])} in a file of"
                f" {width:,} features, counted from 0; write the file again"
            )
        if not is_canonical:
            (indptr, indices, values), repeated = canonical_rows(indptr, indices, values, width)
            if repeated:
                raise DataError(
                    f"{self.name}: row {first_row + repeated[0] + 1}: feature {repeated[1]} appears"
                    " twice"
                )
        y = labels(batch.column(LABEL), LABEL, self.name, first_row) if self.has_labels else None
        block = RowBlock.trusted(indptr, indices, values, y, width, self.name)
        if not is_finite:
            refuse_not_finite(block, first_row, self.feature_names, missing)
        return block

    def _id_error(self, index: int) -> DataError:
        return DataError(
            f"{self.name}: feature id {index} is too large: the largest is {MAX_INDEX:,}; hash"
            " or renumber the features"
        )


def write_sparse(create: Create, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as lists of ids and values; return the number of rows.

    Ids are int32 if the width is known to fit, int64 otherwise.
    """
    metadata = {} if layout.n_features is None else {WIDTH_KEY: str(layout.n_features).encode()}
    if layout.feature_names is not None:
        metadata[NAMES_KEY] = to_json([str(name) for name in layout.feature_names]).encode()
    if layout.renumbered is not None:
        metadata[RENUMBERED_KEY] = layout.renumbered.encode()
    id_type = (
        pa.int32() if layout.n_features is not None and layout.n_features < 2**31 else pa.int64()
    )

    def batch_of(block: RowBlock) -> pa.RecordBatch:
        offsets = pa.array(block.indptr.astype(np.int32))
        columns = {} if block.y is None else {LABEL: pa.array(block.y)}
        columns |= {
            INDICES: pa.ListArray.from_arrays(offsets, pa.array(block.indices, id_type)),
            VALUES: pa.ListArray.from_arrays(offsets, pa.array(block.values)),
        }
        return pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata)

    return write_batches(map(batch_of, regroup(blocks, rows_at_once(1, block_nonzeros()))), create)
