"""How the columns of a table become features: the same for training and whatever follows it.

A number, a truth value or a date is one feature. A column of text is one feature per level, named
``column=level``, or a fixed number of them, named ``column#bucket``, by a hash of the text. So
every column has at most one value in a row. Levels that come after the first rows get ids after all
others, in the order in which they come.
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
NUMBER, FIRST_ROW = range(
    2
)  # of a new level: how many new ones came before, and the row in which it comes first
BUCKETS = 256  # of a column whose text is hashed
MAX_COLUMNS, MAX_TEXT_LENGTH = 1 << 22, 1 << 20  # of what a model may say
MAX_FILL = 3e38  # a float32


class Column(NamedTuple):
    """How one column is read. ``fill`` is what stands for a missing number, if it is not 0."""

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()  # of the first rows
    fill: float = 0.0

    @property
    def width(self) -> int:
        """Return how many features it is, but for levels that came late."""
        return len(self.levels) if self.kind == "onehot" else BUCKETS if self.kind == "hash" else 1

    def features(self) -> list[str]:
        """Return the names of its features."""
        if self.kind == "onehot":
            return [f"{self.name}={level}" for level in self.levels]
        return (
            [f"{self.name}#{bucket}" for bucket in range(BUCKETS)]
            if self.kind == "hash"
            else [self.name]
        )


def is_short(text: str) -> bool:
    """Return True for a text that a model may have."""
    return len(text) <= MAX_TEXT_LENGTH


class ColumnFields(TypedDict):
    """A column as a model has it."""

    name: Annotated[str, is_short]
    kind: Kind
    levels: NotRequired[
        Annotated[list[Annotated[str, is_short]], lambda levels: all(map(lt, levels, levels[1:]))]
    ]
    fill: NotRequired[Annotated[float, lambda fill: abs(fill) <= MAX_FILL]]


class EncodingFields(TypedDict):
    """An encoding as a model has it."""

    missing: MissingValues
    columns: Annotated[list[ColumnFields], lambda columns: 0 < len(columns) <= MAX_COLUMNS]
    late: NotRequired[list[tuple[Count, Annotated[str, is_short]]]]


FIELDS = set(ColumnFields.__annotations__)


class LateLevel(NamedTuple):
    """A level that was not in the first rows."""

    column: int  # its position
    level: str


class EncodedRows(NamedTuple):
    """Some rows by kinds of columns; a code is the id of a feature, or that of a new level to come."""

    numbers: NDArray[Any]  # columns that are not text
    codes: NDArray[np.int64]  # columns of text; NO_LEVEL for none, -2 - i for the i-th new level
    new: dict[LateLevel, list[int]]  # the number of each, and the first row that has it
    where: Where


class Encoding:
    """How the columns of a table become features: those of the first column come first, late levels last.

    A table that may be ``reduced`` to selected features has dates as they are, or as the days that
    stand for them.
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

    # ---- what there is

    @property
    def is_plain(self) -> bool:
        """Return True for numbers as they are, which other data without an encoding has as well."""
        is_as_written = self.missing in ("error", "skip") and not self.omits_text
        return is_as_written and all(column.kind == "number" for column in self.columns)

    @property
    def n_features(self) -> int:
        """Return the number of features so far."""
        return self.n_first + len(self.late)

    @property
    def n_first(self) -> int:
        """Return the number of features but for late levels."""
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return the first feature of every column, and the number of all of these."""
        return np.cumsum([0, *(column.width for column in self.columns)], dtype=np.int64)

    @property
    def feature_names(self) -> NDArray[Any]:
        """Return the names of all features so far."""
        if self._names.size < self.n_features:
            new = self.late[self._names.size - self.n_first :]
            names = [f"{self.columns[at].name}={level}" for at, level in new]
            self._names = np.append(self._names, np.array(names, dtype=object))
        return self._names

    @cached_property
    def _names(self) -> NDArray[Any]:
        return np.array(
            [name for column in self.columns for name in column.features()], dtype=object
        )

    @property
    def column_names(self) -> list[str]:
        """Return the columns of a table that are read."""
        return [column.name for column in self.columns]

    @property
    def has_groups(self) -> bool:
        """Return True if some features belong together."""
        return bool(self.texts)

    @property
    def groups(self) -> list[str]:
        """Return the column that every feature is of."""
        first = [column.name for column in self.columns for _ in range(column.width)]
        return [*first, *(self.columns[late.column].name for late in self.late)]

    def n_levels(self) -> dict[str, int]:
        """Return how many features every column of text is, by its name."""
        late = Counter(level.column for level in self.late)
        return {self.columns[at].name: self.columns[at].width + late[at] for at in self.texts}

    def features_of(self, position: int) -> list[int]:
        """Return the ids of all features of a column."""
        late = [self.n_first + at for at, level in enumerate(self.late) if level.column == position]
        return [*range(int(self.starts[position]), int(self.starts[position + 1])), *late]

    def with_features(self, features: NDArray[np.int64]) -> tuple[Encoding, NDArray[np.int64]]:
        """Return the columns alone that these features are of, and what all features of those are numbered here."""
        first, late = (
            features[features < self.n_first],
            features[features >= self.n_first] - self.n_first,
        )
        used = set((np.searchsorted(self.starts, first, side="right") - 1).tolist())
        used |= {self.late[at].column for at in late.tolist()}
        some = self.with_columns(used)
        some.reduced = True
        ids = [np.arange(self.starts[column], self.starts[column + 1]) for column in sorted(used)]
        kept = [at for at, level in enumerate(self.late) if level.column in used]
        return some, np.concatenate([*ids, self.n_first + np.array(kept, np.int64)])

    def with_columns(self, positions: set[int]) -> Encoding:
        """Return the encoding of some of the columns."""
        used = sorted(positions)
        place = {position: at for at, position in enumerate(used)}
        late = [LateLevel(place[at], level) for at, level in self.late if at in place]
        columns = [self.columns[at] for at in used]
        return Encoding(columns, self.missing, self.reduced, late, self.omits_text)

    # ---- as JSON

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
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
        """Return what ``to_dict`` gave; a ValueError if it may come from a stranger and cannot be that."""
        if not conforms(content, EncodingFields) or not all(
            set(column) <= FIELDS for column in content["columns"]
        ):
            raise ValueError("its encoding of columns is not one")
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
        """Give features to the levels that are new in some rows, by the row and the column in which they come first.

        They come after all others that were learned.
        """
        if not rows.new:
            return rows
        features = np.empty(len(rows.new), np.int64)
        for late in sorted(rows.new, key=lambda late: (rows.new[late][FIRST_ROW], late.column)):
            ids = self.ids[late.column]
            if late.level not in ids:  # rows before these may have brought it
                if len(ids) == MAX_LEVELS:
                    raise too_many_levels(
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
        """Return the feature of every level of every column, late ones too."""
        ids = [
            {level: number for number, level in enumerate(column.levels, start)}
            for column, start in zip(self.columns, self.starts.tolist(), strict=False)
        ]
        for number, late in enumerate(self.late):
            ids[late.column][late.level] = self.n_first + number
        return ids


def too_many_levels(origin: str, names: list[str], is_id: bool) -> DataError:
    """Return what to say of columns of text with more different values than there can be features."""
    many = f"with more than {MAX_LEVELS:,} different values"
    what = (
        f"column {names[0]!r} is text"
        f" {'that is another in every row, as names and ids are' if is_id else many}"
    )
    more = f" (and {len(names) - 1:,} more such columns)" if len(names) > 1 else ""
    return DataError(
        f"{prefix(origin)}{what}{more}; omit what tells nothing ({spell('drop', names)}), or use "
        f"{spell('strings', 'hash')}"
    )
