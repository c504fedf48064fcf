"""Columns in shards: workers select from columns of their own, and one learner selects again from what they kept.

Problem  K workers have the columns in K ranges of ids, all of them with all rows and the same target. Each learns its
         own as if there were no others; the columns that it holds in the end are its survivors.
         They are handed over with their values, and a fresh learner learns the survivors of all
         workers in order of their ids, by the same rule and as many passes.
Why      most of what a worker drops is worse than something that it keeps, and would be dropped in one stream, too;
         what is redundant with columns elsewhere alone is found when the survivors meet.
Answer   depends on the columns and the number of workers, never on timing, and is approximate: the methods depend on
         the order of columns, and this is another order, in which survivors come last. One worker
         is one pass, bit for bit. SAOLA (Yu, Wu, Ding, Pei 2016) and online substitution (Yang,
         Fujimaki, Kusumura, Liu 2016) can do so.
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
from ..training import Clock, ColumnFeed, Progress, Training, Watch, pieces
from .engine import SLICE_SECONDS, Crew, Engine
from .spent import Seconds, Spent, spent_by

# ---- what a worker does


class Survivors:
    """The columns that a learner remembers, kept as they went by."""

    def __init__(self) -> None:
        self.columns: dict[int, ColumnBlock] = {}

    def note(self, block: ColumnBlock, remembered: NDArray[np.int64]) -> None:
        """Keep the columns of a block that are remembered, and drop those that are so no more."""
        wanted = set(remembered.tolist())
        self.columns = {
            feature: column for feature, column in self.columns.items() if feature in wanted
        }
        for at in np.flatnonzero(np.isin(block.ids, remembered)).tolist():
            feature = int(block.ids[at])
            if feature not in self.columns:
                self.columns[feature] = owned(block.columns(at, at + 1))

    def block(self, order: NDArray[np.int64] | None = None) -> ColumnBlock | None:
        """All of them, in order of their ids, or in the ``order`` of a source; None if there are none."""
        ids = (
            sorted(self.columns)
            if order is None
            else order[np.isin(order, list(self.columns))].tolist()
        )
        columns = [self.columns[feature] for feature in ids]
        return ColumnBlock.joined(columns) if columns else None


def owned(block: ColumnBlock) -> ColumnBlock:
    """The same block with arrays of its own, so that the one it is a part of can go."""
    names, groups = (
        None if array is None else array.copy() for array in (block.names, block.groups)
    )
    entries = {
        "indices": block.indices.copy(),
        "values": block.values.copy(),
        "ids": block.ids.copy(),
    }
    return block.derived(**entries, names=names, groups=groups)


class Found(NamedTuple):
    """What a worker has in the end: its model if it was alone, otherwise what another is to learn."""

    model: Model | None
    survivors: ColumnBlock | None
    tally: Tally


class Part(NamedTuple):
    """How far a worker is; in the end comes what it found."""

    features: int = 0  # over all passes
    seconds: Seconds = (0.0, 0.0, 0.0)  # of this slice
    memory: int = 0  # the most that the process has had
    found: Found | None = None


class ColumnWorker:
    """Learns a shard of the columns from a model that has started; ``alone`` if there are no other shards."""

    def __init__(
        self, base: Model, shard: ColumnSource, groups: Grouping | None, passes: int, alone: bool
    ) -> None:
        self.learner = cast(ColumnLearner, find_method(base.method).load(base.copy()))
        feed = ColumnFeed(shard, self.learner.memory.target.numbers, groups, None)
        self.pieces = (part for part, _ in pieces(feed, self.learner, passes))
        self.survivors, self.order = None if alone else Survivors(), shard.order

    def go_on(self) -> Part:
        """Learn for a while, one block at least."""
        clock, found = Clock(), None
        while True:
            block = next(self.pieces, None)
            with clock.learning():
                if block is None:
                    found = self._found()
                else:
                    self.learner.partial_fit_block(block)
                    if self.survivors is not None:
                        self.survivors.note(block, self.learner.remembered())
            if found is not None or time.perf_counter() >= clock.began + SLICE_SECONDS:
                break
        return Part(self.learner.n_learned, spent_by(clock), peak_memory(), found)

    def _found(self) -> Found:
        tally = self.learner.tally()
        if self.survivors is None:
            return Found(self.learner.model(), None, tally)
        return Found(None, self.survivors.block(self.order), tally)


# ---- what the driver does


class ColumnShards:
    """A training of columns on the workers of an engine, with a learner that has started."""

    def __init__(
        self, learner: ColumnLearner, feed: ColumnFeed, engine: Engine, watch: Watch | None
    ) -> None:
        self.learner, self.feed, self.engine, self.watch = learner, feed, engine, watch
        self.passes = learner.passes_over(feed.columns)
        self.shards = feed.columns.column_shards(engine.n_workers)
        self.parts = [Part() for _ in self.shards]
        self.spent = Spent()
        self.losses = self.memory = self.survivors = 0

    @property
    def n_workers(self) -> int:
        return len(self.shards)

    def learn(self) -> None:
        """Learn all shards, and once more what is left of them, if there are several."""
        alone = self.n_workers == 1
        base = self.engine.share(self.learner.model())
        groups = None if self.feed.groups is None else self.engine.share(self.feed.groups)

        def begin(worker: int) -> None:
            self.engine.start(
                worker, ColumnWorker, base, self.shards[worker], groups, self.passes, alone
            )
            self.engine.call(worker, "go_on")

        crew, found = Crew(self.engine, begin), dict[int, Found]()
        for worker in range(self.n_workers):
            begin(worker)
        while len(found) < self.n_workers:
            answer = crew.next()
            part: Part = answer.value
            self.note(answer.worker, part)
            if part.found is None:
                self.engine.call(answer.worker, "go_on")
            else:
                found[answer.worker] = part.found
        self.losses = crew.losses
        in_order = [found[worker] for worker in range(self.n_workers)]
        if in_order[0].model is not None:
            self.learner.take_up(in_order[0].model)
            self.learner.name_groups(self.feed.group_names)
        else:
            self.select_again(in_order)

    def select_again(self, found: list[Found]) -> None:
        """Learn what the workers kept, in order of the ids, and count what they have counted."""
        clock = Clock()
        blocks = [part.survivors for part in found if part.survivors is not None]
        self.survivors = sum(block.n_columns for block in blocks)
        with clock.learning():
            for number in range(self.passes):
                self.learner.begin_pass(number)
                for block in blocks:
                    self.learner.partial_fit_block(block)
            self.learner.adopt_counts([part.tally for part in found])
        self.spent.add(spent_by(clock))

    def note(self, worker: int, part: Part) -> None:
        """Take note of how far a worker is."""
        self.parts[worker] = part._replace(found=None)
        self.spent.add(part.seconds)
        self.memory = max(self.memory, part.memory)
        if self.watch:
            total = None if self.feed.total is None else self.feed.total * self.passes
            self.watch(Progress(sum(part.features for part in self.parts), total, self.feed.unit))

    def details(self) -> dict[str, Any]:
        """How it was trained; what is approximate says so."""
        known = {
            "workers": self.n_workers,
            "lost_workers": self.losses,
            "worker_memory_bytes": self.memory,
        }
        if self.n_workers == 1:
            return known
        return {**known, "approximate": {"shards": self.n_workers, "survivors": self.survivors}}


def train_column_shards(
    learner: AnyLearner,
    source: DataSource,
    engine: Engine,
    *,
    y: NDArray[Any] | None = None,
    groups: Any | None = None,
    watch: Watch | None = None,
) -> Training:
    """Learn columns on the workers of an engine, as ``training.train`` does in one process, from the start.

    Rows are transposed here, in memory, and every worker gets its part. ``y`` is the target of
    columns that come without one.
    """
    began, done = time.perf_counter(), Training()
    refuse_not_selected_again(learner, engine.n_workers)
    learner.note_source(source)

    def report(unit: str, count: int, total: int | None) -> None:
        if watch:
            watch(Progress(count, total, unit, source.bytes_read, source.facts.n_bytes))

    feed = ColumnFeed(source, y, groups, report, learner.method.knows_groups)
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
    done.remarks = [*columns.results.diagnosis(feed.look()), *feed.remarks(columns)]
    done.seconds = shards.spent.per_worker(shards.n_workers, time.perf_counter() - began)
    done.details = shards.details()
    return done


def refuse_not_selected_again(learner: AnyLearner, n_workers: int) -> None:
    """Refuse a learner that cannot select from what several have selected, before anything is read."""
    if n_workers > 1 and not learner.method.selects_again:
        can = ", ".join(method for method in METHODS if find_method(method).selects_again)
        raise UsageError(
            f"{learner.method.name} needs all columns in one place, so it takes one worker; methods"
            f" that can be trained on parts of the columns are {can}"
        )
