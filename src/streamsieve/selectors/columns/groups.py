"""What methods share whose features arrive in groups."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError
from ..base import is_integer, is_number
from ..state import State, changed
from .base import ColumnLearner

NO_GROUP = -1


class GroupedColumns(State, Protocol):
    """Kept columns, a slot each; those kept come first in the order of slots."""

    @property
    def order(self) -> NDArray[np.int32]: ...

    @property
    def group(self) -> NDArray[np.int64]: ...

    @property
    def current(self) -> NDArray[np.int64]: ...  # the group that is open


D = TypeVar("D", bound=GroupedColumns)


class GroupLearner(ColumnLearner[D]):
    """Decides about a group when it is complete, that is when the next one begins: an author writes ``_close``."""

    knows_groups: ClassVar[bool] = True

    def _close(self, state: D) -> None:
        """Decide about the group that is open, in place."""
        raise NotImplementedError

    def _close_open(self, state: D) -> None:
        self._close(state)
        state.current[0] = NO_GROUP

    def _finish(self, state: D) -> D:
        copy = changed(state, **{name: array.copy() for name, array in state._asdict().items()})
        self._close_open(copy)
        return copy

    def _groups(self, state: D) -> NDArray[np.int64]:
        return state.group[state.order[: self._kept(state)[0].size]]


def groups_of(block: ColumnBlock) -> NDArray[np.int64]:
    """The group of every column; columns that come without groups are a group each."""
    groups = block.ids if block.groups is None else np.asarray(block.groups, np.int64)
    if groups.min() < 0:
        raise DataError(f"group {int(groups.min())} is negative; groups are integers of 0 or more")
    return groups


def in_two_parts(group: int) -> DataError:
    return DataError(f"group {group} comes in two parts; the features of a group must come together")


def as_groups(groups: Any, n_columns: int) -> NDArray[np.int64]:
    """The group of every column: integers of 0 or more."""
    known = np.asarray(groups)
    if known.shape != (n_columns,):
        raise DataError(f"groups has shape {known.shape}, but there are {n_columns:,} columns: one group for each")
    wrong = np.array([not (is_integer(group) or (is_number(group) and group % 1 == 0)) or group < 0 for group in known])
    if wrong.any():
        column = int(np.flatnonzero(wrong)[0])
        raise DataError(f"the group of column {column} is {known.tolist()[column]!r}; groups are integers of 0 or more")
    return known.astype(np.int64)
