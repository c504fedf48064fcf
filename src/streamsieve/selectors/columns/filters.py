"""Batch filters that the papers of SOFS and SAOLA compare with: they hold all columns of use until the last is there.

FCBF (Yu, Liu 2003) and mRMR (Peng, Long, Ding 2005); of Markov blankets IAMB and MMMB (Tsamardinos,
Aliferis, Statnikov 2003). SOFS: Wu, Hoi, Mei, Yu 2017; SAOLA: Yu, Wu, Ding, Pei 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import spell
from ...kernels.arrays import MAX_VALUE, array
from ...kernels.columns.blankets import (
    Columns,
    association_of_columns,
    grow_blanket,
    parents_and_children,
    shrink_blanket,
)
from ...kernels.columns.dependence import EQUAL, correlate_with_target, uncertainties_of_target
from ...kernels.columns.filters import choose_relevant_and_new, filter_by_correlation, informations
from ...kernels.columns.independence import Tests
from ...kernels.types import F64, I32, I64, Bool
from ...targets import BOTH, TASKS
from ...values import ascends
from ..base import Method
from ..parameters import (
    BUDGET,
    BUDGET_OR_NONE,
    LEVEL,
    NOT_NEGATIVE,
    checked,
    ensure,
    one_of,
    parameter,
)
from .learner import ColumnLearner
from .measures import (
    BALANCE,
    BINS,
    CONDITION,
    TEST,
    advice_on_level,
    coded,
    coded_for,
    levels_of_target,
    prepared_tests,
    refuse_large_tables,
)
from .memory import ColumnMemory
from .rules import (
    CHOSEN,
    COLUMN_IDS,
    ENDS,
    GATHERS,
    ROW_NUMBERS,
    SCORES,
    USED,
    BatchRule,
    centred,
    in_parts,
)

ROWS_EACH = 5  # rows that a test needs for each degree of freedom or variable: Yu, Wu, Ding, Pei 2016, section 5.4


# ---- the relevant columns as codes: FCBF, mRMR


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

    From the most relevant feature on, each takes out all less relevant ones that say no more about
    the target than about it. A batch method: the relevant columns are held, as codes, until the
    last has come.

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

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
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
        stays = filter_by_correlation(
            state.indptr,
            state.indices,
            state.codes,
            state.n_levels,
            state.relevance,
            order,
            self.target.weights,
        )
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

    Features are chosen one after the other: the next has the largest information about the target,
    less its mean information about those chosen. A batch method: the columns are held, as codes,
    until the last has come.

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
        informations(
            block.indptr,
            block.indices,
            codes,
            n_levels,
            target.weights,
            *classes,
            wanted,
            relevance,
        )
        return relevance

    def choose(self, state: CodedState) -> tuple[I64, F64]:
        budget = int(self.params.n_features_to_select)
        scores = np.zeros(min(budget, state.ids.size))
        columns = state.indptr, state.indices, state.codes, state.n_levels
        chosen: I64 = choose_relevant_and_new(
            *columns,
            state.relevance,
            self.target.weights,
            budget,
            self.params.criterion == "quotient",
            scores,
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


# ---- Markov blankets of the target: IAMB, MMMB


class GatheredState(NamedTuple):
    """The columns that are not constant, CSC, and what was chosen of them."""

    ids: I64 = COLUMN_IDS
    indptr: I64 = ENDS
    indices: I32 = ROW_NUMBERS
    values: F64 = array("nonzeros", low=-MAX_VALUE, below=np.inf, finite=False)
    used: I64 = USED
    chosen: I64 = CHOSEN
    scores: F64 = SCORES


class BlanketRule(BatchRule):
    """What IAMB and MMMB share: the columns as variables, the target the last, and the tests."""

    state_type: ClassVar[type[Any]] = GatheredState

    def start(self) -> Any:
        levels_of_target(self.target, self.params.measure)
        return super().start()

    def norms(self, block: ColumnBlock, values: F64) -> F64:
        """Return lengths of the centred columns, 0 for constant ones; ``values``: those of the block, near 0."""
        relevance, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        columns, known = (
            (block.indptr, block.indices, values),
            (self.target.weights, self.target.numbers),
        )
        in_parts(
            block, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms)
        )
        return norms

    def worth(self, block: ColumnBlock) -> tuple[Bool, dict[str, NDArray[Any]]]:
        varies = self.norms(block, centred(block)) > 0
        return varies, {"ids": block.ids, "indices": block.indices, "values": block.values}

    def check(self, state: GatheredState, sizes: dict[str, int], n_features: int) -> None:
        super().check(state, sizes, n_features)
        ensure(ascends(state.indptr, state.indices), "the row numbers of a column do not ascend")

    def columns(self, state: GatheredState) -> Columns:
        """Return the columns as variables, the target the last."""
        target, measure = self.target, self.params.measure
        n_rows, n_classes = target.n_rows, levels_of_target(target, measure)
        block = ColumnBlock(state.indptr, state.indices, state.values, state.ids, n_rows)
        codes, n_levels = coded_for(measure, block, target)
        values = centred(block)
        if n_classes:
            lengths = np.diff(block.indptr)
            full = lengths == n_rows  # no row has the level 0
            codes = np.concatenate([codes - np.repeat(full, lengths), target.codes], dtype=np.int32)
            n_levels = np.where(n_levels > 0, n_levels - full, 0)
        return Columns(
            np.append(block.indptr, block.indptr[-1] + n_rows),
            np.concatenate([block.indices, np.arange(n_rows, dtype=np.int32)]),
            np.concatenate([values, target.numbers]),
            np.append(self.norms(block, values), 1.0),
            codes,
            np.append(n_levels, n_classes),
        )

    def advice(self, state: GatheredState) -> str:
        return advice_on_level(self.params.alpha)

    def tests(self, most_variables: int) -> Tests:
        """Return the tests; one by counts that is taken has fewer cells than there are rows."""
        n_rows = self.target.n_rows
        return prepared_tests(
            self.params.alpha, self.params.measure, n_rows, most_variables, n_rows, ROWS_EACH
        )


@dataclass(eq=False, repr=False, kw_only=True)
class IAMBParameters:
    """The incremental association Markov blanket (Tsamardinos, Aliferis, Statnikov 2003).

    The feature most associated with the target given all that joined before joins, while there is
    one. Then those go, in order, that are independent of the target given all others. A batch
    method: the columns are held until the last has come. Scores are -ln p of the test that let a
    feature in.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        The test, as in OSFS. One that has fewer than five rows for each degree of freedom by
        counts, or for each variable by correlation, is not taken: then nothing joins, and nothing
        goes.
    alpha : float, default=0.01
        The level of the tests.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.
    """

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    task: str = parameter("auto", one_of(*TASKS))


class IambRule(BlanketRule):
    """The blanket grows by the most associated feature, then shrinks."""

    def choose(self, state: GatheredState) -> tuple[I64, F64]:
        tests = self.tests(2)
        joined, strengths, variables = grow_blanket(self.columns(state), tests, self.target.weights)
        stays = shrink_blanket(variables, tests, joined.size)
        return joined[stays], strengths[stays]


IAMB = Method(
    "iamb",
    IAMBParameters,
    ColumnLearner,
    BOTH,
    rule=IambRule,
    check_variants=({"measure": "fisher_z"}, {"measure": "chi2", "alpha": 0.05}),
    exempt_from_checks=GATHERS,
)


@dataclass(eq=False, repr=False, kw_only=True)
class MMMBParameters:
    """The max-min Markov blanket (Tsamardinos, Aliferis, Statnikov 2003): parents and children, then spouses.

    Next among the parents and children is the feature whose least association with the target,
    given sets of those found, is largest; what some set makes independent of the target goes. Each
    of them has parents and children of its own: one that the target depends on given the child and
    the set that made the two independent is a spouse. A batch method: the columns are held until
    the last has come. Scores are -ln p, the least of a parent's or child's tests.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        The test, as in OSFS. One that has fewer than five rows for each degree of freedom by
        counts, or for each variable by correlation, is not taken: it lets nothing in and makes
        nothing go.
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on, but for the child; time grows with what is
        found to that power.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.
    """

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    max_condition: int = parameter(3, CONDITION)
    task: str = parameter("auto", one_of(*TASKS))


class MmmbRule(BlanketRule):
    """Parents and children of the target, then spouses."""

    def choose(self, state: GatheredState) -> tuple[I64, F64]:
        columns, weights = self.columns(state), self.target.weights
        tests = self.tests(self.params.max_condition + 3)
        target = state.ids.size
        near, least, separators, n_separators = parents_and_children(
            columns, tests, target, self.params.max_condition, weights
        )
        scores = {int(column): float(least[column]) for column in near}
        spouses: dict[int, float] = {}
        for child in near.tolist():
            family, *_ = parents_and_children(
                columns, tests, child, self.params.max_condition, weights
            )
            for column in set(family.tolist()) - {target, *scores}:
                given = separators[column, : n_separators[column]]
                if child not in given:
                    given = np.append(given, child)
                    strength = association_of_columns(
                        columns, tests, column, target, given, weights
                    )
                    if strength > spouses.get(column, 0.0):
                        spouses[column] = strength
        found = scores | spouses
        return np.array(list(found), np.int64), np.array(list(found.values()))


MMMB = Method(
    "mmmb",
    MMMBParameters,
    ColumnLearner,
    BOTH,
    rule=MmmbRule,
    check_variants=(
        {"measure": "fisher_z", "max_condition": 2},
        {"measure": "chi2", "alpha": 0.05},
    ),
    exempt_from_checks=GATHERS,
)
