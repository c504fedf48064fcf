"""OSFS and Fast-OSFS: Fisher's Z with partial correlations from residuals, G2 and chi squared."""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist

import numpy as np
from scipy.stats import chi2


def statistic(x, target, given):
    """Return |W| of Fisher's Z test of the partial correlation of x and the target.

    It is infinite if undefined.
    """
    n = len(target)
    design = np.column_stack([np.ones(n), *given])
    residuals = [
        v - design @ np.linalg.lstsq(design, v, rcond=1e-10)[0]
        for v in (np.asarray(x), np.asarray(target))
    ]
    lengths = [float(np.sqrt(v @ v)) for v in residuals]
    freedom = n - len(given) - 3
    if freedom <= 0 or min(lengths) < 1e-6 * max(1.0, float(np.abs(x).max())):
        return np.inf
    r = float(residuals[0] @ residuals[1] / (lengths[0] * lengths[1]))
    return np.inf if abs(r) >= 1 else float(np.sqrt(freedom) * abs(0.5 * np.log((1 + r) / (1 - r))))


def from_counts(x, target, given, measure):
    """Return G2 or chi squared of x and the target given columns, and its degrees of freedom."""
    strata = {}
    for row in range(len(target)):
        strata.setdefault(tuple(g[row] for g in given), []).append(row)
    total, freedom = 0.0, 0
    for rows in strata.values():
        values_here = [x[row] for row in rows]
        classes = [target[row] for row in rows]
        for a in set(values_here):
            for c in set(classes):
                count = sum(
                    1 for m, k in zip(values_here, classes, strict=True) if m == a and k == c
                )
                expected = values_here.count(a) * classes.count(c) / len(rows)
                if measure == "chi2":
                    total += (count - expected) ** 2 / expected
                elif count:
                    total += 2 * count * np.log(count / expected)
        freedom += (len(set(values_here)) - 1) * (len(set(classes)) - 1)
    return total, freedom


def select(columns, target, alpha, most, fast, measure="fisher_z", duplicates="drop"):
    """Return the kept columns in order of arrival, and how close a test was to its limit."""
    closest = np.inf
    kept = []

    def is_independent(number, given):
        nonlocal closest
        others = [columns[g] for g in given]
        if measure != "fisher_z":
            value, freedom = from_counts(columns[number], target, others, measure)
            if freedom == 0:
                return True
            limit = chi2.isf(alpha, freedom)
        else:
            value, limit = (
                statistic(columns[number], target, others),
                NormalDist().inv_cdf(1 - alpha / 2),
            )
        closest = min(closest, abs(value - limit))
        return value < limit

    def is_separated(number, pool, always=()):
        for size in range(0 if always else 1, most - len(always) + 1):
            for given in combinations(pool, size):
                if is_independent(number, [*always, *given]):
                    return True
        return False

    for number in range(len(columns)):
        if np.ptp(columns[number]) == 0 or is_independent(number, []):
            continue
        if duplicates == "drop" and any(
            np.array_equal(columns[number], columns[other]) for other in kept
        ):
            continue
        if fast:
            if is_separated(number, kept):
                continue
            kept.append(number)
            for other in kept[:-1]:
                if is_separated(other, [k for k in kept if k not in (other, number)], (number,)):
                    kept.remove(other)
        else:
            kept.append(number)
            for other in list(kept):
                if is_separated(other, [k for k in kept if k != other]):
                    kept.remove(other)
    return kept, closest
