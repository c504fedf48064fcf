"""A lazy min-heap over the kept features, for keys that only grow.

The heap holds (key, slot) pairs; ``member_id[slot]`` is the feature. Its root is the member to leave next: the
smallest key, and among equal keys the highest feature id, so ties never depend on the
heap's shape. A key in the heap may be older than the member's present key, which makes it a lower bound;
``refresh_root`` brings the root up to date, and with it everything a comparison needs.
"""

from __future__ import annotations

from .jit import inlined, kernel
from .types import F32, I32, I64


@inlined
def goes_first(key_a: float, id_a: int, key_b: float, id_b: int) -> bool:
    """Whether member a leaves before member b."""
    return key_a < key_b or (key_a == key_b and id_a > id_b)


@kernel
def sift_down(heap_key: F32, heap_slot: I32, member_id: I64, size: int, position: int) -> None:
    """Move the entry at ``position`` towards the leaves until the heap is in order below it."""
    key, slot = heap_key[position], heap_slot[position]
    feature = member_id[slot]
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        right = child + 1
        if right < size and goes_first(
            heap_key[right], member_id[heap_slot[right]], heap_key[child], member_id[heap_slot[child]]
        ):
            child = right
        if not goes_first(heap_key[child], member_id[heap_slot[child]], key, feature):
            break
        heap_key[position], heap_slot[position] = heap_key[child], heap_slot[child]
        position = child
    heap_key[position], heap_slot[position] = key, slot


@kernel
def push(heap_key: F32, heap_slot: I32, member_id: I64, size: int, key: float, slot: int) -> None:
    """Add an entry at the end of a heap of ``size`` entries and move it towards the root."""
    feature = member_id[slot]
    position = size
    while position > 0:
        parent = (position - 1) // 2
        if not goes_first(key, feature, heap_key[parent], member_id[heap_slot[parent]]):
            break
        heap_key[position], heap_slot[position] = heap_key[parent], heap_slot[parent]
        position = parent
    heap_key[position], heap_slot[position] = key, slot


@kernel
def refresh_root(heap_key: F32, heap_slot: I32, member_id: I64, size: int, current: F32) -> None:
    """Replace the root's key by its member's present key, ``current[slot]``, until the root is up to date."""
    while heap_key[0] < current[heap_slot[0]]:  # what is not a number ends it, too
        heap_key[0] = current[heap_slot[0]]
        sift_down(heap_key, heap_slot, member_id, size, 0)
