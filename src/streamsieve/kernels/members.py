"""The kept features of a state, in a heap whose root is the one to lose its place next.

For keys that rise and fall. A state that uses this has, per slot: ``member`` (position of the feature),
``member_id``, ``key``, ``place`` (where the slot stands in ``heap``); the slots in heap order, ``heap``; and
``counts[KEPT]``. Of equal keys the highest id goes first, so ties never depend on the heap's shape.
"""

from __future__ import annotations

from typing import Any

from .heap import goes_first
from .jit import kernel

Array = Any

KEPT, MISTAKES, UPDATES = 0, 1, 2  # entries of ``counts``
NO_SLOT = -1


@kernel
def before(state: Any, slot_a: int, slot_b: int) -> bool:
    """Whether slot a loses its place before slot b."""
    return goes_first(state.key[slot_a], state.member_id[slot_a], state.key[slot_b], state.member_id[slot_b])


@kernel
def settle(state: Any, slot: int) -> None:
    """Put a slot whose key has changed where it belongs."""
    heap, place, size = state.heap, state.place, state.counts[KEPT]
    at = place[slot]
    while at > 0 and before(state, slot, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        place[heap[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before(state, heap[child + 1], heap[child]):
            child += 1
        if not before(state, heap[child], slot):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = slot
    place[slot] = at


@kernel
def slot_for(state: Any, key: float) -> int:
    """The slot an outsider with this key would get: a free one, or the root's if its key is larger; else NO_SLOT."""
    kept = state.counts[KEPT]
    if kept < state.key.size:
        return int(kept)
    root = state.heap[0]
    return int(root) if key > state.key[root] else NO_SLOT


@kernel
def seat(state: Any, ids: Array, slot: int, position: int, key: float) -> None:
    """Give a slot from ``slot_for`` to the feature at ``position``; ``ids`` as in ``kernels.arow``."""
    if slot == state.counts[KEPT]:
        state.counts[KEPT] = slot + 1
        state.place[slot] = slot
    state.member[slot] = position
    state.member_id[slot] = ids[position] if ids.size else position
    state.key[slot] = key
    settle(state, slot)
