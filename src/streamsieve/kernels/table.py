"""An id -> position table for feature ids too large or too sparse for an array of their own.

Positions are given out in the order of first sight: 0, 1, 2, ... ``ids[position]`` is the id back
again, ``table`` an open-addressing hash table (size a power of two, linear probing) of positions +
1, 0 where free.
"""

from __future__ import annotations

from .jit import kernel
from .types import I32, I64, Ints

LOW_BITS = 2**31 - 1
MIX_LOW = 0x9E3779B1
MIX_HIGH = 0x7FEB352D


@kernel
def all_below(indices: Ints, limit: int) -> bool:
    """Whether every id is from 0 to below ``limit``."""
    lowest, highest = 0, -1
    for i in range(indices.size):
        lowest = min(lowest, indices[i])
        highest = max(highest, indices[i])
    return lowest >= 0 and highest < limit


@kernel
def home(feature: int, mask: int) -> int:
    """Where the search for an id starts. Products of 31 and 32 bits stay inside an int64."""
    mixed = ((feature & LOW_BITS) * MIX_LOW) ^ ((feature >> 31) * MIX_HIGH)
    return (mixed ^ (mixed >> 32)) & mask


@kernel
def probe(table: I32, ids: I64, feature: int) -> int:
    """The entry of ``table`` that holds ``feature``, or the free one where it belongs."""
    mask = table.size - 1
    entry = home(feature, mask)
    while table[entry] and ids[table[entry] - 1] != feature:
        entry = (entry + 1) & mask
    return entry


@kernel
def find_positions(table: I32, ids: I64, indices: Ints, positions: I32) -> None:
    """The position of every id, -1 for one that has none."""
    for i in range(indices.size):
        positions[i] = table[probe(table, ids, int(indices[i]))] - 1


@kernel
def add_positions(
    table: I32, ids: I64, used: int, limit: int, indices: Ints, positions: I32, start: int
) -> tuple[int, int]:
    """Find positions from ``start`` on and give new ones to new ids, until ``limit`` positions are in use.

    Back: the number in use, and how far it came in ``indices``.
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
    """Take an id out of the table; entries after it that a search would no longer find move up."""
    mask = table.size - 1
    free = probe(table, ids, feature)
    table[free] = 0
    entry = (free + 1) & mask
    while table[entry]:
        start = home(ids[table[entry] - 1], mask)
        if (entry - start) & mask >= (entry - free) & mask:  # its search passes the free entry
            table[free], table[entry] = table[entry], 0
            free = entry
        entry = (entry + 1) & mask
