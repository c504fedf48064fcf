"""``normalize="auto"``: every column on a scale that its first values suggest.

Problem  decide per column, from the first 1,024 rows at most, by their content only:
             dense     non-zero in at least half of these rows: centred and divided by the standard deviation, both
                       running, zeros included
             sparse    divided by the size of its own values, if it has 10 non-zeros or more and their lower median
                       m_j is outside [g/10, 10 g]; otherwise by the size of all sparse values, of median g
             size      the median of |x|, if at least half of the values have it (flags and counts); otherwise 1.4826
                       times the median, which for normal values is a standard deviation: sparse columns are then as
                       large as dense ones, and methods that keep the largest weights do not keep them first
         after which every row is divided by its length.
Then     rows are learned at once, and again from the first one when the choice changes (``warm_up``): after 1, 2, 4,
         ..., 1,024 rows. It does not depend on whether rows come dense or sparse.
Cost     the rows of the warm-up in memory, at most about 2^22 non-zeros: with the row that reaches that number it ends;
         at most some 60 bytes for each while a choice is made; two passes over them. Then one more look at every value,
         where there are columns to scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.arrays import ArraySpec, array
from ...kernels.rows.scaling import scale_columns
from ...kernels.types import F32, F64, I64
from ...state import Arrays, arrays_of, empty, schema_of, with_arrays
from ..parameters import ensure
from .addresses import Addresses, table_addresses
from .inputs import LARGEST_SUM
from .sample import numbered

LAST_ROW = 1024  # of the warm-up
DENSE = 0.5  # of the rows have a value
ENOUGH = 10  # non-zeros, to give a sparse column a size of its own
PER_MEDIAN = 1.4826  # standard deviations of normal values around 0 in the median of their sizes
FAR = 10.0  # times larger or smaller than typical: another scale
PIECE = 1 << 18  # values scaled at a time, to stay in the cache

MOST_REPORTED = 1000  # columns by their ids
LARGEST_INT32 = np.iinfo(np.int32).max

CHOSEN = "columns."  # before the names of its arrays in a model


class Choice(NamedTuple):
    """On which scale the columns are."""

    dense: I64 = array("dense", low=0, below="width")  # ids, ascending
    own: I64 = array("own", low=0, below="width")  # ids, ascending
    sizes: F64 = array("own", low=0)  # per own id: what its values are divided by
    typical: F64 = array(1, low=0, start=1)  # what those of other sparse columns are divided by
    table: I64 = array(1, low=0, below=2)  # 1 if at least half of the values are in dense columns, or 0

    @property
    def is_table(self) -> bool:
        """Whether most values are in columns that most rows have."""
        return bool(self.table[0])

    @property
    def only_length(self) -> bool:
        """Whether there is nothing to do but to divide rows by their length, which undoes a common factor."""
        return not self.dense.size and not self.own.size

    def same_as(self, other: Choice) -> bool:
        """Whether rows come out the same."""
        alike = all(map(np.array_equal, self[:3], other[:3])) and self.is_table == other.is_table
        return alike and (self.only_length or self.typical[0] == other.typical[0])


def no_choice() -> Choice:
    return empty(Choice, dense=0, own=0)


def choose(block: RowBlock) -> Choice:
    """The choice that some rows suggest."""
    sizes = np.abs(block.values).astype(np.float32, copy=False)
    features, columns = numbered(block.indices)
    counts = np.bincount(columns)
    is_dense = (counts >= DENSE * block.n_rows) & (counts > 0)
    sparse = ~is_dense[columns]
    typical = middle(sizes[sparse]) if sparse.any() else 1.0
    small = np.bincount(columns[sizes < np.float64(typical / FAR)], minlength=counts.size)
    large = np.bincount(columns[sizes > np.float64(typical * FAR)], minlength=counts.size)
    lower = (counts - 1) // 2  # where the lower median of a column is, in order of size
    far = (counts >= ENOUGH) & ~is_dense & ((small > lower) | (large >= counts - lower))
    there = far[columns]
    by_column = np.lexsort((sizes[there], columns[there]))
    of_own = np.split(sizes[there][by_column], np.cumsum(counts[far])[:-1]) if there.any() else []
    own_sizes = [size_of(values, float(values[(values.size - 1) // 2])) for values in of_own]
    dense, own = (features[np.flatnonzero(chosen)] for chosen in (is_dense, far))
    common = np.array([size_of(sizes[sparse], typical)])
    table = np.array([2 * np.count_nonzero(~sparse) >= sparse.size > 0], np.int64)
    return Choice(dense, own, np.array(own_sizes), common, table)


def size_of(values: F32, median: float) -> float:
    """What values of this median are divided by."""
    same = np.count_nonzero(values == np.float64(median))
    return median if 2 * same >= values.size else PER_MEDIAN * median


def middle(values: F32) -> float:
    """The median, without rounding the mean of the middle two to the type of the values."""
    low, high = (values.size - 1) // 2, values.size // 2
    parts = np.partition(values, (low, high))
    return (float(parts[low]) + float(parts[high])) / 2.0


class ColumnMoments(NamedTuple):
    """What is known of dense columns."""

    means: F64 = array("dense", low=-LARGEST_SUM, below=LARGEST_SUM)
    deviations: F64 = array("dense", low=0)
    seen: F64 = array(1, low=0)  # rows


@dataclass(slots=True, eq=False)
class AutoScaling:
    """The choice in force and the moments of dense columns."""

    choice: Choice
    moments: ColumnMoments
    lookup: Addresses = field(init=False)
    room: tuple[NDArray[Any], F32] = field(default_factory=lambda: (np.empty(0, np.int32), np.empty(0, np.float32)))

    def __post_init__(self) -> None:
        self.lookup = table_addresses(self.choice.own)

    @classmethod
    def start(cls, choice: Choice) -> Self:
        return cls(choice, empty(ColumnMoments, dense=choice.dense.size))

    def stop(self, block: RowBlock, start: int) -> int:
        """Up to where rows are scaled in one go."""
        if self.choice.only_length:
            return block.n_rows
        rows = max(1, PIECE // max(1, self.choice.dense.size))
        if block.n_rows <= start + rows and block.indptr[-1] <= block.indptr[start] + PIECE:
            return block.n_rows
        full = np.searchsorted(block.indptr, block.indptr[start] + PIECE)
        return min(block.n_rows, start + rows, max(int(full), start + 1))

    def scaled(self, block: RowBlock, learn: bool) -> RowBlock:
        """The block with its columns scaled; its rows are not of length 1 yet.

        With ``learn`` it holds until the next block is scaled.
        """
        if self.choice.only_length:
            if block.values.dtype == np.float32:
                return block
            return block.derived(values=block.values.astype(np.float32))
        dense = self.choice.dense
        width = max(block.n_features, int(dense[-1]) + 1) if dense.size else block.n_features
        kind = np.int64 if width > LARGEST_INT32 else block.indices.dtype
        indptr = np.empty(block.n_rows + 1, np.int64)
        needed = block.n_nonzero + block.n_rows * dense.size
        if learn:
            indices, values = self._room(needed, kind)
        else:  # predictions may be made by several threads at once
            indices, values = np.empty(needed, kind), np.empty(needed, np.float32)
        # a model may be mapped read-only, which the kernel, as it may learn, does not take
        moments = self.moments if learn else ColumnMoments(*(array.copy() for array in self.moments))
        changed = scale_columns(
            block.indptr,
            block.indices,
            block.values,
            dense,
            *moments,
            self.lookup.table,
            self.lookup.ids,
            self.choice.sizes,
            float(self.choice.typical[0]),
            learn,
            indptr,
            indices,
            values,
        )
        filled = indptr[-1]
        if not changed:
            indices = block.indices[block.indptr[0] : block.indptr[-1]]
        return block.with_entries(indptr, indices[:filled], values[:filled], width)

    def _room(self, needed: int, kind: Any) -> tuple[NDArray[Any], F32]:
        """Room for scaled rows, the same again and again: fresh memory costs more than filling it."""
        indices, values = self.room
        if indices.size < needed or indices.dtype != kind:
            indices, values = self.room = np.empty(needed, kind), np.empty(needed, np.float32)
        return indices[:needed], values[:needed]

    def report(self, final: bool) -> dict[str, Any]:
        """The choice in force, as JSON can hold it; of very many columns their number alone."""
        dense, own, sizes, typical, _ = self.choice
        columns: dict[str, Any] = {"n_dense": dense.size, "n_own": own.size}
        if max(dense.size, own.size) <= MOST_REPORTED:
            columns |= {"dense": dense.tolist(), "own": own.tolist(), "sizes": sizes.tolist()}
        return {**columns, "typical": float(typical[0]), "final": final}

    # ---- to and from a model

    def arrays(self) -> Arrays:
        return {**arrays_of(self.choice, CHOSEN), **arrays_of(self.moments, CHOSEN)}

    def schema(self) -> dict[str, ArraySpec]:
        """Return what the arrays in a model must be."""
        return {**schema_of(self.choice, CHOSEN), **schema_of(self.moments, CHOSEN)}

    def restored(self, arrays: Arrays) -> AutoScaling:
        """Return what a model has; its arrays fit the schema."""
        choice = with_arrays(self.choice, arrays, CHOSEN)
        for ids in (choice.dense, choice.own):
            ensure((np.diff(ids) > 0).all(), "the ids of its scaled columns do not ascend")
        ensure((choice.sizes > 0).all() and choice.typical[0] > 0, "the size of a column is 0")
        return AutoScaling(choice, with_arrays(self.moments, arrays, CHOSEN))
