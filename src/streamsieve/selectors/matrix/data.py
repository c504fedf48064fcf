"""The whole matrix, handed out in blocks of columns, and what threads do with pairs of its rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from threading import local
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import naming
from ...blocks import ColumnBlock, columns_of
from ...errors import DataError, prefix, spell
from ...kernels.columns.centring import find_coarse
from ...kernels.matrix.local_learning import STEP
from ...kernels.matrix.pairs import (
    LANE,
    MAX_SIZE,
    MIN_MAX,
    NONE,
    STANDARD,
    TILE,
    add_distances,
    gather_columns,
    gather_lines,
    gather_sparse,
    measure_block,
    scale_block,
)
from ...machine import available_memory, cores, more_memory, size_text
from ...parallel import PARTS, Threads, cut
from ...sources.base import DataSource, Report
from ...sources.transpose import whole_matrix
from ..diagnosis import Look, checksums_of

SCALES = {"minmax": MIN_MAX, "standard": STANDARD, "none": NONE}
R = TypeVar("R")

BLOCK = 256  # features: the most that a thread takes at a time
SLICE = 4 * BLOCK  # features whose distances are added up together
MIN_LINES = 32  # of a thread's block
WORTH_A_PART = 1 << 14  # numbers: less work is not shared out
CHECKED_VALUES = 1 << 20  # at a time


class Matrix:
    """Rows and features in memory: a dense array, row by row or feature by feature, or CSC.

    ``ids`` are the features that its columns are of, if not all; what is not among them is 0 in
    every row.
    """

    def __init__(
        self,
        values: Any,
        origin: str = "",
        names: NDArray[Any] | None = None,
        ids: NDArray[np.int64] | None = None,
        n_features: int | None = None,
        first_id: int = 0,
    ) -> None:
        self.origin, self.names, self.first_id = origin, names, first_id
        self.n_rows, self.n_columns = (int(size) for size in values.shape)
        self.ids = np.arange(self.n_columns) if ids is None else ids
        self.n_features = self.n_columns if n_features is None else n_features
        if hasattr(values, "tocsc"):
            csc = values.tocsc()
            if not csc.has_canonical_format:
                csc = csc.copy()
                csc.sum_duplicates()
            self._values: Any = csc
            self._gather: Any = gather_sparse
            self._arrays: tuple[NDArray[Any], ...] = csc.indptr, csc.indices, csc.data
            return
        dense = np.asarray(values)
        if dense.dtype not in (np.float32, np.float64):
            dense = dense.astype(np.float64)
        self._values = dense
        by_feature = dense.flags.f_contiguous and not dense.flags.c_contiguous
        self._gather = gather_lines if by_feature else gather_columns
        self._arrays = (dense.T if by_feature else dense,)

    @property
    def n_stored(self) -> int:
        """The values in memory: all of a dense matrix, the entries of a sparse one."""
        return int(self._values.size)

    def title(self, column: int) -> str:
        """What a column is called in messages."""
        feature = int(self.ids[column])
        return naming.title(
            feature, None if self.names is None else self.names[feature], self.first_id
        )

    def gather(self, features: NDArray[np.int64], block: NDArray[np.float64]) -> None:
        """Write features as the first lines of a block."""
        self._gather(*self._arrays, features, block)

    def columns(self, start: int, stop: int) -> ColumnBlock:
        """The columns from ``start`` to before ``stop``, by their non-zeros."""
        return columns_of(self._values[:, start:stop], ids=self.ids[start:stop], origin=self.origin)

    def coarse(self) -> list[str]:
        """What columns are called that have lost their values, far from 0, as 32-bit numbers."""
        if self._values.dtype != np.float32:
            return []
        found = []
        at_once = max(1, CHECKED_VALUES // self.n_rows)
        for start in range(0, self.n_columns, at_once):
            block = self.columns(start, min(self.n_columns, start + at_once))
            coarse, varies = np.zeros((2, block.n_columns), bool)
            find_coarse(block.indptr, block.values, self.n_rows, 0, block.n_columns, coarse, varies)
            found += [self.title(start + column) for column in np.flatnonzero(coarse).tolist()]
        return found

    def not_usable(self, column: int, row: int, value: float) -> DataError:
        """What to say of a value that is missing, infinite or enormous."""
        if np.isfinite(value):
            what, cure = (
                f"{value:g}",
                f"values beyond {MAX_SIZE:g} cannot be squared; divide the column",
            )
        else:
            what, cure = (
                "missing" if np.isnan(value) else "infinite",
                "fill it in or omit the feature",
            )
        return DataError(
            f"{prefix(self.origin)}{self.title(column)} is {what} in row {row + 1}; {cure}"
        )


class MatrixLook(Look):
    """The matrix as it is."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix

    def checksums(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        matrix = self.matrix
        columns = np.searchsorted(matrix.ids, ids)
        lines, sums = np.zeros((BLOCK, matrix.n_rows)), np.zeros(ids.size)
        for start in range(0, ids.size, BLOCK):
            part = columns[start : start + BLOCK]
            matrix.gather(part, lines)
            sums[start : start + BLOCK] = checksums_of(lines[: part.size])
        return sums


def matrix_of(source: DataSource, report: Report | None = None) -> tuple[Matrix, NDArray[Any]]:
    """All of a source, and its target; kept dense or sparse as its first rows or columns are."""
    whole = whole_matrix(source, report)
    known = source.all_names(), whole.ids, whole.n_features, source.facts.first_id
    return Matrix(whole.values, source.name, *known), whole.y


class Cost(NamedTuple):
    """The memory that a method takes, in bytes: a distance and two probabilities for a pair of rows at least."""

    per_pair: int = 16
    per_value: int = 0

    def of(self, n_rows: int, n_columns: int) -> int:
        in_hand = n_rows * (4 * SLICE + 8 * BLOCK * cores())
        return self.per_pair * n_rows**2 + self.per_value * n_rows * n_columns + in_hand

    def refuse_beyond_memory(self, matrix: Matrix) -> int:
        """The bytes needed; refused, with the number of rows that would fit, if there are not so many."""
        needed, available = self.of(matrix.n_rows, matrix.n_columns), available_memory()
        if needed <= available:
            return needed
        fitting = bisect_left(
            range(matrix.n_rows), available, key=lambda rows: self.of(rows, matrix.n_columns)
        )
        raise DataError(
            f"{prefix(matrix.origin)}all pairs of {matrix.n_rows:,} rows need {size_text(needed)}"
            f" of memory, and {size_text(available)} are left; {max(0, fitting - 1):,} rows would"
            f" fit, or {more_memory(needed)}"
        )


def nothing() -> None:
    """What is done after a slice, if nobody wants to know."""


class Own(local):
    """What every thread has for itself: made when a thread first asks."""

    def __init__(self, width: int) -> None:
        self.raw = np.zeros((BLOCK, width))


class Pairs:
    """Scaled features and all pairs of rows, which some threads work on.

    ``varying`` are the features that are not constant; the others say nothing and count nowhere.
    """

    def __init__(
        self, matrix: Matrix, threads: Threads, scale: str, cost: Cost | None = None
    ) -> None:
        n_rows = matrix.n_rows
        self.n_bytes = (cost or Cost()).refuse_beyond_memory(matrix)
        self.matrix, self.threads, self.n_rows = matrix, threads, n_rows
        self.lines = -(-n_rows // STEP) * STEP
        self.width = -(-self.lines // LANE) * LANE
        self._own = Own(self.width)
        self.shift, self.factor = np.empty(matrix.n_columns), np.empty(matrix.n_columns)
        kind = SCALES[scale]
        self.n_nonzero = sum(
            self.in_parts(
                matrix.n_columns, lambda first, last, part: self._measure(first, last, kind)
            )
        )
        self.varying: NDArray[np.int64] = np.flatnonzero(self.factor)

    def in_parts(self, size: int, work: Callable[[int, int, int], R]) -> list[R]:
        """``work`` of ranges of rows or features, with where each begins and ends and its number, below ``PARTS``."""
        cuts = cut(size, -(-WORTH_A_PART // self.width))
        return self.threads.each(len(cuts) - 1, lambda part: work(cuts[part], cuts[part + 1], part))

    def _measure(self, first: int, last: int, kind: int) -> int:
        """Find shifts and factors; the number of values that are not 0."""
        raw, present = self._own.raw, 0
        for start in range(first, last, BLOCK):
            stop = min(last, start + BLOCK)
            self.matrix.gather(np.arange(start, stop), raw)
            wrong, nonzeros = measure_block(
                raw,
                stop - start,
                self.n_rows,
                kind,
                self.shift[start:stop],
                self.factor[start:stop],
            )
            if wrong >= 0:
                raise self._not_usable(start + wrong, raw[wrong, : self.n_rows])
            present += nonzeros
        return present

    def _not_usable(self, column: int, line: NDArray[np.float64]) -> DataError:
        """What to say of a column with a value that cannot be used."""
        rows = np.flatnonzero(~(np.abs(line) <= MAX_SIZE))
        if rows.size:
            return self.matrix.not_usable(column, int(rows[0]), float(line[rows[0]]))
        return DataError(
            f"{prefix(self.matrix.origin)}{self.matrix.title(column)} goes from {line.min():g} to"
            f" {line.max():g}, too far for {spell('scale', 'none')}; use 'minmax' or 'standard'"
        )

    def scaled(
        self, features: NDArray[np.int64], out: NDArray[np.float32], weights: Any = 1.0
    ) -> None:
        """Write features, scaled and times their weights, as the first lines of a block, and zeros below."""
        raw = self._own.raw
        self.matrix.gather(features, raw)
        scale_block(raw, self.n_rows, self.shift[features], self.factor[features] * weights, out)
        out[features.size :] = 0.0

    def distances(
        self,
        features: NDArray[np.int64],
        weights: NDArray[np.float64],
        after_slice: Callable[[], None] = nothing,
    ) -> NDArray[np.float64]:
        """The weighted L1 distances between all rows, above the diagonal."""
        found = np.zeros((self.n_rows, self.width))
        block = np.zeros((SLICE, self.width), np.float32)
        cuts = triangle_cuts(self.n_rows)
        partial = np.zeros((len(cuts) - 1, self.width), np.float32)
        for part in slices(features.size):
            self._add_slice(features[part], weights[part], block, cuts, partial, found)
            after_slice()
        return found

    def _add_slice(
        self,
        features: NDArray[np.int64],
        weights: NDArray[np.float64],
        block: NDArray[np.float32],
        cuts: list[int],
        partial: NDArray[np.float32],
        found: NDArray[np.float64],
    ) -> None:
        """Add the distances in some features: first all threads write their lines, then each takes some rows."""
        size = -(-features.size // TILE) * TILE
        block[features.size : size] = 0.0
        starts = block_starts(features.size)

        def fill(part: int) -> None:
            lines = slice(starts[part], starts[part + 1])
            self.scaled(features[lines], block[lines], weights[lines])

        def add(part: int) -> None:
            add_distances(block[:size], cuts[part], cuts[part + 1], partial[part], found)

        self.threads.each(len(starts) - 1, fill)
        self.threads.each(len(cuts) - 1, add)

    def over_blocks(
        self, features: NDArray[np.int64], work: Callable[[int, NDArray[np.float32], int], None]
    ) -> None:
        """Call ``work`` with where every block begins, its scaled lines, and how many of them hold features."""
        starts = block_starts(features.size)

        def go(part: int) -> None:
            chosen = features[starts[part] : starts[part + 1]]
            block = np.zeros((-(-chosen.size // TILE) * TILE, self.width), np.float32)
            self.scaled(chosen, block)
            work(starts[part], block, chosen.size)

        self.threads.each(len(starts) - 1, go)

    def pair_matrix(self) -> NDArray[np.float32]:
        """Zeros for all pairs, with lines enough for the kernels."""
        return np.zeros((self.lines, self.width), np.float32)


def slices(n_features: int) -> list[slice]:
    """Features in parts that all threads work on together."""
    return [slice(start, start + SLICE) for start in range(0, n_features, SLICE)]


def block_starts(n_features: int) -> list[int]:
    """Where blocks of features begin, and the last one ends."""
    size = min(BLOCK, max(MIN_LINES, -(-n_features // PARTS)))
    return [*range(0, n_features, size), n_features]


def triangle_cuts(n_rows: int) -> list[int]:
    """Where ranges of rows begin, and the last one ends, that have as many pairs with later rows each."""
    return [int(n_rows * (1.0 - np.sqrt(1.0 - part / PARTS))) for part in range(PARTS + 1)]
