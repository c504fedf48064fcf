"""The part of scikit-learn's interface to a learner that all methods share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in

from ..kernels.types import F64
from ..model import Model
from ..selection import Selection
from ..selectors.base import AnyLearner, Method
from ..selectors.diagnosis import warn_about
from ..selectors.fitting import TASK_OF_LOSS
from ..selectors.serial import Lock, alone
from ..sources.base import DataSource
from ..training import train, watching
from ..values import is_sparse
from .inputs import (
    check_array,
    check_matrix,
    encode_table,
    has_unseen,
    read_named_rows,
    score_rows,
    select_named,
    validate_data,
)

F = TypeVar("F", bound=Callable[..., Any])


# a decorator of methods that only estimators which fulfil a condition have
only_if: Callable[[Callable[[Any], bool]], Callable[[F], F]] = available_if


def predicts(estimator: Estimator) -> bool:
    """Return True for methods that predict."""
    return estimator.method.predicts


def predicts_classes(estimator: Estimator) -> bool:
    """Return True if classes were learned, or may be learned."""
    method = estimator.method
    if not method.fits_model or not estimator.__sklearn_is_fitted__():
        return method.predicts and "classes" in method.targets
    return estimator.learner.results.linear_model().classes is not None


def predicts_probabilities(estimator: Any) -> bool:
    """Return True if classes have probabilities, or may have them after learning."""
    if not estimator.method.fits_model:
        return predicts_classes(estimator)
    if estimator.__sklearn_is_fitted__():
        return bool(estimator.learner.results.linear_model().has_probabilities)
    return estimator.loss in ("auto", "logistic")


class Estimator(TransformerMixin, BaseEstimator):
    """A method with parameters, as a scikit-learn selector; it has a learner once learning starts.

    The methods are those of scikit-learn's ``SelectorMixin``, without a mask as long as the data is
    wide and without the import of half of scikit-learn. What was learned
    (``selectors.base.Results``) is read under names that end with ``_``: ``n_rows_``, ``coef_``,
    ``curve_``. A class of a method adds its parameters, a dataclass.
    """

    method: ClassVar[Method]
    learner: Any  # started, or trained
    # scikit-learn's checks that a class cannot pass, with the reason; tests expect exactly these
    # to fail.
    expected_failed_checks: ClassVar[dict[str, str]] = {}

    @property
    def lock(self) -> Lock:
        """Return the lock of the threads that share the estimator; its learners have the same."""
        lock: Lock = self.__dict__.get("_lock") or self.__dict__.setdefault("_lock", Lock())
        return lock

    def new_learner(self) -> AnyLearner:
        """Return a new learner with the current parameters, which are checked."""
        learner = self.method.make(
            **{name: getattr(self, name) for name in self.method.parameter_names}
        )
        learner.lock = self.lock
        return learner

    def current_learner(self) -> Any:
        """Return the learner; make it if there is none."""
        if self.__dict__.get("_learner") is None:
            self._learner = self.new_learner()
        return self._learner

    def __getattr__(self, name: str) -> Any:
        """Return the learner, or one of its results.

        No property may raise NotFittedError, which is an AttributeError.
        """
        if name != "learner" and (name.startswith("_") or not name.endswith("_")):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit or start first"
            )
        return self._learner if name == "learner" else getattr(self._learner.results, name)

    def __dir__(self) -> list[str]:
        learned = dir(self.learner.results) if self.__sklearn_is_fitted__() else []
        shown = (
            name for name in learned if name[0] != "_" and name[-1] == "_" and hasattr(self, name)
        )
        return [*super().__dir__(), *shown]

    # ---- learning

    @alone
    def start(
        self,
        n_features: int | None = None,
        classes: Any | None = None,
        feature_names: Any | None = None,
        *,
        y: Any | None = None,
    ) -> Self:
        """Forget everything, and get ready for the first block.

        ``n_features``, ``classes`` and ``feature_names`` are given if they are known beforehand;
        ``y`` has the target of every row, for methods that see all rows at once.
        """
        self._learner = self.new_learner().start(n_features, classes, feature_names, y=y)
        return self

    @alone
    def partial_fit_block(self, block: Any) -> Self:
        """Learn one more block; call ``start`` before the first."""
        self.current_learner().partial_fit_block(block)
        return self

    # ---- what was learned

    @alone
    def selection(self) -> Selection:
        """Return the selected features with scores and names, and nothing of other features."""
        return cast(Selection, self.learner.results.selection())

    @alone
    def model(self, note: dict[str, Any] | None = None) -> Model:
        """Return all that was learned.

        Learning continues with the same arrays, so copy the model before more is learned.
        """
        return cast(Model, self.learner.model(note))

    @alone
    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle.

        ``streamsieve.load`` restores it, and learning can continue. ``note`` is kept in the file as
        JSON.
        """
        self.learner.save(path, note)

    @alone
    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """Return a mask over all features; with ``indices=True`` the selected ids, ascending."""
        return self.selection().indices if indices else self.learner.results.support_

    @alone
    def get_feature_names_out(self, input_features: Any | None = None) -> NDArray[Any]:
        """Return the names of the selected columns.

        They are those given or seen in training, otherwise x0, x1, ... The columns of a table whose
        text was encoded may be given as ``input_features``, as scikit-learn does.
        """
        selection, encoding = self.selection(), self.learner.features.encoding
        are_columns = (
            encoding is not None
            and input_features is not None
            and set(encoding.column_names) <= set(input_features)
        )
        if input_features is not None and not are_columns:
            return cast(
                NDArray[Any], _check_feature_names_in(self, input_features)[selection.indices]
            )
        if selection.names is not None:
            return selection.names
        return np.array([f"x{feature}" for feature in selection.indices], dtype=object)

    @alone
    def transform(self, X: Any) -> Any:
        """Return the selected columns of ``X``, in ascending order of id.

        For a table with text these are features such as ``a=b``; for rows by name the result is a
        sparse array.
        """
        selected, features = self.selection().indices, self.learner.features
        rows = read_named_rows(self.learner, X)
        if rows is not None:
            return select_named(rows, selected)
        X, names, _ = encode_table(self, X, features)
        if has_unseen(X, features):  # columns that were not in the training are ignored
            X = check_matrix(X).tocsr()[:, : features.width]
        X, _ = validate_data(
            self,
            X,
            features=features,
            names=names,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
        )
        chosen = _safe_indexing(X, selected, axis=1)
        return chosen if names is None or not is_sparse(chosen) else chosen.toarray()

    @alone
    def inverse_transform(self, X: Any) -> Any:
        """Return a matrix as wide as the training data, with the columns of ``X`` at their ids.

        All other columns are 0.
        """
        selected, width = self.selection().indices, self.learner.features.width
        X = check_array(X, accept_sparse="csr", dtype=None)
        if X.shape[1] != selected.size:
            raise ValueError(
                f"X has {X.shape[1]} columns, but {selected.size} features were selected"
            )
        if is_sparse(X):
            return csr_array((X.data, selected[X.indices], X.indptr), shape=(X.shape[0], width))
        wide = np.zeros((X.shape[0], width), X.dtype)
        wide[:, selected] = X
        return wide

    # ---- predictions, of methods that predict

    @only_if(predicts)
    @alone
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class or the number of every row; a score of exactly 0 is the first class."""
        predictor, scores = score_rows(self, X)
        return predictor.labels(scores)

    @only_if(predicts_classes)
    @alone
    def decision_function(self, X: Any) -> F64:
        """Return the score of every row.

        It is positive for the second of two classes; of more classes there is a column for each.
        """
        return score_rows(self, X)[1]

    @only_if(predicts_probabilities)
    @alone
    def predict_proba(self, X: Any) -> F64:
        """Return the probability of every class, a column each, in the order of ``classes_``.

        For methods on rows it is a logistic fit of the class on the score that each row had before
        it was learned (Platt 1999), from the same pass. Weights of rows count in it,
        ``class_weight`` does not: probabilities are those of the data as it is. If class weights
        move the decision to a point where the predicted class has a probability below 1/2, a value
        just above 1/2 is returned for it. Other methods have the logistic loss.
        """
        predictor, scores = score_rows(self, X)
        probabilities = predictor.probabilities(scores)
        assert probabilities is not None, "classes have probabilities"
        return probabilities

    @only_if(predicts)
    def score(self, X: Any, y: Any, sample_weight: Any | None = None) -> float:
        """Return the accuracy of predictions, or for numbers their R2."""
        measure = accuracy_score if predicts_classes(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    # ---- scikit-learn's protocol

    def __sklearn_is_fitted__(self) -> bool:
        learner = self.__dict__.get("_learner")
        return learner is not None and learner.started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.target_tags.required = True
        tags.input_tags.allow_nan = self.method.asks or self.__dict__.get("missing") == "skip"
        if self.method.fits_model:
            task = TASK_OF_LOSS[self.loss]
            if self.__sklearn_is_fitted__():
                task = "classification" if predicts_classes(self) else "regression"
            if task == "regression":
                tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            else:
                tags.estimator_type = None if task == "auto" else "classifier"
                tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def refit(
    estimator: Any,
    learner: AnyLearner,
    source: DataSource,
    *,
    y: NDArray[Any] | None = None,
    classes: Any | None = None,
    groups: Any | None = None,
    progress: bool = False,
) -> None:
    """Train a learner on a source, and give it to an estimator; ``progress`` shows a bar."""
    # before training: this frees the previous learner, and shows what an error leaves
    estimator._learner = learner
    with watching(None, progress) as watch:
        done = train(learner, source, y=y, classes=classes, groups=groups, watch=watch)
    warn_about(done.findings, stacklevel=4)
