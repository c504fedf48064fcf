"""Columns as lists of row numbers and values, one record each, in Parquet and Arrow files.

The records have ``feature`` (its id), ``indices`` (row numbers, from 0, ascending) and ``values``;
if known, also ``name`` and ``group``. Ids ascend from record to record. A feature without a record
has no values; in a file with names or groups, methods do not see it at all. The schema's metadata
has the numbers of rows and features, and the target of every row as a JSON list. NaN is a missing
value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of
from ..errors import DataError, UsageError
from ..json_text import from_json, to_json
from ..values import ascends, in_range
from .arrays import ArraySource
from .arrow_values import is_numeric
from .base import FEATURES_WRITTEN, ColumnSource, DataSource, Missing, Report, Source, SourceFacts
from .batch_rows import BATCHES_AHEAD, INDICES, VALUES, WIDTH_KEY, ListReader, read_count
from .columns import (
    MAX_FILLED_WIDTH,
    RangedColumns,
    balanced_cuts,
    with_empty_columns,
)
from .prefetch import read_ahead
from .tables import as_array
from .transpose import FEATURES_READ, MemoryBudget
from .writers import join_blocks, titles_of_ids

if TYPE_CHECKING:
    from .batch_files import BatchFile
    from .wrapped import KeptFeatures

FEATURE, NAME, GROUP = "feature", "name", "group"
NEEDS_ALL = (
    "and its columns are transposed into rows as a whole; use the file of rows that it was made"
    " from"
)
COLUMN = "column"  # the unit of a record, for messages
ROWS_KEY, TARGET_KEY = b"n_rows", b"target"  # in the schema's metadata
MAX_COLUMNS = 1 << 20  # in a batch of a file


def is_columns(schema: pa.Schema) -> bool:
    """Return True if records are columns, by the fields and metadata of a schema."""
    has_fields = all(schema.names.count(name) == 1 for name in (FEATURE, INDICES, VALUES))
    return has_fields and ROWS_KEY in (schema.metadata or {})


class Section(NamedTuple):
    """A part of a file that is read by itself: a record batch or row group with some records."""

    number: int
    first: int  # the ids of its first and last record
    last: int
    records: int
    entries: int  # of all lists of values


class ColumnListSource(Source, RangedColumns):
    """Columns of a file; rows are made by transposing the columns in memory.

    For a range of ids, only the sections of the file with these ids are read.
    """

    is_transposed = True
    _given_names: NDArray[Any] | None = None  # of all features

    def __init__(self, file: BatchFile, schema: pa.Schema) -> None:
        self.file, self.lists = file, ListReader(str(file.path), COLUMN)
        self.fields = [
            FEATURE,
            INDICES,
            VALUES,
            *(name for name in (NAME, GROUP) if name in schema.names),
        ]
        metadata = schema.metadata
        try:
            n_rows, width, self.y = (
                read_count(metadata, ROWS_KEY),
                read_count(metadata, WIDTH_KEY),
                target_of(schema),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(
                f"{file.path}: its metadata cannot be read ({error}); write the file again"
            ) from error
        if self.y.shape != (n_rows,):
            raise DataError(
                f"{file.path}: its metadata has {self.y.size:,} labels for {n_rows:,} rows; write"
                " the file again"
            )
        super().__init__(
            SourceFacts(
                str(file.path),
                n_rows,
                width,
                names_in_blocks=NAME in self.fields,
                n_bytes=file.n_bytes,
                columns_splittable=True,
                has_groups=GROUP in self.fields,
            )
        )

    @cached_property
    def y(self) -> NDArray[Any]:
        """Return the target; a pickled copy of this source reads it from the file again."""
        return target_of(self.file.schema())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "y"}

    def keep_features(self, kept: KeptFeatures) -> DataSource:
        return self.with_facts(kept=kept.joined(self.facts.kept))

    def named(self, names: NDArray[Any], origin: str) -> DataSource:
        source = self.with_facts(n_features=names.size, names_in_blocks=True)
        source._given_names = names
        return source

    @property
    def _has_empty_columns(self) -> bool:
        """Return True if features without a record are included, as columns without values."""
        return (
            not (NAME in self.fields or GROUP in self.fields)
            and (self.n_features or 0) <= MAX_FILLED_WIDTH
        )

    def targets(self) -> NDArray[Any]:
        return self.y

    def _shards(self, n: int) -> list[Source]:
        raise UsageError(
            f"{self.name}: a file of columns cannot be split into parts of rows; split the file of"
            " rows that it was made from"
        )

    @cached_property
    def _sections(self) -> list[Section]:
        """Return all sections; shards carry them along, as they are few."""
        sections, column, last = list(self.file.sections()), 0, -1
        for section in sections:
            if not last < section.first <= section.last < (self.n_features or 0):
                raise self._order_error(column)
            column, last = column + section.records, section.last
        return sections

    def cuts(self, first: int, stop: int, n: int) -> list[int]:
        sections, width = self._sections, self.n_features or 0
        bounds = np.array(
            [0, *(end for section in sections for end in (section.first, section.last + 1)), width]
        )
        work = [
            section.entries + (0 if self._has_empty_columns else section.records)
            for section in sections
        ]
        before = np.cumsum([0, *(part for size in work for part in (0, size)), 0]) + (
            bounds if self._has_empty_columns else 0
        )
        ids = np.concatenate([[first], bounds[(first < bounds) & (bounds < stop)], [stop]])
        cuts = balanced_cuts(ids, np.interp(ids, bounds, before), n)
        # Cuts move on to ids that have a record, so that every part has one.
        if not self._has_empty_columns:
            moved = {self._next_recorded_id(cut) for cut in cuts[1:]} - {
                first,
                self._next_recorded_id(0),
            }
            cuts = [first, *sorted(feature for feature in moved if feature < stop)]
        starts = np.array(
            [section.first for section in sections[1:] if first < section.first < stop]
        )
        if not self.file.cuts_at_sections or starts.size < n - 1:
            return cuts
        return sorted({first, *(int(starts[np.abs(starts - cut).argmin()]) for cut in cuts[1:])})

    def _next_recorded_id(self, lowest: int) -> int:
        """Return the first id from ``lowest`` on that is kept and has a record, or the width."""
        for section in self._sections:
            if section.last >= lowest:
                ids = self.file.ids_of(section.number)
                ids = ids[ids >= lowest]
                ids = ids if self.facts.kept is None else ids[self.facts.kept.among(ids)]
                if ids.size:
                    return int(ids[0])
        return self.n_features or 0

    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        """Yield the columns in order, including those without values."""
        blocks = read_ahead(self._column_blocks(first, stop), BATCHES_AHEAD)
        if self._has_empty_columns:
            blocks = with_empty_columns(blocks, self.n_features or 0, self.n_rows or 0, first, stop)
        names = self._given_names
        return (
            blocks if names is None else (block.derived(names=names[block.ids]) for block in blocks)
        )

    def _column_blocks(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        column, last, highest, section_numbers = 0, -1, (self.n_features or 0) - 1, None
        if (first, stop) != (0, self.n_features):
            sections = [
                section
                for section in self._sections
                if section.last >= first and section.first < stop
            ]
            if not sections:
                return
            column = sum(section.records for section in self._sections if section.last < first)
            last, highest, section_numbers = (
                sections[0].first - 1,
                sections[-1].last,
                [section.number for section in sections],
            )
        for batch in self.file.section_batches(self.fields, section_numbers):
            if not batch.num_rows:
                continue
            block = self._column_block(batch, column)
            if block.ids[0] <= last or (np.diff(block.ids) <= 0).any() or block.ids[-1] > highest:
                raise self._order_error(column)
            column, last = column + batch.num_rows, int(block.ids[-1])
            begin, end = np.searchsorted(block.ids, [first, stop]).tolist()
            if begin < end:
                part = block.columns(begin, end)
                kept = (
                    part
                    if self.facts.kept is None
                    else part.masked(self.facts.kept.among(part.ids))
                )
                if kept.n_columns:
                    yield kept

    def _order_error(self, column: int) -> DataError:
        return DataError(
            f"{self.name}: from column {column + 1} on, the ids do not ascend from 0 to below"
            f" {self.n_features:,}; write the file again"
        )

    def _column_block(self, batch: pa.RecordBatch, first: int) -> ColumnBlock:
        indptr = self.lists.shared_offsets(batch, first)
        rows = self.lists.entries(batch.column(INDICES), pa.types.is_integer, "row numbers", first)
        values = self.lists.entries(batch.column(VALUES), is_numeric, "numbers", first)
        if not ascends(indptr, rows) or not in_range(rows, self.n_rows or 0):
            raise DataError(
                f"{self.name}: from column {first + 1} on, row numbers do not ascend from 0 to"
                f" below {self.n_rows:,}; write the file again"
            )
        ids = as_array(batch.column(FEATURE))
        names = (
            np.array(batch.column(NAME).to_pylist(), dtype=object) if NAME in self.fields else None
        )
        groups = as_array(batch.column(GROUP)) if GROUP in self.fields else None
        block = ColumnBlock(indptr, rows, values, ids, self.n_rows or 0, names, groups, self.name)
        return block if block.values.all() else block.without_zeros()

    def read_feature_names(self) -> NDArray[Any] | None:
        """Return the names of all features, or None if there are none or too many.

        A feature without a record has its id as name.
        """
        width = self.n_features or 0
        if self._given_names is not None or not self.has_names or width > MAX_FILLED_WIDTH:
            return self._given_names
        column = 0
        names = np.array(titles_of_ids(range(width)), dtype=object)
        for batch in self.file.section_batches([FEATURE, NAME], None):
            ids = as_array(batch.column(FEATURE))
            if not in_range(ids, width):
                raise self._order_error(column)
            names[ids] = batch.column(NAME).to_pylist()
            column += batch.num_rows
        return names

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        """Yield the rows; raise DataError if they do not fit in memory."""
        from scipy.sparse import csc_array

        room = MemoryBudget(self, None, FEATURES_READ, NEEDS_ALL)
        parts: list[ColumnBlock] = []
        for block in self._column_blocks(0, self.n_features or 0):
            room.take(block.n_columns, 2 * block.values.nbytes)
            parts.append(block)
        columns = ColumnBlock.joined(parts or [columns_of(np.empty((self.y.size, 0)))])
        parts.clear()
        ids = np.repeat(columns.ids, np.diff(columns.indptr))
        shape = self.y.size, self.n_features or 0
        matrix = csc_array((columns.values, (columns.indices, ids)), shape=shape).tocsr()
        return ArraySource(matrix, self.y, self.read_feature_names(), self.name).row_blocks(missing)


def target_of(schema: pa.Schema) -> NDArray[Any]:
    """Return the target of every row from the metadata of a schema."""
    y = np.array(from_json(schema.metadata[TARGET_KEY]))
    if y.dtype.kind not in "biufU":
        raise ValueError("the target is neither numbers nor text")
    return y


def batches_of_columns(
    source: ColumnSource, report: Report | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a source as records of a file, in batches of a good size.

    Columns without values are omitted, unless they have names or groups.
    """
    y = source.targets()
    metadata = {
        ROWS_KEY: str(y.size).encode(),
        WIDTH_KEY: str(source.n_features).encode(),
        TARGET_KEY: to_json(y.tolist()).encode(),
    }
    blocks = (
        block if block.names is not None or block.groups is not None else block.without_empty()
        for block in source.column_blocks()
    )
    for block in join_blocks(blocks, MAX_COLUMNS):
        offsets = pa.array(block.indptr.astype(np.int32))
        columns = {
            FEATURE: pa.array(block.ids),
            INDICES: pa.ListArray.from_arrays(offsets, pa.array(block.indices)),
            VALUES: pa.ListArray.from_arrays(
                offsets, pa.array(block.values.astype(source.facts.value_type))
            ),
        }
        if block.names is not None:
            columns[NAME] = pa.array(block.names.tolist(), pa.string())
        if block.groups is not None:
            columns[GROUP] = pa.array(block.groups)
        yield pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata)
        if report and block.n_columns:
            report(FEATURES_WRITTEN, int(block.ids[-1]) + 1, source.n_features)
