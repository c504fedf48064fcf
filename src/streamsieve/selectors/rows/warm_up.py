"""Keep the first rows until everything chosen from them is final, and choose scales of columns.

These rows are the warm-up. Each row is learned as soon as it comes. When 1, 2, 4, ... rows have
been seen, and when the warm-up ends, the scales of columns are chosen again from all of these rows
and the centre of a numeric target from the first 32 (``targets.FIRST_NUMBERS``). If a choice has
changed, learning restarts from the first row. So what is learned depends on the rows only, not on
chunks or on when results were read.

``normalize="auto"`` puts every column on a scale that its first values suggest.

Problem  Decide per column, from the first 1,024 rows at most, by their content only:
             dense     non-zero in at least half of these rows: centred by the running mean and
                       divided by the running standard deviation, zeros included
             sparse    all others: divided by the size of their own values, if there are at least 10
                       non-zeros and their lower median is below g/10 or above 10 g, where g is the
                       median of all sparse values; otherwise by the size of all sparse values
             size      the median, if at least half of the values equal it (flags and counts);
                       otherwise 1.4826 times the median, which for normal values is a standard
                       deviation: then sparse columns are as large as dense ones, and methods that
                       keep the largest weights do not prefer them
         Medians are of |x| of non-zeros. After scaling, every row is divided by its length, unless
         ``RowInputs.unit_length`` says no. Scales are the same for rows that come dense or sparse.
Cost     The rows of the warm-up in memory, at most about 2^22 non-zeros: it ends with the row that
         reaches that number; at most about 60 bytes for each while a choice is made; two passes
         over them. Then one more pass over every value, where there are columns to scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.arrays import ArraySpec, array
from ...kernels.rows.scaling import scale_columns
from ...kernels.types import F32, F64, I64
from ...machine import refuse_beyond_memory
from ...state import Arrays, arrays_of, empty, schema_of, with_arrays
from ..diagnosis import number_features
from ..parameters import MAX_WEIGHT, ensure
from .addresses import table_addresses
from .inputs import MAX_SUM

LAST_NONZERO = 1 << 22  # the warm-up ends with the row that reaches this number of non-zeros
CHOICE_BYTES = 40  # of memory per non-zero while a choice is made, beside the row itself
WARM = "warm."  # prefix of the names of the arrays of ``WarmUp`` in a model
N_GENERATORS = 2  # of random numbers: for the draws of a rule, and for the attributes seen of a row
LAST_ROW = 1024  # the warm-up of scales ends with this row; that of targets at ``FIRST_NUMBERS``
DENSE = 0.5  # a column is dense if at least this share of the rows has a value in it
MIN_NONZEROS = 10  # of a sparse column with its own size
PER_MEDIAN = 1.4826  # standard deviation over median of |x|, for normal values with mean 0
FAR = 10.0  # a column has its own size if its median differs from the typical one by this factor
PIECE = 1 << 18  # values scaled at a time, to stay in the cache

MAX_REPORTED = 1000  # dense columns, or columns with their own size, that a report lists by id
MAX_INT32 = np.iinfo(np.int32).max

CHOSEN = "columns."  # prefix of the names of the arrays of ``AutoScaling`` in a model


@dataclass(slots=True, eq=False)
class WarmUp:
    """The first rows, kept to be learned again: to ``last_row``, or ``LAST_NONZERO`` non-zeros."""

    last_row: int
    random: list[Any]  # the states of both random generators before the first row
    blocks: list[RowBlock]
    answers: list[NDArray[Any]]  # encoded targets: the number of the class, or the target
    n_rows: int = 0
    n_nonzero: int = 0

    def stop(self, block: RowBlock, start: int) -> int:
        """Return the row of a block before which the next choice is due, or the end of the block.

        The rows before ``start`` have been added.
        """
        n_rows_at_choice = 1 << self.n_rows.bit_length()
        end_when_full = np.searchsorted(
            block.indptr, block.indptr[start] + LAST_NONZERO - self.n_nonzero
        )
        return min(
            block.n_rows,
            start + n_rows_at_choice - self.n_rows,
            max(int(end_when_full), start + 1),
        )

    def add(self, block: RowBlock, answers: NDArray[Any]) -> None:
        """Add copies of rows and of their encoded targets."""
        begin, end = block.indptr[0], block.indptr[-1]
        copied = block.derived(  # callers may reuse their arrays
            indptr=block.indptr - begin,
            indices=block.indices[begin:end].copy(),
            values=block.values[begin:end].copy(),
            y=None,
            sample_weight=(
                np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight.copy()
            ),
        )
        self.blocks.append(copied)
        self.answers.append(answers.copy())
        self.n_rows += block.n_rows
        self.n_nonzero += block.n_nonzero

    @property
    def has_ended(self) -> bool:
        """Return True if the warm-up is over: it has ``last_row`` rows or enough non-zeros."""
        return self.n_rows >= self.last_row or self.n_nonzero >= LAST_NONZERO

    @property
    def is_choice_due(self) -> bool:
        """Return True if a choice is due: after 1, 2, 4, ... rows and at the end of the warm-up."""
        return self.has_ended or self.n_rows & (self.n_rows - 1) == 0

    def swap_classes(self) -> None:
        """Swap the two classes in the encoded targets."""
        self.answers = [1 - codes for codes in self.answers]

    def join_rows(self) -> tuple[RowBlock, NDArray[Any]]:
        """Join all rows into one block; return it and the targets.

        Raise DataError if there is too little memory left to choose scales from them.
        """
        refuse_beyond_memory(
            CHOICE_BYTES * self.n_nonzero,
            f"the first {self.n_rows:,} rows, from which scales are chosen,",
            "set another normalize, such as 'l2'",
        )
        self.blocks = [RowBlock.joined(self.blocks)]
        self.answers = [np.concatenate(self.answers)]
        return self.blocks[0], self.answers[0]

    # ---- to and from a model

    def header(self) -> dict[str, Any]:
        """Return what a model stores beside the rows, as JSON."""
        exact = bool(self.n_rows) and self.join_rows()[0].values.dtype == np.float64
        return {"rows": self.n_rows, "random": self.random, "exact": exact}

    def arrays(self) -> Arrays:
        """Return the rows, with their targets."""
        if not self.n_rows:
            return {}
        block, answers = self.join_rows()
        return {
            WARM + "indptr": block.indptr,
            WARM + "indices": block.indices.astype(np.int64),
            WARM + "values": block.values,
            WARM + "answers": answers,
            WARM + "weights": np.asarray(block.sample_weight),
        }

    @staticmethod
    def schema(header: dict[str, Any], answers: ArraySpec) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays in a model."""
        if not header["rows"]:
            return {}
        return {
            WARM + "indptr": ArraySpec(("warm_bounds",), 0, dtype=np.int64),
            WARM + "indices": ArraySpec(("warm_values",), 0, "width", dtype=np.int64),
            WARM + "values": ArraySpec(
                ("warm_values",), dtype=np.float64 if header["exact"] else np.float32
            ),
            WARM + "answers": answers,
            WARM + "weights": ArraySpec(
                ("warm_rows",), 0, np.nextafter(MAX_WEIGHT, np.inf), dtype=np.float64
            ),
        }

    @classmethod
    def from_model(
        cls, header: dict[str, Any], arrays: Arrays, initial: Any, width: int, dense: bool
    ) -> Self:
        """Return the warm-up of a model, whose arrays fit the schema.

        Its rows are dense or sparse. ``initial`` is a warm-up without rows.
        """
        warm_up = cls(initial.last_row, list(header["random"]), [], [])
        for state in warm_up.random:
            np.random.PCG64().state = state  # raises an error for an invalid state
        ensure(len(warm_up.random) == N_GENERATORS, "it does not have two random generators")
        if header["rows"]:
            warm_up.add(read_warm_rows(arrays, width, dense), arrays[WARM + "answers"])
        ensure(
            warm_up.n_rows == header["rows"] and not warm_up.has_ended,
            "the number of its first rows is not the recorded one",
        )
        return warm_up


def read_warm_rows(arrays: Arrays, width: int, dense: bool) -> RowBlock:
    """Return the rows of a warm-up from a model."""
    indptr, indices, values, weights = (
        arrays[WARM + name] for name in ("indptr", "indices", "values", "weights")
    )
    is_bounded = indptr.size == weights.size + 1 and indptr[0] == 0 and indptr[-1] == indices.size
    ensure(
        is_bounded and (np.diff(indptr) >= 0).all() and values.all() and weights.all(),
        "its first rows are not valid",
    )
    # Ids must ascend within a row, not from the last id of a row to the first of the next.
    is_start = np.zeros(indices.size + 1, np.bool_)
    is_start[indptr] = True
    ensure(
        not (np.diff(indices) <= 0)[~is_start[1:-1]].any(), "ids in its first rows do not ascend"
    )
    block = RowBlock(indptr, indices, values, None, width, dense=dense, sample_weight=weights)
    return block.derived(values=values)  # RowBlock() rounds values to float32; these may be exact


# ---- scales of columns


class Choice(NamedTuple):
    """The choice of scales of the columns."""

    dense: I64 = array("dense", low=0, below="width")  # ids, ascending
    scaled: I64 = array("scaled", low=0, below="width")  # ids of columns in ``sizes``, ascending
    sizes: F64 = array("scaled", low=0)  # the divisors of sparse columns with their own size
    typical: F64 = array(1, low=0, start=1)  # the divisor of all other sparse columns
    table: I64 = array(1, low=0, below=2)  # 1 if at least half of the values are in dense columns

    @property
    def is_table(self) -> bool:
        """Return True if at least half of the values are in dense columns."""
        return bool(self.table[0])

    @property
    def is_length_only(self) -> bool:
        """Return True if rows are only divided by their length.

        Dividing a row by its length undoes the divisor ``typical``, which all columns share.
        """
        return not self.dense.size and not self.scaled.size

    def equals(self, other: Choice) -> bool:
        """Return True if both choices scale rows in the same way."""
        alike = all(map(np.array_equal, self[:3], other[:3])) and self.is_table == other.is_table
        return alike and (self.is_length_only or self.typical[0] == other.typical[0])


def choose_scales(block: RowBlock) -> Choice:
    """Return the choice for some rows."""
    magnitudes = np.abs(block.values).astype(np.float32, copy=False)
    features, columns = number_features(block.indices)  # distinct ids; of each value, the column
    counts = np.bincount(columns)
    is_dense = (counts >= DENSE * block.n_rows) & (counts > 0)
    is_in_sparse = ~is_dense[columns]
    median = median_of(magnitudes[is_in_sparse]) if is_in_sparse.any() else 1.0
    small = np.bincount(columns[magnitudes < np.float64(median / FAR)], minlength=counts.size)
    large = np.bincount(columns[magnitudes > np.float64(median * FAR)], minlength=counts.size)
    # A lower median is too small or too large if enough values are, so columns are not sorted.
    lower = (counts - 1) // 2  # position of the lower median in a sorted column
    is_far = (counts >= MIN_NONZEROS) & ~is_dense & ((small > lower) | (large >= counts - lower))
    is_in_far = is_far[columns]
    by_column = magnitudes[is_in_far][np.lexsort((magnitudes[is_in_far], columns[is_in_far]))]
    values_of_far = np.split(by_column, np.cumsum(counts[is_far])[:-1]) if is_in_far.any() else []
    own_sizes = [size_of(values, float(values[(values.size - 1) // 2])) for values in values_of_far]
    dense_ids, own_ids = (features[np.flatnonzero(chosen)] for chosen in (is_dense, is_far))
    typical = np.array([size_of(magnitudes[is_in_sparse], median)])
    table = np.array([2 * np.count_nonzero(~is_in_sparse) >= is_in_sparse.size > 0], np.int64)
    return Choice(dense_ids, own_ids, np.array(own_sizes), typical, table)


def size_of(values: F32, median: float) -> float:
    """Return the divisor of values, given by magnitude, with this median ("size" in the header)."""
    n_equal = np.count_nonzero(values == np.float64(median))
    return median if 2 * n_equal >= values.size else PER_MEDIAN * median


def median_of(values: F32) -> float:
    """Return the median, without rounding it to the type of the values."""
    low, high = (values.size - 1) // 2, values.size // 2
    parts = np.partition(values, (low, high))
    return (float(parts[low]) + float(parts[high])) / 2.0


class ColumnMoments(NamedTuple):
    """The means of dense columns and the sums of squared deviations from them (Welford)."""

    means: F64 = array("dense", low=-MAX_SUM, below=MAX_SUM)
    deviations: F64 = array("dense", low=0)
    seen: F64 = array(1, low=0)  # the number of rows so far


class AutoScaling:
    """The scales of columns: the current choice, at first empty, and moments of dense columns."""

    def __init__(self, choice: Choice | None = None, moments: ColumnMoments | None = None) -> None:
        self.choice = empty(Choice, dense=0, scaled=0) if choice is None else choice
        self.moments = (
            empty(ColumnMoments, dense=self.choice.dense.size) if moments is None else moments
        )
        self.lookup = table_addresses(self.choice.scaled)
        self.room: tuple[NDArray[Any], F32] = np.empty(0, np.int32), np.empty(0, np.float32)

    def stop(self, block: RowBlock, start: int) -> int:
        """Return the row of a block before which to pause, so that a piece stays in the cache."""
        if self.choice.is_length_only:
            return block.n_rows
        # Rows are limited, too, since every row gets a value in every dense column.
        rows = max(1, PIECE // max(1, self.choice.dense.size))
        if block.n_rows <= start + rows and block.indptr[-1] <= block.indptr[start] + PIECE:
            return block.n_rows
        end = np.searchsorted(block.indptr, block.indptr[start] + PIECE)
        return min(block.n_rows, start + rows, max(int(end), start + 1))

    def scale(self, block: RowBlock, learn: bool) -> RowBlock:
        """Return a block with scaled columns; its rows are not divided by their length yet.

        With ``learn``, moments are updated and arrays are reused: the block is valid until the next
        one is scaled with ``learn``.
        """
        if self.choice.is_length_only:
            if block.values.dtype == np.float32:
                return block
            return block.derived(values=block.values.astype(np.float32))
        dense = self.choice.dense
        width = max(block.n_features, int(dense[-1]) + 1) if dense.size else block.n_features
        dtype = np.int64 if width > MAX_INT32 else block.indices.dtype
        indptr = np.empty(block.n_rows + 1, np.int64)
        n_needed = block.n_nonzero + block.n_rows * dense.size
        if learn:
            indices, values = self._room(n_needed, dtype)
        else:  # several threads may predict at once
            indices, values = np.empty(n_needed, dtype), np.empty(n_needed, np.float32)
        # The kernel needs writable moments, since it may learn; a model may be mapped read-only.
        moments = (
            self.moments if learn else ColumnMoments(*(array.copy() for array in self.moments))
        )
        has_new_columns = scale_columns(
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
        if not has_new_columns:
            indices = block.indices[block.indptr[0] : block.indptr[-1]]
        return block.with_entries(indptr, indices[:filled], values[:filled], width)

    def _room(self, n_needed: int, dtype: Any) -> tuple[NDArray[Any], F32]:
        """Return reused arrays for scaled rows, as new memory costs more than filling it."""
        indices, values = self.room
        if indices.size < n_needed or indices.dtype != dtype:
            indices, values = self.room = np.empty(n_needed, dtype), np.empty(n_needed, np.float32)
        return indices[:n_needed], values[:n_needed]

    def report(self, final: bool) -> dict[str, Any]:
        """Return the current choice, as JSON can hold it.

        If more than ``MAX_REPORTED`` columns are dense or have their own size, it lists no columns.
        """
        dense_ids, own_ids, sizes, typical, _ = self.choice
        columns: dict[str, Any] = {"n_dense": dense_ids.size, "n_own": own_ids.size}
        if max(dense_ids.size, own_ids.size) <= MAX_REPORTED:
            columns |= {
                "dense": dense_ids.tolist(),
                "own": own_ids.tolist(),
                "sizes": sizes.tolist(),
            }
        return {**columns, "typical": float(typical[0]), "final": final}

    # ---- to and from a model

    def arrays(self) -> Arrays:
        """Return the arrays of a model, by name."""
        return {**arrays_of(self.choice, CHOSEN), **arrays_of(self.moments, CHOSEN)}

    def schema(self) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays in a model."""
        return {**schema_of(self.choice, CHOSEN), **schema_of(self.moments, CHOSEN)}

    def load_arrays(self, arrays: Arrays) -> AutoScaling:
        """Return the scaling of a model, whose arrays fit the schema."""
        choice = with_arrays(self.choice, arrays, CHOSEN)
        for ids in (choice.dense, choice.scaled):
            ensure((np.diff(ids) > 0).all(), "the ids of its scaled columns do not ascend")
        ensure((choice.sizes > 0).all() and choice.typical[0] > 0, "the size of a column is 0")
        return AutoScaling(choice, with_arrays(self.moments, arrays, CHOSEN))
