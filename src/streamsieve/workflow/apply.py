"""Use the model of a run: keep the selected columns, predict labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError, UsageError
from ..kernels.rows.scores import keep_selected
from ..machine import limited
from ..registry import load_learner
from ..runs import RunDirectory
from ..selectors.base import AnyLearner
from ..selectors.prediction import Prediction
from ..selectors.rows.addresses import table_addresses
from ..sources import open_like, refuse_target
from ..sources.base import Source, by_rows
from ..sources.writers import write_rows
from ..targets import is_text, labels_like

Predicted = tuple[Prediction, NDArray[Any] | None]  # what is predicted of some rows, and their own labels


@dataclass(frozen=True, slots=True)
class Predictions:
    """What is predicted of the rows of a source, block by block as they are read."""

    classes: NDArray[Any] | None  # sorted; None if numbers are predicted
    blocks: Iterator[Predicted]

    def __iter__(self) -> Iterator[Predicted]:
        return self.blocks


def apply(
    run_dir: str | Path,
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
) -> int:
    """Write ``data`` with the selected columns only, numbered in ascending order of id; the number of rows.

    The process takes no more than ``memory`` bytes, "2GB" or the like.
    """
    with limited(memory):
        return _apply(run_dir, data, Path(output), target, zero_based)


def _apply(run_dir: str | Path, data: Any, output: Path, target: str | None, zero_based: bool) -> int:
    learner, source = trained(run_dir, data, target, zero_based)
    selection = learner.selection()
    lookup = table_addresses(selection.indices)
    blocks = (reduced(block, lookup.table, lookup.ids, len(selection)) for block in source.row_blocks())
    names = np.array([f"x{feature}" for feature in selection.indices]) if selection.names is None else selection.names
    return write_rows(output, blocks, names, n_features=len(selection), zero_based=zero_based, target=source.target)


def predict(run_dir: str | Path, data: Any, target: str | None = None, zero_based: bool = False) -> Predictions:
    """What is predicted of ``data``, and its own labels, block by block."""
    learner, source = trained(run_dir, data, target, zero_based)
    if not learner.predicts:
        raise UsageError(f"{run_dir}: {learner.method} selects features and predicts nothing; apply the selection")
    return predictions(learner, source)


def predictions(learner: AnyLearner, source: Source) -> Predictions:
    """What is predicted of rows, and their own labels, block by block."""
    predictor = learner.predictor()
    if predictor.classes is not None and is_text(predictor.classes):
        source.labels_as_written()
    blocks = (
        (predictor(block), labels_like(predictor.classes, block.y, block.origin))
        for block in source.row_blocks(learner.missing_rows)
    )
    return Predictions(predictor.classes, blocks)


def open_like_training(data: Any, names: NDArray[Any] | None, target: str | None, zero_based: bool) -> Source:
    """Data like that of a training; the columns of a table are found by name, in whatever order they are.

    Other data that names its features must name them in the same order. The ``target`` is for tables alone.
    """
    columns = None if names is None else [str(name) for name in names]
    source = by_rows(open_like(data, target, zero_based, columns))
    if columns is not None and source.feature_names is not None:
        for position, (known, found) in enumerate(zip(columns, source.feature_names, strict=False)):
            if known != found:
                raise DataError(
                    f"{source.name}: feature {position} is {str(found)!r}, but {known!r} in the training; bring the "
                    "columns into that order"
                )
    return source


def trained(run_dir: str | Path, data: Any, target: str | None, zero_based: bool) -> tuple[AnyLearner, Source]:
    """The model of a run and a source for data like that it learned from."""
    folder = RunDirectory(run_dir)
    learner, _ = load_learner(folder.model())
    source = open_like_training(data, learner.feature_names, target or folder.request().target, zero_based)
    if target is not None:
        refuse_target(source)
    return learner, source


def reduced(block: RowBlock, table: NDArray[np.int32], ids: NDArray[np.int64], width: int) -> RowBlock:
    """The rows with the features in a table only, numbered by their position in it."""
    indptr = np.zeros(block.n_rows + 1, np.int64)
    indices = np.empty(block.n_nonzero, np.int32)
    values = np.empty(block.n_nonzero, np.float32)
    kept = keep_selected(table, ids, block.indptr, block.indices, block.values, indptr, indices, values)
    return RowBlock(indptr, indices[:kept], values[:kept], block.y, width, block.origin)
