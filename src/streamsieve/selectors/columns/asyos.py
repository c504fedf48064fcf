"""Asynchronous online substitution (Yang, Fujimaki, Kusumura, Liu 2016), simulated: workers that take turns.

The paper's own way to study its algorithms 2 and 3 (section 5.3): one process, and a staleness that is chosen rather
than left to a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.arrays import array
from ...kernels.columns.asynchronous import mark_varying, take_back_pushes
from ...kernels.columns.slots import ALIKE, USED, Slots, correlate
from ...state import changed, copied
from ..fitting import Fit
from ..linear import standardized
from ..requirements import is_integer, require
from .asynchronous import Centre, Worker, shares
from .linear import LinearColumnLearner
from .slots import joined
from .stepping import Stepping, SteppingState
from .substitution import require_step

F64 = NDArray[np.float64]

FIRST_PUSHES = 16  # lines of the ring at first: staleness may be large, and the data small
MOST_WORKERS = 1024
MOST_TURNS = 1 << 62


class AsynchronousState(NamedTuple):
    """What the workers and the centre have."""

    workers: tuple[SteppingState, ...]
    parts: F64 = array("workers", "rows")  # per worker and row: the centre's
    pushes: F64 = array("pushes", "rows")  # the last ones, a ring of at most as many as the staleness
    turns: NDArray[np.int64] = array(1, low=0, below=MOST_TURNS)  # pushes so far

    @property
    def ids(self) -> NDArray[np.int64]:
        """The features that all workers keep."""
        return np.concatenate([worker.slots.ids[: worker.slots.ends[USED]] for worker in self.workers])

    @property
    def slots(self) -> Slots:
        """The columns of all workers, in one."""
        return joined([worker.slots for worker in self.workers])

    @property
    def weights(self) -> F64:
        """Those of all workers' columns."""
        return np.concatenate([worker.weights[: worker.slots.ends[USED]] for worker in self.workers])

    @property
    def level(self) -> F64:
        """All workers' parts of it together."""
        return np.array([sum(float(worker.level[0]) for worker in self.workers)])


class Asynchronous:
    """Algorithms 2 and 3 for a loss, a target and a number of columns: column by column, worker by worker.

    What a worker reads lacks the pushes of other workers among the last ``staleness``; its own are always in.
    """

    def __init__(
        self, loss: int, y: F64, wanted: int, workers: int, staleness: int, step: float | None, m: float
    ) -> None:
        self.y, self.staleness = y, staleness if workers > 1 else 0
        self.rules = [Stepping(loss, y, share, step, m) for share in shares(wanted, workers)]

    def start(self) -> AsynchronousState:
        return self.gather([rule.start() for rule in self.rules])

    def gather(self, workers: Sequence[SteppingState]) -> AsynchronousState:
        """The state of workers that took their columns elsewhere: what they know together is what can be finished."""
        parts = [worker.part() for worker in self.workers(workers)]
        return AsynchronousState(tuple(workers), np.array(parts), np.zeros((0, self.y.size)), np.zeros(1, np.int64))

    def workers(self, states: Sequence[SteppingState]) -> list[Worker]:
        """The workers that are in some states."""
        count = len(self.rules)
        return [Worker(rule, count, state) for rule, state in zip(self.rules, states, strict=True)]

    def offer(self, state: AsynchronousState, block: ColumnBlock) -> AsynchronousState:
        """The state after some more columns; what is given stays whole, where the weights diverge."""
        state = copied(state)
        centre = Centre(state.parts)
        workers = self.workers(state.workers)
        kept = [set(worker.ids.tolist()) for worker in workers]
        varies = np.empty(block.n_columns, np.bool_)
        mark_varying(block.n_rows, block.indptr, block.values, varies)
        u, pushes, turn = centre.scores(), state.pushes, int(state.turns[0])
        ids = block.ids.tolist()
        for column in np.flatnonzero(varies).tolist():
            if any(ids[column] in held for held in kept):
                continue
            at = turn % len(workers)
            take_back_pushes(u, pushes, max(0, turn - self.staleness), turn, len(workers), at)
            change = workers[at].offer(block.columns(column, column + 1), u)
            u = centre.exchange(at, change)
            pushes = self.note(pushes, turn, change)
            kept[at] = set(workers[at].ids.tolist())
            turn += 1
        state.turns[0] = turn
        return state._replace(workers=tuple(worker.state for worker in workers), pushes=pushes)

    def note(self, pushes: F64, turn: int, change: F64) -> F64:
        """The last pushes, with one more; the array grows until it has as many lines as are ever needed."""
        lines = len(pushes)
        if not self.staleness:
            return pushes
        if turn == lines and lines < self.staleness:
            more = min(self.staleness, max(FIRST_PUSHES, 2 * lines)) - lines
            pushes = np.concatenate([pushes, np.zeros((more, self.y.size))])
        pushes[turn % len(pushes)] = change
        return pushes

    def finish(self, state: AsynchronousState) -> Fit:
        """All workers' columns; of those that are the same at two workers one, with the weight of both."""
        slots, weights = state.slots, state.weights
        used = weights.size
        gram = np.empty((used, used))
        correlate(slots, self.y.size, 0, used, gram)
        left, chosen = np.full(used, True), []
        for slot in np.argsort(slots.ids).tolist():
            if left[slot]:
                twins = left & (np.abs(gram[slot]) > ALIKE)
                weights[slot] = float(np.sign(gram[slot, twins]) @ weights[twins])
                left &= ~twins
                chosen.append(slot)
        columns = np.sort(np.array(chosen, np.int64))
        return Fit(columns, weights[columns], float(state.level[0]))

    def check(self, state: AsynchronousState, features: int) -> None:
        """Refuse, with a ValueError, a state whose arrays do not fit one another."""
        for rule, worker in zip(self.rules, state.workers, strict=True):
            rule.check(worker, features)
        if np.unique(state.ids).size != state.ids.size:
            raise ValueError("two workers have the same feature")
        lines = len(state.pushes)
        if len(state.parts) != len(self.rules):
            raise ValueError("it has more or fewer parts than workers")
        if not min(int(state.turns[0]), self.staleness) <= lines <= self.staleness:
            raise ValueError("it has more or fewer pushes than its workers have made")


@dataclass(eq=False, repr=False, kw_only=True)
class AsyOSLearner(LinearColumnLearner[AsynchronousState]):
    """Asynchronous online substitution, AsyOS (Yang, Fujimaki, Kusumura, Liu 2016), of several workers.

    Several workers share the columns that come by, and those that are kept; each knows only what the others did some
    time ago. In one process they are simulated: they take turns, so that the answer is always the same, which shows
    what more workers cost in the quality of the selection. On an engine (``--engine``) they work at the same time.
    The memory is that of the kept columns, and of a number per row for each worker and for each change that is not read
    yet.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many are selected: that many, unless fewer vary or columns are the same.
    workers : int, default=4
        How many share the columns; at most as many as are selected.
    staleness : int or None, default=None
        How many of the last changes, of other workers, a worker does not know of yet; None for as many as there are
        workers, as in the paper. One worker knows everything.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    n_scans : int or None, default=None
        How often the features are read: None for twice where the source can be read again, and once where not.
    step : float or None, default=None
        The step of newcomers, eta; None for half of the longest that is safe for uncorrelated columns, 0.5 for squared
        and squared hinge, 2 for logistic.
    m : float, default=1.0
        Kept columns step by ``step / m``.
    refit : bool, default=True
        Whether the model is fitted to the end on the selected columns.
    """

    method: ClassVar[str] = "asyos"
    is_asynchronous: ClassVar[bool] = True
    check_variants = (
        {"loss": "squared", "workers": 7, "staleness": 3},
        {"n_features_to_select": 3, "workers": 2, "staleness": 0},
    )

    n_features_to_select: int = field(default=100, kw_only=False)
    workers: int = 4
    staleness: int | None = None
    loss: str = "auto"
    n_scans: int | None = None
    step: float | None = None
    m: float = 1.0
    refit: bool = True

    def check_parameters(self) -> None:
        super().check_parameters()
        wanted, workers, staleness = self.n_features_to_select, self.workers, self.staleness
        require(
            is_integer(workers) and 1 <= workers <= min(wanted, MOST_WORKERS),
            "workers",
            workers,
            f"an integer from 1 to n_features_to_select={wanted}, as every worker keeps at least one feature, and "
            f"{MOST_WORKERS:,} at most",
        )
        fits = staleness is None or (is_integer(staleness) and staleness >= 0)
        require(fits, "staleness", staleness, "None or an integer of 0 or more")
        require_step(self.step, self.m)

    def _rule(self, loss: int, y: F64) -> Asynchronous:
        workers = int(self.workers)
        staleness = workers if self.staleness is None else int(self.staleness)
        return Asynchronous(loss, y, int(self.n_features_to_select), workers, staleness, self.step, self.m)

    def gathered(self, workers: Sequence[SteppingState]) -> AsynchronousState:
        """The state of a learner that has started, whose workers took their columns elsewhere."""
        target = self.memory.target
        return self._rule(self.loss_of(target), standardized(target)).gather(workers)

    def _remembered(self, state: AsynchronousState) -> NDArray[np.int64]:
        return state.ids

    def _with_model(self, state: AsynchronousState, slots: Slots, weights: F64, level: F64) -> AsynchronousState:
        nothing = np.empty((0, 0))
        return changed(state, workers=(SteppingState(slots, weights, level),), parts=nothing, pushes=nothing)
