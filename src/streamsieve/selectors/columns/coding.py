"""Columns as codes, for measures that count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...blocks import ColumnBlock
from ...errors import DataError, prefix
from ...kernels.columns.binning import MDL, bin_columns
from ...kernels.columns.contents import code_columns, find_discrete
from ...targets import Target
from ..requirements import is_integer, require
from .parts import in_parts

MOST_BINS = 1 << 16
MOST_CELLS = 1 << 28  # of a table of values by classes: 2 GB
DISCRETE_LEVELS = 32  # a column of integers with no more different values is discrete


def require_bins(bins: Any) -> None:
    fits = bins is None or (isinstance(bins, str) and bins == "mdl") or (is_integer(bins) and 2 <= bins <= MOST_BINS)
    require(fits, "bins", bins, f"None, 'mdl' or an integer from 2 to {MOST_BINS:,}")


def coded(
    block: ColumnBlock, target: Target, bins: int | str | None, wanted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """A code for every non-zero, and the number of codes of every column; those of many values in bins, if asked.

    Columns that are not ``wanted``, if that is said, have one code.
    """
    codes, n_levels = np.zeros(block.values.size, np.int32), np.ones(block.n_columns, np.int64)
    chosen = np.ones(block.n_columns, bool) if wanted is None else wanted
    in_parts(block, lambda a, b: code_columns(block.indptr, block.values, chosen, a, b, codes, n_levels))
    if bins is not None:
        many = chosen & ~are_discrete(block)
        number = MDL if bins == "mdl" else int(bins)
        columns = block.indptr, block.indices, block.values
        known = target.weights, target.codes, target.class_counts
        in_parts(block, lambda a, b: bin_columns(*columns, *known, many, number, a, b, codes, n_levels))
    return codes, n_levels


def refuse_large_tables(block: ColumnBlock, target: Target, bins: int | str | None) -> None:
    """Refuse columns of which bins would take a table of values by classes out of proportion."""
    most = int(np.diff(block.indptr).max(initial=0)) + 1
    if bins is None or most * target.n_classes <= MOST_CELLS:
        return
    chosen = ~are_discrete(block)
    codes, n_levels = np.zeros(block.values.size, np.int32), np.ones(block.n_columns, np.int64)
    in_parts(block, lambda a, b: code_columns(block.indptr, block.values, chosen, a, b, codes, n_levels))
    levels, classes = int(n_levels.max()), target.n_classes
    if levels * classes > MOST_CELLS:
        raise DataError(
            f"{prefix(block.origin)}bins for a column of {levels:,} different values and {classes:,} classes need a "
            f"table of {levels * classes * 8 / 1e9:.1f} GB; round the values, or take bins=None"
        )


def are_discrete(block: ColumnBlock) -> NDArray[np.bool_]:
    """Which columns hold integers alone, and few different ones."""
    discrete = np.zeros(block.n_columns, bool)
    in_parts(block, lambda a, b: find_discrete(block.indptr, block.values, DISCRETE_LEVELS, a, b, discrete))
    return discrete
