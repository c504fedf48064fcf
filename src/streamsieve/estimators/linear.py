"""Learners that fit a linear model of the features they select, as scikit-learn predictors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..selectors.linear import TASK_OF_LOSS
from ..targets import TASK_OF_KIND
from .base import Estimator

if TYPE_CHECKING:
    from ..selectors.linear import LinearLearner

    class AnyLinearLearner(LinearLearner):
        """What an estimator of a linear model is mixed into."""
else:
    AnyLinearLearner = object


F = TypeVar("F", bound=Callable[..., Any])


def only_if(condition: Callable[[Any], bool]) -> Callable[[F], F]:
    """A method that is there only for estimators that fulfil a condition."""

    def decorate(method: F) -> F:
        return cast(F, available_if(condition)(method))

    return decorate


def has_classes(estimator: LinearEstimator) -> bool:
    """Whether classes were learned, or may yet be."""
    return not estimator.started or estimator.learned_kind() == "classes"


def has_chances(estimator: LinearEstimator) -> bool:
    """Whether scores are log odds; before fitting, whether they may become so."""
    return estimator.linear_model().has_chances if estimator.started else estimator.loss in ("auto", "logistic")


class LinearEstimator(Estimator, AnyLinearLearner):
    """A learner with a linear model as a scikit-learn selector that predicts: classes, or numbers."""

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """The score of every row."""
        chosen = self.transform(X)
        model = self.linear_model()
        return np.asarray(chosen @ model.weights + model.intercept)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class or the number of every row; a score of exactly 0 is the first class."""
        scores = self._scores(X)
        return self.linear_model().labels(scores)

    @only_if(has_classes)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score of every row, positive for the second class."""
        return self._scores(X)

    @only_if(has_chances)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of both classes, a column each, for the logistic loss."""
        scores = self._scores(X)
        chances = self.linear_model().probabilities(scores)
        assert chances is not None
        return chances

    def score(self, X: Any, y: Any, sample_weight: Any | None = None) -> float:
        """The accuracy, or for numbers R2, of what is predicted."""
        predicted = self.predict(X)
        measure = r2_score if self.linear_model().classes is None else accuracy_score
        return float(measure(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        task = TASK_OF_KIND[self.learned_kind()] if self.started else TASK_OF_LOSS[self.loss]
        if task == "regression":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type = None if task == "auto" else "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes, sorted; there only after classes were learned."""
        check_is_fitted(self)
        classes = self.linear_model().classes
        if classes is None:
            raise AttributeError("numbers were learned, not classes")
        return classes

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights, for values as they come, of the selected features in ascending order of id."""
        check_is_fitted(self)
        return self.linear_model().weights

    @property
    def intercept_(self) -> float:
        """The score of a row whose selected features are all 0."""
        check_is_fitted(self)
        return self.linear_model().intercept
