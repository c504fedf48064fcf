"""Encode the columns of a table as features, in the same way in training and afterwards.

A number, a boolean value or a date is one feature; these come first, in the order of their columns.
A column of text is one feature per level, named ``column=level``, or per bucket of a hash of the
text, named ``column#bucket``. A date may be read as two such columns, ``column.hour`` and
``column.weekday``. These features come in order of their first appearance in the rows,
and in a row in the order of the columns. So every column has at most one value in a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..json_text import conforms
from .levels import Levels, NewCells
from .options import MAX_BUCKETS, MissingValues

if TYPE_CHECKING:
    from .arrow_values import Where

Kind = Literal["number", "boolean", "date", "text", "onehot", "hash", "hour", "weekday"]
CALENDAR: tuple[Kind, ...] = "hour", "weekday"
PLAIN_TEXT = "text", "onehot", "hash"
TEXT = *PLAIN_TEXT, *CALENDAR

MAX_LEVELS = 1000  # of a column of kind "onehot"
N_BUCKETS = 1 << 20  # of a column whose text is hashed, by default
MAX_COLUMNS, MAX_TEXT_LENGTH = 1 << 22, 1 << 20  # in a model
MAX_FILL = 3e38  # below the largest float32


class Column(NamedTuple):
    """The encoding of one column; ``fill`` replaces missing numbers."""

    name: str
    kind: Kind
    fill: float = 0.0

    @property
    def table_column(self) -> str:
        """Return the column of the table from which it is made."""
        return self.name.removesuffix(f".{self.kind}") if self.kind in CALENDAR else self.name

    @property
    def level_prefix(self) -> str:
        """Return the beginning of the names of its features, if it is text."""
        return f"{self.name}{'#' if self.kind == 'hash' else '='}"


class ColumnFields(TypedDict):
    """A column in the header of a model."""

    name: Annotated[str, lambda name: len(name) <= MAX_TEXT_LENGTH]
    kind: Kind
    fill: NotRequired[Annotated[float, lambda fill: abs(fill) <= MAX_FILL]]


class EncodingFields(TypedDict):
    """An encoding in the header of a model."""

    missing: MissingValues
    columns: Annotated[list[ColumnFields], lambda columns: 0 < len(columns) <= MAX_COLUMNS]
    n_buckets: NotRequired[Annotated[int, lambda n_buckets: 0 < n_buckets <= MAX_BUCKETS]]


FIELDS = set(ColumnFields.__annotations__)


class EncodedRows(NamedTuple):
    """Some rows by kinds of columns.

    A code is the id of a feature or NO_LEVEL; those of ``new`` cells are not known yet.
    """

    numbers: NDArray[Any]  # columns that are not text
    codes: NDArray[np.int64]  # columns of text
    new: NewCells | None
    where: Where


class Encoding:
    """The encoding of the columns of a table as features.

    It grows with the levels that are found. A table that may be ``reduced`` to selected features
    has dates as they are, or as the days they are encoded as.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        missing: str = "error",
        reduced: bool = False,
        omits_text: bool = False,
        n_buckets: int = N_BUCKETS,
    ) -> None:
        self.columns, self.missing, self.reduced = tuple(columns), missing, reduced
        self.omits_text, self.n_buckets = omits_text, n_buckets
        self.texts = [
            position for position, column in enumerate(self.columns) if column.kind in TEXT
        ]
        self.others = [
            position for position, column in enumerate(self.columns) if column.kind not in TEXT
        ]
        self.levels = Levels(self.level_prefixes)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Encoding)
            and self.to_dict() == other.to_dict()
            and self.levels == other.levels
        )

    # ---- features

    @property
    def is_plain(self) -> bool:
        """Return True if all columns are numbers, as in data without an encoding."""
        is_as_written = self.missing in ("error", "skip") and not self.omits_text
        return is_as_written and all(column.kind == "number" for column in self.columns)

    @property
    def n_numbers(self) -> int:
        """Return the number of features that are not levels."""
        return len(self.others)

    @property
    def n_features(self) -> int:
        """Return the number of features so far."""
        return self.n_numbers + self.levels.size

    @property
    def feature_names(self) -> Any:
        """Return the names of all features so far, like an array."""
        return FeatureNames(self, np.arange(self.n_features))

    def names_of(self, features: NDArray[np.int64]) -> NDArray[Any]:
        """Return the names of some features."""
        names = np.empty(features.size, object)
        is_level = features >= self.n_numbers
        others = [self.columns[self.others[feature]].name for feature in features[~is_level]]
        numbers = features[is_level] - self.n_numbers
        prefixes = self.level_prefixes
        texts = zip(self.levels.columns[numbers], self.levels.texts(numbers), strict=True)
        names[~is_level], names[is_level] = others, [prefixes[at] + text for at, text in texts]
        return names

    @property
    def level_prefixes(self) -> list[str]:
        """Return the beginning of the names of levels, for every column of text."""
        return [self.columns[position].level_prefix for position in self.texts]

    @property
    def column_names(self) -> list[str]:
        """Return the columns of a table that are read, in order."""
        return list(dict.fromkeys(column.table_column for column in self.columns))

    @property
    def has_groups(self) -> bool:
        """Return True if some features belong together, as levels of a column do."""
        return bool(self.texts)

    @property
    def groups(self) -> list[str]:
        """Return the name of the column of every feature."""
        names = np.array([column.name for column in self.columns], dtype=object)
        return [*names[self.others], *names[np.array(self.texts, np.int64)[self.levels.columns]]]

    def n_levels(self) -> dict[str, int]:
        """Return the number of features of every column of text, by its name."""
        names = [self.columns[position].name for position in self.texts]
        return dict(zip(names, self.levels.counts().tolist(), strict=True))

    def features_of(self, position: int) -> list[int]:
        """Return the ids of all features of a column."""
        if position in self.others:
            return [self.others.index(position)]
        levels = np.flatnonzero(self.levels.columns == self.texts.index(position))
        return (self.n_numbers + levels).tolist()

    def with_features(self, features: NDArray[np.int64]) -> tuple[Encoding, NDArray[np.int64]]:
        """Return the encoding of the columns that some features belong to.

        The second result has the ids, in this encoding, of all features of the result.
        """
        numbers = features[features < self.n_numbers].tolist()
        columns = self.levels.columns[features[features >= self.n_numbers] - self.n_numbers]
        positions = {self.others[number] for number in numbers}
        positions |= {self.texts[column] for column in np.unique(columns).tolist()}
        encoding = self.with_columns(positions)
        encoding.reduced = True
        kept = [number for number, position in enumerate(self.others) if position in positions]
        levels = np.flatnonzero(np.isin(self.levels.columns, self._texts_in(positions)))
        return encoding, np.concatenate([np.array(kept, np.int64), self.n_numbers + levels])

    def with_columns(self, positions: set[int]) -> Encoding:
        """Return the encoding of some of the columns."""
        encoding = Encoding(
            [self.columns[position] for position in sorted(positions)],
            self.missing,
            self.reduced,
            self.omits_text,
            self.n_buckets,
        )
        kept = self._texts_in(positions)
        levels = np.flatnonzero(np.isin(self.levels.columns, kept))
        encoding.levels = self.levels.some(levels, encoding.level_prefixes, kept)
        return encoding

    def _texts_in(self, positions: set[int]) -> list[int]:
        """Return the numbers of the text columns at some positions."""
        return [number for number, position in enumerate(self.texts) if position in positions]

    # ---- in a model

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding, without its levels, as a dictionary for JSON."""
        columns = [
            {"name": column.name, "kind": column.kind}
            | ({"fill": column.fill} if column.fill else {})
            for column in self.columns
        ]
        buckets = {} if self.n_buckets == N_BUCKETS else {"n_buckets": self.n_buckets}
        return {"missing": self.missing, "columns": columns, **buckets}

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the levels as arrays of a model."""
        return self.levels.to_arrays() if self.texts else {}

    @classmethod
    def from_model(cls, content: Any, arrays: dict[str, NDArray[Any]]) -> Encoding:
        """Return the encoding that ``to_dict`` and ``to_arrays`` have stored.

        Its arrays are removed. They may come from an untrusted source; ValueError is raised if they
        are invalid.
        """
        if not conforms(content, EncodingFields) or not all(
            set(column) <= FIELDS for column in content["columns"]
        ):
            raise ValueError("its encoding of columns is invalid")
        columns = [Column(**column) for column in content["columns"]]
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("its encoding names a column twice")
        encoding = cls(columns, content["missing"], n_buckets=content.get("n_buckets", N_BUCKETS))
        if encoding.texts:
            encoding.levels.add_arrays(arrays)
        return encoding

    # ---- new levels

    def learn(self, rows: EncodedRows) -> EncodedRows:
        """Give features to the new levels of some rows, in order of rows and columns.

        These features come after all features learned before.
        """
        if rows.new is None:
            return rows
        levels = self.levels.add(rows.new)
        rows.codes[rows.new.rows, rows.new.columns] = self.n_numbers + levels
        too_many = [
            column.name
            for column in map(self.columns.__getitem__, self.texts)
            if column.kind == "onehot" and self.n_levels()[column.name] > MAX_LEVELS
        ]
        if too_many:
            raise too_many_levels_error(rows.where.origin, too_many, is_id=False)
        return rows._replace(new=None)


class FeatureNames:
    """The names of some features of an encoding, which are made when they are asked for."""

    def __init__(self, encoding: Encoding, features: NDArray[np.int64]) -> None:
        self.encoding, self.features = encoding, features

    @property
    def size(self) -> int:
        """Return the number of names."""
        return self.features.size

    def __len__(self) -> int:
        return self.features.size

    def __getitem__(self, index: Any) -> Any:
        features = self.features[index]
        if isinstance(index, slice):
            return FeatureNames(self.encoding, features)
        names = self.encoding.names_of(np.atleast_1d(features))
        return names if np.ndim(features) else names[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.encoding.names_of(self.features)

    def tolist(self) -> list[str]:
        """Return the names as a list."""
        return list(self.encoding.names_of(self.features))


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
        f" use {spell('strings', 'auto')}"
    )
