"""Checks of the arrays of a state beyond their shapes, before a kernel uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.members import KEPT
from ...kernels.rows.scaling import COUNTED, NORMS, ROWS, SQUARES
from ...kernels.rows.storing import BITS_OF_INFINITY
from ..parameters import ensure

MAX_ROW_LENGTH = 1e43  # a billion values that are the largest in float32
CHUNK = 1 << 24  # entries checked at a time: comparing a billion takes a billion bytes


def kept_count(counts: NDArray[np.int64], budget: int) -> int:
    """Return the number of slots in use; raise ValueError if it exceeds the budget."""
    kept = int(counts[KEPT])
    ensure(0 <= kept <= budget, f"{kept:,} features are kept, with a budget of {budget:,}")
    return kept


def check_members(
    cells: NDArray[np.integer[Any]],
    names_of_slots: int,
    member: NDArray[np.int64],
    member_id: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> None:
    """Raise ValueError unless cells and slots refer to one another.

    Every used slot has one feature, by its id, and no other cell points at a slot. A cell, one per
    feature, points at slot 0, 1, 2, ... by 1, 2, 3, ... times ``names_of_slots``, which is 1 or -1;
    ``member`` and ``member_id`` are those of the slots in use.
    """
    kept = member.size
    ensure(not kept or 0 <= member.min() <= member.max() < cells.size, "a kept feature has no cell")
    expected = names_of_slots * np.arange(1, kept + 1)
    ensure(np.array_equal(cells[member], expected), "cells and slots do not point at one another")
    parts = (cells[at : at + CHUNK] for at in range(0, cells.size, CHUNK))
    pointing = sum(np.count_nonzero(part > 0 if names_of_slots > 0 else part < 0) for part in parts)
    ensure(pointing == kept, "a cell points at a slot of another feature")
    ensure(
        np.array_equal(member_id, ids[member] if ids.size else member),
        "kept features have wrong ids",
    )


def check_numbers(cells: NDArray[np.float32], flags: NDArray[np.int32]) -> None:
    """Raise ValueError unless cells hold numbers or name slots.

    The first entry of a cell, in ``flags``, may be infinite.
    """
    for at in range(0, len(cells), CHUNK):
        part, first = cells[at : at + CHUNK], flags[at : at + CHUNK]
        ensure(
            (np.isfinite(part[:, 1:]).all(axis=1) | (first < 0)).all()
            and (first <= BITS_OF_INFINITY).all(),
            "a cell holds a value that is not a number",
        )


def check_cells(
    cells: NDArray[Any],
    n_vectors: int,
    member: NDArray[np.int64],
    member_id: NDArray[np.int64],
    width: int,
) -> None:
    """Raise ValueError unless shared cells and slots are valid.

    Cells must have precisions above their start, and every slot one feature, by its id.
    """
    bounds, per_class = cells[:, : -2 * n_vectors], cells[:, -2 * n_vectors :]
    ensure(
        (per_class[:, ::2] >= 0).all() and (bounds >= 0).all(),
        "a cell has a precision below its start",
    )
    ensure(
        np.unique(member_id).size == member_id.size and np.array_equal(member, member_id),
        "a feature is kept twice",
    )
    ensure(member_id.max(initial=0) < max(width, 1), "a kept feature is beyond the width")


def check_heap(state: Any, kept: int) -> None:
    """Raise ValueError unless the heap has every slot once and in order.

    Slots must know their place in the heap. The smaller key comes first, of equal keys the higher
    id.
    """
    slots = state.heap[:kept]
    ensure(
        np.array_equal(np.sort(slots), np.arange(kept)),
        "a slot is not in the heap, or appears in it twice",
    )
    key, feature = state.key[slots], state.member_id[slots]
    parents, children = (np.arange(1, kept) - 1) // 2, np.arange(1, kept)
    is_wrong = (key[children] < key[parents]) | (
        (key[children] == key[parents]) & (feature[children] > feature[parents])
    )
    ensure(not is_wrong.any(), "the heap is not in order")
    ensure(
        np.array_equal(state.heap_position[slots], np.arange(kept)),
        "a slot is not at its recorded place in the heap",
    )


def check_totals(totals: NDArray[np.float64]) -> None:
    """Raise ValueError unless the mean length of rows, and their mean square, are possible.

    The bounds are those of rows of float32.
    """
    check_mean(totals[NORMS], totals[ROWS], MAX_ROW_LENGTH)
    check_mean(totals[SQUARES], totals[COUNTED], MAX_ROW_LENGTH**2)


def check_mean(total: float, count: float, maximum: float) -> None:
    """Raise ValueError if a mean over rows is larger than the maximum."""
    ensure(total <= maximum * count, "the mean length of its rows is too large")
