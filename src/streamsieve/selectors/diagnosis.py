"""What a user should know of a result when a run ends: a list of remarks, each with the one thing to try."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import spell

MOST_NAMED = 3  # features in a message


class Remark(NamedTuple):
    """Something to know of a result: a warning where it is useless as it is, otherwise a note."""

    kind: str
    level: Literal["warning", "note"]
    message: str
    advice: str  # the one thing to try

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}"


class Scales(NamedTuple):
    """How large the values of some columns are, zeros apart: the geometric mean of their sizes."""

    ids: NDArray[np.int64]
    sizes: NDArray[np.float64]


class Look:
    """What the driver still has of the data when all of it is learned: nothing, unless a feed has more."""

    def checksums(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """A number for each of some columns, equal where columns are; NaN where it is not known whether they are.

        Where there is nothing to look at, what a learner has must be enough: all are equal then.
        """
        return np.zeros(ids.size)

    def scales(self) -> Scales:
        """The scales of columns that have values enough to tell."""
        return Scales(np.empty(0, np.int64), np.empty(0))


def warn_of(remarks: Iterable[Remark], stacklevel: int) -> None:
    """Warn of what makes a result useless; ``stacklevel`` counts from the caller."""
    for remark in remarks:
        if remark.level == "warning":
            warnings.warn(str(remark), UserWarning, stacklevel=stacklevel + 1)


def nothing_selected(advice: str) -> Remark:
    return Remark("nothing selected", "warning", "no feature was selected", advice)


def no_limit(wanted: int, width: int, advice: str) -> Remark:
    message = f"{spell('n_features_to_select', wanted)} limits nothing: there are {width:,} features"
    return Remark("no limit", "note", message, advice)


def no_groups() -> Remark:
    message = "every feature is a group of its own"
    return Remark("no groups", "note", message, f"name the groups ({spell('groups', 'FILE')}), or take saola")


def duplicates(groups: list[list[str]]) -> Remark:
    """``groups`` are what selected features are called that were equal wherever something was learned."""
    copies = sum(len(group) - 1 for group in groups)
    shown = few([" = ".join(few(group)) for group in groups])
    message = f"some selected features are equal in every row that taught something: {', '.join(shown)}"
    return Remark("duplicates", "note", message, f"omit what is a copy, which leaves room for {copies:,} more")


def few(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST_NAMED else [*texts[:MOST_NAMED], "..."]


def equal_columns(ids: NDArray[np.int64], evidence: NDArray[np.float64], look: Look) -> list[NDArray[np.int64]]:
    """The features, of some with ascending ids, that have equal lines of ``evidence`` and, to a look, equal columns."""
    groups = groups_of_equals(ids, evidence)
    if not groups:
        return []
    alike = np.sort(np.concatenate(groups))
    checksums = look.checksums(alike)
    known = ~np.isnan(checksums)
    lines = np.column_stack([evidence[np.searchsorted(ids, alike)], checksums])
    return groups_of_equals(alike[known], lines[known])


def checksums_of(lines: NDArray[Any]) -> NDArray[np.float64]:
    """A random sum of the values of each line, equal where lines are; NaN where a value is missing."""
    factors = np.random.default_rng(0).standard_normal(lines.shape[1])
    return np.array([(line * factors).sum() for line in lines])


def groups_of_equals(ids: NDArray[np.int64], lines: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """The ids of lines that occur more than once, together."""
    order = np.lexsort((ids, *lines.T))
    repeats = np.append(False, (lines[order][1:] == lines[order][:-1]).all(axis=1))[: ids.size]
    starts = np.append(repeats[1:], False)[: ids.size] & ~repeats
    alike = repeats | starts
    groups = np.split(ids[order][alike], np.flatnonzero(starts[alike])[1:])
    return sorted((group for group in groups if group.size), key=lambda group: int(group[0]))
