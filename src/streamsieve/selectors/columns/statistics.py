"""When a correlation is more than chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri


def least_correlation(alpha: float, n_rows: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The |correlation| from which on Fisher's Z test at level ``alpha`` finds dependence, over that many rows."""
    freedom = np.asarray(n_rows, np.float64) - 3.0
    return np.where(freedom > 0, np.tanh(-ndtri(alpha / 2.0) / np.sqrt(np.maximum(freedom, 1e-9))), np.inf)


def advice_on_level(alpha: float) -> str:
    """What to try where no column passed tests at level ``alpha``."""
    return f"try a test that is less strict: alpha={min(0.5, 10.0 * alpha):g}"


def effective_rows(weights: NDArray[np.float64]) -> float:
    """How many rows of equal weight say as much (Kish 1965): with unequal ones chance correlates more."""
    return float(weights.sum() ** 2 / (weights**2).sum())
