"""The base of methods that need all columns before they choose."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from .base import ColumnLearner


class BatchLearner(ColumnLearner):
    """Gathers columns, CSC, and chooses from them when the last is there.

    An author writes ``_start``, ``_worth`` and ``_choose``, and names the arrays of the state with an entry for every
    column, ``per_column``, or non-zero, ``per_nonzero``. The others are ``indptr``; ``used``, how many columns and
    non-zeros there are, for while columns come the arrays have room for more; at last ``chosen``, places, with
    ``scores``.
    """

    per_column: ClassVar[tuple[str, ...]]
    per_nonzero: ClassVar[tuple[str, ...]]

    exempt_from_checks: ClassVar[dict[str, str]] = {
        "check_memory_is_that_of_the_kept": "a batch method: all columns of any use are held until the last has come"
    }

    def _worth(self, block: ColumnBlock) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
        """Which columns to hold, and what of a block to remember, by its name in the state."""
        raise NotImplementedError

    def _choose(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places and scores of the chosen columns."""
        raise NotImplementedError

    def _offer(self, state: Any, block: ColumnBlock) -> Any:
        worth, arrays = self._worth(block)
        lengths = np.diff(block.indptr)
        mine = np.repeat(worth, lengths)
        n_columns, n_nonzeros = state.used.tolist()
        more = {name: extended(getattr(state, name), n_columns, arrays[name][worth]) for name in self.per_column}
        more |= {name: extended(getattr(state, name), n_nonzeros, arrays[name][mine]) for name in self.per_nonzero}
        more["indptr"] = extended(state.indptr, n_columns + 1, n_nonzeros + np.cumsum(lengths[worth]))
        return state._replace(**more, used=np.array([n_columns + worth.sum(), n_nonzeros + mine.sum()]))

    def _finish(self, state: Any) -> Any:
        n_columns, n_nonzeros = state.used.tolist()
        if not n_columns:
            return state
        state = state._replace(
            **{name: getattr(state, name)[:n_columns] for name in self.per_column},
            **{name: getattr(state, name)[:n_nonzeros] for name in self.per_nonzero},
            indptr=state.indptr[: n_columns + 1],
        )
        chosen, scores = self._choose(state)
        return state._replace(chosen=chosen, scores=scores)

    def _kept(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return state.ids[state.chosen], state.scores

    def _remembered(self, state: Any) -> NDArray[np.int64]:
        ids: NDArray[np.int64] = state.ids[: state.used[0]]
        return ids

    def _note_names(self, block: ColumnBlock) -> None:
        """Remember the names of columns that are held; what was held before still is."""
        if block.names is not None:
            held = set(self._remembered(self._state)[-block.n_columns :].tolist())
            named = zip(block.ids.tolist(), block.names.tolist(), strict=True)
            self._kept_names |= {feature: name for feature, name in named if feature in held}


def extended(array: NDArray[Any], used: int, more: NDArray[Any]) -> NDArray[Any]:
    """The array with more behind what is used of it; where there is no room, one of twice the size."""
    if used + more.size > array.size:
        array = np.concatenate([array[:used], np.zeros(max(used, more.size), array.dtype)])
    array[used : used + more.size] = more
    return array
