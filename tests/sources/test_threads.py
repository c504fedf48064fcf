"""Threads: as many as asked for, and the same rows whatever their number."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsieve import DataError, UsageError, open_source
from streamsieve.machine import THREADS_VARIABLE, cores
from streamsieve.sources import delimited, delimited_text, prefetch, svmlight, tables
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.svmlight import SvmlightSource
from streamsieve.sources.writers import write_rows

ROWS, FEATURES = 900, 30
NUMBERS = ["1", "2", "3", "8"]


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


@pytest.mark.parametrize(("value", "expected"), [("1", 1), (" 12 ", 12), ("003", 3)])
def test_the_environment_wins(monkeypatch, value, expected):
    monkeypatch.setenv(THREADS_VARIABLE, value)
    assert cores() == expected


@pytest.mark.parametrize("value", ["0", "-2", "two", "1.5", "²"])
def test_a_number_of_threads_that_makes_no_sense_is_refused(monkeypatch, value):
    monkeypatch.setenv(THREADS_VARIABLE, value)
    with pytest.raises(
        UsageError, match=f"STREAMSIEVE_THREADS={value}: must be an integer of 1 or more"
    ):
        cores()


def test_an_empty_variable_says_nothing(monkeypatch):
    monkeypatch.setenv(THREADS_VARIABLE, "")
    assert cores() >= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("threads")
    random = np.random.default_rng(0)
    X = random.normal(0, 1, (ROWS, FEATURES)).round(3) * (random.random((ROWS, FEATURES)) < 0.8)
    y = random.integers(0, 2, ROWS)
    for name, target in FILES:
        write_rows(
            folder / name, ArraySource(X, y).row_blocks(), n_features=FEATURES, target=target
        )
    return folder


FILES = [
    *((name, None) for name in ("rows.svm", "rows.svm.gz", "sparse.parquet", "sparse.arrow")),
    *((name, "y") for name in ("rows.csv", "rows.csv.xz", "table.parquet", "table.arrow")),
]


@pytest.fixture
def small_parts(monkeypatch):
    """Make many blocks from little data."""
    monkeypatch.setattr(svmlight.SvmlightSource.__init__, "__defaults__", (False, 2000))
    for name in ("FIRST_BYTES", "CHUNK_BYTES"):
        monkeypatch.setattr(delimited_text, name, 2000)
    monkeypatch.setattr(delimited, "HEAD_BYTES", 2000)
    monkeypatch.setattr(tables, "BATCH_ROWS", 20)


def arrays_of(source: Any) -> list[tuple[Any, ...]]:
    return [
        (b.indptr.tolist(), b.indices.tolist(), b.values.tolist(), b.y.tolist())
        for b in source.row_blocks()
    ]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("name", "target"), [*FILES, ("synthetic:x1?rows=3000", None), ("synthetic:spiral", None)]
)
def test_any_number_of_threads_reads_the_same_blocks(folder, monkeypatch, name, target):
    arrays = []
    for threads in NUMBERS:
        monkeypatch.setenv(THREADS_VARIABLE, threads)
        arrays.append(
            arrays_of(open_source(name if name.startswith("synth") else folder / name, target))
        )
    assert len(arrays[0]) > 3
    assert arrays.count(arrays[0]) == len(NUMBERS)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", ["out.svm", "out.svm.gz"])
def test_any_number_of_threads_writes_the_same_file(folder, monkeypatch, tmp_path, name):
    contents = set()
    for threads in NUMBERS:
        monkeypatch.setenv(THREADS_VARIABLE, threads)
        write_rows(tmp_path / name, open_source(folder / "rows.svm").row_blocks())
        contents.add((tmp_path / name).read_bytes())
    assert len(contents) == 1


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("name", "target"), FILES)
def test_one_thread_is_one_parser(folder, monkeypatch, name, target):
    workers = []
    real = prefetch.ThreadPoolExecutor

    def noted(count: int) -> Any:
        workers.append(count)
        return real(count)

    monkeypatch.setattr(prefetch, "ThreadPoolExecutor", noted)
    for threads in (1, 4):
        workers.clear()
        monkeypatch.setenv(THREADS_VARIABLE, str(threads))
        arrays_of(open_source(folder / name, target))
        assert workers == [threads]


def test_parsers_work_at_the_same_time(folder, monkeypatch):
    """Four threads are in the kernel at once, so only their number limits the speed of parsing."""
    together = threading.Barrier(4)
    real = svmlight.parse_text
    calls = []

    def waiting(*arguments: Any) -> Any:
        calls.append(threading.get_ident())
        if len(calls) <= 4:
            together.wait(20)
        return real(*arguments)

    monkeypatch.setattr(svmlight, "parse_text", waiting)
    monkeypatch.setenv(THREADS_VARIABLE, "4")
    list(SvmlightSource(folder / "rows.svm", chunk_bytes=1000).row_blocks())
    assert len(set(calls)) == 4


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("threads", NUMBERS)
def test_the_first_fault_is_named_whatever_the_number_of_threads(tmp_path, monkeypatch, threads):
    monkeypatch.setenv(THREADS_VARIABLE, threads)
    (tmp_path / "rows.svm").write_text(
        "1 1:1\n" * 1000 + "1 1:x\n" + "1 1:1\n" * 500 + "1 1:y\n" * 9
    )
    (tmp_path / "rows.csv").write_text("a,y\n" + "1,1\n" * 1000 + "x,1\n" + "1,1\n" * 900 + "y,1\n")
    with pytest.raises(DataError, match=r"rows.svm:1001: .*'x' is not a number"):
        arrays_of(open_source(tmp_path / "rows.svm"))
    with pytest.raises(DataError, match=r"rows.csv:1002: column 'a' is 'x'"):
        arrays_of(open_source(tmp_path / "rows.csv", "y"))
