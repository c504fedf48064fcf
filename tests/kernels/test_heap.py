"""The heaps of kept features against what a sorted list says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamsieve.kernels.heap import goes_first, push, refresh_root, sift_down
from streamsieve.kernels.rows import confidence, signal
from streamsieve.kernels.rows.members import KEPT, NO_SLOT, insert, rebuild_heap, slot_for, update_heap

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 33]


def first_to_leave(key: Any, member_id: Any, kept: int) -> int:
    """The slot of the smallest key, of equal ones that of the highest id."""
    return min(range(kept), key=lambda slot: (key[slot], -member_id[slot]))


def assert_in_order(keys: Any, ids: Any) -> None:
    """That no entry of a heap, of these keys and ids, leaves before its parent."""
    for at in range(1, len(keys)):
        parent = (at - 1) // 2
        assert (keys[parent], -ids[parent]) < (keys[at], -ids[at])


def test_of_equal_keys_the_highest_id_leaves_first() -> None:
    assert goes_first(1.0, 3, 2.0, 9)
    assert not goes_first(2.0, 9, 1.0, 3)
    assert goes_first(1.0, 9, 1.0, 3)
    assert not goes_first(1.0, 3, 1.0, 9)


def lazy_heap(size: int, seed: int) -> tuple[Any, Any, Any]:
    """A heap of equal and other keys, in arrays that go on after it with what must not be looked at."""
    random = np.random.default_rng(seed)
    heap_key, heap_slot = np.full(2 * size + 2, -1.0, np.float32), np.zeros(2 * size + 2, np.int32)
    member_id = random.permutation(10 * size)[: 2 * size + 2].astype(np.int64)
    for slot in range(size):
        push(heap_key, heap_slot, member_id, slot, float(random.integers(0, 5)), slot)
        assert sorted(heap_slot[: slot + 1].tolist()) == list(range(slot + 1))
        assert_in_order(heap_key[: slot + 1], member_id[heap_slot[: slot + 1]])
    return heap_key, heap_slot, member_id


@pytest.mark.parametrize("size", SIZES)
def test_a_lazy_heap_stays_in_order_whatever_the_root_becomes(size: int) -> None:
    heap_key, heap_slot, member_id = lazy_heap(size, seed=size)
    random = np.random.default_rng(size)
    for new in random.integers(0, 8, 40).tolist():
        heap_key[0] = new
        sift_down(heap_key, heap_slot, member_id, size, 0)
        assert sorted(heap_slot[:size].tolist()) == list(range(size))
        assert_in_order(heap_key[:size], member_id[heap_slot[:size]])
    assert (heap_key[size:] == -1.0).all()


@pytest.mark.parametrize("size", SIZES)
def test_a_refreshed_root_is_the_member_to_leave_next(size: int) -> None:
    for seed in range(10):
        heap_key, heap_slot, member_id = lazy_heap(size, seed)
        current = np.zeros(size, np.float32)
        current[heap_slot[:size]] = heap_key[:size] + np.random.default_rng(seed).integers(0, 4, size)
        refresh_root(heap_key, heap_slot, member_id, size, current)
        assert heap_slot[0] == first_to_leave(current, member_id, size)
        assert heap_key[0] == current[heap_slot[0]]
        assert_in_order(heap_key[:size], member_id[heap_slot[:size]])
        assert (heap_key[:size] <= current[heap_slot[:size]]).all()


def test_a_key_that_is_not_a_number_ends_a_refresh() -> None:
    heap_key, heap_slot, member_id = lazy_heap(3, seed=0)
    refresh_root(heap_key, heap_slot, member_id, 3, np.full(3, np.nan, np.float32))
    assert np.isfinite(heap_key[:3]).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("known", [True, False])
def test_members_come_change_and_go_in_order(size: int, known: bool) -> None:
    """Features are offered, and keys change, at random; ``ids`` are known for the positions, or the same as these."""
    random = np.random.default_rng(size)
    heap, heap_position = np.zeros(size, np.int32), np.zeros(size, np.int32)
    key, member, member_id = np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int64)
    counts = np.zeros(3, np.int64)
    ids = random.permutation(1000).astype(np.int64) if known else np.empty(0, np.int64)
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
            assert member_id[slot] == (ids[position] if known else position)
            assert counts[KEPT] == max(kept, slot + 1)
        kept = int(counts[KEPT])
        changed = int(random.integers(0, kept))
        key[changed] = random.integers(0, 6)
        update_heap(heap, heap_position, key, member_id, kept, changed)
        assert_members_in_order(heap, heap_position, key, member_id, kept)


def assert_members_in_order(heap: Any, heap_position: Any, key: Any, member_id: Any, kept: int) -> None:
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
    """What is too small for a float32 is 0: of keys that differed the highest id leaves first now."""
    heap_key, heap_slot, member_id = lazy_heap(size, seed=size)
    heap_key[:size] *= np.float32(1e-40)
    excess = np.zeros(size, np.float32)
    excess[heap_slot[:size]] = heap_key[:size]
    cells = np.array([0, -1, *np.array([3.0, 1e-44], np.float32).view(np.int32)], np.int32)
    counts, nothing = np.array([size, 0, 0]), np.zeros(size)
    kept = np.zeros(size, np.int64), member_id[:size]
    state = confidence.ConfidenceState(
        cells, *kept, nothing, excess, heap_key[:size], heap_slot[:size], np.zeros((1, 2)), np.ones(1), counts
    )
    confidence.rescale(state, 2.0**-40)
    assert cells[:2].tolist() == [0, -1]
    assert cells.view(np.float32)[2:].tolist() == [3.0 * 2.0**-40, 0.0]
    np.testing.assert_array_equal(state.heap_key, state.excess[state.heap_slot])
    assert sorted(heap_slot[:size].tolist()) == list(range(size))
    assert_in_order(state.heap_key, member_id[state.heap_slot])


@pytest.mark.parametrize("size", SIZES)
def test_forgetting_leaves_members_of_keys_that_rise_and_fall_in_order(size: int) -> None:
    random = np.random.default_rng(size)
    key, member_id = random.integers(1, 5, size) * 1e-320, random.permutation(size)
    heap, heap_position = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    rebuild_heap(heap, heap_position, key, member_id, size)
    cells = np.array([[0.0, 5.0], [2.0, 5.0], [0.0, 5.0]], np.float32)
    cells.view(np.int32)[2, 0] = -1
    excess, fresh = np.full(size, 4.0, np.float32), np.full(size, 8.0)
    others = np.zeros(size), excess, np.zeros((1, 2)), np.ones(1), np.zeros(1), np.zeros(2), np.array([size, 0, 0])
    state = signal.SignalState(cells, np.zeros(size, np.int64), member_id, key, heap, heap_position, fresh, *others)
    signal.rescale(state, 2.0**-40)
    assert_members_in_order(heap, heap_position, key, member_id, size)
    assert not key.any()
    assert (excess == 2.0**-38).all()
    assert (fresh == 2.0**-37).all()
    assert cells.tolist()[:2] == [[0.0, 5.0], [2.0**-39, 5.0]]
    assert cells.view(np.int32)[2].tolist() == [-1, cells.view(np.int32)[0, 1]]
