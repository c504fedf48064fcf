"""ReliefF and I-RELIEF: the relatives of local learning, to compare with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...kernels.matrix.local_learning import weigh_neighbours
from ...kernels.matrix.pairs import spread_of
from ...kernels.matrix.relief import fold_pairs, mark_nearest, sum_over_pairs, weigh_inliers
from ..requirements import MOST_FEATURES, is_integer, require, require_budget, require_one_of
from .data import SCALES, Pairs, nothing, require_rounds, require_sigma, slices
from .weighing import WeighingLearner

TYPICAL_ROUNDS = 10  # of I-RELIEF
AUTO = 0.5  # standard deviations of the distances: I-RELIEF's sigma="auto"


@dataclass(eq=False, repr=False, kw_only=True)
class ReliefFLearner(WeighingLearner):
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

    method: ClassVar[str] = "relieff"

    n_features_to_select: int | None = field(default=None, kw_only=False)
    n_neighbors: int = 10
    scale: str = "minmax"

    def check_parameters(self) -> None:
        wanted = self.n_neighbors
        fits = is_integer(wanted) and 1 <= wanted < MOST_FEATURES
        require(fits, "n_neighbors", wanted, f"an integer of 1 or more, below {MOST_FEATURES:,}")
        require_budget(self.n_features_to_select)
        require_one_of("scale", self.scale, SCALES)

    @property
    def _passes(self) -> float:
        return 4.0  # the sums over pairs cost three times the distances

    def _solve(self, pairs: Pairs, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        n_features = pairs.varying.size
        total, done = 2 * len(slices(n_features)), count(1)

        def report() -> None:
            self.report("blocks", next(done), total)

        distances = pairs.distances(pairs.varying, np.ones(n_features), report)
        fractions = np.bincount(codes) / codes.size
        forth, back = pairs.pair_matrix(), pairs.pair_matrix()
        wanted = min(int(self.n_neighbors), pairs.n_rows)

        def mark(first: int, last: int, part: int) -> None:
            mark_nearest(distances, codes, fractions, wanted, first, last, forth, back)

        pairs.in_parts(pairs.n_rows, mark)
        fold_pairs(forth, back, np.ones(pairs.n_rows))
        return sums_over_pairs(pairs, forth, report) / pairs.n_rows


@dataclass(eq=False, repr=False, kw_only=True)
class IReliefLearner(WeighingLearner):
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

    method: ClassVar[str] = "irelief"
    fitted: ClassVar[tuple[str, ...]] = ("n_iter_",)

    n_features_to_select: int | None = field(default=None, kw_only=False)
    sigma: float | str = 2
    tol: float = 0.01
    max_iter: int = 50
    scale: str = "minmax"

    def check_parameters(self) -> None:
        require_sigma(self.sigma)
        require_rounds(self.tol, self.max_iter)
        require_budget(self.n_features_to_select)
        require_one_of("scale", self.scale, SCALES)

    @property
    def _passes(self) -> float:
        return 4.0 * min(TYPICAL_ROUNDS, self.max_iter)

    def _solve(self, pairs: Pairs, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        n_features = pairs.varying.size
        weights = np.full(n_features, 1.0 / np.sqrt(max(1, n_features)))
        change, self.n_iter_ = np.inf, 0
        while n_features and change > self.tol and self.n_iter_ < self.max_iter:
            gain = np.maximum(0.0, self._margins(pairs, codes, weights))
            length = float(np.linalg.norm(gain))
            now = gain / length if length else gain
            change, weights = float(np.linalg.norm(now - weights)), now
            self.n_iter_ += 1
            self.report("rounds", self.n_iter_, None)
        if change > self.tol and n_features:
            warnings.warn(f"the weights still change after max_iter={self.max_iter} rounds", stacklevel=2)
        return weights

    def _margins(self, pairs: Pairs, codes: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The expected margin of every feature, summed over rows."""
        live = np.flatnonzero(weights)
        distances = pairs.distances(pairs.varying[live], weights[live])
        width = AUTO * spread_of(distances, pairs.n_rows) if self.sigma == "auto" else float(self.sigma)
        width = max(width, float(np.finfo(np.float64).tiny))
        forth, back = pairs.pair_matrix(), pairs.pair_matrix()
        inliers = np.empty(pairs.n_rows)

        def weigh(first: int, last: int, part: int) -> None:
            weigh_neighbours(distances, codes, width, first, last, forth, back)
            weigh_inliers(distances, codes, width, first, last, inliers)

        pairs.in_parts(pairs.n_rows, weigh)
        fold_pairs(forth, back, inliers)
        return sums_over_pairs(pairs, forth)


def sums_over_pairs(
    pairs: Pairs, folded: NDArray[np.float32], after_slice: Callable[[], None] = nothing
) -> NDArray[np.float64]:
    """For every feature that varies, the weighted sum of its differences over all pairs of rows."""
    sums = np.empty(pairs.varying.size)

    def add(target: NDArray[np.float64], first: int, block: NDArray[np.float32], size: int) -> None:
        sum_over_pairs(block, folded, size, target[first : first + size])

    for part in slices(sums.size):
        pairs.over_blocks(pairs.varying[part], partial(add, sums[part]))
        after_slice()
    return sums
