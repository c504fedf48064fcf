"""Slow, obvious measures of stability.

Nogueira, Sechidis, Brown 2018: definition 4, and the variance of theorem 7. Yu, Ding, Loscalzo
2008: the best of all pairings, with symmetrical uncertainties from counted values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import permutations
from math import log2, sqrt


def nogueira(selections: Sequence[Collection[int]], n_features: int) -> tuple[float, float]:
    """Return the stability and the standard deviation of its estimate."""
    m, d = len(selections), n_features
    z = [[1 if f in selection else 0 for f in range(d)] for selection in selections]
    p = [sum(line[f] for line in z) / m for f in range(d)]
    k = [sum(line) for line in z]
    mean_k = sum(k) / m
    spread = mean_k / d * (1 - mean_k / d)
    variances = [m / (m - 1) * p[f] * (1 - p[f]) for f in range(d)]
    value = 1 - (sum(variances) / d) / spread
    phi = []
    for i in range(m):
        common = sum(z[i][f] * p[f] for f in range(d)) / d
        second = value / 2 * (2 * mean_k * k[i] / d**2 - k[i] / d - mean_k / d + 1)
        phi.append((common - k[i] * mean_k / d**2 + second) / spread)
    mean_phi = sum(phi) / m
    return value, sqrt(4 / m**2 * sum((selection - mean_phi) ** 2 for selection in phi))


def entropy(values: Sequence[object]) -> float:
    n = len(values)
    return -sum(count / n * log2(count / n) for count in Counter(values).values())


def symmetrical_uncertainty(a: Sequence[object], b: Sequence[object]) -> float:
    """Return 2 I(a; b) / (H(a) + H(b)); 1 for two constants."""
    sum_of_entropies = entropy(a) + entropy(b)
    return (
        1.0
        if sum_of_entropies == 0
        else 2 * (sum_of_entropies - entropy(list(zip(a, b, strict=True)))) / sum_of_entropies
    )


def best_pairing(weights: Sequence[Sequence[float]]) -> float:
    """Return the largest sum of weights over all pairings of the rows with different columns."""
    if len(weights) > len(weights[0]):
        weights = list(zip(*weights, strict=True))
    n, m = len(weights), len(weights[0])
    return max(
        sum(weights[i][j] for i, j in enumerate(order)) for order in permutations(range(m), n)
    )
