"""Groups of features as a user gives them: one for every feature in order, or one by one.

Groups are integers or names. A file has one group per line, in the order of the features, or lines
of a feature, a tab and its group. Blank lines and lines that begin with ``#`` are ignored.
Internally a group is an integer; its name is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, concatenate_all
from ..errors import DataError, prefix
from ..kernels.arrays import NO_GROUP
from .base import ColumnSource, DataSource, Source
from .text import read_lines

MAX_DIGITS = 18  # of an integer
HEADER = "feature", "group"
EXPECTED_GROUP = "groups must be integers of 0 or more, or names"


class Features(NamedTuple):
    """The features of a data set: how many there are, their names and their ids."""

    n_features: int
    names: NDArray[Any] | None = None  # of the offered features
    offered: NDArray[np.int64] | None = None  # ids of the offered features, ascending; None for all
    first_id: int = 0  # the number of feature 0 in the data, where features have no names

    def title(self, at: int) -> str:
        """Return the name that the data gives to the offered feature at a position."""
        feature = at if self.offered is None else int(self.offered[at])
        return f"feature {feature + self.first_id}" if self.names is None else repr(self.names[at])


class Grouping(NamedTuple):
    """The group of every feature by its id, ``NO_GROUP`` for features that are not offered.

    ``names`` are the names of the groups.
    """

    groups: NDArray[np.int64]
    names: NDArray[Any] | None = None

    @property
    def has_several_together(self) -> bool:
        """Return True if a group has more than one feature."""
        offered = self.groups[self.groups != NO_GROUP]
        return bool(np.unique(offered).size < offered.size)

    def of(self, block: ColumnBlock) -> NDArray[np.int64]:
        """Return the groups of the columns of a block."""
        if block.n_columns and int(block.ids.max()) >= self.groups.size:
            raise DataError(
                f"{prefix(block.origin)}{self.groups.size:,} groups, but the data has feature"
                f" {int(block.ids.max())}; give a group for each feature"
            )
        return self.groups[block.ids]

    def refuse_scattered(self, origin: str) -> None:
        """Raise DataError if the features of a group are not neighbours.

        For columns that can be read only once, and so cannot be reordered.
        """
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
        """Return the ids of the features ordered by group; None if they are already in order.

        Groups come in the order of their first feature.
        """
        offered = np.flatnonzero(self.groups != NO_GROUP)
        first = first_of_group(self.groups[offered])
        return None if (np.diff(first) >= 0).all() else offered[np.argsort(first, kind="stable")]


def first_of_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position at which the group of each feature first appears.

    The positions ascend if the features of each group are neighbours.
    """
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    return first[codes]


@dataclass(frozen=True, slots=True)
class GivenGroups:
    """Groups as a user gives them, before the features of the data are known.

    Without ``features`` the groups are in the order of the features. Texts in ``features`` are
    names, or ids as the data writes them; integers count from 0. ``lines`` are the line numbers in
    the file, for messages.
    """

    groups: Sequence[int | str]
    features: Sequence[int | str] | None = None
    origin: str = "groups"
    lines: Sequence[int] | None = None

    def to_json(self) -> list[Any]:
        """Return the groups in a form that ``parse_groups`` accepts."""
        if self.features is None:
            return list(self.groups)
        return [list(pair) for pair in zip(self.features, self.groups, strict=True)]

    def numbered(self) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
        """Return the groups as integers, and their names if they were not integers."""
        if all(isinstance(group, int) for group in self.groups):
            return np.array(self.groups, np.int64), None
        names: dict[int | str, int] = {}
        codes = [names.setdefault(group, len(names)) for group in self.groups]
        return np.array(codes, np.int64), np.array(list(names), dtype=object)

    def over(self, features: Features, name: str, exact: bool) -> Grouping:
        """Return the group of every feature.

        With ``exact``, more groups than features are an error. ``name`` is the name of the data.
        """
        groups, names = self.numbered()
        if self.features is not None:
            return Grouping(self._by_feature(features, groups), names)
        if groups.size < features.n_features or (exact and groups.size > features.n_features):
            raise DataError(
                f"{prefix(name)}{groups.size:,} groups for {features.n_features:,} features; give"
                " one for each"
            )
        groups = groups[: features.n_features]
        if features.offered is not None:
            groups = np.where(np.isin(np.arange(groups.size), features.offered), groups, NO_GROUP)
        return Grouping(groups, names)

    def _by_feature(self, features: Features, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        group_by_id = np.full(features.n_features, NO_GROUP)
        group_by_id[self._ids(features)] = groups
        offered = group_by_id if features.offered is None else group_by_id[features.offered]
        missing = np.flatnonzero(offered == NO_GROUP)
        if missing.size:
            raise DataError(
                f"{self.origin}: {missing.size:,} of {offered.size:,} features have no group, the"
                f" first is {features.title(int(missing[0]))}; give every feature a group"
            )
        return group_by_id

    def _ids(self, existing: Features) -> NDArray[np.int64]:
        """Return the ids of the named features; raise DataError for unknown or repeated ones."""
        by_name = None if existing.names is None else ids_by_name(existing)
        offered_ids = (
            range(existing.n_features)
            if existing.offered is None
            else set(existing.offered.tolist())
        )
        ids: dict[int, int] = {}
        for at, feature in enumerate(self.features or ()):
            feature_id = (
                feature if isinstance(feature, int) else id_of(feature, by_name, existing.first_id)
            )
            if feature_id is None or feature_id not in offered_ids:
                raise DataError(
                    f"{self._where(at)}there is no feature {feature!r} in the"
                    f" data{self._hint(existing)}"
                )
            if ids.setdefault(feature_id, at) != at:
                raise DataError(
                    f"{self._where(at)}feature {feature!r} appears twice; a feature has one group"
                )
        return np.fromiter(ids, np.int64, len(ids))

    def _where(self, at: int) -> str:
        return f"{self.origin}: " if self.lines is None else f"{self.origin}:{self.lines[at]}: "

    def _hint(self, existing: Features) -> str:
        """Return a hint on why a feature is not in the data."""
        if existing.names is not None:
            return f", whose features have names, such as {existing.names[0]!r}"
        features, first = list(self.features or ()), existing.first_id
        texts = [feature for feature in features if isinstance(feature, str)]
        if not all(is_id(text) for text in texts):
            return f", whose features have no names, only ids from {first} on"
        first = first if texts else 0
        last, counted = first + existing.n_features - 1, [int(feature) for feature in features]
        for off in (1, -1):
            if (min(counted), max(counted)) == (first + off, last + off):
                return (
                    f"; the ids seem to start at {first + off} here, but they start at {first} in"
                    " the data"
                )
        return f", whose ids go from {first} to {last}"


def parse_groups(groups: Any) -> GivenGroups:
    """Return groups in any of the forms in which a user can give them.

    The forms are a file, a dictionary or pairs by feature, or one group for each feature in order.
    """
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
            raise DataError("groups: expected pairs of a feature and its group")
        return by_feature(*zip(*groups, strict=True))
    return GivenGroups(labels_of_groups(groups))


def by_feature(features: Iterable[Any], groups: Iterable[Any]) -> GivenGroups:
    """Return groups that are given feature by feature."""
    keys = [key.item() if isinstance(key, np.generic) else key for key in features]
    for key in keys:
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise DataError(
                f"groups: {key!r} is not a feature; features are names, or integers from 0 on"
            )
    return GivenGroups(labels_of_groups(list(groups)), keys)


def labels_of_groups(groups: Any) -> list[int] | list[str]:
    """Return groups as a list, all of them integers or all of them names."""
    array = np.asarray(groups)
    if array.ndim != 1:
        raise DataError(f"groups has shape {array.shape}; give one group for each feature")
    if array.dtype.kind == "U" and not isinstance(groups, np.ndarray):
        array = np.asarray(groups, dtype=object)  # NumPy would turn integers among names into names
    values: list[Any] = array.tolist()
    if all(type(value) is float for value in values):
        values = [
            int(value) if np.isfinite(value) and value % 1 == 0 else value for value in values
        ]
    for at, value in enumerate(values):
        fits = (type(value) is int and 0 <= value < 10**MAX_DIGITS) or (
            type(value) is str and bool(value.strip())
        )
        if not fits:
            raise DataError(f"the group of feature {at} is {value!r}; {EXPECTED_GROUP}")
    if len({type(value) for value in values}) > 1:
        raise DataError("groups: some are integers and others are names; use one kind only")
    return values


# ---- files


def read_groups(path: Path) -> GivenGroups:
    """Return the groups in a text file, which may be compressed."""
    numbered = enumerate((line.strip() for line in read_lines(path)), 1)
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    pairs = [tuple(field.strip() for field in line.split("\t")) for _, line in lines]
    n_fields = len(pairs[0]) if pairs else 0
    for (number, line), pair in zip(lines, pairs, strict=True):
        if len(pair) != n_fields or n_fields > len(HEADER) or not all(pair):
            what = "a feature, a tab and its group" if n_fields == len(HEADER) else "a group"
            raise DataError(f"{path}:{number}: {line[:40]!r} is not {what}")
    if pairs and tuple(field.lower() for field in pairs[0]) == HEADER:
        lines, pairs = lines[1:], pairs[1:]
    if not pairs:
        raise DataError(
            f"{path}: the file has no groups; write one per line, or a feature, a tab and its group"
        )
    texts = [pair[-1] for pair in pairs]
    groups = [int(text) for text in texts] if all(map(is_id, texts)) else texts
    features = None if n_fields == 1 else [pair[0] for pair in pairs]
    return GivenGroups(groups, features, str(path), [number for number, _ in lines])


def is_id(text: str) -> bool:
    """Return True if a text is an integer that can be the id of a feature or a group."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def ids_by_name(features: Features) -> dict[str, int]:
    """Return the ids of features by name; raise DataError if two features have the same name."""
    names = [] if features.names is None else [str(name) for name in features.names]
    ids: Sequence[int] = (
        range(len(names)) if features.offered is None else features.offered.tolist()
    )
    id_by_name = dict(zip(names, ids, strict=True))
    if len(id_by_name) < len(names):
        twice = next(name for at, name in enumerate(names) if id_by_name[name] != ids[at])
        raise DataError(
            f"groups: two features are called {twice!r}; give the groups in the order of the"
            " features"
        )
    return id_by_name


def id_of(feature: str, by_name: Mapping[str, int] | None, first_id: int) -> int | None:
    """Return the id of a feature as a user writes it; None if it is unknown."""
    if by_name is not None:
        return by_name.get(feature)
    return int(feature) - first_id if is_id(feature) else None


# ---- the features of the data


def grouping_of(given: GivenGroups, source: DataSource, columns: ColumnSource) -> Grouping:
    """Return the group of every feature of a source that is read as ``columns``."""
    if not columns.rewindable and given.features is not None:
        raise DataError(
            f"{columns.name}: can be read only once, so its features are not known yet; give the"
            " groups in the order of the features, or save the columns to a file"
        )
    if not columns.rewindable:
        grouping = Grouping(*given.numbered())
        grouping.refuse_scattered(columns.name)
        return grouping
    features = features_of(source, columns)
    # declared by the source, not the largest id that occurs
    declared = isinstance(source, Source) and source.n_features is not None
    return given.over(features, source.name, exact=declared or features.names is not None)


def features_of(source: DataSource, columns: ColumnSource) -> Features:
    """Return the features of a source; the blocks are read if only they tell."""
    if columns.n_features is not None and (
        columns.feature_names is not None or not columns.has_names
    ):
        return Features(columns.n_features, columns.feature_names, None, source.facts.first_id)
    blocks = [(block.ids, block.names) for block in columns.column_blocks() if block.n_columns]
    if not blocks:
        raise DataError(f"{source.name}: there are no columns")
    ids = np.concatenate([ids for ids, _ in blocks])
    names = concatenate_all(names for _, names in blocks)
    order = np.argsort(ids)
    width = max(columns.n_features or 0, int(ids.max()) + 1)
    return Features(
        width, None if names is None else names[order], ids[order], source.facts.first_id
    )
