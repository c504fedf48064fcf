"""Tables and matrices, from files and from memory: the same rows, and a plain word about what cannot be used."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from streamsieve import DataError, Source, UsageError, open_source
from streamsieve.sources import arrays, delimited, parquet, sparse_lists, tables
from streamsieve.sources.arrays import ArraySource

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def read(source: Source) -> tuple[list[list[float]], list[Any]]:
    """The rows with their zeros, and the labels; each block is checked against what a RowBlock promises."""
    rows: list[list[float]] = []
    labels: list[Any] = []
    for block in source.row_blocks():
        assert block.values.dtype == np.float32
        assert block.indices.dtype in (np.int32, np.int64)
        assert block.values.all()
        assert block.n_features == source.n_features
        matrix = np.zeros((block.n_rows, block.n_features), np.float32)
        for row in range(block.n_rows):
            ids = block.indices[block.indptr[row] : block.indptr[row + 1]]
            assert (np.diff(ids) > 0).all()
            matrix[row, ids] = block.values[block.indptr[row] : block.indptr[row + 1]]
        rows += matrix.tolist()
        labels += [None] * block.n_rows if block.y is None else block.y.tolist()
    return rows, labels


def put(folder: Path, data: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(path: Path, target: str | None = "y", **options) -> str:
    """What is said about a file, which is always named first."""
    with pytest.raises(DataError) as caught:
        read(open_source(path, target=target, **options))
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path))


def array_refusal(X: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(ArraySource(X, name="mine"))
    return str(caught.value)


# Delimited text


def small_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(delimited, "FIRST_BYTES", size)
    monkeypatch.setattr(delimited, "CHUNK_BYTES", size)


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".tab", "\t")])
def test_delimited_text_is_read_plain_and_compressed(tmp_path, suffix, delimiter, compression):
    text = "a,y,b\n1,0,2.5\n0,1,-3e2\n.5,1,0\n".replace(",", delimiter)
    source = open_source(put(tmp_path, COMPRESS[compression](text.encode()), f"table{suffix}{compression}"), target="y")
    assert read(source) == ([[1, 2.5], [0, -300], [0.5, 0]], [0, 1, 1])
    assert source.feature_names.tolist() == ["a", "b"]
    assert source.n_features == 2
    assert source.targets().tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "a,b,y\r\n1,2,3\r\n\r\n4,5,6\r\n",
        "a,b,y\n1,2,3\n\n4,5,6",
        "\ufeffa,b,y\n1,2,3\n4,5,6\n",
        '"a",b,"y"\n1, 2,3\n4,"5",6\n',
    ],
)
def test_dialects_of_csv_are_read(tmp_path, text):
    source = open_source(put(tmp_path, text), target="y")
    assert read(source) == ([[1, 2], [4, 5]], [3, 6])
    assert source.feature_names.tolist() == ["a", "b"]


def test_names_and_labels_may_hold_the_delimiter(tmp_path):
    source = open_source(put(tmp_path, '"a,b","the ""y"""\n1,"no, never"\n2,yes\n'), target='the "y"')
    assert read(source) == ([[1], [2]], ["no, never", "yes"])
    assert source.feature_names.tolist() == ["a,b"]


def test_labels_may_be_text(tmp_path):
    assert read(open_source(put(tmp_path, "y,a\nspam,1\nham,2\n"), target="y"))[1] == ["spam", "ham"]


def test_values_are_the_nearest_float32(tmp_path):
    path = put(tmp_path, "a,y\n0.1,0\n1.00000005960464477539,0\n1e-60,0\n")
    assert read(open_source(path, target="y"))[0] == [[float(np.float32(0.1))], [1], [0]]


def test_whole_numbers_may_become_fractions_in_a_later_block(tmp_path, monkeypatch):
    small_chunks(monkeypatch, 256)
    path = put(tmp_path, "a,y\n" + "1,0\n" * 500 + "2.5,1\n" * 500)
    assert len(list(open_source(path, target="y").row_blocks())) > 5
    assert read(open_source(path, target="y")) == ([[1]] * 500 + [[2.5]] * 500, [0] * 500 + [1] * 500)


@pytest.mark.parametrize("late", ["0.5", "maybe"])
def test_labels_that_change_their_kind_in_a_later_block_are_refused(tmp_path, monkeypatch, late):
    small_chunks(monkeypatch, 256)
    assert "the target must hold" in refusal(put(tmp_path, "a,y\n" + "1,0\n" * 500 + f"2,{late}\n"))


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("block_bytes", [256, 1 << 20])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2", "2 values for 3 columns"),
        ("1,2,3,4", "4 values for 3 columns"),
        ("1,red,3", "column 'b' is 'red', not a number"),
        ("1,true,3", "column 'b' is 'true', not a number"),
        ("1,1_000,3", "column 'b' is '1_000', not a number"),
    ],
)
def test_fault_in_a_line_is_named_with_its_number(tmp_path, monkeypatch, compression, block_bytes, line, message):
    small_chunks(monkeypatch, block_bytes)
    text = "a,b,y\n" + "1,2,3\n\n" * 300 + line + "\n1,2,3\n"
    path = put(tmp_path, COMPRESS[compression](text.encode()), f"table.csv{compression}")
    assert refusal(path).startswith(f":602: {message}")


@pytest.mark.parametrize("block_bytes", [256, 1 << 20])
@pytest.mark.parametrize("nothing", ["", "NA", "nan", "NULL"])
def test_missing_value_is_named_with_row_and_column(tmp_path, monkeypatch, nothing, block_bytes):
    small_chunks(monkeypatch, block_bytes)
    path = put(tmp_path, "a,b,y\n" + "1,2,3\n" * 300 + f"1,{nothing},3\n")
    assert refusal(path).startswith(": row 301: column 'b' has no value")


@pytest.mark.parametrize("compression", ["", ".gz"])
@pytest.mark.parametrize("size", [16, 1 << 20])
@pytest.mark.parametrize("end", ["", "\n"])
def test_quote_that_is_never_closed_is_named_with_its_line(tmp_path, monkeypatch, compression, size, end):
    small_chunks(monkeypatch, size)
    text = "a,y\n" + "1,no\n" * 20 + '2,"yes\n' + "1,no\n" * 20 + "3,no" + end
    path = put(tmp_path, COMPRESS[compression](text.encode()), f"table.csv{compression}")
    assert refusal(path).startswith(":22: a quote that is opened here is never closed")


def test_quoted_line_ends_are_part_of_a_label_in_chunks_of_any_size(tmp_path, monkeypatch):
    path = put(tmp_path, 'a,y\n1,"one\ntwo"\n2,three\n3,"fo""ur\r\n"\n')
    for size in range(1, 40):
        small_chunks(monkeypatch, size)
        assert read(open_source(path, target="y"))[1] == ["one\ntwo", "three", 'fo"ur\r\n']


def test_missing_label_is_named_with_its_row(tmp_path):
    assert refusal(put(tmp_path, "a,y\n1,0\n2,\n")).startswith(": row 2: the target 'y' has no value")
    assert refusal(put(tmp_path, "a,y\n1,no\n2,\n")).startswith(": row 2: the target 'y' has no value")


@pytest.mark.parametrize("value", ["inf", "-inf", "1e39", "1e400"])
def test_value_beyond_float32_is_named_with_row_and_column(tmp_path, value):
    path = put(tmp_path, f"a,b,y\n1,1,0\n1,{value},0\n")
    assert refusal(path).startswith(": row 2: the value of column 'b' is infinite, or too large for float32")


@pytest.mark.parametrize("before", [1, 5000])
def test_line_that_is_not_utf8_is_named(tmp_path, before):
    path = put(tmp_path, b"a,y\n" + b"1,no\n" * before + b"1,\xe9t\xe9\n")
    assert refusal(path).startswith(f":{before + 2}: not text")


@pytest.mark.parametrize("text", ["", "a,y\n", "a,y", "a,y\n\n\n"])
def test_table_without_rows_is_refused(tmp_path, text):
    assert re.match(": (is empty|holds no rows)", refusal(put(tmp_path, text)))


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("keep", [0.3, 0.99])
def test_truncated_table_names_the_archive(tmp_path, compression, keep):
    text = "a,y\n" + "".join(f"{x!r},0\n" for x in np.random.default_rng(1).random(3000).tolist())
    data = COMPRESS[compression](text.encode())
    path = put(tmp_path, data[: int(len(data) * keep)], f"table.csv{compression}")
    assert re.match(": the .* file is damaged or cut short", refusal(path))


# Columns and targets, the same for text, Parquet and Arrow


@pytest.fixture(params=[".csv", ".parquet", ".arrow"])
def table(request, tmp_path) -> Path:
    path = tmp_path / f"table{request.param}"
    frame = pd.DataFrame({"a": [1, 0], "b": [2.5, 3.0], "y": ["no", "yes"]})
    frame.to_csv(path, index=False) if request.param == ".csv" else write_frame(frame, path)
    return path


def test_target_must_be_named_and_there(table):
    assert re.match(": which column is the target.*--target.*the columns are a, b, y", refusal(table, None))
    assert refusal(table, "z").startswith(": there is no column 'z' for the target; the columns are a, b, y")


def test_columns_are_read_in_the_order_asked_for(table):
    source = open_source(table, target="y", columns=["b", "a"])
    assert read(source) == ([[2.5, 1], [3, 0]], ["no", "yes"])
    assert source.feature_names.tolist() == ["b", "a"]


@pytest.mark.parametrize("target", [None, "z"])
def test_with_columns_the_target_may_be_missing(table, target):
    source = open_source(table, target=target, columns=["b"])
    assert read(source) == ([[2.5], [3]], [None, None])
    with pytest.raises(DataError, match="the rows have no labels"):
        source.targets()


def test_column_that_is_not_there_is_named(table):
    assert refusal(table, "y", columns=["a", "c"]).startswith(": the column 'c' is not there; the columns are a, b, y")


def test_text_column_is_not_a_feature(table):
    assert re.search("column 'y' .*not (a number|numbers)", refusal(table, "a"))


def test_long_list_of_columns_is_cut(tmp_path):
    path = put(tmp_path, ",".join(f"c{i}" for i in range(1010)) + "\n")
    assert refusal(path, None).endswith("c6, c7 and 1,002 more")


def test_column_that_stands_twice_is_refused(tmp_path):
    assert "column 'a' appears twice" in refusal(put(tmp_path, "a,b,a,y\n1,2,3,4\n"))


def test_table_of_the_target_alone_is_refused(tmp_path):
    assert "no column but the target 'y'" in refusal(put(tmp_path, "y\n1\n"))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_abandoned_table_leaves_no_thread(tmp_path, monkeypatch, suffix):
    small_chunks(monkeypatch, 256)
    monkeypatch.setattr(tables, "BATCH_ROWS", 10)
    path = tmp_path / f"table{suffix}"
    frame = pd.DataFrame({"a": np.arange(3000), "y": 1})
    frame.to_csv(path, index=False) if suffix.startswith(".csv") else write_frame(frame, path)
    before = set(threading.enumerate())
    blocks = open_source(path, target="y").row_blocks()
    next(blocks)
    del blocks
    started = {thread for thread in threading.enumerate() if thread.name == "streamsieve-read-ahead"} - before
    for thread in started:
        thread.join(5)
    assert not any(thread.is_alive() for thread in started)


# Tables in Parquet and Arrow files


@pytest.fixture(params=[".parquet", ".arrow"])
def place(request, tmp_path) -> Path:
    return tmp_path / f"table{request.param}"


def put_table(path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None) -> Path:
    table = pa.table(columns).replace_schema_metadata(metadata)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


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
    assert read(source) == ([[1, 0, near, 0.5, 2, 1, 1], [-2, 2.0**64, 0, 0, 0, 2, 0]], ["no", "yes"])
    assert source.n_rows == 2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"a": [1, None]}, ": row 6: column 'a' has no value"),
        ({"a": [1.0, np.nan]}, ": row 6: the value of column 'a' is missing"),
        ({"a": [1.0, 1e300]}, ": row 6: the value of column 'a' is infinite, or too large"),
        ({"y": [1, None]}, ": row 6: the target 'y' has no value"),
    ],
)
def test_bad_cell_is_named_with_row_and_column(place, monkeypatch, bad, message):
    monkeypatch.setattr(tables, "BATCH_ROWS", 2)
    columns = {"a": [1.0, 1.0], "y": [1, 1]} | bad
    assert refusal(put_table(place, {name: column[:1] * 4 + column for name, column in columns.items()})).startswith(
        message
    )


def test_column_of_dates_or_labels_of_lists_are_refused(place):
    assert "column 'a' holds timestamp" in refusal(put_table(place, {"a": pa.array([1], pa.timestamp("ns")), "y": [1]}))
    assert "the target 'y' holds list" in refusal(put_table(place, {"a": [1], "y": [[1]]}))


def test_file_without_rows_is_refused(place):
    assert "holds no rows" in refusal(put_table(place, {"a": pa.array([], pa.int8()), "y": pa.array([], pa.int8())}))


@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_truncated_file_of_columns_is_named(place, tmp_path, keep):
    whole = put_table(place, {"a": np.arange(1000), "y": np.arange(1000)}).read_bytes()
    assert re.match(": not an? (Parquet|Arrow) file, or cut short", refusal(put(tmp_path, whole[:keep], place.name)))


# Sparse rows in Parquet and Arrow files


def put_sparse(path: Path, ids: Any, values: Any, labels: Any, id_type=None, value_type=None, metadata=None) -> Path:
    lists = pa.array(ids, pa.list_(id_type or pa.int32())), pa.array(values, pa.list_(value_type or pa.float32()))
    return put_table(path, {"label": labels, "indices": lists[0], "values": lists[1]}, metadata)


def write_frame(frame: pd.DataFrame | pl.DataFrame, path: Path) -> None:
    """As their users would; pandas compresses."""
    if isinstance(frame, pl.DataFrame):
        frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_ipc(path)
    else:
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_feather(path)


def read_sparse(path: Path) -> list[dict[int, float]]:
    rows = []
    for block in open_source(path).row_blocks():
        for row in range(block.n_rows):
            part = slice(block.indptr[row], block.indptr[row + 1])
            rows.append(list(zip(block.indices[part].tolist(), block.values[part].tolist(), strict=True)))
    return rows


@pytest.mark.parametrize("batch_rows", [1, 2, 4096])
def test_sparse_rows_are_read(place, monkeypatch, batch_rows):
    monkeypatch.setattr(tables, "BATCH_ROWS", batch_rows)
    metadata = {"n_features": "5", "feature_names": '["a", "b", "c", "d", "e"]'}
    path = put_sparse(place, [[], [0, 2], [], [1], []], [[], [1, 2], [], [3], []], list("uvwxy"), metadata=metadata)
    source = open_source(path)
    assert read(source) == ([[0] * 5, [1, 0, 2, 0, 0], [0] * 5, [0, 3, 0, 0, 0], [0] * 5], list("uvwxy"))
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
    frame = library.DataFrame({"label": ["a", "b"], "indices": [[1, 5_000_000_000], [2]], "values": [[1.0, 2], [3.0]]})
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
        ([[0], [1]], [[1], [1e300]], {"value_type": pa.float64()}, ": row 2: .*too large for float32"),
    ],
)
def test_fault_of_sparse_rows_is_named(place, ids, values, types, message):
    assert re.match(message, refusal(put_sparse(place, ids, values, [1, 2], **types), None))


def test_sparse_row_without_a_label_is_refused(place):
    assert "row 2: the target 'label' has no value" in refusal(put_sparse(place, [[0]] * 2, [[1]] * 2, [1, None]), None)


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
        ({"n_features": "4", "feature_names": '["a", "b", "c"]'}, r": its metadata has 3 names for 4 features"),
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
    monkeypatch.setattr(sparse_lists, "BLOCK_NONZEROS", 10)
    monkeypatch.setattr(parquet, "BLOCK_NONZEROS", 10)
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
    assert source.bytes_read == source.n_bytes == place.stat().st_size
    assert source.n_rows == 10


# SciPy's npz


def put_npz(path: Path, matrix: Any, **more: Any) -> Path:
    csr = matrix.tocsr()
    np.savez(path, format=b"csr", shape=csr.shape, indptr=csr.indptr, indices=csr.indices, data=csr.data, **more)
    return path


@pytest.fixture
def matrix() -> sparse.csr_array:
    return sparse.random_array((30, 8), density=0.6, format="csr", random_state=np.random.default_rng(2))


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
    at = whole.index(b"data.npy") + 60
    assert "not a sparse matrix" in refusal(put(tmp_path, whole[:at] + b"rubbish!" + whole[at + 8 :], "hurt.npz"), None)


def test_npz_of_something_else_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    assert "not a sparse matrix" in refusal(tmp_path / "other.npz", None)
    assert "not a sparse matrix" in refusal(put(tmp_path, "1 1:1\n", "text.npz"), None)


@pytest.mark.parametrize("wrong", [{"indices": [2, 0]}, {"indices": [-1, 0]}, {"indptr": [0, 2, 1]}])
def test_npz_whose_parts_do_not_fit_is_refused(tmp_path, wrong):
    parts = {"indptr": [0, 1, 2], "indices": [0, 1], "data": [1.0, 2.0]} | wrong
    np.savez(tmp_path / "rows.npz", format=b"csr", shape=(2, 2), **parts)
    refusal(tmp_path / "rows.npz", None)


def test_npz_with_too_few_labels_is_refused(tmp_path, matrix):
    assert "30 rows but 3 labels" in refusal(put_npz(tmp_path / "rows.npz", matrix, y=np.ones(3)), None)


# Arrays in memory


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


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1)))
def test_rows_are_all_there_however_blocks_are_cut(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "BLOCK_VALUES", 3)
        y = list(range(len(rows)))
        assert read(ArraySource(np.array(rows), y)) == (rows, y)
        assert read(ArraySource(sparse.csr_array(np.array(rows)), y)) == (rows, y)


def test_empty_rows_at_the_start_of_a_sparse_matrix_are_kept():
    assert read(ArraySource(sparse.csr_array([[0], [0], [3]]), [1, 2, 3])) == ([[0], [0], [3]], [1, 2, 3])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrix_of_any_form_is_read(matrix, form, kind):
    assert read(ArraySource(kind(matrix).asformat(form)))[0] == matrix.astype(np.float32).toarray().tolist()


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
    assert "mine: row 2: the value of column 'b' is missing" in array_refusal(make({"a": [1, 2], "b": [1, None]}))


def test_missing_value_of_a_nullable_pandas_column_is_named():
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": pd.array([1, None], dtype="Int64")})
    assert "mine: row 2: the value of column 'b' is missing" in array_refusal(frame)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
def test_text_column_in_memory_is_named(make):
    assert re.search("mine: .*column 'b'.*", array_refusal(make({"a": [1, 2], "b": ["red", "blue"]})))


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
    with pytest.raises(DataError, match=r"^array: row 4: the value of feature 1 is (missing|infinite, or too large)"):
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


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("quoted", [None, 0, 3])
@pytest.mark.parametrize("classes", [["yes", "no"], ["1", "0"], ["0.5", "2"], ["true", "false"]])
def test_wide_tables_read_as_narrow_ones_do(tmp_path, monkeypatch, suffix, ends, quoted, classes):
    fields = np.random.default_rng(1).normal(0, 1, (6, 9)).round(3).astype("U40")
    fields[2, 4:] = ["", "1e-320", "0.12345678901234567890123", "+7", "NA"]
    path, comma = tmp_path / f"wide{suffix}", "\t" if "tsv" in suffix else ","
    lines = [[f"c{i}" for i in range(9)] + ["y"], *([*row, classes[i % 2]] for i, row in enumerate(fields.tolist()))]
    if quoted is not None:
        lines[1 + quoted][1] = '"1.5"'
    text = ends.join([comma.join(line) for line in lines] + [""])
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    for columns in (None, ["c5", "c0"]):
        found = []
        for wide, block_bytes in ((10**6, 1 << 20), (2, 150)):
            monkeypatch.setattr(delimited, "WIDE", wide)
            small_chunks(monkeypatch, block_bytes)
            source = open_source(path, "y", columns=columns)
            blocks = list(source.row_blocks("keep"))
            labels = [label for block in blocks for label in block.y.tolist()]
            found.append((np.concatenate([block.to_dense() for block in blocks]), labels))
        np.testing.assert_array_equal(found[0][0], found[1][0])
        assert found[0][1] == found[1][1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2", "wide.csv:3: 2 values for 4 columns"),
        ("1,2,3,no,5", "wide.csv:3: 5 values for 4 columns"),
        ("1,b,3,no", "wide.csv:3: column 'b' is 'b', not a number"),
        ("1,,3,no", "row 2: the value of column 'b' is missing"),
        ("1,inf,3,no", "row 2: the value of column 'b' is infinite"),
        ("1,2,3,", "row 2: the target 'y' has no value"),
    ],
)
def test_faults_of_wide_tables_are_named(tmp_path, monkeypatch, line, message):
    monkeypatch.setattr("streamsieve.sources.delimited.WIDE", 2)
    (tmp_path / "wide.csv").write_text(f"a,b,c,y\n1,2,3,yes\n{line}\n")
    with pytest.raises(DataError, match=message):
        list(open_source(tmp_path / "wide.csv", "y").row_blocks())
