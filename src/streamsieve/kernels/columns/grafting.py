"""Grafting (Perkins, Theiler 2003): the next column, and the L1 problem over the held columns.

The held columns are standardised. For rows of curvature h, their products are those of a quadratic
model of the loss with the best intercept: H = (Z - m)'diag(h)(Z - m) / n, with m the means of
columns under the weights h. For the squared loss h = 1 and m = 0, and H are the correlations.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..types import F64, I32, I64, unsigned
from .pool import contains, residual_products
from .slots import USED, Slots, measure_column, products, write_line

MIN_PIVOT = 1e-10  # of a column's own product


@summing
def find_newcomer(
    slots: Slots,
    slopes: F64,
    bar: float,
    indptr: I64,
    indices: I32,
    values: F64,
    ids: I64,
    start: int,
) -> tuple[int, float, float]:
    """Return the first column from ``start`` on that may join, with its mean and deviation.

    Problem  a column may join if it is not held and |z'slopes| / n is above ``bar``.
    Given    slopes: of mean 0.
    Back     the number of columns if there is none.
    """
    n_rows = slopes.size
    for column in range(start, ids.size):
        begin, end = indptr[column], indptr[column + 1]
        mean, scale = measure_column(n_rows, values, begin, end)
        if scale == 0.0:
            continue
        product = 0.0
        if end - begin == n_rows:
            for row in range(n_rows):
                product += (values[unsigned(begin + row)] - mean) * slopes[unsigned(row)]
        else:
            for i in range(begin, end):  # slopes add up to 0, so the mean has no effect
                product += values[i] * slopes[unsigned(indices[i])]
        if abs(product) > bar * scale * n_rows and not contains(
            slots.ids, slots.ends[USED], ids[column]
        ):
            return column, mean, scale
    return int(ids.size), 0.0, 0.0


@kernel
def extend_gram(slots: Slots, curvatures: F64, start: int, gram: F64, middles: F64) -> None:
    """Extend ``gram`` (H) and ``middles`` (m) by the slots in use from ``start`` on.

    Given    gram, middles: complete for the slots before ``start``.
    """
    n_rows, used = curvatures.size, slots.ends[USED]
    line, slot_products = np.empty(n_rows), np.empty(slots.ids.size)
    total = curvatures.sum()
    for slot in range(start, used):
        write_line(slots, slot, line)
        middle = (line * curvatures).sum() / total
        line -= middle
        line *= curvatures
        products(slots, line, 0, slot + 1, slot_products)
        gram[slot, : slot + 1] = gram[: slot + 1, slot] = slot_products[: slot + 1]
        middles[slot] = middle


@kernel
def descend_coordinates(
    gram: F64, pulls: F64, penalty: float, tolerance: float, sweeps: int, weights: F64
) -> bool:
    """Minimise w'Hw / 2 - pulls'w + penalty |w|_1 by coordinate descent, from the given weights.

    Given    gram: H; tolerance: the largest change of a slope in the last sweep.
    Back     weights, changed in place; True if a sweep changed no slope by more than ``tolerance``.
    """
    k = weights.size
    residuals = residual_products(gram, pulls, weights)
    for _ in range(sweeps):
        largest_change = 0.0
        for j in range(k):
            if not gram[j, j] > 0.0:
                continue
            pull = residuals[j] + gram[j, j] * weights[j]
            weight = max(abs(pull) - penalty, 0.0) / gram[j, j] * (1.0 if pull > 0.0 else -1.0)
            change = weight - weights[j]
            if change != 0.0:
                weights[j] = weight
                for i in range(k):
                    residuals[i] -= change * gram[j, i]
                largest_change = max(largest_change, abs(change) * gram[j, j])
        if largest_change <= tolerance:
            return True
    return False


@summing
def solve_equations(gram: F64, live: I64, right: F64) -> F64:
    """Return the solution of the equations of the ``live`` columns, by a Cholesky factor.

    A column that is a linear combination of those before it counts as if ``MIN_PIVOT`` of it were
    not.
    """
    k = live.size
    factor, solution = np.zeros((k, k)), right.copy()
    for i in range(k):
        line = factor[i]
        for j in range(i + 1):
            before, total = factor[j], gram[live[i], live[j]]
            for m in range(j):
                total -= line[m] * before[m]
            if j < i:
                line[j] = total / before[j]
            else:
                line[i] = np.sqrt(max(total, MIN_PIVOT * gram[live[i], live[i]], 1e-300))
    for i in range(k):
        for m in range(i):
            solution[i] -= factor[i, m] * solution[m]
        solution[i] /= factor[i, i]
    for i in range(k - 1, -1, -1):
        solution[i] /= factor[i, i]
        for m in range(i):
            solution[m] -= factor[i, m] * solution[i]
    return solution
