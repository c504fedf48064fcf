"""Rows to files and back: nothing lost, nothing half written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from streamsieve import DataError, RowBlock, UsageError, open_source
from streamsieve.blocks import dense_block
from streamsieve.sources import tables, writers
from streamsieve.sources.svmlight import SvmlightSource
from streamsieve.sources.writers import write_rows
from tests.effort import examples

COMPRESSIONS = ["", ".gz", ".bz2", ".xz", ".zst"]
TABLES = [
    *(f".csv{compression}" for compression in COMPRESSIONS),
    ".tsv",
    ".tab",
    ".parquet",
    ".arrow",
]
SPARSE = [
    *(f".svm{compression}" for compression in COMPRESSIONS),
    ".npz",
    ".parquet",
    ".arrow",
    ".feather",
    ".ipc",
]

X = np.array([[1, 0, 2.5, 0], [0, 0, 0, 0], [0, -0.1, 0, 1e30], [7, 0, 0, 1e-30]], np.float32)
Y = np.array([1.0, -1.0, 0.5, 1.0])
NAMES = np.array(["a", "b, c", 'd "e"', "\xe9"], object)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("written")


def blocks(y: Any = Y) -> list[RowBlock]:
    whole = dense_block(X, None if y is None else np.asarray(y), "here")
    return [whole.rows(0, 1), whole.rows(1, 4)]


def read(path: Path, width: int = 4, **options) -> tuple[list[list[float]], list[Any]]:
    rows: list[list[float]] = []
    labels: list[Any] = []
    for block in open_source(path, **options).row_blocks():
        parts = block.values, block.indices, block.indptr
        rows += sparse.csr_array(parts, shape=(block.n_rows, width)).toarray().tolist()
        labels += [None] * block.n_rows if block.y is None else block.y.tolist()
    return rows, labels


@pytest.mark.parametrize("suffix", SPARSE)
def test_sparse_rows_come_back(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    assert write_rows(path, blocks()) == 4
    assert read(path) == (X.tolist(), Y.tolist())
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", TABLES)
def test_table_comes_back_with_its_names(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    assert write_rows(path, iter(blocks()), NAMES, n_features=4, target="y") == 4
    assert read(path, target="y") == (X.tolist(), Y.tolist())
    assert open_source(path, target="y").feature_names.tolist() == NAMES.tolist()
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".arrow"])
def test_sparse_rows_keep_names_and_width(tmp_path, suffix):
    write_rows(tmp_path / f"rows{suffix}", blocks(), np.array([*NAMES, "f"], object), n_features=5)
    source = open_source(tmp_path / f"rows{suffix}")
    assert source.n_features == 5
    assert source.feature_names.tolist() == [*NAMES, "f"]


def test_table_without_names_calls_columns_by_their_ids(tmp_path):
    write_rows(tmp_path / "table.csv", blocks(), n_features=4)
    assert (tmp_path / "table.csv").read_text().splitlines()[0].replace(
        '"', ""
    ) == "x0,x1,x2,x3,label"


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes", "no", "no"]), np.array(["no", "yes", "no", "no"], object)]
)
@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".arrow", ".csv"])
def test_labels_of_text_come_back(tmp_path, suffix, labels):
    path = tmp_path / f"rows{suffix}"
    write_rows(path, blocks(labels), n_features=4)
    assert read(path, target="label" if suffix == ".csv" else None) == (X.tolist(), labels.tolist())


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 1, 0], [True, False, True, True], [3, -4, 3, 10**15], [1e300, 0.1, -1e-300, 2]],
)
def test_labels_of_svmlight_are_numbers(tmp_path, labels):
    write_rows(tmp_path / "rows.svm", blocks(labels))
    assert read(tmp_path / "rows.svm")[1] == labels


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_labels_survive_text_exactly(folder, labels):
    path = folder / "labels.svm"
    write_rows(path, [dense_block(np.ones((len(labels), 1)), np.array(labels))])
    assert read(path, 1)[1] == labels


def test_whole_labels_are_written_without_a_point(tmp_path):
    write_rows(tmp_path / "rows.svm", blocks())
    lines = (tmp_path / "rows.svm").read_text().splitlines()
    assert lines == ["1 1:1 3:2.5", "-1", "0.5 2:-0.1 4:1e30", "1 1:7 4:1e-30"]


def test_zero_based_svmlight_comes_back(tmp_path):
    write_rows(tmp_path / "rows.svm", blocks(), zero_based=True)
    assert (tmp_path / "rows.svm").read_text().startswith("1 0:1 2:2.5\n")
    assert read(tmp_path / "rows.svm", zero_based=True) == (X.tolist(), Y.tolist())


@pytest.mark.parametrize("suffix", [".svm", ".svm.xz", ".npz", ".parquet", ".arrow"])
def test_ids_past_32_bits_come_back(tmp_path, suffix):
    ids = np.array([3, 5_000_000_000])
    path = tmp_path / f"rows{suffix}"
    write_rows(
        path, [RowBlock(np.array([0, 2]), ids, np.ones(2, np.float32), np.ones(1), 5_000_000_001)]
    )
    (block,) = open_source(path).row_blocks()
    assert block.indices.tolist() == ids.tolist()
    assert block.n_features == 5_000_000_001


def test_npz_is_what_scipy_reads(tmp_path):
    write_rows(tmp_path / "rows.npz", blocks())
    loaded = sparse.load_npz(tmp_path / "rows.npz")
    assert loaded.format == "csr"
    assert loaded.toarray().tolist() == X.tolist()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_sparse_file_has_the_documented_columns(tmp_path, suffix):
    write_rows(tmp_path / f"rows{suffix}", blocks(), NAMES, n_features=4)
    table = (
        pq.read_table(tmp_path / "rows.parquet")
        if suffix == ".parquet"
        else arrow_table(tmp_path / "rows.arrow")
    )
    assert table.column_names == ["label", "indices", "values"]
    assert table.column("indices").to_pylist() == [[0, 2], [], [1, 3], [0, 3]]
    assert table.schema.types[1:] == [pa.list_(pa.int32()), pa.list_(pa.float32())]
    assert table.schema.metadata[b"n_features"] == b"4"
    assert json.loads(table.schema.metadata[b"feature_names"]) == NAMES.tolist()


def arrow_table(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def test_arrow_batches_have_a_good_size(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BATCH_ROWS", 8)
    monkeypatch.setattr(writers, "BLOCK_NONZEROS", 20)
    whole = dense_block(np.tril(np.ones((30, 30))), np.arange(30))
    small = [whole.rows(row, row + 1) for row in range(30)]
    for given_blocks in ([whole], small, [whole.rows(0, 17), whole.rows(17, 30)]):
        assert write_rows(tmp_path / "rows.arrow", given_blocks) == 30
        batches = arrow_table(tmp_path / "rows.arrow").to_batches()
        assert max(batch.num_rows for batch in batches) <= 8
        assert (
            max(len(batch.column("values").flatten()) for batch in batches if batch.num_rows > 1)
            <= 20
        )
        assert len(batches) < 30
        assert read(tmp_path / "rows.arrow", 30) == (
            np.tril(np.ones((30, 30))).tolist(),
            list(range(30)),
        )


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("nothing", [[], [dense_block(X[:0], Y[:0])]])
def test_file_without_rows_is_not_written(tmp_path, suffix, nothing):
    with pytest.raises(DataError, match="no rows to write"):
        write_rows(tmp_path / f"rows{suffix}", nothing, n_features=4)
    assert os.listdir(tmp_path) == []


bits = st.integers(0, 2**32 - 1).map(lambda number: np.uint32(number).view(np.float32))
values = st.lists(
    bits.filter(lambda value: np.isfinite(value) and value != 0), min_size=1, max_size=200
)


@settings(deadline=None, max_examples=examples(200))
@given(values)
def test_float32_survives_svmlight_exactly(folder, numbers):
    column = np.array(numbers)
    write_rows(folder / "exact.svm", [dense_block(column[:, None], np.ones(column.size))])
    (block,) = SvmlightSource(folder / "exact.svm").row_blocks()
    assert block.values.view(np.uint32).tolist() == column.view(np.uint32).tolist()


@settings(deadline=None, max_examples=50)
@given(values, st.sampled_from([".csv", ".tsv", ".parquet", ".arrow"]))
def test_float32_survives_tables_exactly(folder, numbers, suffix):
    column = np.array(numbers)
    path = folder / f"exact{suffix}"
    write_rows(path, [dense_block(column[:, None], np.ones(column.size))], n_features=1, target="y")
    (block,) = open_source(path, target="y").row_blocks()
    assert block.values.view(np.uint32).tolist() == column.view(np.uint32).tolist()


def test_many_float32_survive_svmlight_exactly(tmp_path):
    random = np.random.default_rng(3).integers(0, 2**32, 300_000, dtype=np.uint32).view(np.float32)
    powers = (10.0 ** np.arange(-45, 39)).astype(np.float32)
    borders = np.nextafter(powers, np.float32(0))
    numbers = np.concatenate([random[np.isfinite(random)], powers, borders])
    numbers = numbers[numbers != 0]
    write_rows(tmp_path / "many.svm", [dense_block(numbers[:, None], np.ones(numbers.size))])
    got = np.concatenate(
        [block.values for block in SvmlightSource(tmp_path / "many.svm").row_blocks()]
    )
    assert (got.view(np.uint32) == numbers.view(np.uint32)).all()


@pytest.mark.parametrize("suffix", SPARSE)
def test_block_without_rows_adds_nothing(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    first, second = blocks()
    assert write_rows(path, [first, first.rows(0, 0), second]) == 4
    assert read(path) == (X.tolist(), Y.tolist())


@pytest.mark.parametrize("suffix", SPARSE)
def test_blocks_may_grow_wider(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_rows(path, [dense_block(X[:1, :3], Y[:1]), dense_block(X[1:], Y[1:])])
    assert read(path) == (X.tolist(), Y.tolist())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_table_fills_up_blocks_narrower_than_its_width(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_rows(
        path,
        [dense_block(X[:1, :3], Y[:1]), dense_block(X[1:], Y[1:])],
        NAMES,
        n_features=4,
        target="y",
    )
    assert read(path, target="y") == (X.tolist(), Y.tolist())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_table_without_labels_is_written(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    write_rows(path, blocks(None), NAMES, n_features=4, target="y")
    assert read(path, columns=NAMES.tolist()) == (X.tolist(), [None] * 4)


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".arrow"])
def test_sparse_rows_without_labels_are_written(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_rows(path, blocks(None), n_features=4)
    assert read(path) == (X.tolist(), [None] * 4)


def test_svmlight_rows_need_labels(tmp_path):
    with pytest.raises(
        DataError, match=r"^here: the rows have no labels, which svmlight text must have"
    ):
        write_rows(tmp_path / "rows.svm", blocks(None))
    assert os.listdir(tmp_path) == []


def test_text_is_no_svmlight_label(tmp_path):
    with pytest.raises(DataError, match=r"^here: an svmlight label must be a number, not 'no'"):
        write_rows(tmp_path / "rows.svm", blocks(["no", "yes", "no", "yes"]))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("old", [None, b"what was there"])
@pytest.mark.parametrize("error", [DataError("bad row"), KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("suffix", "target"), [*((s, None) for s in SPARSE), *((s, "y") for s in TABLES)]
)
def test_failure_in_the_middle_leaves_nothing_behind(tmp_path, suffix, target, error, old):
    path = tmp_path / f"rows{suffix}"
    if old:
        path.write_bytes(old)

    def fail() -> Iterator[RowBlock]:
        yield blocks()[0]
        raise error

    with pytest.raises(type(error)):
        write_rows(path, fail(), n_features=4, target=target)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == ([old] if old else [])


@pytest.mark.parametrize(
    ("suffix", "target"), [*((s, None) for s in SPARSE), *((s, "y") for s in TABLES)]
)
def test_old_file_stands_until_the_new_one_is_whole(tmp_path, suffix, target):
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(b"what was there")

    def watch() -> Iterator[RowBlock]:
        for block in blocks():
            yield block
            assert path.read_bytes() == b"what was there"

    assert write_rows(path, watch(), n_features=4, target=target) == 4
    assert read(path, target=target) == (X.tolist(), Y.tolist())
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("rows.parquet.gz", {}, "omit .gz to write"),
        ("rows.arrow.zst", {}, "omit .zst to write"),
        ("rows.npz.xz", {}, "omit .xz to write"),
        ("rows.csv", {}, "a table needs the number of columns"),
        ("rows.tsv.zst", {"target": "y"}, "a table needs the number of columns"),
        ("rows.arrow", {"target": "y"}, "a table needs the number of columns"),
        ("rows.parquet", {"target": "y"}, "a table needs the number of columns"),
        ("rows.csv", {"n_features": 4, "feature_names": NAMES, "target": "a"}, "'a'"),
        ("rows.parquet", {"n_features": 4, "feature_names": NAMES, "target": "a"}, "'a'"),
    ],
)
def test_combination_that_cannot_be_written_is_refused(tmp_path, name, options, message):
    with pytest.raises(UsageError, match=message):
        write_rows(tmp_path / name, blocks(), **options)
    assert os.listdir(tmp_path) == []
