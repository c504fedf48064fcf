"""Compare several methods over several data sets by their ranks (Demšar 2006).

Scores are a mapping from a method to its scores, one per data set, or a matrix with a row per data
set and a column per method; methods are then named by their column numbers. Rank 1 is the best, and
equal scores share the mean of their ranks.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError

M = TypeVar("M", bound=Hashable)  # the name of a method


class Friedman(NamedTuple):
    """Friedman's test that all methods are equally good, and its less conservative form."""

    statistic: float  # distributed as chi squared if they are
    p_value: float
    f_statistic: float | None  # Iman and Davenport's; None if ranks are the same on all data sets
    f_p_value: float


def average_ranks(scores: Any, higher_is_better: bool = True) -> dict[Any, float]:
    """Return the mean rank of every method over the data sets; the best on a set has rank 1."""
    methods, table = table_of(scores)
    means = ranks_of(table, higher_is_better).mean(axis=0)
    return dict(zip(methods, means.tolist(), strict=True))


def friedman(scores: Any) -> Friedman:
    """Return Friedman's test, corrected for ties, and Iman and Davenport's F of the same ranks.

    The test is that of ``scipy.stats.friedmanchisquare``, but works for two methods as well.
    """
    from scipy import stats

    _, table = table_of(scores)
    n, k = table.shape
    if n < 2:
        raise UsageError("Friedman's test needs the scores on two data sets or more")
    ranks = ranks_of(table, True)
    centre = (k + 1) / 2.0
    within = float(((ranks - centre) ** 2).sum())  # n k (k^2 - 1) / 12, without ties
    if not within:
        return Friedman(0.0, 1.0, 0.0, 1.0)
    statistic = (k - 1) * float(((ranks.sum(axis=0) - n * centre) ** 2).sum()) / within
    p_value = float(stats.chi2.sf(statistic, k - 1))
    left = n * (k - 1) - statistic
    if left <= 1e-9 * n * k:
        return Friedman(statistic, p_value, None, 0.0)
    f = (n - 1) * statistic / left
    return Friedman(statistic, p_value, f, float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))))


def nemenyi_critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return the critical difference of average ranks by Nemenyi's test.

    Two methods are significantly different if their average ranks differ by this much.
    """
    from scipy.stats import studentized_range

    if n_methods < 2 or n_sets < 1 or not 0.0 < alpha < 1.0:
        raise UsageError(
            "a critical difference needs two methods, a data set and an alpha between 0 and 1"
        )
    quantile = float(studentized_range.ppf(1.0 - alpha, n_methods, np.inf)) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def cliques(ranks: Mapping[M, float], critical_difference: float) -> list[list[M]]:
    """Return the largest groups of methods that do not differ significantly, best first.

    The average ranks in a group differ by less than the critical difference. Methods that differ
    significantly from all others are in no group.
    """
    order = sorted(ranks, key=lambda method: ranks[method])
    groups: list[list[M]] = []
    end = 0
    for start, first in enumerate(order):
        stop = start
        while stop < len(order) and ranks[order[stop]] - ranks[first] < critical_difference:
            stop += 1
        if stop > end and stop - start > 1:
            groups.append(order[start:stop])
        end = max(end, stop)
    return groups


def table_of(scores: Any) -> tuple[list[Any], NDArray[np.float64]]:
    """Return the methods, and a table of scores with a row per data set."""
    if isinstance(scores, Mapping):
        methods = list(scores)
        columns = [np.asarray(scores[method], np.float64) for method in methods]
        is_same_length = len({column.shape for column in columns}) == 1
        table = np.column_stack(columns) if is_same_length else np.empty(0)
    else:
        table = np.asarray(scores, np.float64)
        methods = list(range(table.shape[1])) if table.ndim == 2 else []
    if table.ndim != 2 or table.shape[1] < 2 or not table.shape[0]:
        raise UsageError("ranks need the scores of two methods or more on the same data sets")
    if not np.isfinite(table).all():
        raise UsageError(
            "some scores are missing or infinite; omit the data sets where a method has no score"
        )
    return methods, table


def ranks_of(table: NDArray[np.float64], higher_is_better: bool) -> NDArray[np.float64]:
    """Return the rank of every method on every data set."""
    from scipy.stats import rankdata

    ranks: NDArray[np.float64] = rankdata(-table if higher_is_better else table, axis=1)
    return ranks
