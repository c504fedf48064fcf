"""The answer: which features, and the record of the run that chose them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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

    def ranked(self) -> list[tuple[Any, ...]]:
        """(id, score) or (id, score, name) of every feature, best first."""
        columns = [self.indices, self.scores] if self.names is None else [self.indices, self.scores, self.names]
        order = self._best_first()
        return list(zip(*(column[order].tolist() for column in columns), strict=True))

    def top(self, k: int) -> Selection:
        """The ``k`` best of them, still in ascending order of id; of equal scores the lower id is the better."""
        best = np.sort(self._best_first()[:k])
        return Selection(
            self.indices[best],
            self.scores[best],
            None if self.names is None else self.names[best],
            None if self.groups is None else self.groups[best],
        )


@dataclass(slots=True, eq=False)
class RunRecord:
    """What a run was given, what it found and what it cost."""

    method: str
    params: dict[str, Any]
    n_rows: int
    n_features: int
    n_nonzero: int
    selection: Selection
    mistakes: int | None
    updates: int | None
    seconds: dict[str, float]
    peak_memory_bytes: int
    test_accuracy: float | None = None
    curve: dict[str, list[Any]] | None = None
    measures: dict[str, int] | None = None  # how many relevant features were measured by what
    trace: list[dict[str, int]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    open_selector: Callable[[], Any] | None = None

    @property
    def selector(self) -> Any:
        """The trained estimator; a record read from a file has none."""
        return None if self.open_selector is None else self.open_selector()

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary that JSON can hold; ``from_dict`` reads it back, without the selector."""
        names = self.selection.names
        record: dict[str, Any] = {
            "method": self.method,
            "params": self.params,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "n_nonzero": self.n_nonzero,
            "n_selected": len(self.selection),
            "selected": self.selection.indices.tolist(),
            "scores": self.selection.scores.tolist(),
            "mistakes": self.mistakes,
            "updates": self.updates,
            "seconds": self.seconds,
            "peak_memory_bytes": self.peak_memory_bytes,
            "trace": self.trace,
            "data": self.data,
        }
        if names is not None:
            record["names"] = names.tolist()
        if self.test_accuracy is not None:
            record["test_accuracy"] = self.test_accuracy
        if self.curve is not None:
            record["curve"] = self.curve
        if self.measures is not None:
            record["measures"] = self.measures
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> RunRecord:
        names = record.get("names")
        selection = Selection(
            np.array(record["selected"], np.int64),
            np.array(record["scores"], np.float64),
            None if names is None else np.array(names),
        )
        same = {key: record[key] for key in cls.__dataclass_fields__ if key in record}
        return cls(selection=selection, **same)
