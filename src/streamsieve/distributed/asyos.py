"""Asynchronous online substitution (Yang, Fujimaki, Kusumura, Liu 2016) by workers that run at the same time.

Every worker has columns of its own, and a fraction of those that are kept; what they know of one
another is the scores that the centre has. Nobody waits, so the answer depends on timing.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..errors import UsageError, spell
from ..selectors.columns.asyos import MAX_WORKERS
from ..selectors.columns.learner import ColumnLearner
from ..selectors.diagnosis import Look
from ..selectors.parameters import is_integer
from ..sources.base import ColumnSource, DataSource
from ..training import Clock, ColumnFeed, Progress, Training, Watch
from .asyos_worker import Saved, SubstitutionWorker, Task
from .dealing import deal
from .engine import Crew, Engine

PIECES = 16  # per worker, which so gets columns from everywhere
MAX_COLUMNS = 128  # of a block, between two exchanges of a worker with the centre
MIN_BLOCKS = 100  # of a scan: workers that hardly hear of one another find worse columns
MAX_BLOCK_WORK = 1 << 26  # values multiplied in a block: it is to take a fraction of a slice


def train_asyos(
    learner: ColumnLearner,
    source: DataSource,
    engine: Engine,
    *,
    y: NDArray[Any] | None = None,
    watch: Watch | None = None,
) -> Training:
    """Learn from the columns of a source, on all workers of an engine.

    Its ``workers`` become as many as there are, or as can have something to do.
    """
    clock = Clock()
    learner.note_source(source)
    if learner.params.staleness is not None:
        raise UsageError(
            f"{spell('staleness', learner.params.staleness)} is of a simulation, and workers that"
            f" run at the same time know what they know; omit {spell('staleness')}, or the engine"
        )

    def report(unit: str, count: int, total: int | None) -> None:
        if watch:
            watch(Progress(count, total, unit, source.bytes_read, source.facts.n_bytes))

    feed = ColumnFeed(source, y, None, report)
    pieces = feed.columns.column_shards(PIECES * engine.n_workers)
    set_workers(learner, min(engine.n_workers, len(pieces)))
    passes = learner.passes_over(feed.source)
    learner.start(
        learner.width_of(feed.source), None, feed.source.feature_names, y=feed.y, origin=source.name
    )
    run = AsyOSRun(learner, engine, pieces, passes, feed.total)
    prepared = clock.seconds()  # what is compiled from here on is measured by the workers
    while run.left:
        run.step()
        if watch:
            watch(
                Progress(
                    run.offered, None if feed.total is None else feed.total * passes, feed.unit
                )
            )
    finishing = Clock()
    with finishing.learning():
        run.gather()
        learner.finish(source.name)
        done = Training(remarks=learner.results.diagnosis(Look()))
    learning, compiling = (
        sum(times) / learner.params.workers for times in zip(*run.seconds, strict=True)
    )
    total = clock.seconds()["total"]
    learning += finishing.seconds()["learn"]
    compiling += prepared["compile"] + finishing.seconds()["compile"]
    reading = max(0.0, total - learning - compiling)
    done.seconds = {"total": total, "read": reading, "learn": learning, "compile": compiling}
    done.details = {"workers": learner.params.workers, "lost_workers": run.crew.losses}
    return done


def set_workers(learner: ColumnLearner, n_workers: int) -> None:
    """Let it have that number of workers, or fewer: each keeps a column at least."""
    if is_integer(learner.params.n_features_to_select):  # or it is refused when it starts
        learner.params.workers = max(
            1, min(n_workers, learner.params.n_features_to_select, MAX_WORKERS)
        )


def block_size(n_rows: int, n_features: int | None, wanted: int, workers: int) -> int:
    """How many columns a worker takes between two exchanges."""
    by_work = MAX_BLOCK_WORK * workers // (n_rows * wanted)
    by_width = MAX_COLUMNS  # also of a worker that has nobody to hear of
    if workers > 1 and n_features is not None:
        by_width = n_features // (workers * MIN_BLOCKS)
    return max(1, min(MAX_COLUMNS, by_work, by_width))


class AsyOSRun:
    """The workers of a learner that has started, and what they have handed over."""

    def __init__(
        self,
        learner: ColumnLearner,
        engine: Engine,
        pieces: list[ColumnSource],
        passes: int,
        n_features: int | None,
    ) -> None:
        target, workers = learner.memory.target, learner.params.workers
        params = learner.params
        self.learner, self.engine = learner, engine
        self.hands = deal(pieces, [1.0] * len(pieces), workers)
        size = block_size(target.n_rows, n_features, params.n_features_to_select, workers)
        self.task = engine.share(Task(target, params, passes, size))
        self.centre = engine.centre(target.n_rows)
        self.saved = [Saved.nothing(learner.features.width) for _ in range(workers)]
        self.seconds = [(0.0, 0.0)] * workers  # of each: learning and compiling
        self.crew = Crew(engine, self.begin)
        self.left, self.absent = (
            set(range(workers)),
            set(range(workers)),
        )  # have not finished; were never ready
        for worker in range(workers):
            self.begin(worker)

    def begin(self, worker: int) -> None:
        """Start a worker, or another in place of one that is lost: from what that had handed over.

        What it had pushed since is nobody's any more.
        """
        self.centre.forget(worker)
        self.engine.start(
            worker,
            SubstitutionWorker,
            worker,
            self.task,
            self.centre,
            self.hands[worker],
            self.saved[worker],
        )
        self.engine.call(worker, "ready" if worker in self.absent else "work")

    def step(self) -> None:
        """Take what the next worker hands over, and let it go on."""
        answer = self.crew.next()
        worker, handed = answer.worker, answer.value
        if handed is None:
            self._arrived(worker)
            return
        if handed.finished:
            self.left.discard(worker)
        else:
            self.engine.call(worker, "work")
        self.saved[worker] = self.saved[worker].after(handed)
        self.crew.note_progress(worker)
        self.seconds[worker] = handed.seconds

    def _arrived(self, worker: int) -> None:
        """A worker is ready. All begin together: one that is alone would keep columns for what others' make."""
        self.absent.discard(worker)
        if not self.absent:
            for number in self.left:
                self.engine.call(number, "work")

    @property
    def offered(self) -> int:
        """Columns that all workers were offered so far, in all scans."""
        return sum(saved.tally["earlier"] + int(saved.tally["counts"][0]) for saved in self.saved)

    def gather(self) -> None:
        """Give the learner what all workers know."""
        learner, memory = self.learner, self.learner.memory
        rule: Any = learner.rule
        memory.state = rule.gather([saved.state for saved in self.saved])
        memory.names = {
            feature: name for saved in self.saved for feature, name in saved.names.items()
        }
        learner.adopt_counts([saved.tally for saved in self.saved])
