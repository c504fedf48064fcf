"""scikit-learn's checks of input, after our own: what would lose something is refused before anything is converted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import validation

from ..errors import DataError
from ..values import is_object, is_sparse, refuse_unusable, simple_labels, sound_sparse

NOTHING = "no_validation"  # what scikit-learn takes for an X or a y that is not there


def usable(X: Any) -> Any:
    """The same ``X``, CSR or CSC if it is sparse, once it is clear that it can be used."""
    if is_sparse(X):
        return sound_sparse(X, "X")
    refuse_unusable(X, "X")
    return X


def validate_data(estimator: Any, X: Any = NOTHING, y: Any = NOTHING, **options: Any) -> Any:
    """As scikit-learn's."""
    X = usable(X)
    if y is not None and not isinstance(y, str):
        refuse_unusable(y, "y")
        if is_object(getattr(y, "dtype", None)):
            simple_labels(np.asarray(y).ravel())
    try:
        return validation.validate_data(estimator, X, y, **options)
    except OverflowError as error:
        raise DataError(f"X or y holds an integer too large for a number ({error})") from None


def check_array(X: Any, **options: Any) -> Any:
    """As scikit-learn's."""
    return validation.check_array(usable(X), **options)


def check_sample_weight(weights: Any, X: Any) -> NDArray[np.float64]:
    """The weights of rows as numbers, one for each."""
    refuse_unusable(weights, "sample_weight")
    checked: NDArray[np.float64] = validation._check_sample_weight(weights, X, dtype=np.float64)
    return checked
