"""Grafting (Perkins, Theiler 2003) of a stream of columns: a linear model with an L1 penalty of those that are held."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.arrays import array
from ...kernels.columns.grafting import (
    descend_coordinates,
    next_newcomer,
    solve_equations,
    weigh_products,
)
from ...kernels.columns.slots import ALIKE, TOP, USED, Slots, put_column
from ...kernels.losses import CURVATURE, SQUARED
from ...kernels.types import F64, I64
from ...state import MAX_NUMBER, empty
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS, MIN_CURVATURE, Slopes, slopes_at
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, fits, is_number, parameter
from .learner import ColumnLearner
from .linear import (
    SCANS,
    HeldColumns,
    LinearRule,
    check_slots_of_columns,
    keep,
    length_at,
    with_room,
    with_twice_the_slots,
)
from .memory import ColumnMemory

FRACTION, MINIMUM = 0, 1  # entries of ``falls``
START = 1e-3  # of the standard deviation of the slopes before any column: where penalty=None begins
MIN_DEVIATION = 1e-200  # of a standard deviation
WORTH_A_FALL = 0.98  # of the penalty: to more it does not fall
MORE = 1e-4  # of the penalty, beyond it: what a newcomer must have
TOLERANCE = 1e-6  # of the penalty: how exactly a problem is solved
MAX_STEPS = 200
MAX_HALVINGS = 30
ANEW = 4  # steps after which the quadratic model is made anew
MAX_RISES = 100
FLAT = 1e-9  # a second derivative that is as good as none
NEARLY, SHORT = (
    0.5,
    1e-3,
)  # of a rise that a quadratic model finds, while it is more than so much of the penalty
LASSO_SWEEPS = 20  # before the equations of the weights that are not 0 are solved
LASSO_ROUNDS = 50


@dataclass(eq=False, repr=False, kw_only=True)
class GraftingParameters:
    """Grafting (Perkins, Theiler 2003): columns that make a linear model with an L1 penalty, out of a stream.

    A feature is let in if it would lower the loss by more than the penalty, then the problem over
    all that are held is solved, and those whose weight becomes 0 are dropped. It is what Yang,
    Fujimaki, Kusumura, Liu 2016 (section 2.2) compare online substitution with. Columns are
    standardised as they are held, sparse ones stay sparse. Of columns that are the same but for
    scale, the first is kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        The most features that are held and selected. With one more the penalty rises, just enough
        that one goes.
    penalty : float or None, default=None
        The weight of the L1 penalty beside the mean loss, for standardised features and a target of
        variance 1, from which it rises if it must. None begins with so little that the number of
        features alone decides.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    n_scans : int or None, default=None
        How often the features are read: None for twice where the source can be read again, and once
        where not.
    refit : bool, default=True
        Whether the model is fitted, without the penalty, on the selected columns.
    """

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    penalty: float | None = parameter(
        None,
        fits(
            lambda penalty: penalty is None or (is_number(penalty) and 0 < penalty <= MAX_NUMBER),
            f"None or a number above 0, up to {MAX_NUMBER:g}",
        ),
    )
    loss: str = parameter("auto", LOSS)
    n_scans: int | None = parameter(None, SCANS)
    refit: bool = parameter(True, YES_OR_NO)


class GraftingState(NamedTuple):
    """The held columns, their weights, and the quadratic model of the loss that finds them."""

    slots: Slots  # one more, at most, than columns that may be held
    weights: F64 = array("slots")
    level: F64 = array(1)  # the intercept
    penalty: F64 = array(1, low=0)
    # for penalty=None: the fraction of the slopes' standard deviation that it falls to; its least
    falls: F64 = array(2, low=0)
    gram: F64 = array("slots", "slots")  # products under the curvatures
    middles: F64 = array("slots")  # means under the curvatures
    curvatures: F64 = array("rows", low=0, start=1)
    slopes: F64 = array("rows")  # the derivative of the loss by the score, less its mean


class GraftingRule(LinearRule):
    """A linear model of columns with an L1 penalty, which rises where too many are held."""

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.penalty = None if params.penalty is None else float(params.penalty)

    def start(self) -> GraftingState:
        rows = self.y.size
        state = empty(GraftingState, slots=0, room=0, rows=rows)
        self.model_anew(state, slopes_at(self.loss, np.zeros(rows), self.y))
        self.solve(state)
        state.falls[:] = START, START * state.slopes.std()
        state.penalty[0] = state.falls[MINIMUM] if self.penalty is None else self.penalty
        return state

    def offer(self, memory: ColumnMemory[GraftingState], block: ColumnBlock) -> None:
        state, columns = memory.state, (block.indptr, block.indices, block.values, block.ids)
        at = 0
        while True:
            bar = (1.0 + MORE) * float(state.penalty[0])
            at, mean, scale = next_newcomer(state.slots, state.slopes, bar, *columns, at)
            if at == block.n_columns:
                memory.state = state
                return
            length = length_at(block, at)
            if state.slots.ends[USED] == state.slots.ids.size:
                state = with_twice_the_slots(state, self.wanted + 1)
            if state.slots.ends[TOP] + length > state.slots.values.size:
                state = state._replace(slots=with_room(state.slots, length))
            used, span = (
                int(state.slots.ends[USED]),
                (int(block.indptr[at]), int(block.indptr[at + 1])),
            )
            unit = block.n_rows, mean, scale
            put_column(
                state.slots, used, int(block.ids[at]), *unit, block.indices, block.values, *span
            )
            state.slots.ends[USED] += 1
            weigh_products(state.slots, state.curvatures, used, state.gram, state.middles)
            self.take_in(state)
            at += 1

    def take_in(self, state: GraftingState) -> None:
        """Solve the problem with a newcomer, in the last slot, and drop what it makes superfluous."""
        used = int(state.slots.ends[USED])
        sizes = np.sqrt(np.diag(state.gram)[:used])
        if (
            np.abs(state.gram[used - 1, : used - 1]) > ALIKE * sizes[-1] * sizes[:-1]
        ).any():  # there is another such
            self.keep(state, np.arange(used - 1))
            return
        self.solve(state)
        if state.slots.ends[USED] > self.wanted:
            self.raise_penalty(state)
        lower = max(float(state.falls[FRACTION] * state.slopes.std()), float(state.falls[MINIMUM]))
        if self.penalty is None and lower < WORTH_A_FALL * state.penalty[0]:
            state.penalty[0] = lower
            self.solve(state)

    def raise_penalty(self, state: GraftingState) -> None:
        """Raise the penalty, just enough that no more columns are held than may be."""
        for rises in range(1, MAX_RISES + 1):
            used = int(state.slots.ends[USED])
            if used <= self.wanted:
                break
            more, first = rise(self.bend(state)[:used, :used], state.weights[:used])
            is_last = self.loss == SQUARED or more <= SHORT * state.penalty[0] or rises == MAX_RISES
            state.penalty[0] += more if is_last else NEARLY * more
            if is_last:
                self.keep(state, np.delete(np.arange(used), first))
            self.solve(state)
        state.falls[FRACTION] = state.penalty[0] / max(float(state.slopes.std()), MIN_DEVIATION)

    def bend(self, state: GraftingState) -> F64:
        """The products of the held columns under the second derivatives at their weights, as they are."""
        if self.loss == SQUARED:
            return state.gram
        scores = HeldColumns(state.slots, self.y.size).combine(state.weights, float(state.level[0]))
        second = np.maximum(slopes_at(self.loss, scores, self.y).second, FLAT)
        gram = np.zeros_like(state.gram)
        weigh_products(state.slots, second, 0, gram, np.zeros_like(state.middles))
        return gram

    def solve(self, state: GraftingState) -> None:
        """Minimise the mean loss + penalty |w|_1 over the held columns, and drop those whose weight is 0.

        By quadratic models, each minimised exactly, and steps that are halved while the objective
        rises.
        """
        columns = HeldColumns(state.slots, self.y.size)
        used, penalty = columns.count, float(state.penalty[0])
        weights, level = state.weights[:used].copy(), float(state.level[0])
        now = slopes_at(self.loss, columns.combine(weights, level), self.y)
        for step in range(MAX_STEPS):
            pulls, drift = columns.products(now.first), float(now.first.mean())
            if is_solved(weights, pulls, drift, penalty):
                break
            if step % ANEW == ANEW - 1:
                self.model_anew(state, now)
            gram, middles = state.gram[:used, :used], state.middles[:used]
            towards = gram @ weights - pulls + middles * drift
            change = lasso(gram, towards, penalty, 0.1 * TOLERANCE * penalty, weights) - weights
            shift = -drift / state.curvatures.mean() - float(middles @ change)
            best = now.loss + penalty * float(np.abs(weights).sum())
            for _ in range(MAX_HALVINGS):
                then = slopes_at(
                    self.loss, columns.combine(weights + change, level + shift), self.y
                )
                if then.loss + penalty * float(np.abs(weights + change).sum()) <= best:
                    break
                change, shift = change / 2.0, shift / 2.0
            else:
                break  # as near as numbers can tell
            weights, level, now = weights + change, level + shift, then
        state.weights[:used], state.level[0] = weights, level
        state.slopes[:] = now.first - now.first.mean()
        if not weights.all():
            self.keep(state, np.flatnonzero(weights))

    def model_anew(self, state: GraftingState, now: Slopes) -> None:
        """Take the quadratic model from how the loss bends at some scores."""
        if self.loss != SQUARED:
            state.curvatures[:] = np.maximum(now.second, MIN_CURVATURE * CURVATURE[self.loss])
            weigh_products(state.slots, state.curvatures, 0, state.gram, state.middles)

    def keep(self, state: GraftingState, chosen: I64) -> None:
        count = chosen.size
        keep(state.slots, chosen, state.weights, state.middles)
        state.gram[:count, :count] = state.gram[np.ix_(chosen, chosen)]

    def advice(self, state: GraftingState) -> str:
        return f"try a smaller penalty: {state.penalty[0] / 10:g}"

    def details(self, state: GraftingState) -> dict[str, Any]:
        return {"penalty": float(state.penalty[0])}

    def check(self, state: GraftingState, sizes: dict[str, int], n_features: int) -> None:
        ensure(
            state.slots.ids.size <= self.wanted + 1 and state.slots.ends[USED] <= self.wanted,
            "it holds more features than it was asked for",
        )
        ensure(
            (state.curvatures >= MIN_CURVATURE * CURVATURE[self.loss]).all(),
            "its loss is flatter than it can be",
        )
        check_slots_of_columns(state.slots, self.y.size, n_features)


def is_solved(weights: F64, pulls: F64, drift: float, penalty: float) -> bool:
    """Whether no weight, nor the intercept, would change the objective much."""
    off = np.where(
        weights != 0.0, np.abs(pulls + penalty * np.sign(weights)), np.abs(pulls) - penalty
    )
    return bool(max(off.max(initial=0.0), abs(drift)) <= max(TOLERANCE * penalty, 1e-14))


# ---- a linear model with an L1 penalty, of columns whose products are known


def lasso(gram: F64, pulls: F64, penalty: float, enough: float, weights: F64) -> F64:
    """The weights that minimise w'Hw / 2 - pulls'w + penalty |w|_1, from some weights.

    Coordinate descent finds which are not 0. Where it is slow, as with columns that nearly follow
    from others, those are solved for, and the weights go as far towards the solution as none of
    them changes its sign (Lee, Battle, Raina, Ng 2007): along that line the objective falls.
    """
    weights = weights.copy()
    for _ in range(LASSO_ROUNDS):
        if descend_coordinates(gram, pulls, penalty, enough, LASSO_SWEEPS, weights):
            break
        live = np.flatnonzero(weights)
        change = (
            solve_equations(gram, live, pulls[live] - penalty * np.sign(weights[live]))
            - weights[live]
        )
        step, first = until_zero(weights[live], -change)
        weights[live] += min(step, 1.0) * change
        if step <= 1.0:
            weights[live[first]] = 0.0
    return weights


def rise(gram: F64, weights: F64) -> tuple[float, int]:
    """By how much the penalty can rise until a weight becomes 0, in a quadratic model of the loss; and which does.

    No weight may be 0. Where no rise does that, as rounding may have it, the smallest weight goes
    at once.
    """
    more, first = until_zero(
        weights, solve_equations(gram, np.arange(weights.size), np.sign(weights))
    )
    return (more, first) if np.isfinite(more) else (0.0, int(np.argmin(np.abs(weights))))


def until_zero(weights: F64, shrink: F64) -> tuple[float, int]:
    """How far weights can go, ``shrink`` less per step, until the first is 0; and which that is."""
    steps = np.full(weights.size, np.inf)
    falls = weights * shrink > 0.0
    steps[falls] = weights[falls] / shrink[falls]
    first = int(np.argmin(steps)) if steps.size else 0
    return (float(steps[first]) if steps.size else np.inf), first


GRAFTING = Method(
    "grafting",
    GraftingParameters,
    ColumnLearner,
    BOTH,
    rule=GraftingRule,
    predicts=True,
    check_variants=(
        {"loss": "squared"},
        {"loss": "squared_hinge"},
        {"n_features_to_select": 3},
        {"penalty": 0.1},
    ),
)
