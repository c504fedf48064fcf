"""Batch filters that the papers of SOFS and SAOLA compare with: FCBF (Yu, Liu 2003) and mRMR (Peng, Long, Ding 2005).

They hold every relevant column until the last is there. SOFS: Wu, Hoi, Mei, Yu 2017; SAOLA: Yu, Wu, Ding, Pei 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import spell
from ...kernels.arrays import array
from ...kernels.columns.dependence import EQUAL, uncertainties_of_target
from ...kernels.columns.filters import choose_relevant_and_new, filter_by_correlation, informations
from ...kernels.types import F64, I32, I64, Bool
from ..base import Method
from ..parameters import BUDGET, BUDGET_OR_NONE, NOT_NEGATIVE, checked, ensure, one_of, parameter
from .learner import ColumnLearner
from .measures import BALANCE, BINS, coded, refuse_large_tables
from .memory import ColumnMemory
from .rules import CHOSEN, COLUMN_IDS, ENDS, GATHERS, ROW_NUMBERS, SCORES, USED, BatchRule, in_parts


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


class FilterRule(BatchRule):
    """What the filters share: the relevant columns, as codes."""

    state_type: ClassVar[type[Any]] = CodedState

    def relevance(self, block: ColumnBlock, codes: I32, n_levels: I64) -> F64:
        """Return how much each column says about the target; what says nothing is not remembered."""
        raise NotImplementedError

    def refuse(self, memory: ColumnMemory[CodedState], block: ColumnBlock) -> None:
        refuse_large_tables(block, self.target, self.params.bins)

    def worth(self, block: ColumnBlock) -> tuple[Bool, dict[str, NDArray[Any]]]:
        codes, n_levels = coded(block, self.target, self.params.bins)
        relevance = self.relevance(block, codes, n_levels)
        arrays = {"ids": block.ids, "relevance": relevance, "n_levels": n_levels}
        return relevance > EQUAL, {**arrays, "indices": block.indices, "codes": codes}

    def advice(self, state: CodedState) -> str | None:
        return f"try {spell('bins', 5)}" if self.params.bins == "mdl" else None

    def check(self, state: CodedState, sizes: dict[str, int], n_features: int) -> None:
        super().check(state, sizes, n_features)
        beyond = state.codes >= np.repeat(state.n_levels, np.diff(state.indptr))
        ensure(not beyond.any(), "a code is beyond the levels of its column")


@dataclass(eq=False, repr=False, kw_only=True)
class FCBFParameters:
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

    n_features_to_select: int | None = field(default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE))
    delta: float = parameter(0.0, NOT_NEGATIVE)
    bins: int | str | None = parameter("mdl", BINS)
    class_weight: str | None = parameter(None, BALANCE)


class FcbfRule(FilterRule):
    """The most relevant feature takes out all that say no more about the target than about it, and so on."""

    def relevance(self, block: ColumnBlock, codes: I32, n_levels: I64) -> F64:
        relevance, target = np.zeros(block.n_columns), self.target
        columns = block.indptr, block.indices, codes, n_levels
        known = target.weights, target.codes, target.class_counts
        in_parts(block, lambda a, b: uncertainties_of_target(*columns, *known, a, b, relevance))
        relevance[relevance <= self.params.delta + EQUAL] = 0.0
        return relevance

    def advice(self, state: CodedState) -> str | None:
        return f"try {spell('delta', 0)}" if self.params.delta > 0 else super().advice(state)

    def choose(self, state: CodedState) -> tuple[I64, F64]:
        order = np.lexsort((np.arange(state.ids.size), -state.relevance))
        columns = state.indptr, state.indices, state.codes, state.n_levels
        stays = filter_by_correlation(*columns, state.relevance, order, self.target.weights)
        chosen = order[stays[order]][: self.params.n_features_to_select]
        return chosen, state.relevance[chosen]


FCBF = Method(
    "fcbf",
    FCBFParameters,
    ColumnLearner,
    rule=FcbfRule,
    check_variants=({"bins": 4, "class_weight": "balanced"},),
    exempt_from_checks=GATHERS,
)


@dataclass(eq=False, repr=False, kw_only=True)
class MRMRParameters:
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

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    criterion: str = parameter("difference", one_of("difference", "quotient"))
    bins: int | str | None = parameter("mdl", BINS)
    class_weight: str | None = parameter(None, BALANCE)


class MrmrRule(FilterRule):
    """The largest information about the target, less that about what was chosen."""

    def relevance(self, block: ColumnBlock, codes: I32, n_levels: I64) -> F64:
        relevance, target = np.zeros(block.n_columns), self.target
        classes = target.codes, target.class_counts, target.class_counts.size
        wanted = np.ones(block.n_columns, bool)
        informations(block.indptr, block.indices, codes, n_levels, target.weights, *classes, wanted, relevance)
        return relevance

    def choose(self, state: CodedState) -> tuple[I64, F64]:
        budget = int(self.params.n_features_to_select)
        scores = np.zeros(min(budget, state.ids.size))
        columns = state.indptr, state.indices, state.codes, state.n_levels
        by_quotient = self.params.criterion == "quotient"
        chosen: I64 = choose_relevant_and_new(
            *columns, state.relevance, self.target.weights, budget, by_quotient, scores
        )
        return chosen, scores


MRMR = Method(
    "mrmr",
    MRMRParameters,
    ColumnLearner,
    rule=MrmrRule,
    check_variants=(
        {"n_features_to_select": 5, "criterion": "quotient", "bins": 3},
        {"n_features_to_select": 7, "class_weight": "balanced"},
    ),
    exempt_from_checks=GATHERS,
)
