"""Test methods on columns and matrices with invalid parameters and extreme data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve.registry import METHODS, find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.training import train

NAMES = [method for method in METHODS if find_method(method).reads != "rows"]
HOSTILE: list[Any] = [
    *(
        np.nan,
        np.inf,
        -np.inf,
        1e308,
        -1e308,
        5e-324,
        -5e-324,
        0,
        0.0,
        -1,
        1.5,
        10**29,
        -(10**29),
        10**400,
        2**31,
        2**63,
    ),
    *([], [1], ["a"], {}, {"a": 1}, "", "x", "1", None, True, False, (1,), b"x", 1j, object(), int),
    *(np.float64("nan"), np.array([1, 2]), np.array(2), np.array("auto")),
]


def make_problem() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 6))
    X[:, 3:] = np.round(X[:, 3:])
    return X, (X[:, 0] + X[:, 4] + 0.3 * random.normal(size=40) > 0).astype(int)


def parameters() -> Iterator[tuple[str, str]]:
    for method in NAMES:
        for name in find_method(method).parameter_names:
            yield method, name


@pytest.mark.parametrize(("method", "name"), list(parameters()))
def test_a_parameter_is_refused_by_name_or_works(method, name):
    X, y = make_problem()
    for value in HOSTILE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner, refusal = learn_or_refuse(method, {name: value}, ArraySource(X, y))
        if refusal is not None:
            assert "the weights diverge" in refusal or refusal.startswith((f"{name}=", "workers="))
            continue
        assert np.isfinite(learner.results.selection().scores).all(), (name, value)
        find_method(method).load(learner.model())


def learn_or_refuse(
    method: str, params: dict[str, Any], source: ArraySource
) -> tuple[Any, str | None]:
    """Return a trained learner, or None and the message of a ValueError."""
    try:
        learner = find_method(method).make(**params)
        train(learner, source)
    except ValueError as error:
        return None, str(error)
    return learner, None


def test_scans_without_end_are_refused():
    X, y = make_problem()
    with pytest.raises(ValueError, match=r"n_scans=.*from 1 to 10,000"):
        ss.Grafting(n_scans=10**29).fit(X, y)


@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
@pytest.mark.parametrize("method", ["relieff", "irelief", "local-learning"])
def test_scales_of_features_lose_nothing(method, scale):
    X, y = make_problem()
    expected = find_method(method).make(scale=scale)
    learner = find_method(method).make(scale=scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(expected, ArraySource(np.round(X, 3), y))
        train(learner, ArraySource(np.round(X, 3) + 1.7e9, y))
    assert (
        learner.results.selection().indices.tolist()
        == expected.results.selection().indices.tolist()
    )
    np.testing.assert_allclose(
        learner.results.selection().scores, expected.results.selection().scores, rtol=1e-3
    )


@pytest.mark.parametrize("method", ["relieff", "irelief", "local-learning"])
def test_what_no_scale_could_hold_is_refused(method):
    X, y = make_problem()
    X[3, 2] = 1e31
    with pytest.raises(
        ss.DataError, match=r"feature 2 goes from .* too far for scale='none'; use 'minmax'"
    ):
        train(find_method(method).make(scale="none"), ArraySource(X, y))


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("value", [1e30, 3e38, 1e-45, 1e299, 5e-324, -1e299])
def test_extreme_values_are_sound(method, value):
    X, y = make_problem()
    X[:, 1] = np.where(np.arange(40) % 3 == 0, value, 0.0)
    X[7, 2] = value
    learner = find_method(method).make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(learner, ArraySource(X, y))
    assert np.isfinite(learner.results.selection().scores).all()
    find_method(method).load(learner.model())


def test_bins_of_many_values_and_classes_are_refused_before_they_take_all_memory():
    y = np.repeat(np.arange(20_000), 2)
    X = np.random.default_rng(0).normal(size=(40_000, 1))
    with pytest.raises(
        ss.DataError, match=r"40,001 different values and 20,000 classes need a table of 6.4 GB"
    ):
        ss.SAOLA(bins="mdl", task="classification").fit(X, y)


@pytest.mark.parametrize("method", ["saola", "osfs", "iamb"])
def test_a_level_next_to_1_makes_no_constant_relevant(method):
    X, y = make_problem()
    X[:, 2] = 7.0
    learner = find_method(method).make(alpha=1 - 1e-16, measure="fisher_z")
    train(learner, ArraySource(X, y))
    assert 2 not in learner.results.selection().indices
