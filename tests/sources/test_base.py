"""The contract of sources, with plain blocks and objects of other libraries."""

from __future__ import annotations

import numpy as np
import pytest

import streamsieve as ss
from streamsieve.blocks import RowBlock, columns_of, dense_block
from streamsieve.sources import open_source
from streamsieve.sources.base import (
    BlockSource,
    ColumnBlockSource,
    ColumnSource,
    DataSource,
    Source,
    as_row_source,
)
from streamsieve.sources.columns import as_column_source

X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0], [5.0, 0.0, 0.0]])
Y = np.array([1, 0, 1])


def row_blocks() -> list[RowBlock]:
    return [dense_block(X[:2], Y[:2]), dense_block(X[2:], Y[2:])]


def test_the_contracts_cannot_be_left_incomplete():
    for kind in (DataSource, Source, ColumnSource):
        with pytest.raises(TypeError, match="abstract"):
            kind("rows")


def test_a_list_of_blocks_can_be_read_again_and_a_generator_cannot():
    source = BlockSource(row_blocks())
    assert source.rewindable
    for _ in range(2):
        np.testing.assert_array_equal(
            np.concatenate([block.to_dense() for block in source.row_blocks()]), X
        )
    assert source.targets().tolist() == [1, 0, 1]
    assert not BlockSource(block for block in row_blocks()).rewindable
    assert ColumnBlockSource([columns_of(X)], Y).rewindable
    assert not ColumnBlockSource(iter([columns_of(X)]), Y).rewindable


def test_values_that_are_not_finite_are_refused_at_the_edge():
    bad = dense_block(np.array([[1.0, np.nan]]), np.array([1]))
    source = BlockSource([*row_blocks(), bad])
    with pytest.raises(ss.DataError, match=r"row 4: the value of feature 1 is missing \(NaN\)"):
        list(source.row_blocks())
    assert np.isnan(list(source.row_blocks("keep"))[-1].values[1])


@pytest.mark.parametrize("nothing", [[], [dense_block(X[:0], Y[:0])]])
def test_no_rows_are_refused(nothing):
    with pytest.raises(ss.DataError, match="blocks: holds no rows"):
        list(BlockSource(nothing).row_blocks())
    with pytest.raises(ss.DataError, match="blocks: holds no rows"):
        as_column_source(BlockSource(nothing))


def test_columns_come_from_rows_and_rows_are_not_guessed_from_columns():
    columns = as_column_source(BlockSource(row_blocks()))
    assert isinstance(columns, ColumnSource)
    assert columns.matrix.toarray().tolist() == X.tolist()
    assert as_column_source(columns) is columns
    with pytest.raises(ss.UsageError, match="expected rows, got columns"):
        as_row_source(columns)


def test_reading_rows_to_transpose_is_reported():
    seen = []
    as_column_source(BlockSource(row_blocks(), n_features=3), lambda *now: seen.append(now))
    assert seen == [("rows read", 2, None), ("rows read", 3, None)]


def test_what_is_known_of_a_source_is_declared(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n1,2,0\n3,4,1\n")
    table, pair = open_source(path, "y"), open_source((X, Y))
    assert (table.facts.takes_target, table.facts.target, table.has_names, table.has_labels) == (
        True,
        "y",
        True,
        True,
    )
    assert (pair.facts.takes_target, pair.facts.target, pair.has_names, pair.has_labels) == (
        False,
        None,
        False,
        True,
    )
    assert not open_source((X, None)).has_labels
    assert not open_source(path, "z", columns=["a"]).has_labels
    assert table.matrix is None
    assert pair.matrix.tolist() == X.tolist()


def test_a_source_that_cannot_be_split_says_what_to_do():
    source = BlockSource(row_blocks())
    assert source.shards(1) == [source]
    with pytest.raises(
        ss.UsageError, match="blocks: these rows cannot be split into parts; write them to a file"
    ):
        source.shards(2)
    with pytest.raises(ss.UsageError, match="cannot be split into 0 parts"):
        source.shards(0)
