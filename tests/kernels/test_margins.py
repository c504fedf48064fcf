"""Compare the kernels over pairs of rows with NumPy, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamsieve.kernels.matrix import local_learning as kernels
from streamsieve.kernels.matrix.pairs import (
    LANE,
    MIN_MAX,
    NONE,
    PARTIAL,
    STANDARD,
    TILE,
    add_distances,
    distance_deviation,
    gather_columns,
    gather_lines,
    gather_sparse,
    measure_block,
    scale_block,
)
from streamsieve.kernels.matrix.relief import (
    fold_pairs,
    mark_nearest,
    sum_over_pairs,
    weigh_inliers,
)

N_ROWS = 2 * LANE + 6
WIDTH = 3 * LANE


def padded(lines: Any, n_lines: int = 0) -> Any:
    """Return lines of numbers in the form of the kernels: float32, zeros after the last row."""
    block = np.zeros((max(n_lines, len(lines)), WIDTH), np.float32)
    block[: len(lines), :N_ROWS] = lines
    return block


def above_diagonal(matrix: Any, n_lines: int) -> Any:
    """Return the pairs n < i of a matrix of all pairs of rows, padded."""
    return padded(np.triu(matrix, 1), n_lines)


@pytest.mark.parametrize("sigma", [0.3, 2.0])
def test_neighbours_are_weighed_by_their_distance(sigma: float) -> None:
    random = np.random.default_rng(0)
    distances = np.triu(random.random((N_ROWS, N_ROWS)), 1)
    codes = (np.arange(N_ROWS) % 3).astype(np.int32)
    codes[5] = 3  # alone in its class
    forth, back = (np.full((N_ROWS, WIDTH), 7.0, np.float32) for _ in range(2))
    for first, last in ((0, 10), (10, N_ROWS)):
        kernels.weigh_neighbours(distances, codes, sigma, first, last, forth, back)
    symmetric = distances + distances.T
    expected = np.zeros((N_ROWS, N_ROWS))
    for n in range(N_ROWS):
        miss = codes != codes[n]
        hit = ~miss & (np.arange(N_ROWS) != n)
        if hit.any():
            for rows, sign in ((miss, 1.0), (hit, -1.0)):
                near = np.exp(-symmetric[n, rows] / sigma)
                expected[n, rows] = sign * near / near.sum()
    above = np.triu_indices(N_ROWS, 1)
    np.testing.assert_allclose(forth[above], expected[above], rtol=1e-5, atol=1e-30)
    np.testing.assert_allclose(back[above], expected.T[above], rtol=1e-5, atol=1e-30)
    assert (np.diag(back[:, :N_ROWS]) == 0.0).all()


@pytest.mark.parametrize("n_features", [1, kernels.CACHED, kernels.CACHED + 2])
def test_margins_are_expected_over_all_pairs(n_features: int) -> None:
    random = np.random.default_rng(1)
    lines = random.standard_normal((n_features, N_ROWS)).astype(np.float32)
    A = random.standard_normal((N_ROWS, N_ROWS)).astype(np.float32)
    np.fill_diagonal(A, 0.0)
    n_lines = -(-N_ROWS // kernels.ROWS_AT_ONCE) * kernels.ROWS_AT_ONCE
    margins = np.full((n_features, WIDTH), 9.0, np.float32)
    kernels.expect_margins(
        padded(lines), above_diagonal(A, n_lines), above_diagonal(A.T, n_lines), margins
    )
    differences = np.abs(lines[:, :, None] - lines[:, None, :])
    expected = np.einsum("ni,jni->jn", A.astype(float), differences.astype(float))
    np.testing.assert_allclose(margins[:, :N_ROWS], expected, rtol=1e-4, atol=1e-4)


def descent_problem() -> tuple[Any, Any, Any]:
    random = np.random.default_rng(2)
    margins = padded(random.standard_normal((6, N_ROWS)))
    return margins, random.random(6), margins.astype(float)


def loss(v: Any, z: Any, regularization: float) -> float:
    margin = (v**2) @ z[:, :N_ROWS]
    return float(np.logaddexp(0.0, -margin).sum() + regularization * (v @ v))


def test_margins_add_up_and_features_gain() -> None:
    margins, weights, z = descent_problem()
    total, gain, pull = np.full(WIDTH, 0.5), np.full(6, -1.0), np.zeros(WIDTH)
    kernels.add_up_margins(margins, weights, 1, 5, total)
    np.testing.assert_allclose(total, 0.5 + weights[1:5] @ z[1:5], rtol=1e-12)
    margin = np.append(np.linspace(-800.0, 800.0, N_ROWS - 2), [0.0, 1.0])
    kernels.compute_pull(np.append(margin, np.zeros(WIDTH - N_ROWS)), N_ROWS, pull)
    np.testing.assert_allclose(pull[:N_ROWS], np.exp(-np.logaddexp(0.0, margin)), rtol=1e-12)
    assert not pull[N_ROWS:].any()
    kernels.compute_gains(margins, pull, 2, 6, gain)
    np.testing.assert_allclose(gain, [-1.0, -1.0, *(z[2:] @ pull)], rtol=1e-12)


def test_the_descent_goes_along_the_gradient() -> None:
    margins, v, z = descent_problem()
    active, regularization = np.array([5, 0, 2, 3]), 0.7
    pull, b, c, d = np.zeros(WIDTH), np.full(WIDTH, 2.0), np.full(WIDTH, 3.0), np.full(6, 9.0)
    kernels.compute_pull((v**2) @ z, N_ROWS, pull)
    along, length = kernels.descend(margins, v, pull, regularization, active, 1, 4, d, b, c)
    moved = active[1:4]
    small = 1e-6
    for j in moved:
        step = small * np.eye(6)[j]
        slope = (loss(v + step, z, regularization) - loss(v - step, z, regularization)) / (
            2 * small
        )
        assert d[j] == pytest.approx(-slope / 2, rel=1e-5)
    assert d[[1, 4, 5]].tolist() == [9.0] * 3
    np.testing.assert_allclose(b, 2.0 + (v[moved] * d[moved]) @ z[moved], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(c, 3.0 + (d[moved] ** 2) @ z[moved], rtol=1e-9, atol=1e-9)
    assert (along, length) == pytest.approx((v[moved] @ d[moved], d[moved] @ d[moved]))


def line(regularization: float, size: float = 1.0) -> tuple[Any, tuple[Any, ...]]:
    """Return a loss along a line, and the arguments of the search for its minimum."""
    _, v, z = descent_problem()
    v = v * size
    pull = np.exp(-np.logaddexp(0.0, (v**2) @ z[:, :N_ROWS]))
    d = (z[:, :N_ROWS] @ pull - regularization) * v
    rows = (v**2) @ z, (v * d) @ z, (d**2) @ z
    sums = regularization * (v @ v), regularization * (v @ d), regularization * (d @ d)
    return lambda t: loss(v + t * d, z, regularization), (*rows, N_ROWS, *sums)


@pytest.mark.parametrize("t", [0.0, 0.01, 0.3, 5.0])
def test_value_and_slope_are_those_of_the_loss(t: float) -> None:
    loss_at, arguments = line(0.7)
    value, slope = kernels.value_and_slope(t, *arguments)
    assert value == pytest.approx(loss_at(t), rel=1e-12)
    assert slope == pytest.approx((loss_at(t + 1e-6) - loss_at(t - 1e-6)) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("guess", [1e-9, 1e-3, 0.05, 30.0])
@pytest.mark.parametrize("regularization", [0.7, 5.0])
def test_the_minimum_along_a_line_is_found_from_any_guess(
    guess: float, regularization: float
) -> None:
    loss_at, arguments = line(regularization)
    step, value = kernels.search_line(guess, *arguments)
    assert value == pytest.approx(loss_at(step), rel=1e-12)
    assert kernels.value_and_slope(step * (1 - 2 * kernels.FINE), *arguments)[1] < 0.0
    assert kernels.value_and_slope(step * (1 + 2 * kernels.FINE), *arguments)[1] > 0.0


def test_at_a_minimum_no_step_is_taken() -> None:
    a = np.zeros(4)
    step, value = kernels.search_line(1.0, a, a, a, 4, 0.0, 0.0, 1.0)
    assert (step, value) == (0.0, pytest.approx(4 * np.log(2.0)))


def test_a_line_that_falls_for_ever_is_followed_to_the_longest_step() -> None:
    a, b = np.zeros(4), np.ones(4)
    step, value = kernels.search_line(1.0, a, b, a, 4, 0.0, -1e-300, 0.0)
    assert 0.5 * kernels.MAX_STEP <= step <= 4.0 * kernels.MAX_STEP
    assert value <= 0.0


# ---- pairs


@pytest.mark.parametrize("form", ["rows", "lines", "sparse"])
def test_columns_are_gathered_from_every_form(form: str) -> None:
    random = np.random.default_rng(3)
    X = random.standard_normal((7, 5)) * (random.random((7, 5)) < 0.6)
    features = np.array([4, 0, 3])
    block = np.full((4, 9), 5.0)
    if form == "rows":
        gather_columns(X, features, block)
    elif form == "lines":
        gather_lines(np.ascontiguousarray(X.T), features, block)
    else:
        of_column, rows = np.nonzero(X.T)
        indptr = np.searchsorted(of_column, np.arange(6))
        gather_sparse(indptr, rows, X.T[of_column, rows], features, block)
        assert not block[:3, 7:].any()
    np.testing.assert_array_equal(block[:3, :7], X.T[features])
    assert (block[3] == 5.0).all()


@pytest.mark.parametrize("kind", [MIN_MAX, STANDARD, NONE])
def test_lines_are_brought_to_their_scale(kind: int) -> None:
    random = np.random.default_rng(4)
    block = np.zeros((4, 8))
    lines = block[:, :6]
    lines[:] = random.standard_normal((4, 6)) * [[1.0], [1e9], [1e-9], [0.0]] + 3.0
    lines[1, 2] = 0.0
    low, span = lines.min(axis=1, keepdims=True), np.ptp(lines, axis=1, keepdims=True)
    span[3] = 1.0  # a constant line is 0 throughout
    expected = {
        MIN_MAX: (lines - low) / span,
        STANDARD: (
            (lines - lines.mean(axis=1, keepdims=True))
            / np.where(span == 1.0, 1.0, lines.std(1, keepdims=True))
        ),
        NONE: lines - low,
    }[kind]
    shift, factor = np.full(4, 9.0), np.full(4, 9.0)
    assert measure_block(block, 4, 6, kind, shift, factor) == (-1, 23)
    out = np.full((4, 8), 7.0, np.float32)
    scale_block(block, 6, shift, factor, out)
    np.testing.assert_allclose(out[:, :6], expected, rtol=1e-6, atol=1e-6)
    assert (out[:, 6:] == 7.0).all()


@pytest.mark.parametrize(("kind", "size"), [(NONE, 1e30), (MIN_MAX, 1e300), (STANDARD, 1e300)])
def test_numbers_beyond_use_are_named_by_their_line(kind: int, size: float) -> None:
    for sign in (1.0, -1.0):
        block = np.zeros((3, 4))
        block[1, 2] = sign * size
        shift, factor = np.zeros(3), np.zeros(3)
        assert measure_block(block, 3, 4, kind, shift, factor) == (-1, 1)
        block[1, 2] *= 1.1
        assert measure_block(block, 3, 4, kind, shift, factor)[0] == 1
    block[1, 2] = np.nan
    assert measure_block(block, 3, 4, kind, shift, factor) == (1, 0)


def test_what_varies_by_less_than_has_an_inverse_does_not_vary() -> None:
    shift, factor = np.zeros(2), np.ones(2)
    block = np.array([[0.0, 1e-300, 0.0], [0.0, 2e-300, 0.0]])
    assert measure_block(block, 2, 3, MIN_MAX, shift, factor) == (-1, 2)
    assert factor[0] == 0.0
    assert factor[1] == pytest.approx(5e299)


def test_distances_are_added_up_over_all_features() -> None:
    random = np.random.default_rng(5)
    n_features = PARTIAL + 2 * TILE
    lines = random.random((n_features, N_ROWS)).astype(np.float32)
    distances = np.full((N_ROWS, WIDTH), 0.25)
    for first, last in ((0, 40), (40, N_ROWS)):
        add_distances(padded(lines), first, last, np.full(WIDTH, 3.0, np.float32), distances)
    expected = 0.25 + np.abs(lines[:, :, None] - lines[:, None, :]).sum(axis=0, dtype=float)
    above = np.triu_indices(N_ROWS, 1)
    np.testing.assert_allclose(distances[above], expected[above], rtol=1e-5)
    assert distance_deviation(distances, N_ROWS) == pytest.approx(expected[above].std(), rel=1e-4)


def test_the_spread_of_one_pair_or_of_none_is_0() -> None:
    assert (
        distance_deviation(np.full((2, 2), 3.0), 2) == distance_deviation(np.ones((1, 1)), 1) == 0.0
    )


# ---- ReliefF and I-RELIEF


@pytest.mark.parametrize("wanted", [1, 3, 100])
def test_nearest_hits_and_misses_are_marked(wanted: int) -> None:
    """Check ties, where the first row is nearer, and a row alone in its class, which marks none."""
    random = np.random.default_rng(6)
    distances = np.triu(random.integers(1, 9, (20, 20)).astype(float), 1)
    codes = (np.arange(20) % 3).astype(np.int32)
    codes[7] = 3
    fractions = np.bincount(codes) / 20.0
    forth, back = (np.zeros((20, 20), np.float32) for _ in range(2))
    for first, last in ((0, 8), (8, 20)):
        mark_nearest(distances, codes, fractions, min(wanted, 19), first, last, forth, back)
    symmetric = distances + distances.T
    expected = np.zeros((20, 20))
    for n in range(20):
        for code in range(4) if n != 7 else ():
            near = sorted(
                (i for i in range(20) if i != n and codes[i] == code),
                key=lambda i: (symmetric[n, i], i),
            )[:wanted]
            each = -1.0 if code == codes[n] else fractions[code] / (1.0 - fractions[codes[n]])
            expected[n, near] = each / max(1, len(near))
    np.testing.assert_allclose(forth, np.triu(expected), rtol=1e-6)
    np.testing.assert_allclose(back, np.triu(expected.T), rtol=1e-6)


@pytest.mark.parametrize("sigma", [1e-3, 1.0])
def test_inliers_are_rows_among_their_own(sigma: float) -> None:
    """Only distances relative to the nearest row count."""
    random = np.random.default_rng(7)
    distances = np.triu(5.0 + random.random((12, 12)), 1)
    codes = (np.arange(12) % 2).astype(np.int32)
    inliers = np.full(12, 9.0)
    weigh_inliers(distances, codes, sigma, 2, 12, inliers)
    assert inliers[:2].tolist() == [9.0, 9.0]
    symmetric = distances + distances.T
    for n in range(2, 12):
        others = np.delete(np.arange(12), n)
        near = np.exp((symmetric[n, others].min() - symmetric[n, others]) / sigma)
        assert inliers[n] == pytest.approx(near[codes[others] == codes[n]].sum() / near.sum())


@pytest.mark.parametrize("n_features", [1, 4, 6])
def test_pairs_are_folded_and_summed(n_features: int) -> None:
    random = np.random.default_rng(8)
    A, inliers = random.standard_normal((N_ROWS, N_ROWS)).astype(np.float32), random.random(N_ROWS)
    pairs = above_diagonal(A, N_ROWS)
    fold_pairs(pairs, above_diagonal(A.T, N_ROWS), inliers)
    weighted = inliers[:, None] * A
    expected = np.triu(weighted + weighted.T, 1)
    np.testing.assert_allclose(pairs[:, :N_ROWS], expected, rtol=1e-4, atol=1e-5)
    lines = random.random((n_features, N_ROWS)).astype(np.float32)
    sums = np.full(n_features + 1, 9.0)
    sum_over_pairs(padded(lines, 8), pairs, n_features, sums)
    wanted = [(expected * np.abs(line[:, None] - line)).sum() for line in lines]
    np.testing.assert_allclose(sums, [*wanted, 9.0], rtol=1e-3, atol=1e-3)
