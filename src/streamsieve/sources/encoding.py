"""Encode the columns of a table as features, in the same way in training and afterwards.

A number, a boolean value or a date is one feature. A column of text is one feature per level, named
``column=level``, or a fixed number of features, named ``column#bucket``, by a hash of the text. So
every column has at most one value in a row. Levels that first appear after the first rows get ids
after all others, in order of appearance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from operator import lt
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..json_text import Count, conforms
from ..kernels.reading.entries import NO_LEVEL
from .options import MissingValues

if TYPE_CHECKING:
    from .arrow_values import Where

Kind = Literal["number", "boolean", "date", "onehot", "hash"]
TEXT = "onehot", "hash"

MAX_LEVELS = 1000  # of a column
NUMBER, FIRST_ROW = range(2)  # of a new level: its number among the new levels, its first row
BUCKETS = 256  # of a column whose text is hashed
MAX_COLUMNS, MAX_TEXT_LENGTH = 1 << 22, 1 << 20  # in a model
MAX_FILL = 3e38  # below the largest float32


class Column(NamedTuple):
    """The encoding of one column; ``fill`` replaces missing numbers."""

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()  # in the first rows
    fill: float = 0.0

    @property
    def width(self) -> int:
        """Return the number of features, without those of late levels."""
        return len(self.levels) if self.kind == "onehot" else BUCKETS if self.kind == "hash" else 1

    def features(self) -> list[str]:
        """Return the names of the features."""
        if self.kind == "onehot":
            return [f"{self.name}={level}" for level in self.levels]
        return (
            [f"{self.name}#{bucket}" for bucket in range(BUCKETS)]
            if self.kind == "hash"
            else [self.name]
        )


def is_short(text: str) -> bool:
    """Return True if a text is short enough for a model."""
    return len(text) <= MAX_TEXT_LENGTH


class ColumnFields(TypedDict):
    """A column in the header of a model."""

    name: Annotated[str, is_short]
    kind: Kind
    levels: NotRequired[
        Annotated[list[Annotated[str, is_short]], lambda levels: all(map(lt, levels, levels[1:]))]
    ]
    fill: NotRequired[Annotated[float, lambda fill: abs(fill) <= MAX_FILL]]


class EncodingFields(TypedDict):
    """An encoding in the header of a model."""

    missing: MissingValues
    columns: Annotated[list[ColumnFields], lambda columns: 0 < len(columns) <= MAX_COLUMNS]
    late: NotRequired[list[tuple[Count, Annotated[str, is_short]]]]


FIELDS = set(ColumnFields.__annotations__)


class LateLevel(NamedTuple):
    """A level that does not appear in the first rows."""

    column: int  # its position
    level: str


class EncodedRows(NamedTuple):
    """Some rows by kinds of columns; a code is the id of a feature, or stands for a new level.

    A code of ``NO_LEVEL`` stands for no level, and -2 - i for the i-th new level.
    """

    numbers: NDArray[Any]  # columns that are not text
    codes: NDArray[np.int64]  # columns of text
    new: dict[LateLevel, list[int]]  # number and first row of each new level
    where: Where


class Encoding:
    """The encoding of the columns of a table as features.

    Features are in the order of the columns, followed by late levels. A table that may be
    ``reduced`` to selected features has dates as they are, or as the days they are encoded as.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        missing: str = "error",
        reduced: bool = False,
        late: Sequence[LateLevel] = (),
        omits_text: bool = False,
    ) -> None:
        self.columns, self.missing, self.reduced = tuple(columns), missing, reduced
        self.late, self.omits_text = list(late), omits_text
        self.texts = [
            position for position, column in enumerate(self.columns) if column.kind in TEXT
        ]
        self.others = [
            position for position, column in enumerate(self.columns) if column.kind not in TEXT
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self.to_dict() == other.to_dict()

    # ---- features

    @property
    def is_plain(self) -> bool:
        """Return True if all columns are numbers, as in data without an encoding."""
        is_as_written = self.missing in ("error", "skip") and not self.omits_text
        return is_as_written and all(column.kind == "number" for column in self.columns)

    @property
    def n_features(self) -> int:
        """Return the number of features so far."""
        return self.n_first + len(self.late)

    @property
    def n_first(self) -> int:
        """Return the number of features without those of late levels."""
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return the first feature of every column, then the number of features but late ones."""
        return np.cumsum([0, *(column.width for column in self.columns)], dtype=np.int64)

    @property
    def feature_names(self) -> NDArray[Any]:
        """Return the names of all features so far."""
        if self._names.size < self.n_features:
            new = self.late[self._names.size - self.n_first :]
            names = [f"{self.columns[column].name}={level}" for column, level in new]
            self._names = np.append(self._names, np.array(names, dtype=object))
        return self._names

    @cached_property
    def _names(self) -> NDArray[Any]:
        return np.array(
            [name for column in self.columns for name in column.features()], dtype=object
        )

    @property
    def column_names(self) -> list[str]:
        """Return the names of the encoded columns of a table."""
        return [column.name for column in self.columns]

    @property
    def has_groups(self) -> bool:
        """Return True if some features belong together, as levels of a column do."""
        return bool(self.texts)

    @property
    def groups(self) -> list[str]:
        """Return the name of the column of every feature."""
        first = [column.name for column in self.columns for _ in range(column.width)]
        return [*first, *(self.columns[late.column].name for late in self.late)]

    def n_levels(self) -> dict[str, int]:
        """Return the number of features of every column of text, by its name."""
        late = Counter(level.column for level in self.late)
        return {
            self.columns[position].name: self.columns[position].width + late[position]
            for position in self.texts
        }

    def features_of(self, position: int) -> list[int]:
        """Return the ids of all features of a column."""
        late = [
            self.n_first + number
            for number, level in enumerate(self.late)
            if level.column == position
        ]
        return [*range(int(self.starts[position]), int(self.starts[position + 1])), *late]

    def with_features(self, features: NDArray[np.int64]) -> tuple[Encoding, NDArray[np.int64]]:
        """Return the encoding of the columns that some features belong to.

        The second result has the ids, in this encoding, of all features of the result.
        """
        first, late = (
            features[features < self.n_first],
            features[features >= self.n_first] - self.n_first,
        )
        used = set((np.searchsorted(self.starts, first, side="right") - 1).tolist())
        used |= {self.late[number].column for number in late.tolist()}
        encoding = self.with_columns(used)
        encoding.reduced = True
        ids = [np.arange(self.starts[column], self.starts[column + 1]) for column in sorted(used)]
        kept = [number for number, level in enumerate(self.late) if level.column in used]
        return encoding, np.concatenate([*ids, self.n_first + np.array(kept, np.int64)])

    def with_columns(self, positions: set[int]) -> Encoding:
        """Return the encoding of some of the columns."""
        selected = sorted(positions)
        new_positions = {position: new for new, position in enumerate(selected)}
        late = [
            LateLevel(new_positions[column], level)
            for column, level in self.late
            if column in new_positions
        ]
        columns = [self.columns[column] for column in selected]
        return Encoding(columns, self.missing, self.reduced, late, self.omits_text)

    # ---- as JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as a dictionary for JSON."""
        columns = [
            {"name": column.name, "kind": column.kind}
            | ({"levels": list(column.levels)} if column.kind == "onehot" else {})
            | ({"fill": column.fill} if column.fill else {})
            for column in self.columns
        ]
        late = {"late": [list(level) for level in self.late]} if self.late else {}
        return {"missing": self.missing, "columns": columns, **late}

    @classmethod
    def from_dict(cls, content: Any) -> Encoding:
        """Return the encoding that ``to_dict`` turned into a dictionary.

        The dictionary may come from an untrusted source; ValueError is raised if it is invalid.
        """
        if not conforms(content, EncodingFields) or not all(
            set(column) <= FIELDS for column in content["columns"]
        ):
            raise ValueError("its encoding of columns is invalid")
        columns = [
            Column(**{**column, "levels": tuple(column.get("levels", ()))})
            for column in content["columns"]
        ]
        late = [LateLevel(*level) for level in content.get("late", [])]
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("its encoding names a column twice")
        if any(column.levels and column.kind != "onehot" for column in columns):
            raise ValueError("its encoding has levels of a column that is not text")
        if not all(at < len(columns) and columns[at].kind == "onehot" for at, _ in late):
            raise ValueError("its encoding has late levels of a column that is not text")
        if len(set(late)) < len(late) or any(level in columns[at].levels for at, level in late):
            raise ValueError("its encoding has a level twice")
        encoding = cls(columns, content["missing"], late=late)
        if any(count > MAX_LEVELS for count in encoding.n_levels().values() if count != BUCKETS):
            raise ValueError("its encoding has too many levels of a column")
        return encoding

    # ---- late levels

    def learn(self, rows: EncodedRows) -> EncodedRows:
        """Give features to the new levels of some rows, in order of their first row and column.

        These features come after all features learned before.
        """
        if not rows.new:
            return rows
        features = np.empty(len(rows.new), np.int64)
        for late in sorted(rows.new, key=lambda late: (rows.new[late][FIRST_ROW], late.column)):
            ids = self.ids[late.column]
            if late.level not in ids:  # it may be in earlier rows
                if len(ids) == MAX_LEVELS:
                    raise too_many_levels_error(
                        rows.where.origin, [self.columns[late.column].name], is_id=False
                    )
                ids[late.level] = self.n_features
                self.late.append(late)
            features[rows.new[late][NUMBER]] = ids[late.level]
        is_new = rows.codes < NO_LEVEL
        rows.codes[is_new] = features[-2 - rows.codes[is_new]]
        return rows._replace(new={})

    @cached_property
    def ids(self) -> list[dict[str, int]]:
        """Return the feature of every level of every column, including late levels."""
        ids = [
            {level: number for number, level in enumerate(column.levels, start)}
            for column, start in zip(self.columns, self.starts.tolist(), strict=False)
        ]
        for number, late in enumerate(self.late):
            ids[late.column][late.level] = self.n_first + number
        return ids


def too_many_levels_error(origin: str, names: list[str], is_id: bool) -> DataError:
    """Return the error for columns of text with too many different values for features."""
    many = f"with more than {MAX_LEVELS:,} different values"
    subject = (
        f"column {names[0]!r} is text"
        f" {'with a different value in every row, like an ID' if is_id else many}"
    )
    suffix = f" (and {len(names) - 1:,} more such columns)" if len(names) > 1 else ""
    return DataError(
        f"{prefix(origin)}{subject}{suffix}; omit such columns ({spell('drop', names)}), or"
        f" use {spell('strings', 'hash')}"
    )
