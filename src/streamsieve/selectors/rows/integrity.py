"""What must hold between the arrays of a state beyond their shapes, before a kernel may trust them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.rows.members import KEPT
from ...kernels.rows.scaling import COUNTED, NORMS, ROWS, SQUARES
from ...kernels.rows.storing import BITS_OF_INFINITY
from ..parameters import ensure

LONGEST_ROW = 1e43  # a billion values that are the largest in float32
CHUNK = 1 << 24  # entries looked at in one go: a comparison of a billion would take a billion bytes


def kept_count(counts: NDArray[np.int64], budget: int) -> int:
    """How many slots are taken."""
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
    """Every slot that is taken has a feature of its own, under its own id, and no other feature points at a slot.

    A cell, one per feature, points at slot 0, 1, 2, ... by 1, 2, 3, ... times ``names_of_slots``, which is 1 or -1;
    ``member`` and ``member_id`` are those of the slots that are taken.
    """
    kept = member.size
    ensure(not kept or 0 <= member.min() <= member.max() < cells.size, "a kept feature has no cell")
    mutual = np.array_equal(cells[member], names_of_slots * np.arange(1, kept + 1))
    ensure(mutual, "cells and slots do not point at one another")
    parts = (cells[at : at + CHUNK] for at in range(0, cells.size, CHUNK))
    pointing = sum(np.count_nonzero(part > 0 if names_of_slots > 0 else part < 0) for part in parts)
    ensure(pointing == kept, "a cell points at a slot that is not its own")
    ensure(np.array_equal(member_id, ids[member] if ids.size else member), "kept features have wrong ids")


def check_numbers(cells: NDArray[np.float32], flags: NDArray[np.int32]) -> None:
    """What cells hold, beside the names of slots, are numbers; the first of a cell, in ``flags``, may be infinite."""
    for at in range(0, len(cells), CHUNK):
        part, own = cells[at : at + CHUNK], flags[at : at + CHUNK]
        numbers = (np.isfinite(part[:, 1:]).all(axis=1) | (own < 0)).all() and (own <= BITS_OF_INFINITY).all()
        ensure(numbers, "a cell has what is not a number")


def check_cells(
    cells: NDArray[Any], n_vectors: int, member: NDArray[np.int64], member_id: NDArray[np.int64], width: int
) -> None:
    """Shared cells have precisions above their start, and the slots that are taken have a feature each, by its id."""
    bounds, per_class = cells[:, : -2 * n_vectors], cells[:, -2 * n_vectors :]
    ensure((per_class[:, ::2] >= 0).all() and (bounds >= 0).all(), "a cell has a precision below its start")
    once = np.unique(member_id).size == member_id.size and np.array_equal(member, member_id)
    ensure(once, "a feature is kept twice")
    ensure(member_id.max(initial=0) < max(width, 1), "a kept feature is beyond the width")


def check_heap(key: NDArray[Any], slots: NDArray[np.integer[Any]], member_id: NDArray[np.int64]) -> None:
    """The slots are each there once, none before its parent: the smaller key first, of equal keys the higher id.

    ``key`` are the keys in heap order.
    """
    size = slots.size
    ensure(np.array_equal(np.sort(slots), np.arange(size)), "a slot is not in the heap, or twice")
    parents, children = (np.arange(1, size) - 1) // 2, np.arange(1, size)
    feature = member_id[slots]
    wrong = (key[children] < key[parents]) | ((key[children] == key[parents]) & (feature[children] > feature[parents]))
    ensure(not wrong.any(), "the heap is not in order")


def check_totals(totals: NDArray[np.float64]) -> None:
    """The mean length of rows, and their mean square, can be those of rows of float32."""
    check_mean(totals[NORMS], totals[ROWS], LONGEST_ROW)
    check_mean(totals[SQUARES], totals[COUNTED], LONGEST_ROW**2)


def check_mean(total: float, count: float, most: float) -> None:
    """A mean over rows is no larger than can be."""
    ensure(total <= most * count, "the mean length of its rows is far too large")


def check_positions(heap: NDArray[np.integer[Any]], heap_position: NDArray[np.integer[Any]]) -> None:
    """Every slot knows where in the heap it is."""
    right = np.array_equal(heap_position[heap], np.arange(heap.size))
    ensure(right, "a slot is not where it should be in the heap")
