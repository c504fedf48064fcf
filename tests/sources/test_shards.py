"""Shards: one after the other they are the rows of the source, whatever their number."""

from __future__ import annotations

import gzip
import pickle
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

from streamsieve import DataError, UsageError, open_source
from streamsieve.blocks import RowBlock
from streamsieve.sources import delimited, delimited_text
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.base import ColumnSource, Source
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.svmlight import SvmlightSource
from streamsieve.sources.writers import write_columns, write_rows
from tests.effort import examples

NUMBERS = [2, 3, 5, 8, 100]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("shards")


def rows_of(source: Source) -> list[tuple[Any, dict[int, float]]]:
    """Return label, ids and values of every row."""
    rows = []
    for block in source.row_blocks("keep"):
        for row in range(block.n_rows):
            entries = slice(block.indptr[row], block.indptr[row + 1])
            ids, values = block.indices[entries].tolist(), map(str, block.values[entries].tolist())
            rows.append(
                (
                    None if block.y is None else block.y.tolist()[row],
                    dict(zip(ids, values, strict=True)),
                )
            )
    return rows


def assert_shards(source: Source, n: int) -> list[Source]:
    """Check that the shards of a source, each pickled and loaded again, have its rows."""
    shards = [pickle.loads(pickle.dumps(shard)) for shard in source.shards(n)]
    parts = [rows_of(shard) for shard in shards]
    assert 1 <= len(parts) <= n
    assert all(parts)
    assert [row for part in parts for row in part] == rows_of(source)
    for shard, part in zip(shards, parts, strict=True):
        assert shard.name == source.name
        assert shard.n_rows in (None, len(part))
        if shard.facts.n_bytes is not None:
            assert shard.bytes_read == shard.facts.n_bytes
    return shards


def put(folder: Path, text: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# Svmlight text

svmlight_lines = st.one_of(
    st.builds("{} {}:1 {}:2.5".format, st.integers(-1, 1), st.integers(1, 9), st.integers(10, 99)),
    st.builds(
        lambda length: "1 " + " ".join(f"{feature}:1" for feature in range(1, length)),
        st.integers(2, 400),
    ),
    st.sampled_from(["", "  ", "\t", "# 1 1:1", "   # x", "-1", "1 2:3 # 4:5"]),
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(svmlight_lines, st.sampled_from(["\n", "\r\n"])), max_size=30),
    st.sampled_from(["", "1 7:7", "1 7:7 #", "# end"]),
    st.integers(1, 40),
    st.integers(1, 300),
)
def test_any_svmlight_text_can_be_split(folder, lines, last, n, chunk_bytes):
    text = "1 1:1\n" + "".join(line + end for line, end in lines) + last
    source = SvmlightSource(put(folder, text, "rows.svm"), chunk_bytes=chunk_bytes)
    for shard in assert_shards(source, n):
        assert_shards(shard, 2)


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(svmlight_lines, min_size=1, max_size=30), st.integers(0, 29), st.integers(2, 9))
def test_fault_in_a_shard_is_named_with_its_line_in_the_file(folder, lines, at, n):
    lines.insert(at, "1 1:x")
    source = SvmlightSource(put(folder, "1 1:1\n" + "\n".join(lines) + "\n", "bad.svm"))
    with pytest.raises(DataError) as expected:
        rows_of(source)
    messages = []
    for shard in source.shards(n):
        try:
            rows_of(shard)
        except DataError as error:
            messages.append(str(error))
    assert messages == [str(expected.value)]


def test_a_file_without_rows_is_one_shard_that_says_so(folder):
    source = open_source(put(folder, "# nothing\n\n", "none.svm"))
    assert source.shards(4) == [source]


def test_splitting_reads_only_what_is_near_the_cuts(folder):
    path = put(folder, "1 1:1 2:2 3:3\n" * 400_000, "long.svm")
    source = SvmlightSource(path)
    opened = []
    real = Path.open

    class Counted:
        def __init__(self, file: Any) -> None:
            self.file, self.read = file, 0
            opened.append(self)

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def readline(self, size: int = -1) -> bytes:
            line = self.file.readline(size)
            self.read += len(line)
            return line

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", lambda self, mode: Counted(real(self, mode)))
        shards = source.shards(4)
    assert sum(file.read for file in opened) < 1000
    sizes = [shard.facts.n_bytes for shard in shards]
    assert len(sizes) == 4
    assert max(sizes) - min(sizes) < 100


# Delimited text

fields = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(-9, 9, width=32).map(repr),
    st.just(""),
    st.integers(0, 9).map('"{}"'.format),
)
labels = st.sampled_from(
    ["a", "b", '"c"', '"d,e"', '"f""g"', '5" by 6"', '"two\nlines"', '"more\r\n\n"', '"""\n"""']
)


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(
        st.tuples(fields, fields, labels, st.sampled_from(["\n", "\r\n", "\n\n"])),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
    st.integers(2, 40),
    st.integers(1, 300),
)
def test_delimited_text_is_split_correctly_or_not_at_all(folder, records, ended, n, chunk_bytes):
    text = '"a",b,y\n1,2,first\n' + "".join(f"{a},{b},{label}{end}" for a, b, label, end in records)
    path = put(folder, text if ended else text.rstrip("\r\n"), "rows.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited_text, "FIRST_BYTES", chunk_bytes)
        patch.setattr(delimited_text, "CHUNK_BYTES", chunk_bytes)
        source = open_source(path, "y")
        expected = rows_of(source)
        assert len(expected) == len(records) + 1
        try:
            sharded = [row for shard in source.shards(n) for row in rows_of(shard)]
        except DataError:
            assert '\n"' in text or "two\nlines" in text
        else:
            assert sharded == expected
        if '\n"' not in text and "two\nlines" not in text:
            assert_shards(source, n)


def test_a_quoted_line_end_at_a_cut_is_refused_with_a_cure(folder):
    path = put(folder, "a,y\n" + '1,"over\ntwo lines"\n' * 50, "quoted.csv")
    source = open_source(path, "y")
    assert len(rows_of(source)) == 50
    with pytest.raises(
        DataError, match=r"from line \d+ on, a field in quotes .* streamsieve convert"
    ):
        [rows_of(shard) for shard in source.shards(7)]


def test_labels_of_a_shard_are_of_the_kind_of_the_first_in_the_file(folder):
    path = put(folder, "a,y\n" + "1,yes\n" * 20 + "2,7\n" * 20, "kinds.csv")
    assert [row[0] for shard in open_source(path, "y").shards(4) for row in rows_of(shard)] == [
        "yes"
    ] * 20 + ["7"] * 20


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("1,red,1", ":33: column 'b' is 'red', not a number"),
        ("1,2", ":33: 2 values for 3 columns"),
        ("1,,1", ": row 31: .*column 'b' (has no value|is missing)"),
        ("1,inf,1", ": row 31: the value of column 'b' is infinite"),
        ("1,2,", ": row 31: the target 'y' has no value"),
    ],
)
def test_fault_in_a_shard_of_a_table_is_named_as_in_the_file(folder, monkeypatch, bad, message):
    path = put(
        folder,
        "a,b,y\n" + "1,2,1\n" * 20 + "\n" + "3,4,0\n" * 10 + f"{bad}\n" + "5,6,1\n" * 9,
        "bad.csv",
    )
    monkeypatch.setattr(delimited, "HEAD_BYTES", 50)
    monkeypatch.setattr(delimited_text, "FIRST_BYTES", 50)
    monkeypatch.setattr(delimited_text, "CHUNK_BYTES", 50)
    said = []
    for shard in open_source(path, "y").shards(4):
        try:
            for _ in shard.row_blocks():
                pass
        except DataError as error:
            said.append(str(error).removeprefix(str(path)))
    assert len(said) == 1
    assert re.match(message, said[0])


# Other sources


def some_rows(n_rows: int = 37, width: int = 9) -> tuple[csr_array, np.ndarray]:
    random = np.random.default_rng(n_rows)
    dense = random.integers(-2, 3, (n_rows, width)) * (random.random((n_rows, width)) < 0.7)
    return csr_array(dense.astype(np.float32)), random.integers(0, 2, n_rows)


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("at_once", [pytest.param(3, marks=pytest.mark.slow), 10, 100])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("target", [None, "y"])
def test_files_of_records_can_be_split(folder, suffix, target, at_once, n):
    X, y = some_rows()
    path = folder / f"rows{suffix}"
    write_rows(path, ArraySource(X, y).row_blocks(), n_features=9, target=target)
    if suffix == ".parquet":
        pq.write_table(pq.read_table(path), path, row_group_size=at_once)
    else:
        with pa.ipc.open_file(path) as file:
            table = file.read_all()
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=at_once)
    shards = assert_shards(open_source(path, target), n)
    if n <= 37 // at_once:
        assert len(shards) > n // 2
    for shard in shards:
        assert_shards(shard, 3)
        if isinstance(shard, ColumnSource):
            expected = np.concatenate([block.to_dense() for block in shard.row_blocks()])
            columns = np.zeros(expected.shape)
            for block in shard.column_blocks():
                for column, feature in enumerate(block.ids.tolist()):
                    entries = slice(block.indptr[column], block.indptr[column + 1])
                    columns[block.indices[entries], feature] = block.values[entries]
            assert columns.tolist() == expected.tolist()
            assert shard.targets().tolist() == [label for label, _ in rows_of(shard)]


def test_a_shard_of_row_groups_begins_with_one(folder):
    path = folder / "groups.parquet"
    pq.write_table(
        pa.table({"a": np.arange(100.0), "y": np.arange(100) % 2}), path, row_group_size=10
    )
    shards = open_source(path, "y").shards(3)
    assert [len(rows_of(shard)) for shard in shards] == [30, 40, 30]


def test_row_numbers_in_messages_are_those_of_the_file(folder):
    values = np.arange(1.0, 21.0)
    values[13] = np.nan
    X = values.reshape(-1, 1)
    for suffix in (".parquet", ".arrow"):
        table = pa.table({"a": values, "y": np.arange(20) % 2})
        path = folder / f"missing{suffix}"
        if suffix == ".parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
        with pytest.raises(DataError, match="row 14: column 'a' has no value"):
            list(open_source(path, "y").shards(4)[2].row_blocks())
    for matrix in (X, csr_array(X), csc_array(X)):
        with pytest.raises(DataError, match="row 14: the value of feature 0 is missing"):
            list(open_source((matrix, np.arange(20) % 2)).shards(4)[2].row_blocks())


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("form", [csr_array.toarray, csr_array, csc_array])
def test_arrays_can_be_split(form, n):
    X, y = some_rows()
    source = ArraySource(form(X), y, sample_weight=np.arange(37.0))
    shards = assert_shards(source, n)
    weights = [block.sample_weight for shard in shards for block in shard.row_blocks()]
    assert np.concatenate(weights).tolist() == list(range(37))


def test_arrays_are_split_without_copies():
    X, y = some_rows()
    dense = X.toarray()
    assert all(np.shares_memory(shard.matrix, dense) for shard in ArraySource(dense, y).shards(3))
    assert all(np.shares_memory(shard.matrix.data, X.data) for shard in ArraySource(X, y).shards(3))


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("synthetic:x1?rows=50", 100),
        ("synthetic:x1?rows=2000&seed=3", 7),
        ("synthetic:spiral?rows=60", 2),
    ],
)
def test_synthetic_rows_can_be_split(name, n):
    for shard in assert_shards(open_source(name), n)[:2]:
        assert_shards(shard, 3)


def test_npz_can_be_split(folder):
    X, y = some_rows()
    write_rows(folder / "rows.npz", ArraySource(X, y).row_blocks())
    assert_shards(open_source(folder / "rows.npz"), 4)


# Several files


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 100])
@pytest.mark.parametrize(
    "suffix", [".svm", ".svm.gz", ".csv", ".csv.gz", ".parquet", ".arrow", ".npz"]
)
def test_several_files_can_be_split(tmp_path, suffix, n):
    X, y = some_rows()
    target = "y" if ".csv" in suffix else None
    starts = [0, 3, 20, 21, 37]
    for number, (start, stop) in enumerate(pairwise(starts)):
        rows = ArraySource(X[start:stop], y[start:stop]).row_blocks()
        write_rows(tmp_path / f"{number}{suffix}", rows, n_features=9, target=target)
    source = open_source(tmp_path, target)
    shards = assert_shards(source, n)
    if suffix.endswith(".gz"):
        assert len(shards) == min(n, 4)
    elif n <= 5:
        assert len(shards) == n
    for shard in shards:
        assert_shards(shard, 3)


@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_files_without_rows_make_no_shard(tmp_path, n):
    for number, text in enumerate(["# nothing\n", "1 1:1\n", "\n", "2 1:1\n", "# end\n"]):
        put(tmp_path, text, f"{number}.svm")
        put(tmp_path, gzip.compress(text.encode()), f"{number}.gz")
    assert len(assert_shards(open_source(f"{tmp_path}/*.svm"), n)) == 2
    assert len(assert_shards(open_source(f"{tmp_path}/*.gz"), n)) == 2


def test_several_files_without_rows_are_one_shard_that_says_so(tmp_path):
    for number in range(3):
        put(tmp_path, "# nothing\n", f"{number}.svm")
    source = open_source(tmp_path)
    assert source.shards(2) == [source]


def test_faults_in_shards_of_several_files_are_those_of_the_files(tmp_path):
    put(tmp_path, "1 1:1\n" * 9, "1.svm")
    put(tmp_path, "1 1:1\n" * 8 + "1 x:1\n", "2.svm")
    for n in (2, 5):
        shards = open_source(tmp_path).shards(n)
        for shard in shards[:-1]:
            rows_of(shard)
        with pytest.raises(DataError, match=r"2\.svm:9: "):
            rows_of(shards[-1])


def test_labels_of_shards_of_several_tables_are_of_the_kind_of_the_first(tmp_path):
    put(tmp_path, "a,y\n1,yes\n2,no\n", "1.csv")
    put(tmp_path, "a,y\n1,7\n2,8\n", "2.csv")
    for n in (2, 4):
        shards = assert_shards(open_source(tmp_path, "y"), n)
        assert [label for shard in shards for label, _ in rows_of(shard)] == ["yes", "no", "7", "8"]


def test_sources_say_whether_they_can_be_split(folder):
    X, y = some_rows()
    write_columns(folder / "by-column.parquet", as_column_source(ArraySource(X, y)))
    put(folder, gzip.compress(b"1 1:1\n"), "one.svm.gz")
    put(folder, b"1 1:1\n", "one.svm")
    for data in ("by-column.parquet", "one.svm.gz", "one.svm"):
        source = open_source(folder / data)
        assert source.facts.splittable == (data == "one.svm")
        if not source.facts.splittable:
            with pytest.raises(UsageError):
                source.shards(2)


def test_what_cannot_be_split_says_why_and_what_to_do(folder, monkeypatch):
    X, y = some_rows()
    write_columns(folder / "columns.parquet", as_column_source(ArraySource(X, y)))
    put(folder, gzip.compress(b"1 1:1\n" * 9), "rows.svm.gz")
    put(folder, gzip.compress(b"a,y\n" + b"1,1\n" * 9), "rows.csv.gz")
    with pytest.raises(
        UsageError, match=r"a file of columns cannot be split .* split the file of rows"
    ):
        open_source(folder / "columns.parquet").shards(2)
    for name, target in (("rows.svm.gz", None), ("rows.csv.gz", "y")):
        with pytest.raises(UsageError, match=r"compressed.*decompress it first"):
            open_source(folder / name, target).shards(2)
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError, match=r"standard input: .*save the rows to a file first"):
        open_source("-").shards(2)


def test_a_shard_learns_like_any_source(folder):
    block = next(open_source("synthetic:x1?rows=64").shards(4)[1].row_blocks())
    assert isinstance(block, RowBlock)
    assert block.n_rows == 16
