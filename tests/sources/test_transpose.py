"""Rows transposed into columns: in memory, and through a file of buckets that can be resumed."""

from __future__ import annotations

import shutil
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array

import streamsieve as ss
from streamsieve import workflow
from streamsieve.blocks import RowBlock
from streamsieve.machine import read_size
from streamsieve.sources import buckets
from streamsieve.sources.base import Source, SourceFacts
from streamsieve.sources.columns import as_column_source
from streamsieve.sources.writers import write_rows


@pytest.fixture(autouse=True)
def _memory_for_rows_alone():
    """Let ``memory`` be what rows may take, as if the program itself took none."""
    convert = sys.modules["streamsieve.workflow.convert"]  # a name that its function has, too
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convert, "limited", lambda memory: nullcontext())
        patch.setattr(
            convert, "work_bytes", lambda memory: 10**9 if memory is None else read_size(memory)
        )
        yield


class Rows(Source):
    """Rows of a sparse matrix, a few at a time."""

    def __init__(self, matrix: csr_array, y: np.ndarray, at_once: int = 3) -> None:
        super().__init__(SourceFacts("rows"))
        self.csr, self.y, self.at_once = matrix, y, at_once
        self.passes = 0

    def row_blocks(self, missing="error"):
        self.passes += 1
        for start in range(0, self.y.size, self.at_once):
            part = self.csr[start : start + self.at_once]
            width = int(part.indices.max(initial=-1)) + 1
            yield RowBlock(
                part.indptr, part.indices, part.data, self.y[start : start + self.at_once], width
            )


def some_rows(
    seed: int = 0, n_rows: int = 40, width: int = 60, density: float = 0.2
) -> tuple[csr_array, np.ndarray]:
    random = np.random.default_rng(seed)
    dense = np.where(
        random.random((n_rows, width)) < density, random.normal(0, 1, (n_rows, width)), 0
    )
    dense[0, -1] = 1.5
    return csr_array(dense.astype(np.float32)), random.integers(0, 2, n_rows)


def gather(source) -> tuple[list[int], csc_array]:
    """Return all ids and all columns of a source."""
    blocks = list(source.column_blocks())
    ids = np.concatenate([block.ids for block in blocks])
    columns = [
        csc_array((b.values, b.indices, b.indptr), shape=(b.n_rows, b.n_columns)).toarray()
        for b in blocks
    ]
    return ids.tolist(), np.concatenate(columns, axis=1)


def convert(rows, y, path: Path, memory: int, watch=None) -> None:
    source = Rows(rows, y) if isinstance(rows, csr_array) else rows
    workflow.convert_to_columns(source, path, memory=memory, watch=watch)


@settings(deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 30),
    st.integers(1, 80),
    st.floats(0, 1),
    st.integers(2, 5000).map(lambda entries: entries * buckets.BYTES_TO_SORT),
)
def test_buckets_hold_what_memory_would(tmp_path_factory, seed, n_rows, width, density, memory):
    path = tmp_path_factory.mktemp("columns") / "columns.arrow"
    rows, y = some_rows(seed, n_rows, width, density)
    longest = np.diff(rows.tocsc().indptr).max()
    convert(rows, y, path, max(memory, int(longest) * buckets.BYTES_TO_SORT))
    source = ss.open_source(path)
    ids, columns = gather(source)
    assert ids == list(range(width))
    np.testing.assert_array_equal(columns, rows.toarray())
    np.testing.assert_array_equal(source.targets(), y)
    np.testing.assert_array_equal(gather(as_column_source(Rows(rows, y)))[1], rows.toarray())
    assert sorted(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("memory", [10**9, 100 * buckets.BYTES_TO_SORT])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_go_back_to_rows(tmp_path, memory, suffix):
    rows, y = some_rows()
    write_rows(tmp_path / "rows.svm", Rows(rows, y).row_blocks(), n_features=60)
    workflow.convert_to_columns(
        tmp_path / "rows.svm", tmp_path / f"columns.{suffix}", memory=memory
    )
    workflow.convert(tmp_path / f"columns.{suffix}", tmp_path / "back.svm")
    assert (tmp_path / "back.svm").read_bytes() == (tmp_path / "rows.svm").read_bytes()


def test_rows_of_columns_without_values_are_empty(tmp_path):
    rows, y = some_rows(width=3)
    rows = csr_array(rows.toarray() * [1, 0, 1])
    convert(rows, y, tmp_path / "columns.parquet", 10**9)
    (block,) = ss.open_source(tmp_path / "columns.parquet", only=["1"]).row_blocks()
    assert (block.n_rows, block.n_nonzero, block.y.tolist()) == (40, 0, y.tolist())


@pytest.mark.parametrize("memory", [10**9, 40 * buckets.BYTES_TO_SORT])
def test_ids_may_be_huge(tmp_path, memory):
    rows, y = some_rows(width=50)
    ids = np.sort(np.random.default_rng(1).choice(10**15, 50, replace=False))
    wide = csr_array((rows.data, ids[rows.indices], rows.indptr), shape=(40, 10**15))
    convert(wide, y, tmp_path / "columns.parquet", memory)
    column_ids, columns = gather(ss.open_source(tmp_path / "columns.parquet"))
    assert column_ids == ids.tolist()
    np.testing.assert_array_equal(columns, rows.toarray())


class StoppedError(Exception):
    """Raised as if the process had been killed."""


@pytest.mark.parametrize("stage", ["rows read", "rows sorted"])
@pytest.mark.parametrize("at", [3, 21, 40])
def test_an_interrupted_conversion_goes_on(tmp_path, monkeypatch, stage, at):
    rows, y = some_rows()
    write_rows(tmp_path / "rows.svm", Rows(rows, y).row_blocks(), n_features=60)
    monkeypatch.setattr(buckets, "NOTE_EVERY", 50)
    monkeypatch.setattr("streamsieve.sources.svmlight.CHUNK_BYTES", 200)
    seen = []

    def interrupt(now):
        seen.append(now)
        if now.unit == stage and now.done >= at:
            raise StoppedError

    path, memory = tmp_path / "columns.parquet", 100 * buckets.BYTES_TO_SORT
    with pytest.raises(StoppedError):
        workflow.convert_to_columns(tmp_path / "rows.svm", path, memory=memory, watch=interrupt)
    assert not path.exists()
    assert (workflow.work_folder(path) is not None) == (stage == "rows sorted")
    (tmp_path / ".columns.parquet.999999.partial").touch()  # of a process that was killed
    seen.clear()
    scattered = []
    scatter = buckets.scatter_entries
    monkeypatch.setattr(
        buckets, "scatter_entries", lambda *values: (scattered.append(values[3]), scatter(*values))
    )
    workflow.convert_to_columns(tmp_path / "rows.svm", path, memory=memory, watch=seen.append)
    np.testing.assert_array_equal(gather(ss.open_source(path))[1], rows.toarray())
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "rows.svm"]
    assert (seen[-1].unit, seen[-1].done, seen[-1].total) == ("features written", 60, 60)
    if stage == "rows sorted":
        assert "rows read" not in {now.unit for now in seen}
        assert not scattered or (scattered[0] > 0) == (at > 3)


def test_other_rows_begin_anew(tmp_path):
    rows, y = some_rows()
    file, path, memory = (
        tmp_path / "rows.svm",
        tmp_path / "columns.parquet",
        100 * buckets.BYTES_TO_SORT,
    )
    write_rows(file, Rows(rows, y).row_blocks(), n_features=60)

    def interrupt(now):
        if now.unit == "rows sorted":
            raise StoppedError

    with pytest.raises(StoppedError):
        workflow.convert_to_columns(file, path, memory=memory, watch=interrupt)
    write_rows(file, Rows(2 * rows, y).row_blocks(), n_features=60)
    workflow.convert_to_columns(file, path, memory=memory)
    np.testing.assert_array_equal(gather(ss.open_source(path))[1], 2 * rows.toarray())


def test_what_cannot_be_done_is_said_and_nothing_stays(tmp_path, monkeypatch):
    rows, y = some_rows(density=1.0)
    path = tmp_path / "columns.parquet"
    with pytest.raises(ss.UsageError, match="one feature has 40 values"):
        convert(rows, y, path, 39 * buckets.BYTES_TO_SORT)
    with pytest.raises(ss.UsageError, match=r"columns can only be written to \.parquet or \.arrow"):
        convert(rows, y, tmp_path / "columns.svm", 10**9)
    with pytest.raises(ss.UsageError, match="expected a size such as 2GB"):
        workflow.convert_to_columns(Rows(rows, y), path, memory="lots")
    once = Rows(rows, y)
    once.facts = replace(once.facts, rewindable=False)
    with pytest.raises(ss.UsageError, match="can be read only once"):
        convert(once, y, path, 400 * buckets.BYTES_TO_SORT)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(ss.UsageError, match="free some space"):
        convert(rows, y, path, 400 * buckets.BYTES_TO_SORT)
    assert not list(tmp_path.iterdir())


def test_bad_data_in_the_second_pass_leaves_nothing(tmp_path):
    rows, y = some_rows()

    class Changing(Rows):
        def row_blocks(self, missing="error"):
            if self.passes:
                self.csr = csr_array(np.ones((40, 60), np.float32))
            return super().row_blocks(missing)

    with pytest.raises(ss.DataError, match="has changed while it was read"):
        convert(Changing(rows, y), y, tmp_path / "columns.parquet", 100 * buckets.BYTES_TO_SORT)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("500 MB", 5 * 10**8),
        ("1.5GiB", 3 << 29),
        ("64kb", 64_000),
        (10**6, 10**6),
        ("2g", 2 * 10**9),
    ],
)
def test_sizes_are_read(text, size):
    assert read_size(text) == size


def test_a_wide_table_with_gaps(tmp_path):
    random = np.random.default_rng(3)
    X = random.normal(0, 1, (30, 200)).round(3)
    y = np.where(X[:, 7] > 0, "yes", "no")
    X[4, 7] = X[5, 9] = np.nan
    names = [f"gene {number}" for number in range(200)]
    lines = [",".join([*names, "sick"])]
    lines += [
        ",".join([*("" if v != v else str(v) for v in row), label])
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    workflow.convert_to_columns(
        tmp_path / "wide.csv", tmp_path / "columns.parquet", target="sick", memory="40kB"
    )
    source = ss.open_source(tmp_path / "columns.parquet")
    np.testing.assert_array_equal(gather(source)[1], X.astype(np.float32))
    with pytest.raises(
        ss.DataError,
        match=r"column 'gene 7' is missing in row 5; fill it in, or set missing='skip'",
    ):
        ss.SAOLA().fit_source(source)
    for data in (source, ss.open_source(tmp_path / "wide.csv", "sick")):
        assert ss.SAOLA(missing="skip").fit_source(data).selection().top(1).names.tolist() == [
            "gene 7"
        ]
    with pytest.raises(ss.DataError, match="row 5: column 'gene 7' has no value"):
        list(ss.open_source(tmp_path / "wide.csv", "sick").row_blocks())


def test_a_table_by_columns_keeps_its_precision_and_groups(tmp_path):
    import pyarrow as pa

    X = np.random.default_rng(4).normal(0, 1, (20, 5))
    table = pa.table({**{f"c{i}": X[:, i] for i in range(5)}, "y": [0, 1] * 10})
    pq.write_table(table, tmp_path / "table.parquet")
    workflow.convert_to_columns(tmp_path / "table.parquet", tmp_path / "columns.arrow", target="y")
    ids, columns = gather(ss.open_source(tmp_path / "columns.arrow"))
    assert ids == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(columns, X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": [0, 2, 1]}, "from column 1 on, the ids do not ascend"),
        ({"feature": [0, 1, 9]}, "from column 1 on, the ids do not ascend"),
        ({"indices": [[1, 0], [0], [1]]}, "row numbers do not ascend"),
        ({"indices": [[0, 4], [0], [1]]}, "row numbers do not ascend"),
        ({"values": [[1.0], [2.0], [3.0]]}, "differ in length"),
        ({"values": [[1.0, None], [2.0], [3.0]]}, "missing entries"),
    ],
)
def test_damaged_columns_are_refused(tmp_path, change, message):
    import pyarrow as pa

    good = {
        "feature": [0, 1, 5],
        "indices": [[0, 1], [0], [1]],
        "values": [[1.0, 2.0], [2.0], [3.0]],
    }
    metadata = {"n_rows": "2", "n_features": "6", "target": "[0, 1]"}
    pq.write_table(
        pa.table({**good, **change}).replace_schema_metadata(metadata), tmp_path / "columns.parquet"
    )
    with pytest.raises(ss.DataError, match=message):
        list(ss.open_source(tmp_path / "columns.parquet").column_blocks())
    pq.write_table(
        pa.table(good).replace_schema_metadata({**metadata, "target": "[0]"}),
        tmp_path / "columns.parquet",
    )
    with pytest.raises(ss.DataError, match="1 labels for 2 rows"):
        ss.open_source(tmp_path / "columns.parquet")


def test_rows_that_fit_in_memory_are_not_surveyed(tmp_path, monkeypatch):
    """Entries are counted by ranges of ids only for the way over the disk."""
    from streamsieve.sources import buckets

    monkeypatch.setattr(buckets, "count_ranges", lambda *_: pytest.fail("nobody needs the counts"))
    rows, y = some_rows()
    write_rows(tmp_path / "rows.svm", Rows(rows, y).row_blocks(), n_features=60)
    assert (
        ss.SAOLA(measure="fisher_z")
        .fit_source(ss.open_source(tmp_path / "rows.svm"))
        .n_features_seen_
        == 60
    )
