"""The levels of text columns: the different texts of a column, in order of their first appearance.

Their number is not limited. Rows are looked up by several threads; new levels are added by one, in
the order of rows, so that the number of a level depends on the data alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, spell
from ..kernels.reading.entries import BASIS, NO_LEVEL, PRIME
from ..kernels.reading.levels import (
    LevelTable,
    add_levels,
    copy_new_levels,
    fill_slots,
    find_levels,
)
from ..machine import refuse_beyond_memory

if TYPE_CHECKING:
    from .arrow_values import Where

MIN_SLOTS = 1 << 8
SLOTS_PER_LEVEL = 2  # at least, so that few searches are long
LEVEL_BYTES = 8 + 4 + 8 + 8 + 4 * SLOTS_PER_LEVEL  # of memory, beside its text
LEVELS = "levels"  # prefix of the names of arrays in a model


class TextCells(NamedTuple):
    """Cells of a text column: parts of ``letters`` in UTF-8; an end of -1 is a missing value."""

    letters: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class NewCells(NamedTuple):
    """Cells whose level is not in the table yet; text i ends at ``ends[i + 1]``."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int32]
    letters: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[NewCells]) -> NewCells:
        """Return the cells of several columns together."""
        sizes = np.cumsum([0, *(part.letters.size for part in parts)])
        ends = [part.ends[1:] + size for part, size in zip(parts, sizes, strict=False)]
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.columns for part in parts]),
            np.concatenate([part.letters for part in parts]),
            np.concatenate([np.zeros(1, np.int64), *ends]),
        )

    def text(self, number: int) -> str:
        """Return the text of a cell."""
        part = self.letters[self.ends[number] : self.ends[number + 1]]
        return part.tobytes().decode(errors="replace")


def hash_of(text: str) -> np.uint64:
    """Return the hash of a text, from which the hashes of longer texts go on."""
    bits = int(BASIS)
    for byte in text.encode("utf-8", "surrogatepass"):
        bits = (bits ^ byte) * int(PRIME) & 0xFFFFFFFFFFFFFFFF
    return np.uint64(bits)


class Levels:
    """The levels of all text columns of a table, which are numbered 0, 1, ... in their order.

    ``names`` are the names of these columns, each with the character between it and a level.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.bases = np.array([hash_of(name) for name in names], np.uint64)
        self.size = 0
        self.table = LevelTable(
            np.zeros(MIN_SLOTS, np.int32),
            np.empty(0, np.uint64),
            np.empty(0, np.int32),
            np.zeros(1, np.int64),
            np.empty(0, np.uint8),
        )

    @property
    def columns(self) -> NDArray[np.int32]:
        """Return the column of every level."""
        return self.table.columns[: self.size]

    def counts(self) -> NDArray[np.int64]:
        """Return the number of levels of every column."""
        return np.bincount(self.columns, minlength=self.bases.size)

    def texts(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """Return the texts of some levels."""
        letters, ends = self.table.letters, self.table.ends
        return [
            letters[ends[number] : ends[number + 1]].tobytes().decode("utf-8", "surrogatepass")
            for number in numbers
        ]

    # ---- looking up, adding

    def find(
        self, column: int, n_buckets: int, cells: TextCells, where: Where, name: str
    ) -> tuple[NDArray[np.int64], NewCells | None]:
        """Return the level of every cell of a column, and the cells with a new level.

        With ``n_buckets``, a level is the bucket of the hash of a text.
        """
        codes, basis = np.empty(cells.starts.size, np.int64), self.bases[column]
        n_new, size = find_levels(self.table, column, basis, n_buckets, *cells, codes)
        if not n_new:
            return codes, None
        new = NewCells(
            np.empty(n_new, np.int64),
            np.full(n_new, column, np.int32),
            np.empty(size, np.uint8),
            np.zeros(n_new + 1, np.int64),
        )
        copy_new_levels(basis, n_buckets, *cells, codes, new.rows, new.ends, new.letters)
        if size and new.letters.max() > 127:
            _check_text(new, where, name)
        return codes, new

    def add(self, new: NewCells) -> NDArray[np.int64]:
        """Add new levels in the order of rows and columns; return the level of every cell."""
        return self._add(np.lexsort((new.columns, new.rows)), *new[1:])

    def _add(
        self,
        order: NDArray[np.int64],
        columns: NDArray[np.int32],
        letters: NDArray[np.uint8],
        ends: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        self._reserve(order.size, letters.size)
        numbers = np.empty(order.size, np.int64)
        self.size = add_levels(
            self.table, self.size, order, columns, self.bases, letters, ends, numbers
        )
        return numbers

    def _reserve(self, n_levels: int, n_letters: int) -> None:
        """Make room for more levels and letters."""
        table, levels = self.table, self.size + n_levels
        letters = int(table.ends[self.size]) + n_letters
        if levels > table.hashes.size or letters > table.letters.size:
            room, letters = 2 * levels, 2 * letters
            refuse_beyond_memory(
                room * LEVEL_BYTES + letters,
                f"the {self.size:,} different values of the columns of text",
                f"hash them to fewer features ({spell('strings', 'hash')})",
            )
            self.table = table = table._replace(
                hashes=_grown(table.hashes, room),
                columns=_grown(table.columns, room),
                ends=_grown(table.ends, room + 1),
                letters=_grown(table.letters, letters),
            )
        if levels * SLOTS_PER_LEVEL > table.slots.size:
            slots = np.zeros(1 << int(2 * levels * SLOTS_PER_LEVEL - 1).bit_length(), np.int32)
            fill_slots(slots, table.hashes, self.size)
            self.table = table._replace(slots=slots)

    # ---- parts, copies

    def some(self, selected: NDArray[np.int64], names: Sequence[str], columns: Any) -> Levels:
        """Return some levels, in their order; their columns get new numbers and ``names``."""
        part, table = Levels(names), self.table
        new_columns = np.full(self.bases.size, NO_LEVEL, np.int32)
        new_columns[columns] = np.arange(len(columns), dtype=np.int32)
        lengths = np.diff(table.ends[: self.size + 1])[selected]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(table.ends[selected] - ends[:-1], lengths) + np.arange(ends[-1])
        part._add(
            np.arange(selected.size), new_columns[self.columns[selected]], table.letters[at], ends
        )
        return part

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the levels as arrays of a model."""
        table, size = self.table, self.size
        return {
            f"{LEVELS}.columns": table.columns[:size].copy(),
            f"{LEVELS}.offsets": table.ends[: size + 1].copy(),
            f"{LEVELS}.text": table.letters[: table.ends[size]].copy(),
        }

    def add_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Add the levels of a model, whose arrays are removed.

        They may come from a stranger; ValueError is raised if they are invalid.
        """
        columns, ends, letters = (
            arrays.pop(f"{LEVELS}.{part}", np.empty(0)) for part in ("columns", "offsets", "text")
        )
        kinds = [array.dtype.name for array in (columns, ends, letters)]
        if kinds != ["int32", "int64", "uint8"] or columns.ndim * ends.ndim * letters.ndim != 1:
            raise ValueError("its levels are invalid")
        if ends.size != columns.size + 1 or ends[0] != 0 or ends[-1] != letters.size:
            raise ValueError("its levels have invalid offsets")
        if (np.diff(ends) < 0).any():
            raise ValueError("its levels have invalid offsets")
        if columns.size and not 0 <= columns.min() <= columns.max() < self.bases.size:
            raise ValueError("it has levels of a column that is not text")
        numbers = self._add(np.arange(columns.size), columns, letters, ends)
        if not np.array_equal(numbers, np.arange(columns.size)):
            raise ValueError("it has a level twice")
        self.texts(range(columns.size) if letters.size and letters.max() > 127 else ())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Levels) or self.size != other.size:
            return False
        arrays, others = self.to_arrays(), other.to_arrays()
        return all(np.array_equal(arrays[name], others[name]) for name in arrays)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array of this size or more that begins with the entries of another."""
    longer = np.zeros(max(size, array.size), array.dtype)
    longer[: array.size] = array
    return longer


def _check_text(new: NewCells, where: Where, name: str) -> None:
    """Raise DataError if a new level is not text in UTF-8."""
    for number, row in enumerate(new.rows.tolist()):
        try:
            new.letters[new.ends[number] : new.ends[number + 1]].tobytes().decode(
                "utf-8", "surrogatepass"
            )
        except UnicodeDecodeError:
            raise DataError(
                f"{where.row_prefix(row)}column {name!r} is not text in UTF-8; save the file in"
                " that encoding"
            ) from None
