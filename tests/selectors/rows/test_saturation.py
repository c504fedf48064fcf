"""Precisions go on growing, right on average, for as many rows as a stream may have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve.kernels.rows.storing import (
    FIRST_LATE_UPDATE,
    MAX_FLOAT32,
    MAX_STEP,
    NEAREST,
    clip_precision,
    clip_step,
    clip_to_float32,
    noise_of,
    rounded,
)
from streamsieve.selectors.rows.sofs import SOFS

BLOCK = 100_000


def late_learner(
    excess: float, n_classes: int, criterion: str, max_cells: int | None = None
) -> Any:
    """Return a learner of two features, keeping one of them, after very many rows.

    Both features have the given precision.
    """
    form: dict[str, Any] = {"normalize": False, "fit_intercept": False, "class_weight": None}
    learner: Any = SOFS.make(1, criterion=criterion, gamma=1.0, max_cells=max_cells, **form)
    learner.start(2, np.arange(n_classes))
    learner.partial_fit_block(block_of(np.arange(4) % n_classes, 1.0, 1.0))
    state = learner.memory.state
    state.excess[...] = excess
    precisions_outside(state, criterion)[...] = excess
    state.counts[2] = FIRST_LATE_UPDATE
    return learner


def block_of(codes: Any, first: float, second: float) -> ss.RowBlock:
    values = np.tile(np.array([first, second], np.float32), len(codes))
    indptr, indices = np.arange(len(codes) + 1) * 2, np.tile(np.array([0, 1], np.int32), len(codes))
    return ss.RowBlock(indptr, indices, values, np.asarray(codes), 2)


def precisions_outside(state: Any, criterion: str) -> Any:
    """Return the precisions of the feature that is not kept, per vector of weights."""
    position = 0 if state.cells.shape[0] == 1 else 1 - int(state.member[0])
    cells = state.cells.view(np.float32).reshape(state.cells.shape[0], -1)[position]
    return cells[state.bias.shape[0] > 1 :: 2 if criterion == "snr" else 1]


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("n_classes", "criterion", "max_cells"),
    [
        (2, "confidence", None),
        (2, "snr", None),
        (2, "snr", 1),
        (3, "confidence", None),
        (3, "snr", None),
        (3, "snr", 1),
    ],
)
@pytest.mark.parametrize(
    ("excess", "n_rows"),
    [
        (2.0**24, 10**6),
        pytest.param(2.0**27, 10**6, marks=pytest.mark.slow),
        pytest.param(2.0**30, 4 * 10**6, marks=pytest.mark.slow),
    ],
)
def test_growth_is_right_within_one_percent_after_a_billion_rows(
    n_classes: int, criterion: str, max_cells: int | None, excess: float, n_rows: int
) -> None:
    learner = late_learner(excess, n_classes, criterion, max_cells)
    block = block_of(np.random.default_rng(0).integers(0, n_classes, BLOCK), 1.3, 1.3)
    for _ in range(n_rows // BLOCK):
        learner.partial_fit_block(block)
    state = learner.memory.state
    taught = int(state.counts[2]) - FIRST_LATE_UPDATE
    assert taught > 0.5 * n_rows
    n_vectors, n_steps = (1, 1) if n_classes == 2 else (3, 2)
    expected = taught * n_steps * float(np.float32(1.3)) ** 2
    for precisions in (state.excess, precisions_outside(state, criterion)):
        grown = precisions.astype(np.float64).sum() - n_vectors * excess
        assert grown == pytest.approx(expected, rel=0.01)


@pytest.mark.needs_jit
def test_an_outsider_is_let_in_after_2_to_the_24_rows() -> None:
    learner = late_learner(2.0**25, 2, "confidence")
    for _ in range(40):
        learner.partial_fit_block(
            block_of(np.random.default_rng(1).integers(0, 2, BLOCK), 1e-6, 1.0)
        )
    assert learner.results.selection().indices.tolist() == [1]


def test_rounding_by_chance_is_right_on_average_for_any_part_of_a_step() -> None:
    noises = [noise_of(FIRST_LATE_UPDATE + k) for k in range(20_000)]
    assert min(noises) >= 0
    for base in (1.0, 1.7, 2.0**24, -3.3, 1e-30):
        step = float(np.spacing(np.float32(base)))
        start = float(np.float32(base))
        for part in (0.001, 0.25, 0.5, 0.9):
            moved = [float(rounded(start + part * step, noise)) - start for noise in noises]
            assert np.mean(moved) == pytest.approx(part * step, rel=0.1, abs=0.01 * abs(step))
            assert set(np.round(np.array(moved) / step)) <= {0.0, 1.0, -1.0}


def test_without_chance_late_numbers_are_cut() -> None:
    for number in (1.0, -1.0, 2.0**24, 2.0**-100):
        step = float(np.spacing(np.float32(number)))
        assert rounded(number + 0.99 * step, 0) == number
        assert rounded(number + 0.01 * step, (1 << 29) - 1) == number + step


def test_the_chance_of_rounding_is_that_of_other_versions() -> None:
    """Models go on where they were saved: what a row is rounded by must not change."""
    assert [noise_of(FIRST_LATE_UPDATE + k) for k in range(3)] == [482869947, 478369555, 169234178]


@pytest.mark.parametrize(
    ("number", "precision", "weight", "step"),
    [
        (-1.0, 0.0, -1.0, -1.0),
        (-0.0, 0.0, 0.0, 0.0),
        (2.5, 2.5, 2.5, 2.5),
        (1e50, MAX_FLOAT32, MAX_FLOAT32, 1e50),
        (-1e50, 0.0, -MAX_FLOAT32, -1e50),
        (1e70, MAX_FLOAT32, MAX_FLOAT32, MAX_STEP),
        (-1e70, 0.0, -MAX_FLOAT32, -MAX_STEP),
        (np.inf, MAX_FLOAT32, MAX_FLOAT32, MAX_STEP),
        (-np.inf, 0.0, -MAX_FLOAT32, -MAX_STEP),
        (np.nan, MAX_FLOAT32, MAX_FLOAT32, MAX_STEP),
        (-np.nan, MAX_FLOAT32, MAX_FLOAT32, MAX_STEP),
    ],
)
def test_what_is_stored_is_a_number_in_range(
    number: float, precision: float, weight: float, step: float
) -> None:
    assert (clip_precision(number), clip_to_float32(number), clip_step(number)) == (
        precision,
        weight,
        step,
    )
    assert not np.signbit(clip_precision(number))
    assert np.isfinite(np.float32(clip_to_float32(number)))


def test_before_that_the_nearest_number_is_taken() -> None:
    assert noise_of(0) == noise_of(FIRST_LATE_UPDATE - 1) == NEAREST
    numbers = np.random.default_rng(0).standard_normal(1000)
    assert [rounded(number, NEAREST) for number in numbers] == numbers.astype(np.float32).tolist()


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_late_rows_do_not_depend_on_blocks_or_on_saving(
    n_classes: int, criterion: str, tmp_path: Any
) -> None:
    block = block_of(np.random.default_rng(2).integers(0, n_classes, 3000), 1.3, 0.7)
    straight, parts = (late_learner(2.0**26, n_classes, criterion) for _ in range(2))
    straight.partial_fit_block(block)
    for start in range(0, 3000, 500):
        parts.partial_fit_block(block.rows(start, start + 500))
        parts.save(tmp_path / "model")
        parts = ss.load(tmp_path / "model").learner
    for expected, actual in zip(straight.memory.state, parts.memory.state, strict=True):
        assert expected.tobytes() == actual.tobytes()


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
def test_equal_columns_stay_equal(criterion: str) -> None:
    learner = late_learner(2.0**26, 2, criterion)
    learner.partial_fit_block(block_of(np.random.default_rng(3).integers(0, 2, 5000), 1.0, 1.0))
    state = learner.memory.state
    assert state.excess.tolist() == precisions_outside(state, criterion).tolist()
