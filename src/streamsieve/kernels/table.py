"""An id -> position table for feature ids too large or too sparse for an array of their own.

Ids get the positions 0, 1, 2, ... in the order in which they first appear. ``ids[position]`` is the
id at a position. ``table`` is an open-addressing hash table (its size a power of two, linear
probing) of positions + 1, 0 where free.
"""

from __future__ import annotations

from .jit import kernel
from .types import I32, I64, Ints

LOW_BITS = 2**31 - 1
MIX_LOW = 0x9E3779B1
MIX_HIGH = 0x7FEB352D


@kernel
def all_below(indices: Ints, limit: int) -> bool:
    """Return True if every id is at least 0 and below ``limit``."""
    lowest, highest = 0, -1
    for i in range(indices.size):
        lowest = min(lowest, indices[i])
        highest = max(highest, indices[i])
    return lowest >= 0 and highest < limit


@kernel
def home_of(feature: int, mask: int) -> int:
    """Return the entry where the search for an id starts.

    Products of 31 and 32 bits fit an int64.
    """
    bits = ((feature & LOW_BITS) * MIX_LOW) ^ ((feature >> 31) * MIX_HIGH)
    return (bits ^ (bits >> 32)) & mask


@kernel
def probe(table: I32, ids: I64, feature: int) -> int:
    """Return the entry of ``table`` that holds ``feature``, or the free one where it belongs."""
    mask = table.size - 1
    entry = home_of(feature, mask)
    while table[entry] and ids[table[entry] - 1] != feature:
        entry = (entry + 1) & mask
    return entry


@kernel
def find_positions(table: I32, ids: I64, indices: Ints, positions: I32) -> None:
    """Fill in the position of every id, -1 for an id without one."""
    for i in range(indices.size):
        positions[i] = table[probe(table, ids, int(indices[i]))] - 1


@kernel
def add_positions(
    table: I32, ids: I64, used: int, limit: int, indices: Ints, positions: I32, start: int
) -> tuple[int, int]:
    """Fill in the positions of ids from ``start`` on, with new positions for new ids.

    Stops when ``limit`` positions are in use and another is needed.

    Back     the number of positions in use, and the index in ``indices`` where it stopped.
    """
    for i in range(start, indices.size):
        feature = int(indices[i])
        entry = probe(table, ids, feature)
        if not table[entry]:
            if used == limit:
                return used, i
            ids[used] = feature
            used += 1
            table[entry] = used
        positions[i] = table[entry] - 1
    return used, indices.size


@kernel
def fill_table(table: I32, ids: I64, used: int) -> None:
    """Enter the first ``used`` ids into an empty table."""
    for position in range(used):
        table[probe(table, ids, ids[position])] = position + 1


@kernel
def remove(table: I32, ids: I64, feature: int) -> None:
    """Remove an id from the table; move up entries after it that a search would no longer reach."""
    mask = table.size - 1
    free = probe(table, ids, feature)
    table[free] = 0
    entry = (free + 1) & mask
    while table[entry]:
        start = home_of(ids[table[entry] - 1], mask)
        if (entry - start) & mask >= (entry - free) & mask:  # its search passes the free entry
            table[free], table[entry] = table[entry], 0
            free = entry
        entry = (entry + 1) & mask
