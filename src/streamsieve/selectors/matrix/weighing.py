"""Methods that weigh features by pairs of rows: what they share; ReliefF and I-RELIEF, relatives of local learning."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import prefix, spell
from ...kernels.arrays import array
from ...kernels.matrix.local_learning import weigh_neighbours
from ...kernels.matrix.pairs import spread_of
from ...kernels.matrix.relief import fold_pairs, mark_nearest, sum_over_pairs, weigh_inliers
from ...kernels.types import F64, I32, I64
from ...machine import size_text
from ...parallel import Threads
from ...selection import Selection
from ...sources.base import Report
from ...targets import Target
from ..base import Method
from ..parameters import (
    BUDGET,
    BUDGET_OR_NONE,
    checked,
    fits,
    is_integer,
    is_number,
    one_of,
    parameter,
)
from .data import SCALES, Cost, Matrix, Pairs, nothing, slices
from .learner import MatrixLearner, MatrixRule, Solution

SMALL = 2e10  # pairs of rows times features: less work takes seconds, and is not worth a forecast
SAMPLE = 64  # features to take the time of
LONG = 60.0  # seconds: what takes less is not announced
TYPICAL_ROUNDS = 10  # of I-RELIEF
AUTO = 0.5  # standard deviations of the distances: I-RELIEF's sigma="auto"

notes = logging.getLogger("streamsieve")

# What parameters may be.
SIGMA = fits(
    lambda value: (isinstance(value, str) and value == "auto") or (is_number(value) and value > 0),
    "a number above 0, or 'auto'",
)
TOLERANCE = fits(lambda value: is_number(value) and value >= 0, "a number of 0 or more")
ROUNDS = fits(lambda value: is_integer(value) and value >= 1, "an integer of 1 or more")
SCALE = one_of(*SCALES)


class FeatureWeights(NamedTuple):
    """The weights that are not 0."""

    ids: I64 = array("heavy", low=0, below="features")
    weights: F64 = array("heavy")


class WeighingRule(MatrixRule[FeatureWeights]):
    """Gives every feature a weight, by how rows differ in it from rows of their class and of others.

    An author writes ``solve`` and ``passes``. The features of weight above 0 are selected, or the
    ``n_features_to_select`` heaviest of them. Only weights that are not 0 are remembered.
    """

    state_type: ClassVar[type[Any]] = FeatureWeights
    cost: ClassVar[Cost] = Cost()

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        """Return the weight of every feature that varies, in the order of ``pairs.varying``, and what to report.

        ``codes`` are the classes of rows.
        """
        raise NotImplementedError

    def passes(self) -> float:
        """Return about how much work there is, in times of that for the distances between all rows in all features."""
        raise NotImplementedError

    def learn(self, matrix: Matrix, target: Target, report: Report) -> Solution[FeatureWeights]:
        with Threads() as threads:
            pairs = Pairs(matrix, threads, self.params.scale, self.cost)
            announce(pairs, self.method.name, self.passes())
            weights, fitted = self.solve(pairs, target.codes, report)
        present = np.flatnonzero(weights)
        state = FeatureWeights(matrix.ids[pairs.varying[present]], weights[present])
        return Solution(state, pairs.n_nonzero, fitted)

    def weights(self, state: FeatureWeights) -> tuple[I64, F64]:
        return state.ids, state.weights

    def selected(self, state: FeatureWeights) -> tuple[I64, F64]:
        ids, weights = state
        heavy, wanted = weights > 0, self.params.n_features_to_select
        selection = Selection(ids[heavy], weights[heavy])
        if wanted is not None:
            selection = selection.top(int(wanted))
        return selection.indices, selection.scores


# ---- what the work is going to take, said before it begins


def announce(pairs: Pairs, method: str, passes: float) -> None:
    """Say what time and memory the work takes, if that is much; ``passes`` is how often all distances are worth it."""
    seconds = forecast(pairs, passes)
    if seconds > LONG:
        notes.warning(
            "%s%s on %s rows and %s features takes about %s and %s of memory",
            prefix(pairs.matrix.origin),
            method,
            f"{pairs.n_rows:,}",
            f"{pairs.varying.size:,}",
            duration(seconds),
            size_text(pairs.n_bytes),
        )


def forecast(pairs: Pairs, passes: float) -> float:
    """Seconds that the work takes, from those that a few features take; 0 for small work."""
    if pairs.n_rows**2 * pairs.varying.size < SMALL:
        return 0.0
    seconds_of(pairs, SAMPLE)  # or compiling would count
    few, more = seconds_of(pairs, SAMPLE), seconds_of(pairs, 3 * SAMPLE)
    per_feature = max(more - few, 0.1 * few) / (
        2 * SAMPLE
    )  # without what any number of features takes
    return passes * per_feature * pairs.varying.size


def seconds_of(pairs: Pairs, n_features: int) -> float:
    """How long the distances in a few features take."""
    features = pairs.varying[:n_features]
    began = time.perf_counter()
    pairs.distances(features, np.ones(features.size))
    return time.perf_counter() - began


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 5400:
        return f"{max(1, round(seconds / 60))} min"
    return f"{seconds / 3600:.1f} h"


# ---- ReliefF and I-RELIEF


@dataclass(eq=False, repr=False, kw_only=True)
class ReliefFParameters:
    """ReliefF (Kononenko 1994; Robnik-Sikonja, Kononenko 2003): features that differ more to misses than to hits.

    The neighbours of a row are the nearest ones in all features, so that many irrelevant features
    hide the relevant ones. Every row is asked. Features are numbers: a difference is that of the
    values on the scale.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None selects all features of weight above 0; a number the heaviest of them.
    n_neighbors : int, default=10
        Nearest hits, and nearest misses of every other class, of a row.
    scale : {"minmax", "standard", "none"}, default="minmax"
        As in LocalLearning.
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
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

    The weights are those of largest expected margin on the unit sphere, w = (v)+ / ||(v)+||; rows
    among misses count less. They are not sparse: an irrelevant feature keeps what chance gives it.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None selects all features of weight above 0; a number the heaviest of them.
    sigma : float or "auto", default=2
        Width of the kernel exp(-distance / sigma); "auto" is half the standard deviation of the
        distances between rows, anew in every round.
    tol : float, default=0.01
        A round that changes the weights by no more than this is the last.
    max_iter : int, default=50
        The most rounds.
    scale : {"minmax", "standard", "none"}, default="minmax"
        As in LocalLearning.
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
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
            warnings.warn(
                f"the weights still change after {spell('max_iter', params.max_iter)} rounds",
                stacklevel=2,
            )
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


def sums_over_pairs(
    pairs: Pairs, folded: NDArray[np.float32], after_slice: Callable[[], None] = nothing
) -> F64:
    """For every feature that varies, the weighted sum of its differences over all pairs of rows."""
    sums = np.empty(pairs.varying.size)

    def add(target: F64, first: int, block: NDArray[np.float32], size: int) -> None:
        sum_over_pairs(block, folded, size, target[first : first + size])

    for part in slices(sums.size):
        pairs.over_blocks(pairs.varying[part], partial(add, sums[part]))
        after_slice()
    return sums
