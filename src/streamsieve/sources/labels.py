"""Which labels rows have, found by a look at them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, prefix, spell
from ..targets import MANY_CLASSES, NotClassesError, has_fractions, is_text
from .base import Source

FIRST_ROWS = 1 << 16  # of a short look


def classes_with(source: Source, label: Any) -> NDArray[Any] | None:
    """The different labels, sorted: of the first rows if ``label`` is among them, otherwise of all rows.

    None if it is not among those either, or if labels are text here and numbers there.
    """
    for most_rows in (FIRST_ROWS, None):
        found = different(source.labels(), most_rows, source.name)
        if found is not None and is_text(found) == isinstance(label, str) and label in found.tolist():
            return found
    return None


def different(blocks: Iterable[NDArray[Any]], most_rows: int | None, origin: str) -> NDArray[Any] | None:
    """The different ones among labels, those of the first blocks up to a number of rows, or of all.

    None if some are text and others are not; numbers that can hardly be classes are refused.
    """
    known: NDArray[Any] | None = None
    rows = 0
    for labels in blocks:
        if known is not None and is_text(labels) != is_text(known):
            return None
        known = with_new(known, labels)
        rows += labels.size
        if has_fractions(known) and known.size > 2:
            raise NotClassesError(
                f"{prefix(origin)}numbers with fractions are hardly classes, and the first {rows:,} rows have "
                f"{known.size:,} different ones"
            )
        if rows >= FIRST_ROWS:
            refuse_too_many(known.size, rows, origin)
        if most_rows is not None and rows >= most_rows:
            break
    if known is not None:
        refuse_too_many(known.size, rows, origin)
    return known


def with_new(known: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    """The known labels and those that are new; where few are, which is usual, nothing is sorted."""
    if known is not None:
        at = np.minimum(np.searchsorted(known, labels), known.size - 1)
        labels = labels[known[at] != labels]
    found = np.unique(labels)
    return found if known is None else np.union1d(known, found) if found.size else known


def refuse_too_many(n_labels: int, rows: int, origin: str) -> None:
    """Refuse labels of which most occur once: they are numbers, or names of the rows."""
    if n_labels > max(MANY_CLASSES, rows // 2):
        raise DataError(
            f"{prefix(origin)}{n_labels:,} different labels in {rows:,} rows are hardly classes; take another column "
            "as the target, for numbers a method that learns numbers, such as sofs-regressor, or name all classes: "
            f"{spell('classes', ['A', 'B', 'C'])}"
        )
