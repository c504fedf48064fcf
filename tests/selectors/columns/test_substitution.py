"""Test online substitution: both solvers against their oracles, selections and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve import workflow
from streamsieve.blocks import columns_of
from streamsieve.kernels.columns.slots import USED
from streamsieve.state import arrays_of
from tests.oracles import substitution as oracle
from tests.selectors.test_models import refused_changes

LOSSES = ("squared", "squared_hinge", "logistic")
SAFE = 1e-7


def make_problem(seed, n_rows, n_columns, density, loss, n_true=4):
    """Return columns with a mean, some equal or constant, and a target made of a few of them."""
    random = np.random.default_rng(seed)
    X = random.normal(0.5, 1, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < density)
    for column in range(7, n_columns, 9):
        X[:, column] = -3 * X[:, column - 5] if density == 1 else 2.5
    true = random.choice(n_columns, min(n_true, n_columns), replace=False)
    y = X[:, true] @ random.normal(0, 1, true.size) + random.normal(0, 0.5, n_rows)
    return X, y if loss == "squared" else np.where(y > np.median(y), 1, -1)


def standardize_target(y, loss):
    return (y - y.mean()) / y.std() if loss == "squared" else y.astype(float)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 60),
    st.integers(2, 60),
    st.sampled_from([1.0, 0.7, 0.3]),
    st.sampled_from(LOSSES),
    st.integers(1, 6),
    st.sampled_from([(0.5, 1.0), (0.2, 3.0)]),
    st.integers(1, 2),
)
def test_the_paper_s_algorithm_agrees_with_the_oracle(
    seed, n_rows, n_columns, density, loss, wanted, steps, scans
):
    X, y = make_problem(seed, n_rows, n_columns, density, loss)
    assume(np.unique(y).size > 1)
    step, m = steps
    expected, level, closest = oracle.stepping(
        X, standardize_target(y, loss), wanted, loss, step, m, scans
    )
    assume(closest > SAFE and all(abs(weight) < 1e3 for weight in expected.values()))
    params = {
        "loss": loss,
        "solver": "paper",
        "n_scans": scans,
        "step": step,
        "m": m,
        "refit": False,
    }
    for data in (X, csc_array(X)):
        selector = ss.OnlineSubstitution(wanted, **params).fit(data, y)
        selection = selector.selection()
        assert selection.indices.tolist() == sorted(expected)
        np.testing.assert_allclose(
            selection.scores, [abs(expected[j]) for j in sorted(expected)], rtol=1e-7, atol=1e-9
        )
        assert selector.learner.results.final_state().level[0] == pytest.approx(
            level, rel=1e-7, abs=1e-9
        )


@pytest.mark.needs_jit
@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(30, 80),
    st.integers(150, 500),
    st.sampled_from([1.0, 0.7, 0.3]),
    st.sampled_from(LOSSES),
    st.integers(1, 50),
    st.integers(1, 2),
)
def test_the_pool_agrees_with_the_oracle(seed, n_rows, n_columns, density, loss, wanted, scans):
    X, y = make_problem(seed, n_rows, n_columns, density, loss)
    expected, closest = oracle.pool(X, standardize_target(y, loss), wanted, loss, scans)
    assume(closest > SAFE)
    for data in (X, csc_array(X)):
        selector = ss.OnlineSubstitution(wanted, loss=loss, n_scans=scans).fit(data, y)
        slots = selector.learner.memory.state.slots
        assert slots.ids[: slots.ends[USED]].tolist() == expected


def make_planted(n_rows=400, n_columns=600, n_true=10, noise=0.5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(0, 1, (n_rows, n_columns))
    weights = np.zeros(n_columns)
    weights[random.choice(n_columns, n_true, replace=False)] = random.choice(
        [-1, 1], n_true
    ) * random.uniform(0.7, 2, n_true)
    return X, X @ weights + random.normal(0, noise, n_rows), weights


@pytest.mark.needs_jit
@pytest.mark.parametrize("solver", ["pool", "paper"])
def test_finds_planted_columns_and_their_weights_in_any_units(solver):
    X, y, weights = make_planted()
    random = np.random.default_rng(1)
    units, offsets = 10 ** random.uniform(-3, 3, X.shape[1]), random.normal(0, 1, X.shape[1])
    model = ss.OnlineSubstitution(10, solver=solver).fit(X * units + offsets * units, 1e4 * y - 7e6)
    chosen = model.selection().indices
    assert chosen.tolist() == np.flatnonzero(weights).tolist()
    np.testing.assert_allclose(model.coef_ * units[chosen] / 1e4, weights[chosen], atol=0.1)
    np.testing.assert_allclose(model.selection().scores, abs(weights[chosen]) / y.std(), rtol=0.15)
    assert model.score(X * units + offsets * units, 1e4 * y - 7e6) > 0.95


@pytest.mark.needs_jit
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_two_classes_with_labels_of_any_kind(loss):
    X, y, weights = make_planted(n_rows=800, noise=0.1)
    labels = np.where(y > 0.5, "yes", "no")
    model = ss.OnlineSubstitution(10, loss=loss).fit(X, labels)
    assert model.selection().indices.tolist() == np.flatnonzero(weights).tolist()
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, labels) > 0.97
    assert (np.sign(model.coef_) == np.sign(weights[weights != 0])).all()
    if loss == "logistic":
        probabilities = model.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).all()
    else:
        assert not hasattr(model, "predict_proba")


@pytest.mark.needs_jit
def test_auto_is_squared_for_numbers_and_logistic_for_classes():
    X, y, _ = make_planted()
    numbers, classes = ss.OnlineSubstitution(5).fit(X, y), ss.OnlineSubstitution(5).fit(X, y > 0)
    assert not hasattr(numbers, "predict_proba")
    assert not hasattr(numbers, "classes_")
    assert classes.predict_proba(X).shape == (400, 2)
    assert classes.predict(X).dtype == bool


@pytest.mark.needs_jit
def test_the_refit_is_least_squares_on_the_selected_columns():
    X, y, _ = make_planted()
    model = ss.OnlineSubstitution(10).fit(X, y)
    design = np.column_stack([X[:, model.selection().indices], np.ones(len(y))])
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose([*model.coef_, model.intercept_], expected, rtol=1e-6)
    rough = ss.OnlineSubstitution(10, refit=False).fit(X, y)
    assert rough.selection().indices.tolist() == model.selection().indices.tolist()
    assert rough.coef_.tolist() != model.coef_.tolist()
    np.testing.assert_allclose(rough.coef_, model.coef_, atol=0.01)


@pytest.mark.needs_jit
def test_two_scans_where_the_source_can_be_read_again():
    X, y, _ = make_planted()
    blocks = [columns_of(X[:, start : start + 50], start) for start in range(0, 600, 50)]
    once = ss.OnlineSubstitution(2, n_scans=1).fit(X, y)
    assert (once.learner.n_learned, once.n_features_seen_) == (600, 600)
    for source in (X, blocks):
        twice = ss.OnlineSubstitution(2)
        twice = twice.fit(X, y) if source is X else twice.fit_source(blocks, y)
        assert (twice.learner.n_learned, twice.n_features_seen_) == (1200, 600)
    stream = ss.OnlineSubstitution(2).fit_source(iter(blocks), y)
    assert stream.learner.n_learned == 600
    assert stream.selection().indices.tolist() == once.selection().indices.tolist()
    with pytest.raises(ss.UsageError, match="read only once, so n_scans=2 is too many"):
        ss.OnlineSubstitution(2, n_scans=2).fit_source(iter(blocks), y)


@pytest.mark.needs_jit
@pytest.mark.parametrize("solver", ["pool", "paper"])
def test_a_second_scan_is_resumed_where_it_was(solver, tmp_path):
    X, y, _ = make_planted(n_columns=200)
    expected = ss.OnlineSubstitution(3, solver=solver).fit(X, y)
    model = ss.OnlineSubstitution(3, solver=solver).start(y=y)
    for scan in range(2):
        model.learner.begin_pass(scan)
        for start in range(0, 200, 13):
            model.partial_fit_block(columns_of(X[:, start : start + 13], start))
            model.save(tmp_path / "model")
            model = ss.load(tmp_path / "model")
    assert model.learner.n_learned == 400
    assert model.selection().indices.tolist() == expected.selection().indices.tolist()
    assert model.coef_.tolist() == expected.coef_.tolist()


@pytest.mark.needs_jit
@pytest.mark.parametrize("stop_at", [600, 900, 1200, 1500, 1800])
def test_a_run_that_was_interrupted_in_any_scan_is_resumed(stop_at, tmp_path):
    data, params = (
        "synthetic:substitution?features=900&rows=200&informative=5",
        {"n_features_to_select": 5},
    )

    def watch(progress):
        if progress.unit == "features" and progress.done >= stop_at:
            raise KeyboardInterrupt

    expected = workflow.select(data, "online-substitution", **params)
    with pytest.raises(KeyboardInterrupt):
        workflow.select(
            data,
            "online-substitution",
            output=tmp_path,
            checkpoint_every=300,
            watch=watch,
            **params,
        )
    resumed = workflow.resume(tmp_path)
    assert resumed.selection.scores.tolist() == expected.selection.scores.tolist()
    assert (
        (resumed.n_features, resumed.n_nonzero)
        == (expected.n_features, expected.n_nonzero)
        == (900, 180_000)
    )
    assert resumed.details == expected.details


@pytest.mark.needs_jit
@pytest.mark.parametrize("solver", ["pool", "paper"])
def test_of_equal_columns_one_is_kept(solver):
    X, y, _ = make_planted(n_columns=30, n_true=5)
    doubled = np.column_stack([X, -2.0 * X + 1.0, X])
    model = ss.OnlineSubstitution(20, solver=solver).fit(doubled, y)
    assert len(set(model.selection().indices % 30)) == len(model.selection()) == 20
    if solver == "pool":
        assert model.selection().indices.max() < 30


@pytest.mark.needs_jit
def test_columns_far_from_zero_count_as_well_as_others():
    X, y, weights = make_planted()
    seconds = 1.7e9 + X  # a time of day in Unix seconds
    model = ss.OnlineSubstitution(10).fit(seconds, y)
    assert model.selection().indices.tolist() == np.flatnonzero(weights).tolist()
    for unit in (1e-180, 1e160):
        assert (
            ss.OnlineSubstitution(10).fit(unit * X, y).selection().indices.tolist()
            == np.flatnonzero(weights).tolist()
        )


@pytest.mark.needs_jit
@pytest.mark.parametrize("solver", ["pool", "paper"])
def test_memory_is_that_of_the_columns_wanted(solver):
    random = np.random.default_rng(3)
    n_rows, wanted = 300, 5
    model = ss.OnlineSubstitution(wanted, solver=solver).start(y=random.normal(0, 1, n_rows))
    sizes = []
    for start in range(0, 40_000, 2000):
        model.partial_fit_block(columns_of(random.normal(0, 1, (n_rows, 2000)), start))
        sizes.append(sum(array.nbytes for array in arrays_of(model.learner.memory.state).values()))
    n_slots = 200 if solver == "pool" else wanted + 1
    assert max(sizes) <= 12 * n_slots * n_rows * 1.3 + 8 * n_slots**2 + 20_000
    assert sizes[-1] == sizes[-5]


@pytest.mark.needs_jit
def test_sparse_columns_stay_sparse():
    random = np.random.default_rng(4)
    X = csc_array(
        (
            random.normal(0, 1, 20_000),
            (random.integers(0, 100_000, 20_000), random.integers(0, 400, 20_000)),
        )
    )
    X.resize((100_000, 400))
    y = np.asarray(X[:, [3, 50]].sum(axis=1)).ravel() + random.normal(0, 0.01, 100_000)
    model = ss.OnlineSubstitution(2).start(y=y).partial_fit_block(columns_of(X))
    assert model.learner.memory.state.slots.values.size < 30_000
    assert model.selection().indices.tolist() == [3, 50]


def test_no_column_varies_or_none_comes():
    y = np.arange(10.0) + 0.5
    model = ss.OnlineSubstitution(3)
    with pytest.warns(UserWarning, match="no feature was selected"):
        model.fit(np.ones((10, 4)), y)
    assert len(model.selection()) == 0
    np.testing.assert_allclose(model.predict(np.ones((2, 4))), y.mean())
    with pytest.warns(UserWarning, match="no feature was selected"):
        model.fit_source([], y)


def test_more_are_wanted_than_there_are():
    X, y, _ = make_planted(n_columns=8, n_true=3)
    for solver in ("pool", "paper"):
        assert ss.OnlineSubstitution(100, solver=solver).fit(
            X, y
        ).selection().indices.tolist() == list(range(8))


def test_more_columns_than_rows_fit_every_row():
    X, y, _ = make_planted(n_rows=20, n_columns=100)
    model = ss.OnlineSubstitution(40).fit(X, np.where(y > 0, 1, 0))
    assert len(model.selection()) == 40
    assert model.score(X, np.where(y > 0, 1, 0)) == 1.0
    assert np.isfinite(model.coef_).all()


def test_steps_that_are_too_long_are_said():
    random = np.random.default_rng(5)
    X = random.normal(0, 1, (100, 300)) + 3 * random.normal(0, 1, (100, 1))
    y = X[:, 0] + random.normal(0, 1, 100)
    with pytest.raises(
        ss.DataError, match=r"diverge: .* step=0.5 and m=1.0; .* or use solver='pool'"
    ):
        ss.OnlineSubstitution(50, solver="paper").fit(X, y)
    assert len(ss.OnlineSubstitution(50, solver="paper", m=100).fit(X, y).selection()) == 50
    with pytest.warns(UserWarning, match="the steps led away from the target"):
        ss.OnlineSubstitution(4, solver="paper", step=0.9, n_scans=1).fit(X[:, :15], y)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (
            "squared",
            ["a", "b"] * 5,
            "loss='squared' is for numbers, and the target holds 'a'; take loss='logistic'",
        ),
        (
            "auto",
            [0, 1, 2, 3, 4] * 2,
            "the target has 5 classes, and online-substitution supports only two; for numbers",
        ),
        ("logistic", [0, 1, 2, 3, 4] * 2, "has 5 classes"),
        ("squared_hinge", np.arange(10) + 0.5, "has 10 classes"),
        ("auto", [1] * 10, "is 1 in all rows"),
    ],
)
def test_a_target_that_does_not_fit_the_loss_is_refused(loss, y, message):
    with pytest.raises(ss.DataError, match=message):
        ss.OnlineSubstitution(2, loss=loss).start(y=y)


def test_a_source_whose_columns_change_their_length_is_refused():
    model = (
        ss.OnlineSubstitution(2)
        .start(y=np.arange(10.0) + 0.5)
        .partial_fit_block(columns_of(np.eye(10)))
    )
    with pytest.raises(ss.DataError, match="columns of 9 rows, but the target has 10"):
        model.partial_fit_block(columns_of(np.eye(9), 10))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select=0: must be an integer of 1 or more"),
        (
            {"loss": "hinge"},
            "loss='hinge': must be 'auto' or 'squared' or 'squared_hinge' or 'logistic'",
        ),
        ({"solver": "os"}, "solver='os': must be 'pool' or 'paper'"),
        ({"n_scans": 0}, "n_scans=0: must be None or an integer from 1 to 10,000"),
        ({"step": -1.0}, "step=-1.0: must be None or a number above 0"),
        ({"m": 0.5}, "m=0.5: must be a number of 1 or more"),
        ({"refit": 1}, "refit=1: must be True or False"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ss.OnlineSubstitution(**params).start(y=np.arange(10.0) + 0.5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", ["pool", "paper"])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_a_hostile_model_does_no_harm(solver, density):
    X, y = make_problem(7, 40, 300, density, "logistic")
    model = (
        ss.OnlineSubstitution(3, solver=solver).start(y=y).partial_fit_block(columns_of(X)).model()
    )
    assert refused_changes(model, X, y) > 3 * len(model.arrays)
