"""Classes out of a stream of labels, known beforehand or met on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError

ADVICE = "rows sorted by class teach little; shuffle them"
EARLY_ROWS = 2000  # with one class only: say so while there is time to stop
LEAST_ROWS = 50  # to judge the order of the labels by
FEW_SWITCHES = 0.1  # of those that a random order has
NONE_YET = -1


def show(label: Any) -> str:
    """A label as the user wrote it."""
    return repr(label.item() if isinstance(label, np.generic) else label)


class Labels:
    """The classes, sorted, and what the order of the labels has been so far.

    Without ``classes`` the first two labels met are the classes. While only one is known it counts as the second, the
    positive one; ``encode`` says when another, larger than it, turns that around.
    """

    def __init__(self, classes: Any | None = None) -> None:
        self.given = classes is not None
        self.classes: NDArray[Any] = np.unique(np.asarray(classes)) if self.given else np.empty(0)
        if self.given and self.classes.size < 2:
            raise DataError(f"two classes are needed, {self.classes.size} given: {self.classes.tolist()}")
        self.counts = np.zeros(max(2, self.classes.size), np.int64)  # rows of each class
        self.order = np.array([0, NONE_YET])  # changes of class from row to row, class of the last row

    @property
    def n_classes(self) -> int:
        return self.counts.size

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def encode(self, y: NDArray[Any] | None, origin: str) -> tuple[NDArray[np.int64], bool]:
        """The number of each row's class; and whether the two classes so far must be swapped."""
        if y is None:
            raise DataError(f"{place(origin)}the rows have no labels, and learning needs them")
        if not len(y):
            return np.empty(0, np.int64), False
        if self.given and self.classes.dtype.kind == "U" and y.dtype.kind in "biuf":
            self.classes = classes_from_text(self.classes, y.dtype.kind)
        swap = not self.given and self.classes.size < 2 and self._discover(y)
        if swap:
            self.counts = self.counts[::-1].copy()
            self.order[1] = 1 - self.order[1]
        try:
            codes = np.searchsorted(self.classes, y)
        except TypeError:  # text among numbers, or numbers among text
            raise self._unknown(y[0], self.n_rows + 1, origin) from None
        codes[codes == self.classes.size] = 0
        wrong = np.flatnonzero(self.classes[codes] != y)
        if wrong.size:
            raise self._unknown(y[wrong[0]], self.n_rows + int(wrong[0]) + 1, origin)
        codes = codes.astype(np.int64) + (self.n_classes - self.classes.size)  # one class alone is the second
        self.order[0] += np.count_nonzero(np.diff(codes)) + int(self.order[1] not in (NONE_YET, codes[0]))
        self.order[1] = codes[-1]
        return codes, swap

    def count(self, codes: NDArray[np.int64]) -> None:
        """Take note of rows that were learned."""
        self.counts += np.bincount(codes, minlength=self.n_classes)

    def _discover(self, y: NDArray[Any]) -> bool:
        """Add the first labels met, up to two; whether the class known before is now the first of them."""
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
            cure = f"is a third class beside {known}; name all classes with classes=[...] (--classes A,B,C)"
        return DataError(f"{place(origin)}row {row}: label {show(label)} {cure}")

    def refuse_one_class(self, origin: str) -> None:
        """At the end of the data: at least two classes must have been there."""
        if np.count_nonzero(self.counts) >= 2:
            return
        if not self.n_rows:
            raise DataError(f"{place(origin)}there are no rows to learn from")
        raise DataError(
            f"{place(origin)}all {self.n_rows:,} rows are of one class, {show(self._only())}; "
            "learning needs rows of two classes"
        )

    def _only(self) -> Any:
        return self.classes[np.argmax(self.counts) - (self.n_classes - self.classes.size)]

    def order_warning(self, at_end: bool) -> str | None:
        """What to say about rows that come sorted by class, if they do."""
        rows, changes = self.n_rows, int(self.order[0])
        if not at_end and rows >= EARLY_ROWS and self.counts.max() == rows:
            return f"the first {rows:,} rows are all of class {show(self._only())}: {ADVICE}"
        expected = rows - float((self.counts.astype(float) ** 2).sum()) / max(rows, 1)
        if at_end and rows >= LEAST_ROWS and changes < FEW_SWITCHES * expected:
            return f"the class changes only {changes:,} times in {rows:,} rows: {ADVICE}"
        return None


def classes_from_text(texts: NDArray[Any], kind: str) -> NDArray[Any]:
    """Classes written on a command line as labels of the kind that rows have; as they are if that makes no two."""
    truth = {"true": True, "false": False, "1": True, "0": False}
    try:
        if kind == "b":
            classes = np.unique([truth[text.strip().lower()] for text in texts.tolist()])
        elif kind == "f":
            classes = np.unique([float(text) for text in texts.tolist()])
        else:
            classes = np.unique([int(text) if text.strip("+- ").isdigit() else float(text) for text in texts.tolist()])
    except (KeyError, ValueError):
        return texts
    return classes if classes.size == texts.size else texts


def place(origin: str) -> str:
    return f"{origin}: " if origin else ""
