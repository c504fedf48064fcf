"""Results in the user's terms: weights, intercept, predicted classes, probabilities, AUC."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

import streamsieve as ss
from streamsieve import workflow
from streamsieve.estimators import estimator_class
from streamsieve.evaluation import area_under_curve
from streamsieve.kernels.rows.calibration import ENTRIES as CALIBRATED
from streamsieve.kernels.rows.calibration import MIXED, OFFSET, SLOPE, calibrate
from streamsieve.registry import METHODS, find_method
from streamsieve.selectors.rows.calibration import (
    check_calibration,
    compute_probabilities,
    merge_calibrations,
    swap_calibration,
)
from tests.checks.data import sparse_stream
from tests.paths import TEST, TRAIN

# A random choice of 5 features is often no better than the majority, which we rightly warn about.
pytestmark = pytest.mark.filterwarnings("ignore:.*not clearly fewer than:UserWarning")

ROW_METHODS = [
    method
    for method in METHODS
    if find_method(method).reads == "rows" and "classes" in find_method(method).targets
]


def make_estimator(method: str, **params: Any) -> Any:
    """Return an estimator of five features."""
    estimator = estimator_class(method)
    seed = {"random_state": 3} if "random_state" in estimator.method.parameter_names else {}
    return estimator(5, **seed, **params)


def many_classes() -> tuple[Any, NDArray[Any]]:
    X, y = sparse_stream()
    return X, np.array(["a", "b", "c", "d"])[(y > 0) + 2 * (X.toarray()[:, 0] > 0)]


def unit_rows(X: Any) -> Any:
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return csr_array(X / np.where(norms > 0, norms, 1.0)[:, None])


# ---- weights


@pytest.mark.parametrize("method", ROW_METHODS)
@pytest.mark.parametrize("normalize", [False, "l2"])
def test_weights_and_intercept_make_the_scores(method: str, normalize: Any) -> None:
    X, y = sparse_stream()
    selector = make_estimator(method, normalize=normalize).fit(X, y)
    rows = (
        X
        if not normalize or method != "ofs-partial"
        else X @ np.diag(selector.get_support().astype(float))
    )
    rows = unit_rows(csr_array(rows)) if normalize else rows
    assert issparse(selector.coef_)
    assert selector.coef_.shape == (1, X.shape[1])
    assert selector.intercept_.shape == (1,)
    scores = (rows @ selector.coef_.T).toarray()[:, 0] + selector.intercept_
    np.testing.assert_allclose(selector.decision_function(X), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", [method for method in ROW_METHODS if method != "ofs-partial"])
def test_many_classes_have_a_row_of_weights_each(method: str) -> None:
    X, y = many_classes()
    selector = make_estimator(method, normalize=False).fit(X, y)
    assert selector.coef_.shape == (4, X.shape[1])
    assert selector.intercept_.shape == (4,)
    scores = (X @ selector.coef_.T).toarray() + selector.intercept_
    np.testing.assert_allclose(selector.decision_function(X), scores, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["coef_", "intercept_", "support_", "scores_", "classes_"])
def test_nothing_is_there_before_learning(name: str) -> None:
    assert not hasattr(ss.SOFS(), name)


def test_support_and_scores_are_those_of_the_selection() -> None:
    X, y = sparse_stream()
    for selector in (ss.SOFS(5).fit(X, y), ss.SAOLA(5).fit(X, y), ss.ReliefF(5).fit(X, y)):
        assert (selector.support_ == selector.get_support()).all()
        assert selector.scores_.tolist() == selector.selection().scores.tolist()
        assert selector.scores_.size == np.count_nonzero(selector.support_)


def test_weights_of_a_billion_features_are_as_light_as_the_selection() -> None:
    selector = ss.SOFS(3).start(2**40, classes=[0, 1])
    ids = np.array([5, 2**39])
    for label in (0, 1, 0, 1):
        selector.partial_fit_block(
            ss.RowBlock(
                np.array([0, 1]),
                ids[label : label + 1],
                np.ones(1, np.float32),
                np.array([label]),
                2**40,
            )
        )
    assert selector.coef_.shape == (1, 2**40)
    assert selector.coef_.indices.tolist() == ids.tolist()


# ---- the class that a feature predicts


def test_a_feature_speaks_for_the_class_that_it_is_found_in(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = random.choice(["cold", "mild", "warm"], 600)
    X = random.random((600, 8)) < 0.1
    for code, label in enumerate(("warm", "cold", "mild")):
        X[:, 2 * code] |= (y == label) & (random.random(600) < 0.8)
    for classes, class_of in (
        (["cold", "warm"], {0: "warm", 2: "cold"}),
        (None, {0: "warm", 2: "cold", 4: "mild"}),
    ):
        rows = np.isin(y, classes) if classes else np.ones(600, bool)
        folder = tmp_path / str(len(class_of))
        names = np.array([f"word {j}" for j in range(8)])
        source = ss.sources.arrays.ArraySource(
            csr_array(X[rows].astype(float)), y[rows], names, name=""
        )
        record = ss.select(
            source,
            n_features_to_select=len(class_of),
            classes=classes or np.unique(y),
            output=folder,
        )
        assert (
            dict(zip(record.selection.indices.tolist(), record.details["speaks_for"], strict=True))
            == class_of
        )
        coef = record.selector.coef_.toarray()[:, record.selection.indices]
        np.testing.assert_array_equal(np.atleast_2d(np.array(record.details["weights"]).T), coef)
        table = list(csv.DictReader((folder / "selection.csv").read_text().splitlines()))
        assert list(table[0]) == ["feature", "index", "score", "weight", "class"]
        assert {int(line["index"]): line["class"] for line in table} == class_of
        assert {line["feature"] for line in table} == {f"word {line['index']}" for line in table}
        best = np.array(coef).max(axis=0) if len(class_of) == 3 else coef[0]
        assert sorted(float(line["weight"]) for line in table) == sorted(best.tolist())
        again = workflow.resume(folder)
        assert again.ranked() == record.ranked()


def test_records_whose_weights_do_not_fit_are_refused(tmp_path: Path) -> None:
    ss.select(TRAIN, n_features_to_select=5, output=tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    result = json.loads(path.read_text())
    result["details"]["weights"] = [1.0]
    path.write_text(json.dumps(result))
    with pytest.raises(
        ss.DataError, match="weights or frequencies do not fit the selected features"
    ):
        workflow.resume(tmp_path / "run")


def test_the_majority_is_in_the_record() -> None:
    y = np.array(["no", "yes", "no", "no"] * 20)
    X = np.random.default_rng(0).standard_normal((80, 3))
    assert ss.select((X, y), n_features_to_select=2).details["majority"] == {
        "class": "no",
        "rate": 0.75,
    }


# ---- probabilities


@pytest.mark.parametrize("method", ROW_METHODS)
def test_the_most_probable_class_is_the_one_predicted(method: str) -> None:
    X, y = sparse_stream()
    selector = make_estimator(method).fit(X, y)
    probabilities = selector.predict_proba(X)
    assert probabilities.shape == (len(y), 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (selector.classes_[probabilities.argmax(axis=1)] == selector.predict(X)).all()
    order = np.argsort(selector.decision_function(X), kind="stable")
    assert (np.diff(probabilities[order, 1]) >= 0).all(), "a larger score is never less likely"
    if method != "ofs-partial":
        selector = make_estimator(method).fit(*many_classes())
        probabilities = selector.predict_proba(X)
        assert probabilities.shape == (len(y), 4)
        assert (selector.classes_[probabilities.argmax(axis=1)] == selector.predict(X)).all()


def test_rounding_does_not_part_probability_and_prediction() -> None:
    calibration = np.zeros(CALIBRATED)
    tiny = np.array([5e-324, 1e-300, 1e-17, 0.0, -0.0, -5e-324, -1e-17, 1e300, -1e300, 1.0, -1.0])
    for slope, offset in ((1.0, 0.0), (1.0, -5.0), (1.0, 5.0), (1e-9, 1.0), (1e6, -1.0)):
        calibration[[SLOPE, OFFSET]] = slope, offset
        assert (compute_probabilities(tiny, calibration).argmax(axis=1) == (tiny > 0)).all()
        close = np.array(
            [[1.0, 1.0 + 2e-16, 0.0], [0.0, 0.0, 5e-324], [3.0, 3.0, 3.0], [-1e300, 1e300, 1e300]]
        )
        assert (
            compute_probabilities(close, calibration).argmax(axis=1) == close.argmax(axis=1)
        ).all()


def fit_by_likelihood(scores: NDArray[Any], y: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return slope and offset of largest likelihood; row t counts ``rows[t]`` times."""

    def loss(at: NDArray[Any]) -> float:
        odds = at[0] * scores + at[1]
        return float((rows * (np.logaddexp(0.0, odds) - y * odds)).sum())

    return np.asarray(
        minimize(loss, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
    )


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_one_step_per_row_comes_to_the_batch_fit(size: float) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(-0.5, 1.0, 4000)
    y = (random.random(4000) < expit(2.5 * scores - 1.0)).astype(np.int64)
    weights = random.choice([0.5, 1.0, 3.0], 4000)
    calibration = np.zeros(CALIBRATED)
    calibrate(size * scores[:, None], y, weights * 1e-3, calibration)
    expected = fit_by_likelihood(scores, y, weights * np.arange(1, 4001))
    slope_and_offset = calibration[SLOPE] * size, calibration[OFFSET]
    np.testing.assert_allclose(slope_and_offset, expected, atol=0.05)


def test_many_classes_come_to_the_batch_fit() -> None:
    random = np.random.default_rng(2)
    scores = random.standard_normal((4000, 5)) + 7.0
    probabilities = np.exp(1.7 * scores) / np.exp(1.7 * scores).sum(axis=1, keepdims=True)
    y = (probabilities.cumsum(axis=1) < random.random((4000, 1))).sum(axis=1)
    calibration = np.zeros(CALIBRATED)
    calibrate(scores, y, np.ones(4000), calibration)
    assert calibration[SLOPE] == pytest.approx(1.7, abs=0.1)


def test_scores_that_separate_the_classes_keep_a_finite_slope() -> None:
    scores = np.tile([1.0, -1.0], 5000)
    calibration = np.zeros(CALIBRATED)
    calibrate(scores[:, None], (scores > 0).astype(np.int64), np.ones(10_000), calibration)
    assert 0.9 < compute_probabilities(scores[:1], calibration)[0, 1] < 1 - 1e-6


def test_scores_that_grow_a_thousandfold_are_not_taken_for_certainties() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 2000)
    scores = random.standard_normal(2000) * np.where(np.arange(2000) < 20, 1e-6, 1.0)
    calibration = np.zeros(CALIBRATED)
    calibrate(scores[:, None], y, np.ones(2000), calibration)
    assert abs(compute_probabilities(np.array([2.0]), calibration)[0, 1] - 0.5) < 0.1


@pytest.mark.parametrize("size", [1e-320, 1e-160, 1e-90, 1e90, 1e160, 1e300])
def test_scores_of_any_size_leave_a_fit_of_numbers(size: float) -> None:
    random = np.random.default_rng(0)
    for n_vectors in (1, 3):
        calibration = np.zeros(CALIBRATED)
        scores = size * random.standard_normal((300, n_vectors))
        calibrate(scores, random.integers(0, 2, 300), np.ones(300), calibration)
        check_calibration(calibration, n_vectors)


def test_a_fit_that_is_let_in_can_be_learned_on_and_let_in_again() -> None:
    """A fit from a file is rejected if no rows produce it, or steps from it are numbers."""
    random = np.random.default_rng(0)
    odd = [0.0, 5e-324, 1e-160, 1e-9, 1.0, 1e9, 2.0**53, 1e20, 1e100, 1e160, 1.7e308]
    n_accepted = 0
    for _ in range(3000):
        n_vectors = int(random.choice([1, 3]))
        calibration = np.zeros(CALIBRATED)
        scores = random.standard_normal((40, n_vectors)) * random.choice([1e-99, 1.0, 1e99])
        codes, weights = random.integers(0, 2, 40), random.choice([1e-12, 1.0, 1e12], 40)
        calibrate(scores, codes, weights, calibration)
        check_calibration(calibration, n_vectors)
        for entry in random.integers(0, calibration.size, random.integers(1, 3)):
            calibration[entry] = random.choice(odd) * (-1.0 if entry in (OFFSET, MIXED) else 1.0)
        try:
            check_calibration(calibration, n_vectors)
        except ValueError:
            continue
        n_accepted += 1
        calibrate(scores, codes, weights, calibration)
        check_calibration(calibration, n_vectors)
        assert np.isfinite(
            compute_probabilities(scores if n_vectors > 1 else scores[:, 0], calibration)
        ).all()
    assert 500 < n_accepted < 2500


def test_rows_without_a_score_do_not_count() -> None:
    random = np.random.default_rng(0)
    scores, y = random.standard_normal((200, 1)), random.integers(0, 2, 200)
    expected, calibration = np.zeros(CALIBRATED), np.zeros(CALIBRATED)
    calibrate(scores, y, np.ones(200), expected)
    spread = np.repeat(scores, 2, axis=0)
    spread[1::2] = np.nan
    calibrate(spread, np.repeat(y, 2), np.ones(400), calibration)
    np.testing.assert_array_equal(expected, calibration)


def test_scores_that_say_nothing_give_the_rate_of_the_class() -> None:
    random = np.random.default_rng(0)
    scores, y = random.normal(-1.0, 0.1, 5000), (random.random(5000) < 0.03).astype(np.int64)
    calibration = np.zeros(CALIBRATED)
    calibrate(scores[:, None], y, np.ones(5000), calibration)
    assert compute_probabilities(np.array([-1.0]), calibration)[0, 1] == pytest.approx(
        0.03, abs=0.01
    )


def test_swapped_classes_give_the_same_probabilities() -> None:
    random = np.random.default_rng(0)
    scores, y = random.standard_normal((500, 1)), random.integers(0, 2, 500)
    expected, swapped = np.zeros(CALIBRATED), np.zeros(CALIBRATED)
    calibrate(scores[:200], y[:200], np.ones(200), expected)
    calibrate(-scores[:200], 1 - y[:200], np.ones(200), swapped)
    np.testing.assert_array_equal(swap_calibration(swapped), expected)
    calibrate(scores[200:], y[200:], np.ones(300), expected)
    calibrate(scores[200:], y[200:], np.ones(300), swapped := swap_calibration(swapped))
    np.testing.assert_array_equal(expected, swapped)


def test_parts_that_saw_alike_rows_merge_to_the_same_fit() -> None:
    random = np.random.default_rng(0)
    scores = random.standard_normal((8000, 1))
    y = (random.random(8000) < expit(2.0 * scores[:, 0] - 0.5)).astype(np.int64)
    base, *parts = (np.zeros(CALIBRATED) for _ in range(3))
    for part, rows in zip(parts, (slice(0, 4000), slice(4000, 8000)), strict=True):
        calibrate(scores[rows], y[rows], np.ones(4000), part)
    merged = merge_calibrations([base, *parts])
    assert merged[0] == 8000
    assert merged[SLOPE] == pytest.approx(2.0, abs=0.2)


def test_probabilities_are_saved_and_go_on(tmp_path: Path) -> None:
    X, y = sparse_stream()
    half = len(y) // 2
    straight = ss.SOFS(5).partial_fit(X, y, classes=[-1, 1])
    ss.SOFS(5).partial_fit(X[:half], y[:half], classes=[-1, 1]).save(tmp_path / "model")
    continued = ss.load(tmp_path / "model").partial_fit(X[half:], y[half:])
    np.testing.assert_array_equal(continued.predict_proba(X), straight.predict_proba(X))


def test_damaged_calibrations_are_refused() -> None:
    model = ss.SOFS(5).fit(*sparse_stream()).model()
    model.arrays["target.calibration"] *= -1.0
    with pytest.raises(ss.DataError, match="a number below 0"):
        ss.SOFS.method.load(model)


def calibration_error(probabilities: NDArray[Any], y: NDArray[Any], bins: int = 10) -> float:
    """Return the expected calibration error, over bins of equally many rows.

    It is the mean distance of probability and frequency.
    """
    parts = np.array_split(np.argsort(probabilities, kind="stable"), bins)
    return float(sum(abs(probabilities[part].sum() - y[part].sum()) for part in parts) / len(y))


@pytest.mark.parametrize("weight", [None, "auto"])
def test_probabilities_are_near_the_frequencies(weight: Any) -> None:
    """The log of clicks is imbalanced: a slope without an offset is wrong by a third there."""
    rate = 0.03
    for data, test, worst_error, least_gain in (
        (TRAIN, TEST, 0.08, 0.3),
        ("synthetic:clicks?rows=60000", "synthetic:clicks?rows=60000&seed=1", 0.25 * rate, 0.05),
    ):
        selector = ss.SOFS(30, class_weight=weight).fit_source(
            ss.open_source(data), classes=[-1, 1]
        )
        predictor = selector.learner.results.predictor()
        blocks = [
            (predictor(block).probabilities[:, 1], block.y > 0)
            for block in ss.open_source(test).row_blocks()
        ]
        probabilities, y = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        assert calibration_error(probabilities, y) < worst_error
        assert log_loss(y, probabilities) < (1 - least_gain) * log_loss(
            y, np.full(len(y), y.mean())
        )


# ---- accuracy, balanced accuracy, AUC


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_the_area_under_the_curve_is_exact_with_ties(digits: int) -> None:
    random = np.random.default_rng(digits)
    scores, positive = random.standard_normal(300).round(digits), random.random(300) < 0.3
    assert area_under_curve(positive, scores) == pytest.approx(
        roc_auc_score(positive, scores), abs=1e-12
    )


def test_quality_is_that_of_scikit_learn() -> None:
    X, y = sparse_stream()
    two = ss.select((X[:150], y[:150]), n_features_to_select=5, test=(X[150:], y[150:]))
    selector = two.selector
    assert two.details["test_auc"] == pytest.approx(
        roc_auc_score(y[150:], selector.decision_function(X[150:]))
    )
    balanced = balanced_accuracy_score(y[150:], selector.predict(X[150:]))
    assert two.details["test_balanced_accuracy"] == pytest.approx(balanced)
    X, y = many_classes()
    record = ss.select(
        (X[:150], y[:150]), classes=list("abcd"), n_features_to_select=5, test=(X[150:], y[150:])
    )
    probabilities = record.selector.predict_proba(X[150:])
    assert record.details["test_auc"] == pytest.approx(
        roc_auc_score(y[150:], probabilities, multi_class="ovr")
    )
    assert record.test_accuracy == record.selector.score(X[150:], y[150:])


def test_log_loss_and_reliability_are_those_of_the_test_rows() -> None:
    X, y = sparse_stream()
    train, test = (X[:150], y[:150]), (X[150:], y[150:])
    record = ss.select(train, n_features_to_select=5, test=test)
    probabilities = record.selector.predict_proba(test[0])
    assert record.details["test_log_loss"] == pytest.approx(log_loss(test[1], probabilities))
    groups = record.details["test_reliability"]
    assert sum(group["rows"] for group in groups) == test[1].size
    order = np.argsort(probabilities[:, 1], kind="stable")
    for group, rows in zip(groups, np.array_split(order, 10), strict=True):
        assert group["predicted"] == pytest.approx(probabilities[rows, 1].mean())
        assert group["observed"] == pytest.approx((test[1][rows] > 0).mean())
    X, y = many_classes()
    several = ss.select(
        (X[:150], y[:150]), classes=list("abcd"), n_features_to_select=5, test=(X[150:], y[150:])
    )
    expected = log_loss(y[150:], several.selector.predict_proba(X[150:]))
    assert several.details["test_log_loss"] == pytest.approx(expected)
    assert several.details["test_reliability"] == []


@pytest.mark.parametrize("class_weight", ["auto", "balanced", None, {-1: 1.0, 1: 30.0}])
def test_probabilities_are_frequencies_whatever_the_weights_of_classes(class_weight: Any) -> None:
    train, test = (
        ss.open_source(f"synthetic:clicks?rows=60000&features=1000&seed={seed}") for seed in (1, 2)
    )
    record = ss.select(train, n_features_to_select=40, class_weight=class_weight, test=test)
    groups = record.details["test_reliability"]
    rate = np.mean([group["observed"] for group in groups])
    assert np.mean([group["predicted"] for group in groups]) == pytest.approx(rate, rel=0.2)
    assert groups[-1]["predicted"] == pytest.approx(groups[-1]["observed"], rel=0.25)
    assert groups[-1]["observed"] > 2 * rate


def test_there_is_no_area_under_the_curve_of_one_class() -> None:
    X, y = sparse_stream()
    details = ss.select((X, y), n_features_to_select=5, test=(X[y > 0], y[y > 0])).details
    assert "test_auc" not in details
    assert 0.0 <= details["test_balanced_accuracy"] <= 1.0
