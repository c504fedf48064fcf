"""The kind of a target, and the messages where it is not clear."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils.multiclass import type_of_target

import streamsieve as ss
from streamsieve.registry import METHODS, find_method
from streamsieve.targets import BOTH, ONLY_CLASSES, kind_of, read_target

NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, 1.0, 2.0, -1.25]))


@given(
    st.lists(NUMBERS, min_size=2, max_size=30)
    | hnp.arrays(np.int64, 12, elements=st.integers(0, 5))
)
def test_what_is_a_regression_agrees_with_scikit_learn(values: list[float]) -> None:
    y = np.asarray(values)
    expected = "numbers" if type_of_target(y).startswith("continuous") else "classes"
    assert kind_of(y, np.unique(y), "auto", BOTH) == expected


@pytest.mark.parametrize("y", [["a", "b", "a"], [True, False, True], np.array(["x", "y"], object)])
def test_text_and_truth_values_are_classes(y: list[object]) -> None:
    assert read_target(y).kind == "classes"


def test_many_different_integers_are_never_taken_for_classes_in_silence() -> None:
    y = np.arange(60)
    with pytest.warns(
        UserWarning, match="60 different integers.*task='regression'.*task='classification'"
    ):
        assert read_target(y).kind == "classes"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_target(y, "regression").kind == "numbers"
        assert read_target(y, "classification").kind == "classes"


def test_centre_and_scale_bring_the_numbers_back() -> None:
    y = np.array([10.5, 20.25, 5.0, 7.75])
    target = read_target(y)
    np.testing.assert_allclose(target.centre + target.scale * target.numbers, y)
    assert np.linalg.norm(target.numbers) == pytest.approx(1.0)


def test_methods_for_classes_take_any_two_values_and_refuse_a_regression() -> None:
    assert read_target([3.5, 7.25, 3.5], kinds=ONLY_CLASSES).classes.tolist() == [3.5, 7.25]
    with pytest.raises(ss.DataError, match="learns classes, but the target has"):
        read_target([0.5, 0.25, 1.5], kinds=ONLY_CLASSES)


def test_a_regression_needs_numbers() -> None:
    with pytest.raises(ss.DataError, match="needs a target of numbers, not 'a'"):
        read_target(["a", "b"], "regression")


LINEAR = [
    name
    for name in METHODS
    if "loss" in find_method(name).parameter_names and find_method(name).targets == BOTH
]
OTHERS = [name for name in METHODS if find_method(name).targets == BOTH and name not in LINEAR]


@pytest.mark.parametrize("method", LINEAR)
def test_linear_methods_take_the_task_from_their_loss(method: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (80, 6))
    flags = (X[:, 1] > 0).astype(int)
    for loss, task in (
        ("auto", "classification"),
        ("squared_hinge", "classification"),
        ("squared", "regression"),
    ):
        record = ss.select((X, flags), method, 4, loss=loss)
        assert record.details["task"] == task
        assert 1 in record.selection.indices
    assert ss.select((X, X[:, 2] + 0.1 * X[:, 3]), method, 4).details["task"] == "regression"


@pytest.mark.parametrize("method", OTHERS)
def test_what_was_taken_is_reported_and_can_be_said(method: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (80, 6))
    counts = np.round(3 * X[:, 1]).astype(int)  # integers, but few
    for task in ("classification", "regression"):
        record = ss.select((X, counts), method, task=task)
        assert record.details["task"] == task
        assert 1 in record.selection.indices
    assert ss.select((X, X[:, 2] + 0.1 * X[:, 3]), method).details["task"] == "regression"


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(
        ss.UsageError, match="task='ranking': must be 'auto' or 'classification' or 'regression'"
    ):
        ss.select((np.eye(4), [0, 1, 0, 1]), "saola", task="ranking")
