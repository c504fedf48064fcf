"""Selectors on rows as estimators of river.

Rows are dictionaries; names of features are any hashable objects, and new ones may appear at any
time.

from river import evaluate, metrics, datasets
model = SelectorClassifier(ss.SOFS(5))
evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

try:
    from river import base
except ImportError:
    raise ImportError(
        "streamsieve.compat.river needs river: pip install streamsieve[river]"
    ) from None

from ..blocks import RowBlock
from ..estimators import estimator_class
from ..selection import Selection
from ..targets import BOTH, ONLY_CLASSES, ONLY_NUMBERS
from .stream import SelectorStream

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Features = dict[Hashable, Any]


def predict_rows(stream: SelectorStream, block: RowBlock) -> NDArray[Any]:
    """Return the class or the number of every row."""
    predictor = stream.predictor
    return predictor.labels(predictor.score(block))


def probabilities_of(stream: SelectorStream, block: RowBlock) -> NDArray[Any]:
    """Return the probability of every class, a column each."""
    predictor = stream.predictor
    return np.asarray(predictor.probabilities(predictor.score(block)))


class StreamModel:
    """The interface that all three have in common."""

    _stream: SelectorStream

    def selection(self) -> Selection:
        """Return the selected features with their names."""
        return self._stream.selection()

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn a row of weight ``w``."""
        self._stream.learn(x, y, w)

    def learn_many(self, X: DataFrame, y: Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame in their order."""
        self._stream.learn_frame(X, y, w)


class SelectorClassifier(StreamModel, base.MiniBatchClassifier):
    """A selector on rows that learns classes, as a classifier of river.

    Parameters
    ----------
    selector
        The selector to learn with, such as ``SOFS(10)``. It is copied, never changed. With
        ``max_cells`` it has a fixed memory for any number of different features; otherwise every
        name is remembered.
    classes
        All labels, if they are known beforehand. Without them labels are learned as they appear:
        two, or False and True, from the first row on. When a third appears, or one more after it,
        learning restarts from the last 1,024 rows, with a warning if there were more.
    """

    def __init__(self, selector: Any, classes: Any | None = None) -> None:
        self.selector = selector
        self.classes = classes
        self._stream = SelectorStream(selector, ONLY_CLASSES, classes)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"selector": estimator_class("sofs")(5)}
        yield {"selector": estimator_class("sofs")(5, max_cells=1024)}

    @property
    def _multiclass(self) -> bool:
        return not self.selector.method.two_classes_only

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """Return the class of a row, or None if nothing was learned."""
        stream = self._stream
        if stream.learner is None:
            return None
        return predict_rows(stream, stream.block(x, learning=False)).tolist()[0]

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of every known class."""
        stream = self._stream
        if stream.learner is None:
            return self._initial_probabilities()
        probabilities = probabilities_of(stream, stream.block(x, learning=False))[0].tolist()
        return dict(zip(stream.class_labels(), probabilities, strict=True))

    def predict_many(self, X: DataFrame) -> Series:
        """Return the class of every row."""
        import pandas

        stream = self._stream
        if stream.learner is None:
            return pandas.Series([None] * len(X), index=X.index, dtype=object)
        classes = predict_rows(stream, stream.frame_block(X, learning=False))
        return pandas.Series(classes, index=X.index)

    def predict_proba_many(self, X: DataFrame) -> DataFrame:
        """Return the probability of every known class, a column each."""
        import pandas

        stream = self._stream
        if stream.learner is None:
            return pandas.DataFrame([self._initial_probabilities()] * len(X), index=X.index)
        probabilities = probabilities_of(stream, stream.frame_block(X, learning=False))
        return pandas.DataFrame(probabilities, index=X.index, columns=stream.class_labels())

    def _initial_probabilities(self) -> dict[Any, float]:
        """Return equal probabilities of all classes given beforehand.

        A classifier of two classes without given ones has river's, False and True.
        """
        labels = [] if self._multiclass else [False, True]
        if self.classes is not None:
            labels = list(self.classes)
        return {label: 1.0 / len(labels) for label in labels}


class SelectorRegressor(StreamModel, base.MiniBatchRegressor):
    """A selector on rows that learns numbers, as a regressor of river.

    Parameters
    ----------
    selector
        The selector to learn with, such as ``SOFSRegressor(10)``. It is copied, never changed.
    """

    def __init__(self, selector: Any) -> None:
        self.selector = selector
        self._stream = SelectorStream(selector, ONLY_NUMBERS)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"selector": estimator_class("sofs-regressor")(5)}
        yield {"selector": estimator_class("sofs-regressor")(5, max_cells=1024)}

    def predict_one(self, x: Features) -> float:
        """Return the number of a row, or 0 if nothing was learned."""
        stream = self._stream
        return (
            0.0
            if stream.learner is None
            else float(predict_rows(stream, stream.block(x, learning=False))[0])
        )

    def predict_many(self, X: DataFrame) -> Series:
        """Return the number of every row."""
        import pandas

        stream = self._stream
        if stream.learner is None:
            return pandas.Series(np.zeros(len(X)), index=X.index)
        return pandas.Series(
            predict_rows(stream, stream.frame_block(X, learning=False)), index=X.index
        )


# river's class for mini-batches is for transformers without a target
class SelectorTransformer(  # type: ignore[misc]
    StreamModel, base.SupervisedTransformer, base.MiniBatchSupervisedTransformer
):
    """A selector on rows as a transformer of river, which keeps the selected features of a row.

    Parameters
    ----------
    selector
        The selector, such as ``SOFS(10)`` for classes or ``SOFSRegressor(10)`` for numbers. It is
        copied, never changed.
    classes
        All labels, if they are known beforehand; see ``SelectorClassifier``.
    """

    def __init__(self, selector: Any, classes: Any | None = None) -> None:
        self.selector = selector
        self.classes = classes
        self._stream = SelectorStream(selector, BOTH, classes)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"selector": estimator_class("sofs-regressor")(3)}
        yield {"selector": estimator_class("sofs-regressor")(3, max_cells=1024)}

    def transform_one(self, x: Features) -> Features:
        """Return the selected features of a row; none if nothing was learned."""
        ids, selected = self._stream.features.find_ids(x), self._stream.selected_ids()
        return {
            name: value
            for feature, (name, value) in zip(ids, x.items(), strict=True)
            if feature in selected
        }

    def transform_many(self, X: DataFrame) -> DataFrame:
        """Return the selected columns of a data frame."""
        ids, selected = (
            self._stream.features.find_ids(X.columns.tolist()),
            self._stream.selected_ids(),
        )
        return X.loc[:, [feature in selected for feature in ids]]
