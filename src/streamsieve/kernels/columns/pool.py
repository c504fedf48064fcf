"""A pool of columns for a sparse linear model: which new columns are worth a fit, and the fit.

The columns in the pool are standardised, so that a fit needs only their correlations. It computes
posterior weights by coordinate updates: a weight is 0 or normal, and the probability and variance
of weights and the variance of errors are learned in the same sweeps (a spike and slab; Carbonetto,
Stephens 2012, fit such models so). It needs neither a step length nor a penalty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel, summing
from ..types import F64, I32, I64, unsigned
from .slots import TOP, USED, Slots, held_length, measure_column, put_column

# entries of ``prior``: the variance of errors and of weights that are not 0; the fraction of those
NOISE, SPREAD, PROBABILITY = 0, 1, 2
MIN_VARIANCE = 1e-10  # of errors and weights, relative to the variance of the target
MAX_PROBABILITY = 0.9


class ColumnMeasures(NamedTuple):
    """Measures of columns, one entry for each."""

    means: F64
    scales: F64  # 0 for a constant column
    gains: F64  # |z'residual| / n
    marginals: F64  # |z'target| / n


@summing
def measure_gains(
    residual: F64,
    target: F64,
    indptr: I64,
    indices: I32,
    values: F64,
    start: int,
    stop: int,
    looks: ColumnMeasures,
) -> None:
    """Measure the columns from ``start`` to before ``stop``.

    Given    residual, target: of mean 0.
    Back     looks: the measures, changed in place.
    """
    n_rows = residual.size
    for column in range(start, stop):
        begin, end = indptr[column], indptr[column + 1]
        mean, scale = measure_column(n_rows, values, begin, end)
        with_residual = with_target = 0.0
        if end - begin == n_rows:
            for row in range(n_rows):
                value = values[unsigned(begin + row)] - mean
                with_residual += value * residual[unsigned(row)]
                with_target += value * target[unsigned(row)]
        else:
            for i in range(begin, end):  # both vectors add up to 0, so the mean has no effect
                with_residual += values[i] * residual[unsigned(indices[i])]
                with_target += values[i] * target[unsigned(indices[i])]
        looks.means[column], looks.scales[column] = mean, scale
        if scale > 0.0:
            looks.gains[column] = abs(with_residual) / (scale * n_rows)
            looks.marginals[column] = abs(with_target) / (scale * n_rows)


@kernel
def admit_columns(
    slots: Slots,
    marginals: F64,
    n_rows: int,
    bars: F64,
    looks: ColumnMeasures,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> int:
    """Take columns into free slots, from ``start`` on, whose gain or marginal is above its bar.

    Back     the number of columns done. It stops early at a column for which there is no free slot,
             or no room for its values.
    """
    for column in range(start, ids.size):
        scale, marginal = looks.scales[column], looks.marginals[column]
        if scale == 0.0 or (looks.gains[column] <= bars[0] and marginal <= bars[1]):
            continue
        begin, end, used = indptr[column], indptr[column + 1], slots.ends[USED]
        if contains(slots.ids, used, ids[column]):
            continue
        if (
            used == slots.ids.size
            or slots.ends[TOP] + held_length(n_rows, end - begin) > slots.values.size
        ):
            return column
        put_column(
            slots,
            used,
            ids[column],
            n_rows,
            looks.means[column],
            scale,
            indices,
            values,
            begin,
            end,
        )
        marginals[used] = marginal
        slots.ends[USED] += 1
    return int(ids.size)


@kernel
def contains(ids: I64, used: int, feature: int) -> bool:
    """Return True if a feature is among the first ``used`` ids."""
    return feature in ids[:used]


@kernel
def residual_products(gram: F64, responses: F64, weights: F64) -> F64:
    """Return the responses minus gram @ weights, column after column, weights of 0 omitted."""
    residuals = responses.copy()
    for j in range(weights.size):
        if weights[j] != 0.0:
            for i in range(weights.size):
                residuals[i] -= weights[j] * gram[j, i]
    return residuals


@kernel
def fit_pool(
    gram: F64,
    responses: F64,
    square: float,
    n_rows: int,
    max_expected: int,
    sweeps: int,
    prior: F64,
    weights: F64,
    gains: F64,
) -> None:
    """Compute the weights of the columns of a pool from their correlations.

    Problem  z = Zw + error, error ~ N(0, noise), w_j ~ p N(0, spread) + (1 - p) {0}: the posterior
             means w, taken to be independent of one another; then the noise, spread and probability
             p that fit them.
    Given    gram = Z'Z / n; responses = Z'z / n; square = mean of z^2; max_expected: the largest
             expected number of weights that are not 0.
    Back     prior, weights, changed in place; gains: what each column would explain if all others
             stayed as they are.
    """
    k = weights.size
    residuals = residual_products(gram, responses, weights)
    floor = MIN_VARIANCE * square
    for _ in range(sweeps):
        noise, spread = prior[NOISE], prior[SPREAD]
        ridge = 1.0 + noise / (n_rows * spread)
        variance = noise / (n_rows * ridge)
        prior_odds = np.log(prior[PROBABILITY] / (1.0 - prior[PROBABILITY])) + 0.5 * np.log(
            variance / spread
        )
        n_expected = squares = uncertain = 0.0
        for j in range(k):
            gains[j] = residuals[j] + weights[j]
            mean = gains[j] / ridge
            log_odds = prior_odds + mean * mean / (2.0 * variance)
            probability = 1.0 / (1.0 + np.exp(-log_odds))
            weight = probability * mean
            change = weight - weights[j]
            weights[j] = weight
            if change != 0.0:
                for i in range(k):
                    residuals[i] -= change * gram[j, i]
            second_moment = probability * (mean * mean + variance)
            n_expected += probability
            squares += second_moment
            uncertain += second_moment - weight * weight
        error = square
        for j in range(k):
            error -= weights[j] * (responses[j] + residuals[j])
        prior[NOISE] = max(error, 0.0) + uncertain + floor
        prior[SPREAD] = squares / max(n_expected, 1e-300) + floor
        prior[PROBABILITY] = min(
            MAX_PROBABILITY, max(1.0, min(float(max_expected), n_expected)) / k
        )
