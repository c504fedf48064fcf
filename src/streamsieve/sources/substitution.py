"""The synthetic data of online substitution (Yang, Fujimaki, Kusumura, Liu 2016, section 5), by rows and by columns.

Every value has a random sequence of its own, given by the seed, its row and its column, so that any part of the matrix
can be made by itself: two million columns of five thousand rows need the memory of a few blocks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from math import log2
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, DenseRows
from ..errors import UsageError
from ..kernels.reading.synthetic import generate_columns, generate_dense_rows, generate_scores
from ..machine import reading_threads
from .columns import BLOCK_VALUES, RangedColumns
from .generated import LARGEST_SEED, DenseGeneratedSource
from .prefetch import ordered_map

SUBSTITUTION = "substitution"
FEATURES, INFORMATIVE = 2000, 100  # the least and the only numbers of the paper
MOST = 2**31 - 1  # rows, and features: every row and every column is full, and numbered by int32

Task = Literal["regression", "classification"]
# The paper says 0.1, but its figures come with a tenth of the signal's variance, which is one per informative feature.
NOISE: dict[Task, float] = {"regression": 3.0, "classification": 0.0}


class SubstitutionSource(DenseGeneratedSource, RangedColumns):
    """Standard normal values; the target is a weighted sum of a few features plus noise, or the sign of that.

    Which features they are (``informative_ids``, ascending) and their standard normal ``hidden_weights`` belong to the
    ``problem`` and the number of features: another ``seed`` gives other rows of the same problem, to test on. ``noise``
    is a standard deviation, 3 for regression and 0 for classification if not given. Without a number of rows there are
    the paper's, 1.2 s log2 p of s informative among p features.
    """

    def __init__(
        self,
        rows: int | None = None,
        features: int | None = None,
        seed: int = 0,
        informative: int = INFORMATIVE,
        noise: float | None = None,
        task: Task = "regression",
        problem: int = 0,
    ) -> None:
        n_features = FEATURES if features is None else features
        n_rows = max(1, round(1.2 * informative * log2(max(1, n_features)))) if rows is None else rows
        super().__init__(SUBSTITUTION, n_rows, n_features, 1, seed)
        self.facts = replace(self.facts, columns_splittable=True, value_type=np.float32)
        self._refuse(n_rows, n_features, informative, noise, task, problem)
        self.task: Task = task
        self.noise = float(NOISE[task] if noise is None else noise)
        random = np.random.default_rng([zlib.crc32(SUBSTITUTION.encode()), problem])
        self.hidden_weights: NDArray[np.float64] = random.standard_normal(informative)
        self.informative_ids: NDArray[np.int64] = np.sort(random.choice(n_features, informative, replace=False))

    def _refuse(self, rows: int, features: int, informative: int, noise: float | None, task: str, problem: int) -> None:
        """Refuse options that make no problem."""
        if not 1 <= informative <= features:
            raise UsageError(
                f"{self.name}: {informative} informative features among {features}; there can be 1 to {features}"
            )
        if max(rows, features) > MOST:
            raise UsageError(f"{self.name}: {rows:,} rows of {features:,} features; ask for {MOST:,} at most of each")
        if task not in get_args(Task):
            raise UsageError(f"{self.name}: task is {' or '.join(get_args(Task))}, not {task!r}")
        if noise is not None and not 0 <= noise < np.inf:
            raise UsageError(f"{self.name}: noise is a standard deviation, 0 or more, not {noise}")
        if not 0 <= problem <= LARGEST_SEED:
            raise UsageError(f"{self.name}: a problem is from 0 to {LARGEST_SEED:,}")

    def _dense(self, start: int, stop: int) -> DenseRows:
        values = np.empty((stop - start, self.n_features or 0), np.float32)
        generate_dense_rows(self.seed, start, values)
        return DenseRows(values, self._targets_of(start, stop))

    def targets(self) -> NDArray[np.float64]:
        return self._targets_of(self._first_row, self._first_row + (self.n_rows or 0))

    def _targets_of(self, start: int, stop: int) -> NDArray[np.float64]:
        """The targets of some rows, for which their informative values alone are made."""
        scores = np.empty(stop - start)
        generate_scores(self.seed, start, self.informative_ids, self.hidden_weights, self.noise, scores)
        return scores if self.task == "regression" else np.where(scores > 0, 1.0, -1.0)

    def columns_between(self, first: int, stop: int) -> Iterator[ColumnBlock]:
        n_rows, at_once = self.n_rows or 0, self._columns_at_once
        row_numbers = np.tile(np.arange(n_rows, dtype=np.int32), at_once)  # the blocks share them
        ends = np.arange(0, row_numbers.size + 1, n_rows, dtype=np.int64)
        for ids, values in self._generated_columns(first, stop):
            indptr, indices = ends[: ids.size + 1], row_numbers[: values.size]
            yield ColumnBlock.trusted(indptr, indices, values.ravel(), ids, n_rows, origin=self.name)

    def dense_columns(self) -> Iterator[NDArray[np.float64]]:
        return (values.T for _, values in self._generated_columns(0, self.n_features or 0))

    @property
    def _columns_at_once(self) -> int:
        return max(1, BLOCK_VALUES // (self.n_rows or 1))

    def _generated_columns(self, first: int, stop: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Ids and values of a range of columns, a line each."""
        n_rows, at_once, threads = self.n_rows or 0, self._columns_at_once, reading_threads()

        def generate(start: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
            ids = np.arange(start, min(start + at_once, stop))
            values = np.empty((ids.size, n_rows))
            generate_columns(self.seed, self._first_row, ids, values)
            return ids, values

        return ordered_map(generate, range(first, stop, at_once), threads, threads + 1)
