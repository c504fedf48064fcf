"""Some features of data that has ids: the others are not read, and those that are keep their ids.

What a user omits or keeps is resolved to ids once, against the data of a training; later data is filtered by these ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock
from ..errors import UsageError
from ..values import is_sparse
from .arrays import ArraySource
from .base import LARGEST_INDEX, ColumnSource, DataSource, Source
from .column_lists import ColumnListSource
from .groups import features_of
from .options import ReadOptions
from .survey import picked
from .tables import TableSource
from .wrapped import WrappedRows


@dataclass(frozen=True, slots=True, eq=False)
class KeptFeatures:
    """The ids of the features that are read: those in ``only``, or all, without those in ``drop``."""

    only: NDArray[np.int64] | None
    drop: NDArray[np.int64]

    def among(self, ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Return a mask of the ids that are kept."""
        kept = ~np.isin(ids, self.drop)
        return kept if self.only is None else kept & np.isin(ids, self.only)

    def count(self, n_features: int) -> int:
        """Return how many of the ids from 0 to below ``n_features`` are kept."""
        if self.only is None:
            return n_features - int(np.count_nonzero(np.unique(self.drop) < n_features))
        only = np.unique(self.only)
        return int(np.count_nonzero(self.among(only) & (only < n_features)))

    def joined(self, other: KeptFeatures | None) -> KeptFeatures:
        """Return the features that are kept by both."""
        if other is None:
            return self
        only = other.only if self.only is None else self.only
        if self.only is not None and other.only is not None:
            only = np.intersect1d(self.only, other.only)
        return KeptFeatures(only, np.union1d(self.drop, other.drop))

    def to_dict(self) -> dict[str, list[int] | None]:
        """Return the same as JSON can hold it."""
        return {"only": None if self.only is None else self.only.tolist(), "drop": self.drop.tolist()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> KeptFeatures:
        """Return what ``to_dict`` was called on."""
        only = content["only"]
        return cls(None if only is None else np.array(only, np.int64), np.array(content["drop"], np.int64))


class SomeRows(WrappedRows):
    """Rows with some of their features."""

    def __init__(self, rows: Source, kept: KeptFeatures) -> None:
        self.wanted = kept
        super().__init__(rows)

    def _take(self, rows: Source) -> None:
        super()._take(rows)
        self.kept = self.wanted.joined(rows.kept)

    def _changed(self, block: RowBlock) -> RowBlock:
        return block.with_some_entries(self.wanted.among(block.indices[block.indptr[0] : block.indptr[-1]]))


class SomeColumns(ColumnSource):
    """Some of the columns of a source."""

    def __init__(self, source: ColumnSource, kept: KeptFeatures) -> None:
        super().__init__(source.name)
        self.source, self.wanted = source, kept
        self.kept = kept.joined(source.kept)
        self.n_rows, self.n_features, self.n_bytes = source.n_rows, source.n_features, source.n_bytes
        self.feature_names, self.has_labels, self.rewindable = (
            source.feature_names,
            source.has_labels,
            source.rewindable,
        )
        self.value_type, self.first_id = source.value_type, source.first_id
        self.has_groups, self.group_names = source.has_groups, source.group_names
        self.columns_splittable = source.columns_splittable

    @property
    def has_names(self) -> bool:
        return self.source.has_names

    def column_blocks(self) -> Iterator[ColumnBlock]:
        for block in self.source.column_blocks():
            yield block.masked(self.wanted.among(block.ids))

    def targets(self) -> NDArray[Any]:
        return self.source.targets()

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return [SomeColumns(shard, self.wanted) for shard in self.source.column_shards(n)]


def keep_named(source: DataSource, options: ReadOptions) -> DataSource:
    """Return the same data with the features that ``drop`` and ``only`` leave, which name them or have their ids."""
    if isinstance(source, TableSource):
        return source.with_columns(picked(source.columns, options, source.name))
    by_name = ids_by_name(source)
    only = None if options.only is None else ids_of(source, options.only, by_name)
    return keep_features(source, KeptFeatures(only, ids_of(source, options.drop, by_name)))


def keep_features(source: DataSource, kept: KeptFeatures | None) -> DataSource:
    """Return the same data with some of its features."""
    if kept is None:
        return source
    if isinstance(source, ArraySource):
        return some_of_matrix(source, kept)
    if isinstance(source, ColumnListSource):
        some = copy(source)
        some.kept = kept.joined(source.kept)
        return some
    if isinstance(source, Source):
        return SomeRows(source, kept)
    assert isinstance(source, ColumnSource), "there are rows and columns"
    return SomeColumns(source, kept)


def some_of_matrix(source: ArraySource, kept_features: KeptFeatures) -> ArraySource:
    """Return a matrix in memory with zeros for what is omitted."""
    kept, some = kept_features.among(np.arange(source.n_features or 0)), copy(source)
    if is_sparse(source.matrix):
        from scipy.sparse import diags_array

        some.matrix = (source.matrix @ diags_array(kept.astype(source.matrix.dtype))).asformat(source.matrix.format)
    else:
        some.matrix = np.where(kept, source.matrix, source.matrix.dtype.type(0))
    some.kept = kept_features.joined(source.kept)
    return some


def ids_by_name(source: DataSource) -> dict[str, Sequence[int]]:
    """Return the ids of features by their names; a column of a table stands for all of its features."""
    names, ids = source.feature_names, None
    if names is None and source.has_names and source.rewindable and isinstance(source, ColumnSource):
        known = features_of(source, source)  # of a file of columns, every record says its own
        names, ids = known.names, known.offered
    if names is None:
        return {}
    found: dict[str, Sequence[int]] = {}
    if source.encoding is not None:
        starts = source.encoding.starts.tolist()
        for column, start in zip(source.encoding.columns, starts, strict=False):
            found[column.name] = range(start, start + column.width)
    numbers: Sequence[int] = range(len(names)) if ids is None else ids.tolist()
    return found | {str(name): [feature] for name, feature in zip(names, numbers, strict=True)}


def ids_of(source: DataSource, named: Sequence[str], by_name: dict[str, Sequence[int]]) -> NDArray[np.int64]:
    """Return the features that a user names: by their names, if there are such, or by ids as the data writes them."""
    ids: list[int] = []
    first = source.first_id
    for name in named:
        word = name.strip()
        if name in by_name:
            ids.extend(by_name[name])
        elif word.isascii() and word.isdigit() and first <= int(word) < LARGEST_INDEX:
            ids.append(int(word) - first)
        else:
            near = get_close_matches(name, by_name, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else f"ids are integers of {first} or more"
            raise UsageError(f"{source.name}: there is no feature {name!r} to omit or to keep; {hint}")
    return np.array(ids, np.int64)
