"""Projected gradient on all columns at once. Dense, NumPy, nothing saved.

``project`` minimises the mean loss of standardised columns and a constant with s weights that are
not 0: hard thresholding with the step that is best along the columns in use (Blumensath, Davies
2010), halved while the loss would rise. It also gives the closest decision: how far apart,
relatively, the weights were of the last column that was kept and the first that was not.
"""

from __future__ import annotations

import numpy as np

from .linear import BOUND

FLOOR = 0.05  # of the bound of the second derivative
MAX_STEPS, MAX_HALVINGS, TOLERANCE = 500, 30, 1e-7


def standardized(X):
    """The columns that vary and are not the same as one before, of mean 0 and variance 1; and which they are."""
    chosen, lines = [], []
    for j, column in enumerate(X.T):
        if len(set(column)) > 1:
            line = (column - column.mean()) / column.std()
            if all(abs(line @ other) / line.size <= 1 - 1e-6 for other in lines):
                chosen.append(j)
                lines.append(line)
    return np.array(lines).T.reshape(len(X), -1), chosen


def cost(loss, u, y):
    """The mean loss, and the first and second derivatives of every row's by its score."""
    if loss == "squared":
        return (0.5 * (u - y) ** 2).mean(), u - y, np.ones(y.size)
    if loss == "squared_hinge":
        short = np.maximum(0.0, 1.0 - y * u)
        return (0.5 * short**2).mean(), -y * short, (short > 0.0).astype(float)
    wrong = 1.0 / (1.0 + np.exp(y * u))
    return np.logaddexp(0.0, -y * u).mean(), -y * wrong, wrong * (1.0 - wrong)


def project(Z, y, s, loss):
    """The weights of all columns, the constant, and the closest decision."""
    n, p = Z.shape
    w, b, closest = np.zeros(p), 0.0, np.inf
    value, g, h = cost(loss, Z @ w + b, y)
    for _ in range(MAX_STEPS):
        h = np.maximum(h, FLOOR * BOUND[loss])
        gradient = Z.T @ g / n
        support = w != 0 if w.any() else top(gradient, s)[0]
        along = np.where(support, gradient, 0.0)
        step = along @ along / (h * (Z @ along) ** 2).mean() if along.any() else 0.0
        back = g.mean() / max(cost(loss, Z @ w + b, y)[2].mean(), FLOOR * BOUND[loss])
        for _ in range(MAX_HALVINGS):
            moved = w - step * gradient
            kept, gap = top(moved, s)
            trial = np.where(kept, moved, 0.0)
            new, g_new, h_new = cost(loss, Z @ trial + b - back, y)
            if new <= value:
                break
            step, back = step / 2, back / 2
        else:
            break
        closest = min(closest, gap)
        done = value - new <= TOLERANCE * value and np.array_equal(trial != 0, w != 0)
        w, b, value, g, h = trial, b - back, new, g_new, h_new
        if done:
            break
    return w, b, closest


def top(values, s):
    """A mask of the s largest magnitudes, and how far apart, relatively, the last of them and the next are."""
    order = np.argsort(-np.abs(values), kind="stable")
    kept = np.zeros(values.size, bool)
    kept[order[:s]] = True
    if values.size <= s:
        return kept, np.inf
    last, following = np.abs(values[order[s - 1 : s + 1]])
    return kept, (last - following) / max(last, 1e-300)
