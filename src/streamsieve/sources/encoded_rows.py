"""Encode rows and columns of a table as features."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of, dense_block
from ..kernels.reading.entries import NO_LEVEL, count_entries, write_entries
from .arrow_values import Where, days_of, first_rows, levels_in, numbers_of, truth_of
from .encoding import BUCKETS, FIRST_ROW, NUMBER, TEXT, EncodedRows, Encoding, LateLevel


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
            name = encoding.columns[position].name
            numbers[:, index] = read_numbers(encoding, position, batch.column(name), where)
    texts = [batch.column(encoding.columns[position].name) for position in encoding.texts]
    return encode_rows(encoding, numbers, texts, where, keep_missing)


def encode_rows(
    encoding: Encoding,
    numbers: NDArray[Any],
    texts: Sequence[pa.Array],
    where: Where,
    keep_missing: bool,
) -> EncodedRows:
    """Return encoded rows, given their numbers, with NaN for missing numbers."""
    fill_missing(encoding, numbers, where, keep_missing)
    codes = np.empty((len(numbers), len(encoding.texts)), np.int64)
    new: dict[LateLevel, list[int]] = {}
    for index, (position, values) in enumerate(zip(encoding.texts, texts, strict=True)):
        codes[:, index] = codes_of(encoding, position, values, where, keep_missing, new)
    return EncodedRows(numbers, codes, new, where)


def codes_of(
    encoding: Encoding,
    position: int,
    values: pa.Array,
    where: Where,
    keep_missing: bool,
    new: dict[LateLevel, list[int]],
) -> NDArray[np.int64]:
    """Return the feature of every row of a column of text.

    If the encoding grows, new levels are added to ``new``, each with its number and its first row.
    """
    column, ids, start = (
        encoding.columns[position],
        encoding.ids[position],
        int(encoding.starts[position]),
    )
    if values.null_count and encoding.missing == "error" and not keep_missing:
        raise where.missing_value_error(values.is_null().index(True).as_py(), column.name)
    levels, present = levels_in(values, column.name, where)
    if not levels:
        return present
    rows = first_rows(present, len(levels))
    level_codes = np.full(len(levels) + 1, NO_LEVEL)  # the last entry stands for no level
    for number, (level, row) in enumerate(zip(levels, rows.tolist(), strict=True)):
        if row < 0:
            continue  # a declared category may not occur
        if column.kind == "hash":
            level_codes[number] = start + bucket_of(column.name, level)
        elif level in ids:
            level_codes[number] = ids[level]
        elif where.grows:
            late = LateLevel(position, level)
            entry = new.setdefault(late, [len(new), row])
            entry[FIRST_ROW] = min(row, entry[FIRST_ROW])
            level_codes[number] = -2 - entry[NUMBER]
        elif where.unseen is not None:
            where.unseen.setdefault(column.name, level)
    return level_codes[present]


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
    indptr, ids, values = entries_of(encoding, numbers, codes)
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
        indptr, ids, values = entries_of(encoding, numbers, codes)
        matrices.append(csr_array((values, ids, indptr), (len(numbers), encoding.n_features)))
    return vstack(matrices, format="csr") if matrices else csr_array((0, encoding.n_features))


def entries_of(
    encoding: Encoding, numbers: NDArray[Any], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Return the entries of rows in CSR form."""
    indptr = np.zeros(len(numbers) + 1, np.int64)
    count_entries(numbers, codes, indptr)
    ids, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], numbers.dtype)
    write_entries(
        numbers,
        codes,
        order_of(encoding),
        encoding.starts[encoding.others],
        encoding.n_first,
        ids,
        values,
    )
    return indptr, ids, values


def order_of(encoding: Encoding) -> NDArray[np.int64]:
    """Return the position of each column among the columns of its kind.

    It is 0, 1, ... for columns that are not text, and -1, -2, ... for columns of text.
    """
    order = np.empty(len(encoding.columns), np.int64)
    order[encoding.others], order[encoding.texts] = (
        np.arange(len(encoding.others)),
        -1 - np.arange(len(encoding.texts)),
    )
    return order


def column_block(encoding: Encoding, position: int, values: pa.Array, where: Where) -> ColumnBlock:
    """Return the features of a column, whose levels are all known; missing numbers are NaN."""
    column, start = encoding.columns[position], int(encoding.starts[position])
    if column.kind not in TEXT:
        numbers = filled_column(encoding, position, values, where)[:, None]
        return columns_of(
            numbers, start, names=encoding.feature_names[start : start + 1], origin=where.origin
        )
    codes = codes_of(encoding, position, values, where, True, {})
    ids = np.array(encoding.features_of(position), np.int64)
    order = np.argsort(codes, kind="stable")[np.count_nonzero(codes == NO_LEVEL) :]
    indptr = np.append(0, np.searchsorted(codes[order], ids, side="right"))
    rows, names = order.astype(np.int32), encoding.feature_names[ids]
    return ColumnBlock(
        indptr, rows, np.ones(order.size), ids, codes.size, names, origin=where.origin
    )


def filled_column(
    encoding: Encoding, position: int, values: pa.Array, where: Where
) -> NDArray[np.float64]:
    """Return a column that is not text as numbers, with NaN for missing values not filled in."""
    numbers = read_numbers(encoding, position, values, where)
    if encoding.missing not in ("zero", "mean"):
        return numbers
    return np.where(np.isnan(numbers), encoding.columns[position].fill, numbers)


def bucket_of(column: str, level: str) -> int:
    """Return the bucket of a text, by a hash that depends on the column and on nothing else."""
    key = blake2b(column.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    digest = blake2b(level.encode("utf-8", "surrogatepass"), digest_size=8, person=key).digest()
    return int.from_bytes(digest, "little") % BUCKETS
