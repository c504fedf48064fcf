"""Measure how well a learner predicts each row before it learns it.

A row is judged by the score that it has before its label is learned, and a score of exactly 0 is a
mistake, as everywhere. Learners count mistakes themselves, for a block of rows at once, so that
nothing is predicted twice. Their count is used where it is the same as that of ``predict`` before
every ``partial_fit``:

    exactly        without an intercept, with ``normalize="l2"`` or, for classes, False
    except scales  with an intercept and rows of length 1, as ``normalize="auto"`` makes them for
                   classes and for sparse rows: running means, spreads and lengths include the
                   features of the row, not its label

All other rows are predicted one by one, which takes a fraction of a millisecond per row: where
learners shorten very long rows before they learn them, which changes their scores; where they
choose the number of features while they learn (``n_features_to_select="auto"``) and count for the
number chosen last; and the few rows after which they choose scales, or the centre of a numeric
target, and start again from the first row (1, 2, 4, ..., 1,024).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..class_search import train_with_all_classes
from ..errors import UsageError
from ..kernels.rows.batch import is_mistake
from ..kernels.rows.scores import ERRORS
from ..selectors.base import AnyLearner
from ..selectors.parameters import is_integer
from ..sources import open_source
from ..sources.base import BlockSource, Source, as_row_source
from ..sources.labels import expect_classes
from ..targets import ONLY_NUMBERS
from ..training import Clock, Training


@dataclass(frozen=True, slots=True, eq=False)
class Prequential:
    """The quality of predictions made before their rows were learned.

    It is the accuracy for classes, and R2 for numbers. ``running`` has it for all rows up to each
    number of rows in ``at``, ``windowed`` for the last ``window`` of these rows. R2 is NaN for
    targets that do not vary. The last window may be shorter, as are those of the first rows.
    """

    rows: int  # judged
    mistakes: int | None  # for classes
    accuracy: float | None  # for classes
    r2: float | None  # for numbers; None if they do not vary
    window: int
    at: NDArray[np.int64]
    running: NDArray[np.float64]
    windowed: NDArray[np.float64]
    seconds: dict[str, float]  # total, reading, learning, compiling kernels

    @property
    def measure(self) -> str:
        """Return the name of the measure in ``running`` and ``windowed``: accuracy or r2."""
        return "r2" if self.accuracy is None else "accuracy"

    def __repr__(self) -> str:
        value = self.r2 if self.accuracy is None else self.accuracy
        suffix = f", {self.windowed[-1]:.4f} in the last window" if self.windowed.size else ""
        text = "unknown" if value is None else f"{value:.4f}"
        return f"<Prequential: {self.measure} {text} over {self.rows:,} rows{suffix}>"


class Tally(NamedTuple):
    """Counts and sums of some rows.

    ``loss`` is the sum of squared errors for numbers, and the number of mistakes for classes.
    """

    rows: int = 0
    loss: float = 0.0
    weight: float = 0.0
    mean: float = 0.0  # of the targets
    deviations: float = 0.0  # of the targets from their mean, squared

    def merge(self, other: Tally) -> Tally:
        """Return the tally of these rows and others together."""
        weight = self.weight + other.weight
        fraction = other.weight / weight if weight else 0.0
        difference = other.mean - self.mean
        return Tally(
            self.rows + other.rows,
            self.loss + other.loss,
            weight,
            self.mean + fraction * difference,
            self.deviations + other.deviations + difference * difference * self.weight * fraction,
        )


def prequential(
    selector: Any,
    data: Any,
    window: int = 1000,
    every: int | None = None,
    *,
    classes: Any | None = None,
) -> Prequential:
    """Learn rows in one pass, and measure the prediction of each row before it is learned.

    The selector is trained afterwards.

    Parameters
    ----------
    selector : estimator or learner of rows
        One that has learned already continues, and is judged on the new rows.
    data : source, blocks of rows, pair (X, y), table or path
        The rows, in their order.
    window : int
        The number of rows over which the windowed measure is taken.
    every : int, optional
        The number of rows between two measurements; by default the window, which must be a multiple
        of it.
    classes : optional
        The classes, where the data cannot be read again to find them.

    For numbers the first row of all is learned and not judged, as nothing can predict it.
    """
    if selector.method.reads != "rows":
        name = selector.method.name
        raise UsageError(
            f"{name} does not learn row by row; prequential supports only methods that do"
        )
    step = window if every is None else every
    if not is_integer(window) or not is_integer(step) or step < 1 or window < 1 or window % step:
        raise UsageError(
            f"window={window!r}, every={every!r}: must be integers of 1 or more, and window a"
            " multiple of every"
        )
    learner: AnyLearner = selector.current_learner()
    source = open_rows(data)
    expect_classes(source, classes)
    judged: list[JudgedLearner] = []

    def attempt(classes: Any | None, again: bool) -> Training:
        clock = Clock()
        judged[:] = [JudgedLearner(learner, step)]
        learn_rows(learner, source, classes, judged[0], clock)
        return Training(seconds=clock.seconds())

    training = (
        attempt(classes, False)
        if learner.started
        else train_with_all_classes(learner, source, classes, attempt)
    )
    return judged[0].result(window, training.seconds)


def open_rows(data: Any) -> Source:
    """Return some data as a source of rows.

    Data is a source, a sequence or iterator of blocks, or anything that ``open_source`` opens.
    """
    blocks = (
        isinstance(data, Sequence)
        and len(data)
        and all(isinstance(block, RowBlock) for block in data)
    )
    return (
        BlockSource(data)
        if blocks or isinstance(data, Iterator)
        else as_row_source(open_source(data))
    )


def learn_rows(
    learner: AnyLearner, source: Source, classes: Any | None, judged: JudgedLearner, clock: Clock
) -> None:
    """Learn all rows of a source, and start and finish a learner that has not started."""
    is_new = not learner.started
    if is_new:
        learner.use_source(source)
        learner.start(
            learner.width_of(source), classes, source.read_feature_names(), origin=source.name
        )
        learner.begin_pass(0)
    for block in source.row_blocks(learner.missing_rows):
        with clock.learning():
            judged.learn(block.without_zero_weights())
    if is_new:
        learner.finish(source.name)


class JudgedLearner:
    """A learner that is judged while it learns, with a tally for every ``step`` rows."""

    def __init__(self, learner: AnyLearner, step: int) -> None:
        self.learner, self.step = learner, step
        self.learns_numbers = learner.method.targets == ONLY_NUMBERS
        self.tallies = [Tally()]  # one for every ``step`` rows

    def learn(self, block: RowBlock) -> None:
        """Judge rows and learn them."""
        start = 0
        while start < block.n_rows:
            if self.tallies[-1].rows == self.step:
                self.tallies.append(Tally())
            stop = min(
                block.n_rows,
                start + self.step - self.tallies[-1].rows,
                self._countable_stop(block, start),
            )
            if stop > start:
                tally = self._learn_counted(block.rows(start, stop))
            else:
                stop = start + 1
                tally = self._learn_predicted(block.rows(start, stop))
            self.tallies[-1] = self.tallies[-1].merge(tally)
            start = stop

    def _countable_stop(self, block: RowBlock, start: int) -> int:
        """Return where the rows from ``start`` on end for which the learner's count can be used."""
        learner: Any = self.learner  # its count is that of its predictions only if
        is_same_count = learner.results.uses_row_lengths or not (
            self.learns_numbers or learner.options.fit_intercept
        )
        if not is_same_count or learner.options.chooses_budget:
            return start
        warm_up = learner.memory.warm_up
        return block.n_rows if warm_up is None else int(warm_up.stop(block, start)) - 1

    def _loss(self) -> float:
        """Return the sum of mistakes, or of squared errors, that the learner has counted."""
        learner = self.learner
        return (
            float(learner.memory.target.totals[ERRORS])
            if self.learns_numbers
            else float(learner.results.mistakes_)
        )

    def _learn_counted(self, rows: RowBlock) -> Tally:
        """Learn rows, and return their tally by the learner's count."""
        before = self._loss()
        self.learner.partial_fit_block(rows)
        return self._tally(rows, self._loss() - before)

    def _learn_predicted(self, row: RowBlock) -> Tally:
        """Predict a row, learn it, and return its tally."""
        learner = self.learner
        if not learner.results.n_rows_:
            learner.partial_fit_block(row)
            # a score of 0 is a mistake
            return Tally() if self.learns_numbers else self._tally(row, 1.0)
        predictor = learner.results.predictor()
        predicted, classes = predictor(row), np.asarray(predictor.classes)
        learner.partial_fit_block(row)
        if self.learns_numbers:
            error = float(np.asarray(row.y, np.float64)[0] - predicted.labels[0])
            return self._tally(row, float(weights_of(row)[0]) * error * error)
        scores, label = np.atleast_1d(predicted.scores[0]), np.asarray(row.y)[0]
        # of two classes there is one score, that of the last
        code = label == classes[-1] if scores.size == 1 else np.searchsorted(classes, label)
        return self._tally(row, float(is_mistake(scores, int(code))))

    def _tally(self, rows: RowBlock, loss: float) -> Tally:
        if not self.learns_numbers:
            return Tally(rows.n_rows, loss)
        y, weights = np.asarray(rows.y, np.float64), weights_of(rows)
        total = float(weights.sum())
        mean = float(weights @ y) / total
        return Tally(rows.n_rows, loss, total, mean, float(weights @ (y - mean) ** 2))

    def result(self, window: int, seconds: dict[str, float]) -> Prequential:
        """Return the measures over all rows and over windows."""
        tallies = [tally for tally in self.tallies if tally.rows]
        totals = list(accumulate(tallies, Tally.merge))
        steps = window // self.step
        windows = [
            reduce(Tally.merge, tallies[max(0, end - steps) : end])
            for end in range(1, len(tallies) + 1)
        ]
        total = totals[-1] if totals else Tally()
        value = self._value(total)
        finite_value = None if np.isnan(value) else value
        return Prequential(
            rows=total.rows,
            mistakes=None if self.learns_numbers else round(total.loss),
            accuracy=None if self.learns_numbers else finite_value,
            r2=finite_value if self.learns_numbers else None,
            window=window,
            at=np.array([tally.rows for tally in totals], np.int64),
            running=np.array([self._value(tally) for tally in totals]),
            windowed=np.array([self._value(tally) for tally in windows]),
            seconds=seconds,
        )

    def _value(self, tally: Tally) -> float:
        """Return accuracy or R2; NaN where it is not defined."""
        total = tally.deviations if self.learns_numbers else float(tally.rows)
        return 1.0 - tally.loss / total if total else float("nan")


def weights_of(rows: RowBlock) -> NDArray[np.float64]:
    """Return the weights of rows, 1 if they have none."""
    return np.ones(rows.n_rows) if rows.sample_weight is None else rows.sample_weight
