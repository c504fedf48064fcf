"""Methods on the whole matrix as scikit-learn selectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from ..selectors.serial import alone
from ..sources.arrays import ArraySource
from ..sources.base import DataSource
from .base import Estimator, refit
from .validation import encode_table, validate_data


class MatrixEstimator(Estimator):
    """A method on the whole matrix as a scikit-learn selector."""

    @alone
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all columns of ``X``, from scratch; a dense float32 or float64 array is not copied."""
        learner = self.new_learner()
        X, names, encoding = encode_table(self, X, None)
        options: dict[str, Any] = {"accept_sparse": ("csc", "csr"), "dtype": "numeric", "ensure_min_samples": 2}
        (X, y), names = validate_data(self, X, y, names=names, **options)
        source = ArraySource(X, y, names, name="")
        source.facts = replace(source.facts, encoding=encoding)
        refit(self, learner, source)
        return self

    @alone
    def fit_source(self, source: DataSource, *, progress: bool = False) -> Self:
        """Learn from all features of a source, from scratch; ``progress=True`` shows a bar."""
        refit(self, self.new_learner(), source, progress=progress)
        return self
