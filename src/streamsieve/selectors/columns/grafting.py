"""Grafting (Perkins, Theiler 2003): a linear model with an L1 penalty, from a stream of columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...kernels.arrays import array
from ...kernels.columns.grafting import (
    descend_coordinates,
    extend_gram,
    find_newcomer,
    solve_equations,
)
from ...kernels.columns.slots import ALIKE, TOP, USED, Slots, put_column
from ...kernels.losses import CURVATURE, SQUARED
from ...kernels.types import F64, I64
from ...state import MAX_NUMBER, empty
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS, MIN_CURVATURE, Slopes, loss_slopes
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, fits, is_number, parameter
from .learner import ColumnLearner
from .linear import (
    SCANS,
    HeldColumns,
    LinearRule,
    check_slots_of_columns,
    double_slots,
    held_length_at,
    keep,
    make_room,
)
from .memory import ColumnMemory

FRACTION, MINIMUM = 0, 1  # entries of ``falls``
# Initial penalty for penalty=None, as a fraction of the standard deviation of the slopes at 0.
INITIAL_PENALTY = 1e-3
MIN_DEVIATION = 1e-200  # smallest standard deviation to divide by
MIN_FALL = 0.98  # of the penalty: it does not fall to a larger fraction
ENTRY_MARGIN = 1e-4  # of the penalty: by how much the slope of a new column must exceed it
TOLERANCE = 1e-6  # of the penalty: precision of a solution
MAX_STEPS = 200
MAX_HALVINGS = 30
REBUILD_STEPS = 4  # steps after which the quadratic model is computed again
MAX_RISES = 100
MIN_SECOND = 1e-9  # smallest second derivative: less counts as none
# A rise found by a quadratic model is damped while it is more than this fraction of the penalty.
DAMPING, SMALL_RISE = 0.5, 1e-3
LASSO_SWEEPS = 20  # before the equations of the non-zero weights are solved
LASSO_ROUNDS = 50


@dataclass(eq=False, repr=False, kw_only=True)
class GraftingParameters:
    """Grafting (Perkins, Theiler 2003): an L1-penalised linear model from a stream of columns.

    A feature is added if it would lower the loss by more than the penalty. Then the problem over
    all held features is solved, and those whose weight becomes 0 are dropped. Yang, Fujimaki,
    Kusumura, Liu 2016 (section 2.2) compare online substitution with it. Held columns are
    standardised, and sparse ones stay sparse. Of columns that are equal but for scale, the first
    is kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        Maximum number of features that are held and selected. When there is one more, the penalty
        rises just enough that one is dropped.
    penalty : float or None, default=None
        Weight of the L1 penalty beside the mean loss, for standardised features and a target of
        variance 1. It rises from this value if too many features are held. None starts with a
        penalty so small that only ``n_features_to_select`` decides.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        Loss that the model minimises. "auto" is squared for numbers and logistic for two classes.
    n_scans : int or None, default=None
        Number of times that the features are read. None reads twice if the source can be read
        again, otherwise once.
    refit : bool, default=True
        If True, fit the model again on the selected columns, without the penalty.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    coef_ : sparse array or ndarray
        The weights of the model; zero for features that are not selected.
    intercept_ : ndarray or float
        The score of a row whose features are all zero.
    support_ : ndarray of bool
        A mask over all features: True for the selected ones.
    scores_ : ndarray
        The scores of the selected features, in the order of ``get_support(indices=True)``.
    n_features_in_ : int
        The number of features seen.
    n_rows_ : int
        The number of rows learned.
    penalty_ : float
        The final penalty.

    References
    ----------
    S. Perkins, J. Theiler: Online feature selection using grafting. ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.Grafting(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
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
    """The held columns, their weights, and the quadratic model of the loss."""

    slots: Slots  # at most one more than columns that may be held
    weights: F64 = array("slots")
    level: F64 = array(1)  # the intercept
    penalty: F64 = array(1, low=0)
    # For penalty=None: the fraction of the slopes' deviation that it falls to, and its minimum.
    falls: F64 = array(2, low=0)
    gram: F64 = array("slots", "slots")  # products weighted by the curvatures
    middles: F64 = array("slots")  # means weighted by the curvatures
    curvatures: F64 = array("rows", low=0, start=1)
    slopes: F64 = array("rows")  # derivatives of the loss by the scores, minus their mean


class GraftingRule(LinearRule):
    """A linear model of columns with an L1 penalty, which rises when too many are held."""

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.penalty = None if params.penalty is None else float(params.penalty)

    def start(self) -> GraftingState:
        rows = self.y.size
        state = empty(GraftingState, slots=0, room=0, rows=rows)
        self.update_model(state, loss_slopes(self.loss, np.zeros(rows), self.y))
        self.solve(state)
        state.falls[:] = INITIAL_PENALTY, INITIAL_PENALTY * state.slopes.std()
        state.penalty[0] = state.falls[MINIMUM] if self.penalty is None else self.penalty
        return state

    def offer(self, memory: ColumnMemory[GraftingState], block: ColumnBlock) -> None:
        state, columns = memory.state, (block.indptr, block.indices, block.values, block.ids)
        column = 0
        while True:
            threshold = (1.0 + ENTRY_MARGIN) * float(state.penalty[0])
            column, mean, scale = find_newcomer(
                state.slots, state.slopes, threshold, *columns, column
            )
            if column == block.n_columns:
                memory.state = state
                return
            length = held_length_at(block, column)
            if state.slots.ends[USED] == state.slots.ids.size:
                state = double_slots(state, self.wanted + 1)
            if state.slots.ends[TOP] + length > state.slots.values.size:
                state = state._replace(slots=make_room(state.slots, length))
            n_used = int(state.slots.ends[USED])
            put_column(
                state.slots,
                n_used,
                int(block.ids[column]),
                block.n_rows,
                mean,
                scale,
                block.indices,
                block.values,
                int(block.indptr[column]),
                int(block.indptr[column + 1]),
            )
            state.slots.ends[USED] += 1
            extend_gram(state.slots, state.curvatures, n_used, state.gram, state.middles)
            self.admit(state)
            column += 1

    def admit(self, state: GraftingState) -> None:
        """Solve the problem with the new column, in the last slot, unless it equals a held one."""
        n_used = int(state.slots.ends[USED])
        lengths = np.sqrt(np.diag(state.gram)[:n_used])
        # The new column equals one that is held.
        if (
            np.abs(state.gram[n_used - 1, : n_used - 1]) > ALIKE * lengths[-1] * lengths[:-1]
        ).any():
            self.keep(state, np.arange(n_used - 1))
            return
        self.solve(state)
        if state.slots.ends[USED] > self.wanted:
            self.raise_penalty(state)
        lower = max(float(state.falls[FRACTION] * state.slopes.std()), float(state.falls[MINIMUM]))
        if self.penalty is None and lower < MIN_FALL * state.penalty[0]:
            state.penalty[0] = lower
            self.solve(state)

    def raise_penalty(self, state: GraftingState) -> None:
        """Raise the penalty just enough that at most ``wanted`` columns are held."""
        for n_rises in range(1, MAX_RISES + 1):
            n_used = int(state.slots.ends[USED])
            if n_used <= self.wanted:
                break
            rise, first_zero = find_rise(
                self.compute_hessian(state)[:n_used, :n_used], state.weights[:n_used]
            )
            is_last = (
                self.loss == SQUARED
                or rise <= SMALL_RISE * state.penalty[0]
                or n_rises == MAX_RISES
            )
            state.penalty[0] += rise if is_last else DAMPING * rise
            if is_last:
                self.keep(state, np.delete(np.arange(n_used), first_zero))
            self.solve(state)
        state.falls[FRACTION] = state.penalty[0] / max(float(state.slopes.std()), MIN_DEVIATION)

    def compute_hessian(self, state: GraftingState) -> F64:
        """Return the products of the held columns, weighted by the exact second derivatives."""
        if self.loss == SQUARED:
            return state.gram
        scores = HeldColumns(state.slots, self.y.size).combine(state.weights, float(state.level[0]))
        second = np.maximum(loss_slopes(self.loss, scores, self.y).second, MIN_SECOND)
        gram = np.zeros_like(state.gram)
        extend_gram(state.slots, second, 0, gram, np.zeros_like(state.middles))
        return gram

    def solve(self, state: GraftingState) -> None:
        """Minimise mean loss + penalty |w|_1 over the held columns, and drop those of weight 0.

        The method minimises a sequence of quadratic models exactly, and halves a step while the
        objective rises.
        """
        columns = HeldColumns(state.slots, self.y.size)
        n_used, penalty = columns.count, float(state.penalty[0])
        weights, level = state.weights[:n_used].copy(), float(state.level[0])
        current = loss_slopes(self.loss, columns.combine(weights, level), self.y)
        for step in range(MAX_STEPS):
            gradient, mean_slope = columns.products(current.first), float(current.first.mean())
            if is_solved(weights, gradient, mean_slope, penalty):
                break
            if step % REBUILD_STEPS == REBUILD_STEPS - 1:
                self.update_model(state, current)
            gram, middles = state.gram[:n_used, :n_used], state.middles[:n_used]
            linear_term = gram @ weights - gradient + middles * mean_slope
            change = (
                solve_lasso(gram, linear_term, penalty, 0.1 * TOLERANCE * penalty, weights)
                - weights
            )
            shift = -mean_slope / state.curvatures.mean() - float(middles @ change)
            objective = current.loss + penalty * float(np.abs(weights).sum())
            for _ in range(MAX_HALVINGS):
                trial = loss_slopes(
                    self.loss, columns.combine(weights + change, level + shift), self.y
                )
                if trial.loss + penalty * float(np.abs(weights + change).sum()) <= objective:
                    break
                change, shift = change / 2.0, shift / 2.0
            else:
                break  # converged to the precision of the numbers
            weights, level, current = weights + change, level + shift, trial
        state.weights[:n_used], state.level[0] = weights, level
        state.slopes[:] = current.first - current.first.mean()
        if not weights.all():
            self.keep(state, np.flatnonzero(weights))

    def update_model(self, state: GraftingState, slopes: Slopes) -> None:
        """Compute the quadratic model from the second derivatives of the loss."""
        if self.loss != SQUARED:
            state.curvatures[:] = np.maximum(slopes.second, MIN_CURVATURE * CURVATURE[self.loss])
            extend_gram(state.slots, state.curvatures, 0, state.gram, state.middles)

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
            "it holds more features than n_features_to_select",
        )
        ensure(
            (state.curvatures >= MIN_CURVATURE * CURVATURE[self.loss]).all(),
            "its curvatures are below the minimum",
        )
        check_slots_of_columns(state.slots, self.y.size, n_features)


def is_solved(weights: F64, gradient: F64, mean_slope: float, penalty: float) -> bool:
    """Return True if the optimality conditions of weights and intercept hold within tolerance."""
    violations = np.where(
        weights != 0.0, np.abs(gradient + penalty * np.sign(weights)), np.abs(gradient) - penalty
    )
    return bool(
        max(violations.max(initial=0.0), abs(mean_slope)) <= max(TOLERANCE * penalty, 1e-14)
    )


# ---- a linear model with an L1 penalty, of columns whose products are known


def solve_lasso(gram: F64, linear_term: F64, penalty: float, tolerance: float, weights: F64) -> F64:
    """Return the weights that minimise w'Hw / 2 - b'w + penalty |w|_1, from initial ``weights``.

    H is ``gram`` and b is ``linear_term``.

    Coordinate descent finds which weights are not 0. Where it is slow, as with columns that nearly
    depend linearly on others, the equations of these weights are solved, and the weights move
    towards the solution until the first one becomes 0 (Lee, Battle, Raina, Ng 2007): along that
    line the objective falls.
    """
    weights = weights.copy()
    for _ in range(LASSO_ROUNDS):
        if descend_coordinates(gram, linear_term, penalty, tolerance, LASSO_SWEEPS, weights):
            break
        nonzero = np.flatnonzero(weights)
        change = (
            solve_equations(
                gram, nonzero, linear_term[nonzero] - penalty * np.sign(weights[nonzero])
            )
            - weights[nonzero]
        )
        step, first = find_first_zero(weights[nonzero], -change)
        weights[nonzero] += min(step, 1.0) * change
        if step <= 1.0:
            weights[nonzero[first]] = 0.0
    return weights


def find_rise(gram: F64, weights: F64) -> tuple[float, int]:
    """Return the rise of the penalty at which the first weight becomes 0, and the weight's index.

    The loss is a quadratic model, and no weight may be 0. If no rise makes one 0, which rounding
    can cause, the rise is 0 and the index is that of the smallest weight.
    """
    step, first = find_first_zero(
        weights, solve_equations(gram, np.arange(weights.size), np.sign(weights))
    )
    return (step, first) if np.isfinite(step) else (0.0, int(np.argmin(np.abs(weights))))


def find_first_zero(weights: F64, shrink: F64) -> tuple[float, int]:
    """Return how many steps of ``-shrink`` weights can take until one is 0, and its index."""
    steps = np.full(weights.size, np.inf)
    shrinks = weights * shrink > 0.0
    steps[shrinks] = weights[shrinks] / shrink[shrinks]
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
