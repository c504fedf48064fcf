"""What Yang, Fujimaki, Kusumura, Liu (2016) compare with, as far as streamsieve has no method for it.

Every one gives the ids of the columns it selects; ``refit`` then fits the same model to those of
all of them.

- The two naive online methods take one coordinate step for every column that arrives: with an L1 penalty, set so that
  no fewer columns stay than are wanted, or with nothing but the largest weights kept (L0). For the
  squared loss a step is exact; for the squared hinge and logistic loss it is that of the parabola
  above the loss.
- Lasso: scikit-learn's path, where it first has as many columns as are wanted.
- L1 squared hinge, L1 logistic: LIBLINEAR, with the penalty by bisection.

Columns are brought to mean 0 and variance 1 for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss

F64 = NDArray[np.float64]
Ids = NDArray[np.int64]

SCANS = 2
HALVINGS = 12
CURVATURE = {"squared": 1.0, "squared_hinge": 1.0, "logistic": 0.25}  # at most, per row
PENALTIES = {"squared_hinge": (-4.0, 1.0), "logistic": (-4.0, 2.0)}  # powers of 10 of LIBLINEAR's C


def refit(X: Any, y: F64, ids: Ids, loss: str) -> Any:
    """The linear model of some columns, all of them."""
    return ss.OnlineSubstitution(ids.size, loss=loss, n_scans=1).fit(X[:, ids], y)


def standardized(X: F64) -> F64:
    """Columns of mean 0 and variance 1, a line each; of columns that never vary only 0."""
    lines = np.ascontiguousarray(X.T) - X.mean(axis=0)[:, None]
    deviations = lines.std(axis=1, keepdims=True)
    scaled: F64 = lines / np.where(deviations > 0.0, deviations, 1.0)
    return scaled


def derivative(loss: str, scores: F64, y: F64) -> F64:
    """Of the loss of every row by its score."""
    if loss == "squared":
        return scores - y
    if loss == "squared_hinge":
        return -y * np.maximum(0.0, 1.0 - y * scores)
    return -y * 0.5 * (1.0 - np.tanh(0.5 * y * scores))


def largest(weights: F64, k: int) -> Ids:
    """Where the k largest weights are that are not 0, ascending."""
    order = np.argsort(-np.abs(weights), kind="stable")[:k]
    return np.sort(order[weights[order] != 0.0])


def l1_steps(lines: F64, y: F64, loss: str, penalty: float, scans: int = SCANS) -> F64:
    """A proximal step for every column that arrives; the weights after the last one."""
    weights, scores = np.zeros(len(lines)), np.zeros(y.size)
    bend = CURVATURE[loss]
    for _ in range(scans):
        for j, line in enumerate(lines):
            led = weights[j] - line @ derivative(loss, scores, y) / (y.size * bend)
            weight = np.sign(led) * max(0.0, abs(led) - penalty / bend)
            if weight != weights[j]:
                scores += (weight - weights[j]) * line
                weights[j] = weight
    return weights


def l0_steps(lines: F64, y: F64, loss: str, k: int, scans: int = SCANS) -> F64:
    """A step for every column that arrives, after which the smallest weight of more than k is dropped."""
    weights, scores = np.zeros(len(lines)), np.zeros(y.size)
    kept: list[int] = []
    for _ in range(scans):
        for j, line in enumerate(lines):
            change = -(line @ derivative(loss, scores, y)) / (y.size * CURVATURE[loss])
            if not weights[j]:
                kept.append(j)
            weights[j] += change
            scores += change * line
            if len(kept) > k:
                out = kept.pop(int(np.argmin(np.abs(weights[kept]))))
                scores -= weights[out] * lines[out]
                weights[out] = 0.0
    return weights


def by_l1_steps(X: F64, y: F64, k: int, loss: str) -> Ids:
    """The penalty by bisection, between the one that lets nothing in and a thousandth of it."""
    lines, y = standardized(X), centred(y, loss)
    top = float(np.log10(np.abs(lines @ derivative(loss, np.zeros(y.size), y)).max() / y.size))
    return largest(
        fewest(lambda power: l1_steps(lines, y, loss, 10.0**-power), (-top, 3.0 - top), k), k
    )


def by_l0_steps(X: F64, y: F64, k: int, loss: str) -> Ids:
    return largest(l0_steps(standardized(X), centred(y, loss), loss, k), k)


def by_lasso(X: F64, y: F64, k: int) -> Ids:
    """The path of the squared loss; classes are numbers to it."""
    from sklearn.linear_model import lars_path

    path = lars_path(standardized(X).T, y - y.mean(), method="lasso", max_iter=3 * k)[2]
    counts = np.count_nonzero(path, axis=0)
    return largest(path[:, int(np.argmax(counts >= min(k, counts.max())))], k)


def by_l1_liblinear(X: Any, y: F64, k: int, loss: str) -> Ids:
    """For columns as they are, dense or sparse."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    def weights(power: float) -> F64:
        options = {"C": 10.0**power, "random_state": 0, "max_iter": 1000}
        if loss == "squared_hinge":
            model = LinearSVC(penalty="l1", dual=False, **options)
        else:
            model = LogisticRegression(l1_ratio=1.0, solver="liblinear", **options)
        return np.asarray(model.fit(X, y).coef_[0])

    return largest(fewest(weights, PENALTIES[loss], k), k)


def centred(y: F64, loss: str) -> F64:
    return y - y.mean() if loss == "squared" else y


def fewest(weights: Callable[[float], F64], bounds: tuple[float, float], k: int) -> F64:
    """By bisection, the weights with the fewest that are not 0 but no fewer than k; the most, if k is too many.

    ``weights`` gives more that are not 0 the larger its argument, on the whole.
    """
    low, high = bounds
    found: F64 | None = None
    best = np.zeros(0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        now = weights(middle)
        count = np.count_nonzero(now)
        if count >= k:
            high, found = middle, now
            if count == k:
                break
        else:
            low = middle
            best = now if count >= np.count_nonzero(best) else best
    return best if found is None else found
