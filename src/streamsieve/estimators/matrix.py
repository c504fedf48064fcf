"""Methods on the whole matrix as scikit-learn selectors."""

from __future__ import annotations

from typing import Any, Self

from ..selectors.serial import alone
from ..sources.base import DataSource
from .base import Estimator, refit
from .inputs import COLUMN_OPTIONS, read_matrix


class MatrixEstimator(Estimator):
    """A method on the whole matrix as a scikit-learn selector."""

    @alone
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all columns of ``X``, from scratch.

        A dense float32 or float64 array is not copied.
        """
        refit(self, self.new_learner(), read_matrix(self, X, y, **COLUMN_OPTIONS))
        return self

    @alone
    def fit_source(self, source: DataSource, *, progress: bool = False) -> Self:
        """Learn from all features of a source, from scratch; ``progress=True`` shows a bar."""
        refit(self, self.new_learner(), source, progress=progress)
        return self
