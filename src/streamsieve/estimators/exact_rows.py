"""Rows of arrays in double precision, for learners that take a mean off before they round.

Blocks of rows are float32 otherwise. A column of mean 10^8 and deviation 1, Unix seconds within an hour say, would have
no digit left that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..sources.arrays import ArraySource, rows_of
from ..sources.base import Missing
from ..values import is_sparse


class ExactRows(ArraySource):
    """A matrix whose blocks of rows have the values it has, but for those that are 0 in float32, which are omitted."""

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        start, matrix = 0, self._by_rows()
        for block in super().row_blocks(missing):
            lines = rows_of(matrix, start, start + block.n_rows)
            values = np.asarray(lines.data if is_sparse(lines) else lines).ravel().astype(np.float64, copy=False)
            if values.size > block.n_nonzero:
                values = values[values.astype(np.float32) != 0]
            yield block.derived(values=values)
            start += block.n_rows


def row_source(
    X: Any,
    y: Any | None = None,
    names: NDArray[Any] | None = None,
    *,
    centres: bool,
    sample_weight: NDArray[np.float64] | None = None,
) -> ArraySource:
    """The rows of a matrix; exact if they are to be centred and float32 could not hold them."""
    source = ArraySource(X, y, names, name="", sample_weight=sample_weight)
    if not centres or np.can_cast(source.matrix.dtype, np.float32):
        return source
    return ExactRows(source.matrix, source.y, source.feature_names, name="", sample_weight=sample_weight)
