"""Tables: from batches of named columns to blocks, shared by CSV, TSV, Parquet and Arrow files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import DataError, RunError
from ..machine import fitting
from ..values import loss_of, unusable_error
from .arrow_values import Where, is_numeric, numbers_of
from .base import DataSource, Missing, Source, SourceFacts
from .encoded_rows import block_of, encode_batch
from .encoding import Column, EncodedRows, Encoding
from .formats import Layout
from .inference import check_columns_exist, check_target_column, pick_columns, refuse_repeated
from .options import ReadOptions
from .writers import LABEL, Create, regroup, titles_of, write_batches

BATCH_ROWS = 4096
BATCH_VALUES = 1 << 22  # of a table, at most
BYTES_PER_VALUE = 24  # of a table: in Arrow, in a matrix and in a block


def batch_values() -> int:
    """Return a suitable number of values for a batch of a table."""
    return fitting(BATCH_VALUES, BYTES_PER_VALUE)


def rows_at_once(values_per_row: float, most_values: int) -> int:
    """Return a suitable number of rows for a batch."""
    return max(1, min(BATCH_ROWS, int(most_values / max(1, values_per_row))))


@contextmanager
def explain_damage(path: Path, what: str) -> Iterator[None]:
    """Convert the errors that Arrow raises on a damaged file into one message."""
    try:
        yield
    # Parquet raises RuntimeError
    except (pa.ArrowException, UnicodeDecodeError, OSError, RuntimeError) as error:
        if isinstance(error, DataError | RunError) or getattr(error, "errno", None):
            raise
        reason = str(error).splitlines()[0]
        raise DataError(
            f"{path}: not {what}, or cut short or damaged ({reason}); write it again"
        ) from error


class DecodedRows(NamedTuple):
    """Rows of a table; rows with new levels become a block after all rows before them."""

    rows: EncodedRows
    y: NDArray[Any] | None
    weights: NDArray[np.float64] | None
    block: RowBlock | None = None

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.rows.numbers)


Finish = Callable[[DecodedRows], DecodedRows]


class TableSource(Source):
    """Named columns, one of them the target.

    ``columns`` picks the features by name, in that order; then the target may be missing, as in
    rows to predict. An empty list stands for all columns but the target, which may be missing then,
    too; there may be no such columns. With ``columns=None``, ``options`` may omit some columns.
    Columns are numbers unless an encoding says how else they are to be read.
    """

    _encoding: Encoding
    label_column: str | None  # the target, if the table has it

    def __init__(
        self,
        facts: SourceFacts,
        available: list[str],
        columns: list[str] | None,
        options: ReadOptions,
    ) -> None:
        target, weight, name = options.target, options.weight, facts.name
        refuse_repeated(available, name)
        if not columns:
            if target is not None or columns is None:
                check_target_column(target, available, name)
            columns = pick_columns(
                [column for column in available if column != target], options, name
            )
        columns = [column for column in columns if column != weight]
        check_columns_exist([*columns, *([] if weight is None else [weight])], available, name)
        self.label_column = target if target in available else None
        has_labels = self.label_column is not None
        super().__init__(
            replace(facts, takes_target=True, target=target, has_labels=has_labels, weight=weight)
        )
        self.use_encoding(Encoding([Column(name, "number") for name in columns]))

    def use_encoding(self, encoding: Encoding, grows: bool = False) -> None:
        """Read columns by an encoding from now on.

        Unknown levels become features if it ``grows``; otherwise one of each column is recorded.
        """
        self._encoding, self.grows = encoding, grows and encoding.has_groups
        self.unseen: dict[str, str] = {}
        self.facts = replace(self.facts, encoding=encoding)

    @property
    def columns(self) -> list[str]:
        """Return the columns that become features."""
        return self._encoding.column_names

    @property
    def features_and_weight(self) -> list[str]:
        """Return the columns that become features, and the column of the weights."""
        return self.columns if self.facts.weight is None else [*self.columns, self.facts.weight]

    def where(self, first_row: int) -> Where:
        """Return the location of some rows, for messages."""
        return Where(self.name, first_row, None if self.grows else self.unseen, self.grows)

    def with_columns(self, options: ReadOptions) -> Self:
        return self.with_features_of(pick_columns(self.columns, options, self.name))

    def with_target_only(self) -> DataSource:
        return self.with_features_of([])

    def with_features_of(self, columns: Sequence[str]) -> Self:
        """Return the same table with some of its columns, in the order of the table."""
        table, wanted = copy(self), set(columns)
        positions = {
            at for at, column in enumerate(self._encoding.columns) if column.table_column in wanted
        }
        table.use_encoding(self._encoding.with_columns(positions), self.grows)
        return table

    def complete(self) -> None:
        if self.grows:
            for _ in self.row_blocks("keep"):
                pass
            self.grows = False

    @abstractmethod
    def _decode_rows(self, missing: Missing, finish: Finish) -> Iterator[DecodedRows]:
        """Yield all rows; ``finish`` is applied to parts of them.

        It is called on the threads that decode the rows.
        """

    def decode(self, batch: pa.RecordBatch, first_row: int, missing: Missing) -> DecodedRows:
        """Return the rows of a batch."""
        target, weight, where = self.label_column, self.facts.weight, self.where(first_row)
        rows = encode_batch(self._encoding, batch, where, missing == "keep")
        y = None if target is None else labels(batch.column(target), target, self.name, first_row)
        weights = None if weight is None else numbers_of(batch.column(weight), weight, where)
        return self.weighted(rows, y, weights)

    def weighted(
        self, rows: EncodedRows, y: NDArray[Any] | None, weights: NDArray[np.float64] | None
    ) -> DecodedRows:
        """Return rows with their labels and weights; raise DataError if a weight is missing."""
        if weights is not None and np.isnan(weights).any():
            raise rows.where.missing_value_error(
                int(np.argmax(np.isnan(weights))), str(self.facts.weight)
            )
        return DecodedRows(rows, y, weights)

    def _block(self, part: DecodedRows) -> RowBlock:
        """Return rows as a block.

        All rows before those with new levels must have become blocks.
        """
        block = block_of(self._encoding, self._encoding.learn(part.rows), part.y)
        return block.derived(sample_weight=part.weights, encoding=self._encoding)

    def _with_block(self, part: DecodedRows) -> DecodedRows:
        """Return rows together with their block, if no level is new."""
        return part if part.rows.new is not None else part._replace(block=self._block(part))

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        for part in self._decode_rows(missing, self._with_block):
            yield self._block(part) if part.block is None else part.block
        Where(self.name, unseen=self.unseen).warn_unseen()

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows] | None:
        if self._encoding.has_groups:
            return None
        return (
            DenseRows(part.rows.numbers, part.y)
            for part in self._decode_rows(missing, lambda part: part)
        )


def as_array(column: pa.Array) -> NDArray[Any]:
    """Return integers or floating point numbers, none of them missing, as a NumPy array.

    ``to_numpy`` would import pandas.
    """
    return np.from_dlpack(column)


def labels(column: pa.Array, name: str, origin: str, first_row: int) -> NDArray[Any]:
    """Return the target column: numbers as they are, text as text."""
    if column.null_count:
        row = first_row + column.is_null().index(True).as_py() + 1
        raise DataError(
            f"{origin}: row {row}: the target {name!r} has no value; fill it in or drop the row"
        )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    loss = loss_of(column.type)
    if loss:
        raise unusable_error(f"the target {name!r}", loss, origin)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if is_numeric(column.type):
        return as_array(column)
    if not pa.types.is_boolean(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException as error:  # bytes that are not text
            raise DataError(
                f"{origin}: the target {name!r} holds {column.type} values; labels must be numbers"
                " or text"
            ) from error
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def write_table(create: Create, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as named columns, with zeros and the labels last; return the number of rows."""
    titles, target = titles_of(layout), layout.target or LABEL
    pieces = regroup(blocks, rows_at_once(len(titles), batch_values()))
    return write_batches((_table_batch(block, titles, target) for block in pieces), create)


def _table_batch(block: RowBlock, titles: list[str], target: str) -> pa.RecordBatch:
    dense = block.derived(n_features=len(titles)).to_dense(np.float32)
    # NaN is a missing value
    columns = [pa.array(dense[:, position], from_pandas=True) for position in range(len(titles))]
    if block.y is None:
        return pa.RecordBatch.from_arrays(columns, titles)
    return pa.RecordBatch.from_arrays([*columns, pa.array(block.y)], [*titles, target])
