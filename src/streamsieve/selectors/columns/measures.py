"""What columns are measured by: codes for measures that count, tests of independence, levels of significance."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv, ndtri

from ...blocks import ColumnBlock
from ...errors import DataError, prefix, spell
from ...kernels.columns.binning import MDL, bin_columns
from ...kernels.columns.contents import code_columns, find_discrete
from ...kernels.columns.independence import Tests
from ...kernels.types import F64, I32, I64, Bool
from ...targets import Target
from ..parameters import fits, is_integer, one_of
from .rules import in_parts

MAX_BINS = 1 << 16
MAX_CELLS = 1 << 28  # of a table of values by classes: 2 GB
DISCRETE_LEVELS = 32  # a column of integers with no more different values is discrete
MAX_DEGREES_OF_FREEDOM = 1 << 12  # degrees: a test with more is judged as one with that many
MAX_LEVEL = 0.5  # of a test that is worth a try

# What parameters may be.
BINS = fits(
    lambda bins: (
        bins is None
        or (isinstance(bins, str) and bins == "mdl")
        or (is_integer(bins) and 2 <= bins <= MAX_BINS)
    ),
    f"None, 'mdl' or an integer from 2 to {MAX_BINS:,}",
)
BALANCE = one_of(None, "balanced")
TEST = one_of("auto", "fisher_z", "g2", "chi2")
CONDITION = fits(lambda most: is_integer(most) and 1 <= most <= 10, "an integer from 1 to 10")


# ---- codes


def coded(
    block: ColumnBlock, target: Target, bins: int | str | None, wanted: Bool | None = None
) -> tuple[I32, I64]:
    """A code for every non-zero, and the number of codes of every column; those of many values in bins, if asked.

    Columns that are not ``wanted``, if that is said, have one code.
    """
    codes, n_levels = np.zeros(block.values.size, np.int32), np.ones(block.n_columns, np.int64)
    chosen = np.ones(block.n_columns, bool) if wanted is None else wanted
    in_parts(
        block, lambda a, b: code_columns(block.indptr, block.values, chosen, a, b, codes, n_levels)
    )
    if bins is not None:
        many = chosen & ~are_discrete(block)
        number = MDL if bins == "mdl" else int(bins)
        columns = block.indptr, block.indices, block.values
        known = target.weights, target.codes, target.class_counts
        in_parts(
            block, lambda a, b: bin_columns(*columns, *known, many, number, a, b, codes, n_levels)
        )
    return codes, n_levels


def refuse_large_tables(block: ColumnBlock, target: Target, bins: int | str | None) -> None:
    """Refuse columns of which bins would take a table of values by classes out of proportion."""
    most = int(np.diff(block.indptr).max(initial=0)) + 1
    if bins is None or most * target.n_classes <= MAX_CELLS:
        return
    _, n_levels = coded(block, target, None, ~are_discrete(block))
    levels, classes = int(n_levels.max()), target.n_classes
    if levels * classes > MAX_CELLS:
        raise DataError(
            f"{prefix(block.origin)}bins for a column of {levels:,} different values and"
            f" {classes:,} classes need a table of {levels * classes * 8 / 1e9:.1f} GB; round the"
            f" values, or take {spell('bins', None)}"
        )


def are_discrete(block: ColumnBlock) -> Bool:
    """Which columns hold integers alone, and few different ones."""
    discrete = np.zeros(block.n_columns, bool)
    in_parts(
        block,
        lambda a, b: find_discrete(block.indptr, block.values, DISCRETE_LEVELS, a, b, discrete),
    )
    return discrete


# ---- tests of independence


def levels_of_target(target: Target, measure: str) -> int:
    """How many classes the tests count; 0 if they count none."""
    if measure in ("g2", "chi2") and not target.codes.size:
        raise DataError(
            f"{spell('measure', measure)} needs classes, and this target is a regression's; use"
            " 'fisher_z'"
        )
    return 0 if measure == "fisher_z" else target.class_counts.size


def coded_for(measure: str, block: ColumnBlock, target: Target) -> tuple[I32, I64]:
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
def limits_of_counts(alpha: float) -> F64:
    """What G2 and chi squared must reach at level ``alpha``, by degrees of freedom."""
    return np.asarray(
        2.0 * gammainccinv(np.maximum(np.arange(MAX_DEGREES_OF_FREEDOM), 1) / 2.0, alpha),
        np.float64,
    )


# ---- significance


def least_correlation(alpha: float, n_rows: F64 | float) -> F64:
    """The |correlation| from which on Fisher's Z test at level ``alpha`` finds dependence, over that many rows."""
    freedom = np.asarray(n_rows, np.float64) - 3.0
    return np.where(
        freedom > 0, np.tanh(-ndtri(alpha / 2.0) / np.sqrt(np.maximum(freedom, 1e-9))), np.inf
    )


def advice_on_level(alpha: float) -> str:
    """Return what to say where no column passed tests at level ``alpha``: on noise that is the right answer."""
    return advice_on_strictness(
        "no feature depends on the target by this test", "alpha", alpha, MAX_LEVEL
    )


def advice_on_strictness(finding: str, name: str, value: float, largest: float) -> str:
    """Return what was found, and a larger value of the parameter that decides, as long as there is one."""
    if value >= largest:
        return finding
    larger = spell(name, float(f"{min(largest, 10.0 * value):g}"))
    return f"{finding}; {larger} accepts more features, but also more false ones"


def effective_rows(weights: F64) -> float:
    """How many rows of equal weight say as much (Kish 1965): with unequal ones chance correlates more."""
    return float(weights.sum() ** 2 / (weights**2).sum())
