"""SOFS: second-order online feature selection (P1: Wu, Hoi, Mei, Yu 2017)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.arow import KEPT, MISTAKES, UPDATES, ConfidenceState, confidence_update
from ..base import is_number, require
from .base import RowLearner

CRITERIA = ("confidence",)


class SOFSLearner(RowLearner):
    """Second-order online feature selection for rows of two classes (P1 section 3.3, algorithms 4 and 6).

    A linear classifier with a confidence for every weight (diagonal AROW). The ``n_features_to_select`` features with
    the most confident weights, those of largest precision ``1/S_jj``, carry the classifier; all others weigh nothing.
    One pass, O(non-zeros) time per row, four bytes per feature seen.

    Parameters
    ----------
    n_features_to_select : int or float, default=100
        The budget: how many features to keep. A float is a share of the width, where that is known beforehand.
    gamma : float, default=1.0
        AROW's regularisation (the paper's gamma): larger learns more slowly.
    criterion : {"confidence"}, default="confidence"
        The selection rule; "confidence" is the paper's.
    normalize : {False, "l2"}, default=False
        "l2" divides every row by its Euclidean norm before it is learned or predicted; good for text.
    n_epochs : int, default=1
        How often to go over the rows.

    Attributes
    ----------
    classes_ : array of shape (2,)
    n_features_in_ : int
        The width of the widest row seen.
    mistakes_, updates_ : int
        Rows predicted wrongly before they were learned (a score of 0 counts as wrong); rows learned from.
    n_rows_, n_nonzero_ : int
        Rows and non-zeros seen.
    """

    method: ClassVar[str] = "sofs"
    per_feature: ClassVar[tuple[str, ...]] = ("cells",)
    feature_positions: ClassVar[tuple[str, ...]] = ("member",)

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        gamma: float = 1.0,
        criterion: str = "confidence",
        normalize: bool | str = False,
        n_epochs: int = 1,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.gamma = gamma
        self.criterion = criterion
        self.normalize = normalize
        self.n_epochs = n_epochs

    def check_parameters(self) -> None:
        super().check_parameters()
        require(is_number(self.gamma) and self.gamma > 0, "gamma", self.gamma, "a number above 0")
        require(self.criterion in CRITERIA, "criterion", self.criterion, " or ".join(map(repr, CRITERIA)))

    def _start(self, budget: int) -> ConfidenceState:
        return ConfidenceState(
            cells=np.zeros(0, np.int32),
            member=np.zeros(budget, np.int64),
            member_id=np.zeros(budget, np.int64),
            weight=np.zeros(budget),
            excess=np.zeros(budget, np.float32),
            heap_key=np.zeros(budget, np.float32),
            heap_slot=np.zeros(budget, np.int32),
            counts=np.zeros(3, np.int64),
        )

    def _update(self, state: Any, ids: NDArray[np.int64], block: RowBlock, signs: NDArray[np.int8]) -> None:
        confidence_update(state, ids, block.indptr, block.indices, block.values, signs, float(self.gamma))

    def _negate(self, state: Any) -> None:
        np.negative(state.weight, out=state.weight)

    def _kept(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        kept = state.counts[KEPT]
        return state.member_id[:kept], state.weight[:kept], 1.0 + state.excess[:kept].astype(np.float64)

    @property
    def mistakes_(self) -> int:
        return int(self._state.counts[MISTAKES])

    @property
    def updates_(self) -> int:
        return int(self._state.counts[UPDATES])
