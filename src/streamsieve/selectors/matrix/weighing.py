"""The base of algorithms that weigh features by pairs of rows."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.arrays import array
from ...kernels.types import F64, I64
from ...selection import Selection
from ...targets import Target
from .base import MatrixLearner, check_order
from .data import Cost, Matrix, Pairs
from .forecast import announce


class FeatureWeights(NamedTuple):
    """The weights that are not 0."""

    ids: I64 = array("heavy", low=0, below="features")
    weights: F64 = array("heavy")


class WeighingLearner(MatrixLearner[FeatureWeights]):
    """Gives every feature a weight, by how rows differ in it from rows of their class and of others.

    An author writes ``_solve``. The features of weight above 0 are selected, or the ``n_features_to_select`` heaviest
    of them. Only weights that are not 0 are remembered.
    """

    state_type: ClassVar[type[Any]] = FeatureWeights
    cost: ClassVar[Cost] = Cost()
    n_features_to_select: int | None
    scale: str

    # ---- what an author writes

    def _solve(self, pairs: Pairs, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """The weight of every feature that varies, in the order of ``pairs.varying``; ``codes`` are rows' classes."""
        raise NotImplementedError

    @property
    def _passes(self) -> float:
        """About how much work there is, in times of that for the distances between all rows in all features."""
        raise NotImplementedError

    # ---- learning

    def _learn(self, matrix: Matrix, target: Target) -> tuple[FeatureWeights, int]:
        with Pairs(matrix, self.scale, self.cost) as pairs:
            announce(pairs, self.method, self._passes)
            weights = self._solve(pairs, target.codes)
        present = np.flatnonzero(weights)
        return FeatureWeights(matrix.ids[pairs.varying[present]], weights[present]), pairs.n_nonzero

    # ---- what was learned

    @property
    def feature_weights_(self) -> NDArray[np.float64]:
        """The weight of every feature, most of them 0."""
        weights = np.zeros(self.n_features_in_)
        weights[self.memory.state.ids] = self.memory.state.weights
        return weights

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        ids, weights = self.memory.state
        heavy = weights > 0
        found = Selection(ids[heavy], weights[heavy])
        if self.n_features_to_select is not None:
            found = found.top(int(self.n_features_to_select))
        return found.indices, found.scores

    def _evidence(self, selection: Selection) -> NDArray[np.float64]:
        return selection.scores[:, None]

    # ---- saving

    def _check_state(self, state: FeatureWeights) -> None:
        check_order(state.ids)
