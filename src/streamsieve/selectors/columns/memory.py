"""The memory of a learner of columns, and warnings about columns at the end of a run."""

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
from ..diagnosis import MAX_NAMED, Finding
from ..parameters import count_of, ensure, is_number

TARGET = "target."  # prefix of the names of its arrays in a model
ROUNDING = 1e-6  # tolerance for the length of a target
COARSE, COLLAPSED, COPIES = "coarse", "collapsed", "copies"  # kinds of warnings
USE_64_BITS = (
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
class ColumnWarnings:
    """Columns with one kind of warning."""

    count: int = 0
    examples: list[str] = field(default_factory=list)  # texts for the first of them

    def __str__(self) -> str:
        return ", ".join([*self.examples, *(["..."] if self.count > len(self.examples) else [])])


@dataclass(slots=True, eq=False)
class ColumnMemory(Generic[C]):
    """Target, state, names and counters of a learner."""

    target: Target
    state: C
    features: FeatureInfo
    # Number of features, non-zeros and constants of this pass.
    counts: I64 = field(default_factory=lambda: np.zeros(3, np.int64))
    earlier: int = 0  # number of features of earlier passes
    names: dict[int, str] = field(default_factory=dict)  # of features that are or may be kept
    group_names: dict[int, str] = field(default_factory=dict)  # by number; empty without names
    final_state: C | None = None  # the state after ``finish``, if it was computed
    warnings: dict[str, ColumnWarnings] = field(default_factory=dict)  # by kind

    def title(self, feature: int) -> str:
        """Return the title of a feature in messages."""
        return self.features.title(feature, self.names.get(feature))

    def column_title(self, block: ColumnBlock, column: int) -> str:
        """Return the title of a column of a block in messages."""
        return self.features.title(
            int(block.ids[column]), None if block.names is None else block.names[column]
        )

    def add_warning(self, kind: str, texts: Sequence[str], count: int | None = None) -> None:
        """Add a warning about ``count`` columns, given texts for the first or all of them."""
        if texts:
            entry = self.warnings.setdefault(kind, ColumnWarnings())
            entry.count += len(texts) if count is None else count
            entry.examples = [*entry.examples, *texts][:MAX_NAMED]

    def store_names(self, block: ColumnBlock, remembered: I64, holds_all: bool) -> None:
        """Store the names of the features that are or may be kept, and drop all others."""
        if holds_all:
            remembered = remembered[-block.n_columns :]
        if block.names is None and (holds_all or not self.names):
            return
        names_in_block = (
            {}
            if block.names is None
            else dict(zip(block.ids.tolist(), map(str, block.names), strict=True))
        )
        names_by_id = names_in_block if holds_all else {**self.names, **names_in_block}
        kept_names = {
            feature: names_by_id[feature]
            for feature in remembered.tolist()
            if feature in names_by_id
        }
        self.names = {**self.names, **kept_names} if holds_all else kept_names

    def titles_of_groups(self, numbers: I64) -> list[str]:
        """Return the names of groups, or the number of a group without a name."""
        return [self.group_names.get(group, str(group)) for group in numbers.tolist()]

    def number_groups(self, groups: Any, n_columns: int) -> I64:
        """Return the groups of new columns as integers; new names get the next numbers."""
        groups_given = labels_of_groups(groups)
        if len(groups_given) != n_columns:
            raise DataError(
                f"groups: {len(groups_given):,} for {n_columns:,} columns; give one for each"
            )
        numbers = {name: group for group, name in self.group_names.items()}
        has_names = any(isinstance(group, str) for group in groups_given)
        if self.counts[0] and groups_given and has_names != bool(numbers):
            raise DataError(
                "groups: integers before and names now, or the other way round; use one kind"
            )
        if not has_names:
            self.group_names = {}
            return np.array(groups_given, np.int64)
        next_number = max(numbers.values(), default=NO_GROUP) + 1
        for name in map(str, groups_given):
            if name not in numbers:
                numbers[name], next_number = next_number, next_number + 1
        self.group_names = {group: name for name, group in numbers.items()}
        return np.array([numbers[str(name)] for name in groups_given], np.int64)


# ---- warnings about columns


def warnings_to_json(warnings: Mapping[str, ColumnWarnings]) -> dict[str, Any]:
    """Return warnings by kind as values for JSON."""
    return {
        kind: {"count": entry.count, "first": list(entry.examples)}
        for kind, entry in warnings.items()
    }


def warnings_from_json(header: Any) -> dict[str, ColumnWarnings]:
    """Return warnings by kind from values of JSON; raise ValueError if they are malformed."""
    ensure(
        isinstance(header, dict) and set(header) <= {COARSE, COLLAPSED, COPIES},
        "it has column warnings of an unknown kind",
    )
    warnings = {
        kind: ColumnWarnings(count_of(entry, "count"), list(entry["first"]))
        for kind, entry in header.items()
    }
    for restored in warnings.values():
        ensure(
            len(restored.examples) <= MAX_NAMED
            and all(isinstance(text, str) for text in restored.examples),
            "its column warnings are not a few texts",
        )
    return warnings


def findings_of(warnings: Mapping[str, ColumnWarnings]) -> list[Finding]:
    """Return remarks for the warnings about columns."""
    findings = {
        COARSE: Finding(
            "coarse values",
            "warning",
            "32-bit numbers hold few of the values, far from 0, of {}",
            USE_64_BITS,
        ),
        COLLAPSED: Finding(
            "collapsed values",
            "note",
            "no variation, or variation too small for 32-bit numbers so far from 0, in {}",
            f"if they vary, {USE_64_BITS}",
        ),
        COPIES: Finding(
            "copies dropped",
            "note",
            "{0.count:,} exact copies of kept features were dropped: {0}",
            f"{spell('duplicates', 'keep')} leaves copies to the rule of the method",
        ),
    }
    return [
        finding._replace(message=finding.message.format(warnings[kind]))
        for kind, finding in findings.items()
        if kind in warnings
    ]


# ---- columns that cannot be learned


def refuse_not_finite(
    memory: ColumnMemory[Any], block: ColumnBlock, skips: bool, can_skip: bool
) -> None:
    """Raise DataError for infinite and enormous values, and for missing ones unless skipped."""
    lowest, highest = (np.fmin, np.fmax) if skips else (np.minimum, np.maximum)  # fmin omits NaN
    low, high = lowest.reduce(block.values, initial=0.0), highest.reduce(block.values, initial=0.0)
    if low >= -MAX_VALUE and high <= MAX_VALUE:
        return
    is_usable = np.abs(block.values) <= MAX_VALUE
    if skips:
        is_usable |= np.isnan(block.values)
    entry = int(np.flatnonzero(~is_usable)[0])
    column = int(np.searchsorted(block.indptr, entry, side="right")) - 1
    title, value = memory.column_title(block, column), float(block.values[entry])
    if np.isnan(value):
        skipping = f", or set {spell('missing', 'skip')} to omit such rows" if can_skip else ""
        problem, cure = "is missing", f"fill it in{skipping} or omit the feature"
    elif np.isinf(value):
        problem, cure = "is infinite", "replace it"
    else:
        problem, cure = (
            f"is {value:g}",
            f"values beyond {MAX_VALUE:g} cannot be squared; divide the column",
        )
    raise DataError(
        f"{prefix(block.origin)}{title} {problem} in row {int(block.indices[entry]) + 1}; {cure}"
    )


def refuse_repeated(memory: ColumnMemory[Any], block: ColumnBlock, remembered: I64) -> None:
    """Raise DataError for a feature that appears twice in the block or is remembered already."""
    is_repeated = are_repeated(block.ids)
    if remembered.size and block.ids.min() <= remembered.max():
        is_repeated |= np.isin(block.ids, remembered)
    if is_repeated.any():
        title = memory.column_title(block, int(np.flatnonzero(is_repeated)[0]))
        raise DataError(
            f"{prefix(block.origin)}{title} appears twice; give every feature a different id"
        )


def are_repeated(numbers: I64) -> Bool:
    """Return a mask of the numbers that appear before in the array."""
    is_repeated = np.zeros(numbers.size, bool)
    if (numbers[1:] <= numbers[:-1]).any():
        is_repeated[:] = True
        is_repeated[np.unique(numbers, return_index=True)[1]] = False
    return is_repeated


# ---- the target in a model


def sizes_of_target(target: Target) -> dict[str, int]:
    """Return the sizes of the arrays of a target."""
    return {"rows": target.n_rows, "classes": target.n_classes, "coded_rows": target.codes.size}


def target_of_model(header: dict[str, Any], classes: NDArray[Any], arrays: Arrays) -> Target:
    """Return the target of a model from its header and arrays."""
    kind, centre, scale = header["kind"], header["centre"], header["scale"]
    numbers, codes, counts, weights = (
        arrays[TARGET + name] for name in ("numbers", "codes", "class_counts", "weights")
    )
    has_classes = kind == "classes"
    ensure(
        (has_classes or (kind == "numbers" and not codes.size))
        and is_number(centre)
        and is_number(scale),
        "its target holds neither classes nor numbers",
    )
    check_classes(classes)
    ensure(
        classes.shape == counts.shape
        and (not has_classes or classes.size >= 2)
        and codes.size in (0, weights.size),
        "its classes do not match its target",
    )
    ensure(weights.size and has_classes == bool(codes.size), "its target has no rows")
    ensure(
        numbers.shape == weights.shape
        and (weights > 0).all()
        and is_standardized(numbers, weights),
        "its target is not standardised",
    )
    return Target(
        "classes" if has_classes else "numbers",
        numbers,
        codes,
        counts,
        weights,
        classes,
        centre,
        scale,
    )


def is_standardized(numbers: F64, weights: F64) -> bool:
    """Return True if weighted numbers have length 1."""
    with np.errstate(all="ignore"):
        return bool(abs((numbers / weights * numbers).sum() - 1.0) < ROUNDING)
