"""Batches of Arrow columns to blocks: what CSV, TSV, Parquet and Arrow files share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, DenseRows, RowBlock, columns_of, dense_block
from ..errors import DataError, RunError
from ..machine import fitting, reading_threads
from ..values import loss_of, unusable
from .arrow_values import CURE_MISSING, Where
from .base import AbsentColumnError, Missing, NoRowsError, Source, not_finite
from .columns import RangedColumns
from .encoding import Encoding
from .formats import Layout
from .options import ReadOptions
from .prefetch import ordered_map, read_ahead
from .survey import Content, Facts, hint, listing, picked, refuse_repeated, survey_by_types
from .writers import LABEL, Create, regrouped, titles_of, write_batches

if TYPE_CHECKING:
    import pyarrow as pa

BATCHES_AHEAD = 2
BATCH_ROWS = 4096
BATCH_VALUES = 1 << 22  # of a table, at most
BYTES_PER_VALUE = 24  # of a table: as Arrow has it, in a matrix and in a block

Part = TypeVar("Part", RowBlock, DenseRows)


def batch_values() -> int:
    """How many values of a table make a batch of a good size."""
    return fitting(BATCH_VALUES, BYTES_PER_VALUE)


def rows_at_once(values_per_row: float, most_values: int) -> int:
    """How many rows make a batch of a good size."""
    return max(1, min(BATCH_ROWS, int(most_values / max(1, values_per_row))))


@contextmanager
def damage_named(path: Path, what: str) -> Iterator[None]:
    """Turn what Arrow raises on a damaged file into one message."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError, RuntimeError) as error:  # the last from inside Parquet
        if isinstance(error, DataError | RunError) or getattr(error, "errno", None):
            raise
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: not {what}, or cut short or damaged ({reason}); write it again") from error


class BatchSource(Source):
    """Rows that come in batches of a file: read on one thread, decoded and checked on several, in order.

    A shard has the rows from ``_first_row`` on of the file, as many as ``n_rows``.
    """

    splittable = True
    used: list[str]  # the columns to read
    _first_row = 0

    @abstractmethod
    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, with the columns in ``used``."""

    def _decoded(self, decode: Callable[[pa.RecordBatch, int], Part]) -> Iterator[Part]:
        """What ``decode`` makes of every batch and the number of its first row."""
        rows = self.bytes_read = 0
        threads = reading_threads()
        batches = read_ahead(self._numbered(), 1)  # batches are large: one read ahead, one for every thread
        with closing(ordered_map(lambda item: decode(*item), batches, threads, threads)) as parts:
            for part in parts:
                rows += part.n_rows
                if self.n_bytes and self.n_rows:
                    self.bytes_read = self.n_bytes * rows // self.n_rows
                yield part
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _numbered(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        row = self._first_row
        for batch in self._batches():
            if batch.num_rows:
                yield batch, row
            row += batch.num_rows

    def _labels(self, column: str) -> Iterator[NDArray[Any]]:
        """The labels in a column, which is all that is read."""
        if not self.has_labels:
            raise DataError(f"{self.name}: the rows have no labels")
        alone, found = copy(self), False
        alone.used = [column]
        for batch, row in BatchSource._numbered(alone):
            found = True
            yield labels(batch.column(column), column, self.name, row)
        if not found:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _row_ranges(self, cuts: Iterable[int]) -> list[Source]:
        """Shards that begin at these rows, counted from the first of this source."""
        starts, n_rows = sorted(set(cuts)), self.n_rows or 0
        return [self._rows(start, stop) for start, stop in zip(starts, [*starts[1:], n_rows], strict=True)]

    def _rows(self, start: int, stop: int) -> Source:
        part = copy(self)
        part._first_row, part.n_rows, part.bytes_read = self._first_row + start, stop - start, 0
        part.n_bytes = (self.n_bytes or 0) * (stop - start) // max(1, self.n_rows or 0)
        return part


class TableSource(Source):
    """A file of named columns, one of them the target.

    ``columns`` picks the features by name, in that order; then the target may be missing, as in rows to predict. No
    names at all stand for all columns but the target, of which there may be none, and which may be missing then, too.
    Otherwise ``options`` may omit some. Columns are numbers unless an encoding says how else they are to be read.
    """

    takes_target = True

    def __init__(
        self, name: str, target: str | None, columns: list[str] | None, options: ReadOptions | None = None
    ) -> None:
        super().__init__(name)
        self.target = target
        available = self._column_names()
        refuse_repeated(available, name)
        there = set(available)
        if not columns:
            if target is None and columns is None:
                message = f"{name}: which column is the target? Say --target NAME (target=...); {listing(available)}"
                raise AbsentColumnError(message, available)
            if target is not None and target not in there:
                raise DataError(f"{name}: there is no column {target!r} for the target; {hint(target, available)}")
            columns = picked([column for column in available if column != target], options or ReadOptions(), name)
        absent = [column for column in columns if column not in there]
        if absent:
            message = f"{name}: the column {absent[0]!r} is not there; {listing(available)}"
            raise AbsentColumnError(message, available)
        self.has_labels = target in there
        self._use(columns)
        self.n_features = len(self.columns)
        self.feature_names = np.array(self.columns, dtype=object)

    def _use(self, columns: list[str]) -> None:
        """Read these columns."""
        self.columns = columns
        self.used = [*columns, *([str(self.target)] if self.has_labels else [])]

    def with_columns(self, columns: list[str]) -> Self:
        """Return the same table with some of its columns, in its order."""
        some, wanted = copy(self), set(columns)
        if self.encoding is not None:
            kept = [column for column in self.encoding.columns if column.name in wanted]
            some.read_by(Encoding(kept, self.encoding.missing, self.encoding.reduced))
            return some
        some._use(columns)
        some.n_features, some.feature_names = len(columns), np.array(columns, dtype=object)
        return some

    def read_by(self, encoding: Encoding) -> None:
        """Give the features of an encoding from now on."""
        self._use(encoding.column_names)
        self.encoding, self.n_features = encoding, encoding.n_features
        self.feature_names = encoding.feature_names
        self._unseen: dict[str, str] = {}

    @abstractmethod
    def _column_names(self) -> list[str]:
        """All columns of the file."""

    def _dense(self, batch: pa.RecordBatch, first_row: int, missing: Missing) -> DenseRows:
        """The rows of a batch, checked."""
        matrix = np.empty((batch.num_rows, len(self.columns)), np.float32)
        with np.errstate(over="ignore"):
            for position, column in enumerate(self.columns):
                found = missing_as_nan(batch.column(column)) if missing == "keep" else batch.column(column)
                matrix[:, position] = numbers(found, column, self.name, first_row)
        y = labels(batch.column(self.target), str(self.target), self.name, first_row) if self.has_labels else None
        self._refuse_not_finite(matrix, first_row, missing)
        return DenseRows(matrix, y)

    def _refuse_not_finite(self, matrix: NDArray[np.float32], first_row: int, missing: Missing) -> None:
        finite = ~np.isinf(matrix) if missing == "keep" else np.isfinite(matrix)
        if not finite.all():
            row, column = (int(found[0]) for found in np.nonzero(~finite))
            raise not_finite(
                self.name, first_row + row + 1, f"column {self.columns[column]!r}", float(matrix[row, column])
            )

    def _block(self, rows: DenseRows) -> RowBlock:
        return dense_block(rows.values, rows.y, self.name)

    def _encoded(self, batch: pa.RecordBatch, first_row: int, missing: Missing) -> RowBlock:
        """The rows of a batch by the encoding."""
        assert self.encoding is not None, "tables without an encoding have dense rows"
        y = labels(batch.column(self.target), str(self.target), self.name, first_row) if self.has_labels else None
        where = Where(self.name, first_row, self._unseen)
        return self.encoding.row_block(batch, y, where, missing == "keep")

    def _say_unseen(self) -> None:
        """Say, at the end of the rows, which columns had levels that the encoding does not know."""
        if self.encoding is not None:
            Where(self.name, unseen=self._unseen).say_unseen()


class ColumnTableSource(BatchSource, TableSource, RangedColumns):
    """A table in a file that can be read column by column."""

    @abstractmethod
    def _read(self, columns: list[str]) -> pa.Table:
        """These columns alone, all rows of them."""

    @abstractmethod
    def _batches_with(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """These columns alone, a part of the rows at a time."""

    @abstractmethod
    def _types(self) -> dict[str, pa.DataType]:
        """What all columns are."""

    def survey(self, options: ReadOptions, known: dict[str, Content]) -> list[Facts]:
        """What its columns hold: their types say it, so that only those are read whose values must be known."""
        types = self._types()
        return survey_by_types(
            self.name, {name: types[name] for name in self.columns}, self._batches_with, options, known
        )

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        if self.encoding is not None:
            return self._ending(self._decoded(lambda batch, first: self._encoded(batch, first, missing)))
        return self._decoded(lambda batch, first: self._block(self._dense(batch, first, missing)))

    def _ending(self, blocks: Iterator[RowBlock]) -> Iterator[RowBlock]:
        yield from blocks
        self._say_unseen()

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows] | None:
        if self.encoding is not None:
            return None
        return self._decoded(lambda batch, first: self._dense(batch, first, missing))

    def labels(self) -> Iterator[NDArray[Any]]:
        return self._labels(str(self.target))

    def targets(self) -> NDArray[Any]:
        if not self.has_labels:
            raise DataError(f"{self.name}: the rows have no labels")
        column = self._read([str(self.target)]).column(0).combine_chunks()
        return labels(column, str(self.target), self.name, self._first_row)

    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        blocks = self._column_blocks if self.encoding is None else self._encoded_columns
        return read_ahead(blocks(first, stop), BATCHES_AHEAD)

    def _encoded_columns(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        """The features from ``first`` to before ``stop`` of the encoding."""
        encoding = self.encoding
        assert encoding is not None, "only encoded columns are read so"
        begin = int(np.searchsorted(encoding.starts, first, side="right")) - 1
        end = int(np.searchsorted(encoding.starts, stop))
        at_once = max(1, batch_values() // max(1, self.n_rows or 1))
        where = Where(self.name, self._first_row, self._unseen)
        for start in range(begin, end, at_once):
            positions = range(start, min(start + at_once, end))
            table = self._read([encoding.columns[position].name for position in positions])
            blocks = list(encoding.column_blocks(table, positions, where))
            block = ColumnBlock.joined([one for one in blocks if one.n_columns] or blocks[:1])
            yield block.columns(*np.searchsorted(block.ids, [first, stop]).tolist())

    def _column_blocks(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        for matrix in self._dense_columns(first, stop):
            names = np.array(self.columns[first : first + matrix.shape[1]], dtype=object)
            yield columns_of(matrix, first, names=names, origin=self.name)
            first += matrix.shape[1]

    def dense_columns(self) -> Iterator[NDArray[np.float64]] | None:
        if self.encoding is not None:
            return None
        return read_ahead(self._dense_columns(0, len(self.columns)), BATCHES_AHEAD)

    def _dense_columns(self, first: int, stop: int) -> Iterator[NDArray[np.float64]]:
        at_once = max(1, batch_values() // max(1, self.n_rows or 1))
        for start in range(first, stop, at_once):
            names = self.columns[start : min(start + at_once, stop)]
            table = self._read(names)
            matrix = np.empty((table.num_rows, len(names)), order="F")
            for position, name in enumerate(names):
                column = missing_as_nan(table.column(name).combine_chunks())
                matrix[:, position] = numbers(column, name, self.name, self._first_row)
            yield matrix


def missing_as_nan(column: pa.Array) -> pa.Array:
    """A column of numbers with NaN for values that are missing."""
    import pyarrow as pa
    import pyarrow.types as kind

    if column.null_count and (kind.is_integer(column.type) or kind.is_floating(column.type)):
        return column.cast(pa.float64(), safe=False).fill_null(float("nan"))
    return column


def as_array(column: pa.Array) -> NDArray[Any]:
    """Integers or floating numbers, none of them missing, as they are in memory; ``to_numpy`` would import pandas."""
    return np.from_dlpack(column)


def numbers(column: pa.Array, name: str, origin: str, first_row: int) -> NDArray[Any]:
    """A column of numbers or truth values as float64; a missing value is refused here, where its row is known."""
    import pyarrow as pa
    import pyarrow.types as kind

    if column.null_count:
        row = first_row + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise DataError(f"{origin}: row {row}: column {name!r} has no value; {CURE_MISSING}")
    loss = loss_of(column.type)
    if loss:
        raise unusable(f"column {name!r}", loss, origin)
    if not (
        kind.is_integer(column.type)
        or kind.is_floating(column.type)
        or kind.is_boolean(column.type)
        or kind.is_decimal(column.type)
    ):
        raise DataError(
            f"{origin}: column {name!r} holds {column.type} values, not numbers; encode it as numbers or omit it "
            f"(--drop {name})"
        )
    return as_array(column.cast(pa.float64(), safe=False))


def labels(column: pa.Array, name: str, origin: str, first_row: int) -> NDArray[Any]:
    """The target column: numbers as they are, text as text."""
    import pyarrow as pa
    import pyarrow.types as kind

    if column.null_count:
        row = first_row + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise DataError(f"{origin}: row {row}: the target {name!r} has no value; fill it in or drop the row")
    if kind.is_dictionary(column.type):
        column = column.dictionary_decode()
    loss = loss_of(column.type)
    if loss:
        raise unusable(f"the target {name!r}", loss, origin)
    if kind.is_decimal(column.type):
        column = column.cast(pa.float64())
    if kind.is_integer(column.type) or kind.is_floating(column.type):
        return as_array(column)
    if not kind.is_boolean(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException as error:  # bytes that are no text
            raise DataError(
                f"{origin}: the target {name!r} holds {column.type} values; a label is a number or a text"
            ) from error
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def write_table(create: Create, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as named columns, zeros filled in, the labels last; the number of rows."""
    titles, target = titles_of(layout), layout.target or LABEL
    pieces = regrouped(blocks, rows_at_once(len(titles), batch_values()))
    return write_batches((_table_batch(block, titles, target) for block in pieces), create)


def _table_batch(block: RowBlock, titles: list[str], target: str) -> pa.RecordBatch:
    import pyarrow as pa

    dense = block.derived(n_features=len(titles)).to_dense(np.float32)
    columns = [pa.array(dense[:, position], from_pandas=True) for position in range(len(titles))]  # NaN is missing
    if block.y is None:
        return pa.RecordBatch.from_arrays(columns, titles)
    return pa.RecordBatch.from_arrays([*columns, pa.array(block.y)], [*titles, target])
