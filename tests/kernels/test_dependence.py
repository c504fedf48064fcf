"""Compare the kernels that measure the dependence of columns with NumPy, one by one."""

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
            measured = kernels.correlate_with(indptr, indices, values, other, norms[other], kept)
            assert measured == pytest.approx(correlation(X[:, column], X[:, other], weights))


def test_what_varies_by_no_more_than_rounding_is_constant() -> None:
    # sums of squares of 24 rows, of which one differs
    for shift, varies in ((1e-6, False), (1e-5, True)):
        X = np.ones((N_ROWS, 1))
        X[3] += shift
        relevance, norms, target = (
            np.ones(1),
            np.ones(1),
            standardized(X[:, 0] - 1.0, np.ones(N_ROWS)),
        )
        kernels.correlate_with_target(*sparse(X), np.ones(N_ROWS), target, 0, 1, relevance, norms)
        assert (relevance[0] > 0.5, norms[0] > 0.0) == (varies, varies)


def bits_of(*variables: Any, weights: Any) -> float:
    """Return the joint entropy of variables in bits."""
    _, codes = np.unique(np.column_stack(variables), axis=0, return_inverse=True)
    fractions = np.bincount(codes.ravel(), weights) / weights.sum()
    fractions = fractions[fractions > 0.0]
    return float(-(fractions * np.log2(fractions)).sum())


def codes(seed: int, n_levels: int) -> Any:
    drawn = np.random.default_rng(seed).integers(0, n_levels, N_ROWS).astype(np.int32)
    drawn[:n_levels] = np.arange(n_levels)
    return drawn


def weights_by_code(codes: Any, n_levels: int, weights: Any) -> Any:
    return np.bincount(codes, weights, n_levels)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("room", [0, 200], ids=["sorted", "table"])
@pytest.mark.parametrize(("n_first", "n_second"), [(2, 3), (5, 2), (4, 4), (12, 9)])
def test_entropies_of_pairs(weights: Any, room: int, n_first: int, n_second: int) -> None:
    first, second = codes(0, n_first), codes(1, n_second)
    expected = (
        bits_of(first, weights=weights),
        bits_of(second, weights=weights),
        bits_of(first, second, weights=weights),
    )
    joint, margin = np.full(room, 7.0), np.full(12, 7.0)
    assert kernels.entropies_present(
        first, n_first, second, n_second, weights, joint, margin
    ) == pytest.approx(expected)
    indptr, indices, _ = sparse(np.column_stack([np.ones(N_ROWS), first]))
    values = np.append(np.ones(N_ROWS, np.int32), first[first != 0])
    counts = weights_by_code(second, n_second, weights)
    arguments = (
        indptr,
        indices,
        values,
        1,
        n_first,
        weights,
        second,
        counts,
        n_second,
        joint,
        margin,
    )
    assert kernels.pair_entropies(*arguments) == pytest.approx(expected)
    uncertainty = 2.0 * (expected[0] + expected[1] - expected[2]) / (expected[0] + expected[1])
    assert kernels.uncertainty(*arguments) == pytest.approx(uncertainty)


@pytest.mark.parametrize("room", [0, 12], ids=["sorted", "table"])
def test_entropies_of_pairs_omit_rows_without_a_value(room: int) -> None:
    first, second, weights = codes(2, 3), codes(3, 4), WEIGHTS[1]
    first[[3, 5, 9]] = MISSING
    second[[5, 11]] = MISSING
    has_both = (first != MISSING) & (second != MISSING)
    options = {"weights": weights[has_both]}
    expected = (
        bits_of(first[has_both], **options),
        bits_of(second[has_both], **options),
        bits_of(first[has_both], second[has_both], **options),
    )
    entropies = kernels.entropies_present(
        first, 3, second, 4, weights, np.full(room, 7.0), np.full(4, 7.0)
    )
    assert entropies == pytest.approx(expected)


def test_a_table_of_pairs_is_no_larger_than_it_need_be() -> None:
    assert [scratch.size for scratch in kernels.scratch_for(3, 4, 100)] == [12, 4]
    assert [scratch.size for scratch in kernels.scratch_for(40, 30, 100)] == [800, 40]


def test_counts_that_rounding_leaves_are_0() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    second = np.zeros(4, np.int32)
    joint, margin = np.full(4, 7.0), np.empty(2)
    arguments = (
        np.array([0, 4]),
        np.arange(4, dtype=np.int32),
        np.ones(4, np.int32),
        0,
        2,
        weights,
        second,
    )
    kernels.pair_entropies(*arguments, np.array([weights.sum() + 1e-16]), 1, joint, margin)
    assert joint[:2].tolist() == [0.0, pytest.approx(1.0)]
    kernels.pair_entropies(*arguments, np.array([weights.sum() + 1e-9]), 1, joint, margin)
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
    arguments = indptr, indices, np.concatenate(columns), np.array(levels), weights, classes, counts
    kernels.uncertainties_of_target(*arguments, 1, 4, relevance)
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
    first, second = np.full(N_ROWS, 9.0), np.full(N_ROWS, 9.0)
    kernels.spread_values(indptr, indices, values, weights, 0, first)
    kernels.spread_values(indptr, indices, values, weights, 1, second)
    np.testing.assert_array_equal(first, X[:, 0] * weights)
    has_both = ~np.isnan(X).any(axis=1)
    expected = correlation(X[has_both, 0], X[has_both, 1], weights[has_both])
    assert kernels.correlate_present(first, second, weights) == pytest.approx(expected)
    assert kernels.correlate_present(first, first, weights) == pytest.approx(1.0)


def test_no_correlation_where_nothing_is_left_or_nothing_varies() -> None:
    empty, some, constant = np.full(4, np.nan), np.array([1.0, 2.0, 4.0, np.nan]), np.full(4, 0.1)
    for first, second in (
        (empty, some),
        (some, empty),
        (constant, some),
        (some, constant),
        (constant, constant),
    ):
        assert kernels.correlate_present(first, second, np.ones(4)) == 0.0
    assert kernels.correlate_present(some, some, np.zeros(4)) == 0.0
    for size in (1e-8, 1.0, 1e8):  # far from 0 for their rows, and yet they vary
        near = size * np.array([1.0, 1.0 + 1e-12, 1.0, 1.0 - 1e-12])
        assert kernels.correlate_present(near, near, np.ones(4)) == pytest.approx(1.0)
        assert kernels.correlate_present(some, near, np.ones(4)) != 0.0
        rounding = size * np.array([1.0, 1.0 + 4e-16, 1.0, 1.0])
        assert kernels.correlate_present(rounding, rounding, np.ones(4)) == 0.0


def test_codes_are_spread_over_rows() -> None:
    out = np.full(4, 9, np.int32)
    column = np.array([0, 1, 3]), np.array([0, 1, 3], np.int32), np.array([5, 2, MISSING], np.int32)
    kernels.spread_codes(*column, 1, out)
    assert out.tolist() == [0, 2, 0, MISSING]
