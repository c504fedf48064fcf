"""Batches of Arrow columns to blocks: what CSV, TSV, Parquet and Arrow files share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of, dense_block
from ..errors import DataError
from .base import ColumnSource, Missing, Source, refuse_not_finite
from .prefetch import read_ahead

if TYPE_CHECKING:
    import pyarrow as pa

BATCHES_AHEAD = 2
BATCH_ROWS = 4096
BATCH_VALUES = 1 << 22  # of a table


def rows_at_once(values_per_row: float, most_values: int) -> int:
    """How many rows make a batch of a good size."""
    return max(1, min(BATCH_ROWS, int(most_values / max(1, values_per_row))))


@contextmanager
def damage_named(path: Path, what: str) -> Iterator[None]:
    """Turn what Arrow raises on a damaged file into one message."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, DataError) or getattr(error, "errno", None):
            raise
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: not {what}, or cut short or damaged ({reason}); write it again") from error


class BatchSource(Source):
    """Rows that come in batches of a file; ``_blocks`` makes checked blocks of them, on another thread."""

    def _blocks(self, missing: Missing) -> Iterator[RowBlock]:
        raise NotImplementedError

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        rows = self.bytes_read = 0
        for block in read_ahead(self._blocks(missing), BATCHES_AHEAD):
            rows += block.n_rows
            if self.n_bytes and self.n_rows:
                self.bytes_read = self.n_bytes * rows // self.n_rows
            yield block
        if not rows:
            raise DataError(f"{self.name}: holds no rows")


class TableSource(BatchSource):
    """A file of named columns, one of them the target.

    ``columns`` picks the features by name, in that order; then the target may be missing, as in rows to predict.
    """

    takes_target = True

    def __init__(self, name: str, target: str | None, columns: list[str] | None) -> None:
        super().__init__(name)
        self.target = target
        available = self._column_names()
        there = set(available)
        if len(there) < len(available):
            twice = next(column for column in available if available.count(column) > 1)
            raise DataError(f"{name}: column {twice!r} stands twice; rename one of them")
        if columns is None:
            if target is None:
                raise DataError(
                    f"{name}: which column is the target? Say --target NAME (target=...); {listing(available)}"
                )
            if target not in there:
                raise DataError(f"{name}: there is no column {target!r} for the target; {listing(available)}")
            columns = [column for column in available if column != target]
        absent = [column for column in columns if column not in there]
        if absent:
            raise DataError(f"{name}: the column {absent[0]!r} is not there; {listing(available)}")
        if not columns:
            raise DataError(f"{name}: there is no column but the target {target!r}")
        self.columns = columns
        self.has_labels = target in there
        self.used = [*columns, *([str(target)] if self.has_labels else [])]
        self.n_features = len(self.columns)
        self.feature_names = np.array(self.columns, dtype=object)

    def _column_names(self) -> list[str]:
        raise NotImplementedError

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, with the columns in ``used``."""
        raise NotImplementedError

    def _blocks(self, missing: Missing) -> Iterator[RowBlock]:
        row = 0
        for batch in self._batches():
            if not batch.num_rows:
                continue
            matrix = np.empty((batch.num_rows, len(self.columns)))
            for position, column in enumerate(self.columns):
                found = missing_as_nan(batch.column(column)) if missing == "keep" else batch.column(column)
                matrix[:, position] = numbers(found, column, self.name, row)
            y = labels(batch.column(self.target), str(self.target), self.name, row) if self.has_labels else None
            with np.errstate(over="ignore"):
                block = dense_block(matrix, y, self.name)
            refuse_not_finite(block, row, self.feature_names, missing)
            yield block
            row += batch.num_rows


class ColumnTableSource(TableSource, ColumnSource):
    """A table in a file that can be read column by column."""

    def _read(self, columns: list[str]) -> pa.Table:
        """These columns alone, all rows of them."""
        raise NotImplementedError

    def targets(self) -> NDArray[Any]:
        if not self.has_labels:
            raise DataError(f"{self.name}: the rows have no labels")
        column = self._read([str(self.target)]).column(0).combine_chunks()
        return labels(column, str(self.target), self.name, 0)

    def column_blocks(self) -> Iterator[ColumnBlock]:
        """The columns in order, a few at a time."""
        return read_ahead(self._column_blocks(), BATCHES_AHEAD)

    def _column_blocks(self) -> Iterator[ColumnBlock]:
        at_once = max(1, BATCH_VALUES // max(1, self.n_rows or 1))
        for start in range(0, len(self.columns), at_once):
            names = self.columns[start : start + at_once]
            table = self._read(names)
            matrix = np.empty((table.num_rows, len(names)), order="F")
            for position, name in enumerate(names):
                column = missing_as_nan(table.column(name).combine_chunks())
                matrix[:, position] = numbers(column, name, self.name, 0)
            yield columns_of(matrix, start, names=np.array(names, dtype=object), origin=self.name)


def missing_as_nan(column: pa.Array) -> pa.Array:
    """A column of numbers with NaN where a value is missing."""
    import pyarrow as pa
    import pyarrow.types as kind

    if column.null_count and (kind.is_integer(column.type) or kind.is_floating(column.type)):
        return column.cast(pa.float64(), safe=False).fill_null(float("nan"))
    return column


def plain_numbers(column: pa.Array) -> NDArray[Any]:
    """Whole or floating numbers, none of them missing, as they lie in memory; ``to_numpy`` would import pandas."""
    return np.from_dlpack(column)


def listing(names: list[str]) -> str:
    """The columns there are, for a message."""
    shown = ", ".join(names[:8])
    return f"the columns are {shown}" + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")


def numbers(column: pa.Array, name: str, origin: str, first_row: int) -> NDArray[Any]:
    """A column of numbers or truth values as float64; a missing value is refused here, where its row is known."""
    import pyarrow as pa
    import pyarrow.types as kind

    if column.null_count:
        row = first_row + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise DataError(f"{origin}: row {row}: column {name!r} has no value; fill it in or drop the row")
    if not (
        kind.is_integer(column.type)
        or kind.is_floating(column.type)
        or kind.is_boolean(column.type)
        or kind.is_decimal(column.type)
    ):
        raise DataError(
            f"{origin}: column {name!r} holds {column.type} values, not numbers; encode it as numbers or leave it out"
        )
    return plain_numbers(column.cast(pa.float64(), safe=False))


def labels(column: pa.Array, name: str, origin: str, first_row: int) -> NDArray[Any]:
    """The target column: numbers as they are, text as text."""
    import pyarrow.types as kind

    if column.null_count:
        row = first_row + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]) + 1
        raise DataError(f"{origin}: row {row}: the target {name!r} has no value; fill it in or drop the row")
    if kind.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind.is_nested(column.type):
        raise DataError(f"{origin}: the target {name!r} holds {column.type} values; a label is a number or a text")
    if kind.is_integer(column.type) or kind.is_floating(column.type):
        return plain_numbers(column)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
