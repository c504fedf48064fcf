"""The first rows, kept until all that is chosen from them is fixed.

Rows are learned at once. When 1, 2, 4, ... rows have been seen, what is to be chosen (the scales of columns, the centre
of a numeric target) is chosen anew from all of them, and if it is another choice, learning starts again from the first
row. So what is learned depends on the rows alone: not on chunks, or on when somebody looked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...kernels.arrays import ArraySpec
from ...machine import refuse_beyond_memory
from ...state import Arrays
from ..parameters import LARGEST_WEIGHT, ensure

LAST_NONZERO = 1 << 22
CHOICE_BYTES = 40  # of memory for a non-zero while a choice is made, beside those of the row
WARM = "warm."  # before the names of its arrays in a model
N_GENERATORS = 2  # of random numbers: for weights, and for attributes that are asked for


@dataclass(slots=True, eq=False)
class WarmUp:
    """The rows so far, to be learned again; with row ``last_row``, or enough non-zeros, it ends."""

    last_row: int
    random: list[Any]  # the states of both random generators before the first row
    blocks: list[RowBlock]
    answers: list[NDArray[Any]]  # what is learned of each row: the number of its class, or its target
    n_rows: int = 0
    n_nonzero: int = 0

    def stop(self, block: RowBlock, start: int) -> int:
        """Where in a block, of which the rows before ``start`` are here, the next choice is due, or its end."""
        due = 1 << self.n_rows.bit_length()
        full = np.searchsorted(block.indptr, block.indptr[start] + LAST_NONZERO - self.n_nonzero)
        return min(block.n_rows, start + due - self.n_rows, max(int(full), start + 1))

    def add(self, block: RowBlock, answers: NDArray[Any]) -> None:
        begin, end = block.indptr[0], block.indptr[-1]
        weights = np.ones(block.n_rows) if block.sample_weight is None else block.sample_weight.copy()
        entries = block.indices[begin:end].copy(), block.values[begin:end].copy()  # a caller may reuse its arrays
        rows = dict(zip(("indptr", "indices", "values"), (block.indptr - begin, *entries), strict=True))
        self.blocks.append(block.derived(**rows, y=None, sample_weight=weights))
        self.answers.append(answers.copy())
        self.n_rows += block.n_rows
        self.n_nonzero += block.n_nonzero

    @property
    def ended(self) -> bool:
        return self.n_rows >= self.last_row or self.n_nonzero >= LAST_NONZERO

    @property
    def due(self) -> bool:
        """Whether it is time for a choice."""
        return self.ended or self.n_rows & (self.n_rows - 1) == 0

    def swap_classes(self) -> None:
        self.answers = [1 - codes for codes in self.answers]

    def joined(self) -> tuple[RowBlock, NDArray[Any]]:
        """All rows and their answers, if there is memory to choose from them."""
        what = f"the first {self.n_rows:,} rows, from which scales are chosen,"
        refuse_beyond_memory(CHOICE_BYTES * self.n_nonzero, what, "set another normalize, such as 'l2'")
        self.blocks = [RowBlock.joined(self.blocks)]
        self.answers = [np.concatenate(self.answers)]
        return self.blocks[0], self.answers[0]

    # ---- to and from a model

    def header(self) -> dict[str, Any]:
        """Return what a model keeps beside the rows, as JSON."""
        exact = bool(self.n_rows) and self.joined()[0].values.dtype == np.float64
        return {"rows": self.n_rows, "random": self.random, "exact": exact}

    def arrays(self) -> Arrays:
        """Return the rows, with their answers."""
        if not self.n_rows:
            return {}
        block, answers = self.joined()
        return {
            WARM + "indptr": block.indptr,
            WARM + "indices": block.indices.astype(np.int64),
            WARM + "values": block.values,
            WARM + "answers": answers,
            WARM + "weights": np.asarray(block.sample_weight),
        }

    @staticmethod
    def schema(header: dict[str, Any], answers: ArraySpec) -> dict[str, ArraySpec]:
        """Return what the arrays in a model must be."""
        if not header["rows"]:
            return {}
        return {
            WARM + "indptr": ArraySpec(("warm_bounds",), 0, dtype=np.int64),
            WARM + "indices": ArraySpec(("warm_values",), 0, "width", dtype=np.int64),
            WARM + "values": ArraySpec(("warm_values",), dtype=np.float64 if header["exact"] else np.float32),
            WARM + "answers": answers,
            WARM + "weights": ArraySpec(("warm_rows",), 0, np.nextafter(LARGEST_WEIGHT, np.inf), dtype=np.float64),
        }

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: Arrays, fresh: Any, width: int, dense: bool) -> Self:
        """Return the rows of a model, dense or sparse, beside what a fresh one has; the arrays fit the schema."""
        warm_up = cls(fresh.last_row, list(header["random"]), [], [])
        for state in warm_up.random:
            np.random.PCG64().state = state  # refuses what is none
        ensure(len(warm_up.random) == N_GENERATORS, "its random generators are not two")
        if header["rows"]:
            warm_up.add(warm_block(arrays, width, dense), arrays[WARM + "answers"])
        ensure(warm_up.n_rows == header["rows"] and not warm_up.ended, "its first rows are not as many as it says")
        return warm_up


def warm_block(arrays: Arrays, width: int, dense: bool) -> RowBlock:
    """The rows of a warm-up from a model."""
    indptr, indices, values, weights = (arrays[WARM + name] for name in ("indptr", "indices", "values", "weights"))
    whole = indptr.size == weights.size + 1 and indptr[0] == 0 and indptr[-1] == indices.size
    whole = whole and (np.diff(indptr) >= 0).all() and values.all() and weights.all()
    ensure(whole, "its first rows are not rows")
    starts = np.zeros(indices.size + 1, np.bool_)
    starts[indptr] = True
    ensure(not (np.diff(indices) <= 0)[~starts[1:-1]].any(), "ids in its first rows do not ascend")
    block = RowBlock(indptr, indices, values, None, width, dense=dense, sample_weight=weights)
    return block.derived(values=values)  # a block rounds what it is given
