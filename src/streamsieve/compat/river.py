"""Selectors of rows as estimators of river: rows are dictionaries, features have any names, new ones come at any time.

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


def predicted(stream: SelectorStream, block: RowBlock) -> NDArray[Any]:
    """Return the class, or the number, of every row."""
    predictor = stream.predictor
    return predictor.labels(predictor.score(block))


def chances_of(stream: SelectorStream, block: RowBlock) -> NDArray[Any]:
    """Return the probability of every class, a column each."""
    predictor = stream.predictor
    return np.asarray(predictor.probabilities(predictor.score(block)))


class SelectorClassifier(base.MiniBatchClassifier):
    """A selector of rows that learns classes, as a classifier of river.

    Parameters
    ----------
    selector
        What to learn with, such as ``SOFS(10)``. It is copied, never changed. One with
        ``max_cells`` has a fixed memory for any number of different features; others remember every
        name.
    classes
        All labels, where they are known beforehand. Without them labels are learned as they come:
        two, or False and True, from the first row on. When a third comes, or one more after it,
        learning begins anew from the last 1,024 rows, with a warning if there were others.
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

    def selection(self) -> Selection:
        """The selected features under their names."""
        return self._stream.selection()

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn a row that counts ``w`` times."""
        self._stream.learn(x, y, w)

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The class of a row; None as long as nothing was learned."""
        stream = self._stream
        if stream.learner is None:
            return None
        return predicted(stream, stream.block(x, learning=False)).tolist()[0]

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of every class that is known."""
        stream = self._stream
        if stream.learner is None:
            return self._before_any_row()
        chances = chances_of(stream, stream.block(x, learning=False))[0].tolist()
        return dict(zip(stream.known_classes(), chances, strict=True))

    def learn_many(self, X: DataFrame, y: Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame, in their order."""
        self._stream.learn_frame(X, y, w)

    def predict_many(self, X: DataFrame) -> Series:
        """The class of every row."""
        import pandas

        stream = self._stream
        if stream.learner is None:
            return pandas.Series([None] * len(X), index=X.index, dtype=object)
        classes = predicted(stream, stream.frame_block(X, learning=False))
        return pandas.Series(classes, index=X.index)

    def predict_proba_many(self, X: DataFrame) -> DataFrame:
        """The probability of every class that is known, a column each."""
        import pandas

        stream = self._stream
        if stream.learner is None:
            return pandas.DataFrame([self._before_any_row()] * len(X), index=X.index)
        chances = chances_of(stream, stream.frame_block(X, learning=False))
        return pandas.DataFrame(chances, index=X.index, columns=stream.known_classes())

    def _before_any_row(self) -> dict[Any, float]:
        """All classes that are known beforehand, equally likely; a classifier of two has river's."""
        known = [] if self._multiclass else [False, True]
        if self.classes is not None:
            known = list(self.classes)
        return {label: 1.0 / len(known) for label in known}


class SelectorRegressor(base.MiniBatchRegressor):
    """A selector of rows that learns numbers, as a regressor of river.

    Parameters
    ----------
    selector
        What to learn with, such as ``SOFSRegressor(10)``. It is copied, never changed.
    """

    def __init__(self, selector: Any) -> None:
        self.selector = selector
        self._stream = SelectorStream(selector, ONLY_NUMBERS)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"selector": estimator_class("sofs-regressor")(5)}
        yield {"selector": estimator_class("sofs-regressor")(5, max_cells=1024)}

    def selection(self) -> Selection:
        """The selected features under their names."""
        return self._stream.selection()

    def learn_one(self, x: Features, y: float, w: float = 1.0) -> None:
        """Learn a row that counts ``w`` times."""
        self._stream.learn(x, y, w)

    def predict_one(self, x: Features) -> float:
        """The number of a row; 0 as long as nothing was learned."""
        stream = self._stream
        return (
            0.0
            if stream.learner is None
            else float(predicted(stream, stream.block(x, learning=False))[0])
        )

    def learn_many(self, X: DataFrame, y: Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame, in their order."""
        self._stream.learn_frame(X, y, w)

    def predict_many(self, X: DataFrame) -> Series:
        """The number of every row."""
        import pandas

        stream = self._stream
        if stream.learner is None:
            return pandas.Series(np.zeros(len(X)), index=X.index)
        return pandas.Series(
            predicted(stream, stream.frame_block(X, learning=False)), index=X.index
        )


class SelectorTransformer(base.SupervisedTransformer, base.MiniBatchSupervisedTransformer):
    """A selector of rows as a transformer of river, which keeps the selected features of a row.

    Parameters
    ----------
    selector
        What selects, such as ``SOFS(10)`` for classes or ``SOFSRegressor(10)`` for numbers. It is
        copied, never changed.
    classes
        All labels, where they are known beforehand; see ``SelectorClassifier``.
    """

    def __init__(self, selector: Any, classes: Any | None = None) -> None:
        self.selector = selector
        self.classes = classes
        self._stream = SelectorStream(selector, BOTH, classes)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"selector": estimator_class("sofs-regressor")(3)}
        yield {"selector": estimator_class("sofs-regressor")(3, max_cells=1024)}

    def selection(self) -> Selection:
        """The selected features under their names."""
        return self._stream.selection()

    # river's class for mini-batches is one of transformers that know no target
    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:  # type: ignore[override]
        """Learn a row that counts ``w`` times."""
        self._stream.learn(x, y, w)

    def transform_one(self, x: Features) -> Features:
        """The selected features of a row; none as long as nothing was learned."""
        ids, chosen = self._stream.features.found(x), self._stream.chosen()
        return {
            name: value
            for feature, (name, value) in zip(ids, x.items(), strict=True)
            if feature in chosen
        }

    def learn_many(self, X: DataFrame, y: Series, w: Any = 1.0) -> None:
        """Learn the rows of a data frame, in their order."""
        self._stream.learn_frame(X, y, w)

    def transform_many(self, X: DataFrame) -> DataFrame:
        """The selected columns of a data frame."""
        ids, chosen = self._stream.features.found(X.columns.tolist()), self._stream.chosen()
        return X.loc[:, [feature in chosen for feature in ids]]
