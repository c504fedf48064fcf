"""What a rule for taking and dropping columns is, and what rules of a kind share."""

from __future__ import annotations

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
from ...state import State, changed, copied, empty, grown, names_along
from ...targets import Target
from ..diagnosis import MAX_NAMED, Remark
from ..parameters import ensure, parameters_of
from ..prediction import LinearModel
from .memory import COPIES, ColumnMemory, Tally, are_repeated, sizes_of_target

C = TypeVar("C", bound=State)

FIRST_SLOTS = 16
NO_BUDGET = 2**31 - 1
PIECE_COLUMNS, PIECE_NONZEROS = 1 << 16, 1 << 20
WORTH_A_PART = 1 << 16  # columns and non-zeros: threads for less work cost more than they save


class ColumnRule(Generic[C]):
    """How columns are taken and dropped, made for some parameters and a target; all that was learned is in the memory.

    An author writes ``start``, ``offer``, ``kept``, ``finish`` if something is left to do after the
    last column, and what must hold between the arrays of a state from a file (``check``). A state
    is as large as the kept columns, whatever the number that went by.
    """

    takes_again: ClassVar[bool] = (
        False  # features come again with every scan, and those that are held are passed over
    )
    holds_all: ClassVar[bool] = False  # what is remembered once is remembered for good

    def __init__(self, params: Any, target: Target) -> None:
        self.params, self.target = params, target

    def sizes(self) -> dict[str, int]:
        """Return the sizes of arrays that do not depend on what was learned."""
        return {**sizes_of_target(self.target), "max_levels": self.target.n_rows + 2}

    def start(self) -> C:
        """Return a fresh state, a NamedTuple of arrays."""
        raise NotImplementedError

    def refuse(self, memory: ColumnMemory[C], block: ColumnBlock) -> None:
        """Refuse columns that other rules would take; nothing is changed."""

    def offer(self, memory: ColumnMemory[C], block: ColumnBlock) -> None:
        """Take some more columns; the state may be changed in place, or another one put into the memory."""
        raise NotImplementedError

    def finish(self, state: C) -> C:
        """Return the state after the last column; the one that is given stays as it is."""
        return state

    def check(self, state: C, sizes: dict[str, int], n_features: int) -> None:
        """Raise ValueError if the arrays of a state from a file do not fit one another."""

    # ---- what was learned

    def kept(self, state: C) -> tuple[I64, F64]:
        """Return ids and scores of the kept features, in any order."""
        raise NotImplementedError

    def kept_now(self, state: C) -> tuple[I64, F64]:
        """Return the same of a state to which more columns come."""
        return self.kept(state)

    def remembered(self, state: C) -> I64:
        """Return the ids of the features that are kept or may yet be."""
        return self.kept(state)[0]

    def held(self, state: C) -> NDArray[Any] | None:
        """Return the kept columns, a line each, as far as they are remembered in a form equal for equal columns only.

        In the order of ``kept``; None where they are not, or where no two kept columns can be
        equal.
        """
        return None

    def groups(self, state: C) -> I64 | None:
        """Return the groups of the kept features, in the same order; None where there are no groups."""
        return None

    def counted(self, state: C) -> dict[str, dict[str, int]]:
        """Return what is counted: "counts", what became of the features; "measures", how many were measured by what."""
        return {}

    def linear_model(self, state: C) -> LinearModel | None:
        """Return the model of the selected features, for methods that fit one."""
        return None

    def details(self, state: C) -> dict[str, Any]:
        """Return what a run reports of this method alone; ``state`` is that after the last column."""
        return {}

    def advice(self, state: C) -> str | None:
        """Return what to try where columns vary and none was good enough."""
        return None

    def remarks(self, state: C) -> list[Remark]:
        """Return what a user should know of how columns were taken."""
        return []

    def saved(self, memory: ColumnMemory[C]) -> C:
        """Return the state as a model keeps it."""
        return memory.state

    # ---- learning what others have left

    def tally(self, state: C) -> Tally:
        """Return what was counted of all features that came by."""
        return {}

    def adopt_counts(self, state: C, tallies: Sequence[Tally]) -> None:
        """Count what others have counted."""


class CopyDropper(ColumnRule[C]):
    """A rule that drops copies of kept columns, unless told to decide without that."""

    @property
    def drops_copies(self) -> bool:
        """Return whether a copy of a kept column is dropped, whatever the rule says."""
        return bool(self.params.duplicates == "drop")

    def note_copies(self, memory: ColumnMemory[C], block: ColumnBlock, copies: I64) -> None:
        """Take note of columns of a block that were dropped, each for being a copy of a kept feature."""
        found = np.flatnonzero(copies != NO_COPY)
        if not found.size:
            return
        here = {feature: column for column, feature in enumerate(block.ids.tolist())}
        texts = []
        for column in found[:MAX_NAMED].tolist():
            kept = int(copies[column])
            title = memory.title_in(block, here[kept]) if kept in here else memory.title(kept)
            texts.append(f"{memory.title_in(block, column)} = {title}")
        memory.note(COPIES, texts, int(found.size))


# ---- groups


class GroupRule(ColumnRule[Any]):
    """A rule that decides about a group when it is complete, that is when the next one begins.

    In a state ``group`` has the group of every slot, ``order`` the slots, those kept first, and
    ``current`` the group that is open.
    """

    def close(self, state: Any) -> None:
        """Decide about the group that is open, in place."""
        raise NotImplementedError

    def finish(self, state: Any) -> Any:
        copy = copied(state)
        self.close(copy)
        copy.current[0] = NO_GROUP
        return copy

    def groups(self, state: Any) -> I64:
        return np.asarray(state.group[state.order[: self.kept(state)[0].size]])

    def refuse(self, memory: ColumnMemory[Any], block: ColumnBlock) -> None:
        """Refuse groups that come twice; a group may go on with the first columns of a block."""
        super().refuse(memory, block)
        groups, state = groups_of(block), memory.state
        runs = groups[np.append(True, groups[1:] != groups[:-1])]
        before = np.isin(runs, np.append(self.groups(state), state.current))
        before[0] &= runs[0] != state.current[0]
        twice = before | are_repeated(runs)
        if not twice.any():
            return
        group = int(runs[twice][0])
        name = memory.group_names.get(group, group)
        raise DataError(
            f"{prefix(block.origin)}group {name!r} comes in two parts, and these columns come one"
            " after the other; bring those of a group together, or give all columns at once with"
            f" their groups: {spell('groups', 'FILE')}"
        )


def groups_of(block: ColumnBlock) -> I64:
    """Return the group of every column; columns that come without groups are a group each."""
    groups = block.ids if block.groups is None else np.asarray(block.groups, np.int64)
    if groups.min() < 0:
        raise DataError(f"group {int(groups.min())} is negative; groups are integers of 0 or more")
    return groups


# ---- all columns first

# Arrays that the states declare alike.
COLUMN_IDS = array("columns", low=0, below=NO_ID)
ENDS = array("ends", low=0)
ROW_NUMBERS = array("nonzeros", low=0, below="rows")
USED = array(2, low=0)  # columns, non-zeros: arrays may have room for more
CHOSEN = array("chosen", low=0, below="columns")  # by number; none until somebody asks
SCORES = array("chosen")
GATHERS = {
    "check_memory_is_that_of_the_kept": (
        "a batch method: all columns of any use are held until the last has come"
    )
}


class BatchRule(ColumnRule[Any]):
    """A rule that gathers columns and chooses from them when somebody asks for the selection.

    An author writes ``worth`` and ``choose``, and a state whose arrays are as long as the columns
    or the non-zeros.
    """

    holds_all: ClassVar[bool] = True
    state_type: ClassVar[type[Any]]

    def worth(self, block: ColumnBlock) -> tuple[Bool, dict[str, NDArray[Any]]]:
        """Return which columns to hold, and what of a block to remember, by its name in the state."""
        raise NotImplementedError

    def choose(self, state: Any) -> tuple[I64, F64]:
        """Return the chosen columns, by number, and their scores."""
        raise NotImplementedError

    def start(self) -> Any:
        return empty(self.state_type, columns=0, nonzeros=0, ends=1, chosen=0)

    def offer(self, memory: ColumnMemory[Any], block: ColumnBlock) -> None:
        state, (worth, arrays) = memory.state, self.worth(block)
        lengths = np.diff(block.indptr)
        entries = np.repeat(worth, lengths)
        n_columns, n_nonzeros = state.used.tolist()
        more = {
            "indptr": extended(state.indptr, n_columns + 1, n_nonzeros + np.cumsum(lengths[worth]))
        }
        for axis, used, chosen in (
            ("columns", n_columns, worth),
            ("nonzeros", n_nonzeros, entries),
        ):
            for name in names_along(self.state_type, axis):
                more[name] = extended(getattr(state, name), used, arrays[name][chosen])
        used = np.array([n_columns + worth.sum(), n_nonzeros + entries.sum()])
        memory.state = changed(
            state, **more, used=used, chosen=np.empty(0, np.int64), scores=np.empty(0)
        )

    def finish(self, state: Any) -> Any:
        if not state.used[0]:
            return state
        state = self.trimmed(state)
        if not state.chosen.size:
            chosen, scores = self.choose(state)
            state = changed(state, chosen=chosen, scores=scores)
        return state

    def trimmed(self, state: Any) -> Any:
        """Return the state without the room that its arrays have for more columns."""
        n_columns, n_nonzeros = state.used.tolist()
        sizes = {"columns": n_columns, "nonzeros": n_nonzeros, "ends": n_columns + 1}
        return changed(
            state,
            **{
                name: getattr(state, name)[:size]
                for axis, size in sizes.items()
                for name in names_along(self.state_type, axis)
            },
        )

    def kept(self, state: Any) -> tuple[I64, F64]:
        return state.ids[state.chosen], state.scores

    def remembered(self, state: Any) -> I64:
        return np.asarray(state.ids[: state.used[0]])

    def saved(self, memory: ColumnMemory[Any]) -> Any:
        """Return everything, with what was chosen if somebody has asked: it need not be chosen again."""
        return self.trimmed(memory.state if memory.settled is None else memory.settled)

    def check(self, state: Any, sizes: dict[str, int], n_features: int) -> None:
        indptr = state.indptr
        ensure(
            state.used.tolist() == [sizes["columns"], sizes["nonzeros"]]
            and indptr.size == sizes["columns"] + 1,
            "it does not have the columns it says",
        )
        ensure(
            indptr[0] == 0 and indptr[-1] == sizes["nonzeros"] and (np.diff(indptr) >= 0).all(),
            "its columns are cut in the wrong places",
        )
        ensure(np.unique(state.chosen).size == state.chosen.size, "a column is chosen twice")
        wanted = parameters_of(self.params).get("n_features_to_select")
        ensure(
            wanted is None or state.chosen.size <= wanted,
            "it has chosen more columns than it was asked for",
        )


def extended(array: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """Return the array with more after what is used of it; where there is no room, one of twice the size."""
    if used + more.size > array.size:
        room = used + max(used, more.size)
        refuse_beyond_memory(
            room * array.itemsize, "all columns, which this method holds,", "take fewer features"
        )
        array = np.concatenate([array[:used], np.zeros(max(used, more.size), array.dtype)])
    array[used : used + more.size] = more
    return array


# ---- blocks in parts of a bounded size, work on threads, more slots


def pieces(
    block: ColumnBlock, most_columns: int = PIECE_COLUMNS, most_nonzeros: int = PIECE_NONZEROS
) -> Iterator[ColumnBlock]:
    """A block in parts of a bounded size, a column at least in each."""
    start = 0
    while start < block.n_columns:
        stop = next_cut(block.indptr, start, most_columns, most_nonzeros)
        yield block.columns(start, stop)
        start = stop


def in_parts(block: ColumnBlock, work: Callable[[int, int], None]) -> None:
    """Do work on ranges of columns, on threads if there is enough of it; their order does not matter."""
    before = block.indptr + np.arange(block.n_columns + 1)
    parallel.in_parts(
        np.searchsorted(before, parallel.cut(int(before[-1]), WORTH_A_PART)).tolist(), work
    )


def take_columns(memory: ColumnMemory[Any], count: int, take: Callable[[Any, int], int]) -> None:
    """Have a kernel take that many columns; whenever it stops, as all slots are taken, there are twice as many."""
    done = 0
    while done < count:
        done = take(memory.state, done)
        if done < count:
            state = memory.state
            per_slot = [getattr(state, name) for name in names_along(type(state), "slots")]
            needed = 4 * sum(
                array.nbytes for array in per_slot
            )  # twice the slots, and a copy at the end of the data
            refuse_beyond_memory(
                needed, "the kept columns", "be stricter, or keep fewer (n_features_to_select)"
            )
            memory.state = grown(state, "slots", 2 * per_slot[0].shape[0])


def centred(block: ColumnBlock) -> F64:
    """The values of a block, columns shifted and in other units where that helps; for what depends on neither."""
    far, values = np.zeros(block.n_columns, bool), block.values
    any_large = (
        max(np.fmax.reduce(values, initial=0.0), -np.fmin.reduce(values, initial=0.0)) > MAX_SIZE
    )
    in_parts(block, lambda a, b: find_far(block.indptr, values, block.n_rows, a, b, any_large, far))
    if not far.any():
        return values
    out = values.copy()
    in_parts(block, lambda a, b: centre_columns(block.indptr, block.n_rows, far, a, b, out))
    out.flags.writeable = (
        False  # as the values of a block are: kernels are compiled for one of the two
    )
    return out


# ---- states from files


def check_slots(order: I32, kept: int) -> None:
    """Raise ValueError if an order does not have every slot once, or has more kept than slots."""
    ensure(
        np.array_equal(np.sort(order), np.arange(order.size)) and 0 <= kept <= order.size,
        "a slot is not in the order, or twice",
    )


def check_codes(codes: I32, n_levels: I64, slots: I32) -> None:
    """Raise ValueError if codes of slots are beyond their number of levels."""
    coded = codes.shape[1] and slots.size
    ensure(
        not coded or (codes[slots].max(axis=1) < np.maximum(n_levels[slots], 1)).all(),
        "a code is beyond the levels of its column",
    )
