"""Invalid weights of rows and classes, and invalid parameters, are rejected by all row methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import streamsieve as ss
from streamsieve import workflow
from streamsieve.cli import main

CLASSIFIERS = (
    ss.SOFS,
    ss.PET,
    ss.FOFS,
    ss.OFSPartial,
    ss.OGD,
    ss.FOBOS,
    ss.AROW,
    ss.RandomSelection,
)
REGRESSORS = (ss.SOFSRegressor, ss.AROWRegressor)
HUGE = 10**29


def rows(n_classes: int = 2) -> tuple[NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 12))
    return X, np.digitize(X[:, 0] - X[:, 1], [0.0] if n_classes == 2 else [-1.0, 1.0])


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
@pytest.mark.parametrize("weight", [-0.5, np.inf, -np.inf, 1e308, 1.1e12])
def test_weights_of_rows_that_are_no_weights_are_refused_by_row(
    estimator: Any, weight: float
) -> None:
    X, y = rows()
    weights = np.ones(60)
    weights[6] = weight
    finite = r"row 7: its sample_weight is .*; weights are numbers from 0 to 1e\+12"
    with pytest.raises(
        ValueError, match=finite if np.isfinite(weight) else "(infinity|row 7: its sample_weight)"
    ):
        estimator(3).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
@pytest.mark.parametrize("weight", [-5, "x", float("nan"), float("inf"), 1e308, HUGE, None, True])
def test_weights_of_classes_that_are_no_weights_are_refused_by_class(
    estimator: Any, weight: Any
) -> None:
    X, y = rows()
    with pytest.raises(
        ValueError, match=r"class_weight=.*: must be a weight from 0 to 1e\+12 for class 1"
    ):
        estimator(3, class_weight={1: weight}).fit(X, y)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_the_product_of_both_weights_is_limited(estimator: Any) -> None:
    X, y = rows()
    row = int(np.flatnonzero(y == 1)[0]) + 1
    expected = rf"row {row}: its sample_weight, 1e\+07, times the class_weight of 1 is 1e\+17"
    with pytest.raises(ss.DataError, match=expected):
        estimator(3, class_weight={"1": 1e10}).fit(X, y, sample_weight=np.full(60, 1e7))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_a_weight_for_what_is_not_a_class_is_refused(estimator: Any) -> None:
    X, y = rows()
    with pytest.raises(
        ss.UsageError,
        match="class_weight has a weight for '7', which is not one of the classes 0, 1",
    ):
        estimator(3, class_weight={"7": 2.0}).fit(X, y)


def test_a_weight_for_a_class_that_is_missing_from_a_part_of_the_data_is_fine() -> None:
    X, y = rows()
    assert len(ss.SOFS(3, class_weight={0: 1.0, 1: 2.0, 2: 3.0}).fit(X, y).selection()) == 3


def test_classes_met_in_a_stream_are_compared_with_the_weights_once_both_are_known() -> None:
    X, y = rows()
    selector = ss.SOFS(3, class_weight={"7": 2.0}).start()
    first, *others = ss.sources.arrays.ArraySource(X, np.sort(y), block_rows=5).row_blocks()
    selector.partial_fit_block(first)
    with pytest.raises(ss.UsageError, match="weight for '7'"):
        selector.partial_fit_block(others[-1])


def test_refused_rows_change_nothing() -> None:
    X, y = rows()
    before = ss.SOFS(3, class_weight={1: 1e10}).partial_fit(X, y)
    scores = before.decision_function(X).tolist()
    with pytest.raises(ss.DataError, match="times the class_weight"):
        before.partial_fit(X, y, sample_weight=np.linspace(1, 1e7, 60))
    assert before.n_rows_ == 60
    assert before.decision_function(X).tolist() == scores


NO_INTEGERS = (0, -1, 1.5, HUGE, True, "many", [], None)
NO_STEPS = (0, -1.0, 5e-324, 1e308, 10**400, float("nan"), float("inf"), "x", [], None, True)
FORBIDDEN: dict[str, tuple[Any, ...]] = {
    "n_features_to_select": (0, -1, 1.5, HUGE, True, "many", [], None, 2**31),
    "n_epochs": NO_INTEGERS,
    "normalize": ("l1", [], 1, None, True),
    "fit_intercept": (1, "no", []),
    "random_state": (1.5, -1, "x", [1], float("nan")),
    "curve": (5, [], [0], [1.5], [HUGE], "yes", [[1]], None, np.array(5)),
    "forget": (0, -1.0, 1e-4, 5e-324, 1e308, 10**400, float("nan"), "x", [], True),
    "max_cells": (0, -1, 1.5, HUGE, True, "many", []),
    "gamma": NO_STEPS[:-2],
    "eta": NO_STEPS,
    "regularization": (-1.0, 1e308, 10**400, float("nan"), "x", [], None, True),
    "radius": (0, -1.0, 5e-324, 1e308, 10**400, float("nan"), "x", []),
    "epsilon": (0, -0.1, 1.1, 5e-324, float("nan"), "x", [], None),
    "update": ([], "both", None, 1),
    "criterion": ([], "both", None, np.array([1, 2])),
    "trigger": ([], "both", None, 1),
    "attributes": ([], "both", None, 1),
    "loss": ([], "both", None, 1),
    "class_weight": ("even", 5, [], {1: -1}),
}


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_parameters_that_cannot_be_computed_with_are_refused_by_name(estimator: Any) -> None:
    X, y = rows()
    for name in estimator.method.parameter_names:
        assert name in FORBIDDEN
        for value in FORBIDDEN[name]:
            with pytest.raises(ValueError, match=rf"^{name}=.*: must be "):
                estimator(**{name: value}).fit(X, y)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_the_ends_of_the_ranges_are_allowed(estimator: Any) -> None:
    X, y = rows()
    ends: dict[str, tuple[Any, ...]] = {
        "gamma": (1e-90, 1e90),
        "eta": (1e-80, 1e20),
        "forget": (1, 1.0, 1e15),
        "regularization": (0, 1e-30, 1e-20),
        "radius": (1e-30, 1e30),
        "epsilon": (1e-6, 1.0),
        "random_state": (0, HUGE, np.int64(3), np.random.default_rng(0)),
        "curve": ([1], (2, 3), np.array([1, 2]), [2**31 - 1]),
        "max_cells": (1,),
    }
    for name in set(ends) & set(estimator.method.parameter_names):
        for value in ends[name]:
            fixed = {"regularization": 0} if estimator is ss.FOFS and name == "eta" else {}
            selector = estimator(3, **fixed, **{name: value}).fit(X, y)
            assert np.isfinite(selector.selection().scores).all()
            assert np.isfinite(selector.coef_.toarray()).all()


@pytest.mark.parametrize(
    "param",
    [
        'class_weight={"1":-5}',
        'class_weight={"1":"x"}',
        'class_weight={"5":2}',
        "curve=5",
        "update=[]",
        "gamma=5e-324",
        "forget=1e-4",
        f"n_epochs={HUGE}",
        f"max_cells={HUGE}",
        f"n_features_to_select={HUGE}",
    ],
)
def test_the_command_line_refuses_them_in_one_line(param: str, tmp_path: Any) -> None:
    X, y = rows()
    path = tmp_path / "rows.svm"
    workflow.convert(ss.sources.arrays.ArraySource(X, y), path)
    done = CliRunner().invoke(
        main, ["select", str(path), "-k", "3", "--param", param, "-o", str(tmp_path / "out")]
    )
    assert done.exit_code == 2, done.output
    assert done.output.count("\n") == 1
    assert param.split("=")[0] in done.output
