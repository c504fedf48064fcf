"""The record of a run: what it was given, what it found and what it cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..selection import Selection
from .shapes import MORE_OF_RECORD, RECORD, wrong_fields

if TYPE_CHECKING:
    from ..estimators import Estimator

ALIGNED = "weights", "speaks_for"  # details with an entry per selected feature


@dataclass(slots=True, eq=False)
class RunRecord:
    """What a run was given, what it found and what it cost; what only some methods have is in ``details``."""

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
    test_r2: float | None = None
    curve: dict[str, list[Any]] | None = None
    measures: dict[str, int] | None = None  # how many relevant features were measured by what
    trace: list[dict[str, float]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    open_selector: Callable[[], Estimator] | None = None

    @property
    def selector(self) -> Estimator | None:
        """The trained estimator; a record read from a file has none."""
        return None if self.open_selector is None else self.open_selector()

    def ranked(self, most: int | None = None) -> list[dict[str, Any]]:
        """The selected features, or the ``most`` best, as ``Selection.ranked`` has them.

        Where features have weights also the ``weight`` and, where classes are learned, the ``class`` it speaks for: of
        more than two classes, the largest weight and its class.
        """
        weights, classes = (self.details.get(key) for key in ALIGNED)
        if weights is None:
            return self.selection.ranked(most)
        values = np.array(weights, np.float64)
        if classes is None:
            return self.selection.ranked(most, {"weight": values})
        largest = values.max(axis=1) if values.ndim > 1 else values
        labels = np.empty(len(classes), object)
        labels[:] = classes
        return self.selection.ranked(most, {"weight": largest, "class": labels})

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary that JSON can hold; ``from_dict`` reads it back, without the selector."""
        selection = self.selection
        record: dict[str, Any] = {
            "method": self.method,
            "params": self.params,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "n_nonzero": self.n_nonzero,
            "n_selected": len(selection),
            "selected": selection.indices.tolist(),
            "scores": selection.scores.tolist(),
            "mistakes": self.mistakes,
            "updates": self.updates,
            "seconds": self.seconds,
            "peak_memory_bytes": self.peak_memory_bytes,
            "trace": self.trace,
            "data": self.data,
            "details": self.details,
        }
        known = {"names": None if selection.names is None else selection.names.tolist()}
        known |= {
            "test_accuracy": self.test_accuracy,
            "test_r2": self.test_r2,
            "curve": self.curve,
            "measures": self.measures,
        }
        return record | {key: value for key, value in known.items() if value is not None}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> RunRecord:
        """The record in a file; a ValueError if it is not what ``to_dict`` gives."""
        wrong = wrong_fields(record, RECORD, MORE_OF_RECORD)
        if wrong:
            raise ValueError(f"{wrong[0]!r} is {str(record.get(wrong[0], 'not there'))[:40]}")
        names, groups = record.get("names"), record.get("details", {}).get("groups")
        selection = Selection(
            np.array(record["selected"], np.int64),
            np.array(record["scores"], np.float64),  # nan for None, as JSON has it
            None if names is None else np.array(names, dtype=object),
            None if groups is None else np.array(groups, np.int64),
        )
        aligned = [record.get("details", {}).get(key) for key in ALIGNED]
        for column in (selection.scores, selection.names, selection.groups, *aligned):
            if column is not None and len(column) != len(selection):
                raise ValueError("scores, names, groups or weights do not fit the selected features")
        same = {key: record[key] for key in cls.__dataclass_fields__ if key in record}
        return cls(selection=selection, **same)
