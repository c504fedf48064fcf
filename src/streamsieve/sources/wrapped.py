"""Rows of another source, changed as they are read: fewer features, fewer rows, or other names.

The features that a user omits or keeps are resolved to ids once, against the training data; later
data is filtered by these ids: omitted features are not read, and the others keep their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, canonical_rows
from ..errors import DataError, UsageError, spell
from ..json_text import Count, conforms
from ..kernels.chance import draw_by_number
from ..naming import title
from .base import MAX_INDEX, ColumnSource, DataSource, Missing, Source
from .groups import features_of
from .options import ReadOptions
from .text import read_lines

NO_ID = -1  # the id of a feature that the training did not have, or that is not needed


class WrappedRows(Source):
    """The rows of another source.

    A subclass overrides ``_convert_block`` or ``row_blocks``, and passes the facts that differ.
    """

    def __init__(self, rows: Source, **changes: Any) -> None:
        super().__init__(replace(rows.facts, **changes))
        self.rows = rows

    def _convert_block(self, block: RowBlock) -> RowBlock:
        """Return a block as this source yields it."""
        return block

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        for block in self.rows.row_blocks(missing):
            self.bytes_read = self.rows.bytes_read
            yield self._convert_block(block)

    def complete(self) -> None:
        self.rows.complete()

    def read_feature_names(self) -> NDArray[Any] | None:
        return self.rows.read_feature_names() if self.facts.names_in_blocks else self.feature_names

    def read_labels_as_text(self) -> None:
        self.rows.read_labels_as_text()

    def labels(self) -> Iterator[NDArray[Any]]:
        return self.rows.labels()

    def targets(self) -> NDArray[Any]:
        return self.rows.targets()

    def _shards(self, n: int) -> list[Source]:
        return [self._wrap(shard) for shard in self.rows.shards(n)]

    def _wrap(self, shard: Source) -> Self:
        """Return a source like this one, with the rows of a shard."""
        part = self.with_facts(n_rows=shard.n_rows, n_bytes=shard.facts.n_bytes)
        part.rows, part.bytes_read = shard, 0
        return part


# ---- some of the features


class KeptFields(TypedDict):
    """The ids of the features that are read, as a model stores them."""

    only: list[Count] | None
    drop: list[Count]


@dataclass(frozen=True, slots=True, eq=False)
class KeptFeatures:
    """The ids of the features that are read: those in ``only``, or all, but those in ``drop``."""

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
        """Return the features that both keep."""
        if other is None:
            return self
        only = other.only if self.only is None else self.only
        if self.only is not None and other.only is not None:
            only = np.intersect1d(self.only, other.only)
        return KeptFeatures(only, np.union1d(self.drop, other.drop))

    def to_dict(self) -> dict[str, list[int] | None]:
        """Return the ids in a form that JSON can hold."""
        return {
            "only": None if self.only is None else self.only.tolist(),
            "drop": self.drop.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> KeptFeatures:
        """Return the features that ``to_dict`` stored; raise ValueError for invalid content."""
        if not conforms(content, KeptFields):
            raise ValueError("the ids of the features that it reads are not valid")
        only = content["only"]
        return cls(
            None if only is None else np.array(only, np.int64), np.array(content["drop"], np.int64)
        )


class SomeRows(WrappedRows):
    """Rows with some of their features."""

    def __init__(self, rows: Source, kept: KeptFeatures) -> None:
        super().__init__(rows, kept=kept.joined(rows.facts.kept))
        self.wanted = kept

    def _convert_block(self, block: RowBlock) -> RowBlock:
        return block.with_some_entries(
            self.wanted.among(block.indices[block.indptr[0] : block.indptr[-1]])
        )


def keep_features(source: DataSource, options: ReadOptions) -> DataSource:
    """Return the same data with the features that ``drop`` and ``only`` keep.

    These options hold names or ids of features.
    """
    table = source.with_columns(options)
    if table is not None:
        return table
    by_name = ids_by_name(source)
    only = None if options.only is None else ids_of(source, options.only, by_name)
    return source.keep_features(KeptFeatures(only, ids_of(source, options.drop, by_name)))


def ids_by_name(source: DataSource) -> dict[str, Sequence[int]]:
    """Return the ids of features by name; a column of a table stands for all of its features."""
    names, ids = source.feature_names, None
    if (
        names is None
        and source.has_names
        and source.rewindable
        and isinstance(source, ColumnSource)
    ):
        features = features_of(source, source)  # in a file of columns every record has its name
        names, ids = features.names, features.offered
    if names is None:
        return {}
    ids_by_column: dict[str, Sequence[int]] = {}
    if source.encoding is not None:
        for position, column in enumerate(source.encoding.columns):
            others = ids_by_column.get(column.table_column, ())
            ids_by_column[column.table_column] = [*others, *source.encoding.features_of(position)]
    numbers: Sequence[int] = range(len(names)) if ids is None else ids.tolist()
    return ids_by_column | {
        str(name): [feature] for name, feature in zip(names, numbers, strict=True)
    }


def ids_of(
    source: DataSource, named: Sequence[str], by_name: dict[str, Sequence[int]]
) -> NDArray[np.int64]:
    """Return the ids of the features that a user names.

    They are given by name, if features have names, or by id as the data writes it.
    """
    ids: list[int] = []
    first = source.facts.first_id
    for name in named:
        word = name.strip()
        if name in by_name:
            ids.extend(by_name[name])
        elif word.isascii() and word.isdigit() and first <= int(word) < MAX_INDEX:
            ids.append(int(word) - first)
        else:
            similar = get_close_matches(name, by_name, n=3)
            hint = (
                f"did you mean {' or '.join(similar)}?"
                if similar
                else f"ids are integers of {first} or more"
            )
            raise UsageError(
                f"{source.name}: there is no feature {name!r} to omit or to keep; {hint}"
            )
    return np.array(ids, np.int64)


class MappedRows(WrappedRows):
    """Rows with the feature ids of a training; features that it did not have are omitted."""

    def __init__(
        self, rows: Source, ids: NDArray[np.int64], n_features: int, names: NDArray[Any] | None
    ) -> None:
        super().__init__(rows, encoding=None, n_features=n_features, feature_names=names)
        self.training_ids = ids
        self.ascending = bool((np.diff(ids[ids != NO_ID]) > 0).all())

    def _convert_block(self, block: RowBlock) -> RowBlock:
        begin, end = block.indptr[0], block.indptr[-1]
        ids, values, indptr = (
            block.indices[begin:end],
            block.values[begin:end],
            block.indptr - begin,
        )
        if ids.size and int(ids.max()) >= self.training_ids.size:
            raise DataError(
                f"{self.name}: expected at most {self.training_ids.size:,} features, got at least"
                f" {int(ids.max()) + 1:,}"
            )
        indices = self.training_ids[ids]
        kept = indices != NO_ID
        if not kept.all():
            indptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
            indices, values = indices[kept], values[kept]
        width = self.n_features or 0
        if not self.ascending:
            (indptr, indices, values), _ = canonical_rows(indptr, indices, values, width)
        return block.derived(
            indptr=indptr, indices=indices, values=values, n_features=width, encoding=None
        )


# ---- some of the rows


class DrawnRows(WrappedRows):
    """The rows whose random numbers are below a fraction or, to learn from, all others.

    The random number of a row depends on its position and the seed only: it is the same in every
    pass.
    """

    def __init__(
        self, rows: Source, fraction: float, seed: int, held_out: bool, names: NDArray[Any] | None
    ) -> None:
        # Names come in the blocks of columns only, and rows are read here.
        super().__init__(
            rows, n_rows=None, splittable=False, feature_names=names, names_in_blocks=False
        )
        self.fraction, self.seed, self.held_out = fraction, seed, held_out

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        first = kept = 0
        for block in super().row_blocks(missing):
            drawn = block.masked(self._mask(first, block.n_rows))
            first, kept = first + block.n_rows, kept + drawn.n_rows
            if drawn.n_rows:
                yield drawn
        if not kept:
            what = "held out" if self.held_out else "left to learn from"
            raise DataError(
                f"{self.name}: none of its {first:,} rows is {what}; hold out another fraction"
            )

    def _mask(self, first: int, n_rows: int) -> NDArray[np.bool_]:
        """Return the mask of the drawn rows among ``n_rows`` rows from number ``first`` on."""
        drawn = draw_by_number(first, n_rows, self.seed) < self.fraction
        return drawn if self.held_out else ~drawn

    def labels(self) -> Iterator[NDArray[Any]]:
        first = 0
        for y in self.rows.labels():
            yield y[self._mask(first, y.size)]
            first += y.size

    def targets(self) -> NDArray[Any]:
        return np.concatenate(list(self.labels()))

    def _shards(self, n: int) -> list[Source]:
        return Source._shards(self, n)


def hold_out(rows: Source, fraction: float, seed: int) -> tuple[Source, Source]:
    """Return the rows to learn from and the rows to test on, drawn with this probability."""
    if not rows.rewindable:
        raise UsageError(
            f"{rows.name}: can be read only once, but rows that are held out are read after all"
            " others; save it to a file, or test on another file"
        )
    names = rows.read_feature_names()
    return DrawnRows(rows, fraction, seed, False, names), DrawnRows(
        rows, fraction, seed, True, names
    )


# ---- names


def parse_names(names: str | Sequence[str]) -> NDArray[Any]:
    """Return the names that a user gives, in a file or as a sequence."""
    return (
        read_names(Path(names)) if isinstance(names, str) else check_names(names, "names, number ")
    )


def read_names(path: Path) -> NDArray[Any]:
    """Return the names in a file, one per line in order of the features; it may be compressed."""
    lines = read_lines(path)
    if not lines[-1]:
        lines.pop()
    return check_names(lines, f"{path}:")


def check_names(names: Iterable[str], origin: str) -> NDArray[Any]:
    """Return names as an array; raise DataError if one is empty or appears twice.

    ``origin`` is the text before the number of a line, which counts from 1.
    """
    listed = names if isinstance(names, list) else list(map(str, names))
    if not listed:
        raise DataError(f"{origin.rstrip(':')}: there are no names; give one per line")
    lines: dict[str, int] = {}
    for line, name in enumerate(listed, 1):
        if not name:
            raise DataError(f"{origin}{line}: the name is empty; every feature needs a name")
        if lines.setdefault(name, line) != line:
            raise DataError(
                f"{origin}{line}: the name {name!r} appears twice, first in line {lines[name]};"
                " rename one"
            )
    return np.array(listed, dtype=object)


def name_features(source: DataSource, given: str | Sequence[str]) -> DataSource:
    """Return the same data with names for its features, from a file or a sequence.

    Sparse data may have fewer features than there are names; its width is then the number of names.
    """
    names, origin = parse_names(given), given if isinstance(given, str) else "names"
    if source.has_names:
        raise UsageError(f"{source.name}: its features have names already; omit {spell('names')}")
    if (source.n_features or 0) > names.size:
        raise too_few_names(source, (source.n_features or 0) - 1, names, origin)
    return source.named(names, origin)


def too_few_names(source: DataSource, feature: int, names: NDArray[Any], origin: str) -> DataError:
    """Return the error for a feature without a name."""
    return DataError(
        f"{source.name}: there is a {title(feature, None, source.facts.first_id)}, but {origin} has"
        f" only {names.size:,} names; {feature + 1:,} are needed, one per line"
    )


class NamedRows(WrappedRows):
    """Rows of a source whose features were given names."""

    def __init__(self, rows: Source, names: NDArray[Any], origin: str) -> None:
        super().__init__(rows, feature_names=names, n_features=names.size)
        self.names, self.origin = names, origin

    def _convert_block(self, block: RowBlock) -> RowBlock:
        if block.n_features > self.names.size:
            raise too_few_names(self, block.n_features - 1, self.names, self.origin)
        return block
