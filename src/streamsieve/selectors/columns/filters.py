"""Batch filters that the papers of SOFS and SAOLA compare with: FCBF (Yu, Liu 2003) and mRMR (Peng, Long, Ding 2005).

They hold every relevant column until the last is there. SOFS: Wu, Hoi, Mei, Yu 2017; SAOLA: Yu, Wu, Ding, Pei 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.arrays import array
from ...kernels.columns.dependence import EQUAL, uncertainties_of_target
from ...kernels.columns.filters import choose_relevant_and_new, filter_by_correlation, informations
from ...kernels.types import F64, I32, I64
from ..requirements import MOST_FEATURES, is_integer, is_number, require, require_budget, require_one_of
from .batch import CHOSEN, COLUMN_IDS, ENDS, ROW_NUMBERS, SCORES, USED, BatchLearner
from .coding import coded, refuse_large_tables, require_bins
from .parts import in_parts

CRITERIA = ("difference", "quotient")


class CodedState(NamedTuple):
    """The relevant columns as codes, CSC, and what was chosen of them."""

    ids: I64 = COLUMN_IDS
    relevance: F64 = array("columns", low=0)
    indptr: I64 = ENDS
    indices: I32 = ROW_NUMBERS
    codes: I32 = array("nonzeros", low=0)
    n_levels: I64 = array("columns", low=0, below="max_levels")
    used: I64 = USED
    chosen: I64 = CHOSEN
    scores: F64 = SCORES


class BatchFilter(BatchLearner[CodedState]):
    """What the filters share: the relevant columns, as codes."""

    state_type: ClassVar[type[Any]] = CodedState

    bins: int | str | None

    def _relevance(
        self, block: ColumnBlock, codes: NDArray[np.int32], n_levels: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """How much each column says about the target; what says nothing is not remembered."""
        raise NotImplementedError

    def accept(self, block: ColumnBlock) -> None:
        super().accept(block)
        refuse_large_tables(block, self.memory.target, self.bins)

    def _worth(self, block: ColumnBlock) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
        codes, n_levels = coded(block, self.memory.target, self.bins)
        relevance = self._relevance(block, codes, n_levels)
        arrays = {"ids": block.ids, "relevance": relevance, "n_levels": n_levels}
        return relevance > EQUAL, {**arrays, "indices": block.indices, "codes": codes}

    def _advice_if_too_strict(self) -> str:
        return "try bins=5" if self.bins == "mdl" else super()._advice_if_too_strict()

    def _check_state(self, state: CodedState, sizes: dict[str, int]) -> None:
        super()._check_state(state, sizes)
        if (state.codes >= np.repeat(state.n_levels, np.diff(state.indptr))).any():
            raise ValueError("a code is beyond the levels of its column")


@dataclass(eq=False, repr=False, kw_only=True)
class FCBFLearner(BatchFilter):
    """The fast correlation-based filter (Yu and Liu 2003): relevance and redundancy by symmetrical uncertainty.

    From the most relevant feature on, each takes out all less relevant ones that say no more about the target than
    about it. A batch method: the relevant columns are held, as codes, until the last has come.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None keeps what the rule keeps; a number, the most relevant of them.
    delta : float, default=0.0
        The uncertainty above which a feature is relevant.
    bins : None, int or "mdl", default="mdl"
        How features of many values are made discrete, as in SAOLA.
    class_weight : None or "balanced", default=None
        "balanced" lets all classes count alike.
    """

    method: ClassVar[str] = "fcbf"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = ({"bins": 4, "class_weight": "balanced"},)

    n_features_to_select: int | None = field(default=None, kw_only=False)
    delta: float = 0.0
    bins: int | str | None = "mdl"
    class_weight: str | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        require_budget(self.n_features_to_select)
        require(is_number(self.delta) and self.delta >= 0, "delta", self.delta, "a number of 0 or more")
        require_bins(self.bins)
        require_one_of("class_weight", self.class_weight, (None, "balanced"))

    def _relevance(
        self, block: ColumnBlock, codes: NDArray[np.int32], n_levels: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        relevance, target = np.zeros(block.n_columns), self.memory.target
        columns = block.indptr, block.indices, codes, n_levels
        known = target.weights, target.codes, target.class_counts
        in_parts(block, lambda a, b: uncertainties_of_target(*columns, *known, a, b, relevance))
        relevance[relevance <= self.delta + EQUAL] = 0.0
        return relevance

    def _advice_if_too_strict(self) -> str:
        return "try delta=0" if self.delta > 0 else super()._advice_if_too_strict()

    def _choose(self, state: CodedState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        order = np.lexsort((np.arange(state.ids.size), -state.relevance))
        columns = state.indptr, state.indices, state.codes, state.n_levels
        stays = filter_by_correlation(*columns, state.relevance, order, self.memory.target.weights)
        chosen = order[stays[order]][: self.n_features_to_select]
        return chosen, state.relevance[chosen]


@dataclass(eq=False, repr=False, kw_only=True)
class MRMRLearner(BatchFilter):
    """Minimum redundancy, maximum relevance (Peng, Long, Ding 2005), by mutual information.

    Features are chosen one after the other: the next has the largest information about the target, less its mean
    information about those chosen. A batch method: the columns are held, as codes, until the last has come.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many to choose.
    criterion : {"difference", "quotient"}, default="difference"
        Whether redundancy is taken off relevance (MID) or divides it (MIQ).
    bins : None, int or "mdl", default="mdl"
        How features of many values are made discrete, as in SAOLA.
    class_weight : None or "balanced", default=None
        "balanced" lets all classes count alike.
    """

    method: ClassVar[str] = "mrmr"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"n_features_to_select": 5, "criterion": "quotient", "bins": 3},
        {"n_features_to_select": 7, "class_weight": "balanced"},
    )

    n_features_to_select: int = field(default=100, kw_only=False)
    criterion: str = "difference"
    bins: int | str | None = "mdl"
    class_weight: str | None = None

    def check_parameters(self) -> None:
        super().check_parameters()
        wanted: Any = self.n_features_to_select
        fits = is_integer(wanted) and 1 <= wanted < MOST_FEATURES
        require(fits, "n_features_to_select", wanted, f"an integer of 1 or more, below {MOST_FEATURES:,}")
        require_one_of("criterion", self.criterion, CRITERIA)
        require_bins(self.bins)
        require_one_of("class_weight", self.class_weight, (None, "balanced"))

    def _relevance(
        self, block: ColumnBlock, codes: NDArray[np.int32], n_levels: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        relevance, target = np.zeros(block.n_columns), self.memory.target
        classes = target.codes, target.class_counts, target.class_counts.size
        wanted = np.ones(block.n_columns, bool)
        informations(block.indptr, block.indices, codes, n_levels, target.weights, *classes, wanted, relevance)
        return relevance

    def _choose(self, state: CodedState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        budget = int(self.n_features_to_select or 0)
        scores = np.zeros(min(budget, state.ids.size))
        columns = state.indptr, state.indices, state.codes, state.n_levels
        by_quotient = self.criterion == "quotient"
        chosen: NDArray[np.int64] = choose_relevant_and_new(
            *columns, state.relevance, self.memory.target.weights, budget, by_quotient, scores
        )
        return chosen, scores
