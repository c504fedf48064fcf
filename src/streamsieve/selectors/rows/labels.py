"""Two classes out of a stream of labels, known beforehand or met on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError

ADVICE = "rows sorted by class teach little; shuffle them"
EARLY_ROWS = 2000  # with one class only: say so while there is time to stop
LEAST_ROWS = 50  # to judge the order of the labels by
FEW_SWITCHES = 0.1  # of those that a random order has


def show(label: Any) -> str:
    """A label as the user wrote it."""
    return repr(label.item() if isinstance(label, np.generic) else label)


class Labels:
    """The classes, sorted, and what the order of the labels has been so far.

    While only one class is known it counts as the positive one; ``encode`` says when a second one, larger than it,
    turns that around.
    """

    def __init__(self, classes: Any | None = None) -> None:
        self.given = classes is not None
        self.classes: NDArray[Any] = np.unique(np.asarray(classes)) if self.given else np.empty(0)
        if self.given and self.classes.size != 2:
            raise DataError(f"two classes are needed, {self.classes.size} were given: {self.classes.tolist()}")
        self.order = np.zeros(4, np.int64)  # rows, positive rows, changes from row to row, last sign

    def encode(self, y: NDArray[Any] | None, origin: str) -> tuple[NDArray[np.int8], bool]:
        """+1 for the second of the classes and -1 for the first; and whether earlier signs must be turned around."""
        if y is None:
            raise DataError(f"{place(origin)}the rows have no labels, and learning needs them")
        flip = not self.given and self.classes.size < 2 and self._discover(y)
        positive = y == self.classes[-1]
        known = positive if self.classes.size == 1 else positive | (y == self.classes[0])
        if not np.all(known):
            at = int(np.flatnonzero(~known)[0])
            raise self._unknown(y[at], int(self.order[0]) + at + 1, origin)
        signs = np.where(positive, 1, -1).astype(np.int8)
        if flip:
            self.order[1] = self.order[0] - self.order[1]
            self.order[3] = -self.order[3]
        self._note_order(signs)
        return signs, flip

    def _discover(self, y: NDArray[Any]) -> bool:
        """Add the first labels met, up to two; whether the class known before is now the negative one."""
        found, first = np.unique(y, return_index=True)
        before = self.classes.tolist()
        new = [label for label in found[np.argsort(first)].tolist() if label not in before]
        self.classes = np.unique(before + new[: 2 - len(before)])
        return len(before) == 1 and self.classes.size == 2 and before[0] == self.classes[0]

    def _unknown(self, label: Any, row: int, origin: str) -> DataError:
        known = " and ".join(show(known) for known in self.classes)
        if self.given:
            cure = "is not one of the classes given; correct the label or the classes (--classes)"
        else:
            cure = (
                f"is a third class beside {known}; name the classes of a two-class problem with classes=[...] "
                "(--classes A,B) and leave the other rows out"
            )
        return DataError(f"{place(origin)}row {row}: label {show(label)} {cure}")

    def _note_order(self, signs: NDArray[np.int8]) -> None:
        if signs.size:
            changes = np.count_nonzero(np.diff(signs)) + (self.order[3] == -signs[0])
            self.order += [signs.size, np.count_nonzero(signs > 0), changes, 0]
            self.order[3] = signs[-1]

    def refuse_one_class(self, origin: str) -> None:
        """At the end of the data: both classes must have been there."""
        rows, positive = self.order[:2].tolist()
        if 0 < positive < rows:
            return
        if not rows:
            raise DataError(f"{place(origin)}there are no rows to learn from")
        only = self.classes[-1] if positive else self.classes[0]
        raise DataError(
            f"{place(origin)}all {rows:,} rows are of one class, {show(only)}; learning needs rows of two classes"
        )

    def order_warning(self, at_end: bool) -> str | None:
        """What to say about rows that come sorted by class, if they do."""
        rows, positive, changes, _ = self.order.tolist()
        if not at_end and rows >= EARLY_ROWS and positive in (0, rows):
            only = self.classes[-1] if positive else self.classes[0]
            return f"the first {rows:,} rows are all of class {show(only)}: {ADVICE}"
        expected = 2 * positive * (rows - positive) / max(rows, 1)
        if at_end and rows >= LEAST_ROWS and changes < FEW_SWITCHES * expected:
            return f"the class changes only {changes:,} times in {rows:,} rows: {ADVICE}"
        return None


def place(origin: str) -> str:
    return f"{origin}: " if origin else ""
