"""The rules of first-order methods: weights for kept features alone, without a precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....kernels.rows.batch import Rows
from ....kernels.rows.curve import Curve
from ....kernels.rows.first_order import FirstOrderState, first_order_update
from ....kernels.rows.members import KEPT
from ....kernels.rows.partial import (
    ASKED,
    CENTRED,
    NOT_SCALED,
    PENDING,
    SPREAD,
    PartialState,
    RandomState,
    choose,
    partial_update,
    random_update,
)
from ....kernels.rows.scaling import NORMS, ROWS
from ....kernels.types import F64, I64
from ....state import empty
from ..addresses import Addresses
from ..integrity import check_heap, check_members, check_positions, kept_count
from ..memory import RowMemory
from .base import Kept, RowRule


@dataclass(frozen=True)
class FirstOrderRule(RowRule[FirstOrderState]):
    """PET and FOFS: the largest weights are kept, in a heap; ``shrink`` multiplies all of them before every row."""

    eta: float
    shrink: float
    radius: float
    trigger: int

    def start(self, budget: int, n_vectors: int) -> FirstOrderState:
        return empty(FirstOrderState, features=0, budget=budget, vectors=n_vectors)

    def update(self, state: FirstOrderState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]) -> None:
        first_order_update(state, ids, rows, curve, self.eta, self.shrink, self.radius, self.trigger)

    def kept(self, state: FirstOrderState, addresses: Addresses) -> Kept:
        kept, scale = state.counts[KEPT], state.scale[0]
        weights = scale * state.weight[:kept]
        return Kept(state.member_id[:kept], weights, np.abs(weights).max(axis=1))

    def bias(self, state: FirstOrderState) -> F64:
        bias: F64 = state.scale[0] * state.bias[:, 0]
        return bias

    def check(self, state: FirstOrderState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]) -> None:
        check_heap_of_weights(state, sizes["budget"], ids)


@dataclass(frozen=True)
class RandomRule(RowRule[RandomState]):
    """The perceptron on features that are drawn anew after every step."""

    eta: float
    trigger: int

    def start(self, budget: int, n_vectors: int) -> RandomState:
        return empty(RandomState, features=0, budget=budget, vectors=n_vectors)

    def update(self, state: RandomState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]) -> None:
        random_update(state, ids, rows, memory.random, self.eta, self.trigger, memory.declared_width)

    def kept(self, state: RandomState, addresses: Addresses) -> Kept:
        weights = state.weight[: state.counts[KEPT]]
        return Kept(state.member_id[: state.counts[KEPT]], weights, np.abs(weights).max(axis=1, initial=0.0))

    def check(self, state: RandomState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]) -> None:
        kept = kept_count(state.counts, sizes["budget"])
        check_members(state.slots, 1, state.member[:kept], state.member_id[:kept], ids)


@dataclass(frozen=True)
class PartialRule(RowRule[PartialState]):
    """OFS_P: with probability ``epsilon`` the attributes to see are drawn, otherwise they are those in use."""

    epsilon: float
    eta: float
    radius: float
    trigger: int
    standardizes: bool
    unit_length: bool
    share: float

    def start(self, budget: int, n_vectors: int) -> PartialState:
        return empty(PartialState, features=0, budget=budget, vectors=1)

    def ask(self, memory: RowMemory[PartialState]) -> I64:
        """Return the attributes to see of the next row, ascending; the same again until it is learned."""
        if memory.room() < memory.declared_width:
            memory.grow(memory.declared_width)
        state = memory.state
        if not state.question[PENDING]:
            choose(state, memory.random, self.epsilon, memory.declared_width)
            state.question[PENDING] = 1
        asked: I64 = state.asked[: state.question[ASKED]].copy()
        return asked

    def update(self, state: PartialState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]) -> None:
        partial_update(
            state,
            ids,
            rows,
            memory.random,
            self.epsilon,
            self.eta,
            self.radius,
            self.trigger,
            memory.declared_width,
            self.scaling(memory),
            self.unit_length,
            self.share,
        )

    def scaling(self, memory: RowMemory[Any]) -> int:
        """Return what happens to a value that is seen."""
        if not self.standardizes:
            return NOT_SCALED
        return CENTRED if memory.moments.dense[0] else SPREAD

    def kept(self, state: PartialState, addresses: Addresses) -> Kept:
        used = np.flatnonzero(state.weight[: state.counts[KEPT], 0])
        weights = state.scale[0] * state.weight[used]
        return Kept(state.member_id[used], weights, np.abs(weights[:, 0]))

    def bias(self, state: PartialState) -> F64:
        bias: F64 = state.scale[0] * state.bias[:, 0]
        return bias

    def constant(self, state: PartialState, share: float, totals: F64) -> float:
        return float(share * state.totals[NORMS] / max(1.0, state.totals[ROWS]))

    def check(self, state: PartialState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]) -> None:
        check_heap_of_weights(state, sizes["budget"], ids)
        features = np.arange(sizes["features"])
        if not np.array_equal(np.sort(state.shift + features), features):
            raise ValueError("the order of its features does not have each of them once")
        asked = state.question[ASKED]
        if asked > sizes["budget"] or (state.asked[:asked] >= max(1, features.size)).any():
            raise ValueError("it asks for features that there are not")


def check_heap_of_weights(state: FirstOrderState | PartialState, budget: int, ids: I64) -> None:
    """Raise ValueError if the kept features and their heap do not fit one another."""
    kept = kept_count(state.counts, budget)
    if not np.isfinite(state.squares).all():
        raise ValueError("the length of its weights is not a number")
    heap, member_id = state.heap[:kept], state.member_id[:kept]
    check_members(state.slots, 1, state.member[:kept], member_id, ids)
    check_heap(state.key[heap], heap, member_id)
    check_positions(heap, state.heap_position)
