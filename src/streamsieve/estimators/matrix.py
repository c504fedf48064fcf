"""Learners of the whole matrix as scikit-learn selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from ..selectors.matrix import local_learning, projected_gradient, relief
from ..sources.arrays import ArraySource
from ..sources.base import DataSource
from .base import Estimator
from .linear import LinearEstimator
from .validation import as_learned, validate_data

if TYPE_CHECKING:
    from ..selectors.matrix.base import MatrixLearner

    class AnyMatrixLearner(MatrixLearner[Any]):
        """What an estimator of the whole matrix is mixed into."""
else:
    AnyMatrixLearner = object


class MatrixEstimator(Estimator, AnyMatrixLearner):
    """A learner of the whole matrix as a scikit-learn selector."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all columns of ``X``, from scratch; a dense float32 or float64 array is not copied."""
        self.check_parameters()
        X, names = as_learned(self, X, reset=True)
        X, y = validate_data(self, X, y, names, accept_sparse=("csc", "csr"), dtype="numeric", ensure_min_samples=2)
        source = ArraySource(X, y, self.feature_names, name="")
        source.encoding = self.encoding
        return self._refit(source)

    def fit_source(self, source: DataSource, *, progress: bool = False) -> Self:
        """Learn from all features of a source, from scratch; ``progress=True`` shows a bar."""
        return self._refit(source, progress=progress)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LocalLearning(MatrixEstimator, local_learning.LocalLearningLearner):
    __doc__ = local_learning.LocalLearningLearner.__doc__


class ReliefF(MatrixEstimator, relief.ReliefFLearner):
    __doc__ = relief.ReliefFLearner.__doc__


class IRelief(MatrixEstimator, relief.IReliefLearner):
    __doc__ = relief.IReliefLearner.__doc__


class LinearMatrixEstimator(MatrixEstimator, LinearEstimator):
    """A learner of the whole matrix with a linear model as a scikit-learn selector that predicts."""


class ProjectedGradient(LinearMatrixEstimator, projected_gradient.ProjectedGradientLearner):
    __doc__ = projected_gradient.ProjectedGradientLearner.__doc__
