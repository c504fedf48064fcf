"""Predictions as lines of text, or as a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from .terminal import printable

if TYPE_CHECKING:
    from ..workflow.apply import Predicted, Predictions


def write_labels(rows: Predictions, file: IO[str]) -> Iterator[Predicted]:
    """Write predicted labels as they pass by, a line each: what would be another line in a label is escaped."""
    from ..sources.writers import label_text

    for prediction, y in rows:
        file.writelines(f"{printable(label_text(label))}\n" for label in prediction.labels.tolist())
        yield prediction, y


def write_scores(rows: Predictions, file: IO[str]) -> Iterator[Predicted]:
    """Write a table of predicted labels and scores as they pass by; of two classes, the score of the second."""
    from ..sources.writers import label_text

    writer = csv.writer(file, lineterminator="\n")
    on_screen = file.isatty()

    def shown(label: Any) -> str:
        return printable(label_text(label)) if on_screen else label_text(label)

    classes = [] if rows.classes is None else [shown(label) for label in rows.classes.tolist()]
    writer.writerow(["prediction", *(["score"] if len(classes) == 2 else [f"score_{label}" for label in classes])])
    for prediction, y in rows:
        scores = prediction.scores.reshape(len(prediction.labels), -1).tolist()
        writer.writerows([shown(label), *some] for label, some in zip(prediction.labels.tolist(), scores, strict=True))
        yield prediction, y
