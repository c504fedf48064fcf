"""Codes of columns for measures that count, tests of independence, levels of significance."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv, ndtri

from ...blocks import ColumnBlock
from ...errors import DataError, prefix, spell
from ...kernels.columns.binning import MDL, bin_columns
from ...kernels.columns.contents import code_columns, find_discrete
from ...kernels.columns.dependence import correlate_with_target, uncertainties_of_target
from ...kernels.columns.independence import TestSettings
from ...kernels.types import F64, I32, I64, Bool
from ...targets import Target
from ..parameters import fits, is_integer, one_of
from .rules import run_in_parts

MAX_BINS = 1 << 16
MAX_CELLS = 1 << 28  # in a table of values by classes: 2 GB
DISCRETE_LEVELS = 32  # a column of integers with no more different values is discrete
MAX_DEGREES_OF_FREEDOM = 1 << 12  # a test with more is judged as one with this many
MAX_LEVEL = 0.5  # of a test, that advice suggests

# Checks of parameters.
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


# ---- dependence on the target


def correlate(block: ColumnBlock, values: F64, target: Target) -> tuple[F64, F64]:
    """Return the correlations of columns with the target, and the norms of the centred columns.

    ``values`` are those of ``centre_block``. Both are 0 for constant columns.
    """
    correlations, norms = np.zeros(block.n_columns), np.zeros(block.n_columns)
    run_in_parts(
        block,
        lambda a, b: correlate_with_target(
            block.indptr,
            block.indices,
            values,
            target.weights,
            target.numbers,
            a,
            b,
            correlations,
            norms,
        ),
    )
    return correlations, norms


def measure_uncertainty(block: ColumnBlock, codes: I32, n_levels: I64, target: Target) -> F64:
    """Return the symmetrical uncertainty of columns, given as codes, and the classes."""
    uncertainties = np.zeros(block.n_columns)
    run_in_parts(
        block,
        lambda a, b: uncertainties_of_target(
            block.indptr,
            block.indices,
            codes,
            n_levels,
            target.weights,
            target.codes,
            target.class_counts,
            a,
            b,
            uncertainties,
        ),
    )
    return uncertainties


# ---- codes


def encode(
    block: ColumnBlock, target: Target, bins: int | str | None, wanted: Bool | None = None
) -> tuple[I32, I64]:
    """Return a code for every non-zero and the number of codes of every column.

    Columns of many values are binned if ``bins`` is not None. Columns that are not ``wanted``, if
    given, have one code.
    """
    codes, n_levels = np.zeros(block.values.size, np.int32), np.ones(block.n_columns, np.int64)
    is_coded = np.ones(block.n_columns, bool) if wanted is None else wanted
    run_in_parts(
        block,
        lambda a, b: code_columns(block.indptr, block.values, is_coded, a, b, codes, n_levels),
    )
    if bins is not None:
        is_binned = is_coded & ~are_discrete(block)
        n_bins = MDL if bins == "mdl" else int(bins)
        run_in_parts(
            block,
            lambda a, b: bin_columns(
                block.indptr,
                block.indices,
                block.values,
                target.weights,
                target.codes,
                target.class_counts,
                is_binned,
                n_bins,
                a,
                b,
                codes,
                n_levels,
            ),
        )
    return codes, n_levels


def check_table_size(block: ColumnBlock, target: Target, bins: int | str | None) -> None:
    """Raise DataError if binning a column needs too large a table of values by classes."""
    max_values = int(np.diff(block.indptr).max(initial=0)) + 1
    if bins is None or max_values * target.n_classes <= MAX_CELLS:
        return
    _, n_levels = encode(block, target, None, ~are_discrete(block))
    levels, classes = int(n_levels.max()), target.n_classes
    if levels * classes > MAX_CELLS:
        raise DataError(
            f"{prefix(block.origin)}bins for a column of {levels:,} different values and"
            f" {classes:,} classes need a table of {levels * classes * 8 / 1e9:.1f} GB; round the"
            f" values, or set {spell('bins', None)}"
        )


def are_discrete(block: ColumnBlock) -> Bool:
    """Return which columns hold only integers, with few different values."""
    is_discrete = np.zeros(block.n_columns, bool)
    run_in_parts(
        block,
        lambda a, b: find_discrete(block.indptr, block.values, DISCRETE_LEVELS, a, b, is_discrete),
    )
    return is_discrete


# ---- tests of independence


def levels_of_target(target: Target, measure: str) -> int:
    """Return the number of classes that the tests count; 0 if they do not count."""
    if measure in ("g2", "chi2") and not target.codes.size:
        raise DataError(
            f"{spell('measure', measure)} needs classes, but the target holds numbers; use"
            " 'fisher_z'"
        )
    return 0 if measure == "fisher_z" else target.class_counts.size


def encode_for_tests(measure: str, block: ColumnBlock, target: Target) -> tuple[I32, I64]:
    """Return codes of non-zeros and the number of codes per column, 0 if it is not discrete."""
    if not levels_of_target(target, measure):
        return np.zeros(0, np.int32), np.zeros(block.n_columns, np.int64)
    is_discrete = are_discrete(block) if measure == "auto" else np.ones(block.n_columns, bool)
    codes, n_levels = encode(block, target, None, is_discrete)
    n_levels[~is_discrete] = 0
    return codes, n_levels


def prepare_tests(
    alpha: float, measure: str, n_rows: int, max_variables: int, n_cells: int, rows_each: int = 0
) -> TestSettings:
    """Return tests at level ``alpha``, with scratch arrays for variables and table cells."""
    return TestSettings(
        critical=float(-ndtri(alpha / 2.0)),
        limits=critical_chi2(alpha),
        pearson=measure == "chi2",
        n_rows=n_rows,
        rows_each=rows_each,
        table=np.empty(n_cells),
        strata=np.empty(n_rows, np.int64),
        matrix=np.empty((max_variables, max_variables)),
    )


@lru_cache(maxsize=8)
def critical_chi2(alpha: float) -> F64:
    """Return the critical values of G2 and chi squared at a level, by degrees of freedom."""
    return np.asarray(
        2.0 * gammainccinv(np.maximum(np.arange(MAX_DEGREES_OF_FREEDOM), 1) / 2.0, alpha),
        np.float64,
    )


# ---- significance


def critical_correlation(alpha: float, n_rows: F64 | float) -> F64:
    """Return the smallest |correlation| that is significant by Fisher's Z test at a level."""
    freedom = np.asarray(n_rows, np.float64) - 3.0
    return np.where(
        freedom > 0, np.tanh(-ndtri(alpha / 2.0) / np.sqrt(np.maximum(freedom, 1e-9))), np.inf
    )


def advice_on_level(alpha: float) -> str:
    """Return advice for a selection that is empty at level ``alpha``: right for pure noise."""
    return advice_on_strictness(
        "no feature depends on the target by this test", "alpha", alpha, MAX_LEVEL
    )


def advice_on_strictness(finding: str, name: str, value: float, largest: float) -> str:
    """Return a finding, with a larger value of the deciding parameter unless it is at its limit."""
    if value >= largest:
        return finding
    larger = spell(name, float(f"{min(largest, 10.0 * value):g}"))
    return f"{finding}; {larger} accepts more features, but also more false ones"


def effective_n_rows(weights: F64) -> float:
    """Return the effective sample size (Kish 1965): unequal weights raise chance correlation."""
    return float(weights.sum() ** 2 / (weights**2).sum())
