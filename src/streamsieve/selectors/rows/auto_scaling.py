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
Then     rows are learned at once. When 1, 2, 4, ..., 1,024 rows have been seen the choice is made anew from all of
         them, and if it is another one learning starts again from the first row, counters included. After the last
         choice the rows are dropped. What is learned depends on the rows alone: not on chunks, on whether they come
         dense or sparse, or on when somebody looked.
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
from ...kernels.rows.column_scaling import scale_columns
from ...kernels.types import F32, F64, I64
from ...model import Arrays, Field
from .addresses import Addresses, table_addresses
from .sample import numbered

LAST_ROW = 1024  # of the warm-up
LAST_NONZERO = 1 << 22
DENSE = 0.5  # of the rows have a value
ENOUGH = 10  # non-zeros, to give a sparse column a size of its own
PER_MEDIAN = 1.4826  # standard deviations of normal values around 0 in the median of their sizes
FAR = 10.0  # times larger or smaller than typical: another scale
PIECE = 1 << 18  # values scaled at a time, to stay in the cache

MOST_REPORTED = 1000  # columns by their ids
LARGEST_INT32 = np.iinfo(np.int32).max

CHOSEN, WARM = "columns.", "warm."  # before the names of their arrays in a model


class Choice(NamedTuple):
    """On which scale the columns are."""

    dense: I64  # ids, ascending
    own: I64  # ids, ascending
    sizes: F64  # per own id: what its values are divided by
    typical: F64  # what those of other sparse columns are divided by

    @property
    def only_length(self) -> bool:
        """Whether there is nothing to do but to divide rows by their length, which undoes a common factor."""
        return not self.dense.size and not self.own.size

    def same_as(self, other: Choice) -> bool:
        """Whether rows come out the same."""
        alike = all(map(np.array_equal, self[:3], other[:3]))
        return alike and (self.only_length or self.typical[0] == other.typical[0])


def no_choice() -> Choice:
    return Choice(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.ones(1))


def choose(block: RowBlock) -> Choice:
    """The choice that some rows suggest."""
    sizes = np.abs(block.values)
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
    return Choice(dense, own, np.array(own_sizes), np.array([size_of(sizes[sparse], typical)]))


def size_of(values: F32, median: float) -> float:
    """What values of this median are divided by."""
    same = np.count_nonzero(values == np.float64(median))
    return median if 2 * same >= values.size else PER_MEDIAN * median


def middle(values: F32) -> float:
    """The median, without rounding the mean of the middle two to the type of the values."""
    low, high = (values.size - 1) // 2, values.size // 2
    parts = np.partition(values, (low, high))
    return (float(parts[low]) + float(parts[high])) / 2.0


@dataclass(slots=True, eq=False)
class WarmUp:
    """The rows so far, to be learned again."""

    blocks: list[RowBlock]
    codes: list[I64]
    random: list[Any]  # the states of both random generators before the first row
    n_rows: int = 0
    n_nonzero: int = 0

    def stop(self, block: RowBlock, start: int) -> int:
        """Where in a block, of which the rows before ``start`` are here, the next choice is due, or its end."""
        due = 1 << self.n_rows.bit_length()
        full = np.searchsorted(block.indptr, block.indptr[start] + LAST_NONZERO - self.n_nonzero)
        return min(block.n_rows, start + due - self.n_rows, max(int(full), start + 1))

    def add(self, block: RowBlock, codes: I64) -> None:
        begin, end = block.indptr[0], block.indptr[-1]
        weights = np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight.copy()
        entries = block.indices[begin:end].copy(), block.values[begin:end].copy()  # a caller may reuse its arrays
        rows = dict(zip(("indptr", "indices", "values"), (block.indptr - begin, *entries), strict=True))
        self.blocks.append(block.derived(**rows, y=None, sample_weight=weights))
        self.codes.append(codes)
        self.n_rows += block.n_rows
        self.n_nonzero += block.n_nonzero

    @property
    def ended(self) -> bool:
        return self.n_rows >= LAST_ROW or self.n_nonzero >= LAST_NONZERO

    @property
    def due(self) -> bool:
        """Whether it is time for a choice."""
        return self.ended or self.n_rows & (self.n_rows - 1) == 0

    def swap_classes(self) -> None:
        self.codes = [1 - codes for codes in self.codes]

    def joined(self) -> tuple[RowBlock, I64]:
        """All rows and their classes."""
        self.blocks = [RowBlock.joined(self.blocks)]
        self.codes = [np.concatenate(self.codes)]
        return self.blocks[0], self.codes[0]


@dataclass(slots=True, eq=False)
class AutoScaling:
    """The choice in force, the moments of dense columns, and the warm-up as long as it lasts."""

    choice: Choice
    means: F64
    deviations: F64
    seen: F64 = field(default_factory=lambda: np.zeros(1))  # rows
    warm_up: WarmUp | None = None
    lookup: Addresses = field(init=False)
    room: tuple[NDArray[Any], F32] = field(default_factory=lambda: (np.empty(0, np.int32), np.empty(0, np.float32)))

    def __post_init__(self) -> None:
        self.lookup = table_addresses(self.choice.own)

    @classmethod
    def start(cls, choice: Choice, warm_up: WarmUp | None) -> Self:
        return cls(choice, np.zeros(choice.dense.size), np.zeros(choice.dense.size), warm_up=warm_up)

    def stop(self, block: RowBlock, start: int) -> int:
        """Up to where rows are scaled in one go."""
        if self.choice.only_length:
            return block.n_rows
        rows = max(1, PIECE // max(1, self.choice.dense.size))
        full = np.searchsorted(block.indptr, block.indptr[start] + PIECE)
        return min(block.n_rows, start + rows, max(int(full), start + 1))

    def scaled(self, block: RowBlock, learn: bool) -> RowBlock:
        """The block with its columns scaled; its rows are not of length 1 yet.

        With ``learn`` it holds until the next block is scaled.
        """
        if self.choice.only_length:
            return block
        dense = self.choice.dense
        width = max(block.n_features, int(dense[-1]) + 1) if dense.size else block.n_features
        kind = np.int64 if width > LARGEST_INT32 else block.indices.dtype
        indptr = np.empty(block.n_rows + 1, np.int64)
        needed = block.n_nonzero + block.n_rows * dense.size
        if learn:
            indices, values = self._room(needed, kind)
        else:  # predictions may be made by several threads at once
            indices, values = np.empty(needed, kind), np.empty(needed, np.float32)
        means, deviations, seen = self.means, self.deviations, self.seen
        if not learn:  # a model may be mapped read-only, which the kernel, as it may learn, does not take
            means, deviations, seen = means.copy(), deviations.copy(), seen.copy()
        changed = scale_columns(
            block.indptr,
            block.indices,
            block.values,
            dense,
            means,
            deviations,
            seen,
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
        return block.derived(indptr=indptr, indices=indices[:filled], values=values[:filled], n_features=width)

    def _room(self, needed: int, kind: Any) -> tuple[NDArray[Any], F32]:
        """Room for scaled rows, the same again and again: fresh memory costs more than filling it."""
        indices, values = self.room
        if indices.size < needed or indices.dtype != kind:
            indices, values = self.room = np.empty(needed, kind), np.empty(needed, np.float32)
        return indices[:needed], values[:needed]

    def report(self) -> dict[str, Any]:
        """The choice in force, as JSON can hold it; of very many columns their number alone."""
        dense, own, sizes, typical = self.choice
        columns: dict[str, Any] = {"n_dense": dense.size, "n_own": own.size}
        if max(dense.size, own.size) <= MOST_REPORTED:
            columns |= {"dense": dense.tolist(), "own": own.tolist(), "sizes": sizes.tolist()}
        return {**columns, "typical": float(typical[0]), "final": self.warm_up is None}

    # ---- to and from a model

    def arrays(self) -> Arrays:
        arrays: Arrays = {CHOSEN + name: array for name, array in self.choice._asdict().items()}
        arrays |= {CHOSEN + "means": self.means, CHOSEN + "deviations": self.deviations, CHOSEN + "seen": self.seen}
        if self.warm_up is not None and self.warm_up.n_rows:
            block, codes = self.warm_up.joined()
            arrays |= {WARM + "indptr": block.indptr, WARM + "indices": block.indices.astype(np.int64)}
            arrays |= {WARM + "values": block.values, WARM + "codes": codes}
            arrays |= {WARM + "weights": np.asarray(block.sample_weight)}
        return arrays

    def header(self) -> dict[str, Any]:
        warm_up = self.warm_up
        if warm_up is None:
            return {"warm_up": None}
        return {"warm_up": {"rows": warm_up.n_rows, "random": warm_up.random}}

    @staticmethod
    def schema(header: dict[str, Any]) -> dict[str, Field]:
        """What the arrays in a model must be."""
        schema = {
            CHOSEN + "dense": Field(np.int64, ("dense",), 0, "width"),
            CHOSEN + "own": Field(np.int64, ("own",), 0, "width"),
            CHOSEN + "sizes": Field(np.float64, ("own",), 0),
            CHOSEN + "typical": Field(np.float64, (1,), 0),
            CHOSEN + "means": Field(np.float64, ("dense",)),
            CHOSEN + "deviations": Field(np.float64, ("dense",), 0),
            CHOSEN + "seen": Field(np.float64, (1,), 0),
        }
        if header["warm_up"] is not None and header["warm_up"]["rows"]:
            schema |= {
                WARM + "indptr": Field(np.int64, ("warm_bounds",), 0),
                WARM + "indices": Field(np.int64, ("warm_values",), 0, "width"),
                WARM + "values": Field(np.float32, ("warm_values",)),
                WARM + "codes": Field(np.int64, ("warm_rows",), 0, "classes"),
                WARM + "weights": Field(np.float64, ("warm_rows",), 0),
            }
        return schema

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays, width: int) -> Self:
        """What a model has; its arrays fit the schema."""
        choice = Choice(*(arrays[CHOSEN + name] for name in Choice._fields))
        for ids in (choice.dense, choice.own):
            if (np.diff(ids) <= 0).any():
                raise ValueError("the ids of its scaled columns do not ascend")
        if not (choice.sizes > 0).all() or not choice.typical[0] > 0:
            raise ValueError("the size of a column is 0")
        means, deviations, seen = (arrays[CHOSEN + name] for name in ("means", "deviations", "seen"))
        warm_up = None
        if header["warm_up"] is not None:
            warm_up = WarmUp([], [], list(header["warm_up"]["random"]))
            if header["warm_up"]["rows"]:
                warm_up.add(warm_block(arrays, width), arrays[WARM + "codes"])
            if warm_up.n_rows != header["warm_up"]["rows"] or warm_up.ended:
                raise ValueError("its first rows are not as many as it says")
        return cls(choice, means, deviations, seen, warm_up)


def warm_block(arrays: Arrays, width: int) -> RowBlock:
    """The rows of a warm-up from a model."""
    indptr, indices, values, codes, weights = (
        arrays[WARM + name] for name in ("indptr", "indices", "values", "codes", "weights")
    )
    whole = indptr.size == codes.size + 1 and indptr[0] == 0 and indptr[-1] == indices.size
    if not whole or (np.diff(indptr) < 0).any() or not values.all() or not weights.all():
        raise ValueError("its first rows are not rows")
    starts = np.zeros(indices.size + 1, np.bool_)
    starts[indptr] = True
    if (np.diff(indices) <= 0)[~starts[1:-1]].any():
        raise ValueError("ids in its first rows do not ascend")
    return RowBlock(indptr, indices, values, None, width, sample_weight=weights)
