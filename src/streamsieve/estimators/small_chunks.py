"""A few rows without the checks of scikit-learn, which take longer than learning them.

What is let in here is what those checks would pass on as it is; everything else goes their way and gets their messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, dense_block
from ..values import ascends, fault_of, frozen

MOST_VALUES = 4096
INDEX_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
VALUE_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


def small_block(X: Any, y: Any, width: int, exact: bool) -> RowBlock | None:
    """The rows of a small matrix of this width with their labels; None if they must be looked at more closely.

    ``exact`` keeps the values of a float64 as they are, for learners that take a mean off before they round.
    """
    if type(y) is not np.ndarray or not are_simple(y):
        return None
    if type(X) is np.ndarray:
        return small_dense(X, y, exact) if X.ndim == 2 and X.shape == (y.size, width) else None
    is_csr = getattr(X, "format", None) == "csr" and type(X).__module__.startswith("scipy.sparse")
    return small_sparse(X, y, exact) if is_csr and X.shape == (y.size, width) else None


def are_simple(y: NDArray[Any]) -> bool:
    """Whether these are labels, or numbers, that need no conversion."""
    if y.ndim != 1 or not 0 < y.size <= MOST_VALUES or not y.dtype.isnative:
        return False
    kind = y.dtype.kind
    return kind in "biuU" or (kind == "f" and y.dtype.itemsize <= 8 and bool(np.isfinite(y).all()))


def small_dense(X: NDArray[Any], y: NDArray[Any], exact: bool) -> RowBlock | None:
    if not 0 < X.size <= MOST_VALUES or X.dtype not in VALUE_TYPES:
        return None
    rounded = rounded_values(X)
    if rounded is None:
        return None
    block = dense_block(rounded, y)
    if exact and X.dtype == np.float64:
        return block.derived(values=X[rounded != 0] if block.n_nonzero < X.size else X.reshape(-1))
    return block


def small_sparse(X: Any, y: NDArray[Any], exact: bool) -> RowBlock | None:
    indptr, indices, values = X.indptr, X.indices, X.data
    if values.dtype not in VALUE_TYPES or indices.dtype not in INDEX_TYPES or values.size > MOST_VALUES:
        return None
    if not indices.size == values.size == indptr[-1] or indptr[0]:
        return None
    if fault_of(indptr, indices, values.size, y.size, X.shape[1]):
        return None
    rounded = rounded_values(values)
    if rounded is None or not rounded.all() or not ascends(indptr, indices):
        return None
    entries = (
        frozen(indices, indices.dtype),
        frozen(values if exact else rounded, values.dtype if exact else np.float32),
    )
    return RowBlock.trusted(indptr.astype(np.int64), *entries, y, X.shape[1])


def rounded_values(values: NDArray[Any]) -> NDArray[np.float32] | None:
    """The same in float32; None if one is no number there."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32, copy=False)
    return rounded if np.isfinite(rounded).all() else None
