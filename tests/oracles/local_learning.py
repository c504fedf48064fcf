"""Local learning from its formulas: probabilities, expected margins, and the convex problem in the weights."""

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
    """P(nearest miss) - P(nearest hit), a line per row; zeros for a row that is alone in its class."""
    n_rows = len(y)
    found = np.zeros((n_rows, n_rows))
    for n in range(n_rows):
        others = np.arange(n_rows) != n
        hits, misses = others & (y == y[n]), y != y[n]
        if hits.any():
            for kind, sign in ((hits, -1), (misses, 1)):
                near = np.exp(-(distances[n, kind] - distances[n, kind].min()) / sigma)
                found[n, kind] = sign * near / near.sum()
    return found


def best_weights(margins, start, regularization):
    """argmin over w >= 0 of sum_n log(1 + exp(-w z_n)) + regularization sum w, and the least value."""

    def objective(w):
        at = margins @ w
        pull = 1.0 / (1.0 + np.exp(np.clip(at, -700, 700)))
        return (
            np.logaddexp(0.0, -at).sum() + regularization * w.sum(),
            regularization - pull @ margins,
        )

    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-10}
    bounds = [(0.0, None)] * margins.shape[1]
    found = minimize(objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return found.x, found.fun


def weigh(X, y, sigma=2.0, regularization=1.0, tol=0.01, max_iter=50, scale="minmax", start=1.0):
    """The weights of all features, none of them constant."""
    X, y = scaled(X, scale), np.asarray(y)
    apart = np.abs(X[:, None] - X[None])  # rows, rows, features
    weights = np.full(X.shape[1], start / np.sqrt(X.shape[1]))
    widths = (2, 0.5, 0.03) if sigma == "auto" else (sigma,)
    tries = [
        settle(apart, y, weights, width, sigma == "auto", regularization, tol, max_iter)
        for width in widths
    ]
    return min(tries, key=lambda found: found[:2])[2]


def settle(apart, y, weights, width, in_spreads, regularization, tol, max_iter):
    """Rounds until the weights settle: whether they did not, the objective of the last round, and the weights."""
    n_features = weights.size
    before = np.ones(n_features)
    alive = np.ones(n_features, bool)
    for _ in range(max_iter):
        distances = apart @ weights
        sigma = width * distances[np.triu_indices(len(y), 1)].std() if in_spreads else width
        margins = np.einsum("ni,nij->nj", probabilities(distances, y, sigma), apart)
        weights = np.zeros(n_features)
        weights[alive], objective = best_weights(
            margins[:, alive], np.full(alive.sum(), 0.1), regularization
        )
        alive &= np.sqrt(weights) > LEAVES
        weights[~alive] = 0.0
        if not alive.any():
            return False, objective, weights
        now = np.sqrt(weights / weights.max())
        change, before = np.linalg.norm(now - before), now
        if change <= tol:
            break
    weights[before <= NEGLIGIBLE] = 0.0
    return change > tol, objective, weights
