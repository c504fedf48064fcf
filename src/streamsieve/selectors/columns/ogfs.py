"""OGFS: online group feature selection (Wang, Zhao, Hu, Cheung, Wang, Wu 2013), a rival of group-SAOLA."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import stdtrit

from ...blocks import ColumnBlock
from ...errors import spell
from ...kernels.columns.group_selection import (
    CLOSED,
    KEPT,
    GroupState,
    NewColumns,
    close_group,
    scatter_of_classes,
    select_in_groups,
)
from ...kernels.columns.group_selection import GroupRule as GroupRuleOfKernels
from ...kernels.types import F64, I64
from ...state import empty
from ..base import Method
from ..parameters import BUDGET_OR_NONE, LEVEL, NOT_NEGATIVE, checked, ensure, fits, is_number, parameter
from .learner import ColumnLearner
from .measures import MOST_FREEDOM
from .memory import ColumnMemory
from .rules import FIRST_SLOTS, NO_BUDGET, GroupRule, centred, check_slots, groups_of, in_parts, take_columns


@dataclass(eq=False, repr=False, kw_only=True)
class OGFSParameters:
    """Online group feature selection (Wang, Zhao, Hu, Cheung, Wang, Wu 2013): class scatter, then sparse regression.

    Within a group a feature stays if it raises the ratio of scatter between and within classes, taken over all kept
    features, or if its own ratio differs significantly from the mean of theirs. When the group is complete, a sparse
    regression, the Lasso, decides which of all kept features stay. A group is complete when the next one begins;
    columns that come without groups are a group each. ``selection().groups`` has the group of each feature. Scores are
    weights in the regression.

    Parameters
    ----------
    n_features_to_select : int, default=None
        None keeps what the rule keeps; a number keeps that many at most, of the largest weights, cut when a group
        closes.
    epsilon : float, default=0.001
        By how much a feature must raise the ratio.
    alpha : float, default=0.05
        The level of the test of a feature's own ratio.
    regularization : float, default=None
        The penalty of the regression, between 0 and 1: the correlation with what other features leave of the target up
        to which a feature is worth nothing. None takes sqrt(2 ln(1 + p) / n), the largest that p features of noise, as
        many as have come so far, would show in n rows.
    """

    n_features_to_select: int | None = field(default=None, kw_only=False, metadata=checked(BUDGET_OR_NONE))
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

    def start(self) -> GroupState:
        return empty(GroupState, **self.sizes(), slots=FIRST_SLOTS)

    def kernel_rule(self) -> GroupRuleOfKernels:
        """Return the rule as kernels take it."""
        params = self.params
        penalty = 0.0 if params.regularization is None else float(params.regularization)
        budget = NO_BUDGET if params.n_features_to_select is None else int(params.n_features_to_select)
        return GroupRuleOfKernels(float(params.epsilon), limits_of_t(float(params.alpha)), penalty, budget)

    def offer(self, memory: ColumnMemory[GroupState], block: ColumnBlock) -> None:
        target, columns = self.target, (block.indptr, block.indices, centred(block))
        between, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.codes, target.class_counts
        in_parts(block, lambda a, b: scatter_of_classes(*columns, *known, a, b, between, norms))
        new = NewColumns(*columns, block.ids, groups_of(block), between, norms)
        given = self.kernel_rule(), new, *known, target.weights
        take_columns(memory, block.n_columns, lambda state, done: select_in_groups(state, *given, done))

    def close(self, state: GroupState) -> None:
        close_group(state, self.kernel_rule(), self.target.n_rows)

    def kept(self, state: GroupState) -> tuple[I64, F64]:
        slots = state.order[: state.counts[KEPT]]
        return state.ids[slots], np.abs(state.weights[slots]).max(axis=1)

    def advice(self, state: GroupState) -> str:
        smaller = float(f"{(self.params.regularization or 0.1) / 10:g}")
        return f"try a smaller penalty: {spell('regularization', smaller)}"

    def counted(self, state: GroupState) -> dict[str, dict[str, int]]:
        kept, _, irrelevant, redundant, _ = state.counts.tolist()
        return {"counts": {"kept": kept, "irrelevant": irrelevant, "redundant": redundant}}

    def check(self, state: GroupState, sizes: dict[str, int], n_features: int) -> None:
        kept = int(state.counts[KEPT])
        check_slots(state.order, kept)
        ensure(state.counts[CLOSED] <= kept, "what it has counted does not fit what it keeps")


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
    return np.asarray(stdtrit(np.maximum(np.arange(MOST_FREEDOM), 1), 1.0 - alpha / 2.0), np.float64)
