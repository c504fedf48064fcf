"""Measure the dependence of columns: correlation, and symmetrical uncertainty from counts.

Columns are sparse, ``indptr, indices, values`` as in a ColumnBlock; the cost of a column is its
number of non-zeros. Rows have weights that sum to their number.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, unsigned
from .contents import MISSING

EQUAL = 1e-12  # dependences that differ by no more are equal: rounding must not decide ties
CONSTANT = 1e-12  # of the sum of squares: a column near 0 that varies less is constant
ROUNDING = 1e-15  # relative error of a value, and for each row of a sum over rows
CELLS_PER_ROW = 8  # of a table of pairs


@kernel
def correlate_with_target(
    indptr: I64,
    indices: I32,
    values: F64,
    weights: F64,
    target: F64,
    start: int,
    stop: int,
    relevance: F64,
    norms: F64,
) -> None:
    """Compute the correlations of columns from ``start`` to before ``stop`` with the target.

    Given    values: as ``centre_columns`` gives them, here and wherever columns are multiplied;
             target: centred, of length 1, times the weights.
    Back     relevance: the correlations, 0 for constant columns; norms: the lengths of the centred
             columns, 0 for constant ones.
    """
    n_rows = weights.size
    for column in range(start, stop):
        begin, end = unsigned(indptr[column]), unsigned(indptr[column + 1])
        total = squares = present = 0.0
        for i in range(begin, end):
            weight = weights[unsigned(indices[i])]
            total += weight * values[i]
            squares += weight * values[i] * values[i]
            present += weight
        mean = total / n_rows
        spread = (n_rows - present) * mean * mean
        product = 0.0
        for i in range(begin, end):
            off = values[i] - mean
            spread += weights[unsigned(indices[i])] * off * off
            product += values[i] * target[unsigned(indices[i])]
        relevance[column] = norms[column] = 0.0
        if spread > CONSTANT * squares:
            norms[column] = np.sqrt(spread)
            relevance[column] = product / norms[column]


@kernel
def correlate_with(
    indptr: I64, indices: I32, values: F64, column: int, norm: float, other: F64
) -> float:
    """Return the correlation of a column with another one.

    Given    other: centred, of length 1, times the weights.
    """
    product = 0.0
    for i in range(unsigned(indptr[column]), unsigned(indptr[column + 1])):
        product += values[i] * other[unsigned(indices[i])]
    return float(product / norm)


@kernel
def standardize_column(
    indptr: I64, indices: I32, values: F64, weights: F64, column: int, norm: float, out: F64
) -> None:
    """Write a column centred, of length 1 and times the weights, as ``correlate_with`` takes it."""
    begin, end = indptr[column], indptr[column + 1]
    total = 0.0
    for i in range(begin, end):
        total += weights[indices[i]] * values[i]
    mean = total / weights.size
    for row in range(weights.size):
        out[row] = -mean * weights[row] / norm
    for i in range(begin, end):
        out[indices[i]] = (values[i] - mean) * weights[indices[i]] / norm


@kernel
def entropy(counts: F64, size: int, total: float) -> float:
    """Return the entropy, in bits, of the first ``size`` counts."""
    bits = 0.0
    for i in range(size):
        if counts[i] > 0.0:
            fraction = counts[i] / total
            bits -= fraction * np.log2(fraction)
    return bits


@kernel
def entropies(
    joint: F64, n_first: int, n_second: int, total: float, margin: F64
) -> tuple[float, float, float]:
    """Return the entropies of two variables, each alone and both together, from their joint counts.

    Given    margin: scratch.
    """
    together = entropy(joint, n_first * n_second, total)
    for a in range(n_first):
        margin[a] = 0.0
        for b in range(n_second):
            margin[a] += joint[a * n_second + b]
    first = entropy(margin, n_first, total)
    for b in range(n_second):
        margin[b] = 0.0
        for a in range(n_first):
            margin[b] += joint[a * n_second + b]
    return first, entropy(margin, n_second, total), together


@kernel
def uncertainty_of(first: float, second: float, together: float) -> float:
    """Return the symmetrical uncertainty 2 I / (H + H) of two variables from their entropies.

    It is 0 if neither variable varies.
    """
    if first + second <= 0.0:
        return 0.0
    return float(max(0.0, 2.0 * (first + second - together) / (first + second)))


@kernel
def scratch_for(n_first: int, n_second: int, n_rows: int) -> tuple[F64, F64]:
    """Return scratch for the cells of a table of pairs, and for one of its margins.

    The table is limited; pairs of variables that need a larger one are sorted instead.
    """
    return np.empty(min(n_first * n_second, CELLS_PER_ROW * n_rows)), np.empty(
        max(n_first, n_second)
    )


@kernel
def pair_entropies(
    indptr: I64,
    indices: I32,
    codes: I32,
    column: int,
    n_levels: int,
    weights: F64,
    other: I32,
    other_counts: F64,
    n_other: int,
    joint: F64,
    margin: F64,
) -> tuple[float, float, float]:
    """Return the entropies of a coded column and of another variable, each alone and both together.

    Given    other, other_counts, n_other: the code of the other variable in every row, the weight
             of each code, the number of codes; joint, margin: as ``scratch_for`` gives them.
    """
    if n_levels * n_other > joint.size:
        dense = np.empty(weights.size, np.int32)
        spread_codes(indptr, indices, codes, column, dense)
        return entropies_present(dense, n_levels, other, n_other, weights, joint, margin)
    joint[: n_levels * n_other] = 0.0
    for b in range(n_other):
        joint[b] = other_counts[b]
    for i in range(indptr[column], indptr[column + 1]):
        row = unsigned(indices[i])
        joint[codes[i] * n_other + other[row]] += weights[row]
        joint[other[row]] -= weights[row]
    for b in range(n_other):
        if joint[b] < CONSTANT * other_counts[b]:
            joint[b] = 0.0
    return entropies(joint, n_levels, n_other, float(weights.size), margin)


@kernel
def uncertainty(
    indptr: I64,
    indices: I32,
    codes: I32,
    column: int,
    n_levels: int,
    weights: F64,
    other: I32,
    other_counts: F64,
    n_other: int,
    joint: F64,
    margin: F64,
) -> float:
    """Return the symmetrical uncertainty of a coded column and another variable.

    Given    as for ``pair_entropies``.
    """
    return uncertainty_of(
        *pair_entropies(
            indptr,
            indices,
            codes,
            column,
            n_levels,
            weights,
            other,
            other_counts,
            n_other,
            joint,
            margin,
        )
    )


@kernel
def most_levels(n_levels: I64, start: int, stop: int) -> int:
    """Return the largest number of levels of columns ``start`` to before ``stop``, at least 1."""
    largest = 1
    for column in range(start, stop):
        largest = max(largest, n_levels[column])
    return largest


@kernel
def uncertainties_of_target(
    indptr: I64,
    indices: I32,
    codes: I32,
    n_levels: I64,
    weights: F64,
    classes: I32,
    class_counts: F64,
    start: int,
    stop: int,
    relevance: F64,
) -> None:
    """Compute the symmetrical uncertainty of coded columns and the classes of rows.

    Given    start, stop: the columns from ``start`` to before ``stop``.
    Back     relevance: the symmetrical uncertainties, 0 for constant columns.
    """
    joint, margin = scratch_for(most_levels(n_levels, start, stop), class_counts.size, weights.size)
    for column in range(start, stop):
        relevance[column] = 0.0
        if n_levels[column] < 2:
            continue
        relevance[column] = uncertainty(
            indptr,
            indices,
            codes,
            column,
            n_levels[column],
            weights,
            classes,
            class_counts,
            class_counts.size,
            joint,
            margin,
        )


@kernel
def correlate_present(x: F64, y: F64, weights: F64) -> float:
    """Return the correlation over the rows where neither variable is missing.

    It is 0 if one of them does not vary there.

    Given    x, y: a value for every row, times its weight; NaN is missing.
    """
    total = mean_x = mean_y = 0.0
    n_terms = 1
    for row in range(weights.size):
        if x[row] == x[row] and y[row] == y[row]:
            n_terms += 1
            total += weights[row]
            mean_x += x[row]
            mean_y += y[row]
    if total <= 0.0:
        return 0.0
    mean_x, mean_y = mean_x / total, mean_y / total
    squares_x, squares_y, product = 0.0, 0.0, 0.0
    size_x, size_y = 0.0, 0.0
    for row in range(weights.size):
        if x[row] == x[row] and y[row] == y[row] and weights[row] > 0.0:
            a, b = x[row] / weights[row], y[row] / weights[row]
            size_x += weights[row] * a * a
            size_y += weights[row] * b * b
            squares_x += weights[row] * (a - mean_x) ** 2
            squares_y += weights[row] * (b - mean_y) ** 2
            product += weights[row] * (a - mean_x) * (b - mean_y)
    smallest = (ROUNDING * n_terms) ** 2  # in these rows a column may be far from 0
    if squares_x <= smallest * size_x or squares_y <= smallest * size_y:
        return 0.0
    return float(product / np.sqrt(squares_x * squares_y))


@kernel
def spread_values(
    indptr: I64, indices: I32, values: F64, weights: F64, column: int, out: F64
) -> None:
    """Write a column with a value for every row, as ``correlate_present`` takes it."""
    out[:] = 0.0
    for i in range(indptr[column], indptr[column + 1]):
        out[indices[i]] = values[i] * weights[indices[i]]


@kernel
def spread_codes(indptr: I64, indices: I32, codes: I32, column: int, out: I32) -> None:
    """Write the code of every row of a column."""
    out[:] = 0
    for i in range(indptr[column], indptr[column + 1]):
        out[indices[i]] = codes[i]


@kernel
def spread_and_count(
    indptr: I64, indices: I32, codes: I32, column: int, weights: F64, out: I32, counts: F64
) -> None:
    """Write the code of every row of a column, and the weight of each code."""
    spread_codes(indptr, indices, codes, column, out)
    counts[:] = 0.0
    for row in range(weights.size):
        counts[out[row]] += weights[row]


@kernel
def entropies_present(
    x: I32, n_x: int, y: I32, n_y: int, weights: F64, joint: F64, margin: F64
) -> tuple[float, float, float]:
    """Return the entropies of two coded variables over the rows where neither is missing.

    Given    joint, margin: scratch. If the table of all pairs is larger than ``joint``, the pairs
             that occur are sorted instead.
    Back     the entropies of each alone and of both together.
    """
    if n_x * n_y <= joint.size:
        total = 0.0
        joint[: n_x * n_y] = 0.0
        for row in range(weights.size):
            if x[row] != MISSING and y[row] != MISSING:
                joint[x[row] * n_y + y[row]] += weights[row]
                total += weights[row]
        return entropies(joint, n_x, n_y, total, margin)
    rows = np.flatnonzero((x != MISSING) & (y != MISSING))
    pairs, total = x[rows] * np.int64(n_y) + y[rows], weights[rows].sum()
    order = np.argsort(pairs)
    counts, last = np.zeros(rows.size), -1
    for i in range(rows.size):
        last += i == 0 or pairs[order[i]] != pairs[order[i - 1]]
        counts[last] += weights[rows[order[i]]]
    return (
        margin_entropy(x, n_x, rows, weights, total, margin),
        margin_entropy(y, n_y, rows, weights, total, margin),
        entropy(counts, last + 1, total),
    )


@kernel
def margin_entropy(
    codes: I32, n_levels: int, rows: I64, weights: F64, total: float, margin: F64
) -> float:
    """Return the entropy of a coded variable over some rows."""
    margin[:n_levels] = 0.0
    for row in rows:
        margin[codes[row]] += weights[row]
    return entropy(margin, n_levels, total)
