"""A selector of rows fed by dictionaries, one row at a time, or by data frames."""

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
from ..kernels.reading.entries import NOT_FINITE, settle_row
from ..selection import Selection
from ..selectors.prediction import Predictor
from ..sources.base import not_finite
from ..sources.named_rows import Entries, numbers_of
from ..targets import Kind
from ..values import simple_labels
from .features import Features, HashedNames, Vocabulary, as_objects

if TYPE_CHECKING:
    from pandas import DataFrame

Row = Mapping[Hashable, Any]

MAX_RECENT_ROWS = (
    1024  # rows that learning begins anew from when there is one more class than before
)
MAX_FLOAT32 = float(np.finfo(np.float32).max)
MAX_BOUNDS = 4096  # lengths of rows


class SelectorStream:
    """What a selector learns from rows of values by name.

    Features get ids as they appear; a selector with ``max_cells`` knows them by hashes of their
    names, in memory that does not grow. Classes that nobody named are found: two labels, or False
    and True, are learned as they are. With a third the rules of learning change, so that learning
    begins anew from the last 1,024 rows.
    """

    def __init__(self, selector: Any, kinds: Iterable[Kind], classes: Any | None = None) -> None:
        self.selector = checked(selector, frozenset(kinds))
        self.learns_classes = "classes" in self.selector.method.targets
        self.classes = None if classes is None else list(classes)
        self.exact = (
            self.selector.new_learner().inputs.centres
        )  # a mean is taken off before values are rounded
        self.features: Features = HashedNames() if is_bounded(selector) else Vocabulary()
        self.learner: Any = None  # as soon as there is something to learn
        self.labels: dict[Any, NDArray[Any]] = {}  # those met, each as an array of one
        self.recent: deque[RowBlock] = deque()
        self.n_recent = self.n_rows = 0
        self.bounds: dict[int, NDArray[np.int64]] = {}  # by the length of a row
        self._predictor: Predictor | None = None
        self._chosen: frozenset[int] | None = None

    # ---- learning

    def learn(self, x: Row, y: Any, w: float) -> None:
        """Learn one row that counts ``w`` times."""
        with self._forgetting_refused():
            block = self.block(x, learning=True)
            if w == 0.0:
                return  # as good as absent
            label = builtin(y)
            if self.learns_classes:
                self._refuse_missing([label])
            weight = None if w == 1.0 else np.array([w], np.float64)
            self._learn(
                block.with_target(self._target_of(label), weight),
                [label] if self.learns_classes else [],
            )

    def learn_frame(self, X: DataFrame, y: Any, w: Any) -> None:
        """Learn the rows of a data frame, with a label each; ``w`` is a number, or one for each."""
        with self._forgetting_refused():
            block = self.frame_block(X, learning=True)
            target = simple_labels(np.asarray(y))
            if target.shape != (block.n_rows,):
                raise DataError(f"{block.n_rows:,} rows and {target.size:,} labels")
            weights = (
                None
                if isinstance(w, float | int) and w == 1.0
                else np.broadcast_to(w, target.shape)
            )
            weights = None if weights is None else np.array(weights, np.float64)
            block = block.with_target(target, weights).without_weightless()
            labels = np.asarray(block.y).tolist() if self.learns_classes else []
            self._refuse_missing(labels)
            if block.n_rows:
                self._learn(block, list(dict.fromkeys(labels)))

    @contextmanager
    def _forgetting_refused(self) -> Iterator[None]:
        """Take back the ids of new features if the rows that name them are refused."""
        width = self.features.width()
        try:
            yield
        except Exception:
            self.features.forget(width)
            raise

    def _refuse_missing(self, labels: list[Any]) -> None:
        for row, label in enumerate(labels, self.n_rows + 1):
            if label is None or (isinstance(label, float) and label != label):
                raise DataError(f"row {row:,}: its label is missing; drop such rows")
            if not isinstance(label, Hashable):
                raise DataError(
                    f"row {row:,}: its label is a {type(label).__name__}; labels are text or"
                    " numbers"
                )

    def _learn(self, block: RowBlock, labels: list[Any]) -> None:
        new, before = [label for label in labels if label not in self.labels], self.learner
        try:
            if new or before is None:
                self._admit(new)
            self.learner.partial_fit_block(block)
        except Exception:
            self.learner = before  # what cannot be learned changes nothing
            raise
        self.labels.update((label, as_target(label)) for label in new)
        self._predictor = self._chosen = None
        self.n_rows += block.n_rows
        if self.learns_classes and self.classes is None:
            self._remember(block)

    def _target_of(self, y: Any) -> NDArray[Any]:
        if not self.learns_classes and isinstance(y, int | float):
            return np.array([y], np.float64)
        known = self.labels.get(y) if self.learns_classes else None
        return as_target(y) if known is None else known

    def _admit(self, new: list[Any]) -> None:
        """Be ready for labels that were not met before."""
        if self.learner is None:
            self.learner = self._started(new)
        elif self.learns_classes and self.classes is None and len(self.labels) + len(new) > 2:
            self._begin_anew([*self.labels, *new])

    def _started(self, labels: list[Any]) -> Any:
        """The selector, which has learned nothing and knows these classes, or those named."""
        if self.classes is not None:
            labels = self.classes
        elif any(isinstance(label, bool) for label in labels):
            labels = [False, True, *(label for label in labels if not isinstance(label, bool))]
        return (
            clone(self.selector)
            .new_learner()
            .start(None, as_objects(labels) if len(labels) > 1 else None)
        )

    def _begin_anew(self, labels: list[Any]) -> None:
        """Learn the last rows again, with more classes; the rules for two, and for each number of more, differ."""
        learner = self._started(labels)
        for block in self.recent:
            learner.partial_fit_block(block)
        self.learner = learner
        if self.n_rows > self.n_recent:
            warnings.warn(
                f"row {self.n_rows + 1:,} has a class, {labels[-1]!r}, that no row had before:"
                f" learning began anew from the last {self.n_recent:,} rows, and what others taught"
                " is lost; name all classes beforehand: classes=[...]",
                UserWarning,
                stacklevel=6,
            )

    def _remember(self, block: RowBlock) -> None:
        """Keep the last rows, and no more than that."""
        self.recent.append(last_rows(block, MAX_RECENT_ROWS))
        self.n_recent += self.recent[-1].n_rows
        while self.n_recent > MAX_RECENT_ROWS:
            oldest = self.recent.popleft()
            left = max(0, MAX_RECENT_ROWS - self.n_recent + oldest.n_rows)
            self.n_recent += left - oldest.n_rows
            if left:
                self.recent.appendleft(last_rows(oldest, left))

    # ---- what was learned

    @property
    def predictor(self) -> Predictor:
        """Return what predicts with what was learned so far; something must have been."""
        if self._predictor is None:
            self._predictor = self.learner.results.predictor()
        return self._predictor

    def known_classes(self) -> list[Any]:
        """Return the classes in the order of scores."""
        return [] if self.learner is None else list(self.learner.results.classes_.tolist())

    def chosen(self) -> frozenset[int]:
        """The ids of the selected features."""
        if self._chosen is None:
            self._chosen = (
                frozenset()
                if self.learner is None
                else frozenset(self.selection().indices.tolist())
            )
        return self._chosen

    def selection(self) -> Selection:
        """The selected features under their names."""
        if self.learner is None:
            return Selection(np.empty(0, np.int64), np.empty(0), np.empty(0, object))
        found = self.learner.results.selection()
        return Selection(
            found.indices, found.scores, self.features.titles(found.indices, found.names)
        )

    # ---- rows

    def block(self, x: Row, learning: bool) -> RowBlock:
        """One row; features in it that are new are given ids if it is to be learned."""
        features = self.features
        try:
            values = np.array(list(x.values()))
        except ValueError:  # some are lists
            values = np.empty(0, object)
        if values.dtype != np.float64 or values.ndim > 1:
            values = numbers_of(
                Entries([str(name) for name in x], list(x.values()), [len(x)]), self.n_rows
            )
        ids = np.array(features.learned(x) if learning else features.found(x), features.id_type)
        kept_ids = np.empty(ids.size, ids.dtype)
        kept: NDArray[Any] = np.empty(ids.size, np.float64 if self.exact else np.float32)
        filled = settle_row(ids, values, kept_ids, kept)
        if filled == NOT_FINITE:
            wrong = int(np.argmax(~(np.abs(values) <= MAX_FLOAT32)))
            raise not_finite("", self.n_rows + 1, repr(list(x)[wrong]), float(values[wrong]))
        names, width = (
            (features.named(ids, x), features.width())
            if learning
            else (None, features.width(ids.size))
        )
        indptr = self._bounds_of(filled)
        return RowBlock.trusted(indptr, kept_ids[:filled], kept[:filled], None, width, names=names)

    def _bounds_of(self, length: int) -> NDArray[np.int64]:
        """``indptr`` of a row."""
        known = self.bounds.get(length)
        if known is None:
            known = np.array([0, length])
            if len(self.bounds) < MAX_BOUNDS:
                self.bounds[length] = known
        return known

    def frame_block(self, X: DataFrame, learning: bool) -> RowBlock:
        """The rows of a data frame."""
        columns = X.columns.tolist()
        if len(set(columns)) < len(columns):
            raise DataError(
                "a column appears twice in the data frame; give every column a name of its own"
            )
        values = np.empty(X.shape)
        for at, column in enumerate(columns):
            found = X[column].to_numpy()
            if found.dtype.kind not in "biuf":
                found = numbers_of(
                    Entries([str(column)] * len(X), found.tolist(), [1] * len(X)), self.n_rows
                )
            values[:, at] = found
        features = self.features
        ids = np.array(
            features.learned(columns) if learning else features.found(columns), features.id_type
        )
        order = np.argsort(ids, kind="stable")
        with np.errstate(over="ignore"):
            rounded = values[:, order].astype(np.float32)
        wrong = np.argwhere(~np.isfinite(rounded))
        if wrong.size:
            row, at = wrong[0]
            column = columns[order[at]]
            raise not_finite(
                "", self.n_rows + int(row) + 1, repr(column), float(values[row, order[at]])
            )
        indptr, positions, kept = nonzeros(rounded)
        if self.exact:
            kept = values[:, order][rounded != 0]
        names, width = (
            (features.named(ids, columns), features.width())
            if learning
            else (None, features.width(ids.size))
        )
        return RowBlock.trusted(indptr, ids[order][positions], kept, None, width, names=names)


def checked(selector: Any, kinds: frozenset[Kind]) -> Any:
    """A selector that can learn from a stream of dictionaries; others are refused."""
    name = type(selector).__name__
    if not isinstance(selector, Estimator) or selector.method.reads != "rows":
        raise UsageError(
            f"{name} does not learn row by row; give a selector of rows, such as SOFS(10)"
        )
    targets = selector.method.targets
    if not targets & kinds:
        learns, cure = (
            ("numbers", "SelectorRegressor")
            if "numbers" in targets
            else ("classes", "SelectorClassifier")
        )
        raise UsageError(f"{name} learns {learns}; {cure} is for that")
    learner: Any = selector.new_learner()
    if learner.needs_width:
        raise UsageError(
            f"{name} draws from all features, and a stream does not say how many there will be"
        )
    return selector


def is_bounded(selector: Any) -> bool:
    """Whether a selector has a fixed memory for any number of features."""
    return "max_cells" in selector.method.parameter_names and selector.max_cells is not None


def last_rows(block: RowBlock, most: int) -> RowBlock:
    """The last rows of a block, which keep no others in memory."""
    if block.n_rows <= most:
        return block
    last = block.rows(block.n_rows - most, block.n_rows)
    weights = None if last.sample_weight is None else last.sample_weight.copy()
    entries = last.derived(indices=last.indices.copy(), values=last.values.copy())
    return entries.with_target(np.array(last.y), weights)


def builtin(label: Any) -> Any:
    """A label as Python has it."""
    return label.item() if isinstance(label, np.generic) else label


def as_target(y: Any) -> NDArray[Any]:
    """A label, or a number, as an array of one."""
    return simple_labels(as_objects([builtin(y)]))
