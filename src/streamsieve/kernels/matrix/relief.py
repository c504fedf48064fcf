"""ReliefF (Kononenko 1994) and I-RELIEF (Sun 2007): neighbours, and sums over pairs of rows.

Blocks of data and matrices of pairs are as in ``pairs``.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel, summing
from ..types import F32, F64, I32, I64, unsigned
from .pairs import LANE

GROUP = 4  # features that are summed together


@kernel
def mark_nearest(
    distances: F64,
    codes: I32,
    fractions: F64,
    wanted: int,
    first: int,
    last: int,
    forth: F32,
    back: F32,
) -> None:
    """Compute A[n, i] of ReliefF (section 3), for rows ``first`` to before ``last``.

    Problem  of the ``wanted`` nearest hits of n each counts -1 / hits; of the nearest misses of
             every other class c each counts p(c) / (1 - p(own class)) / misses of c; of equal
             distances the first row is the nearer.
    Given    fractions: p, the fraction of rows of each class.
    Back     forth[n, i] = A[n, i] and back[i, n] = A[n, i], above the diagonal.
    """
    n_rows = codes.size
    near = np.empty((fractions.size, wanted), np.int64)
    n_near = np.empty(fractions.size, np.int64)
    line = np.empty(n_rows)
    for n in range(first, last):
        n_near[:] = 0
        for i in range(n_rows):
            line[i] = distances[min(n, i), max(n, i)]
        for i in range(n_rows):
            if i != n:
                insert_nearest(line, i, near[codes[i]], n_near, codes[i])
        if n_near[codes[n]] == 0:
            continue
        for code in range(fractions.size):
            weight = -1.0 if code == codes[n] else fractions[code] / (1.0 - fractions[codes[n]])
            for rank in range(n_near[code]):
                i = near[code, rank]
                if i > n:
                    forth[n, i] = weight / n_near[code]
                else:
                    back[i, n] = weight / n_near[code]


@kernel
def insert_nearest(line: F64, i: int, near: I64, n_near: I64, code: int) -> None:
    """Insert a row among the nearest of its class so far, if it is one of them."""
    at = n_near[code]
    if at == near.size:
        if line[i] >= line[near[at - 1]]:
            return
        at -= 1
    else:
        n_near[code] += 1
    while at > 0 and line[near[at - 1]] > line[i]:
        near[at] = near[at - 1]
        at -= 1
    near[at] = i


@kernel
def weigh_inliers(
    distances: F64, codes: I32, sigma: float, first: int, last: int, inliers: F64
) -> None:
    """Compute the fraction of hits in the kernel around each row (Sun 2007, equation 8).

    It is small for an outlier.
    """
    n_rows = codes.size
    for n in range(first, last):
        nearest = np.inf
        for i in range(n_rows):
            if i != n:
                nearest = min(nearest, distances[min(n, i), max(n, i)])
        hits = total = 0.0
        for i in range(n_rows):
            if i != n:
                weight = np.exp((nearest - distances[min(n, i), max(n, i)]) / sigma)
                total += weight
                hits += weight if codes[i] == codes[n] else 0.0
        inliers[n] = hits / total


@kernel
def fold_pairs(forth: F32, back: F32, inliers: F64) -> None:
    """Sum the weights of a pair in ``forth``: inliers[n] A[n, i] + inliers[i] A[i, n]."""
    for n in range(inliers.size):
        for i in range(n + 1, inliers.size):
            forth[n, i] = inliers[n] * forth[n, i] + inliers[i] * back[n, i]


@summing
def sum_over_pairs(block: F32, pairs: F32, n_features: int, sums: F64) -> None:
    """Compute sums[j] = sum over pairs n < i of pairs[n, i] |x_n - x_i| in feature j.

    The sum of a row is float32.

    Given    block: lines of zeros after the last feature, up to a multiple of ``GROUP``.
    """
    sums[:n_features] = 0.0
    for j in range(0, n_features, GROUP):
        for n in range(pairs.shape[0]):
            s = sum_group(block, j, n, pairs)
            for k in range(min(GROUP, n_features - j)):
                sums[j + k] += s[k]


@summing
def sum_group(
    block: F32, j: int, n: int, pairs: F32
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Return the sums over the pairs of row n with later rows, of four features."""
    x0, x1, x2, x3, weights = block[j], block[j + 1], block[j + 2], block[j + 3], pairs[n]
    a0, a1, a2, a3 = x0[n], x1[n], x2[n], x3[n]
    s0 = s1 = s2 = s3 = np.float32(0.0)
    for i in range(unsigned(n // LANE * LANE), unsigned(weights.size)):
        s0 += weights[i] * abs(x0[i] - a0)
        s1 += weights[i] * abs(x1[i] - a1)
        s2 += weights[i] * abs(x2[i] - a2)
        s3 += weights[i] * abs(x3[i] - a3)
    return s0, s1, s2, s3
