"""SOFS at work: the paper's data, wide and sparse ids, memory, labels, order."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.registry import find_method
from streamsieve.selectors.rows import addresses
from tests.checks.data import sparse_stream
from tests.checks.rows import learned
from tests.oracles import sofs as oracle
from tests.paths import TEST, TRAIN

PAPER = {
    "criterion": "confidence",
    "gamma": 1.0,
    "normalize": False,
    "fit_intercept": False,
    "class_weight": None,
}


def write(folder: Path, text: str) -> Path:
    path = folder / "rows.svm"
    path.write_text(text)
    return path


def accuracy(selector: ss.SOFS, source: ss.Source) -> float:
    right = rows = 0
    for block in source.row_blocks():
        right += np.count_nonzero(
            selector.learner.results.predictor().labels(
                selector.learner.results.predictor().score(block)
            )
            == block.y
        )
        rows += block.n_rows
    return right / rows


@pytest.mark.parametrize(
    ("kind", "informative", "least"),
    [
        pytest.param("x1?rows=30000", 100, 0.975, id="x1"),
        pytest.param("x2?rows=30000", 200, 0.965, id="x2"),
        pytest.param("x1", 100, 0.990, id="x1-full", marks=pytest.mark.slow),
        pytest.param("x2", 200, 0.985, id="x2-full", marks=pytest.mark.slow),
    ],
)
def test_the_papers_informative_features_are_found(
    kind: str, informative: int, least: float
) -> None:
    selector = ss.SOFS(informative, **PAPER)
    selector.fit_source(ss.open_source(f"synthetic:{kind}"))
    assert selector.selection().indices.tolist() == list(range(informative))
    assert (
        accuracy(selector, ss.open_source(f"synthetic:{kind.split('?')[0]}?rows=10000&seed=1"))
        >= least
    )


def test_real_counts_agree_with_the_oracle() -> None:
    rows = []
    for line in lzma.decompress(TRAIN.read_bytes()).decode().splitlines()[:300]:
        label, *entries = line.split()
        x = {int(j) - 1: float(v) for j, v in (entry.split(":") for entry in entries)}
        rows.append((x, int(float(label) > 0)))
    expected = oracle.learn(rows, n_features_to_select=50, gamma=1.0)
    block = next(iter(ss.open_source(TRAIN).row_blocks())).rows(0, 300)
    selector = ss.SOFS(50, **PAPER).start(classes=[-1, 1]).partial_fit_block(block)
    ids, weights, _ = selector.learner.kept_by_state(selector.learner.memory.state)
    assert sorted(ids.tolist()) == sorted(expected["weights"])
    assert (selector.mistakes_, selector.updates_) == (expected["mistakes"], expected["updates"])
    np.testing.assert_allclose(weights, [expected["weights"][j] for j in ids.tolist()], rtol=1e-9)


MANY = [
    {},
    {"update": "uniform"},
    {"forget": 10.0},
    {"criterion": "confidence"},
    {"criterion": "confidence", "forget": 10.0, "update": "uniform"},
]


def many_classes(
    rows: int = 600, copies: int = 1
) -> tuple[ss.sources.arrays.ArraySource, list[int]]:
    """Return rows of 21 classes in blocks of 50, with every column ``copies`` times."""
    random = np.random.default_rng(3)
    X = random.integers(-4, 5, (rows, 60)) * (random.random((rows, 60)) < 0.2)
    y = (np.abs(X[:, :3] @ [1, 2, 3]) + random.integers(0, 3, rows)) % 21
    return ss.sources.arrays.ArraySource(
        np.tile(X, copies).astype(np.float32), y, block_rows=50
    ), list(range(21))


@pytest.mark.parametrize("params", MANY, ids=str)
def test_bounds_of_outsiders_hold_and_change_nothing(params: dict[str, Any]) -> None:
    source, classes = many_classes()
    straight, without = (ss.SOFS(10, **params).start(classes=classes) for _ in range(2))
    n_bounds = 0
    for block in source.row_blocks():
        without.partial_fit_block(block)
        straight.partial_fit_block(block)
        state = straight.learner.memory.state
        cells = state.cells[(state.cells.view(np.int32)[:, 0] > 0)].astype(float)
        n_bounds += np.isfinite(cells[:, 0]).sum()
        width = 1 if "criterion" in params else 2
        precise = cells[:, 1::width] * state.scale[0]
        parts = precise / (1 + precise) if width == 1 else cells[:, 2::2] ** 2 * (1 + precise)
        assert (parts.sum(axis=1) <= cells[:, 0]).all()
        outsiders = without.learner.memory.state.cells.view(np.int32)[:, 0] > 0
        without.learner.memory.state.cells[outsiders, 0] = np.inf
    assert n_bounds > 100
    assert learned(straight) == learned(without)


@pytest.mark.parametrize("update", ["max_score", "uniform"])
def test_of_equal_columns_of_many_classes_the_first_is_kept(update: str) -> None:
    source, classes = many_classes(copies=2)
    selector = ss.SOFS(15, criterion="confidence", update=update).start(classes=classes)
    for block in source.row_blocks():
        kept = selector.partial_fit_block(block).selection().indices
        assert {j - 60 for j in kept if j >= 60} <= set(kept)


def test_text_is_learned_well_enough_to_predict() -> None:
    selector = ss.SOFS(100, criterion="confidence", normalize="l2").fit_source(
        ss.open_source(TRAIN)
    )
    assert accuracy(selector, ss.open_source(TEST)) > 0.9


def test_an_id_of_five_billion_in_a_small_file_is_no_problem(tmp_path: Path) -> None:
    path = write(tmp_path, "1 3:1 5000000001:2\n-1 3:-1 5000000001:-2 7:0.5\n")
    selector = ss.SOFS(2, normalize=False).fit_source(ss.open_source(path))
    assert selector.selection().indices.tolist() == [2, 5_000_000_000]
    assert selector.n_features_in_ == 5_000_000_001
    assert selector.learner.memory.state.cells.nbytes < 1000
    block = next(ss.open_source(path).row_blocks())
    assert selector.learner.results.predictor().labels(
        selector.learner.results.predictor().score(block)
    ).tolist() == [
        1,
        -1,
    ]


def test_memory_is_four_bytes_per_feature_and_the_budget() -> None:
    width = 50_000_000
    block = RowBlock(
        np.array([0, 2]), np.array([5, width - 1]), np.ones(2, np.float32), np.array([1]), width
    )
    for criterion, per_feature in (("confidence", 4), ("snr", 8)):
        selector = ss.SOFS(100, criterion=criterion).start(width, [-1, 1]).partial_fit_block(block)
        assert (
            sum(array.nbytes for array in selector.learner.memory.state)
            <= per_feature * width + 100 * 60
        )


def test_table_takes_at_most_three_slots_per_feature() -> None:
    selector = ss.SOFS(10).start(classes=[-1, 1])
    random = np.random.default_rng(0)
    for _ in range(200):
        ids = np.unique(random.integers(0, 10**15, 50))
        block = RowBlock(
            np.array([0, ids.size]), ids, np.ones(ids.size, np.float32), np.array([1]), 10**15
        )
        selector.partial_fit_block(block)
        table, _, used = selector.learner.memory.addresses
        assert table.size <= max(3 * used, 64)


def test_a_table_gives_way_to_plain_arrays_when_ids_turn_out_dense(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(addresses, "ALWAYS_DIRECT", 8)
    monkeypatch.setattr(addresses, "DIRECT_PER_FEATURE", 2)
    X, y = sparse_stream()
    expected = ss.SOFS(7).fit(X, y)
    selector = ss.SOFS(7).start(classes=[-1, 1])
    plans = []
    for block in ss.sources.arrays.ArraySource(X, y, block_rows=1).row_blocks():
        selector.partial_fit_block(block)
        plans.append(selector.learner.memory.addresses.direct)
    assert plans[0] is False
    assert plans[-1] is True
    assert selector.selection().indices.tolist() == expected.selection().indices.tolist()
    assert selector.decision_function(X).tolist() == expected.decision_function(X).tolist()


@pytest.mark.parametrize("method", ["sofs", "pet"])
def test_a_model_with_free_slots_loads_after_plain_arrays_gave_way_to_a_table(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(addresses, "ALWAYS_DIRECT", 8)
    learner = find_method(method).make(5, normalize="l2").start(classes=[-1, 1])
    for ids in ([3, 5], [3, 2**40]):  # never feature 0, whose position free slots name
        ones = np.ones(2, np.float32)
        block = RowBlock(np.array([0, 2]), np.array(ids), ones, np.array([1]), max(ids) + 1)
        learner.partial_fit_block(block)
    assert not learner.memory.addresses.direct
    loaded = find_method(method).load(learner.model())
    expected = learner.results.selection()
    assert loaded.results.selection().indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize("holds_model", [True, False])
def test_large_arrays_grow_in_place_unless_a_model_holds_them(
    monkeypatch: pytest.MonkeyPatch, holds_model: bool
) -> None:
    monkeypatch.setattr("streamsieve.selectors.rows.memory.STRETCHED_BYTES", 1)
    X, y = sparse_stream()
    selector = ss.SOFS(7).fit(X, y)
    held = selector.model().arrays["state.cells"] if holds_model else None
    before = selector.learner.memory.state.cells
    place, values = id(before), before.copy()
    del before
    selector.learner.memory.width = 100_000
    selector.learner.memory.grow(selector.learner.memory.width)
    grown = selector.learner.memory.state.cells
    assert len(grown) == 100_000
    assert grown[: len(values)].tobytes() == values.tobytes()
    assert not grown[len(values) :].any()
    assert (id(grown) == place) is not holds_model
    if held is not None:
        assert held.tobytes() == values[: len(held)].tobytes()


def test_nothing_is_allocated_past_the_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "available_memory", lambda: 1000)
    X, y = sparse_stream(features=2000)
    with pytest.raises(ss.DataError, match=r"different features need .* more memory"):
        ss.SOFS(5).fit(X, y)


@pytest.mark.parametrize("first", [-1, 1])
def test_rows_sorted_by_class_draw_a_warning(first: int) -> None:
    X, y = sparse_stream()
    order = np.argsort(first * y)
    with pytest.warns(UserWarning, match="the class changes only 1 times in 300 rows"):
        ss.SOFS(5).fit(X[order], y[order])


def test_a_long_start_of_one_class_draws_a_warning_before_the_end() -> None:
    X, y = sparse_stream(rows=6000)
    order = np.argsort(y, kind="stable")
    blocks = ss.sources.arrays.ArraySource(X[order], y[order], block_rows=100).row_blocks()
    selector = ss.SOFS(5).start()
    for _ in range(19):
        selector.partial_fit_block(next(blocks))
    with pytest.warns(UserWarning, match=r"the first 2,000 rows are all of class -1\.0"):
        selector.partial_fit_block(next(blocks))


def test_a_third_label_of_a_stream_is_an_error_that_names_the_cure(tmp_path: Path) -> None:
    path = write(tmp_path, "1 1:1\n2 1:2\n\n3 1:1\n")
    with pytest.raises(
        ss.DataError, match=r"rows.svm: row 3: label 3.0 is a third class .*classes="
    ):
        ss.SOFS(1).fit_source(ss.open_source(path).row_blocks())


def test_one_class_only_is_refused_with_the_file_and_the_label(tmp_path: Path) -> None:
    path = write(tmp_path, "1 1:1\n1 1:2\n")
    with pytest.raises(ss.DataError, match=r"rows.svm: all 2 rows are of one class, 1.0"):
        ss.SOFS(1).fit_source(ss.open_source(path))


def test_a_label_that_was_not_announced_is_refused() -> None:
    X, y = sparse_stream()
    selector = ss.SOFS(3).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ss.DataError, match=r"row 301: label 5.0 is not one of the classes given"):
        selector.partial_fit(X, np.full(len(y), 5.0))


def test_a_share_of_the_features_can_be_asked_for() -> None:
    X, y = sparse_stream()
    assert len(ss.SOFS(0.1).fit(X, y).selection()) == 4
    with pytest.raises(ss.UsageError, match="number of features is not known yet"):
        ss.SOFS(0.1).start()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select=0: must be"),
        ({"n_features_to_select": 1.5}, "n_features_to_select=1.5: must be"),
        ({"n_features_to_select": True}, "n_features_to_select=True: must be"),
        ({"gamma": 0}, "gamma=0: must be 'auto' or a number from 1e-90"),
        ({"gamma": float("nan")}, "gamma=nan: must be"),
        ({"criterion": "magic"}, "criterion='magic': must be 'snr' or 'confidence'"),
        ({"normalize": "l1"}, "normalize='l1': must be"),
        ({"n_epochs": 0}, "n_epochs=0: must be"),
        ({"update": "both"}, "update='both': must be"),
        ({"fit_intercept": 1}, "fit_intercept=1: must be True or False"),
        ({"class_weight": "even"}, "class_weight='even': must be 'auto', None, 'balanced'"),
        ({"forget": 0}, "forget=0: must be None or, in rows, a number from 1"),
        ({"curve": "yes"}, "curve='yes': must be True, False or a list"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, object], message: str) -> None:
    X, y = sparse_stream()
    with pytest.raises(ValueError, match=message):
        ss.SOFS(**params).fit(X, y)


def test_epochs_go_over_the_rows_again() -> None:
    X, y = sparse_stream()
    twice = ss.SOFS(7, n_epochs=2).fit(X, y)
    by_hand = ss.SOFS(7).partial_fit(X, y).partial_fit(X, y)
    assert twice.n_rows_ == 600
    assert twice.decision_function(X).tolist() == by_hand.decision_function(X).tolist()


def test_epochs_over_blocks_that_can_be_read_once_are_refused() -> None:
    X, y = sparse_stream()
    blocks = ss.sources.arrays.ArraySource(X, y).row_blocks()
    with pytest.raises(ss.UsageError, match="can be read only once"):
        ss.SOFS(7, n_epochs=2).fit_source(blocks)


def test_l2_rows_are_those_of_scikit_learn() -> None:
    from sklearn.preprocessing import normalize

    X, y = sparse_stream()
    ours = ss.SOFS(7, normalize="l2").fit(X, y)
    theirs = ss.SOFS(7).fit(normalize(X), y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(normalize(X)), rtol=1e-4
    )


def test_selection_is_ordered_scored_and_named() -> None:
    import pandas as pd

    X, y = sparse_stream()
    table = pd.DataFrame(X.toarray(), columns=[f"gene{i}" for i in range(X.shape[1])])
    selection = ss.SOFS(7).fit(table, y).selection()
    assert (np.diff(selection.indices) > 0).all()
    assert selection.names is not None
    assert selection.names.tolist() == [f"gene{i}" for i in selection.indices]
    best = selection.top(3)
    assert len(best) == 3
    assert best.scores.min() >= np.sort(selection.scores)[-3]
    assert [line["feature"] for line in selection.ranked()[:3]] == sorted(
        best.indices, key=lambda i: (-selection.scores[selection.indices == i][0], i)
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_in_memory_keep_their_names(kind: str) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    X, y = sparse_stream()
    columns = {f"c{i}": column for i, column in enumerate(X.toarray().T)}
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind](columns)
    selector = ss.SOFS(7).fit(table, y)
    plain = ss.SOFS(7).fit(X, y)
    assert selector.selection().names.tolist() == [f"c{i}" for i in plain.selection().indices]  # type: ignore[union-attr]
    assert (selector.transform(table) == plain.transform(X).toarray()).all()
    assert selector.score(table, y) == plain.score(X, y)


def test_wider_sparse_rows_are_predicted_without_what_is_unseen() -> None:
    X, y = sparse_stream()
    narrow = X.tocsc()[:, :30].tocsr()
    selector = ss.SOFS(7).fit(narrow, y)
    assert selector.predict(X).tolist() == selector.predict(narrow).tolist()
    assert (selector.transform(X) != selector.transform(narrow)).nnz == 0


def test_inverse_transform_puts_columns_back() -> None:
    X, y = sparse_stream()
    selector = ss.SOFS(7).fit(X, y)
    mask = selector.get_support()
    dense = selector.inverse_transform(selector.transform(X.toarray()))
    assert (dense[:, mask] == X.toarray()[:, mask]).all()
    assert not dense[:, ~mask].any()
    assert (selector.inverse_transform(selector.transform(X)).toarray() == dense).all()


def test_a_damaged_model_is_refused_in_plain_words(tmp_path: Path) -> None:
    X, y = sparse_stream()
    path = tmp_path / "model"
    ss.SOFS(7).fit(X, y).save(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ss.DataError, match="not a streamsieve model, or damaged"):
        ss.load(path)


def test_a_block_without_rows_teaches_nothing() -> None:
    empty = RowBlock(np.array([0]), np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0), 5)
    X, y = sparse_stream()
    selector = ss.SOFS(5).start().partial_fit_block(empty)
    for block in ss.sources.arrays.ArraySource(X, y).row_blocks():
        selector.partial_fit_block(block)
    assert (
        selector.decision_function(X).tolist() == ss.SOFS(5).fit(X, y).decision_function(X).tolist()
    )


def test_one_class_so_far_is_what_is_predicted() -> None:
    block = RowBlock(
        np.array([0, 1]), np.array([0], np.int32), np.ones(1, np.float32), np.array([7]), 1
    )
    selector = ss.SOFS(1).start(1)
    with pytest.raises(ss.DataError, match="no rows were learned yet"):
        selector.predict([[1.0]])
    assert selector.partial_fit_block(block).predict([[1.0], [-1.0]]).tolist() == [7, 7]


def test_blocks_that_would_write_past_the_arrays_are_refused() -> None:
    values = np.ones(1, np.float32)
    with pytest.raises(ss.DataError, match="1 rows with 2 labels"):
        RowBlock(np.array([0, 1]), np.array([0], np.int32), values, np.array([0, 1]), 1)
    with pytest.raises(ss.DataError, match="do not fit one another"):
        RowBlock(np.array([0, 5]), np.array([0], np.int32), values, np.array([0]), 1)
    for feature in (2_000_000_000, -3):
        with pytest.raises(ss.DataError, match="an index is negative or beyond its shape"):
            RowBlock(np.array([0, 1]), np.array([feature]), values, np.array([0]), 5)
        block = RowBlock.trusted(
            np.array([0, 1]), np.array([feature]), values.copy(), np.array([0]), 5
        )
        with pytest.raises(ss.DataError, match="below its width, 5"):
            ss.SOFS(1).start(classes=[0, 1]).partial_fit_block(block)


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [0.5, 1.5], ["a", "b"]], ids=str)
def test_labels_that_are_objects_stay_what_they_are(tmp_path: Path, labels: list[object]) -> None:
    X, y = sparse_stream()
    objects = np.array(labels, dtype=object)[(y > 0).astype(int)]
    selector = ss.SOFS(5).fit(X, objects)
    selector.save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model").partial_fit(X, objects)
    assert loaded.classes_.tolist() == labels
    assert [type(label) for label in loaded.predict(X)[:3]] == [
        type(label) for label in selector.predict(X)[:3]
    ]


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["True", "False"], [False, True]),
        (["1", "0"], ["0", "1"]),
        (["1e3", ".1"], [0.1, 1000.0]),
        (["9007199254740993", "9007199254740992"], [9007199254740992, 9007199254740993]),
    ],
)
def test_classes_given_as_text_are_read_as_the_labels_are(
    texts: list[str], labels: list[object]
) -> None:
    X, y = sparse_stream()
    record = ss.select(
        (X, np.array(labels)[(y > 0).astype(int)]), n_features_to_select=5, classes=texts
    )
    assert record.selector.classes_.tolist() == labels


def test_a_chunk_that_is_refused_changes_nothing() -> None:
    pandas = pytest.importorskip("pandas")
    table, y = pandas.DataFrame(np.eye(4), columns=list("abcd")), [0, 1, 0, 1]
    selector = ss.SOFS(2).partial_fit(table[["a", "b"]], y)
    for chunk, labels in ((table[["c", "b", "a"]], y), (np.eye(4), y), (table, [5, 6, 5, 6])):
        with pytest.raises(ValueError):
            selector.partial_fit(chunk, labels)
    selector.partial_fit(table[["a", "b"]], y)
    assert selector.n_features_in_ == 2
    assert selector.selection().names.tolist() == ["a", "b"]


def test_lists_may_grow_as_arrays_do() -> None:
    selector = (
        ss.SOFS(2).partial_fit([[1, 2], [2, 1]], [0, 1]).partial_fit([[1, 2, 3], [3, 2, 1]], [0, 1])
    )
    assert selector.n_features_in_ == 3


def test_rows_are_measured_with_their_unseen_features() -> None:
    X, y = sparse_stream()
    width = X.shape[1] // 2
    selector = ss.SOFS(5, normalize="l2").fit(X.tocsr()[:, :width], y)
    block = next(ss.sources.arrays.ArraySource(X).row_blocks())
    assert (
        selector.decision_function(X).tolist()
        == selector.learner.results.predictor().score(block).tolist()
    )


def test_scores_are_finite_whatever_the_values(tmp_path: Path) -> None:
    path = write(tmp_path, "1 1:3e38 2:1\n-1 1:3e38\n")
    assert np.isfinite(ss.SOFS(2).fit_source(ss.open_source(path)).selection().scores).all()


def test_a_search_with_numpy_numbers_can_be_saved(tmp_path: Path) -> None:
    X, y = sparse_stream()
    selector = ss.SOFS(np.int64(3), gamma=np.float32(0.5)).fit(X, y)
    selector.save(tmp_path / "model")
    assert ss.load(tmp_path / "model").get_params()["gamma"] == 0.5
