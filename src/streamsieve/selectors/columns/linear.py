"""Rules that fit a linear model of few columns, out of all that come by."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.columns.slots import USED, Slots
from ...kernels.types import F64, I64
from ...state import State, changed
from ...targets import Target
from ..diagnosis import Remark
from ..fitting import Fit, in_given_units, loss_of, refit, slopes_at, standardized
from ..parameters import fits, is_integer, is_number
from ..prediction import LinearModel
from .memory import ColumnMemory
from .rules import ColumnRule
from .slots import HeldColumns, some_of, without_values

MOST_SCANS = 10_000
STRAYED = Remark(
    "steps too long",
    "warning",
    "the steps led away from the target: the weights they ended with are worse than none, and the selection as bad",
    "take a shorter step, a larger m, or the solver 'pool' of online-substitution, which needs neither",
)

# What parameters may be.
SCANS = fits(
    lambda scans: scans is None or (is_integer(scans) and 1 <= scans <= MOST_SCANS),
    f"None or an integer from 1 to {MOST_SCANS:,}",
)
STEP = fits(lambda step: step is None or (is_number(step) and step > 0), "None or a number above 0")
SHORTER = fits(lambda m: is_number(m) and m >= 1, "a number of 1 or more")


class LinearState(State, Protocol):
    """What a solver has of the columns it holds: the columns, a weight for each, and the intercept."""

    @property
    def slots(self) -> Slots: ...

    @property
    def weights(self) -> F64: ...

    @property
    def level(self) -> F64: ...


L = TypeVar("L", bound=LinearState)


class LinearSolver(Generic[L]):
    """How columns are taken and dropped, for a loss, a target as it takes it and a number of columns."""

    def start(self) -> L:
        """Return a fresh state."""
        raise NotImplementedError

    def offer(self, state: L, block: ColumnBlock) -> L:
        """Return the state after some more columns; it may be the same, changed in place."""
        raise NotImplementedError

    def finish(self, state: L) -> Fit:
        """Return the slots of the columns that are selected, with their weights; the state stays as it is."""
        used = int(state.slots.ends[USED])
        return Fit(np.arange(used), state.weights[:used].copy(), float(state.level[0]))

    def check(self, state: L, features: int) -> None:
        """Raise ValueError if the arrays of a state from a file do not fit one another."""
        raise NotImplementedError

    def ids(self, state: L) -> I64:
        """Return the features that are held."""
        return state.slots.ids[: state.slots.ends[USED]]

    def with_model(self, state: L, slots: Slots, weights: F64, level: F64) -> L:
        """Return the state of a model: the columns that were selected, without their values, and no others."""
        return changed(state, slots=slots, weights=weights, level=level)


class LinearRule(ColumnRule[L]):
    """Selects columns by the linear model they make together; its parameters make the solver (``solver_for``)."""

    takes_again: ClassVar[bool] = True

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.loss, self.y = loss_of(target, params.loss), standardized(target)
        self.solver: LinearSolver[L] = params.solver_for(self.loss, self.y)

    def start(self) -> L:
        return self.solver.start()

    def offer(self, memory: ColumnMemory[L], block: ColumnBlock) -> None:
        memory.state = self.solver.offer(memory.state, block)

    def finish(self, state: L) -> L:
        slots, fit = state.slots, self.solver.finish(state)
        if self.params.refit and fit.columns.size:
            fit = refit(HeldColumns(slots, self.target.n_rows), self.loss, self.y, fit.columns)
        left = without_values(some_of(slots, fit.columns))
        return self.solver.with_model(state, left, fit.weights, np.array([fit.intercept]))

    def kept(self, state: L) -> tuple[I64, F64]:
        used = int(state.slots.ends[USED])
        return state.slots.ids[:used], np.abs(state.weights[:used])

    def kept_now(self, state: L) -> tuple[I64, F64]:
        """Return those with the largest weights: candidates beside them have none yet, or a small one."""
        ids, sizes = self.kept(state)
        best = np.lexsort((ids, -sizes))[: int(self.params.n_features_to_select)]
        best = best[sizes[best] > 0.0]
        return ids[best], sizes[best]

    def remembered(self, state: L) -> I64:
        return self.solver.ids(state)

    def remarks(self, state: L) -> list[Remark]:
        scores = HeldColumns(state.slots, self.target.n_rows).combine(state.weights, float(state.level[0]))
        nothing = slopes_at(self.loss, np.zeros(self.y.size), self.y).loss
        return [STRAYED] if slopes_at(self.loss, scores, self.y).loss > nothing else []

    def linear_model(self, state: L) -> LinearModel:
        slots, used = state.slots, int(state.slots.ends[USED])
        units = slots.centres[:used], slots.scales[:used]
        ids, weights = slots.ids[:used], state.weights[:used]
        return in_given_units(self.target, self.loss, ids, weights, float(state.level[0]), *units)

    def check(self, state: L, sizes: dict[str, int], n_features: int) -> None:
        self.solver.check(state, n_features)
