"""Asynchronous online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a centre and its workers.

Algorithms 2 and 3 of the paper, independent of what runs them: one process that simulates workers
in turn, with a chosen staleness instead of that of a network, as the paper studies them (section
5.3), or processes that send arrays to one another. A worker has a fraction of the columns;
``offer`` is its step, for one column or a block of them. The centre has the scores of all columns,
as one part per worker; ``register`` is a push and a read in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...errors import spell
from ...kernels.arrays import array
from ...kernels.columns.slots import ALIKE, USED, Slots, combine, correlate, measure_columns
from ...kernels.columns.substitution import substitute_on_worker
from ...kernels.types import F64, I64
from ...state import copied
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS, Fit
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, fits, is_integer, parameter, require
from .learner import ColumnLearner
from .linear import SCANS, STEP, STEP_DIVISOR, LinearRule, gather_slots, make_space
from .memory import ColumnMemory
from .substitution import SteppingRule, SteppingState, divergence_error

INITIAL_PUSHES = 16  # lines of the ring: staleness may be large and the data small
MAX_WORKERS = 1024
MAX_TURNS = 1 << 62


def check_workers(params: Any, name: str, value: Any) -> None:
    """Raise ParameterError unless the number of workers is possible."""
    n_selected = params.n_features_to_select
    require(
        is_integer(value) and 1 <= value <= min(n_selected, MAX_WORKERS),
        name,
        value,
        f"an integer from 1 to {spell('n_features_to_select', n_selected)}, as every worker keeps"
        f" at least one feature, and at most {MAX_WORKERS:,}",
    )


@dataclass(eq=False, repr=False, kw_only=True)
class AsyOSParameters:
    """Asynchronous online substitution, AsyOS (Yang, Fujimaki, Kusumura, Liu 2016), with workers.

    Several workers share the columns that arrive and the columns that are kept. Each worker knows
    only what the others did some time ago. In one process the workers are simulated: they take
    turns, so the answer is always the same, which shows how much more workers reduce the quality of
    the selection. On an engine (``--engine``) they work at the same time. Memory holds the kept
    columns, and one number per row for each worker and for each change that is not read yet.

    Parameters
    ----------
    n_features_to_select : int, default=100
        Number of features to select. Fewer are selected if fewer vary or columns are equal.
    workers : int, default=4
        Number of workers that share the columns; at most ``n_features_to_select``.
    staleness : int or None, default=None
        Number of the last changes by other workers that a worker does not know yet; None takes the
        number of workers, as in the paper. A single worker knows everything.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        Loss that the model minimises. "auto" is squared for numbers and logistic for two classes.
    n_scans : int or None, default=None
        Number of times that the features are read. None reads twice if the source can be read
        again, otherwise once.
    step : float or None, default=None
        Step length of new columns, eta. None takes half of the longest step that is safe for
        uncorrelated columns: 0.5 for squared and squared hinge, 2 for logistic.
    m : float, default=1.0
        Step length of kept columns is ``step / m``.
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
    >>> selector = ss.AsyOS(n_features_to_select=4).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 4, 6, 7])
    """

    n_features_to_select: int = field(default=100, kw_only=False, metadata=checked(BUDGET))
    workers: int = parameter(4, check_workers)
    staleness: int | None = parameter(
        None,
        fits(
            lambda value: value is None or (is_integer(value) and value >= 0),
            "None or an integer of 0 or more",
        ),
    )
    loss: str = parameter("auto", LOSS)
    n_scans: int | None = parameter(None, SCANS)
    step: float | None = parameter(None, STEP)
    m: float = parameter(1.0, STEP_DIVISOR)
    refit: bool = parameter(True, YES_OR_NO)


# ---- the centre and its workers


class Centre:
    """Algorithm 2: the scores u of all workers' columns together, one per row.

    It stores the part of every worker, not only their sum, so that the part of a lost worker can be
    taken back. Otherwise u would still count columns that no worker holds.
    """

    def __init__(self, parts: F64) -> None:
        self.parts = parts  # one line per worker, changed in place

    def scores(self) -> F64:
        """Return u in a new array."""
        return np.asarray(self.parts.sum(axis=0))

    def register(self, worker: int, part: F64 | None = None) -> F64:
        """Set the part of a worker, 0 without columns, and return the new u."""
        self.parts[worker] = 0.0 if part is None else part
        return self.scores()

    def forget(self, worker: int) -> F64:
        """Take back the part of a lost worker and return the new u."""
        return self.register(worker)


class Worker:
    """Algorithm 3: one of several workers, with its columns.

    ``rule`` says how many columns it keeps and how long its steps are.
    """

    def __init__(
        self, rule: SteppingRule, workers: int, state: SteppingState | None = None
    ) -> None:
        self.rule, self.workers = rule, workers
        # Everything that is needed to restart the worker.
        self.state = rule.start() if state is None else state

    @property
    def ids(self) -> I64:
        """Return the ids of the kept columns, which must not be offered to another worker."""
        return self.state.slots.ids[: self.state.slots.ends[USED]]

    def part(self) -> F64:
        """Return what its columns and its part of the level add to the scores u."""
        scores = np.empty(self.rule.y.size)
        combine(self.state.slots, self.state.weights, self.state.level[0], scores)
        return scores

    def offer(self, block: ColumnBlock, u: F64) -> F64:
        """Process columns one by one with the last u read; return the change of its part."""
        columns = block.indptr, block.indices, block.values, block.ids
        y, steps, workers = self.rule.y, self.rule.steps, self.workers
        scores, change = u.copy(), np.zeros(u.size)
        column = 0
        while True:
            slots, weights, level = self.state
            column = substitute_on_worker(
                slots, weights, level, y, steps, workers, scores, change, *columns, column
            )
            if column < 0:
                raise divergence_error(block.origin, steps, "online-substitution with ")
            if column == block.n_columns:
                return change
            self.state = make_space(self.state, block, column, self.rule.wanted + 1)


class BlockWorker(Worker):
    """A worker that reads u once per block and assumes that the others do the same meanwhile.

    If each of several workers made the full step that is best for its own columns, the steps would
    add up to several times too much: with four workers and slightly correlated columns the weights
    diverge. So each worker makes a fraction of it, with steps divided by the number of workers, and
    all together move no further than one worker with all columns (safe adding: Ma, Smith, Jaggi,
    Jordan, Richtarik, Takac 2015). With one worker this is online substitution, to the bit.
    """

    def take(self, block: ColumnBlock, u: F64, part: F64) -> F64:
        """Process columns with the last u read and its part in it; return the new part."""
        n_workers, steps = float(self.workers), self.rule.steps
        self.state, diverges = self.rule.take(
            self.state,
            block,
            u - n_workers * part,
            n_workers,
            steps._replace(m=steps.m * self.workers),
        )
        if diverges:
            raise divergence_error(block.origin, steps, "online-substitution with ")
        return self.part()


def split_budget(wanted: int, workers: int) -> list[int]:
    """Return the number of columns that each worker keeps; they add up to ``wanted``."""
    return [wanted // workers + (worker < wanted % workers) for worker in range(workers)]


# ---- simulation: workers in turn


class AsynchronousState(NamedTuple):
    """States of all workers and of the centre."""

    workers: tuple[SteppingState, ...]
    parts: F64 = array("workers", "rows")  # of the centre: scores per worker and row
    pushes: F64 = array("pushes", "rows")  # the last ones, in a ring of at most ``staleness``
    turns: I64 = array(1, low=0, below=MAX_TURNS)  # pushes so far

    @property
    def ids(self) -> I64:
        """Return the ids of the features that all workers keep."""
        return np.concatenate(
            [worker.slots.ids[: worker.slots.ends[USED]] for worker in self.workers]
        )

    @property
    def slots(self) -> Slots:
        """Return the columns of all workers in one set of slots."""
        return gather_slots([worker.slots for worker in self.workers], self.ids)

    @property
    def weights(self) -> F64:
        """Return the weights of the columns of all workers."""
        return np.concatenate(
            [worker.weights[: worker.slots.ends[USED]] for worker in self.workers]
        )

    @property
    def level(self) -> F64:
        """Return the level, the sum of all workers' parts of it."""
        return np.array([sum(float(worker.level[0]) for worker in self.workers)])


class AsynchronousRule(LinearRule):
    """Algorithms 2 and 3: column by column, worker by worker.

    The scores that a worker reads lack the pushes of other workers among the last ``staleness``;
    its own pushes are always included.
    """

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        workers = int(params.workers)
        staleness = workers if params.staleness is None else int(params.staleness)
        self.staleness = staleness if workers > 1 else 0
        self.rules = [
            SteppingRule(replace(params, n_features_to_select=share), target)
            for share in split_budget(self.wanted, workers)
        ]

    def start(self) -> AsynchronousState:
        return self.gather([rule.start() for rule in self.rules])

    def gather(self, workers: Sequence[SteppingState]) -> AsynchronousState:
        """Return one state of workers that learned elsewhere, so that ``finish`` can end it."""
        parts = [worker.part() for worker in self.make_workers(workers)]
        return AsynchronousState(
            tuple(workers), np.array(parts), np.zeros((0, self.y.size)), np.zeros(1, np.int64)
        )

    def make_workers(self, states: Sequence[SteppingState]) -> list[Worker]:
        """Return a worker for each state."""
        return [
            Worker(rule, len(self.rules), state)
            for rule, state in zip(self.rules, states, strict=True)
        ]

    def offer(self, memory: ColumnMemory[AsynchronousState], block: ColumnBlock) -> None:
        """Learn more columns; if the weights diverge the state does not change."""
        state = copied(memory.state)
        centre = Centre(state.parts)
        workers = self.make_workers(state.workers)
        kept_ids = [set(worker.ids.tolist()) for worker in workers]
        means, scales = np.empty((2, block.n_columns))
        measure_columns(block.indptr, block.values, block.n_rows, means, scales)
        u, pushes, turn = centre.scores(), state.pushes, int(state.turns[0])
        feature_ids = block.ids.tolist()
        for column in np.flatnonzero(scales > 0.0).tolist():
            if any(feature_ids[column] in ids_of_worker for ids_of_worker in kept_ids):
                continue
            number = turn % len(workers)
            for push in range(max(0, turn - self.staleness), turn):
                if push % len(workers) != number:
                    u -= pushes[push % len(pushes)]
            change = workers[number].offer(block.columns(column, column + 1), u)
            u = centre.register(number, centre.parts[number] + change)
            pushes = self.record_push(pushes, turn, change)
            kept_ids[number] = set(workers[number].ids.tolist())
            turn += 1
        state.turns[0] = turn
        memory.state = state._replace(
            workers=tuple(worker.state for worker in workers), pushes=pushes
        )

    def record_push(self, pushes: F64, turn: int, change: F64) -> F64:
        """Return the last pushes and a new one; the array grows up to ``staleness`` lines."""
        n_lines = len(pushes)
        if not self.staleness:
            return pushes
        if turn == n_lines and n_lines < self.staleness:
            n_new = min(self.staleness, max(INITIAL_PUSHES, 2 * n_lines)) - n_lines
            pushes = np.concatenate([pushes, np.zeros((n_new, self.y.size))])
        pushes[turn % len(pushes)] = change
        return pushes

    def fit(self, state: SteppingState) -> Fit:
        """Return the model of all columns, with one column for those that two workers share.

        Of columns that are equal but for scale one stays, with the sum of the weights.
        """
        slots, weights = state.slots, state.weights.copy()
        n_used = weights.size
        gram = np.empty((n_used, n_used))
        correlate(slots, self.y.size, 0, n_used, gram)
        is_left, chosen = np.full(n_used, True), []
        for slot in np.argsort(slots.ids).tolist():
            if is_left[slot]:
                are_equal = is_left & (np.abs(gram[slot]) > ALIKE)
                weights[slot] = float(np.sign(gram[slot, are_equal]) @ weights[are_equal])
                is_left &= ~are_equal
                chosen.append(slot)
        columns = np.sort(np.array(chosen, np.int64))
        return Fit(columns, weights[columns], float(state.level[0]))

    def finish(self, state: AsynchronousState) -> AsynchronousState:
        model = super().finish(SteppingState(state.slots, state.weights, state.level))
        no_rows = np.empty((0, 0))
        return state._replace(workers=(model,), parts=no_rows, pushes=no_rows)

    def remembered(self, state: AsynchronousState) -> I64:
        return state.ids

    def check(self, state: AsynchronousState, sizes: dict[str, int], n_features: int) -> None:
        for rule, worker in zip(self.rules, state.workers, strict=True):
            rule.check(worker, sizes, n_features)
        ensure(np.unique(state.ids).size == state.ids.size, "two workers have the same feature")
        ensure(
            len(state.parts) == len(self.rules),
            "the number of parts differs from the number of workers",
        )
        ensure(
            min(int(state.turns[0]), self.staleness) <= len(state.pushes) <= self.staleness,
            "the number of pushes does not fit the turns of its workers",
        )


ASYOS = Method(
    "asyos",
    AsyOSParameters,
    ColumnLearner,
    BOTH,
    rule=AsynchronousRule,
    predicts=True,
    is_asynchronous=True,
    check_variants=(
        {"loss": "squared", "workers": 7, "staleness": 3},
        {"n_features_to_select": 3, "workers": 2, "staleness": 0},
    ),
)
