"""What methods share whose features arrive in groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError
from ...selection import Selection
from .base import ColumnLearner

NO_GROUP = -1


class GroupLearner(ColumnLearner):
    """A learner whose state has the ``group`` of every slot; what is kept stands first in its ``order``."""

    knows_groups: ClassVar[bool] = True

    def selection(self) -> Selection:
        """The selected features, with scores, names and groups; its size is that of the selection."""
        state: Any = self._state
        slots = state.order[: self._kept(state)[0].size]
        order = np.argsort(state.ids[slots])
        return replace(super().selection(), groups=state.group[slots][order])


def groups_of(block: ColumnBlock) -> NDArray[np.int64]:
    """The group of every column; columns that come without groups are a group each."""
    groups = block.ids if block.groups is None else np.asarray(block.groups, np.int64)
    if groups.min() < 0:
        raise DataError(f"group {int(groups.min())} is negative; groups are whole numbers of 0 or more")
    return groups


def in_two_parts(group: int) -> DataError:
    return DataError(f"group {group} comes in two parts; the features of a group must come together")
