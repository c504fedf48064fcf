"""How good predictions are: accuracy, balanced accuracy, AUC; of numbers R2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .apply import Predicted


class Quality(NamedTuple):
    """How good predictions of classes are; the AUC is None if all rows are of one class."""

    accuracy: float  # the fraction of right labels
    balanced_accuracy: float  # the same within each class, averaged over the classes
    auc: float | None  # the chance that a row of the class scores above one that is not of it


class Fit(NamedTuple):
    """How good predictions of numbers are."""

    r2: float | None  # the fraction of the variance that is predicted; None if there is none
    error: float  # the root of the mean squared error


def measure(predicted: Iterable[Predicted], classes: NDArray[np.generic] | None) -> Quality | Fit | None:
    """The quality of all predictions, after they were taken; None for rows without labels.

    Without ``classes`` numbers are predicted.
    """
    return fit_of(predicted) if classes is None else quality_of(predicted, classes)


def fit_of(predicted: Iterable[Predicted]) -> Fit | None:
    """The quality of predicted numbers, in one pass: squared errors, and the moments of the targets block by block."""
    errors = mean = deviations = 0.0
    seen = 0
    for prediction, y in predicted:
        if y is None or not len(y):
            continue
        numbers = np.asarray(y, np.float64)
        errors += float(((numbers - prediction.labels) ** 2).sum())
        off, total = float(numbers.mean()) - mean, seen + numbers.size
        deviations += float(((numbers - numbers.mean()) ** 2).sum()) + off * off * seen * numbers.size / total
        mean += off * numbers.size / total
        seen = total
    if not seen:
        return None
    return Fit(1.0 - errors / deviations if deviations else None, float(np.sqrt(errors / seen)))


def quality_of(predicted: Iterable[Predicted], classes: NDArray[np.generic]) -> Quality | None:
    """The quality of predicted classes.

    Of a row its label and its score stay in memory; of more than two classes, its probabilities. The AUC of more than
    two is that of each class against all others by its probability, averaged over the classes, as scikit-learn's
    ``roc_auc_score`` with ``multi_class="ovr"`` has it.
    """
    labels: list[NDArray[Any]] = []
    right: list[NDArray[np.bool_]] = []
    evidence: list[NDArray[np.float64]] = []
    for prediction, y in predicted:
        if y is not None:
            labels.append(y)
            right.append(prediction.labels == y)
            scores, chances = prediction.scores, prediction.probabilities
            evidence.append(scores[:, None] if scores.ndim == 1 or chances is None else chances)
    if not sum(map(len, labels)):
        return None
    y, hits, scores = np.concatenate(labels), np.concatenate(right), np.concatenate(evidence)
    _, codes = np.unique(y, return_inverse=True)
    recalls = np.bincount(codes, hits) / np.bincount(codes)
    positive = classes[-1:] if scores.shape[1] == 1 else classes
    areas = [area_under_curve(y == label, scores[:, c]) for c, label in enumerate(positive)]
    known = [area for area in areas if area is not None]
    return Quality(float(hits.mean()), float(recalls.mean()), sum(known) / len(known) if known else None)


def area_under_curve(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float | None:
    """The chance that a positive row scores above another, a tie counting half; None without both kinds of rows."""
    n_positive = int(np.count_nonzero(positive))
    n_negative = positive.size - n_positive
    if not n_positive or not n_negative:
        return None
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(sizes) - (sizes - 1) / 2.0  # the mean rank of equal scores, from 1
    above = float(ranks[group[positive]].sum()) - n_positive * (n_positive + 1) / 2.0
    return above / (n_positive * n_negative)
