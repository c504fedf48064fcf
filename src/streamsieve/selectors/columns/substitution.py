"""Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a sparse linear model of a stream.

Two solvers: the published one, which needs a step length, and a pool of candidates, which does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...errors import DataError, prefix, spell
from ...kernels.arrays import array
from ...kernels.columns.pool import ColumnMeasures, admit_columns, fit_pool, measure_gains
from ...kernels.columns.slots import ALIKE, USED, Slots, correlate
from ...kernels.columns.substitution import Steps, substitute_columns
from ...kernels.losses import CURVATURE, SQUARED
from ...kernels.types import F64, I64
from ...state import copied, empty
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS, Fit, curvature, loss_slopes, project
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, one_of, parameter
from .learner import ColumnLearner
from .linear import (
    SCANS,
    STEP,
    STEP_DIVISOR,
    HeldColumns,
    LinearRule,
    check_slots_of_columns,
    keep,
    make_space,
    select_slots,
)
from .memory import ColumnMemory
from .rules import run_in_parts, split_block

# Of the inverse of the largest second derivative: the step that the paper finds best (theorem 1).
STEP_FRACTION = 0.5

# Constants of the pool.
POOL_FACTOR, MIN_POOL = 4, 160  # columns that stay in the pool, per selected one and at least
COLUMNS_PER_EXTRA_SLOT = 4  # columns that stay, per additional slot
TARGET_FRACTION = 0.25  # fraction of the pool that is chosen by correlation with the target
# Fraction of the weakest column's correlation that a new column must exceed: later fits shift them.
THRESHOLD_FRACTION = 0.8
SWEEPS = 5
N_FITS = 3  # for a loss that is not quadratic
# Initial variances, relative to that of the response, and probability of a non-zero weight.
START = 1.0, 0.01, 0.1
NO_THRESHOLD = -1.0  # a correlation that all columns exceed
MEASURED_AT_ONCE = 512  # columns at a time: after a cut the rest of them is measured again


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineSubstitutionParameters:
    """Online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a linear model of few columns.

    Features arrive one by one, for regression or two classes. Memory is O(rows x
    ``n_features_to_select``), however many columns arrive. Held columns are standardised, and
    sparse ones stay sparse. Of columns that are equal but for scale, one is kept.

    Parameters
    ----------
    n_features_to_select : int, default=100
        Number of features to select. Fewer are selected if fewer vary.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        Loss that the model minimises. "auto" is squared for numbers and logistic for two classes.
    solver : {"pool", "paper"}, default="pool"
        "pool" holds more columns than are selected and fits them together; it needs no further
        parameters. "paper" is algorithm 1 of the paper, whose result depends on ``step`` and ``m``.
    n_scans : int or None, default=None
        Number of times that the features are read. None reads twice if the source can be read
        again, otherwise once.
    step : float or None, default=None
        For "paper": step length of new columns, eta. None takes half of the longest step that is
        safe for uncorrelated columns: 0.5 for squared and squared hinge, 2 for logistic.
    m : float, default=1.0
        For "paper": step length of kept columns is ``step / m``.
    refit : bool, default=True
        If True, fit the model on the selected columns until it converges.

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

    References
    ----------
    H. Yang, R. Fujimaki, Y. Kusumura, J. Liu: Online feature selection: a limited-memory
    substitution algorithm and its asynchronous parallel variation. 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = X[:, 3] + X[:, 7] > 0
    >>> selector = ss.OnlineSubstitution(n_features_to_select=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    """

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    loss: str = parameter("auto", LOSS)
    solver: str = parameter("pool", one_of("pool", "paper"))
    n_scans: int | None = parameter(None, SCANS)
    step: float | None = parameter(None, STEP)
    m: float = parameter(1.0, STEP_DIVISOR)
    refit: bool = parameter(True, YES_OR_NO)


# ---- the published solver: one column at a time, by steps of a fixed length


class SteppingState(NamedTuple):
    """The kept columns and their weights."""

    slots: Slots  # one more than kept columns
    weights: F64 = array("slots")
    level: F64 = array(1)


class SteppingRule(LinearRule):
    """Algorithm 1 of the paper; if ``step`` is None, half of the longest safe step."""

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        step = STEP_FRACTION / CURVATURE[self.loss] if params.step is None else float(params.step)
        self.steps = Steps(self.loss, step, float(params.m), self.wanted)

    def start(self) -> SteppingState:
        return empty(SteppingState, slots=0, room=0)

    def offer(self, memory: ColumnMemory[SteppingState], block: ColumnBlock) -> None:
        """Learn more columns; if the weights diverge the state does not change."""
        state, diverges = self.take(
            copied(memory.state), block, np.zeros(self.y.size), 1.0, self.steps
        )
        if diverges:
            raise divergence_error(block.origin, self.steps)
        memory.state = state

    def take(
        self, state: SteppingState, block: ColumnBlock, others: F64, alike: float, steps: Steps
    ) -> tuple[SteppingState, bool]:
        """Return the state after a block of columns, and True if the weights diverge.

        ``others``, ``alike`` and ``steps`` are arguments of the kernel.
        """
        columns = block.indptr, block.indices, block.values, block.ids
        column = 0
        while True:
            slots, weights, level = state
            column = substitute_columns(
                slots, weights, level, self.y, others, alike, steps, *columns, column
            )
            if column < 0 or column == block.n_columns:
                return state, column < 0
            state = make_space(state, block, column, self.wanted + 1)

    def check(self, state: SteppingState, sizes: dict[str, int], n_features: int) -> None:
        ensure(
            state.slots.ends[USED] <= self.wanted,
            "it keeps more features than n_features_to_select",
        )
        check_slots_of_columns(state.slots, self.y.size, n_features)


def divergence_error(origin: str, steps: Steps, other: str = "") -> DataError:
    """Return the error for weights that move further away with every step."""
    return DataError(
        f"{prefix(origin)}the weights diverge: these columns correlate too much for"
        f" {spell('step', steps.step)} and {spell('m', steps.m)}; set a shorter step or a larger m,"
        f" or use {other}{spell('solver', 'pool')}, which needs neither"
    )


# ---- the solver without a step length: a pool of candidates


class PoolState(NamedTuple):
    """The columns of a pool and their fit."""

    slots: Slots
    # Correlations of the first columns: those that stayed at the last cut.
    gram: F64 = array("fitted", "fitted")
    weights: F64 = array("slots")
    marginals: F64 = array("slots")  # |correlation| with the target
    # Variance of errors and of non-zero weights, and the fraction of these; 0 before the first fit.
    prior: F64 = array(3, low=0)
    residual: F64 = array("rows")  # of mean 0
    level: F64 = array(1)  # the intercept
    bars: F64 = array(
        2, start=NO_THRESHOLD
    )  # thresholds for new columns: with the residual, the target


class PoolRule(LinearRule):
    """A rule that holds several times as many columns as are selected and keeps the best.

    Yang, Fujimaki, Kusumura, Liu 2016 replace one kept column at a time, by a step of gradient
    descent whose length decides which columns enter. Here several times as many columns as are
    selected are held, standardised, with their correlations:

    - A new column enters if its correlation with the residual of the pool, or with the target, is
      nearly as large as that of the weakest column that stayed. Nearly all columns of a long stream
      are measured only once, in O(n).
    - When all slots are used the pool is fitted and cut. A quarter of it are the columns with the
      largest correlation with the target, regardless of the others; the rest are those that would
      explain most if all other weights did not change.
    - At the end, projected gradient selects the wanted number of columns from the pool.

    A fit takes time quadratic in the size of the pool. Losses other than the squared one are fitted
    by their quadratic approximation at the current scores, three times.
    """

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        self.size = max(POOL_FACTOR * self.wanted, MIN_POOL)
        self.capacity = self.size + self.size // COLUMNS_PER_EXTRA_SLOT
        first = loss_slopes(self.loss, np.zeros(self.y.size), self.y).first
        self.response = first.mean() - first  # of mean 0

    def start(self) -> PoolState:
        state = empty(PoolState, slots=0, room=0, fitted=0, rows=self.y.size)
        state.residual[:] = self.response
        return state

    def offer(self, memory: ColumnMemory[PoolState], block: ColumnBlock) -> None:
        state = memory.state
        for piece in split_block(block, MEASURED_AT_ONCE, block.n_nonzero):
            state = self.offer_piece(state, piece)
        memory.state = state

    def offer_piece(self, state: PoolState, block: ColumnBlock) -> PoolState:
        """Admit columns to the pool; fit and cut it whenever it is full."""
        measures = ColumnMeasures(*np.zeros((4, block.n_columns)))
        self.measure(state, block, measures, 0)
        column = 0
        while True:
            column = admit_columns(
                state.slots,
                state.marginals,
                block.n_rows,
                state.bars,
                measures,
                block.indptr,
                block.indices,
                block.values,
                block.ids,
                column,
            )
            if column == block.n_columns:
                return state
            if state.slots.ends[USED] < self.capacity:
                state = make_space(state, block, column, self.capacity)
            else:
                state = self.cut(state)
                self.measure(state, block, measures, column)

    def measure(
        self, state: PoolState, block: ColumnBlock, measures: ColumnMeasures, first: int
    ) -> None:
        """Measure columns from ``first`` on against the residual, on threads if there are many."""
        remaining = block.columns(first, block.n_columns)
        measures_of_remaining = ColumnMeasures(*(array[first:] for array in measures))
        run_in_parts(
            remaining,
            lambda start, stop: measure_gains(
                state.residual,
                self.response,
                remaining.indptr,
                remaining.indices,
                remaining.values,
                start,
                stop,
                measures_of_remaining,
            ),
        )

    def cut(self, state: PoolState) -> PoolState:
        """Fit all columns and drop those with the smallest gain."""
        gram = self.correlate_columns(state)
        state = self.keep(state, gram, find_distinct(gram, state.slots))
        gains = self.fit_weights(state)
        by_target = find_strongest(
            state.marginals[: gains.size], np.arange(gains.size), int(TARGET_FRACTION * self.size)
        )
        others = np.delete(np.arange(gains.size), by_target)
        by_gain = find_strongest(np.abs(gains), others, self.size - by_target.size)
        if by_gain.size < others.size:
            state.bars[:] = (
                THRESHOLD_FRACTION * np.abs(gains[by_gain]).min(),
                THRESHOLD_FRACTION * state.marginals[by_target].min(),
            )
            state = self.keep(state, state.gram, np.sort(np.concatenate([by_target, by_gain])))
        self.update_residual(state)
        return state

    def correlate_columns(self, state: PoolState) -> F64:
        """Return the correlations of all columns, including new ones."""
        n_used, n_known = int(state.slots.ends[USED]), len(state.gram)
        gram = np.zeros((n_used, n_used))
        gram[:n_known, :n_known] = state.gram
        correlate(state.slots, self.y.size, n_known, n_used, gram)
        return gram

    def keep(self, state: PoolState, gram: F64, chosen: I64) -> PoolState:
        """Keep the chosen columns and drop the others."""
        keep(state.slots, chosen, state.weights, state.marginals)
        return state._replace(gram=gram[np.ix_(chosen, chosen)])

    def fit_weights(self, state: PoolState) -> F64:
        """Fit the weights; return what each column would explain if the others did not change."""
        columns = HeldColumns(state.slots, self.y.size)
        n_used = columns.count
        weights, gains = state.weights[:n_used], np.zeros(n_used)
        for _ in range(1 if self.loss == SQUARED else N_FITS):
            scores = columns.combine(weights, state.level[0])
            slopes = loss_slopes(self.loss, scores, self.y)
            response = scores - slopes.first / curvature(self.loss, slopes.second)
            state.level[0] = response.mean()
            response -= state.level[0]
            mean_square = float(response @ response) / self.y.size
            if not state.prior.any():
                state.prior[:] = mean_square * START[0], mean_square * START[1], START[2]
            fit_pool(
                state.gram,
                columns.products(response),
                mean_square,
                self.y.size,
                self.wanted,
                SWEEPS,
                state.prior,
                weights,
                gains,
            )
        return gains

    def update_residual(self, state: PoolState) -> None:
        """Compute the residual of the model of all columns."""
        scores = HeldColumns(state.slots, self.y.size).combine(state.weights, state.level[0])
        slopes = loss_slopes(self.loss, scores, self.y)
        residual = -slopes.first / curvature(self.loss, slopes.second)
        state.residual[:] = residual - residual.mean()

    def fit(self, state: PoolState) -> Fit:
        """Return the best columns of the pool and their model."""
        chosen = find_distinct(self.correlate_columns(state), state.slots)
        fit = project(
            HeldColumns(select_slots(state.slots, chosen), self.y.size),
            self.loss,
            self.y,
            self.wanted,
        )
        return fit._replace(columns=chosen[fit.columns])

    def check(self, state: PoolState, sizes: dict[str, int], n_features: int) -> None:
        ensure(
            state.slots.ids.size <= self.capacity and len(state.gram) <= state.slots.ends[USED],
            "its pool has more columns than its parameters allow, or correlations of columns that"
            " it does not hold",
        )
        check_slots_of_columns(state.slots, self.y.size, n_features)


def find_distinct(gram: F64, slots: Slots) -> I64:
    """Return the columns that do not equal, but for scale, a column of lower id."""
    n_used = int(slots.ends[USED])
    ids = slots.ids[:n_used]
    are_equal = np.abs(gram[:n_used, :n_used]) > ALIKE
    return np.flatnonzero(~(are_equal & (ids[None, :] < ids[:, None])).any(axis=1))


def find_strongest(values: F64, candidates: I64, max_count: int) -> I64:
    """Return the candidates with the largest values; of equal ones the first."""
    return candidates[np.argsort(-values[candidates], kind="stable")[:max_count]]


def substitution_rule(params: OnlineSubstitutionParameters, target: Target) -> LinearRule:
    """Return the rule of the chosen solver."""
    return PoolRule(params, target) if params.solver == "pool" else SteppingRule(params, target)


ONLINE_SUBSTITUTION = Method(
    "online-substitution",
    OnlineSubstitutionParameters,
    ColumnLearner,
    BOTH,
    rule=substitution_rule,
    predicts=True,
    can_select_again=True,
    check_variants=({"solver": "paper"}, {"loss": "squared"}, {"n_features_to_select": 3}),
)
