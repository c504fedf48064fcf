"""Compare the steps of SOFS for many classes and in fixed memory with NumPy, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamsieve.kernels.rows import class_steps as steps
from streamsieve.kernels.rows import signal
from streamsieve.kernels.rows.storing import NEAREST, clip_precision, rounded

SCALE = 0.25


def parts_of_key(mu: Any, excess: Any, shadows: bool) -> Any:
    """Return the term of each class in the bound of a feature."""
    scaled_excess = np.asarray(excess, float) * SCALE
    return (
        np.asarray(mu, float) ** 2 * (1.0 + scaled_excess)
        if shadows
        else scaled_excess / (1.0 + scaled_excess)
    )


def random_cells(n_cells: int, n_classes: int, shadows: bool) -> Any:
    random = np.random.default_rng(n_classes)
    return random.random((n_cells, 1 + n_classes * (1 + shadows))).astype(np.float32)


@pytest.mark.parametrize("n_classes", [3, 4, 9])
@pytest.mark.parametrize("shadows", [True, False])
def test_cells_are_copied_to_slots_and_back(n_classes: int, shadows: bool) -> None:
    cells = random_cells(4, n_classes, shadows)
    weight, excess = np.full((1, n_classes), 9.0), np.full((1, n_classes), 9.0, np.float32)
    steps.copy_cell(cells, 2, shadows, weight, excess)
    stride = 1 + shadows
    assert excess[0].tolist() == cells[2, 1::stride].tolist()
    assert weight[0].tolist() == (cells[2, 2::2].tolist() if shadows else [0.0] * n_classes)
    before = cells.copy()
    steps.fill_cell(cells, 1, shadows, weight, excess, 0)
    assert cells[1].tolist() == [np.inf, *before[2, 1:].tolist()]
    np.testing.assert_array_equal(cells[[0, 2, 3]], before[[0, 2, 3]])


@pytest.mark.parametrize("n_classes", [3, 4, 9])
@pytest.mark.parametrize("shadows", [True, False])
def test_keys_and_their_bounds(n_classes: int, shadows: bool) -> None:
    random = np.random.default_rng(0)
    weight, excess = (
        random.standard_normal((2, n_classes)),
        random.random((2, n_classes)).astype(np.float32),
    )
    for row in range(2):
        key = steps.key_of(weight, excess, row, SCALE, shadows)
        total = parts_of_key(weight[row], excess[row], shadows).sum()
        assert key == pytest.approx(np.sqrt(total / SCALE) if shadows else total - n_classes)
        assert steps.sum_of_key(key, n_classes, SCALE, shadows) == pytest.approx(total)
    heap, key = (
        np.array([1, 0], np.int32),
        np.array([3.0, 2.0]) if shadows else np.array([-1.0, -2.0]),
    )
    assert steps.entry_bound(heap, key, 1, n_classes, SCALE, shadows) == -1.0
    limit = steps.entry_bound(heap, key, 2, n_classes, SCALE, shadows)
    assert limit == pytest.approx(4.0 * SCALE if shadows else n_classes - 2.0)
    assert shadows or limit < n_classes - 2.0  # by the rounding error of a sum of numbers near 1


def test_a_bound_is_never_too_small() -> None:
    for total, removed in (
        (3.0, 1.0),
        (1e-3, 0.0),
        (1e20, 1e19),
        (1.0, 1.0),
        (0.0, 0.0),
        (1.0, 2.0),
        (1e-38, 0.0),
    ):
        bound = steps.round_up(total, removed)
        assert np.float32(bound) >= total - removed
        assert bound >= steps.MIN_BOUND
        assert bound <= max(steps.MIN_BOUND, total * (1.0 + 2.0**-21) - removed)


def test_the_classes_that_step_are_listed() -> None:
    classes, direction = np.full(4, 9), np.full(4, 9.0)
    assert steps.list_steps(np.array([0.0, 1.0, 0.0, -0.5]), classes, direction) == 2
    assert classes.tolist() == [1, 3, 9, 9]
    assert direction.tolist() == [1.0, -0.5, 9.0, 9.0]


def test_members_pull_by_their_variance() -> None:
    random = np.random.default_rng(1)
    x, excess = random.standard_normal(5), random.random((2, 5)).astype(np.float32)
    variance_x = np.full((2, 5), 9.0)
    steps.compute_variance_x(x, excess, 4, SCALE, variance_x, 1)
    np.testing.assert_allclose(variance_x[1, :4], x[:4] / (1.0 + excess[1, :4] * SCALE))
    assert variance_x[1, 4] == 9.0
    assert steps.spread_of(x, variance_x, 4, 1) == pytest.approx((x * variance_x[1])[:4].sum())


def outsider_problem(shadows: bool) -> tuple[Any, ...]:
    random = np.random.default_rng(2)
    x = 5.0 * random.standard_normal(4)
    cells = random_cells(6, 3, shadows)
    positions, classes, direction = np.array([5, 0, 2, 3]), np.array([0, 2]), np.array([1.0, -0.5])
    excess, weight = (np.zeros((2, 4), np.float32) for _ in range(2))
    for s, c in enumerate(classes):
        steps.gather_outsiders(cells, np.uint64(c), positions, 4, shadows, excess, weight, s)
    return x, cells, positions, classes, direction, excess, weight


@pytest.mark.parametrize("shadows", [True, False])
def test_outsiders_learn_as_if_each_were_the_only_one_more(shadows: bool) -> None:
    x, cells, positions, classes, direction, excess, weight = outsider_problem(shadows)
    stride, loss, gamma, spread = 1 + shadows, 0.7, 2.0, 3.0
    np.testing.assert_array_equal(excess, cells[positions][:, 1 + classes * stride].T)
    losses = np.full(4, 9.0)
    steps.compute_losses(x, weight, direction, 2, 4, loss, shadows, losses)
    own_losses = (
        np.maximum(0.0, loss - (direction[:, None] * weight).sum(axis=0) * x)
        if shadows
        else np.full(4, loss)
    )
    np.testing.assert_allclose(losses, own_losses)
    assert not shadows or losses.min() == 0.0 < losses.max()
    bound, variance_x = cells[positions, steps.BOUND].astype(float), np.zeros((2, 4))
    new_excess, new_weight = excess.copy(), weight.copy()
    for s in range(2):
        growth, step = direction[s] ** 2 / (gamma * SCALE), direction[s] / spread
        steps.compute_variance_x(x, excess, 4, SCALE, variance_x, s)
        arguments = (
            new_excess,
            new_weight,
            variance_x,
            losses,
            bound,
            4,
            SCALE,
            growth,
            NEAREST,
            step,
            shadows,
            s,
        )
        steps.learn_outsiders(x, *arguments)
        np.testing.assert_allclose(new_excess[s], excess[s] + x**2 * growth, rtol=1e-6)
        moved_weight = weight[s] + own_losses * step * x / (1.0 + excess[s] * SCALE)
        np.testing.assert_allclose(
            new_weight[s], moved_weight if shadows else weight[s], rtol=1e-5, atol=1e-7
        )
    grown = parts_of_key(new_weight, new_excess, shadows).sum(axis=0) - parts_of_key(
        weight, excess, shadows
    ).sum(axis=0)
    np.testing.assert_allclose(bound, cells[positions, steps.BOUND] + grown, rtol=1e-5)
    scattered = cells.copy()
    for s, c in enumerate(classes):
        steps.scatter_outsiders(
            scattered, np.uint64(c), positions, 4, shadows, new_excess, new_weight, s
        )
    expected = cells.copy()
    expected[positions[:, None], 1 + classes * stride] = new_excess.T
    if shadows:
        expected[positions[:, None], 2 + classes * stride] = new_weight.T
        in_cells, bounds = cells.copy(), np.zeros(4)
        steps.learn_cells(
            in_cells,
            positions,
            x,
            4,
            classes,
            direction,
            2,
            loss,
            SCALE,
            gamma,
            NEAREST,
            spread,
            bounds,
        )
        np.testing.assert_allclose(in_cells[:, 1:], expected[:, 1:], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(in_cells[positions, steps.BOUND], bound, rtol=1e-5)
        np.testing.assert_allclose(bounds, bound, rtol=1e-5)
    np.testing.assert_array_equal(scattered, expected)


def test_outsiders_in_one_cell_learn_one_after_the_other() -> None:
    x, cells, _, classes, direction, _, _ = outsider_problem(True)
    shared, separate, bounds = cells.copy(), cells.copy(), np.zeros(4)
    arguments = direction, 2, 0.7, SCALE, 2.0, NEAREST, 3.0, bounds
    steps.learn_cells(shared, np.array([4, 4]), x, 2, classes, *arguments)
    for i in range(2):
        steps.learn_cells(separate, np.array([4]), x[i : i + 1], 1, classes, *arguments)
    np.testing.assert_array_equal(shared, separate)


def test_a_chance_of_0_is_a_chance() -> None:
    """Late updates in fixed memory use it for rounding, not the nearest number."""
    cells, key = np.array([[0.1, 0.2]], np.float32), np.zeros(1)
    start = float(cells[0, 0])
    x = next(
        x
        for x in (0.3, 0.5, 0.7, 0.9)
        if rounded(start + x * x, 0) != rounded(start + x * x, NEAREST)
    )
    for noise in (0, NEAREST):
        new = cells.copy()
        signal.learn_cells(
            np.array([3]), np.array([x]), new, 1, 1.0, 1.0, noise, 1.0, 1.0, -9.0, 9.0, key
        )
        assert new[0, 0] == rounded(clip_precision(start + x * x), noise)
