"""How the columns of a table become features: the same for training and whatever follows it.

A number, a truth value or a date is one feature. A column of text is one feature per level, named ``column=level``, or
a fixed number of them, named ``column#bucket``, by a hash of the text. So every column has at most one value in a row.
Levels that come after the first rows get ids after all others, in the order in which they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from operator import lt
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, columns_of, dense_block
from ..errors import DataError, prefix, spell
from ..json_check import Count, conforms
from ..kernels.reading.entries import NO_LEVEL, count_entries, write_entries
from .arrow_values import Where, days_of, first_rows, levels_in, numbers_of, truth_of
from .options import MissingValues

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["number", "boolean", "date", "onehot", "hash"]
TEXT = "onehot", "hash"

MOST_LEVELS = 1000  # of a column
NUMBER, FIRST_ROW = range(2)  # of a new level: how many new ones came before, and the row in which it comes first
BUCKETS = 256  # of a column whose text is hashed
MOST_COLUMNS, LONGEST_TEXT = 1 << 22, 1 << 20  # of what a model may say
LARGEST_FILL = 3e38  # a float32


class Column(NamedTuple):
    """How one column is read. ``fill`` is what stands for a missing number, if it is not 0."""

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()  # of the first rows
    fill: float = 0.0

    @property
    def is_text(self) -> bool:
        """Return True for a column that is a feature per level or bucket."""
        return self.kind in TEXT

    @property
    def width(self) -> int:
        """Return how many features it is, but for levels that came late."""
        return len(self.levels) if self.kind == "onehot" else BUCKETS if self.kind == "hash" else 1

    def features(self) -> list[str]:
        """Return the names of its features."""
        if self.kind == "onehot":
            return [f"{self.name}={level}" for level in self.levels]
        return [f"{self.name}#{bucket}" for bucket in range(BUCKETS)] if self.kind == "hash" else [self.name]


def is_short(text: str) -> bool:
    """Return True for a text that a model may have."""
    return len(text) <= LONGEST_TEXT


class ColumnFields(TypedDict):
    """A column as a model has it."""

    name: Annotated[str, is_short]
    kind: Kind
    levels: NotRequired[Annotated[list[Annotated[str, is_short]], lambda levels: all(map(lt, levels, levels[1:]))]]
    fill: NotRequired[Annotated[float, lambda fill: abs(fill) <= LARGEST_FILL]]


class EncodingFields(TypedDict):
    """An encoding as a model has it."""

    missing: MissingValues
    columns: Annotated[list[ColumnFields], lambda columns: 0 < len(columns) <= MOST_COLUMNS]
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
    new: list[LateLevel]  # in the order in which they come
    where: Where


class Encoding:
    """How the columns of a table become features: those of the first column come first, late levels last.

    A table that may be ``reduced`` to selected features has dates as they are, or as the days that stand for them.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        missing: str = "error",
        reduced: bool = False,
        late: Sequence[LateLevel] = (),
    ) -> None:
        self.columns, self.missing, self.reduced, self.late = tuple(columns), missing, reduced, list(late)
        self.texts = [position for position, column in enumerate(self.columns) if column.is_text]
        self.others = [position for position, column in enumerate(self.columns) if not column.is_text]

    @classmethod
    def of_numbers(cls, columns: Sequence[str]) -> Encoding:
        """Return that of a table of numbers."""
        return cls([Column(name, "number") for name in columns])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.columns)

    # ---- what there is

    @property
    def is_plain(self) -> bool:
        """Return True for numbers as they are, which other data without an encoding has as well."""
        return self.missing in ("error", "skip") and all(column.kind == "number" for column in self.columns)

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
            more = self.late[self._names.size - self.n_first :]
            names = [f"{self.columns[late.column].name}={late.level}" for late in more]
            self._names = np.append(self._names, np.array(names, dtype=object))
        return self._names

    @cached_property
    def _names(self) -> NDArray[Any]:
        return np.array([name for column in self.columns for name in column.features()], dtype=object)

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
        first, late = features[features < self.n_first], features[features >= self.n_first] - self.n_first
        used = set((np.searchsorted(self.starts, first, side="right") - 1).tolist())
        some = self.with_columns(used | {self.late[at].column for at in late.tolist()})
        some.reduced = True
        ids = [np.arange(self.starts[column], self.starts[column + 1]) for column in self._positions(some)]
        known = {column.name for column in some.columns}
        kept = [at for at, level in enumerate(self.late) if self.columns[level.column].name in known]
        return some, np.concatenate([*ids, self.n_first + np.array(kept, np.int64)])

    def with_columns(self, positions: set[int]) -> Encoding:
        """Return the encoding of some of the columns."""
        used = sorted(positions)
        place = {position: at for at, position in enumerate(used)}
        late = [LateLevel(place[at], level) for at, level in self.late if at in place]
        return Encoding([self.columns[at] for at in used], self.missing, self.reduced, late)

    def _positions(self, some: Encoding) -> list[int]:
        names = set(some.column_names)
        return [position for position, column in enumerate(self.columns) if column.name in names]

    # ---- as JSON

    def refuse_more(self, n_features: int, origin: str) -> None:
        """Refuse data with features that the table did not have: a model could not say how to read them."""
        if n_features > self.n_features:
            raise DataError(
                f"{prefix(origin)}feature {n_features - 1:,} is not of the table that was learned, which gives "
                f"{self.n_features:,} features (0 to {self.n_features - 1:,}); give one table with all columns, or "
                "begin anew"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        columns = []
        for column in self.columns:
            content: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == "onehot":
                content["levels"] = list(column.levels)
            if column.fill:
                content["fill"] = column.fill
            columns.append(content)
        late = {"late": [list(level) for level in self.late]} if self.late else {}
        return {"missing": self.missing, "columns": columns, **late}

    @classmethod
    def from_dict(cls, content: Any) -> Encoding:
        """Return what ``to_dict`` gave; a ValueError if it may come from a stranger and cannot be that."""
        if not conforms(content, EncodingFields) or not all(set(column) <= FIELDS for column in content["columns"]):
            raise ValueError("its encoding of columns is not one")
        columns = [Column(**{**column, "levels": tuple(column.get("levels", ()))}) for column in content["columns"]]
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
        if any(count > MOST_LEVELS for count in encoding.n_levels().values() if count != BUCKETS):
            raise ValueError("its encoding has too many levels of a column")
        return encoding

    # ---- rows of a table

    def encode_batch(self, batch: pa.RecordBatch, where: Where, keep: bool, kind: Any = np.float32) -> EncodedRows:
        """Return the rows of a batch; ``keep`` gives NaN for numbers that are missing and not filled in."""
        numbers = np.empty((batch.num_rows, len(self.others)), kind)
        with np.errstate(over="ignore"):
            for at, position in enumerate(self.others):
                name = self.columns[position].name
                numbers[:, at] = self.read_numbers(position, batch.column(name), where)
        texts = [batch.column(self.columns[position].name) for position in self.texts]
        return self.encode(numbers, texts, where, keep)

    def encode(self, numbers: NDArray[Any], texts: Sequence[pa.Array], where: Where, keep: bool) -> EncodedRows:
        """Return rows whose numbers were read already, NaN for those that are missing."""
        self._fill(numbers, where, keep)
        codes = np.empty((len(numbers), len(self.texts)), np.int64)
        new: dict[LateLevel, list[int]] = {}
        for at, (position, values) in enumerate(zip(self.texts, texts, strict=True)):
            codes[:, at] = self._codes(position, values, where, keep, new)
        if not new:
            return EncodedRows(numbers, codes, [], where)
        order, place = in_order(new), np.empty(len(new), np.int64)
        place[[new[late][NUMBER] for late in order]] = np.arange(len(order))
        return EncodedRows(numbers, renumbered(codes, -2 - place), order, where)

    def learn(self, rows: EncodedRows) -> EncodedRows:
        """Give features to the levels that are new in some rows, which come after all others that were learned."""
        if not rows.new:
            return rows
        ids = np.array([self._id_of(late, rows.where) for late in rows.new])
        return rows._replace(codes=renumbered(rows.codes, ids), new=[])

    def _id_of(self, late: LateLevel, where: Where) -> int:
        """Return the feature of a level, a new one if it has none."""
        ids, column = self._ids[late.column], self.columns[late.column]
        if late.level not in ids:
            if len(ids) == MOST_LEVELS:
                raise too_many_levels(where.origin, [column.name], is_id=False)
            ids[late.level] = self.n_features
            self.late.append(late)
        return ids[late.level]

    @cached_property
    def _ids(self) -> list[dict[str, int]]:
        """Return the feature of every level of every column, late ones too."""
        starts = self.starts.tolist()
        ids = [
            {level: start + number for number, level in enumerate(column.levels)}
            for column, start in zip(self.columns, starts, strict=False)
        ]
        for number, late in enumerate(self.late):
            ids[late.column][late.level] = self.n_first + number
        return ids

    def _codes(
        self, position: int, values: pa.Array, where: Where, keep: bool, new: dict[LateLevel, list[int]]
    ) -> NDArray[np.int64]:
        """Return the feature of every row of a column of text.

        Where levels may be new, they are added to ``new``, each with its number and its first row.
        """
        column, ids, start = self.columns[position], self._ids[position], int(self.starts[position])
        if values.null_count and self.missing == "error" and not keep:
            raise where.missing(values, column.name)
        levels, present = levels_in(values, column.name, where)
        if not levels:
            return present
        rows = first_rows(present, len(levels))
        codes = np.full(len(levels) + 1, NO_LEVEL)  # the last one is for no level
        for number, (level, row) in enumerate(zip(levels, rows.tolist(), strict=True)):
            if row < 0:
                continue  # categories may be declared that do not occur
            if column.kind == "hash":
                codes[number] = start + bucket_of(column.name, level)
            elif level in ids:
                codes[number] = ids[level]
            elif where.grows:
                late = LateLevel(position, level)
                found = new.setdefault(late, [len(new), row])
                found[FIRST_ROW] = min(row, found[FIRST_ROW])
                codes[number] = -2 - found[NUMBER]
            elif where.unseen is not None:
                where.unseen.setdefault(column.name, level)
        return codes[present]

    def _fill(self, numbers: NDArray[Any], where: Where, keep: bool) -> None:
        """Fill in what is missing, or refuse it; refuse what is infinite."""
        finite = np.isfinite(numbers)
        if finite.all():
            return
        kept = keep or self.missing in ("zero", "mean")
        wrong = np.isinf(numbers) if kept else ~finite
        if wrong.any():
            row, at = np.argwhere(wrong)[0].tolist()
            name, value = self.columns[self.others[at]].name, float(numbers[row, at])
            raise where.missing_at(row, name) if np.isnan(value) else where.infinite(row, name)
        if self.missing in ("zero", "mean"):
            fills = np.array([self.columns[position].fill for position in self.others])
            numbers[~finite] = np.broadcast_to(fills, numbers.shape)[~finite]

    def read_numbers(self, position: int, values: pa.Array, where: Where) -> NDArray[np.float64]:
        """Return a column that is not text as numbers, NaN for what is missing."""
        column = self.columns[position]
        if column.kind == "date":
            return days_of(values, column.name, where, may_be_days=self.reduced)
        return (truth_of if column.kind == "boolean" else numbers_of)(values, column.name, where)

    def block_of(self, rows: EncodedRows, y: NDArray[Any] | None) -> RowBlock:
        """Return rows without new levels as a block."""
        numbers, codes, _, where = rows
        if not self.texts:
            return dense_block(numbers, y, where.origin)
        indptr, ids, values = self._entries(numbers, codes)
        return RowBlock.trusted(indptr, ids, values, y, self.n_features, where.origin)

    def matrix_of(self, parts: Sequence[EncodedRows]) -> Any:
        """Return all rows of a table in double precision: an array, or CSR if there are columns of text."""
        if not self.texts:
            empty = np.empty((0, self.n_features))
            return np.concatenate([part.numbers for part in parts]) if parts else empty
        from scipy.sparse import csr_array, vstack

        matrices = []
        for numbers, codes, _, _ in parts:
            indptr, ids, values = self._entries(numbers, codes)
            matrices.append(csr_array((values, ids, indptr), (len(numbers), self.n_features)))
        return vstack(matrices, format="csr") if matrices else csr_array((0, self.n_features))

    def _entries(
        self, numbers: NDArray[Any], codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
        """Return the entries of rows in CSR form."""
        indptr = np.zeros(len(numbers) + 1, np.int64)
        count_entries(numbers, codes, indptr)
        ids, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], numbers.dtype)
        write_entries(numbers, codes, self._order, self.starts[self.others], self.n_first, ids, values)
        return indptr, ids, values

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """Return where each column is among those that are not text or, as -1, -2, ..., among those of text."""
        order = np.empty(len(self.columns), np.int64)
        order[self.others], order[self.texts] = np.arange(len(self.others)), -1 - np.arange(len(self.texts))
        return order

    # ---- columns of a table

    def column_block(self, position: int, values: pa.Array, where: Where) -> ColumnBlock:
        """Return the features of a column, of whose levels all are known; NaN is a number that is missing."""
        column, start = self.columns[position], int(self.starts[position])
        if not column.is_text:
            numbers = self.filled_column(position, values, where)[:, None]
            return columns_of(numbers, start, names=self.feature_names[start : start + 1], origin=where.origin)
        codes = self._codes(position, values, where, True, {})
        ids = np.array(self.features_of(position), np.int64)
        order = np.argsort(codes, kind="stable")[np.count_nonzero(codes == NO_LEVEL) :]
        indptr = np.append(0, np.searchsorted(codes[order], ids, side="right"))
        names = self.feature_names[ids]
        rows = order.astype(np.int32)
        return ColumnBlock(indptr, rows, np.ones(order.size), ids, codes.size, names, origin=where.origin)

    def filled_column(self, position: int, values: pa.Array, where: Where) -> NDArray[np.float64]:
        """Return a column that is not text as numbers, NaN for what is missing and not filled in."""
        numbers = self.read_numbers(position, values, where)
        if self.missing not in ("zero", "mean"):
            return numbers
        return np.where(np.isnan(numbers), self.columns[position].fill, numbers)

    def extend(self, texts: Sequence[pa.Array], where: Where) -> None:
        """Give features to all levels in some rows of the columns of text."""
        new: dict[LateLevel, list[int]] = {}
        for position, values in zip(self.texts, texts, strict=True):
            self._codes(position, values, where, True, new)
        for late in in_order(new):
            self._id_of(late, where)


def renumbered(codes: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return codes of rows with ``ids`` for new levels."""
    is_new = codes < NO_LEVEL
    codes[is_new] = ids[-2 - codes[is_new]]
    return codes


def in_order(new: dict[LateLevel, list[int]]) -> list[LateLevel]:
    """Return new levels in the order in which they come: by the first row of each, then by column."""
    return sorted(new, key=lambda late: (new[late][FIRST_ROW], late.column))


def bucket_of(column: str, level: str) -> int:
    """The bucket of a text: the same everywhere, another one for another column."""
    digest = blake2b(level.encode("utf-8", "surrogatepass"), digest_size=8, person=_person(column)).digest()
    return int.from_bytes(digest, "little") % BUCKETS


def _person(column: str) -> bytes:
    return blake2b(column.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def too_many_levels(origin: str, names: list[str], is_id: bool) -> DataError:
    """Return what to say of columns of text with more different values than there can be features."""
    what = f"column {names[0]!r} is text with more than {MOST_LEVELS:,} different values"
    if is_id:
        what = f"column {names[0]!r} is text that is another in every row, as names and ids are"
    more = f" (and {len(names) - 1:,} more such columns)" if len(names) > 1 else ""
    return DataError(
        f"{prefix(origin)}{what}{more}; omit what tells nothing ({spell('drop', names)}), or use "
        f"{spell('strings', 'hash')}"
    )
