"""Base classes of rules that keep and drop columns, and what such rules share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import parallel
from ...blocks import ColumnBlock, next_cut
from ...errors import DataError, prefix, spell
from ...kernels.arrays import NO_GROUP, NO_ID, array
from ...kernels.columns.centring import MAX_SIZE, centre_columns, find_far
from ...kernels.columns.contents import NO_COPY
from ...kernels.types import F64, I32, I64, Bool
from ...machine import refuse_beyond_memory
from ...state import (
    State,
    arrays_of,
    changed,
    copied,
    empty,
    grown,
    names_along,
    with_arrays,
)
from ...targets import Target
from ..diagnosis import MAX_NAMED, Finding
from ..parameters import ensure, parameters_of
from ..prediction import LinearModel
from .memory import COPIES, ColumnMemory, Tally, are_repeated, sizes_of_target

C = TypeVar("C", bound=State)

FIRST_SLOTS = 16
NO_BUDGET = 2**31 - 1
# What becomes of an offered feature, in the order of the counters of SAOLA and OSFS.
FATES = ("kept", "irrelevant", "redundant", "replaced")
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20
MIN_PART_SIZE = 1 << 16  # columns and non-zeros: threads for less work cost more than they save


class ColumnRule(ABC, Generic[C]):
    """A rule that keeps and drops columns, made for parameters and a target.

    Everything it learns is in the memory. An author writes ``start``, ``offer``, ``kept``,
    ``finish`` if something is left to do after the last column, and ``check`` for what must hold
    between the arrays of a state from a file. A state is as large as the kept columns, however many
    were offered.
    """

    # True if features are offered again in every scan, and those that are held are skipped.
    allows_repeats: ClassVar[bool] = False
    holds_all: ClassVar[bool] = False  # True if a remembered feature is never dropped

    def __init__(self, params: Any, target: Target) -> None:
        self.params, self.target = params, target

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the arrays whose size does not depend on the learned columns."""
        return {**sizes_of_target(self.target), "max_levels": self.target.n_rows + 2}

    def start(self) -> C:
        """Return a fresh state, a NamedTuple of arrays."""
        raise NotImplementedError

    def refuse(self, memory: ColumnMemory[C], block: ColumnBlock) -> None:
        """Raise DataError for columns that other rules accept but this one does not."""

    @abstractmethod
    def offer(self, memory: ColumnMemory[C], block: ColumnBlock) -> None:
        """Learn more columns: change the state in place, or put another one into the memory."""

    def finish(self, state: C) -> C:
        """Return the state after the last column; the given state is not changed."""
        return state

    def check(self, state: C, sizes: dict[str, int], n_features: int) -> None:
        """Raise ValueError if the arrays of a state from a file do not fit one another."""

    # ---- what was learned

    def kept(self, state: C) -> tuple[I64, F64]:
        """Return ids and scores of the kept features, in any order."""
        raise NotImplementedError

    def current_selection(self, state: C) -> tuple[I64, F64]:
        """Return ids and scores of the kept features while more columns are to come."""
        return self.kept(state)

    def remembered(self, state: C) -> I64:
        """Return the ids of the features that are kept or may still be selected."""
        return self.kept(state)[0]

    def held(self, state: C) -> NDArray[Any] | None:
        """Return the kept columns, one line each, in a form that is equal only for equal columns.

        They are in the order of ``kept``. None if there is no such form in the state, or if no two
        kept columns can be equal.
        """
        return None

    def groups(self, state: C) -> I64 | None:
        """Return the groups of the kept features in the order of ``kept``; None without groups."""
        return None

    def counted(self, state: C) -> dict[str, dict[str, int]]:
        """Return the counters of the rule.

        "counts" has the number of features by what became of them, "measures" the number that was
        measured by each measure.
        """
        return {}

    def linear_model(self, state: C) -> LinearModel | None:
        """Return the linear model of the selected features, if the method fits one."""
        return None

    def details(self, state: C) -> dict[str, Any]:
        """Return details for the record of a run, given the state after the last column."""
        return {}

    def advice(self, state: C) -> str | None:
        """Return what to try if columns vary but none was selected."""
        return None

    def findings(self, state: C) -> list[Finding]:
        """Return remarks for the user on how columns were kept and dropped."""
        return []

    def saved(self, memory: ColumnMemory[C]) -> C:
        """Return the state as it is saved in a model."""
        return memory.state

    # ---- counts of other workers

    def tally(self, state: C) -> Tally:
        """Return the counters of all features that were offered."""
        return {}

    def adopt_counts(self, state: C, tallies: Sequence[Tally]) -> None:
        """Add the counters of other workers."""


class CopyDropper(ColumnRule[C]):
    """A rule that drops copies of kept columns, unless ``duplicates`` is "keep"."""

    @property
    def drops_copies(self) -> bool:
        """Return True if copies of kept columns are dropped regardless of the rule."""
        return bool(self.params.duplicates == "drop")

    def note_copies(self, memory: ColumnMemory[C], block: ColumnBlock, copies: I64) -> None:
        """Record the columns of a block that were dropped as copies of kept features."""
        dropped = np.flatnonzero(copies != NO_COPY)
        if not dropped.size:
            return
        column_of = {feature: column for column, feature in enumerate(block.ids.tolist())}
        texts = []
        for column in dropped[:MAX_NAMED].tolist():
            kept = int(copies[column])
            title = (
                memory.column_title(block, column_of[kept])
                if kept in column_of
                else memory.title(kept)
            )
            texts.append(f"{memory.column_title(block, column)} = {title}")
        memory.add_warning(COPIES, texts, int(dropped.size))


# ---- groups


class GroupRule(ColumnRule[Any]):
    """A rule that decides about a group when it is complete, which is when the next one begins.

    In the state, ``group`` has the group of every slot, ``order`` has the slots with the kept ones
    first, and ``current`` has the open group.
    """

    @abstractmethod
    def close(self, state: Any) -> None:
        """Decide about the open group, in place."""

    def finish(self, state: Any) -> Any:
        copy = copied(state)
        self.close(copy)
        copy.current[0] = NO_GROUP
        return copy

    def groups(self, state: Any) -> I64:
        return np.asarray(state.group[state.order[: self.kept(state)[0].size]])

    def refuse(self, memory: ColumnMemory[Any], block: ColumnBlock) -> None:
        """Raise DataError for a group in two parts; a block may continue the open group."""
        super().refuse(memory, block)
        groups, state = groups_of(block), memory.state
        runs = groups[np.append(True, groups[1:] != groups[:-1])]
        is_known = np.isin(runs, np.append(self.groups(state), state.current))
        is_known[0] &= runs[0] != state.current[0]
        is_repeated = is_known | are_repeated(runs)
        if not is_repeated.any():
            return
        group = int(runs[is_repeated][0])
        name = memory.group_names.get(group, group)
        raise DataError(
            f"{prefix(block.origin)}group {name!r} appears in two parts, and columns are learned in"
            " the order given; put the columns of a group next to each other, or give all columns"
            f" at once with their groups: {spell('groups', 'FILE')}"
        )


def groups_of(block: ColumnBlock) -> I64:
    """Return the group of every column; without groups each column is its own group."""
    groups = block.ids if block.groups is None else np.asarray(block.groups, np.int64)
    if groups.min() < 0:
        raise DataError(
            f"group {int(groups.min())} is negative; groups must be integers of 0 or more"
        )
    return groups


# ---- rules that gather all columns first

# Arrays that several states declare.
COLUMN_IDS = array("columns", low=0, below=NO_ID)
ENDS = array("ends", low=0)
ROW_NUMBERS = array("nonzeros", low=0, below="rows")
USED = array(2, low=0)  # columns, non-zeros: arrays may have room for more
CHOSEN = array("chosen", low=0, below="columns")  # column numbers; empty until the choice is made
SCORES = array("chosen")
GATHERS = {
    "check_memory_is_that_of_the_kept": (
        "a batch method: all useful columns are held until the last one has arrived"
    )
}


class BatchRule(ColumnRule[Any]):
    """A rule that gathers columns and chooses from them when the selection is read.

    An author writes ``extract_useful`` and ``choose``, and a state whose arrays have one entry per
    column or per non-zero.
    """

    holds_all: ClassVar[bool] = True
    state_type: ClassVar[type[Any]]

    @abstractmethod
    def extract_useful(self, block: ColumnBlock) -> tuple[Bool, dict[str, NDArray[Any]]]:
        """Return which columns of a block to hold, and the arrays to store, by state name."""

    @abstractmethod
    def choose(self, state: Any) -> tuple[I64, F64]:
        """Return the numbers of the chosen columns and their scores."""

    def start(self) -> Any:
        return empty(self.state_type, columns=0, nonzeros=0, ends=1, chosen=0)

    def offer(self, memory: ColumnMemory[Any], block: ColumnBlock) -> None:
        state, (useful, arrays) = memory.state, self.extract_useful(block)
        lengths = np.diff(block.indptr)
        entries = np.repeat(useful, lengths)
        n_columns, n_nonzeros = state.used.tolist()
        extended_arrays = {
            "indptr": extend(state.indptr, n_columns + 1, n_nonzeros + np.cumsum(lengths[useful]))
        }
        for axis, used, chosen in (
            ("columns", n_columns, useful),
            ("nonzeros", n_nonzeros, entries),
        ):
            for name in names_along(self.state_type, axis):
                extended_arrays[name] = extend(getattr(state, name), used, arrays[name][chosen])
        used = np.array([n_columns + useful.sum(), n_nonzeros + entries.sum()])
        memory.state = changed(
            state, **extended_arrays, used=used, chosen=np.empty(0, np.int64), scores=np.empty(0)
        )

    def finish(self, state: Any) -> Any:
        if not state.used[0]:
            return state
        state = self.trim(state)
        if not state.chosen.size:
            chosen, scores = self.choose(state)
            state = changed(state, chosen=chosen, scores=scores)
        return state

    def trim(self, state: Any) -> Any:
        """Return the state with its arrays cut to their used length."""
        n_columns, n_nonzeros = state.used.tolist()
        return with_arrays(
            state, arrays_of(state, columns=n_columns, nonzeros=n_nonzeros, ends=n_columns + 1)
        )

    def kept(self, state: Any) -> tuple[I64, F64]:
        return state.ids[state.chosen], state.scores

    def remembered(self, state: Any) -> I64:
        return np.asarray(state.ids[: state.used[0]])

    def saved(self, memory: ColumnMemory[Any]) -> Any:
        """Return all columns, with the choice if it was made, so that it is not made again."""
        return self.trim(memory.state if memory.final_state is None else memory.final_state)

    def check(self, state: Any, sizes: dict[str, int], n_features: int) -> None:
        indptr = state.indptr
        ensure(
            state.used.tolist() == [sizes["columns"], sizes["nonzeros"]]
            and indptr.size == sizes["columns"] + 1,
            "the number of its columns is not what it says",
        )
        ensure(
            indptr[0] == 0 and indptr[-1] == sizes["nonzeros"] and (np.diff(indptr) >= 0).all(),
            "the offsets of its columns do not ascend from 0 to their end",
        )
        ensure(np.unique(state.chosen).size == state.chosen.size, "a column is chosen twice")
        wanted = parameters_of(self.params).get("n_features_to_select")
        ensure(
            wanted is None or state.chosen.size <= wanted,
            "it has chosen more columns than n_features_to_select",
        )


def extend(array: NDArray[Any], used: int, values: NDArray[Any]) -> NDArray[Any]:
    """Return the array with values after its used part, twice as long if there is no room."""
    if used + values.size > array.size:
        room = used + max(used, values.size)
        refuse_beyond_memory(
            room * array.itemsize, "all columns, which this method holds,", "take fewer features"
        )
        array = np.concatenate([array[:used], np.zeros(max(used, values.size), array.dtype)])
    array[used : used + values.size] = values
    return array


# ---- pieces of blocks, work on threads, more slots


def split_block(
    block: ColumnBlock, most_columns: int = PIECE_COLUMNS, most_nonzeros: int = PIECE_NONZEROS
) -> Iterator[ColumnBlock]:
    """Yield the columns of a block in pieces of bounded size, of at least one column."""
    start = 0
    while start < block.n_columns:
        stop = next_cut(block.indptr, start, most_columns, most_nonzeros)
        yield block.columns(start, stop)
        start = stop


def run_in_parts(block: ColumnBlock, work: Callable[[int, int], None]) -> None:
    """Call ``work`` on ranges of columns, on threads if there are many, in any order."""
    offsets = block.indptr + np.arange(block.n_columns + 1)
    parallel.in_parts(
        np.searchsorted(offsets, parallel.cut(int(offsets[-1]), MIN_PART_SIZE)).tolist(), work
    )


def take_columns(memory: ColumnMemory[Any], count: int, take: Callable[[Any, int], int]) -> None:
    """Let a kernel process all columns; double the slots whenever it stops for lack of one."""
    n_taken = 0
    while n_taken < count:
        n_taken = take(memory.state, n_taken)
        if n_taken < count:
            state = memory.state
            per_slot = [getattr(state, name) for name in names_along(type(state), "slots")]
            refuse_beyond_memory(
                # Twice the slots, and a copy at the end of the data.
                4 * sum(array.nbytes for array in per_slot),
                "the kept columns",
                "be stricter, or keep fewer (n_features_to_select)",
            )
            memory.state = grown(state, "slots", 2 * per_slot[0].shape[0])


def centre_block(block: ColumnBlock) -> F64:
    """Return the values of a block, with columns shifted and scaled where that adds precision.

    For computations whose result depends on neither the origin nor the unit of a column.
    """
    is_far, values = np.zeros(block.n_columns, bool), block.values
    any_large = (
        max(np.fmax.reduce(values, initial=0.0), -np.fmin.reduce(values, initial=0.0)) > MAX_SIZE
    )
    run_in_parts(
        block, lambda a, b: find_far(block.indptr, values, block.n_rows, a, b, any_large, is_far)
    )
    if not is_far.any():
        return values
    centred = values.copy()
    run_in_parts(
        block, lambda a, b: centre_columns(block.indptr, block.n_rows, is_far, a, b, centred)
    )
    # Like the values of a block: kernels are compiled for one of the two.
    centred.flags.writeable = False
    return centred


# ---- states from files


def check_slots(order: I32, kept: int) -> None:
    """Raise ValueError unless an order has every slot once and no more are kept than there are."""
    ensure(
        np.array_equal(np.sort(order), np.arange(order.size)) and 0 <= kept <= order.size,
        "a slot is missing from the order or appears twice",
    )


def check_codes(codes: I32, n_levels: I64, slots: I32) -> None:
    """Raise ValueError if a code exceeds the number of levels of its slot."""
    ensure(
        (codes[slots].max(axis=1, initial=0) < np.maximum(n_levels[slots], 1)).all(),
        "a code exceeds the number of levels of its column",
    )
