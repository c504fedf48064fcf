"""All that a learner of columns has learned, and the columns that a user should know of when a run ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, prefix, spell
from ...kernels.arrays import MAX_VALUE, NO_GROUP, ArraySpec
from ...kernels.types import F64, I64, Bool
from ...model import check_classes
from ...sources.groups import labels_of_groups
from ...state import Arrays, Schema, State
from ...targets import Target
from ..base import FeatureInfo
from ..diagnosis import MAX_NAMED, Remark
from ..parameters import count_of, ensure, is_number

TARGET = "target."  # before the names of its arrays in a model
ROUNDING = 1e-6  # of the length of a target
COARSE, COLLAPSED, COPIES = "coarse", "collapsed", "copies"  # kinds
KINDS = (COARSE, COLLAPSED, COPIES)
IN_64_BITS = (
    "subtract a number near its values first, or give 64-bit numbers: an array of float64, a table"
    " in Parquet"
)
TARGET_SCHEMA: Schema = {
    TARGET + "numbers": ArraySpec(("rows",), dtype=np.float64),
    TARGET + "codes": ArraySpec(("coded_rows",), 0, "classes", dtype=np.int32),
    TARGET + "class_counts": ArraySpec(("classes",), 0, dtype=np.float64),
    TARGET + "weights": ArraySpec(("rows",), 0, dtype=np.float64),
    "counts": ArraySpec((3,), 0, dtype=np.int64),
}

C = TypeVar("C", bound=State)
Tally = dict[str, Any]  # numbers, and arrays of them


@dataclass(slots=True)
class Noted:
    """Some columns, all of one kind."""

    count: int = 0
    first: list[str] = field(default_factory=list)  # what is said of each, of a few

    def __str__(self) -> str:
        return ", ".join([*self.first, *(["..."] if self.count > len(self.first) else [])])


@dataclass(slots=True, eq=False)
class ColumnMemory(Generic[C]):
    """Target, state, names and counters of a learner."""

    target: Target
    state: C
    features: FeatureInfo
    counts: I64 = field(
        default_factory=lambda: np.zeros(3, np.int64)
    )  # features, non-zeros, constants
    earlier: int = 0  # features of the passes before this one; the counts are those of this pass
    names: dict[int, str] = field(default_factory=dict)  # of features that are or may be kept
    group_names: dict[int, str] = field(
        default_factory=dict
    )  # by number; empty if groups are called by that
    settled: C | None = None  # the state as if no feature were to come, once somebody asked
    noted: dict[str, Noted] = field(
        default_factory=dict
    )  # columns that a user should know of, by what there is

    def title(self, feature: int) -> str:
        """Return what a feature is called in messages."""
        return self.features.title(feature, self.names.get(feature))

    def title_in(self, block: ColumnBlock, column: int) -> str:
        """Return what a column of a block is called in messages."""
        return self.features.title(
            int(block.ids[column]), None if block.names is None else block.names[column]
        )

    def note(self, kind: str, texts: Sequence[str], count: int | None = None) -> None:
        """Take note of columns that a user should know of, of which ``texts`` are the first or all."""
        if texts:
            noted = self.noted.setdefault(kind, Noted())
            noted.count += len(texts) if count is None else count
            noted.first = [*noted.first, *texts][:MAX_NAMED]

    def note_names(self, block: ColumnBlock, remembered: I64, holds_all: bool) -> None:
        """Remember the names of features that are or may be kept, and of no others."""
        if holds_all:
            remembered = remembered[-block.n_columns :]
        if block.names is None and (holds_all or not self.names):
            return
        here = (
            {}
            if block.names is None
            else dict(zip(block.ids.tolist(), map(str, block.names), strict=True))
        )
        known = here if holds_all else {**self.names, **here}
        named = {feature: known[feature] for feature in remembered.tolist() if feature in known}
        self.names = {**self.names, **named} if holds_all else named

    def titles_of_groups(self, numbers: I64) -> list[str]:
        """Return what groups are called; one that came by its number alone, among others with names, by that."""
        return [self.group_names.get(group, str(group)) for group in numbers.tolist()]

    def numbers_of(self, groups: Any, n_columns: int) -> I64:
        """Return the groups of some more columns as integers, of which names that are new get the next."""
        given = labels_of_groups(groups)
        if len(given) != n_columns:
            raise DataError(f"groups: {len(given):,} for {n_columns:,} columns; give one for each")
        known = {name: group for group, name in self.group_names.items()}
        named = any(isinstance(group, str) for group in given)
        if self.counts[0] and given and named != bool(known):
            raise DataError(
                "groups: integers before and names now, or the other way round; take one of both"
            )
        if not named:
            self.group_names = {}
            return np.array(given, np.int64)
        following = max(known.values(), default=NO_GROUP) + 1
        for name in map(str, given):
            if name not in known:
                known[name], following = following, following + 1
        self.group_names = {group: name for name, group in known.items()}
        return np.array([known[str(name)] for name in given], np.int64)


# ---- columns that were noted


def as_header(noted: Mapping[str, Noted]) -> dict[str, Any]:
    """As JSON can hold it."""
    return {
        kind: {"count": found.count, "first": list(found.first)} for kind, found in noted.items()
    }


def noted_in(header: Any) -> dict[str, Noted]:
    """What ``as_header`` gave; a ValueError if it is not that."""
    ensure(isinstance(header, dict) and set(header) <= set(KINDS), "what it has noted is not known")
    noted = {
        kind: Noted(count_of(known, "count"), list(known["first"]))
        for kind, known in header.items()
    }
    for some in noted.values():
        fit = len(some.first) <= MAX_NAMED and all(isinstance(text, str) for text in some.first)
        ensure(fit, "what it has noted are not names")
    return noted


def remarks_of(noted: Mapping[str, Noted]) -> list[Remark]:
    """What is to be said of the columns that were noted."""
    remarks = []
    if COARSE in noted:
        text = f"32-bit numbers hold few of the values, far from 0, of {noted[COARSE]}"
        remarks.append(Remark("coarse values", "warning", text, IN_64_BITS))
    if COLLAPSED in noted:
        text = (
            "no variation, or more than 32-bit numbers can hold so far from 0, in"
            f" {noted[COLLAPSED]}"
        )
        remarks.append(Remark("collapsed values", "note", text, f"if they vary, {IN_64_BITS}"))
    if COPIES in noted:
        text = (
            f"{noted[COPIES].count:,} exact copies of kept features were dropped: {noted[COPIES]}"
        )
        advice = f"{spell('duplicates', 'keep')} decides about copies by the rule alone"
        remarks.append(Remark("copies dropped", "note", text, advice))
    return remarks


# ---- columns that cannot be learned


def refuse_not_finite(
    memory: ColumnMemory[Any], block: ColumnBlock, skips: bool, can_skip: bool
) -> None:
    """Refuse infinite and enormous values, and missing ones unless the method skips them, as it may be told to."""
    lowest, highest = (np.fmin, np.fmax) if skips else (np.minimum, np.maximum)  # fmin omits NaN
    low, high = lowest.reduce(block.values, initial=0.0), highest.reduce(block.values, initial=0.0)
    if low >= -MAX_VALUE and high <= MAX_VALUE:
        return
    fine = np.abs(block.values) <= MAX_VALUE
    if skips:
        fine |= np.isnan(block.values)
    at = int(np.flatnonzero(~fine)[0])
    column = int(np.searchsorted(block.indptr, at, side="right")) - 1
    title, value = memory.title_in(block, column), float(block.values[at])
    if np.isnan(value):
        skipping = f", or let {spell('missing', 'skip')} omit such rows" if can_skip else ""
        what, cure = "is missing", f"fill it in{skipping} or omit the feature"
    elif np.isinf(value):
        what, cure = "is infinite", "replace it"
    else:
        what, cure = (
            f"is {value:g}",
            f"values beyond {MAX_VALUE:g} cannot be squared; divide the column",
        )
    raise DataError(
        f"{prefix(block.origin)}{title} {what} in row {int(block.indices[at]) + 1}; {cure}"
    )


def refuse_repeated(memory: ColumnMemory[Any], block: ColumnBlock, remembered: I64) -> None:
    """Refuse features that come twice, as far as those that came before are remembered."""
    twice = are_repeated(block.ids)
    if remembered.size and block.ids.min() <= remembered.max():
        twice |= np.isin(block.ids, remembered)
    if twice.any():
        title = memory.title_in(block, int(np.flatnonzero(twice)[0]))
        raise DataError(
            f"{prefix(block.origin)}{title} comes twice; give every feature an id of its own"
        )


def are_repeated(numbers: I64) -> Bool:
    """Return which numbers are equal to an earlier one."""
    repeated = np.zeros(numbers.size, bool)
    if (numbers[1:] <= numbers[:-1]).any():
        repeated[:] = True
        repeated[np.unique(numbers, return_index=True)[1]] = False
    return repeated


# ---- the target in a model


def sizes_of_target(target: Target) -> dict[str, int]:
    """Return the sizes of the arrays of a target."""
    return {"rows": target.n_rows, "classes": target.n_classes, "coded_rows": target.codes.size}


def target_of_model(header: dict[str, Any], classes: NDArray[Any], arrays: Arrays) -> Target:
    """Return the target that a model was learned against."""
    kind, centre, scale = header["kind"], header["centre"], header["scale"]
    numbers, codes, counts, weights = (
        arrays[TARGET + name] for name in ("numbers", "codes", "class_counts", "weights")
    )
    of_classes = kind == "classes"
    ensure(
        (of_classes or (kind == "numbers" and not codes.size))
        and is_number(centre)
        and is_number(scale),
        "its target is neither classes nor numbers",
    )
    check_classes(classes)
    ensure(
        classes.shape == counts.shape
        and (not of_classes or classes.size >= 2)
        and codes.size in (0, weights.size),
        "its classes do not fit its target",
    )
    ensure(weights.size and of_classes == bool(codes.size), "its target has no rows")
    ensure(
        numbers.shape == weights.shape
        and (weights > 0).all()
        and is_standardized(numbers, weights),
        "its target is not standardised",
    )
    return Target(
        "classes" if of_classes else "numbers",
        numbers,
        codes,
        counts,
        weights,
        classes,
        centre,
        scale,
    )


def is_standardized(numbers: F64, weights: F64) -> bool:
    """Return True if weighted numbers are those of a vector of length 1."""
    with np.errstate(all="ignore"):
        return bool(abs((numbers / weights * numbers).sum() - 1.0) < ROUNDING)
