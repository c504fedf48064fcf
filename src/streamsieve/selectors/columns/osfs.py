"""OSFS and Fast-OSFS: online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013), rivals of SAOLA in P3."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, ndtri

from ...blocks import ColumnBlock
from ...errors import DataError
from ...kernels.dependence import correlate_with_target
from ...kernels.independence import (
    IRRELEVANT,
    KEPT,
    MOST_CELLS,
    IndependenceState,
    Tests,
    offer_to_blanket,
    test_by_counts,
)
from ..base import is_number, is_whole, require
from .base import ColumnLearner, in_parts, pieces, with_more_slots
from .coding import are_discrete, coded
from .targets import Target, least_correlation

MEASURES = ("auto", "fisher_z", "g2")
MOST_FREEDOM = 1 << 12  # degrees: a test with more is judged as one with that many
FIRST_SLOTS = 16
PER_SLOT = ("ids", "relevance", "columns", "codes", "n_levels")
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20


class OSFSLearner(ColumnLearner):
    """Online streaming feature selection: relevance, then redundancy given sets of kept features.

    A feature that a test finds independent of the target is dropped. The others join; then every kept feature that is
    independent of the target given some of the others, ``max_condition`` at most, is dropped.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2"}, default="auto"
        The test: partial correlation with Fisher's Z, where labels count as numbers, or G2, from counts. "auto" takes
        G2 where all features of a test are discrete, whole numbers with at most 32 different values, and the target has
        classes.
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on; time grows with the number of kept features to that power.
    """

    method: ClassVar[str] = "osfs"
    fast: ClassVar[bool] = False
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"measure": "fisher_z"},
        {"measure": "g2", "max_condition": 2, "alpha": 0.1},
    )

    def __init__(self, *, measure: str = "auto", alpha: float = 0.01, max_condition: int = 3) -> None:
        self.measure = measure
        self.alpha = alpha
        self.max_condition = max_condition

    def check_parameters(self) -> None:
        require(self.measure in MEASURES, "measure", self.measure, " or ".join(map(repr, MEASURES)))
        require(is_number(self.alpha) and 0 < self.alpha < 1, "alpha", self.alpha, "a number between 0 and 1")
        fits = is_whole(self.max_condition) and 1 <= self.max_condition <= 10
        require(fits, "max_condition", self.max_condition, "a whole number from 1 to 10")

    def _start(self, target: Target) -> IndependenceState:
        if self.measure == "g2" and not target.codes.size:
            raise DataError("measure='g2' needs classes, and this target is a regression's; use 'fisher_z'")
        n_rows = target.weights.size
        return IndependenceState(
            order=np.arange(FIRST_SLOTS, dtype=np.int32),
            ids=np.zeros(FIRST_SLOTS, np.int64),
            relevance=np.zeros(FIRST_SLOTS),
            columns=np.zeros((FIRST_SLOTS, n_rows)),
            correlations=np.zeros((FIRST_SLOTS, FIRST_SLOTS)),
            codes=np.zeros((FIRST_SLOTS, 0 if self.measure == "fisher_z" else n_rows), np.int32),
            n_levels=np.zeros(FIRST_SLOTS, np.int64),
            counts=np.zeros(4, np.int64),
        )

    def _tests(self, most_levels: int) -> Tests:
        """What the tests need, for columns of no more levels than that."""
        target = self._target
        n_classes = target.class_counts.size
        cells = min(MOST_CELLS, max(1, n_classes) * most_levels ** (self.max_condition + 1))
        critical = float(-ndtri(self.alpha / 2.0))
        return Tests(critical, limits_of_counts(self.alpha), target.codes, n_classes, np.empty(cells))

    def _offer(self, state: IndependenceState, block: ColumnBlock) -> IndependenceState:
        for piece in pieces(block, PIECE_COLUMNS, PIECE_NONZEROS):
            state = self._offer_piece(state, piece)
        return state

    def _offer_piece(self, state: IndependenceState, block: ColumnBlock) -> IndependenceState:
        target, columns = self._target, (block.indptr, block.indices, block.values)
        relevance, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.weights, target.numbers
        in_parts(block, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms))
        related = np.abs(relevance) >= least_correlation(self.alpha, self.n_rows_)
        codes, n_levels = np.zeros(0, np.int32), np.zeros(block.n_columns, np.int64)
        counting = self.measure != "fisher_z" and target.codes.size > 0
        if counting:
            discrete = are_discrete(block) if self.measure == "auto" else np.ones(block.n_columns, bool)
            codes, n_levels = coded(block, target, None, discrete)
            n_levels[~discrete] = 0
        tests = self._tests(int(max(1, n_levels.max(), state.n_levels.max())))
        if counting:
            columns_coded = block.indptr, block.indices, codes, n_levels
            in_parts(block, lambda a, b: test_by_counts(state, tests, *columns_coded, self.n_rows_, a, b, related))
        candidates = np.flatnonzero(related & (norms > 0))
        state.counts[IRRELEVANT] += block.n_columns - candidates.size
        done = 0
        while done < candidates.size:
            if state.counts[KEPT] == state.order.size:
                wider = np.pad(state.correlations, (0, state.order.size))
                state = with_more_slots(state, *PER_SLOT)._replace(correlations=wider)
            done = offer_to_blanket(
                state,
                tests,
                self.fast,
                self.max_condition,
                *columns,
                block.ids,
                codes,
                n_levels,
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
    measure, alpha, max_condition
        As in OSFS.
    """

    method: ClassVar[str] = "fast-osfs"
    fast: ClassVar[bool] = True


@lru_cache(maxsize=8)
def limits_of_counts(alpha: float) -> NDArray[np.float64]:
    """What G2 must reach at level ``alpha``, by degrees of freedom: quantiles of chi squared."""
    return np.asarray(2.0 * gammainccinv(np.maximum(np.arange(MOST_FREEDOM), 1) / 2.0, alpha), np.float64)
