"""Tables and sparse rows in Parquet and Arrow files: the same rows; errors say what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from streamsieve import DataError, UsageError, open_source
from streamsieve.sources import tables, writers

from .reading import (
    put,
    put_sparse,
    put_table,
    read,
    read_sparse,
    refusal,
    write_frame,
)


@pytest.fixture(params=[".parquet", ".arrow"])
def place(request, tmp_path) -> Path:
    return tmp_path / f"table{request.param}"


def test_columns_of_every_number_type_are_read(place):
    columns = {
        "i": pa.array([1, -2], pa.int8()),
        "u": pa.array([0, 2**64 - 1], pa.uint64()),
        "n": [1_700_000_000_123_456_789, 0],
        "f": pa.array([0.5, 0], pa.float32()),
        "h": np.array([2, 0], np.float16),
        "d": pa.array([1, 2]).cast(pa.decimal128(22, 2)),
        "t": [True, False],
        "y": pa.array(["no", "yes"]).dictionary_encode(),
    }
    source = open_source(put_table(place, columns), target="y")
    near = float(np.float32(1_700_000_000_123_456_789))
    assert read(source) == (
        [[1, 0, near, 0.5, 2, 1, 1], [-2, 2.0**64, 0, 0, 0, 2, 0]],
        ["no", "yes"],
    )
    assert source.n_rows == 2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"a": [1, None]}, ": row 6: column 'a' has no value"),
        ({"a": [1.0, np.nan]}, ": row 6: column 'a' has no value"),
        ({"a": [1.0, 1e300]}, ": row 6: the value of column 'a' is infinite, or too large"),
        ({"y": [1, None]}, ": row 6: the target 'y' has no value"),
    ],
)
def test_bad_cell_is_named_with_row_and_column(place, monkeypatch, bad, message):
    monkeypatch.setattr(tables, "BATCH_ROWS", 2)
    columns = {"a": [1.0, 1.0], "y": [1, 1]} | bad
    assert refusal(
        put_table(place, {name: column[:1] * 4 + column for name, column in columns.items()})
    ).startswith(message)


def test_column_of_spans_or_labels_of_lists_are_refused(place):
    assert "column 'a' holds time spans" in refusal(
        put_table(place, {"a": pa.array([1], pa.duration("s")), "y": [1]})
    )
    assert "the target 'y' holds records or lists" in refusal(
        put_table(place, {"a": [1], "y": [[1]]})
    )


def test_file_without_rows_is_refused(place):
    assert "holds no rows" in refusal(
        put_table(place, {"a": pa.array([], pa.int8()), "y": pa.array([], pa.int8())})
    )


@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_truncated_file_of_columns_is_named(place, tmp_path, keep):
    whole = put_table(place, {"a": np.arange(1000), "y": np.arange(1000)}).read_bytes()
    assert re.match(
        ": not an? (Parquet|Arrow) file, or cut short",
        refusal(put(tmp_path, whole[:keep], place.name)),
    )


@pytest.mark.parametrize("batch_rows", [1, 2, 4096])
def test_sparse_rows_are_read(place, monkeypatch, batch_rows):
    monkeypatch.setattr(tables, "BATCH_ROWS", batch_rows)
    metadata = {"n_features": "5", "feature_names": '["a", "b", "c", "d", "e"]'}
    path = put_sparse(
        place,
        [[], [0, 2], [], [1], []],
        [[], [1, 2], [], [3], []],
        list("uvwxy"),
        metadata=metadata,
    )
    source = open_source(path)
    assert read(source) == (
        [[0] * 5, [1, 0, 2, 0, 0], [0] * 5, [0, 3, 0, 0, 0], [0] * 5],
        list("uvwxy"),
    )
    assert source.feature_names.tolist() == ["a", "b", "c", "d", "e"]
    assert source.n_rows == 5


@pytest.mark.parametrize("id_type", [pa.int32(), pa.int64(), pa.uint32()])
def test_unsorted_ids_of_sparse_rows_are_sorted(place, id_type):
    path = put_sparse(place, [[3], [5, 1, 2]], [[1], [3, 4, 5]], [1, 2], id_type)
    assert read_sparse(path) == [[(3, 1)], [(1, 4), (2, 5), (5, 3)]]


def test_zeros_of_sparse_rows_are_dropped(place):
    path = put_sparse(place, [[0, 1], [1]], [[1, 1e-60], [0]], [1, 2], value_type=pa.float64())
    assert read_sparse(path) == [[(0, 1)], []]


@pytest.mark.parametrize("library", [pd, pl])
def test_sparse_rows_written_by_pandas_and_polars_are_read(place, library):
    frame = library.DataFrame(
        {"label": ["a", "b"], "indices": [[1, 5_000_000_000], [2]], "values": [[1.0, 2], [3.0]]}
    )
    write_frame(frame, place)
    assert open_source(place).targets().tolist() == ["a", "b"]
    assert read_sparse(place) == [[(1, 1), (5_000_000_000, 2)], [(2, 3)]]


@pytest.mark.parametrize(
    ("ids", "values", "types", "message"),
    [
        ([[0], [5, 5]], [[1], [3, 4]], {}, ": row 2: feature 5 appears twice"),
        ([[0], [5, 1, 5]], [[1], [3, 4, 0]], {}, ": row 2: feature 5 appears twice"),
        ([[0], [-1]], [[1], [3]], {}, ": a negative feature id"),
        ([[0], [1, 2]], [[1], [3]], {}, ": .*differ in length"),
        ([[0], None], [[1], None], {}, ": "),
        ([[0], [1, None]], [[1], [3, 4]], {}, ": "),
        ([[0], [1, 2]], [[1], [3, None]], {}, ": "),
        ([[0], [1.5]], [[1], [3]], {"id_type": pa.float64()}, ": "),
        ([[0], [1]], [["1"], ["3"]], {"value_type": pa.string()}, ": "),
        ([[0], [1, 2]], [[1], [3, np.nan]], {}, ": row 2: the value of feature 2 is missing"),
        (
            [[0], [1]],
            [[1], [1e300]],
            {"value_type": pa.float64()},
            ": row 2: .*too large for float32",
        ),
    ],
)
def test_fault_of_sparse_rows_is_named(place, ids, values, types, message):
    assert re.match(message, refusal(put_sparse(place, ids, values, [1, 2], **types), None))


def test_sparse_row_without_a_label_is_refused(place):
    assert "row 2: the target 'label' has no value" in refusal(
        put_sparse(place, [[0]] * 2, [[1]] * 2, [1, None]), None
    )


def test_target_is_not_for_sparse_rows(place):
    with pytest.raises(UsageError, match="target column is for tables"):
        open_source(put_sparse(place, [[0]], [[1]], [1]), target="label")


def test_table_with_the_names_of_sparse_rows_is_a_table(place):
    path = put_table(place, {"label": [1, 2], "indices": [3, 4], "values": [5, 6]})
    assert read(open_source(path, target="label")) == ([[3, 5], [4, 6]], [1, 2])


def test_sparse_rows_may_have_other_columns_and_no_labels(place):
    columns = {"id": [7, 8], "values": [[1.0, 2.0], [3.0]], "indices": [[0, 4], [2]]}
    source = open_source(put_table(place, columns))
    assert [block.y for block in source.row_blocks()] == [None]
    assert read_sparse(place) == [[(0, 1), (4, 2)], [(2, 3)]]
    with pytest.raises(DataError, match="the rows have no labels"):
        source.targets()


@pytest.mark.parametrize("value_type", [pa.int8(), pa.uint64(), pa.float16(), pa.float64()])
@pytest.mark.parametrize("id_type", [pa.int8(), pa.uint64()])
def test_lists_of_every_number_type_are_read(place, id_type, value_type):
    values = [np.array(row, value_type.to_pandas_dtype()) for row in ([1, 2], [3])]
    assert read_sparse(put_sparse(place, [[1, 2], [0]], values, [1, 2], id_type, value_type)) == [
        [(1, 1), (2, 2)],
        [(0, 3)],
    ]


def test_long_offsets_and_short_ones_fit_each_other(place):
    long, short = pa.array([[1], [2, 3]], pa.large_list(pa.int32())), pa.array([[1.0], [2.0, 3.0]])
    put_table(place, {"label": [1, 2], "indices": long, "values": short})
    assert read_sparse(place) == [[(1, 1)], [(2, 2), (3, 3)]]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"n_features": "2"}, r": row 3: feature 2 in a file of 2 features"),
        ({"n_features": "many"}, r": its metadata cannot be read"),
        ({"feature_names": "a, b"}, r": its metadata cannot be read"),
        (
            {"n_features": "4", "feature_names": '["a", "b", "c"]'},
            r": its metadata has 3 names for 4 features",
        ),
    ],
)
def test_metadata_that_cannot_be_is_refused(place, metadata, message):
    put_sparse(place, [[0], [], [1, 2]], [[1], [], [1, 2]], [1, 2, 1], metadata=metadata)
    assert re.match(message, refusal(place, None))


@pytest.mark.parametrize("index", [10**17 + 1, 2**63 + 5])
def test_id_that_is_too_large_is_refused(place, index):
    put_sparse(place, [[0], [index]], [[1], [1]], [1, 2], pa.uint64())
    assert refusal(place, None).startswith(f": feature id {index} is too large")


def test_wide_rows_come_in_small_blocks(place, monkeypatch):
    monkeypatch.setattr(writers, "BLOCK_NONZEROS", 10)
    rows = [list(range(n)) for n in (4, 0, 6, 1, 30, 2, 0)]
    put_sparse(place, rows, [[1] * len(row) for row in rows], [0] * 7)
    assert max(block.n_nonzero for block in open_source(place).row_blocks()) == 30
    assert [len(row) for row in read_sparse(place)] == [4, 0, 6, 1, 30, 2, 0]


@pytest.mark.parametrize("target", ["y", None])
def test_bytes_read_ends_at_the_size_of_the_columns(place, monkeypatch, target):
    monkeypatch.setattr(tables, "BATCH_ROWS", 3)
    if target:
        put_table(place, {"a": np.arange(10), "y": np.arange(10)})
    else:
        put_sparse(place, [[1]] * 10, [[1]] * 10, [1] * 10)
    source = open_source(place, target=target)
    seen = [source.bytes_read for _ in source.row_blocks()]
    assert seen == sorted(seen)
    assert len(seen) == 4
    assert source.bytes_read == source.facts.n_bytes == place.stat().st_size
    assert source.n_rows == 10
