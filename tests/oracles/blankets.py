"""IAMB and MMMB, test by test: partial correlations from residuals, counts from dictionaries, p-values from SciPy."""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist

import numpy as np
from scipy.stats import chi2

from .osfs import from_counts

ROWS_EACH = 5
AS_STRONG = 1e-9


class Judge:
    """Tests among columns, the last of which is the target; it notes how close the closest was to its limit."""

    def __init__(self, columns, discrete, alpha, counts):
        self.columns = [np.asarray(column) for column in columns]
        self.discrete, self.alpha, self.counts = discrete, alpha, counts
        self.closest = np.inf

    def association(self, one, other, given):
        """-ln p; 0 for independence, None where there are too few rows to tell."""
        if all(self.discrete[v] for v in (one, other, *given)):
            value, freedom, limit = self._by_counts(one, other, given)
        else:
            value, freedom, limit = self._by_correlation(one, other, given)
        if value is None:
            return None
        self.closest = min(self.closest, abs(value - limit))
        return -chi2.logsf(value, freedom) if value >= limit else 0.0

    def _by_counts(self, one, other, given):
        levels = [len(set(self.columns[v].tolist())) for v in (one, other, *given)]
        nominal = (levels[0] - 1) * (levels[1] - 1) * int(np.prod(levels[2:]))
        if ROWS_EACH * nominal > len(self.columns[one]):
            return None, 0, 0.0
        lists = [self.columns[v].tolist() for v in (one, other, *given)]
        value, freedom = from_counts(lists[0], lists[1], lists[2:], self.counts)
        return (
            (value, freedom, chi2.isf(self.alpha, freedom))
            if freedom
            else (0.0, 1, chi2.isf(self.alpha, 1))
        )

    def _by_correlation(self, one, other, given):
        n = len(self.columns[one])
        if ROWS_EACH * (len(given) + 2) > n:
            return None, 0, 0.0
        design = np.column_stack([np.ones(n), *(self.columns[v] for v in given)])
        pair = [self.columns[v] - self.columns[v].mean() for v in (one, other)]
        pair = [v / np.sqrt(v @ v) for v in pair]
        left = [v - design @ np.linalg.lstsq(design, v, rcond=1e-10)[0] for v in pair]
        lengths = [float(np.sqrt(v @ v)) for v in left]
        limit = NormalDist().inv_cdf(1 - self.alpha / 2) ** 2
        if min(lengths) < 1e-6:  # the others determine it
            return 0.0, 1, limit
        r = min(abs(float(left[0] @ left[1] / (lengths[0] * lengths[1]))), 1 - 1e-15)
        return (n - len(given) - 3) * np.arctanh(r) ** 2, 1, limit


def strongest(strengths):
    """Of a dictionary in order, the first with the largest association; None if there is none above 0."""
    best, top = None, 0.0
    for column, strength in strengths.items():
        if strength is not None and strength > top * (1 + AS_STRONG):
            best, top = column, strength
    return best


def iamb(judge):
    """The kept columns, in the order they joined, and their associations then."""
    target = len(judge.columns) - 1
    joined, strengths = [], {}
    while True:
        now = {c: judge.association(c, target, joined) for c in range(target) if c not in joined}
        best = strongest(now)
        if best is None:
            break
        joined.append(best)
        strengths[best] = now[best]
    for column in list(joined):
        others = [c for c in joined if c != column]
        if judge.association(column, target, others) == 0:
            joined = others
    return {column: strengths[column] for column in joined}


def parents_and_children(judge, centre, most):
    """Those found with their least associations, and the set that separates each other column from the centre."""
    least = {
        c: judge.association(c, centre, []) or 0.0 for c in range(len(judge.columns)) if c != centre
    }
    separators = {c: [] for c in least}
    joined = []

    def ask(column, sets):
        for given in sets:
            strength = judge.association(column, centre, given)
            if strength is not None:
                least[column] = min(least[column], strength)
            if strength == 0:
                separators[column] = given
                return

    while (best := strongest({c: least[c] for c in least if c not in joined})) is not None:
        sets = [[best, *others] for size in range(most) for others in combinations(joined, size)]
        joined.append(best)
        for column in least:
            if column not in joined and least[column]:
                ask(column, sets)
    for column in list(joined):
        others = [c for c in joined if c != column]
        ask(
            column,
            [list(some) for size in range(1, most + 1) for some in combinations(others, size)],
        )
        if not least[column]:
            joined = others
    return {column: least[column] for column in joined}, separators


def mmmb(judge, most):
    """The kept columns and their associations: parents and children, then spouses."""
    target = len(judge.columns) - 1
    near, separators = parents_and_children(judge, target, most)
    found = dict(near)
    for child in near:
        for column in parents_and_children(judge, child, most)[0]:
            if column != target and column not in near and child not in separators[column]:
                strength = judge.association(column, target, [*separators[column], child])
                if strength:
                    found[column] = max(found.get(column, 0.0), strength)
    return found
