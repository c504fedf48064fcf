"""Batch filters that the papers of SOFS and SAOLA compare with.

They hold all useful columns until the last one has arrived: FCBF (Yu, Liu 2003) and mRMR (Peng,
Long, Ding 2005), and for Markov blankets IAMB and MMMB (Tsamardinos, Aliferis, Statnikov 2003).
SOFS: Wu, Hoi, Mei, Yu 2017; SAOLA: Yu, Wu, Ding, Pei 2016.
"""

from __future__ import annotations

from abc import abstractmethod
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
    find_parents_and_children,
    grow_blanket,
    shrink_blanket,
)
from ...kernels.columns.dependence import EQUAL
from ...kernels.columns.filters import add_information, filter_by_correlation, select_by_mrmr
from ...kernels.columns.independence import TestSettings
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
    check_table_size,
    correlate,
    encode,
    encode_for_tests,
    levels_of_target,
    measure_uncertainty,
    prepare_tests,
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
    centre_block,
)

# Rows that a test needs for each degree of freedom or variable: Yu, Wu, Ding, Pei 2016, section 5.4
ROWS_EACH = 5


# ---- the relevant columns as codes: FCBF, mRMR


class CodedState(NamedTuple):
    """The relevant columns as codes in CSC form, and the chosen ones."""

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
    """Base of the filters, which hold the relevant columns as codes."""

    state_type: ClassVar[type[Any]] = CodedState

    @abstractmethod
    def measure_relevance(self, block: ColumnBlock, codes: I32, n_levels: I64) -> F64:
        """Return how much each column tells of the target; columns with 0 are not held."""

    def refuse(self, memory: ColumnMemory[CodedState], block: ColumnBlock) -> None:
        check_table_size(block, self.target, self.params.bins)

    def extract_useful(self, block: ColumnBlock) -> tuple[Bool, dict[str, NDArray[Any]]]:
        codes, n_levels = encode(block, self.target, self.params.bins)
        relevance = self.measure_relevance(block, codes, n_levels)
        return relevance > EQUAL, {
            "ids": block.ids,
            "relevance": relevance,
            "indices": block.indices,
            "codes": codes,
            "n_levels": n_levels,
        }

    def advice(self, state: CodedState) -> str | None:
        return f"try {spell('bins', 5)}" if self.params.bins == "mdl" else None

    def check(self, state: CodedState, sizes: dict[str, int], n_features: int) -> None:
        super().check(state, sizes, n_features)
        ensure(
            (state.codes < np.repeat(state.n_levels, np.diff(state.indptr))).all(),
            "a code exceeds the number of levels of its column",
        )


@dataclass(eq=False, repr=False, kw_only=True)
class FCBFParameters:
    """Fast correlation-based filter (Yu, Liu 2003), by symmetrical uncertainty.

    Starting with the most relevant one, each feature removes all less relevant features that say no
    more about the target than about it. A batch method: the relevant columns are held, as codes,
    until the last one has arrived.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, the most relevant ones. None keeps all that the rule keeps.
    delta : float, default=0.0
        Symmetrical uncertainty above which a feature is relevant.
    bins : None, int or "mdl", default="mdl"
        Discretisation of features with many values, as in SAOLA.
    class_weight : None or "balanced", default=None
        "balanced" gives all classes the same total weight.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.

    References
    ----------
    L. Yu, H. Liu: Feature selection for high-dimensional data: a fast correlation-based filter
    solution. ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.FCBF(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    delta: float = parameter(0.0, NOT_NEGATIVE)
    bins: int | str | None = parameter("mdl", BINS)
    class_weight: str | None = parameter(None, BALANCE)


class FcbfRule(FilterRule):
    """Remove features that say no more about the target than about a more relevant one."""

    def measure_relevance(self, block: ColumnBlock, codes: I32, n_levels: I64) -> F64:
        relevance = measure_uncertainty(block, codes, n_levels, self.target)
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

    Features are chosen one at a time: the next one has the largest information about the target
    minus its mean information about those already chosen. A batch method: the columns are held, as
    codes, until the last one has arrived.

    Parameters
    ----------
    n_features_to_select : int, default=100
        Number of features to select.
    criterion : {"difference", "quotient"}, default="difference"
        Subtract redundancy from relevance (MID), or divide relevance by it (MIQ).
    bins : None, int or "mdl", default="mdl"
        Discretisation of features with many values, as in SAOLA.
    class_weight : None or "balanced", default=None
        "balanced" gives all classes the same total weight.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.

    References
    ----------
    H. Peng, F. Long, C. Ding: Feature selection based on mutual information. IEEE Transactions
    on Pattern Analysis and Machine Intelligence 27, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.MRMR(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    criterion: str = parameter("difference", one_of("difference", "quotient"))
    bins: int | str | None = parameter("mdl", BINS)
    class_weight: str | None = parameter(None, BALANCE)


class MrmrRule(FilterRule):
    """Choose by the information about the target minus that about the chosen features."""

    def measure_relevance(self, block: ColumnBlock, codes: I32, n_levels: I64) -> F64:
        relevance, target = np.zeros(block.n_columns), self.target
        add_information(
            block.indptr,
            block.indices,
            codes,
            n_levels,
            target.weights,
            target.codes,
            target.class_counts,
            target.n_classes,
            np.ones(block.n_columns, bool),
            relevance,
        )
        return relevance

    def choose(self, state: CodedState) -> tuple[I64, F64]:
        budget = int(self.params.n_features_to_select)
        scores = np.zeros(min(budget, state.ids.size))
        chosen: I64 = select_by_mrmr(
            state.indptr,
            state.indices,
            state.codes,
            state.n_levels,
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
    """The columns that are not constant in CSC form, and the chosen ones."""

    ids: I64 = COLUMN_IDS
    indptr: I64 = ENDS
    indices: I32 = ROW_NUMBERS
    values: F64 = array("nonzeros", low=-MAX_VALUE, below=np.inf, finite=False)
    used: I64 = USED
    chosen: I64 = CHOSEN
    scores: F64 = SCORES


class BlanketRule(BatchRule):
    """Base of IAMB and MMMB: the columns as variables, the target last, and the tests."""

    state_type: ClassVar[type[Any]] = GatheredState

    def start(self) -> Any:
        levels_of_target(self.target, self.params.measure)
        return super().start()

    def extract_useful(self, block: ColumnBlock) -> tuple[Bool, dict[str, NDArray[Any]]]:
        _, norms = correlate(block, centre_block(block), self.target)
        return norms > 0, {"ids": block.ids, "indices": block.indices, "values": block.values}

    def check(self, state: GatheredState, sizes: dict[str, int], n_features: int) -> None:
        super().check(state, sizes, n_features)
        ensure(ascends(state.indptr, state.indices), "the row numbers of a column do not ascend")

    def make_variables(self, state: GatheredState) -> Columns:
        """Return the columns as variables, with the target last."""
        target, measure = self.target, self.params.measure
        n_rows, n_classes = target.n_rows, levels_of_target(target, measure)
        block = ColumnBlock(state.indptr, state.indices, state.values, state.ids, n_rows)
        codes, n_levels = encode_for_tests(measure, block, target)
        values = centre_block(block)
        if n_classes:
            lengths = np.diff(block.indptr)
            is_full = lengths == n_rows  # no row has the level 0
            codes = np.concatenate(
                [codes - np.repeat(is_full, lengths), target.codes], dtype=np.int32
            )
            n_levels = np.where(n_levels > 0, n_levels - is_full, 0)
        return Columns(
            np.append(block.indptr, block.indptr[-1] + n_rows),
            np.concatenate([block.indices, np.arange(n_rows, dtype=np.int32)]),
            np.concatenate([values, target.numbers]),
            np.append(correlate(block, values, target)[1], 1.0),
            codes,
            np.append(n_levels, n_classes),
        )

    def advice(self, state: GatheredState) -> str:
        return advice_on_level(self.params.alpha)

    def make_tests(self, most_variables: int) -> TestSettings:
        """Return the tests; a test by counts is done only if it has fewer cells than rows."""
        n_rows = self.target.n_rows
        return prepare_tests(
            self.params.alpha, self.params.measure, n_rows, most_variables, n_rows, ROWS_EACH
        )


@dataclass(eq=False, repr=False, kw_only=True)
class IAMBParameters:
    """Incremental association Markov blanket (Tsamardinos, Aliferis, Statnikov 2003).

    The feature with the strongest association with the target, given all that were added before, is
    added until no feature passes the test. Then features that are independent of the target given
    all others are removed, in order. A batch method: the columns are held until the last one has
    arrived. Scores are -ln p of the test by which a feature was added.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        Independence test, as in OSFS. A test with fewer than five rows for each degree of freedom
        by counts, or for each variable by correlation, is not done, and then neither adds nor
        removes a feature.
    alpha : float, default=0.01
        Significance level of the tests.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.

    References
    ----------
    I. Tsamardinos, C. Aliferis, A. Statnikov: Algorithms for large scale Markov blanket
    discovery. FLAIRS 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.IAMB().fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    task: str = parameter("auto", one_of(*TASKS))


class IambRule(BlanketRule):
    """Grow the blanket by the feature with the strongest association, then shrink it."""

    def choose(self, state: GatheredState) -> tuple[I64, F64]:
        tests = self.make_tests(2)
        joined, strengths, variables = grow_blanket(
            self.make_variables(state), tests, self.target.weights
        )
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
    """Max-min Markov blanket (Tsamardinos, Aliferis, Statnikov 2003).

    First the parents and children of the target: the next one is the feature whose minimum
    association with the target, given sets of those already chosen, is largest; features that some
    set makes independent of the target are removed. Then the spouses: of the parents and children
    of each of these, those that depend on the target given it and the set that made the two
    independent. A batch method: the columns are held until the last one has arrived. Scores are
    -ln p, for a parent or child the smallest of its tests.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        Independence test, as in OSFS. A test with fewer than five rows for each degree of freedom
        by counts, or for each variable by correlation, is not done, and then neither adds nor
        removes a feature.
    alpha : float, default=0.01
        Significance level of the tests.
    max_condition : int, default=3
        Maximum number of features to condition on, besides the child. Time grows with the number
        of parents and children to this power.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.

    Attributes
    ----------
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.

    References
    ----------
    I. Tsamardinos, C. Aliferis, A. Statnikov: Time and sample efficient discovery of Markov
    blankets and direct causal relations. KDD 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.MMMB().fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    max_condition: int = parameter(3, CONDITION)
    task: str = parameter("auto", one_of(*TASKS))


class MmmbRule(BlanketRule):
    """Choose parents and children of the target, then spouses."""

    def choose(self, state: GatheredState) -> tuple[I64, F64]:
        columns, weights = self.make_variables(state), self.target.weights
        tests = self.make_tests(self.params.max_condition + 3)
        target = state.ids.size
        relatives, least_strengths, separators, n_separators = find_parents_and_children(
            columns, tests, target, self.params.max_condition, weights
        )
        scores = {int(column): float(least_strengths[column]) for column in relatives}
        spouses: dict[int, float] = {}
        for child in relatives.tolist():
            family, *_ = find_parents_and_children(
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
        strengths = scores | spouses
        return np.array(list(strengths), np.int64), np.array(list(strengths.values()))


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
