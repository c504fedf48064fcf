"""What a source is: rows or columns in blocks, and what is known of them before they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, DenseRows, RowBlock
from ..errors import DataError, UsageError, prefix, spell
from ..naming import title

if TYPE_CHECKING:
    from .encoding import Encoding
    from .labels import LabelKind
    from .options import ReadOptions
    from .wrapped import KeptFeatures

MAX_INDEX = 10**17  # 18 digits, so that no sum in a kernel overflows

Missing = Literal["error", "keep"]  # a missing value is refused, or comes as NaN
Report = Callable[
    [str, int, int | None], None
]  # what is being counted, how many so far, how many there are
FEATURES_WRITTEN = "features written"  # what is being counted


class Note(NamedTuple):
    """What a user should know of how data is read, and the one thing to try."""

    kind: str
    message: str
    advice: str


class NoRowsError(DataError):
    """There is not a single row: an error in all of the data, but not in one of several files."""


class AbsentColumnError(DataError):
    """A table does not have a column that was asked for; it has those that are ``available``."""

    def __init__(self, message: str, available: list[str]) -> None:
        super().__init__(message)
        self.available = available


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What is known of data before it is read; what is not known is None.

    Wrappers say ``replace(source.facts, ...)``. Of a table whose columns are not all features as
    they are, ``encoding`` says how they become such; it grows with the levels that come, and with
    it the number of features and their names.
    """

    name: str  # for messages
    n_rows: int | None = None
    n_features: int | None = None
    feature_names: NDArray[Any] | None = None
    names_in_blocks: bool = False  # blocks of columns bring the names of their features
    first_id: int = 0  # what the data calls the feature of id 0, if features have no names
    rewindable: bool = True  # it can be read more than once
    splittable: bool = False  # rows can be read from the middle, and so come in shards
    has_labels: bool = True
    n_bytes: int | None = None
    takes_target: bool = False  # a table, where the column to predict must be named
    target: str | None = None
    weight: str | None = None  # the column that says how much the rows count
    renumbered: str | None = None  # the mark of the selection whose features it has, in their order
    kept: KeptFeatures | None = None  # the features that are read, by id; None for all
    encoding: Encoding | None = None
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()  # columns with missing values in the first rows
    columns_splittable: bool = False  # columns come in shards
    value_type: type[np.floating[Any]] = np.float64  # what holds every value of a column exactly
    has_groups: bool = False  # blocks of columns have the groups of their columns
    group_names: NDArray[Any] | None = None  # what these are called, by number; None if by it


class DataSource(ABC):
    """Data from somewhere, of which ``facts`` are known.

    ``bytes_read`` of ``n_bytes`` is how far the reading has come. A source that has all of its data
    in memory shows it as ``matrix``, an array or a SciPy sparse matrix, whose columns are the
    features ``ids``, all of them if that is None.
    """

    bytes_read: int = 0
    matrix: Any = None
    ids: NDArray[np.int64] | None = None
    is_transposed = False  # rows are made of the columns of a file

    def __init__(self, facts: SourceFacts) -> None:
        self.facts = facts

    @property
    def name(self) -> str:
        """Return what messages call the data."""
        return self.facts.name

    @property
    def n_rows(self) -> int | None:
        """Return the number of rows, if it is known."""
        return self.facts.n_rows

    @property
    def n_features(self) -> int | None:
        """Return the number of features so far, if it is known."""
        encoding = self.facts.encoding
        return self.facts.n_features if encoding is None else encoding.n_features

    @property
    def feature_names(self) -> NDArray[Any] | None:
        """Return the names of all features, if they are known."""
        encoding = self.facts.encoding
        return self.facts.feature_names if encoding is None else encoding.feature_names

    @property
    def encoding(self) -> Encoding | None:
        """Return how the columns of a table become features, if they are not just numbers."""
        return self.facts.encoding

    @property
    def rewindable(self) -> bool:
        """Return True if the data can be read more than once."""
        return self.facts.rewindable

    @property
    def has_labels(self) -> bool:
        """Return True if rows have labels."""
        return self.facts.has_labels

    @property
    def has_names(self) -> bool:
        """Return True if the features have names, known before reading or not."""
        return self.feature_names is not None or self.facts.names_in_blocks

    def all_names(self) -> NDArray[Any] | None:
        """Return the names of all features, read from the data where they are not known."""
        return self.feature_names

    def keeping(self, kept: KeptFeatures) -> DataSource:
        """Return the same data with some of its features, under their ids."""
        raise UsageError(
            f"{prefix(self.name)}features of columns that come in blocks cannot be omitted; omit"
            " blocks"
        )

    def named(self, names: NDArray[Any], origin: str) -> DataSource:
        """Return the same data with names for its features; ``origin`` is where they are from."""
        raise UsageError(
            f"{self.name}: blocks of columns bring their names with them; omit {spell('names')}"
        )

    def with_columns(self, options: ReadOptions) -> Self | None:
        """Return a table with the columns that ``drop`` and ``only`` leave; None of data that is no table."""
        return None

    def with_labels_alone(self) -> DataSource:
        """Return a table of which the target alone is read; of other data, all of it."""
        return self

    def complete(self) -> None:
        """Find out all features, where an encoding could grow; data is read for it if it must be."""
        return

    @abstractmethod
    def targets(self) -> NDArray[Any]:
        """Return the label of every row."""


class Source(DataSource):
    """Rows from somewhere."""

    def keeping(self, kept: KeptFeatures) -> DataSource:
        from .wrapped import SomeRows

        return SomeRows(self, kept)

    def named(self, names: NDArray[Any], origin: str) -> DataSource:
        from .wrapped import NamedRows

        return NamedRows(self, names, origin)

    @abstractmethod
    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        """The rows in order, from the first, in blocks of a size the source prefers.

        ``missing="keep"`` gives NaN for values that are missing, for methods that can do without
        them.
        """

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows] | None:
        """The rows of a table with every value written out, for who would fill in the zeros; None of other rows."""
        return None

    def label_kind(self) -> LabelKind | None:
        """Return what the first labels look like, in text with columns; None of other data."""
        return None

    def labels_as_written(self) -> None:
        """Read labels as text where the data does not say what they are: in text with columns ``007`` is not ``7``."""

    def labels(self) -> Iterator[NDArray[Any]]:
        """The label of every row, in blocks; where the labels are apart from the rest, nothing else is read."""
        for block in self.row_blocks("keep"):
            if block.y is None:
                raise DataError(f"{self.name}: the rows have no labels")
            yield block.y

    def targets(self) -> NDArray[Any]:
        return np.concatenate(list(self.labels()))

    def shards(self, n: int) -> list[Source]:
        """The rows in ``n`` parts of about the same size, or fewer: one after the other they are all rows in order.

        Every shard is a source of its own, and has a row at least.
        """
        refuse_less_than_one(n, self.name)
        if n == 1:
            return [self]
        self.complete()
        return self._shards(n)

    def _shards(self, n: int) -> list[Source]:
        """Two parts or more; the default says that there are none."""
        raise UsageError(
            f"{self.name}: these rows cannot be split into parts; write them to a file first:"
            " streamsieve convert"
        )


class ColumnSource(DataSource):
    """Columns from somewhere.

    A shard has some of the columns, under their own ids; its ``n_features`` is the width of all.
    """

    order: NDArray[np.int64] | None = None  # the ids as the columns come, if they do not ascend

    @abstractmethod
    def column_blocks(self) -> Iterator[ColumnBlock]:
        """The columns in order of their ids, in blocks of a size the source prefers; NaN is a missing value."""

    def dense_columns(self) -> Iterator[NDArray[np.float64]] | None:
        """The columns of a table, a few at a time, as matrices with every value written out; None of others."""
        return None

    def column_shards(self, n: int) -> list[ColumnSource]:
        """The columns in ``n`` parts of about the same size, or fewer: one after the other they are all in order.

        Every shard is a source of its own, has a column at least, and the target of all rows.
        """
        refuse_less_than_one(n, self.name)
        self.complete()
        return [self] if n == 1 else self._column_shards(n)

    def _column_shards(self, n: int) -> list[ColumnSource]:
        """Two parts or more; the default says that there are none."""
        raise UsageError(
            f"{self.name}: these columns cannot be split into parts; write them to a file first:"
            " streamsieve convert --columns"
        )


class BlockSource(Source):
    """Any iterable of blocks of rows; an iterator, such as a generator, can be read only once."""

    def __init__(
        self,
        blocks: Iterable[RowBlock],
        name: str = "blocks",
        n_features: int | None = None,
        feature_names: NDArray[Any] | None = None,
    ) -> None:
        super().__init__(
            SourceFacts(
                name, None, n_features, feature_names, rewindable=not isinstance(blocks, Iterator)
            )
        )
        self.blocks = blocks

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        row = 0
        for block in self.blocks:
            refuse_not_finite(block, row, self.feature_names, missing)
            yield block
            row += block.n_rows
        if not row:
            raise NoRowsError(f"{self.name}: holds no rows")


class ColumnBlockSource(ColumnSource):
    """Any iterable of blocks of columns, with the target ``y`` of their rows."""

    def __init__(
        self,
        blocks: Iterable[ColumnBlock],
        y: NDArray[Any],
        name: str = "blocks",
        n_features: int | None = None,
    ) -> None:
        self.blocks, self.y = blocks, np.asarray(y)
        super().__init__(
            SourceFacts(
                name,
                len(self.y),
                n_features,
                rewindable=not isinstance(blocks, Iterator),
                columns_splittable=isinstance(blocks, Sequence),
            )
        )

    def column_blocks(self) -> Iterator[ColumnBlock]:
        return iter(self.blocks)

    def targets(self) -> NDArray[Any]:
        return self.y

    def _column_shards(self, n: int) -> list[ColumnSource]:
        if not isinstance(self.blocks, Sequence):
            return super()._column_shards(n)
        work = np.concatenate([[0], *(np.diff(block.indptr) + 1 for block in self.blocks)]).cumsum()
        cuts = np.unique(np.searchsorted(work, work[-1] * np.arange(n) // n)).tolist()
        parts = [
            self._between(start, stop)
            for start, stop in zip(cuts, [*cuts[1:], work.size - 1], strict=True)
        ]
        return [
            ColumnBlockSource(part, self.y, self.name, self.n_features) for part in parts if part
        ] or [self]

    def _between(self, start: int, stop: int) -> list[ColumnBlock]:
        """The columns from ``start`` to before ``stop``, counted over all blocks."""
        parts, at = [], 0
        for block in self.blocks:
            first, last = max(start - at, 0), min(stop - at, block.n_columns)
            if first < last:
                parts.append(block.columns(first, last))
            at += block.n_columns
        return parts


def by_rows(source: DataSource) -> Source:
    """The rows of a source, if it has them."""
    if isinstance(source, Source):
        return source
    raise UsageError(
        f"{source.name}: these are columns, and rows are needed; give the rows they were made from"
    )


def refuse_weight(weight: str | None, reason: str, or_else: str = "") -> None:
    """Refuse a column of weights where rows cannot be weighed; ``or_else`` is what may be omitted instead."""
    if weight is not None:
        raise UsageError(f"{reason}; omit {or_else}{spell('weight')}")


def refuse_less_than_one(n: int, name: str) -> None:
    """Refuse a number of parts that there cannot be."""
    if n < 1:
        raise UsageError(f"{name}: cannot be split into {n} parts; ask for 1 or more")


def file_size(path: Path) -> int:
    """The size of a regular file; a clear message for a folder, and for what can be read only once."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise DataError(
            f"{path}: is a pipe or a device, not a file; feed svmlight rows to standard input"
            " instead (-)"
        )
    return path.stat().st_size


def refuse_not_finite(
    block: RowBlock, first_row: int, names: NDArray[Any] | None, missing: Missing
) -> None:
    """Refuse infinity, values beyond float32 and, unless it is to be kept, NaN, naming the row (from 1) and column."""
    finite = ~np.isinf(block.values) if missing == "keep" else np.isfinite(block.values)
    if finite.all():
        return
    at = int(np.flatnonzero(~finite)[0])
    row = first_row + int(np.searchsorted(block.indptr, at, side="right"))
    feature = int(block.indices[at])
    column = title(feature, None if names is None else names[feature], 0)
    raise not_finite(block.origin, row, column, float(block.values[at]))


def not_finite(origin: str, row: int, column: str, value: float) -> DataError:
    """What to say of a value that is missing or infinite, with its row counted from 1."""
    what = "is missing (NaN)" if np.isnan(value) else "is infinite, or too large for float32"
    return DataError(
        f"{prefix(origin)}row {row}: the value of {column} {what}; replace it or drop the row"
    )
