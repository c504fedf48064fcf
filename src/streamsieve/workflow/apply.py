"""Use the model of a run: keep the selected columns, predict, measure the predictions."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import UsageError, spell
from ..evaluation.quality import Fit, Quality, Reliability, quality_of_labels, reliability_of
from ..kernels.rows.batch import ALL_MARKED, copy_table_entries
from ..machine import limited
from ..registry import load_learner
from ..runs import RunDirectory
from ..selection import Selection
from ..selectors.base import AnyLearner
from ..selectors.prediction import Prediction
from ..selectors.rows.addresses import table_addresses
from ..sources import refuse_target
from ..sources.base import Source
from ..sources.finding import files_of, is_names, is_special_name
from ..sources.formats import output_format
from ..sources.options import ReadOptions
from ..sources.wrapped import parse_names
from ..sources.writers import holds_names, is_table, titles_of_ids, write_rows
from ..targets import is_text, labels_like
from .feature_matching import MatchedRows, TrainingFeatures, open_like_training
from .row_norms import RowLengths, lengths_of, mark_of, model_mark, write_lengths

MAX_INT32 = np.iinfo(np.int32).max
MAX_HELD_BYTES = 1 << 20  # of rows that are read to find out whether rows are complete

Predicted = tuple[Prediction, NDArray[Any] | None]  # predictions of some rows, and their labels
# Rows, and the squared lengths that they have with all features; None for complete rows.
MeasuredRows = tuple[RowBlock, NDArray[np.float64] | None]

notes = logging.getLogger("streamsieve")


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions of the rows of a source, block by block as they are read."""

    classes: NDArray[Any] | None  # sorted; None if numbers are predicted
    blocks: Iterator[Predicted]

    def __iter__(self) -> Iterator[Predicted]:
        return self.blocks


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """The model of a run, and the rows to use it on."""

    learner: AnyLearner
    rows: MatchedRows
    folder: RunDirectory
    data: Any
    options: ReadOptions

    def lengths(self) -> RowLengths | str:
        """Return the lengths of the complete rows, or the reason why they are unknown.

        The lengths are stored beside files of reduced rows.
        """
        names = self.data if isinstance(self.data, list | tuple) else [self.data]
        if not is_names(self.data) or any(map(is_special_name, names)):
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
    """Write ``data`` with the selected features only; return the number of rows.

    A table has its columns by name, or as ``x<id>`` where features have no names. Sparse rows keep
    their ids or, with ``renumber``, get ascending numbers in order of id. ``memory`` limits the
    bytes that the process may take, such as "2GB".
    """
    path = Path(output)
    output_format(path)
    with limited(memory):
        run = load_run(run_dir, data, target, zero_based, predicting=False)
        return _write_reduced(run, path, renumber)


def _write_reduced(run: LoadedRun, path: Path, renumber: bool) -> int:
    selection, source = run.learner.results.selection(), run.rows.source
    as_table = is_table(path, source.facts.takes_target)
    if as_table and renumber:
        raise UsageError(
            f"{path}: the columns of a table have names; omit {spell('renumber')}, which is for"
            " sparse rows"
        )
    compact = as_table or renumber
    names, width = names_to_write(run, selection, compact, as_table)
    if names is not None and not holds_names(path):
        notes.warning(
            "%s: svmlight text cannot hold names; they are in %s",
            path,
            run.folder.path / "selection.csv",
        )
    results = run.learner.results
    can_keep = path.parent.is_dir() and (path.is_file() or not path.exists())
    keeps = can_keep and results.uses_row_lengths and not results.uses_all_features
    with write_lengths(path, model_mark(run.learner)) if keeps else nullcontext() as lengths:
        blocks = (
            source.row_blocks(run.learner.missing_rows)
            if lengths is None
            else record_lengths(run, lengths)
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


def names_to_write(
    run: LoadedRun, selection: Selection, compact: bool, as_table: bool
) -> tuple[NDArray[Any] | None, int]:
    """Return the names of the features to be written, or None, and the number of features."""
    if compact:
        titles = (
            titles_of_ids(selection.indices.tolist())
            if selection.names is None and as_table
            else None
        )
        return selection.names if titles is None else np.array(titles, dtype=object), len(selection)
    width, given = run.learner.features.width, run.options.names
    is_gone = given is None or (isinstance(given, str) and not Path(given).is_file())
    # Methods for columns keep few of the names that the training was given.
    in_training = None if given is None or is_gone else parse_names(given)
    for names in (run.learner.features.names, run.rows.source.feature_names, in_training):
        if names is not None and names.size == width:
            return names, width
    if selection.names is None:
        return None, width
    names = np.array(titles_of_ids(range(width)), dtype=object)
    names[selection.indices] = selection.names
    return names, width


def rows_with_lengths(
    run: LoadedRun, warn: bool = False
) -> Iterator[tuple[RowBlock, RowLengths | str | None]]:
    """Yield the rows of a run in order, each block with the stored lengths of complete rows.

    With rows that have all features comes None. If the lengths are unknown, the reason comes in
    their place; with ``warn``, users are warned of it. The first rows are held back until they show
    whether rows are complete, or are many.
    """
    blocks = run.rows.source.row_blocks(run.learner.missing_rows)
    held, complete = list[RowBlock](), run.rows.complete
    if complete is None:
        held, complete = find_completeness(blocks, run)
    lengths = None if complete else run.lengths()
    if warn and isinstance(lengths, str):
        warn_incomplete(run.learner, run.rows.source, lengths)
    for block in chain(held, blocks):
        yield block, lengths


def find_completeness(blocks: Iterator[RowBlock], run: LoadedRun) -> tuple[list[RowBlock], bool]:
    """Return the first blocks, and True if the rows are complete.

    Complete rows have features that were not selected. A block of a pipe may be a single row, so
    blocks are taken until one has such a feature, or until they are many.
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
        if sum(held_block.n_bytes for held_block in held) >= MAX_HELD_BYTES:
            break
    return held, not any(block.n_nonzero for block in held)


def record_lengths(run: LoadedRun, file: IO[bytes]) -> Iterator[RowBlock]:
    """Yield the rows, and write their full lengths as they pass by, where they are known."""
    measure = run.learner.results.predictor().row_squares
    assert measure is not None, "the lengths of rows count"
    for block, lengths in rows_with_lengths(run):
        if not isinstance(lengths, str):
            squares = measure(block) if lengths is None else lengths(block.n_rows)
            file.write(squares.astype("<f8").tobytes())
        yield block


def predict(
    run_dir: str | Path, data: Any, target: str | None = None, zero_based: bool = False
) -> Predictions:
    """Return the predictions for ``data`` and its own labels, block by block."""
    run = load_run(run_dir, data, target, zero_based, predicting=True)
    learner, source, results = run.learner, run.rows.source, run.learner.results
    if not learner.method.predicts:
        raise UsageError(
            f"{run_dir}: {learner.method.name} selects features and does not predict; apply"
            " the selection instead"
        )
    if not results.uses_row_lengths and not results.uses_all_features:
        return predictions(learner, source)
    return predictions(learner, source, rows_to_predict(run))


def rows_to_predict(run: LoadedRun) -> Iterator[MeasuredRows]:
    """Yield the rows with their full squared lengths, which are NaN where they are unknown."""
    for block, lengths in rows_with_lengths(run, warn=True):
        if lengths is None or not run.learner.results.uses_row_lengths:
            yield block, None
        elif isinstance(lengths, str):
            yield block, np.full(block.n_rows, np.nan)
        else:
            yield block, lengths(block.n_rows)


def warn_incomplete(learner: AnyLearner, source: Source, reason: str) -> None:
    """Warn that predictions of reduced rows may differ from those of complete rows."""
    if learner.results.uses_all_features:
        notes.warning(
            "%s: the rows have only the selected features, and %s predicts with all features;"
            " predict the complete rows",
            source.name,
            learner.method.name,
        )
    else:
        notes.warning(
            "%s: the rows have only the selected features, and normalize=%r divides rows by their"
            " length with all features, which is unknown (%s); a typical length is used, and some"
            " predictions may differ from those of complete rows",
            source.name,
            learner.params.normalize,
            reason,
        )


def predictions(
    learner: AnyLearner, source: Source, rows: Iterator[MeasuredRows] | None = None
) -> Predictions:
    """Return the predictions for a source and its own labels, block by block.

    ``rows`` are the blocks of the source with the lengths of complete rows, where they count.
    """
    predictor = learner.results.predictor()
    if predictor.classes is not None and is_text(predictor.classes):
        source.read_labels_as_text()
    if rows is None:
        rows = ((block, None) for block in source.row_blocks(learner.missing_rows))
    blocks = (
        (predictor(block, squares), labels_like(predictor.classes, block.y, block.origin))
        for block, squares in rows
    )
    return Predictions(predictor.classes, blocks)


def measure(
    predicted: Iterable[Predicted], classes: NDArray[np.generic] | None
) -> Quality | Fit | None:
    """Return the quality of all predictions, or None for rows without labels.

    The predictions are consumed. Without ``classes`` numbers are predicted. The label and the score
    of every row stay in memory; for more than two classes, its probabilities; for numbers nothing.
    """
    if classes is None:
        return fit_of(predicted)
    return measure_classes(predicted, classes)[0]


def measure_classes(
    predicted: Iterable[Predicted], classes: NDArray[np.generic]
) -> tuple[Quality | None, Reliability | None]:
    """Return the quality of predicted classes and of their probabilities; None without labels."""
    labels: list[NDArray[Any]] = []
    right: list[NDArray[np.bool_]] = []
    evidence: list[NDArray[np.float64]] = []
    chances: list[NDArray[np.float64]] = []
    for prediction, y in predicted:
        if y is not None:
            labels.append(y)
            right.append(prediction.labels == y)
            scores, probabilities = prediction.scores, prediction.probabilities
            evidence.append(
                scores[:, None] if scores.ndim == 1 or probabilities is None else probabilities
            )
            chances += [] if probabilities is None else [probabilities]
    if not sum(map(len, labels)):
        return None, None
    y = np.concatenate(labels)
    quality = quality_of_labels(y, np.concatenate(right), np.concatenate(evidence), classes)
    if len(chances) < len(labels):
        return quality, None
    return quality, reliability_of(y, np.concatenate(chances), classes)


def fit_of(predicted: Iterable[Predicted]) -> Fit | None:
    """Return the quality of predicted numbers in one pass, or None without targets.

    Squared errors are summed, and the moments of the targets are merged block by block.
    """
    errors = mean = deviations = 0.0
    count = 0
    for prediction, y in predicted:
        if y is None or not len(y):
            continue
        numbers = np.asarray(y, np.float64)
        errors += float(((numbers - prediction.labels) ** 2).sum())
        difference, total = float(numbers.mean()) - mean, count + numbers.size
        deviations += (
            float(((numbers - numbers.mean()) ** 2).sum())
            + difference * difference * count * numbers.size / total
        )
        mean += difference * numbers.size / total
        count = total
    if not count:
        return None
    return Fit(1.0 - errors / deviations if deviations else None, float(np.sqrt(errors / count)))


def load_run(
    run_dir: str | Path, data: Any, target: str | None, zero_based: bool, predicting: bool
) -> LoadedRun:
    """Load the model of a run, and open rows like those that it learned from."""
    folder = RunDirectory(run_dir)
    learner, _ = load_learner(folder.model())
    options_of_run, record = folder.request().read, folder.result()
    renumbered = None if record is None else record.details.get("renumbered")
    options = replace(
        options_of_run,
        target=target or options_of_run.target,
        zero_based=zero_based or options_of_run.zero_based,
    )
    rows = open_like_training(data, TrainingFeatures.of(learner, renumbered, predicting), options)
    if target is not None:
        refuse_target(rows.source)
    return LoadedRun(learner, rows, folder, data, options)


class Reduction:
    """Reduces rows to some features.

    Features keep their ids or, if ``compact``, are numbered in ascending order of id.
    """

    def __init__(self, selected: NDArray[np.int64], width: int, compact: bool) -> None:
        self.lookup, self.width = table_addresses(selected), width
        self.ids = None if compact else selected.astype(np.int64 if width > MAX_INT32 else np.int32)

    def __call__(self, block: RowBlock) -> RowBlock:
        indptr = np.zeros(block.n_rows + 1, np.int64)
        indices = np.empty(block.n_nonzero, np.int32)
        values = np.empty(block.n_nonzero, np.float32)
        entries = block.indptr, block.indices, block.values
        kept = copy_table_entries(
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
