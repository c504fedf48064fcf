"""How alike selections are that were made from different rows: Jaccard, Nogueira's measure, Yu's matching."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..values import is_sparse

DISCRETE_VALUES = 32  # columns with more different values are cut into bins


class Stability(NamedTuple):
    """A measure of stability: 1 where all selections are the same, about 0 where they are drawn at random."""

    value: float
    low: float  # of the confidence interval
    high: float


def jaccard(selections: Sequence[Iterable[int]]) -> float:
    """The size of the intersection over that of the union, averaged over all pairs of selections."""
    sets = as_sets(selections)
    return float(np.mean([overlap(one, other) for one, other in combinations(sets, 2)]))


def overlap(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The Jaccard index of two sets; two empty ones are the same."""
    common = np.intersect1d(one, other, assume_unique=True).size
    union = one.size + other.size - common
    return common / union if union else 1.0


def nogueira(
    selections: Sequence[Iterable[int]], n_features: int, alpha: float = 0.05
) -> Stability:
    """The stability of selections from ``n_features`` features (Nogueira, Sechidis, Brown 2018).

    With M selections of k features on average out of d, and p_f how often feature f is in them, ``1
    - M / (M - 1) * sum_f p_f (1 - p_f) / (k (1 - k / d))``: it is corrected for chance and takes
    selections of different sizes. The interval has level ``1 - alpha``, by the asymptotic variance
    of the paper's theorem 7, and ends at 1. Selections of all features are the same: 1. Of
    selections that are all empty it is NaN: nothing was selected that could be stable. Time and
    memory are those of the selections, whatever the width.
    """
    sets = as_sets(selections)
    m, d = len(sets), int(n_features)
    features, at = np.unique(np.concatenate(sets), return_inverse=True)
    if features.size and (features[0] < 0 or features[-1] >= d):
        stranger = features[-1] if features[0] >= 0 else features[0]
        raise UsageError(f"feature {stranger} is not one of {d:,} features")
    sizes = np.array([one.size for one in sets], np.float64)
    k = float(sizes.mean())
    if k == 0.0:
        return Stability(np.nan, np.nan, np.nan)
    if k == d:
        return Stability(1.0, 1.0, 1.0)
    p = np.bincount(at, minlength=features.size) / m
    spread = k / d * (1.0 - k / d)
    value = 1.0 - m / (m - 1) * float((p * (1.0 - p)).sum()) / d / spread
    owner = np.repeat(np.arange(m), sizes.astype(np.int64))
    shared = np.bincount(owner, p[at], minlength=m) / d  # mean over all features of z_if p_f
    phi = (
        shared - sizes * k / d**2 + value / 2.0 * (2.0 * sizes * k / d**2 - sizes / d - k / d + 1.0)
    )
    deviation = 2.0 / m * float(np.linalg.norm((phi - phi.mean()) / spread))
    half = normal_quantile(1.0 - alpha / 2.0) * deviation
    return Stability(value, value - half, min(1.0, value + half))


def yu_matching(a: Iterable[int], b: Iterable[int], X: Any, *, bins: int = 10) -> float:
    """How alike two sets of features are that may have different ids and say the same (Yu, Ding, Loscalzo 2008).

    Features of ``a`` are paired with features of ``b``, each with one at most, so that the
    symmetrical uncertainties of the pairs in the rows of ``X`` have the largest sum; that is
    divided by the size of the larger set, so that a feature without partner counts 0. It is the
    measure of SAOLA's paper (Yu, Wu, Ding, Pei 2016, section 5.2.3), which averages it over pairs
    of subsamples. Columns with more than 32 different values are cut into ``bins`` of as many rows
    each.
    """
    from scipy.optimize import linear_sum_assignment

    one, other = as_set(a), as_set(b)
    if not one.size or not other.size:
        return float(one.size == other.size)
    similar = uncertainties(coded(X, one, bins), coded(X, other, bins))
    pairs = linear_sum_assignment(similar, maximize=True)
    return float(similar[pairs].sum()) / max(one.size, other.size)


def uncertainties(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """The symmetrical uncertainty ``2 I / (H + H)`` of all pairs of coded columns, one of each matrix.

    All pairs of codes are counted at once, as the product of indicator matrices. Two columns that
    do not vary have 1: they say the same.
    """
    a, b = indicators(first), indicators(second)
    n_rows = first.shape[0]
    entropies = [
        np.log2(n_rows) - by_column(part.sum(axis=0), columns) / n_rows for part, columns in (a, b)
    ]
    joint = (a[0].T @ b[0]).tocoo()
    terms = joint.data * np.log2(joint.data)
    n_first, n_second = first.shape[1], second.shape[1]
    pair = a[1][joint.row] * n_second + b[1][joint.col]
    together = (
        np.log2(n_rows)
        - np.bincount(pair, terms, n_first * n_second).reshape(n_first, n_second) / n_rows
    )
    alone = entropies[0][:, None] + entropies[1]
    varies = alone > 1e-12
    return np.where(
        varies, np.clip(2.0 * (alone - together) / np.where(varies, alone, 1.0), 0.0, 1.0), 1.0
    )


def by_column(counts: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of ``c log2 c`` over the codes of every column."""
    return np.bincount(columns, counts * np.log2(counts)).astype(np.float64)


def indicators(codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
    """A sparse matrix with a column for every code of every column, and which column each is of."""
    from scipy.sparse import csr_array

    n_rows, n_columns = codes.shape
    levels = codes.max(axis=0) + 1
    first = np.concatenate([[0], np.cumsum(levels)])
    at = (codes + first[:-1]).ravel()
    matrix = csr_array(
        (np.ones(at.size), at, np.arange(0, at.size + 1, n_columns)), shape=(n_rows, int(first[-1]))
    )
    return matrix, np.repeat(np.arange(n_columns), levels)


def coded(X: Any, features: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Some columns as codes from 0 on, each of which occurs."""
    if features[0] < 0 or features[-1] >= X.shape[1]:
        raise UsageError(
            f"X has {X.shape[1]:,} columns, and the selections go up to feature {features[-1]:,}"
        )
    chosen = X.tocsc()[:, features].toarray() if is_sparse(X) else np.asarray(X)[:, features]
    return np.column_stack([codes_of(column, bins) for column in chosen.T])


def codes_of(column: NDArray[Any], bins: int) -> NDArray[np.int64]:
    values, codes = np.unique(column, return_inverse=True)
    if values.size <= DISCRETE_VALUES:
        return codes.astype(np.int64)
    edges = np.quantile(column, np.arange(1, bins) / bins)
    return np.unique(np.searchsorted(edges, column, side="right"), return_inverse=True)[1].astype(
        np.int64
    )


def as_sets(selections: Sequence[Iterable[int]]) -> list[NDArray[np.int64]]:
    """Selections as ascending ids, two of them at least."""
    if len(selections) < 2:
        raise UsageError(f"stability needs two selections or more, and there are {len(selections)}")
    return [as_set(one) for one in selections]


def as_set(features: Iterable[int]) -> NDArray[np.int64]:
    """The different ids of a selection, ascending."""
    known = features if isinstance(features, np.ndarray) else list(features)
    return np.unique(np.asarray(known, np.int64))


def normal_quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))
