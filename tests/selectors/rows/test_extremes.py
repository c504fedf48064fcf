"""Any allowed values, weights and parameters: no crash, no hang, and a sound selection."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve.estimators import as_estimator
from streamsieve.estimators.inputs import score_rows
from streamsieve.kernels.rows.members import KEPT, NO_SLOT, slot_by_bounds
from streamsieve.kernels.rows.second_order import refresh_root
from streamsieve.kernels.rows.storing import (
    FIRST_LATE_UPDATE,
    MAX_FLOAT32,
    MAX_STEP,
    clip_precision,
    clip_step,
    clip_to_float32,
    rounded,
)
from streamsieve.registry import find_method
from streamsieve.selectors.diagnosis import DataSample
from tests.paths import ROOT

VALUES = np.array([0.0, 1e-45, 1e-38, 1e-19, 1.0, 1e18, 1e30, 3e38])
WEIGHTS = np.array([0.0, 5e-324, 1e-12, 1.0, 1e12])
METHODS = (
    ss.SOFS,
    ss.SOFSRegressor,
    ss.PET,
    ss.FOFS,
    ss.OFSPartial,
    ss.OGD,
    ss.FOBOS,
    ss.AROW,
    ss.AROWRegressor,
)
EDGES: dict[str, tuple[Any, ...]] = {
    "gamma": (1e-90, 1e-30, 1.0, 1e90),
    "eta": (1e-80, 1.0, 1e20),
    "forget": (None, 1.0, 3.0, 1e15),
    "regularization": (0.0, 1e-20),
    "radius": (1e-30, 10.0, 1e30),
    "epsilon": (1e-6, 0.5, 1.0),
    "normalize": (False, "l2", "standard", "standard+l2", "auto"),
    "fit_intercept": (True, False),
    "criterion": ("snr", "confidence"),
    "update": ("max_score", "uniform"),
    "loss": ("squared", "huber"),
    "trigger": ("margin", "mistake"),
    "curve": (False, [1, 2]),
    "max_cells": (None, None, 1, 7),
    "class_weight": ("auto", None, "balanced", {0: 1e12}, {0: 0.0}),
    "n_epochs": (1, 2),
}


def draw_selector(random: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """Return a method with allowed parameters, at the ends of their ranges."""
    while True:
        estimator = METHODS[random.integers(len(METHODS))]
        params = {name: values[random.integers(len(values))] for name, values in EDGES.items()}
        params = {name: params[name] for name in params if name in estimator.method.parameter_names}
        if (
            isinstance(params.get("gamma"), float)
            and "sofs" in estimator.method.name
            and random.random() < 0.3
        ):
            params["gamma"] = "auto"
        if "random_state" in estimator.method.parameter_names:
            params["random_state"] = 0
        selector = estimator(int(random.integers(1, 6)), **params)
        try:
            selector.new_learner()
        except ValueError:
            continue  # two of them do not go together
        return selector, params


def rows_of(
    random: np.random.Generator, selector: Any
) -> tuple[Any, NDArray[Any], NDArray[np.float64]]:
    """Return rows, targets and weights that a selector may learn."""
    n_rows, width = int(random.integers(20, 80)), int(random.integers(2, 12))
    values = VALUES if random.random() < 0.5 else random.choice(VALUES, 2)
    X = random.choice(values, (n_rows, width)) * random.choice([-1.0, 1.0], (n_rows, width))
    if random.random() < 0.3:
        X[:, 0] = X[:, -1]
    is_numeric = "numbers" in selector.method.targets
    n_classes = (
        2 if not is_numeric and selector.method.two_classes_only else int(random.integers(2, 4))
    )
    y = (
        random.choice([0.0, 1.0, -1e30, 1e-30], n_rows)
        if is_numeric
        else random.integers(0, n_classes, n_rows)
    )
    y[:n_classes] = np.arange(n_classes)
    weights = np.ones(n_rows)
    if not isinstance(getattr(selector, "class_weight", None), dict):
        weights = random.choice(WEIGHTS, n_rows)
        weights[: 2 * n_classes] = 1.0
    return (csr_array(X) if random.random() < 0.3 else X), y, weights


def check_sound(selector: Any, X: Any) -> None:
    """Check that what was learned is sound, and that a model of it can be loaded."""
    selection = selector.selection()
    ids, width = selection.indices, X.shape[1]
    assert len(set(ids.tolist())) == len(ids) <= selector.n_features_selected_
    assert all(0 <= feature < width for feature in ids.tolist())
    assert np.isfinite(selection.scores).all(), selection.scores
    assert np.isfinite(selector.coef_.toarray()).all()
    assert not np.isnan(score_rows(selector, X)[1]).any()
    selector.learner.results.diagnosis(DataSample())
    again = type(selector).method.load(selector.model())
    assert again.results.selection().indices.tolist() == ids.tolist()


def fuzz(seed: int, n_cases: int) -> None:
    """Learn ``n_cases`` problems; the last line printed is the current one."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for case in range(n_cases):
        random = np.random.default_rng([seed, case])
        selector, params = draw_selector(random)
        X, y, weights = rows_of(random, selector)
        print(seed, case, type(selector).__name__, params, flush=True)
        if random.random() < 0.2:
            selector.fit(X, y, sample_weight=weights)
        else:
            half = X.shape[0] // 2
            classes = {} if "numbers" in selector.method.targets else {"classes": np.unique(y)}
            selector.partial_fit(X[:half], y[:half], **classes, sample_weight=weights[:half])
            if hasattr(selector.learner.memory.state, "counts") and random.random() < 0.3:
                selector.learner.memory.state.counts[2] += FIRST_LATE_UPDATE
            selector.partial_fit(X[half:], y[half:], sample_weight=weights[half:])
        check_sound(selector, X)


def test_extreme_values_weights_and_parameters_give_something_sound() -> None:
    """In a process of its own: a crash of it is a failure, not the end of all tests."""
    script = "from tests.selectors.rows.test_extremes import fuzz; fuzz(1, 250)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    "number", [np.nan, -np.nan, -0.0, 0.0, -1.0, -1e-320, np.inf, -np.inf, 1e300, 1e-46, 3.0]
)
def test_what_is_stored_never_has_its_sign_bit_set(number: float) -> None:
    for noise in (-1, 0, (1 << 29) - 1):
        stored = np.float32(rounded(clip_precision(number), noise))
        assert stored.view(np.int32) >= 0
        assert np.isfinite(stored)
    assert abs(clip_to_float32(number)) <= MAX_FLOAT32
    assert abs(clip_step(number)) <= MAX_STEP


def test_a_key_that_is_not_a_number_does_not_stop_a_heap() -> None:
    key, slots = np.array([1.0, 2.0, 3.0]), np.arange(3, dtype=np.int32)
    bounds = np.full(3, np.nan)
    assert slot_by_bounds(slots, slots.copy(), key, np.arange(3), 3, bounds, np.nan) == NO_SLOT
    assert slot_by_bounds(slots, slots.copy(), key, np.arange(3), 3, bounds, 2.0) == 0
    current_keys, heap = np.full(3, np.nan), np.arange(3, dtype=np.int32)
    excess, weight = np.ones((3, 2), np.float32), np.full((3, 2), np.nan)
    refresh_root(heap, heap.copy(), key, current_keys, np.arange(3), 3, weight, excess, 1.0, True)
    assert sorted(heap.tolist()) == [0, 1, 2]


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_with_minus_zero_for_a_precision_names_no_slot_by_it(
    n_classes: int, criterion: str
) -> None:
    """-0.0 is not below 0, so the schema allows it; back in its cell it would be an index."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(300, 20)), random.integers(0, n_classes, 300)
    first = ss.SOFS(1, criterion=criterion, normalize="l2", forget=5.0).partial_fit(X, y)
    model = first.model()
    model.arrays["state.excess"][...] = -0.0
    for name in ("state.key", "state.fresh"):
        if name in model.arrays:
            bounds_may_fall = name == "state.key" and (n_classes > 2 or criterion == "snr")
            model.arrays[name][...] = -1e300 if bounds_may_fall else 0.0
    again = find_method("sofs").load(model)
    block = next(ss.sources.arrays.ArraySource(X, y).row_blocks())
    for _ in range(5):
        again.partial_fit_block(block)
    assert again.memory.state.counts[KEPT] == 1
    again.method.load(again.model())


# ---- scales


@pytest.mark.parametrize("normalize", ["auto", "standard", "standard+l2"])
@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_columns_far_from_zero_are_centred_before_they_are_rounded(
    normalize: str, kind: Any
) -> None:
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(2000, 10)) * 1000)
    y = np.where(X[:, 0] - X[:, 1] > 0, 1, 0)
    far = (X + 1e11).astype(kind)
    near, moved = (ss.SOFS(2, normalize=normalize).fit(rows, y) for rows in (X, far))
    assert moved.selection().indices.tolist() == near.selection().indices.tolist() == [0, 1]
    assert moved.score(far, y) == pytest.approx(near.score(X, y), abs=0.01)
    assert moved.score(far, y) > 0.9
    in_parts = ss.SOFS(2, normalize=normalize)
    for start in range(0, 2000, 170):
        in_parts.partial_fit(far[start : start + 170], y[start : start + 170], classes=[0, 1])
        in_parts = as_estimator(in_parts.method.load(in_parts.model()))
    assert in_parts.decision_function(far).tolist() == moved.decision_function(far).tolist()


@pytest.mark.parametrize("normalize", ["auto", "standard"])
def test_where_float32_cannot_hold_a_column_a_remark_says_so(normalize: str) -> None:
    random = np.random.default_rng(0)
    X = np.abs(random.normal(size=(500, 3)))
    y = np.where(X[:, 0] > 0.6, 1, 0)
    X[:, 1] = 20 * X[:, 1] + 1e8
    X[:, 2] = 20261116.0
    expected = (
        r"the values of feature 1, about 1.00000.*e\+08, differ by .*, which float32 can hardly"
        r" represent; subtract the mean"
    )
    with pytest.warns(UserWarning, match=expected):
        ss.SOFS(2, normalize=normalize).fit(X.astype(np.float32), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = ss.SOFS(2, normalize=normalize).fit(X, y)
        without = ss.SOFS(2, normalize=normalize).fit(X[:, [0, 2]].astype(np.float32), y)
    assert "rounded" not in [
        finding.kind for finding in exact.learner.results.diagnosis(DataSample())
    ]
    notes = [
        str(finding)
        for finding in without.learner.results.diagnosis(DataSample())
        if finding.kind == "rounded"
    ]
    assert len(notes) == 1
    assert "the values of feature 1 are all 20261116 as float32" in notes[0]


def test_a_constant_sparse_column_is_not_blown_up_by_rounding() -> None:
    random = np.random.default_rng(0)
    X = (random.random((3000, 6)) < 0.3) * random.normal(size=(3000, 6))
    X[:, 0] = 0.1
    y = np.where(X[:, 1] - X[:, 2] > 0, 1, 0)
    selector = ss.SOFS(3, normalize="standard").fit(csr_array(X), y)
    assert selector.score(csr_array(X), y) > 0.9
