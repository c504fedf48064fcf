"""Arrays with an entry per feature, for learners of rows: placed, grown and moved as the ids demand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock
from ...errors import DataError
from ...kernels.table import all_below
from .addresses import (
    Addresses,
    add,
    direct_addresses,
    direct_fits,
    find,
    refuse_beyond_memory,
    table_addresses,
)
from .inputs import Moments

STRETCHED_BYTES = 1 << 26  # an array from this size on grows in place


class PerFeatureStorage:
    """Keeps ``_state`` and ``_moments`` large enough for every feature met.

    ``per_feature`` names the arrays of the state that have one entry per feature, where zero means "never touched";
    ``feature_positions`` those that hold positions in them.
    """

    per_feature: ClassVar[tuple[str, ...]] = ()
    feature_positions: ClassVar[tuple[str, ...]] = ()

    normalize: bool | str
    n_features_in_: int
    _state: Any
    _moments: Moments
    _addresses: Addresses
    _declared_width: int
    _counts: NDArray[np.int64]

    @property
    def _standardizes(self) -> bool:
        return isinstance(self.normalize, str) and self.normalize.startswith("standard")

    def _placed(self, block: RowBlock) -> RowBlock:
        """The block with positions for ids, the state grown to hold them."""
        if not all_below(block.indices, block.n_features):
            raise DataError(f"a block of rows with ids that are not from 0 to below its width, {block.n_features:,}")
        self.n_features_in_ = width = max(self.n_features_in_, block.n_features)
        room = self._room()
        if self._addresses.direct:
            touched = int(self._counts[1])
            if width > room and not self._direct_fits(width, touched):
                self._move_to_table()
        elif self._direct_fits(width, self._addresses.used):
            self._move_to_direct(width)
        self._addresses, positions = add(self._addresses, block.indices, width)
        if self._addresses.direct:
            if width > self._room():
                self._grow(self._roomy(width))
        elif self._addresses.used > self._room():
            self._grow(self._addresses.ids.size)
        return replace(block, indices=positions)

    def _roomy(self, width: int) -> int:
        """Room for a width and for some more to come: what is not touched takes no memory."""
        return width if width <= self._declared_width else width + (width >> 1)

    def _per_feature_arrays(self) -> list[tuple[str, str, NDArray[Any]]]:
        """Holder, name and array of everything with an entry per feature."""
        arrays = [("_state", name, getattr(self._state, name)) for name in self.per_feature]
        if self._standardizes:
            arrays += [("_moments", name, getattr(self._moments, name)) for name in ("first", "second")]
        return arrays

    def _put(self, holder: str, name: str, array: NDArray[Any]) -> None:
        setattr(self, holder, getattr(self, holder)._replace(**{name: array}))

    def _room(self) -> int:
        return min((array.shape[0] for _, _, array in self._per_feature_arrays()), default=0)

    def _bytes_per_feature(self) -> int:
        return sum(array.itemsize * int(np.prod(array.shape[1:])) for _, _, array in self._per_feature_arrays())

    def _held(self) -> int:
        return sum(array.nbytes for _, _, array in self._per_feature_arrays())

    def _direct_fits(self, width: int, touched: int) -> bool:
        return direct_fits(width, touched, self._bytes_per_feature(), width <= self._declared_width, self._held())

    def _grow(self, room: int) -> None:
        """Make the arrays longer. Where a copy would hold too much memory twice, one is stretched in place instead.

        Stretching writes zeros to all that is new, so there it is little at a time.
        """
        if self._held() >= STRETCHED_BYTES:
            room = min(room, self._room() + (self._room() >> 4))
            room = max(room, self.n_features_in_ if self._addresses.direct else self._addresses.used)
        refuse_beyond_memory(room * self._bytes_per_feature() - self._held(), room)
        for holder, name, array in self._per_feature_arrays():
            if array.nbytes >= STRETCHED_BYTES and array.flags.owndata:
                array.resize((room, *array.shape[1:]), refcheck=False)  # no view of it outlives a call
            else:
                grown = np.zeros((room, *array.shape[1:]), array.dtype)
                grown[: array.shape[0]] = array
                self._put(holder, name, grown)

    def _move_to_table(self) -> None:
        """From ids as positions to positions through a table; only touched features move."""
        arrays = [array for _, _, array in self._per_feature_arrays()]
        used = [array if array.ndim == 1 else array.any(axis=1) for array in arrays]
        touched = np.flatnonzero(np.logical_or.reduce(used))
        addresses = table_addresses(touched.astype(np.int64))
        self._move(addresses, touched, np.arange(touched.size), addresses.ids.size)

    def _move_to_direct(self, width: int) -> None:
        """Back to ids as positions, once a table would take more room."""
        used = self._addresses.used
        self._move(direct_addresses(width), np.arange(used), self._addresses.ids[:used], self._roomy(width))

    def _move(self, addresses: Addresses, old: NDArray[np.int64], new: NDArray[np.int64], room: int) -> None:
        """Take the entries at positions ``old`` to positions ``new`` of arrays of size ``room``."""
        for holder, name, array in self._per_feature_arrays():
            moved = np.zeros((room, *array.shape[1:]), array.dtype)
            moved[new] = array[old]
            self._put(holder, name, moved)
        for name in self.feature_positions:
            ids = getattr(self._state, name)
            if not self._addresses.direct:
                ids = self._addresses.ids[ids]
            self._put("_state", name, find(addresses, ids).astype(np.int64))
        self._addresses = addresses
