"""Asynchronous online substitution, with a list of all pushes that were ever made.

Algorithms 2 and 3 of Yang, Fujimaki, Kusumura, Liu 2016 on standardised columns, workers in turn. A
worker reads the sum of all pushes but those of others among the last ``staleness``. Each worker has
a part of the constant, and steps it by a fraction, so that all of them together take a step.
"""

from __future__ import annotations

import numpy as np

from .linear import gap, slope, standardized


def scores_of(Z, weights, level):
    return level + Z[:, list(weights)] @ np.array(list(weights.values()))


def asyos(X, y, s, loss, workers, staleness, step, m, scans):
    """Every worker's columns with their weights, its part of the constant, all pushes, and the closest decision."""
    Z, varies = standardized(X)
    n = y.size
    kept, levels = [{} for _ in range(workers)], [0.0] * workers
    pushes, closest = [], np.inf
    for _ in range(scans):
        for j in np.flatnonzero(varies):
            if any(j in weights for weights in kept):
                continue
            t = len(pushes) % workers
            weights = kept[t]
            u = np.zeros(n)
            for number, (sender, change) in enumerate(pushes):
                if sender == t or number < len(pushes) - staleness:
                    u = u + change
            g = slope(loss, u, y) / n
            before = scores_of(Z, weights, levels[t])
            twin = any(abs(Z[:, k] @ Z[:, j]) / n > 1 - 1e-6 for k in weights)
            for k in weights:
                weights[k] -= step / m * (Z[:, k] @ g)
            levels[t] -= step / m / workers * g.sum()
            if not twin:
                weights[j] = -step * (Z[:, j] @ g)
            if len(weights) > s // workers + (t < s % workers):
                order = sorted(weights, key=lambda k: abs(weights[k]))
                closest = min(closest, gap(weights[order[0]], weights[order[1]]))
                del weights[order[0]]
            pushes.append((t, scores_of(Z, weights, levels[t]) - before))
    return kept, levels, pushes, closest


def merged(X, kept):
    """All workers' columns; one of those that are the same but for scale, the first, with the weight of all."""
    Z, _ = standardized(X)
    weights = {j: weight for part in kept for j, weight in part.items()}
    together = {}
    for j in sorted(weights):
        for k in together:
            correlation = Z[:, k] @ Z[:, j] / len(Z)
            if abs(correlation) > 1 - 1e-6:
                together[k] += np.sign(correlation) * weights[j]
                break
        else:
            together[j] = weights[j]
    return together
