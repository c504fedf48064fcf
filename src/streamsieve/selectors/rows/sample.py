"""The first rows of a source, kept until the last is learned, to see what the columns are like."""

from __future__ import annotations

from typing import Any

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
        self.full = False  # there were more rows

    def add(self, block: RowBlock) -> None:
        """Take the first rows of a block, as many as there is room for."""
        if self.full or not block.n_rows:
            return
        indptr = block.indptr - block.indptr[0]
        fit = int(np.searchsorted(indptr, MOST_NONZEROS - self._nonzeros, side="right")) - 1
        count = min(fit, block.n_rows, MOST_ROWS - self._rows)
        self.full = count < block.n_rows
        begin, end = block.indptr[0], block.indptr[count]
        arrays = indptr[: count + 1], block.indices[begin:end].copy(), block.values[begin:end].copy()
        self._blocks.append(RowBlock(*arrays, None, block.n_features))
        self._rows, self._nonzeros = self._rows + count, self._nonzeros + int(end - begin)

    def checksums(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Random sums of the values of columns; ``ids`` ascend."""
        sample = RowBlock.joined(self._blocks)
        at = np.searchsorted(ids, sample.indices)
        at[at == ids.size] = 0
        mine = ids[at] == sample.indices
        rows = np.repeat(np.arange(sample.n_rows), np.diff(sample.indptr))[mine]
        factors = np.random.default_rng(0).standard_normal(MOST_ROWS)
        sums = np.bincount(at[mine], factors[rows] * sample.values[mine], minlength=ids.size)
        present = np.bincount(at[mine], minlength=ids.size)
        return np.where(self.full & (present < FEW_VALUES), np.nan, sums)

    def scales(self) -> Scales:
        if not self._nonzeros:
            return super().scales()
        sample = RowBlock.joined(self._blocks)
        ids, columns = numbered(sample.indices)
        present = np.bincount(columns, minlength=ids.size)
        sizes = np.exp(np.bincount(columns, np.log(np.abs(sample.values)), minlength=ids.size) / np.maximum(1, present))
        enough = present >= ENOUGH_VALUES
        return Scales(ids[enough], sizes[enough])


def numbered(features: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Ids, and which of them every feature is; sorting costs ten times as much as the rest, so small ids have none."""
    largest = int(features.max(initial=-1))
    if largest < MOST_NONZEROS:
        return np.arange(largest + 1), features
    order = np.argsort(features)  # np.unique would take twice the memory
    ordered = features[order]
    first = np.ones(features.size, bool)
    first[1:] = ordered[1:] != ordered[:-1]
    ids = ordered[first].astype(np.int64)
    del ordered
    columns = np.empty(features.size, np.int32)
    columns[order] = np.cumsum(first, dtype=np.int32) - np.int32(1)
    return ids, columns
