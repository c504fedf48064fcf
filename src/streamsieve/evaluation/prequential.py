"""Predict first, then learn: how good a learner of rows is while it learns.

A row is judged by the score that it has before its label is learned, and a score of exactly 0 is a
mistake, as everywhere. Learners count that themselves, for a block of rows at once, so that nothing
is predicted twice. Their count is taken where it is what ``predict`` before every ``partial_fit``
would give:

    exactly         without an intercept, with ``normalize="l2"`` or, for classes, False
    but for scales  with an intercept and rows of length 1, as ``normalize="auto"`` makes them of classes and of sparse
                    rows: running means, spreads and lengths have taken in the features of the row,
                    not its label

All else is predicted row by row, a fraction of a millisecond each: where learners shorten rows that
are far too long before they learn them, which changes their scores; where they choose the number of
features on the way (``n_features_to_select="auto"``) and count for the number chosen last; and the
few rows after which they choose scales, or the centre of a numeric target, and start again from the
first row (1, 2, 4, ..., 1,024).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..class_search import with_all_classes
from ..errors import UsageError
from ..kernels.rows.batch import is_mistake
from ..kernels.rows.scores import ERRORS
from ..selectors.base import AnyLearner
from ..selectors.parameters import is_integer
from ..sources import open_source
from ..sources.base import BlockSource, Source, by_rows
from ..sources.labels import expect_classes
from ..targets import ONLY_NUMBERS
from ..training import Clock, Training


@dataclass(frozen=True, slots=True, eq=False)
class Prequential:
    """How good predictions were before their rows were learned: of classes the accuracy, of numbers R2.

    ``running`` has it for all rows up to those in ``at``, ``windowed`` for the last ``window`` of
    them; NaN is an R2 of targets that do not vary. The last window may be shorter, as are those of
    the first rows.
    """

    rows: int  # judged
    mistakes: int | None  # of classes
    accuracy: float | None  # of classes
    r2: float | None  # of numbers; None if they do not vary
    window: int
    at: NDArray[np.int64]
    running: NDArray[np.float64]
    windowed: NDArray[np.float64]
    seconds: dict[str, float]  # in all, reading, learning, compiling kernels

    @property
    def measure(self) -> str:
        """What ``running`` and ``windowed`` are: accuracy or r2."""
        return "r2" if self.accuracy is None else "accuracy"

    def __repr__(self) -> str:
        value = self.r2 if self.accuracy is None else self.accuracy
        last = f", {self.windowed[-1]:.4f} in the last window" if self.windowed.size else ""
        shown = "not known" if value is None else f"{value:.4f}"
        return f"<Prequential: {self.measure} {shown} over {self.rows:,} rows{last}>"


class Tally(NamedTuple):
    """What is known of some rows; with numbers ``lost`` is their squared errors, with classes their mistakes."""

    rows: int = 0
    lost: float = 0.0
    weight: float = 0.0
    mean: float = 0.0  # of the targets
    deviations: float = 0.0  # from it, squared

    def joined(self, other: Tally) -> Tally:
        """The same of these rows and others."""
        weight = self.weight + other.weight
        fraction = other.weight / weight if weight else 0.0
        off = other.mean - self.mean
        return Tally(
            self.rows + other.rows,
            self.lost + other.lost,
            weight,
            self.mean + fraction * off,
            self.deviations + other.deviations + off * off * self.weight * fraction,
        )


def prequential(
    selector: Any,
    data: Any,
    window: int = 1000,
    every: int | None = None,
    *,
    classes: Any | None = None,
) -> Prequential:
    """Learn rows, each predicted before it is learned, in one pass; the selector is trained afterwards.

    Parameters
    ----------
    selector : estimator or learner of rows
        One that has learned already goes on, and is judged on the new rows.
    data : source, blocks of rows, pair (X, y), table or path
        The rows, in their order.
    window : int
        Over how many rows the windowed measure is taken.
    every : int, optional
        After how many rows each time; the window must be a multiple of it, and is the default.
    classes : optional
        The classes, where the data cannot be read again to find them.

    Of numbers the first row of all is learned and not judged: there is nothing to predict it by.
    """
    if selector.method.reads != "rows":
        name = selector.method.name
        raise UsageError(
            f"{name} does not learn row by row; prequential accuracy is for methods on rows"
        )
    step = window if every is None else every
    if not is_integer(window) or not is_integer(step) or step < 1 or window < 1 or window % step:
        raise UsageError(
            f"window={window!r}, every={every!r}: give integers of 1 or more, the window a multiple"
        )
    learner: AnyLearner = selector.current_learner()
    source = rows_in(data)
    expect_classes(source, classes)
    stages: list[Stages] = []

    def attempt(classes: Any | None, again: bool) -> Training:
        clock = Clock()
        stages[:] = [Stages(learner, step)]
        with_rows(learner, source, classes, stages[0], clock)
        return Training(seconds=clock.seconds())

    search = not learner.started
    done = (
        with_all_classes(learner, source, classes, attempt) if search else attempt(classes, False)
    )
    return stages[0].result(window, done.seconds)


def rows_in(data: Any) -> Source:
    """The rows to learn: of a source, of what ``open_source`` opens, or of blocks."""
    blocks = (
        isinstance(data, Sequence)
        and len(data)
        and all(isinstance(block, RowBlock) for block in data)
    )
    return BlockSource(data) if blocks or isinstance(data, Iterator) else by_rows(open_source(data))


def with_rows(
    learner: AnyLearner, source: Source, classes: Any | None, stages: Stages, clock: Clock
) -> None:
    """Learn all rows of a source."""
    fresh = not learner.started
    if fresh:
        learner.note_source(source)
        learner.start(learner.width_of(source), classes, source.all_names(), origin=source.name)
        learner.begin_pass(0)
    for block in source.row_blocks(learner.missing_rows):
        with clock.learning():
            stages.learn(block.without_weightless())
    if fresh:
        learner.finish(source.name)


class Stages:
    """A learner that is judged while it learns, after every ``step`` rows."""

    def __init__(self, learner: AnyLearner, step: int) -> None:
        self.learner, self.step = learner, step
        self.numbers = learner.method.targets == ONLY_NUMBERS
        self.tallies = [Tally()]  # of every ``step`` rows

    def learn(self, block: RowBlock) -> None:
        """Judge rows and learn them."""
        at = 0
        while at < block.n_rows:
            if self.tallies[-1].rows == self.step:
                self.tallies.append(Tally())
            stop = min(
                block.n_rows, at + self.step - self.tallies[-1].rows, self._countable(block, at)
            )
            if stop > at:
                found = self._counted(block.rows(at, stop))
            else:
                stop = at + 1
                found = self._predicted(block.rows(at, stop))
            self.tallies[-1] = self.tallies[-1].joined(found)
            at = stop

    def _countable(self, block: RowBlock, at: int) -> int:
        """Up to where in a block, from ``at`` on, the learner's own count can be taken."""
        learner: Any = self.learner  # counts what it would predict only if
        alike = learner.results.uses_lengths or not (self.numbers or learner.options.fit_intercept)
        if not alike or learner.options.chooses_number:
            return at
        warm_up = learner.memory.warm_up
        return block.n_rows if warm_up is None else int(warm_up.stop(block, at)) - 1

    def _lost(self) -> float:
        """Mistakes, or squared errors, as the learner counts them."""
        learner = self.learner
        return (
            float(learner.memory.target.totals[ERRORS])
            if self.numbers
            else float(learner.results.mistakes_)
        )

    def _counted(self, rows: RowBlock) -> Tally:
        """Learn rows; the learner counts."""
        before = self._lost()
        self.learner.partial_fit_block(rows)
        return self._tally(rows, self._lost() - before)

    def _predicted(self, row: RowBlock) -> Tally:
        """Predict one row and learn it."""
        learner = self.learner
        if not learner.results.n_rows_:
            learner.partial_fit_block(row)
            return Tally() if self.numbers else self._tally(row, 1.0)  # a score of 0 is a mistake
        predictor = learner.results.predictor()
        predicted, classes = predictor(row), predictor.classes
        learner.partial_fit_block(row)
        if self.numbers:
            off = float(np.asarray(row.y, np.float64)[0] - predicted.labels[0])
            return self._tally(row, float(weights_of(row)[0]) * off * off)
        return self._tally(
            row, float(is_wrong(predicted.scores[0], np.asarray(row.y)[0], np.asarray(classes)))
        )

    def _tally(self, rows: RowBlock, lost: float) -> Tally:
        if not self.numbers:
            return Tally(rows.n_rows, lost)
        y, weights = np.asarray(rows.y, np.float64), weights_of(rows)
        total = float(weights.sum())
        mean = float(weights @ y) / total
        return Tally(rows.n_rows, lost, total, mean, float(weights @ (y - mean) ** 2))

    def result(self, window: int, seconds: dict[str, float]) -> Prequential:
        """What came out."""
        parts = [tally for tally in self.tallies if tally.rows]
        total, totals, windows = Tally(), [], []
        for end, part in enumerate(parts, 1):
            total = total.joined(part)
            recent = Tally()
            for one in parts[max(0, end - window // self.step) : end]:
                recent = recent.joined(one)
            totals.append(total)
            windows.append(recent)
        value = self._value(total)
        known = None if np.isnan(value) else value
        return Prequential(
            rows=total.rows,
            mistakes=None if self.numbers else round(total.lost),
            accuracy=None if self.numbers else known,
            r2=known if self.numbers else None,
            window=window,
            at=np.array([tally.rows for tally in totals], np.int64),
            running=np.array([self._value(tally) for tally in totals]),
            windowed=np.array([self._value(tally) for tally in windows]),
            seconds=seconds,
        )

    def _value(self, tally: Tally) -> float:
        """Accuracy or R2; NaN where there is none."""
        whole = tally.deviations if self.numbers else float(tally.rows)
        return 1.0 - tally.lost / whole if whole else float("nan")


def is_wrong(scores: Any, label: Any, classes: NDArray[Any]) -> bool:
    """Whether the scores of a row, one for the last class or one per class, do not put its label first."""
    code = (
        int(label == classes[-1]) if np.ndim(scores) == 0 else int(np.searchsorted(classes, label))
    )
    return bool(is_mistake(np.atleast_1d(scores), code))


def weights_of(rows: RowBlock) -> NDArray[np.float64]:
    return np.ones(rows.n_rows) if rows.sample_weight is None else rows.sample_weight
