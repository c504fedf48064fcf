"""Options of row selectors: curves, automatic budgets, scaling, intercept, weights, forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.selectors.diagnosis import DataSample
from streamsieve.selectors.rows.curves import (
    choose_by_accuracy,
    grid_of,
    make_default_grid,
    next_ranking,
)
from streamsieve.selectors.rows.inputs import standardize_block
from tests.checks.data import sparse_stream
from tests.paths import TEST, TRAIN


def dense_stream(
    rows: int = 2000, features: int = 30, seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, features)) * random.uniform(
        0.1, 10, features
    ) + random.uniform(-5, 5, features)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.where(z[:, 0] - z[:, 1] + 0.5 * z[:, 2] > 0, 1, 0)


def text_rows() -> tuple[Any, NDArray[Any]]:
    blocks = list(ss.open_source(TRAIN).row_blocks())
    parts = [csr_array((b.values, b.indices, b.indptr), shape=(b.n_rows, 4862)) for b in blocks]
    from scipy.sparse import vstack

    return csr_array(vstack(parts)), np.concatenate([b.y for b in blocks if b.y is not None])


# ---- curves


def test_default_grid_is_1_2_5_and_ends_at_the_largest() -> None:
    assert make_default_grid(123).tolist() == [1, 2, 5, 10, 20, 50, 100, 123]
    assert make_default_grid(2000).tolist() == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]
    assert make_default_grid(1).tolist() == [1]
    assert grid_of([7, 3, 3, 99], 10).tolist() == [3, 7, 10]


def test_slots_are_ranked_at_powers_of_two_and_then_regularly() -> None:
    assert [next_ranking(rows) for rows in (0, 15, 16, 31, 1000, 1024, 5000)] == [
        16,
        16,
        32,
        32,
        1024,
        2048,
        5120,
    ]


@pytest.mark.parametrize("estimator", [ss.SOFS, ss.PET, ss.FOFS])
def test_the_end_of_the_curve_is_the_run_itself(estimator: Any) -> None:
    X, y = sparse_stream()
    with_curve = estimator(20, curve=[2, 5, 10]).fit(X, y)
    without = estimator(20).fit(X, y)
    assert with_curve.curve_["n_features"].tolist() == [2, 5, 10, 20]
    assert with_curve.curve_["accuracy"][-1] == 1 - without.mistakes_ / without.n_rows_
    assert with_curve.selection().indices.tolist() == without.selection().indices.tolist()


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
def test_the_curve_is_near_that_of_separate_runs(criterion: str) -> None:
    X, y = text_rows()
    grid = [20, 50, 100, 200, 500]
    form: dict[str, Any] = {"criterion": criterion, "normalize": "l2", "gamma": 0.1}
    from_curve = ss.SOFS(500, curve=grid, **form).fit(X, y).curve_["accuracy"]
    separate = [1 - ss.SOFS(k, **form).fit(X, y).mistakes_ / len(y) for k in grid]
    assert np.abs(from_curve - separate).max() < 0.06
    assert from_curve[-1] == separate[-1]


def test_curve_of_many_classes() -> None:
    X, y = sparse_stream()
    labels = (y > 0) + 2 * (X.toarray()[:, 0] > 0)
    selector = ss.SOFS(20, curve=True).fit(X, labels)
    assert selector.curve_["accuracy"][-1] == 1 - selector.mistakes_ / selector.n_rows_


def test_auto_takes_the_smallest_number_within_one_standard_error() -> None:
    grid, accuracy = np.array([1, 2, 5, 10]), np.array([0.7, 0.885, 0.89, 0.9])
    assert grid[choose_by_accuracy(accuracy, 10_000)] == 10
    assert grid[choose_by_accuracy(accuracy, 800)] == 5
    assert grid[choose_by_accuracy(accuracy, 400)] == 2


def test_auto_selects_and_predicts_with_the_best_of_its_weights() -> None:
    X, y = dense_stream()
    selector = ss.SOFS("auto", normalize="standard").fit(X, y)
    chosen = selector.n_features_selected_
    assert chosen < 30
    assert len(selector.selection()) == chosen == selector.transform(X).shape[1]
    assert {0, 1} <= set(selector.selection().indices.tolist())
    ids, *_ = selector.learner.results.weights()
    assert ids.tolist() == selector.selection().indices.tolist()
    assert selector.score(X, y) > 0.85


def test_auto_and_a_curve_survive_saving(tmp_path: Any) -> None:
    X, y = sparse_stream()
    straight = ss.SOFS("auto", curve=[2, 5, 10]).partial_fit(X, y)
    ss.SOFS("auto", curve=[2, 5, 10]).partial_fit(X[:150], y[:150], classes=[-1, 1]).save(
        tmp_path / "model"
    )
    resumed = ss.load(tmp_path / "model").partial_fit(X[150:], y[150:])
    assert resumed.curve_["accuracy"].tolist() == straight.curve_["accuracy"].tolist()
    assert resumed.selection().indices.tolist() == straight.selection().indices.tolist()


def test_without_a_curve_there_is_none() -> None:
    X, y = sparse_stream()
    assert not hasattr(ss.SOFS(5).fit(X, y), "curve_")


# ---- scaling


def test_running_moments_end_where_a_batch_scaler_does() -> None:
    X, y = dense_stream()
    selector = ss.SOFS(10, normalize="standard").fit(X, y)
    scaler = StandardScaler().fit(X.astype(np.float32))
    seen = selector.learner.memory.moments.seen[0]
    np.testing.assert_allclose(selector.learner.memory.moments.first, scaler.mean_, rtol=1e-5)
    np.testing.assert_allclose(
        selector.learner.memory.moments.second / seen, scaler.var_, rtol=1e-4
    )


def test_sparse_features_are_scaled_but_not_centred() -> None:
    X, y = sparse_stream()
    selector = ss.SOFS(10, normalize="standard").fit(X, y)
    block = next(ss.sources.arrays.ArraySource(X, y).row_blocks())
    scaled = standardize_block(block, selector.learner.memory.moments, learn=False)
    expected = csr_array(StandardScaler(with_mean=False).fit_transform(X))
    assert scaled.indices.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(scaled.values, expected.data, rtol=1e-5)


@pytest.mark.parametrize("estimator", [ss.SOFS, ss.FOFS, ss.OGD])
def test_standardising_makes_up_for_columns_of_different_scale(estimator: Any) -> None:
    X, y = dense_stream(5000)
    plain, scaled = (
        estimator(3, normalize=kind).fit(X[:4000], y[:4000]) for kind in (False, "standard")
    )
    assert scaled.score(X[4000:], y[4000:]) > 0.85
    assert scaled.score(X[4000:], y[4000:]) > plain.score(X[4000:], y[4000:])


def test_dense_and_sparse_rows_do_not_mix_when_standardised() -> None:
    X, y = sparse_stream()
    selector = ss.SOFS(5, normalize="standard").partial_fit(X, y)
    before = selector.model().to_bytes()
    with pytest.raises(ss.UsageError, match="centres dense rows and only scales sparse ones"):
        selector.partial_fit(X.toarray(), y)
    assert selector.model().to_bytes() == before


@pytest.mark.parametrize("learned", ["dense", "sparse"])
def test_standardised_rows_are_predicted_as_they_were_learned_in_either_form(learned: str) -> None:
    X, y = sparse_stream()
    selector = ss.SOFS(5, normalize="standard").fit(X if learned == "sparse" else X.toarray(), y)
    np.testing.assert_allclose(
        selector.decision_function(X), selector.decision_function(X.toarray()), rtol=1e-5
    )


def test_standardised_huge_ids_predict_as_small_ones() -> None:
    X, y = sparse_stream()
    small = ss.SOFS(7, normalize="standard").start(classes=[-1, 1])
    huge = ss.SOFS(7, normalize="standard").start(classes=[-1, 1])
    for block in ss.sources.arrays.ArraySource(X, y, block_rows=50).row_blocks():
        ids = block.indices.astype(np.int64) * 10**10
        wide = ss.RowBlock(block.indptr, ids, block.values, block.y, 40 * 10**10)
        small.partial_fit_block(block)
        huge.partial_fit_block(wide)
        assert (
            small.learner.results.predictor().score(block).tolist()
            == huge.learner.results.predictor().score(wide).tolist()
        )


# ---- intercept and weights


def test_the_intercept_learns_what_no_feature_can_tell() -> None:
    random = np.random.default_rng(0)
    X = np.abs(random.standard_normal((2000, 3)))
    y = np.where(X[:, 0] > 0.7, 1, 0)
    with_intercept, without = (
        ss.SOFS(1, normalize=False, fit_intercept=kind).fit(X, y) for kind in (True, False)
    )
    assert with_intercept.score(X, y) > 0.85
    assert with_intercept.score(X, y) > without.score(X, y) + 0.1
    assert len(with_intercept.selection()) == 1


@pytest.mark.parametrize("estimator", [ss.SOFS, ss.PET, ss.FOFS, ss.AROW, ss.OGD])
def test_balanced_weights_find_more_of_a_rare_class(estimator: Any) -> None:
    random = np.random.default_rng(1)
    X = random.standard_normal((6000, 10))
    y = np.where(X[:, 0] + random.standard_normal(6000) > 2.5, 1, 0)
    recall = [
        estimator(3, class_weight=kind, normalize="l2").fit(X, y).predict(X)[y == 1].mean()
        for kind in (None, "balanced")
    ]
    assert recall[1] > recall[0]


def test_class_weights_by_label_equal_weights_of_rows(tmp_path: Any) -> None:
    X, y = sparse_stream()
    labels = np.where(y > 0, "spam", "ham")
    by_class = ss.SOFS(7, class_weight={"spam": 3.0}).fit(X, labels)
    by_row = ss.SOFS(7).fit(X, labels, sample_weight=np.where(y > 0, 3.0, 1.0))
    assert by_class.decision_function(X).tolist() == by_row.decision_function(X).tolist()
    by_class.save(tmp_path / "model")
    assert ss.load(tmp_path / "model").class_weight == {"spam": 3.0}


# ---- forgetting


@pytest.mark.parametrize("estimator", [ss.SOFS, ss.FOFS])
def test_forgetting_lets_the_selection_follow_the_data(estimator: Any) -> None:
    random = np.random.default_rng(3)
    X = random.standard_normal((8000, 40)) * (random.random((8000, 40)) < 0.3)
    y = np.where(np.concatenate([X[:4000, :4].sum(axis=1), X[4000:, -4:].sum(axis=1)]) > 0, 1, 0)
    n_new_features = {}
    for forget in (None, 500):
        selector = estimator(4, forget=forget).fit(X, y)
        n_new_features[forget] = len(
            set(selector.selection().indices.tolist()) & set(range(36, 40))
        )
    assert n_new_features[500] == 4
    assert n_new_features[500] >= n_new_features[None]


def test_a_long_stream_with_forgetting_stays_finite() -> None:
    X, y = sparse_stream()
    for criterion in ("snr", "confidence"):
        selector = ss.SOFS(7, criterion=criterion, forget=2.0, n_epochs=20).fit(X, y)
        assert np.isfinite(selector.decision_function(X)).all()
        assert np.isfinite(selector.selection().scores).all()


# ---- equal columns


@pytest.mark.parametrize(
    ("selector", "target"),
    [
        (ss.SOFS(10), "two"),
        (ss.SOFS(30, criterion="confidence"), "two"),
        (ss.SOFS(10), "three"),
        (ss.SOFS(30, criterion="confidence"), "three"),
        (ss.SOFS(10, update="uniform"), "three"),
        (ss.SOFSRegressor(10), "numbers"),
        (ss.AROWRegressor(10), "numbers"),
    ],
)
def test_equal_columns_among_the_selected_are_named(selector: Any, target: str) -> None:
    X, _ = dense_stream()
    X[:, 7] = X[:, 9] = X[:, 0]
    sums = X[:, 0] / X[:, 0].std() - X[:, 1] / X[:, 1].std()
    targets = {
        "two": sums > sums.mean(),
        "three": np.digitize(sums, np.quantile(sums, [0.3, 0.7])),
        "numbers": sums,
    }
    selector.fit(X, targets[target])
    assert {0, 7, 9} <= set(selector.selection().indices.tolist())
    findings = [
        finding
        for finding in selector.learner.results.diagnosis(DataSample())
        if finding.kind == "duplicates"
    ]
    assert len(findings) == 1
    assert "feature 0 = feature 7 = feature 9" in findings[0].message


# ---- partial inputs


def test_what_is_asked_is_part_of_the_saved_state(tmp_path: Any) -> None:
    selector = ss.OFSPartial(3, epsilon=1.0, random_state=0).start(n_features=20, classes=[-1, 1])
    selector.ask()
    selector.tell([1.0, 0.0, -1.0], 1)
    asked = selector.ask()
    selector.save(tmp_path / "model")
    resumed = ss.load(tmp_path / "model")
    assert resumed.ask().tolist() == asked.tolist() == selector.ask().tolist()
    for learner in (selector, resumed):
        learner.tell([0.5, 0.5, 0.5], -1)
    assert resumed.ask().tolist() == selector.ask().tolist()


def test_telling_something_else_than_asked_is_refused() -> None:
    selector = ss.OFSPartial(3, epsilon=1.0, random_state=0).start(n_features=20, classes=[-1, 1])
    selector.ask()
    with pytest.raises(ValueError, match="expected 3 values, one per attribute asked for, got 2"):
        selector.tell([1.0, 2.0], 1)
    with pytest.raises(ValueError, match="is missing or infinite; give a number"):
        selector.tell([1.0, np.nan, 2.0], 1)
    with pytest.raises(ss.UsageError, match="call start"):
        ss.OFSPartial(3).ask()


@pytest.mark.parametrize(("room", "fits"), [(60 * 1000, True), (10 * 1000, False)])
def test_partial_inputs_draw_from_arrays_as_wide_as_declared(
    monkeypatch: pytest.MonkeyPatch, room: int, fits: bool
) -> None:
    monkeypatch.setattr("streamsieve.selectors.rows.addresses.available_memory", lambda: room)
    selector = ss.OFSPartial(5, epsilon=1.0, random_state=0).start(n_features=1000, classes=[-1, 1])
    row = RowBlock(
        np.array([0, 2]), np.array([3, 999]), np.ones(2, np.float32), np.array([1]), 1000
    )
    if fits:
        selector.partial_fit_block(row)
        assert selector.learner.memory.addresses.direct
        assert selector.learner.memory.room() >= 1000
    else:
        with pytest.raises(ss.DataError, match=r"1,000 different features need .* more memory"):
            selector.partial_fit_block(row)


def test_partial_inputs_learn_text() -> None:
    X, y = text_rows()
    selector = ss.OFSPartial(486, normalize="l2", n_epochs=5, random_state=0).fit(X, y)
    right = rows = 0
    for block in ss.open_source(TEST).row_blocks():
        right += np.count_nonzero(
            selector.learner.results.predictor().labels(
                selector.learner.results.predictor().score(block)
            )
            == block.y
        )
        rows += block.n_rows
    assert right / rows > 0.6


def test_baselines_predict_with_all_features_and_name_the_best() -> None:
    X, y = text_rows()
    for estimator in (ss.OGD, ss.FOBOS, ss.AROW):
        selector = estimator(50, normalize="l2").fit(X, y)
        assert len(selector.selection()) == 50
        assert selector.learner.results.weights()[0].size > 1000
        assert selector.score(X, y) > 0.95
