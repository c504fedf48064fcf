"""Test grafting: against its oracle, its limit and penalty, predictions and errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.kernels.columns.grafting import solve_equations
from streamsieve.kernels.columns.slots import TOP
from streamsieve.selectors.columns.grafting import solve_lasso
from streamsieve.state import arrays_of
from tests.oracles import grafting as oracle
from tests.selectors.columns.test_substitution import (
    LOSSES,
    make_planted,
    make_problem,
    standardize_target,
)
from tests.selectors.test_models import refused_changes

SAFE = 1e-5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [None, 0.1, 0.02])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_agrees_with_the_oracle(loss, penalty, density):
    n_compared = 0
    for seed in range(8):
        X, y = make_problem(seed, 40, 20, density, loss)
        wanted, scans = 2 + seed % 4, 1 + seed % 2
        expected, level, reached, closest = oracle.graft(
            X, standardize_target(y, loss), wanted, penalty, loss, scans
        )
        if closest < SAFE:  # rounding may decide otherwise
            continue
        n_compared += 1
        for data in (X, csc_array(X)):
            params = {"penalty": penalty, "loss": loss, "n_scans": scans, "refit": False}
            selector = ss.Grafting(wanted, **params).fit(data, y)
            assert selector.selection().indices.tolist() == sorted(expected)
            assert selector.penalty_ == pytest.approx(reached, rel=1e-4)
            np.testing.assert_allclose(
                selector.selection().scores,
                [abs(expected[j]) for j in sorted(expected)],
                rtol=1e-4,
                atol=1e-5,
            )
            assert selector.learner.results.final_state().level[0] == pytest.approx(
                level, rel=1e-4, abs=1e-5
            )
    assert n_compared >= 4


@pytest.mark.parametrize("seed", range(4))
def test_one_scan_after_another_ends_at_the_lasso(seed):
    """The problem is convex: scans of all columns end at its one minimum."""
    from sklearn.linear_model import Lasso

    X, y, _ = make_planted(100, 40, noise=2.0, seed=seed)
    Z, u = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    expected = Lasso(0.05, tol=1e-12, max_iter=10**6).fit(Z, u).coef_
    selector = ss.Grafting(40, penalty=0.05, n_scans=20, refit=False).fit(X, y)
    assert selector.get_support(indices=True).tolist() == np.flatnonzero(expected).tolist()
    np.testing.assert_allclose(selector.scores_, abs(expected[expected != 0]), atol=1e-4)
    assert selector.penalty_ == 0.05


@pytest.mark.needs_jit
@pytest.mark.parametrize("wanted", [1, 3, 17])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_more_than_wanted_are_ever_held(wanted, loss):
    X, y, _ = make_planted(100, 80, noise=2.0)
    target = y if loss == "squared" else y > 0
    model = ss.Grafting(wanted, loss=loss).start(y=target)
    before = 0.0
    for feature in range(80):
        model.partial_fit_block(columns_of(X[:, feature : feature + 1], feature))
        assert len(model.selection()) <= wanted
        assert model.penalty_ > 0.0
    assert len(model.selection()) >= 0.5 * wanted
    fixed = ss.Grafting(wanted, loss=loss, penalty=0.01).start(y=target)
    for feature in range(80):
        fixed.partial_fit_block(columns_of(X[:, feature : feature + 1], feature))
        assert fixed.penalty_ >= max(before, 0.01)
        before = fixed.penalty_


def test_finds_planted_columns_in_any_units():
    X, y, weights = make_planted()
    random = np.random.default_rng(1)
    units, offsets = 10 ** random.uniform(-3, 3, X.shape[1]), random.normal(0, 1e3, X.shape[1])
    given = X * units + offsets * units
    model = ss.Grafting(12).fit(given, 1e4 * y - 7e6)
    chosen = model.get_support(indices=True)
    assert np.isin(np.flatnonzero(weights), chosen).all()
    np.testing.assert_allclose(model.coef_ * units[chosen] / 1e4, weights[chosen], atol=0.1)
    assert model.score(given, 1e4 * y - 7e6) > 0.95


@pytest.mark.needs_jit
@pytest.mark.parametrize("loss", ["auto", "squared_hinge"])
def test_two_classes_with_labels_of_any_kind(loss):
    X, y, weights = make_planted(n_rows=800, noise=0.1)
    labels = np.where(y > 0.5, "yes", "no")
    model = ss.Grafting(12, loss=loss).fit(X, labels)
    assert np.isin(np.flatnonzero(weights), model.get_support(indices=True)).all()
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, labels) > 0.95
    assert hasattr(model, "predict_proba") == (loss == "auto")


@pytest.mark.parametrize("loss", LOSSES)
def test_resuming_in_the_middle_changes_nothing(loss, tmp_path):
    X, y, _ = make_planted(100, 60)
    target = y if loss == "squared" else y > 0
    whole = ss.Grafting(5, loss=loss, n_scans=1).fit(X, target)
    part = ss.Grafting(5, loss=loss, n_scans=1).partial_fit_columns(X[:, :33], target)
    part.save(tmp_path / "model")
    resumed = ss.load(tmp_path / "model").partial_fit_columns(X[:, 33:])
    for name, array in arrays_of(whole.learner.memory.state).items():
        if not name.startswith("slots.") and name != "gram":
            np.testing.assert_array_equal(array, arrays_of(resumed.learner.memory.state)[name])
    assert resumed.coef_.tolist() == whole.coef_.tolist()


def test_of_equal_columns_the_first_is_kept():
    X, y, weights = make_planted(n_columns=60)
    copies = np.concatenate([X, -3 * X + 5, X], axis=1)
    chosen = ss.Grafting(20).fit(copies, y).get_support(indices=True)
    assert np.unique(chosen % 60).size == chosen.size
    assert np.isin(np.flatnonzero(weights), chosen).all()


def test_memory_is_that_of_the_columns_wanted_and_sparse_ones_stay_sparse():
    random = np.random.default_rng(0)
    y = random.standard_normal(300)
    model = ss.Grafting(5).start(y=y)
    for number in range(40):
        block = csc_array((random.random((300, 50)) < 0.05) * random.normal(3, 1, (300, 50)))
        model.partial_fit_block(columns_of(block, 50 * number))
    state = model.learner.memory.state
    assert state.slots.ids.size == 6
    assert state.slots.ends[TOP] <= 6 * 40
    assert state.slots.values.size <= 2 * 6 * 40


@pytest.mark.needs_jit
@pytest.mark.parametrize("loss", LOSSES)
def test_more_columns_than_rows(loss):
    """The penalty keeps the weights of separable rows finite; later columns can still enter."""
    X, y, weights = make_planted(n_rows=30, n_columns=400, n_true=2, noise=0.1, seed=3)
    target = y if loss == "squared" else y > 0
    model = ss.Grafting(50, loss=loss).fit(X, target)
    chosen = model.get_support(indices=True)
    assert len(chosen) <= 30
    assert chosen.max() > 50
    assert np.isfinite(model.coef_).all()
    if loss == "squared":
        assert np.isin(np.flatnonzero(weights), chosen).all()


def test_columns_that_never_vary_one_column_and_none_that_is_good_enough():
    X, y, _ = make_planted(n_columns=3, n_true=2)
    filled = np.concatenate([np.zeros((400, 2)), X, np.full((400, 1), 7.0)], axis=1)
    assert set(ss.Grafting(5).fit(filled, y).get_support(indices=True)) <= {2, 3, 4}
    assert ss.Grafting(1).fit(X[:, :1] + y[:, None], y).get_support(indices=True).tolist() == [0]
    with pytest.warns(UserWarning, match="no feature was selected; try a smaller penalty: 0.2"):
        empty = ss.Grafting(5, penalty=2.0).fit(X, y)
    np.testing.assert_allclose(empty.predict(X[:3]), y.mean())
    with pytest.warns(UserWarning, match="no feature was selected; check how"):
        ss.Grafting(5).fit(np.ones((400, 2)), y)


def test_coordinate_descent_gets_help_where_columns_nearly_follow_from_others():
    random = np.random.default_rng(0)
    Z = random.standard_normal((50, 1)) + 1e-4 * random.standard_normal((50, 6))
    gram, pulls, penalty = Z.T @ Z / 50, Z.T @ Z @ np.ones(6) / 50, 1e-6
    weights = solve_lasso(gram, pulls, penalty, 1e-12, np.zeros(6))
    slopes = gram @ weights - pulls
    assert np.abs(slopes[weights != 0] + penalty * np.sign(weights[weights != 0])).max() < 1e-10
    assert np.abs(slopes).max() < penalty + 1e-10


def test_equations_of_columns_that_follow_from_others_have_a_finite_solution():
    gram = np.ones((3, 3))
    solution = solve_equations(gram, np.arange(3), np.array([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(gram @ solution, 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("squared", ["a", "b"] * 5, "loss='squared' is for numbers, and the target holds 'a'"),
        ("auto", [0, 1, 2, 3, 4] * 2, "the target has 5 classes, and grafting supports only two"),
        ("squared_hinge", np.arange(10) + 0.5, "has 10 classes"),
        ("auto", [1] * 10, "is 1 in all rows"),
    ],
)
def test_a_target_that_does_not_fit_the_loss_is_refused(loss, y, message):
    with pytest.raises(ss.DataError, match=message):
        ss.Grafting(2, loss=loss).start(y=y)


def test_columns_of_other_rows_are_refused():
    model = ss.Grafting(2).start(y=np.arange(10.0) + 0.5).partial_fit_block(columns_of(np.eye(10)))
    with pytest.raises(ss.DataError, match="columns of 9 rows, but the target has 10"):
        model.partial_fit_block(columns_of(np.eye(9), 10))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select=0: must be an integer of 1 or more"),
        ({"penalty": 0.0}, "penalty=0.0: must be None or a number above 0"),
        ({"penalty": "auto"}, "penalty='auto': must be None or a number above 0"),
        ({"n_scans": 0}, "n_scans=0: must be None or an integer from 1 to 10,000"),
        ({"refit": 1}, "refit=1: must be True or False"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ss.Grafting(**params).start(y=np.arange(10.0) + 0.5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_a_hostile_model_does_no_harm(loss, density):
    X, y = make_problem(7, 40, 100, density, loss)
    model = ss.Grafting(3, loss=loss).start(y=y).partial_fit_block(columns_of(X)).model()
    assert refused_changes(model, X, y) > 3 * len(model.arrays)
