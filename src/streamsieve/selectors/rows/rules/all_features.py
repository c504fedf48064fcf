"""The rules of methods with a weight for every feature: the budget limits the selection alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ....kernels.rows.all_features import ArowState, GradientState, arow_update, gradient_update
from ....kernels.rows.batch import Rows
from ....kernels.rows.curve import Curve
from ....kernels.types import F64, I64
from ....state import empty, negate
from ..addresses import Addresses
from ..estimates import Estimates, Positions
from ..memory import RowMemory
from .base import Kept, MergingRule, RowRule


@dataclass(frozen=True)
class GradientRule(RowRule[GradientState]):
    """OGD, and with a penalty FOBOS: every weight comes nearer to 0 with every row."""

    eta: float
    penalty: float = 0.0
    keeps_all: ClassVar[bool] = True

    def start(self, budget: int, n_vectors: int) -> GradientState:
        return empty(GradientState, features=0, vectors=n_vectors)

    def update(self, state: GradientState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]) -> None:
        gradient_update(state, rows, self.eta, self.penalty)

    def kept(self, state: GradientState, addresses: Addresses) -> Kept:
        debt = (state.owed[0] - state.paid)[:, None]
        weights = np.sign(state.weight) * np.maximum(0.0, np.abs(state.weight) - debt)
        positions = np.flatnonzero(weights.any(axis=1))
        scores = np.abs(weights[positions]).max(axis=1, initial=0.0)
        return Kept(addresses.ids_of(positions), weights[positions], scores)


@dataclass(frozen=True)
class ArowRule(MergingRule[ArowState]):
    """AROW, diagonal: a precision for every weight."""

    gamma: float
    keeps_all: ClassVar[bool] = True

    def start(self, budget: int, n_vectors: int) -> ArowState:
        return empty(ArowState, features=0, vectors=n_vectors, cell_width=2 * n_vectors)

    def update(self, state: ArowState, ids: I64, rows: Rows, curve: Curve | None, memory: RowMemory[Any]) -> None:
        arow_update(state, rows, self.gamma)

    def kept(self, state: ArowState, addresses: Addresses) -> Kept:
        n_vectors = state.bias.shape[0]
        positions = np.flatnonzero(state.cells.any(axis=1))
        excess, weights = state.cells[positions, :n_vectors], state.cells[positions, n_vectors:]
        return Kept(addresses.ids_of(positions), weights, np.sqrt((weights**2 * (1.0 + excess)).sum(axis=1)))

    def negate(self, state: ArowState) -> None:
        negate(state.cells[:, 1:])
        negate(state.bias[:, 0])

    def stored(self, state: ArowState, positions: Positions) -> Estimates:
        return Estimates(*np.split(state.cells[positions], 2, axis=1))

    def cells(self, estimates: Estimates) -> F64:
        return np.hstack(estimates)

    def check(self, state: ArowState, sizes: dict[str, int], ids: I64, memory: RowMemory[Any]) -> None:
        excess, weights = np.split(state.cells, 2, axis=1)
        with np.errstate(over="ignore"):
            beyond = not np.isfinite((weights**2 * (1.0 + excess)).sum(axis=1)).all()
        if beyond or (excess < 0.0).any():
            raise ValueError("it has weights or precisions that cannot be learned")
