"""Find and add the levels of text columns: a growing table of different texts, per column.

A level is a text in a column. It has the number of its first appearance. Texts are compared byte by
byte, so that no two of them are confused. Blanks around a text do not count.

Threads may look levels up while another one adds some: an entry of ``slots`` is written last, and a
reader that misses it treats its level as new, which ``add_levels`` finds again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..jit import inlined, kernel
from ..types import I32, I64, U8, U64
from .entries import NO_LEVEL, PRIME

NEW_LEVEL = -2  # the code of a level that is not in the table
MAX_DIGITS = 20  # of a bucket
HALF = np.uint64(32)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
SPACE, FIRST_BLANK, LAST_BLANK, ZERO = ord(" "), ord("\t"), ord("\r"), ord("0")


class LevelTable(NamedTuple):
    """The levels so far, in arrays with room for more.

    ``slots`` is an open-addressing hash table (its size a power of two) of level numbers + 1, 0
    where free. The text of level i is ``letters[ends[i]:ends[i + 1]]``.
    """

    slots: I32
    hashes: U64  # per level
    columns: I32  # per level
    ends: I64  # per level, after a 0
    letters: U8


@inlined
def hash_text(basis: Any, letters: U8, start: int, end: int) -> Any:
    """Return the FNV-1a hash of a text; ``basis`` is the hash of what is before it."""
    bits = basis
    for position in range(start, end):
        bits = (bits ^ np.uint64(letters[position])) * PRIME
    return bits


@inlined
def is_blank(byte: int) -> bool:
    """Return True for a space, a tab or a line end."""
    return byte == SPACE or FIRST_BLANK <= byte <= LAST_BLANK


@kernel
def trim(letters: U8, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a text without the blanks around it."""
    while start < end and is_blank(letters[start]):
        start += 1
    while end > start and is_blank(letters[end - 1]):
        end -= 1
    return start, end


@kernel
def find_slot(table: LevelTable, column: int, bits: Any, letters: U8, start: int, end: int) -> Any:
    """Return the slot of a level, or the free one where it belongs."""
    mask = table.slots.size - 1
    slot = np.int64(((bits ^ (bits >> HALF)) * SPREAD) >> HALF) & mask
    while table.slots[slot]:
        level = table.slots[slot] - 1
        if table.hashes[level] == bits and table.columns[level] == column:
            first = table.ends[level]
            if table.ends[level + 1] - first == end - start:
                at = start
                while at < end and letters[at] == table.letters[first + at - start]:
                    at += 1
                if at == end:
                    return slot
        slot = (slot + 1) & mask
    return slot


@kernel
def write_digits(number: Any, digits: U8) -> int:
    """Write a number as digits; return how many."""
    size = 1
    rest = number // 10
    while rest:
        size, rest = size + 1, rest // 10
    for place in range(size - 1, -1, -1):
        digits[place] = ZERO + number % 10
        number //= 10
    return size


@kernel
def find_levels(
    table: LevelTable,
    column: int,
    basis: Any,
    n_buckets: int,
    letters: U8,
    starts: I64,
    ends: I64,
    codes: I64,
) -> tuple[int, int]:
    """Fill in the number of the level of every text of a column.

    Given    basis: the hash of the name of the column; n_buckets: 0, or the number of buckets if
             the level of a text is the bucket of its hash; letters: texts from ``starts`` to
             ``ends``; an end of -1 is a missing value.
    Back     codes: level numbers, NO_LEVEL or NEW_LEVEL; the number of texts with a new level, and
             of bytes in them.
    """
    n_new = size = 0
    digits = np.empty(MAX_DIGITS, np.uint8)
    for row in range(starts.size):
        if ends[row] < 0:
            codes[row] = NO_LEVEL
            continue
        start, end = trim(letters, starts[row], ends[row])
        bits = hash_text(basis, letters, start, end)
        if n_buckets:
            end = write_digits(np.int64(bits % np.uint64(n_buckets)), digits)
            start, bits = 0, hash_text(basis, digits, 0, end)
            level = table.slots[find_slot(table, column, bits, digits, 0, end)] - 1
        else:
            level = table.slots[find_slot(table, column, bits, letters, start, end)] - 1
        codes[row] = level if level >= 0 else NEW_LEVEL
        if level < 0:
            n_new += 1
            size += end - start
    return n_new, size


@kernel
def copy_new_levels(
    basis: Any,
    n_buckets: int,
    letters: U8,
    starts: I64,
    ends: I64,
    codes: I64,
    rows: I64,
    new_ends: I64,
    new_letters: U8,
) -> None:
    """Copy the texts of new levels that ``find_levels`` has counted, each with its row.

    Back     rows; new_letters, from ``new_ends[i]`` to ``new_ends[i + 1]``; ``new_ends[0]`` is
             given.
    """
    filled = 0
    written = new_ends[0]
    digits = np.empty(MAX_DIGITS, np.uint8)
    for row in range(starts.size):
        if codes[row] != NEW_LEVEL:
            continue
        start, end = trim(letters, starts[row], ends[row])
        text = letters
        if n_buckets:
            bits = hash_text(basis, letters, start, end)
            start, end = 0, write_digits(np.int64(bits % np.uint64(n_buckets)), digits)
        for position in range(start, end):
            new_letters[written] = digits[position] if n_buckets else text[position]
            written += 1
        rows[filled] = row
        filled += 1
        new_ends[filled] = written


@kernel
def add_levels(
    table: LevelTable,
    used: int,
    order: I64,
    columns: I32,
    bases: U64,
    letters: U8,
    ends: I64,
    numbers: I64,
) -> int:
    """Add texts to a table with room for them; those that are in it are found.

    Given    used: the number of levels so far; order: the order in which texts are added; columns:
             the column of every text; bases: the hash of the name of every column.
    Back     numbers: the level of every text; the number of levels.
    """
    for text in order:
        start, end, column = ends[text], ends[text + 1], columns[text]
        bits = hash_text(bases[column], letters, start, end)
        slot = find_slot(table, column, bits, letters, start, end)
        if not table.slots[slot]:
            first = table.ends[used]
            for position in range(start, end):
                table.letters[first + position - start] = letters[position]
            table.hashes[used], table.columns[used] = bits, column
            table.ends[used + 1] = first + end - start
            used += 1
            table.slots[slot] = used
        numbers[text] = table.slots[slot] - 1
    return used


@kernel
def fill_slots(slots: I32, hashes: U64, used: int) -> None:
    """Enter the first ``used`` levels, which all differ, into empty slots."""
    mask = slots.size - 1
    for level in range(used):
        bits = hashes[level]
        slot = np.int64(((bits ^ (bits >> HALF)) * SPREAD) >> HALF) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = level + 1
