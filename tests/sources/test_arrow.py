"""Arrow files: blocks are views and not copies, checked in one pass; errors say what is wrong."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamsieve import DataError, RowBlock, UsageError, open_source, select
from streamsieve.kernels.reading.entries import check_rows
from streamsieve.sources.writers import write_rows
from streamsieve.values import frozen
from tests.effort import examples

COLUMNS = {
    "label": [1.0, -1.0, 1.0],
    "indices": pa.array([[0, 2], [], [1]], pa.list_(pa.int32())),
    "values": pa.array([[1, 2], [], [3]], pa.list_(pa.float32())),
}
ROWS = [[(0, 1), (2, 2)], [], [(1, 3)]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("arrow")


def put(path: Path, batches: list[pa.RecordBatch], **options: Any) -> Path:
    with pa.ipc.new_file(
        path, batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as file:
        for batch in batches:
            file.write_batch(batch)
    return path


def rows_of(path: Path) -> list[list[tuple[int, float]]]:
    rows = []
    for block in open_source(path).row_blocks():
        for row in range(block.n_rows):
            part = slice(block.indptr[row], block.indptr[row + 1])
            rows.append(
                list(zip(block.indices[part].tolist(), block.values[part].tolist(), strict=True))
            )
    return rows


def refusal(path: Path, **options: Any) -> str:
    """Return the message about a file, without the name of the file that it begins with."""
    with pytest.raises(DataError) as caught:
        list(open_source(path, **options).row_blocks())
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path))


# The check


def plain_check(rows: list[tuple[list[int], list[float]]]) -> tuple[int, int, bool, bool]:
    ids = [index for row, _ in rows for index in row]
    values = [value for _, row in rows for value in row]
    ascending = all(later > earlier for row, _ in rows for earlier, later in pairwise(row))
    return (
        min(ids, default=0),
        max(ids, default=-1),
        ascending and 0 not in values,
        bool(np.isfinite(values).all()),
    )


numbers = st.sampled_from([1.0, -2.5, 1e-45, -3.4e38, 3.4e38, 0.0, -0.0, np.nan, np.inf, -np.inf])
canonical_numbers = st.sampled_from([1.0, -2.5, 1e-45, -3.4e38])
row_of_any = st.lists(
    st.tuples(st.integers(-3, 2**31 - 1) | st.integers(0, 5), numbers), max_size=6
)
canonical_row = st.lists(
    st.tuples(st.integers(0, 30), canonical_numbers), max_size=20, unique_by=lambda entry: entry[0]
)


@settings(deadline=None, max_examples=examples(300))
@given(
    st.lists(row_of_any) | st.lists(canonical_row.map(sorted)),
    st.sampled_from([np.int32, np.int64]),
)
def test_one_pass_finds_what_a_look_at_every_entry_finds(entries, dtype):
    rows = [([index for index, _ in row], [value for _, value in row]) for row in entries]
    indptr = np.concatenate([[0], np.cumsum([len(ids) for ids, _ in rows])]).astype(np.int64)
    indices = np.array([index for ids, _ in rows for index in ids], dtype)
    values = np.array([value for _, row in rows for value in row], np.float32)
    result = check_rows(indptr, frozen(indices, dtype), frozen(values.view(np.uint32), np.uint32))
    assert result == plain_check(rows)


# Reading


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".ipc", ".ARROW"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_file_is_read_under_every_name_compressed_or_not(tmp_path, suffix, compression):
    path = put(tmp_path / f"rows{suffix}", [pa.record_batch(COLUMNS)] * 2, compression=compression)
    assert rows_of(path) == ROWS * 2
    source = open_source(path)
    assert (source.n_rows, source.n_features, source.feature_names, source.rewindable) == (
        6,
        None,
        None,
        True,
    )
    assert source.targets().tolist() == source.targets().tolist() == [1, -1, 1] * 2


@pytest.mark.parametrize(("start", "length"), [(0, 2), (1, 2), (2, 1), (1, 1)])
def test_batch_that_is_part_of_another_is_read(tmp_path, start, length):
    part = pa.record_batch(COLUMNS).slice(start, length)
    assert rows_of(put(tmp_path / "rows.arrow", [part, part])) == ROWS[start : start + length] * 2


def test_lists_may_begin_at_different_places_of_their_entries(tmp_path):
    ids = pa.ListArray.from_arrays(pa.array([3, 5, 5, 6], pa.int32()), pa.array([9, 9, 9, 0, 2, 1]))
    batch = pa.record_batch({**COLUMNS, "indices": ids})
    assert rows_of(put(tmp_path / "rows.arrow", [batch])) == ROWS


def test_batches_without_rows_are_passed_over(tmp_path):
    batch = pa.record_batch(COLUMNS)
    path = put(tmp_path / "rows.arrow", [batch.slice(0, 0), batch, batch.slice(0, 0), batch])
    assert rows_of(path) == ROWS * 2
    assert "holds no rows" in refusal(put(tmp_path / "none.arrow", [batch.slice(0, 0)]))


def test_table_is_read_by_batches_and_names(tmp_path):
    batch = pa.record_batch({"a": [1, 0], "other": ["x", "y"], "b": [0.5, 2.0], "y": ["no", "yes"]})
    source = open_source(
        put(tmp_path / "table.arrow", [batch, batch]), target="y", columns=["b", "a"]
    )
    blocks = list(source.row_blocks())
    assert [block.to_dense().tolist() for block in blocks] == [[[0.5, 1], [2, 0]]] * 2
    assert source.targets().tolist() == ["no", "yes"] * 2
    assert (source.n_rows, source.n_features) == (4, 2)


def mapped_spans(path: Path) -> list[tuple[int, int]]:
    """Return the parts of the memory where this process has mapped a file."""
    lines = [
        line
        for line in Path("/proc/self/maps").read_text().splitlines()
        if line.endswith(f" {path}")
    ]
    return [
        (int(start, 16), int(stop, 16))
        for start, stop in (line.split()[0].split("-") for line in lines)
    ]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is mapped is read in /proc")
@pytest.mark.parametrize("extra", [{}, {"note": pa.nulls(3)}])
def test_blocks_are_views_of_the_file(tmp_path, extra):
    path = put(tmp_path / "rows.arrow", [pa.record_batch({**COLUMNS, **extra})])
    for block in open_source(path).row_blocks():
        for array in (block.indices, block.values, block.y):
            assert not array.flags.writeable
            start = array.__array_interface__["data"][0]
            assert any(
                first <= start and start + array.nbytes <= last
                for first, last in mapped_spans(path)
            )


def test_a_block_outlives_its_source_and_its_file(tmp_path):
    path = put(tmp_path / "rows.arrow", [pa.record_batch(COLUMNS)])
    (block,) = open_source(path).row_blocks()
    write_rows(path, [block] * 2)
    assert block.values.tolist() == [1, 2, 3]
    assert rows_of(path) == ROWS * 2


# What cannot be read


def test_stream_is_told_from_a_file(tmp_path):
    batch = pa.record_batch(COLUMNS)
    with pa.ipc.new_stream(tmp_path / "rows.arrow", batch.schema) as stream:
        stream.write_batch(batch)
    assert re.match(
        ": this is an Arrow stream: write it as an Arrow file", refusal(tmp_path / "rows.arrow")
    )


@pytest.mark.parametrize("start", [b"", b"ARR", b"1 1:1\n", b"PAR1", b"ARROW1\0\0"])
def test_something_else_is_not_an_arrow_file(tmp_path, start):
    (tmp_path / "rows.arrow").write_bytes(start)
    assert re.match(": not an Arrow file, or cut short", refusal(tmp_path / "rows.arrow"))


def test_feather_of_version_1_is_named(tmp_path):
    (tmp_path / "rows.feather").write_bytes(b"FEA1" + bytes(100))
    assert "a Feather file of version 1: write it in version 2" in refusal(
        tmp_path / "rows.feather"
    )


def test_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "rows.arrow")
    (tmp_path / "folder.arrow").mkdir()
    assert "there is no data in this folder" in refusal(tmp_path / "folder.arrow")


def test_arrow_file_under_another_name_is_named(tmp_path):
    path = put(tmp_path / "rows.svm", [pa.record_batch(COLUMNS)])
    assert refusal(path) == ":1: this is Arrow data: give it the suffix .arrow"


@pytest.mark.parametrize(
    "name", ["rows.arrow.gz", "rows.feather.zst", "rows.parquet.xz", "rows.npz.bz2"]
)
def test_columns_compressed_as_a_whole_are_refused(tmp_path, name):
    with pytest.raises(UsageError, match="cannot be compressed as a whole; decompress the file"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("change", [-8, 8])
def test_file_that_changes_its_size_is_refused(tmp_path, change):
    path = put(tmp_path / "rows.arrow", [pa.record_batch(COLUMNS)])
    source = open_source(path)
    whole = path.read_bytes()
    path.write_bytes((whole + bytes(8))[: len(whole) + change])
    with pytest.raises(DataError, match=r"rows\.arrow: has changed since it was opened"):
        list(source.row_blocks())


@pytest.mark.parametrize("label", [[1.0, None, 1.0], pa.nulls(3)])
def test_missing_label_is_named(tmp_path, label):
    path = put(tmp_path / "rows.arrow", [pa.record_batch({**COLUMNS, "label": label})])
    assert re.match(r": row [12]: the target 'label' has no value", refusal(path))


def test_fault_in_a_later_batch_has_its_row_and_comes_in_order(tmp_path):
    bad = pa.record_batch(
        {**COLUMNS, "values": pa.array([[1, 2], [], [np.inf]], pa.list_(pa.float32()))}
    )
    good = pa.record_batch(COLUMNS)
    blocks = open_source(put(tmp_path / "rows.arrow", [good, good, bad, good])).row_blocks()
    assert [next(blocks).n_rows, next(blocks).n_rows] == [3, 3]
    with pytest.raises(DataError, match=r"row 9: the value of feature 1 is infinite"):
        next(blocks)


@pytest.mark.parametrize(
    "offsets", [[0, 2, 1, 3], [-1, 2, 2, 3], [0, 2, 2, 4], [0, 2, 2, 2**31 - 1]]
)
def test_lists_that_lead_out_of_their_entries_are_refused(tmp_path, offsets):
    whole = put(tmp_path / "rows.arrow", [pa.record_batch(COLUMNS)]).read_bytes()
    good = np.array([0, 2, 2, 3], np.int32).tobytes()
    assert whole.count(good) == 2
    (tmp_path / "rows.arrow").write_bytes(
        whole.replace(good, np.array(offsets, np.int32).tobytes())
    )
    assert "damaged" in refusal(tmp_path / "rows.arrow")


def blocks_or_message(path: Path) -> list[RowBlock]:
    try:
        return list(open_source(path).row_blocks())
    except DataError:
        return []


@pytest.mark.parametrize(
    "label", [COLUMNS["label"], ["no", "yes", "no"], pa.array(list("aba")).dictionary_encode()]
)
def test_damage_anywhere_gives_rows_or_a_message(tmp_path, label):
    path = put(tmp_path / "rows.arrow", [pa.record_batch({**COLUMNS, "label": label})])
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        for block in blocks_or_message(path):
            assert np.isfinite(block.values).all()
            assert block.indices.min(initial=0) >= 0


# There and back


@st.composite
def blocks(draw) -> list[RowBlock]:
    made = []
    for _ in range(draw(st.integers(1, 4))):
        ids = draw(
            st.lists(st.lists(st.integers(0, 50) | st.integers(0, 10**12), unique=True, max_size=5))
        )
        lengths = [len(row) for row in ids]
        indices = np.array([index for row in ids for index in sorted(row)], np.int64)
        values = np.array(
            draw(st.lists(canonical_numbers, min_size=sum(lengths), max_size=sum(lengths))),
            np.float32,
        )
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        made.append(
            RowBlock(
                indptr, indices, values, np.arange(len(ids)) * 0.5, int(indices.max(initial=0)) + 1
            )
        )
    return made


@settings(deadline=None)
@given(blocks(), st.booleans())
def test_sparse_rows_survive_exactly(folder, given_blocks, is_width_known):
    assume(any(block.n_rows for block in given_blocks))
    width = max(block.n_features for block in given_blocks) if is_width_known else None
    write_rows(folder / "there.arrow", given_blocks, n_features=width)
    source = open_source(folder / "there.arrow")
    blocks_read = list(source.row_blocks())
    for name in ("indices", "values", "y"):
        expected = [getattr(block, name) for block in given_blocks]
        assert (
            np.concatenate([getattr(block, name) for block in blocks_read]).tolist()
            == np.concatenate(expected).tolist()
        )
    lengths = [np.diff(block.indptr) for block in given_blocks]
    assert (
        np.concatenate([np.diff(block.indptr) for block in blocks_read]).tolist()
        == np.concatenate(lengths).tolist()
    )
    assert source.n_features == width


def test_every_format_gives_the_same_selection(tmp_path):
    rows = open_source("synthetic:x1?rows=300&features=1000")
    chosen = []
    for name in ("rows.svm", "rows.parquet", "rows.arrow"):
        write_rows(tmp_path / name, rows.row_blocks(), n_features=rows.n_features)
        selection = select(tmp_path / name, n_features_to_select=20).selection
        chosen.append((selection.indices.tolist(), selection.scores.tolist()))
    assert chosen[0] == chosen[1] == chosen[2]


def test_ids_are_short_where_the_width_is_known(tmp_path):
    ids = np.array([3, 7])
    block = RowBlock(np.array([0, 2]), ids, np.ones(2, np.float32), np.ones(1), 8)
    for width, dtype in ((8, np.int32), (None, np.int64), (2**31, np.int64)):
        write_rows(tmp_path / "rows.arrow", [block], n_features=width)
        (back,) = open_source(tmp_path / "rows.arrow").row_blocks()
        assert back.indices.dtype == dtype
        assert back.indices.tolist() == ids.tolist()
