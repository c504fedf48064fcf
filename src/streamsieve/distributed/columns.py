"""Train a learner of columns in shards.

Workers select from shards of the columns, and one learner selects again from their survivors.

Problem  K workers have the columns in K ranges of ids, all of them with all rows and the same
         target. Each learns its own columns as if there were no others; the columns that it holds
         in the end are its survivors. They are sent with their values, and a new learner learns
         the survivors of all workers in order of id, by the same rule and in as many passes.
Why      Most of what a worker drops is worse than something that it keeps, and would be dropped in
         one stream, too; a column that is redundant only with columns of other workers is dropped
         when the survivors are learned.
Answer   The answer depends on the columns and the number of workers, never on timing. It is
         approximate: the methods depend on the order of columns, and this is another order, in
         which survivors come last. With one worker it is that of one pass, bit for bit. SAOLA
         (Yu, Wu, Ding, Pei 2016) and online substitution (Yang, Fujimaki, Kusumura, Liu 2016) can
         be trained in this way.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock
from ..errors import UsageError
from ..machine import peak_memory
from ..model import Model
from ..registry import METHODS, find_method
from ..selectors.base import AnyLearner
from ..selectors.columns.learner import ColumnLearner
from ..selectors.columns.memory import Tally
from ..sources.base import ColumnSource, DataSource
from ..sources.groups import Grouping
from ..training import Clock, ColumnFeed, Progress, Training, Watch, pieces, reporter
from .engine import SLICE_SECONDS, Engine, Seconds, Supervisor, WorkerSeconds, seconds_by

# ---- on a worker


class Survivors:
    """The columns that a learner remembers, copied from the blocks as they pass."""

    def __init__(self) -> None:
        self.columns: dict[int, ColumnBlock] = {}

    def update(self, block: ColumnBlock, remembered: NDArray[np.int64]) -> None:
        """Copy the remembered columns of a block, and drop those no longer remembered."""
        wanted = set(remembered.tolist())
        self.columns = {
            feature: column for feature, column in self.columns.items() if feature in wanted
        }
        for position in np.flatnonzero(np.isin(block.ids, remembered)).tolist():
            feature = int(block.ids[position])
            if feature not in self.columns:
                self.columns[feature] = copy_block(block.columns(position, position + 1))

    def block(self, order: NDArray[np.int64] | None = None) -> ColumnBlock | None:
        """Return the survivors in order of id, or in the ``order`` of a source.

        Return None if there are none.
        """
        ids = (
            sorted(self.columns)
            if order is None
            else order[np.isin(order, list(self.columns))].tolist()
        )
        columns = [self.columns[feature] for feature in ids]
        return ColumnBlock.joined(columns) if columns else None


def copy_block(block: ColumnBlock) -> ColumnBlock:
    """Return a copy of a block, so that the block it is a part of can be freed."""
    names, groups = (
        None if array is None else np.array(array) for array in (block.names, block.groups)
    )
    entries = {
        "indices": block.indices.copy(),
        "values": block.values.copy(),
        "ids": block.ids.copy(),
    }
    return block.derived(**entries, names=names, groups=groups)


class WorkerResult(NamedTuple):
    """The result of a worker.

    It is the model if the worker was alone, otherwise the survivors, which are learned again.
    """

    model: Model | None
    survivors: ColumnBlock | None
    tally: Tally


class ShardProgress(NamedTuple):
    """The progress of a worker; after the last column, with its result."""

    features: int = 0  # over all passes
    seconds: Seconds = (0.0, 0.0, 0.0)  # of this slice
    memory: int = 0  # peak memory of the process
    result: WorkerResult | None = None


class ColumnWorker:
    """A worker that learns a shard of the columns, from a model that has started.

    ``alone`` is True if there are no other shards.
    """

    def __init__(
        self, base: Model, shard: ColumnSource, groups: Grouping | None, passes: int, alone: bool
    ) -> None:
        self.learner = cast(ColumnLearner, find_method(base.method).load(base.copy()))
        feed = ColumnFeed(shard, self.learner.memory.target.numbers, groups, None)
        self.blocks = (block for block, _ in pieces(feed, self.learner, passes))
        self.survivors, self.order = None if alone else Survivors(), shard.order

    def step(self) -> ShardProgress:
        """Learn for one slice of time, but at least one block."""
        clock, result = Clock(), None
        while True:
            block = next(self.blocks, None)
            with clock.learning():
                if block is None:
                    result = self._make_result()
                else:
                    self.learner.partial_fit_block(block)
                    if self.survivors is not None:
                        self.survivors.update(block, self.learner.remembered())
            if result is not None or time.perf_counter() >= clock.began + SLICE_SECONDS:
                break
        return ShardProgress(self.learner.n_learned, seconds_by(clock), peak_memory(), result)

    def _make_result(self) -> WorkerResult:
        tally = self.learner.tally()
        if self.survivors is None:
            return WorkerResult(self.learner.model(), None, tally)
        return WorkerResult(None, self.survivors.block(self.order), tally)


# ---- on the driver


class ColumnShards:
    """A training of columns on the workers of an engine, with a learner that has started."""

    def __init__(
        self, learner: ColumnLearner, feed: ColumnFeed, engine: Engine, watch: Watch | None
    ) -> None:
        self.learner, self.feed, self.engine, self.watch = learner, feed, engine, watch
        self.passes = learner.passes_over(feed.columns)
        self.shards = feed.columns.column_shards(engine.n_workers)
        self.progress = [ShardProgress() for _ in self.shards]
        self.timings = WorkerSeconds()
        self.losses = self.memory = self.survivors = 0

    @property
    def n_workers(self) -> int:
        """Return the number of shards, each of which has a worker."""
        return len(self.shards)

    def learn(self) -> None:
        """Learn all shards and, if there are several, select again from their survivors."""
        alone = self.n_workers == 1
        base = self.engine.share(self.learner.model())
        groups = None if self.feed.groups is None else self.engine.share(self.feed.groups)

        def start_worker(worker: int) -> None:
            self.engine.start(
                worker, ColumnWorker, base, self.shards[worker], groups, self.passes, alone
            )
            self.engine.call(worker, "step")

        supervisor, results = Supervisor(self.engine, start_worker), dict[int, WorkerResult]()
        for worker in range(self.n_workers):
            start_worker(worker)
        while len(results) < self.n_workers:
            answer = supervisor.next_answer()
            progress: ShardProgress = answer.value
            self.record_progress(answer.worker, progress)
            if progress.result is None:
                self.engine.call(answer.worker, "step")
            else:
                results[answer.worker] = progress.result
        self.losses = supervisor.losses
        in_order = [results[worker] for worker in range(self.n_workers)]
        if in_order[0].model is not None:
            self.learner.load_state(in_order[0].model)
            self.learner.name_groups(self.feed.group_names)
        else:
            self.select_again(in_order)

    def select_again(self, results: list[WorkerResult]) -> None:
        """Learn the survivors of all workers in order of id, and adopt the workers' counts."""
        clock = Clock()
        blocks = [result.survivors for result in results if result.survivors is not None]
        self.survivors = sum(block.n_columns for block in blocks)
        with clock.learning():
            for number in range(self.passes):
                self.learner.begin_pass(number)
                for block in blocks:
                    self.learner.partial_fit_block(block)
            self.learner.adopt_counts([result.tally for result in results])
        self.timings.add(seconds_by(clock))

    def record_progress(self, worker: int, progress: ShardProgress) -> None:
        """Record the progress of a worker."""
        self.progress[worker] = progress._replace(result=None)
        self.timings.add(progress.seconds)
        self.memory = max(self.memory, progress.memory)
        if self.watch:
            total = None if self.feed.total is None else self.feed.total * self.passes
            self.watch(
                Progress(sum(part.features for part in self.progress), total, self.feed.unit)
            )

    def details(self) -> dict[str, Any]:
        """Return how the learner was trained, including whether the result is approximate."""
        details = {
            "workers": self.n_workers,
            "lost_workers": self.losses,
            "worker_memory_bytes": self.memory,
        }
        if self.n_workers == 1:
            return details
        return {**details, "approximate": {"shards": self.n_workers, "survivors": self.survivors}}


def train_column_shards(
    learner: AnyLearner,
    source: DataSource,
    engine: Engine,
    *,
    y: NDArray[Any] | None = None,
    groups: Any | None = None,
    watch: Watch | None = None,
) -> Training:
    """Learn columns on the workers of an engine, as ``training.train`` does in one process.

    The learner must not have started. Rows are transposed here, in memory, and every worker gets
    its shard. ``y`` is the target of columns that come without one.
    """
    start, training = time.perf_counter(), Training()
    check_selects_again(learner, engine.n_workers)
    learner.use_source(source)

    feed = ColumnFeed(source, y, groups, reporter(watch, source), learner.method.supports_groups)
    columns = cast(ColumnLearner, learner)
    columns.start(
        columns.width_of(feed.columns),
        None,
        feed.columns.feature_names,
        y=feed.y,
        origin=source.name,
    )
    columns.name_groups(feed.group_names)
    shards = ColumnShards(columns, feed, engine, watch)
    shards.learn()
    columns.finish(source.name)
    training.findings = [*columns.results.diagnosis(feed.sample()), *feed.findings(columns)]
    training.seconds = shards.timings.per_worker(shards.n_workers, time.perf_counter() - start)
    training.details = shards.details()
    return training


def check_selects_again(learner: AnyLearner, n_workers: int) -> None:
    """Raise UsageError if the method cannot select again from survivors, before data is read."""
    if n_workers > 1 and not learner.method.can_select_again:
        able = ", ".join(method for method in METHODS if find_method(method).can_select_again)
        raise UsageError(
            f"{learner.method.name} needs all columns in one place; take one worker, or a method"
            f" that can be trained on parts of the columns: {able}"
        )
