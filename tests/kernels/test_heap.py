"""Compare the heaps of kept features with sorted lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamsieve.kernels.rows import confidence, signal
from streamsieve.kernels.rows.members import (
    KEPT,
    NO_SLOT,
    insert,
    leaves_before,
    rebuild_heap,
    slot_by_bounds,
    slot_for,
    update_heap,
)

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 33]


def first_to_leave(key: Any, member_id: Any, kept: int) -> int:
    """Return the slot of the smallest key; of equal keys, that of the highest id."""
    return min(range(kept), key=lambda slot: (key[slot], -member_id[slot]))


def assert_in_order(keys: Any, ids: Any) -> None:
    """Assert that no entry of a heap with these keys and ids leaves before its parent."""
    for child in range(1, len(keys)):
        parent = (child - 1) // 2
        assert (keys[parent], -ids[parent]) < (keys[child], -ids[child])


def test_of_equal_keys_the_highest_id_leaves_first() -> None:
    key, member_id = np.array([1.0, 2.0, 1.0]), np.array([3, 9, 9])
    assert leaves_before(key, member_id, 0, 1)
    assert not leaves_before(key, member_id, 1, 0)
    assert leaves_before(key, member_id, 2, 0)
    assert not leaves_before(key, member_id, 0, 2)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_bounds_are_brought_up_to_date_until_the_root_is_the_member_to_leave_next(
    size: int, kind: Any
) -> None:
    for seed in range(10):
        random = np.random.default_rng(seed)
        heap, heap_position = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
        key, member_id = (
            random.integers(0, 5, size).astype(float),
            random.permutation(10 * size)[:size],
        )
        rebuild_heap(heap, heap_position, key, member_id, size)
        current = (key + random.integers(0, 4, size)).astype(kind)
        leaves = first_to_leave(current, member_id, size)
        for value in (-1.0, *range(9)):
            slot = slot_by_bounds(heap, heap_position, key, member_id, size, current, float(value))
            assert slot == (leaves if value > current[leaves] else NO_SLOT)
            assert_members_in_order(heap, heap_position, key, member_id, size)
            assert (key <= current).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("has_ids", [True, False])
def test_members_come_change_and_go_in_order(size: int, has_ids: bool) -> None:
    """Features are offered, and keys change, at random; ids are given or equal to positions."""
    random = np.random.default_rng(size)
    heap, heap_position = np.zeros(size, np.int32), np.zeros(size, np.int32)
    key, member, member_id = np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int64)
    counts = np.zeros(3, np.int64)
    ids = random.permutation(1000).astype(np.int64) if has_ids else np.empty(0, np.int64)
    for position in range(3 * size):
        value = float(random.integers(0, 6))
        kept = int(counts[KEPT])
        slot = slot_for(heap, key, kept, value)
        if kept < size:
            assert slot == kept
        else:
            root = first_to_leave(key, member_id, size)
            assert slot == (root if value > key[root] else NO_SLOT)
        if slot != NO_SLOT:
            insert(heap, heap_position, key, member, member_id, counts, slot, position, ids, value)
            assert (member[slot], key[slot]) == (position, value)
            assert member_id[slot] == (ids[position] if has_ids else position)
            assert counts[KEPT] == max(kept, slot + 1)
        kept = int(counts[KEPT])
        changed = int(random.integers(0, kept))
        key[changed] = random.integers(0, 6)
        update_heap(heap, heap_position, key, member_id, kept, changed)
        assert_members_in_order(heap, heap_position, key, member_id, kept)


def assert_members_in_order(
    heap: Any, heap_position: Any, key: Any, member_id: Any, kept: int
) -> None:
    assert sorted(heap[:kept].tolist()) == list(range(kept))
    assert heap_position[heap[:kept]].tolist() == list(range(kept))
    assert_in_order(key[heap[:kept]], member_id[heap[:kept]])


@pytest.mark.parametrize("size", SIZES)
def test_a_heap_is_rebuilt_from_any_keys(size: int) -> None:
    random = np.random.default_rng(size)
    heap = np.append(random.permutation(size), [0] * size).astype(np.int32)
    heap_position = np.zeros(size, np.int32)
    key, member_id = random.integers(0, 4, size).astype(float), random.permutation(size)
    rebuild_heap(heap, heap_position, key, member_id, size)
    assert_members_in_order(heap, heap_position, key, member_id, size)


@pytest.mark.parametrize("size", SIZES)
def test_forgetting_leaves_members_in_order_when_their_keys_become_equal(size: int) -> None:
    """Keys too small for float32 become 0, and then the highest id leaves first."""
    random = np.random.default_rng(size)
    excess, member_id = (
        (random.integers(0, 5, size) * 1e-40).astype(np.float32),
        random.permutation(10 * size)[:size],
    )
    heap, heap_position, key = (
        np.arange(size, dtype=np.int32),
        np.zeros(size, np.int32),
        excess.astype(float),
    )
    rebuild_heap(heap, heap_position, key, member_id, size)
    cells = np.array([0, -1, *np.array([3.0, 1e-44], np.float32).view(np.int32)], np.int32)
    heaps, rest = (
        (key, heap, heap_position),
        (np.zeros((1, 2)), np.ones(1), np.array([size, 0, 0])),
    )
    members = np.zeros(size, np.int64), member_id
    state = confidence.ConfidenceState(cells, *members, *heaps, np.zeros(size), excess, *rest)
    confidence.rescale(state, 2.0**-40)
    assert cells[:2].tolist() == [0, -1]
    assert cells.view(np.float32)[2:].tolist() == [3.0 * 2.0**-40, 0.0]
    np.testing.assert_array_equal(key, excess)
    assert_members_in_order(heap, heap_position, key, member_id, size)


@pytest.mark.parametrize("size", SIZES)
def test_forgetting_leaves_members_of_keys_that_rise_and_fall_in_order(size: int) -> None:
    random = np.random.default_rng(size)
    key, member_id = random.integers(1, 5, size) * 1e-320, random.permutation(size)
    heap, heap_position = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    rebuild_heap(heap, heap_position, key, member_id, size)
    cells = np.array([[0.0, 5.0], [2.0, 5.0], [0.0, 5.0]], np.float32)
    cells.view(np.int32)[2, 0] = -1
    excess, current_key = np.full(size, 4.0, np.float32), np.full(size, 8.0)
    rest = (
        np.zeros(size),
        excess,
        np.zeros((1, 2)),
        np.ones(1),
        np.zeros(1),
        np.zeros(2),
        np.array([size, 0, 0]),
    )
    state = signal.SignalState(
        cells, np.zeros(size, np.int64), member_id, key, heap, heap_position, current_key, *rest
    )
    signal.rescale(state, 2.0**-40)
    assert_members_in_order(heap, heap_position, key, member_id, size)
    assert not key.any()
    assert (excess == 2.0**-38).all()
    assert (current_key == 2.0**-37).all()
    assert cells.tolist()[:2] == [[0.0, 5.0], [2.0**-39, 5.0]]
    assert cells.view(np.int32)[2].tolist() == [-1, cells.view(np.int32)[0, 1]]
