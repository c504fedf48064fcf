"""Rivals of Yang, Fujimaki, Kusumura, Liu (2016) for which streamsieve has no method.

Every one returns the ids of the columns it selects; ``refit`` then fits the same model to the
columns of each of them.

- The two naive online methods make one coordinate step for every column that arrives: with an L1
  penalty, set so that no fewer columns stay than are wanted, or with only the largest weights kept
  (L0). For the squared loss a step is exact; for the squared hinge and logistic loss it is that of
  the parabola above the loss.
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
    """Fit a linear model of some columns that keeps all of them."""
    return ss.OnlineSubstitution(ids.size, loss=loss, n_scans=1).fit(X[:, ids], y)


def standardized(X: F64) -> F64:
    """Return columns with mean 0 and variance 1, one per line; constant columns become 0."""
    lines = np.ascontiguousarray(X.T) - X.mean(axis=0)[:, None]
    deviations = lines.std(axis=1, keepdims=True)
    scaled: F64 = lines / np.where(deviations > 0.0, deviations, 1.0)
    return scaled


def derivative(loss: str, scores: F64, y: F64) -> F64:
    """Return the derivative of the loss of every row by its score."""
    if loss == "squared":
        return scores - y
    if loss == "squared_hinge":
        return -y * np.maximum(0.0, 1.0 - y * scores)
    return -y * 0.5 * (1.0 - np.tanh(0.5 * y * scores))


def largest_ids(weights: F64, k: int) -> Ids:
    """Return the ids of the k largest weights that are not 0, in ascending order."""
    order = np.argsort(-np.abs(weights), kind="stable")[:k]
    return np.sort(order[weights[order] != 0.0])


def l1_steps(lines: F64, y: F64, loss: str, penalty: float, scans: int = SCANS) -> F64:
    """Make a proximal step for every column that arrives; return the last weights."""
    weights, scores = np.zeros(len(lines)), np.zeros(y.size)
    curvature = CURVATURE[loss]
    for _ in range(scans):
        for j, line in enumerate(lines):
            unpenalised = weights[j] - line @ derivative(loss, scores, y) / (y.size * curvature)
            weight = np.sign(unpenalised) * max(0.0, abs(unpenalised) - penalty / curvature)
            if weight != weights[j]:
                scores += (weight - weights[j]) * line
                weights[j] = weight
    return weights


def l0_steps(lines: F64, y: F64, loss: str, k: int, scans: int = SCANS) -> F64:
    """Make a step for every column that arrives, and drop the smallest of more than k weights."""
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
                dropped = kept.pop(int(np.argmin(np.abs(weights[kept]))))
                scores -= weights[dropped] * lines[dropped]
                weights[dropped] = 0.0
    return weights


def by_l1_steps(X: F64, y: F64, k: int, loss: str) -> Ids:
    """Select by naive L1 steps, with the penalty by bisection.

    It is between the penalty that lets no column in and a thousandth of it.
    """
    lines, y = standardized(X), centre_target(y, loss)
    max_power = float(
        np.log10(np.abs(lines @ derivative(loss, np.zeros(y.size), y)).max() / y.size)
    )
    return largest_ids(
        search_fewest(
            lambda power: l1_steps(lines, y, loss, 10.0**-power), (-max_power, 3.0 - max_power), k
        ),
        k,
    )


def by_l0_steps(X: F64, y: F64, k: int, loss: str) -> Ids:
    """Select by naive L0 steps."""
    return largest_ids(l0_steps(standardized(X), centre_target(y, loss), loss, k), k)


def by_lasso(X: F64, y: F64, k: int) -> Ids:
    """Select by the path of the lasso, with squared loss; classes are taken as numbers."""
    from sklearn.linear_model import lars_path

    path = lars_path(standardized(X).T, y - y.mean(), method="lasso", max_iter=3 * k)[2]
    counts = np.count_nonzero(path, axis=0)
    return largest_ids(path[:, int(np.argmax(counts >= min(k, counts.max())))], k)


def by_l1_liblinear(X: Any, y: F64, k: int, loss: str) -> Ids:
    """Select by LIBLINEAR with an L1 penalty, on columns as they are, dense or sparse."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    def weights(power: float) -> F64:
        options = {"C": 10.0**power, "random_state": 0, "max_iter": 1000}
        if loss == "squared_hinge":
            model = LinearSVC(penalty="l1", dual=False, **options)
        else:
            model = LogisticRegression(l1_ratio=1.0, solver="liblinear", **options)
        return np.asarray(model.fit(X, y).coef_[0])

    return largest_ids(search_fewest(weights, PENALTIES[loss], k), k)


def centre_target(y: F64, loss: str) -> F64:
    """Return a numeric target minus its mean; classes as they are."""
    return y - y.mean() if loss == "squared" else y


def search_fewest(weights: Callable[[float], F64], bounds: tuple[float, float], k: int) -> F64:
    """Return by bisection the weights with the fewest non-zeros, but no fewer than k.

    If all have fewer, return those with the most. ``weights`` returns more non-zeros for larger
    arguments, on the whole.
    """
    low, high = bounds
    enough: F64 | None = None
    too_few = np.zeros(0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        current = weights(middle)
        count = np.count_nonzero(current)
        if count >= k:
            high, enough = middle, current
            if count == k:
                break
        else:
            low = middle
            too_few = current if count >= np.count_nonzero(too_few) else too_few
    return too_few if enough is None else enough
