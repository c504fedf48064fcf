"""All columns of a matrix in memory, standardised: what batch fits multiply."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import prefix
from ...kernels.columns.slots import ALIKE, USED, Slots, hold_columns, measure_columns
from ...kernels.matrix.pairs import LARGEST
from ...machine import refuse_beyond_memory
from ...parallel import Threads, cut
from ...state import empty
from ..columns.slots import HeldColumns, keep
from .data import Matrix

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

WORTH_A_PART = 1 << 14  # values: less work is not shared out
BYTES_PER_VALUE = 24  # a row number and a number in double precision, while blocks are made of them
NEAR = 1e-9  # products with a random vector that differ by less may be those of equal columns


class StandardizedColumns:
    """The columns of a matrix that vary, in parts that threads share; sparse ones stay sparse.

    Of columns that are the same but for their scale, the first stays.
    """

    def __init__(self, matrix: Matrix, threads: Threads) -> None:
        self.matrix, self.threads, self.n_rows = matrix, threads, matrix.n_rows
        what = f"{prefix(matrix.origin)}the standardised columns"
        refuse_beyond_memory(BYTES_PER_VALUE * matrix.n_stored, what, "take fewer rows or features")
        cuts = cut(matrix.n_columns, -(-WORTH_A_PART // matrix.n_rows))
        held = threads.each(len(cuts) - 1, lambda part: self._hold(cuts[part], cuts[part + 1]))
        self.n_nonzero = sum(n_nonzero for _, n_nonzero in held)
        self._set_parts([slots for slots, _ in held])
        self._drop_twins()

    def _hold(self, start: int, stop: int) -> tuple[Slots, int]:
        """Some columns, standardised, and how many of their values are not 0."""
        block = self.matrix.columns(start, stop)
        wrong = np.flatnonzero(~(np.abs(block.values) <= LARGEST))
        if wrong.size:
            at = int(wrong[0])
            column = int(np.searchsorted(block.indptr, at, side="right")) - 1
            raise self.matrix.not_usable(start + column, int(block.indices[at]), float(block.values[at]))
        means, scales = np.empty(block.n_columns), np.empty(block.n_columns)
        room = measure_columns(block.indptr, block.values, self.n_rows, means, scales)
        slots = empty(Slots, slots=int(np.count_nonzero(scales)), room=room)
        hold_columns(slots, block.indptr, block.indices, block.values, block.ids, self.n_rows, means, scales)
        return slots, block.n_nonzero

    def _set_parts(self, slots: list[Slots]) -> None:
        self.parts = [HeldColumns(part, self.n_rows) for part in slots]
        self.starts = np.cumsum([0, *(part.count for part in self.parts)])
        self.ids = np.concatenate([part.ids[: part.ends[USED]] for part in slots])

    def _drop_twins(self) -> None:
        """Drop every column that is the same as one before it, but for its scale.

        Such columns have the same product with a random vector, but for the sign; those that have are compared.
        """
        marks = np.abs(self.products(np.random.default_rng(0).standard_normal(self.n_rows)))
        order = np.argsort(marks, kind="stable")
        starts = np.flatnonzero(np.diff(marks[order], prepend=-1.0) > NEAR)
        stops = np.append(starts[1:], marks.size)[: starts.size]
        stays = np.ones(marks.size, bool)
        for start, stop in zip(starts[stops - starts > 1], stops[stops - starts > 1], strict=True):
            near = np.sort(order[start:stop])
            while near.size > 1:
                first, others = self.dense(near[:1])[0], near[1:]
                products = np.array([abs(self.dense(near[at : at + 1])[0] @ first) for at in range(1, near.size)])
                same = products > ALIKE * self.n_rows
                stays[others[same]] = False
                near = others[~same]
        if not stays.all():
            for part, start in zip(self.parts, self.starts, strict=False):
                keep(part.slots, np.flatnonzero(stays[start : start + part.count]))
            self._set_parts([part.slots for part in self.parts])

    def products(self, vector: F64) -> F64:
        """z'vector / n of every column."""
        found = self.threads.each(len(self.parts), lambda part: self.parts[part].products(vector))
        return np.concatenate(found)

    def combine(self, weights: F64, intercept: float) -> F64:
        """The intercept and all columns times their weights, a score per row."""
        scores = np.full(self.n_rows, intercept)
        for part, start in zip(self.parts, self.starts, strict=False):
            own = weights[start : start + part.count]
            if own.any():
                scores += part.combine(own, 0.0)
        return scores

    def dense(self, columns: I64) -> F64:
        """Some columns, in ascending order, written out, a line each."""
        cuts = np.searchsorted(columns, self.starts)
        lines = [part.dense(columns[cuts[at] : cuts[at + 1]] - self.starts[at]) for at, part in enumerate(self.parts)]
        return np.concatenate(lines)

    def units(self, columns: I64) -> tuple[F64, F64]:
        """The means and the standard deviations of some columns as they came."""
        centres, scales = (
            np.concatenate([getattr(part.slots, name)[: part.count] for part in self.parts])[columns]
            for name in ("centres", "scales")
        )
        return centres, scales
