"""Grafting (Perkins, Theiler 2003): which column may come in, and the L1 problem over the columns that are held.

The held columns are standardised. For rows of curvature h, their products are those of a quadratic
model of the loss, in which the intercept is at its best: H = (Z - m)'diag(h)(Z - m) / n, with m the
means of columns under the weights h. For the squared loss h = 1 and m = 0, and H are the
correlations.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..types import F64, I32, I64, unsigned
from .pool import holds, unexplained
from .slots import USED, Slots, measure_column, products, written_out

MIN_PIVOT = 1e-10  # of a column's own product


@summing
def next_newcomer(
    slots: Slots,
    slopes: F64,
    bar: float,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> tuple[int, float, float]:
    """The first column from ``start`` on that is not held and has |z'slopes| / n above a bar; its mean and deviation.

    Given    slopes: of mean 0.
    Back     the number of columns where there is none.
    """
    n_rows = slopes.size
    for column in range(start, ids.size):
        begin, end = indptr[column], indptr[column + 1]
        mean, scale = measure_column(n_rows, values, begin, end)
        if scale == 0.0:
            continue
        along = 0.0
        if end - begin == n_rows:
            for row in range(n_rows):
                along += (values[unsigned(begin + row)] - mean) * slopes[unsigned(row)]
        else:
            for i in range(begin, end):  # all slopes add up to 0, so the mean counts nothing
                along += values[i] * slopes[unsigned(indices[i])]
        if abs(along) > bar * scale * n_rows and not holds(
            slots.ids, slots.ends[USED], ids[column]
        ):
            return column, mean, scale
    return int(ids.size), 0.0, 0.0


@kernel
def weigh_products(slots: Slots, curvatures: F64, start: int, gram: F64, middles: F64) -> None:
    """Extend ``gram`` (H) and ``middles`` (m), known up to slot ``start``, by the slots in use from there on."""
    n_rows, used = curvatures.size, slots.ends[USED]
    line, found = np.empty(n_rows), np.empty(slots.ids.size)
    total = curvatures.sum()
    for slot in range(start, used):
        written_out(slots, slot, line)
        middle = (line * curvatures).sum() / total
        line -= middle
        line *= curvatures
        products(slots, line, 0, slot + 1, found)
        gram[slot, : slot + 1] = gram[: slot + 1, slot] = found[: slot + 1]
        middles[slot] = middle


@kernel
def descend_coordinates(
    gram: F64, pulls: F64, penalty: float, enough: float, sweeps: int, weights: F64
) -> bool:
    """Minimise w'Hw / 2 - pulls'w + penalty |w|_1, one weight at a time, from some weights.

    Back     weights, changed in place; whether the last sweep changed no slope by more than ``enough``.
    """
    k = weights.size
    left = unexplained(gram, pulls, weights)
    for _ in range(sweeps):
        most = 0.0
        for j in range(k):
            if not gram[j, j] > 0.0:
                continue
            pull = left[j] + gram[j, j] * weights[j]
            weight = max(abs(pull) - penalty, 0.0) / gram[j, j] * (1.0 if pull > 0.0 else -1.0)
            change = weight - weights[j]
            if change != 0.0:
                weights[j] = weight
                for i in range(k):
                    left[i] -= change * gram[j, i]
                most = max(most, abs(change) * gram[j, j])
        if most <= enough:
            return True
    return False


@summing
def solve_equations(gram: F64, live: I64, right: F64) -> F64:
    """The solution of the equations of some columns, by a Cholesky factor.

    A column that follows from those before it counts as if ``MIN_PIVOT`` of it did not.
    """
    k = live.size
    factor, found = np.zeros((k, k)), right.copy()
    for i in range(k):
        above = factor[i]
        for j in range(i + 1):
            left, total = factor[j], gram[live[i], live[j]]
            for m in range(j):
                total -= above[m] * left[m]
            if j < i:
                above[j] = total / left[j]
            else:
                above[i] = np.sqrt(max(total, MIN_PIVOT * gram[live[i], live[i]], 1e-300))
    for i in range(k):
        for m in range(i):
            found[i] -= factor[i, m] * found[m]
        found[i] /= factor[i, i]
    for i in range(k - 1, -1, -1):
        found[i] /= factor[i, i]
        for m in range(i):
            found[m] -= factor[i, m] * found[i]
    return found
