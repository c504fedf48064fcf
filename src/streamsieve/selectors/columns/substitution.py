"""Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a linear model of few columns, out of a stream of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...errors import DataError, prefix, spell
from ...kernels.arrays import array
from ...kernels.columns.slots import USED, Slots
from ...kernels.columns.substitution import Steps, substitute_columns
from ...kernels.losses import CURVATURE
from ...kernels.types import F64
from ...state import copied, empty
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, one_of, parameter
from .learner import ColumnLearner
from .linear import SCANS, SHORTER, STEP, LinearRule, LinearSolver
from .pool import Pool
from .slots import check_slots_of_columns, length_at, with_room, with_twice_the_slots

HALF = 0.5  # of the inverse of the largest second derivative: the step that the paper finds best (theorem 1)


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineSubstitutionParameters:
    """Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): columns that make a linear model, out of a stream.

    Features come one by one, for regression or two classes; the memory is that of some columns, O(rows x
    ``n_features_to_select``), whatever the number that went by. Columns are standardised as they are held, sparse ones
    stay sparse. Of columns that are the same but for scale, one is kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many are selected: that many, unless fewer vary.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    solver : {"pool", "paper"}, default="pool"
        "pool" holds some more columns than are wanted and weighs them together; it needs no parameter. "paper" is
        algorithm 1 of the paper, whose answer depends on ``step`` and ``m``.
    n_scans : int or None, default=None
        How often the features are read: None for twice where the source can be read again, and once where not.
    step : float or None, default=None
        For "paper": the step of newcomers, eta; None for half of the longest that is safe for uncorrelated columns, 0.5
        for squared and squared hinge, 2 for logistic.
    m : float, default=1.0
        For "paper": kept columns step by ``step / m``.
    refit : bool, default=True
        Whether the model is fitted to the end on the selected columns.
    """

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    loss: str = parameter("auto", LOSS)
    solver: str = parameter("pool", one_of("pool", "paper"))
    n_scans: int | None = parameter(None, SCANS)
    step: float | None = parameter(None, STEP)
    m: float = parameter(1.0, SHORTER)
    refit: bool = parameter(True, YES_OR_NO)

    def rule_for(self, method: Method, target: Target) -> LinearRule[Any]:
        """Return how columns are taken and dropped."""
        return LinearRule(self, target)

    def solver_for(self, loss: int, y: F64) -> LinearSolver[Any]:
        """Return what finds the columns."""
        wanted = int(self.n_features_to_select)
        return Pool(loss, y, wanted) if self.solver == "pool" else Stepping(loss, y, wanted, self.step, self.m)


ONLINE_SUBSTITUTION = Method(
    "online-substitution",
    OnlineSubstitutionParameters,
    ColumnLearner,
    BOTH,
    predicts=True,
    selects_again=True,
    check_variants=({"solver": "paper"}, {"loss": "squared"}, {"n_features_to_select": 3}),
)


# ---- as published: one column at a time, by steps of a fixed length


class SteppingState(NamedTuple):
    """The kept columns, and their weights."""

    slots: Slots  # one more than columns that are kept
    weights: F64 = array("slots")
    level: F64 = array(1)


class Stepping(LinearSolver[SteppingState]):
    """Algorithm 1, for a loss, a target and a number of columns; without a ``step``, half of the longest safe one."""

    def __init__(self, loss: int, y: F64, wanted: int, step: float | None, m: float) -> None:
        self.y, self.wanted = y, wanted
        self.steps = Steps(loss, HALF / CURVATURE[loss] if step is None else float(step), float(m), wanted)

    def start(self) -> SteppingState:
        return empty(SteppingState, slots=0, room=0)

    def offer(self, state: SteppingState, block: ColumnBlock) -> SteppingState:
        """The state after some more columns; what is given stays whole, where the weights diverge."""
        state, diverges = self.take(copied(state), block, np.zeros(self.y.size), 1.0, self.steps)
        if diverges:
            raise diverged(block.origin, self.steps)
        return state

    def take(
        self, state: SteppingState, block: ColumnBlock, others: F64, alike: float, steps: Steps
    ) -> tuple[SteppingState, bool]:
        """The state after some more columns, and whether the weights diverge; arguments are those of the kernel."""
        columns = block.indptr, block.indices, block.values, block.ids
        at = 0
        while True:
            slots, weights, level = state
            at = substitute_columns(slots, weights, level, self.y, others, alike, steps, *columns, at)
            if at < 0 or at == block.n_columns:
                return state, at < 0
            state = self.with_space(state, block, at)

    def with_space(self, state: SteppingState, block: ColumnBlock, column: int) -> SteppingState:
        """The same columns, with a free slot, or with room for the values of one more."""
        if state.slots.ends[USED] == state.slots.ids.size:
            return with_twice_the_slots(state, self.wanted + 1)
        return state._replace(slots=with_room(state.slots, length_at(block, column)))

    def check(self, state: SteppingState, features: int) -> None:
        ensure(state.slots.ends[USED] <= self.wanted, "it keeps more features than it was asked for")
        check_slots_of_columns(state.slots, self.y.size, features)


def diverged(origin: str, steps: Steps, other: str = "") -> DataError:
    """What to say where every step takes the weights further away."""
    return DataError(
        f"{prefix(origin)}the weights diverge: these columns correlate too much for {spell('step', steps.step)} and "
        f"{spell('m', steps.m)}; take a shorter step, a larger m, or {other}{spell('solver', 'pool')}, which needs "
        "neither"
    )
