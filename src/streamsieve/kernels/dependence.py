"""How much columns say about each other: correlation, and symmetrical uncertainty from counts.

Columns are sparse, ``indptr, indices, values`` as in a ColumnBlock; what a column costs is its non-zeros. Rows have
weights that sum to their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .jit import kernel
from .rows import unsigned

Array = Any

EQUAL = 1e-12  # dependences no further apart are equal: rounding must not decide ties
CONSTANT = 1e-12  # of a column's sum of squares: what varies less does not vary


@kernel
def correlate_with_target(
    indptr: Array,
    indices: Array,
    values: Array,
    weights: Array,
    target: Array,
    start: int,
    stop: int,
    relevance: Array,
    norms: Array,
) -> None:
    """``relevance`` = correlation of columns from ``start`` to ``stop`` with the target; 0 for constant columns.

    Given    target: centred, of length 1, times the weights. ``norms`` gets the lengths of the centred columns, 0
             for constant ones.
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
def correlate_with_kept(indptr: Array, indices: Array, values: Array, column: int, norm: float, kept: Array) -> float:
    """|correlation| of a column with a kept one, which is centred, of length 1 and times the weights."""
    product = 0.0
    for i in range(unsigned(indptr[column]), unsigned(indptr[column + 1])):
        product += values[i] * kept[unsigned(indices[i])]
    return float(abs(product) / norm)


@kernel
def standardize_column(
    indptr: Array, indices: Array, values: Array, weights: Array, column: int, norm: float, out: Array
) -> None:
    """Write a column as ``correlate_with_kept`` wants its last argument."""
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
def code_columns(indptr: Array, values: Array, start: int, stop: int, codes: Array, n_levels: Array) -> None:
    """``codes`` = for every non-zero which of its column's values it is, 1, 2, ... in ascending order; 0 is the zero.

    ``n_levels`` gets the number of different values of each column, 0 among them whether it occurs or not.
    """
    longest = 0
    for column in range(start, stop):
        longest = max(longest, indptr[column + 1] - indptr[column])
    levels = np.empty(longest)
    for column in range(start, stop):
        known = 0
        for i in range(indptr[column], indptr[column + 1]):
            at = place_of(levels, known, values[i])
            if at == known or levels[at] != values[i]:
                for j in range(known, at, -1):
                    levels[j] = levels[j - 1]
                levels[at] = values[i]
                known += 1
        for i in range(indptr[column], indptr[column + 1]):
            codes[i] = place_of(levels, known, values[i]) + 1
        n_levels[column] = known + 1


@kernel
def place_of(levels: Array, known: int, value: float) -> int:
    """Where a value stands, or belongs, among ascending ones."""
    low, high = 0, known
    while low < high:
        middle = (low + high) // 2
        if levels[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def entropy(counts: Array, size: int, total: float) -> float:
    """In bits."""
    bits = 0.0
    for i in range(size):
        if counts[i] > 0.0:
            share = counts[i] / total
            bits -= share * np.log2(share)
    return bits


@kernel
def entropies(joint: Array, n_first: int, n_second: int, total: float, margin: Array) -> tuple[float, float, float]:
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
def uncertainty_from_counts(joint: Array, n_first: int, n_second: int, total: float, margin: Array) -> float:
    """Symmetrical uncertainty 2 I / (H + H) of two variables from their joint counts; 0 if neither varies."""
    first, second, together = entropies(joint, n_first, n_second, total, margin)
    if first + second <= 0.0:
        return 0.0
    return float(max(0.0, 2.0 * (first + second - together) / (first + second)))


@kernel
def count_pairs(
    indptr: Array,
    indices: Array,
    codes: Array,
    column: int,
    n_levels: int,
    weights: Array,
    other: Array,
    other_counts: Array,
    n_other: int,
    joint: Array,
) -> None:
    """The weight of rows with each pair of codes, of a coded column and of a variable with a code for every row.

    Given    other, other_counts, n_other: that variable's codes, the weight of each, how many there are.
    """
    for i in range(n_levels * n_other):
        joint[i] = 0.0
    for b in range(n_other):
        joint[b] = other_counts[b]
    for i in range(indptr[column], indptr[column + 1]):
        row = unsigned(indices[i])
        joint[codes[i] * n_other + other[row]] += weights[row]
        joint[other[row]] -= weights[row]
    for b in range(n_other):
        if joint[b] < CONSTANT * other_counts[b]:
            joint[b] = 0.0


@kernel
def uncertainty(
    indptr: Array,
    indices: Array,
    codes: Array,
    column: int,
    n_levels: int,
    weights: Array,
    other: Array,
    other_counts: Array,
    n_other: int,
    joint: Array,
    margin: Array,
) -> float:
    """Symmetrical uncertainty of a coded column and a variable as in ``count_pairs``.

    Given    joint, margin: scratch for as many numbers as there are pairs of levels, and levels of either.
    """
    count_pairs(indptr, indices, codes, column, n_levels, weights, other, other_counts, n_other, joint)
    return uncertainty_from_counts(joint, n_levels, n_other, float(weights.size), margin)


@kernel
def uncertainties_of_target(
    indptr: Array,
    indices: Array,
    codes: Array,
    n_levels: Array,
    weights: Array,
    classes: Array,
    class_counts: Array,
    start: int,
    stop: int,
    relevance: Array,
) -> None:
    """``relevance`` = symmetrical uncertainty of coded columns from ``start`` to ``stop`` and the classes of rows."""
    largest = 1
    for column in range(start, stop):
        largest = max(largest, n_levels[column])
    joint = np.empty(largest * class_counts.size)
    margin = np.empty(max(largest, class_counts.size))
    for column in range(start, stop):
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
def are_whole(indptr: Array, values: Array, start: int, stop: int, whole: Array) -> None:
    """Which columns from ``start`` to ``stop`` hold whole numbers alone."""
    for column in range(start, stop):
        whole[column] = True
        for i in range(indptr[column], indptr[column + 1]):
            if values[i] != np.floor(values[i]):
                whole[column] = False
                break
