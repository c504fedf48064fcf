"""Targets of rows, classes or numbers: labels, weights, measures and predictions."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError, prefix, row_prefix
from ...kernels.arrays import ArraySpec, array
from ...kernels.rows.batch import Rows
from ...kernels.rows.calibration import ENTRIES as CALIBRATED
from ...kernels.rows.calibration import calibrate
from ...kernels.rows.curve import Curve
from ...kernels.rows.scores import (
    DEVIATIONS,
    ENTRIES,
    ERRORS,
    MEAN,
    WEIGHT,
    Separation,
    count_errors,
    count_hits,
)
from ...kernels.types import F64, I64
from ...model import check_classes
from ...state import Arrays, empty
from ...targets import NONE_YET, Encoded, Kind, Labels, classes_from_text
from ..base import ClassWeight
from ..parameters import ensure
from ..prediction import classes_of_weights
from .calibration import (
    check_calibration,
    compute_probabilities,
    merge_calibrations,
    swap_calibration,
)
from .curves import choose_by_accuracy
from .estimates import combine_moments, sum_increments
from .weights import check_class_weight_keys, check_weight_products, row_weights

FIRST_NUMBERS = 32  # targets from which the centre is chosen
MAX_NUMBER = 1e30  # of a target, so that weights fit float32
QUANTILE = 0.9
NO_CODES, NO_NUMBERS, NO_CLASSES = np.empty(0, np.int64), np.empty(0), np.empty(0)


class ClassesState(NamedTuple):
    """The counts kept of classes."""

    separation: Separation
    label_counts: I64 = array("classes", low=0)
    label_order: I64 = array(2, low=-1, below=2**53)  # changes of class, the last class
    # Squares may be large: see ``check_calibration``.
    calibration: F64 = array(CALIBRATED, finite=False)


class NumbersState(NamedTuple):
    """The counts kept of numbers."""

    first: F64 = array(2)  # the centre; the 0.9 quantile of the distances from it
    totals: F64 = array(ENTRIES, finite=False)  # see ``count_errors``


@dataclass(slots=True, eq=False)
class Classes:
    """Labels seen so far, and how scores relate to them; rows are weighted by ``class_weight``."""

    kind: ClassVar[Kind] = "classes"
    # Of rows, in a warm-up.
    answers: ClassVar[ArraySpec] = ArraySpec(("warm_rows",), 0, "classes", dtype=np.int64)
    first: ClassVar[F64] = NO_NUMBERS  # chosen from the first targets: nothing

    labels: Labels
    class_weight: ClassWeight = None
    calibration: F64 = field(default_factory=lambda: np.zeros(CALIBRATED))  # of probabilities
    separation: Separation = field(init=False)

    def __post_init__(self) -> None:
        self.separation = empty(Separation, classes=self.labels.n_classes, vectors=self.n_vectors)

    @property
    def n_vectors(self) -> int:
        """Return the number of vectors of weights that are learned."""
        return 1 if self.labels.n_classes == 2 else self.labels.n_classes

    # ---- learning

    def encode(self, y: NDArray[Any] | None, origin: str, rows_before: int | None) -> Encoded:
        """Return the encoded label of every row, without changing anything.

        Raise an error if rows cannot be learned. ``rows_before`` is None where it is unknown, as in
        one part of the data.
        """
        return self.labels.encode(y, origin, rows_before)

    def check_weights(self, block: RowBlock, encoded: Encoded, rows_before: int) -> None:
        """Raise an error for weights of unknown classes, and for rows with too large a weight."""
        if encoded.classes.size == self.labels.n_classes:  # all are known
            check_class_weight_keys(self.class_weight, encoded.classes)
        check_weight_products(block, encoded, self.class_weight, rows_before)

    def learn_classes(self, encoded: Encoded) -> None:
        """Add the classes of some rows; swap the two existing ones if the rows require it."""
        self.labels.learn_classes(encoded)
        if encoded.swap:
            hits, sums, rows = self.separation
            self.separation = Separation(hits[::-1].copy(), -sums, rows[::-1].copy())
            self.calibration = swap_calibration(self.calibration)

    def weigh(self, answers: NDArray[Any], sample_weight: F64 | None) -> F64:
        """Return the weights of rows, and count the rows.

        ``sample_weight`` has the rows' own weights.
        """
        weights = row_weights(answers, sample_weight, self.class_weight, self.labels)
        self.labels.count(answers)
        return weights

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        """Return ``codes`` and ``numbers`` of rows, one of them empty."""
        return answers, NO_NUMBERS

    def judge(self, rows: Rows, weights: F64) -> None:
        """Update the measures with the scores of rows before they were learned.

        ``weights`` are the rows' own weights.
        """
        calibrate(rows.scores, rows.codes, weights, self.calibration)
        count_hits(self.separation, rows.scores, rows.codes)

    def restart(self, answers: NDArray[Any]) -> Self:
        """Return this target before the first row, with choices made from first targets."""
        labels = copy.copy(self.labels)
        labels.counts, labels.order = np.zeros_like(labels.counts), np.array([0, NONE_YET])
        return type(self)(labels, self.class_weight)

    def finish(self, n_rows: int, origin: str) -> None:
        """Raise DataError at the end of the data if all rows are of one class."""
        self.labels.check_two_classes(origin)

    # ---- what was learned

    def curve_values(self, curve: Curve, n_rows: int) -> dict[str, F64]:
        """Return what is measured at each number of features, by name."""
        return {"accuracy": 1.0 - curve.mistakes / max(1, n_rows)}

    def choose_number(self, curve: Curve, n_rows: int) -> int:
        """Return the first index on the grid that is within one standard error of the best."""
        return choose_by_accuracy(self.curve_values(curve, n_rows)["accuracy"], n_rows)

    def describe_weights(self, weights: F64) -> dict[str, Any]:
        """Return the meaning of the weights of selected features; empty before a class is known.

        ``weights`` has one row per feature. The result has ``weights``, one per feature, or one per
        feature and class; ``speaks_for``, the class that each feature predicts; and ``majority``,
        the most frequent class so far, of equal ones the first, with the fraction of rows that are
        of it.
        """
        classes = self.labels.classes.tolist()
        if not classes:
            return {}
        counts = self.labels.counts[-len(classes) :]
        return {
            "weights": (weights[:, 0] if weights.shape[1] == 1 else weights).tolist(),
            "speaks_for": classes_of_weights(weights, classes),
            "majority": {
                "class": classes[counts.argmax()],
                "rate": float(counts.max() / max(1, counts.sum())),
            },
        }

    def classify(self, scores: F64) -> NDArray[Any]:
        """Return the predicted classes for scores.

        Of two classes, a score of 0 is the first; of more, the first best score wins.
        """
        classes = self.labels.classes
        if not classes.size:
            raise DataError("no rows were learned yet, so no classes are known")
        codes = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(classes[np.minimum(codes, classes.size - 1)])

    def probabilities(self, scores: F64, calibration: F64 | None = None) -> F64 | None:
        """Return the probability of every class, a column each: its frequency in the data as it is.

        ``calibration`` is that of the learner which gave the scores, if it is not this one.
        """
        if self.labels.classes.size == 1:
            return np.ones((scores.size, 1))
        codes = np.arange(self.labels.n_classes)
        is_weighted = (row_weights(codes, None, self.class_weight, self.labels) != 1.0).any()
        return compute_probabilities(
            scores, self.calibration if calibration is None else calibration, bool(is_weighted)
        )

    def loss(self, scores: F64, y: Any) -> float:
        """Return the mean squared hinge loss.

        For many classes the margin is between the correct class and the best of the others.
        """
        codes = np.searchsorted(self.labels.classes, np.asarray(y))
        if scores.ndim == 1:
            margins = np.where(codes == 1, scores, -scores)
        else:
            right = np.arange(codes.size), codes
            margins = scores[right]
            scores[right] = -np.inf
            margins -= scores.max(axis=1)
        return float(np.mean(np.maximum(0.0, 1.0 - margins) ** 2))

    # ---- merging, saving

    def merge(self, parts: Sequence[Any]) -> Self:
        """Return the target after the rows of all parts.

        The parts continued from this target and made the same choices from their first rows.
        """
        targets = [self, *parts]
        labels = Labels(classes_of_largest(targets))
        labels.counts = sum_increments([part.labels.counts for part in targets])
        labels.order = sum_increments([part.labels.order for part in targets])
        labels.order[1] = NONE_YET  # the last class has no meaning
        target = type(self)(
            labels, self.class_weight, merge_calibrations([part.calibration for part in targets])
        )
        target.separation = Separation(
            *map(sum_increments, zip(*(part.separation for part in targets), strict=True))
        )
        return target

    def header(self) -> dict[str, Any]:
        """Return what a model stores beside the state, as JSON."""
        labels = self.labels
        return {
            "classes_given": labels.given,
            "classes_are_objects": labels.classes.dtype == object,
        }

    def state(self) -> ClassesState:
        """Return everything that was counted."""
        return ClassesState(
            self.separation, self.labels.counts, self.labels.order, self.calibration
        )

    def restore(self, state: Any) -> None:
        """Restore a state; the labels are already restored by ``classes_of_model``."""
        self.separation, self.calibration = state.separation, state.calibration
        check_calibration(self.calibration, self.n_vectors)


@dataclass(slots=True, eq=False)
class Numbers:
    """Numbers seen so far: their centre, their variation, and the errors of predictions.

    A target far from 0 would spoil the start, so targets are measured from a centre: the median of
    the first ones.
    """

    kind: ClassVar[Kind] = "numbers"
    n_vectors: ClassVar[int] = 1
    answers: ClassVar[ArraySpec] = ArraySpec(("warm_rows",), dtype=np.float64)

    first: F64 = field(default_factory=lambda: np.zeros(2))  # as in ``NumbersState``
    totals: F64 = field(default_factory=lambda: np.zeros(ENTRIES))

    @property
    def centre(self) -> float:
        """Return the number from which targets are measured."""
        return float(self.first[0])

    @property
    def r2(self) -> float | None:
        """Return the fraction of the targets' variance predicted; None if they do not vary."""
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
                f"{row_prefix(origin, rows_before, row)}the target {str(y[row])!r} is not a number;"
                " the method sofs learns classes"
            ) from None
        is_allowed = np.abs(numbers) <= MAX_NUMBER
        if not is_allowed.all():
            row = int(np.flatnonzero(~is_allowed)[0])
            raise DataError(
                f"{row_prefix(origin, rows_before, row)}its target is {numbers[row]}; drop such"
                f" rows (targets are numbers up to {MAX_NUMBER:.0e})"
            )
        return Encoded(numbers, NO_CLASSES, False)

    def check_weights(self, block: RowBlock, encoded: Encoded, rows_before: int) -> None:
        """Accept any weights that rows may have."""

    def learn_classes(self, encoded: Encoded) -> None:
        """Do nothing: there are no classes."""

    def weigh(self, answers: NDArray[Any], sample_weight: F64 | None) -> F64:
        return np.ones(answers.size) if sample_weight is None else sample_weight

    def for_kernels(self, answers: NDArray[Any]) -> tuple[I64, F64]:
        return NO_CODES, answers - self.centre

    def judge(self, rows: Rows, weights: F64) -> None:
        count_errors(rows.numbers, rows.scores, weights, self.totals)

    def restart(self, answers: NDArray[Any]) -> Self:
        first_answers = answers[:FIRST_NUMBERS]
        centre = np.median(first_answers)
        return type(self)(np.array([centre, np.quantile(np.abs(first_answers - centre), QUANTILE)]))

    def finish(self, n_rows: int, origin: str) -> None:
        if not n_rows:
            raise DataError(f"{prefix(origin)}there are no rows to learn from")
        if not self.totals[DEVIATIONS]:
            rows = (
                "there is one sample only"
                if n_rows == 1
                else f"the target is {self.centre} in all rows"
            )
            raise DataError(f"{prefix(origin)}{rows}; nothing can depend on it")

    def curve_values(self, curve: Curve, n_rows: int) -> dict[str, F64]:
        return {"r2": 1.0 - curve.errors / (self.totals[DEVIATIONS] or 1.0)}

    def choose_number(self, curve: Curve, n_rows: int) -> int:
        """Return the first index whose squared error is within one standard error of the least.

        Errors are treated as normal: then the variance of their squares is twice the square of
        their mean.
        """
        largest = float(curve.errors.min()) * (1.0 + np.sqrt(2.0 / n_rows))
        return int(np.flatnonzero(curve.errors <= largest)[0])

    def describe_weights(self, weights: F64) -> dict[str, Any]:
        return {"weights": weights[:, 0].tolist()}

    def classify(self, scores: F64) -> F64:
        """Return the scores, which are numbers already."""
        return scores

    def probabilities(self, scores: F64, calibration: F64 | None = None) -> F64 | None:
        return None

    def loss(self, scores: F64, y: Any) -> float:
        """Return the mean squared error."""
        return float(np.mean((scores - np.asarray(y, np.float64)) ** 2))

    def merge(self, parts: Sequence[Any]) -> Self:
        targets = [self, *parts]
        totals = sum_increments([part.totals for part in targets])
        weights = [float(part.totals[WEIGHT]) for part in targets]
        totals[[MEAN, DEVIATIONS]] = combine_moments(
            weights, [part.totals[[MEAN, DEVIATIONS]] for part in targets]
        )
        return type(self)(parts[0].first.copy(), totals)

    def header(self) -> dict[str, Any]:
        return {}

    def state(self) -> NumbersState:
        return NumbersState(self.first, self.totals)

    def restore(self, state: Any) -> None:
        self.first, self.totals = state
        ensure(self.first[1] >= 0, "the size of its targets is below 0")


RowTarget = Classes | Numbers


def is_numeric(value: Any) -> bool:
    """Return True if a value can be converted to a float."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def classes_of_model(
    header: dict[str, Any], classes: NDArray[Any], arrays: Arrays, prefix: str
) -> Labels:
    """Return the classes of a model and their counts; names of arrays have a prefix."""
    counts, order = arrays[prefix + "label_counts"], arrays[prefix + "label_order"]
    fault = "its classes do not fit their counts"
    ensure(
        classes.ndim == counts.ndim == 1
        and 2 <= counts.size >= classes.size
        and order.shape == (2,),
        fault,
    )
    check_classes(classes)
    labels = Labels()
    labels.given, labels.counts, labels.order = bool(header["classes_given"]), counts, order
    ensure(counts.size == (classes.size if labels.given else 2) and order[1] < counts.size, fault)
    labels.classes = classes.astype(object) if header["classes_are_objects"] else classes
    return labels


def classes_of_largest(targets: Sequence[Classes]) -> NDArray[Any]:
    """Return the classes of the target with the most rows.

    Classes given as text have the type of the labels there.
    """
    return max((target.labels for target in targets), key=lambda labels: labels.n_rows).classes


def match_class_type(classes: NDArray[Any], reference: NDArray[Any]) -> NDArray[Any]:
    """Return classes, which may still be text, converted to the type of the reference."""
    is_text = classes.dtype.kind == "U" and reference.dtype.kind in "biuf"
    return classes_from_text(classes, reference.dtype.kind) if is_text else classes
