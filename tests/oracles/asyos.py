"""Asynchronous online substitution, with a list of all pushes so far.

Algorithms 2 and 3 of Yang, Fujimaki, Kusumura, Liu 2016 on standardised columns, workers in turn. A
worker reads the sum of all pushes except those of others among the last ``staleness``. Each worker
has a part of the constant and moves it by a fraction, so that all workers together take one step.
"""

from __future__ import annotations

import numpy as np

from .linear import gap, slope, standardized


def scores_of(Z, weights, level):
    return level + Z[:, list(weights)] @ np.array(list(weights.values()))


def asyos(X, y, s, loss, workers, staleness, step, m, scans):
    """Return the columns and weights of each worker, its constant, the pushes, the closest call."""
    Z, varies = standardized(X)
    n = y.size
    kept, levels = [{} for _ in range(workers)], [0.0] * workers
    pushes, closest_call = [], np.inf
    for _ in range(scans):
        for j in np.flatnonzero(varies):
            if any(j in weights for weights in kept):
                continue
            t = len(pushes) % workers
            weights = kept[t]
            read_scores = np.zeros(n)
            for number, (sender, change) in enumerate(pushes):
                if sender == t or number < len(pushes) - staleness:
                    read_scores = read_scores + change
            gradient = slope(loss, read_scores, y) / n
            before = scores_of(Z, weights, levels[t])
            has_twin = any(abs(Z[:, k] @ Z[:, j]) / n > 1 - 1e-6 for k in weights)
            for k in weights:
                weights[k] -= step / m * (Z[:, k] @ gradient)
            levels[t] -= step / m / workers * gradient.sum()
            if not has_twin:
                weights[j] = -step * (Z[:, j] @ gradient)
            if len(weights) > s // workers + (t < s % workers):
                by_size = sorted(weights, key=lambda k: abs(weights[k]))
                closest_call = min(closest_call, gap(weights[by_size[0]], weights[by_size[1]]))
                del weights[by_size[0]]
            pushes.append((t, scores_of(Z, weights, levels[t]) - before))
    return kept, levels, pushes, closest_call


def merged(X, kept):
    """Return the weights of all columns; the first of proportional columns has their sum."""
    Z, _ = standardized(X)
    weights = {j: weight for part in kept for j, weight in part.items()}
    merged_weights = {}
    for j in sorted(weights):
        for k in merged_weights:
            correlation = Z[:, k] @ Z[:, j] / len(Z)
            if abs(correlation) > 1 - 1e-6:
                merged_weights[k] += np.sign(correlation) * weights[j]
                break
        else:
            merged_weights[j] = weights[j]
    return merged_weights
