"""Run a worker of asynchronous online substitution in slices of time.

This is algorithm 3 of Yang, Fujimaki, Kusumura, Liu 2016. After every slice the worker sends what
has changed, so that another worker can continue from there if it is lost.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock
from ..kernels.columns.slots import Slots
from ..kernels.types import F64, I64
from ..selectors.columns.asyos import ASYOS, AsyOSParameters, BlockWorker, split_budget
from ..selectors.columns.learner import ColumnLearner
from ..selectors.columns.linear import gather_slots
from ..selectors.columns.memory import ColumnMemory, Tally
from ..selectors.columns.rules import ColumnRule
from ..selectors.columns.substitution import SteppingRule, SteppingState
from ..sources.base import ColumnSource
from ..state import empty
from ..targets import Target
from ..training import Clock
from .engine import SLICE_SECONDS, CentreLike, seconds_by


class Task(NamedTuple):
    """The data and parameters that all workers share."""

    target: Target
    params: AsyOSParameters  # of all workers together
    passes: int
    block_size: int  # columns that a worker takes between two exchanges


class ShardPosition(NamedTuple):
    """The position of a worker in its stream of columns."""

    scan: int = 0
    shard: int = 0
    columns: int = 0  # of this shard


class WorkerUpdate(NamedTuple):
    """The changes of a worker since its last update, and its position."""

    position: ShardPosition
    finished: bool
    ids: NDArray[np.int64]  # of the columns that the worker keeps
    new: Slots  # the columns among them that it did not keep at its last update
    weights: F64
    level: F64
    tally: Tally
    names: dict[int, str]
    seconds: tuple[float, float]  # learning and compiling, so far


class WorkerCheckpoint(NamedTuple):
    """Everything that is needed to restart a worker."""

    position: ShardPosition
    state: SteppingState
    tally: Tally
    names: dict[int, str]

    @classmethod
    def initial(cls, width: int) -> WorkerCheckpoint:
        """Return the checkpoint of a worker at its start, for data of a given width."""
        state = empty(SteppingState, slots=0, room=0)
        return cls(
            ShardPosition(),
            state,
            {"counts": np.zeros(3, np.int64), "earlier": 0, "width": width, "noted": {}},
            {},
        )

    def apply(self, update: WorkerUpdate) -> WorkerCheckpoint:
        """Return this checkpoint with an update applied."""
        slots = self.state.slots
        if not np.array_equal(slots.ids, update.ids):
            slots = gather_slots([slots, update.new], update.ids)
        return WorkerCheckpoint(
            update.position,
            SteppingState(slots, update.weights, update.level),
            update.tally,
            update.names,
        )


class WorkerRule(ColumnRule[SteppingState]):
    """The rule of one worker: it takes columns by the scores that the centre returned last."""

    allows_repeats: ClassVar[bool] = True

    def __init__(
        self, number: int, worker: BlockWorker, centre: CentreLike, target: Target
    ) -> None:
        super().__init__(None, target)
        self.number, self.worker, self.centre = number, worker, centre
        self.part = worker.part()
        self.scores = centre.register(number, self.part)

    def offer(self, memory: ColumnMemory[SteppingState], block: ColumnBlock) -> None:
        self.part = self.worker.take(block, self.scores, self.part)
        self.scores = self.centre.register(self.number, self.part)
        memory.state = self.worker.state

    def remembered(self, state: SteppingState) -> I64:
        return self.worker.ids


class SubstitutionWorker:
    """A worker that takes the columns of some shards, and takes them again in every scan.

    It is called for one slice of time after the other, until it has finished.
    """

    def __init__(
        self,
        number: int,
        task: Task,
        centre: CentreLike,
        shards: Sequence[ColumnSource],
        saved: WorkerCheckpoint,
    ) -> None:
        params = task.params
        share = split_budget(params.n_features_to_select, params.workers)[number]
        rule = SteppingRule(replace(params, n_features_to_select=share), task.target)
        slots, weights, level = saved.state
        state = SteppingState(gather_slots([slots], slots.ids), weights.copy(), level.copy())
        self.worker = BlockWorker(rule, params.workers, state)
        # checks and counts columns, and notes their names
        self.learner = ColumnLearner(ASYOS, AsyOSParameters())
        self.learner.adopt(task.target, state, WorkerRule(number, self.worker, centre, task.target))
        self.learner.memory.names = saved.names
        self.learner.adopt_counts([saved.tally])
        self.shards, self.passes, self.block_size = shards, task.passes, task.block_size
        self.position, self.sent_ids = saved.position, set(slots.ids.tolist())
        self.stream = self._stream(saved.position)
        self.clock = Clock()

    def ready(self) -> None:
        """Return as soon as the worker has been made."""

    def work(self) -> WorkerUpdate:
        """Take columns for one slice of time, and return what has changed."""
        until = time.perf_counter() + SLICE_SECONDS
        finished = True
        for block in self.stream:
            with self.clock.learning():
                self.learner.partial_fit_block(block)
            if time.perf_counter() > until:
                finished = False
                break
        return self._make_update(finished)

    def _make_update(self, finished: bool) -> WorkerUpdate:
        worker = self.worker
        ids = worker.ids.copy()
        new = ids[[feature not in self.sent_ids for feature in ids.tolist()]] if ids.size else ids
        self.sent_ids = set(ids.tolist())
        slots, weights, level = worker.state
        return WorkerUpdate(
            self.position,
            finished,
            ids,
            gather_slots([slots], new),
            weights[: ids.size].copy(),
            level.copy(),
            self.learner.tally(),
            self.learner.memory.names,
            seconds_by(self.clock)[1:],
        )

    def _stream(self, start: ShardPosition) -> Generator[ColumnBlock]:
        """Yield the columns of all scans after a position, in blocks.

        ``position`` is how far the worker is with them.
        """
        for scan in range(start.scan, self.passes):
            if scan > start.scan:
                self.learner.begin_pass(scan)
            first = start.shard if scan == start.scan else 0
            for shard in range(first, len(self.shards)):
                skipped = start.columns if (scan, shard) == (start.scan, start.shard) else 0
                yield from self._shard_blocks(scan, shard, skipped)

    def _shard_blocks(self, scan: int, shard: int, skipped: int) -> Generator[ColumnBlock]:
        seen = 0
        for block in self.shards[shard].column_blocks():
            for at in range(max(0, skipped - seen), block.n_columns, self.block_size):
                stop = min(block.n_columns, at + self.block_size)
                self.position = ShardPosition(scan, shard, seen + stop)
                yield block.columns(at, stop)
            seen += block.n_columns
