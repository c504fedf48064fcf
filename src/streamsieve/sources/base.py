"""The contracts of sources: rows or columns in blocks, with facts known before reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
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

Missing = Literal["error", "keep"]  # a missing value is an error, or is kept as NaN
Report = Callable[[str, int, int | None], None]  # the unit that is counted, count so far, total
FEATURES_WRITTEN = "features written"  # a unit for reports


class Note(NamedTuple):
    """A remark for users about how data is read, with one thing to try."""

    kind: str
    message: str
    advice: str


class NoRowsError(DataError):
    """The data has no rows: an error for all of it, but not for one of several files."""


class AbsentColumnError(DataError):
    """A table does not have a requested column; ``available`` are the columns it has."""

    def __init__(self, message: str, available: list[str]) -> None:
        super().__init__(message)
        self.available = available


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Facts about data that are known before it is read; unknown facts are None.

    Wrappers change them by ``replace(source.facts, ...)``, copies by ``with_facts``. If not all
    columns of a table are features as they are, ``encoding`` says how they become features; it
    grows with new levels, and so do the number of features and their names.
    """

    name: str  # for messages
    n_rows: int | None = None
    n_features: int | None = None
    feature_names: NDArray[Any] | None = None
    names_in_blocks: bool = False  # column blocks have the names of their features
    first_id: int = 0  # the number of feature 0 in the data, if features have no names
    rewindable: bool = True  # can be read more than once
    splittable: bool = False  # rows can be read from the middle, so in shards
    has_labels: bool = True
    n_bytes: int | None = None
    takes_target: bool = False  # a table, whose target column must be given
    target: str | None = None
    weight: str | None = None  # the column of row weights
    renumbered: str | None = None  # the mark of the selection that renumbered the features
    kept: KeptFeatures | None = None  # the features that are read, by id; None for all
    encoding: Encoding | None = None
    notes: tuple[Note, ...] = ()
    incomplete: tuple[str, ...] = ()  # columns with missing values in the first rows
    columns_splittable: bool = False  # columns can be read in shards
    value_type: type[np.floating[Any]] = np.float64  # holds every value exactly
    has_groups: bool = False  # column blocks have groups
    group_names: NDArray[Any] | None = None  # by group number; None if there are none


class DataSource(ABC):
    """Data of any origin, with the ``facts`` known about it.

    ``bytes_read`` of ``n_bytes`` have been read so far. A source with all of its data in memory has
    it as ``matrix``, an array or a SciPy sparse matrix, whose columns are the features ``ids``, or
    all features if that is None.
    """

    bytes_read: int = 0
    matrix: Any = None
    ids: NDArray[np.int64] | None = None
    is_transposed = False  # rows are made of the columns of a file

    def __init__(self, facts: SourceFacts) -> None:
        self.facts = facts

    def with_facts(self, **changes: Any) -> Self:
        """Return a copy of this source with other facts."""
        source = copy(self)
        source.facts = replace(self.facts, **changes)
        return source

    @property
    def name(self) -> str:
        """Return the name of the data in messages."""
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
        """Return the encoding of a table whose columns are not just numbers."""
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
        """Return True if the features have names, whether or not they are known before reading."""
        return self.feature_names is not None or self.facts.names_in_blocks

    def read_feature_names(self) -> NDArray[Any] | None:
        """Return the names of all features, reading the data if they are not known."""
        return self.feature_names

    def keep_features(self, kept: KeptFeatures) -> DataSource:
        """Return the same data with some of its features, under the same ids."""
        raise UsageError(
            f"{prefix(self.name)}features cannot be omitted from blocks of columns; omit the"
            " blocks instead"
        )

    def named(self, names: NDArray[Any], origin: str) -> DataSource:
        """Return the same data with feature names; ``origin`` says where the names are from."""
        raise UsageError(
            f"{self.name}: blocks of columns already have names; omit {spell('names')}"
        )

    def with_columns(self, options: ReadOptions) -> Self | None:
        """Return a table without the columns that the options omit; None for other data."""
        return None

    def with_target_only(self) -> DataSource:
        """Return a table of which only the target is read; other data is returned whole."""
        return self

    def complete(self) -> None:
        """Learn all features if an encoding can grow, reading the data if needed."""
        return

    @abstractmethod
    def targets(self) -> NDArray[Any]:
        """Return the label of every row."""


class Source(DataSource):
    """A source of rows.

    Examples
    --------
    >>> import streamsieve as ss
    >>> source = ss.open_source("synthetic:x1?rows=100")
    >>> sum(block.n_rows for block in source.row_blocks())
    100
    """

    def keep_features(self, kept: KeptFeatures) -> DataSource:
        from .wrapped import SomeRows

        return SomeRows(self, kept)

    def named(self, names: NDArray[Any], origin: str) -> DataSource:
        from .wrapped import NamedRows

        return NamedRows(self, names, origin)

    @abstractmethod
    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        """Yield the rows in order, from the first, in blocks of a size the source prefers.

        ``missing="keep"`` gives NaN for missing values, for methods that support them.
        """

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows] | None:
        """Yield the rows of a table with every value written out; return None for other rows.

        It is for callers that would otherwise fill in the zeros of row blocks.
        """
        return None

    def label_kind(self) -> LabelKind | None:
        """Return the kind of the first labels of text with columns; None for other data."""
        return None

    def read_labels_as_text(self) -> None:
        """Read labels as text if the data does not say what they are.

        In text with columns, ``007`` then differs from ``7``.
        """

    def labels(self) -> Iterator[NDArray[Any]]:
        """Yield the label of every row, in blocks.

        If labels are stored apart from the features, only the labels are read.
        """
        for block in self.row_blocks("keep"):
            if block.y is None:
                raise DataError(f"{self.name}: the rows have no labels")
            yield block.y

    def targets(self) -> NDArray[Any]:
        return np.concatenate(list(self.labels()))

    def shards(self, n: int) -> list[Source]:
        """Return the rows in up to ``n`` parts of about the same size.

        The parts in order have all rows in order. Every shard is a source and has at least one row.
        """
        refuse_less_than_one(n, self.name)
        if n == 1:
            return [self]
        self.complete()
        return self._shards(n)

    def _shards(self, n: int) -> list[Source]:
        """Return two or more parts; by default, rows cannot be split."""
        raise UsageError(
            f"{self.name}: these rows cannot be split into parts; write them to a file first:"
            " streamsieve convert"
        )


class ColumnSource(DataSource):
    """A source of columns.

    A shard has some of the columns, under their ids; its ``n_features`` is that of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> source = ss.open_source((np.eye(3), [0, 1, 1]))
    >>> isinstance(source, ss.ColumnSource), source.targets().tolist()
    (True, [0, 1, 1])
    """

    order: NDArray[np.int64] | None = None  # the ids in reading order, if not ascending

    @abstractmethod
    def column_blocks(self) -> Iterator[ColumnBlock]:
        """Yield the columns in order of their ids, in blocks of a size the source prefers.

        NaN is a missing value.
        """

    def dense_columns(self) -> Iterator[NDArray[np.float64]] | None:
        """Yield a few columns of a table at a time as dense matrices; None for other data."""
        return None

    def column_shards(self, n: int) -> list[ColumnSource]:
        """Return the columns in up to ``n`` parts of about the same size.

        The parts in order have all columns in order. Every shard is a source, has at least one
        column, and the target of all rows.
        """
        refuse_less_than_one(n, self.name)
        self.complete()
        return [self] if n == 1 else self._column_shards(n)

    def _column_shards(self, n: int) -> list[ColumnSource]:
        """Return two or more parts; by default, columns cannot be split."""
        raise UsageError(
            f"{self.name}: these columns cannot be split into parts; write them to a file first:"
            " streamsieve convert --columns"
        )


class BlockSource(Source):
    """A source of any iterable of row blocks; an iterator can be read only once."""

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
    """A source of any iterable of column blocks, with the target ``y`` of their rows."""

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
            self._columns_between(start, stop)
            for start, stop in zip(cuts, [*cuts[1:], work.size - 1], strict=True)
        ]
        return [
            ColumnBlockSource(part, self.y, self.name, self.n_features) for part in parts if part
        ] or [self]

    def _columns_between(self, start: int, stop: int) -> list[ColumnBlock]:
        """Return the columns from ``start`` to before ``stop``, counted over all blocks."""
        parts, position = [], 0
        for block in self.blocks:
            first, last = max(start - position, 0), min(stop - position, block.n_columns)
            if first < last:
                parts.append(block.columns(first, last))
            position += block.n_columns
        return parts


def as_row_source(source: DataSource) -> Source:
    """Return a source as a source of rows, or raise UsageError if it has columns only."""
    if isinstance(source, Source):
        return source
    raise UsageError(
        f"{source.name}: expected rows, got columns; give the rows that the columns were made from"
    )


def check_no_weight(weight: str | None, reason: str, or_else: str = "") -> None:
    """Raise UsageError for a weight column; ``or_else`` is another option that can be omitted."""
    if weight is not None:
        raise UsageError(f"{reason}; omit {or_else}{spell('weight')}")


def refuse_less_than_one(n: int, name: str) -> None:
    """Raise UsageError if the number of parts is less than 1."""
    if n < 1:
        raise UsageError(f"{name}: cannot be split into {n} parts; ask for 1 or more")


def file_size(path: Path) -> int:
    """Return the size of a regular file; raise DataError for a folder, a pipe or a device."""
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
    """Raise DataError if a block has infinity, values beyond float32 or, unless kept, NaN.

    The message has the row, counted from 1, and the column.
    """
    finite = ~np.isinf(block.values) if missing == "keep" else np.isfinite(block.values)
    if finite.all():
        return
    entry = int(np.flatnonzero(~finite)[0])
    row = first_row + int(np.searchsorted(block.indptr, entry, side="right"))
    feature = int(block.indices[entry])
    column = title(feature, None if names is None else names[feature], 0)
    raise not_finite_error(block.origin, row, column, float(block.values[entry]))


def not_finite_error(origin: str, row: int, column: str, value: float) -> DataError:
    """Return the error for a value that is missing or infinite; ``row`` counts from 1."""
    what = "is missing (NaN)" if np.isnan(value) else "is infinite, or too large for float32"
    return DataError(
        f"{prefix(origin)}row {row}: the value of {column} {what}; replace it or drop the row"
    )
