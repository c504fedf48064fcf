"""Asynchronous online substitution (Yang, Fujimaki, Kusumura, Liu 2016): a centre and its workers.

Algorithms 2 and 3 of the paper, free of whatever runs them: one process that takes turns, with a
staleness that is chosen rather than left to a network, as the paper studies them (section 5.3), or
processes that send arrays to one another. A worker has a fraction of the columns; ``offer`` is its
step, of one column or of a block of them. The centre has the scores of all columns, as a part per
worker; ``exchange`` is a push and a read in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ...blocks import ColumnBlock
from ...errors import spell
from ...kernels.arrays import array
from ...kernels.columns.slots import ALIKE, USED, Slots, combine, correlate
from ...kernels.columns.substitution import mark_varying, substitute_apart, take_back_pushes
from ...kernels.types import F64, I64
from ...state import copied
from ...targets import BOTH, Target
from ..base import Method
from ..fitting import LOSS, Fit
from ..parameters import BUDGET, YES_OR_NO, checked, ensure, fits, is_integer, parameter, require
from .learner import ColumnLearner
from .linear import SCANS, SHORTER, STEP, LinearRule, picked, with_space
from .memory import ColumnMemory
from .substitution import SteppingRule, SteppingState, diverged

FIRST_PUSHES = 16  # lines of the ring at first: staleness may be large, and the data small
MAX_WORKERS = 1024
MAX_TURNS = 1 << 62


def check_workers(params: Any, name: str, value: Any) -> None:
    """Raise ParameterError unless there can be so many workers."""
    wanted = params.n_features_to_select
    require(
        is_integer(value) and 1 <= value <= min(wanted, MAX_WORKERS),
        name,
        value,
        f"an integer from 1 to {spell('n_features_to_select', wanted)}, as every worker keeps at"
        f" least one feature, and {MAX_WORKERS:,} at most",
    )


@dataclass(eq=False, repr=False, kw_only=True)
class AsyOSParameters:
    """Asynchronous online substitution, AsyOS (Yang, Fujimaki, Kusumura, Liu 2016), of several workers.

    Several workers share the columns that come by, and those that are kept; each knows only what
    the others did some time ago. In one process they are simulated: they take turns, so that the
    answer is always the same, which shows what more workers cost in the quality of the selection.
    On an engine (``--engine``) they work at the same time. The memory is that of the kept columns,
    and of a number per row for each worker and for each change that is not read yet.

    Parameters
    ----------
    n_features_to_select : int, default=100
        How many are selected: that many, unless fewer vary or columns are the same.
    workers : int, default=4
        How many share the columns; at most as many as are selected.
    staleness : int or None, default=None
        How many of the last changes, of other workers, a worker does not know of yet; None for as
        many as there are workers, as in the paper. One worker knows everything.
    loss : {"auto", "squared", "squared_hinge", "logistic"}, default="auto"
        What the model minimises. "auto" is squared for numbers and logistic for two classes.
    n_scans : int or None, default=None
        How often the features are read: None for twice where the source can be read again, and once
        where not.
    step : float or None, default=None
        The step of newcomers, eta; None for half of the longest that is safe for uncorrelated
        columns, 0.5 for squared and squared hinge, 2 for logistic.
    m : float, default=1.0
        Kept columns step by ``step / m``.
    refit : bool, default=True
        Whether the model is fitted to the end on the selected columns.
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
    m: float = parameter(1.0, SHORTER)
    refit: bool = parameter(True, YES_OR_NO)


# ---- the centre and its workers


class Centre:
    """Algorithm 2: the scores u of all workers' columns together, one per row.

    It has the part of every worker, not only their sum, so that a worker's part can be taken back
    when it is lost: otherwise u would go on to count columns that nobody has any more.
    """

    def __init__(self, parts: F64) -> None:
        self.parts = parts  # a line per worker, changed in place

    def scores(self) -> F64:
        """u, in an array of its own."""
        return np.asarray(self.parts.sum(axis=0))

    def exchange(self, worker: int, change: F64) -> F64:
        """Take what a worker pushes, the change of its part; u after that."""
        self.parts[worker] += change
        return self.scores()

    def register(self, worker: int, part: F64 | None = None) -> F64:
        """A worker starts, or starts again, with no column or with columns that make this part; u after that."""
        self.parts[worker] = 0.0 if part is None else part
        return self.scores()

    def forget(self, worker: int) -> F64:
        """Take back the part of a worker that is lost; u after that."""
        return self.register(worker)


class Worker:
    """Algorithm 3: the columns of one of some workers; ``rule`` says how many it keeps, and how long its steps are."""

    def __init__(
        self, rule: SteppingRule, workers: int, state: SteppingState | None = None
    ) -> None:
        self.rule, self.workers = rule, workers
        self.state = (
            rule.start() if state is None else state
        )  # all there is to know, to start again from

    @property
    def ids(self) -> I64:
        """The columns that it keeps; they must not be offered to another worker."""
        return self.state.slots.ids[: self.state.slots.ends[USED]]

    def part(self) -> F64:
        """Its part of the scores: what its columns, and its part of the level, add to u."""
        scores = np.empty(self.rule.y.size)
        combine(self.state.slots, self.state.weights, self.state.level[0], scores)
        return scores

    def offer(self, block: ColumnBlock, u: F64) -> F64:
        """Take some columns, one by one, with u as it was last read; the change of its part, to push."""
        columns = block.indptr, block.indices, block.values, block.ids
        y, steps, workers = self.rule.y, self.rule.steps, self.workers
        scores, change = u.copy(), np.zeros(u.size)
        at = 0
        while True:
            slots, weights, level = self.state
            at = substitute_apart(
                slots, weights, level, y, steps, workers, scores, change, *columns, at
            )
            if at < 0:
                raise diverged(block.origin, steps, "online-substitution with ")
            if at == block.n_columns:
                return change
            self.state = with_space(self.state, block, at, self.rule.wanted + 1)


class BlockWorker(Worker):
    """A worker that reads u once for a block of columns, and takes it that the others do meanwhile what it does.

    If each of several workers did all of what is good by itself, they would do it several times
    over: with four of them, and columns that correlate a little, the weights diverge. So each does
    its fraction, by steps that are shorter by the number of workers, and all together they do no
    more than one that has all columns (the safe way to add, of Ma, Smith, Jaggi, Jordan, Richtarik,
    Takac 2015). One worker does what online substitution does, to the bit.
    """

    def take(self, block: ColumnBlock, u: F64, part: F64) -> F64:
        """Take some columns, one by one, with u as it was last read and its own part then; its part now, to push."""
        alike, steps = float(self.workers), self.rule.steps
        shorter = steps._replace(m=steps.m * self.workers)
        self.state, diverges = self.rule.take(self.state, block, u - alike * part, alike, shorter)
        if diverges:
            raise diverged(block.origin, steps, "online-substitution with ")
        return self.part()


def shares(wanted: int, workers: int) -> list[int]:
    """How many columns each worker keeps, all together as many as are wanted."""
    return [wanted // workers + (worker < wanted % workers) for worker in range(workers)]


# ---- simulated: workers that take turns


class AsynchronousState(NamedTuple):
    """What the workers and the centre have."""

    workers: tuple[SteppingState, ...]
    parts: F64 = array("workers", "rows")  # per worker and row: the centre's
    pushes: F64 = array(
        "pushes", "rows"
    )  # the last ones, a ring of at most as many as the staleness
    turns: I64 = array(1, low=0, below=MAX_TURNS)  # pushes so far

    @property
    def ids(self) -> I64:
        """The features that all workers keep."""
        return np.concatenate(
            [worker.slots.ids[: worker.slots.ends[USED]] for worker in self.workers]
        )

    @property
    def slots(self) -> Slots:
        """The columns of all workers, in one."""
        return picked([worker.slots for worker in self.workers], self.ids)

    @property
    def weights(self) -> F64:
        """Those of all workers' columns."""
        return np.concatenate(
            [worker.weights[: worker.slots.ends[USED]] for worker in self.workers]
        )

    @property
    def level(self) -> F64:
        """All workers' parts of it together."""
        return np.array([sum(float(worker.level[0]) for worker in self.workers)])


class AsynchronousRule(LinearRule):
    """Algorithms 2 and 3: column by column, worker by worker.

    What a worker reads lacks the pushes of other workers among the last ``staleness``; its own are
    always in.
    """

    def __init__(self, params: Any, target: Target) -> None:
        super().__init__(params, target)
        workers = int(params.workers)
        staleness = workers if params.staleness is None else int(params.staleness)
        self.staleness = staleness if workers > 1 else 0
        each = (
            replace(params, n_features_to_select=share) for share in shares(self.wanted, workers)
        )
        self.rules = [SteppingRule(share_params, target) for share_params in each]

    def start(self) -> AsynchronousState:
        return self.gather([rule.start() for rule in self.rules])

    def gather(self, workers: Sequence[SteppingState]) -> AsynchronousState:
        """The state of workers that took their columns elsewhere: what they know together is what can be finished."""
        parts = [worker.part() for worker in self.workers(workers)]
        return AsynchronousState(
            tuple(workers), np.array(parts), np.zeros((0, self.y.size)), np.zeros(1, np.int64)
        )

    def workers(self, states: Sequence[SteppingState]) -> list[Worker]:
        """The workers that are in some states."""
        return [
            Worker(rule, len(self.rules), state)
            for rule, state in zip(self.rules, states, strict=True)
        ]

    def offer(self, memory: ColumnMemory[AsynchronousState], block: ColumnBlock) -> None:
        """Take some more columns; the state stays as it is where the weights diverge."""
        state = copied(memory.state)
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
        memory.state = state._replace(
            workers=tuple(worker.state for worker in workers), pushes=pushes
        )

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

    def fit(self, state: SteppingState) -> Fit:
        """All workers' columns; of those that are the same at two workers one, with the weight of both."""
        slots, weights = state.slots, state.weights.copy()
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

    def finish(self, state: AsynchronousState) -> AsynchronousState:
        model = super().finish(SteppingState(state.slots, state.weights, state.level))
        nothing = np.empty((0, 0))
        return state._replace(workers=(model,), parts=nothing, pushes=nothing)

    def remembered(self, state: AsynchronousState) -> I64:
        return state.ids

    def check(self, state: AsynchronousState, sizes: dict[str, int], n_features: int) -> None:
        for rule, worker in zip(self.rules, state.workers, strict=True):
            rule.check(worker, sizes, n_features)
        ensure(np.unique(state.ids).size == state.ids.size, "two workers have the same feature")
        ensure(len(state.parts) == len(self.rules), "it has more or fewer parts than workers")
        ensure(
            min(int(state.turns[0]), self.staleness) <= len(state.pushes) <= self.staleness,
            "it has more or fewer pushes than its workers have made",
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
