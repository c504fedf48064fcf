"""Linear models of selected features: what predicts, for methods that fit one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError, prefix
from ..kernels.losses import LOGISTIC, SQUARED, SQUARED_HINGE
from ..targets import BOTH, Kind, Target, read_target, show
from .base import Learner
from .prediction import Prediction, Predictor, Squares
from .requirements import MOST_FEATURES, is_integer, require, require_one_of

LOSSES = {"squared": SQUARED, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}
TASK_OF_LOSS = {"auto": "auto"} | dict.fromkeys(LOSSES, "classification") | {"squared": "regression"}
AUTO_LOSS: dict[Kind, str] = {"numbers": "squared", "classes": "logistic"}


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Scores rows by some features: ``intercept + sum of weight * value``."""

    ids: NDArray[np.int64]  # ascending
    weights: NDArray[np.float64]
    intercept: float
    classes: NDArray[Any] | None  # two; None of numbers
    has_chances: bool  # whether the score is a log odds

    def score(self, block: RowBlock) -> NDArray[np.float64]:
        """The score of every row."""
        scores = np.full(block.n_rows, self.intercept)
        if not self.ids.size:
            return scores
        begin, end = block.indptr[0], block.indptr[-1]
        indices, values = block.indices[begin:end], block.values[begin:end]
        at = np.minimum(np.searchsorted(self.ids, indices), self.ids.size - 1)
        there = np.flatnonzero(self.ids[at] == indices)
        rows = np.searchsorted(block.indptr - begin, there, side="right") - 1
        return scores + np.bincount(rows, self.weights[at[there]] * values[there], block.n_rows)

    def labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """What rows with these scores are: classes, a score of 0 being the first, or the scores themselves."""
        return scores if self.classes is None else self.classes[(scores > 0.0).astype(np.int64)]

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The probability of each class; None where scores are no log odds."""
        if not self.has_chances:
            return None
        second = 0.5 * (1.0 + np.tanh(0.5 * scores))
        return np.stack([1.0 - second, second], axis=1)

    def details(self) -> dict[str, Any]:
        """What a run reports of it: the weight of every selected feature, and the class that it speaks for."""
        weights = {"weights": self.weights.tolist(), "intercept": self.intercept}
        if self.classes is None:
            return weights
        return {**weights, "speaks_for": classes_of_weights(self.weights[:, None], self.classes.tolist())}

    def predict(self, block: RowBlock, squares: Squares = None) -> Prediction:
        """What is predicted of rows; their lengths do not matter."""
        scores = self.score(block)
        return Prediction(self.labels(scores), scores, self.probabilities(scores))


def classes_of_weights(weights: NDArray[np.float64], classes: list[Any]) -> list[Any]:
    """The class that each feature speaks for; None where all of its weights are 0.

    Of two classes a positive weight speaks for the second; of more, a feature for the class of its largest weight.
    """
    codes = (weights[:, 0] > 0).astype(np.int64) if weights.shape[1] == 1 else weights.argmax(axis=1)
    codes = np.minimum(codes, len(classes) - 1)
    silent = ~(weights != 0).any(axis=1)
    return [None if nothing else classes[code] for code, nothing in zip(codes.tolist(), silent.tolist(), strict=True)]


class LinearLearner(Learner[Any, Any]):
    """A method that fits a linear model with a loss, of the features it selects.

    An author writes ``linear_model``.
    """

    targets: ClassVar[frozenset[Kind]] = BOTH
    predicts: ClassVar[bool] = True

    n_features_to_select: int
    loss: str
    refit: bool

    def linear_model(self) -> LinearModel:
        """The model of the selected features, for values as they come."""
        raise NotImplementedError

    def learned_kind(self) -> Kind:
        """Whether classes or numbers were learned."""
        return "numbers" if self.linear_model().classes is None else "classes"

    @classmethod
    def parameters_for(cls, kind: Kind) -> dict[str, Any]:
        return {"loss": AUTO_LOSS[kind]}

    def check_parameters(self) -> None:
        wanted = self.n_features_to_select
        fits = is_integer(wanted) and 1 <= wanted < MOST_FEATURES
        require(fits, "n_features_to_select", wanted, f"an integer of 1 or more, below {MOST_FEATURES:,}")
        require_one_of("loss", self.loss, TASK_OF_LOSS)
        require_one_of("refit", self.refit, (True, False))

    def read_target(self, y: Any, origin: str = "") -> Target:
        """The target, of the kind that the loss is for."""
        y = np.asarray(y)
        if self.loss == "squared" and y.size and y.dtype.kind not in "biuf":
            raise DataError(
                f"{prefix(origin)}loss='squared' is for numbers, and the target holds {show(y.ravel()[0])}; take "
                "loss='logistic' or 'squared_hinge' for classes"
            )
        target = read_target(y, TASK_OF_LOSS[self.loss], self.targets, origin=origin)
        if target.kind == "classes" and target.n_classes > 2:
            raise DataError(
                f"{prefix(origin)}the target has {target.n_classes:,} classes, and {self.method} tells two apart; for "
                "numbers set loss='squared', for many classes take another method, such as sofs or saola"
            )
        return target

    def loss_of(self, target: Target) -> int:
        """The code of the loss, for kernels."""
        return LOSSES[AUTO_LOSS[target.kind] if self.loss == "auto" else self.loss]

    def predictor(self) -> Predictor[RowBlock]:
        model = self.linear_model()
        return Predictor(model.classes, model.predict)


def standardized(target: Target) -> NDArray[np.float64]:
    """The target as losses take it: numbers of mean 0 and variance 1, or -1 and 1 for the first and second class."""
    if target.kind == "classes":
        return np.where(target.codes > 0, 1.0, -1.0)
    return target.numbers * float(np.sqrt(target.n_rows))


def in_given_units(
    target: Target,
    loss: int,
    ids: NDArray[np.int64],
    weights: NDArray[np.float64],
    intercept: float,
    centres: NDArray[np.float64],
    scales: NDArray[np.float64],
) -> LinearModel:
    """The model for columns and a target as they came, from one for standardised ones."""
    of_classes = target.kind == "classes"
    size, middle = (1.0, 0.0) if of_classes else (target.scale / np.sqrt(target.n_rows), target.centre)
    order = np.argsort(ids)
    slopes = size * weights / scales
    level = middle + size * intercept - float((slopes * centres).sum())
    classes = target.classes if of_classes else None
    return LinearModel(ids[order], slopes[order], level, classes, of_classes and loss == LOGISTIC)
