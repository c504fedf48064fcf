"""How much columns say about each other: correlation, and symmetrical uncertainty from counts.

Columns are sparse, ``indptr, indices, values`` as in a ColumnBlock; what a column costs is its
non-zeros. Rows have weights that sum to their number.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..types import F64, I32, I64, unsigned
from .contents import MISSING

EQUAL = 1e-12  # dependences no further apart are equal: rounding must not decide ties
CONSTANT = 1e-12  # of the sum of squares of a column near 0: what varies less does not vary
ROUNDING = 1e-15  # of a value, and of a sum of as many as there are rows for each row
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
    """``relevance`` = correlation of columns from ``start`` to ``stop`` with the target; 0 for constant columns.

    Given    values: as ``centre_columns`` gives them, here and wherever columns are multiplied; target: centred, of
             length 1, times the weights. ``norms`` gets the lengths of the centred columns, 0 for
             constant ones.
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
    """Return the correlation of a column with another, which is centred, of length 1 and times the weights."""
    product = 0.0
    for i in range(unsigned(indptr[column]), unsigned(indptr[column + 1])):
        product += values[i] * other[unsigned(indices[i])]
    return float(product / norm)


@kernel
def standardize_column(
    indptr: I64, indices: I32, values: F64, weights: F64, column: int, norm: float, out: F64
) -> None:
    """Write a column as ``correlate_with`` wants its last argument."""
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
    """In bits."""
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
    """Of two variables, each alone and together, from their joint counts; ``margin`` is scratch."""
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
    """Symmetrical uncertainty 2 I / (H + H) of two variables from their entropies; 0 if neither varies."""
    if first + second <= 0.0:
        return 0.0
    return float(max(0.0, 2.0 * (first + second - together) / (first + second)))


@kernel
def scratch_for(n_first: int, n_second: int, n_rows: int) -> tuple[F64, F64]:
    """Return the cells of a table of pairs, and of a margin of it; variables that need a larger table are sorted."""
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
    """Return the entropies of a coded column and of a variable with a code for every row, each alone and together.

    Given    other, other_counts, n_other: that variable's codes, the weight of each, how many there are; joint, margin:
             as ``scratch_for`` gives them.
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
    """Return the symmetrical uncertainty of a coded column and a variable as in ``pair_entropies``."""
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
    """Return the largest number of levels of columns from ``start`` to ``stop``, 1 at least."""
    most = 1
    for column in range(start, stop):
        most = max(most, n_levels[column])
    return most


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
    """``relevance`` = symmetrical uncertainty of coded columns from ``start`` to ``stop`` and the classes of rows."""
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
def correlate_present(one: F64, other: F64, weights: F64) -> float:
    """Correlation over the rows where neither variable is missing; 0 if one of them does not vary there.

    Given    one, other: a value for every row, times its weight; NaN is missing.
    """
    total = first = second = 0.0
    rows = 1
    for row in range(weights.size):
        if one[row] == one[row] and other[row] == other[row]:
            rows += 1
            total += weights[row]
            first += one[row]
            second += other[row]
    if total <= 0.0:
        return 0.0
    first, second = first / total, second / total
    squares, other_squares, product = 0.0, 0.0, 0.0
    size, other_size = 0.0, 0.0
    for row in range(weights.size):
        if one[row] == one[row] and other[row] == other[row] and weights[row] > 0.0:
            a, b = one[row] / weights[row], other[row] / weights[row]
            size += weights[row] * a * a
            other_size += weights[row] * b * b
            squares += weights[row] * (a - first) ** 2
            other_squares += weights[row] * (b - second) ** 2
            product += weights[row] * (a - first) * (b - second)
    nothing = (ROUNDING * rows) ** 2  # of these rows alone a column may be far from 0
    if squares <= nothing * size or other_squares <= nothing * other_size:
        return 0.0
    return float(product / np.sqrt(squares * other_squares))


@kernel
def spread_values(
    indptr: I64, indices: I32, values: F64, weights: F64, column: int, out: F64
) -> None:
    """Write a column as ``correlate_present`` wants it."""
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
    one: I32, n_one: int, other: I32, n_other: int, weights: F64, joint: F64, margin: F64
) -> tuple[float, float, float]:
    """Of two coded variables, each alone and together, over the rows where neither is missing.

    Given    joint, margin: scratch. Where a table of all pairs is larger than ``joint``, those that occur are sorted.
    """
    if n_one * n_other <= joint.size:
        total = 0.0
        joint[: n_one * n_other] = 0.0
        for row in range(weights.size):
            if one[row] != MISSING and other[row] != MISSING:
                joint[one[row] * n_other + other[row]] += weights[row]
                total += weights[row]
        return entropies(joint, n_one, n_other, total, margin)
    rows = np.flatnonzero((one != MISSING) & (other != MISSING))
    pairs, total = one[rows] * np.int64(n_other) + other[rows], weights[rows].sum()
    order = np.argsort(pairs)
    counts, last = np.zeros(rows.size), -1
    for i in range(rows.size):
        last += i == 0 or pairs[order[i]] != pairs[order[i - 1]]
        counts[last] += weights[rows[order[i]]]
    return (
        margin_entropy(one, n_one, rows, weights, total, margin),
        margin_entropy(other, n_other, rows, weights, total, margin),
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
