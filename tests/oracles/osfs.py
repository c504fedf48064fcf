"""OSFS and Fast-OSFS with Fisher's Z test, every partial correlation from residuals."""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist

import numpy as np


def statistic(x, target, given):
    """|W| of Fisher's Z test of the correlation of x and the target given other columns; infinite where it has none."""
    n = len(target)
    design = np.column_stack([np.ones(n), *given])
    left = [v - design @ np.linalg.lstsq(design, v, rcond=1e-10)[0] for v in (np.asarray(x), np.asarray(target))]
    lengths = [float(np.sqrt(v @ v)) for v in left]
    freedom = n - len(given) - 3
    if freedom <= 0 or min(lengths) < 1e-6 * max(1.0, float(np.abs(x).max())):
        return np.inf
    r = float(left[0] @ left[1] / (lengths[0] * lengths[1]))
    return np.inf if abs(r) >= 1 else float(np.sqrt(freedom) * abs(0.5 * np.log((1 + r) / (1 - r))))


def select(columns, target, alpha, most, fast):
    """The kept columns in order of arrival, and how close the closest test was to its limit."""
    limit = NormalDist().inv_cdf(1 - alpha / 2)
    closest = np.inf
    kept = []

    def independent(number, given):
        nonlocal closest
        w = statistic(columns[number], target, [columns[g] for g in given])
        closest = min(closest, abs(w - limit))
        return w < limit

    def separated(number, pool, always=()):
        for size in range(0 if always else 1, most - len(always) + 1):
            for given in combinations(pool, size):
                if independent(number, [*always, *given]):
                    return True
        return False

    for number in range(len(columns)):
        if np.ptp(columns[number]) == 0 or independent(number, []):
            continue
        if fast:
            if separated(number, kept):
                continue
            kept.append(number)
            for other in kept[:-1]:
                if separated(other, [k for k in kept if k not in (other, number)], (number,)):
                    kept.remove(other)
        else:
            kept.append(number)
            for other in list(kept):
                if separated(other, [k for k in kept if k != other]):
                    kept.remove(other)
    return kept, closest
