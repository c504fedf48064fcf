"""What happens to a row before it is learned: running standardisation, length, the intercept's input."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...blocks import RowBlock, dense_block
from ...errors import UsageError
from ...kernels.rows.scaling import intercept_inputs, scale_by_spread, scale_rows_to_length_one, standardize

NORMALIZATIONS = (False, "l2", "standard", "standard+l2")
INTERCEPT_SHARE = 0.3  # of the mean row norm so far: the constant input of the intercept


class Moments(NamedTuple):
    """Sums for running standardisation; empty arrays where it is off.

    ``first`` and ``second`` are sum and sum of squares of sparse features, mean and squared deviations of dense ones.
    """

    first: NDArray[np.float64]  # per feature position
    second: NDArray[np.float64]  # per feature position
    seen: NDArray[np.float64]  # rows
    dense: NDArray[np.int64]  # 1 dense, 0 sparse, -1 not known yet
    totals: NDArray[np.float64]  # sum of row norms, rows: for the intercept


def start_moments() -> Moments:
    return Moments(np.zeros(0), np.zeros(0), np.zeros(1), np.array([-1]), np.zeros(2))


def prepare(block: RowBlock, moments: Moments, normalize: Any, learn: bool) -> RowBlock:
    """The block as the algorithm wants its rows; ``learn`` takes them into the running moments."""
    if normalize in ("standard", "standard+l2"):
        block = _standardized(block, moments, learn)
    if normalize in ("l2", "standard+l2"):
        scaled = np.empty(block.n_nonzero, np.float32)
        scale_rows_to_length_one(block.indptr, block.values, scaled)
        block = block.derived(values=scaled)
    return block


def _standardized(block: RowBlock, moments: Moments, learn: bool) -> RowBlock:
    if moments.dense[0] < 0:
        moments.dense[0] = block.dense
    if moments.dense[0] != block.dense:
        raise UsageError("normalize='standard' centres dense rows and only scales sparse ones; keep to one kind")
    if block.dense:
        matrix = block.derived(n_features=moments.first.size).to_dense()
        standardize(matrix, moments.seen, moments.first, moments.second, learn)
        rows = dense_block(matrix, block.y, block.origin)
        return rows.derived(n_features=block.n_features, sample_weight=block.sample_weight)
    scaled = np.empty(block.n_nonzero, np.float32)
    sums = moments.first, moments.second
    scale_by_spread(block.indptr, block.indices, block.values, moments.seen, *sums, learn, scaled)
    return block.derived(values=scaled)


def constants_of(block: RowBlock, moments: Moments, fit_intercept: bool) -> NDArray[np.float64]:
    """The intercept's input for rows about to be learned."""
    constants = np.zeros(block.n_rows)
    if fit_intercept:
        intercept_inputs(block.indptr, block.values, INTERCEPT_SHARE, moments.totals, constants)
    return constants


def constant_now(moments: Moments, fit_intercept: bool) -> float:
    """The intercept's input for rows to predict."""
    norms, rows = moments.totals
    return float(INTERCEPT_SHARE * norms / rows) if fit_intercept and rows else 0.0
