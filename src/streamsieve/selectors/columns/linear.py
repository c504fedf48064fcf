"""The base of algorithms that fit a linear model of few columns, out of all that come by."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import UsageError
from ...kernels.columns.slots import USED, Slots
from ...selection import Selection
from ...sources.base import DataSource
from ...state import State, changed
from ...targets import Kind, Target
from ..diagnosis import Look, Remark
from ..fitting import Fit, refit, slopes_at
from ..linear import LinearLearner, LinearModel, in_given_units, standardized
from ..requirements import is_integer, require
from .base import ColumnLearner
from .slots import HeldColumns, some_of, without_values

DEFAULT_SCANS = 2  # of data that can be read again
MOST_SCANS = 10_000
STRAYED = Remark(
    "steps too long",
    "warning",
    "the steps led away from the target: the weights they ended with are worse than none, and the selection as bad",
    "take a shorter step, a larger m, or solver='pool' of online-substitution, which needs neither",
)


class LinearState(State, Protocol):
    """What a rule has of the columns it holds: the columns, a weight for each, and the intercept."""

    @property
    def slots(self) -> Slots: ...

    @property
    def weights(self) -> NDArray[np.float64]: ...

    @property
    def level(self) -> NDArray[np.float64]: ...


L = TypeVar("L", bound=LinearState)


class Rule(Protocol[L]):
    """How columns are taken and dropped, for a target and a number of columns; made before a target is checked."""

    def start(self) -> L: ...

    def offer(self, state: L, block: ColumnBlock) -> L:
        """The state after some more columns; it may be the same, changed in place."""
        ...

    def finish(self, state: L) -> Fit:
        """The slots of the columns that are selected, with their weights; the state stays as it is."""
        ...

    def check(self, state: L, features: int) -> None:
        """Refuse, with a ValueError, a state whose arrays do not fit one another."""
        ...


class LinearColumnLearner(ColumnLearner[L], LinearLearner, Generic[L]):
    """Selects columns by the linear model they make together. An author writes ``_rule``."""

    takes_again: ClassVar[bool] = True

    n_scans: int | None

    def _rule(self, loss: int, y: NDArray[np.float64]) -> Rule[L]:
        """How columns are taken and dropped; ``loss`` is its code, ``y`` the target as it takes it."""
        raise NotImplementedError

    def check_parameters(self) -> None:
        LinearLearner.check_parameters(self)
        scans = self.n_scans
        fits = scans is None or (is_integer(scans) and 1 <= scans <= MOST_SCANS)
        require(fits, "n_scans", scans, f"None or an integer from 1 to {MOST_SCANS:,}")

    def passes_over(self, source: DataSource) -> int:
        self.check_parameters()
        if self.n_scans is None:
            return DEFAULT_SCANS if source.rewindable else 1
        if self.n_scans > 1 and not source.rewindable:
            raise UsageError(
                f"{source.name}: can be read only once, so n_scans={self.n_scans} is too many; set n_scans=1, or give "
                "the columns in a form that can be read again: a list of blocks, a matrix, a file"
            )
        return int(self.n_scans)

    def _read_target(self, y: Any, origin: str = "") -> Target:
        return self.read_target(y, origin)

    def _rule_for(self, target: Target) -> Rule[L]:
        return self._rule(self.loss_of(target), standardized(target))

    def _start(self, target: Target) -> L:
        return self._rule_for(target).start()

    def _offer(self, state: L, block: ColumnBlock) -> L:
        return self._rule_for(self.memory.target).offer(state, block)

    def _finish(self, state: L) -> L:
        target, slots = self.memory.target, state.slots
        fit = self._rule_for(target).finish(state)
        if self.refit and fit.columns.size:
            columns = HeldColumns(slots, target.n_rows)
            fit = refit(columns, self.loss_of(target), standardized(target), fit.columns)
        left = without_values(some_of(slots, fit.columns))
        return self._with_model(state, left, fit.weights, np.array([fit.intercept]))

    def _with_model(self, state: L, slots: Slots, weights: NDArray[np.float64], level: NDArray[np.float64]) -> L:
        """The state of a model: the columns that were selected, without their values, and no others."""
        return changed(state, slots=slots, weights=weights, level=level)

    def _kept(self, state: L) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        used = int(state.slots.ends[USED])
        return state.slots.ids[:used], np.abs(state.weights[:used])

    def kept_now(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Those with the largest weights: there may be candidates beside them, which have none yet or a small one."""
        ids, sizes = self._kept(self.memory.state)
        best = np.lexsort((ids, -sizes))[: int(self.n_features_to_select)]
        best = best[sizes[best] > 0.0]
        return ids[best], sizes[best]

    def _remarks(self, selection: Selection, look: Look) -> list[Remark]:
        state, target = self.memory.state, self.memory.target
        loss, y = self.loss_of(target), standardized(target)
        scores = HeldColumns(state.slots, target.n_rows).combine(state.weights, float(state.level[0]))
        strayed = slopes_at(loss, scores, y).loss > slopes_at(loss, np.zeros(y.size), y).loss
        return [*super()._remarks(selection, look), *([STRAYED] if strayed else [])]

    def learned_kind(self) -> Kind:
        return self.memory.target.kind

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), **self.linear_model().details()}

    def linear_model(self) -> LinearModel:
        state, target = self._settled(), self.memory.target
        slots, used = state.slots, int(state.slots.ends[USED])
        units = slots.centres[:used], slots.scales[:used]
        loss = self.loss_of(target)
        return in_given_units(target, loss, slots.ids[:used], state.weights[:used], float(state.level[0]), *units)

    def _check_state(self, state: L, sizes: dict[str, int]) -> None:
        self._rule_for(self.memory.target).check(state, self.n_features_in_)
