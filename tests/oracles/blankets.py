"""IAMB and MMMB, test by test.

Partial correlations come from residuals, counts from dictionaries, p-values from SciPy.
"""

from __future__ import annotations

from itertools import combinations
from statistics import NormalDist

import numpy as np
from scipy.stats import chi2

from .osfs import from_counts

ROWS_EACH = 5
ASSOCIATION_TOLERANCE = 1e-9


class Judge:
    """Tests among columns, of which the last is the target, and their closest decision."""

    def __init__(self, columns, discrete, alpha, counts):
        self.columns = [np.asarray(column) for column in columns]
        self.discrete, self.alpha, self.counts = discrete, alpha, counts
        self.closest = np.inf

    def association(self, first, second, given):
        """Return -ln p; 0 for independence, None if there are too few rows to decide."""
        if all(self.discrete[v] for v in (first, second, *given)):
            value, freedom, limit = self._by_counts(first, second, given)
        else:
            value, freedom, limit = self._by_correlation(first, second, given)
        if value is None:
            return None
        self.closest = min(self.closest, abs(value - limit))
        return -chi2.logsf(value, freedom) if value >= limit else 0.0

    def _by_counts(self, first, second, given):
        levels = [len(set(self.columns[v].tolist())) for v in (first, second, *given)]
        nominal_freedom = (levels[0] - 1) * (levels[1] - 1) * int(np.prod(levels[2:]))
        if ROWS_EACH * nominal_freedom > len(self.columns[first]):
            return None, 0, 0.0
        lists = [self.columns[v].tolist() for v in (first, second, *given)]
        value, freedom = from_counts(lists[0], lists[1], lists[2:], self.counts)
        return (
            (value, freedom, chi2.isf(self.alpha, freedom))
            if freedom
            else (0.0, 1, chi2.isf(self.alpha, 1))
        )

    def _by_correlation(self, first, second, given):
        n = len(self.columns[first])
        if ROWS_EACH * (len(given) + 2) > n:
            return None, 0, 0.0
        design = np.column_stack([np.ones(n), *(self.columns[v] for v in given)])
        pair = [self.columns[v] - self.columns[v].mean() for v in (first, second)]
        pair = [v / np.sqrt(v @ v) for v in pair]
        residuals = [v - design @ np.linalg.lstsq(design, v, rcond=1e-10)[0] for v in pair]
        lengths = [float(np.sqrt(v @ v)) for v in residuals]
        limit = NormalDist().inv_cdf(1 - self.alpha / 2) ** 2
        if min(lengths) < 1e-6:  # the given columns determine it
            return 0.0, 1, limit
        r = min(abs(float(residuals[0] @ residuals[1] / (lengths[0] * lengths[1]))), 1 - 1e-15)
        return (n - len(given) - 3) * np.arctanh(r) ** 2, 1, limit


def strongest(strengths):
    """Return the first column with the largest association; None if no association is above 0."""
    best, largest = None, 0.0
    for column, strength in strengths.items():
        if strength is not None and strength > largest * (1 + ASSOCIATION_TOLERANCE):
            best, largest = column, strength
    return best


def iamb(judge):
    """Return the kept columns in order of entry, with their associations on entry."""
    target = len(judge.columns) - 1
    members, strengths = [], {}
    while True:
        associations = {
            c: judge.association(c, target, members) for c in range(target) if c not in members
        }
        strongest_column = strongest(associations)
        if strongest_column is None:
            break
        members.append(strongest_column)
        strengths[strongest_column] = associations[strongest_column]
    for column in list(members):
        others = [c for c in members if c != column]
        if judge.association(column, target, others) == 0:
            members = others
    return {column: strengths[column] for column in members}


def parents_and_children(judge, centre, most):
    """Return parents and children with their least associations, and the sets that separate others.

    A separating set makes a column independent of ``centre``.
    """
    least = {
        c: judge.association(c, centre, []) or 0.0 for c in range(len(judge.columns)) if c != centre
    }
    separators = {c: [] for c in least}
    members = []

    def test_sets(column, sets):
        for given in sets:
            strength = judge.association(column, centre, given)
            if strength is not None:
                least[column] = min(least[column], strength)
            if strength == 0:
                separators[column] = given
                return

    while (
        strongest_column := strongest({c: least[c] for c in least if c not in members})
    ) is not None:
        sets = [
            [strongest_column, *others]
            for size in range(most)
            for others in combinations(members, size)
        ]
        members.append(strongest_column)
        for column in least:
            if column not in members and least[column]:
                test_sets(column, sets)
    for column in list(members):
        others = [c for c in members if c != column]
        test_sets(
            column,
            [list(subset) for size in range(1, most + 1) for subset in combinations(others, size)],
        )
        if not least[column]:
            members = others
    return {column: least[column] for column in members}, separators


def mmmb(judge, most):
    """Return the kept columns with their associations: parents and children, then spouses."""
    target = len(judge.columns) - 1
    parents_children, separators = parents_and_children(judge, target, most)
    associations = dict(parents_children)
    for child in parents_children:
        for column in parents_and_children(judge, child, most)[0]:
            if (
                column != target
                and column not in parents_children
                and child not in separators[column]
            ):
                strength = judge.association(column, target, [*separators[column], child])
                if strength:
                    associations[column] = max(associations.get(column, 0.0), strength)
    return associations
