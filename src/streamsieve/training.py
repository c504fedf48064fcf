"""The driver: from a source to a trained learner, with passes, timing, progress and checkpoints."""

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
from .class_search import train_with_all_classes
from .errors import DataError, UsageError
from .kernels.jit import compile_seconds
from .machine import note_program_loaded, refuse_beyond_limit
from .recording import Recording, Trace, next_look
from .selectors.base import AnyLearner
from .selectors.diagnosis import DataSample, Finding, RowSample, describe_no_groups
from .selectors.matrix.data import Matrix, MatrixSample, read_matrix
from .sources.base import ColumnSource, DataSource, Missing, Report, as_row_source
from .sources.columns import OrderedColumns, as_column_source
from .sources.groups import Grouping, grouping_of, parse_groups

logger = logging.getLogger("streamsieve")

B = TypeVar("B")


class Progress(NamedTuple):
    """The progress of a run; unknown values are None."""

    done: int
    total: int | None
    unit: str  # what is counted: rows, features, rounds, ...
    bytes: int | None = None
    n_bytes: int | None = None
    mistakes: int | None = None
    r2: float | None = None


Watch = Callable[[Progress], None]


class Checkpoint(NamedTuple):
    """The file to which a learner is saved, and the number of rows or features between saves."""

    path: Path
    every: int


@dataclass(slots=True)
class Training:
    """The cost of a training: seconds in all, reading, learning and compiling; and its records.

    ``trace`` has the mistakes on the way, and ``findings`` are findings for the user. ``history``
    has the changes of the selection, if they were recorded, and ``details`` describe a training on
    several workers.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    trace: Trace = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    history: dict[str, Any] | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Feed(ABC, Generic[B]):
    """The data for a learner, in blocks of its kind.

    Blocks of rows or columns can be cut.
    """

    unit = "rows"

    def __init__(self, source: DataSource, y: NDArray[Any] | None, total: int | None) -> None:
        self.source, self.y, self.total = source, y, total

    group_names: NDArray[Any] | None = None  # the names of groups of features

    def feature_names(self) -> NDArray[Any] | None:
        """Return the names of all features that are known at the start."""
        return self.source.read_feature_names()

    def sample(self) -> DataSample:
        """Return a sample of the data, after the last block."""
        return DataSample()

    def findings(self, learner: AnyLearner) -> list[Finding]:
        """Return findings for the user on the data, for this learner."""
        return []

    @abstractmethod
    def blocks(self) -> Iterator[B]:
        """Yield all blocks, starting again from the first."""

    @abstractmethod
    def size(self, block: B) -> int:
        """Return the number of units in a block."""

    @abstractmethod
    def part(self, block: B, start: int, stop: int) -> B:
        """Return the units of a block from ``start`` to before ``stop``."""


class RowFeed(Feed[RowBlock]):
    """The rows of a source."""

    def __init__(self, source: DataSource, missing: Missing) -> None:
        super().__init__(source, None, source.n_rows)
        self.rows, self.missing = as_row_source(source), missing
        self.row_sample = RowSample()

    def blocks(self) -> Iterator[RowBlock]:
        self.row_sample = RowSample()
        for rows in self.rows.row_blocks(self.missing):
            # learners count rows, and identify them by their number
            block = rows.without_zero_weights()
            if self.missing == "error":  # otherwise there are values that must not be read
                self.row_sample.add(block)
            yield block

    def sample(self) -> DataSample:
        return self.row_sample

    def size(self, block: RowBlock) -> int:
        return block.n_rows

    def part(self, block: RowBlock, start: int, stop: int) -> RowBlock:
        return block.rows(start, stop)


class ColumnFeed(Feed[ColumnBlock]):
    """The columns of a source, transposed if necessary; those of a group together, with ``groups``.

    A ``Grouping`` belongs to columns that are in order already. Without ``groups``, a method that
    ``wants_groups`` uses the features of a column of text as a group.
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
        given = groups if groups is None or isinstance(groups, Grouping) else parse_groups(groups)
        columns: ColumnSource = as_column_source(source, report)
        if (
            given is None
            and wants_groups
            and source.encoding is not None
            and source.encoding.has_groups
        ):
            given = parse_groups(source.encoding.groups)
        if given is None or isinstance(given, Grouping):
            self.groups: Grouping | None = given
        else:
            self.groups = grouping_of(given, source, columns)
            order = self.groups.order() if columns.rewindable else None
            columns = columns if order is None else OrderedColumns(columns, order)
        self.columns = columns
        self.group_names = columns.facts.group_names if self.groups is None else self.groups.names
        super().__init__(columns, columns.targets() if y is None else y, columns.n_features)

    def feature_names(self) -> NDArray[Any] | None:
        return self.columns.feature_names  # None if every block has the names of its columns

    def blocks(self) -> Iterator[ColumnBlock]:
        for block in self.columns.column_blocks():
            yield block if self.groups is None else block.derived(groups=self.groups.of(block))

    def findings(self, learner: AnyLearner) -> list[Finding]:
        if not learner.method.supports_groups or self.columns.facts.has_groups:
            return []
        return (
            []
            if self.groups is not None and self.groups.has_several_together
            else [describe_no_groups()]
        )

    def size(self, block: ColumnBlock) -> int:
        return block.n_columns

    def part(self, block: ColumnBlock, start: int, stop: int) -> ColumnBlock:
        return block.columns(start, stop)


class MatrixFeed(Feed[Matrix]):
    """The whole matrix, in one block that cannot be cut."""

    unit = "features"

    def __init__(self, source: DataSource, y: NDArray[Any] | None, report: Report | None) -> None:
        self.matrix, target = read_matrix(source, report)
        super().__init__(source, target if y is None else y, self.matrix.n_features)

    def blocks(self) -> Iterator[Matrix]:
        yield self.matrix

    def size(self, block: Matrix) -> int:
        return block.n_features

    def part(self, block: Matrix, start: int, stop: int) -> Matrix:
        return block

    def sample(self) -> DataSample:
        return MatrixSample(self.matrix)


def reporter(watch: Watch | None, source: DataSource) -> Report:
    """Return a function that passes the progress of reading a source to a watch."""

    def report(unit: str, count: int, total: int | None) -> None:
        if watch:
            watch(Progress(count, total, unit, source.bytes_read, source.facts.n_bytes))

    return report


@contextmanager
def watching(watch: Watch | None, progress: bool) -> Generator[Watch | None]:
    """Yield the function to call with every snapshot.

    It is ``watch`` and, with ``progress``, a bar in the terminal or notebook.
    """
    if not progress:
        yield watch
        return
    from .progress import NotebookBar, ProgressBar, in_notebook

    with NotebookBar() if in_notebook() else ProgressBar() as bar:

        def watch_and_show(now: Progress) -> None:
            bar(now)
            if watch:
                watch(now)

        yield watch_and_show


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
    """Learn from a source, all of it or the part after a checkpoint.

    A learner that has started continues after what it has learned, and so does its ``recording``,
    which says how many rows it had learned from other data. ``y`` is the target of columns that
    come without one. Without ``classes``, rows are learned from the start again if there turn out
    to be more than two.
    """
    # a matrix is learned in one piece
    recording = None if learner.reads == "matrix" else recording

    def attempt(classes: Any | None, is_restart: bool) -> Training:
        if is_restart and recording is not None:
            recording.restart()
        return train_with(learner, source, y, classes, groups, watch, checkpoint, recording)

    return train_with_all_classes(learner, source, classes, attempt)


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
    """Learn from a source with the classes that are known. This is the only loop over blocks."""
    done, clock, report = Training(), Clock(), reporter(watch, source)
    logger.info("reading %s", source.name)
    learner.use_source(source)
    feed = feed_for(learner, source, y, groups, report)
    passes = learner.passes_over(feed.source)
    if passes > 1 and not feed.source.rewindable:
        raise UsageError(
            f"{source.name}: can be read only once, but {passes} passes are needed; save it to a"
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
                note_program_loaded()
                refuse_beyond_limit()
                if recording is not None:
                    recording.look(learner)
            saves = checkpoint is not None and learner.n_learned % checkpoint.every == 0
            if checkpoint is not None and saves:
                learner.save(checkpoint.path, None if recording is None else recording.to_note())
                logger.info(
                    "checkpoint after %s %s: %s",
                    f"{learner.n_learned:,}",
                    feed.unit,
                    checkpoint.path,
                )
            if watch and (ends_block or saves):
                watch(progress_of(learner, feed, passes, recording))
    logger.info("read all of %s: %s %s learned", source.name, f"{learner.n_learned:,}", feed.unit)
    with clock.learning():
        learner.finish(source.name)
        done.findings = [
            *learner.results.diagnosis(feed.sample()),
            *feed.findings(learner),
            *findings_on(source),
        ]
        if recording is not None:
            recording.finish(learner)
            done.trace, history = recording.trace, recording.history
            done.history = None if history is None else history.to_dict()
    learner.listener = None
    done.seconds = clock.seconds()
    return done


class Clock:
    """Measures learning, compiling kernels and reading, which is all other time.

    It starts when it is created.
    """

    def __init__(self) -> None:
        self.began, self.compiled = time.perf_counter(), compile_seconds()
        self.learned = 0.0

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Count the time in the context as learning, except for compilation on any thread."""
        began, compiled = time.perf_counter(), compile_seconds()
        yield
        self.learned += time.perf_counter() - began - (compile_seconds() - compiled)

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each kind."""
        total, compiling = time.perf_counter() - self.began, compile_seconds() - self.compiled
        return {
            "total": total,
            "read": max(0.0, total - self.learned - compiling),
            "learn": self.learned,
            "compile": compiling,
        }


def findings_on(source: DataSource) -> list[Finding]:
    """Return findings for the user on how data was read."""
    return [Finding(note.kind, "note", note.message, note.advice) for note in source.facts.notes]


def feed_for(
    learner: AnyLearner,
    source: DataSource,
    y: NDArray[Any] | None,
    groups: Any | None,
    report: Report,
) -> Feed[Any]:
    """Return the data in the form in which a learner reads it."""
    if learner.reads == "rows":
        return RowFeed(source, learner.missing_rows)
    if learner.reads == "columns":
        return ColumnFeed(source, y, groups, report, learner.method.supports_groups)
    return MatrixFeed(source, y, report)


def pieces(
    feed: Feed[B],
    learner: AnyLearner,
    passes: int,
    checkpoint: Checkpoint | None = None,
    recording: Recording | None = None,
) -> Generator[tuple[B, bool]]:
    """Yield the blocks of all passes that are not learned yet, cut where something is recorded.

    With each comes a flag: True if it ends a block of the feed.
    """
    earlier = 0 if recording is None else recording.earlier
    done, seen = learner.n_learned if learner.started else 0, earlier
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
            f"{feed.source.name}: has {seen - earlier:,} {feed.unit}, but the checkpoint was"
            f" written after {done - earlier:,}"
        )


def next_cut(count: int, checkpoint: Checkpoint | None, recording: Recording | None) -> int:
    """Return the first count after ``count`` at which something is recorded."""
    look = 2**62 if recording is None else next_look(count)
    return (
        look
        if checkpoint is None
        else min(look, (count // checkpoint.every + 1) * checkpoint.every)
    )


def progress_of(
    learner: AnyLearner, feed: Feed[Any], passes: int, recording: Recording | None = None
) -> Progress:
    """Return the progress of a learner in a number of passes."""
    earlier = 0 if recording is None else recording.earlier
    source, total = feed.source, None if feed.total is None else feed.total * passes
    n_bytes = (
        None
        if source.facts.n_bytes is None or feed.unit != "rows" or passes > 1
        else source.facts.n_bytes
    )
    counters = learner.results.counters()
    return Progress(
        learner.n_learned - earlier,
        total,
        feed.unit,
        source.bytes_read,
        n_bytes,
        counters.mistakes,
        counters.r2,
    )
