"""scikit-learn's checks of input, after our own: what would lose something is refused before anything is converted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import get_tags, validation

from ..errors import DataError
from ..selectors.base import FeatureInfo
from ..sources.arrays import as_matrix, is_frame, names_of
from ..sources.encoding import Encoding
from ..sources.options import ReadOptions
from ..values import is_object, is_sparse, refuse_unusable, simple_labels, sound_sparse

FILL = "fill it in or drop the row; open_source((X, y), missing='mean') fills in for fit_source"
NOTHING = "no_validation"  # what scikit-learn takes for an X or a y that is not there


def usable(X: Any) -> Any:
    """The same ``X``, CSR or CSC if it is sparse, once it is clear that it can be used."""
    if is_sparse(X):
        return sound_sparse(X, "X")
    refuse_unusable(X, "X")
    return X


def encode_table(
    estimator: Any, X: Any, features: FeatureInfo | None
) -> tuple[Any, NDArray[Any] | None, Encoding | None]:
    """Return a table whose columns are not all numbers as the matrix of its features, their names, and the encoding.

    Of anything else they are ``X``, None and None. Without ``features``, as learned before, the table shows how its
    columns are to be read.
    """
    encoding = None if features is None else features.encoding
    if not is_frame(X):
        return X, None, encoding
    from ..sources.frames import encoded_matrix, infer_frame

    if features is None:
        skips = get_tags(estimator).input_tags.allow_nan
        inferred = infer_frame(X, ReadOptions(missing="skip" if skips else "error"), names_of(X), "")
        encoding = None if inferred is None else inferred.encoding
    if encoding is None:
        return X, None, None
    reads = encoding
    if names_of(X) == encoding.feature_names.tolist():  # may be encoded already
        if encoding.has_groups:
            return csr_array(as_matrix(X, "")[0]), encoding.feature_names, encoding  # sparse, as the table itself is
        reads = Encoding(encoding.columns, encoding.missing, reduced=True)
    matrix = encoded_matrix(X, reads, "", known=features is not None)
    return matrix, encoding.feature_names, encoding


def has_unseen(X: Any, features: FeatureInfo) -> bool:
    """Return True for a sparse ``X`` with columns beyond those seen in training.

    A dense one of another width is a mistake, and refused as scikit-learn demands.
    """
    return is_sparse(X) and X.shape[1] > features.width


def validate_data(
    estimator: Any,
    X: Any = NOTHING,
    y: Any = NOTHING,
    features: FeatureInfo | None = None,
    names: NDArray[Any] | None = None,
    **options: Any,
) -> tuple[Any, NDArray[Any] | None]:
    """Return what scikit-learn's function of that name does, and the names of the columns.

    The estimator is not changed. ``features`` are those that ``X`` must have, ``names`` those of the features of a
    matrix that was made of a table.
    """
    stand_in = type(estimator)(**estimator.get_params(deep=False))  # which is told widths and names
    if features is not None:
        stand_in.n_features_in_ = features.width
        if features.names is not None and names is None:  # a matrix has none, which would be warned of
            stand_in.feature_names_in_ = features.names
    checked = _validated(stand_in, X, y, **options, reset=features is None)
    return checked, stand_in.__dict__.get("feature_names_in_") if names is None else names


def _validated(estimator: Any, X: Any, y: Any, **options: Any) -> Any:
    X = usable(X)
    if y is not None and not isinstance(y, str):
        refuse_unusable(y, "y")
        if is_object(getattr(y, "dtype", None)):
            simple_labels(np.asarray(y).ravel())
    try:
        return validation.validate_data(estimator, X, y, **options)
    except OverflowError as error:
        raise DataError(f"X or y holds an integer too large for a number ({error})") from None
    except ValueError as error:
        raise with_column(error, X) from None


def with_column(error: ValueError, X: Any) -> ValueError:
    """What scikit-learn says of a value in a table that is missing or infinite, with its column and row."""
    if not str(error).startswith("Input X contains") or not is_frame(X):
        return error
    from ..sources.arrow_values import Where, numbers_of
    from ..sources.frames import as_arrow

    for name in names_of(X):
        column = as_arrow(X, [name], "").column(0)
        numbers = numbers_of(column.combine_chunks(), name, Where(""))
        wrong = ~np.isfinite(numbers)
        if wrong.any():
            reason = str(error).splitlines()[0].rstrip(".")
            return ValueError(f"{reason}: column {name!r}, row {int(np.argmax(wrong)) + 1}; {FILL}")
    return error


def check_array(X: Any, **options: Any) -> Any:
    """As scikit-learn's."""
    return validation.check_array(usable(X), **options)


def check_sample_weight(weights: Any, X: Any) -> NDArray[np.float64]:
    """The weights of rows as numbers, one for each."""
    refuse_unusable(weights, "sample_weight")
    checked: NDArray[np.float64] = validation._check_sample_weight(weights, X, dtype=np.float64)
    return checked
