"""Blocks, targets and columns made by hand that are rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamsieve as ss
from streamsieve import DataError, UsageError
from streamsieve.blocks import ColumnBlock, RowBlock, columns_of, dense_block
from streamsieve.registry import find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from streamsieve.training import train

X = np.random.default_rng(0).standard_normal((20, 4))
Y = np.tile([0, 1], 10)


def test_a_label_per_row() -> None:
    with pytest.raises(DataError, match="a block of 2 rows with 3 labels"):
        RowBlock(np.array([0, 1, 1]), np.array([0]), np.ones(1, np.float32), np.array([0, 1, 1]), 1)
    with pytest.raises(DataError, match="one label per row, got an array of 2 dimension"):
        ArraySource(X, np.tile(Y[:, None], 2))


def test_labels_and_weights_of_a_block_may_be_lists() -> None:
    given = {"y": ["no", "yes"], "sample_weight": [1, 2]}
    block = RowBlock([0, 1, 1], [0], [1.0], n_features=1, **given)  # type: ignore[arg-type]
    learner = ss.PET(1).start().partial_fit_block(block)
    assert learner.learner.memory.target.labels.classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize("name", ["y", "sample_weight"])
@pytest.mark.parametrize("values", [[[0], [1]], "no"])
def test_labels_and_weights_of_another_shape_are_refused(name: str, values: Any) -> None:
    given = {"y": np.array([0, 1]), name: values}
    with pytest.raises(
        DataError, match=r"with (labels|weights) of shape \(.*\); expected one per row"
    ):
        RowBlock(np.array([0, 1, 1]), np.array([0]), np.ones(1, np.float32), n_features=1, **given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ss.FOFS(3, attributes="random", normalize=False, random_state=0),
        lambda: ss.SOFS(3, normalize="standard"),
    ],
)
def test_entries_before_the_first_row_of_a_block_and_after_the_last_do_not_count(make: Any) -> None:
    whole = dense_block(np.vstack([X, X, X]), None)
    block = RowBlock(whole.indptr[20:41], whole.indices, whole.values, Y, 4, dense=True)
    assert block.indptr[0] == 0
    assert block.values.size == block.indices.size == block.indptr[-1] == X.size
    expected = whole.rows(20, 40).with_target(Y, None)
    model, expected_model = (
        make().start(4, classes=[0, 1]).partial_fit_block(given).model()
        for given in (block, expected)
    )
    assert all(
        model.arrays[name].tobytes() == array.tobytes()
        for name, array in expected_model.arrays.items()
    )


def test_entries_before_the_first_column_of_a_block_and_after_the_last_do_not_count() -> None:
    whole = columns_of(X)
    part = ColumnBlock(whole.indptr[1:3], whole.indices, whole.values, np.array([1]), 20)
    assert part.indptr.tolist() == [0, 20]
    assert part.indices.tolist() == list(range(20))
    assert part.values.tolist() == X[:, 1].tolist()


def test_an_id_a_name_and_a_group_per_column() -> None:
    for fields in (
        {"ids": np.arange(3)},
        {"names": np.array(["a"], object)},
        {"groups": np.arange(5)},
    ):
        with pytest.raises(DataError, match=r"a block of 4 columns with \d ids, names or groups"):
            columns_of(X, **fields)


def test_a_matrix_has_columns() -> None:
    with pytest.raises(DataError, match="the data has no columns"):
        ArraySource(X[:, :0], Y)


def test_learners_of_columns_start_with_a_target_alone() -> None:
    with pytest.raises(UsageError, match="saola measures columns against a target; start with y="):
        ss.SAOLA().start()
    with pytest.raises(UsageError, match="takes the classes from the target; omit classes"):
        ss.SAOLA().start(classes=[0, 1], y=Y)


def test_ids_of_columns_are_not_negative() -> None:
    block = columns_of(X, ids=np.arange(-1, 3))
    with pytest.raises(DataError, match="feature id -1 is negative; ids start at 0"):
        ss.SAOLA().start(y=Y).partial_fit_block(block)


def test_further_columns_have_the_target_of_the_first() -> None:
    selector = ss.SAOLA().partial_fit_columns(X[:, :2], Y)
    with pytest.raises(DataError, match="the target differs from that of the first columns"):
        selector.partial_fit_columns(X[:, 2:], 1 - Y)


@pytest.mark.parametrize("method", ["pet", "saola"])
def test_data_shorter_than_what_was_learned_is_not_gone_on_with(method: str) -> None:
    learner: Any = find_method(method).make()
    train(learner, ArraySource(X, Y))
    shorter = ArraySource(X[:5], Y[:5]) if method == "pet" else ArraySource(X[:, :2], Y)
    with pytest.raises(
        DataError, match=r"has \d (rows|features), but the checkpoint was written after (20|4)"
    ):
        train(learner, shorter, y=Y)


def test_labels_of_a_table_keep_the_type_of_the_first(tmp_path: Path) -> None:
    first, other = dense_block(X, Y), dense_block(X, np.where(Y, "yes", "no"))
    many = [first] * (1 << 12)  # more than one block of the file
    with pytest.raises(DataError, match="the first rows hold other types than later ones"):
        write_rows(tmp_path / "rows.parquet", [*many, other], n_features=4)
    assert not list(tmp_path.iterdir())


def test_a_label_in_a_table_is_a_number_or_a_text(tmp_path: Path) -> None:
    table = pa.table({"a": [1.0, 2.0], "y": pa.array([b"\xff\xfe", b"\x00"], pa.binary())})
    with (
        pa.OSFile(str(tmp_path / "table.arrow"), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)
    with pytest.raises(
        DataError, match="the target 'y' holds binary values; labels must be numbers or text"
    ):
        list(ss.open_source(tmp_path / "table.arrow", target="y").row_blocks())


@pytest.mark.parametrize("method", ["sofs", "pet", "arow", "ogd"])
def test_labels_that_are_refused_do_not_swap_the_classes(method: str) -> None:
    learner: Any = find_method(method).make(2).start()
    learner.partial_fit_block(dense_block(X[:6], np.ones(6, int)))
    before = learner.model().to_bytes()
    with pytest.raises(DataError, match="row 9: label 7 is a third class beside 1 and 5"):
        learner.partial_fit_block(dense_block(X[:5], np.array([1, 5, 7, 5, 1])))
    assert learner.model().to_bytes() == before
    assert learner.results.classes_.tolist() == [1]


def test_weights_that_are_refused_do_not_swap_the_classes() -> None:
    learner = ss.PET(2, class_weight={1: 2.0, 5: 1e6}).start()
    learner.partial_fit_block(dense_block(X[:6], np.ones(6, int)))
    before = learner.model().to_bytes()
    heavy = dense_block(X[:2], np.array([1, 5])).derived(sample_weight=np.array([1.0, 1e12]))
    with pytest.raises(DataError, match=r"row 8: .* times the class_weight of 5 is 1e\+18"):
        learner.partial_fit_block(heavy)
    assert learner.model().to_bytes() == before


@pytest.mark.parametrize("by_name", [False, True])
def test_a_first_call_that_is_refused_can_be_corrected(by_name: bool) -> None:
    rows: Any = [{"a": 1.0, "b": float(k)} for k in range(20)] if by_name else X
    given = {"max_cells": 64, "normalize": False} if by_name else {}
    selector = ss.SOFS(2, **given)
    labels = np.where(np.arange(20) == 3, 2, Y)
    with pytest.raises(DataError, match="row 4: label 2 is not one of the classes given"):
        selector.partial_fit(rows, labels, classes=[0, 1])
    assert not hasattr(selector, "n_rows_")
    corrected = selector.partial_fit(rows, labels, classes=[0, 1, 2])
    expected = ss.SOFS(2, **given).partial_fit(rows, labels, classes=[0, 1, 2])
    assert corrected.selection().indices.tolist() == expected.selection().indices.tolist()
    assert corrected.selection().scores.tolist() == expected.selection().scores.tolist()


def test_a_label_in_the_last_rows_of_a_call_is_refused_before_the_first_are_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selector = ss.SOFS(2, normalize=False).partial_fit(X, Y)
    before = selector.model().to_bytes()
    monkeypatch.setattr("streamsieve.sources.arrays.BLOCK_VALUES", 8)
    monkeypatch.setattr("streamsieve.estimators.rows.small_block", lambda *_: None)
    with pytest.raises(DataError, match="row 40: label 2"):
        selector.partial_fit(X, np.where(np.arange(20) == 19, 2, Y))
    assert selector.model().to_bytes() == before


COLUMN_SELECTORS = [
    ss.SAOLA,
    ss.GroupSAOLA,
    ss.OGFS,
    ss.AlphaInvesting,
    ss.OSFS,
    ss.FastOSFS,
    ss.FCBF,
    ss.MRMR,
    ss.IAMB,
    ss.MMMB,
]


def noisy_copies(count: int, rows: int = 300) -> tuple[Any, Any]:
    """Return relevant columns that differ, and their target."""
    random = np.random.default_rng(1)
    y = random.integers(0, 2, rows)
    return y[:, None] + random.standard_normal((rows, count)), y


@pytest.mark.parametrize("estimator", COLUMN_SELECTORS)
def test_features_that_come_twice_are_refused_and_leave_no_trace(estimator: Any) -> None:
    columns, y = noisy_copies(5)
    selector = estimator().partial_fit_columns(columns[:, :2], y, feature_ids=[1, 2])
    before = selector.model().to_bytes()
    held = int(selector.learner.remembered()[0])
    with pytest.raises(
        DataError, match=rf"feature {held} appears twice; give every feature a different id"
    ):
        selector.partial_fit_columns(columns[:, 2:], feature_ids=[7, held, 8])
    with pytest.raises(DataError, match="feature 7 appears twice"):
        selector.partial_fit_columns(columns[:, 2:], feature_ids=[7, 8, 7])
    assert selector.model().to_bytes() == before
    selector.partial_fit_columns(columns[:, 2:], feature_ids=[7, 9, 8])
    assert type(selector).method.load(selector.model()).results.n_features_seen_ == 5


@pytest.mark.parametrize(
    "make", [lambda: ss.GroupSAOLA(bound="max"), lambda: ss.OGFS(epsilon=0.0, regularization=1e-6)]
)
@pytest.mark.parametrize(
    "groups", [[3] * 12 + [4] * 16 + [3], [3] * 12 + [4] * 8 + [5] * 8 + [4], [1] + [3] * 28]
)
def test_refused_groups_leave_no_trace(make: Any, groups: list[int]) -> None:
    columns, y = noisy_copies(31)
    selector = make().partial_fit_columns(columns[:, :2], y, groups=[1, 2])
    before = selector.model().to_bytes()
    with pytest.raises(DataError, match=r"group \d appears in two parts"):
        selector.partial_fit_columns(columns[:, 2:], groups=groups)
    assert selector.model().to_bytes() == before
    selector.partial_fit_columns(columns[:, 2:], groups=[2] * 20 + [3] * 9)
    assert len(selector.selection()) > 16


@pytest.mark.parametrize(
    "make", [lambda: ss.SAOLA(bound="max"), lambda: ss.OGFS(epsilon=0.0, regularization=1e-6)]
)
def test_a_selection_that_outgrows_the_memory_can_still_be_read(
    monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    columns, y = noisy_copies(60)
    selector = make().start(y=y)
    granted = [True]

    def refuse(*_: Any) -> None:
        if not granted:
            raise DataError("no memory")
        granted.pop()

    monkeypatch.setattr("streamsieve.selectors.columns.rules.refuse_beyond_memory", refuse)
    with pytest.raises(DataError, match="no memory"):
        selector.partial_fit_columns(columns)
    assert selector.learner.memory.state.ids.size == 32
    assert len(selector.selection()) == 32


@pytest.mark.parametrize(
    "make",
    [
        lambda: ss.RandomSelection(3, random_state=0),
        lambda: ss.OFSPartial(3, random_state=0),
        lambda: ss.FOFS(3, attributes="random", random_state=0),
    ],
)
def test_methods_that_draw_from_all_features_refuse_rows_with_more(make: Any) -> None:
    """They wrote beyond their arrays, which ended the process."""
    random = np.random.default_rng(0)
    wide = random.normal(size=(50, 2000))
    y = (wide[:, 0] > 0).astype(int)
    learner = make().start(10, classes=[0, 1])
    learner.partial_fit_block(dense_block(wide[:, :10], y))
    before = learner.model().to_bytes()
    with pytest.raises(
        DataError,
        match=r"the rows have 2,000 features, but .* was started with 10 .* n_features=2000",
    ):
        learner.partial_fit_block(dense_block(wide, y))
    assert learner.model().to_bytes() == before
