"""Rows of another source, changed on their way: some of the features or of the rows, or names for the features.

What a user omits or keeps is resolved to ids once, against the data of a training; later data is
filtered by these ids: features that are omitted are not read, and the others keep their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError, UsageError, spell
from ..json_text import Count, conforms
from ..kernels.chance import draw_by_number
from ..naming import title
from .base import MAX_INDEX, ColumnSource, DataSource, Missing, Source
from .groups import features_of
from .options import ReadOptions
from .text import read_compressed


class WrappedRows(Source):
    """The rows of another source; an author writes ``_changed``, or ``row_blocks``, and what is other of the facts."""

    def __init__(self, rows: Source, **changes: Any) -> None:
        super().__init__(replace(rows.facts, **changes))
        self.rows = rows

    def _changed(self, block: RowBlock) -> RowBlock:
        """Return a block as it is handed on."""
        return block

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        for block in self.rows.row_blocks(missing):
            self.bytes_read = self.rows.bytes_read
            yield self._changed(block)

    def complete(self) -> None:
        self.rows.complete()

    def all_names(self) -> NDArray[Any] | None:
        return self.rows.all_names() if self.facts.names_in_blocks else self.feature_names

    def labels_as_written(self) -> None:
        self.rows.labels_as_written()

    def labels(self) -> Iterator[NDArray[Any]]:
        return self.rows.labels()

    def targets(self) -> NDArray[Any]:
        return self.rows.targets()

    def _shards(self, n: int) -> list[Source]:
        return [self._around(shard) for shard in self.rows.shards(n)]

    def _around(self, shard: Source) -> Self:
        part = copy(self)
        part.rows, part.bytes_read = shard, 0
        part.facts = replace(self.facts, n_rows=shard.n_rows, n_bytes=shard.facts.n_bytes)
        return part


# ---- some of the features


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
        return {
            "only": None if self.only is None else self.only.tolist(),
            "drop": self.drop.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> KeptFeatures:
        """Return what ``to_dict`` was called on; a ValueError if it cannot be that."""
        if not conforms(content, KeptFields):
            raise ValueError("the features that it reads are no ids")
        only = content["only"]
        return cls(
            None if only is None else np.array(only, np.int64), np.array(content["drop"], np.int64)
        )


class SomeRows(WrappedRows):
    """Rows with some of their features."""

    def __init__(self, rows: Source, kept: KeptFeatures) -> None:
        super().__init__(rows, kept=kept.joined(rows.facts.kept))
        self.wanted = kept

    def _changed(self, block: RowBlock) -> RowBlock:
        return block.with_some_entries(
            self.wanted.among(block.indices[block.indptr[0] : block.indptr[-1]])
        )


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
    if (
        names is None
        and source.has_names
        and source.rewindable
        and isinstance(source, ColumnSource)
    ):
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


def ids_of(
    source: DataSource, named: Sequence[str], by_name: dict[str, Sequence[int]]
) -> NDArray[np.int64]:
    """Return the features that a user names: by their names, if there are such, or by ids as the data writes them."""
    ids: list[int] = []
    first = source.facts.first_id
    for name in named:
        word = name.strip()
        if name in by_name:
            ids.extend(by_name[name])
        elif word.isascii() and word.isdigit() and first <= int(word) < MAX_INDEX:
            ids.append(int(word) - first)
        else:
            near = get_close_matches(name, by_name, n=3)
            hint = (
                f"did you mean {' or '.join(near)}?"
                if near
                else f"ids are integers of {first} or more"
            )
            raise UsageError(
                f"{source.name}: there is no feature {name!r} to omit or to keep; {hint}"
            )
    return np.array(ids, np.int64)


# ---- some of the rows


class DrawnRows(WrappedRows):
    """The rows whose numbers draw less than a fraction or, to learn from, all others.

    What a row draws depends on its number and the seed alone: it is the same in every reading.
    """

    def __init__(
        self, rows: Source, fraction: float, seed: int, held_out: bool, names: NDArray[Any] | None
    ) -> None:
        super().__init__(rows, n_rows=None, splittable=False)
        if self.facts.names_in_blocks:  # of columns, whose rows are read here
            self.facts = replace(self.facts, feature_names=names, names_in_blocks=False)
        self.fraction, self.seed, self.held_out = fraction, seed, held_out

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        first = kept = 0
        for block in super().row_blocks(missing):
            some = block.masked(self._among(first, block.n_rows))
            first, kept = first + block.n_rows, kept + some.n_rows
            if some.n_rows:
                yield some
        if not kept:
            what = "held out" if self.held_out else "left to learn from"
            raise DataError(
                f"{self.name}: none of its {first:,} rows is {what}; hold out another fraction"
            )

    def _among(self, first: int, n_rows: int) -> NDArray[np.bool_]:
        """Return which of some rows are here, the first of them having this number."""
        drawn = draw_by_number(first, n_rows, self.seed) < self.fraction
        return drawn if self.held_out else ~drawn

    def labels(self) -> Iterator[NDArray[Any]]:
        first = 0
        for y in self.rows.labels():
            yield y[self._among(first, y.size)]
            first += y.size

    def targets(self) -> NDArray[Any]:
        return np.concatenate(list(self.labels()))

    def _shards(self, n: int) -> list[Source]:
        return Source._shards(self, n)


def hold_out(rows: Source, fraction: float, seed: int) -> tuple[Source, Source]:
    """Return the rows to learn from and, drawn from all with this probability, those to test on."""
    if not rows.rewindable:
        raise UsageError(
            f"{rows.name}: can be read only once, and rows that are held out are read after all"
            " others; save it to a file, or test on another"
        )
    names = rows.all_names()
    return DrawnRows(rows, fraction, seed, False, names), DrawnRows(
        rows, fraction, seed, True, names
    )


# ---- names


def given_names(names: str | Sequence[str]) -> NDArray[Any]:
    """Return the names that a user gives, in a file or one by one."""
    return (
        read_names(Path(names)) if isinstance(names, str) else sound_names(names, "names, number ")
    )


def read_names(path: Path) -> NDArray[Any]:
    """Return the names in a file, one a line, in order of the features; it may be compressed."""
    text = read_compressed(path)
    try:
        lines = text.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}:{line}: this is not UTF-8 text; save the names in UTF-8"
        ) from error
    if not lines[-1]:
        lines.pop()
    return sound_names(lines, f"{path}:")


def sound_names(names: Iterable[str], origin: str) -> NDArray[Any]:
    """Return names as an array, each there once; ``origin`` is what comes before the number of a line, from 1."""
    listed = names if isinstance(names, list) else list(map(str, names))
    if not listed:
        raise DataError(f"{origin.rstrip(':')}: there are no names; give one a line")
    if "" in listed or len(set(listed)) < len(listed):
        refuse_unsound(listed, origin)
    return np.array(listed, dtype=object)


def refuse_unsound(names: list[str], origin: str) -> None:
    """Refuse the first name that is empty or was there before."""
    lines: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        if not name:
            raise DataError(f"{origin}{line}: there is no name; every feature needs one")
        first = lines.setdefault(name, line)
        if first != line:
            raise DataError(
                f"{origin}{line}: the name {name!r} appears twice, first in line {first};"
                " rename one"
            )


def give_names(source: DataSource, given: str | Sequence[str]) -> DataSource:
    """Return the same data with names for its features, from a file or one by one.

    Sparse data may have fewer features than there are names: it is as wide as the names then.
    """
    names, origin = given_names(given), given if isinstance(given, str) else "names"
    if source.has_names:
        raise UsageError(f"{source.name}: its features have names already; omit {spell('names')}")
    if (source.n_features or 0) > names.size:
        raise too_few(source, (source.n_features or 0) - 1, names, origin)
    return source.named(names, origin)


def too_few(source: DataSource, feature: int, names: NDArray[Any], origin: str) -> DataError:
    return DataError(
        f"{source.name}: there is a {title(feature, None, source.facts.first_id)}, and {origin} has"
        f" {names.size:,} names; {feature + 1:,} are needed, one a line"
    )


class NamedRows(WrappedRows):
    """Rows whose features have got names."""

    def __init__(self, rows: Source, names: NDArray[Any], origin: str) -> None:
        super().__init__(rows, feature_names=names, n_features=names.size)
        self.names, self.origin = names, origin

    def _changed(self, block: RowBlock) -> RowBlock:
        if block.n_features > self.names.size:
            raise too_few(self, block.n_features - 1, self.names, self.origin)
        return block
