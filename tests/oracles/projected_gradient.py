"""Projected gradient on all columns at once, with dense NumPy arrays.

``project`` minimises the mean loss of standardised columns and a constant with s non-zero weights,
by hard thresholding with the best step along the columns in use (Blumensath, Davies 2010), halved
while the loss would rise. It also returns the closest decision: the relative distance of the
weights of the last kept column and the first one that was not kept.
"""

from __future__ import annotations

import numpy as np

from .linear import BOUND

FLOOR = 0.05  # share of the bound of the second derivative
MAX_STEPS, MAX_HALVINGS, TOLERANCE = 500, 30, 1e-7


def standardized(X):
    """Return the standardised columns that vary and do not repeat another, and their numbers."""
    chosen, lines = [], []
    for j, column in enumerate(X.T):
        if len(set(column)) > 1:
            line = (column - column.mean()) / column.std()
            if all(abs(line @ other) / line.size <= 1 - 1e-6 for other in lines):
                chosen.append(j)
                lines.append(line)
    return np.array(lines).T.reshape(len(X), -1), chosen


def cost(loss, u, y):
    """Return the mean loss, and first and second derivatives of every row's loss by its score."""
    if loss == "squared":
        return (0.5 * (u - y) ** 2).mean(), u - y, np.ones(y.size)
    if loss == "squared_hinge":
        shortfall = np.maximum(0.0, 1.0 - y * u)
        return (0.5 * shortfall**2).mean(), -y * shortfall, (shortfall > 0.0).astype(float)
    wrong_probability = 1.0 / (1.0 + np.exp(y * u))
    return (
        np.logaddexp(0.0, -y * u).mean(),
        -y * wrong_probability,
        wrong_probability * (1.0 - wrong_probability),
    )


def project(Z, y, s, loss):
    """Return the weights of all columns, the constant, and the closest decision."""
    n, p = Z.shape
    w, b, closest = np.zeros(p), 0.0, np.inf
    value, g, h = cost(loss, Z @ w + b, y)
    for _ in range(MAX_STEPS):
        h = np.maximum(h, FLOOR * BOUND[loss])
        gradient = Z.T @ g / n
        support = w != 0 if w.any() else top(gradient, s)[0]
        direction = np.where(support, gradient, 0.0)
        step = direction @ direction / (h * (Z @ direction) ** 2).mean() if direction.any() else 0.0
        level_step = g.mean() / max(cost(loss, Z @ w + b, y)[2].mean(), FLOOR * BOUND[loss])
        for _ in range(MAX_HALVINGS):
            stepped = w - step * gradient
            kept, gap = top(stepped, s)
            trial = np.where(kept, stepped, 0.0)
            trial_value, g_new, h_new = cost(loss, Z @ trial + b - level_step, y)
            if trial_value <= value:
                break
            step, level_step = step / 2, level_step / 2
        else:
            break
        closest = min(closest, gap)
        has_converged = value - trial_value <= TOLERANCE * value and np.array_equal(
            trial != 0, w != 0
        )
        w, b, value, g, h = trial, b - level_step, trial_value, g_new, h_new
        if has_converged:
            break
    return w, b, closest


def top(values, s):
    """Return a mask of the s largest magnitudes, and the relative gap to the next one."""
    order = np.argsort(-np.abs(values), kind="stable")
    kept = np.zeros(values.size, bool)
    kept[order[:s]] = True
    if values.size <= s:
        return kept, np.inf
    last, following = np.abs(values[order[s - 1 : s + 1]])
    return kept, (last - following) / max(last, 1e-300)
