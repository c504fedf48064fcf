"""The one driver: from a source to a trained learner, with passes, timing, progress, checkpoints."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from numpy.typing import NDArray

from .blocks import ColumnBlock, RowBlock
from .class_search import with_all_classes
from .errors import DataError, UsageError
from .kernels.jit import compile_seconds
from .machine import program_loaded, refuse_beyond_limit
from .recording import Recording, Trace, next_look
from .selectors.base import AnyLearner
from .selectors.diagnosis import Look, Remark, Sample, no_groups
from .selectors.matrix.data import Matrix, MatrixLook, matrix_of
from .sources.base import ColumnSource, DataSource, Missing, Report, by_rows
from .sources.columns import OrderedColumns, by_columns
from .sources.groups import Grouping, given_groups, grouping_of

notes = logging.getLogger("streamsieve")

B = TypeVar("B")


class Progress(NamedTuple):
    """How far a run is; what is not known is None."""

    done: int
    total: int | None
    unit: str  # what is counted: rows, features, rounds, ...
    bytes: int | None = None
    n_bytes: int | None = None
    mistakes: int | None = None
    r2: float | None = None


Watch = Callable[[Progress], None]


class Checkpoint(NamedTuple):
    """Where to keep what was learned so far, and after how many rows, or features, each time."""

    path: Path
    every: int


@dataclass(slots=True)
class Training:
    """What a training took: seconds in all, reading, learning and compiling kernels; mistakes on the way.

    ``remarks`` are what a user should know of the result, ``history`` is when features entered and
    left the selection, if that was recorded, and ``details`` how it was trained on several workers.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    trace: Trace = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    history: dict[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Feed(ABC, Generic[B]):
    """What a learner is fed with: the data in blocks of its kind. Blocks of rows or columns can be cut."""

    unit = "rows"

    def __init__(self, source: DataSource, y: NDArray[Any] | None, total: int | None) -> None:
        self.source, self.y, self.total = source, y, total

    group_names: NDArray[Any] | None = None  # what groups of features are called

    def feature_names(self) -> NDArray[Any] | None:
        """Return the names of all features, for a learner to start with."""
        return self.source.all_names()

    def look(self) -> Look:
        """What there still is of the data, after the last block."""
        return Look()

    def remarks(self, learner: AnyLearner) -> list[Remark]:
        """What a user should know of the data in the hands of a learner."""
        return []

    @abstractmethod
    def blocks(self) -> Iterator[B]:
        """All blocks, once more from the first."""

    @abstractmethod
    def size(self, block: B) -> int:
        """How many units a block has."""

    @abstractmethod
    def part(self, block: B, start: int, stop: int) -> B:
        """The units of a block from ``start`` to before ``stop``."""


class RowFeed(Feed[RowBlock]):
    def __init__(self, source: DataSource, missing: Missing) -> None:
        super().__init__(source, None, source.n_rows)
        self.rows, self.missing = by_rows(source), missing
        self.sample = Sample()

    def blocks(self) -> Iterator[RowBlock]:
        self.sample = Sample()
        for rows in self.rows.row_blocks(self.missing):
            block = (
                rows.without_weightless()
            )  # as learners count rows, which are found again by their number
            if self.missing == "error":  # or there are values that nobody may read
                self.sample.add(block)
            yield block

    def look(self) -> Look:
        return self.sample

    def size(self, block: RowBlock) -> int:
        return block.n_rows

    def part(self, block: RowBlock, start: int, stop: int) -> RowBlock:
        return block.rows(start, stop)


class ColumnFeed(Feed[ColumnBlock]):
    """Columns, of a source that has them or transposed; those of a group together, if ``groups`` are given.

    A ``Grouping`` is that of columns that are in order already. Without ``groups``, a method that
    ``wants_groups`` takes the features of a column of text for one.
    """

    unit = "features"

    def __init__(
        self,
        source: DataSource,
        y: NDArray[Any] | None,
        groups: Any | None,
        report: Report | None,
        wants_groups: bool = False,
    ) -> None:
        known = groups if groups is None or isinstance(groups, Grouping) else given_groups(groups)
        columns: ColumnSource = by_columns(source, report)
        if (
            known is None
            and wants_groups
            and source.encoding is not None
            and source.encoding.has_groups
        ):
            known = given_groups(source.encoding.groups)
        if known is None or isinstance(known, Grouping):
            self.groups: Grouping | None = known
        else:
            self.groups = grouping_of(known, source, columns)
            order = self.groups.order() if columns.rewindable else None
            columns = columns if order is None else OrderedColumns(columns, order)
        self.columns = columns
        self.group_names = columns.facts.group_names if self.groups is None else self.groups.names
        super().__init__(columns, columns.targets() if y is None else y, columns.n_features)

    def feature_names(self) -> NDArray[Any] | None:
        return self.columns.feature_names  # or columns bring their names with them

    def blocks(self) -> Iterator[ColumnBlock]:
        for block in self.columns.column_blocks():
            yield block if self.groups is None else block.derived(groups=self.groups.of(block))

    def remarks(self, learner: AnyLearner) -> list[Remark]:
        if not learner.method.knows_groups or self.columns.facts.has_groups:
            return []
        return (
            []
            if self.groups is not None and self.groups.n_groups < self.groups.n_features
            else [no_groups()]
        )

    def size(self, block: ColumnBlock) -> int:
        return block.n_columns

    def part(self, block: ColumnBlock, start: int, stop: int) -> ColumnBlock:
        return block.columns(start, stop)


class MatrixFeed(Feed[Matrix]):
    """The whole matrix, in one block that cannot be cut."""

    unit = "features"

    def __init__(self, source: DataSource, y: NDArray[Any] | None, report: Report | None) -> None:
        self.matrix, found = matrix_of(source, report)
        super().__init__(source, found if y is None else y, self.matrix.n_features)

    def blocks(self) -> Iterator[Matrix]:
        yield self.matrix

    def size(self, block: Matrix) -> int:
        return block.n_features

    def part(self, block: Matrix, start: int, stop: int) -> Matrix:
        return block

    def look(self) -> Look:
        return MatrixLook(self.matrix)


def reporter(watch: Watch | None, source: DataSource) -> Report:
    """Return what tells a watch how far something that reads a source is."""

    def report(unit: str, count: int, total: int | None) -> None:
        if watch:
            watch(Progress(count, total, unit, source.bytes_read, source.facts.n_bytes))

    return report


@contextmanager
def watching(watch: Watch | None, progress: bool) -> Generator[Watch | None]:
    """What is called with every snapshot: ``watch`` and, with ``progress``, a bar in the terminal or notebook."""
    if not progress:
        yield watch
        return
    from .progress import NotebookBar, ProgressBar, in_notebook

    with NotebookBar() if in_notebook() else ProgressBar() as bar:

        def both(now: Progress) -> None:
            bar(now)
            if watch:
                watch(now)

        yield both


def train(
    learner: AnyLearner,
    source: DataSource,
    *,
    y: NDArray[Any] | None = None,
    classes: Any | None = None,
    groups: Any | None = None,
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
    recording: Recording | None = None,
) -> Training:
    """Learn from a source, all of it or what is left after a checkpoint.

    A learner that has started goes on after what it has learned, and so does its ``recording``.
    ``y`` is the target of columns that come without one. Without ``classes`` rows are learned from
    the start once more if more than two turn out to be there.
    """
    recording = None if learner.reads == "matrix" else recording  # which is learned in one piece

    def attempt(classes: Any | None, again: bool) -> Training:
        if again and recording is not None:
            recording.restart()
        return train_with(learner, source, y, classes, groups, watch, checkpoint, recording)

    return with_all_classes(learner, source, classes, attempt)


def train_with(
    learner: AnyLearner,
    source: DataSource,
    y: NDArray[Any] | None,
    classes: Any | None,
    groups: Any | None,
    watch: Watch | None,
    checkpoint: Checkpoint | None,
    recording: Recording | None,
) -> Training:
    """Learn from a source with the classes that are known: the only loop over blocks."""
    done, clock, report = Training(), Clock(), reporter(watch, source)
    notes.info("reading %s", source.name)
    learner.note_source(source)
    feed = feed_for(learner, source, y, groups, report)
    passes = learner.passes_over(feed.source)
    if passes > 1 and not feed.source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, and {passes} passes are asked for; save it to a"
            " file"
        )
    if not learner.started:
        width = learner.width_of(feed.source)
        learner.start(width, classes, feed.feature_names(), y=feed.y, origin=source.name)
    learner.name_groups(feed.group_names)
    learner.listener = report
    with closing(pieces(feed, learner, passes, checkpoint, recording)) as parts:
        for part, ends_block in parts:
            with clock.learning():
                learner.partial_fit_block(part)
                program_loaded()
                refuse_beyond_limit()
                if recording is not None:
                    recording.look(learner)
            saves = checkpoint is not None and learner.n_learned % checkpoint.every == 0
            if checkpoint is not None and saves:
                learner.save(checkpoint.path, None if recording is None else recording.to_note())
                notes.info(
                    "checkpoint after %s %s: %s",
                    f"{learner.n_learned:,}",
                    feed.unit,
                    checkpoint.path,
                )
            if watch and (ends_block or saves):
                watch(progress_of(learner, feed, passes))
    notes.info("read all of %s: %s %s learned", source.name, f"{learner.n_learned:,}", feed.unit)
    with clock.learning():
        learner.finish(source.name)
        done.remarks = [
            *learner.results.diagnosis(feed.look()),
            *feed.remarks(learner),
            *remarks_on(source),
        ]
        if recording is not None:
            recording.finish(learner)
            done.trace, history = recording.trace, recording.history
            done.history = None if history is None else history.to_dict()
    learner.listener = None
    done.seconds = clock.seconds()
    return done


class Clock:
    """Tells learning, compiling kernels and all else, which is reading, apart; it starts when it is made."""

    def __init__(self) -> None:
        self.began, self.compiled = time.perf_counter(), compile_seconds()
        self.learned = 0.0

    @contextmanager
    def learning(self) -> Iterator[None]:
        """What is done now is learning, but for what is compiled meanwhile, on whichever thread."""
        began, compiled = time.perf_counter(), compile_seconds()
        yield
        self.learned += time.perf_counter() - began - (compile_seconds() - compiled)

    def seconds(self) -> dict[str, float]:
        """Where the time went."""
        total, compiling = time.perf_counter() - self.began, compile_seconds() - self.compiled
        reading = max(0.0, total - self.learned - compiling)
        return {"total": total, "read": reading, "learn": self.learned, "compile": compiling}


def remarks_on(source: DataSource) -> list[Remark]:
    """What a user should know of how data was read."""
    return [Remark(note.kind, "note", note.message, note.advice) for note in source.facts.notes]


def feed_for(
    learner: AnyLearner,
    source: DataSource,
    y: NDArray[Any] | None,
    groups: Any | None,
    report: Report,
) -> Feed[Any]:
    """The data as a learner reads it."""
    if learner.reads == "rows":
        return RowFeed(source, learner.missing_rows)
    if learner.reads == "columns":
        return ColumnFeed(source, y, groups, report, learner.method.knows_groups)
    return MatrixFeed(source, y, report)


def pieces(
    feed: Feed[B],
    learner: AnyLearner,
    passes: int,
    checkpoint: Checkpoint | None = None,
    recording: Recording | None = None,
) -> Generator[tuple[B, bool]]:
    """The blocks of all passes after what was learned already, cut where something is to be noted.

    With each goes whether it ends a block of the feed.
    """
    done, seen = learner.n_learned if learner.started else 0, 0
    for number in range(passes):
        if done <= seen:
            learner.begin_pass(number)
        for block in feed.blocks():
            size = feed.size(block)
            at = min(max(0, done - seen), size)
            while at < size:
                stop = min(size, next_cut(seen + at, checkpoint, recording) - seen)
                yield block if (at, stop) == (0, size) else feed.part(block, at, stop), stop == size
                at = stop
            seen += size
    if seen < done:
        raise DataError(
            f"{feed.source.name}: has {seen:,} {feed.unit}, but the checkpoint was written after"
            f" {done:,}"
        )


def next_cut(count: int, checkpoint: Checkpoint | None, recording: Recording | None) -> int:
    """The first count after ``count`` at which something is to be noted."""
    look = 2**62 if recording is None else next_look(count)
    return (
        look
        if checkpoint is None
        else min(look, (count // checkpoint.every + 1) * checkpoint.every)
    )


def progress_of(learner: AnyLearner, feed: Feed[Any], passes: int) -> Progress:
    source, total = feed.source, None if feed.total is None else feed.total * passes
    n_bytes = (
        None
        if source.facts.n_bytes is None or feed.unit != "rows" or passes > 1
        else source.facts.n_bytes
    )
    counters = learner.results.counters()
    return Progress(
        learner.n_learned,
        total,
        feed.unit,
        source.bytes_read,
        n_bytes,
        counters.mistakes,
        counters.r2,
    )
