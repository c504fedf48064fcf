"""Columns in parts: blocks of a bounded size, work on threads, columns as sums of squares can take them, more slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from ...blocks import ColumnBlock, next_cut
from ...kernels.columns.centring import LARGEST, centre_columns, find_far
from ...kernels.types import F64
from ...machine import refuse_beyond_memory
from ...parallel import cut
from ...parallel import in_parts as on_threads
from ...state import State, grown, names_along

S = TypeVar("S", bound=State)

WORTH_A_PART = 1 << 16  # columns and non-zeros: threads for less work cost more than they save


def pieces(block: ColumnBlock, most_columns: int, most_nonzeros: int) -> Iterator[ColumnBlock]:
    """A block in parts of a bounded size, a column at least in each."""
    start = 0
    while start < block.n_columns:
        stop = next_cut(block.indptr, start, most_columns, most_nonzeros)
        yield block.columns(start, stop)
        start = stop


def in_parts(block: ColumnBlock, work: Callable[[int, int], None]) -> None:
    """Do work on ranges of columns, on threads if there is enough of it; their order does not matter."""
    before = block.indptr + np.arange(block.n_columns + 1)
    on_threads(np.searchsorted(before, cut(int(before[-1]), WORTH_A_PART)).tolist(), work)


def with_more_slots(state: S) -> S:
    """Return the same state with twice the slots."""
    per_slot = [getattr(state, name) for name in names_along(type(state), "slots")]
    needed = 4 * sum(array.nbytes for array in per_slot)  # twice the slots, and a copy at the end of the data
    refuse_beyond_memory(needed, "the kept columns", "be stricter, or keep fewer (n_features_to_select)")
    return grown(state, "slots", 2 * per_slot[0].shape[0])


def centred(block: ColumnBlock) -> F64:
    """The values of a block, columns shifted and in other units where that helps; for what depends on neither."""
    far, values = np.zeros(block.n_columns, bool), block.values
    any_large = max(np.fmax.reduce(values, initial=0.0), -np.fmin.reduce(values, initial=0.0)) > LARGEST
    in_parts(block, lambda a, b: find_far(block.indptr, values, block.n_rows, a, b, any_large, far))
    if not far.any():
        return values
    out = values.copy()
    in_parts(block, lambda a, b: centre_columns(block.indptr, block.n_rows, far, a, b, out))
    out.flags.writeable = False  # as the values of a block are: kernels are compiled for one of the two
    return out
