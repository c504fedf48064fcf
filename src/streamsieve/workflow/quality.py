"""How good the predictions of a run are, as they stream by: accuracy, balanced accuracy, AUC; of numbers R2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..evaluation.quality import Fit, Quality, quality_of_labels
from .apply import Predicted

__all__ = ["Fit", "Quality", "measure"]


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

    Of a row its label and its score stay in memory; of more than two classes, its probabilities.
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
    return quality_of_labels(np.concatenate(labels), np.concatenate(right), np.concatenate(evidence), classes)
