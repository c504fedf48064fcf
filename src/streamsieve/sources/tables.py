"""Batches of Arrow columns to blocks: what CSV, TSV and Parquet files share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, dense_block
from ..errors import DataError
from .arrays import refuse_not_finite
from .base import BaseSource
from .prefetch import read_ahead

if TYPE_CHECKING:
    import pyarrow as pa

BATCHES_AHEAD = 2


class BatchSource(BaseSource):
    """Rows that come in batches of a file; ``_blocks`` makes a block of each, on another thread."""

    def _blocks(self) -> Iterator[RowBlock]:
        raise NotImplementedError

    def row_blocks(self) -> Iterator[RowBlock]:
        rows = 0
        for block in read_ahead(self._blocks(), BATCHES_AHEAD):
            refuse_not_finite(block, rows, self.feature_names)
            rows += block.n_rows
            yield block
        if not rows:
            raise DataError(f"{self.name}: holds no rows")


class TableSource(BatchSource):
    """A file of named columns, one of them the target.

    ``columns`` picks the features by name, in that order; then the target may be missing, as in rows to predict.
    """

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
        missing = [column for column in columns if column not in there]
        if missing:
            raise DataError(f"{name}: the column {missing[0]!r} is not there; {listing(available)}")
        if not columns:
            raise DataError(f"{name}: there is no column but the target {target!r}")
        self.columns = columns
        self.has_target = target in there
        self.n_features = len(self.columns)
        self.feature_names = np.array(self.columns, dtype=object)

    def _column_names(self) -> list[str]:
        raise NotImplementedError

    def _batches(self) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError

    def _blocks(self) -> Iterator[RowBlock]:
        row = 0
        for batch in self._batches():
            if not batch.num_rows:
                continue
            matrix = np.empty((batch.num_rows, len(self.columns)))
            for position, column in enumerate(self.columns):
                matrix[:, position] = numbers(batch.column(column), column, self.name, row)
            y = labels(batch.column(self.target), str(self.target), self.name, row) if self.has_target else None
            with np.errstate(over="ignore"):
                yield dense_block(matrix, y, self.name)
            row += batch.num_rows


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
    floats: NDArray[Any] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


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
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
