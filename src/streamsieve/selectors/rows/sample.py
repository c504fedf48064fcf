"""The first rows of a source, kept until the last is learned, to see what the columns are like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ..diagnosis import Look, Scales

MOST_ROWS, MOST_NONZEROS = 1 << 10, 1 << 20
ENOUGH_VALUES = 10  # non-zeros of a column to judge its scale by
FEW_VALUES = 3  # non-zeros of columns that may be equal by chance, where more rows are to come


class Sample(Look):
    """At most 1,024 rows and 2^20 non-zeros; the same for blocks of any size."""

    def __init__(self) -> None:
        self._blocks: list[RowBlock] = []
        self._rows = self._nonzeros = 0
        self._full = False  # there were more rows

    def add(self, block: RowBlock) -> None:
        """Take the first rows of a block, as many as there is room for."""
        if self._full or not block.n_rows:
            return
        room = MOST_NONZEROS - self._nonzeros + int(block.indptr[0])
        fit = int(np.searchsorted(block.indptr, room, side="right")) - 1
        count = min(fit, block.n_rows, MOST_ROWS - self._rows)
        self._full = count < block.n_rows
        part = block.rows(0, count)
        self._rows, self._nonzeros = self._rows + count, self._nonzeros + part.n_nonzero
        copies = {name: getattr(part, name).copy() for name in ("indptr", "indices", "values")}
        self._blocks.append(part.derived(y=None, sample_weight=None, **copies))  # or it would hold the whole block

    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Row, id and value of every non-zero."""
        if not self._blocks:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        sample = RowBlock.joined(self._blocks)
        rows = np.repeat(np.arange(sample.n_rows), np.diff(sample.indptr))
        return rows, sample.indices.astype(np.int64), sample.values.astype(np.float64)

    def checksums(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Random sums of the values of columns; ``ids`` ascend."""
        rows, features, values = self._entries()
        at = np.searchsorted(ids, features)
        at[at == ids.size] = 0
        mine = ids[at] == features
        factors = np.random.default_rng(0).standard_normal(MOST_ROWS)
        sums = np.bincount(at[mine], factors[rows[mine]] * values[mine], minlength=ids.size)
        present = np.bincount(at[mine], minlength=ids.size)
        return np.where(self._full & (present < FEW_VALUES), np.nan, sums)

    def scales(self) -> Scales:
        _, features, values = self._entries()
        ids, columns = numbered(features)
        present = np.bincount(columns, minlength=ids.size)
        sizes = np.exp(np.bincount(columns, np.log(np.abs(values)), minlength=ids.size) / np.maximum(1, present))
        enough = present >= ENOUGH_VALUES
        return Scales(ids[enough], sizes[enough])


def numbered(features: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids, and which of them every feature is; sorting costs ten times as much as the rest, so small ids have none."""
    largest = int(features.max(initial=-1))
    if largest < MOST_NONZEROS:
        return np.arange(largest + 1), features
    return np.unique(features, return_inverse=True)
