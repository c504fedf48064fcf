"""The L1-penalised linear SVM with a given number of features: a batch method to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

PENALTIES, STEPS = (-4.0, 4.0), 12  # powers of 10; halvings of that range


class Penalised:
    """L1-penalised SVMs on the same rows, each fitted once."""

    def __init__(self, X: Any, y: NDArray[np.float64]) -> None:
        self.X, self.y = X, y
        self._fitted: dict[float, Any] = {}

    def fitted(self, power: float) -> Any:
        if power not in self._fitted:
            model = LinearSVC(penalty="l1", dual=False, C=10**power, max_iter=2000, random_state=0)
            self._fitted[power] = model.fit(self.X, self.y)
        return self._fitted[power]

    def nearest(self, k: int) -> Any:
        """The one whose number of features comes nearest to k, with no more than k of its weights."""
        low, high = PENALTIES
        tried = []
        for _ in range(STEPS):
            middle = (low + high) / 2
            tried.append(self.fitted(middle))
            low, high = (middle, high) if n_weights(tried[-1]) < k else (low, middle)
        return cut(min(tried, key=lambda model: abs(n_weights(model) - k)), k)


def n_weights(model: Any) -> int:
    return int(np.count_nonzero(model.coef_))


def cut(model: Any, k: int) -> Any:
    """A model of the same kind with the k largest weights, and 0 for the others."""
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
