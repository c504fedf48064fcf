"""What columns are measured against: classes or numbers, with a weight for every row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...errors import DataError
from ..rows.labels import place, show

MOST_CLASSES = 0.5  # of the rows: a target of numbers with more different values is a regression's


class Target(NamedTuple):
    """The target as arrays."""

    numbers: NDArray[np.float64]  # centred, of length 1, times the weights
    codes: NDArray[np.int32]  # the class of every row; empty for a regression
    class_counts: NDArray[np.float64]  # their weights
    weights: NDArray[np.float64]  # of rows; they sum to the number of rows


def target_of(y: Any, class_weight: Any, origin: str = "") -> tuple[Target, NDArray[Any] | None]:
    """A target ready for measuring, and its classes, sorted; None for a regression.

    Numbers are used as they are, also those of classes; text counts as 0, 1, ... in sorted order.
    """
    y = np.asarray(y)
    if y.ndim != 1 or not y.size:
        raise DataError(f"{place(origin)}the target must be one value per row, not an array of shape {y.shape}")
    is_number = y.dtype.kind in "biuf"
    if is_number and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{place(origin)}the target of row {row + 1} is {y[row]}; drop such rows")
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise DataError(f"{place(origin)}the target is {show(classes[0])} in all rows; nothing can depend on it")
    regression = y.dtype.kind == "f" and classes.size > max(2, MOST_CLASSES * y.size)
    weights = np.ones(y.size)
    if class_weight is not None:
        if regression:
            raise DataError(f"{place(origin)}class_weight is for classes, and this target is a regression's")
        weights = (y.size / (classes.size * np.bincount(codes)))[codes]
    numbers = y.astype(np.float64) if is_number else codes.astype(np.float64)
    numbers = numbers - np.average(numbers, weights=weights)
    numbers = weights * numbers / np.sqrt((weights * numbers**2).sum())
    if regression:
        return Target(numbers, np.empty(0, np.int32), np.empty(0), weights), None
    counts = np.bincount(codes, weights).astype(np.float64)
    return Target(numbers, codes.astype(np.int32), counts, weights), classes


def least_correlation(alpha: float, n_rows: Any) -> NDArray[np.float64]:
    """The |correlation| from which on Fisher's Z test at level ``alpha`` finds dependence, over that many rows."""
    freedom = np.asarray(n_rows, np.float64) - 3.0
    return np.where(freedom > 0, np.tanh(-ndtri(alpha / 2.0) / np.sqrt(np.maximum(freedom, 1e-9))), np.inf)


def effective_rows(weights: NDArray[np.float64]) -> float:
    """How many rows of equal weight say as much (Kish): with unequal ones chance correlates more."""
    return float(weights.sum() ** 2 / (weights**2).sum())
