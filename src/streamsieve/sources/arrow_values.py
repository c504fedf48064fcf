"""Columns of Arrow as numbers and level codes; errors name the column and row."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..values import loss_of, unusable_error
from .levels import TextCells

DAY = 86_400_000_000  # microseconds
NO_LEVEL = -1
BLANKS = " \t\n\v\f\r"  # around a text, which the kernels ignore, too
WEEKDAYS = "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"

notes = logging.getLogger("streamsieve")


class Where(NamedTuple):
    """The origin of some values, for messages, and the treatment of unknown levels.

    Unknown levels become features if the encoding ``grows``; otherwise one of each column is kept
    in ``unseen``.
    """

    origin: str
    first_row: int = 0
    unseen: dict[str, str] | None = None
    grows: bool = False

    def row_prefix(self, row: int) -> str:
        """Return the beginning of a message about a row."""
        return f"{prefix(self.origin)}row {self.first_row + row + 1}: "

    def missing_value_error(self, row: int, column: str) -> DataError:
        """Return the error for a missing value."""
        fill = f"{spell('missing', 'zero')} or {spell('missing', 'mean')}"
        return DataError(
            f"{self.row_prefix(row)}column {column!r} has no value; fill it in, drop the row, or"
            f" train with {fill}"
        )

    def infinite_value_error(self, row: int, column: str) -> DataError:
        """Return the error for an infinite value."""
        return DataError(
            f"{self.row_prefix(row)}the value of column {column!r} is infinite, or too large for"
            " float32; replace it or drop the row"
        )

    def warn_unseen(self) -> None:
        """Warn about columns that had unknown levels, and forget them."""
        if self.unseen:
            (column, level), *others = self.unseen.items()
            suffix = f" (and {len(others):,} more columns)" if others else ""
            notes.warning(
                "%scolumn %r%s has levels that are not in the training data, such as %r; they are"
                " ignored",
                *(prefix(self.origin), column, suffix, level),
            )
            self.unseen.clear()


def is_text(kind: pa.DataType) -> bool:
    """Return True for the types of text and categories."""
    is_string = (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
    return bool(is_string or pa.types.is_dictionary(kind))


def is_numeric(kind: pa.DataType) -> bool:
    """Return True for the types of numbers that NumPy has."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def levels_in(values: pa.Array, column: str, where: Where) -> tuple[list[str], NDArray[np.int64]]:
    """Return the levels of a column of text, and the number of the level of every row.

    Levels have no blanks around them. Rows without a level have -1.
    """
    if pa.types.is_null(values.type):
        return [], np.full(len(values), NO_LEVEL)
    loss = loss_of(values.type)
    if loss:
        raise unusable_error(f"column {column!r}", loss, where.origin)
    try:
        if not pa.types.is_dictionary(values.type):
            values = values.cast(pa.string()).dictionary_encode()
        levels = values.dictionary.cast(pa.string()).to_pylist()
    except pa.ArrowException as error:
        raise DataError(
            f"{prefix(where.origin)}column {column!r} holds {values.type} values, not text"
        ) from error
    codes = values.indices.fill_null(NO_LEVEL) if values.indices.null_count else values.indices
    codes = np.from_dlpack(codes).astype(np.int64)
    is_missing = np.array([level is None for level in levels], bool)
    if is_missing.any():  # a category may be missing too
        codes[np.isin(codes, np.flatnonzero(is_missing))] = NO_LEVEL
    return ["" if level is None else level.strip(BLANKS) for level in levels], codes


def cells_of(values: pa.Array, column: str, where: Where) -> TextCells:
    """Return the cells of a column of text or categories; other values as text."""
    if pa.types.is_null(values.type):
        return TextCells(
            np.empty(0, np.uint8), np.zeros(len(values), np.int64), np.full(len(values), -1)
        )
    loss = loss_of(values.type)
    if loss:
        raise unusable_error(f"column {column!r}", loss, where.origin)
    try:
        if not pa.types.is_dictionary(values.type):
            return _cells_of_text(values.cast(pa.string()))
        levels = _cells_of_text(values.dictionary.cast(pa.string()))
    except pa.ArrowException as error:
        raise DataError(
            f"{prefix(where.origin)}column {column!r} holds {values.type} values, not text"
        ) from error
    indices = values.indices
    codes = np.from_dlpack(indices.fill_null(0) if indices.null_count else indices)
    if not levels.starts.size:
        return TextCells(levels.letters, np.zeros(codes.size, np.int64), np.full(codes.size, -1))
    ends = levels.ends[codes]
    if indices.null_count:
        ends[_is_null(indices)] = -1
    return TextCells(levels.letters, levels.starts[codes], ends)


def _cells_of_text(text: pa.Array) -> TextCells:
    _, offsets, letters = text.buffers()
    all_bounds = np.frombuffer(offsets or bytes(4), np.int32).astype(np.int64)
    bounds = all_bounds[text.offset : text.offset + len(text) + 1]
    ends = bounds[1:].copy()
    if text.null_count:
        ends[_is_null(text)] = -1
    return TextCells(np.frombuffer(letters or b"", np.uint8), bounds[:-1], ends)


def _is_null(values: pa.Array) -> NDArray[np.bool_]:
    return np.from_dlpack(values.is_null().cast(pa.uint8())).astype(bool)


def first_rows(codes: NDArray[np.int64], n_levels: int) -> NDArray[np.int64]:
    """Return the first row of each level, or -1; rows without a level have code -1."""
    rows = np.full(n_levels + 1, -1)
    rows[codes[::-1]] = np.arange(codes.size)[::-1]
    return rows[:-1]


def numbers_of(values: pa.Array, column: str, where: Where) -> NDArray[np.float64]:
    """Return numbers or boolean values as float64, with NaN for missing values."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    loss = loss_of(kind)
    if loss:
        raise unusable_error(f"column {column!r}", loss, where.origin)
    if not (is_numeric(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)):
        encode = f"encode it as numbers or omit it: {spell('drop', [column])}"
        advice = encode if where.unseen is None else "convert it to its type in the training data"
        raise DataError(
            f"{prefix(where.origin)}column {column!r} holds {kind} values, not numbers; {advice}"
        )
    floats = values.cast(pa.float64(), safe=False)
    numbers: NDArray[Any] = np.from_dlpack(
        floats.fill_null(float("nan")) if floats.null_count else floats
    )
    return numbers


def truth_of(values: pa.Array, column: str, where: Where) -> NDArray[np.float64]:
    """Return boolean values, also from text, as 0 and 1, with NaN for missing values."""
    if is_text(values.type):
        values = _parse_text(values, [pa.bool_()], column, where, "true or false")
    return numbers_of(values, column, where)


def days_of(
    values: pa.Array, column: str, where: Where, may_be_days: bool = False
) -> NDArray[np.float64]:
    """Return dates and times, also from text, as days since 1970.

    Missing values are NaN. With ``may_be_days``, numbers are accepted as such days.
    """
    times = times_of(values, column, where, may_be_days)
    if not pa.types.is_timestamp(times.type):
        return numbers_of(times, column, where)
    return numbers_of(times.cast(pa.int64()), column, where) / DAY


def calendar_of(values: pa.Array, kind: str, column: str, where: Where) -> pa.Array:
    """Return the hour or the weekday of dates and times as text, such as 07 or Mon."""
    times = times_of(values, column, where)
    if not pa.types.is_timestamp(times.type):  # all are missing
        return times
    if kind == "hour":
        return pc.utf8_lpad(pc.hour(times).cast(pa.string()), 2, "0")
    return pa.array(WEEKDAYS).take(pc.day_of_week(times))


def times_of(values: pa.Array, column: str, where: Where, may_be_days: bool = False) -> pa.Array:
    """Return dates and times, also from text, as times; without values as they are.

    With ``may_be_days``, numbers are returned as they are, too.
    """
    if is_text(values.type):
        kinds = [
            pa.timestamp("us"),
            pa.timestamp("us", "UTC"),
            *([pa.float64()] if may_be_days else []),
        ]
        values = _parse_text(values, kinds, column, where, "a date such as 2024-01-31")
    if pa.types.is_null(values.type) or (may_be_days and is_numeric(values.type)):
        return values
    if not pa.types.is_date(values.type) and not pa.types.is_timestamp(values.type):
        raise DataError(
            f"{prefix(where.origin)}column {column!r} holds {values.type} values, expected dates as"
            " in the training data"
        )
    zone = values.type.tz if pa.types.is_timestamp(values.type) else None
    return values.cast(pa.timestamp("us", zone), safe=False)


def _parse_text(
    text: pa.Array, kinds: list[pa.DataType], column: str, where: Where, expected: str
) -> pa.Array:
    """Return text, or categories of any type, as values of the first type that fits all of it."""
    text = text.dictionary_decode() if pa.types.is_dictionary(text.type) else text
    text = pc.utf8_trim_whitespace(text.cast(pa.string()))
    parsed = _cast(text, kinds)
    if parsed is not None:
        return parsed
    for row, value in enumerate(text.to_pylist()):
        if _cast(pa.array([value], pa.string()), kinds) is None:
            raise DataError(
                f"{where.row_prefix(row)}column {column!r} is {value[:40]!r}, expected {expected}"
                " as in the training data; correct it"
            )
    raise DataError(
        f"{prefix(where.origin)}column {column!r} mixes times with and without a time zone; use"
        " one form"
    )


def _cast(text: pa.Array, kinds: list[pa.DataType]) -> pa.Array | None:
    """Return text as values of the first type that fits all of it, or None if no type does."""
    for kind in kinds:
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None
