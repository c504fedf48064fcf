"""Records of a run while it learns: mistakes or R2, and the changes of the selection.

A record is made eight times per doubling of the number of rows or features learned, so a long run
has only a few records more than a short one, and their cost is negligible. The points depend on
counts alone, never on the blocks in which the data comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .selectors.base import AnyLearner

FIRST_LOOK = 32  # rows, or features for methods that read columns
PER_DOUBLING = 8
MAX_IDS = 50_000  # in a history: a longer one becomes coarser in time
MAX_FOLLOWED_WHOLE = 10_000  # features of a selection that is followed as a whole
MAX_FOLLOWED = 1_000  # features that are followed of a larger selection, the best ones

Trace = list[dict[str, float]]
Ids = NDArray[np.int64]
Change = tuple[list[int], list[int]]  # the ids that entered, and those that left


def next_look(count: int) -> int:
    """Return the first count after ``count`` at which a record is made.

    The counts are 32, 36, ..., 64, 72, ..., 128, 144, ...
    """
    if count < FIRST_LOOK:
        return FIRST_LOOK
    step = (1 << (count.bit_length() - 1)) // PER_DOUBLING
    return (count // step + 1) * step


def trace_point(learner: AnyLearner) -> dict[str, float]:
    """Return the counters of the predictions so far."""
    counted = learner.results.counters()._asdict()
    return {"rows": learner.n_learned} | {
        name: count for name, count in counted.items() if count is not None
    }


@dataclass(slots=True, eq=False)
class History:
    """The changes of the selection: the features that entered and left it since the previous look.

    A very large selection is not followed as a whole, only its best features; then it is not
    ``complete``.
    """

    unit: str
    changes: dict[int, Change] = field(default_factory=dict)  # by count of rows or features
    complete: bool = True
    now: Ids = field(default_factory=lambda: np.empty(0, np.int64))  # ascending

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> History:
        """Return the history that ``to_dict`` stored, to continue it."""
        both = zip(content["entered"], content["left"], strict=True)
        changes = dict(zip(content["at"], both, strict=True))
        followed: set[int] = set()
        for entered, left in changes.values():
            followed = (followed - set(left)) | set(entered)
        now = np.array(sorted(followed), np.int64)
        return cls(content["unit"], changes, content["complete"], now)

    def to_dict(self) -> dict[str, Any]:
        """Return the history as a record and the note of a checkpoint have it."""
        return {
            "unit": self.unit,
            "at": list(self.changes),
            "entered": [entered for entered, _ in self.changes.values()],
            "left": [left for _, left in self.changes.values()],
            "complete": self.complete,
        }

    def note(self, count: int, ids: Ids, scores: NDArray[np.float64]) -> None:
        """Record the selection after so many rows or features."""
        if self.complete and ids.size > MAX_FOLLOWED_WHOLE:
            self.complete, self.now, self.changes = False, self.now[:0], {}
        if not self.complete and ids.size > MAX_FOLLOWED:
            ids = ids[np.lexsort((ids, -scores))[:MAX_FOLLOWED]]
        ids = np.sort(ids)
        if np.array_equal(ids, self.now):
            return
        # sets are faster than arrays for so few ids
        now, before = set(ids.tolist()), set(self.now.tolist())
        self.now = ids
        self._add(count, sorted(now - before), sorted(before - now))
        if self.n_ids > MAX_IDS:
            self._halve(MAX_IDS // 2)

    @property
    def n_ids(self) -> int:
        return sum(len(entered) + len(left) for entered, left in self.changes.values())

    def _add(self, count: int, entered: list[int], left: list[int]) -> None:
        # a change at the end is merged with the one at the same count
        entered, left = merge_changes(*self.changes.pop(count, ([], [])), entered, left)
        if entered or left:
            self.changes[count] = entered, left

    def _halve(self, enough: int) -> None:
        """Merge changes in pairs until there are few enough ids.

        The selection at the end stays the same.
        """
        while self.n_ids > enough and len(self.changes) > 1:
            looks = list(self.changes.items())
            self.changes = {}
            for (_, first), (count, second) in zip(looks[::2], looks[1::2], strict=False):
                self._add(count, *merge_changes(*first, *second))
            self.changes.update(looks[len(looks) // 2 * 2 :])  # the last of an odd number


def merge_changes(
    entered: list[int], left: list[int], then_entered: list[int], then_left: list[int]
) -> Change:
    """Return two consecutive changes as one: the ids that entered and the ids that left."""
    all_entered = (set(entered) - set(then_left)) | (set(then_entered) - set(left))
    all_left = (set(left) - set(then_entered)) | (set(then_left) - set(entered))
    return sorted(all_entered), sorted(all_left)


@dataclass(slots=True, eq=False)
class Recording:
    """The records of a run in progress; a checkpoint stores them as its note."""

    trace: Trace = field(default_factory=list)
    history: History | None = None
    earlier: int = 0  # rows that were learned from other data before the run

    @classmethod
    def from_note(cls, note: Mapping[str, Any], earlier: int = 0) -> Recording:
        """Return the records of a checkpoint; workers of an engine record no history."""
        history = note.get("history")
        return cls(
            note.get("trace", []),
            None if history is None else History.from_dict(history),
            earlier,
        )

    def to_note(self) -> dict[str, Any]:
        return {
            "trace": self.trace,
            "history": None if self.history is None else self.history.to_dict(),
        }

    def restart(self) -> None:
        """Discard all records: learning starts again."""
        self.trace, self.history = [], None

    def look(self, learner: AnyLearner) -> None:
        """Record the progress of a learner, if its count is one of those to record."""
        count = learner.n_learned
        if next_look(count - 1) != count:
            return
        if learner.reads == "rows":
            self.trace.append(trace_point(learner))
        kept = learner.results.current_selection()
        if kept is not None:
            self._history_of(learner).note(count, *kept)

    def finish(self, learner: AnyLearner) -> None:
        """Record the end: the last row, and the selection."""
        count, selection = learner.n_learned, learner.results.selection()
        if learner.reads == "rows" and (not self.trace or self.trace[-1]["rows"] != count):
            self.trace.append(trace_point(learner))
        self._history_of(learner).note(count, selection.indices, selection.scores)

    def _history_of(self, learner: AnyLearner) -> History:
        self.history = self.history or History("rows" if learner.reads == "rows" else "features")
        return self.history
