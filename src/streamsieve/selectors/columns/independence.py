"""What methods that test for conditional independence share: their measures, limits and discrete columns."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainccinv, ndtri

from ...blocks import ColumnBlock
from ...errors import DataError
from ...kernels.columns.independence import Tests
from ...targets import Target
from ..requirements import is_integer, is_number, require, require_one_of
from .coding import are_discrete, coded

MEASURES = ("auto", "fisher_z", "g2", "chi2")
MOST_FREEDOM = 1 << 12  # degrees: a test with more is judged as one with that many


def require_test(measure: Any, alpha: Any) -> None:
    require_one_of("measure", measure, MEASURES)
    require(is_number(alpha) and 0 < alpha < 1, "alpha", alpha, "a number between 0 and 1")


def require_condition(most: Any) -> None:
    fits = is_integer(most) and 1 <= most <= 10
    require(fits, "max_condition", most, "an integer from 1 to 10")


def levels_of_target(target: Target, measure: str) -> int:
    """How many classes the tests count; 0 if they count none."""
    if measure in ("g2", "chi2") and not target.codes.size:
        raise DataError(f"measure={measure!r} needs classes, and this target is a regression's; use 'fisher_z'")
    return 0 if measure == "fisher_z" else target.class_counts.size


def coded_for(measure: str, block: ColumnBlock, target: Target) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """A code for every non-zero, and the number of codes of every column; 0 for one that is not discrete."""
    if not levels_of_target(target, measure):
        return np.zeros(0, np.int32), np.zeros(block.n_columns, np.int64)
    discrete = are_discrete(block) if measure == "auto" else np.ones(block.n_columns, bool)
    codes, n_levels = coded(block, target, None, discrete)
    n_levels[~discrete] = 0
    return codes, n_levels


def prepared_tests(
    alpha: float, measure: str, n_rows: int, most_variables: int, cells: int, rows_each: int = 0
) -> Tests:
    """Tests at a level, with scratch for that many variables by correlation and cells by counts."""
    return Tests(
        critical=float(-ndtri(alpha / 2.0)),
        limits=limits_of_counts(alpha),
        pearson=measure == "chi2",
        n_rows=n_rows,
        rows_each=rows_each,
        table=np.empty(cells),
        strata=np.empty(n_rows, np.int64),
        matrix=np.empty((most_variables, most_variables)),
    )


@lru_cache(maxsize=8)
def limits_of_counts(alpha: float) -> NDArray[np.float64]:
    """What G2 and chi squared must reach at level ``alpha``, by degrees of freedom."""
    return np.asarray(2.0 * gammainccinv(np.maximum(np.arange(MOST_FREEDOM), 1) / 2.0, alpha), np.float64)
