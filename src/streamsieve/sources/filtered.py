"""Some features of data that has ids: the others are not read, and those that are keep their ids.

What a user omits or keeps is resolved to ids once, against the data of a training; later data is filtered by these ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import UsageError
from ..json_text import Count, conforms
from .base import LARGEST_INDEX, ColumnSource, DataSource, Source
from .groups import features_of
from .options import ReadOptions
from .wrapped import WrappedRows


class KeptFields(TypedDict):
    """The ids of features that are read, as a model has them."""

    only: list[Count] | None
    drop: list[Count]


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
        """Return what ``to_dict`` was called on; a ValueError if it cannot be that."""
        if not conforms(content, KeptFields):
            raise ValueError("the features that it reads are no ids")
        only = content["only"]
        return cls(None if only is None else np.array(only, np.int64), np.array(content["drop"], np.int64))


class SomeRows(WrappedRows):
    """Rows with some of their features."""

    def __init__(self, rows: Source, kept: KeptFeatures) -> None:
        super().__init__(rows, kept=kept.joined(rows.facts.kept))
        self.wanted = kept

    def _changed(self, block: RowBlock) -> RowBlock:
        return block.with_some_entries(self.wanted.among(block.indices[block.indptr[0] : block.indptr[-1]]))


def keep_named(source: DataSource, options: ReadOptions) -> DataSource:
    """Return the same data with the features that ``drop`` and ``only`` leave, which name them or have their ids."""
    table = source.with_columns(options)
    if table is not None:
        return table
    by_name = ids_by_name(source)
    only = None if options.only is None else ids_of(source, options.only, by_name)
    return source.keeping(KeptFeatures(only, ids_of(source, options.drop, by_name)))


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
        columns = enumerate(source.encoding.column_names)
        found = {name: source.encoding.features_of(position) for position, name in columns}
    numbers: Sequence[int] = range(len(names)) if ids is None else ids.tolist()
    return found | {str(name): [feature] for name, feature in zip(names, numbers, strict=True)}


def ids_of(source: DataSource, named: Sequence[str], by_name: dict[str, Sequence[int]]) -> NDArray[np.int64]:
    """Return the features that a user names: by their names, if there are such, or by ids as the data writes them."""
    ids: list[int] = []
    first = source.facts.first_id
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
