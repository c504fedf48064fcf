"""When a correlation is more than chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

LARGEST_LEVEL = 0.5  # of a test that is worth a try


def least_correlation(alpha: float, n_rows: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """The |correlation| from which on Fisher's Z test at level ``alpha`` finds dependence, over that many rows."""
    freedom = np.asarray(n_rows, np.float64) - 3.0
    return np.where(freedom > 0, np.tanh(-ndtri(alpha / 2.0) / np.sqrt(np.maximum(freedom, 1e-9))), np.inf)


def advice_on_level(alpha: float) -> str:
    """Return what to say where no column passed tests at level ``alpha``: on noise that is the right answer."""
    return advice_on_strictness("no feature depends on the target by this test", "alpha", alpha, LARGEST_LEVEL)


def advice_on_strictness(finding: str, name: str, value: float, largest: float) -> str:
    """Return what was found, and a larger value of the parameter that decides, as long as there is one."""
    if value >= largest:
        return finding
    return f"{finding}; {name}={min(largest, 10.0 * value):g} accepts more features, but also more false ones"


def effective_rows(weights: NDArray[np.float64]) -> float:
    """How many rows of equal weight say as much (Kish 1965): with unequal ones chance correlates more."""
    return float(weights.sum() ** 2 / (weights**2).sum())
