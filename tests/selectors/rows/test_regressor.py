"""Rows with a target of numbers: SOFSRegressor and AROWRegressor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score

import streamsieve as ss
from streamsieve.cli import main
from streamsieve.sources.writers import write_rows
from tests.checks.data import sparse_stream
from tests.effort import examples
from tests.oracles import arow_regressor, sofs_regressor
from tests.oracles.normalization import prepare_rows_to_predict, prepared, unit
from tests.selectors.rows.test_oracles import (
    BUDGET,
    MAX_ROWS,
    N_FEATURES,
    POWERS,
    ROW_VALUES,
    ROW_WEIGHTS,
    block_of,
    intercept_inputs,
)

NUMBERS = st.integers(-40, 40).map(lambda eighths: 5.0 + eighths / 8)
Row = tuple[dict[int, float], float]


def as_learned(
    rows: list[Row], weights: list[float], normalize: bool | str
) -> tuple[list[Row], list[Any], float]:
    """Return the rows as the method gets them, as they are after learning, and the closest call."""
    raw = [x for x, _ in rows]
    weighted = [x for x, weight in zip(raw, weights, strict=True) if weight]
    if normalize == "auto":
        prepared_rows, closest_call = prepared(weighted, tables_keep_lengths=True)
        later, closest_to_predict = prepare_rows_to_predict(weighted, raw, tables_keep_lengths=True)
        remaining = iter(prepared_rows)
        learned = [next(remaining) if weight else x for x, weight in zip(raw, weights, strict=True)]
    else:
        closest_call = closest_to_predict = float("inf")
        learned = later = [unit(x) for x in raw] if normalize else raw
    return (
        [(x, y) for x, (_, y) in zip(learned, rows, strict=True)],
        later,
        min(closest_call, closest_to_predict),
    )


@settings(max_examples=examples(600), deadline=None)
@given(data=st.data())
def test_the_regressor_agrees_with_its_oracle(data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(ROW_VALUES, NUMBERS), min_size=1, max_size=MAX_ROWS))
    weights = data.draw(ROW_WEIGHTS)[: len(rows)]
    normalize = data.draw(st.sampled_from([False, False, "l2", "auto"]))
    params = {
        "n_features_to_select": data.draw(BUDGET),
        "gamma": data.draw(st.one_of(st.just("auto"), POWERS)),
        "loss": data.draw(st.sampled_from(["squared", "huber"])),
        "forget": data.draw(st.sampled_from([None, None, 10.0, 3.7])),
        "fit_intercept": data.draw(st.booleans()),
    }
    learned, later, near = as_learned(rows, weights, normalize)
    expected = sofs_regressor.learn(learned, weights, **params)
    assume(min(near, expected["closest_call"]) > 1e-4)
    selector = ss.SOFSRegressor(**params, normalize=normalize).start(N_FEATURES)
    block = block_of(rows, weights)
    selector.partial_fit_block(block)
    assert_agrees(selector, expected, weights)
    if any(weights):
        wanted = [sofs_regressor.predict(expected, x) for x in later]
        np.testing.assert_allclose(
            selector.learner.results.predictor().score(block), wanted, rtol=1e-4, atol=1e-4
        )


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_arow_agrees_with_its_oracle(data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(ROW_VALUES, NUMBERS), min_size=1, max_size=MAX_ROWS))
    weights = data.draw(ROW_WEIGHTS)[: len(rows)]
    intercept, gamma = data.draw(st.booleans()), data.draw(POWERS)
    constants = intercept_inputs(rows, weights) if intercept else None
    expected = arow_regressor.learn(rows, weights, constants, gamma=gamma)
    selector = ss.AROWRegressor(gamma=gamma, fit_intercept=intercept, normalize=False).start(
        N_FEATURES
    )
    assert_agrees(selector.partial_fit_block(block_of(rows, weights)), expected, weights)


def assert_agrees(selector: Any, expected: dict[str, Any], row_weights: list[float]) -> None:
    ids, weights, scores = selector.learner.kept_by_state(selector.learner.memory.state)
    by_id = dict(zip(ids.tolist(), weights[:, 0].tolist(), strict=True))
    wanted = {j: weight for j, (weight,) in expected["weights"].items() if weight or j in by_id}
    assert sorted(by_id) == sorted(wanted)
    assert selector.updates_ == expected["updates"]
    for j, score in zip(ids.tolist(), scores.tolist(), strict=True):
        np.testing.assert_allclose(by_id[j], wanted[j], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(score, expected["scores"][j], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        selector.learner.rule.bias(selector.learner.memory.state),
        expected["bias"],
        rtol=1e-4,
        atol=1e-5,
    )
    assert selector.learner.memory.target.centre == expected["center"]
    if all(weight == 1.0 for weight in row_weights):  # the oracle does not weigh errors
        np.testing.assert_allclose(
            selector.learner.memory.target.totals[3],
            expected["squared_error"],
            rtol=1e-4,
            atol=1e-6,
        )


def planted(seed: int = 0, rows: int = 3000) -> tuple[Any, Any]:
    """Return sparse rows of 300 features, of which the first ten are informative."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, 300)) * (random.random((rows, 300)) < 0.2)
    y = X[:, :10] @ np.linspace(1.0, 2.0, 10)
    return csr_array(X), y + 0.5 * y.std() * random.standard_normal(rows)


def test_it_finds_what_counts_and_predicts() -> None:
    (X, y), (X_test, y_test) = planted(), planted(1)
    selector = ss.SOFSRegressor(10).fit(X, y)
    assert selector.get_support(indices=True).tolist() == list(range(10))
    assert selector.score(X_test, y_test) > 0.75
    assert 0.6 < selector.r2_ < 0.85
    N = X_test.toarray()
    N /= np.sqrt((N**2).sum(axis=1, keepdims=True))
    expected = N @ selector.coef_.toarray()[0] + selector.intercept_[0]
    np.testing.assert_allclose(selector.predict(X_test), expected, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e4), (-3.0, -1e4)])
def test_units_of_the_target_do_not_matter(loss: str, factor: float, shift: float) -> None:
    (X, y), (X_test, y_test) = planted(), planted(1)
    plain = ss.SOFSRegressor(10, loss=loss).fit(X, y)
    other = ss.SOFSRegressor(10, loss=loss).fit(X, factor * y + shift * y.std())
    assert other.get_support(indices=True).tolist() == plain.get_support(indices=True).tolist()
    assert (
        abs(other.score(X_test, factor * y_test + shift * y.std()) - plain.score(X_test, y_test))
        < 1e-3
    )


def test_huber_stands_outliers() -> None:
    (X, y), (X_test, y_test) = planted(), planted(1)
    spoiled = y.copy()
    spoiled[::100] += 20 * y.std()
    squared, huber = (
        ss.SOFSRegressor(10, loss=loss).fit(X, spoiled) for loss in ("squared", "huber")
    )
    assert huber.score(X_test, y_test) > squared.score(X_test, y_test) + 0.02
    assert huber.score(X_test, y_test) > ss.SOFSRegressor(10).fit(X, y).score(X_test, y_test) - 0.02


def test_a_target_that_is_mostly_one_value_is_learned_by_huber_too() -> None:
    X, y = sparse_stream("numbers")
    y[:40] = 0.0
    selector = ss.SOFSRegressor(5, loss="huber")
    with pytest.warns(UserWarning, match="no better than by its mean"):
        selector.fit(X, y)
    assert selector.score(X, y) > -1.0


def test_the_curve_and_auto() -> None:
    X, y = planted()
    selector = ss.SOFSRegressor("auto").fit(X, y)
    assert selector.n_features_selected_ == 10
    assert set(selector.curve_) == {"n_features", "r2"}
    assert selector.curve_["r2"].max() < 0.85
    fixed = ss.SOFSRegressor(20, curve=[5, 20]).fit(X, y)
    np.testing.assert_allclose(fixed.curve_["r2"][-1], fixed.r2_)


def test_tables_of_numbers_keep_the_lengths_of_their_rows() -> None:
    """Rows divided by their length would lose information about the number."""
    random = np.random.default_rng(0)
    X = random.standard_normal((2000, 5)) * random.uniform(0.2, 5.0, (2000, 1))
    y = X @ [1.0, 2.0, 0.0, -1.0, 0.5]
    assert ss.SOFSRegressor(5).fit(X, y).score(X, y) > 0.99
    assert ss.SOFSRegressor(5, normalize="standard+l2").fit(X, y).score(X, y) < 0.9


@pytest.mark.parametrize("normalize", ["standard", "auto"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_model_saved_in_its_warm_up_goes_on_as_one_that_was_not(
    kind: Any, normalize: str, tmp_path: Path
) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = kind(X[:60]), y[:60]
    whole, part = (
        ss.SOFSRegressor(3, normalize=normalize).partial_fit(X[:8], y[:8]) for _ in range(2)
    )
    part.save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model").partial_fit(X[8:], y[8:])
    for name, expected in whole.partial_fit(X[8:], y[8:]).model().arrays.items():
        np.testing.assert_array_equal(loaded.model().arrays[name], expected, name)


def test_several_epochs_fit_the_rows_better() -> None:
    X, y = load_diabetes(return_X_y=True)
    random = np.random.default_rng(0)
    X = np.hstack([X, random.standard_normal((len(X), 100)) * X.std()])
    once, often = (ss.SOFSRegressor(5, n_epochs=epochs).fit(X, y).score(X, y) for epochs in (1, 5))
    assert often > once


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "c"], "row 1: the target 'a' is not a number; the method sofs learns classes"),
        ([1.0, np.inf, 2.0], "row 2: its target is inf; drop such rows"),
        ([2.5, 2.5, 2.5], "the target is 2.5 in all rows; nothing can depend on it"),
    ],
)
def test_targets_that_cannot_be_learned(y: list[Any], message: str) -> None:
    with pytest.raises(ss.DataError, match=message):
        ss.select((np.eye(3), np.array(y)), "sofs-regressor", 2)


def test_targets_may_be_large_and_small() -> None:
    (X, y), (X_test, y_test) = planted(), planted(1)
    plain = ss.SOFSRegressor(10).fit(X, y).score(X_test, y_test)
    for factor in (1e28, 1e-28):
        assert (
            abs(ss.SOFSRegressor(10).fit(X, factor * y).score(X_test, factor * y_test) - plain)
            < 1e-3
        )
    with pytest.raises(ss.DataError, match=r"targets are numbers up to 1e\+30"):
        ss.SOFSRegressor(10).fit(X, 1e31 * y)


def test_a_classifier_names_the_regressors() -> None:
    X, y = sparse_stream("numbers")
    with pytest.raises(
        ValueError, match=r"Unknown label type: continuous.* SOFSRegressor and AROWRegressor learn"
    ):
        ss.SOFS(5).fit(X, y)


def test_classes_are_refused() -> None:
    with pytest.raises(
        ss.UsageError, match="sofs-regressor learns numbers, not classes; omit classes"
    ):
        ss.select(sparse_stream("numbers"), "sofs-regressor", classes=[0, 1])


def test_a_target_of_numbers_names_the_method(tmp_path: Path) -> None:
    X, y = sparse_stream("numbers")
    write_rows(tmp_path / "rows.svm", ss.open_source((X, y)).row_blocks(), n_features=X.shape[1])
    for method in ([], ["-m", "sofs"]):
        done = CliRunner().invoke(main, ["select", str(tmp_path / "rows.svm"), *method])
        assert done.exit_code == 1
        assert "sofs-regressor" in done.output


def test_command_line(tmp_path: Path) -> None:
    (X, y), (X_test, y_test) = planted(0, 400), planted(1, 200)
    for name, rows in (("train", (X, y)), ("test", (X_test, y_test))):
        write_rows(tmp_path / f"{name}.svm", ss.open_source(rows).row_blocks(), n_features=300)
    run, test = str(tmp_path / "run"), str(tmp_path / "test.svm")
    asked = [
        "select",
        str(tmp_path / "train.svm"),
        "-m",
        "sofs-regressor",
        "-k",
        "10",
        "--test",
        test,
        "--json",
    ]
    done = CliRunner().invoke(main, [*asked, "-o", run, "--checkpoint-every", "100"])
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert result["mistakes"] is None
    assert result["details"]["online_r2"] == result["trace"][-1]["r2"]
    expected = ss.SOFSRegressor(10).fit(X, y)
    np.testing.assert_allclose(
        result["test_r2"], r2_score(y_test, expected.predict(X_test)), rtol=1e-5
    )
    predicted = CliRunner().invoke(main, ["predict", run, test])
    np.testing.assert_allclose(
        list(map(float, predicted.stdout.split())), expected.predict(X_test), rtol=1e-4, atol=1e-4
    )
    assert predicted.stderr.startswith(f"R2 {result['test_r2']:.4f}")
    refused = CliRunner().invoke(main, ["predict", run, test, "--scores"])
    assert refused.exit_code == 2
    assert "which have no scores" in refused.output
