"""Predictions of rows, and linear models of selected features that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..kernels.types import F64, I64

Squares = F64 | None
# Takes a block, and Squares or nothing; returns the scores of rows: one each, or one per class
# beyond two.
Scorer = Callable[..., F64]


class Prediction(NamedTuple):
    """The prediction for some rows."""

    labels: NDArray[Any]  # classes, or numbers
    scores: F64  # per row; for more than two classes, per row and class
    probabilities: F64 | None  # per row and class; None for numbers


@dataclass(frozen=True, slots=True)
class Predictor:
    """A predictor of the rows of blocks, made once for any number of blocks."""

    classes: NDArray[Any] | None  # sorted; None if it predicts numbers
    score: Scorer
    labels: Callable[[F64], NDArray[Any]]  # from scores
    probabilities: Callable[[F64], F64 | None]
    lock: Any  # of the learner whose arrays it reads
    # Returns the squared lengths of complete rows, where scores need them.
    row_squares: Callable[[RowBlock], F64] | None = None

    def __call__(self, block: RowBlock, squares: Squares = None) -> Prediction:
        """Return the predictions for the rows of a block.

        If rows have the selected features only, ``squares`` has the squared lengths of the complete
        rows, as ``row_squares`` gives them; NaN where they are unknown.
        """
        with self.lock:
            scores = self.score(block, squares)
            return Prediction(self.labels(scores), scores, self.probabilities(scores))


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A linear model of some features: ``intercept + sum of weight * value``."""

    ids: I64  # ascending
    weights: F64
    intercept: float
    classes: NDArray[Any] | None  # two; None for numbers
    has_probabilities: bool  # True if the score is a log odds

    def score(self, block: RowBlock, squares: Squares = None) -> F64:
        """Return the score of every row; the length of rows does not matter."""
        scores = np.full(block.n_rows, self.intercept)
        if not self.ids.size:
            return scores
        begin, end = block.indptr[0], block.indptr[-1]
        indices, values = block.indices[begin:end], block.values[begin:end]
        positions = np.minimum(np.searchsorted(self.ids, indices), self.ids.size - 1)
        present = np.flatnonzero(self.ids[positions] == indices)
        rows = np.searchsorted(block.indptr - begin, present, side="right") - 1
        return scores + np.bincount(
            rows, self.weights[positions[present]] * values[present], block.n_rows
        )

    def labels(self, scores: F64) -> NDArray[Any]:
        """Return the predictions for scores.

        For classes, a score of 0 is the first class; for numbers, the scores are returned.
        """
        return scores if self.classes is None else self.classes[(scores > 0.0).astype(np.int64)]

    def probabilities(self, scores: F64) -> F64 | None:
        """Return the probability of each class; None if scores are not log odds."""
        if not self.has_probabilities:
            return None
        second = 0.5 * (1.0 + np.tanh(0.5 * scores))
        return np.stack([1.0 - second, second], axis=1)

    def predictor(self, lock: Any) -> Predictor:
        """Return a predictor that uses this model, with the lock of its learner."""
        return Predictor(self.classes, self.score, self.labels, self.probabilities, lock)

    def details(self) -> dict[str, Any]:
        """Return details for a report: the weight of every selected feature, and its class."""
        weights = {"weights": self.weights.tolist(), "intercept": self.intercept}
        if self.classes is None:
            return weights
        return {
            **weights,
            "speaks_for": classes_of_weights(self.weights[:, None], self.classes.tolist()),
        }


def classes_of_weights(weights: F64, classes: list[Any]) -> list[Any]:
    """Return the class that each feature predicts; None where all of its weights are 0.

    Of two classes, a positive weight predicts the second; of more, a feature predicts the class of
    its largest weight.
    """
    codes = (
        (weights[:, 0] > 0).astype(np.int64) if weights.shape[1] == 1 else weights.argmax(axis=1)
    )
    codes = np.minimum(codes, len(classes) - 1)
    has_no_weight = ~(weights != 0).any(axis=1)
    return [
        None if is_silent else classes[code]
        for code, is_silent in zip(codes.tolist(), has_no_weight.tolist(), strict=True)
    ]
