"""Methods that weigh features by pairs of rows: what they share, and what their parameters may be."""

from __future__ import annotations

import logging
import time
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...errors import prefix
from ...kernels.arrays import array
from ...kernels.types import F64, I32, I64
from ...machine import size_text
from ...selection import Selection
from ...sources.base import Report
from ...targets import Target
from ..parameters import fits, is_integer, is_number, one_of
from .data import SCALES, Cost, Matrix, Pairs
from .learner import MatrixRule, Solution, check_order

SMALL = 2e10  # pairs of rows times features: less work takes seconds, and is not worth a forecast
SAMPLE = 64  # features to take the time of
LONG = 60.0  # seconds: what takes less is not announced

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
        with Pairs(matrix, self.params.scale, self.cost) as pairs:
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

    def check(self, state: FeatureWeights) -> None:
        check_order(state.ids)


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
    per_feature = max(more - few, 0.1 * few) / (2 * SAMPLE)  # without what any number of features takes
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
