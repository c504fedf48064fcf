"""Matrices from .npz files and from memory: rows are the same; errors say what cannot be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from streamsieve import DataError, open_source
from streamsieve.sources import arrays
from streamsieve.sources.arrays import ArraySource
from tests.effort import examples

from .reading import (
    array_refusal,
    put,
    read,
    refusal,
)


def put_npz(path: Path, matrix: Any, **members: Any) -> Path:
    csr = matrix.tocsr()
    np.savez(
        path,
        format=b"csr",
        shape=csr.shape,
        indptr=csr.indptr,
        indices=csr.indices,
        data=csr.data,
        **members,
    )
    return path


@pytest.fixture
def matrix() -> sparse.csr_array:
    return sparse.random_array(
        (30, 8), density=0.6, format="csr", random_state=np.random.default_rng(2)
    )


def test_npz_with_labels_and_names_is_read(tmp_path, matrix):
    names, y = [f"f{i}" for i in range(8)], np.arange(30)
    source = open_source(put_npz(tmp_path / "rows.npz", matrix, y=y, feature_names=names))
    assert read(source) == (matrix.astype(np.float32).toarray().tolist(), y.tolist())
    assert source.feature_names.tolist() == names


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_npz_of_save_npz_is_read_without_labels(tmp_path, matrix, form):
    sparse.save_npz(tmp_path / "rows.npz", matrix.asformat(form))
    source = open_source(tmp_path / "rows.npz")
    assert read(source) == (matrix.astype(np.float32).toarray().tolist(), [None] * 30)
    with pytest.raises(DataError, match="the rows have no labels"):
        source.targets()


@pytest.mark.parametrize("keep", [0, 3, 10, 500, -1])
def test_truncated_npz_is_named(tmp_path, matrix, keep):
    whole = put_npz(tmp_path / "rows.npz", matrix).read_bytes()
    assert "cut short" in refusal(put(tmp_path, whole[:keep], "cut.npz"), None)


def test_npz_with_rubbish_inside_is_named(tmp_path, matrix):
    sparse.save_npz(tmp_path / "rows.npz", matrix)
    whole = (tmp_path / "rows.npz").read_bytes()
    offset = whole.index(b"data.npy") + 60
    assert "not a sparse matrix" in refusal(
        put(tmp_path, whole[:offset] + b"rubbish!" + whole[offset + 8 :], "hurt.npz"), None
    )


def test_npz_of_something_else_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    assert "not a sparse matrix" in refusal(tmp_path / "other.npz", None)
    assert "not a sparse matrix" in refusal(put(tmp_path, "1 1:1\n", "text.npz"), None)


@pytest.mark.parametrize(
    "wrong", [{"indices": [2, 0]}, {"indices": [-1, 0]}, {"indptr": [0, 2, 1]}]
)
def test_npz_whose_parts_do_not_fit_is_refused(tmp_path, wrong):
    parts = {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1.0, 2.0]} | wrong
    np.savez(tmp_path / "rows.npz", format=b"csr", shape=(2, 2), **parts)
    refusal(tmp_path / "rows.npz", None)


def test_npz_with_too_few_labels_is_refused(tmp_path, matrix):
    assert "30 rows but 3 labels" in refusal(
        put_npz(tmp_path / "rows.npz", matrix, y=np.ones(3)), None
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint64, bool])
@pytest.mark.parametrize("block_rows", [None, 1, 2])
def test_numpy_array_is_read(dtype, block_rows):
    X = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 1]], dtype)
    source = ArraySource(X, ["a", "b", "c"], block_rows=block_rows)
    assert read(source) == (X.astype(float).tolist(), ["a", "b", "c"])
    assert (source.n_rows, source.n_features, source.feature_names) == (3, 3, None)


def test_pair_of_arrays_is_a_source():
    assert read(open_source(([[1, 2]], [[7]]))) == ([[1, 2]], [7])


def test_values_zero_in_float32_are_dropped():
    dense, rare = np.array([[1e-60, 1]]), sparse.csr_array(np.array([[1e-60, 1]]))
    assert read(ArraySource(dense)) == read(ArraySource(rare)) == ([[0, 1]], [None])


cells = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5])


@settings(deadline=None, max_examples=examples(200))
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1)
    )
)
def test_rows_are_all_there_however_blocks_are_cut(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK_VALUES", 3)
        y = list(range(len(rows)))
        assert read(ArraySource(np.array(rows), y)) == (rows, y)
        assert read(ArraySource(sparse.csr_array(np.array(rows)), y)) == (rows, y)


def test_empty_rows_at_the_start_of_a_sparse_matrix_are_kept():
    assert read(ArraySource(sparse.csr_array([[0], [0], [3]]), [1, 2, 3])) == (
        [[0], [0], [3]],
        [1, 2, 3],
    )


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrix_of_any_form_is_read(matrix, form, kind):
    assert (
        read(ArraySource(kind(matrix).asformat(form)))[0]
        == matrix.astype(np.float32).toarray().tolist()
    )


def test_sparse_matrix_that_is_not_canonical_is_made_so_and_left_as_it_was():
    ids, values = np.array([2, 0, 2, 1, 0, 0]), np.array([1.0, 2, 3, 0, 5, -5])
    X = sparse.csr_array((values.copy(), ids.copy(), [0, 4, 6]), shape=(2, 3))
    assert read(ArraySource(X))[0] == [[2, 0, 4], [0, 0, 0]]
    assert (X.indices.tolist(), X.data.tolist()) == (ids.tolist(), values.tolist())


TABLES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "arrow batch": pa.RecordBatch.from_pydict,
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_table_in_memory_is_read_with_its_names(make):
    source = ArraySource(make({"a": [1, 0], "b": [0.5, 2.0], "c": [True, False]}), ["no", "yes"])
    assert read(source) == ([[1, 0.5, 1], [0, 2, 0]], ["no", "yes"])
    assert source.feature_names.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_missing_value_in_memory_is_named(make):
    assert "mine: row 2: the value of column 'b' is missing" in array_refusal(
        make({"a": [1, 2], "b": [1, None]})
    )


def test_missing_value_of_a_nullable_pandas_column_is_named():
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": pd.array([1, None], dtype="Int64")})
    assert "mine: row 2: the value of column 'b' is missing" in array_refusal(frame)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_text_column_in_memory_is_named(make):
    assert re.search(
        "mine: .*column 'b'.*", array_refusal(make({"a": [1, 2], "b": ["red", "blue"]}))
    )


@pytest.mark.parametrize("X", [np.array([["1", "x"]]), np.array([[1, "x"]], object)])
def test_array_of_text_is_refused(X):
    assert array_refusal(X).startswith("mine: ")


def test_pandas_columns_that_are_not_text_give_no_names():
    assert ArraySource(pd.DataFrame([[1, 2]])).feature_names is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_value_that_is_no_float32_is_named_with_row_and_feature(make, bad):
    X = np.ones((5, 3))
    X[3, 1] = bad
    X[0] = 0
    with pytest.raises(
        DataError,
        match=r"^array: row 4: the value of feature 1 is (missing|infinite, or too large)",
    ):
        list(ArraySource(make(X), block_rows=2).row_blocks())


def test_labels_may_be_columns_of_tables():
    for y in (
        pd.Series([1, 2]),
        pl.Series([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        pd.DataFrame([1, 2]),
    ):
        assert ArraySource(np.ones((2, 1)), y).targets().tolist() == [1, 2]


def test_number_of_labels_must_be_that_of_rows():
    with pytest.raises(DataError, match="array: 2 rows but 3 labels"):
        ArraySource(np.ones((2, 1)), [1, 2, 3])


def test_array_of_one_dimension_is_refused():
    with pytest.raises(DataError, match=r"1 dimension"):
        ArraySource(np.ones(3))


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_array_without_rows_is_refused(make):
    assert "mine: holds no rows" in array_refusal(make(np.ones((0, 3))))
