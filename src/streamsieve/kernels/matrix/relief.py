"""The RELIEF family: which rows are neighbours, and what pairs of rows say about features.

Blocks of data and matrices of pairs are as in ``pairs``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import kernel, summing
from ..rows.batch import unsigned
from .pairs import LANE

Array = Any

GROUP = 4  # features whose sums are taken together


@kernel
def mark_nearest(
    distances: Array, codes: Array, shares: Array, wanted: int, first: int, last: int, forth: Array, back: Array
) -> None:
    """A[n, i] of ReliefF (Kononenko 1994, section 3), for rows ``first`` to before ``last``.

    Problem  of the ``wanted`` nearest hits of n each counts -1 / hits, of the nearest misses of every other class c
             each share(c) / (1 - share(own class)) / misses of c; of equal distances the first row is the nearer.
    Given    shares: of rows, by class. ``forth[n, i]`` = A[n, i] and ``back[i, n]`` = A[n, i], above the diagonal.
    """
    n_rows = codes.size
    near = np.empty((shares.size, wanted), np.int64)
    found = np.empty(shares.size, np.int64)
    line = np.empty(n_rows)
    for n in range(first, last):
        found[:] = 0
        for i in range(n_rows):
            line[i] = distances[min(n, i), max(n, i)]
        for i in range(n_rows):
            if i != n:
                insert_nearest(line, i, near[codes[i]], found, codes[i])
        if found[codes[n]] == 0:
            continue
        for code in range(shares.size):
            each = -1.0 if code == codes[n] else shares[code] / (1.0 - shares[codes[n]])
            for place in range(found[code]):
                i = near[code, place]
                if i > n:
                    forth[n, i] = each / found[code]
                else:
                    back[i, n] = each / found[code]


@kernel
def insert_nearest(line: Array, i: int, near: Array, found: Array, code: int) -> None:
    """Put a row among the nearest of its class so far, if it is one of them."""
    at = found[code]
    if at == near.size:
        if line[i] >= line[near[at - 1]]:
            return
        at -= 1
    else:
        found[code] += 1
    while at > 0 and line[near[at - 1]] > line[i]:
        near[at] = near[at - 1]
        at -= 1
    near[at] = i


@kernel
def inlier_shares(distances: Array, codes: Array, sigma: float, first: int, last: int, shares: Array) -> None:
    """1 - the share of misses in the kernel around a row: how little of an outlier it is (Sun 2007, equation 8)."""
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
        shares[n] = hits / total


@kernel
def fold_pairs(forth: Array, back: Array, shares: Array) -> None:
    """``forth[n, i]`` = shares[n] A[n, i] + shares[i] A[i, n]: what a pair says, whichever row asks."""
    for n in range(shares.size):
        for i in range(n + 1, shares.size):
            forth[n, i] = shares[n] * forth[n, i] + shares[i] * back[n, i]


@summing
def sum_over_pairs(block: Array, pairs: Array, n_features: int, sums: Array) -> None:
    """``sums[j]`` = sum over pairs n < i of pairs[n, i] |x_n - x_i| in feature j; a row's sum is float32.

    Given    block: lines of zeros behind the last feature, up to a multiple of ``GROUP``.
    """
    sums[:n_features] = 0.0
    for j in range(0, n_features, GROUP):
        for n in range(pairs.shape[0]):
            s = sum_group(block, j, n, pairs)
            for k in range(min(GROUP, n_features - j)):
                sums[j + k] += s[k]


@summing
def sum_group(block: Array, j: int, n: int, pairs: Array) -> Any:
    """The part of row n and the rows behind it, for four features."""
    x0, x1, x2, x3, weights = block[j], block[j + 1], block[j + 2], block[j + 3], pairs[n]
    a0, a1, a2, a3 = x0[n], x1[n], x2[n], x3[n]
    s0 = s1 = s2 = s3 = np.float32(0.0)
    for i in range(unsigned(n // LANE * LANE), unsigned(weights.size)):
        s0 += weights[i] * abs(x0[i] - a0)
        s1 += weights[i] * abs(x1[i] - a1)
        s2 += weights[i] * abs(x2[i] - a2)
        s3 += weights[i] * abs(x3[i] - a3)
    return s0, s1, s2, s3
