"""ReliefF and I-RELIEF: the relatives of local learning, to compare with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import spell
from ...kernels.matrix.local_learning import weigh_neighbours
from ...kernels.matrix.pairs import spread_of
from ...kernels.matrix.relief import fold_pairs, mark_nearest, sum_over_pairs, weigh_inliers
from ...kernels.types import F64, I32
from ...sources.base import Report
from ..base import Method
from ..parameters import BUDGET, BUDGET_OR_NONE, checked, parameter
from .data import Pairs, nothing, slices
from .learner import MatrixLearner
from .weighing import ROUNDS, SCALE, SIGMA, TOLERANCE, WeighingRule

TYPICAL_ROUNDS = 10  # of I-RELIEF
AUTO = 0.5  # standard deviations of the distances: I-RELIEF's sigma="auto"


@dataclass(eq=False, repr=False, kw_only=True)
class ReliefFParameters:
    """ReliefF (Kononenko 1994; Robnik-Sikonja, Kononenko 2003): features that differ more to misses than to hits.

    The neighbours of a row are the nearest ones in all features, so that many irrelevant features hide the relevant
    ones. Every row is asked. Features are numbers: a difference is that of the values on the scale.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None selects all features of weight above 0; a number the heaviest of them.
    n_neighbors : int, default=10
        Nearest hits, and nearest misses of every other class, of a row.
    scale : {"minmax", "standard", "none"}, default="minmax"
        As in LocalLearning.
    """

    n_features_to_select: int | None = field(default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE))
    n_neighbors: int = parameter(10, BUDGET)
    scale: str = parameter("minmax", SCALE)


class ReliefFRule(WeighingRule):
    """Nearest hits and nearest misses in all features."""

    def passes(self) -> float:
        return 4.0  # the sums over pairs cost three times the distances

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        n_features = pairs.varying.size
        total, done = 2 * len(slices(n_features)), count(1)

        def report_slice() -> None:
            report("blocks", next(done), total)

        distances = pairs.distances(pairs.varying, np.ones(n_features), report_slice)
        fractions = np.bincount(codes) / codes.size
        forth, back = pairs.pair_matrix(), pairs.pair_matrix()
        wanted = min(int(self.params.n_neighbors), pairs.n_rows)

        def mark(first: int, last: int, part: int) -> None:
            mark_nearest(distances, codes, fractions, wanted, first, last, forth, back)

        pairs.in_parts(pairs.n_rows, mark)
        fold_pairs(forth, back, np.ones(pairs.n_rows))
        return sums_over_pairs(pairs, forth, report_slice) / pairs.n_rows, {}


RELIEFF = Method("relieff", ReliefFParameters, MatrixLearner, rule=ReliefFRule)


@dataclass(eq=False, repr=False, kw_only=True)
class IReliefParameters:
    """Iterative RELIEF (Sun 2007): ReliefF with soft neighbours, found anew under the weights so far.

    The weights are those of largest expected margin on the unit sphere, w = (v)+ / ||(v)+||; rows among misses count
    less. They are not sparse: an irrelevant feature keeps what chance gives it.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None selects all features of weight above 0; a number the heaviest of them.
    sigma : float or "auto", default=2
        Width of the kernel exp(-distance / sigma); "auto" is half the standard deviation of the distances between
        rows, anew in every round.
    tol : float, default=0.01
        A round that changes the weights by no more than this is the last.
    max_iter : int, default=50
        The most rounds.
    scale : {"minmax", "standard", "none"}, default="minmax"
        As in LocalLearning.
    """

    n_features_to_select: int | None = field(default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE))
    sigma: float | str = parameter(2, SIGMA)
    tol: float = parameter(0.01, TOLERANCE)
    max_iter: int = parameter(50, ROUNDS)
    scale: str = parameter("minmax", SCALE)


class IReliefRule(WeighingRule):
    """Soft neighbours, found anew under the weights so far."""

    def passes(self) -> float:
        return 4.0 * min(TYPICAL_ROUNDS, int(self.params.max_iter))

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        n_features, params = pairs.varying.size, self.params
        weights = np.full(n_features, 1.0 / np.sqrt(max(1, n_features)))
        change, rounds = np.inf, 0
        while n_features and change > params.tol and rounds < params.max_iter:
            gain = np.maximum(0.0, self.margins(pairs, codes, weights))
            length = float(np.linalg.norm(gain))
            now = gain / length if length else gain
            change, weights = float(np.linalg.norm(now - weights)), now
            rounds += 1
            report("rounds", rounds, None)
        if change > params.tol and n_features:
            warnings.warn(f"the weights still change after {spell('max_iter', params.max_iter)} rounds", stacklevel=2)
        return weights, {"n_iter": rounds}

    def margins(self, pairs: Pairs, codes: I32, weights: F64) -> F64:
        """Return the expected margin of every feature, summed over rows."""
        live, sigma = np.flatnonzero(weights), self.params.sigma
        distances = pairs.distances(pairs.varying[live], weights[live])
        width = AUTO * spread_of(distances, pairs.n_rows) if sigma == "auto" else float(sigma)
        width = max(width, float(np.finfo(np.float64).tiny))
        forth, back = pairs.pair_matrix(), pairs.pair_matrix()
        inliers = np.empty(pairs.n_rows)

        def weigh(first: int, last: int, part: int) -> None:
            weigh_neighbours(distances, codes, width, first, last, forth, back)
            weigh_inliers(distances, codes, width, first, last, inliers)

        pairs.in_parts(pairs.n_rows, weigh)
        fold_pairs(forth, back, inliers)
        return sums_over_pairs(pairs, forth)


IRELIEF = Method("irelief", IReliefParameters, MatrixLearner, rule=IReliefRule)


def sums_over_pairs(pairs: Pairs, folded: NDArray[np.float32], after_slice: Callable[[], None] = nothing) -> F64:
    """For every feature that varies, the weighted sum of its differences over all pairs of rows."""
    sums = np.empty(pairs.varying.size)

    def add(target: F64, first: int, block: NDArray[np.float32], size: int) -> None:
        sum_over_pairs(block, folded, size, target[first : first + size])

    for part in slices(sums.size):
        pairs.over_blocks(pairs.varying[part], partial(add, sums[part]))
        after_slice()
    return sums
