"""Measure how alike selections from different rows are.

The measures are Jaccard's, Nogueira's and Yu's matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..values import is_sparse

MAX_DISCRETE_VALUES = 32  # columns with more different values are cut into bins


class Stability(NamedTuple):
    """A measure of stability: 1 for equal selections, about 0 for random ones."""

    value: float
    low: float  # of the confidence interval
    high: float


def jaccard(selections: Sequence[Iterable[int]]) -> float:
    """Return the mean over all pairs of selections of intersection size over union size."""
    sets = as_sets(selections)
    return float(np.mean([jaccard_index(first, second) for first, second in combinations(sets, 2)]))


def jaccard_index(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the Jaccard index of two sets; it is 1 for two empty sets."""
    common = np.intersect1d(first, second, assume_unique=True).size
    union = first.size + second.size - common
    return common / union if union else 1.0


def nogueira(
    selections: Sequence[Iterable[int]], n_features: int, alpha: float = 0.05
) -> Stability:
    """Return the stability of selections from ``n_features`` features.

    The measure is that of Nogueira, Sechidis, Brown 2018. With M selections of k features on
    average out of d, where a fraction p_f of them has feature f, it is ``1 - M / (M - 1) * sum_f
    p_f (1 - p_f) / (k (1 - k / d))``: it is corrected for chance and supports selections of
    different sizes. The interval has level ``1 - alpha``, by the asymptotic variance of the paper's
    theorem 7, and ends at 1. It is 1 if all selections have all features, and NaN if all selections
    are empty, as nothing was selected that could be stable. Time and memory depend on the size of
    the selections, not on ``n_features``.
    """
    from scipy.special import ndtri

    sets = as_sets(selections)
    m, d = len(sets), int(n_features)
    features, positions = np.unique(np.concatenate(sets), return_inverse=True)
    if features.size and (features[0] < 0 or features[-1] >= d):
        unknown = features[-1] if features[0] >= 0 else features[0]
        raise UsageError(f"feature {unknown} is not one of {d:,} features")
    sizes = np.array([ids.size for ids in sets], np.float64)
    k = float(sizes.mean())
    if k == 0.0:
        return Stability(np.nan, np.nan, np.nan)
    if k == d:
        return Stability(1.0, 1.0, 1.0)
    p = np.bincount(positions, minlength=features.size) / m
    spread = k / d * (1.0 - k / d)
    value = 1.0 - m / (m - 1) * float((p * (1.0 - p)).sum()) / d / spread
    owner = np.repeat(np.arange(m), sizes.astype(np.int64))
    shared = np.bincount(owner, p[positions], minlength=m) / d  # mean over all features of z_if p_f
    phi = (
        shared - sizes * k / d**2 + value / 2.0 * (2.0 * sizes * k / d**2 - sizes / d - k / d + 1.0)
    )
    deviation = 2.0 / m * float(np.linalg.norm((phi - phi.mean()) / spread))
    half_width = float(ndtri(1.0 - alpha / 2.0)) * deviation
    return Stability(value, value - half_width, min(1.0, value + half_width))


def yu_matching(a: Iterable[int], b: Iterable[int], X: Any, *, bins: int = 10) -> float:
    """Return the similarity of two sets of features with maybe different ids but equal information.

    The measure is that of Yu, Ding, Loscalzo 2008. Features of ``a`` are paired with features of
    ``b``, each with one at most, so that the symmetrical uncertainties of the pairs in the rows of
    ``X`` have the largest sum; this is divided by the size of the larger set, so that a feature
    without partner counts 0. SAOLA's paper (Yu, Wu, Ding, Pei 2016, section 5.2.3) averages it over
    pairs of subsamples. Columns with more than 32 different values are cut into ``bins`` of equally
    many rows.
    """
    from scipy.optimize import linear_sum_assignment

    first, second = as_set(a), as_set(b)
    if not first.size or not second.size:
        return float(first.size == second.size)
    similarities = uncertainties(encode_columns(X, first, bins), encode_columns(X, second, bins))
    pairs = linear_sum_assignment(similarities, maximize=True)
    return float(similarities[pairs].sum()) / max(first.size, second.size)


def uncertainties(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the symmetrical uncertainty ``2 I / (H + H)`` of all pairs of coded columns.

    A pair has one column of each matrix. All pairs of codes are counted at once, as the product of
    indicator matrices. The value is 1 for two columns that do not vary: they are equivalent.
    """
    a, b = indicator_matrix(first), indicator_matrix(second)
    n_rows = first.shape[0]
    entropies = [
        np.log2(n_rows) - sum_by_column(part.sum(axis=0), columns) / n_rows
        for part, columns in (a, b)
    ]
    joint = (a[0].T @ b[0]).tocoo()
    terms = joint.data * np.log2(joint.data)
    n_first, n_second = first.shape[1], second.shape[1]
    pair = a[1][joint.row] * n_second + b[1][joint.col]
    joint_entropies = (
        np.log2(n_rows)
        - np.bincount(pair, terms, n_first * n_second).reshape(n_first, n_second) / n_rows
    )
    entropy_sums = entropies[0][:, None] + entropies[1]
    varies = entropy_sums > 1e-12
    return np.where(
        varies,
        np.clip(
            2.0 * (entropy_sums - joint_entropies) / np.where(varies, entropy_sums, 1.0), 0.0, 1.0
        ),
        1.0,
    )


def sum_by_column(counts: NDArray[np.float64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of ``c log2 c`` over the codes of every column, for counts ``c``."""
    return np.bincount(columns, counts * np.log2(counts)).astype(np.float64)


def indicator_matrix(codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64]]:
    """Return a sparse indicator matrix of the codes of all columns, and the column of each code."""
    from scipy.sparse import csr_array

    n_rows, n_columns = codes.shape
    levels = codes.max(axis=0) + 1
    first = np.concatenate([[0], np.cumsum(levels)])
    positions = (codes + first[:-1]).ravel()
    matrix = csr_array(
        (np.ones(positions.size), positions, np.arange(0, positions.size + 1, n_columns)),
        shape=(n_rows, int(first[-1])),
    )
    return matrix, np.repeat(np.arange(n_columns), levels)


def encode_columns(X: Any, features: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Return some columns as codes from 0 on, each of which occurs."""
    if features[0] < 0 or features[-1] >= X.shape[1]:
        raise UsageError(
            f"X has {X.shape[1]:,} columns, but the selections go up to feature {features[-1]:,}"
        )
    columns = X.tocsc()[:, features].toarray() if is_sparse(X) else np.asarray(X)[:, features]
    return np.column_stack([encode_column(column, bins) for column in columns.T])


def encode_column(column: NDArray[Any], bins: int) -> NDArray[np.int64]:
    """Return codes of the values of a column, cut into bins if it has many different values."""
    values, codes = np.unique(column, return_inverse=True)
    if values.size > MAX_DISCRETE_VALUES:
        edges = np.quantile(column, np.arange(1, bins) / bins)
        _, codes = np.unique(np.searchsorted(edges, column, side="right"), return_inverse=True)
    return codes.astype(np.int64)


def as_sets(selections: Sequence[Iterable[int]]) -> list[NDArray[np.int64]]:
    """Return selections as ascending ids; there must be two or more."""
    if len(selections) < 2:
        raise UsageError(f"stability needs two selections or more, got {len(selections)}")
    return [as_set(selection) for selection in selections]


def as_set(features: Iterable[int]) -> NDArray[np.int64]:
    """Return the different ids of a selection, in ascending order."""
    ids = features if isinstance(features, np.ndarray) else list(features)
    return np.unique(np.asarray(ids, np.int64))
