"""Keep the features of a state in a heap whose root is the next to leave.

Keys may rise and fall, or only grow; in the second case the heap has lower bounds of them, which
are updated when an outsider is compared with the root. A state that uses this has, per slot:
``member`` (the position of the feature), ``member_id``, ``key`` and ``heap_position`` (where the
slot is in ``heap``); also ``heap``, the slots in heap order, and ``counts[KEPT]``. Of equal keys
the highest id leaves first, so ties never depend on the shape of the heap.

The functions take the arrays one by one: for a whole state Numba would count references at every
call.
"""

from __future__ import annotations

from ..arrays import NO_ID, array
from ..jit import inlined, kernel
from ..types import F64, I32, I64, Floats

KEPT, MISTAKES, UPDATES = 0, 1, 2  # entries of ``counts``
NO_SLOT = -1

# Arrays that several states declare.
MEMBER = array("budget", low=0, below=NO_ID, positions=True)
MEMBER_ID = array("budget", low=0, below=NO_ID)
SLOT_NUMBERS = array("budget", low=0, below="budget")
COUNTS = array(3, low=0)


@inlined
def leaves_before(key: F64, member_id: I64, slot_a: int, slot_b: int) -> bool:
    """Return True if the member in slot a leaves before the member in slot b."""
    return bool(
        key[slot_a] < key[slot_b]
        or (key[slot_a] == key[slot_b] and member_id[slot_a] > member_id[slot_b])
    )


@kernel
def update_heap(
    heap: I32, heap_position: I32, key: F64, member_id: I64, size: int, slot: int
) -> None:
    """Move a slot whose key has changed to its place in the heap."""
    at = int(heap_position[slot])
    while at > 0 and leaves_before(key, member_id, slot, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        heap_position[heap[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and leaves_before(key, member_id, heap[child + 1], heap[child]):
            child += 1
        if not leaves_before(key, member_id, heap[child], slot):
            break
        heap[at] = heap[child]
        heap_position[heap[at]] = at
        at = child
    heap[at] = slot
    heap_position[slot] = at


@inlined
def slot_for(heap: I32, key: F64, kept: int, value: float) -> int:
    """Return the slot for an outsider of key ``value``: free, a smaller root's, or NO_SLOT."""
    if kept < key.size:
        return int(kept)
    root = heap[0]
    return int(root) if value > key[root] else NO_SLOT


@kernel
def slot_by_bounds(
    heap: I32,
    heap_position: I32,
    key: F64,
    member_id: I64,
    kept: int,
    current: Floats,
    value: float,
) -> int:
    """Return the slot for an outsider where ``key`` has lower bounds of the ``current`` keys.

    Bounds are updated until the root's is exact, or is too large for the outsider.
    """
    slot = slot_for(heap, key, kept, value)
    # a NaN ends the loop, too
    while slot != NO_SLOT and slot < kept and key[slot] < current[slot]:
        key[slot] = current[slot]
        update_heap(heap, heap_position, key, member_id, kept, slot)
        slot = slot_for(heap, key, kept, value)
    return slot


@kernel
def insert(
    heap: I32,
    heap_position: I32,
    key: F64,
    member: I64,
    member_id: I64,
    counts: I64,
    slot: int,
    position: int,
    ids: I64,
    value: float,
) -> None:
    """Give a slot from ``slot_for`` to the feature at ``position``, with key ``value``.

    ``ids`` is as in ``confidence_update``.
    """
    if slot == counts[KEPT]:
        counts[KEPT] = slot + 1
        heap_position[slot] = slot
    member[slot] = position
    # not a conditional expression: of an unsigned index and an id Numba would make a float
    if ids.size:
        member_id[slot] = ids[position]
    else:
        member_id[slot] = position
    key[slot] = value
    update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)


@kernel
def rebuild_heap(heap: I32, heap_position: I32, key: F64, member_id: I64, size: int) -> None:
    """Restore the order of a heap in which any key may have changed."""
    for at in range(size):
        heap_position[heap[at]] = at
        update_heap(heap, heap_position, key, member_id, at + 1, heap[at])
