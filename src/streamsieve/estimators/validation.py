"""scikit-learn's checks of input, after our own: what would lose something is refused before anything is converted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import get_tags, validation

from ..errors import DataError
from ..sources.arrays import as_matrix
from ..sources.arrow_values import Where, numbers_of
from ..sources.encoding import Encoding
from ..sources.frames import as_arrow, encoded_matrix, is_frame, look, names_of
from ..sources.reading import Reading
from ..values import is_object, is_sparse, refuse_unusable, simple_labels, sound_sparse

FILL = "fill it in or drop the row; open_source((X, y), missing='mean') fills in for fit_source"
NOTHING = "no_validation"  # what scikit-learn takes for an X or a y that is not there


def usable(X: Any) -> Any:
    """The same ``X``, CSR or CSC if it is sparse, once it is clear that it can be used."""
    if is_sparse(X):
        return sound_sparse(X, "X")
    refuse_unusable(X, "X")
    return X


def as_learned(estimator: Any, X: Any, reset: bool) -> tuple[Any, NDArray[Any] | None]:
    """A table whose columns are not all numbers as the matrix of its features, and their names; else ``X`` and None.

    With ``reset`` the table shows how its columns are to be read, from then on; otherwise the training did.
    """
    if reset:
        estimator.set_encoding(None)
    if not is_frame(X):
        return X, None
    if reset:
        missing = "skip" if get_tags(estimator).input_tags.allow_nan else "error"
        estimator.set_encoding(look(X, Reading(missing=missing), names_of(X), "").encoding)
    encoding = estimator.encoding
    if encoding is None:
        return X, None
    if names_of(X) == encoding.feature_names.tolist():  # may be encoded already
        if encoding.has_groups:
            return csr_array(as_matrix(X, "")[0]), encoding.feature_names  # sparse, as the table itself is
        encoding = Encoding(encoding.columns, encoding.missing, reduced=True)
    return encoded_matrix(X, encoding, "", known=not reset), encoding.feature_names


def validate_data(
    estimator: Any, X: Any = NOTHING, y: Any = NOTHING, names: NDArray[Any] | None = None, **options: Any
) -> Any:
    """As scikit-learn's; ``names`` are those of the features of a matrix that was made of a table."""
    if names is not None:
        estimator.__dict__.pop("feature_names_in_", None)  # a matrix has none, which would be warned of
        try:
            return _validated(estimator, X, y, **options)
        finally:
            estimator.feature_names_in_ = names
    return _validated(estimator, X, y, **options)


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
