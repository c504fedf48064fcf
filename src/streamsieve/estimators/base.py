"""What all estimators share: scikit-learn's interface over a learner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..errors import UsageError
from ..machine import available_memory
from ..selection import Selection
from ..selectors.diagnosis import warn_of
from ..sources.base import DataSource
from ..training import train, watching
from ..values import is_sparse
from .validation import as_learned, check_array, usable, validate_data

if TYPE_CHECKING:
    from ..selectors.base import Learner

    class LearnerBelow(Learner[Any, Any]):
        """What an estimator is mixed into."""
else:
    LearnerBelow = object


class Estimator(TransformerMixin, BaseEstimator, LearnerBelow):
    """What all estimators share: the checks of input, the support, the reduced matrix.

    The methods are those of scikit-learn's ``SelectorMixin``, without a mask as long as the data is wide and without
    the import of half of scikit-learn.
    """

    # scikit-learn's checks that cannot hold for a class, with the reason; tests expect exactly these to fail.
    expected_failed_checks: ClassVar[dict[str, str]] = {}

    def selection(self) -> Selection:
        """The selected features, with scores and names; its size is that of the selection."""
        check_is_fitted(self)
        return super().selection()

    def save(self, path: str | Path, note: dict[str, Any] | None = None) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` gives it back and learning can go on."""
        check_is_fitted(self)
        super().save(path, note)

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """A mask over all features, or, with ``indices=True``, the selected ids in ascending order."""
        selected = self.selection().indices
        if indices:
            return selected
        if self.n_features_in_ > available_memory():
            raise UsageError(
                f"a mask over {self.n_features_in_:,} features needs a byte for each, more than there are; ask for "
                "get_support(indices=True)"
            )
        mask = np.zeros(self.n_features_in_, bool)
        mask[selected] = True
        return mask

    @property
    def support_(self) -> NDArray[np.bool_]:
        """``get_support()``: made anew whenever it is asked for, one byte per feature of the data."""
        return self.get_support()

    @property
    def scores_(self) -> NDArray[np.float64]:
        """The scores of the selected features, larger is better, aligned with ``get_support(indices=True)``.

        Unlike those of scikit-learn's ``SelectKBest`` they are of the selected features alone: of all others a method
        in fixed memory may know nothing.
        """
        return self.selection().scores

    def get_feature_names_out(self, input_features: Any | None = None) -> NDArray[Any]:
        """The names of the selected columns: those given or seen in training, otherwise x0, x1, ..."""
        selected = self.selection().indices
        if input_features is None and self.feature_names is None:
            return np.array([f"x{feature}" for feature in selected], dtype=object)
        names: NDArray[Any] = _check_feature_names_in(self, input_features)
        return names[selected]

    def transform(self, X: Any) -> Any:
        """The selected columns of ``X``, in ascending order of id; of a table with text, features such as ``a=b``."""
        check_is_fitted(self)
        options = {"dtype": None, "accept_sparse": "csr", "ensure_all_finite": not get_tags(self).input_tags.allow_nan}
        X, names = as_learned(self, X, reset=False)
        X = validate_data(self, self._without_unseen(X), names=names, **options, reset=False)
        chosen = _safe_indexing(X, self.selection().indices, axis=1)
        return chosen if names is None or not is_sparse(chosen) else chosen.toarray()

    def inverse_transform(self, X: Any) -> Any:
        """A matrix as wide as the training data, with the columns of ``X`` at their ids and zeros elsewhere."""
        from scipy.sparse import csr_array

        selected = self.selection().indices
        X = check_array(X, accept_sparse="csr", dtype=None)
        if X.shape[1] != selected.size:
            raise ValueError(f"X has {X.shape[1]} columns, but {selected.size} features were selected")
        if is_sparse(X):
            return csr_array((X.data, selected[X.indices], X.indptr), shape=(X.shape[0], self.n_features_in_))
        wide = np.zeros((X.shape[0], self.n_features_in_), X.dtype)
        wide[:, selected] = X
        return wide

    def _refit(
        self,
        source: DataSource,
        *,
        y: NDArray[Any] | None = None,
        classes: Any | None = None,
        groups: Any | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn from a source, from scratch; ``progress`` shows a bar."""
        self.reset()
        with watching(None, progress) as watch:
            done = train(self, source, y=y, classes=classes, groups=groups, watch=watch)
        warn_of(done.remarks, stacklevel=4)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self.started

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _without_unseen(self, X: Any) -> Any:
        """A sparse ``X`` without columns beyond those seen in training: there unseen features count nothing.

        A dense one of another width is a mistake, and refused as scikit-learn demands.
        """
        return usable(X).tocsr()[:, : self.n_features_in_] if self._has_unseen(X) else X

    def _has_unseen(self, X: Any) -> bool:
        return is_sparse(X) and X.shape[1] > self.n_features_in_
