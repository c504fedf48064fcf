"""Local learning by its formulas: probabilities, expected margins, convex problem."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

LEAVES, NEGLIGIBLE = 1e-5, 1e-3


def scaled(X, scale):
    X = np.asarray(X, float)
    if scale == "minmax":
        return (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return (X - X.mean(axis=0)) / X.std(axis=0) if scale == "standard" else X


def probabilities(distances, y, sigma):
    """Return P(nearest miss) - P(nearest hit) per row; zeros for a row alone in its class."""
    n_rows = len(y)
    signed_probabilities = np.zeros((n_rows, n_rows))
    for n in range(n_rows):
        others = np.arange(n_rows) != n
        hits, misses = others & (y == y[n]), y != y[n]
        if hits.any():
            for kind, sign in ((hits, -1), (misses, 1)):
                near = np.exp(-(distances[n, kind] - distances[n, kind].min()) / sigma)
                signed_probabilities[n, kind] = sign * near / near.sum()
    return signed_probabilities


def best_weights(margins, start, regularization):
    """Minimise sum_n log(1 + exp(-w z_n)) + regularization sum w over w >= 0.

    Return the weights and the minimum.
    """

    def objective(w):
        margin = margins @ w
        pull = 1.0 / (1.0 + np.exp(np.clip(margin, -700, 700)))
        return (
            np.logaddexp(0.0, -margin).sum() + regularization * w.sum(),
            regularization - pull @ margins,
        )

    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-10}
    bounds = [(0.0, None)] * margins.shape[1]
    result = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return result.x, result.fun


def weigh(X, y, sigma=2.0, regularization=1.0, tol=0.01, max_iter=50, scale="minmax", start=1.0):
    """Return the weights of all features, none of which may be constant."""
    X, y = scaled(X, scale), np.asarray(y)
    differences = np.abs(X[:, None] - X[None])  # rows, rows, features
    weights = np.full(X.shape[1], start / np.sqrt(X.shape[1]))
    widths = (2, 0.5, 0.03) if sigma == "auto" else (sigma,)
    attempts = [
        run_rounds(differences, y, weights, width, sigma == "auto", regularization, tol, max_iter)
        for width in widths
    ]
    return min(attempts, key=lambda attempt: attempt[:2])[2]


def run_rounds(differences, y, weights, width, in_spreads, regularization, tol, max_iter):
    """Repeat rounds until the weights converge.

    Return whether they did not, the objective of the last round, and the weights.
    """
    n_features = weights.size
    previous = np.ones(n_features)
    is_alive = np.ones(n_features, bool)
    for _ in range(max_iter):
        distances = differences @ weights
        sigma = width * distances[np.triu_indices(len(y), 1)].std() if in_spreads else width
        margins = np.einsum("ni,nij->nj", probabilities(distances, y, sigma), differences)
        weights = np.zeros(n_features)
        weights[is_alive], objective = best_weights(
            margins[:, is_alive], np.full(is_alive.sum(), 0.1), regularization
        )
        is_alive &= np.sqrt(weights) > LEAVES
        weights[~is_alive] = 0.0
        if not is_alive.any():
            return False, objective, weights
        current = np.sqrt(weights / weights.max())
        change, previous = np.linalg.norm(current - previous), current
        if change <= tol:
            break
    weights[previous <= NEGLIGIBLE] = 0.0
    return change > tol, objective, weights
