"""OSFS and Fast-OSFS: online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013), rivals of SAOLA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.columns.contents import NO_COPY
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
from ...kernels.types import F64, I64
from ...state import empty
from ...targets import BOTH, TASKS, Target
from ..base import Method
from ..parameters import LEVEL, ensure, one_of, parameter
from .learner import ColumnLearner
from .measures import CONDITION, TEST, advice_on_level, coded_for, least_correlation, levels_of_target, prepared_tests
from .memory import ColumnMemory
from .parts import centred, in_parts, pieces, with_more_slots
from .rules import CopyDropper, check_codes, check_slots

FIRST_SLOTS = 16
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20


@dataclass(eq=False, repr=False, kw_only=True)
class OSFSParameters:
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

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    max_condition: int = parameter(3, CONDITION)
    duplicates: str = parameter("drop", one_of("drop", "keep"))
    task: str = parameter("auto", one_of(*TASKS))

    def rule_for(self, method: Method, target: Target) -> OsfsRule:
        """Return how columns are taken and dropped."""
        return OsfsRule(self, target, fast=method is FAST_OSFS)


class OsfsRule(CopyDropper[IndependenceState]):
    """Relevance by a test, then redundancy given some of the others; ``fast`` asks a newcomer first."""

    def __init__(self, params: Any, target: Target, fast: bool) -> None:
        super().__init__(params, target)
        self.fast = fast

    def sizes(self) -> dict[str, int]:
        counted = levels_of_target(self.target, self.params.measure) > 0
        return {**super().sizes(), "code_rows": self.target.n_rows * counted}

    def start(self) -> IndependenceState:
        n_classes = levels_of_target(self.target, self.params.measure)
        state = empty(IndependenceState, **self.sizes(), slots=FIRST_SLOTS)
        if n_classes:
            state.codes[TARGET], state.n_levels[TARGET] = self.target.codes, n_classes
        return state

    def tests(self, most_levels: int) -> Tests:
        """Return the tests, for columns of no more levels than that."""
        params, n_classes = self.params, max(1, self.target.class_counts.size)
        cells = min(MOST_CELLS, n_classes * most_levels ** (params.max_condition + 1))
        return prepared_tests(params.alpha, params.measure, self.target.n_rows, params.max_condition + 2, cells)

    def offer(self, memory: ColumnMemory[IndependenceState], block: ColumnBlock) -> None:
        filled = block.without_empty()
        memory.state.counts[IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in pieces(filled, PIECE_COLUMNS, PIECE_NONZEROS):
            self.offer_piece(memory, piece)

    def offer_piece(self, memory: ColumnMemory[IndependenceState], block: ColumnBlock) -> None:
        """Take the columns of a part of a block."""
        params, state, target, columns = (
            self.params,
            memory.state,
            self.target,
            (block.indptr, block.indices, centred(block)),
        )
        relevance, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.weights, target.numbers
        in_parts(block, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms))
        related = np.abs(relevance) >= least_correlation(params.alpha, target.n_rows)
        codes, n_levels = coded_for(params.measure, block, target)
        tests = self.tests(int(max(1, n_levels.max(), state.n_levels[state.order[1:]].max())))
        if codes.size:
            columns_coded = block.indptr, block.indices, codes, n_levels
            in_parts(block, lambda a, b: relate_by_counts(state, tests, *columns_coded, a, b, related))
        candidates = np.flatnonzero(related & (norms > 0))
        state.counts[IRRELEVANT] += block.n_columns - candidates.size
        copies = np.full(block.n_columns, NO_COPY)
        new = NewColumns(*columns, block.values, block.ids, codes, n_levels, relevance, norms, copies)
        rule = tests, self.fast, self.drops_copies, params.max_condition
        done = 0
        while done < candidates.size:
            if memory.state.counts[KEPT] + 1 == memory.state.order.size:
                memory.state = with_more_slots(memory.state)
            done = update_blanket(memory.state, *rule, new, target.weights, candidates, done)
        self.note_copies(memory, block, copies)

    def kept(self, state: IndependenceState) -> tuple[I64, F64]:
        slots = state.order[1 : state.counts[KEPT] + 1]
        return state.ids[slots], np.abs(state.correlations[TARGET, slots])

    def held(self, state: IndependenceState) -> F64:
        return state.columns[state.order[1 : state.counts[KEPT] + 1]]

    def advice(self, state: IndependenceState) -> str:
        return advice_on_level(self.params.alpha)

    def counted(self, state: IndependenceState) -> dict[str, dict[str, int]]:
        kept, irrelevant, redundant, replaced = state.counts.tolist()
        return {"counts": {"kept": kept, "irrelevant": irrelevant, "redundant": redundant, "replaced": replaced}}

    def check(self, state: IndependenceState, sizes: dict[str, int], n_features: int) -> None:
        kept = int(state.counts[KEPT])
        check_slots(state.order, kept + 1)
        ensure(state.order[0] == TARGET, "its first slot is not the target's")
        slots = state.order[: kept + 1]
        discrete = slots[state.n_levels[slots] > 0]  # others may have codes of a column that was there before
        check_codes(state.codes, state.n_levels, discrete)


VARIANTS: tuple[dict[str, Any], ...] = (
    {"measure": "fisher_z"},
    {"measure": "g2", "max_condition": 2, "alpha": 0.1},
    {"measure": "chi2", "max_condition": 2},
    {"duplicates": "keep"},
)
OSFS = Method("osfs", OSFSParameters, ColumnLearner, BOTH, check_variants=VARIANTS)
FAST_OSFS = Method(
    "fast-osfs",
    OSFSParameters,
    ColumnLearner,
    BOTH,
    check_variants=VARIANTS,
    own_doc="""OSFS that asks a newcomer first whether it is redundant, and the others only with sets that it is in.

    Parameters
    ----------
    measure, alpha, max_condition, duplicates, task
        As in OSFS.
    """,
)
