"""Files that change while they are read: cut short, grown, rewritten, replaced."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import streamsieve as ss
from streamsieve.sources import delimited_text, open_source, svmlight
from streamsieve.sources.base import Source
from streamsieve.sources.writers import write_rows

VALUES = {1234.5, 6789.25}
SVMLIGHT = "1 3:1234.5 7:6789.25\n-1 3:6789.25 9:1234.5\n"
CSV = "a,b,y\n" + "1234.5,6789.25,1\n6789.25,1234.5,0\n"
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_text, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(delimited_text, "FIRST_BYTES", 4096)
    monkeypatch.setattr(svmlight, "MARGIN_BYTES", 64)


def text_file(folder: Path, kind: str, compression: str) -> Path:
    """Write a file of text with several parts, little of which can be compressed away."""
    random = np.random.default_rng(0)
    text = CSV + CSV.split("\n", 1)[1] * 4000
    if kind == "svm":
        text = "".join(f"# {random.bytes(40).hex()}\n{SVMLIGHT}" for _ in range(4000))
    path = folder / f"rows.{kind}{compression}"
    path.write_bytes(COMPRESS[compression](text.encode()))
    return path


def open_rows(path: Path) -> Source:
    if path.name.startswith("rows.svm"):
        return svmlight.SvmlightSource(path, chunk_bytes=4096)
    return open_source(path, target="y")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3 - 3)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"1 3:1234.5\n")


def rewrite(path: Path) -> None:
    """Write other bytes in the same place, of the same size."""
    size, times = path.stat().st_size, path.stat()
    with path.open("r+b") as file:
        file.seek(size - 1)
        file.write(b"\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 10**7))


def blocks_while(source: Source, change: Callable[[], None]) -> Iterator[Any]:
    blocks = source.row_blocks()
    yield next(blocks)
    change()
    yield from blocks


def values_while(source: Source, change: Callable[[], None]) -> None:
    for block in blocks_while(source, change):
        assert set(block.values.tolist()) <= VALUES, "half a number is not a number"


TEXTS = [
    *(("svm", compression) for compression in COMPRESS),
    *(("csv", compression) for compression in ("", ".gz", ".zst")),
]


@pytest.mark.parametrize("change", [cut, grow, rewrite])
@pytest.mark.parametrize(("kind", "compression"), TEXTS)
def test_text_that_changes_while_it_is_read_is_an_error(
    tmp_path: Path, kind: str, compression: str, change: Callable[[Path], None]
) -> None:
    path = text_file(tmp_path, kind, compression)
    source = open_rows(path)
    message = (
        r"changed while it was read \(was [\d,]+ bytes, is [\d,]+\); wait until it is complete"
    )
    with pytest.raises(
        ss.DataError, match=message if not compression else f"{message}|damaged or cut short"
    ):
        values_while(source, lambda: change(path))


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_text_cut_where_a_line_is_not_complete(tmp_path: Path, kind: str) -> None:
    """Cut a file at several places, also within the last line of a chunk."""
    for missing in (1, 2, 5, 11, 12, 13, 60, 5000):
        path = text_file(tmp_path, kind, "")
        size = path.stat().st_size
        with pytest.raises(ss.DataError, match="changed while it was read"):
            values_while(open_rows(path), partial(os.truncate, path, size - missing))


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_a_shard_of_text_that_is_cut_short(tmp_path: Path, kind: str) -> None:
    path = text_file(tmp_path, kind, "")
    for number in range(3):
        shards = open_rows(path).shards(3)
        with pytest.raises(ss.DataError, match="changed while it was read"):
            list(blocks_while(shards[number], lambda: cut(path)))
        text_file(tmp_path, kind, "")


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_a_file_that_is_replaced_is_read_to_its_end(tmp_path: Path, kind: str) -> None:
    path, other = text_file(tmp_path, kind, ""), tmp_path / "other"
    other.write_bytes(path.read_bytes()[:1000])
    source = open_rows(path)
    expected = sum(block.n_rows for block in source.row_blocks())
    assert (
        sum(block.n_rows for block in blocks_while(source, lambda: os.replace(other, path)))
        == expected
    )
    with pytest.raises(ss.DataError, match="has changed since it was opened; open it again"):
        list(source.row_blocks())


@pytest.mark.parametrize("kind", ["svm", "csv"])
def test_a_fault_in_a_file_that_has_changed_is_not_blamed_on_its_line(
    tmp_path: Path, kind: str
) -> None:
    path = text_file(tmp_path, kind, "")

    def spoil() -> None:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            file.write(b"\nspoiled,by:others\n")
        os.utime(path, ns=(0, 0))

    with pytest.raises(ss.DataError, match="changed while it was read"):
        list(blocks_while(open_rows(path), spoil))


def test_a_copy_on_another_machine_is_as_good_if_it_is_as_large(tmp_path: Path) -> None:
    path = text_file(tmp_path, "svm", "")
    source = open_rows(path)
    moved = pickle.loads(pickle.dumps(source))
    assert isinstance(moved, svmlight.SvmlightSource)
    moved._file = moved._file._replace(process=-1, inode=(0, 0), modified_ns=0)
    assert sum(block.n_rows for block in moved.row_blocks()) == 8000
    with pytest.raises(ss.DataError, match="changed while it was read"):
        list(blocks_while(moved, lambda: cut(path)))
    with pytest.raises(ss.DataError, match="has changed since it was opened"):
        list(moved.row_blocks())


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("form", ["sparse", "table", "columns"])
def test_tables_that_change_between_passes_or_while_they_are_read(
    tmp_path: Path, suffix: str, form: str
) -> None:
    from streamsieve import workflow

    (tmp_path / "rows.svm").write_text(SVMLIGHT * 20_000)
    path = tmp_path / f"rows{suffix}"
    target = "y" if form == "table" else None
    rows = open_source(tmp_path / "rows.svm")
    if form == "columns":
        workflow.convert_to_columns(rows, path)
    else:
        write_rows(path, rows.row_blocks(), n_features=9, target=target)
    source = open_source(path, target=target)
    if form == "columns":
        batches = source.file.section_batches(source.fields, None)
    else:
        batches = source.batches(source.file.names, 1000)  # which other threads read ahead
    next(batches)
    os.utime(path, ns=(0, 0))
    with pytest.raises(ss.DataError, match="changed while it was read"):
        list(batches)
    with pytest.raises(ss.DataError, match="has changed since it was opened; open it again"):
        next(source.column_blocks() if form == "columns" else source.row_blocks())


def test_a_mapped_file_that_is_cut_short_is_noticed_before_the_next_batch(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(10**6, dtype=np.float64), "y": np.arange(10**6) % 2})
    with pa.ipc.new_file(str(tmp_path / "rows.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    source = open_source(tmp_path / "rows.arrow", target="y")
    batches = source.batches(["x", "y"], 1000)
    next(batches)
    os.truncate(tmp_path / "rows.arrow", 10**6)
    with pytest.raises(ss.DataError, match="changed while it was read"):
        list(batches)
