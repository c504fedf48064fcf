"""The kept features of a state, in a heap whose root is the one to leave next.

For keys that rise and fall, or that only grow: then the heap has lower bounds of them, which are
brought up to date when an outsider is compared with the root. A state that uses this has, per slot:
``member`` (position of the feature), ``member_id``, ``key``, ``heap_position`` (where the slot is
in ``heap``); the slots in heap order, ``heap``; and ``counts[KEPT]``. Of equal keys the highest id
goes first, so ties never depend on the heap's shape.

The functions take the arrays one by one: for a state as a whole Numba would count references at
every call.
"""

from __future__ import annotations

from ..arrays import NO_ID, array
from ..jit import inlined, kernel
from ..types import F64, I32, I64, Floats

KEPT, MISTAKES, UPDATES = 0, 1, 2  # entries of ``counts``
NO_SLOT = -1

# Arrays that states declare alike.
MEMBER = array("budget", low=0, below=NO_ID, positions=True)
MEMBER_ID = array("budget", low=0, below=NO_ID)
SLOT_NUMBERS = array("budget", low=0, below="budget")
COUNTS = array(3, low=0)


@inlined
def goes_first(key_a: float, id_a: int, key_b: float, id_b: int) -> bool:
    """Return True if member a leaves before member b."""
    return key_a < key_b or (key_a == key_b and id_a > id_b)


@inlined
def before(key: F64, member_id: I64, slot_a: int, slot_b: int) -> bool:
    """Whether slot a leaves before slot b."""
    return goes_first(key[slot_a], member_id[slot_a], key[slot_b], member_id[slot_b])


@kernel
def update_heap(
    heap: I32, heap_position: I32, key: F64, member_id: I64, size: int, slot: int
) -> None:
    """Move a slot whose key has changed to where it belongs."""
    at = int(heap_position[slot])
    while at > 0 and before(key, member_id, slot, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        heap_position[heap[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before(key, member_id, heap[child + 1], heap[child]):
            child += 1
        if not before(key, member_id, heap[child], slot):
            break
        heap[at] = heap[child]
        heap_position[heap[at]] = at
        at = child
    heap[at] = slot
    heap_position[slot] = at


@inlined
def slot_for(heap: I32, key: F64, kept: int, value: float) -> int:
    """The slot an outsider of key ``value`` would get: a free one, or the root's if its key is smaller; or NO_SLOT."""
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
    """``slot_for``, where ``key`` are lower bounds of the keys that members have now, ``current``.

    Bounds are brought up to date until that of the root is, or is too large for the outsider.
    """
    slot = slot_for(heap, key, kept, value)
    while (
        slot != NO_SLOT and slot < kept and key[slot] < current[slot]
    ):  # what is not a number ends it, too
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
    """Give a slot from ``slot_for`` to the feature at ``position``, with key ``value``; ``ids`` as for the update."""
    if slot == counts[KEPT]:
        counts[KEPT] = slot + 1
        heap_position[slot] = slot
    member[slot] = position
    if (
        ids.size
    ):  # not in one expression: of an index without a sign and an id Numba would make a float
        member_id[slot] = ids[position]
    else:
        member_id[slot] = position
    key[slot] = value
    update_heap(heap, heap_position, key, member_id, counts[KEPT], slot)


@kernel
def rebuild_heap(heap: I32, heap_position: I32, key: F64, member_id: I64, size: int) -> None:
    """Bring a heap in order of which any key may have changed."""
    for at in range(size):
        heap_position[heap[at]] = at
        update_heap(heap, heap_position, key, member_id, at + 1, heap[at])
