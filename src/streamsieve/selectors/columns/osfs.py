"""OSFS and Fast-OSFS: online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013), rivals of SAOLA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.columns.copies import NO_COPY
from ...kernels.columns.dependence import correlate_with_target
from ...kernels.columns.independence import Tests
from ...kernels.columns.osfs import (
    IRRELEVANT,
    KEPT,
    MOST_CELLS,
    TARGET,
    IndependenceState,
    NewColumns,
    relate_by_counts,
    update_blanket,
)
from ...state import empty
from ...targets import BOTH, Kind, Target
from ..requirements import require_one_of
from .centring import centred
from .copies import DUPLICATES, CopyDropper
from .independence import coded_for, levels_of_target, prepared_tests, require_condition, require_test
from .parts import in_parts, pieces, with_more_slots
from .saving import check_codes, check_slots
from .statistics import advice_on_level, least_correlation

FIRST_SLOTS = 16
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20


@dataclass(eq=False, repr=False, kw_only=True)
class OSFSLearner(CopyDropper[IndependenceState]):
    """Online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013): relevance, then redundancy given others.

    A feature that a test finds independent of the target is dropped. The others join; then every kept feature that is
    independent of the target given some of the others, ``max_condition`` at most, is dropped.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        The test: partial correlation with Fisher's Z, where labels count as numbers, or from counts G2 or Pearson's
        chi squared. "auto" takes G2 where all features of a test are discrete, integers with at most 32 different
        values, and the target has classes.
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on; time grows with the number of kept features to that power.
    duplicates : {"drop", "keep"}, default="drop"
        What becomes of a feature that is equal to a kept one in every row, as in SAOLA. "keep" decides by the tests
        alone: of copies that determine one another a test by correlation says nothing, so that all of them stay.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.
    """

    method: ClassVar[str] = "osfs"
    targets: ClassVar[frozenset[Kind]] = BOTH
    fast: ClassVar[bool] = False
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"measure": "fisher_z"},
        {"measure": "g2", "max_condition": 2, "alpha": 0.1},
        {"measure": "chi2", "max_condition": 2},
        {"duplicates": "keep"},
    )

    measure: str = "auto"
    alpha: float = 0.01
    max_condition: int = 3
    duplicates: str = "drop"
    task: str = "auto"

    def check_parameters(self) -> None:
        super().check_parameters()
        require_test(self.measure, self.alpha)
        require_condition(self.max_condition)
        require_one_of("duplicates", self.duplicates, DUPLICATES)

    def _start(self, target: Target) -> IndependenceState:
        n_classes = levels_of_target(target, self.measure)
        state = empty(IndependenceState, **self._sizes(target), slots=FIRST_SLOTS)
        if n_classes:
            state.codes[TARGET], state.n_levels[TARGET] = target.codes, n_classes
        return state

    def _sizes(self, target: Target) -> dict[str, int]:
        counted = levels_of_target(target, self.measure) > 0
        return {**super()._sizes(target), "code_rows": target.n_rows * counted}

    def _tests(self, most_levels: int) -> Tests:
        """The tests, for columns of no more levels than that."""
        n_classes = max(1, self.memory.target.class_counts.size)
        cells = min(MOST_CELLS, n_classes * most_levels ** (self.max_condition + 1))
        return prepared_tests(self.alpha, self.measure, self.n_rows_, self.max_condition + 2, cells)

    def _offer(self, state: IndependenceState, block: ColumnBlock) -> IndependenceState:
        filled = block.without_empty()
        state.counts[IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in pieces(filled, PIECE_COLUMNS, PIECE_NONZEROS):
            state = self._offer_piece(state, piece)
        return state

    def _offer_piece(self, state: IndependenceState, block: ColumnBlock) -> IndependenceState:
        target, columns = self.memory.target, (block.indptr, block.indices, centred(block))
        relevance, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.weights, target.numbers
        in_parts(block, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms))
        related = np.abs(relevance) >= least_correlation(self.alpha, self.n_rows_)
        codes, n_levels = coded_for(self.measure, block, target)
        tests = self._tests(int(max(1, n_levels.max(), state.n_levels[state.order[1:]].max())))
        if codes.size:
            columns_coded = block.indptr, block.indices, codes, n_levels
            in_parts(block, lambda a, b: relate_by_counts(state, tests, *columns_coded, a, b, related))
        candidates = np.flatnonzero(related & (norms > 0))
        state.counts[IRRELEVANT] += block.n_columns - candidates.size
        copies = np.full(block.n_columns, NO_COPY)
        new = NewColumns(*columns, block.values, block.ids, codes, n_levels, relevance, norms, copies)
        rule = tests, self.fast, self._drops_copies, self.max_condition
        done = 0
        while done < candidates.size:
            if state.counts[KEPT] + 1 == state.order.size:
                state = self._grown(with_more_slots(state))
            done = update_blanket(state, *rule, new, target.weights, candidates, done)
        self._note_copies(block, copies)
        return state

    def _kept(self, state: IndependenceState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        slots = state.order[1 : state.counts[KEPT] + 1]
        return state.ids[slots], np.abs(state.correlations[TARGET, slots])

    def _held(self, state: IndependenceState) -> NDArray[Any]:
        return state.columns[state.order[1 : state.counts[KEPT] + 1]]

    def _advice_if_too_strict(self) -> str:
        return advice_on_level(self.alpha)

    @property
    def counts_(self) -> dict[str, int]:
        """What became of the features: kept, irrelevant, redundant at arrival, replaced later."""
        kept, irrelevant, redundant, replaced = self.memory.state.counts.tolist()
        return {"kept": kept, "irrelevant": irrelevant, "redundant": redundant, "replaced": replaced}

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), "counts": self.counts_}

    def _check_state(self, state: IndependenceState, sizes: dict[str, int]) -> None:
        kept = int(state.counts[KEPT])
        check_slots(state.order, kept + 1)
        if state.order[0] != TARGET:
            raise ValueError("its first slot is not the target's")
        slots = state.order[: kept + 1]
        discrete = slots[state.n_levels[slots] > 0]  # others may have codes of a column that was there before
        check_codes(state.codes, state.n_levels, discrete)


class FastOSFSLearner(OSFSLearner):
    """OSFS that asks a newcomer first whether it is redundant, and the others only with sets that it is in.

    Parameters
    ----------
    measure, alpha, max_condition, duplicates, task
        As in OSFS.
    """

    method: ClassVar[str] = "fast-osfs"
    fast: ClassVar[bool] = True
