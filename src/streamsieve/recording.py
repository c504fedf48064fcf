"""What a run records of itself while it learns: mistakes or R2, and which features entered and left the selection.

It looks eight times per doubling of what was learned, so a long run has few looks more than a short
one, and what they cost is lost in it. Where looks are depends on counts alone, never on how the
data comes in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .selectors.base import AnyLearner

FIRST_LOOK = 32  # rows, or features for methods that take columns
PER_DOUBLING = 8
MAX_IDS = 50_000  # in a history: beyond that it becomes coarser in time
MAX_FOLLOWED_WHOLE = 10_000  # features of a selection that is followed as a whole
MAX_FOLLOWED = 1_000  # features, the best, of a larger one
STORED = (
    "unit",
    "at",
    "entered",
    "left",
    "complete",
)  # of a history, in a record and in the note of a checkpoint

Trace = list[dict[str, float]]
Ids = NDArray[np.int64]


def next_look(count: int) -> int:
    """The first count after ``count`` at which a run looks at itself: 32, 36, ..., 64, 72, ..., 128, 144, ..."""
    if count < FIRST_LOOK:
        return FIRST_LOOK
    step = (1 << (count.bit_length() - 1)) // PER_DOUBLING
    return (count // step + 1) * step


def trace_point(learner: AnyLearner) -> dict[str, float]:
    """What is known of the predictions so far."""
    counted = learner.results.counters()._asdict()
    return {"rows": learner.n_learned} | {
        name: count for name, count in counted.items() if count is not None
    }


@dataclass(slots=True, eq=False)
class History:
    """Which features were in the selection, and when: what entered and left since the look before.

    A selection of very many features is not followed as a whole but by its best ones, and is not
    ``complete`` then.
    """

    unit: str
    at: list[int] = field(default_factory=list)
    entered: list[list[int]] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)
    complete: bool = True
    now: Ids = field(default_factory=lambda: np.empty(0, np.int64))  # ascending

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> History:
        """What ``to_dict`` gave, to go on with."""
        followed: set[int] = set()
        for entered, left in zip(content["entered"], content["left"], strict=True):
            followed = (followed - set(left)) | set(entered)
        return cls(
            **{name: content[name] for name in STORED}, now=np.array(sorted(followed), np.int64)
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in STORED}

    def note(self, count: int, ids: Ids, scores: NDArray[np.float64]) -> None:
        """Take note of the selection after so many rows or features."""
        if self.complete and ids.size > MAX_FOLLOWED_WHOLE:
            self.complete, self.now = False, self.now[:0]
            for changes in (self.at, self.entered, self.left):
                changes.clear()
        if not self.complete and ids.size > MAX_FOLLOWED:
            ids = ids[np.lexsort((ids, -scores))[:MAX_FOLLOWED]]
        ids = np.sort(ids)
        if np.array_equal(ids, self.now):
            return
        now, before = (
            set(ids.tolist()),
            set(self.now.tolist()),
        )  # quicker than arrays, for as few as these
        self.now = ids
        self._add(count, sorted(now - before), sorted(before - now))
        if self.n_ids > MAX_IDS:
            self._halve(MAX_IDS // 2)

    @property
    def n_ids(self) -> int:
        return sum(map(len, self.entered)) + sum(map(len, self.left))

    def _add(self, count: int, entered: list[int], left: list[int]) -> None:
        if (
            self.at and self.at[-1] == count
        ):  # what is decided at the end is one change with the look before
            self.at.pop()
            entered, left = joined(self.entered.pop(), self.left.pop(), entered, left)
        if entered or left:
            self.at.append(count)
            self.entered.append(entered)
            self.left.append(left)

    def _halve(self, enough: int) -> None:
        """Make one change of every two, until there are few enough ids; the selection at the end stays the same."""
        while self.n_ids > enough and len(self.at) > 1:
            looks = list(zip(self.at, self.entered, self.left, strict=True))
            self.at, self.entered, self.left = [], [], []
            for (_, *first), (at, *second) in zip(looks[::2], looks[1::2], strict=False):
                self._add(at, *joined(*first, *second))
            if len(looks) % 2:
                self._add(*looks[-1])


def joined(
    entered: list[int], left: list[int], then: list[int], gone: list[int]
) -> tuple[list[int], list[int]]:
    """Two changes, one after the other, as one: what entered and left, ``then`` entered and was ``gone``."""
    came = (set(entered) - set(gone)) | (set(then) - set(left))
    went = (set(left) - set(then)) | (set(gone) - set(entered))
    return sorted(came), sorted(went)


@dataclass(slots=True, eq=False)
class Recording:
    """The record of a run on its way; a checkpoint has it as its note."""

    trace: Trace = field(default_factory=list)
    history: History | None = None

    @classmethod
    def from_note(cls, note: Mapping[str, Any]) -> Recording:
        """Return that of a checkpoint; workers of an engine note no history."""
        known = note.get("history")
        return cls(note.get("trace", []), None if known is None else History.from_dict(known))

    def to_note(self) -> dict[str, Any]:
        return {
            "trace": self.trace,
            "history": None if self.history is None else self.history.to_dict(),
        }

    def restart(self) -> None:
        """Forget everything: learning begins again."""
        self.trace, self.history = [], None

    def look(self, learner: AnyLearner) -> None:
        """Take note of how far a learner is, if this is a count to look at."""
        count = learner.n_learned
        if next_look(count - 1) != count:
            return
        if learner.reads == "rows":
            self.trace.append(trace_point(learner))
        kept = learner.results.kept_now()
        if kept is not None:
            self._history_of(learner).note(count, *kept)

    def finish(self, learner: AnyLearner) -> None:
        """Take note of the end: the last row, and the selection as it is now."""
        count, selection = learner.n_learned, learner.results.selection()
        if learner.reads == "rows" and (not self.trace or self.trace[-1]["rows"] != count):
            self.trace.append(trace_point(learner))
        self._history_of(learner).note(count, selection.indices, selection.scores)

    def _history_of(self, learner: AnyLearner) -> History:
        self.history = self.history or History("rows" if learner.reads == "rows" else "features")
        return self.history
