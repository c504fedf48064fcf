"""Online substitution in parallel (Yang, Fujimaki, Kusumura, Liu 2016): the centre and its workers.

Algorithms 2 and 3 of the paper, free of whatever runs them: one process that takes turns, as ``asyos`` does, or
processes that send arrays to one another. A worker has a fraction of the columns; ``offer`` is its step, of one column
or of a block of them. The centre has the scores of all columns, as a part per worker; ``exchange`` is a push and a
read in one call.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.columns.asynchronous import substitute_apart
from ...kernels.columns.slots import USED, combine
from .stepping import Stepping, SteppingState, diverged

F64 = NDArray[np.float64]

INSTEAD = "online-substitution with solver='pool'"


class Centre:
    """Algorithm 2: the scores u of all workers' columns together, one per row.

    It has the part of every worker, not only their sum, so that a worker's part can be taken back when it is lost:
    otherwise u would go on to count columns that nobody has any more.
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

    def __init__(self, rule: Stepping, workers: int, state: SteppingState | None = None) -> None:
        self.rule, self.workers = rule, workers
        self.state = rule.start() if state is None else state  # all there is to know, to start again from

    @property
    def ids(self) -> NDArray[np.int64]:
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
            at = substitute_apart(slots, weights, level, y, steps, workers, scores, change, *columns, at)
            if at < 0:
                raise diverged(block.origin, steps, INSTEAD)
            if at == block.n_columns:
                return change
            self.state = self.rule.with_space(self.state, block, at)


class BlockWorker(Worker):
    """A worker that reads u once for a block of columns, and takes it that the others do meanwhile what it does.

    If each of several workers did all of what is good by itself, they would do it several times over: with four of
    them, and columns that correlate a little, the weights diverge. So each does its fraction, by steps that are shorter
    by the number of workers, and all together they do no more than one that has all columns (the safe way to add, of
    Ma, Smith, Jaggi, Jordan, Richtarik, Takac 2015). One worker does what online substitution does, to the bit.
    """

    def take(self, block: ColumnBlock, u: F64, part: F64) -> F64:
        """Take some columns, one by one, with u as it was last read and its own part then; its part now, to push."""
        alike, steps = float(self.workers), self.rule.steps
        shorter = steps._replace(m=steps.m * self.workers)
        self.state, diverges = self.rule.take(self.state, block, u - alike * part, alike, shorter)
        if diverges:
            raise diverged(block.origin, steps, INSTEAD)
        return self.part()


def shares(wanted: int, workers: int) -> list[int]:
    """How many columns each worker keeps, all together as many as are wanted."""
    return [wanted // workers + (worker < wanted % workers) for worker in range(workers)]
