"""Encode rows and columns of a table as features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..blocks import RowBlock, dense_block
from ..kernels.reading.entries import NO_LEVEL, count_entries, write_entries
from .arrow_values import Where, calendar_of, cells_of, days_of, numbers_of, truth_of
from .encoding import CALENDAR, Column, EncodedRows, Encoding
from .levels import NewCells, TextCells


def encode_batch(
    encoding: Encoding,
    batch: pa.RecordBatch,
    where: Where,
    keep_missing: bool,
    kind: Any = np.float32,
) -> EncodedRows:
    """Return the rows of a batch, encoded.

    ``keep_missing`` gives NaN for missing numbers that are not filled in.
    """
    numbers = np.empty((batch.num_rows, len(encoding.others)), kind)
    with np.errstate(over="ignore"):
        for index, position in enumerate(encoding.others):
            values = batch.column(encoding.columns[position].name)
            numbers[:, index] = read_numbers(encoding, position, values, where)
    return encode_rows(encoding, numbers, text_cells(encoding, batch, where), where, keep_missing)


def text_cells(encoding: Encoding, batch: pa.RecordBatch, where: Where) -> list[TextCells]:
    """Return the cells of all columns of text."""
    columns = [encoding.columns[position] for position in encoding.texts]
    return [column_cells(column, batch.column(column.table_column), where) for column in columns]


def column_cells(column: Column, values: pa.Array, where: Where) -> TextCells:
    """Return the cells of a column of text, or of a date as text."""
    if column.kind in CALENDAR:
        values = calendar_of(values, column.kind, column.table_column, where)
    return cells_of(values, column.table_column, where)


def encode_rows(
    encoding: Encoding,
    numbers: NDArray[Any],
    texts: Sequence[TextCells],
    where: Where,
    keep_missing: bool,
) -> EncodedRows:
    """Return encoded rows, given their numbers, with NaN for missing numbers."""
    fill_missing(encoding, numbers, where, keep_missing)
    codes = np.empty((len(numbers), len(texts)), np.int64)
    parts = []
    for column, cells in enumerate(texts):
        codes[:, column], new = codes_of(encoding, column, cells, where, keep_missing)
        parts += [] if new is None else [new]
    return EncodedRows(numbers, codes, NewCells.joined(parts) if parts else None, where)


def codes_of(
    encoding: Encoding, column: int, cells: TextCells, where: Where, keep_missing: bool
) -> tuple[NDArray[np.int64], NewCells | None]:
    """Return the feature of every cell of a column of text, and the cells with a new level.

    If the encoding does not grow, new levels are ignored, and ``where`` records one.
    """
    described = encoding.columns[encoding.texts[column]]
    if encoding.missing == "error" and not keep_missing and (cells.ends < 0).any():
        raise where.missing_value_error(int(np.argmax(cells.ends < 0)), described.table_column)
    n_buckets = encoding.n_buckets if described.kind == "hash" else 0
    codes, new = encoding.levels.find(column, n_buckets, cells, where, described.name)
    codes[codes >= 0] += encoding.n_numbers
    if new is not None and not where.grows:
        if where.unseen is not None:
            where.unseen.setdefault(described.name, new.text(0))
        codes[new.rows], new = NO_LEVEL, None
    return codes, new


def fill_missing(
    encoding: Encoding, numbers: NDArray[Any], where: Where, keep_missing: bool
) -> None:
    """Fill in missing numbers; raise DataError if they cannot be missing, or for infinity."""
    is_finite = np.isfinite(numbers)
    if is_finite.all():
        return
    allows_nan = keep_missing or encoding.missing in ("zero", "mean")
    is_invalid = np.isinf(numbers) if allows_nan else ~is_finite
    if is_invalid.any():
        row, index = np.argwhere(is_invalid)[0].tolist()
        name, value = encoding.columns[encoding.others[index]].name, float(numbers[row, index])
        raise (
            where.missing_value_error(row, name)
            if np.isnan(value)
            else where.infinite_value_error(row, name)
        )
    if encoding.missing in ("zero", "mean"):
        fills = np.array([encoding.columns[position].fill for position in encoding.others])
        numbers[~is_finite] = np.broadcast_to(fills, numbers.shape)[~is_finite]


def read_numbers(
    encoding: Encoding, position: int, values: pa.Array, where: Where
) -> NDArray[np.float64]:
    """Return a column that is not text as numbers, with NaN for missing values."""
    column = encoding.columns[position]
    if column.kind == "date":
        return days_of(values, column.name, where, may_be_days=encoding.reduced)
    return (truth_of if column.kind == "boolean" else numbers_of)(values, column.name, where)


def block_of(encoding: Encoding, rows: EncodedRows, y: NDArray[Any] | None) -> RowBlock:
    """Return rows without new levels as a block."""
    numbers, codes, _, where = rows
    if not encoding.texts:
        return dense_block(numbers, y, where.origin)
    indptr, ids, values = entries_of(numbers, codes)
    return RowBlock.trusted(indptr, ids, values, y, encoding.n_features, where.origin)


def matrix_of(encoding: Encoding, parts: Sequence[EncodedRows]) -> Any:
    """Return all rows of a table in double precision.

    The result is an array, or a CSR matrix if there are columns of text.
    """
    if not encoding.texts:
        return np.concatenate(
            [part.numbers for part in parts] or [np.empty((0, encoding.n_features))]
        )
    from scipy.sparse import csr_array, vstack

    matrices = []
    for numbers, codes, _, _ in parts:
        indptr, ids, values = entries_of(numbers, codes)
        matrices.append(csr_array((values, ids, indptr), (len(numbers), encoding.n_features)))
    return vstack(matrices, format="csr") if matrices else csr_array((0, encoding.n_features))


def entries_of(
    numbers: NDArray[Any], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Return the entries of rows in CSR form."""
    indptr = np.zeros(len(numbers) + 1, np.int64)
    count_entries(numbers, codes, indptr)
    ids, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], numbers.dtype)
    write_entries(numbers, codes, ids, values)
    return indptr, ids, values


def filled_column(
    encoding: Encoding, position: int, values: pa.Array, where: Where
) -> NDArray[np.float64]:
    """Return a column that is not text as numbers, with NaN for missing values not filled in."""
    numbers = read_numbers(encoding, position, values, where)
    if encoding.missing not in ("zero", "mean"):
        return numbers
    return np.where(np.isnan(numbers), encoding.columns[position].fill, numbers)
