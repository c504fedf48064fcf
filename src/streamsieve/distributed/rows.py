"""Rows in shards: workers learn rows of their own from one model, what they learned is merged, and so on in rounds.

Problem  K workers have the rows in pieces, dealt in order, so that each has some of everywhere. A first model learns
         some rows alone, and all that is chosen from the first rows (scales, the centre of a
         target) is fixed then. In a round the workers together learn ``GROWTH`` times as many rows
         as are known already, all of them from the same model, and what they learned is merged
         (``rows.merging``) into the next one.
Why      a merge is sound as long as the workers do not move far from the model they share, and how far they move is a
         matter of how much it has seen: rounds that grow with it need no number of rows beforehand,
         and cost a logarithm of it.
Steps    what workers add is added up, as if their rows said different things. Where they say the same, K workers
         correct one error K times. So what comes out is looked at with the first rows: if it is
         worse there than what went in, the mean is taken instead, and rows count twice as often
         from then on (``as_part``). Rows of numbers count K times from the start.
Answer   depends on the rows and on the number of workers, never on timing: a round is a number of rows, and a worker
         that is lost begins its round again. One worker is one pass, bit for bit.
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
from ..selectors.diagnosis import Sample
from ..selectors.rows.learner import RowLearner
from ..sources.base import Missing, NoRowsError, Source
from ..sources.many import sizes_of
from ..targets import Labels
from ..training import Checkpoint, Clock, Progress, Training, Watch, next_cut
from .dealing import deal
from .engine import SLICE_SECONDS, Crew, Engine
from .spent import Seconds, Spent, spent_by

FIRST_ROWS = 1024  # that are learned before the first round, at least
ROWS_PER_CLASS = 256  # that are learned first, where there are more than two classes
MAX_FIRST_ROWS = 1 << 14
MAX_FIRST_NONZEROS = 1 << 22  # of the rows that merged models are looked at with
AT_ONCE = 256  # of these rows
GROWTH = 0.25
FIRST_ROUND = 1000  # rows of one worker; each of its rounds doubles what it knows
MAX_ROUND_ROWS = (
    1 << 22
)  # rows per worker: so that checkpoints, and news of how it goes, come now and then
PIECES = 16  # per worker, where rows can be split
NOTHING: Mapping[str, Any] = MappingProxyType({})


# ---- what a worker does


class RowStream:
    """The rows of some sources, one after the other, pass after pass; the first ``skip`` are omitted."""

    def __init__(
        self, pieces: Sequence[Source], passes: int, missing: Missing, skip: int = 0
    ) -> None:
        self.pieces, self.passes, self.missing, self.skip = list(pieces), passes, missing, skip
        self._read = 0  # bytes of pieces before this one
        self._piece: Source | None = None
        self._blocks = self._all_blocks()
        self._rest: RowBlock | None = None

    @property
    def bytes_read(self) -> int:
        return self._read + (0 if self._piece is None else self._piece.bytes_read)

    def next(self, most: int) -> RowBlock | None:
        """Some rows, at least one and at most so many, or None at the end."""
        block = next(self._blocks, None) if self._rest is None else self._rest
        self._rest = None
        if block is None or block.n_rows <= most:
            return block
        self._rest = block.rows(most, block.n_rows)
        return block.rows(0, most)

    def _all_blocks(self) -> Iterator[RowBlock]:
        for piece in self.pieces * self.passes:
            if piece.n_rows is not None and piece.n_rows <= self.skip:
                self.skip -= piece.n_rows
            else:
                self._piece = piece
                yield from self._blocks_of(piece)
                self._piece = None
            self._read += piece.facts.n_bytes or 0

    def _blocks_of(self, piece: Source) -> Iterator[RowBlock]:
        try:
            for block in piece.row_blocks(self.missing):
                skipped = min(self.skip, block.n_rows)
                self.skip -= skipped
                if skipped < block.n_rows:
                    yield block.rows(skipped, block.n_rows) if skipped else block
        except NoRowsError:  # it is an error only if there is no row anywhere
            return


class Part(NamedTuple):
    """How far a worker is with a round; at its end comes the model."""

    rows: int = 0
    mistakes: int = 0  # on these rows
    bytes_read: int = 0  # in all rounds
    seconds: Seconds = (0.0, 0.0, 0.0)  # of this slice
    memory: int = 0  # the most that the process has had
    model: Model | None = None
    loss: float = 0.0  # of that model, on the first rows


class RowWorker:
    """Learns rows of its own from a model that it is given, a number of rows at a time."""

    def __init__(
        self,
        pieces: Sequence[Source],
        passes: int,
        missing: Missing,
        skip: int,
        first_rows: RowBlock | None,
    ) -> None:
        self.stream, self.first_rows = RowStream(pieces, passes, missing, skip), first_rows
        self.learner: RowLearner | None = None
        self.wanted = self.rows = self.mistakes_before = 0

    def begin(self, base: Model, rows: int, times: int) -> Part:
        """Begin a round of so many rows, each of which counts so many times; 0 if nobody else learns."""
        self.learner = cast(RowLearner, find_method(base.method).load(base.copy()))
        if times:
            self.learner.as_part(times)
        self.wanted, self.rows, self.mistakes_before = rows, 0, mistakes_of(self.learner)
        return self.go_on()

    def go_on(self) -> Part:
        """Learn for a while, one block at least."""
        learner, model, loss = self.learner, None, 0.0
        assert learner is not None, "a round has to begin before it goes on"
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
        mistakes = mistakes_of(learner) - self.mistakes_before
        return Part(
            self.rows, mistakes, self.stream.bytes_read, spent_by(clock), peak_memory(), model, loss
        )


def mistakes_of(learner: RowLearner) -> int:
    """Return how many rows were predicted wrongly before they were learned; 0 where numbers are learned."""
    return learner.results.counters().mistakes or 0


def loss_on(learner: RowLearner, rows: RowBlock) -> float:
    """Return the mean loss of rows as they are predicted now."""
    return learner.memory.target.loss(learner.results.predictor().score(rows), rows.y)


# ---- what the driver does


class RowShards:
    """A training of rows on the workers of an engine."""

    def __init__(
        self, learner: RowLearner, source: Source, engine: Engine, watch: Watch | None
    ) -> None:
        self.learner, self.source, self.engine, self.watch = learner, source, engine, watch
        self.pieces = pieces_of(source, engine.n_workers)
        self.n_workers = min(engine.n_workers, len(self.pieces))
        owners = deal(range(len(self.pieces)), sizes_of(self.pieces).tolist(), self.n_workers)
        self.owner = {piece: worker for worker, pieces in enumerate(owners) for piece in pieces}
        self.passes = learner.passes_over(source)
        self.positions = (
            [0] * self.n_workers
        )  # rows of its pieces that every worker, or the driver for it, has learned
        self.left = set(range(self.n_workers))  # who still has rows
        self.parts = [Part() for _ in self.positions]
        self.spent = Spent()
        self.rounds = self.losses = self.memory = 0
        # that a row counts: of numbers every row steps, whatever is known already
        self.times = self.n_workers if "numbers" in learner.method.targets else 1
        self.first_rows: RowBlock | None = None  # to look at what is merged

    @property
    def n_first(self) -> int:
        """How many rows are learned here before there are rounds."""
        return min(
            MAX_FIRST_ROWS, max(FIRST_ROWS, ROWS_PER_CLASS * self.learner.memory.target.n_vectors)
        )

    def read_first_rows(self) -> Iterator[tuple[int, RowBlock]]:
        """The first rows, in order, a few at a time, and whose they are."""
        for number, piece in enumerate(self.pieces):
            stream = RowStream([piece], 1, self.learner.missing_rows)
            while (block := stream.next(AT_ONCE)) is not None:
                yield self.owner[number], block

    def begin(self, classes: Any | None) -> Sample:
        """Start, and learn the first rows here until nothing is left to be chosen from them; a sample of them.

        A learner that has started has learned them, and they are only looked at.
        """
        learner, sample, rows, kept = (
            self.learner,
            Sample(),
            self.read_first_rows(),
            list[RowBlock](),
        )
        going_on = learner.started
        if not going_on:
            if classes is None and "classes" in learner.method.targets:
                classes = first_classes(self.source)
            learner.start(
                learner.width_of(self.source),
                classes,
                self.source.all_names(),
                origin=self.source.name,
            )
        seen = 0
        while seen < self.n_first or learner.memory.warm_up is not None:
            worker, block = next(rows, (0, None))
            if block is None:
                break
            if not going_on:
                learner.partial_fit_block(block)
                self.positions[worker] += block.n_rows
                self.show()
            seen += block.n_rows
            sample.add(block)
            if sum(one.n_nonzero for one in kept) < MAX_FIRST_NONZEROS:
                kept.append(block)
        self.first_rows = RowBlock.joined(kept)
        return sample

    def round_size(self, checkpoint: Checkpoint | None) -> int:
        """How many rows every worker learns in the next round; for several workers the known rows alone decide."""
        known = self.learner.n_learned
        if self.n_workers == 1:
            return min(
                MAX_ROUND_ROWS, max(FIRST_ROUND, known), next_cut(known, checkpoint, None) - known
            )
        return min(MAX_ROUND_ROWS, math.ceil(GROWTH * known / self.n_workers))

    def learn_round(self, rows: int) -> None:
        """Learn up to so many rows more with every worker that has any, and merge what comes out."""
        base = self.learner.model()
        shared, first_rows = self.engine.share(base), self.engine.share(self.first_rows)
        times = min(self.times, len(self.left)) if self.n_workers > 1 else 0

        def begin(worker: int) -> None:
            pieces = [
                piece for number, piece in enumerate(self.pieces) if self.owner[number] == worker
            ]
            given = (
                pieces,
                self.passes,
                self.learner.missing_rows,
                self.positions[worker],
                first_rows,
            )
            self.engine.start(worker, RowWorker, *given)
            self.engine.call(worker, "begin", shared, rows, times)

        crew = Crew(self.engine, begin)
        for worker in sorted(self.left):
            if self.rounds:
                self.engine.call(worker, "begin", shared, rows, times)
            else:
                begin(worker)
        ended: dict[int, Part] = {}
        while len(ended) < len(self.left):
            answer = crew.next()
            part: Part = answer.value
            self.note(answer.worker, part)
            if part.model is None:
                self.engine.call(answer.worker, "go_on")
            else:
                ended[answer.worker] = part
        self.rounds, self.losses = self.rounds + 1, self.losses + crew.losses
        for worker, part in ended.items():
            self.positions[worker] += part.rows
        self.left = {worker for worker, part in ended.items() if part.rows == rows}
        self.parts = [part._replace(rows=0, mistakes=0) for part in self.parts]
        self.merge(base, [ended[worker] for worker in sorted(ended) if ended[worker].rows], times)

    def merge(self, base: Model, parts: Sequence[Part], times: int) -> None:
        """Go on with what some parts of a round have learned.

        Where rows counted fewer times than there are parts, what the parts add may be too much. It
        is if what comes out is worse on the first rows than the parts are: then their mean is
        taken, and from now on rows count twice as often.
        """
        models = [part.model for part in parts if part.model is not None]
        if not models:
            return
        self.learner.take_up(models[0] if self.n_workers == 1 else merge_models(base, models))
        if self.first_rows is None or times >= len(models):
            return
        loss, usual = (
            loss_on(self.learner, self.first_rows),
            sum(part.loss for part in parts) / len(parts),
        )
        if not loss <= usual:  # it may be no number
            self.learner.take_up(merge_models(base, models, len(models)))
            self.times = min(2 * self.times, self.n_workers)

    def note(self, worker: int, part: Part) -> None:
        """Take note of how far a worker is."""
        self.parts[worker] = part._replace(model=None)  # which may be large
        self.spent.add(part.seconds)
        self.memory = max(self.memory, part.memory)
        self.show()

    def show(self) -> None:
        if self.watch is None:
            return
        learner, source, counters = self.learner, self.source, self.learner.results.counters()
        done = learner.n_learned + sum(part.rows for part in self.parts)
        mistakes = (
            None
            if counters.mistakes is None
            else counters.mistakes + sum(part.mistakes for part in self.parts)
        )
        total = None if source.n_rows is None else source.n_rows * self.passes
        bytes_read, n_bytes = (
            sum(part.bytes_read for part in self.parts),
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
    note: Mapping[str, Any] = NOTHING,
) -> Training:
    """Learn rows on the workers of an engine, as ``training.train`` does in one process.

    A learner that has started goes on; ``note`` is that of its checkpoint.
    """
    began = time.perf_counter()
    refuse_not_merged(learner, engine.n_workers)
    learner.note_source(source)
    shards = RowShards(cast(RowLearner, learner), source, engine, watch)
    done = Training(trace=[] if trace is None else trace)
    if learner.started:
        shards.positions, shards.times = checked(note, shards.n_workers)
    if shards.n_workers > 1:
        sample = shards.begin(classes)
    else:
        sample = sample_of(source, learner.missing_rows)
        if not learner.started:
            learner.start(learner.width_of(source), classes, source.all_names(), origin=source.name)
    saved = learner.n_learned
    while shards.left:
        shards.learn_round(shards.round_size(checkpoint))
        done.trace.append(trace_point(learner))
        if checkpoint is not None and learner.n_learned >= saved + checkpoint.every:
            known = {"trace": done.trace, "positions": shards.positions, "times": shards.times}
            learner.save(checkpoint.path, known)
            saved = learner.n_learned
    learner.finish(source.name)
    done.remarks = learner.results.diagnosis(sample)
    done.seconds = shards.spent.per_worker(shards.n_workers, time.perf_counter() - began)
    done.details = {
        "workers": shards.n_workers,
        "rounds": shards.rounds,
        "lost_workers": shards.losses,
    }
    done.details["worker_memory_bytes"] = shards.memory
    return done


def refuse_not_merged(learner: AnyLearner, n_workers: int) -> None:
    """Refuse a learner whose models cannot become one, before anything is read."""
    if n_workers == 1:
        return
    if not learner.method.merges:
        can = ", ".join(method for method in METHODS if find_method(method).merges)
        raise UsageError(
            f"models of {learner.method.name} that learned different rows cannot become one, so it"
            f" takes one worker; methods that can be trained in parts are {can}"
        )


def pieces_of(source: Source, n_workers: int) -> list[Source]:
    """The rows in pieces, in order, several for every worker where rows can be split."""
    if n_workers == 1:
        return [source]
    if not source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, and every worker reads for itself; save it to a"
            " file"
        )
    return source.shards(n_workers * PIECES)


def first_classes(source: Source) -> Any:
    """The first two labels that occur, which are the classes if nothing else is said."""
    labels = Labels()
    for block in source.row_blocks("keep"):
        encoded = labels.encode(block.y, block.origin, labels.n_rows)
        labels.learn_classes(encoded)
        labels.count(encoded.answers)
        if labels.classes.size > 1:
            return labels.classes
    labels.refuse_one_class(source.name)
    return None


def sample_of(source: Source, missing: Missing) -> Sample:
    """The first rows, to judge the result by."""
    sample = Sample()
    if missing == "error":
        for block in source.row_blocks():
            sample.add(block)
            if sample.full:
                break
    return sample


def checked(note: Mapping[str, Any], n_workers: int) -> tuple[list[int], int]:
    """The positions and the times that a checkpoint has noted, if they can be."""
    positions, times = note.get("positions"), note.get("times")
    fit = (
        isinstance(positions, list)
        and len(positions) == n_workers
        and type(times) is int
        and 1 <= times <= n_workers
    )
    if not fit or any(type(position) is not int or position < 0 for position in positions or []):
        raise DataError(
            "the checkpoint does not say how far every worker was; remove it to go on from the"
            " start"
        )
    return list(positions or []), times or 1
