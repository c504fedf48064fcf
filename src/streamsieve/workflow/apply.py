"""Use the model of a run: keep the selected columns, predict labels, measure how good predictions are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import UsageError, spell
from ..evaluation.quality import Fit, Quality, quality_of_labels
from ..kernels.rows.batch import ALL_MARKED, keep_known
from ..machine import limited
from ..registry import load_learner
from ..runs import RunDirectory
from ..selection import Selection
from ..selectors.base import AnyLearner
from ..selectors.prediction import Prediction
from ..selectors.rows.addresses import table_addresses
from ..sources import refuse_target
from ..sources.base import Source
from ..sources.finding import files_of, is_names, is_no_file
from ..sources.formats import output_format
from ..sources.options import ReadOptions
from ..sources.wrapped import given_names
from ..sources.writers import holds_names, is_table, titles_of_ids, write_rows
from ..targets import is_text, labels_like
from .feature_matching import Features, Like, open_like_training
from .row_norms import Lengths, lengths_of, mark_of, model_mark, writing_lengths

MAX_INT32 = np.iinfo(np.int32).max
LOOK_BYTES = 1 << 20  # of rows that show whether they are complete

Predicted = tuple[
    Prediction, NDArray[Any] | None
]  # what is predicted of some rows, and their own labels
Squares = Callable[
    [RowBlock], NDArray[np.float64] | None
]  # the squared lengths of the complete rows of a block

notes = logging.getLogger("streamsieve")


@dataclass(frozen=True, slots=True)
class Predictions:
    """What is predicted of the rows of a source, block by block as they are read."""

    classes: NDArray[Any] | None  # sorted; None if numbers are predicted
    blocks: Iterator[Predicted]

    def __iter__(self) -> Iterator[Predicted]:
        return self.blocks


@dataclass(frozen=True, slots=True)
class Trained:
    """The model of a run, and rows to use it on."""

    learner: AnyLearner
    rows: Like
    folder: RunDirectory
    data: Any
    options: ReadOptions

    def lengths(self) -> Lengths | str:
        """The lengths of the complete rows, beside files of reduced ones; in words why not, if there are none."""
        names = self.data if isinstance(self.data, list | tuple) else [self.data]
        if not is_names(self.data) or any(map(is_no_file, names)):
            return "they are not in a file"
        return lengths_of(files_of(self.data), model_mark(self.learner))


def apply(
    run_dir: str | Path,
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
    renumber: bool = False,
) -> int:
    """Write ``data`` with the selected features only; the number of rows.

    A table has them by name, without names as ``x<id>``; sparse rows keep their ids or, with
    ``renumber``, get ascending numbers in order of id. The process takes no more than ``memory``
    bytes, "2GB" or the like.
    """
    path = Path(output)
    output_format(path)
    with limited(memory):
        run = trained(run_dir, data, target, zero_based, predicting=False)
        return _write_reduced(run, path, renumber)


def _write_reduced(run: Trained, path: Path, renumber: bool) -> int:
    selection, source = run.learner.results.selection(), run.rows.source
    as_table = is_table(path, source.facts.takes_target)
    if as_table and renumber:
        raise UsageError(
            f"{path}: a table has its columns by name; omit {spell('renumber')}, which is for"
            " sparse rows"
        )
    compact = as_table or renumber
    names, width = names_of(run, selection, compact, as_table)
    if names is not None and not holds_names(path):
        notes.warning(
            "%s: svmlight text holds no names; they are in %s",
            path,
            run.folder.path / "selection.csv",
        )
    results = run.learner.results
    can_keep = path.parent.is_dir() and (path.is_file() or not path.exists())
    keeps = can_keep and results.uses_lengths and not results.predicts_with_all
    with writing_lengths(path, model_mark(run.learner)) if keeps else nullcontext() as lengths:
        blocks = (
            source.row_blocks(run.learner.missing_rows)
            if lengths is None
            else lengths_noted(run, lengths)
        )
        return write_rows(
            path,
            map(Reduction(selection.indices, width, compact), blocks),
            names,
            width,
            run.options.zero_based,  # as predict will read it
            (source.facts.target or run.options.target) if as_table else None,
            as_table,
            mark_of(selection.indices) if renumber else None,
        )


def names_of(
    run: Trained, selection: Selection, compact: bool, as_table: bool
) -> tuple[NDArray[Any] | None, int]:
    """The names of the features that are written, if they have any, and how many features that are."""
    if compact:
        titles = (
            titles_of_ids(selection.indices.tolist())
            if selection.names is None and as_table
            else None
        )
        return selection.names if titles is None else np.array(titles, dtype=object), len(selection)
    width, given = run.learner.features.width, run.options.names
    is_gone = given is None or (isinstance(given, str) and not Path(given).is_file())
    in_training = (
        None if given is None or is_gone else given_names(given)
    )  # of which methods for columns keep few
    for names in (run.learner.features.names, run.rows.source.feature_names, in_training):
        if names is not None and names.size == width:
            return names, width
    if selection.names is None:
        return None, width
    names = np.array(titles_of_ids(range(width)), dtype=object)
    names[selection.indices] = selection.names
    return names, width


class CompleteRows:
    """The rows of a run, and the squared lengths that they have with all features, where predictions depend on them.

    Lengths are asked for one block of ``blocks`` after the other. ``unknown`` is called before the
    first with the reason why the lengths are not known, if so. Whether rows are complete shows in
    the first that has a feature which was not selected.
    """

    def __init__(self, run: Trained, unknown: Callable[[str], None] = lambda reason: None) -> None:
        self.run, self.unknown = run, unknown
        self._lengths: Lengths | None = None  # of rows that have not all features
        self._complete = run.rows.complete

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order; the first are held until they show whether rows are complete, or are many."""
        blocks, held = (
            self.run.rows.source.row_blocks(self.run.learner.missing_rows),
            list[RowBlock](),
        )
        if self._complete is None:
            held, self._complete = look_for_others(blocks, self.run)
        if not self._complete:
            lengths = self.run.lengths()
            if isinstance(lengths, str):
                self.unknown(lengths)
            else:
                self._lengths = lengths
        yield from held
        yield from blocks

    def measured(self, block: RowBlock) -> NDArray[np.float64] | None:
        """Return the lengths of complete rows, too; None where they are not known."""
        if not self._complete:
            return None if self._lengths is None else self._lengths(block.n_rows)
        measure = self.run.learner.results.predictor().row_squares
        return None if measure is None else measure(block)

    def expected(self, block: RowBlock) -> NDArray[np.float64] | None:
        """Return None for rows that have all features, NaN where lengths are not known."""
        if self._complete:
            return None
        return (
            np.full(block.n_rows, np.nan) if self._lengths is None else self._lengths(block.n_rows)
        )


def look_for_others(blocks: Iterator[RowBlock], run: Trained) -> tuple[list[RowBlock], bool]:
    """Return the first blocks, and whether they have features that were not selected, as complete rows have.

    A block of a pipe may be a single row, so blocks are taken until one shows it, or until they are
    many.
    """
    selected, kept = run.learner.results.selection().indices, run.rows.source.facts.kept
    width = run.learner.features.width
    if selected.size == (width if kept is None else kept.count(width)):
        return [], True
    held: list[RowBlock] = []
    for block in blocks:
        held.append(block)
        entries = block.indices[block.indptr[0] : block.indptr[-1]]
        if not np.isin(entries, selected).all():
            return held, True
        if sum(one.n_bytes for one in held) >= LOOK_BYTES:
            break
    return held, not any(block.n_nonzero for block in held)


def lengths_noted(run: Trained, lengths: IO[bytes]) -> Iterator[RowBlock]:
    """Yield rows, and keep their lengths as they pass by."""
    rows = CompleteRows(run)
    for block in rows.blocks():
        squares = rows.measured(block)
        if squares is not None:
            lengths.write(squares.astype("<f8").tobytes())
        yield block


def predict(
    run_dir: str | Path, data: Any, target: str | None = None, zero_based: bool = False
) -> Predictions:
    """What is predicted of ``data``, and its own labels, block by block."""
    run = trained(run_dir, data, target, zero_based, predicting=True)
    learner, source, results = run.learner, run.rows.source, run.learner.results
    if not learner.method.predicts:
        raise UsageError(
            f"{run_dir}: {learner.method.name} selects features and predicts nothing; apply the"
            " selection"
        )
    if not results.uses_lengths and not results.predicts_with_all:
        return predictions(learner, source)
    rows = CompleteRows(run, partial(note_incomplete, learner, source))
    return predictions(
        learner, source, rows.expected if results.uses_lengths else None, rows.blocks()
    )


def note_incomplete(learner: AnyLearner, source: Source, reason: str) -> None:
    """Say that what is predicted of reduced rows may not be what is predicted of complete ones."""
    if learner.results.predicts_with_all:
        notes.warning(
            "%s: the rows have none but selected features, and %s predicts with all; predict the"
            " complete rows",
            source.name,
            learner.method.name,
        )
    else:
        notes.warning(
            "%s: the rows have none but selected features, and normalize=%r divides rows by their"
            " length with all of them, which is not known (%s); a typical one is taken, and some"
            " predictions may differ from those of complete rows",
            source.name,
            learner.params.normalize,
            reason,
        )


def predictions(
    learner: AnyLearner,
    source: Source,
    squares: Squares | None = None,
    rows: Iterator[RowBlock] | None = None,
) -> Predictions:
    """Return what is predicted of a source, and its own labels, block by block; ``rows`` are its blocks, if begun."""
    predictor = learner.results.predictor()
    if predictor.classes is not None and is_text(predictor.classes):
        source.labels_as_written()
    blocks = (
        (
            predictor(block, None if squares is None else squares(block)),
            labels_like(predictor.classes, block.y, block.origin),
        )
        for block in (source.row_blocks(learner.missing_rows) if rows is None else rows)
    )
    return Predictions(predictor.classes, blocks)


def measure(
    predicted: Iterable[Predicted], classes: NDArray[np.generic] | None
) -> Quality | Fit | None:
    """Return the quality of all predictions, after they were taken; None for rows without labels.

    Without ``classes`` numbers are predicted. Of a row its label and its score stay in memory; of
    more than two classes, its probabilities; of numbers nothing.
    """
    if classes is None:
        return fit_of(predicted)
    labels: list[NDArray[Any]] = []
    right: list[NDArray[np.bool_]] = []
    evidence: list[NDArray[np.float64]] = []
    for prediction, y in predicted:
        if y is not None:
            labels.append(y)
            right.append(prediction.labels == y)
            scores, chances = prediction.scores, prediction.probabilities
            evidence.append(scores[:, None] if scores.ndim == 1 or chances is None else chances)
    if not sum(map(len, labels)):
        return None
    return quality_of_labels(
        np.concatenate(labels), np.concatenate(right), np.concatenate(evidence), classes
    )


def fit_of(predicted: Iterable[Predicted]) -> Fit | None:
    """Return the quality of predicted numbers, in one pass: squared errors, and moments of the targets by block."""
    errors = mean = deviations = 0.0
    seen = 0
    for prediction, y in predicted:
        if y is None or not len(y):
            continue
        numbers = np.asarray(y, np.float64)
        errors += float(((numbers - prediction.labels) ** 2).sum())
        off, total = float(numbers.mean()) - mean, seen + numbers.size
        deviations += (
            float(((numbers - numbers.mean()) ** 2).sum()) + off * off * seen * numbers.size / total
        )
        mean += off * numbers.size / total
        seen = total
    if not seen:
        return None
    return Fit(1.0 - errors / deviations if deviations else None, float(np.sqrt(errors / seen)))


def trained(
    run_dir: str | Path, data: Any, target: str | None, zero_based: bool, predicting: bool
) -> Trained:
    """The model of a run and rows like those it learned from."""
    folder = RunDirectory(run_dir)
    learner, _ = load_learner(folder.model())
    asked, record = folder.request().read, folder.result()
    renumbered = None if record is None else record.details.get("renumbered")
    options = replace(
        asked, target=target or asked.target, zero_based=zero_based or asked.zero_based
    )
    rows = open_like_training(data, Features.of(learner, renumbered, predicting), options)
    if target is not None:
        refuse_target(rows.source)
    return Trained(learner, rows, folder, data, options)


class Reduction:
    """Keeps some features of rows, under their own ids or, if ``compact``, numbered in ascending order of id."""

    def __init__(self, selected: NDArray[np.int64], width: int, compact: bool) -> None:
        self.lookup, self.width = table_addresses(selected), width
        self.ids = None if compact else selected.astype(np.int64 if width > MAX_INT32 else np.int32)

    def __call__(self, block: RowBlock) -> RowBlock:
        indptr = np.zeros(block.n_rows + 1, np.int64)
        indices = np.empty(block.n_nonzero, np.int32)
        values = np.empty(block.n_nonzero, np.float32)
        entries = block.indptr, block.indices, block.values
        kept = keep_known(
            ALL_MARKED, self.lookup.table, self.lookup.ids, *entries, indptr, indices, values
        )
        positions = indices[:kept]
        return RowBlock(
            indptr,
            positions if self.ids is None else self.ids[positions],
            values[:kept],
            block.y,
            self.width,
            block.origin,
        )
