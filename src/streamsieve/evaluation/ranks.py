"""Which of several methods is better over several data sets, by their ranks (Demšar 2006).

Scores are a mapping from a method to its scores, one per data set, or a matrix with a line per data
set and a column per method, which is then known by its number. Rank 1 is the best, and equal scores
share the mean of their ranks.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError

M = TypeVar("M", bound=Hashable)  # what a method is known by


class Friedman(NamedTuple):
    """Friedman's test of whether all methods are equally good, and its less conservative form."""

    statistic: float  # distributed as chi squared, if they are
    p_value: float
    f_statistic: (
        float | None
    )  # of Iman and Davenport; None where the ranks are the same on all data sets
    f_p_value: float


class WinTieLoss(NamedTuple):
    """On how many data sets one method is significantly better, neither is, and the other is."""

    wins: int
    ties: int
    losses: int


def average_ranks(scores: Any, higher_is_better: bool = True) -> dict[Any, float]:
    """The mean rank of every method over the data sets; the best method of a set has rank 1 there."""
    methods, table = table_of(scores)
    means = ranks_of(table, higher_is_better).mean(axis=0)
    return dict(zip(methods, means.tolist(), strict=True))


def friedman(scores: Any) -> Friedman:
    """Friedman's test, corrected for ties, and Iman and Davenport's F of the same ranks.

    As ``scipy.stats.friedmanchisquare``, and for two methods as well.
    """
    from scipy import stats

    _, table = table_of(scores)
    n, k = table.shape
    if n < 2:
        raise UsageError("Friedman's test needs the scores on two data sets or more")
    ranks = ranks_of(table, True)
    centre = (k + 1) / 2.0
    within = float(((ranks - centre) ** 2).sum())  # n k (k^2 - 1) / 12, less what ties take off
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
    """By how much average ranks must differ for two methods to be significantly different (Nemenyi's test)."""
    from scipy.stats import studentized_range

    if n_methods < 2 or n_sets < 1 or not 0.0 < alpha < 1.0:
        raise UsageError(
            "a critical difference needs two methods, a data set and an alpha between 0 and 1"
        )
    quantile = float(studentized_range.ppf(1.0 - alpha, n_methods, np.inf)) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))


def cliques(ranks: Mapping[M, float], critical_difference: float) -> list[list[M]]:
    """The largest groups of methods whose average ranks differ by less than the critical difference, best first.

    Methods that differ significantly from all others are in no group.
    """
    order = sorted(ranks, key=lambda method: ranks[method])
    found: list[list[M]] = []
    end = 0
    for start, first in enumerate(order):
        stop = start
        while stop < len(order) and ranks[order[stop]] - ranks[first] < critical_difference:
            stop += 1
        if stop > end and stop - start > 1:
            found.append(order[start:stop])
        end = max(end, stop)
    return found


def win_tie_loss(a: Sequence[Any], b: Sequence[Any], alpha: float = 0.05) -> WinTieLoss:
    """On how many data sets ``a`` is better than ``b``, by a paired t-test of level ``alpha`` on each.

    Both have, for every data set, the scores of the same two or more repeats, folds or seeds.
    Higher is better.
    """
    if len(a) != len(b):
        raise UsageError(f"{len(a)} data sets of one method and {len(b)} of the other")
    pairs = [
        (np.asarray(one, np.float64), np.asarray(other, np.float64))
        for one, other in zip(a, b, strict=True)
    ]
    signs = [significant_sign(one, other, alpha) for one, other in pairs]
    return WinTieLoss(signs.count(1), signs.count(0), signs.count(-1))


def significant_sign(one: NDArray[np.float64], other: NDArray[np.float64], alpha: float) -> int:
    """1 or -1 if one has the higher scores, or the other, by a paired t-test; 0 if that may be chance."""
    from scipy import stats

    if one.shape != other.shape or one.ndim != 1 or one.size < 2:
        raise UsageError(
            f"a paired t-test needs the scores of the same repeats, two or more, not {one.shape}"
            f" and {other.shape}"
        )
    difference = one - other
    mean, error = float(difference.mean()), float(difference.std(ddof=1)) / np.sqrt(one.size)
    if error <= 1e-12 * abs(
        mean
    ):  # the same difference in all repeats: no test can divide by its spread
        return int(np.sign(mean))
    p_value = 2.0 * float(stats.t.sf(abs(mean) / error, one.size - 1))
    return int(np.sign(mean)) if p_value < alpha else 0


def table_of(scores: Any) -> tuple[list[Any], NDArray[np.float64]]:
    """The methods, and a line of scores per data set."""
    if isinstance(scores, Mapping):
        methods = list(scores)
        lines = [np.asarray(scores[method], np.float64) for method in methods]
        same = len({line.shape for line in lines}) == 1
        table = np.column_stack(lines) if same else np.empty(0)
    else:
        table = np.asarray(scores, np.float64)
        methods = list(range(table.shape[1])) if table.ndim == 2 else []
    if table.ndim != 2 or table.shape[1] < 2 or not table.shape[0]:
        raise UsageError("ranks need the scores of two methods or more on the same data sets")
    if not np.isfinite(table).all():
        raise UsageError(
            "some scores are missing; take the data sets on which all methods have one"
        )
    return methods, table


def ranks_of(table: NDArray[np.float64], higher_is_better: bool) -> NDArray[np.float64]:
    from scipy.stats import rankdata

    ranks: NDArray[np.float64] = rankdata(-table if higher_is_better else table, axis=1)
    return ranks
