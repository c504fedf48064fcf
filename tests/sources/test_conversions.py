"""Data keeps its form as long as a method can use it: no needless conversions or checks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_array, csr_array

import streamsieve as ss
from streamsieve import blocks
from streamsieve.blocks import ColumnBlock, RowBlock, columns_of, dense_block
from streamsieve.sources import encoded_rows, synthetic, transpose
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.transpose import whole_matrix

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(0, 1, (40, 12)).astype(np.float32)
Y = np.where(X[:, 3] > 0, 1, 0)


def forbidden(*_: object, **__: object) -> None:
    raise AssertionError("a conversion that nobody needs")


def columns_in(source) -> np.ndarray:
    dense = np.zeros((source.n_rows, source.n_features))
    for block in source.column_blocks():
        for column, feature in enumerate(block.ids.tolist()):
            entries = slice(block.indptr[column], block.indptr[column + 1])
            dense[block.indices[entries], feature] = block.values[entries]
    return dense


def test_csc_is_not_made_csr_for_methods_of_columns(monkeypatch):
    matrix = csc_array(X)
    monkeypatch.setattr(csc_array, "tocsr", forbidden)
    source = ArraySource(matrix, Y)
    assert source.matrix is matrix
    assert columns_in(source).tolist() == X.tolist()
    assert all(np.shares_memory(block.indices, matrix.indices) for block in source.column_blocks())
    assert ss.SAOLA().fit(matrix, Y).selection().top(1).indices.tolist() == [3]
    assert whole_matrix(source).values is matrix


def test_csr_is_not_made_csc_for_methods_of_rows(monkeypatch):
    monkeypatch.setattr(csr_array, "tocsc", forbidden)
    blocks = list(ArraySource(csr_array(X), Y).row_blocks())
    assert np.concatenate([block.to_dense(np.float32) for block in blocks]).tolist() == X.tolist()


@pytest.mark.parametrize("form", [csr_array, csc_array])
def test_a_matrix_that_is_not_canonical_is_left_as_it_was(form):
    matrix = form(X)
    matrix.data[::3] = 0
    before = matrix.copy()
    source = ArraySource(matrix, Y)
    assert columns_in(source).tolist() == before.toarray().tolist()
    assert all(block.values.all() for block in source.column_blocks())
    assert all(block.values.all() for block in source.row_blocks())
    assert columns_of(matrix).values.all()
    for name in ("data", "indices", "indptr"):
        assert getattr(matrix, name).tolist() == getattr(before, name).tolist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_dense_table_stays_dense(tmp_path: Path, monkeypatch, suffix):
    path = tmp_path / f"table{suffix}"
    ss.sources.writers.write_rows(path, ArraySource(X, Y).row_blocks(), n_features=12, target="y")
    expected = ss.LocalLearning().fit(X, Y).selection()
    monkeypatch.setattr(encoded_rows, "dense_block", forbidden)
    seen = []
    whole = whole_matrix(ss.open_source(path, "y"), lambda *now: seen.append(now))
    assert isinstance(whole.values, np.ndarray)
    assert whole.values.tolist() == X.tolist()
    assert whole.y.tolist() == Y.tolist()
    assert seen[-1] in {("rows read", 40, None), ("features read", 12, 12)}
    assert ss.LocalLearning().fit_source(
        ss.open_source(path, "y")
    ).selection().indices.tolist() == (expected.indices.tolist())
    columns = as_column_source(ss.open_source(path, "y"))
    assert columns_in(columns).astype(np.float32).tolist() == X.tolist()


def test_the_spiral_stays_dense(monkeypatch):
    monkeypatch.setattr(synthetic, "dense_block", forbidden)
    whole = whole_matrix(ss.open_source("synthetic:spiral?features=20"))
    assert whole.values.shape == (460, 20)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_a_table_of_zeros_becomes_sparse(tmp_path: Path, suffix):
    few = X * (RANDOM.random(X.shape) < 0.2)
    path = tmp_path / f"table{suffix}"
    ss.sources.writers.write_rows(path, ArraySource(few, Y).row_blocks(), n_features=12, target="y")
    whole = whole_matrix(ss.open_source(path, "y"))
    ids = np.arange(12) if whole.ids is None else whole.ids
    assert whole.values.toarray().tolist() == few[:, ids].tolist()
    assert not np.delete(few, ids, axis=1).any()


def test_rows_that_do_not_fit_are_refused_dense_or_not(tmp_path: Path, monkeypatch):
    path = tmp_path / "table.csv"
    pd.DataFrame(X).assign(y=Y).to_csv(path, index=False)
    monkeypatch.setattr(transpose, "available_memory", lambda: 1000)
    for source in (ss.open_source(path, "y"), ss.open_source("synthetic:x1?rows=50")):
        with pytest.raises(
            ss.DataError,
            match=r"transpose them once: streamsieve convert .* columns\.parquet --columns",
        ):
            as_column_source(source)


@settings(deadline=None)
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(0, 7), st.integers(0, 7)),
        elements=st.sampled_from([0, 0, 1, -2.5]),
    )
)
def test_non_zeros_are_found_in_any_matrix(matrix):
    for form in (matrix, np.asfortranarray(matrix), matrix[::-1][::-1]):
        rows, columns = dense_block(form, None), columns_of(form)
        assert rows.to_dense(np.float32).tolist() == matrix.tolist()
        assert rows.values.all()
        result = csc_array((columns.values, columns.indices, columns.indptr), shape=matrix.shape)
        assert result.toarray().tolist() == matrix.tolist()


def test_blocks_made_of_blocks_are_not_checked_again(monkeypatch):
    rows, columns = dense_block(X, Y), columns_of(X)
    monkeypatch.setattr(blocks.RowBlock, "__post_init__", forbidden)
    monkeypatch.setattr(blocks.ColumnBlock, "__post_init__", forbidden)
    parts = [rows.rows(0, 7), rows.rows(7, 40)]
    assert RowBlock.joined(parts).to_dense(np.float32).tolist() == X.tolist()
    assert rows.derived(n_features=20).n_features == 20
    assert (
        ColumnBlock.joined([columns.columns(0, 5), columns.columns(5, 12)]).values.tolist()
        == columns.values.tolist()
    )
    for block in (
        parts[1],
        rows.derived(values=rows.values.copy()),
        columns.columns(3, 5),
        columns.without_empty(),
    ):
        assert not block.indptr.flags.writeable
        assert not block.indices.flags.writeable
        assert not block.values.flags.writeable


def test_blocks_of_unused_entries_are_joined_correctly():
    tail = RowBlock(
        np.array([0, 1]),
        np.array([2, 9], np.int32),
        np.array([5, 7], np.float32),
        np.array([1]),
        10,
    )
    both = RowBlock.joined([tail, tail])
    assert both.to_dense().tolist() == 2 * [[0, 0, 5, *[0] * 7]]
