"""Fit the L1-penalised linear SVM with a given number of features, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

PENALTIES, STEPS = (-4.0, 4.0), 12  # powers of 10; halvings of this range


class Penalised:
    """L1-penalised SVMs on the same rows, each of which is fitted once."""

    def __init__(self, X: Any, y: NDArray[np.float64]) -> None:
        self.X, self.y = X, y
        self._fitted: dict[float, Any] = {}

    def fit(self, power: float) -> Any:
        """Return the model with C = 10**power."""
        if power not in self._fitted:
            model = LinearSVC(penalty="l1", dual=False, C=10**power, max_iter=2000, random_state=0)
            self._fitted[power] = model.fit(self.X, self.y)
        return self._fitted[power]

    def nearest(self, k: int) -> Any:
        """Return the model whose number of features is nearest to k, with at most k weights."""
        low, high = PENALTIES
        models = []
        for _ in range(STEPS):
            middle = (low + high) / 2
            models.append(self.fit(middle))
            low, high = (middle, high) if n_weights(models[-1]) < k else (low, middle)
        return keep_largest(min(models, key=lambda model: abs(n_weights(model) - k)), k)


def n_weights(model: Any) -> int:
    """Return the number of weights that are not 0."""
    return int(np.count_nonzero(model.coef_))


def keep_largest(model: Any, k: int) -> Any:
    """Return a model with the k largest weights, and 0 for the others."""
    weights = model.coef_[0]
    kept = np.zeros_like(weights)
    largest = np.argsort(-np.abs(weights), kind="stable")[:k]
    kept[largest] = weights[largest]
    smaller = LinearSVC()
    smaller.coef_, smaller.intercept_, smaller.classes_ = (
        kept[None, :],
        model.intercept_,
        model.classes_,
    )
    return smaller
