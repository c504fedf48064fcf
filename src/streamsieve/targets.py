"""Targets, classes or numbers: how they are read and checked, in any form of the features.

``Target`` is a target known from the start, for methods that see all rows at once; ``Labels`` are
classes met row by row.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, prefix, row_prefix, spell
from .values import check_usable, normalize_labels

Kind = Literal["classes", "numbers"]
TASKS = ("auto", "classification", "regression")
TASK_OF_KIND: dict[Kind, str] = {"classes": "classification", "numbers": "regression"}
KIND_OF_TASK: dict[str, Kind] = {task: kind for kind, task in TASK_OF_KIND.items()}
BOTH: frozenset[Kind] = frozenset({"classes", "numbers"})
ONLY_CLASSES: frozenset[Kind] = frozenset({"classes"})
ONLY_NUMBERS: frozenset[Kind] = frozenset({"numbers"})
# integers with more different values may be numbers to predict, so a guess needs a warning
MAX_PLAUSIBLE_CLASSES = 50

ADVICE = "rows sorted by class teach little; shuffle them"
EARLY_ROWS = 2000  # of one class only: warn while the run can still be stopped
MIN_ROWS = 50  # for a judgement on the order of the labels
MIN_SWITCHES = 0.1  # of the switches in a random order
NONE_YET = -1
FOR_NUMBERS = "convert them to classes, or use a method that learns numbers"


class NewLabelError(DataError):
    """A label that is not one of the classes known so far.

    Learning can start again with it if the data can be read again.
    """

    def __init__(self, message: str, label: Any = None) -> None:
        super().__init__(message)
        self.label = label


class NotClassesError(DataError):
    """Numbers to predict were given to a method that learns classes.

    The message ends with ``FOR_NUMBERS``, and a caller adds the names of such methods.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A target ready for measuring.

    ``codes``, ``class_counts`` and ``classes`` are empty where it holds numbers.
    """

    kind: Kind
    numbers: NDArray[np.float64]  # weights (y - centre) / scale: of length 1 if all weights are 1
    codes: NDArray[np.int32]  # the class of every row
    class_counts: NDArray[np.float64]  # the sums of the weights of their rows
    weights: NDArray[np.float64]  # of rows; they sum to the number of rows
    classes: NDArray[Any]  # sorted
    centre: float
    scale: float

    @property
    def n_rows(self) -> int:
        return self.weights.size

    @property
    def n_classes(self) -> int:
        return self.class_counts.size

    def class_rows(self) -> dict[Any, int] | None:
        """Return the number of rows of every class; None for numbers."""
        if self.kind == "numbers":
            return None
        counts = np.bincount(self.codes, minlength=self.n_classes)
        return dict(zip(self.classes.tolist(), counts.tolist(), strict=True))


def read_target(
    y: Any,
    task: str = "auto",
    kinds: frozenset[Kind] = BOTH,
    class_weight: str | None = None,
    origin: str = "",
) -> Target:
    """Return the target of rows that are all known, of a kind that a method can learn.

    Numbers are used as they are, also as classes; text counts as 0, 1, ... in sorted order.
    """
    check_usable(y, "y", origin)
    y = normalize_labels(np.asarray(y), origin)
    if y.ndim != 1 or not y.size:
        raise DataError(
            f"{prefix(origin)}the target must be one value per row, not an array of shape {y.shape}"
        )
    is_number = y.dtype.kind in "biuf"
    if is_number and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{prefix(origin)}the target of row {row + 1} is {y[row]}; drop such rows")
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise DataError(
            f"{prefix(origin)}the target is {show(classes[0])} in all rows; nothing can depend"
            " on it"
        )
    kind = kind_of(y, classes, task, kinds, origin)
    weights = np.ones(y.size)
    if class_weight is not None:
        if kind == "numbers":
            raise DataError(
                f"{prefix(origin)}class_weight needs a target of classes, but this one holds"
                " numbers"
            )
        weights = (y.size / (classes.size * np.bincount(codes)))[codes]
    numbers = y.astype(np.float64) if is_number else codes.astype(np.float64)
    centre = float(np.average(numbers, weights=weights))
    scale = float(np.sqrt((weights * (numbers - centre) ** 2).sum()))
    numbers = weights * (numbers - centre) / scale
    if kind == "numbers":
        return Target(
            kind, numbers, np.empty(0, np.int32), np.empty(0), weights, np.empty(0), centre, scale
        )
    counts = np.bincount(codes, weights).astype(np.float64)
    return Target(kind, numbers, codes.astype(np.int32), counts, weights, classes, centre, scale)


def kind_of(
    y: NDArray[Any], values: NDArray[Any], task: str, kinds: frozenset[Kind], origin: str = ""
) -> Kind:
    """Return the kind of a target with these different ``values``, classes or numbers.

    As in scikit-learn's ``type_of_target``, numbers with fractions are a regression target and
    anything else is classes. ``kinds`` are those that the method learns; a method that learns only
    classes accepts any two values.
    """
    continuous = has_fractions(values)
    if task != "auto":
        kind = KIND_OF_TASK[task]
        if kind == "numbers" and y.dtype.kind not in "biuf":
            raise DataError(
                f"{prefix(origin)}{spell('task', 'regression')} needs a target of numbers, not"
                f" {show(y[0])}"
            )
        return kind
    if kinds == ONLY_CLASSES:
        if continuous and values.size > 2:
            raise NotClassesError(
                f"{prefix(origin)}this method learns classes, but the target has {values.size:,}"
                f" different numbers with fractions; {FOR_NUMBERS}"
            )
        return "classes"
    if not continuous and y.dtype.kind in "iuf" and values.size > MAX_PLAUSIBLE_CLASSES:
        warnings.warn(
            f"{prefix(origin)}the target has {values.size:,} different integers, taken as classes;"
            f" if they are numbers to predict, set {spell('task', 'regression')}, otherwise"
            f" {spell('task', 'classification')}",
            UserWarning,
            stacklevel=2,
        )
    return "numbers" if continuous else "classes"


def has_fractions(values: NDArray[Any]) -> bool:
    """Return True if values are numbers that are not all integers."""
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())


def show(label: Any) -> str:
    """Return a label as the user wrote it."""
    return repr(label.item() if isinstance(label, np.generic) else label)


def is_text(labels: NDArray[Any]) -> bool:
    """Return True if labels are text, not numbers or truth values."""
    return labels.dtype.kind in "OUS"


def labels_like(
    classes: NDArray[Any] | None, y: NDArray[Any] | None, origin: str
) -> NDArray[Any] | None:
    """Return labels that can be compared with ``classes``, or with numbers if ``classes`` is None.

    Raise DataError for other labels.
    """
    if y is None or not len(y):
        return y
    if classes is None:
        try:
            return y.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"{prefix(origin)}the model predicts numbers, but the target here is {show(y[0])}"
            ) from None
    if is_text(y) != is_text(classes):
        kinds = ("text", "numbers") if is_text(y) else ("numbers", "text")
        raise DataError(
            f"{prefix(origin)}the labels are {kinds[0]}, such as {show(y[0])}, but {kinds[1]}, such"
            f" as {show(classes[0])}, in training; write them in one form"
        )
    return y


class Encoded(NamedTuple):
    """The targets of some rows in the form in which they are learned: class codes, or numbers."""

    answers: NDArray[Any]
    classes: NDArray[Any]  # known after these rows, sorted
    swap: bool  # True if the only class known before is now the first of two


class Labels:
    """The classes, sorted, and statistics of the order of the labels so far.

    Without ``classes`` the first two labels met are the classes. While only one is known it counts
    as the second, positive class; ``encode`` says when another one, larger than it, swaps them.
    """

    def __init__(self, classes: Any | None = None) -> None:
        self.given = classes is not None
        self.classes: NDArray[Any] = np.unique(as_classes(classes)) if self.given else np.empty(0)
        if self.given and self.classes.size < 2:
            raise DataError(
                f"two classes are needed, {self.classes.size} given: {self.classes.tolist()}"
            )
        self.counts = np.zeros(max(2, self.classes.size), np.int64)  # rows of each class
        # the number of changes of class from row to row, and the class of the last row
        self.order = np.array([0, NONE_YET])
        self._codes: tuple[NDArray[Any] | None, dict[Any, int]] = None, {}  # of these classes

    @property
    def n_classes(self) -> int:
        return self.counts.size

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def encode(self, y: NDArray[Any] | None, origin: str, rows_before: int | None) -> Encoded:
        """Return the code of the class of each row, and the classes known with these rows.

        Raise an error for a label that is not a class. Nothing is changed: ``learn_classes`` and
        ``count`` do that, once the rows are accepted.
        """
        if y is None:
            raise DataError(f"{prefix(origin)}the rows have no labels, and learning needs them")
        classes = self.classes
        if not len(y):
            return Encoded(np.empty(0, np.int64), classes, False)
        if len(y) == 1 and self.order[1] != NONE_YET:
            code = self._code_of(y[0])
            if code is not None:
                return Encoded(np.array([code]), classes, False)
        if self.given and classes.dtype.kind == "U" and y.dtype.kind in "biuf":
            classes = classes_from_text(classes, y.dtype.kind)
        elif not self.given and classes.size < 2:
            classes = self._with_first(y)
        swap = self.classes.size == 1 and classes.size == 2 and bool(self.classes[0] == classes[0])
        try:
            codes = np.searchsorted(classes, y)
        except TypeError:  # text among numbers, or numbers among text
            raise self._unknown_label_error(
                y[0], classes, row_prefix(origin, rows_before, 0)
            ) from None
        codes[codes == classes.size] = 0
        wrong = np.flatnonzero(classes[codes] != y)
        if wrong.size:
            raise self._unknown_label_error(
                y[wrong[0]], classes, row_prefix(origin, rows_before, int(wrong[0]))
            )
        codes += self.n_classes - classes.size  # one class alone is the second
        return Encoded(codes.astype(np.int64, copy=False), classes, swap)

    def learn_classes(self, encoded: Encoded) -> None:
        """Take over the classes known with some rows."""
        self.classes = encoded.classes
        if encoded.swap:
            self.counts = self.counts[::-1].copy()
            self.order[1] = 1 - self.order[1]

    def _code_of(self, label: Any) -> int | None:
        """Return the code of a known class; None for any other label.

        It avoids the arrays that are worth creating for many labels only.
        """
        if self._codes[0] is not self.classes:
            first = self.n_classes - self.classes.size  # one class alone is the second
            self._codes = (
                self.classes,
                {
                    class_label: code
                    for code, class_label in enumerate(self.classes.tolist(), first)
                },
            )
        return self._codes[1].get(label.item() if isinstance(label, np.generic) else label)

    def count(self, codes: NDArray[np.int64]) -> None:
        """Count rows that were learned."""
        if codes.size == 1:
            self.counts[codes[0]] += 1
        else:
            self.counts += np.bincount(codes, minlength=self.n_classes)
        if codes.size:
            self.order[0] += np.count_nonzero(codes[1:] != codes[:-1]) + int(
                self.order[1] not in (NONE_YET, codes[0])
            )
            self.order[1] = codes[-1]

    def _with_first(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the classes with the first labels met added, up to two."""
        distinct, first = np.unique(y, return_index=True)
        previous = self.classes.tolist()
        new = [label for label in distinct[np.argsort(first)].tolist() if label not in previous]
        return np.unique(previous + new[: 2 - len(previous)])

    def _unknown_label_error(self, label: Any, classes: NDArray[Any], where: str) -> DataError:
        """Return the error for a label that is not a class."""
        known_classes = " and ".join(show(each) for each in classes)
        if self.given:
            cure = "is not one of the classes given; correct the label or the classes"
        elif has_fractions(np.array([label, *classes.tolist()])):
            return NotClassesError(
                f"{where}label {show(label)} is a third one beside {known_classes}, and numbers"
                f" with fractions are hardly classes; {FOR_NUMBERS}"
            )
        else:
            cure = (
                f"is a third class beside {known_classes}; name all classes:"
                f" {spell('classes', ['A', 'B', 'C'])}"
            )
        return NewLabelError(f"{where}label {show(label)} {cure}", label)

    def check_two_classes(self, origin: str) -> None:
        """Raise DataError, at the end of the data, if fewer than two classes were met."""
        if np.count_nonzero(self.counts) >= 2:
            return
        if not self.n_rows:
            raise DataError(f"{prefix(origin)}there are no rows to learn from")
        raise DataError(
            f"{prefix(origin)}all {self.n_rows:,} rows are of one class,"
            f" {show(self._only_class())}; learning needs rows of two classes"
        )

    def _only_class(self) -> Any:
        """Return the most frequent class."""
        return self.classes[np.argmax(self.counts) - (self.n_classes - self.classes.size)]

    def order_warning(self, at_end: bool) -> str | None:
        """Return a warning on rows that are sorted by class; None if they are not."""
        changes = int(self.order[0])
        if changes and not at_end:
            return None
        rows = self.n_rows
        if not at_end and rows >= EARLY_ROWS and self.counts.max() == rows:
            return f"the first {rows:,} rows are all of class {show(self._only_class())}: {ADVICE}"
        expected = rows - float((self.counts.astype(float) ** 2).sum()) / max(rows, 1)
        if at_end and rows >= MIN_ROWS and changes < MIN_SWITCHES * expected:
            return f"the class changes only {changes:,} times in {rows:,} rows: {ADVICE}"
        return None


def as_classes(classes: Any) -> NDArray[Any]:
    """Return the classes that a user gives, as labels."""
    check_usable(classes, "classes")
    return normalize_labels(np.asarray(classes))


def classes_from_text(texts: NDArray[Any], kind: str) -> NDArray[Any]:
    """Return classes written on a command line as labels of the kind that the rows have.

    They are returned as they are if the conversion would make two of them equal.
    """
    truth = {"true": True, "false": False, "1": True, "0": False}
    try:
        if kind == "b":
            classes = np.unique([truth[text.strip().lower()] for text in texts.tolist()])
        else:
            integers = kind != "f"
            classes = np.unique(
                [
                    int(text) if integers and text.strip("+- ").isdigit() else float(text)
                    for text in texts.tolist()
                ]
            )
    except (KeyError, ValueError):
        return texts
    return classes if classes.size == texts.size else texts
