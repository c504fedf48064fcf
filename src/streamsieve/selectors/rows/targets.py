"""What rows are learned for, classes or numbers, and what is known of it so far: one part of a learner's memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, UsageError, prefix, row_prefix
from ...kernels.arrays import ArraySpec
from ...kernels.rows.batch import Rows
from ...kernels.rows.calibration import calibrate
from ...kernels.rows.errors import DEVIATIONS, ENTRIES, ERRORS, MEAN, WEIGHT, count_errors
from ...kernels.rows.separation import Separation, count_hits
from ...kernels.types import F64, I64
from ...model import check_classes
from ...state import Arrays, arrays_of, empty, schema_of, with_arrays
from ...targets import NONE_YET, Encoded, Labels, classes_from_text
from .calibration import CALIBRATION, check_calibration, merged_calibration, start_calibration, swapped
from .estimates import added, joined

SEPARATION = "separation."  # before the names of its arrays in a model
FIRST_NUMBERS = 32  # targets that the centre is chosen from
LARGEST_NUMBER = 1e30  # of a target: weights beyond float32 could not be kept
QUANTILE = 0.9
NO_CODES, NO_NUMBERS, NO_CLASSES = np.empty(0, np.int64), np.empty(0), np.empty(0)


class RowTarget(Protocol):
    """What a memory knows of the target."""

    answer: ClassVar[str]  # what a warm-up calls the answers of its rows in a model

    @property
    def n_vectors(self) -> int:
        """Vectors of weights that are learned."""

    def encode(self, y: NDArray[Any] | None, origin: str, rows_before: int | None) -> Encoded:
        """Return the answer of every row, for learning, or refuse them; nothing is changed.

        ``rows_before`` is None where nobody knows it, as in one part of the data.
        """

    def learn_classes(self, encoded: Encoded) -> None:
        """Take the classes with those that some rows add; swap the two there are if the rows say so."""

    def restarted(self, answers: NDArray[Any]) -> Self:
        """The same before the first row, with what is chosen from these answers."""

    def starts_as(self, other: Self) -> bool:
        """Whether the same was chosen from the first answers."""

    def count(self, answers: NDArray[Any]) -> None:
        """Take note of rows that are about to be learned."""

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        """``codes`` and ``numbers`` of rows, one of them empty."""

    def judge(self, rows: Rows, weights: F64) -> None:
        """Take note of the scores that rows had before they were learned; ``weights`` are their own."""

    @property
    def counted(self) -> NDArray[Any]:
        """What never falls as rows are learned."""

    @staticmethod
    def refuse_strangers(targets: Mapping[str, Any]) -> None:
        """Refuse, with a UsageError, models by name, the base among them, that cannot be about one target."""

    def merged(self, parts: Sequence[Self]) -> Self:
        """What the rows of all parts say, which went on from this one and chose the same from their first answers."""

    def header(self) -> dict[str, Any]: ...

    def arrays(self) -> Arrays: ...

    def sizes(self) -> dict[str, int]: ...

    def schema(self) -> dict[str, ArraySpec]: ...

    def answer_field(self) -> ArraySpec: ...

    def restore(self, arrays: Arrays) -> None:
        """Take up arrays that fit the schema."""


@dataclass(slots=True, eq=False)
class Classes:
    """Labels met so far, and how scores go with them."""

    answer: ClassVar[str] = "codes"

    labels: Labels
    calibration: F64 = field(default_factory=start_calibration)  # of probabilities
    separation: Separation = field(init=False)

    def __post_init__(self) -> None:
        self.separation = empty(Separation, classes=self.labels.n_classes, vectors=self.n_vectors)

    @property
    def n_vectors(self) -> int:
        return 1 if self.labels.n_classes == 2 else self.labels.n_classes

    def encode(self, y: NDArray[Any] | None, origin: str, rows_before: int | None) -> Encoded:
        return self.labels.encode(y, origin, rows_before)

    def learn_classes(self, encoded: Encoded) -> None:
        self.labels.learn_classes(encoded)
        if encoded.swap:
            hits, sums, rows = self.separation
            self.separation = Separation(hits[::-1].copy(), -sums, rows[::-1].copy())
            self.calibration = swapped(self.calibration)

    def restarted(self, answers: NDArray[Any]) -> Self:
        labels = copy.copy(self.labels)
        labels.counts, labels.order = np.zeros_like(labels.counts), np.array([0, NONE_YET])
        return type(self)(labels)

    def starts_as(self, other: Self) -> bool:
        return True

    def count(self, answers: NDArray[Any]) -> None:
        self.labels.count(answers)

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        return answers, NO_NUMBERS

    def judge(self, rows: Rows, weights: F64) -> None:
        calibrate(rows.scores, rows.codes, weights, self.calibration)
        count_hits(self.separation, rows.scores, rows.codes)

    # ---- merging

    @property
    def counted(self) -> I64:
        return self.labels.counts

    @staticmethod
    def refuse_strangers(targets: Mapping[str, Classes]) -> None:
        classes = most_met(list(targets.values()))
        for name, target in targets.items():
            own = classes_like(target.labels.classes, classes)
            if not target.labels.given:
                raise UsageError(f"{name} found its classes in the rows; models to merge start with classes=[...]")
            if own.tolist() != classes.tolist():
                raise UsageError(f"{name} has the classes {own.tolist()}, not {classes.tolist()}")

    def merged(self, parts: Sequence[Self]) -> Self:
        known = [self, *parts]
        labels = Labels(most_met(known))
        labels.counts = added([one.labels.counts for one in known])
        changes = added([one.labels.order for one in known])[0]
        labels.order = np.array([changes, NONE_YET])  # which class was the last has no meaning
        target = type(self)(labels, merged_calibration([one.calibration for one in known]))
        target.separation = Separation(*map(added, zip(*(one.separation for one in known), strict=True)))
        return target

    # ---- to and from a model

    def header(self) -> dict[str, Any]:
        labels = self.labels
        return {"classes_given": labels.given, "classes_are_objects": labels.classes.dtype == object}

    def arrays(self) -> Arrays:
        classes = self.labels.classes
        return {
            "classes": np.array(classes.tolist()) if classes.dtype == object else classes,
            "label_counts": self.labels.counts,
            "label_order": self.labels.order,
            "calibration": self.calibration,
            **arrays_of(self.separation, SEPARATION),
        }

    @classmethod
    def of_model(cls, header: dict[str, Any], arrays: Arrays) -> Self:
        """The classes that a model knows and how often each was met."""
        classes, counts, order = arrays["classes"], arrays["label_counts"], arrays["label_order"]
        fits = classes.ndim == 1 and counts.ndim == 1 and classes.size <= counts.size and order.shape == (2,)
        if not fits or counts.size < 2:
            raise ValueError("its classes do not fit their counts")
        check_classes(classes)
        given = bool(header["classes_given"])
        if (given and classes.size != counts.size) or (not given and counts.size != 2) or order[1] >= counts.size:
            raise ValueError("its classes do not fit their counts")
        labels = Labels()
        labels.given, labels.counts, labels.order = given, counts, order
        labels.classes = classes.astype(object) if header["classes_are_objects"] else classes
        return cls(labels)

    def sizes(self) -> dict[str, int]:
        return {"classes": self.labels.n_classes, "vectors": self.n_vectors}

    def schema(self) -> dict[str, ArraySpec]:
        return {
            "label_counts": ArraySpec(("classes",), 0, dtype=np.int64),
            "label_order": ArraySpec((2,), -1, 2**53, dtype=np.int64),  # changes of class, the last class
            "calibration": CALIBRATION,
            **schema_of(self.separation, SEPARATION),
        }

    def answer_field(self) -> ArraySpec:
        return ArraySpec(("warm_rows",), 0, "classes", dtype=np.int64)

    def restore(self, arrays: Arrays) -> None:
        self.separation = with_arrays(self.separation, arrays, SEPARATION)
        self.calibration = arrays["calibration"]
        check_calibration(self.calibration, self.n_vectors)


@dataclass(slots=True, eq=False)
class Numbers:
    """Numbers met so far: what they are measured from, how they vary, how far predictions were off.

    A target far from 0 would spoil the start, so that targets are measured from a centre: the median of the first ones.
    """

    answer: ClassVar[str] = "numbers"

    first: F64 = field(default_factory=lambda: np.zeros(2))  # the centre; the 0.9 quantile of the distances from it
    totals: F64 = field(default_factory=lambda: np.zeros(ENTRIES))  # see ``count_errors``

    @property
    def n_vectors(self) -> int:
        return 1

    @property
    def centre(self) -> float:
        return float(self.first[0])

    @property
    def usual_size(self) -> float:
        """How far from the centre nine of ten of the first targets are at most."""
        return float(self.first[1])

    @property
    def r2(self) -> float | None:
        """The fraction of the targets' variance that was predicted; None if they do not vary."""
        if not self.totals[WEIGHT] or not self.totals[DEVIATIONS]:
            return None
        return float(1.0 - self.totals[ERRORS] / self.totals[DEVIATIONS])

    def encode(self, y: NDArray[Any] | None, origin: str, rows_before: int | None) -> Encoded:
        if y is None:
            raise DataError(f"{prefix(origin)}the rows have no target, and learning needs one")
        try:
            numbers = np.asarray(y).astype(np.float64)
        except (TypeError, ValueError):
            row = next(k for k, value in enumerate(np.asarray(y).tolist()) if not is_numeric(value))
            raise DataError(
                f"{row_prefix(origin, rows_before, row)}the target {str(y[row])!r} is not a number; the method "
                "sofs learns classes"
            ) from None
        fine = np.abs(numbers) <= LARGEST_NUMBER
        if not fine.all():
            row = int(np.flatnonzero(~fine)[0])
            raise DataError(
                f"{row_prefix(origin, rows_before, row)}its target is {numbers[row]}; drop such rows (targets "
                f"are numbers up to {LARGEST_NUMBER:.0e})"
            )
        return Encoded(numbers, NO_CLASSES, False)

    def learn_classes(self, encoded: Encoded) -> None:
        """There are no classes."""

    def restarted(self, answers: NDArray[Any]) -> Self:
        some = answers[:FIRST_NUMBERS]
        centre = np.median(some)
        return type(self)(np.array([centre, np.quantile(np.abs(some - centre), QUANTILE)]))

    def starts_as(self, other: Self) -> bool:
        return np.array_equal(self.first, other.first)

    def count(self, answers: NDArray[Any]) -> None:
        """All is counted once the rows have scores."""

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        return NO_CODES, answers - self.centre

    def judge(self, rows: Rows, weights: F64) -> None:
        count_errors(rows.numbers, rows.scores, weights, self.totals)

    # ---- merging

    @property
    def counted(self) -> F64:
        return self.totals[[WEIGHT]]

    @staticmethod
    def refuse_strangers(targets: Mapping[str, Numbers]) -> None:
        """Numbers are about one target if they have one centre, which is chosen from the first rows."""

    def merged(self, parts: Sequence[Self]) -> Self:
        known = [self, *parts]
        totals = added([one.totals for one in known])
        varied = [one.totals[[MEAN, DEVIATIONS]] for one in known]
        totals[[MEAN, DEVIATIONS]] = joined([float(one.totals[WEIGHT]) for one in known], varied)
        return type(self)(parts[0].first.copy(), totals)

    # ---- to and from a model

    def header(self) -> dict[str, Any]:
        return {}

    def arrays(self) -> Arrays:
        return {"target_first": self.first, "target_totals": self.totals}

    def sizes(self) -> dict[str, int]:
        return {"vectors": 1}

    def schema(self) -> dict[str, ArraySpec]:
        return {
            "target_first": ArraySpec(self.first.shape, dtype=np.float64),
            "target_totals": ArraySpec(self.totals.shape, finite=False, dtype=np.float64),
        }

    def answer_field(self) -> ArraySpec:
        return ArraySpec(("warm_rows",), dtype=np.float64)

    def restore(self, arrays: Arrays) -> None:
        self.first, self.totals = arrays["target_first"], arrays["target_totals"]
        if self.first[1] < 0:
            raise ValueError("the size of its targets is below 0")


def is_numeric(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def most_met(targets: Sequence[Classes]) -> NDArray[Any]:
    """The classes as the target has them that met most rows: classes given as text take the kind of the labels met."""
    return max((target.labels for target in targets), key=lambda labels: labels.n_rows).classes


def classes_like(classes: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Classes that may still be text, as given, in the kind of those that are known."""
    as_given = classes.dtype.kind == "U" and known.dtype.kind in "biuf"
    return classes_from_text(classes, known.dtype.kind) if as_given else classes
