"""Prequential measures, compared with a loop over single rows that predicts, then learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import streamsieve as ss
from streamsieve.evaluation import Prequential, prequential
from streamsieve.sources.arrays import ArraySource

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 8)).astype(np.float32) * np.exp(RANDOM.normal(size=(300, 1))).astype(
    np.float32
)
NUMBERS = X[:, 2] - X[:, 5] + RANDOM.normal(size=300) + 50.0
LABELS = (NUMBERS > 50.0).astype(int)


def mistakes_one_by_one(selector: Any, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    is_wrong = []
    for row in range(len(y)):
        score = selector.decision_function(X[row : row + 1])[0] if row else 0.0
        is_wrong.append((score if y[row] else -score) <= 0)
        selector.partial_fit(X[row : row + 1], y[row : row + 1], classes=None if row else [0, 1])
    return np.array(is_wrong, float)


def errors_one_by_one(selector: Any, X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    errors = []
    for row in range(len(y)):
        if row:
            errors.append((y[row] - selector.predict(X[row : row + 1])[0]) ** 2)
        selector.partial_fit(X[row : row + 1], y[row : row + 1])
    return np.array(errors)


@pytest.mark.parametrize(
    "params",
    [
        {"normalize": False, "fit_intercept": False},  # counted by the learner
        {"normalize": "l2", "criterion": "confidence"},  # likewise
        {"normalize": False},  # row by row
        {"n_features_to_select": "auto", "normalize": "l2"},  # likewise
    ],
)
def test_mistakes_are_those_of_predicting_each_row_before_it_is_learned(
    params: dict[str, Any],
) -> None:
    params = {"n_features_to_select": 3, **params}
    is_wrong = mistakes_one_by_one(ss.SOFS(**params), X[:160], LABELS[:160])
    result = prequential(ss.SOFS(**params), (X[:160], LABELS[:160]), window=40, every=20)
    assert result.mistakes == is_wrong.sum()
    assert result.accuracy == pytest.approx(1.0 - is_wrong.mean())
    assert result.at.tolist() == list(range(20, 161, 20))
    assert result.running == pytest.approx([1.0 - is_wrong[:at].mean() for at in result.at])
    assert result.windowed == pytest.approx(
        [1.0 - is_wrong[max(0, at - 40) : at].mean() for at in result.at]
    )


@pytest.mark.parametrize(
    "params", [{"normalize": False}, {"normalize": "l2", "fit_intercept": False}]
)
def test_errors_are_those_of_predicting_each_row_before_it_is_learned(
    params: dict[str, Any],
) -> None:
    errors = errors_one_by_one(ss.SOFSRegressor(3, **params), X[:150], NUMBERS[:150])
    result = prequential(ss.SOFSRegressor(3, **params), (X[:150], NUMBERS[:150]), window=50)
    y = NUMBERS[1:150]  # there was nothing to predict the first row by

    def r2(first: int, last: int) -> float:
        part = y[first:last]
        return float(1.0 - errors[first:last].sum() / ((part - part.mean()) ** 2).sum())

    assert (result.rows, result.mistakes, result.accuracy, result.measure) == (
        149,
        None,
        None,
        "r2",
    )
    assert result.r2 == pytest.approx(r2(0, 149))
    assert result.running == pytest.approx([r2(0, 50), r2(0, 100), r2(0, 149)])
    assert result.windowed == pytest.approx([r2(0, 50), r2(50, 100), r2(100, 149)])


def test_running_scales_make_little_difference() -> None:
    is_wrong = mistakes_one_by_one(ss.SOFS(3), X, LABELS)
    result = prequential(ss.SOFS(3), (X, LABELS))
    assert result.mistakes == pytest.approx(is_wrong.sum(), abs=4)


def same(first: Prequential, second: Prequential) -> bool:
    fields = ("rows", "mistakes", "accuracy")
    return all(getattr(first, name) == getattr(second, name) for name in fields) and all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("at", "running", "windowed")
    )


def test_any_blocks_give_the_same_and_leave_the_selector_trained() -> None:
    selector, other = ss.SOFS(3), ss.SOFS(3)
    whole = prequential(selector, (X, LABELS), window=100, every=10)
    blocks = ArraySource(X, LABELS, block_rows=7).row_blocks()
    assert same(whole, prequential(other, blocks, window=100, every=10, classes=[0, 1]))
    trained = ss.SOFS(3).fit_source(ArraySource(X, LABELS))
    for judged in (selector, other):
        assert np.array_equal(judged.decision_function(X), trained.decision_function(X))


def test_a_trained_selector_goes_on() -> None:
    params = {"normalize": "l2", "fit_intercept": False}
    selector = ss.SOFS(3, **params).fit(X[:100], LABELS[:100])
    whole = prequential(ss.SOFS(3, **params), (X, LABELS), window=100)
    rest = prequential(selector, (X[100:], LABELS[100:]), window=100)
    assert rest.rows == 200
    assert np.array_equal(rest.windowed, whole.windowed[1:])


def test_more_than_two_classes_are_found() -> None:
    classes = np.array(["a", "b", "c"])[np.digitize(NUMBERS, [49.5, 50.5])]
    selector = ss.SOFS(4)
    result = prequential(selector, (X, classes), window=100)
    assert selector.classes_.tolist() == ["a", "b", "c"]
    assert result.rows == 300
    # the selector's mistakes are those of learning again with other scales
    assert result.mistakes == pytest.approx(selector.mistakes_, abs=4)
    assert repr(result).startswith("<Prequential: accuracy 0.")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ss.UsageError, match="saola does not learn row by row"):
        prequential(ss.SAOLA(), (X, LABELS))
    with pytest.raises(ss.UsageError, match="window a multiple of every"):
        prequential(ss.SOFS(3), (X, LABELS), window=100, every=30)
