"""Base of methods that weigh features by pairs of rows; ReliefF and I-RELIEF."""

from __future__ import annotations

import logging
import time
import warnings
from abc import abstractmethod
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
from ...kernels.matrix.pairs import distance_deviation
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
    NOT_NEGATIVE,
    checked,
    fits,
    is_integer,
    is_number,
    one_of,
    parameter,
)
from .data import SCALES, Cost, Matrix, Pairs, do_nothing, slices
from .learner import MatrixLearner, MatrixRule, Solution

MIN_FORECAST_WORK = 2e10  # pairs of rows times features: less takes seconds and needs no forecast
SAMPLE_FEATURES = 64  # that are timed
LONG_SECONDS = 60.0  # shorter work is not announced
TYPICAL_ROUNDS = 10  # of I-RELIEF
AUTO_WIDTH = 0.5  # standard deviations of the distances: sigma="auto" of I-RELIEF

logger = logging.getLogger("streamsieve")

# Checks of parameters.
SIGMA = fits(
    lambda value: (isinstance(value, str) and value == "auto") or (is_number(value) and value > 0),
    "a number above 0, or 'auto'",
)
ROUNDS = fits(lambda value: is_integer(value) and value >= 1, "an integer of 1 or more")
SCALE = one_of(*SCALES)


class FeatureWeights(NamedTuple):
    """The non-zero weights."""

    ids: I64 = array("heavy", low=0, below="features")
    weights: F64 = array("heavy")


class WeighingRule(MatrixRule[FeatureWeights]):
    """A rule that weighs features by differences between rows of the same and of other classes.

    An author writes ``solve`` and ``passes``. The features with a weight above 0 are selected, at
    most ``n_features_to_select`` of them, those with the largest weights. Only non-zero weights are
    stored.
    """

    state_type: ClassVar[type[Any]] = FeatureWeights
    cost: ClassVar[Cost] = Cost()

    @abstractmethod
    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        """Return weights in the order of ``pairs.varying``, and values to report.

        ``codes`` are the classes of rows.
        """

    @abstractmethod
    def passes(self) -> float:
        """Return the approximate work, in units of the distances of all rows in all features."""

    def learn(self, matrix: Matrix, target: Target, report: Report) -> Solution[FeatureWeights]:
        with Threads() as threads:
            pairs = Pairs(matrix, threads, self.params.scale, self.cost)
            announce(pairs, self.method.name, self.passes())
            weights, fitted = self.solve(pairs, target.codes, report)
        nonzero = np.flatnonzero(weights)
        state = FeatureWeights(matrix.ids[pairs.varying[nonzero]], weights[nonzero])
        return Solution(state, pairs.n_nonzero, fitted)

    def weights(self, state: FeatureWeights) -> tuple[I64, F64]:
        return state.ids, state.weights

    def selected(self, state: FeatureWeights) -> tuple[I64, F64]:
        ids, weights = state
        is_positive, wanted = weights > 0, self.params.n_features_to_select
        selection = Selection(ids[is_positive], weights[is_positive])
        if wanted is not None:
            selection = selection.top(int(wanted))
        return selection.indices, selection.scores


# ---- forecast of time and memory


def announce(pairs: Pairs, method: str, passes: float) -> None:
    """Log the time and memory of long work; ``passes`` is the work in units of all distances."""
    seconds = forecast(pairs, passes)
    if seconds > LONG_SECONDS:
        logger.warning(
            "%s%s on %s rows and %s features takes about %s and %s of memory",
            prefix(pairs.matrix.origin),
            method,
            f"{pairs.n_rows:,}",
            f"{pairs.varying.size:,}",
            format_duration(seconds),
            size_text(pairs.n_bytes),
        )


def forecast(pairs: Pairs, passes: float) -> float:
    """Return the expected seconds of the work, from timing a few features; 0 if it is small."""
    if pairs.n_rows**2 * pairs.varying.size < MIN_FORECAST_WORK:
        return 0.0
    time_distances(pairs, SAMPLE_FEATURES)  # compiles, which must not count
    seconds_few, seconds_many = (
        time_distances(pairs, SAMPLE_FEATURES),
        time_distances(pairs, 3 * SAMPLE_FEATURES),
    )
    # Without the time that does not depend on the number of features.
    per_feature = max(seconds_many - seconds_few, 0.1 * seconds_few) / (2 * SAMPLE_FEATURES)
    return passes * per_feature * pairs.varying.size


def time_distances(pairs: Pairs, n_features: int) -> float:
    """Return the seconds that the distances in the first features take."""
    features = pairs.varying[:n_features]
    start = time.perf_counter()
    pairs.distances(features, np.ones(features.size))
    return time.perf_counter() - start


def format_duration(seconds: float) -> str:
    """Return a time as text, in minutes or hours."""
    return f"{max(1, round(seconds / 60))} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# ---- ReliefF and I-RELIEF


@dataclass(eq=False, repr=False, kw_only=True)
class ReliefFParameters:
    """ReliefF (Kononenko 1994; Robnik-Sikonja, Kononenko 2003): weights from nearest neighbours.

    The weight of a feature is large if rows differ in it more from their nearest misses than from
    their nearest hits. Neighbours are the nearest rows in all features, so many irrelevant features
    hide the relevant ones. All rows are used. Features are numeric: a difference is that of the
    scaled values.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, those with the largest weights. None selects all features with
        a weight above 0.
    n_neighbors : int, default=10
        Number of nearest hits, and of nearest misses in every other class, per row.
    scale : {"minmax", "standard", "none"}, default="minmax"
        As in LocalLearning.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    feature_weights_ : ndarray
        The weights of all features.

    References
    ----------
    I. Kononenko: Estimating attributes: analysis and extensions of RELIEF. ECML 1994.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.ReliefF(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    n_neighbors: int = parameter(10, BUDGET)
    scale: str = parameter("minmax", SCALE)


class ReliefFRule(WeighingRule):
    """Weigh features by nearest hits and nearest misses in all features."""

    def passes(self) -> float:
        return 4.0  # the sums over pairs cost three times the distances

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        n_features = pairs.varying.size
        n_slices, slice_numbers = 2 * len(slices(n_features)), count(1)

        def report_slice() -> None:
            report("blocks", next(slice_numbers), n_slices)

        distances = pairs.distances(pairs.varying, np.ones(n_features), report_slice)
        fractions = np.bincount(codes) / codes.size
        forth, back = pairs.make_pair_matrix(), pairs.make_pair_matrix()
        wanted = min(int(self.params.n_neighbors), pairs.n_rows)
        pairs.run_in_parts(
            pairs.n_rows,
            lambda first, last, part: mark_nearest(
                distances, codes, fractions, wanted, first, last, forth, back
            ),
        )
        fold_pairs(forth, back, np.ones(pairs.n_rows))
        return sum_over_all_pairs(pairs, forth, report_slice) / pairs.n_rows, {}


RELIEFF = Method("relieff", ReliefFParameters, MatrixLearner, rule=ReliefFRule)


@dataclass(eq=False, repr=False, kw_only=True)
class IReliefParameters:
    """Iterative RELIEF (Sun 2007): ReliefF with soft neighbours under the current weights.

    The weights are those with the largest expected margin on the unit sphere, w = (v)+ / ||(v)+||;
    rows among misses count less. They are not sparse: an irrelevant feature has a small weight by
    chance.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, those with the largest weights. None selects all features with
        a weight above 0.
    sigma : float or "auto", default=2
        Width of the kernel exp(-distance / sigma); "auto" is half the standard deviation of the
        distances between rows, computed again in every round.
    tol : float, default=0.01
        Tolerance of convergence: the rounds end when the weights change by no more than this.
    max_iter : int, default=50
        Maximum number of rounds.
    scale : {"minmax", "standard", "none"}, default="minmax"
        As in LocalLearning.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    feature_weights_ : ndarray
        The weights of all features.
    n_iter_ : int
        The number of rounds.

    References
    ----------
    Y. Sun: Iterative RELIEF for feature weighting: algorithms, theories, and applications. IEEE
    Transactions on Pattern Analysis and Machine Intelligence 29(6), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.IRelief(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    sigma: float | str = parameter(2, SIGMA)
    tol: float = parameter(0.01, NOT_NEGATIVE)
    max_iter: int = parameter(50, ROUNDS)
    scale: str = parameter("minmax", SCALE)


class IReliefRule(WeighingRule):
    """Weigh features by soft neighbours under the current weights, in rounds."""

    def passes(self) -> float:
        return 4.0 * min(TYPICAL_ROUNDS, int(self.params.max_iter))

    def solve(self, pairs: Pairs, codes: I32, report: Report) -> tuple[F64, dict[str, Any]]:
        n_features, params = pairs.varying.size, self.params
        weights = np.full(n_features, 1.0 / np.sqrt(max(1, n_features)))
        change, rounds = np.inf, 0
        while n_features and change > params.tol and rounds < params.max_iter:
            margins = np.maximum(0.0, self.margins(pairs, codes, weights))
            norm = float(np.linalg.norm(margins))
            new_weights = margins / norm if norm else margins
            change, weights = float(np.linalg.norm(new_weights - weights)), new_weights
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
        nonzero, sigma = np.flatnonzero(weights), self.params.sigma
        distances = pairs.distances(pairs.varying[nonzero], weights[nonzero])
        width = (
            AUTO_WIDTH * distance_deviation(distances, pairs.n_rows)
            if sigma == "auto"
            else float(sigma)
        )
        width = max(width, float(np.finfo(np.float64).tiny))
        forth, back = pairs.make_pair_matrix(), pairs.make_pair_matrix()
        inliers = np.empty(pairs.n_rows)

        def weigh(first: int, last: int, part: int) -> None:
            weigh_neighbours(distances, codes, width, first, last, forth, back)
            weigh_inliers(distances, codes, width, first, last, inliers)

        pairs.run_in_parts(pairs.n_rows, weigh)
        fold_pairs(forth, back, inliers)
        return sum_over_all_pairs(pairs, forth)


IRELIEF = Method("irelief", IReliefParameters, MatrixLearner, rule=IReliefRule)


def sum_over_all_pairs(
    pairs: Pairs, folded: NDArray[np.float32], after_slice: Callable[[], None] = do_nothing
) -> F64:
    """Return the weighted sum of differences over all pairs of rows, for varying features."""
    sums = np.empty(pairs.varying.size)

    def add(target: F64, first: int, block: NDArray[np.float32], size: int) -> None:
        sum_over_pairs(block, folded, size, target[first : first + size])

    for part in slices(sums.size):
        pairs.run_over_blocks(pairs.varying[part], partial(add, sums[part]))
        after_slice()
    return sums
