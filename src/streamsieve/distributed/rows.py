"""Train a learner of rows in shards.

Workers learn shards of the rows from one model, what they learned is merged, and so on in rounds.

Problem  K workers have the rows in shards, assigned in order, so that each has rows from all parts
         of the data. A first model learns some rows alone, and everything that is chosen from the
         first rows (scales, the centre of a target) is fixed then. In a round the workers together
         learn ``ROUND_GROWTH`` times as many rows as the model has learned, all of them from the
         same model, and what they learned is merged (``rows.merging``) into the next model.
Why      A merge is sound as long as the workers do not move far from the model they share, and how
         far they move depends on how much the model has seen: rounds that grow with it do not
         require the number of rows beforehand, and there are only logarithmically many.
Steps    The changes of the workers are added up, as if their rows carried different information.
         Where the rows carry the same information, K workers correct one error K times. Therefore
         the merged model is tested on the first rows: if it is worse there than the workers' models
         were, their mean is taken instead, and from then on every row counts twice as often
         (``start_shard``). Rows of numbers count K times from the start.
Answer   The answer depends on the rows and on the number of workers, never on timing: a round is a
         number of rows, and a worker that is lost begins its round again. With one worker it is
         that of one pass, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from ..blocks import RowBlock
from ..errors import DataError, UsageError
from ..machine import peak_memory
from ..model import Model
from ..recording import Trace, trace_point
from ..registry import METHODS, find_method, merge_models
from ..selectors.base import AnyLearner
from ..selectors.diagnosis import RowSample
from ..selectors.rows.learner import RowLearner
from ..sources.base import Missing, NoRowsError, Source
from ..sources.many import sizes_of
from ..targets import Labels
from ..training import Checkpoint, Clock, Progress, Training, Watch, next_cut
from .engine import (
    SLICE_SECONDS,
    Engine,
    Seconds,
    Supervisor,
    WorkerSeconds,
    assign_shards,
    seconds_by,
)

FIRST_ROWS = 1024  # learned before the first round, at least
ROWS_PER_CLASS = 256  # learned before the first round, where there are more than two classes
MAX_FIRST_ROWS = 1 << 14
MAX_FIRST_NONZEROS = 1 << 22  # of the rows that merged models are tested on
FIRST_BLOCK_ROWS = 256  # the size of the blocks in which these are read
ROUND_GROWTH = 0.25
FIRST_ROUND_ROWS = 1000  # of one worker alone; each of its rounds doubles the rows learned
MAX_ROUND_ROWS = 1 << 22  # per worker, so that checkpoints and progress come now and then
SHARDS_PER_WORKER = 16  # shards per worker, where rows can be split
EMPTY_NOTE: Mapping[str, Any] = MappingProxyType({})


# ---- on a worker


class RowStream:
    """The rows of several sources in turn, pass after pass, without the first ``skip`` rows."""

    def __init__(
        self, shards: Sequence[Source], passes: int, missing: Missing, skip: int = 0
    ) -> None:
        self.shards, self.passes, self.missing, self.skip = list(shards), passes, missing, skip
        self._read = 0  # bytes of the shards before this one
        self._shard: Source | None = None
        self._blocks = self._all_blocks()
        self._rest: RowBlock | None = None

    @property
    def bytes_read(self) -> int:
        """Return the number of bytes read so far, in all passes."""
        return self._read + (0 if self._shard is None else self._shard.bytes_read)

    def next(self, max_rows: int) -> RowBlock | None:
        """Return the next rows, at most ``max_rows`` of them, or None at the end."""
        block = next(self._blocks, None) if self._rest is None else self._rest
        self._rest = None
        if block is None or block.n_rows <= max_rows:
            return block
        self._rest = block.rows(max_rows, block.n_rows)
        return block.rows(0, max_rows)

    def _all_blocks(self) -> Iterator[RowBlock]:
        for shard in self.shards * self.passes:
            if shard.n_rows is not None and shard.n_rows <= self.skip:
                self.skip -= shard.n_rows
            else:
                self._shard = shard
                yield from self._blocks_of(shard)
                self._shard = None
            self._read += shard.facts.n_bytes or 0

    def _blocks_of(self, shard: Source) -> Iterator[RowBlock]:
        try:
            for block in shard.row_blocks(self.missing):
                skipped = min(self.skip, block.n_rows)
                self.skip -= skipped
                if skipped < block.n_rows:
                    yield block.rows(skipped, block.n_rows) if skipped else block
        except NoRowsError:  # an error only if no shard has a row
            return


class ShardProgress(NamedTuple):
    """The progress of a worker in a round; at the end of the round, with its model."""

    rows: int = 0
    mistakes: int = 0  # on these rows
    bytes_read: int = 0  # in all rounds
    seconds: Seconds = (0.0, 0.0, 0.0)  # of this slice
    memory: int = 0  # peak memory of the process
    model: Model | None = None
    loss: float = 0.0  # of that model, on the first rows


class RowWorker:
    """A worker that learns its rows from the model of each round."""

    def __init__(
        self,
        shards: Sequence[Source],
        passes: int,
        missing: Missing,
        skip: int,
        first_rows: RowBlock | None,
    ) -> None:
        self.stream, self.first_rows = RowStream(shards, passes, missing, skip), first_rows
        self.learner: RowLearner | None = None
        self.wanted = self.rows = self.mistakes_before = 0

    def start_round(self, base: Model, rows: int, row_multiplier: int) -> ShardProgress:
        """Start a round of ``rows`` rows, each of which counts ``row_multiplier`` times.

        ``row_multiplier`` is 0 if no other worker learns.
        """
        self.learner = cast(RowLearner, find_method(base.method).load(base.copy()))
        if row_multiplier:
            self.learner.start_shard(row_multiplier)
        self.wanted, self.rows, self.mistakes_before = rows, 0, count_mistakes(self.learner)
        return self.step()

    def step(self) -> ShardProgress:
        """Learn for one slice of time, but at least one block."""
        learner, model, loss = self.learner, None, 0.0
        assert learner is not None, "start_round must be called before step"
        clock = Clock()
        while True:
            block = self.stream.next(self.wanted - self.rows) if self.rows < self.wanted else None
            with clock.learning():
                if block is None:
                    model, self.learner = learner.model(), None
                    loss = 0.0 if self.first_rows is None else loss_on(learner, self.first_rows)
                else:
                    learner.partial_fit_block(block)
                    self.rows += block.n_rows
            if model is not None or time.perf_counter() >= clock.began + SLICE_SECONDS:
                break
        mistakes = count_mistakes(learner) - self.mistakes_before
        return ShardProgress(
            self.rows,
            mistakes,
            self.stream.bytes_read,
            seconds_by(clock),
            peak_memory(),
            model,
            loss,
        )


def count_mistakes(learner: RowLearner) -> int:
    """Return how many rows were predicted wrongly before they were learned; 0 for numbers."""
    return learner.results.counters().mistakes or 0


def loss_on(learner: RowLearner, rows: RowBlock) -> float:
    """Return the mean loss of the current model on some rows."""
    return learner.memory.target.loss(learner.results.predictor().score(rows), rows.y)


# ---- on the driver


class RowShards:
    """A training of rows on the workers of an engine."""

    def __init__(
        self, learner: RowLearner, source: Source, engine: Engine, watch: Watch | None
    ) -> None:
        self.learner, self.source, self.engine, self.watch = learner, source, engine, watch
        self.shards = shards_of(source, engine.n_workers)
        self.n_workers = min(engine.n_workers, len(self.shards))
        owners = assign_shards(
            range(len(self.shards)), sizes_of(self.shards).tolist(), self.n_workers
        )
        self.owner = {shard: worker for worker, shards in enumerate(owners) for shard in shards}
        self.passes = learner.passes_over(source)
        # rows of its shards that each worker, or the driver in its place, has learned
        self.positions = [0] * self.n_workers
        self.active = set(range(self.n_workers))  # workers that still have rows
        self.progress = [ShardProgress() for _ in self.positions]
        self.timings = WorkerSeconds()
        self.rounds = self.losses = self.memory = 0
        # how often a row counts: for numbers every row makes a step, however much is learned
        self.times = self.n_workers if "numbers" in learner.method.targets else 1
        self.first_rows: RowBlock | None = None  # on which merged models are tested

    @property
    def n_first(self) -> int:
        """Return how many rows are learned here before the first round."""
        return min(
            MAX_FIRST_ROWS, max(FIRST_ROWS, ROWS_PER_CLASS * self.learner.memory.target.n_vectors)
        )

    def read_first_rows(self) -> Iterator[tuple[int, RowBlock]]:
        """Yield the first rows in order, a few at a time, each block with its worker."""
        for number, shard in enumerate(self.shards):
            stream = RowStream([shard], 1, self.learner.missing_rows)
            while (block := stream.next(FIRST_BLOCK_ROWS)) is not None:
                yield self.owner[number], block

    def learn_first_rows(self, classes: Any | None) -> RowSample:
        """Start the learner, learn the first rows here, and return a sample of them.

        Rows are learned until everything that is chosen from the first rows has been chosen. A
        learner that has started already has learned them, and they are only read.
        """
        learner, sample, rows, first_blocks = (
            self.learner,
            RowSample(),
            self.read_first_rows(),
            list[RowBlock](),
        )
        has_started = learner.started
        if not has_started:
            if classes is None and "classes" in learner.method.targets:
                classes = find_first_classes(self.source)
            learner.start(
                learner.width_of(self.source),
                classes,
                self.source.read_feature_names(),
                origin=self.source.name,
            )
        seen = 0
        while seen < self.n_first or learner.memory.warm_up is not None:
            worker, block = next(rows, (0, None))
            if block is None:
                break
            if not has_started:
                learner.partial_fit_block(block)
                self.positions[worker] += block.n_rows
                self.report_progress()
            seen += block.n_rows
            sample.add(block)
            if sum(kept.n_nonzero for kept in first_blocks) < MAX_FIRST_NONZEROS:
                first_blocks.append(block)
        self.first_rows = RowBlock.joined(first_blocks)
        return sample

    def round_size(self, checkpoint: Checkpoint | None) -> int:
        """Return how many rows every worker learns in the next round.

        For several workers it depends only on the number of rows learned so far.
        """
        n_learned = self.learner.n_learned
        if self.n_workers == 1:
            return min(
                MAX_ROUND_ROWS,
                max(FIRST_ROUND_ROWS, n_learned),
                next_cut(n_learned, checkpoint, None) - n_learned,
            )
        return min(MAX_ROUND_ROWS, math.ceil(ROUND_GROWTH * n_learned / self.n_workers))

    def learn_round(self, rows: int) -> None:
        """Learn up to ``rows`` more rows with every worker that has any, and merge the results."""
        base = self.learner.model()
        shared, first_rows = self.engine.share(base), self.engine.share(self.first_rows)
        row_multiplier = min(self.times, len(self.active)) if self.n_workers > 1 else 0

        def start_worker(worker: int) -> None:
            shards = [
                shard for number, shard in enumerate(self.shards) if self.owner[number] == worker
            ]
            args = (
                shards,
                self.passes,
                self.learner.missing_rows,
                self.positions[worker],
                first_rows,
            )
            self.engine.start(worker, RowWorker, *args)
            self.engine.call(worker, "start_round", shared, rows, row_multiplier)

        supervisor = Supervisor(self.engine, start_worker)
        for worker in sorted(self.active):
            if self.rounds:
                self.engine.call(worker, "start_round", shared, rows, row_multiplier)
            else:
                start_worker(worker)
        results: dict[int, ShardProgress] = {}
        while len(results) < len(self.active):
            answer = supervisor.next_answer()
            progress: ShardProgress = answer.value
            self.record_progress(answer.worker, progress)
            if progress.model is None:
                self.engine.call(answer.worker, "step")
            else:
                results[answer.worker] = progress
        self.rounds, self.losses = self.rounds + 1, self.losses + supervisor.losses
        for worker, progress in results.items():
            self.positions[worker] += progress.rows
        self.active = {worker for worker, progress in results.items() if progress.rows == rows}
        self.progress = [progress._replace(rows=0, mistakes=0) for progress in self.progress]
        self.merge(
            base,
            [results[worker] for worker in sorted(results) if results[worker].rows],
            row_multiplier,
        )

    def merge(self, base: Model, results: Sequence[ShardProgress], row_multiplier: int) -> None:
        """Continue with the merged models of the workers of a round.

        Where rows counted fewer times than there are workers, the sum of their changes may be too
        large. It is if the merged model is worse on the first rows than the workers' models are:
        then their mean is taken instead, and from then on rows count twice as often.
        """
        models = [result.model for result in results if result.model is not None]
        if not models:
            return
        self.learner.load_state(models[0] if self.n_workers == 1 else merge_models(base, models))
        if self.first_rows is None or row_multiplier >= len(models):
            return
        loss, mean_loss = (
            loss_on(self.learner, self.first_rows),
            sum(result.loss for result in results) / len(results),
        )
        if not loss <= mean_loss:  # the loss may be NaN
            self.learner.load_state(merge_models(base, models, len(models)))
            self.times = min(2 * self.times, self.n_workers)

    def record_progress(self, worker: int, progress: ShardProgress) -> None:
        """Record the progress of a worker, and report it."""
        self.progress[worker] = progress._replace(model=None)  # the model may be large
        self.timings.add(progress.seconds)
        self.memory = max(self.memory, progress.memory)
        self.report_progress()

    def report_progress(self) -> None:
        """Report the progress of all workers to the watch."""
        if self.watch is None:
            return
        learner, source, counters = self.learner, self.source, self.learner.results.counters()
        done = learner.n_learned + sum(part.rows for part in self.progress)
        mistakes = (
            None
            if counters.mistakes is None
            else counters.mistakes + sum(part.mistakes for part in self.progress)
        )
        total = None if source.n_rows is None else source.n_rows * self.passes
        bytes_read, n_bytes = (
            sum(part.bytes_read for part in self.progress),
            source.facts.n_bytes if self.passes == 1 else None,
        )
        self.watch(Progress(done, total, "rows", bytes_read, n_bytes, mistakes, counters.r2))


def train_row_shards(
    learner: AnyLearner,
    source: Source,
    engine: Engine,
    *,
    classes: Any | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
    trace: Trace | None = None,
    note: Mapping[str, Any] = EMPTY_NOTE,
) -> Training:
    """Learn rows on the workers of an engine, as ``training.train`` does in one process.

    A learner that has started continues; ``note`` is that of its checkpoint.
    """
    start = time.perf_counter()
    check_mergeable(learner, engine.n_workers)
    learner.use_source(source)
    run = RowShards(cast(RowLearner, learner), source, engine, watch)
    training = Training(trace=[] if trace is None else trace)
    if learner.started:
        run.positions, run.times = read_note(note, run.n_workers)
    if run.n_workers > 1:
        sample = run.learn_first_rows(classes)
    else:
        sample = read_sample(source, learner.missing_rows)
        if not learner.started:
            learner.start(
                learner.width_of(source), classes, source.read_feature_names(), origin=source.name
            )
    n_saved = learner.n_learned
    while run.active:
        run.learn_round(run.round_size(checkpoint))
        training.trace.append(trace_point(learner))
        if checkpoint is not None and learner.n_learned >= n_saved + checkpoint.every:
            note_content = {"trace": training.trace, "positions": run.positions, "times": run.times}
            learner.save(checkpoint.path, note_content)
            n_saved = learner.n_learned
    learner.finish(source.name)
    training.findings = learner.results.diagnosis(sample)
    training.seconds = run.timings.per_worker(run.n_workers, time.perf_counter() - start)
    training.details = {
        "workers": run.n_workers,
        "rounds": run.rounds,
        "lost_workers": run.losses,
        "worker_memory_bytes": run.memory,
    }
    return training


def check_mergeable(learner: AnyLearner, n_workers: int) -> None:
    """Raise UsageError if models of the method cannot be merged, before data is read."""
    if n_workers == 1:
        return
    if not learner.method.merges:
        able = ", ".join(method for method in METHODS if find_method(method).merges)
        raise UsageError(
            f"models of {learner.method.name} that learned different rows cannot be merged; take"
            f" one worker, or a method that can be trained on several: {able}"
        )


def shards_of(source: Source, n_workers: int) -> list[Source]:
    """Return the shards of a source in order, several per worker where rows can be split."""
    if n_workers == 1:
        return [source]
    if not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, but every worker reads it; save it to a file"
        )
    return source.shards(n_workers * SHARDS_PER_WORKER)


def find_first_classes(source: Source) -> Any:
    """Return the first two labels that occur, which are the classes by default."""
    labels = Labels()
    for block in source.row_blocks("keep"):
        encoded = labels.encode(block.y, block.origin, labels.n_rows)
        labels.learn_classes(encoded)
        labels.count(encoded.answers)
        if labels.classes.size > 1:
            return labels.classes
    labels.check_two_classes(source.name)
    return None


def read_sample(source: Source, missing: Missing) -> RowSample:
    """Return a sample of the first rows, by which the result is judged."""
    sample = RowSample()
    if missing == "error":
        for block in source.row_blocks():
            sample.add(block)
            if sample.full:
                break
    return sample


def read_note(note: Mapping[str, Any], n_workers: int) -> tuple[list[int], int]:
    """Return the positions and the row multiplier in a checkpoint's note, if they are valid."""
    positions, times = note.get("positions"), note.get("times")
    is_valid = (
        isinstance(positions, list)
        and len(positions) == n_workers
        and type(times) is int
        and 1 <= times <= n_workers
    )
    if not is_valid or any(
        type(position) is not int or position < 0 for position in positions or []
    ):
        raise DataError(
            "the checkpoint does not say how far every worker was; remove it to begin again from"
            " the start"
        )
    return list(positions or []), times or 1
