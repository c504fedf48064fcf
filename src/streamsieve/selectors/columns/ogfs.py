"""OGFS: online group feature selection (Wang, Zhao, Hu, Cheung, Wang, Wu 2013), a rival of group-SAOLA."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ...blocks import ColumnBlock
from ...kernels.columns.group_selection import (
    CLOSED,
    KEPT,
    GroupRule,
    GroupState,
    NewColumns,
    close_group,
    scatter_of_classes,
    select_in_groups,
)
from ...state import empty
from ...targets import Target
from ..requirements import is_number, require, require_budget
from .centring import centred
from .groups import GroupLearner, groups_of
from .parts import in_parts, with_more_slots
from .saving import check_slots

NO_BUDGET = 2**31 - 1
MOST_FREEDOM = 1 << 12  # degrees: a test with more is judged as one with that many
FIRST_SLOTS = 16


@dataclass(eq=False, repr=False, kw_only=True)
class OGFSLearner(GroupLearner[GroupState]):
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

    method: ClassVar[str] = "ogfs"
    check_variants: ClassVar[tuple[dict[str, Any], ...]] = (
        {"n_features_to_select": 2, "regularization": 0.1},
        {"epsilon": 0.1, "alpha": 0.5, "regularization": 0.2},
    )

    n_features_to_select: int | None = field(default=None, kw_only=False)
    epsilon: float = 0.001
    alpha: float = 0.05
    regularization: float | None = None

    def check_parameters(self) -> None:
        require_budget(self.n_features_to_select)
        require(is_number(self.epsilon) and self.epsilon >= 0, "epsilon", self.epsilon, "a number of 0 or more")
        require(is_number(self.alpha) and 0 < self.alpha < 1, "alpha", self.alpha, "a number between 0 and 1")
        penalty: Any = self.regularization
        fits = penalty is None or (is_number(penalty) and 0 < penalty < 1)
        require(fits, "regularization", penalty, "None or a number between 0 and 1")

    def _start(self, target: Target) -> GroupState:
        return empty(GroupState, **self._sizes(target), slots=FIRST_SLOTS)

    def _sizes(self, target: Target) -> dict[str, int]:
        return {**super()._sizes(target), "regressions": 1 if target.n_classes == 2 else target.n_classes}

    def _rule(self) -> GroupRule:
        penalty = 0.0 if self.regularization is None else float(self.regularization)
        budget = NO_BUDGET if self.n_features_to_select is None else int(self.n_features_to_select)
        return GroupRule(float(self.epsilon), limits_of_t(float(self.alpha)), penalty, budget)

    def _offer(self, state: GroupState, block: ColumnBlock) -> GroupState:
        target, columns = self.memory.target, (block.indptr, block.indices, centred(block))
        between, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
        known = target.codes, target.class_counts
        in_parts(block, lambda a, b: scatter_of_classes(*columns, *known, a, b, between, norms))
        new = NewColumns(*columns, block.ids, groups_of(block), between, norms)
        done = 0
        while done < block.n_columns:
            if state.counts[KEPT] == state.order.size:
                state = self._grown(with_more_slots(state))
            done = select_in_groups(state, self._rule(), new, *known, target.weights, done)
        return state

    def _close(self, state: GroupState) -> None:
        close_group(state, self._rule(), self.n_rows_)

    def _kept(self, state: GroupState) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        slots = state.order[: state.counts[KEPT]]
        return state.ids[slots], np.abs(state.weights[slots]).max(axis=1)

    def _advice_if_too_strict(self) -> str:
        return f"try a smaller penalty: regularization={(self.regularization or 0.1) / 10:g}"

    @property
    def counts_(self) -> dict[str, int]:
        """What became of the features: kept, irrelevant within their group, redundant by the regressions or copies."""
        kept, _, irrelevant, redundant, _ = self._settled().counts.tolist()
        return {"kept": kept, "irrelevant": irrelevant, "redundant": redundant}

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), "counts": self.counts_}

    def _check_state(self, state: GroupState, sizes: dict[str, int]) -> None:
        kept = int(state.counts[KEPT])
        check_slots(state.order, kept)
        if state.counts[CLOSED] > kept:
            raise ValueError("what it has counted does not fit what it keeps")


@lru_cache(maxsize=8)
def limits_of_t(alpha: float) -> NDArray[np.float64]:
    """What the size of Student's t must reach at level ``alpha``, by degrees of freedom."""
    return np.asarray(stdtrit(np.maximum(np.arange(MOST_FREEDOM), 1), 1.0 - alpha / 2.0), np.float64)
