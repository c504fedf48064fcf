"""Positions of features in the arrays that have one entry per feature.

There are two plans. **Direct**: the position is the id; an array of zeros takes memory only where
it is touched. **Table**: ids too large or too sparse for that get positions in the order of their
appearance, from a hash table in front of the same kernels. Both give the same results, so a run
moves from one to the other as its ids require.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ...kernels.table import add_positions, fill_table, find_positions
from ...machine import available_memory, more_memory, size_text
from ...state import T, changed, names_of_positions

ALWAYS_DIRECT = 1 << 26  # features: 256 MB per four-byte array if all are touched
DIRECT_PER_FEATURE = 96  # entries of a direct array that a touched feature may cost
# Of the memory available or held by such arrays already, for arrays as wide as the ids.
FRACTION_OF_MEMORY = 0.8


class Addresses(NamedTuple):
    """The positions of features: ``table`` and ``ids`` as in ``kernels.table``.

    Both are empty under the direct plan. ``used`` positions have been given out.
    """

    table: NDArray[np.int32]
    ids: NDArray[np.int64]
    used: int

    @property
    def direct(self) -> bool:
        """Return True under the direct plan."""
        return not self.table.size

    def ids_of(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of the features at some positions."""
        return positions if self.direct else self.ids[positions]


def direct_addresses(width: int = 0) -> Addresses:
    """Return addresses under the direct plan."""
    return Addresses(np.empty(0, np.int32), np.empty(0, np.int64), width)


def table_addresses(ids: NDArray[np.int64], room: int = 0) -> Addresses:
    """Return a table of these ids, in positions 0, 1, 2, ..., with room for at least ``room``.

    A position has between 1.5 slots (the table is full) and 3 slots (it has just grown).
    """
    room = max(room, ids.size, 8)
    size = 1 << (room + room // 2).bit_length()
    padded_ids = np.zeros(size * 2 // 3, np.int64)
    padded_ids[: ids.size] = ids
    table = np.zeros(size, np.int32)
    fill_table(table, padded_ids, ids.size)
    return Addresses(table, padded_ids, ids.size)


def direct_fits(
    width: int, touched: int, bytes_per_feature: int, declared: bool, held: int
) -> bool:
    """Return True if arrays as wide as the ids use memory well and fit into it.

    A declared width is accepted as it is; a width found in the data must be in proportion to the
    number of features touched so far. ``held`` bytes have been written already: memory never
    written takes none.
    """
    if not declared and width > max(ALWAYS_DIRECT, DIRECT_PER_FEATURE * touched):
        return False
    return width * bytes_per_feature <= FRACTION_OF_MEMORY * (available_memory() + held)


def look_up(addresses: Addresses, indices: NDArray[Any]) -> NDArray[Any]:
    """Return the positions of feature ids, -1 for ids that are not in the table."""
    if addresses.direct:
        return indices
    positions = np.empty(indices.size, np.int32)
    find_positions(addresses.table, addresses.ids, indices, positions)
    return positions


def move_members(state: T, old: Addresses, new: Addresses) -> T:
    """Return a state with the positions of its kept features in other addresses.

    Slots without a feature get position 0.
    """
    positions = {
        name: look_up(new, old.ids_of(getattr(state, name))).clip(0).astype(np.int64)
        for name in names_of_positions(type(state))
    }
    return changed(state, **positions)


def look_up_or_add(
    addresses: Addresses, indices: NDArray[Any], width: int
) -> tuple[Addresses, NDArray[Any]]:
    """Return the positions of feature ids below ``width``, adding new ids as needed."""
    if addresses.direct:
        return addresses._replace(used=max(addresses.used, width)), indices
    positions = np.empty(indices.size, np.int32)
    done = 0
    while True:
        table, ids, used = addresses
        used, done = add_positions(table, ids, used, ids.size, indices, positions, done)
        addresses = Addresses(table, ids, used)
        if done == indices.size:
            return addresses, positions
        check_memory(2 * (table.nbytes + ids.nbytes), used)
        addresses = table_addresses(ids[:used], 2 * used)


def check_memory(needed: int, features: int) -> None:
    """Raise DataError if an allocation does not fit into the available memory."""
    available = available_memory()
    if needed > available:
        raise DataError(
            f"{features:,} different features need {size_text(needed)} more memory, and"
            f" {size_text(available)} are available; hash the features to fewer, set max_cells"
            f" (sofs), or {more_memory(needed)}"
        )
