"""What every selector shares: scikit-learn's conventions, the selection, saving and loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import __version__
from ..persistence import write_model
from ..selection import Selection
from ..sources.arrays import is_sparse


class Selector(SelectorMixin, BaseEstimator):
    """The base of all selectors. After fitting, ``_selected`` gives ids, ascending, and their scores."""

    # scikit-learn checks that cannot hold for a class, with the reason; tests expect exactly these to fail.
    expected_failed_checks: ClassVar[dict[str, str]] = {}

    n_features_in_: int

    def _selected(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        raise NotImplementedError

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """All that was learned, as arrays."""
        raise NotImplementedError

    def _header(self) -> dict[str, Any]:
        """What is needed beside the arrays, as JSON."""
        raise NotImplementedError

    def _restore(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what ``_arrays`` and ``_header`` gave."""
        raise NotImplementedError

    def selection(self) -> Selection:
        """The selected features, with scores and names; its size is that of the selection."""
        check_is_fitted(self)
        indices, scores = self._selected()
        names = getattr(self, "feature_names_in_", None)
        return Selection(indices, scores, None if names is None else names[indices])

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """A mask over all features, or, with ``indices=True``, the selected ids in ascending order."""
        return self.selection().indices if indices else self._get_support_mask()

    def _get_support_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self.n_features_in_, bool)
        mask[self.selection().indices] = True
        return mask

    def transform(self, X: Any) -> Any:
        """The selected columns of ``X``, in ascending order of id; columns never seen in training are ignored."""
        check_is_fitted(self)
        return super().transform(self._without_unseen(X))

    def _transform(self, X: Any) -> Any:
        return _safe_indexing(X, self.selection().indices, axis=1)

    def _without_unseen(self, X: Any) -> Any:
        """``X`` without unnamed columns beyond those seen in training: at prediction unseen features count nothing."""
        unnamed = isinstance(X, np.ndarray) or is_sparse(X)
        if unnamed and X.ndim == 2 and X.shape[1] > self.n_features_in_:
            return (X.tocsr() if is_sparse(X) else X)[:, : self.n_features_in_]
        return X

    def _validated(self, X: Any) -> Any:
        """``X`` as an array to predict on, its width and names checked against those of the training."""
        check_is_fitted(self)
        return validate_data(self, self._without_unseen(X), accept_sparse="csr", reset=False)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, without pickle; ``streamsieve.load`` gives it back and learning can go on."""
        check_is_fitted(self)
        header = {
            "class": type(self).__name__,
            "version": __version__,
            "params": self.get_params(deep=False),
            "n_features": self.n_features_in_,
            **self._header(),
        }
        arrays = self._arrays()
        if hasattr(self, "feature_names_in_"):
            arrays["feature_names"] = self.feature_names_in_.astype(str)
        write_model(path, header, arrays)

    @classmethod
    def from_saved(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """A fitted selector from what ``save`` wrote."""
        selector = cls(**header["params"])
        selector.n_features_in_ = header["n_features"]
        if "feature_names" in arrays:
            selector.feature_names_in_ = arrays["feature_names"].astype(object)
        selector._restore(header, arrays)
        return selector
