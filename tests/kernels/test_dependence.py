"""The kernels that measure how much columns say about each other, one by one, against what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

from streamsieve.kernels.columns import dependence as kernels
from streamsieve.kernels.columns.contents import MISSING

N_ROWS = 24
WEIGHTS = [np.ones(N_ROWS), np.tile([0.5, 1.5, 0.0, 2.0], N_ROWS // 4)]


def sparse(X: Any) -> tuple[Any, Any, Any]:
    matrix = csc_array(X)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


def correlation(a: Any, b: Any, weights: Any) -> float:
    a, b = a - np.average(a, weights=weights), b - np.average(b, weights=weights)
    return float(
        (weights * a * b).sum() / np.sqrt((weights * a * a).sum() * (weights * b * b).sum())
    )


def numbers(seed: int, n_columns: int) -> Any:
    random = np.random.default_rng(seed)
    return random.normal(1.0, 1.0, (N_ROWS, n_columns)) * (random.random((N_ROWS, n_columns)) < 0.6)


def standardized(y: Any, weights: Any) -> Any:
    centred = y - np.average(y, weights=weights)
    return weights * centred / np.sqrt((weights * centred**2).sum())


@pytest.mark.parametrize("weights", WEIGHTS)
def test_correlations_with_the_target_and_with_kept_columns(weights: Any) -> None:
    X, y = numbers(0, 6), numbers(1, 1)[:, 0]
    X[:, 2] = 0.0
    X[:, 3] = 4.0
    indptr, indices, values = sparse(X)
    relevance, norms = np.full(6, 9.0), np.full(6, 9.0)
    target = standardized(y, weights)
    kernels.correlate_with_target(indptr, indices, values, weights, target, 1, 6, relevance, norms)
    assert (relevance[0], norms[0]) == (9.0, 9.0)
    assert relevance[2:4].tolist() == norms[2:4].tolist() == [0.0, 0.0]
    kept = np.full(N_ROWS, 9.0)
    for column in (1, 4, 5):
        assert relevance[column] == pytest.approx(correlation(X[:, column], y, weights))
        centred = X[:, column] - np.average(X[:, column], weights=weights)
        assert norms[column] == pytest.approx(np.sqrt((weights * centred**2).sum()))
        kernels.standardize_column(indptr, indices, values, weights, column, norms[column], kept)
        np.testing.assert_allclose(kept, standardized(X[:, column], weights), atol=1e-12)
        for other in (1, 4, 5):
            found = kernels.correlate_with(indptr, indices, values, other, norms[other], kept)
            assert found == pytest.approx(correlation(X[:, column], X[:, other], weights))


def test_what_varies_by_no_more_than_rounding_is_constant() -> None:
    for off, varies in (
        (1e-6, False),
        (1e-5, True),
    ):  # sums of squares of 24 rows, of which one is off
        X = np.ones((N_ROWS, 1))
        X[3] += off
        relevance, norms, target = (
            np.ones(1),
            np.ones(1),
            standardized(X[:, 0] - 1.0, np.ones(N_ROWS)),
        )
        kernels.correlate_with_target(*sparse(X), np.ones(N_ROWS), target, 0, 1, relevance, norms)
        assert (relevance[0] > 0.5, norms[0] > 0.0) == (varies, varies)


def bits_of(*variables: Any, weights: Any) -> float:
    """The entropy of variables together."""
    _, codes = np.unique(np.column_stack(variables), axis=0, return_inverse=True)
    fractions = np.bincount(codes.ravel(), weights) / weights.sum()
    fractions = fractions[fractions > 0.0]
    return float(-(fractions * np.log2(fractions)).sum())


def codes(seed: int, n_levels: int) -> Any:
    found = np.random.default_rng(seed).integers(0, n_levels, N_ROWS).astype(np.int32)
    found[:n_levels] = np.arange(n_levels)
    return found


def weights_by_code(of: Any, n_levels: int, weights: Any) -> Any:
    return np.bincount(of, weights, n_levels)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("room", [0, 200], ids=["sorted", "table"])
@pytest.mark.parametrize(("n_one", "n_other"), [(2, 3), (5, 2), (4, 4), (12, 9)])
def test_entropies_of_pairs(weights: Any, room: int, n_one: int, n_other: int) -> None:
    one, other = codes(0, n_one), codes(1, n_other)
    expected = (
        bits_of(one, weights=weights),
        bits_of(other, weights=weights),
        bits_of(one, other, weights=weights),
    )
    joint, margin = np.full(room, 7.0), np.full(12, 7.0)
    assert kernels.entropies_present(
        one, n_one, other, n_other, weights, joint, margin
    ) == pytest.approx(expected)
    indptr, indices, _ = sparse(np.column_stack([np.ones(N_ROWS), one]))
    values = np.append(np.ones(N_ROWS, np.int32), one[one != 0])
    counts = weights_by_code(other, n_other, weights)
    given = (indptr, indices, values, 1, n_one, weights, other, counts, n_other, joint, margin)
    assert kernels.pair_entropies(*given) == pytest.approx(expected)
    uncertainty = 2.0 * (expected[0] + expected[1] - expected[2]) / (expected[0] + expected[1])
    assert kernels.uncertainty(*given) == pytest.approx(uncertainty)


@pytest.mark.parametrize("room", [0, 12], ids=["sorted", "table"])
def test_entropies_of_pairs_omit_rows_without_a_value(room: int) -> None:
    one, other, weights = codes(2, 3), codes(3, 4), WEIGHTS[1]
    one[[3, 5, 9]] = MISSING
    other[[5, 11]] = MISSING
    both = (one != MISSING) & (other != MISSING)
    shown = {"weights": weights[both]}
    expected = (
        bits_of(one[both], **shown),
        bits_of(other[both], **shown),
        bits_of(one[both], other[both], **shown),
    )
    found = kernels.entropies_present(
        one, 3, other, 4, weights, np.full(room, 7.0), np.full(4, 7.0)
    )
    assert found == pytest.approx(expected)


def test_a_table_of_pairs_is_no_larger_than_it_need_be() -> None:
    assert [scratch.size for scratch in kernels.scratch_for(3, 4, 100)] == [12, 4]
    assert [scratch.size for scratch in kernels.scratch_for(40, 30, 100)] == [800, 40]


def test_counts_that_rounding_leaves_are_0() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    other = np.zeros(4, np.int32)
    joint, margin = np.full(4, 7.0), np.empty(2)
    given = (
        np.array([0, 4]),
        np.arange(4, dtype=np.int32),
        np.ones(4, np.int32),
        0,
        2,
        weights,
        other,
    )
    kernels.pair_entropies(*given, np.array([weights.sum() + 1e-16]), 1, joint, margin)
    assert joint[:2].tolist() == [0.0, pytest.approx(1.0)]
    kernels.pair_entropies(*given, np.array([weights.sum() + 1e-9]), 1, joint, margin)
    assert joint[0] == pytest.approx(1e-9, rel=1e-6)
    assert joint[2:].tolist() == [7.0, 7.0]


def test_the_uncertainty_of_what_does_not_vary_is_0() -> None:
    assert kernels.uncertainty_of(0.0, 0.0, 0.0) == 0.0
    assert kernels.uncertainty_of(1.0, 0.0, 1.0) == 0.0
    assert kernels.uncertainty_of(0.5, 0.5, 0.5) == 1.0
    assert kernels.uncertainty_of(0.5, 0.25, 0.76) == 0.0  # never below, whatever rounding does


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_classes", [2, 7])
def test_uncertainties_of_the_target(weights: Any, n_classes: int) -> None:
    classes, levels = codes(4, n_classes), [3, 1, 5, 2]
    columns = [codes(5 + n, n) for n in levels]
    indptr, indices, _ = sparse(np.column_stack([column + 1 for column in columns]))
    relevance = np.full(4, 9.0)
    counts = weights_by_code(classes, n_classes, weights)
    given = indptr, indices, np.concatenate(columns), np.array(levels), weights, classes, counts
    kernels.uncertainties_of_target(*given, 1, 4, relevance)
    assert relevance[:2].tolist() == [9.0, 0.0]
    for column in (2, 3):
        alone = bits_of(columns[column], weights=weights), bits_of(classes, weights=weights)
        together = bits_of(columns[column], classes, weights=weights)
        assert relevance[column] == pytest.approx(2.0 * (sum(alone) - together) / sum(alone))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_correlations_over_the_rows_that_have_both_values(weights: Any) -> None:
    X = numbers(6, 2) + np.array([0.0, 1e6])
    X[[1, 4], 0] = np.nan
    X[[4, 9], 1] = np.nan
    indptr, indices, values = sparse(X)
    one, other = np.full(N_ROWS, 9.0), np.full(N_ROWS, 9.0)
    kernels.spread_values(indptr, indices, values, weights, 0, one)
    kernels.spread_values(indptr, indices, values, weights, 1, other)
    np.testing.assert_array_equal(one, X[:, 0] * weights)
    both = ~np.isnan(X).any(axis=1)
    expected = correlation(X[both, 0], X[both, 1], weights[both])
    assert kernels.correlate_present(one, other, weights) == pytest.approx(expected)
    assert kernels.correlate_present(one, one, weights) == pytest.approx(1.0)


def test_no_correlation_where_nothing_is_left_or_nothing_varies() -> None:
    nothing, some, flat = np.full(4, np.nan), np.array([1.0, 2.0, 4.0, np.nan]), np.full(4, 0.1)
    for one, other in ((nothing, some), (some, nothing), (flat, some), (some, flat), (flat, flat)):
        assert kernels.correlate_present(one, other, np.ones(4)) == 0.0
    assert kernels.correlate_present(some, some, np.zeros(4)) == 0.0
    for size in (1e-8, 1.0, 1e8):  # far from 0 for their rows, and yet they vary
        near = size * np.array([1.0, 1.0 + 1e-12, 1.0, 1.0 - 1e-12])
        assert kernels.correlate_present(near, near, np.ones(4)) == pytest.approx(1.0)
        assert kernels.correlate_present(some, near, np.ones(4)) != 0.0
        rounding = size * np.array([1.0, 1.0 + 4e-16, 1.0, 1.0])
        assert kernels.correlate_present(rounding, rounding, np.ones(4)) == 0.0


def test_codes_are_spread_over_rows() -> None:
    out = np.full(4, 9, np.int32)
    given = np.array([0, 1, 3]), np.array([0, 1, 3], np.int32), np.array([5, 2, MISSING], np.int32)
    kernels.spread_codes(*given, 1, out)
    assert out.tolist() == [0, 2, 0, MISSING]
