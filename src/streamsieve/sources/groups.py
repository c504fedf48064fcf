"""Groups of features as people give them: one for every feature in order, or feature by feature; integers or names.

A file has one group per line, in the order of the features, or lines of a feature, a tab and its
group. Blank lines and those that begin with ``#`` say nothing. Inside, a group is an integer; what
it is called is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, all_of
from ..errors import DataError, prefix
from ..kernels.arrays import NO_GROUP
from .base import ColumnSource, DataSource, Source
from .text import read_compressed

MAX_DIGITS = 18  # of an integer
HEADER = "feature", "group"
WHAT_A_GROUP_IS = "groups are integers of 0 or more, or names"


class Features(NamedTuple):
    """Which features there are."""

    n_features: int
    names: NDArray[Any] | None = None  # of those offered
    offered: NDArray[np.int64] | None = None  # their ids, ascending; None for all
    first_id: int = 0  # what the data calls the feature of id 0, where features have no names

    def title(self, at: int) -> str:
        """What the data calls one of those that are offered."""
        feature = at if self.offered is None else int(self.offered[at])
        return f"feature {feature + self.first_id}" if self.names is None else repr(self.names[at])


class Grouping(NamedTuple):
    """The group of every feature by its id, ``NO_GROUP`` if it is not offered; ``names`` are those of the groups."""

    groups: NDArray[np.int64]
    names: NDArray[Any] | None = None

    @property
    def n_features(self) -> int:
        return int(np.count_nonzero(self.groups != NO_GROUP))

    @property
    def n_groups(self) -> int:
        return int(np.unique(self.groups[self.groups != NO_GROUP]).size)

    def of(self, block: ColumnBlock) -> NDArray[np.int64]:
        """The groups of the columns of a block."""
        if block.n_columns and int(block.ids.max()) >= self.groups.size:
            raise DataError(
                f"{prefix(block.origin)}{self.groups.size:,} groups, but there is a feature"
                f" {int(block.ids.max())}; give a group for each"
            )
        return self.groups[block.ids]

    def refuse_scattered(self, origin: str) -> None:
        """Refuse groups whose features are not neighbours, of columns that cannot be brought into order."""
        again = np.flatnonzero(np.diff(first_of_group(self.groups)) < 0) + 1
        if again.size:
            group = int(self.groups[again[0]])
            name = group if self.names is None else self.names[group]
            raise DataError(
                f"{prefix(origin)}can be read only once, and group {name!r} appears again at"
                f" feature {int(again[0])}; bring the features of a group together, or save the"
                " columns to a file"
            )

    def order(self) -> NDArray[np.int64] | None:
        """Return the ids of features, those of a group together, groups by their first; None if they are so already."""
        offered = np.flatnonzero(self.groups != NO_GROUP)
        first = first_of_group(self.groups[offered])
        return None if (np.diff(first) >= 0).all() else offered[np.argsort(first, kind="stable")]


def first_of_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the group of each feature appears first: ascending, if features of a group are neighbours."""
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    return first[codes]


@dataclass(frozen=True, slots=True)
class GivenGroups:
    """What somebody says of groups before it is known which features there are.

    Without ``features`` the groups are in the order of these. Texts among them are names or ids as
    the data writes them, integers count from 0. ``lines`` are those of a file, for messages.
    """

    groups: Sequence[int | str]
    features: Sequence[int | str] | None = None
    origin: str = "groups"
    lines: Sequence[int] | None = None

    def to_json(self) -> list[Any]:
        """As ``given_groups`` takes it."""
        if self.features is None:
            return list(self.groups)
        return [list(pair) for pair in zip(self.features, self.groups, strict=True)]

    def numbered(self) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
        """The groups as integers, and what these are called if they are not what was given."""
        if all(isinstance(group, int) for group in self.groups):
            return np.array(self.groups, np.int64), None
        names: dict[int | str, int] = {}
        codes = [names.setdefault(group, len(names)) for group in self.groups]
        return np.array(codes, np.int64), np.array(list(names), dtype=object)

    def over(self, known: Features, name: str, exact: bool) -> Grouping:
        """The group of every feature; ``exact`` if no group may be too many. ``name`` is that of the data."""
        groups, names = self.numbered()
        if self.features is not None:
            return Grouping(self._by_feature(known, groups), names)
        if groups.size < known.n_features or (exact and groups.size > known.n_features):
            raise DataError(
                f"{prefix(name)}{groups.size:,} groups for {known.n_features:,} features; give one"
                " for each"
            )
        groups = groups[: known.n_features]
        if known.offered is not None:
            groups = np.where(np.isin(np.arange(groups.size), known.offered), groups, NO_GROUP)
        return Grouping(groups, names)

    def _by_feature(self, known: Features, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        found = np.full(known.n_features, NO_GROUP)
        found[self._ids(known)] = groups
        offered = found if known.offered is None else found[known.offered]
        missing = np.flatnonzero(offered == NO_GROUP)
        if missing.size:
            raise DataError(
                f"{self.origin}: {missing.size:,} of {offered.size:,} features have no group, the"
                f" first is {known.title(int(missing[0]))}; give every feature a group"
            )
        return found

    def _ids(self, known: Features) -> NDArray[np.int64]:
        """The ids of the features that were named, each of them once."""
        by_name = None if known.names is None else ids_by_name(known)
        there = range(known.n_features) if known.offered is None else set(known.offered.tolist())
        ids: dict[int, int] = {}
        for at, feature in enumerate(self.features or ()):
            found = feature if isinstance(feature, int) else id_of(feature, by_name, known.first_id)
            if found is None or found not in there:
                raise DataError(
                    f"{self._where(at)}there is no feature {feature!r} in the"
                    f" data{self._hint(known)}"
                )
            if ids.setdefault(found, at) != at:
                raise DataError(
                    f"{self._where(at)}feature {feature!r} appears twice; a feature has one group"
                )
        return np.fromiter(ids, np.int64, len(ids))

    def _where(self, at: int) -> str:
        return f"{self.origin}: " if self.lines is None else f"{self.origin}:{self.lines[at]}: "

    def _hint(self, known: Features) -> str:
        """What may be wrong with features that are not there."""
        if known.names is not None:
            return f", where features have names, such as {known.names[0]!r}"
        features, first = list(self.features or ()), known.first_id
        texts = [feature for feature in features if isinstance(feature, str)]
        if not all(is_id(text) for text in texts):
            return f", where features have no names but ids, from {first} on"
        first = first if texts else 0
        last, counted = first + known.n_features - 1, [int(feature) for feature in features]
        for off in (1, -1):
            if (min(counted), max(counted)) == (first + off, last + off):
                return (
                    f"; ids seem to count from {first + off} here, and they count from {first} in"
                    " the data"
                )
        return f", whose ids go from {first} to {last}"


def given_groups(groups: Any) -> GivenGroups:
    """Groups as somebody gives them: a file, a dictionary or pairs by feature, or one for each feature in order."""
    if isinstance(groups, GivenGroups):
        return groups
    if isinstance(groups, str | Path):
        return read_groups(Path(groups))
    if isinstance(groups, Mapping):
        return by_feature(groups.keys(), groups.values())
    if (
        isinstance(groups, Sequence)
        and groups
        and all(isinstance(pair, list | tuple) for pair in groups)
    ):
        if not all(len(pair) == len(HEADER) for pair in groups):
            raise DataError("groups: pairs of a feature and its group are wanted")
        return by_feature(*zip(*groups, strict=True))
    return GivenGroups(labels_of_groups(groups))


def by_feature(features: Iterable[Any], groups: Iterable[Any]) -> GivenGroups:
    keys = [key.item() if isinstance(key, np.generic) else key for key in features]
    for key in keys:
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise DataError(
                f"groups: {key!r} is not a feature; features are names, or integers from 0 on"
            )
    return GivenGroups(labels_of_groups(list(groups)), keys)


def labels_of_groups(groups: Any) -> list[int] | list[str]:
    """Groups, all of them integers or all of them names."""
    known = np.asarray(groups)
    if known.ndim != 1:
        raise DataError(f"groups has shape {known.shape}; give one group for each feature")
    if known.dtype.kind == "U" and not isinstance(groups, np.ndarray):
        known = np.asarray(groups, dtype=object)  # or integers among names would pass for names
    values: list[Any] = known.tolist()
    kinds = {type(value) for value in values}
    if kinds <= {float}:
        values = [
            int(value) if np.isfinite(value) and value % 1 == 0 else value for value in values
        ]
        kinds = {type(value) for value in values}
    for at, value in enumerate(values):
        fits = (type(value) is int and 0 <= value < 10**MAX_DIGITS) or (
            type(value) is str and bool(value.strip())
        )
        if not fits:
            raise DataError(f"the group of feature {at} is {value!r}; {WHAT_A_GROUP_IS}")
    if len(kinds) > 1:
        raise DataError("groups: some are integers and others names; take one of both")
    return values


# ---- files


def read_groups(path: Path) -> GivenGroups:
    """Return the groups in a text file, which may be compressed."""
    try:
        text = read_compressed(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not text in UTF-8; write one group per line") from None
    numbered = enumerate((line.strip() for line in text.split("\n")), 1)
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    pairs = [tuple(field.strip() for field in line.split("\t")) for _, line in lines]
    wanted = len(pairs[0]) if pairs else 0
    for (number, line), pair in zip(lines, pairs, strict=True):
        if len(pair) != wanted or wanted > len(HEADER) or not all(pair):
            what = "a feature, a tab and its group" if wanted == len(HEADER) else "a group"
            raise DataError(f"{path}:{number}: {line[:40]!r} is not {what}")
    if pairs and tuple(field.lower() for field in pairs[0]) == HEADER:
        lines, pairs = lines[1:], pairs[1:]
    if not pairs:
        raise DataError(
            f"{path}: there is no group in it; write one per line, or a feature, a tab and its"
            " group"
        )
    texts = [pair[-1] for pair in pairs]
    groups = [int(text) for text in texts] if all(map(is_id, texts)) else texts
    features = None if wanted == 1 else [pair[0] for pair in pairs]
    return GivenGroups(groups, features, str(path), [number for number, _ in lines])


def is_id(text: str) -> bool:
    """Whether a text is an integer that features and groups may be known by."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def ids_by_name(known: Features) -> dict[str, int]:
    """The ids of features by their names, none of which may be that of two."""
    names = [] if known.names is None else [str(name) for name in known.names]
    ids: Sequence[int] = range(len(names)) if known.offered is None else known.offered.tolist()
    found = dict(zip(names, ids, strict=True))
    if len(found) < len(names):
        twice = next(name for at, name in enumerate(names) if found[name] != ids[at])
        raise DataError(
            f"groups: two features are called {twice!r}; give the groups in the order of the"
            " features"
        )
    return found


def id_of(feature: str, by_name: Mapping[str, int] | None, first_id: int) -> int | None:
    """The id of a feature as people write it; None if there is none."""
    if by_name is not None:
        return by_name.get(feature)
    return int(feature) - first_id if is_id(feature) else None


# ---- the features that there are


def grouping_of(given: GivenGroups, source: DataSource, columns: ColumnSource) -> Grouping:
    """The group of every feature of a source, which comes as ``columns``."""
    if not columns.rewindable and given.features is not None:
        raise DataError(
            f"{columns.name}: can be read only once, so nobody knows yet which features there are;"
            " give the groups in the order of the features, or save the columns to a file"
        )
    if not columns.rewindable:
        grouping = Grouping(*given.numbered())
        grouping.refuse_scattered(columns.name)
        return grouping
    known = features_of(source, columns)
    declared = (
        isinstance(source, Source) and source.n_features is not None
    )  # not the largest id that occurs
    return given.over(known, source.name, exact=declared or known.names is not None)


def features_of(source: DataSource, columns: ColumnSource) -> Features:
    """Which features there are; where only the blocks say so, these are read."""
    if columns.n_features is not None and (
        columns.feature_names is not None or not columns.has_names
    ):
        return Features(columns.n_features, columns.feature_names, None, source.facts.first_id)
    blocks = [(block.ids, block.names) for block in columns.column_blocks() if block.n_columns]
    if not blocks:
        raise DataError(f"{source.name}: there are no columns")
    ids = np.concatenate([ids for ids, _ in blocks])
    names = all_of(names for _, names in blocks)
    order = np.argsort(ids)
    width = max(columns.n_features or 0, int(ids.max()) + 1)
    return Features(
        width, None if names is None else names[order], ids[order], source.facts.first_id
    )
