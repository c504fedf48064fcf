"""Online substitution as published: one column at a time, by steps of a fixed length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, prefix
from ...kernels.arrays import array
from ...kernels.columns.slots import USED, Slots
from ...kernels.columns.substitution import Steps, substitute_columns
from ...kernels.losses import CURVATURE
from ...state import copied, empty
from ..fitting import Fit
from .slots import check_slots_of_columns, length_at, with_room, with_twice_the_slots

F64 = NDArray[np.float64]

HALF = 0.5  # of the inverse of the largest second derivative: the step that the paper finds best (theorem 1)


class SteppingState(NamedTuple):
    """The kept columns, and their weights."""

    slots: Slots  # one more than columns that are kept
    weights: F64 = array("slots")
    level: F64 = array(1)


class Stepping:
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

    def finish(self, state: SteppingState) -> Fit:
        used = int(state.slots.ends[USED])
        return Fit(np.arange(used), state.weights[:used].copy(), float(state.level[0]))

    def check(self, state: SteppingState, features: int) -> None:
        """Refuse, with a ValueError, a state whose arrays do not fit one another."""
        if state.slots.ends[USED] > self.wanted:
            raise ValueError("it keeps more features than it was asked for")
        check_slots_of_columns(state.slots, self.y.size, features)


def diverged(origin: str, steps: Steps, instead: str = "solver='pool'") -> DataError:
    """What to say where every step takes the weights further away."""
    return DataError(
        f"{prefix(origin)}the weights diverge: these columns correlate too much for step={steps.step:g} and "
        f"m={steps.m:g}; take a shorter step, a larger m, or {instead}, which needs neither"
    )
