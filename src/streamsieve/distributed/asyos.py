"""Train asynchronous online substitution on workers that run at the same time.

The method is that of Yang, Fujimaki, Kusumura, Liu 2016. Every worker has its own columns, and may
keep a fraction of the number of features to select. Workers know of each other only the scores that
the centre holds. No worker waits for another, so the answer depends on timing.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..errors import UsageError, spell
from ..selectors.columns.asyos import MAX_WORKERS
from ..selectors.columns.learner import ColumnLearner
from ..selectors.diagnosis import DataSample
from ..selectors.parameters import is_integer
from ..sources.base import ColumnSource, DataSource
from ..training import Clock, ColumnFeed, Progress, Training, Watch, reporter
from .asyos_worker import SubstitutionWorker, Task, WorkerCheckpoint
from .engine import Engine, Supervisor, assign_shards

SHARDS_PER_WORKER = (
    16  # shards per worker, so that each worker has columns from all parts of the data
)
MAX_COLUMNS = 128  # of a block, between two exchanges of a worker with the centre
MIN_BLOCKS = 100  # per scan: workers that exchange scores rarely select worse columns
MAX_BLOCK_WORK = 1 << 26  # values multiplied per block, so that it takes a fraction of a slice


def train_asyos(
    learner: ColumnLearner,
    source: DataSource,
    engine: Engine,
    *,
    y: NDArray[Any] | None = None,
    watch: Watch | None = None,
) -> Training:
    """Learn from the columns of a source, on all workers of an engine.

    The learner's parameter ``workers`` is set to the number of workers of the engine, or to fewer
    if there are not enough columns for all.
    """
    clock = Clock()
    learner.use_source(source)
    if learner.params.staleness is not None:
        raise UsageError(
            f"{spell('staleness', learner.params.staleness)} is a parameter of the simulation and"
            f" is not supported on an engine; omit {spell('staleness')} or the engine"
        )

    feed = ColumnFeed(source, y, None, reporter(watch, source))
    shards = feed.columns.column_shards(SHARDS_PER_WORKER * engine.n_workers)
    set_workers(learner, min(engine.n_workers, len(shards)))
    passes = learner.passes_over(feed.source)
    learner.start(
        learner.width_of(feed.source), None, feed.source.feature_names, y=feed.y, origin=source.name
    )
    run = AsyOSRun(learner, engine, shards, passes, feed.total)
    setup_seconds = clock.seconds()  # the workers measure what is compiled from here on
    while run.unfinished:
        run.step()
        if watch:
            watch(
                Progress(
                    run.n_offered, None if feed.total is None else feed.total * passes, feed.unit
                )
            )
    finish_clock = Clock()
    with finish_clock.learning():
        run.gather()
        learner.finish(source.name)
        done = Training(findings=learner.results.diagnosis(DataSample()))
    learning, compiling = (
        sum(times) / learner.params.workers for times in zip(*run.seconds, strict=True)
    )
    total = clock.seconds()["total"]
    learning += finish_clock.seconds()["learn"]
    compiling += setup_seconds["compile"] + finish_clock.seconds()["compile"]
    reading = max(0.0, total - learning - compiling)
    done.seconds = {"total": total, "read": reading, "learn": learning, "compile": compiling}
    done.details = {"workers": learner.params.workers, "lost_workers": run.supervisor.losses}
    return done


def set_workers(learner: ColumnLearner, n_workers: int) -> None:
    """Set the learner's number of workers, so that each keeps at least one column."""
    # A value that is not an integer raises an error when the learner starts.
    if is_integer(learner.params.n_features_to_select):
        learner.params.workers = max(
            1, min(n_workers, learner.params.n_features_to_select, MAX_WORKERS)
        )


def block_size(n_rows: int, n_features: int | None, wanted: int, workers: int) -> int:
    """Return how many columns a worker takes between two exchanges with the centre."""
    by_work = MAX_BLOCK_WORK * workers // (n_rows * wanted)
    by_width = MAX_COLUMNS  # also for a single worker, which has no others to exchange scores with
    if workers > 1 and n_features is not None:
        by_width = n_features // (workers * MIN_BLOCKS)
    return max(1, min(MAX_COLUMNS, by_work, by_width))


class AsyOSRun:
    """The workers of a learner that has started, and the checkpoints that they sent."""

    def __init__(
        self,
        learner: ColumnLearner,
        engine: Engine,
        shards: list[ColumnSource],
        passes: int,
        n_features: int | None,
    ) -> None:
        target, workers = learner.memory.target, learner.params.workers
        params = learner.params
        self.learner, self.engine = learner, engine
        self.assignments = assign_shards(shards, [1.0] * len(shards), workers)
        size = block_size(target.n_rows, n_features, params.n_features_to_select, workers)
        self.task = engine.share(Task(target, params, passes, size))
        self.centre = engine.centre(target.n_rows)
        self.checkpoints = [
            WorkerCheckpoint.initial(learner.features.width) for _ in range(workers)
        ]
        self.seconds = [(0.0, 0.0)] * workers  # of each worker: learning and compiling
        self.supervisor = Supervisor(engine, self.start_worker)
        # workers that have not finished; workers that were never ready
        self.unfinished, self.not_ready = set(range(workers)), set(range(workers))
        for worker in range(workers):
            self.start_worker(worker)

    def start_worker(self, worker: int) -> None:
        """Start a worker, or replace a lost one, from its last checkpoint.

        Scores that a lost worker has pushed since its checkpoint are removed from the centre.
        """
        self.centre.forget(worker)
        self.engine.start(
            worker,
            SubstitutionWorker,
            worker,
            self.task,
            self.centre,
            self.assignments[worker],
            self.checkpoints[worker],
        )
        self.engine.call(worker, "ready" if worker in self.not_ready else "work")

    def step(self) -> None:
        """Receive the update of the next worker that answers, and let this worker continue."""
        answer = self.supervisor.next_answer()
        worker, update = answer.worker, answer.value
        if update is None:
            self._mark_ready(worker)
            return
        if update.finished:
            self.unfinished.discard(worker)
        else:
            self.engine.call(worker, "work")
        self.checkpoints[worker] = self.checkpoints[worker].apply(update)
        self.supervisor.reset_losses(worker)
        self.seconds[worker] = update.seconds

    def _mark_ready(self, worker: int) -> None:
        """Note that a worker is ready; let all work once the last one is.

        They start together: a worker that runs alone would keep columns for scores that the columns
        of other workers explain.
        """
        self.not_ready.discard(worker)
        if not self.not_ready:
            for number in self.unfinished:
                self.engine.call(number, "work")

    @property
    def n_offered(self) -> int:
        """Return the number of columns offered to all workers so far, in all scans."""
        return sum(
            checkpoint.tally["earlier"] + int(checkpoint.tally["counts"][0])
            for checkpoint in self.checkpoints
        )

    def gather(self) -> None:
        """Merge the checkpoints of all workers into the learner."""
        learner, memory = self.learner, self.learner.memory
        rule: Any = learner.rule
        memory.state = rule.gather([checkpoint.state for checkpoint in self.checkpoints])
        memory.names = {
            feature: name
            for checkpoint in self.checkpoints
            for feature, name in checkpoint.names.items()
        }
        learner.adopt_counts([checkpoint.tally for checkpoint in self.checkpoints])
