"""Test rows of values by name, which are learned in fixed memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.blocks import NamedIds
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.named_rows import NamedRowSource, named_block
from tests.checks.data import sparse_stream
from tests.checks.rows import learned


def as_dictionaries(X: Any) -> list[dict[str, float]]:
    rows = zip(X.indptr, X.indptr[1:], strict=False)
    return [
        {f"w{j}": float(x) for j, x in zip(X.indices[a:b], X.data[a:b], strict=True)}
        for a, b in rows
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
    ],
)
def test_the_id_of_a_name_is_its_fnv_hash_without_the_last_bit(name: str, expected: int) -> None:
    block = named_block([{name: 1.0}])
    assert block.indices.tolist() == [expected >> 1]
    assert block.names is not None
    assert block.names.of(block.indices) == {expected >> 1: name}


def fnv(name: str) -> int:
    bits = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "surrogatepass"):
        bits = ((bits ^ byte) * 0x100000001B3) % 2**64
    return bits >> 1


@given(
    rows=st.lists(
        st.lists(st.tuples(st.text(max_size=3), st.integers(-3, 3)), max_size=6),
        min_size=1,
        max_size=5,
    )
)
def test_rows_by_name_become_blocks(rows: list[list[tuple[str, int]]]) -> None:
    block = named_block(
        [([name for name, _ in row], np.array([x for _, x in row])) for row in rows]
    )
    for row, (begin, end) in zip(
        rows, zip(block.indptr, block.indptr[1:], strict=False), strict=True
    ):
        expected: dict[int, float] = {}
        for name, x in row:
            expected[fnv(name)] = expected.get(fnv(name), 0.0) + x
        entries = dict(
            zip(block.indices[begin:end].tolist(), block.values[begin:end].tolist(), strict=True)
        )
        assert entries == {feature: x for feature, x in expected.items() if x}
        assert sorted(entries) == block.indices[begin:end].tolist()


def test_names_of_kept_features_are_kept_and_no_others(tmp_path: Path) -> None:
    X, y = sparse_stream()
    rows = as_dictionaries(X)
    whole = ss.SOFS(7, max_cells=2**16).fit(rows, y)
    names = whole.selection().names.tolist()
    assert [fnv(name) for name in names] == whole.selection().indices.tolist()
    assert sorted(whole.learner.memory.names) == whole.selection().indices.tolist()
    assert whole.get_feature_names_out().tolist() == names
    assert whole.n_features_in_ == 2**63 - 1
    by_id = ss.SOFS(7, max_cells=2**16).fit(X, y)
    assert sorted(names) == sorted(f"w{j}" for j in by_id.selection().indices)
    np.testing.assert_allclose(whole.decision_function(rows), by_id.decision_function(X), rtol=1e-4)
    columns = {f"w{j}": X.toarray()[:, j] for j in range(X.shape[1])}
    reduced = whole.transform(rows).toarray()
    np.testing.assert_array_equal(reduced, np.column_stack([columns[name] for name in names]))

    chunked = ss.SOFS(7, max_cells=2**16)
    for at in range(0, len(rows), 41):
        chunked.partial_fit(iter(rows[at : at + 41]), y[at : at + 41], classes=[-1, 1])
        assert len(chunked.learner.memory.names) <= 7
        chunked.save(tmp_path / "model")
        chunked = ss.load(tmp_path / "model")
    assert learned(chunked) == learned(whole)
    assert chunked.selection().names.tolist() == names
    pairs = [(list(row), list(row.values())) for row in rows]
    assert learned(ss.SOFS(7, max_cells=2**16).fit(pairs, y)) == learned(whole)
    assert whole.score(pairs, y) == whole.score(rows, y) > 0.8
    assert whole.predict(iter(rows)).tolist() == whole.predict(rows).tolist()


def test_a_number_of_features_chosen_by_itself_has_names_too(tmp_path: Path) -> None:
    """Test a number of features chosen by ``"auto"``.

    One of the small learners of the curve may be chosen, which keep features that the main one does
    not.
    """
    X, _ = sparse_stream(rows=900)
    y = np.where(X.toarray()[:, 3] > 0, 1, -1)
    rows = as_dictionaries(X)
    selector = ss.SOFS("auto", max_cells=16, curve=[1, 3, 10, 30])
    for at in range(0, len(rows), 100):
        selector.partial_fit(rows[at : at + 100], y[at : at + 100], classes=[-1, 1])
        selector.save(tmp_path / "model")
        selector = ss.load(tmp_path / "model")
    selection = selector.selection()
    assert len(selection) == selector.n_features_selected_ < 30
    assert [fnv(name) for name in selection.names] == selection.indices.tolist()
    assert len(selector.learner.memory.names) <= 1 + 2 + 5 + 10 + 20 + 30
    whole = ss.SOFS("auto", max_cells=16, curve=[1, 3, 10, 30]).fit(rows, y)
    assert learned(whole) == learned(selector)
    assert whole.score(rows, y) > 0.8


def test_names_may_be_empty_or_of_any_script(tmp_path: Path) -> None:
    rows = [{"": 1.0, "ü": 2.0}, {"": -1.0, "数": 1.0}] * 5
    selector = ss.SOFS(3, max_cells=64).fit(rows, ["a", "b"] * 5)
    assert set(selector.selection().names) == {"", "ü", "数"}
    selector.save(tmp_path / "model")
    assert set(ss.load(tmp_path / "model").selection().names) == {"", "ü", "数"}


def test_numbers_are_learned_from_rows_by_name(tmp_path: Path) -> None:
    X, y = sparse_stream("numbers")
    rows = as_dictionaries(X)
    whole = ss.SOFSRegressor(7, max_cells=2**16).fit(rows, y)
    chunked = ss.SOFSRegressor(7, max_cells=2**16)
    for at in range(0, len(rows), 11):  # the first rows are learned again and again
        chunked.partial_fit(rows[at : at + 11], y[at : at + 11])
        chunked.save(tmp_path / "model")
        chunked = ss.load(tmp_path / "model")
    assert learned(chunked) == learned(whole)
    assert chunked.selection().names.tolist() == whole.selection().names.tolist()
    assert sorted(whole.learner.memory.names) == whole.selection().indices.tolist()
    by_id = ss.SOFSRegressor(7, max_cells=2**16).fit(X, y)
    assert sorted(whole.selection().names) == sorted(f"w{j}" for j in by_id.selection().indices)
    np.testing.assert_allclose(whole.predict(rows), by_id.predict(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(whole.score(rows, y), by_id.score(X, y), rtol=1e-4)


def test_weights_of_rows_by_name_count() -> None:
    X, y = sparse_stream()
    rows, weights = as_dictionaries(X), np.tile([1.0, 0.0, 2.0], len(y) // 3)
    counted = [row for row, weight in zip(rows, weights, strict=True) if weight]
    weighted = ss.SOFS(7, max_cells=64).fit(rows, y, sample_weight=weights)
    without = ss.SOFS(7, max_cells=64).fit(
        counted, y[weights > 0], sample_weight=weights[weights > 0]
    )
    assert learned(weighted) == learned(without)


def test_rows_by_name_come_from_a_generator_once() -> None:
    X, y = sparse_stream()
    rows = as_dictionaries(X)

    def generated() -> Iterator[dict[str, float]]:
        yield from rows

    assert learned(ss.SOFS(7, max_cells=64).fit(generated(), y)) == learned(
        ss.SOFS(7, max_cells=64).fit(rows, y)
    )
    ss.SOFS(7, max_cells=64, n_epochs=2).fit(rows, y)
    with pytest.raises(ss.UsageError, match="can be read only once"):
        ss.SOFS(7, max_cells=64, n_epochs=2).fit(generated(), y)
    source = NamedRowSource(rows, y)
    assert learned(ss.SOFS(7, max_cells=64).fit_source(source)) == learned(
        ss.SOFS(7, max_cells=64).fit(rows, y)
    )


def test_of_two_names_with_one_id_the_first_is_kept() -> None:
    names = NamedIds(np.array([5, 7, 5]), ["a", "b", "c"])
    assert names.of(np.array([5, 9])) == {5: "a"}
    assert names.of(np.empty(0, np.int64)) == {}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1}, {"b": "London"}], "row 2: the value of 'b' is 'London', which is not a number"),
        ([{"a": 1}, {"b": None}], "row 2: the value of 'b' is 'None', which is not a number"),
        (
            [{"a": 1}, {"b": [1, 2]}],
            "row 2: the value of 'b' is '\\[1, 2\\]', which is not a number",
        ),
        (
            [{"a": 1}, {"b": float("inf")}],
            "row 2: the value of 'b' is infinite, or too large for float32",
        ),
        ([{"a": 1}, {"b": float("nan")}], "row 2: the value of 'b' is missing"),
        (
            [{"a": 1}, {"b": 10**400}],
            "row 2: the value of 'b' is infinite, or too large for float32",
        ),
        ([{"a": 1}, {3: 1.0}], "row 2: the name 3 is not a text"),
        (
            [{"a": 1}, 5],
            "row 2: must be a dictionary of values by name, or a pair of names and values",
        ),
        ([{"a": 1}, (["a", "b"], [1.0])], "row 2: has 2 names and 1 values"),
        ([{"a": 1}], "1 rows but 2 labels"),
        ([{"a": 1}] * 3, "there are more rows than labels, 2"),
    ],
)
def test_bad_rows_by_name_are_named(rows: list[Any], message: str) -> None:
    with pytest.raises(ss.DataError, match=message):
        ss.SOFS(2, max_cells=8).fit(rows, [0, 1])
    started = ss.SOFS(2, max_cells=8)
    with pytest.raises(ss.DataError, match=message):
        started.partial_fit(rows, [0, 1])
    with pytest.raises(ss.DataError, match="has shape"):
        ss.SOFS(2, max_cells=8).fit([{"a": 1}, {"b": 1}], [0, 1], sample_weight=[1.0])


def test_names_and_ids_do_not_mix() -> None:
    X, y = sparse_stream()
    rows = as_dictionaries(X)
    with pytest.raises(
        ss.UsageError,
        match="or convert the rows to a matrix with scikit-learn's FeatureHasher",
    ):
        ss.SOFS(7).fit(rows, y)
    with pytest.raises(ss.UsageError, match="set max_cells"):
        ss.SOFS(7).start(classes=[-1, 1]).partial_fit_block(named_block(rows).derived(y=y))
    by_id, by_name = ss.SOFS(7, max_cells=64).fit(X, y), ss.SOFS(7, max_cells=64).fit(rows, y)
    with pytest.raises(
        ss.UsageError, match="X has rows by name, but the estimator learned rows by id"
    ):
        by_id.predict(rows)
    with pytest.raises(ss.UsageError, match="all rows with names or all with ids"):
        by_id.partial_fit(rows, y)
    with pytest.raises(ss.UsageError, match="all rows with names or all with ids"):
        by_name.partial_fit_block(next(iter(ArraySource(X, y).row_blocks())))
    with pytest.raises(ValueError, match="features"):
        by_name.predict(X)
