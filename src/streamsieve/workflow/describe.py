"""What is in a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources.base import DataSource, by_rows
from ..sources.column_lists import ColumnListSource


def describe(source: DataSource) -> dict[str, Any]:
    """What is in a source, from one pass over it."""
    rows = nonzeros = width = changes = 0
    lowest, highest = np.inf, -np.inf
    labels: dict[Any, int] = {}
    last: Any = None
    for n_rows, n_features, values, y in _parts(source):
        rows, nonzeros, width = rows + n_rows, nonzeros + values.size, max(width, n_features)
        there = values[~np.isnan(values)]
        if there.size:
            lowest, highest = min(lowest, float(there.min())), max(highest, float(there.max()))
        if y is not None and len(y):
            known, counts = np.unique(y, return_counts=True)
            for label, count in zip(known.tolist(), counts.tolist(), strict=True):
                labels[label] = labels.get(label, 0) + count
            changes += int(np.count_nonzero(y[1:] != y[:-1])) + int(rows > n_rows and y[0] != last)
            last = y[-1]
    return {
        "rows": rows,
        "features": width,
        "nonzeros": nonzeros,
        "nonzeros_per_row": nonzeros / rows,
        "density": nonzeros / (rows * width) if width else 0.0,
        "smallest_value": lowest if lowest <= highest else None,
        "largest_value": highest if lowest <= highest else None,
        "labels": {_label_key(label): count for label, count in sorted(labels.items())},
        "label_changes": changes,
        "named": source.has_names,
    }


def _parts(source: DataSource) -> Iterator[tuple[int, int, NDArray[Any], NDArray[Any] | None]]:
    """Rows, width, values and labels of all of a source, a part at a time; of a file of columns, column by column."""
    if isinstance(source, ColumnListSource):
        yield source.y.size, source.n_features or 0, np.empty(0), source.y
        for columns in source.column_blocks():
            yield 0, 0, columns.values, None
        return
    for block in by_rows(source).row_blocks():
        yield block.n_rows, block.n_features, block.values[block.indptr[0] : block.indptr[-1]], block.y


def _label_key(label: Any) -> str:
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)
