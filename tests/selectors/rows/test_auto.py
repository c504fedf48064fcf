"""Promises of the automatic defaults about scales, containers, interruptions and bad numbers."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve.selectors.rows import warm_up
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from tests.oracles import normalization

WORDS, NUMBERS = 60, 8  # sparse columns and dense ones
WIDTH = WORDS + NUMBERS
METHODS = [ss.SOFS, ss.PET, ss.FOFS, ss.OGD, ss.AROW, ss.FOBOS]


def mixed_stream(rows: int, n_classes: int = 2, absent: float = 0.0) -> tuple[Any, NDArray[Any]]:
    """Return words, three in other units, beside numeric columns far from 0.

    The scales of the numeric columns are 10^-3 to 10^3. A fraction ``absent`` of the numbers, and
    of the rows, is 0.
    """
    random = np.random.default_rng(0)
    words = random.integers(1, 4, (rows, WORDS)) * (random.random((rows, WORDS)) < 0.1)
    numbers = random.standard_normal((rows, NUMBERS))
    signal = words[:, :10] @ np.tile([1.0, -1.0], 5) + numbers[:, :4] @ np.array(
        [1.5, -1.5, 1.0, -1.0]
    )
    words = words * np.where(np.arange(WORDS) % 25 == 7, 5000.0, 1.0)
    numbers = numbers * np.geomspace(1e-3, 1e3, NUMBERS) + np.linspace(-1e3, 1e3, NUMBERS)
    numbers[random.random((rows, NUMBERS)) < absent] = 0.0
    X = np.hstack([words, numbers]).astype(np.float32)
    X[random.random(rows) < absent] = 0.0
    noisy = signal + 0.2 * random.standard_normal(rows)
    y = np.searchsorted(np.quantile(noisy, np.arange(1, n_classes) / n_classes), noisy)
    return csr_array(X), y


def learned_by(selector: Any, X: Any) -> dict[str, Any]:
    """Return everything that a user can see of what was learned, with scores of some rows."""
    selection, score = selector.selection(), selector.learner.results.predictor().score
    return {
        "selected": selection.indices.tolist(),
        "scores": selection.scores.tolist(),
        "mistakes": selector.mistakes_,
        "updates": selector.updates_,
        "rows": selector.n_rows_,
        "decisions": (
            np.concatenate([score(block) for block in ArraySource(X).row_blocks()]).tolist()
        ),
    }


# ---- by hand


def test_two_rows_are_learned_as_computed_by_hand() -> None:
    X, y = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 1.0]]), [1, 0]
    selector = ss.SOFS(1, normalize=False, class_weight=None).partial_fit(
        X[:1], y[:1], classes=[0, 1]
    )
    # A = 5, N = 1, nothing is kept: q = q_K = 5, gamma 1.5, the intercept's input 0.3 sqrt(5), D =
    # 0.45 + 1.5
    mu, precision = 2 / (1.95 + 4), 1 + 4 / 1.5
    ids, weights, scores = selector.learner.kept_by_state(selector.learner.memory.state)
    assert ids.tolist() == [1]
    np.testing.assert_allclose(weights, [[mu]], rtol=1e-6)
    np.testing.assert_allclose(scores, [mu * sqrt(precision)], rtol=1e-6)
    bias, bias_precision = 0.3 * sqrt(5) / 1.95, 1 + 0.45 / 1.5
    np.testing.assert_allclose(
        selector.decision_function(np.zeros((1, 3))), bias * 0.3 * sqrt(5), rtol=1e-6
    )

    selector.partial_fit(X[1:], y[1:])
    # A = 7, N = 2, A_K = 0 as feature 1 is not in the row: q = q_K = 3.5, gamma 1.05; m is minus
    # the intercept's part
    c = 0.3 * sqrt(3.5)
    m, D = -bias * c, c**2 / bias_precision + 1.05
    bias -= (1 - m) * c / bias_precision / D
    new = -(1 - m) / (D + 1)  # of feature 2, whose key is above that of feature 1
    ids, weights, scores = selector.learner.kept_by_state(selector.learner.memory.state)
    assert ids.tolist() == [2]
    np.testing.assert_allclose(weights, [[new]], rtol=1e-6)
    np.testing.assert_allclose(scores, [-new * sqrt(1 + 1 / 1.05)], rtol=1e-6)
    np.testing.assert_allclose(selector.decision_function(np.zeros((1, 3))), bias * c, rtol=1e-6)


# ---- scale


@pytest.mark.parametrize("factor", [1024.0, 1 / 1024])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("normalize", [False, "l2", "auto"])
@pytest.mark.parametrize("criterion", ["snr", "confidence"])
def test_the_scale_of_the_rows_changes_nothing(
    criterion: str, normalize: Any, n_classes: int, factor: float
) -> None:
    X, y = mixed_stream(1500, n_classes, absent=0.05)
    expected, scaled = (
        learned_by(ss.SOFS(12, criterion=criterion, normalize=normalize).fit(rows, y), rows)
        for rows in (X, X * factor)
    )
    if normalize is False and criterion == "snr":
        scaled["scores"] = [score * factor for score in scaled["scores"]]
    assert scaled == expected


@pytest.mark.parametrize("method", METHODS)
def test_the_scale_of_the_rows_changes_nothing_once_they_are_normalized(method: Any) -> None:
    X, y = mixed_stream(1200, absent=0.05)
    assert learned_by(method(12).fit(X * 1024, y), X * 1024) == learned_by(method(12).fit(X, y), X)


# ---- the choice


def changing_rows(n_rows: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows whose columns become dense, sparse or large on the way."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, 8)) * (random.random((n_rows, 8)) < 0.3)
    # Dense until the choice at 1,024 rows.
    X[:, 0] = np.where(np.arange(n_rows) < 500, X[:, 7] + 3.0, 0.0)
    # In most rows, but not in most of the first 1,024.
    X[:, 1] = np.where(np.arange(n_rows) < 600, 0.0, X[:, 7] + 3.0)
    # Dense from the choice at 1,024 rows on.
    X[:, 2] = np.where(np.arange(n_rows) < 400, 0.0, X[:, 6] - 3.0)
    X[:, 3] *= 1e3
    X[300:, 4] *= 1e-3  # small by the median of 1,024 rows, not of 512
    y = np.where(X[:, 5] + X[:, 6] + X[:, 3] / 1e3 + 0.3 * random.standard_normal(n_rows) > 0, 1, 0)
    return X.astype(np.float32), y


def assert_learned_by_the_choice_of_the_oracle(
    rows: NDArray[Any], y: NDArray[Any], most_values: int = 2**22
) -> None:
    raw = [{j: x for j, x in enumerate(row) if x} for row in rows.tolist()]
    prepared = np.zeros(rows.shape)
    for line, x in zip(prepared, normalization.prepared(raw, most_values)[0], strict=True):
        line[list(x)] = list(x.values())
    by_choice, by_hand = (
        ss.SOFS(8, normalize=kind).partial_fit(X, y, classes=[0, 1])
        for kind, X in (("auto", rows), (False, prepared))
    )
    assert abs(by_choice.mistakes_ - by_hand.mistakes_) <= 2  # a score near 0 can go either way
    chosen, expected = (
        selector.learner.kept_by_state(selector.learner.memory.state)
        for selector in (by_choice, by_hand)
    )
    assert sorted(chosen[0].tolist()) == sorted(expected[0].tolist())
    for part in (1, 2):
        actual_part, expected_part = (
            kept[part][np.argsort(kept[0])] for kept in (chosen, expected)
        )
        np.testing.assert_allclose(actual_part, expected_part, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 511, 512, 600, 1023, 1024, 1100, 1500])
def test_all_rows_are_learned_by_the_last_choice(n_rows: int) -> None:
    rows, y = changing_rows(1500)
    assert_learned_by_the_choice_of_the_oracle(rows[:n_rows], y[:n_rows])


@pytest.mark.parametrize("most_values", [1, 40, 1500, 2400])
def test_the_last_choice_is_made_when_the_first_rows_have_many_values(
    monkeypatch: pytest.MonkeyPatch, most_values: int
) -> None:
    monkeypatch.setattr(warm_up, "LAST_NONZERO", most_values)
    assert_learned_by_the_choice_of_the_oracle(*changing_rows(1500), most_values)


# ---- containers, blocks, interruptions


def from_file(path: Path, matrix: Any, y: NDArray[Any], target: str | None = None) -> Any:
    names = np.array([f"column {j}" for j in range(WIDTH)]) if target else None
    write_rows(path, ArraySource(matrix, y).row_blocks(), names, WIDTH, target=target)
    return ss.SOFS(12).fit_source(ss.open_source(path, target))


@pytest.mark.parametrize("n_rows", [2, 3, 700, 1600])
def test_containers_and_blocks_learn_the_same(tmp_path: Path, n_rows: int) -> None:
    X, y = mixed_stream(n_rows, absent=0.05)
    expected = learned_by(ss.SOFS(12).fit(X, y), X)
    assert learned_by(ss.SOFS(12).fit(X.toarray(), y), X.toarray()) == expected
    for matrix in (X, X.toarray()):
        for rows in (1, 7, 1000):
            in_blocks = ss.SOFS(12).fit_source(ArraySource(matrix, y, block_rows=rows))
            assert learned_by(in_blocks, X) == expected
    assert learned_by(from_file(tmp_path / "rows.svm", X, y), X) == expected
    assert learned_by(from_file(tmp_path / "rows.parquet", X, y), X) == expected
    assert learned_by(from_file(tmp_path / "table.parquet", X.toarray(), y, "label"), X) == expected


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("seen", [3, 100, 1023, 1024, 1500])
def test_a_run_interrupted_before_its_choice_is_final_goes_on_as_if_it_were_not(
    tmp_path: Path, seen: int, criterion: str
) -> None:
    X, y = mixed_stream(1600, absent=0.05)
    straight = ss.SOFS(12, criterion=criterion).fit(X, y)
    interrupted = ss.SOFS(12, criterion=criterion).partial_fit(X[:seen], y[:seen], classes=[0, 1])
    interrupted.save(tmp_path / "model")
    resumed = ss.load(tmp_path / "model")
    assert learned_by(resumed, X) == learned_by(interrupted, X)
    assert learned_by(resumed.partial_fit(X[seen:], y[seen:]), X) == learned_by(straight, X)


def test_classes_found_on_the_way_learn_the_same_as_classes_given() -> None:
    """Signs change when the first class appears after rows of the second class only."""
    X, y = mixed_stream(300, absent=0.05)
    order = np.concatenate([np.argsort(-y[:60], kind="stable"), np.arange(60, 300)])
    X, y = X[order], y[order]
    expected = learned_by(ss.SOFS(12).partial_fit(X, y, classes=[0, 1]), X)
    for rows in (1, 7, 50):
        selector = ss.SOFS(12).start(WIDTH)
        for block in ArraySource(X, y, block_rows=rows).row_blocks():
            selector.partial_fit_block(block)
        assert learned_by(selector, X) == expected


def test_looking_on_the_way_changes_nothing() -> None:
    X, y = mixed_stream(1100, absent=0.05)
    looked_at = ss.SOFS(12).start(WIDTH, [0, 1])
    for block in ArraySource(X, y, block_rows=50).row_blocks():
        looked_at.partial_fit_block(block)
        looked_at.selection()
        looked_at.decision_function(X[:5])
    assert learned_by(looked_at, X) == learned_by(ss.SOFS(12).fit(X, y), X)


def test_a_second_epoch_goes_on_with_the_stream() -> None:
    X, y = mixed_stream(600, absent=0.05)
    twice = ss.SOFS(12, n_epochs=2).fit(X, y)
    stream = csr_array(np.vstack([X.toarray()] * 2))
    assert learned_by(twice, X) == learned_by(ss.SOFS(12).fit(stream, np.tile(y, 2)), X)


def test_rows_of_weight_0_have_no_part_in_the_choice() -> None:
    X, y = mixed_stream(1500, absent=0.05)
    weights = np.where(np.random.default_rng(1).random(1500) < 0.4, 0.0, 1.0)
    has_weight = weights > 0
    weighted = ss.SOFS(12).fit(X, y, sample_weight=weights)
    assert learned_by(weighted, X) == learned_by(ss.SOFS(12).fit(X[has_weight], y[has_weight]), X)


# ---- what it is good for


@pytest.mark.parametrize("method", METHODS)
def test_mixed_columns_are_learned_with_defaults(method: Any) -> None:
    X, y = mixed_stream(6000)
    by_default, by_length = (
        method(20, **form).fit(X[:4000], y[:4000]) for form in ({}, {"normalize": "l2"})
    )
    assert by_default.score(X[4000:], y[4000:]) > 0.8
    assert by_length.score(X[4000:], y[4000:]) < 0.7


def test_a_few_rows_that_are_far_too_long_do_not_spoil_what_is_learned() -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((6000, 100)) * (random.random((6000, 100)) < 0.3)
    y = np.where(X[:, :10] @ np.tile([1.0, -1.0], 5) > 0, 1, 0)
    wrong = random.random(4000) < 0.01
    spoiled, labels = X[:4000].copy(), y[:4000].copy()
    spoiled[wrong] *= 1000.0
    labels[wrong] = random.integers(0, 2, wrong.sum())
    clean = ss.SOFS(10, normalize=False).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:])
    selector = ss.SOFS(10, normalize=False).fit(spoiled, labels)
    assert len(set(selector.selection().indices.tolist()) & set(range(10))) >= 9
    assert selector.score(X[4000:], y[4000:]) > clean - 0.04 > 0.85


# ---- bad numbers


@pytest.mark.parametrize("normalize", [False, "l2", "auto"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize(
    "gamma",
    [
        "auto",
        1e-90,
        *(pytest.param(gamma, marks=pytest.mark.slow) for gamma in (1e-20, 1e20)),
        1e90,
    ],
)
def test_no_number_can_break_the_selection(
    tmp_path: Path, gamma: Any, criterion: str, n_classes: int, normalize: Any
) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 30)) * (random.random((200, 30)) < 0.4)
    y = random.integers(0, n_classes, 200)
    for sizes in ([1e-44], [1e-38], [1e-20], [1e20], [1e38], [1e-44, 1e-20, 1.0, 1e20, 1e38]):
        rows = np.clip(X * random.choice(sizes, 200)[:, None], -3.4e38, 3.4e38).astype(np.float32)
        for forget in (None, 5.0):
            selector = ss.SOFS(
                6, gamma=gamma, criterion=criterion, normalize=normalize, forget=forget, n_epochs=30
            )
            selector.fit_source(ArraySource(rows, y), classes=range(n_classes))
            selection = selector.selection()
            assert len(selection) <= 6
            assert (np.diff(selection.indices) > 0).all()
            assert np.isin(selection.indices, np.arange(30)).all()
            assert not np.isnan(selection.scores).any()
            block = next(ArraySource(rows, y).row_blocks())
            assert np.isin(
                selector.learner.results.predictor()(block).labels, np.arange(n_classes)
            ).all()
            selector.save(tmp_path / "model")
            ss.load(tmp_path / "model").partial_fit_block(block)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("method", "params"),
    [(ss.SOFS, {}), (ss.SOFS, {"criterion": "confidence"}), (ss.PET, {}), (ss.FOFS, {})],
    ids=["snr", "confidence", "pet", "fofs"],
)
def test_what_was_forgotten_long_ago_leaves_a_model_that_loads(
    tmp_path: Path, method: Any, params: dict[str, Any], n_classes: int
) -> None:
    """Keys of features that do not return sink to 0, where the higher id must leave first."""
    random = np.random.default_rng(0)
    X = random.standard_normal((5000, 40))
    X[50:, :20] = X[:50, 20:] = 0.0
    y = random.integers(0, n_classes, 5000)
    selector = method(30, forget=1.0, normalize=False, **params).partial_fit(X, y)
    selector.save(tmp_path / "model")
    assert learned_by(ss.load(tmp_path / "model"), X) == learned_by(selector, X)


def test_the_choice_is_reported() -> None:
    random = np.random.default_rng(0)
    X = np.hstack(
        [random.normal(100.0, 5.0, (2000, 2)), random.random((2000, 3)) < [0.3, 0.2, 0.1]]
    )
    X[:, 4] *= 1e4
    record = ss.select((X, X[:, 0] > 100.0), n_features_to_select=2)
    expected = {
        "n_dense": 2,
        "n_own": 1,
        "dense": [0, 1],
        "own": [4],
        "sizes": [1e4],
        "typical": 1.0,
        "final": True,
    }
    assert record.details["scales"] == expected


def test_a_caller_may_reuse_its_arrays() -> None:
    """First rows are learned again when the choice changes, long after the call with them."""
    random = np.random.default_rng(0)
    X = random.normal(3.0, 1.0, (1200, 12)) * (random.random((1200, 12)) < [1.0, 1.0, *[0.3] * 10])
    y = (X[:, 0] + X[:, 1] > 6.0).astype(int)
    expected, reused = ss.SOFS(4), ss.SOFS(4)
    for at in range(0, 1200, 50):
        chunk = csr_array(X[at : at + 50].astype(np.float32))
        expected.partial_fit(chunk.copy(), y[at : at + 50], classes=[0, 1])
        reused.partial_fit(chunk, y[at : at + 50], classes=[0, 1])
        chunk.data[:] = 7.0
    assert reused.selection().scores.tolist() == expected.selection().scores.tolist()
    assert reused.decision_function(X).tolist() == expected.decision_function(X).tolist()
