"""What rows are learned for, classes or numbers: labels, weights, measures, predictions; part of a learner's memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, UsageError, prefix, row_prefix
from ...kernels.arrays import ArraySpec
from ...kernels.rows.batch import Rows
from ...kernels.rows.calibration import calibrate
from ...kernels.rows.curve import Curve
from ...kernels.rows.errors import DEVIATIONS, ENTRIES, ERRORS, MEAN, WEIGHT, count_errors
from ...kernels.rows.separation import Separation, count_hits
from ...kernels.types import F64, I64
from ...model import check_classes
from ...state import Arrays, arrays_of, empty, schema_of, with_arrays
from ...targets import NONE_YET, Encoded, Kind, Labels, classes_from_text
from ..base import ClassWeight
from ..prediction import Prediction
from .calibration import (
    CALIBRATION,
    check_calibration,
    merged_calibration,
    probabilities,
    start_calibration,
    swapped,
)
from .curves import least_wrong, most_accurate
from .estimates import added, joined
from .meaning import meaning
from .weights import refuse_products, refuse_strangers, row_weights

SEPARATION = "separation."  # before the names of its arrays in a model
FIRST_NUMBERS = 32  # targets that the centre is chosen from
LARGEST_NUMBER = 1e30  # of a target: weights beyond float32 could not be kept
QUANTILE = 0.9
NO_CODES, NO_NUMBERS, NO_CLASSES = np.empty(0, np.int64), np.empty(0), np.empty(0)


@dataclass(slots=True, eq=False)
class Classes:
    """Labels met so far, and how scores go with them; rows count by ``class_weight``."""

    kind: ClassVar[Kind] = "classes"
    answer: ClassVar[str] = "codes"  # what a warm-up calls the answers of its rows in a model

    labels: Labels
    class_weight: ClassWeight = None
    calibration: F64 = field(default_factory=start_calibration)  # of probabilities
    separation: Separation = field(init=False)

    def __post_init__(self) -> None:
        self.separation = empty(Separation, classes=self.labels.n_classes, vectors=self.n_vectors)

    @property
    def n_vectors(self) -> int:
        """Vectors of weights that are learned."""
        return 1 if self.labels.n_classes == 2 else self.labels.n_classes

    # ---- learning

    def encode(self, y: NDArray[Any] | None, origin: str, rows_before: int | None) -> Encoded:
        """Return the answer of every row, for learning, or refuse them; nothing is changed.

        ``rows_before`` is None where nobody knows it, as in one part of the data.
        """
        return self.labels.encode(y, origin, rows_before)

    def refuse_weights(self, block: RowBlock, encoded: Encoded, rows_before: int) -> None:
        """Refuse weights of classes that there are not, and rows that would count too much."""
        if encoded.classes.size == self.labels.n_classes:  # all are known
            refuse_strangers(self.class_weight, encoded.classes)
        refuse_products(block, encoded, self.class_weight, rows_before)

    def row_weights(self, answers: NDArray[Any], given: F64 | None) -> F64:
        """Return how much rows count, before they are counted; ``given`` are their own weights."""
        return row_weights(answers, given, self.class_weight, self.labels)

    def learn_classes(self, encoded: Encoded) -> None:
        """Take the classes with those that some rows add; swap the two there are if the rows say so."""
        self.labels.learn_classes(encoded)
        if encoded.swap:
            hits, sums, rows = self.separation
            self.separation = Separation(hits[::-1].copy(), -sums, rows[::-1].copy())
            self.calibration = swapped(self.calibration)

    def restarted(self, answers: NDArray[Any]) -> Self:
        """Return the same before the first row, with what is chosen from these answers."""
        labels = copy.copy(self.labels)
        labels.counts, labels.order = np.zeros_like(labels.counts), np.array([0, NONE_YET])
        return type(self)(labels, self.class_weight)

    def starts_as(self, other: Any) -> bool:
        """Return whether the same was chosen from the first answers."""
        return True

    def count(self, answers: NDArray[Any]) -> None:
        """Take note of rows that are about to be learned."""
        self.labels.count(answers)

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        """Return ``codes`` and ``numbers`` of rows, one of them empty."""
        return answers, NO_NUMBERS

    def judge(self, rows: Rows, weights: F64) -> None:
        """Take note of the scores that rows had before they were learned; ``weights`` are their own."""
        calibrate(rows.scores, rows.codes, weights, self.calibration)
        count_hits(self.separation, rows.scores, rows.codes)

    def finish(self, n_rows: int, origin: str) -> None:
        """Refuse, at the end of the data, what cannot have taught anything."""
        self.labels.refuse_one_class(origin)

    # ---- what was learned

    def curve_values(self, curve: Curve, n_rows: int) -> dict[str, F64]:
        """Return what is measured at each number of features, by name."""
        return {"accuracy": 1.0 - curve.mistakes / max(1, n_rows)}

    def enough(self, curve: Curve, n_rows: int) -> int:
        """Return where on the grid predictions are as good as anywhere, within one standard error."""
        return most_accurate(self.curve_values(curve, n_rows)["accuracy"], n_rows)

    def meaning(self, weights: F64) -> dict[str, Any]:
        """Return what the weights of the selected features say, a row each, in the user's terms."""
        return meaning(weights, self.labels)

    def predict(self, scores: F64, calibration: F64 | None) -> Prediction:
        """Return what rows with these scores are; ``calibration`` is that of who gave them, if not this one."""
        return Prediction(self.classify(scores), scores, self.probabilities(scores, calibration))

    def classify(self, scores: F64) -> NDArray[Any]:
        """Return the classes that scores stand for; of two, 0 is the first, of more the first best wins."""
        classes = self.labels.classes
        if not classes.size:
            raise DataError("no rows were learned yet, so no classes are known")
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = classes[np.minimum(codes, classes.size - 1)]
        return labels

    def probabilities(self, scores: F64, calibration: F64 | None = None) -> F64:
        """Return the probability of every class, a column each; the largest is that predicted."""
        if self.labels.classes.size == 1:
            return np.ones((scores.size, 1))
        return probabilities(scores, self.calibration if calibration is None else calibration)

    def loss(self, scores: F64, y: Any) -> float:
        """Return the mean squared hinge loss; of many classes, between the right one and the best of the others."""
        codes = np.searchsorted(self.labels.classes, np.asarray(y))
        if scores.ndim == 1:
            margins = np.where(codes == 1, scores, -scores)
        else:
            right = np.arange(codes.size), codes
            margins = scores[right]
            scores[right] = -np.inf
            margins = margins - scores.max(axis=1)
        return float(np.mean(np.maximum(0.0, 1.0 - margins) ** 2))

    # ---- merging

    @property
    def counted(self) -> I64:
        """What never falls as rows are learned."""
        return self.labels.counts

    @staticmethod
    def refuse_strangers(targets: Mapping[str, Any]) -> None:
        """Refuse, with a UsageError, models by name, the base among them, that cannot be about one target."""
        classes = most_met(list(targets.values()))
        for name, target in targets.items():
            own = classes_like(target.labels.classes, classes)
            if not target.labels.given:
                raise UsageError(f"{name} found its classes in the rows; models to merge start with classes=[...]")
            if own.tolist() != classes.tolist():
                raise UsageError(f"{name} has the classes {own.tolist()}, not {classes.tolist()}")

    def merged(self, parts: Sequence[Any]) -> Self:
        """Return what the rows of all parts say, which went on from this one and chose the same from first answers."""
        known = [self, *parts]
        labels = Labels(most_met(known))
        labels.counts = added([one.labels.counts for one in known])
        changes = added([one.labels.order for one in known])[0]
        labels.order = np.array([changes, NONE_YET])  # which class was the last has no meaning
        calibration = merged_calibration([one.calibration for one in known])
        target = type(self)(labels, self.class_weight, calibration)
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
    def start(cls, classes: Any | None, y: Any | None, class_weight: ClassWeight) -> Self:
        """Return what is known before the first row: the classes that are named, or those of all labels."""
        return cls(Labels(classes if y is None or classes is not None else np.unique(np.asarray(y))), class_weight)

    @classmethod
    def of_model(cls, header: dict[str, Any], arrays: Arrays, class_weight: ClassWeight) -> Self:
        """Return the classes that a model knows and how often each was met."""
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
        return cls(labels, class_weight)

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

    kind: ClassVar[Kind] = "numbers"
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

    def refuse_weights(self, block: RowBlock, encoded: Encoded, rows_before: int) -> None:
        """All weights are fine that rows may have."""

    def row_weights(self, answers: NDArray[Any], given: F64 | None) -> F64:
        return np.ones(answers.size) if given is None else given

    def learn_classes(self, encoded: Encoded) -> None:
        """There are no classes."""

    def restarted(self, answers: NDArray[Any]) -> Self:
        some = answers[:FIRST_NUMBERS]
        centre = np.median(some)
        return type(self)(np.array([centre, np.quantile(np.abs(some - centre), QUANTILE)]))

    def starts_as(self, other: Any) -> bool:
        return np.array_equal(self.first, other.first)

    def count(self, answers: NDArray[Any]) -> None:
        """All is counted once the rows have scores."""

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        return NO_CODES, answers - self.centre

    def judge(self, rows: Rows, weights: F64) -> None:
        count_errors(rows.numbers, rows.scores, weights, self.totals)

    def finish(self, n_rows: int, origin: str) -> None:
        if not n_rows:
            raise DataError(f"{prefix(origin)}there are no rows to learn from")
        if not self.totals[DEVIATIONS]:
            rows = "there is one sample only" if n_rows == 1 else f"the target is {self.centre} in all rows"
            raise DataError(f"{prefix(origin)}{rows}; nothing can depend on it")

    # ---- what was learned

    def curve_values(self, curve: Curve, n_rows: int) -> dict[str, F64]:
        return {"r2": 1.0 - curve.errors / (self.totals[DEVIATIONS] or 1.0)}

    def enough(self, curve: Curve, n_rows: int) -> int:
        return least_wrong(curve.errors, n_rows)

    def meaning(self, weights: F64) -> dict[str, Any]:
        return {"weights": weights[:, 0].tolist()}

    def predict(self, scores: F64, calibration: F64 | None) -> Prediction:
        return Prediction(scores, scores, None)

    def loss(self, scores: F64, y: Any) -> float:
        """Return the mean squared error."""
        return float(np.mean((scores - np.asarray(y, np.float64)) ** 2))

    # ---- merging

    @property
    def counted(self) -> F64:
        return self.totals[[WEIGHT]]

    @staticmethod
    def refuse_strangers(targets: Mapping[str, Any]) -> None:
        """Numbers are about one target if they have one centre, which is chosen from the first rows."""

    def merged(self, parts: Sequence[Any]) -> Self:
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


RowTarget = Classes | Numbers


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
