"""Losses of linear models and their derivatives by the score.

Squared and squared hinge loss as in Yang, Fujimaki, Kusumura, Liu 2016 (section 3, equations 2 and
3), with the factor 1/2, and logistic loss. Targets are numbers, or -1 and 1.
"""

from __future__ import annotations

import numpy as np

from .jit import inlined, kernel
from .types import F64

SQUARED, SQUARED_HINGE, LOGISTIC = 0, 1, 2
CURVATURE = (1.0, 1.0, 0.25)  # the largest second derivative of each


@inlined
def slope(loss: int, score: float, y: float) -> float:
    """Return the first derivative of the loss by the score."""
    if loss == SQUARED:
        return score - y
    if loss == SQUARED_HINGE:
        return -y * max(0.0, 1.0 - y * score)
    return float(-y / (1.0 + np.exp(y * score)))


@kernel
def slopes(loss: int, scores: F64, y: F64, first: F64, second: F64) -> float:
    """Fill in every row's first and second derivative by its score; return the mean loss."""
    total = 0.0
    for row in range(y.size):
        first[row] = slope(loss, scores[row], y[row])
        if loss == SQUARED:
            second[row] = 1.0
            total += 0.5 * first[row] * first[row]
        elif loss == SQUARED_HINGE:
            second[row] = 1.0 if first[row] != 0.0 else 0.0
            total += 0.5 * first[row] * first[row]
        else:
            probability = abs(first[row])  # of the other class
            second[row] = probability * (1.0 - probability)
            margin = y[row] * scores[row]
            total += (
                np.log1p(np.exp(-margin)) if margin > 0.0 else np.log1p(np.exp(margin)) - margin
            )
    return total / y.size
