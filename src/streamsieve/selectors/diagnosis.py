"""Remarks on a result at the end of a run, each with one piece of advice."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import spell

MAX_NAMED = 3  # features in a message
MAX_ROWS, MAX_NONZEROS = 1 << 10, 1 << 20  # of a sample
MIN_VALUES_FOR_SCALE = 10  # non-zeros of a column, to estimate its scale
# With fewer non-zeros, columns of an incomplete sample may be equal by chance.
MIN_VALUES_FOR_COPY = 3


class Finding(NamedTuple):
    """A remark on a result: a warning if it is useless as it is, otherwise a note."""

    kind: str
    level: Literal["warning", "note"]
    message: str
    advice: str  # what to try

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}"


class Scales(NamedTuple):
    """The scales of some columns: the geometric mean of the sizes of their non-zeros."""

    ids: NDArray[np.int64]
    sizes: NDArray[np.float64]


class DataSample:
    """The part of the data that is still available when all of it was learned.

    Nothing is, unless a feed has kept a sample.
    """

    def checksums(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a number per column, equal for equal columns; NaN where equality is unknown.

        Where no data is available, all are equal, and the evidence of the learner has to be enough.
        """
        return np.zeros(ids.size)

    def scales(self) -> Scales:
        """Return the scales of the columns that have enough values."""
        return Scales(np.empty(0, np.int64), np.empty(0))


def warn_about(findings: Iterable[Finding], stacklevel: int) -> None:
    """Issue the remarks that are warnings; ``stacklevel`` counts from the caller."""
    for finding in findings:
        if finding.level == "warning":
            warnings.warn(str(finding), UserWarning, stacklevel=stacklevel + 1)


def describe_no_groups() -> Finding:
    """Return the remark on a method for groups that was given none."""
    return Finding(
        "no groups",
        "note",
        "no groups were given, so every feature is its own group",
        f"name the groups ({spell('groups', 'FILE')}), or use saola",
    )


def describe_duplicates(groups: list[list[str]]) -> Finding:
    """Return a remark on equal features, by their titles, in groups."""
    copies = sum(len(group) - 1 for group in groups)
    shown = ", ".join(shorten_list([" = ".join(shorten_list(group)) for group in groups]))
    message = f"some selected features are equal in every row that was used: {shown}"
    return Finding(
        "duplicates", "note", message, f"drop the copies, which makes room for {copies:,} more"
    )


def shorten_list(texts: list[str]) -> list[str]:
    """Return at most three texts, followed by an ellipsis if there are more."""
    return texts if len(texts) <= MAX_NAMED else [*texts[:MAX_NAMED], "..."]


def find_equal_columns(
    ids: NDArray[np.int64], evidence: NDArray[np.float64], sample: DataSample
) -> list[NDArray[np.int64]]:
    """Return groups of features, their ids ascending, that are equal as far as can be known.

    They have equal lines of ``evidence`` and equal checksums of their columns.
    """
    groups = group_equal_rows(ids, evidence)
    if not groups:
        return []
    candidates = np.sort(np.concatenate(groups))
    checksums = sample.checksums(candidates)
    is_known = ~np.isnan(checksums)
    lines = np.column_stack([evidence[np.searchsorted(ids, candidates)], checksums])
    return group_equal_rows(candidates[is_known], lines[is_known])


def checksums_of(lines: NDArray[Any]) -> NDArray[np.float64]:
    """Return a random sum of the values of each line; equal lines have equal sums.

    A sum is NaN where a value is missing.
    """
    factors = np.random.default_rng(0).standard_normal(lines.shape[1])
    return np.array([(line * factors).sum() for line in lines])


def group_equal_rows(ids: NDArray[np.int64], lines: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the ids of lines that occur more than once, one group per distinct line."""
    order = np.lexsort((ids, *lines.T))
    starts = 1 + np.flatnonzero((lines[order][1:] != lines[order][:-1]).any(axis=1))
    groups = np.split(ids[order], starts)
    return sorted((group for group in groups if group.size > 1), key=lambda group: int(group[0]))


# ---- samples of rows


class RowSample(DataSample):
    """A sample of at most 1,024 rows and 2^20 non-zeros; the same for blocks of any size."""

    def __init__(self) -> None:
        self._blocks: list[RowBlock] = []
        self._rows = self._nonzeros = 0
        self.full = False  # True once a row did not fit

    def add(self, block: RowBlock) -> None:
        """Add the first rows of a block, as many as fit."""
        if self.full or not block.n_rows:
            return
        indptr = block.indptr - block.indptr[0]
        n_fitting = int(np.searchsorted(indptr, MAX_NONZEROS - self._nonzeros, side="right")) - 1
        count = min(n_fitting, block.n_rows, MAX_ROWS - self._rows)
        self.full = count < block.n_rows
        begin, end = block.indptr[0], block.indptr[count]
        self._blocks.append(
            RowBlock(
                indptr[: count + 1],
                block.indices[begin:end].copy(),
                block.values[begin:end].copy(),
                None,
                block.n_features,
            )
        )
        self._rows, self._nonzeros = self._rows + count, self._nonzeros + int(end - begin)

    def checksums(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return random sums of the values of columns; ``ids`` must ascend."""
        sample = RowBlock.joined(self._blocks)
        is_requested = np.isin(sample.indices, ids)
        positions = np.searchsorted(ids, sample.indices[is_requested])
        rows = np.repeat(np.arange(sample.n_rows), np.diff(sample.indptr))[is_requested]
        factors = np.random.default_rng(0).standard_normal(MAX_ROWS)
        sums = np.bincount(
            positions, factors[rows] * sample.values[is_requested], minlength=ids.size
        )
        present = np.bincount(positions, minlength=ids.size)
        return np.where(self.full & (present < MIN_VALUES_FOR_COPY), np.nan, sums)

    def scales(self) -> Scales:
        if not self._nonzeros:
            return super().scales()
        sample = RowBlock.joined(self._blocks)
        ids, columns = number_features(sample.indices)
        present = np.bincount(columns, minlength=ids.size)
        sizes = np.exp(
            np.bincount(columns, np.log(np.abs(sample.values)), minlength=ids.size)
            / np.maximum(1, present)
        )
        has_enough = present >= MIN_VALUES_FOR_SCALE
        return Scales(ids[has_enough], sizes[has_enough])


def number_features(features: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the distinct ids, and for every feature the position of its id among them.

    Sorting costs ten times as much as the rest, so small ids are not sorted.
    """
    largest = int(features.max(initial=-1))
    if largest < MAX_NONZEROS:
        return np.arange(largest + 1), features
    order = np.argsort(features)  # np.unique would take twice the memory
    ordered = features[order]
    is_first = np.ones(features.size, bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    ids = ordered[is_first].astype(np.int64)
    del ordered
    columns = np.empty(features.size, np.int32)
    columns[order] = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return ids, columns
