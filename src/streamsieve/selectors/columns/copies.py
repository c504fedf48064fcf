"""What methods share that drop exact copies of what they keep."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...kernels.columns.copies import NO_COPY
from ...state import State
from ..diagnosis import MOST_NAMED
from .base import ColumnLearner
from .noted import COPIES, Noted

DUPLICATES = ("drop", "keep")

C = TypeVar("C", bound=State)


class CopyDropper(ColumnLearner[C]):
    """Drops copies of kept columns, unless told to decide by its rule alone."""

    duplicates: str

    @property
    def _drops_copies(self) -> bool:
        """Return whether a copy of a kept column is dropped, whatever the rule says."""
        return self.duplicates == "drop"

    def _note_copies(self, block: ColumnBlock, copies: NDArray[np.int64]) -> None:
        """Take note of columns of a block that were dropped, each for being a copy of a kept feature."""
        found = np.flatnonzero(copies != NO_COPY)
        if not found.size:
            return
        here = {feature: column for column, feature in enumerate(block.ids.tolist())}
        texts = []
        for column in found[:MOST_NAMED].tolist():
            kept = int(copies[column])
            title = self.title_in(block, here[kept]) if kept in here else self.title(kept)
            texts.append(f"{self.title_in(block, column)} = {title}")
        self.memory.noted.setdefault(COPIES, Noted()).add(texts, int(found.size))

    @property
    def n_duplicates_(self) -> int:
        """Features that were dropped because they are equal to a kept one in every row."""
        return self.memory.noted.get(COPIES, Noted()).count

    def _details(self) -> dict[str, Any]:
        return {**super()._details(), "duplicates": self.n_duplicates_}
