"""Describe the contents of a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources.base import ColumnSource, DataSource, as_row_source

# A target with more different numbers, or with fractions, is a target of numbers.
MAX_CLASSES = 50


def describe(source: DataSource) -> dict[str, Any]:
    """Return a description of a source, from one pass over it.

    ``labels`` has the number of rows of each class, ``target`` a summary of numbers.
    """
    rows = nonzeros = width = 0
    lowest, highest = np.inf, -np.inf
    labels = LabelCounts()
    incomplete = set[int]()  # features with missing values
    for n_rows, n_features, values, y, ids in _iterate_parts(source):
        if ids is not None:
            incomplete.update(np.unique(ids[np.isnan(values)]).tolist())
        rows, nonzeros, width = rows + n_rows, nonzeros + values.size, max(width, n_features)
        present = values[~np.isnan(values)]
        if present.size:
            lowest, highest = min(lowest, float(present.min())), max(highest, float(present.max()))
        if y is not None and len(y):
            labels.add(y)
    target = labels.target()
    counts = sorted(labels.counts.items()) if target["kind"] == "classes" else []
    return {
        "rows": rows,
        "features": width,
        "nonzeros": nonzeros,
        "nonzeros_per_row": nonzeros / rows,
        "density": nonzeros / (rows * width) if width else 0.0,
        "smallest_value": lowest if lowest <= highest else None,
        "largest_value": highest if lowest <= highest else None,
        "labels": {label_key(label): count for label, count in counts},
        "label_changes": labels.changes,
        "target": target,
        "sorted_by_label": target["kind"] == "classes" and labels.is_sorted(),
        "named": source.has_names,
    } | ({"columns": columns_of(source, incomplete)} if source.facts.takes_target else {})


def columns_of(source: DataSource, incomplete: set[int]) -> dict[str, Any]:
    """Return a description of the columns of a table.

    ``incomplete`` are the features with missing values.
    """
    encoding, names = source.encoding, source.feature_names
    missing = [] if names is None else [str(names[feature]) for feature in sorted(incomplete)]
    missing = [
        *source.facts.incomplete,
        *(name for name in missing if name not in source.facts.incomplete),
    ]
    kinds = None if encoding is None else Counter(column.kind for column in encoding.columns)
    return {
        "numbers": source.n_features or 0 if kinds is None else kinds["number"],
        "booleans": 0 if kinds is None else kinds["boolean"],
        "dates": 0 if kinds is None else kinds["date"],
        "text": {} if encoding is None else encoding.n_levels(),
        "missing": missing,
        "notes": [f"{note.message}; {note.advice}" for note in source.facts.notes],
    }


class LabelCounts:
    """Counts of every label, and of the rows whose label differs from the row before."""

    def __init__(self) -> None:
        self.counts = Counter[Any]()
        self.changes = 0
        self.last: Any = None

    def add(self, y: NDArray[Any]) -> None:
        """Count the labels of the next rows."""
        labels, counts = np.unique(y, return_counts=True)
        self.changes += int(np.count_nonzero(y[1:] != y[:-1])) + int(
            bool(self.counts) and y[0] != self.last
        )
        self.last = y[-1]
        self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))

    def target(self) -> dict[str, Any]:
        """Return whether the labels are classes or numbers, with a summary of numbers."""
        if not self.counts:
            return {"kind": "none"}
        values = list(self.counts)
        numbers = all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in values
        )
        if not numbers or (
            len(values) <= MAX_CLASSES and all(float(value).is_integer() for value in values)
        ):
            return {"kind": "classes", "values": len(values)}
        counts = np.fromiter(self.counts.values(), np.float64)
        return {
            "kind": "numbers",
            "values": len(values),
            "smallest": float(min(values)),
            "largest": float(max(values)),
            "mean": float(np.average(np.array(values, np.float64), weights=counts)),
        }

    def is_sorted(self) -> bool:
        """Return True if rows of the same class are adjacent.

        There must be more than one class, and at least two rows per class on average.
        """
        return 0 < self.changes < len(self.counts) <= sum(self.counts.values()) / 2


Part = tuple[int, int, NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]


def _iterate_parts(source: DataSource) -> Iterator[Part]:
    """Yield rows, width, values, labels and ids of a source, a part at a time.

    Transposed sources are read by columns.
    """
    if source.is_transposed and isinstance(source, ColumnSource):
        y = source.targets()
        yield y.size, source.n_features or 0, np.empty(0), y, None
        for columns in source.column_blocks():
            yield 0, 0, columns.values, None, None
        return
    for block in as_row_source(source).row_blocks("keep" if source.facts.takes_target else "error"):
        inside = slice(block.indptr[0], block.indptr[-1])
        yield block.n_rows, block.n_features, block.values[inside], block.y, block.indices[inside]


def label_key(label: Any) -> str:
    """Return a label as a key of a JSON object."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
