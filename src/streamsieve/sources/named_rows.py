"""Rows of values by name, where a hash of its name identifies a feature.

A row is a dictionary, or a pair of its names and its values. If a name appears twice in a row, or
two names have the same hash, their values are added. No list of all names is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import NamedIds, RowBlock
from ..errors import DataError
from ..kernels.arrays import MAX_ID
from ..kernels.reading.entries import hash_names, join_rows
from ..values import check_usable
from .arrays import as_labels
from .base import Missing, Source, SourceFacts, not_finite_error

BLOCK_ROWS = 1024
WIDTH = MAX_ID + 1


class NamedRowSource(Source):
    """Rows by name, from a list or any iterable; an iterator can be read only once."""

    def __init__(
        self, rows: Iterable[Any], y: Any | None = None, sample_weight: Any | None = None
    ) -> None:
        self.rows, self.y = rows, None if y is None else as_labels(y, "")
        n_rows, can_reread = None if self.y is None else len(self.y), not isinstance(rows, Iterator)
        super().__init__(SourceFacts("", n_rows, rewindable=can_reread, has_labels=y is not None))
        check_usable(sample_weight, "sample_weight")
        self.sample_weight = (
            None if sample_weight is None else np.asarray(sample_weight, np.float64)
        )
        if self.sample_weight is not None and self.sample_weight.shape != (self.n_rows,):
            raise DataError(
                f"sample_weight has shape {self.sample_weight.shape}; give one number per row"
            )

    def targets(self) -> NDArray[Any]:
        return super().targets() if self.y is None else self.y

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        first, rows = 0, iter(self.rows)
        while chunk := list(islice(rows, BLOCK_ROWS)):
            last = first + len(chunk)
            y, weight = (
                None if part is None else part[first:last] for part in (self.y, self.sample_weight)
            )
            if self.y is not None and last > self.y.size:
                raise DataError(f"there are more rows than labels, {self.y.size:,}")
            yield named_block(chunk, first).derived(y=y, sample_weight=weight)
            first = last
        if not first:
            raise DataError("there are no rows")
        if self.y is not None and first < self.y.size:
            raise DataError(f"{first:,} rows but {self.y.size:,} labels")


def as_named_rows(X: Any) -> Iterable[Any] | None:
    """Return ``X`` as an iterable of rows by name, or None if it is something else.

    No row of an iterator is lost.
    """
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, str | bytes | Mapping):
        return None
    if isinstance(X, Sequence):
        return X if len(X) and is_named_row(X[0]) else None
    if not isinstance(X, Iterable):
        return None
    rows = iter(X)
    start = list(islice(rows, 1))
    return chain(start, rows) if start and is_named_row(start[0]) else None


def is_named_row(row: Any) -> bool:
    """Return True for a dictionary, or a pair of names and values."""
    if isinstance(row, Mapping):
        return True
    pair = isinstance(row, tuple | list) and len(row) == 2 and not isinstance(row[0], str)
    return (
        pair
        and isinstance(row[0], Sequence | np.ndarray)
        and all(isinstance(name, str) for name in row[0])
    )


class Entries(NamedTuple):
    """The entries of some rows, as they were given."""

    names: list[str]
    values: list[Any]
    lengths: list[int]


def named_block(rows: Sequence[Any], first_row: int = 0) -> RowBlock:
    """Return a block of rows by name; ``first_row`` is the number of rows before, for messages."""
    entries = entries_of(rows, first_row)
    values = numbers_of(entries, first_row)
    size, bounds = len(entries.names), np.concatenate([[0], np.cumsum(entries.lengths)])
    ids, joined_ids, first = (np.empty(size, np.int64) for _ in range(3))
    joined, indptr = np.empty(size, np.float32), np.zeros(len(rows) + 1, np.int64)
    hash_names(*text_of(entries.names), ids)
    filled = join_rows(bounds, ids, values, indptr, joined_ids, joined, first)
    is_bad = ~np.isfinite(joined[:filled])
    if is_bad.any():
        at = int(np.argmax(is_bad))
        row = int(np.searchsorted(indptr, at, side="right"))
        raise not_finite_error(
            "", first_row + row, repr(entries.names[first[at]]), float(joined[at])
        )
    named = NamedIds(ids, entries.names)
    return RowBlock.trusted(indptr, joined_ids[:filled], joined[:filled], None, WIDTH, names=named)


def text_of(names: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return names in UTF-8, concatenated, and the offset of each."""
    joined = "".join(names)
    text = joined.encode("utf-8", "surrogatepass")
    is_ascii = len(text) == len(joined)  # other letters may take several bytes
    parts = names if is_ascii else [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(names)), out=offsets[1:])
    return np.frombuffer(text, np.uint8), offsets


def entries_of(rows: Sequence[Any], first_row: int) -> Entries:
    """Return the names and values of rows, concatenated."""
    entries = Entries([], [], [])
    for number, row in enumerate(rows, first_row + 1):
        if isinstance(row, Mapping):
            names, values = list(row), list(row.values())
        elif is_named_row(row):
            names, values = list(row[0]), list(row[1])
        else:
            raise DataError(
                f"row {number}: must be a dictionary of values by name, or a pair of names and"
                " values"
            )
        if len(names) != len(values):
            raise DataError(f"row {number}: has {len(names):,} names and {len(values):,} values")
        if set(map(type, names)) - {str}:
            wrong = [name for name in names if not isinstance(name, str)]
            if wrong:
                raise DataError(f"row {number}: the name {wrong[0]!r} is not a text")
        entries.names.extend(names)
        entries.values.extend(values)
        entries.lengths.append(len(names))
    return entries


def numbers_of(entries: Entries, first_row: int) -> NDArray[np.float64]:
    """Return the values as numbers; raise DataError for the first that is not a number."""
    try:
        values = np.array(entries.values)
    except ValueError:  # some are lists
        values = np.empty(0, object)
    if values.dtype.kind in "biuf" and values.shape == (len(entries.values),):
        return values.astype(np.float64)
    row_of = np.repeat(np.arange(len(entries.lengths)), entries.lengths)
    numbers = np.empty(len(entries.values))
    for at, (name, value) in enumerate(zip(entries.names, entries.values, strict=True)):
        if not isinstance(value, int | float | np.number | np.bool_):
            raise DataError(
                f"row {first_row + int(row_of[at]) + 1}: the value of {name!r} is"
                f" {str(value)[:40]!r}, which is not a number; make it part of the name, with the"
                " value 1"
            )
        try:
            numbers[at] = value
        except OverflowError:
            numbers[at] = np.inf
    return numbers
