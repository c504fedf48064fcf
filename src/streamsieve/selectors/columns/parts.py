"""Columns in parts: blocks of a bounded size, work on threads, and more slots for what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from ...blocks import ColumnBlock, next_cut
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
