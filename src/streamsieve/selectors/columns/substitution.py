"""Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a linear model of few columns, out of a stream of them.

As published, which needs the length of a step, and by a pool of candidates, which needs none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...errors import DataError, prefix, spell
from ...kernels.arrays import array
from ...kernels.columns.pool import Looks, admit_columns, fit_pool, look_at_columns
from ...kernels.columns.slots import ALIKE, USED, Slots, correlate
from ...kernels.columns.substitution import Steps, substitute_columns
from ...kernels.losses import CURVATURE, SQUARED
from ...kernels.types import F64, I64
from ...state import copied, empty
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS, Fit, curvature, project, slopes_at
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, one_of, parameter
from .learner import ColumnLearner
from .linear import (
    SCANS,
    SHORTER,
    STEP,
    HeldColumns,
    LinearRule,
    check_slots_of_columns,
    keep,
    some_of,
    with_space,
)
from .memory import ColumnMemory
from .rules import in_parts, pieces

HALF = 0.5  # of the inverse of the largest second derivative: the step that the paper finds best (theorem 1)

# Of the pool.
POOL, MIN_POOL = (
    4,
    160,
)  # columns that stay in the pool, for each that is wanted, and that many at least
BLOCK = 4  # one more slot for so many that stay
BY_TARGET = 0.25  # of the pool
NEAR = 0.8  # of the weakest column's correlation: what a newcomer must exceed, as later fits shift all of them
SWEEPS = 5
FITS = 3  # of a loss that is not a parabola
START = (
    1.0,
    0.01,
    0.1,
)  # variances, against that of the response, and the chance of a weight that is not 0
OPEN = -1.0  # a correlation that all columns exceed
LOOKED_AT = 512  # columns at a time: after a cut the rest of them is looked at again


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineSubstitutionParameters:
    """Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): columns that make a linear model, out of a stream.

    Features come one by one, for regression or two classes; the memory is that of some columns,
    O(rows x ``n_features_to_select``), whatever the number that went by. Columns are standardised
    as they are held, sparse ones stay sparse. Of columns that are the same but for scale, one is
    kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many are selected: that many, unless fewer vary.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    solver : {"pool", "paper"}, default="pool"
        "pool" holds some more columns than are wanted and weighs them together; it needs no
        parameter. "paper" is algorithm 1 of the paper, whose answer depends on ``step`` and ``m``.
    n_scans : int or None, default=None
        How often the features are read: None for twice where the source can be read again, and once
        where not.
    step : float or None, default=None
        For "paper": the step of newcomers, eta; None for half of the longest that is safe for
        uncorrelated columns, 0.5 for squared and squared hinge, 2 for logistic.
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


# ---- as published: one column at a time, by steps of a fixed length


class SteppingState(NamedTuple):
    """The kept columns, and their weights."""

    slots: Slots  # one more than columns that are kept
    weights: F64 = array("slots")
    level: F64 = array(1)


class SteppingRule(LinearRule):
    """Algorithm 1; without a ``step``, half of the longest safe one."""

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        step = HALF / CURVATURE[self.loss] if params.step is None else float(params.step)
        self.steps = Steps(self.loss, step, float(params.m), self.wanted)

    def start(self) -> SteppingState:
        return empty(SteppingState, slots=0, room=0)

    def offer(self, memory: ColumnMemory[SteppingState], block: ColumnBlock) -> None:
        """Take some more columns; the state stays as it is where the weights diverge."""
        state, diverges = self.take(
            copied(memory.state), block, np.zeros(self.y.size), 1.0, self.steps
        )
        if diverges:
            raise diverged(block.origin, self.steps)
        memory.state = state

    def take(
        self, state: SteppingState, block: ColumnBlock, others: F64, alike: float, steps: Steps
    ) -> tuple[SteppingState, bool]:
        """The state after some more columns, and whether the weights diverge; arguments are those of the kernel."""
        columns = block.indptr, block.indices, block.values, block.ids
        at = 0
        while True:
            slots, weights, level = state
            at = substitute_columns(
                slots, weights, level, self.y, others, alike, steps, *columns, at
            )
            if at < 0 or at == block.n_columns:
                return state, at < 0
            state = with_space(state, block, at, self.wanted + 1)

    def check(self, state: SteppingState, sizes: dict[str, int], n_features: int) -> None:
        ensure(
            state.slots.ends[USED] <= self.wanted, "it keeps more features than it was asked for"
        )
        check_slots_of_columns(state.slots, self.y.size, n_features)


def diverged(origin: str, steps: Steps, other: str = "") -> DataError:
    """What to say where every step takes the weights further away."""
    return DataError(
        f"{prefix(origin)}the weights diverge: these columns correlate too much for"
        f" {spell('step', steps.step)} and {spell('m', steps.m)}; take a shorter step, a larger m,"
        f" or {other}{spell('solver', 'pool')}, which needs neither"
    )


# ---- without a step length: a pool of candidates


class PoolState(NamedTuple):
    """Columns in a pool, and what they are worth."""

    slots: Slots
    gram: F64 = array(
        "fitted", "fitted"
    )  # correlations of the columns that stayed at the last cut, the first ones
    weights: F64 = array("slots")
    marginals: F64 = array("slots")  # |correlation| with the target
    # variance of errors, of weights that are not 0, and how many are not; zeros before the first
    # fit
    prior: F64 = array(3, low=0)
    residual: F64 = array("rows")  # what is not explained, of mean 0
    level: F64 = array(1)  # the intercept
    bars: F64 = array(2, start=OPEN)  # what a newcomer must exceed: by the residual, by the target


class PoolRule(LinearRule):
    """Holds several times as many columns as are wanted, of which the best stay.

    Yang, Fujimaki, Kusumura, Liu 2016 replace one kept column at a time, by a step of gradient
    descent whose length decides what comes in. Here several times as many columns as are wanted are
    held, standardised, with their correlations:

    - A newcomer is let in if it correlates with what the pool does not explain, or with the target, nearly as much
      as the weakest column that was let stay. Nearly all columns of a long stream cost one look,
      O(n).
    - When all slots are taken the pool is fitted, and cut: a quarter of it are the columns that correlate most with
      the target, whatever came before them; the rest are those that would explain most if all
      others stayed as they are.
    - At the end projected gradient goes from the pool down to the number wanted.

    A fit takes time quadratic in the size of the pool; other losses than the squared one are fitted
    by their parabola at the scores so far, three times over.
    """

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.size = max(POOL * self.wanted, MIN_POOL)
        self.capacity = self.size + self.size // BLOCK
        first = slopes_at(self.loss, np.zeros(self.y.size), self.y).first
        self.response = first.mean() - first  # what there is to explain, of mean 0

    def start(self) -> PoolState:
        state = empty(PoolState, slots=0, room=0, fitted=0, rows=self.y.size)
        state.residual[:] = self.response
        return state

    def offer(self, memory: ColumnMemory[PoolState], block: ColumnBlock) -> None:
        state = memory.state
        for piece in pieces(block, LOOKED_AT, block.n_nonzero):
            state = self.offer_piece(state, piece)
        memory.state = state

    def offer_piece(self, state: PoolState, block: ColumnBlock) -> PoolState:
        """Let columns in; fit and cut the pool whenever it is full."""
        looks = Looks(*np.zeros((4, block.n_columns)))
        self.look(state, block, looks, 0)
        at = 0
        while True:
            known = state.slots, state.marginals, block.n_rows, state.bars, looks
            at = admit_columns(*known, block.indptr, block.indices, block.values, block.ids, at)
            if at == block.n_columns:
                return state
            if state.slots.ends[USED] < self.capacity:
                state = with_space(state, block, at, self.capacity)
            else:
                state = self.cut(state)
                self.look(state, block, looks, at)

    def look(self, state: PoolState, block: ColumnBlock, looks: Looks, first: int) -> None:
        """Measure columns against what is not explained, on threads if there are many."""
        rest = block.columns(first, block.n_columns)
        mine = Looks(*(array[first:] for array in looks))

        def look(start: int, stop: int) -> None:
            look_at_columns(
                state.residual,
                self.response,
                rest.indptr,
                rest.indices,
                rest.values,
                start,
                stop,
                mine,
            )

        in_parts(rest, look)

    def cut(self, state: PoolState) -> PoolState:
        """Fit all columns, and drop those that are worth least."""
        gram = self.correlations(state)
        state = self.keep(state, gram, different(gram, state.slots))
        gains = self.weigh(state)
        by_target = strongest(
            state.marginals[: gains.size], np.arange(gains.size), int(BY_TARGET * self.size)
        )
        others = np.delete(np.arange(gains.size), by_target)
        by_gain = strongest(np.abs(gains), others, self.size - by_target.size)
        if by_gain.size < others.size:
            state.bars[:] = (
                NEAR * np.abs(gains[by_gain]).min(),
                NEAR * state.marginals[by_target].min(),
            )
            state = self.keep(state, state.gram, np.sort(np.concatenate([by_target, by_gain])))
        self.explain(state)
        return state

    def correlations(self, state: PoolState) -> F64:
        """Those of all columns, newcomers with them."""
        used, known = int(state.slots.ends[USED]), len(state.gram)
        gram = np.zeros((used, used))
        gram[:known, :known] = state.gram
        correlate(state.slots, self.y.size, known, used, gram)
        return gram

    def keep(self, state: PoolState, gram: F64, chosen: I64) -> PoolState:
        """Drop all columns but some."""
        keep(state.slots, chosen, state.weights, state.marginals)
        return state._replace(gram=gram[np.ix_(chosen, chosen)])

    def weigh(self, state: PoolState) -> F64:
        """Weigh the columns; what each would explain if all others stayed as they are."""
        columns = HeldColumns(state.slots, self.y.size)
        used = columns.count
        weights, gains = state.weights[:used], np.zeros(used)
        for _ in range(1 if self.loss == SQUARED else FITS):
            scores = columns.combine(weights, state.level[0])
            now = slopes_at(self.loss, scores, self.y)
            response = scores - now.first / curvature(self.loss, now.second)
            state.level[0] = response.mean()
            response -= state.level[0]
            square = float(response @ response) / self.y.size
            if not state.prior.any():
                state.prior[:] = square * START[0], square * START[1], START[2]
            responses = columns.products(response)
            fit_pool(
                state.gram,
                responses,
                square,
                self.y.size,
                self.wanted,
                SWEEPS,
                state.prior,
                weights,
                gains,
            )
        return gains

    def explain(self, state: PoolState) -> None:
        """What the columns that stayed do not explain."""
        scores = HeldColumns(state.slots, self.y.size).combine(state.weights, state.level[0])
        now = slopes_at(self.loss, scores, self.y)
        residual = -now.first / curvature(self.loss, now.second)
        state.residual[:] = residual - residual.mean()

    def fit(self, state: PoolState) -> Fit:
        """Return the best columns of the pool, and a model of them."""
        chosen = different(self.correlations(state), state.slots)
        fit = project(
            HeldColumns(some_of(state.slots, chosen), self.y.size), self.loss, self.y, self.wanted
        )
        return fit._replace(columns=chosen[fit.columns])

    def check(self, state: PoolState, sizes: dict[str, int], n_features: int) -> None:
        ensure(
            state.slots.ids.size <= self.capacity and len(state.gram) <= state.slots.ends[USED],
            "its pool has more columns than its parameters say, or correlations of columns it"
            " lacks",
        )
        check_slots_of_columns(state.slots, self.y.size, n_features)


def different(gram: F64, slots: Slots) -> I64:
    """The columns that are not the same, but for their scale, as one of lower id."""
    used = int(slots.ends[USED])
    ids = slots.ids[:used]
    alike = np.abs(gram[:used, :used]) > ALIKE
    return np.flatnonzero(~(alike & (ids[None, :] < ids[:, None])).any(axis=1))


def strongest(values: F64, among: I64, most: int) -> I64:
    """Those with the largest values; of equal ones the first."""
    return among[np.argsort(-values[among], kind="stable")[:most]]


def substitution_rule(params: OnlineSubstitutionParameters, target: Target) -> LinearRule:
    """Return the rule of the solver that is asked for."""
    return PoolRule(params, target) if params.solver == "pool" else SteppingRule(params, target)


ONLINE_SUBSTITUTION = Method(
    "online-substitution",
    OnlineSubstitutionParameters,
    ColumnLearner,
    BOTH,
    rule=substitution_rule,
    predicts=True,
    selects_again=True,
    check_variants=({"solver": "paper"}, {"loss": "squared"}, {"n_features_to_select": 3}),
)
