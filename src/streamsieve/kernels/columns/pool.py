"""A pool of columns for a sparse linear model: which newcomers are worth a fit, and the fit.

The columns in the pool are standardised, and all that a fit needs of them is their correlations.
What each is worth is a posterior by coordinate updates: a weight is 0 or normal, and how likely,
how large and how noisy is learned on the way (a spike and slab; Carbonetto, Stephens 2012, fit such
models so). No step length, no penalty to choose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..jit import kernel, summing
from ..types import F64, I32, I64, unsigned
from .slots import TOP, USED, Slots, held_length, measure_column, put_column

NOISE, SPREAD, CHANCE = (
    0,
    1,
    2,
)  # entries of ``prior``: variance of errors and of weights that are not 0; how many are
MIN_VARIANCE = 1e-10  # of the variances, against that of the target
MAX_PROBABILITY = 0.9


class Looks(NamedTuple):
    """What columns are like, an entry each."""

    means: F64
    scales: F64  # 0 of one that does not vary
    gains: F64  # |z'residual| / n
    marginals: F64  # |z'target| / n


@summing
def look_at_columns(
    residual: F64,
    target: F64,
    indptr: I64,
    indices: I32,
    values: F64,
    start: int,
    stop: int,
    looks: Looks,
) -> None:
    """Measure columns from ``start`` to before ``stop``; ``residual`` and ``target`` are of mean 0."""
    n_rows = residual.size
    for column in range(start, stop):
        begin, end = indptr[column], indptr[column + 1]
        mean, scale = measure_column(n_rows, values, begin, end)
        now = alone = 0.0
        if end - begin == n_rows:
            for row in range(n_rows):
                value = values[unsigned(begin + row)] - mean
                now += value * residual[unsigned(row)]
                alone += value * target[unsigned(row)]
        else:
            for i in range(
                begin, end
            ):  # all entries of a vector add up to 0, so the mean counts nothing
                now += values[i] * residual[unsigned(indices[i])]
                alone += values[i] * target[unsigned(indices[i])]
        looks.means[column], looks.scales[column] = mean, scale
        if scale > 0.0:
            looks.gains[column] = abs(now) / (scale * n_rows)
            looks.marginals[column] = abs(alone) / (scale * n_rows)


@kernel
def admit_columns(
    slots: Slots,
    marginals: F64,
    n_rows: int,
    bars: F64,
    looks: Looks,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> int:
    """Take columns into free slots, from ``start`` on, whose gain or marginal is above its bar; how many are done.

    It stops early at a column for which there is no free slot, or no room for its values.
    """
    for column in range(start, ids.size):
        scale, alone = looks.scales[column], looks.marginals[column]
        if scale == 0.0 or (looks.gains[column] <= bars[0] and alone <= bars[1]):
            continue
        begin, end, used = indptr[column], indptr[column + 1], slots.ends[USED]
        if holds(slots.ids, used, ids[column]):
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
        marginals[used] = alone
        slots.ends[USED] += 1
    return int(ids.size)


@kernel
def holds(ids: I64, used: int, feature: int) -> bool:
    """Whether a feature is among the first ones."""
    found = False
    for slot in range(used):
        found |= ids[slot] == feature
    return found


@kernel
def unexplained(gram: F64, responses: F64, weights: F64) -> F64:
    """Return what weights leave of responses: less those of the columns that have some, one after the other."""
    left = responses.copy()
    for j in range(weights.size):
        if weights[j] != 0.0:
            for i in range(weights.size):
                left[i] -= weights[j] * gram[j, i]
    return left


@kernel
def fit_pool(
    gram: F64,
    responses: F64,
    square: float,
    n_rows: int,
    most: int,
    sweeps: int,
    prior: F64,
    weights: F64,
    gains: F64,
) -> None:
    """Weigh the columns of a pool by their correlations.

    Problem  z = Zw + error, error ~ N(0, noise), w_j ~ chance N(0, spread) + (1 - chance) {0}: the posterior means w,
             taken to be independent of one another; then noise, spread and chance that fit them.
    Given    gram = Z'Z / n; responses = Z'z / n; square = mean of z^2; most: columns that are expected to matter.
    Back     prior, weights, changed in place; gains: what each column would explain if all others stayed as they are.
    """
    k = weights.size
    left = unexplained(gram, responses, weights)
    floor = MIN_VARIANCE * square
    for _ in range(sweeps):
        noise, spread = prior[NOISE], prior[SPREAD]
        ridge = 1.0 + noise / (n_rows * spread)
        variance = noise / (n_rows * ridge)
        prior_odds = np.log(prior[CHANCE] / (1.0 - prior[CHANCE])) + 0.5 * np.log(variance / spread)
        likely = squares = excess = 0.0
        for j in range(k):
            gains[j] = left[j] + weights[j]
            mean = gains[j] / ridge
            log_odds = prior_odds + mean * mean / (2.0 * variance)
            inside = 1.0 / (1.0 + np.exp(-log_odds))
            weight = inside * mean
            change = weight - weights[j]
            weights[j] = weight
            if change != 0.0:
                for i in range(k):
                    left[i] -= change * gram[j, i]
            second = inside * (mean * mean + variance)
            likely += inside
            squares += second
            excess += second - weight * weight
        error = square
        for j in range(k):
            error -= weights[j] * (responses[j] + left[j])
        prior[NOISE] = max(error, 0.0) + excess + floor
        prior[SPREAD] = squares / max(likely, 1e-300) + floor
        prior[CHANCE] = min(MAX_PROBABILITY, max(1.0, min(float(most), likely)) / k)
