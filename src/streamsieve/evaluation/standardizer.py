"""Bring columns to one scale, for models that need it; this module imports scikit-learn."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler

from ..values import is_sparse


class Standardizer(TransformerMixin, BaseEstimator):
    """A ``StandardScaler`` for dense and sparse matrices.

    Sparse columns are scaled and not centred.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the means and variances of columns."""
        self.scaler_ = StandardScaler(with_mean=not is_sparse(X)).fit(X)
        return self

    def transform(self, X: Any) -> Any:
        """Return columns on the scale of those fitted."""
        return self.scaler_.transform(X)
