"""Arrow's columns as numbers and as numbers of levels; what cannot be read is named with its column and row."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..values import loss_of, unusable

DAY = 86_400_000_000  # microseconds
NO_LEVEL = -1

notes = logging.getLogger("streamsieve")


class Where(NamedTuple):
    """Where values come from, for messages, and what becomes of levels that are not known.

    They become features where an encoding ``grows``; otherwise ``unseen`` takes note of one per
    column.
    """

    origin: str
    first_row: int = 0
    unseen: dict[str, str] | None = None
    grows: bool = False

    def at(self, row: int) -> str:
        """Return how a message on a row begins."""
        return f"{prefix(self.origin)}row {self.first_row + row + 1}: "

    def missing_at(self, row: int, column: str) -> DataError:
        """Return what to say of a value that is missing."""
        fill = f"{spell('missing', 'zero')} or {spell('missing', 'mean')}"
        return DataError(
            f"{self.at(row)}column {column!r} has no value; fill it in, drop the row, or train with"
            f" {fill}"
        )

    def infinite(self, row: int, column: str) -> DataError:
        """Return what to say of a value that is infinite."""
        return DataError(
            f"{self.at(row)}the value of column {column!r} is infinite, or too large for float32;"
            " replace it or drop the row"
        )

    def say_unseen(self) -> None:
        """Say which columns had levels that are not known."""
        if self.unseen:
            (column, level), *others = self.unseen.items()
            more = f" (and {len(others):,} more columns)" if others else ""
            notes.warning(
                "%scolumn %r%s has levels that the training had not, such as %r; they count as no"
                " level",
                *(prefix(self.origin), column, more, level),
            )
            self.unseen.clear()


def is_text(kind: pa.DataType) -> bool:
    """Return True for the types of text and categories."""
    is_plain = (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
    return bool(is_plain or pa.types.is_dictionary(kind))


def is_numeric(kind: pa.DataType) -> bool:
    """Return True for the types of numbers that NumPy has."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def levels_in(values: pa.Array, column: str, where: Where) -> tuple[list[str], NDArray[np.int64]]:
    """The different texts of a column, without blanks around them, and which of them every row has, -1 for none."""
    if pa.types.is_null(values.type):
        return [], np.full(len(values), NO_LEVEL)
    loss = loss_of(values.type)
    if loss:
        raise unusable(f"column {column!r}", loss, where.origin)
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
    gone = np.array([level is None for level in levels], bool)
    if gone.any():  # a category may be missing, too
        codes[np.isin(codes, np.flatnonzero(gone))] = NO_LEVEL
    return ["" if level is None else level.strip() for level in levels], codes


def first_rows(codes: NDArray[np.int64], n_levels: int) -> NDArray[np.int64]:
    """Return the first row that has each level, -1 where none has it; a code of -1 is no level."""
    rows = np.full(n_levels + 1, -1)
    rows[codes[::-1]] = np.arange(codes.size)[::-1]
    return rows[:-1]


def numbers_of(values: pa.Array, column: str, where: Where) -> NDArray[np.float64]:
    """Numbers or truth values as float64, NaN for what is missing."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    loss = loss_of(kind)
    if loss:
        raise unusable(f"column {column!r}", loss, where.origin)
    if not (is_numeric(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)):
        encode = f"encode it as numbers or omit it: {spell('drop', [column])}"
        cure = (
            encode if where.unseen is None else "bring it into the form that it had in the training"
        )
        raise DataError(
            f"{prefix(where.origin)}column {column!r} holds {kind} values, not numbers; {cure}"
        )
    found = values.cast(pa.float64(), safe=False)
    numbers: NDArray[Any] = np.from_dlpack(
        found.fill_null(float("nan")) if found.null_count else found
    )
    return numbers


def truth_of(values: pa.Array, column: str, where: Where) -> NDArray[np.float64]:
    """Truth values, also such as text has them, as 0 and 1, NaN for what is missing."""
    if is_text(values.type):
        values = _parsed(values, [pa.bool_()], column, where, "neither true nor false")
    return numbers_of(values, column, where)


def days_of(
    values: pa.Array, column: str, where: Where, may_be_days: bool = False
) -> NDArray[np.float64]:
    """Return dates and times, also such as text has them, as days since 1970, NaN for what is missing.

    ``may_be_days`` takes numbers, too, for such days.
    """
    if is_text(values.type):
        kinds = [
            pa.timestamp("us"),
            pa.timestamp("us", "UTC"),
            *([pa.float64()] if may_be_days else []),
        ]
        values = _parsed(values, kinds, column, where, "not a date such as 2024-01-31")
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if may_be_days and is_numeric(values.type):
        return numbers_of(values, column, where)
    if not pa.types.is_date(values.type) and not pa.types.is_timestamp(values.type):
        raise DataError(
            f"{prefix(where.origin)}column {column!r} holds {values.type} values, not dates as in"
            " training"
        )
    zone = values.type.tz if pa.types.is_timestamp(values.type) else None
    days = values.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return numbers_of(days, column, where) / DAY


def _parsed(
    text: pa.Array, kinds: list[pa.DataType], column: str, where: Where, wrong: str
) -> pa.Array:
    """Return text, or categories of any kind, as values of the first type that all of it fits."""
    text = text.dictionary_decode() if pa.types.is_dictionary(text.type) else text
    text = pc.utf8_trim_whitespace(text.cast(pa.string()))
    parsed = _cast(text, kinds)
    if parsed is not None:
        return parsed
    for row, value in enumerate(text.to_pylist()):
        if _cast(pa.array([value], pa.string()), kinds) is None:
            raise DataError(
                f"{where.at(row)}column {column!r} is {value[:40]!r}, {wrong}, as in the training;"
                " write it so"
            )
    raise DataError(
        f"{prefix(where.origin)}column {column!r} mixes times with and without a time zone; write"
        " them alike"
    )


def _cast(text: pa.Array, kinds: list[pa.DataType]) -> pa.Array | None:
    """Return text as values of the first type that all of it fits, None if there is no such type."""
    for kind in kinds:
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None
