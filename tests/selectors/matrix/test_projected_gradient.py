"""Test projected gradient: against its oracle, selections, predictions and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.parallel import Threads
from streamsieve.selectors.matrix.data import Matrix
from streamsieve.selectors.matrix.projected_gradient import StandardizedColumns
from tests.oracles import projected_gradient as oracle
from tests.selectors.columns.test_substitution import (
    LOSSES,
    make_planted,
    make_problem,
    standardize_target,
)

SAFE = 1e-6
# Weights of separable classes grow with every step, and rounding errors with them.
MAX_WEIGHT = 3.0


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 60),
    st.integers(1, 60),
    st.sampled_from([1.0, 0.7, 0.3]),
    st.sampled_from(LOSSES),
    st.integers(1, 6),
)
def test_agrees_with_the_oracle(seed, n_rows, n_columns, density, loss, wanted):
    X, y = make_problem(seed, n_rows, n_columns, density, loss)
    Z, chosen = oracle.standardized(X)
    assume(np.unique(y).size > 1 and chosen)
    expected, level, closest = oracle.project(Z, standardize_target(y, loss), wanted, loss)
    assume(closest > SAFE and abs(expected).max() < MAX_WEIGHT)
    ids, weights = np.array(chosen)[expected != 0], expected[expected != 0]
    for data in (X, csc_array(X)):
        selector = ss.ProjectedGradient(wanted, loss=loss, refit=False).fit(data, y)
        assert selector.selection().indices.tolist() == ids.tolist()
        np.testing.assert_allclose(selector.selection().scores, abs(weights), rtol=1e-6, atol=1e-9)
        scale, mean = (y.std(), y.mean()) if loss == "squared" else (1.0, 0.0)
        slopes = scale * weights / X[:, ids].std(axis=0)
        np.testing.assert_allclose(selector.coef_, slopes, rtol=1e-6, atol=1e-9)
        constant = mean + scale * level - slopes @ X[:, ids].mean(axis=0)
        assert selector.intercept_ == pytest.approx(constant, rel=1e-6, abs=1e-6)


def test_the_refit_is_least_squares_on_the_selected_columns():
    X, y, _ = make_planted()
    model = ss.ProjectedGradient(12).fit(X, y)
    chosen = X[:, model.get_support(indices=True)]
    Z, u = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0), (y - y.mean()) / y.std()
    weights = np.linalg.lstsq(Z, u, rcond=None)[0]
    np.testing.assert_allclose(model.scores_, abs(weights), rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), Z @ weights * y.std() + y.mean(), rtol=1e-6)


@pytest.mark.needs_jit
def test_finds_planted_columns_in_any_units():
    X, y, weights = make_planted()
    random = np.random.default_rng(1)
    units, offsets = 10 ** random.uniform(-3, 3, X.shape[1]), random.normal(0, 1e3, X.shape[1])
    given = X * units + offsets * units
    model = ss.ProjectedGradient(10).fit(given, 1e4 * y - 7e6)
    chosen = model.get_support(indices=True)
    assert chosen.tolist() == np.flatnonzero(weights).tolist()
    np.testing.assert_allclose(model.coef_ * units[chosen] / 1e4, weights[chosen], atol=0.1)
    assert model.score(given, 1e4 * y - 7e6) > 0.95


@pytest.mark.needs_jit
@pytest.mark.parametrize("loss", ["auto", "squared_hinge"])
def test_two_classes(loss, tmp_path):
    X, y, weights = make_planted(n_rows=800, noise=0.1)
    labels = np.where(y > 0.5, "yes", "no")
    model = ss.ProjectedGradient(10, loss=loss).fit(X, labels)
    assert model.get_support(indices=True).tolist() == np.flatnonzero(weights).tolist()
    model.save(tmp_path / "model")
    model = ss.load(tmp_path / "model")
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, labels) > 0.95
    assert hasattr(model, "predict_proba") == (loss == "auto")
    if loss == "auto":
        np.testing.assert_array_equal(model.predict_proba(X)[:, 1] > 0.5, model.predict(X) == "yes")


def test_sparse_columns_stay_sparse():
    random = np.random.default_rng(0)
    X = csc_array((random.random((500, 400)) < 0.02) * random.normal(3, 1, (500, 400)))
    y = X[:, [5, 50]].toarray() @ [2.0, -1.0] + random.normal(0, 0.1, 500)
    with Threads() as threads:
        held = StandardizedColumns(Matrix(X), threads)
    assert sum(part.slots.values.size for part in held.parts) == X.nnz
    selector = ss.ProjectedGradient(2).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [5, 50]
    np.testing.assert_allclose(
        selector.coef_, ss.ProjectedGradient(2).fit(X.toarray(), y).coef_, rtol=1e-9
    )


def test_of_equal_columns_the_first_is_kept():
    X, y, weights = make_planted(n_columns=60)
    copies = np.concatenate([X, -3 * X + 5, X], axis=1)
    model = ss.ProjectedGradient(20).fit(copies, y)
    chosen = model.get_support(indices=True)
    assert chosen.max() < 60
    assert np.isin(np.flatnonzero(weights), chosen).all()


def test_columns_that_never_vary_and_fewer_than_wanted():
    X, y, _ = make_planted(n_columns=3, n_true=2)
    filled = np.concatenate([np.zeros((400, 2)), X, np.full((400, 1), 7.0)], axis=1)
    model = ss.ProjectedGradient(5).fit(filled, y)
    assert model.get_support(indices=True).tolist() == [2, 3, 4]
    with pytest.warns(UserWarning, match="no feature was selected"):
        empty = ss.ProjectedGradient(5).fit(np.ones((400, 2)), y)
    np.testing.assert_allclose(empty.predict(np.ones((3, 2))), y.mean())
    assert ss.ProjectedGradient(1).fit(X[:, :1], y).get_support(indices=True).tolist() == [0]


@pytest.mark.needs_jit
@pytest.mark.parametrize("loss", LOSSES)
def test_more_columns_than_rows(loss):
    X, y, _ = make_planted(n_rows=20, n_columns=200)
    target = y if loss == "squared" else np.where(y > 0, 1, 0)
    model = ss.ProjectedGradient(40, loss=loss).fit(X, target)
    assert len(model.selection()) == 40
    assert np.isfinite(model.coef_).all()
    assert model.score(X, target) > 0.95


@pytest.mark.needs_jit
def test_rare_classes():
    X, y, weights = make_planted(n_rows=1000, noise=0.1)
    labels = y > np.quantile(y, 0.97)
    model = ss.ProjectedGradient(10).fit(X, labels)
    assert np.isin(model.get_support(indices=True), np.flatnonzero(weights)).mean() >= 0.6


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("squared", ["a", "b"] * 5, "loss='squared' is for numbers, and the target holds 'a'"),
        (
            "auto",
            [0, 1, 2, 3, 4] * 2,
            "the target has 5 classes, and projected-gradient supports only two",
        ),
        ("squared_hinge", np.arange(10) + 0.5, "has 10 classes"),
        ("auto", [1] * 10, "is 1 in all rows"),
    ],
)
def test_a_target_that_does_not_fit_the_loss_is_refused(loss, y, message):
    with pytest.raises(ss.DataError, match=message):
        ss.ProjectedGradient(2, loss=loss).start(y=y)


def test_a_matrix_of_other_rows_is_refused():
    started = ss.ProjectedGradient(2).start(y=np.arange(10) + 0.5)
    with pytest.raises(ss.DataError, match="needs a target for each of 9 rows, and there are 10"):
        started.partial_fit_block(Matrix(np.eye(9)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select=0: must be an integer of 1 or more"),
        (
            {"loss": "hinge"},
            "loss='hinge': must be 'auto' or 'squared' or 'squared_hinge' or 'logistic'",
        ),
        ({"refit": 1}, "refit=1: must be True or False"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ss.ProjectedGradient(**params).start(y=np.arange(10.0) + 0.5)
