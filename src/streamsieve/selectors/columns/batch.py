"""The base of methods that need all columns before they choose."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from .base import ColumnLearner

Arrays = dict[str, NDArray[Any]]


class BatchLearner(ColumnLearner):
    """Gathers columns, CSC, and chooses from them when the last is there.

    An author writes ``_start``, ``_worth`` and ``_choose``. The state has ``ids``, ``indptr``, ``indices``, what
    ``_worth`` adds of columns and non-zeros, and at last ``chosen``, places, with ``scores``.
    """

    exempt_from_checks: ClassVar[dict[str, str]] = {
        "check_memory_is_that_of_the_kept": "a batch method: all columns of any use are held until the last has come"
    }

    def _worth(self, block: ColumnBlock) -> tuple[NDArray[np.bool_], Arrays, Arrays]:
        """Which columns to hold, and what to remember of columns and of non-zeros, by its name in the state."""
        raise NotImplementedError

    def _choose(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places and scores of the chosen columns."""
        raise NotImplementedError

    def _offer(self, state: Any, block: ColumnBlock) -> Any:
        worth, of_columns, of_nonzeros = self._worth(block)
        lengths = np.diff(block.indptr)
        mine = np.repeat(worth, lengths)
        more = {
            "ids": block.ids[worth],
            "indptr": state.indptr[-1] + np.cumsum(lengths[worth]),
            "indices": block.indices[mine],
            **{name: array[worth] for name, array in of_columns.items()},
            **{name: array[mine] for name, array in of_nonzeros.items()},
        }
        return state._replace(**{name: np.concatenate([getattr(state, name), part]) for name, part in more.items()})

    def _finish(self, state: Any) -> Any:
        if not state.ids.size:
            return state
        chosen, scores = self._choose(state)
        return state._replace(chosen=chosen, scores=scores)

    def _kept(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return state.ids[state.chosen], state.scores

    def _remembered(self, state: Any) -> NDArray[np.int64]:
        ids: NDArray[np.int64] = state.ids
        return ids
