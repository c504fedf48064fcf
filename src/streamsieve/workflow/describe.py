"""What is in a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources.base import ColumnSource, DataSource, by_rows

MAX_CLASSES = (
    50  # of numbers: a target with more different ones, or with fractions, is a target of numbers
)


def describe(source: DataSource) -> dict[str, Any]:
    """Return what is in a source, from one pass over it; ``labels`` counts classes, ``target`` sums numbers up."""
    rows = nonzeros = width = 0
    lowest, highest = np.inf, -np.inf
    labels = LabelCounts()
    without = set[int]()  # features with missing values
    for n_rows, n_features, values, y, ids in _parts(source):
        if ids is not None:
            without.update(np.unique(ids[np.isnan(values)]).tolist())
        rows, nonzeros, width = rows + n_rows, nonzeros + values.size, max(width, n_features)
        there = values[~np.isnan(values)]
        if there.size:
            lowest, highest = min(lowest, float(there.min())), max(highest, float(there.max()))
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
    } | ({"columns": columns_of(source, without)} if source.facts.takes_target else {})


def columns_of(source: DataSource, without: set[int]) -> dict[str, Any]:
    """What the columns of a table are; ``without`` are features with missing values."""
    encoding, names = source.encoding, source.feature_names
    missing = [] if names is None else [str(names[feature]) for feature in sorted(without)]
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
    """How often every label occurs, and how often it is another one than in the row before."""

    def __init__(self) -> None:
        self.counts = Counter[Any]()
        self.changes = 0
        self.last: Any = None

    def add(self, y: NDArray[Any]) -> None:
        """Count the labels of rows that come next."""
        labels, counts = np.unique(y, return_counts=True)
        self.changes += int(np.count_nonzero(y[1:] != y[:-1])) + int(
            bool(self.counts) and y[0] != self.last
        )
        self.last = y[-1]
        self.counts.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))

    def target(self) -> dict[str, Any]:
        """Whether the labels are classes or numbers and, of numbers, which."""
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
        """Whether the rows of every class are together, of more than one, and have two rows or more on the mean."""
        return 0 < self.changes < len(self.counts) <= sum(self.counts.values()) / 2


Part = tuple[int, int, NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]


def _parts(source: DataSource) -> Iterator[Part]:
    """Rows, width, values, labels and ids of all of a source, a part at a time; of a file of columns, by columns."""
    if source.is_transposed and isinstance(source, ColumnSource):
        y = source.targets()
        yield y.size, source.n_features or 0, np.empty(0), y, None
        for columns in source.column_blocks():
            yield 0, 0, columns.values, None, None
        return
    for block in by_rows(source).row_blocks("keep" if source.facts.takes_target else "error"):
        inside = slice(block.indptr[0], block.indptr[-1])
        yield block.n_rows, block.n_features, block.values[inside], block.y, block.indices[inside]


def label_key(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
