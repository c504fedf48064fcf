"""OSFS and Fast-OSFS: online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013), rivals of SAOLA in P3."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...blocks import ColumnBlock
from ...kernels.dependence import correlate_with_target
from ...kernels.independence import IRRELEVANT, KEPT, IndependenceState, offer_to_blanket
from ..base import is_number, is_whole, require
from .base import ColumnLearner, in_parts, pieces
from .targets import Target, least_correlation

FIRST_SLOTS = 16
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20


class OSFSLearner(ColumnLearner):
    """Online streaming feature selection: relevance, then redundancy given sets of kept features.

    A feature that Fisher's Z test finds independent of the target is dropped. The others join; then every kept feature
    that is independent of the target given some of the others, ``max_condition`` at most, is dropped. Labels count as
    numbers.

    Parameters
    ----------
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on; time grows with the number of kept features to that power.
    """

    method: ClassVar[str] = "osfs"
    fast: ClassVar[bool] = False

    def __init__(self, *, alpha: float = 0.01, max_condition: int = 3) -> None:
        self.alpha = alpha
        self.max_condition = max_condition

    def check_parameters(self) -> None:
        require(is_number(self.alpha) and 0 < self.alpha < 1, "alpha", self.alpha, "a number between 0 and 1")
        fits = is_whole(self.max_condition) and 1 <= self.max_condition <= 10
        require(fits, "max_condition", self.max_condition, "a whole number from 1 to 10")

    def _start(self, target: Target) -> IndependenceState:
        return IndependenceState(
            order=np.arange(FIRST_SLOTS, dtype=np.int32),
            ids=np.zeros(FIRST_SLOTS, np.int64),
            relevance=np.zeros(FIRST_SLOTS),
            columns=np.zeros((FIRST_SLOTS, target.weights.size)),
            correlations=np.zeros((FIRST_SLOTS, FIRST_SLOTS)),
            counts=np.zeros(4, np.int64),
        )

    def _offer(self, state: IndependenceState, block: ColumnBlock) -> IndependenceState:
        critical = float(ndtri(1.0 - self.alpha / 2.0))
        target = self._target
        for piece in pieces(block, PIECE_COLUMNS, PIECE_NONZEROS):
            columns = piece.indptr, piece.indices, piece.values
            relevance, norms = np.zeros(piece.n_columns), np.zeros(piece.n_columns)
            known = target.weights, target.numbers
            in_parts(piece, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms))  # noqa: B023
            candidates = np.flatnonzero(
                (np.abs(relevance) >= least_correlation(self.alpha, self.n_rows_)) & (norms > 0)
            )
            state.counts[IRRELEVANT] += piece.n_columns - candidates.size
            done = 0
            while done < candidates.size:
                if state.counts[KEPT] == state.order.size:
                    state = with_more_slots(state)
                done = offer_to_blanket(
                    state,
                    self.fast,
                    self.max_condition,
                    critical,
                    *columns,
                    piece.ids,
                    relevance,
                    norms,
                    target.weights,
                    candidates,
                    done,
                )
        return state

    def _kept(self, state: IndependenceState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        slots = state.order[: state.counts[KEPT]]
        return state.ids[slots], np.abs(state.relevance[slots])

    @property
    def counts_(self) -> dict[str, int]:
        """What became of the features: kept, irrelevant, redundant at arrival, replaced later."""
        kept, irrelevant, redundant, replaced = self._state.counts.tolist()
        return {"kept": kept, "irrelevant": irrelevant, "redundant": redundant, "replaced": replaced}


class FastOSFSLearner(OSFSLearner):
    """OSFS that asks a newcomer first whether it is redundant, and the others only with sets that it is in.

    Parameters
    ----------
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on.
    """

    method: ClassVar[str] = "fast-osfs"
    fast: ClassVar[bool] = True


def with_more_slots(state: IndependenceState) -> IndependenceState:
    """The same state with twice the slots."""
    slots = state.order.size
    grown: dict[str, Any] = {
        name: np.concatenate([array, np.zeros_like(array)])
        for name, array in state._asdict().items()
        if name in ("ids", "relevance", "columns")
    }
    order = np.concatenate([state.order, np.arange(slots, 2 * slots, dtype=np.int32)])
    correlations = np.pad(state.correlations, (0, slots))
    return IndependenceState(order=order, correlations=correlations, counts=state.counts, **grown)
