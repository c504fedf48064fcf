"""Methods that the papers of SAOLA compare with: OSFS, Fast-OSFS, alpha-investing and OGFS."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from ...blocks import ColumnBlock
from ...errors import spell
from ...kernels.columns import group_selection, investing, osfs
from ...kernels.columns.contents import NO_COPY
from ...kernels.columns.independence import TestSettings
from ...kernels.types import F64, I64
from ...state import empty
from ...targets import BOTH, TASKS
from ..base import Method
from ..parameters import (
    BUDGET_OR_NONE,
    LEVEL,
    NOT_NEGATIVE,
    checked,
    ensure,
    fits,
    is_number,
    one_of,
    parameter,
)
from .learner import ColumnLearner
from .measures import (
    CONDITION,
    MAX_DEGREES_OF_FREEDOM,
    TEST,
    advice_on_level,
    advice_on_strictness,
    correlate,
    critical_correlation,
    encode_for_tests,
    levels_of_target,
    prepare_tests,
)
from .memory import ColumnMemory
from .rules import (
    FATES,
    FIRST_SLOTS,
    NO_BUDGET,
    ColumnRule,
    CopyDropper,
    GroupRule,
    centre_block,
    check_codes,
    check_slots,
    groups_of,
    run_in_parts,
    split_block,
    take_columns,
)

MAX_WEALTH = 1.0
WEALTH = fits(
    lambda value: is_number(value) and 0 < value <= MAX_WEALTH, "a number above 0 and at most 1"
)


# ---- OSFS (Wu, Yu, Ding, Wang, Zhu 2013)


@dataclass(eq=False, repr=False, kw_only=True)
class OSFSParameters:
    """Online streaming feature selection, OSFS (Wu, Yu, Ding, Wang, Zhu 2013).

    A feature that a test finds independent of the target is dropped; otherwise it is kept. Then
    every kept feature that is independent of the target given at most ``max_condition`` of the
    others is dropped.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        Independence test: partial correlation with Fisher's Z test, with labels as numbers, or from
        counts G2 or Pearson's chi squared. "auto" takes G2 if all features of a test are discrete
        (integers with at most 32 different values) and the target holds classes, otherwise
        Fisher's Z test.
    alpha : float, default=0.01
        Significance level of the tests.
    max_condition : int, default=3
        Maximum number of features to condition on. Time grows with the number of kept features to
        this power.
    duplicates : {"drop", "keep"}, default="drop"
        Treatment of a feature that equals a kept one in every row, as in SAOLA. "keep" decides by
        the tests alone: since copies determine one another, a test by correlation tells nothing and
        all of them stay.
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
    counts_ : dict
        The number of features that were kept, irrelevant, redundant or replaced.
    n_duplicates_ : int
        The number of features dropped because they equal a kept one in every row.

    References
    ----------
    X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu: Online feature selection with streaming features.
    IEEE Transactions on Pattern Analysis and Machine Intelligence 35, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.OSFS().fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    max_condition: int = parameter(3, CONDITION)
    duplicates: str = parameter("drop", one_of("drop", "keep"))
    task: str = parameter("auto", one_of(*TASKS))


class OsfsRule(CopyDropper[osfs.IndependenceState]):
    """Drop features by a test of relevance, then by tests of redundancy given others."""

    fast: ClassVar[bool] = False  # True to test first whether the new feature is redundant

    def sizes(self) -> dict[str, int]:
        has_codes = levels_of_target(self.target, self.params.measure) > 0
        return {**super().sizes(), "code_rows": self.target.n_rows * has_codes}

    def start(self) -> osfs.IndependenceState:
        n_classes = levels_of_target(self.target, self.params.measure)
        state = empty(osfs.IndependenceState, **self.sizes(), slots=FIRST_SLOTS)
        if n_classes:
            state.codes[osfs.TARGET], state.n_levels[osfs.TARGET] = self.target.codes, n_classes
        return state

    def make_tests(self, max_levels: int) -> TestSettings:
        """Return the tests for columns with at most ``max_levels`` levels."""
        params, n_classes = self.params, max(1, self.target.class_counts.size)
        n_cells = min(osfs.MAX_CELLS, n_classes * max_levels ** (params.max_condition + 1))
        return prepare_tests(
            params.alpha, params.measure, self.target.n_rows, params.max_condition + 2, n_cells
        )

    def offer(self, memory: ColumnMemory[osfs.IndependenceState], block: ColumnBlock) -> None:
        filled = block.without_empty()
        memory.state.counts[osfs.IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in split_block(filled):
            self.offer_piece(memory, piece)

    def offer_piece(self, memory: ColumnMemory[osfs.IndependenceState], block: ColumnBlock) -> None:
        """Learn the columns of a piece of a block."""
        params, state, target = self.params, memory.state, self.target
        values = centre_block(block)
        relevance, norms = correlate(block, values, target)
        is_relevant = np.abs(relevance) >= critical_correlation(params.alpha, target.n_rows)
        codes, n_levels = encode_for_tests(params.measure, block, target)
        tests = self.make_tests(int(max(1, n_levels.max(), state.n_levels[state.order[1:]].max())))
        if codes.size:
            columns = block.indptr, block.indices, codes, n_levels
            run_in_parts(
                block, lambda a, b: osfs.mark_related(state, tests, *columns, a, b, is_relevant)
            )
        candidates = np.flatnonzero(is_relevant & (norms > 0))
        state.counts[osfs.IRRELEVANT] += block.n_columns - candidates.size
        copies = np.full(block.n_columns, NO_COPY)
        new = osfs.NewColumns(
            block.indptr,
            block.indices,
            values,
            block.values,
            block.ids,
            codes,
            n_levels,
            relevance,
            norms,
            copies,
        )
        rule = self.fast, self.drops_copies, params.max_condition
        take_columns(
            memory,
            candidates.size,
            lambda state, n_taken: osfs.update_blanket(
                state, tests, *rule, new, target.weights, candidates, n_taken
            ),
        )
        self.note_copies(memory, block, copies)

    def kept(self, state: osfs.IndependenceState) -> tuple[I64, F64]:
        slots = state.order[1 : state.counts[osfs.KEPT] + 1]
        return state.ids[slots], np.abs(state.correlations[osfs.TARGET, slots])

    def held(self, state: osfs.IndependenceState) -> F64:
        return state.columns[state.order[1 : state.counts[osfs.KEPT] + 1]]

    def advice(self, state: osfs.IndependenceState) -> str:
        return advice_on_level(self.params.alpha)

    def counted(self, state: osfs.IndependenceState) -> dict[str, dict[str, int]]:
        return {"counts": dict(zip(FATES, state.counts.tolist(), strict=True))}

    def check(self, state: osfs.IndependenceState, sizes: dict[str, int], n_features: int) -> None:
        n_kept = int(state.counts[osfs.KEPT])
        check_slots(state.order, n_kept + 1)
        ensure(state.order[0] == osfs.TARGET, "its first slot is not that of the target")
        slots = state.order[: n_kept + 1]
        # Other slots may have codes of a column that was replaced.
        check_codes(state.codes, state.n_levels, slots[state.n_levels[slots] > 0])


class FastOsfsRule(OsfsRule):
    """OSFS that tests the new feature for redundancy first."""

    fast: ClassVar[bool] = True


OSFS_VARIANTS: tuple[dict[str, Any], ...] = (
    {"measure": "fisher_z"},
    {"measure": "g2", "max_condition": 2, "alpha": 0.1},
    {"measure": "chi2", "max_condition": 2},
    {"duplicates": "keep"},
)
OSFS = Method(
    "osfs", OSFSParameters, ColumnLearner, BOTH, rule=OsfsRule, check_variants=OSFS_VARIANTS
)
FAST_OSFS = Method(
    "fast-osfs",
    OSFSParameters,
    ColumnLearner,
    BOTH,
    rule=FastOsfsRule,
    check_variants=OSFS_VARIANTS,
    doc_override="""Fast-OSFS: OSFS that tests a new feature first, and the others only with it.

    A new feature that is redundant given kept ones is dropped at once. Otherwise the kept features
    are tested only given sets that contain the new one.

    Parameters
    ----------
    measure, alpha, max_condition, duplicates, task
        As in OSFS.

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
    counts_ : dict
        The number of features that were kept, irrelevant, redundant or replaced.
    n_duplicates_ : int
        The number of features dropped because they equal a kept one in every row.

    References
    ----------
    X. Wu, K. Yu, W. Ding, H. Wang, X. Zhu: Online feature selection with streaming features.
    IEEE Transactions on Pattern Analysis and Machine Intelligence 35, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.FastOSFS().fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """,
)


# ---- alpha-investing (Zhou, Foster, Stine, Ungar 2006)


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaInvestingParameters:
    """Alpha-investing, streamwise regression (Zhou, Foster, Stine, Ungar 2006).

    A feature is kept if it improves a linear model more than chance would. Every test spends some
    wealth, and every kept feature earns some, so tests can go on for as long as features arrive,
    and few irrelevant features are kept. Kept features are never dropped. Labels count as numbers.

    Parameters
    ----------
    wealth : float, default=0.5
        Initial wealth.
    payout : float, default=0.5
        Wealth that a kept feature earns.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA; labels count as numbers in any case.

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
    J. Zhou, D. P. Foster, R. A. Stine, L. H. Ungar: Streamwise feature selection. Journal of
    Machine Learning Research 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.AlphaInvesting().fit(X, y)
    >>> selector.get_support(indices=True)
    array([1, 3, 7])
    """

    wealth: float = parameter(0.5, WEALTH)
    payout: float = parameter(0.5, WEALTH)
    task: str = parameter("auto", one_of(*TASKS))


class InvestingRule(ColumnRule[investing.InvestingState]):
    """Spend wealth on every test and earn some for every kept feature."""

    def start(self) -> investing.InvestingState:
        target = self.target
        state = empty(investing.InvestingState, slots=FIRST_SLOTS, rows=target.n_rows)
        state.residual[:], state.wealth[0] = target.numbers, self.params.wealth
        state.error[0], state.counts[investing.SEEN] = target.numbers @ target.numbers, 1
        return state

    def offer(self, memory: ColumnMemory[investing.InvestingState], block: ColumnBlock) -> None:
        arguments = (
            float(self.params.payout),
            block.indptr,
            block.indices,
            centre_block(block),
            block.ids,
        )
        take_columns(
            memory,
            block.n_columns,
            lambda state, n_taken: investing.invest_in_columns(state, *arguments, n_taken),
        )

    def kept(self, state: investing.InvestingState) -> tuple[I64, F64]:
        n_kept = state.counts[investing.KEPT]
        return state.ids[:n_kept], state.scores[:n_kept]

    def advice(self, state: investing.InvestingState) -> str:
        return advice_on_strictness(
            "no feature improves the fit more than chance would",
            "wealth",
            float(self.params.wealth),
            MAX_WEALTH,
        )

    def check(
        self, state: investing.InvestingState, sizes: dict[str, int], n_features: int
    ) -> None:
        ensure(
            state.counts[investing.KEPT] <= sizes["slots"],
            "it keeps more features than it has slots",
        )
        ensure(
            np.isclose(state.error[0], state.residual @ state.residual, rtol=1e-6, atol=0.0),
            "its error does not match its residual",
        )


ALPHA_INVESTING = Method(
    "alpha-investing", AlphaInvestingParameters, ColumnLearner, BOTH, rule=InvestingRule
)


# ---- OGFS (Wang, Zhao, Hu, Cheung, Wang, Wu 2013)


@dataclass(eq=False, repr=False, kw_only=True)
class OGFSParameters:
    """Online group feature selection, OGFS (Wang, Zhao, Hu, Cheung, Wang, Wu 2013).

    Within a group a feature is kept if it raises the ratio of the scatter between and within
    classes, taken over all kept features, or if its own ratio differs significantly from the mean
    of theirs. When the group is complete, a sparse regression, the Lasso, decides which of all kept
    features stay. A group is complete when the next one begins; columns without groups are one
    group each. ``selection().groups`` has the group of each feature. Scores are weights in the
    regression.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Maximum number of features, those with the largest weights, applied when a group is
        complete. None keeps all that the rule keeps.
    epsilon : float, default=0.001
        Minimum increase of the ratio for a feature to be kept.
    alpha : float, default=0.05
        Significance level of the test of a feature's own ratio.
    regularization : float, default=None
        Penalty of the regression, between 0 and 1. The weight of a feature is 0 if its correlation
        with the residual of the others is at most this. None takes sqrt(2 ln(1 + p) / n), the
        largest correlation expected of p noise features, as many as have arrived, in n rows.

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
    counts_ : dict
        The number of features that were kept, irrelevant, redundant or replaced.

    References
    ----------
    J. Wang, Z.-Q. Zhao, X. Hu, Y.-M. Cheung, M. Wang, X. Wu: Online group feature selection.
    IJCAI 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> groups = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    >>> selector = ss.OGFS(n_features_to_select=2).fit(X, y, groups=groups)
    >>> selector.get_support(indices=True)
    array([3])
    """

    n_features_to_select: int | None = field(
        default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE)
    )
    epsilon: float = parameter(0.001, NOT_NEGATIVE)
    alpha: float = parameter(0.05, LEVEL)
    regularization: float | None = parameter(
        None,
        fits(
            lambda penalty: penalty is None or (is_number(penalty) and 0 < penalty < 1),
            "None or a number between 0 and 1",
        ),
    )


class OgfsRule(GroupRule):
    """Select by class scatter within a group, then by a sparse regression over all kept ones."""

    def sizes(self) -> dict[str, int]:
        n_classes = self.target.n_classes
        return {**super().sizes(), "regressions": 1 if n_classes == 2 else n_classes}

    def start(self) -> group_selection.GroupState:
        return empty(group_selection.GroupState, **self.sizes(), slots=FIRST_SLOTS)

    def make_kernel_rule(self) -> group_selection.GroupRule:
        """Return the rule in the form of kernels."""
        params = self.params
        return group_selection.GroupRule(
            float(params.epsilon),
            critical_t(float(params.alpha)),
            float(params.regularization or 0.0),
            int(params.n_features_to_select or NO_BUDGET),
        )

    def offer(self, memory: ColumnMemory[group_selection.GroupState], block: ColumnBlock) -> None:
        target, columns = self.target, (block.indptr, block.indices, centre_block(block))
        between, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        target_arrays = target.codes, target.class_counts
        run_in_parts(
            block,
            lambda a, b: group_selection.measure_class_scatter(
                *columns, *target_arrays, a, b, between, norms
            ),
        )
        new = group_selection.NewColumns(*columns, block.ids, groups_of(block), between, norms)
        arguments = self.make_kernel_rule(), new, *target_arrays, target.weights
        take_columns(
            memory,
            block.n_columns,
            lambda state, n_taken: group_selection.select_in_groups(state, *arguments, n_taken),
        )

    def close(self, state: group_selection.GroupState) -> None:
        group_selection.close_group(state, self.make_kernel_rule(), self.target.n_rows)

    def kept(self, state: group_selection.GroupState) -> tuple[I64, F64]:
        slots = state.order[: state.counts[group_selection.KEPT]]
        return state.ids[slots], np.abs(state.weights[slots]).max(axis=1)

    def advice(self, state: group_selection.GroupState) -> str:
        smaller = float(f"{(self.params.regularization or 0.1) / 10:g}")
        return f"try a smaller penalty: {spell('regularization', smaller)}"

    def counted(self, state: group_selection.GroupState) -> dict[str, dict[str, int]]:
        kept, _, irrelevant, redundant, _ = state.counts.tolist()
        return {"counts": {"kept": kept, "irrelevant": irrelevant, "redundant": redundant}}

    def check(
        self, state: group_selection.GroupState, sizes: dict[str, int], n_features: int
    ) -> None:
        n_kept = int(state.counts[group_selection.KEPT])
        check_slots(state.order, n_kept)
        ensure(
            state.counts[group_selection.CLOSED] <= n_kept,
            "its counters do not match the features it keeps",
        )


OGFS = Method(
    "ogfs",
    OGFSParameters,
    ColumnLearner,
    rule=OgfsRule,
    supports_groups=True,
    check_variants=(
        {"n_features_to_select": 2, "regularization": 0.1},
        {"epsilon": 0.1, "alpha": 0.5, "regularization": 0.2},
    ),
)


@lru_cache(maxsize=8)
def critical_t(alpha: float) -> F64:
    """Return the two-sided critical values of Student's t at a level, by degrees of freedom."""
    return np.asarray(
        stdtrit(np.maximum(np.arange(MAX_DEGREES_OF_FREEDOM), 1), 1.0 - alpha / 2.0), np.float64
    )
