"""A worker of asynchronous online substitution (Yang, Fujimaki, Kusumura, Liu 2016, algorithm 3), in slices of time.

What it has is handed over after every slice, so that another can start from there if it is lost.
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
from ..selectors.columns.asyos import ASYOS, AsyOSParameters, BlockWorker, shares
from ..selectors.columns.learner import ColumnLearner
from ..selectors.columns.linear import picked
from ..selectors.columns.memory import ColumnMemory, Tally
from ..selectors.columns.rules import ColumnRule
from ..selectors.columns.substitution import SteppingRule, SteppingState
from ..sources.base import ColumnSource
from ..state import empty
from ..targets import Target
from ..training import Clock
from .engine import SLICE_SECONDS, CentreLike
from .spent import spent_by


class Task(NamedTuple):
    """What all workers know."""

    target: Target
    params: AsyOSParameters  # of all workers together
    passes: int
    block_size: int  # columns that a worker takes between two exchanges


class Reached(NamedTuple):
    """How far a worker is in its stream of columns."""

    scan: int = 0
    piece: int = 0
    columns: int = 0  # of this piece


class Handover(NamedTuple):
    """What changed since the last one, and how far the worker is."""

    reached: Reached
    finished: bool
    ids: NDArray[np.int64]  # of the columns that it keeps
    new: Slots  # those of them that it did not keep before
    weights: F64
    level: F64
    tally: Tally
    names: dict[int, str]
    seconds: tuple[float, float]  # learning and compiling, so far


class Saved(NamedTuple):
    """All there is to start a worker again from."""

    reached: Reached
    state: SteppingState
    tally: Tally
    names: dict[int, str]

    @classmethod
    def nothing(cls, width: int) -> Saved:
        """What a worker begins with, for data as wide as is known."""
        state = empty(SteppingState, slots=0, room=0)
        return cls(
            Reached(),
            state,
            {"counts": np.zeros(3, np.int64), "earlier": 0, "width": width, "noted": {}},
            {},
        )

    def after(self, handed: Handover) -> Saved:
        """The same with what was handed over."""
        slots = self.state.slots
        if not np.array_equal(slots.ids, handed.ids):
            slots = picked([slots, handed.new], handed.ids)
        return Saved(
            handed.reached,
            SteppingState(slots, handed.weights, handed.level),
            handed.tally,
            handed.names,
        )


class WorkerRule(ColumnRule[SteppingState]):
    """How one worker takes columns: by the scores that the centre had when it last pushed its part."""

    takes_again: ClassVar[bool] = True

    def __init__(
        self, number: int, worker: BlockWorker, centre: CentreLike, target: Target
    ) -> None:
        super().__init__(None, target)
        self.number, self.worker, self.centre = number, worker, centre
        self.pushed = worker.part()
        self.u = centre.register(number, self.pushed)

    def offer(self, memory: ColumnMemory[SteppingState], block: ColumnBlock) -> None:
        self.pushed = self.worker.take(block, self.u, self.pushed)
        self.u = self.centre.register(self.number, self.pushed)
        memory.state = self.worker.state

    def remembered(self, state: SteppingState) -> I64:
        return self.worker.ids


class SubstitutionWorker:
    """One worker, which takes the columns of some pieces of the data, and takes them again in every scan.

    It is called for one slice of time after the other, until it has finished.
    """

    def __init__(
        self,
        number: int,
        task: Task,
        centre: CentreLike,
        pieces: Sequence[ColumnSource],
        saved: Saved,
    ) -> None:
        params = task.params
        share = shares(params.n_features_to_select, params.workers)[number]
        rule = SteppingRule(replace(params, n_features_to_select=share), task.target)
        slots, weights, level = saved.state
        own = SteppingState(picked([slots], slots.ids), weights.copy(), level.copy())
        self.worker = BlockWorker(rule, params.workers, own)
        self.learner = ColumnLearner(
            ASYOS, AsyOSParameters()
        )  # checks and counts columns, and notes their names
        self.learner.adopt(task.target, own, WorkerRule(number, self.worker, centre, task.target))
        self.learner.memory.names = saved.names
        self.learner.adopt_counts([saved.tally])
        self.pieces, self.passes, self.block_size = pieces, task.passes, task.block_size
        self.reached, self.handed = saved.reached, set(slots.ids.tolist())
        self.stream = self._stream(saved.reached)
        self.clock = Clock()

    def ready(self) -> None:
        """Answers as soon as the worker is there."""

    def work(self) -> Handover:
        """Take columns for a while; what there is to know then."""
        until = time.perf_counter() + SLICE_SECONDS
        finished = True
        for block in self.stream:
            with self.clock.learning():
                self.learner.partial_fit_block(block)
            if time.perf_counter() > until:
                finished = False
                break
        return self._handover(finished)

    def _handover(self, finished: bool) -> Handover:
        worker = self.worker
        ids = worker.ids.copy()
        new = ids[[feature not in self.handed for feature in ids.tolist()]] if ids.size else ids
        self.handed = set(ids.tolist())
        slots, weights, level = worker.state
        return Handover(
            self.reached,
            finished,
            ids,
            picked([slots], new),
            weights[: ids.size].copy(),
            level.copy(),
            self.learner.tally(),
            self.learner.memory.names,
            spent_by(self.clock)[1:],
        )

    def _stream(self, start: Reached) -> Generator[ColumnBlock]:
        """The columns of all scans after where it starts, in blocks; ``reached`` is how far it is with them."""
        for scan in range(start.scan, self.passes):
            if scan > start.scan:
                self.learner.begin_pass(scan)
            first = start.piece if scan == start.scan else 0
            for piece in range(first, len(self.pieces)):
                skipped = start.columns if (scan, piece) == (start.scan, start.piece) else 0
                yield from self._piece(scan, piece, skipped)

    def _piece(self, scan: int, piece: int, skipped: int) -> Generator[ColumnBlock]:
        seen = 0
        for block in self.pieces[piece].column_blocks():
            for at in range(max(0, skipped - seen), block.n_columns, self.block_size):
                stop = min(block.n_columns, at + self.block_size)
                self.reached = Reached(scan, piece, seen + stop)
                yield block.columns(at, stop)
            seen += block.n_columns
