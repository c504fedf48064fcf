"""What methods share whose features arrive in groups."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, prefix
from ...kernels.arrays import NO_GROUP
from ...model import texts_of_arrays, texts_to_arrays
from ...sources.groups import labels_of_groups
from ...state import Arrays, State, copied
from .base import ColumnLearner, are_repeated

NAMED_GROUPS, GROUP_NAMES = "named_groups", "group_names"  # arrays of a model


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
    """Decides about a group when it is complete, that is when the next one begins: an author writes ``_close``.

    Groups are integers; what they are called is kept beside them, where they have names.
    """

    knows_groups: ClassVar[bool] = True

    def _close(self, state: D) -> None:
        """Decide about the group that is open, in place."""
        raise NotImplementedError

    def _close_open(self, state: D) -> None:
        self._close(state)
        state.current[0] = NO_GROUP

    def _finish(self, state: D) -> D:
        copy = copied(state)
        self._close_open(copy)
        return copy

    def _numbers(self, state: D) -> NDArray[np.int64]:
        """The groups of the kept features."""
        return state.group[state.order[: self._kept(state)[0].size]]

    def _groups(self, state: D) -> NDArray[Any]:
        numbers = self._numbers(state)
        return np.array(self._group_names(numbers), object) if self.memory.group_names else numbers

    def _group_names(self, numbers: NDArray[np.int64]) -> list[str]:
        """What groups are called; one that came by its number alone, among others with names, by that."""
        names = self.memory.group_names
        return [names.get(group, str(group)) for group in numbers.tolist()]

    # ---- names

    def name_groups(self, names: NDArray[Any] | None) -> None:
        if names is not None:
            self.memory.group_names = {group: str(name) for group, name in enumerate(names)}

    def numbers_of(self, groups: Any, n_columns: int) -> NDArray[np.int64]:
        """The groups of some more columns as integers, of which names that are new get the next."""
        given = labels_of_groups(groups)
        if len(given) != n_columns:
            raise DataError(f"groups: {len(given):,} for {n_columns:,} columns; give one for each")
        memory = self.memory
        known = {name: group for group, name in memory.group_names.items()}
        named = any(isinstance(group, str) for group in given)
        if memory.counts[0] and given and named != bool(known):
            raise DataError("groups: integers before and names now, or the other way round; take one of both")
        if not named:
            memory.group_names = {}
            return np.array(given, np.int64)
        following = max(known.values(), default=NO_GROUP) + 1
        for name in map(str, given):
            if name not in known:
                known[name], following = following, following + 1
        memory.group_names = {group: name for name, group in known.items()}
        return np.array([known[str(name)] for name in given], np.int64)

    def _refuse_repeated(self, block: ColumnBlock) -> None:
        """Refuse features, and groups, that come twice; a group may go on with the first columns of a block."""
        super()._refuse_repeated(block)
        groups, state = groups_of(block), self.memory.state
        runs = groups[np.append(True, groups[1:] != groups[:-1])]
        before = np.isin(runs, np.append(self._numbers(state), state.current))
        before[0] &= runs[0] != state.current[0]
        twice = before | are_repeated(runs)
        if not twice.any():
            return
        group = int(runs[twice][0])
        name = self.memory.group_names.get(group, group)
        raise DataError(
            f"{prefix(block.origin)}group {name!r} comes in two parts, and these columns come one after the other; "
            "bring those of a group together, or give all columns at once with their groups (--groups FILE, groups=...)"
        )

    # ---- saving

    def _arrays(self) -> Arrays:
        memory, arrays = self.memory, super()._arrays()
        if memory.group_names:
            numbers = np.unique(np.append(self._numbers(memory.state), memory.state.current))
            numbers = numbers[numbers != NO_GROUP]
            arrays |= {NAMED_GROUPS: numbers, **texts_to_arrays(GROUP_NAMES, self._group_names(numbers))}
        return arrays

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        names = texts_of_arrays(GROUP_NAMES, arrays)
        named = arrays.pop(NAMED_GROUPS, np.empty(0, np.int64))
        for part in ("text", "offsets"):
            arrays.pop(f"{GROUP_NAMES}.{part}", None)
        if named.dtype != np.int64 or named.shape != (0 if names is None else names.size,):
            raise ValueError("the names of its groups do not fit them")
        super()._restore(header, arrays)
        if names is None:
            return
        state = self.memory.state
        groups = np.append(self._numbers(state), state.current)
        known = dict(zip(named.tolist(), names.tolist(), strict=True))
        if set(groups.tolist()) - {NO_GROUP} != set(known) or len(set(known.values())) < named.size:
            raise ValueError("the names of its groups do not fit them")
        self.memory.group_names = known


def groups_of(block: ColumnBlock) -> NDArray[np.int64]:
    """The group of every column; columns that come without groups are a group each."""
    groups = block.ids if block.groups is None else np.asarray(block.groups, np.int64)
    if groups.min() < 0:
        raise DataError(f"group {int(groups.min())} is negative; groups are integers of 0 or more")
    return groups
