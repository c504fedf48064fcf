"""The answer: which features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The selected features: ids in ascending order, with scores and names aligned.

    Its size is that of the selection, not of the data. A larger score is a better feature.
    """

    indices: NDArray[np.int64]
    scores: NDArray[np.float64]
    names: NDArray[Any] | None = None
    groups: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return self.indices.size

    def _best_first(self) -> NDArray[np.int64]:
        """Positions by falling score; of equal scores the lower id comes first."""
        return np.lexsort((self.indices, -self.scores))

    def ranked(
        self, most: int | None = None, more: Mapping[str, NDArray[Any] | None] = MappingProxyType({})
    ) -> list[dict[str, Any]]:
        """Every feature with its ``feature`` (id), ``score`` and, where known, ``name`` and ``group``, best first.

        The ``most`` best of them, if that is given. ``more`` has other columns, by title, aligned with the indices.
        """
        columns = {"feature": self.indices, "score": self.scores, "name": self.names, "group": self.groups, **more}
        order = self._best_first()[:most]
        known = {title: column[order].tolist() for title, column in columns.items() if column is not None}
        return [dict(zip(known, line, strict=True)) for line in zip(*known.values(), strict=True)]

    def top(self, k: int) -> Selection:
        """The ``k`` best of them, still in ascending order of id; of equal scores the lower id is the better."""
        best = np.sort(self._best_first()[:k])
        return Selection(
            self.indices[best],
            self.scores[best],
            None if self.names is None else self.names[best],
            None if self.groups is None else self.groups[best],
        )
