"""The whole matrix, read in blocks of columns, and threaded work on pairs of its rows."""

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
from ...kernels.matrix.local_learning import ROWS_AT_ONCE
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
from ..diagnosis import DataSample, checksums_of

SCALES = {"minmax": MIN_MAX, "standard": STANDARD, "none": NONE}
R = TypeVar("R")

BLOCK = 256  # maximum number of features that a thread processes at a time
SLICE = 4 * BLOCK  # features whose distances are added up together
MIN_LINES = 32  # of a thread's block
MIN_PART_SIZE = 1 << 14  # numbers: less work is not divided among threads
CHECKED_VALUES = 1 << 20  # at a time


class Matrix:
    """Rows and features in memory: a dense array in C or Fortran order, or a CSC matrix.

    ``ids`` are the features of its columns, if not all; other features are 0 in every row.
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
            self.values: Any = csc
            self._gather: Any = gather_sparse
            self._arrays: tuple[NDArray[Any], ...] = csc.indptr, csc.indices, csc.data
            return
        dense = np.asarray(values)
        if dense.dtype not in (np.float32, np.float64):
            dense = dense.astype(np.float64)
        self.values = dense
        by_feature = dense.flags.f_contiguous and not dense.flags.c_contiguous
        self._gather = gather_lines if by_feature else gather_columns
        self._arrays = (dense.T if by_feature else dense,)

    def title(self, column: int) -> str:
        """Return the title of a column in messages."""
        feature = int(self.ids[column])
        return naming.title(
            feature, None if self.names is None else self.names[feature], self.first_id
        )

    def gather(self, features: NDArray[np.int64], block: NDArray[np.float64]) -> None:
        """Write features into the first lines of a block."""
        self._gather(*self._arrays, features, block)

    def columns(self, start: int, stop: int) -> ColumnBlock:
        """Return the columns from ``start`` to before ``stop``, as non-zeros."""
        return columns_of(self.values[:, start:stop], ids=self.ids[start:stop], origin=self.origin)

    def coarse_titles(self) -> list[str]:
        """Return the titles of columns whose values, far from 0, lost precision as float32."""
        if self.values.dtype != np.float32:
            return []
        titles = []
        n_at_once = max(1, CHECKED_VALUES // self.n_rows)
        for start in range(0, self.n_columns, n_at_once):
            block = self.columns(start, min(self.n_columns, start + n_at_once))
            is_coarse, varies = np.zeros((2, block.n_columns), bool)
            find_coarse(
                block.indptr, block.values, self.n_rows, 0, block.n_columns, is_coarse, varies
            )
            titles += [self.title(start + column) for column in np.flatnonzero(is_coarse).tolist()]
        return titles

    def unusable_error(self, column: int, row: int, value: float) -> DataError:
        """Return the error for a value that is missing, infinite or enormous."""
        if np.isfinite(value):
            problem, cure = (
                f"{value:g}",
                f"values beyond {MAX_SIZE:g} cannot be squared; divide the column",
            )
        else:
            problem, cure = (
                "missing" if np.isnan(value) else "infinite",
                "fill it in or omit the feature",
            )
        return DataError(
            f"{prefix(self.origin)}{self.title(column)} is {problem} in row {row + 1}; {cure}"
        )


class MatrixSample(DataSample):
    """The matrix as the data of a diagnosis."""

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


def read_matrix(source: DataSource, report: Report | None = None) -> tuple[Matrix, NDArray[Any]]:
    """Return the matrix of a source and its target, dense or sparse like its first block."""
    whole = whole_matrix(source, report)
    matrix = Matrix(
        whole.values,
        source.name,
        source.read_feature_names(),
        whole.ids,
        whole.n_features,
        source.facts.first_id,
    )
    return matrix, whole.y


class Cost(NamedTuple):
    """Memory of a method in bytes: at least a distance and two probabilities per pair of rows."""

    per_pair: int = 16
    per_value: int = 0

    def total_bytes(self, n_rows: int, n_columns: int) -> int:
        scratch = n_rows * (4 * SLICE + 8 * BLOCK * cores())
        return self.per_pair * n_rows**2 + self.per_value * n_rows * n_columns + scratch

    def refuse_beyond_memory(self, matrix: Matrix) -> int:
        """Return the bytes needed; raise DataError, with the rows that would fit, if too many."""
        needed, available = self.total_bytes(matrix.n_rows, matrix.n_columns), available_memory()
        if needed <= available:
            return needed
        fitting = bisect_left(
            range(matrix.n_rows),
            available,
            key=lambda rows: self.total_bytes(rows, matrix.n_columns),
        )
        raise DataError(
            f"{prefix(matrix.origin)}all pairs of {matrix.n_rows:,} rows need {size_text(needed)}"
            f" of memory, and {size_text(available)} are left; {max(0, fitting - 1):,} rows would"
            f" fit, or {more_memory(needed)}"
        )


def do_nothing() -> None:
    """Do nothing after a slice."""


class ThreadScratch(local):
    """Scratch memory of each thread, allocated when the thread first uses it."""

    def __init__(self, width: int) -> None:
        self.raw = np.zeros((BLOCK, width))


class Pairs:
    """Scaled features and all pairs of rows, processed by threads.

    ``varying`` are the features that are not constant; the others are ignored.
    """

    def __init__(
        self, matrix: Matrix, threads: Threads, scale: str, cost: Cost | None = None
    ) -> None:
        n_rows = matrix.n_rows
        self.n_bytes = (cost or Cost()).refuse_beyond_memory(matrix)
        self.matrix, self.threads, self.n_rows = matrix, threads, n_rows
        self.lines = -(-n_rows // ROWS_AT_ONCE) * ROWS_AT_ONCE
        self.width = -(-self.lines // LANE) * LANE
        self._scratch = ThreadScratch(self.width)
        self.shift, self.factor = np.empty(matrix.n_columns), np.empty(matrix.n_columns)
        kind = SCALES[scale]
        self.n_nonzero = sum(
            self.run_in_parts(
                matrix.n_columns, lambda first, last, part: self._measure(first, last, kind)
            )
        )
        self.varying: NDArray[np.int64] = np.flatnonzero(self.factor)

    def run_in_parts(self, size: int, work: Callable[[int, int, int], R]) -> list[R]:
        """Return ``work(start, stop, number)`` for at most ``PARTS`` ranges of rows or features."""
        bounds = cut(size, -(-MIN_PART_SIZE // self.width))
        return self.threads.each(
            len(bounds) - 1, lambda part: work(bounds[part], bounds[part + 1], part)
        )

    def _measure(self, first: int, last: int, kind: int) -> int:
        """Compute shifts and factors of features; return the number of non-zero values."""
        raw, n_nonzero = self._scratch.raw, 0
        for start in range(first, last, BLOCK):
            stop = min(last, start + BLOCK)
            self.matrix.gather(np.arange(start, stop), raw)
            bad_line, n_nonzero_in_block = measure_block(
                raw,
                stop - start,
                self.n_rows,
                kind,
                self.shift[start:stop],
                self.factor[start:stop],
            )
            if bad_line >= 0:
                raise self._unusable_error(start + bad_line, raw[bad_line, : self.n_rows])
            n_nonzero += n_nonzero_in_block
        return n_nonzero

    def _unusable_error(self, column: int, line: NDArray[np.float64]) -> DataError:
        """Return the error for a column with a value that cannot be used."""
        rows = np.flatnonzero(~(np.abs(line) <= MAX_SIZE))
        if rows.size:
            return self.matrix.unusable_error(column, int(rows[0]), float(line[rows[0]]))
        return DataError(
            f"{prefix(self.matrix.origin)}{self.matrix.title(column)} goes from {line.min():g} to"
            f" {line.max():g}, too far for {spell('scale', 'none')}; use 'minmax' or 'standard'"
        )

    def write_scaled(
        self, features: NDArray[np.int64], out: NDArray[np.float32], weights: Any = 1.0
    ) -> None:
        """Write scaled features times weights into the first lines of a block, zeros below."""
        raw = self._scratch.raw
        self.matrix.gather(features, raw)
        scale_block(raw, self.n_rows, self.shift[features], self.factor[features] * weights, out)
        out[features.size :] = 0.0

    def distances(
        self,
        features: NDArray[np.int64],
        weights: NDArray[np.float64],
        after_slice: Callable[[], None] = do_nothing,
    ) -> NDArray[np.float64]:
        """Return the weighted L1 distances between all rows, above the diagonal."""
        distances = np.zeros((self.n_rows, self.width))
        block = np.zeros((SLICE, self.width), np.float32)
        # Ranges of rows with equal numbers of pairs with later rows.
        fractions = 1.0 - np.sqrt(1.0 - np.arange(PARTS + 1) / PARTS)
        row_bounds = (self.n_rows * fractions).astype(int).tolist()
        partial_sums = np.zeros((len(row_bounds) - 1, self.width), np.float32)
        for part in slices(features.size):
            self._add_slice(
                features[part], weights[part], block, row_bounds, partial_sums, distances
            )
            after_slice()
        return distances

    def _add_slice(
        self,
        features: NDArray[np.int64],
        weights: NDArray[np.float64],
        block: NDArray[np.float32],
        row_bounds: list[int],
        partial_sums: NDArray[np.float32],
        distances: NDArray[np.float64],
    ) -> None:
        """Add the distances in some features.

        First all threads write lines of the block, then each adds distances of a range of rows.
        """
        size = -(-features.size // TILE) * TILE
        block[features.size : size] = 0.0
        starts = block_starts(features.size)

        def fill(part: int) -> None:
            lines = slice(starts[part], starts[part + 1])
            self.write_scaled(features[lines], block[lines], weights[lines])

        self.threads.each(len(starts) - 1, fill)
        self.threads.each(
            len(row_bounds) - 1,
            lambda part: add_distances(
                block[:size], row_bounds[part], row_bounds[part + 1], partial_sums[part], distances
            ),
        )

    def run_over_blocks(
        self, features: NDArray[np.int64], work: Callable[[int, NDArray[np.float32], int], None]
    ) -> None:
        """Call ``work(start, scaled_lines, n_features)`` for every block of features."""
        starts = block_starts(features.size)

        def run(part: int) -> None:
            features_of_block = features[starts[part] : starts[part + 1]]
            block = np.zeros((-(-features_of_block.size // TILE) * TILE, self.width), np.float32)
            self.write_scaled(features_of_block, block)
            work(starts[part], block, features_of_block.size)

        self.threads.each(len(starts) - 1, run)

    def make_pair_matrix(self) -> NDArray[np.float32]:
        """Return zeros for all pairs, padded to the lines that kernels need."""
        return np.zeros((self.lines, self.width), np.float32)


def slices(n_features: int) -> list[slice]:
    """Return slices of the features that all threads process together."""
    return [slice(start, start + SLICE) for start in range(0, n_features, SLICE)]


def block_starts(n_features: int) -> list[int]:
    """Return the starts of blocks of features and the end of the last one."""
    size = min(BLOCK, max(MIN_LINES, -(-n_features // PARTS)))
    return [*range(0, n_features, size), n_features]
