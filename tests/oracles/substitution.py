"""Online substitution: as in the paper, and by a pool of candidates, with whole NumPy columns.

``stepping`` is algorithm 1 of Yang, Fujimaki, Kusumura, Liu 2016 on standardised columns, with a
constant that is always kept. ``pool`` is our rule without a step length. Both also return the
closest decision: the relative distance of the two numbers that decided between two columns;
rounding may change decisions that are too close.
"""

from __future__ import annotations

import numpy as np

from .linear import BOUND, gap, slope, standardized

POOL, MIN_POOL, BLOCK, BY_TARGET, NEAR, SWEEPS, FITS = 4, 160, 4, 0.25, 0.8, 5, 3


def second_derivative(loss, u, y):
    if loss == "squared":
        return np.ones(y.size)
    if loss == "squared_hinge":
        return (y * u < 1.0).astype(float)
    probability = 1.0 / (1.0 + np.exp(-u))
    return probability * (1.0 - probability)


def stepping(X, y, s, loss, step, m, scans):
    """Return the kept columns with their weights, unordered, the constant, the closest decision."""
    Z, varies = standardized(X)
    n = y.size
    weights, level, closest = {}, 0.0, np.inf
    for _ in range(scans):
        for j in np.flatnonzero(varies):
            if j in weights:
                continue
            kept = list(weights)
            u = level + Z[:, kept] @ np.array([weights[k] for k in kept])
            g = slope(loss, u, y) / n
            for k in kept:
                weights[k] -= step / m * (Z[:, k] @ g)
            level -= step / m * g.sum()
            if any(abs(Z[:, k] @ Z[:, j]) / n > 1 - 1e-6 for k in kept):
                continue
            weights[j] = -step * (Z[:, j] @ g)
            if len(weights) > s:
                order = sorted(weights, key=lambda k: abs(weights[k]))
                closest = min(closest, gap(weights[order[0]], weights[order[1]]))
                del weights[order[0]]
    return weights, level, closest


def pool(X, y, s, loss, scans):
    """Return the columns left in the pool, in order of arrival, and the closest decision."""
    Z, varies = standardized(X)
    n, size = y.size, max(POOL * s, MIN_POOL)
    capacity = size + size // BLOCK
    target = -(slope(loss, np.zeros(n), y) - slope(loss, np.zeros(n), y).mean())
    held, weights, residual, level = [], {}, target, 0.0
    prior, thresholds, closest = None, (-1.0, -1.0), np.inf
    for _ in range(scans):
        for j in np.flatnonzero(varies):
            residual_score, target_score = abs(Z[:, j] @ residual) / n, abs(Z[:, j] @ target) / n
            closest = min(
                closest, gap(residual_score, thresholds[0]), gap(target_score, thresholds[1])
            )
            if (residual_score <= thresholds[0] and target_score <= thresholds[1]) or j in held:
                continue
            if len(held) == capacity:
                held = [
                    k
                    for k in held
                    if not any(are_twins(Z, k, other) for other in held if other < k)
                ]
                weights, gains, level, prior = fit(Z, y, s, loss, held, weights, level, prior)
                target_scores = {k: abs(Z[:, k] @ target) / n for k in held}
                best_by_target = sorted(held, key=lambda k: -target_scores[k])
                others = sorted(
                    best_by_target[int(BY_TARGET * size) :],
                    key=lambda k: (-abs(gains[k]), held.index(k)),
                )
                best_by_target, others, ranked = (
                    best_by_target[: int(BY_TARGET * size)],
                    others[: size - int(BY_TARGET * size)],
                    others,
                )
                if len(ranked) > len(others):
                    thresholds = (
                        NEAR * abs(gains[others[-1]]),
                        NEAR * target_scores[best_by_target[-1]],
                    )
                    closest = min(closest, gap(gains[others[-1]], gains[ranked[len(others)]]))
                    held = [k for k in held if k in set(best_by_target) | set(others)]
                weights = {k: weights[k] for k in held}
                u = level + Z[:, held] @ np.array([weights[k] for k in held])
                residual = -slope(loss, u, y) / curvature(loss, u, y)
                residual = residual - residual.mean()
                residual_score = abs(Z[:, j] @ residual) / n
                closest = min(
                    closest, gap(residual_score, thresholds[0]), gap(target_score, thresholds[1])
                )
                if (residual_score <= thresholds[0] and target_score <= thresholds[1]) or j in held:
                    continue
            held.append(j)
    return held, closest


def are_twins(Z, a, b):
    return abs(Z[:, a] @ Z[:, b]) / len(Z) > 1 - 1e-6


def curvature(loss, u, y):
    return max(second_derivative(loss, u, y).mean(), 0.05 * BOUND[loss])


def fit(Z, y, s, loss, held, weights, level, prior):
    """Fit a spike-and-slab model by coordinates; return weights, gains, constant and prior.

    The gain of a column is what it would explain by itself.
    """
    n, k = y.size, len(held)
    G, w = Z[:, held].T @ Z[:, held] / n, np.array([weights.get(j, 0.0) for j in held])
    gains = np.zeros(k)
    for _ in range(1 if loss == "squared" else FITS):
        u = level + Z[:, held] @ w
        z = u - slope(loss, u, y) / curvature(loss, u, y)
        level = z.mean()
        z = z - level
        if prior is None:
            prior = (z**2).mean(), 0.01 * (z**2).mean(), 0.1
        floor = 1e-10 * (z**2).mean()
        for _ in range(SWEEPS):
            noise, spread, probability = prior
            ridge = noise / (n * spread)
            variance = noise / (n * (1 + ridge))
            inclusion, second_moments = np.zeros(k), np.zeros(k)
            for j in range(k):
                gains[j] = Z[:, held[j]] @ z / n - G[j] @ w + w[j]
                mean = gains[j] / (1 + ridge)
                odds = (
                    np.log(probability / (1 - probability))
                    + np.log(variance / spread) / 2
                    + mean**2 / (2 * variance)
                )
                inclusion[j] = 1.0 / (1.0 + np.exp(-odds))
                second_moments[j] = inclusion[j] * (mean**2 + variance)
                w[j] = inclusion[j] * mean
            error = ((z - Z[:, held] @ w) ** 2).mean()
            noise = error + (second_moments - w**2).sum() + floor
            prior = (
                noise,
                second_moments.sum() / inclusion.sum() + floor,
                min(0.9, max(1.0, min(s, inclusion.sum())) / k),
            )
    return dict(zip(held, w, strict=True)), dict(zip(held, gains, strict=True)), level, prior
