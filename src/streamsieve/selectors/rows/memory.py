"""The memory of a learner of rows; its arrays grow and move as the ids of features require.

With ``max_cells`` memory does not grow with the number of different features: kept features are
exact, all others share a table of that many cells (``kernels.rows.storing``). Ids need no positions
then, and where they are hashes of names, only the names of kept features are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from ...blocks import NamedIds, RowBlock
from ...errors import UsageError, spell
from ...kernels.arrays import ArraySpec
from ...kernels.rows.curve import Curve
from ...kernels.types import I64
from ...machine import available_memory, more_memory, size_text
from ...model import NAMED_IDS, NAMES, texts_to_arrays
from ...state import (
    Arrays,
    Schema,
    arrays_of,
    changed,
    check_arrays,
    empty,
    grown,
    moved,
    names_along,
    resized,
    schema_of,
    sizes_of,
    with_arrays,
)
from ..parameters import count_of, ensure
from .addresses import (
    Addresses,
    check_memory,
    direct_addresses,
    direct_fits,
    look_up,
    look_up_or_add,
    move_members,
    table_addresses,
)
from .curves import Check, SmallBudgets
from .inputs import Moments
from .rules import S, check_totals
from .targets import RowTarget
from .warm_up import AutoScaling, WarmUp

STRETCHED_BYTES = 1 << 26  # arrays of at least this size grow in place
TABLE_BYTES = 28  # per feature of a table that has just grown: slots, and room for ids
MAX_ROW_MULTIPLIER = 1 << 20  # the largest multiplier of rows
# Prefixes of the names of arrays in a model.
STATE, MOMENTS, CURVE, TARGET = "state.", "moments.", "curve.", "target."
COMMON: Schema = {
    "ids": ArraySpec(("table",), 0, "width", dtype=np.int64),
    "counts": ArraySpec((2,), 0, dtype=np.int64),
}


@dataclass(slots=True, eq=False)
class RowMemory(Generic[S]):
    """State, moments, target, addresses and counters of a learner.

    In arrays with an entry per feature, zero means "never touched"; moments are such arrays where
    rows are standardised.
    """

    state: S
    positions_are_ids: bool  # True excludes a table
    standardizes: bool
    target: RowTarget
    random: np.random.Generator
    attribute_random: np.random.Generator  # separate: the result must not depend on block sizes
    budget: int
    declared_width: int
    width: int  # of the widest row
    curve: Curve | None = None
    small_budgets: SmallBudgets[S] | None = None
    scaling: AutoScaling | None = None  # of columns, where it is chosen automatically
    warm_up: WarmUp | None = None  # None once it has ended
    moments: Moments = field(default_factory=lambda: empty(Moments, features=0))
    addresses: Addresses = field(default_factory=direct_addresses)
    # Finds kept features by id where features share cells.
    kept_table: NDArray[np.int32] | None = None
    names: dict[int, str] | None = None  # of kept features, where ids are hashes of names
    # Rows, non-zeros.
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    row_multiplier: int = 1  # the multiplier of rows
    warned: bool = False  # True after a warning about rows sorted by class
    exact: bool = True  # False once a row came rounded to float32

    def table_of(self, state: Any) -> NDArray[np.int32] | None:
        """Return the table that finds kept features by id; None if a state needs none.

        Small budgets see few features and need none.
        """
        return self.kept_table if state is self.state else None

    def states(self) -> list[S]:
        """Return the states of the main learner and of its small budgets."""
        return [
            self.state,
            *(small.state for small in (self.small_budgets.members if self.small_budgets else ())),
        ]

    def has_chosen(self, scaling: AutoScaling | None, target: RowTarget) -> bool:
        """Return True if scales and first targets equal those of this memory."""
        same_scales = (
            self.scaling is None or scaling is None or scaling.choice.equals(self.scaling.choice)
        )
        return same_scales and np.array_equal(target.first, self.target.first)

    # ---- room for every feature

    def assign_positions(self, block: RowBlock) -> RowBlock:
        """Return the block with positions for ids, growing the state to hold them."""
        self.width = width = max(self.width, block.n_features)
        if self.kept_table is not None:
            return block
        if self.addresses.direct:
            if width > self.room() and not self._direct_fits(width, int(self.counts[1])):
                self._move_to_table()
        elif self._direct_fits(width, self.addresses.used):
            used, room = self.addresses.used, room_for(width, self.declared_width)
            self._move(direct_addresses(width), np.arange(used), self.addresses.ids[:used], room)
        if self.addresses.direct and width == self.addresses.used <= self.room():
            return block
        self.addresses, positions = look_up_or_add(self.addresses, block.indices, width)
        if self.addresses.direct:
            if width > self.room():
                self.grow(room_for(width, self.declared_width))
        elif self.addresses.used > self.room():
            self.grow(self.addresses.ids.size)
        return block.with_entries(block.indptr, positions, block.values, block.n_features)

    def reuse_arrays(self, old: RowMemory[S], touched: NDArray[Any]) -> None:
        """Take over the arrays of a memory under the direct plan, clearing the touched features.

        Arrays as wide as a billion ids are expensive to get from the system a second time.
        """
        for holder, name, array in old.per_feature_arrays():
            array[touched if touched.size < array.shape[0] else slice(None)] = 0
            self._set_array(holder, name, array)
        self.addresses, self.width = old.addresses, old.width

    def keep_known_features(self, block: RowBlock) -> RowBlock:
        """Return the block with positions for ids, without features never seen."""
        positions = look_up(self.addresses, block.indices)
        is_known = (positions >= 0) & (positions < self.room())
        if not is_known.all():
            indptr = np.concatenate([[0], np.cumsum(is_known)])[block.indptr]
            return block.derived(
                indptr=indptr, indices=positions[is_known], values=block.values[is_known]
            )
        return block.derived(indices=positions)

    def room(self) -> int:
        """Return the number of features that the arrays can hold."""
        return min((array.shape[0] for _, _, array in self.per_feature_arrays()), default=0)

    def grow(self, room: int) -> None:
        """Make the arrays longer; extend large ones in place, where a copy would double the memory.

        Extending writes zeros to everything new, so large arrays grow by small amounts.
        """
        held = sum(array.nbytes for _, _, array in self.per_feature_arrays())
        if held >= STRETCHED_BYTES:
            room = min(room, self.room() + (self.room() >> 4))
            room = max(room, self.width if self.addresses.direct else self.addresses.used)
        check_memory(room * bytes_per_feature(self) - held, room)
        for holder, name in [(holder, name) for holder, name, _ in self.per_feature_arrays()]:
            self._lengthen(holder, name, room)

    def _lengthen(self, holder: str, name: str, room: int) -> None:
        """Make one array longer, in place if it is large and not shared, as with a model."""
        array = getattr(getattr(self, holder), name)
        shape = (room, *array.shape[1:])
        if array.nbytes >= STRETCHED_BYTES and array.flags.owndata:
            # Resizing needs the only reference, so the state must not hold the array.
            self._set_array(holder, name, array[:0].copy())
            try:
                array.resize(shape)
            except ValueError:
                pass  # a model holds it
            finally:
                self._set_array(holder, name, array)
            if array.shape == shape:
                return
        longer = np.zeros(shape, array.dtype)
        longer[: array.shape[0]] = array
        self._set_array(holder, name, longer)

    def per_feature_arrays(self) -> list[tuple[str, str, NDArray[Any]]]:
        """Return all arrays with an entry per feature: the attribute, the name in it, the array."""
        holders = {"state": self.kept_table is None, "moments": self.standardizes}
        return [
            (holder, name, getattr(getattr(self, holder), name))
            for holder, has_entries in holders.items()
            if has_entries
            for name in names_along(type(getattr(self, holder)), "features")
        ]

    def _set_array(self, holder: str, name: str, array: NDArray[Any]) -> None:
        """Replace one array of the state or of the moments."""
        setattr(self, holder, changed(getattr(self, holder), **{name: array}))

    def _direct_fits(self, width: int, touched: int) -> bool:
        """Return True if arrays as wide as the ids are allowed and fit into memory."""
        return self.positions_are_ids or direct_fits(
            width,
            touched,
            bytes_per_feature(self),
            width <= self.declared_width,
            bytes_written(self),
        )

    def _move_to_table(self) -> None:
        """Change from the direct plan to a table; only touched features move."""
        used = [
            array if array.ndim == 1 else array.any(axis=1)
            for _, _, array in self.per_feature_arrays()
        ]
        touched = np.flatnonzero(np.logical_or.reduce(used))
        check_memory(touched.size * (TABLE_BYTES + 2 * bytes_per_feature(self)), touched.size)
        addresses = table_addresses(touched.astype(np.int64))
        self._move(addresses, touched, np.arange(touched.size), addresses.ids.size)

    def _move(
        self,
        addresses: Addresses,
        old_positions: NDArray[np.int64],
        new_positions: NDArray[np.int64],
        room: int,
    ) -> None:
        """Move the entries at old positions to new positions of arrays of size ``room``."""
        state = moved(self.state, old_positions, new_positions, room)
        self.state = move_members(state, self.addresses, addresses)
        if self.standardizes:
            self.moments = moved(self.moments, old_positions, new_positions, room)
        self.addresses = addresses

    # ---- to and from a model

    def header(self) -> dict[str, Any]:
        """Return what a model stores beside the arrays, as JSON."""
        return {
            **self.target.header(),
            "declared_width": self.declared_width,
            "budget": self.budget,
            "used": self.addresses.used,
            "warned": self.warned,
            "exact": self.exact,
            "times": self.row_multiplier,
            "random": self.random_states(),
            "warm_up": None if self.warm_up is None else self.warm_up.header(),
        }

    def random_states(self) -> list[Any]:
        """Return the states of both random generators."""
        return [self.random.bit_generator.state, self.attribute_random.bit_generator.state]

    def set_random_states(self, states: list[Any]) -> None:
        """Set the states of both random generators."""
        self.random.bit_generator.state, self.attribute_random.bit_generator.state = states

    def arrays(self) -> Arrays:
        """Return all arrays by name.

        Those with an entry per feature end with the last position in use.
        """
        used = self.addresses.used
        arrays = {
            **arrays_of(self.target.state(), TARGET),
            "ids": self.addresses.ids[:used],
            "counts": self.counts,
        }
        states: dict[str, Any] = {STATE: self.state, MOMENTS: self.moments, CURVE: self.curve}
        for prefix, state in states.items():
            arrays |= {} if state is None else arrays_of(state, prefix, features=used)
        for part in (self.scaling, self.warm_up, self.small_budgets):
            arrays |= {} if part is None else part.arrays()
        if self.names is not None:
            arrays |= {
                NAMED_IDS: np.array(list(self.names), np.int64),
                **texts_to_arrays(NAMES, self.names.values()),
            }
        return arrays

    def schema(self, header: dict[str, Any]) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays of a model with a header, except names."""
        schema = schema_of(self.moments, MOMENTS)
        schema = {name: resized(spec, {"features": "moments"}) for name, spec in schema.items()}
        schema |= {
            **COMMON,
            **schema_of(self.state, STATE),
            **schema_of(self.target.state(), TARGET),
        }
        if self.curve is not None:
            schema |= schema_of(self.curve, CURVE)
        if header["warm_up"] is not None:
            schema |= WarmUp.schema(header["warm_up"], self.target.answers)
        for part in (self.scaling, self.small_budgets):
            schema |= {} if part is None else part.schema()
        return schema

    def restore(self, header: dict[str, Any], arrays: Arrays, check: Check[S]) -> None:
        """Restore ``header`` and ``arrays``; the state must pass the check."""
        ids, used = arrays["ids"], count_of(header, "used")
        sizes = {
            **sizes_of(self.state),
            **sizes_of(self.target.state()),
            "budget": self.budget,
            "width": self.width,
        }
        sizes |= {
            "features": used,
            "moments": used if self.standardizes else 0,
            "table": used if ids.size else 0,
        }
        sizes = check_arrays(
            arrays, self.schema(header), {**sizes, "vectors": self.target.n_vectors}
        )
        self.state = with_arrays(self.state, arrays, STATE)
        self.moments = with_arrays(self.moments, arrays, MOMENTS)
        check_totals(self.moments.totals)
        is_dense = self.moments.dense[0] == 1  # dense rows have all features
        ensure(
            not (self.standardizes and is_dense) or used == self.width,
            f"dense rows of {self.width:,} features, and arrays of {used:,}",
        )
        self.target.restore(with_arrays(self.target.state(), arrays, TARGET))
        if self.scaling is not None:
            self.scaling = self.scaling.load_arrays(arrays)
        if header["warm_up"] is None:
            self.warm_up = None
        else:
            ensure(self.warm_up is not None, "it has first rows, which its parameters do not use")
            self.warm_up = WarmUp.from_model(
                header["warm_up"], arrays, self.warm_up, self.width, is_dense
            )
        if self.curve is not None:
            initial, self.curve = self.curve, with_arrays(self.curve, arrays, CURVE)
            grid = self.curve.grid
            ensure(
                grid.size and (np.diff(grid) > 0).all() and grid[-1] == self.budget,
                "the grid of its curve does not end at the budget",
            )
            ensure(
                self.small_budgets is None or np.array_equal(grid, initial.grid),
                "its curve does not match its grid",
            )
        # Far faster than np.unique, which hashes.
        has_repeats = (np.diff(np.sort(ids, kind="stable")) == 0).any()
        is_too_wide = not ids.size and used > max(self.width, 1) and self.kept_table is None
        ensure(
            not (has_repeats or is_too_wide or (ids.size and self.positions_are_ids)),
            "its features do not match its arrays",
        )
        self.addresses = table_addresses(ids) if ids.size else direct_addresses(used)
        check(self.state, sizes, self.addresses.ids)
        if self.small_budgets is not None:
            self.small_budgets.restore(arrays, sizes, check)
        self.counts = arrays["counts"]
        self.warned, self.exact = bool(header["warned"]), bool(header["exact"])
        self.row_multiplier = count_of(header, "times", MAX_ROW_MULTIPLIER)
        ensure(self.row_multiplier, "its rows count 0 times")
        self.declared_width = count_of(header, "declared_width", self.width)
        self.set_random_states(header["random"])
        if ids.size:
            self.grow(self.addresses.ids.size)


def room_for(width: int, declared: int) -> int:
    """Return the room for a width: the declared width, or half as much again if it is exceeded.

    Entries that are not touched take no memory.
    """
    return width if width <= declared else width + (width >> 1)


# ---- fixed memory


def share_cells(memory: RowMemory[Any], max_cells: int) -> None:
    """Make all features that are not kept share cells, in a new memory.

    Raise UsageError if the machine has not enough memory for them.
    """
    bytes_each, available = 8 * memory.target.n_vectors, available_memory()
    if bytes_each * max_cells > available:
        raise UsageError(
            f"{spell('max_cells', max_cells)} needs {size_text(bytes_each * max_cells)} of memory,"
            f" and {size_text(available)} are available;"
            f" {spell('max_cells', available // bytes_each)} would fit, or"
            f" {more_memory(bytes_each * max_cells)}"
        )
    memory.state = grown(memory.state, "features", max_cells)
    memory.addresses = direct_addresses(max_cells)
    # At most an eighth full: most features are not kept, which the first slot then shows.
    memory.kept_table = np.zeros(1 << (8 * memory.budget - 1).bit_length(), np.int32)


def update_names(
    old_names: dict[int, str], kept: I64, row_names: NamedIds, warms_up: bool
) -> dict[int, str]:
    """Return the names of kept features; new ones must be in the current rows.

    While the first rows may be learned again, the names of all their features are kept.
    """
    ids = kept
    if warms_up:
        ids = np.union1d(np.array(list(old_names), np.int64), row_names.ids)
    elif len(old_names) == ids.size and old_names.keys() >= set(ids.tolist()):
        return old_names  # the usual case
    ids.sort()
    new_names = row_names.of(
        np.array([feature for feature in ids.tolist() if feature not in old_names], np.int64)
    )
    return {
        feature: old_names[feature] if feature in old_names else new_names[feature]
        for feature in ids.tolist()
    }


def bytes_per_feature(memory: RowMemory[Any]) -> int:
    """Return the bytes that one feature takes in all arrays."""
    return sum(
        array.itemsize * int(np.prod(array.shape[1:]))
        for _, _, array in memory.per_feature_arrays()
    )


def bytes_written(memory: RowMemory[Any]) -> int:
    """Return the bytes of all features ever touched: arrays have memory pages for those alone."""
    if not memory.addresses.direct:
        return memory.addresses.used * bytes_per_feature(memory)
    return sum(
        int(np.count_nonzero(array)) * array.itemsize for _, _, array in memory.per_feature_arrays()
    )
