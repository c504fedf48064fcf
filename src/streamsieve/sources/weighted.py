"""Rows of a table that count as much as one of its columns says."""

from __future__ import annotations

import numpy as np

from ..blocks import RowBlock
from ..errors import DataError, prefix
from .base import Source
from .encoding import Encoding
from .wrapped import WrappedRows


class WeightedRows(WrappedRows):
    """Rows whose last column is no feature, but their weight."""

    def _take(self, rows: Source) -> None:
        super()._take(rows)
        assert rows.feature_names is not None, "columns of tables have names"
        self.weight = str(rows.feature_names[-1])
        self.n_features, self.feature_names = rows.feature_names.size - 1, rows.feature_names[:-1]
        if rows.encoding is not None:
            known = rows.encoding
            self.encoding = Encoding(known.columns[:-1], known.missing, known.reduced)

    def _changed(self, block: RowBlock) -> RowBlock:
        inside = slice(int(block.indptr[0]), int(block.indptr[-1]))
        is_weight = block.indices[inside] == self.n_features
        row_of = np.repeat(np.arange(block.n_rows), np.diff(block.indptr))
        weights = np.zeros(block.n_rows)
        weights[row_of[is_weight]] = block.values[inside][is_weight]
        return block.with_some_entries(~is_weight).derived(n_features=self.n_features, sample_weight=weights)


def weighted(rows: Source, weight: str) -> Source:
    """Return the same rows, each with the weight that is in their last column; weights must be numbers."""
    names, encoding = rows.feature_names, rows.encoding
    last = None if encoding is None else encoding.columns[-1]
    if names is None or names[-1] != weight or (last is not None and last.kind not in ("number", "boolean")):
        raise DataError(f"{prefix(rows.name)}column {weight!r} is not a column of numbers, and weights must be numbers")
    return WeightedRows(rows)
