"""The whole matrix, handed out in blocks of columns, and what two threads do with pairs of its rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial as bound
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, prefix
from ...kernels.matrix.local_learning import STEP
from ...kernels.matrix.pairs import (
    LANE,
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
from ...machine import available_memory
from ...sources.base import ColumnSource, DataSource, Report, Source, by_rows
from ...sources.columns import by_columns
from ..base import is_integer, is_number, require

SCALES = {"minmax": MIN_MAX, "standard": STANDARD, "none": NONE}
PARTS = 2  # of every work, each on a thread; always as many, so that sums are the same on any machine
BLOCK = 256  # features
DENSE = 0.5  # of its values not 0: a table with more is kept dense
BYTES_PER_PAIR = 16  # of rows: a distance and two probabilities

Part = Callable[[int, int, int], Any]  # from where, to where, which part


class Matrix:
    """Rows and features in memory: a dense array, row by row or feature by feature, or CSC.

    ``ids`` are the features that its columns are of, if not all; what is not among them is 0 in every row.
    """

    def __init__(
        self,
        values: Any,
        origin: str = "",
        names: NDArray[Any] | None = None,
        ids: NDArray[np.int64] | None = None,
        n_features: int | None = None,
    ) -> None:
        self.origin, self.names = origin, names
        self.n_rows, self.n_columns = (int(size) for size in values.shape)
        self.ids = np.arange(self.n_columns) if ids is None else ids
        self.n_features = self.n_columns if n_features is None else n_features
        if hasattr(values, "tocsc"):
            csc = values.tocsc()
            if not csc.has_canonical_format:
                csc = csc.copy()
                csc.sum_duplicates()
            self._gather: Any = gather_sparse
            self._arrays: tuple[NDArray[Any], ...] = csc.indptr, csc.indices, csc.data
            return
        dense = np.asarray(values)
        if dense.dtype not in (np.float32, np.float64):
            dense = dense.astype(np.float64)
        by_feature = dense.flags.f_contiguous and not dense.flags.c_contiguous
        self._gather = gather_lines if by_feature else gather_columns
        self._arrays = (dense.T if by_feature else dense,)

    def title(self, column: int) -> str:
        """What a column is called in messages."""
        feature = int(self.ids[column])
        return f"feature {feature}" if self.names is None else f"column {self.names[feature]!r}"

    def gather(self, features: NDArray[np.int64], block: NDArray[np.float64]) -> None:
        """Write features as the first lines of a block."""
        self._gather(*self._arrays, features, block)


def matrix_of(source: DataSource, report: Report | None = None) -> tuple[Matrix, NDArray[Any]]:
    """All of a source, and its target; kept dense or sparse as its first rows or columns are."""
    names = source.feature_names
    if source.matrix is None and not isinstance(source, ColumnSource):
        rows = dense_rows(by_rows(source), report)
        if rows is not None:
            return Matrix(rows[0], source.name, names), rows[1]
    held = by_columns(source, report)
    y = held.targets()
    if held.matrix is not None:
        return Matrix(held.matrix, held.name, names, held.ids, held.n_features), y
    from scipy.sparse import csc_array, hstack

    parts: list[Any] = []
    ids: list[NDArray[np.int64]] = []
    dense = False
    for whole in held.column_blocks():
        block = whole.without_empty()
        csc = csc_array((block.values.astype(np.float32), block.indices, block.indptr), (y.size, block.n_columns))
        dense = dense if parts else block.n_nonzero > DENSE * y.size * block.n_columns
        parts.append(csc.T.toarray() if dense else csc)
        ids.append(block.ids)
        if report and block.n_columns:
            report("features read", int(block.ids[-1]) + 1, held.n_features)
    together = np.concatenate(parts).T if dense else hstack(parts).tocsc()
    return Matrix(together, held.name, names, np.concatenate(ids), held.n_features), y


def dense_rows(source: Source, report: Report | None) -> tuple[NDArray[np.float32], NDArray[Any]] | None:
    """The rows of a source as they are, if the first are dense and all are of a known width; otherwise None."""
    width = source.n_features or 0
    first = next(source.row_blocks("keep"), None) if width and source.rewindable else None
    if first is None or first.y is None or first.n_nonzero <= DENSE * first.n_rows * width:
        return None
    parts, labels, row = [], [], 0
    for block in source.row_blocks("keep"):
        lines = replace(block, n_features=width).to_dense(np.float32)
        labels.append(np.asarray(block.y))
        if source.n_rows is None:
            parts.append(lines)
        else:
            if not parts:
                parts.append(np.empty((source.n_rows, width), np.float32))
            parts[0][row : row + block.n_rows] = lines
        row += block.n_rows
        if report:
            report("rows read", row, source.n_rows)
    return parts[0] if len(parts) == 1 else np.concatenate(parts), np.concatenate(labels)


class Pairs:
    """Scaled features and all pairs of rows, for as long as they are worked on (a context manager: it has threads).

    ``varying`` are the features that are not constant; the others say nothing and count nowhere.
    """

    def __init__(self, matrix: Matrix, scale: str) -> None:
        n_rows = matrix.n_rows
        if BYTES_PER_PAIR * n_rows**2 > available_memory():
            raise DataError(
                f"{prefix(matrix.origin)}all pairs of {n_rows:,} rows need {BYTES_PER_PAIR * n_rows**2 / 1e9:.1f} GB, "
                "more than there is; take fewer rows"
            )
        self.matrix, self.n_rows = matrix, n_rows
        self.lines = -(-n_rows // STEP) * STEP
        self.width = -(-self.lines // LANE) * LANE
        self.pool = ThreadPoolExecutor(PARTS)
        self.shift, self.factor = np.empty(matrix.n_columns), np.empty(matrix.n_columns)
        self.raw = np.zeros((PARTS, BLOCK, self.width))
        self.n_nonzero = sum(
            self.in_parts(matrix.n_columns, lambda first, last, part: self._measure(first, last, part, SCALES[scale]))
        )
        self.varying: NDArray[np.int64] = np.flatnonzero(self.factor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pool.shutdown()

    def in_parts(self, size: int, work: Part) -> list[Any]:
        """Do work on ranges of what counts ``size``, a thread each."""
        cuts = [size * part // PARTS for part in range(PARTS + 1)]
        return list(self.pool.map(work, cuts[:-1], cuts[1:], range(PARTS)))

    def _measure(self, first: int, last: int, part: int, kind: int) -> int:
        """Find shifts and factors; the number of values that are not 0."""
        present = 0
        for start in range(first, last, BLOCK):
            stop = min(last, start + BLOCK)
            self.matrix.gather(np.arange(start, stop), self.raw[part])
            wrong, nonzeros = measure_block(
                self.raw[part], stop - start, self.n_rows, kind, self.shift[start:stop], self.factor[start:stop]
            )
            if wrong >= 0:
                row = int(np.flatnonzero(~np.isfinite(self.raw[part, wrong, : self.n_rows]))[0])
                what = "missing" if np.isnan(self.raw[part, wrong, row]) else "infinite"
                raise DataError(
                    f"{prefix(self.matrix.origin)}{self.matrix.title(start + wrong)} is {what} in row {row + 1}; fill "
                    "it in or omit the feature"
                )
            present += nonzeros
        return present

    def scaled(self, features: NDArray[np.int64], part: int, out: NDArray[np.float32], weights: Any = 1.0) -> None:
        """Write features, scaled and times their weights, as the first lines of a block, and zeros below."""
        self.matrix.gather(features, self.raw[part])
        scale_block(self.raw[part], self.n_rows, self.shift[features], self.factor[features] * weights, out)
        out[features.size :] = 0.0

    def distances(self, features: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted L1 distances between all rows, above the diagonal."""
        found = np.zeros((self.n_rows, self.width))
        block = np.zeros((PARTS, BLOCK, self.width), np.float32)
        partial = np.zeros((PARTS, self.width), np.float32)
        together = block.reshape(-1, self.width)

        def fill(start: int, first: int, last: int, part: int) -> None:
            chosen = slice(start + part * BLOCK, start + (part + 1) * BLOCK)
            self.scaled(features[chosen], part, block[part], weights[chosen])

        def add(size: int, first: int, last: int, part: int) -> None:
            add_distances(together[:size], halves[part], halves[part + 1], partial[part], found)

        halves = 0, int(self.n_rows * (1.0 - np.sqrt(0.5))), self.n_rows  # as many pairs in one as in the other
        for start in range(0, features.size, PARTS * BLOCK):
            self.in_parts(PARTS, bound(fill, start))
            size = -(-min(PARTS * BLOCK, features.size - start) // TILE) * TILE
            self.in_parts(PARTS, bound(add, size))
        return found

    def over_blocks(self, features: NDArray[np.int64], work: Callable[[int, NDArray[np.float32], int], None]) -> None:
        """Call ``work`` with where every block begins, its scaled lines, and how many of them hold features."""

        def go(first: int, last: int, part: int) -> None:
            block = np.zeros((BLOCK, self.width), np.float32)
            for start in range(first, last, BLOCK):
                chosen = features[start : min(last, start + BLOCK)]
                self.scaled(chosen, part, block)
                work(start, block, chosen.size)

        self.in_parts(features.size, go)

    def pair_matrix(self) -> NDArray[np.float32]:
        """Zeros for all pairs, with lines enough for the kernels."""
        return np.zeros((self.lines, self.width), np.float32)


def require_rounds(tol: Any, most: Any) -> None:
    """When rounds end: ``tol`` and ``max_iter``."""
    require(is_number(tol) and tol >= 0, "tol", tol, "a number of 0 or more")
    require(is_integer(most) and most >= 1, "max_iter", most, "an integer of 1 or more")


def require_sigma(value: Any) -> None:
    """``sigma`` is a width or "auto"."""
    require(value == "auto" or (is_number(value) and value > 0), "sigma", value, "a number above 0, or 'auto'")
