"""The base of methods that need all columns before they choose."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.arrays import NO_ID, array
from ...machine import refuse_beyond_memory
from ...state import Arrays, State, changed, empty, names_along
from ...targets import Target
from .base import STATE, ColumnLearner


class GatheredColumns(State, Protocol):
    """The columns of some use, CSC, and what was chosen of them."""

    @property
    def ids(self) -> NDArray[np.int64]: ...

    @property
    def indptr(self) -> NDArray[np.int64]: ...

    @property
    def used(self) -> NDArray[np.int64]: ...  # columns, non-zeros: arrays may have room for more

    @property
    def chosen(self) -> NDArray[np.int64]: ...  # columns, by number; none until somebody asks

    @property
    def scores(self) -> NDArray[np.float64]: ...


G = TypeVar("G", bound=GatheredColumns)

# Arrays that the states declare alike.
COLUMN_IDS = array("columns", low=0, below=NO_ID)
ENDS = array("ends", low=0)
ROW_NUMBERS = array("nonzeros", low=0, below="rows")
USED = array(2, low=0)
CHOSEN = array("chosen", low=0, below="columns")
SCORES = array("chosen")


class BatchLearner(ColumnLearner[G]):
    """Gathers columns and chooses from them when somebody asks for the selection.

    An author writes ``_worth`` and ``_choose``, and a state whose arrays are as long as the columns or the non-zeros.
    """

    state_type: ClassVar[type[Any]]
    exempt_from_checks: ClassVar[dict[str, str]] = {
        "check_memory_is_that_of_the_kept": "a batch method: all columns of any use are held until the last has come"
    }

    def _worth(self, block: ColumnBlock) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
        """Which columns to hold, and what of a block to remember, by its name in the state."""
        raise NotImplementedError

    def _choose(self, state: G) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The chosen columns, by number, and their scores."""
        raise NotImplementedError

    def _start(self, target: Target) -> G:
        state: G = empty(self.state_type, columns=0, nonzeros=0, ends=1, chosen=0)
        return state

    def _names(self, axis: str) -> list[str]:
        return names_along(self.state_type, axis)

    def _offer(self, state: G, block: ColumnBlock) -> G:
        worth, arrays = self._worth(block)
        lengths = np.diff(block.indptr)
        mine = np.repeat(worth, lengths)
        held = state._asdict()
        n_columns, n_nonzeros = state.used.tolist()
        more = {name: extended(held[name], n_columns, arrays[name][worth]) for name in self._names("columns")}
        more |= {name: extended(held[name], n_nonzeros, arrays[name][mine]) for name in self._names("nonzeros")}
        more["indptr"] = extended(state.indptr, n_columns + 1, n_nonzeros + np.cumsum(lengths[worth]))
        used = np.array([n_columns + worth.sum(), n_nonzeros + mine.sum()])
        return changed(state, **more, used=used, chosen=np.empty(0, np.int64), scores=np.empty(0))

    def _finish(self, state: G) -> G:
        if not state.used[0]:
            return state
        state = changed(state, **self._trimmed(state))
        if not state.chosen.size:
            chosen, scores = self._choose(state)
            state = changed(state, chosen=chosen, scores=scores)
        return state

    def _trimmed(self, state: G) -> Arrays:
        """The arrays of all columns without the room that they have for more."""
        held = state._asdict()
        n_columns, n_nonzeros = state.used.tolist()
        sizes = {"columns": n_columns, "nonzeros": n_nonzeros, "ends": n_columns + 1}
        return {name: held[name][:size] for axis, size in sizes.items() for name in self._names(axis)}

    def _kept(self, state: G) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return state.ids[state.chosen], state.scores

    def _remembered(self, state: G) -> NDArray[np.int64]:
        return state.ids[: state.used[0]]

    def _note_names(self, block: ColumnBlock) -> None:
        """Remember the names of columns that are held; what was held before still is."""
        if block.names is not None:
            held = set(self._remembered(self.memory.state)[-block.n_columns :].tolist())
            named = zip(block.ids.tolist(), block.names.tolist(), strict=True)
            self.memory.names |= {feature: str(name) for feature, name in named if feature in held}

    # ---- saving

    def _arrays(self) -> Arrays:
        """Everything, with what was chosen if somebody has asked: it need not be chosen again."""
        memory = self.memory
        known = memory.state if memory.settled is None else memory.settled
        return {
            **super()._arrays(),
            **{STATE + name: array for name, array in known._asdict().items()},
            **{STATE + name: array for name, array in self._trimmed(known).items()},
        }

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        used = arrays[STATE + "used"]
        if used.shape != (2,) or used.dtype != np.int64 or used.min() < 0:
            raise ValueError("it does not say how many columns it has")
        super()._restore(header, arrays)

    def _check_state(self, state: G, sizes: dict[str, int]) -> None:
        indptr = state.indptr
        if state.used.tolist() != [sizes["columns"], sizes["nonzeros"]] or indptr.size != sizes["columns"] + 1:
            raise ValueError("it does not have the columns it says")
        if indptr[0] != 0 or indptr[-1] != sizes["nonzeros"] or (np.diff(indptr) < 0).any():
            raise ValueError("its columns are cut in the wrong places")
        if np.unique(state.chosen).size != state.chosen.size:
            raise ValueError("a column is chosen twice")
        wanted = self.parameters().get("n_features_to_select")
        if wanted is not None and state.chosen.size > wanted:
            raise ValueError("it has chosen more columns than it was asked for")


def extended(array: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """The array with more after what is used of it; where there is no room, one of twice the size."""
    if used + more.size > array.size:
        room = used + max(used, more.size)
        refuse_beyond_memory(room * array.itemsize, "all columns, which this method holds,", "take fewer features")
        array = np.concatenate([array[:used], np.zeros(max(used, more.size), array.dtype)])
    array[used : used + more.size] = more
    return array
