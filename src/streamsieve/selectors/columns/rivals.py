"""What the papers of SAOLA compare it with, feature by feature: OSFS and Fast-OSFS, alpha-investing; by groups OGFS."""

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
from ...kernels.columns.dependence import correlate_with_target
from ...kernels.columns.independence import Tests
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
    coded_for,
    least_correlation,
    levels_of_target,
    prepared_tests,
)
from .memory import ColumnMemory
from .rules import (
    FIRST_SLOTS,
    NO_BUDGET,
    ColumnRule,
    CopyDropper,
    GroupRule,
    centred,
    check_codes,
    check_slots,
    groups_of,
    in_parts,
    pieces,
    take_columns,
)

MAX_WEALTH = 1.0
WEALTH = fits(lambda value: is_number(value) and 0 < value <= MAX_WEALTH, "above 0, and 1 at most")


# ---- OSFS (Wu, Yu, Ding, Wang, Zhu 2013)


@dataclass(eq=False, repr=False, kw_only=True)
class OSFSParameters:
    """Online streaming feature selection (Wu, Yu, Ding, Wang, Zhu 2013): relevance, then redundancy given others.

    A feature that a test finds independent of the target is dropped. The others join; then every
    kept feature that is independent of the target given some of the others, ``max_condition`` at
    most, is dropped.

    Parameters
    ----------
    measure : {"auto", "fisher_z", "g2", "chi2"}, default="auto"
        The test: partial correlation with Fisher's Z, where labels count as numbers, or from counts
        G2 or Pearson's chi squared. "auto" takes G2 where all features of a test are discrete,
        integers with at most 32 different values, and the target has classes.
    alpha : float, default=0.01
        The level of the tests.
    max_condition : int, default=3
        The largest set of features to condition on; time grows with the number of kept features to
        that power.
    duplicates : {"drop", "keep"}, default="drop"
        What becomes of a feature that is equal to a kept one in every row, as in SAOLA. "keep"
        decides by the tests alone: of copies that determine one another a test by correlation says
        nothing, so that all of them stay.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA.
    """

    measure: str = parameter("auto", TEST)
    alpha: float = parameter(0.01, LEVEL)
    max_condition: int = parameter(3, CONDITION)
    duplicates: str = parameter("drop", one_of("drop", "keep"))
    task: str = parameter("auto", one_of(*TASKS))


class OsfsRule(CopyDropper[osfs.IndependenceState]):
    """Relevance by a test, then redundancy given some of the others."""

    fast: ClassVar[bool] = False  # whether a newcomer is asked first whether it is redundant

    def sizes(self) -> dict[str, int]:
        counted = levels_of_target(self.target, self.params.measure) > 0
        return {**super().sizes(), "code_rows": self.target.n_rows * counted}

    def start(self) -> osfs.IndependenceState:
        n_classes = levels_of_target(self.target, self.params.measure)
        state = empty(osfs.IndependenceState, **self.sizes(), slots=FIRST_SLOTS)
        if n_classes:
            state.codes[osfs.TARGET], state.n_levels[osfs.TARGET] = self.target.codes, n_classes
        return state

    def tests(self, most_levels: int) -> Tests:
        """Return the tests, for columns of no more levels than that."""
        params, n_classes = self.params, max(1, self.target.class_counts.size)
        cells = min(osfs.MAX_CELLS, n_classes * most_levels ** (params.max_condition + 1))
        return prepared_tests(
            params.alpha, params.measure, self.target.n_rows, params.max_condition + 2, cells
        )

    def offer(self, memory: ColumnMemory[osfs.IndependenceState], block: ColumnBlock) -> None:
        filled = block.without_empty()
        memory.state.counts[osfs.IRRELEVANT] += block.n_columns - filled.n_columns
        for piece in pieces(filled):
            self.offer_piece(memory, piece)

    def offer_piece(self, memory: ColumnMemory[osfs.IndependenceState], block: ColumnBlock) -> None:
        """Take the columns of a part of a block."""
        params, state, target, columns = (
            self.params,
            memory.state,
            self.target,
            (block.indptr, block.indices, centred(block)),
        )
        relevance, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.weights, target.numbers
        in_parts(
            block, lambda a, b: correlate_with_target(*columns, *known, a, b, relevance, norms)
        )
        related = np.abs(relevance) >= least_correlation(params.alpha, target.n_rows)
        codes, n_levels = coded_for(params.measure, block, target)
        tests = self.tests(int(max(1, n_levels.max(), state.n_levels[state.order[1:]].max())))
        if codes.size:
            columns_coded = block.indptr, block.indices, codes, n_levels
            in_parts(
                block,
                lambda a, b: osfs.relate_by_counts(state, tests, *columns_coded, a, b, related),
            )
        candidates = np.flatnonzero(related & (norms > 0))
        state.counts[osfs.IRRELEVANT] += block.n_columns - candidates.size
        copies = np.full(block.n_columns, NO_COPY)
        new = osfs.NewColumns(
            *columns, block.values, block.ids, codes, n_levels, relevance, norms, copies
        )
        given = (
            tests,
            self.fast,
            self.drops_copies,
            params.max_condition,
            new,
            target.weights,
            candidates,
        )
        take_columns(
            memory, candidates.size, lambda state, done: osfs.update_blanket(state, *given, done)
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
        kept, irrelevant, redundant, replaced = state.counts.tolist()
        return {
            "counts": {
                "kept": kept,
                "irrelevant": irrelevant,
                "redundant": redundant,
                "replaced": replaced,
            }
        }

    def check(self, state: osfs.IndependenceState, sizes: dict[str, int], n_features: int) -> None:
        kept = int(state.counts[osfs.KEPT])
        check_slots(state.order, kept + 1)
        ensure(state.order[0] == osfs.TARGET, "its first slot is not the target's")
        slots = state.order[: kept + 1]
        discrete = slots[
            state.n_levels[slots] > 0
        ]  # others may have codes of a column that was there before
        check_codes(state.codes, state.n_levels, discrete)


class FastOsfsRule(OsfsRule):
    """The same, a newcomer first."""

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
    own_doc="""OSFS that asks a newcomer first whether it is redundant, and the others only with sets that it is in.

    Parameters
    ----------
    measure, alpha, max_condition, duplicates, task
        As in OSFS.
    """,
)


# ---- alpha-investing (Zhou, Foster, Stine, Ungar 2006)


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaInvestingParameters:
    """Streamwise regression (Zhou, Foster, Stine, Ungar 2006): keeps what improves a model more than chance would.

    Every test spends some wealth, every feature that is kept earns some: so tests can go on for as
    long as features come, and few are kept that mean nothing. What is kept stays. Labels count as
    numbers.

    Parameters
    ----------
    wealth : float, default=0.5
        What there is to spend at the start.
    payout : float, default=0.5
        What a kept feature earns.
    task : {"auto", "classification", "regression"}, default="auto"
        As in SAOLA; labels count as numbers in any case.
    """

    wealth: float = parameter(0.5, WEALTH)
    payout: float = parameter(0.5, WEALTH)
    task: str = parameter("auto", one_of(*TASKS))


class InvestingRule(ColumnRule[investing.InvestingState]):
    """Every test spends some wealth, every feature that is kept earns some."""

    def start(self) -> investing.InvestingState:
        target = self.target
        state = empty(investing.InvestingState, slots=FIRST_SLOTS, rows=target.n_rows)
        state.residual[:], state.wealth[0] = target.numbers, self.params.wealth
        state.error[0], state.counts[investing.SEEN] = target.numbers @ target.numbers, 1
        return state

    def offer(self, memory: ColumnMemory[investing.InvestingState], block: ColumnBlock) -> None:
        given = float(self.params.payout), block.indptr, block.indices, centred(block), block.ids
        take_columns(
            memory,
            block.n_columns,
            lambda state, done: investing.invest_in_columns(state, *given, done),
        )

    def kept(self, state: investing.InvestingState) -> tuple[I64, F64]:
        kept = state.counts[investing.KEPT]
        return state.ids[:kept], state.scores[:kept]

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
            "its error is not that of its residual",
        )


ALPHA_INVESTING = Method(
    "alpha-investing", AlphaInvestingParameters, ColumnLearner, BOTH, rule=InvestingRule
)


# ---- OGFS (Wang, Zhao, Hu, Cheung, Wang, Wu 2013)


@dataclass(eq=False, repr=False, kw_only=True)
class OGFSParameters:
    """Online group feature selection (Wang, Zhao, Hu, Cheung, Wang, Wu 2013): class scatter, then sparse regression.

    Within a group a feature stays if it raises the ratio of scatter between and within classes,
    taken over all kept features, or if its own ratio differs significantly from the mean of theirs.
    When the group is complete, a sparse regression, the Lasso, decides which of all kept features
    stay. A group is complete when the next one begins; columns that come without groups are a group
    each. ``selection().groups`` has the group of each feature. Scores are weights in the
    regression.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None keeps what the rule keeps; a number keeps that many at most, of the largest weights,
        cut when a group closes.
    epsilon : float, default=0.001
        By how much a feature must raise the ratio.
    alpha : float, default=0.05
        The level of the test of a feature's own ratio.
    regularization : float, default=None
        The penalty of the regression, between 0 and 1: the correlation with what other features
        leave of the target up to which a feature is worth nothing. None takes sqrt(2 ln(1 + p) /
        n), the largest that p features of noise, as many as have come so far, would show in n rows.
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
    """Class scatter within a group, then a sparse regression over all that is kept."""

    def sizes(self) -> dict[str, int]:
        n_classes = self.target.n_classes
        return {**super().sizes(), "regressions": 1 if n_classes == 2 else n_classes}

    def start(self) -> group_selection.GroupState:
        return empty(group_selection.GroupState, **self.sizes(), slots=FIRST_SLOTS)

    def kernel_rule(self) -> group_selection.GroupRule:
        """Return the rule as kernels take it."""
        params = self.params
        penalty = 0.0 if params.regularization is None else float(params.regularization)
        budget = (
            NO_BUDGET if params.n_features_to_select is None else int(params.n_features_to_select)
        )
        return group_selection.GroupRule(
            float(params.epsilon), limits_of_t(float(params.alpha)), penalty, budget
        )

    def offer(self, memory: ColumnMemory[group_selection.GroupState], block: ColumnBlock) -> None:
        target, columns = self.target, (block.indptr, block.indices, centred(block))
        between, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.codes, target.class_counts
        in_parts(
            block,
            lambda a, b: group_selection.scatter_of_classes(*columns, *known, a, b, between, norms),
        )
        new = group_selection.NewColumns(*columns, block.ids, groups_of(block), between, norms)
        given = self.kernel_rule(), new, *known, target.weights
        take_columns(
            memory,
            block.n_columns,
            lambda state, done: group_selection.select_in_groups(state, *given, done),
        )

    def close(self, state: group_selection.GroupState) -> None:
        group_selection.close_group(state, self.kernel_rule(), self.target.n_rows)

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
        kept = int(state.counts[group_selection.KEPT])
        check_slots(state.order, kept)
        ensure(
            state.counts[group_selection.CLOSED] <= kept,
            "what it has counted does not fit what it keeps",
        )


OGFS = Method(
    "ogfs",
    OGFSParameters,
    ColumnLearner,
    rule=OgfsRule,
    knows_groups=True,
    check_variants=(
        {"n_features_to_select": 2, "regularization": 0.1},
        {"epsilon": 0.1, "alpha": 0.5, "regularization": 0.2},
    ),
)


@lru_cache(maxsize=8)
def limits_of_t(alpha: float) -> F64:
    """What the size of Student's t must reach at level ``alpha``, by degrees of freedom."""
    return np.asarray(
        stdtrit(np.maximum(np.arange(MAX_DEGREES_OF_FREEDOM), 1), 1.0 - alpha / 2.0), np.float64
    )
