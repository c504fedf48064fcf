"""Test local learning against its oracle, on the spiral of P5, and with data of users."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import streamsieve as ss
from streamsieve import workflow
from streamsieve.blocks import RowBlock
from streamsieve.kernels.matrix.local_learning import search_line, value_and_slope
from streamsieve.parallel import Threads
from streamsieve.selectors.matrix import local_learning
from streamsieve.selectors.matrix.data import Matrix, Pairs
from streamsieve.selectors.matrix.local_learning import LocalLearningRule, Margins, minimise
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from tests.oracles import local_learning as oracle
from tests.selectors.matrix.spirals import is_found, spiral


def make_noisy(seed, n_classes=2, rows=50, features=12):
    """Return classes that depend on two of the features together."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, features)) * random.uniform(0.1, 10.0, features)
    score = X[:, 0] / X[:, 0].std() + X[:, 1] / X[:, 1].std()
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return X, y


@pytest.fixture
def to_the_end(monkeypatch):
    """Let every descent go on until nothing moves, like that of the oracle."""
    monkeypatch.setattr(local_learning, "CONVERGED", 1e-14)


ONE_ROUND = [
    {},
    {"sigma": 0.2, "regularization": 0.3},
    {"sigma": "auto", "scale": "standard"},
    {"scale": "none", "sigma": 10.0, "regularization": 2.0},
]


@pytest.mark.filterwarnings("ignore:the weights still change:UserWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("params", ONE_ROUND)
def test_one_round_agrees_with_the_oracle(to_the_end, seed, n_classes, params):
    X, y = make_noisy(seed, n_classes)
    weights = ss.LocalLearning(max_iter=1, **params).fit(X, y).feature_weights_
    expected = oracle.weigh(X, y, max_iter=1, **params)
    np.testing.assert_allclose(weights, expected, rtol=0.005, atol=0.002 * expected.max())


CONVERGING = [
    (2, {}),
    (2, {"sigma": "auto"}),
    (3, {"sigma": 5.0, "regularization": 0.5}),
    (5, {"sigma": 20.0, "regularization": 0.2, "scale": "standard"}),
]


@pytest.mark.needs_jit
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_classes", "params"), CONVERGING)
def test_settled_weights_agree_with_the_oracle(to_the_end, seed, n_classes, params):
    X, y = make_noisy(seed, n_classes)
    parameters = {"tol": 1e-5, "max_iter": 200, **params}
    selector = ss.LocalLearning(**parameters).fit(X, y)
    assert selector.converged_
    expected = oracle.weigh(X, y, **parameters)
    assert np.flatnonzero(selector.feature_weights_).tolist() == np.flatnonzero(expected).tolist()
    np.testing.assert_allclose(selector.feature_weights_, expected, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:the weights still change:UserWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [csr_array, csc_array])
def test_sparse_columns_agree_with_the_oracle(to_the_end, n_classes, form):
    X, y = make_noisy(5, n_classes)
    X[np.random.default_rng(5).random(X.shape) < 0.7] = 0.0
    expected = oracle.weigh(X, y, max_iter=1)
    weights = ss.LocalLearning(max_iter=1).fit(form(X), y).feature_weights_
    np.testing.assert_allclose(weights, expected, rtol=0.005, atol=0.002 * expected.max())


def test_a_row_alone_in_its_class_has_no_margin(to_the_end):
    X, y = make_noisy(1)
    y[0] = 7
    with pytest.warns(UserWarning, match="the weights still change"):
        weights = ss.LocalLearning(max_iter=1).fit(X, y).feature_weights_
    np.testing.assert_allclose(weights, oracle.weigh(X, y, max_iter=1), rtol=0.005, atol=0.01)


@pytest.mark.needs_jit
@pytest.mark.parametrize("irrelevant", [0, 50, 100, 500, 1000, 5000])
def test_the_spiral_is_found_among_irrelevant_features(irrelevant):
    for seed in range(2):
        selector = ss.LocalLearning().fit(*spiral(irrelevant, seed))
        assert is_found(selector.feature_weights_)
        assert selector.selection().indices.tolist() == [0, 1]


@pytest.mark.needs_jit
@pytest.mark.slow
@pytest.mark.parametrize("irrelevant", [50, 100, 500, 1000, 5000, 10_000, 20_000, 30_000])
def test_the_spiral_is_found_in_every_run_of_ten(irrelevant):
    for seed in range(10):
        assert is_found(ss.LocalLearning().fit(*spiral(irrelevant, seed)).feature_weights_)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "params",
    [{"regularization": value} for value in (0.1, 0.5, 1.5, 2.0)]
    + [{"sigma": value} for value in (0.1, 0.5, 1, 3, 5)],
)
def test_sigma_and_regularization_matter_little(params):
    """P5 figures 6 and 7, with 1,000 irrelevant features."""
    assert is_found(ss.LocalLearning(**params).fit(*spiral(1000, 3)).feature_weights_)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("size", "scale"),
    [
        (1, "none"),
        (30, "minmax"),
        *(pytest.param(1, scale, marks=pytest.mark.slow) for scale in ("minmax", "standard")),
        *(pytest.param(30, scale, marks=pytest.mark.slow) for scale in ("standard", "none")),
    ],
)
def test_automatic_sigma_finds_the_spiral_on_any_scale(scale, size):
    X, y = spiral(2000, 1)
    assert is_found(ss.LocalLearning(sigma="auto", scale=scale).fit(size * X, y).feature_weights_)


@pytest.mark.needs_jit
def test_features_on_odd_scales_are_brought_to_one():
    X, y = spiral(500, 2)
    sizes = 10.0 ** np.random.default_rng(0).uniform(-5, 5, X.shape[1])
    expected = ss.LocalLearning().fit(X, y).feature_weights_
    weights = ss.LocalLearning().fit(X * sizes + 1000 * sizes, y).feature_weights_
    np.testing.assert_allclose(weights, expected, rtol=1e-3)


@pytest.mark.needs_jit
@pytest.mark.parametrize("size", [0.5, 2.0])
def test_any_start_leads_to_the_same_weights(size, monkeypatch):
    """P5 theorem 2.2, for a sigma that is large enough."""
    X, y = spiral(200, 4)
    expected = ss.LocalLearning(sigma=5, tol=1e-6).fit(X, y).feature_weights_
    monkeypatch.setattr(LocalLearningRule, "start_size", size)
    weights = ss.LocalLearning(sigma=5, tol=1e-6).fit(X, y).feature_weights_
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


@pytest.mark.needs_jit
@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 100.0]), st.sampled_from([0.1, 1.0, 5.0])
)
def test_the_objective_falls_at_every_step(seed, size, regularization):
    random = np.random.default_rng(seed)
    with Threads() as threads:
        pairs = Pairs(Matrix(random.random((20, 6))), threads, "none")
        z = np.zeros((6, pairs.width), np.float32)
        z[:, :20] = size * random.standard_normal((6, 20))
        margins = Margins(pairs, z, regularization)
        v = random.uniform(0.01, 1.0, 6)
        row_margins, length = margins.row_margins(v), 1.0
        values = []
        for _ in range(20):
            length, value, _ = margins.step(v, row_margins, np.arange(6), length or 1.0)
            values.append(value)
            objective = (
                np.logaddexp(0.0, -(v**2 @ z[:, :20].astype(float))).sum()
                + regularization * (v**2).sum()
            )
            assert value == pytest.approx(objective, rel=1e-9)
        assert (np.diff(values) <= 0).all()


def test_the_descent_ends_at_the_minimum(to_the_end):
    """The optimality conditions of a convex problem hold for features with and without weight."""
    random = np.random.default_rng(8)
    with Threads() as threads:
        pairs = Pairs(Matrix(random.random((60, 200))), threads, "none")
        z = np.zeros((200, pairs.width), np.float32)
        z[:, :60] = random.standard_normal((200, 60))
        margins = Margins(pairs, z, 3.0)
        v, _, _ = minimise(margins, np.full(200, 0.07))
        gain = margins.compute_gains(margins.row_margins(v))
        is_heavy = v > 0.01
        expected = oracle.best_weights(z[:, :60].T.astype(float), np.full(200, 0.1), 3.0)[0]
    assert is_heavy.sum() > 10
    assert gain[~is_heavy].max() <= 3.0 + 0.01
    np.testing.assert_allclose(gain[is_heavy], 3.0, rtol=0.01)
    np.testing.assert_allclose(v**2, expected, atol=0.01 * expected.max())


def test_a_line_that_rises_is_not_followed():
    a, b, c = np.zeros(3), -np.ones(3), np.zeros(3)
    start, slope = value_and_slope(0.0, a, b, c, 3, 1.0, 1.0, 1.0)
    assert slope > 0
    assert search_line(1.0, a, b, c, 3, 1.0, 1.0, 1.0) == (0.0, start)


def test_rounds_tell_how_it_went():
    selector = ss.LocalLearning().fit(*spiral(300, 0))
    assert selector.n_iter_ == len(selector.rounds_)
    features = [round_["features"] for round_ in selector.rounds_]
    assert features[0] == 302
    assert features == sorted(features, reverse=True)
    assert selector.rounds_[-1]["change"] <= 0.01 < selector.rounds_[-2]["change"]


def test_a_penalty_beyond_all_gains_leaves_nothing():
    X, y = make_noisy(0)
    assert not len(ss.LocalLearning(regularization=1e6).fit(X, y).selection())


def test_a_model_is_as_large_as_its_weights(tmp_path):
    X, y = spiral(5000, 0)
    ss.LocalLearning().fit(X, y).save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 10_000


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr("streamsieve.selectors.matrix.data.available_memory", lambda: 10_000)
    with pytest.raises(ss.DataError, match=r"all pairs of 50 rows need .* \d rows would fit"):
        ss.LocalLearning().fit(*make_noisy(0))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sigma": 0}, "sigma=0: must be a number above 0, or 'auto'"),
        ({"sigma": "wide"}, "sigma='wide'"),
        ({"regularization": 0}, "regularization=0: must be a number above 0"),
        ({"tol": -1}, "tol=-1: must be a number of 0 or more"),
        ({"max_iter": 0}, "max_iter=0: must be an integer of 1 or more"),
        ({"n_features_to_select": 0.5}, "n_features_to_select=0.5: must be None or an integer"),
        ({"scale": "log"}, "scale='log': must be 'minmax' or 'standard' or 'none'"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ss.LocalLearning(**params).fit(*make_noisy(0))


@pytest.mark.needs_jit
@pytest.mark.parametrize("suffix", [".svm", ".arrow", ".parquet", ".csv", " columns.parquet"])
def test_files_of_dense_and_of_very_wide_rows(tmp_path, suffix):
    X, y = spiral(20, 0)
    path = tmp_path / f"rows{suffix}"
    expected = ss.LocalLearning().fit(X.astype(np.float32), y)
    if suffix == " columns.parquet":
        workflow.convert_to_columns((X.astype(np.float32), y), path)
    else:
        write_rows(path, ArraySource(X, y).row_blocks(), n_features=X.shape[1])
    selector = ss.LocalLearning().fit_source(
        ss.open_source(path, "label" if suffix == ".csv" else None)
    )
    np.testing.assert_array_equal(selector.feature_weights_, expected.feature_weights_)
    if suffix in (".svm", ".arrow"):
        ids = np.sort(np.random.default_rng(0).choice(10**12, X.shape[1], replace=False))
        rows = csr_array(X.astype(np.float32))
        block = RowBlock(rows.indptr, ids[rows.indices], rows.data, y, 10**12)
        write_rows(path, [block])
        wide = ss.LocalLearning().fit_source(ss.open_source(path)).selection()
        assert wide.indices.tolist() == ids[expected.selection().indices].tolist()


@pytest.mark.needs_jit
@pytest.mark.parametrize("seed", range(3))
def test_automatic_sigma_looks_as_near_as_the_data_demands(seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((400, 52))
    X[:, :2] += 0.2 * np.sign(X[:, :2])
    joint, additive = X[:, 0] * X[:, 1] > 0, X[:, 0] + X[:, 1] > 0
    for y in (joint, additive):
        assert is_found(ss.LocalLearning(sigma="auto").fit(X, y).feature_weights_)
    assert not ss.LocalLearning().fit(X, joint).feature_weights_[:2].all()
