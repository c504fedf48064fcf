"""A selector on rows that learns from dictionaries, one row at a time, or from data frames."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..blocks import RowBlock, nonzeros
from ..errors import DataError, UsageError
from ..estimators import Estimator
from ..kernels.reading.entries import NOT_FINITE, join_row
from ..selection import Selection
from ..selectors.prediction import Predictor
from ..sources.base import not_finite_error
from ..sources.named_rows import Entries, numbers_of
from ..targets import Kind
from ..values import normalize_labels
from .features import HashedNames, Vocabulary, as_objects

if TYPE_CHECKING:
    from pandas import DataFrame

Row = Mapping[Hashable, Any]

MAX_RECENT_ROWS = 1024  # rows from which learning restarts when a new class appears
MAX_FLOAT32 = float(np.finfo(np.float32).max)


class SelectorStream:
    """A selector that learns from rows of values by name.

    Features get ids as they appear; for a selector with ``max_cells`` ids are hashes of names, in
    memory that does not grow. Classes that were not given are discovered: two labels, or False and
    True, are learned as they are. With a third the rules of learning change, so that learning
    restarts from the last 1,024 rows.
    """

    def __init__(self, selector: Any, kinds: Iterable[Kind], classes: Any | None = None) -> None:
        self.selector = check_selector(selector, frozenset(kinds))
        self.learns_classes = "classes" in self.selector.method.targets
        self.classes = None if classes is None else list(classes)
        # True if a mean is subtracted before values are rounded
        self.exact = self.selector.new_learner().inputs.centres
        has_cells = getattr(selector, "max_cells", None) is not None  # a fixed memory
        self.features: Vocabulary | HashedNames = HashedNames() if has_cells else Vocabulary()
        self.learner: Any = None  # until there is something to learn
        self.labels: dict[Any, NDArray[Any]] = {}  # seen so far, each as an array of one
        self.recent: deque[RowBlock] = deque()
        self.n_recent = self.n_rows = 0
        self._predictor: Predictor | None = None
        self._selected_ids: frozenset[int] | None = None

    # ---- learning

    def learn(self, x: Row, y: Any, w: float) -> None:
        """Learn one row of weight ``w``."""
        with self._forget_if_refused() as width:
            block = self.block(x, learning=True)
            if w == 0.0:  # such a row changes nothing
                self.features.forget(width)
                return
            label = y.item() if isinstance(y, np.generic) else y
            labels = [label] if self.learns_classes else []
            self._check_labels(labels)
            weight = None if w == 1.0 else np.array([w], np.float64)
            self._learn(block.with_target(self._target_of(label), weight), labels)

    def learn_frame(self, X: DataFrame, y: Any, w: Any) -> None:
        """Learn the rows of a data frame, with a label each.

        ``w`` is the weight of all rows, or has one for each.
        """
        with self._forget_if_refused():
            block = self.frame_block(X, learning=True)
            target = normalize_labels(np.asarray(y))
            if target.shape != (block.n_rows,):
                raise DataError(f"X has {block.n_rows:,} rows, but y has {target.size:,} labels")
            weights = None
            if not isinstance(w, float | int) or w != 1.0:
                weights = np.array(np.broadcast_to(w, target.shape), np.float64)
            block = block.with_target(target, weights).without_zero_weights()
            labels = np.asarray(block.y).tolist() if self.learns_classes else []
            self._check_labels(labels)
            if block.n_rows:
                self._learn(block, list(dict.fromkeys(labels)))

    @contextmanager
    def _forget_if_refused(self) -> Iterator[int]:
        """Yield the width; remove the ids of new features if their rows are refused."""
        width = self.features.width()
        try:
            yield width
        except Exception:
            self.features.forget(width)
            raise

    def _check_labels(self, labels: list[Any]) -> None:
        for row, label in enumerate(labels, self.n_rows + 1):
            if label is None or (isinstance(label, float) and label != label):
                raise DataError(f"row {row:,}: the label is missing; drop such rows")
            if not isinstance(label, Hashable):
                raise DataError(
                    f"row {row:,}: the label is of type {type(label).__name__}; labels must be text"
                    " or numbers"
                )

    def _learn(self, block: RowBlock, labels: list[Any]) -> None:
        new, previous = [label for label in labels if label not in self.labels], self.learner
        try:
            if previous is None:
                self.learner = self._start_learner(new)
            elif new and self.classes is None and len(self.labels) + len(new) > 2:
                self._restart([*self.labels, *new])
            self.learner.partial_fit_block(block)
        except Exception:
            self.learner = previous  # a block that cannot be learned changes nothing
            raise
        self.labels.update((label, as_target(label)) for label in new)
        self._predictor = self._selected_ids = None
        self.n_rows += block.n_rows
        if self.learns_classes and self.classes is None:
            self._remember_rows(block)

    def _target_of(self, y: Any) -> NDArray[Any]:
        if not self.learns_classes and isinstance(y, int | float):
            return np.array([y], np.float64)
        target = self.labels.get(y) if self.learns_classes else None
        return as_target(y) if target is None else target

    def _start_learner(self, labels: list[Any]) -> Any:
        """Return a new learner of the selector for these classes, or for those given."""
        if self.classes is not None:
            labels = self.classes
        elif any(isinstance(label, bool) for label in labels):
            labels = [False, True, *(label for label in labels if not isinstance(label, bool))]
        return (
            clone(self.selector)
            .new_learner()
            .start(None, as_objects(labels) if len(labels) > 1 else None)
        )

    def _restart(self, labels: list[Any]) -> None:
        """Learn the last rows again, with more classes.

        The rules of learning for two classes differ from those for more, and depend on their
        number.
        """
        learner = self._start_learner(labels)
        for block in self.recent:
            learner.partial_fit_block(block)
        self.learner = learner
        if self.n_rows > self.n_recent:
            warnings.warn(
                f"row {self.n_rows + 1:,} has a new class, {labels[-1]!r}: learning restarted from"
                f" the last {self.n_recent:,} rows, and earlier rows are lost; give all classes"
                " beforehand: classes=[...]",
                UserWarning,
                stacklevel=5,
            )

    def _remember_rows(self, block: RowBlock) -> None:
        """Keep the last rows, and drop older ones."""
        self.recent.append(last_rows(block, MAX_RECENT_ROWS))
        self.n_recent += self.recent[-1].n_rows
        while self.n_recent > MAX_RECENT_ROWS:
            oldest = self.recent.popleft()
            n_kept = max(0, MAX_RECENT_ROWS - self.n_recent + oldest.n_rows)
            self.n_recent += n_kept - oldest.n_rows
            if n_kept:
                self.recent.appendleft(last_rows(oldest, n_kept))

    # ---- what was learned

    @property
    def predictor(self) -> Predictor:
        """Return the predictor of what was learned so far; requires a learner."""
        if self._predictor is None:
            self._predictor = self.learner.results.predictor()
        return self._predictor

    def class_labels(self) -> list[Any]:
        """Return the classes in the order of scores; requires a learner."""
        return list(self.learner.results.classes_.tolist())

    def selected_ids(self) -> frozenset[int]:
        """Return the ids of the selected features."""
        if self._selected_ids is None:
            self._selected_ids = (
                frozenset()
                if self.learner is None
                else frozenset(self.learner.results.selection().indices.tolist())
            )
        return self._selected_ids

    def selection(self) -> Selection:
        """Return the selected features with their names."""
        if self.learner is None:
            return Selection(np.empty(0, np.int64), np.empty(0), np.empty(0, object))
        selected = self.learner.results.selection()
        return Selection(
            selected.indices,
            selected.scores,
            self.features.feature_names(selected.indices, selected.names),
        )

    # ---- rows

    def block(self, x: Row, learning: bool) -> RowBlock:
        """Return the block of one row; if it is to be learned, new features get ids."""
        features = self.features
        try:
            values = np.array(list(x.values()))
        except ValueError:  # some are lists
            values = np.empty(0, object)
        if values.dtype != np.float64 or values.ndim > 1:
            values = numbers_of(
                Entries([str(name) for name in x], list(x.values()), [len(x)]), self.n_rows
            )
        ids = np.array(
            features.assign_ids(x) if learning else features.find_ids(x), features.id_type
        )
        kept_ids = np.empty(ids.size, ids.dtype)
        kept: NDArray[Any] = np.empty(ids.size, np.float64 if self.exact else np.float32)
        filled = join_row(ids, values, kept_ids, kept)
        if filled == NOT_FINITE:
            at = int(np.argmax(~(np.abs(values) <= MAX_FLOAT32)))
            raise not_finite_error("", self.n_rows + 1, repr(list(x)[at]), float(values[at]))
        names, width = (
            (features.block_names(ids, x), features.width())
            if learning
            else (None, features.width(ids.size))
        )
        indptr = np.array([0, filled])
        return RowBlock.trusted(indptr, kept_ids[:filled], kept[:filled], None, width, names=names)

    def frame_block(self, X: DataFrame, learning: bool) -> RowBlock:
        """Return the rows of a data frame as a block."""
        columns = X.columns.tolist()
        if len(set(columns)) < len(columns):
            raise DataError(
                "a column name appears twice in the data frame; give each column a different name"
            )
        values = np.empty(X.shape)
        for at, column in enumerate(columns):
            numbers = X[column].to_numpy()
            if numbers.dtype.kind not in "biuf":
                numbers = numbers_of(
                    Entries([str(column)] * len(X), numbers.tolist(), [1] * len(X)), self.n_rows
                )
            values[:, at] = numbers
        features = self.features
        ids = np.array(
            features.assign_ids(columns) if learning else features.find_ids(columns),
            features.id_type,
        )
        order = np.argsort(ids, kind="stable")
        with np.errstate(over="ignore"):
            rounded = values[:, order].astype(np.float32)
        faults = np.argwhere(~np.isfinite(rounded))
        if faults.size:
            row, at = faults[0]
            column = columns[order[at]]
            raise not_finite_error(
                "", self.n_rows + int(row) + 1, repr(column), float(values[row, order[at]])
            )
        indptr, positions, kept = nonzeros(rounded)
        if self.exact:
            kept = values[:, order][rounded != 0]
        names, width = (
            (features.block_names(ids, columns), features.width())
            if learning
            else (None, features.width(ids.size))
        )
        return RowBlock.trusted(indptr, ids[order][positions], kept, None, width, names=names)


def check_selector(selector: Any, kinds: frozenset[Kind]) -> Any:
    """Return a selector if it can learn from a stream of dictionaries; raise UsageError if not."""
    name = type(selector).__name__
    if not isinstance(selector, Estimator) or selector.method.reads != "rows":
        raise UsageError(
            f"{name} does not learn row by row; give a selector on rows, such as SOFS(10)"
        )
    targets = selector.method.targets
    if not targets & kinds:
        learns, cure = (
            ("numbers", "SelectorRegressor")
            if "numbers" in targets
            else ("classes", "SelectorClassifier")
        )
        raise UsageError(f"{name} learns {learns}; use {cure}")
    learner: Any = selector.new_learner()
    if learner.needs_width:
        raise UsageError(
            f"{name} must know the number of features beforehand, which a stream does not have"
        )
    return selector


def last_rows(block: RowBlock, n_rows: int) -> RowBlock:
    """Return the last rows of a block, without keeping the others in memory."""
    if block.n_rows <= n_rows:
        return block
    last = block.rows(block.n_rows - n_rows, block.n_rows)
    weights = None if last.sample_weight is None else last.sample_weight.copy()
    entries = last.derived(indices=last.indices.copy(), values=last.values.copy())
    return entries.with_target(np.array(last.y), weights)


def as_target(y: Any) -> NDArray[Any]:
    """Return a label, or a number, as an array of one."""
    return normalize_labels(as_objects([y]))
