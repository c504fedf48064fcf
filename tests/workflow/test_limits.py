"""Limits: the memory that a run may take, the times that it reports, full disks."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array, save_npz

import streamsieve as ss
from streamsieve import machine, workflow
from streamsieve.blocks import RowBlock
from streamsieve.machine import (
    available_memory,
    limited,
    reading_bytes,
    reading_threads,
    resident_memory,
)
from streamsieve.runs import RunDirectory
from streamsieve.selectors.matrix import weighing
from streamsieve.selectors.rows.memory import bytes_written
from streamsieve.selectors.rows.sofs import SOFS
from streamsieve.sources import buckets, delimited_text, transpose
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.transpose import whole_matrix
from streamsieve.sources.writers import write_columns, write_rows
from tests import warm
from tests.paths import COMMAND

MB = 10**6
PROMISED = 500 * MB


LAUNCH = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
unit = 1 if sys.platform == "darwin" else 1024
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * unit)
"""


def peak_of(*arguments: object) -> tuple[int, int, str]:
    """Exit code, most bytes held and messages of a command.

    Of a process that this one starts, the system counts what this one holds: a small one must start
    it.
    """
    command = [sys.executable, "-S", "-c", LAUNCH, *COMMAND, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, peak = map(int, done.stdout.splitlines()[-1].split())
    return code, peak, done.stderr


def keeps_promise(*arguments: object) -> None:
    code, peak, messages = peak_of(*arguments, "--memory", "500MB")
    assert code == 0, messages
    assert peak <= PROMISED


def table(path: Path, n_rows: int, n_columns: int, **options: int) -> Path:
    random = np.random.default_rng(0)
    X = random.standard_normal((n_rows, n_columns)).astype(np.float32).round(3)
    columns = {f"c{number}": X[:, number] for number in range(n_columns)}
    columns_table = pa.table({**columns, "t": (X[:, 1] + X[:, 2] > 0).astype(np.int64)})
    if path.suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(columns_table, path)
    else:
        pq.write_table(columns_table, path, **options)
    return path


# ---- the limit itself


@pytest.mark.parametrize("version", [2, 1])
@pytest.mark.parametrize(("cached", "left"), [("70000000", 80 * MB), (None, 10 * MB)])
def test_what_a_container_caches_of_files_is_available(
    tmp_path, monkeypatch, version, cached, left
):
    limit, used, details, key = (
        ("memory.max", "memory.current", "memory.stat", "inactive_file")
        if version == 2
        else (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file",
        )
    )
    (tmp_path / "memory").mkdir()
    (tmp_path / limit).write_text("100000000\n")
    (tmp_path / used).write_text("90000000\n")
    if cached is not None:
        (tmp_path / details).write_text(f"anon 5\ninactive_anon 7\n{key} {cached}\nactive_file 9\n")
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert available_memory() == left


def test_a_limit_bounds_what_is_available_in_all_threads():
    free, total = available_memory(), resident_memory() + 1500 * MB
    sizes = []
    with limited(total):
        for_reading = reading_bytes()
        worker = threading.Thread(target=lambda: sizes.append(available_memory()))
        worker.start()
        worker.join()
        assert reading_threads() <= max(1, for_reading // machine.BYTES_PER_THREAD)
        with limited(10**15):  # a larger one inside changes nothing
            assert reading_bytes() == for_reading
    assert sizes[0] + for_reading <= 1500 * MB
    assert available_memory() >= 0.5 * free
    assert not machine.is_limited()


@pytest.mark.parametrize("size", ["100MB", "1kB", 1])
def test_a_limit_below_any_run_is_refused_with_what_would_do(size):
    with pytest.raises(ss.UsageError, match=r"too little; .* allow \d") as refused, limited(size):
        pass
    wanted = re.search(r"allow (\S+) or more", str(refused.value))
    assert wanted
    with limited(wanted[1]):
        pass


@pytest.mark.parametrize("size", ["", "GB", "2 apples", "-1GB", "1e9", "9" * 30 + "GB", "nan"])
def test_what_is_not_a_size_is_refused(size):
    with pytest.raises(ss.UsageError, match="expected a size such as 2GB"), limited(size):
        pass


def test_blocks_shrink_with_the_memory_allowed(tmp_path):
    source = ss.open_source(table(tmp_path / "table.parquet", 3000, 100), "t")
    usual = [block.n_rows for block in source.row_blocks()]
    with limited(resident_memory() + machine.STILL_TO_LOAD + 60 * MB):
        small = [block.n_rows for block in source.row_blocks()]
    assert max(small) < max(usual)
    assert sum(small) == sum(usual) == 3000


def test_a_run_that_passes_its_limit_ends_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "rows.svm").write_text("1 1:1\n0 2:1\n")
    with limited(10**12):
        monkeypatch.setattr(machine, "resident_memory", lambda: 2 * 10**12)
        with pytest.raises(
            ss.errors.RunError, match=r"2,000,000 MB of memory, but 1,000,000 MB are allowed"
        ):
            list(ss.open_source(tmp_path / "rows.svm").row_blocks())


def test_pages_of_mapped_files_are_given_back(tmp_path):
    path = tmp_path / "rows.arrow"
    write_rows(
        path, ArraySource(np.ones((200_000, 40), np.float32), np.arange(200_000) % 2).row_blocks()
    )
    blocks = list(ss.open_source(path).row_blocks())
    total = sum(float(block.values.sum()) for block in blocks)
    held = resident_memory()
    with limited(held + 10**9):
        available_memory()
        assert resident_memory() < held - 50 * MB
    assert sum(float(block.values.sum()) for block in blocks) == total


# ---- promises of the command line


def test_select_apply_and_convert_keep_small_promises(tmp_path):
    rows, run = tmp_path / "rows.svm", tmp_path / "run"
    workflow.convert("synthetic:x1?rows=1500", rows)
    keeps_promise("select", rows, "-k", 10, "-o", run)
    assert json.loads((run / "run.json").read_text())["memory"] == "500MB"
    keeps_promise("apply", run, rows, "-o", tmp_path / "few.csv")
    keeps_promise("convert", rows, tmp_path / "columns.parquet", "--columns")


@pytest.mark.slow
def test_sparse_rows_keep_large_promises(tmp_path):
    rows, run = tmp_path / "rows.svm", tmp_path / "run"
    workflow.convert("synthetic:x1?rows=75000", rows)
    assert rows.stat().st_size > 0.6 * PROMISED
    keeps_promise("select", rows, "-k", 10, "-o", run, "--test", rows)
    keeps_promise("select", rows, "-k", 10, "-m", "saola")
    keeps_promise("apply", run, rows, "-o", tmp_path / "few.svm")
    for name in ("rows.parquet", "rows.arrow"):
        keeps_promise("convert", rows, tmp_path / name)
        keeps_promise("select", tmp_path / name, "-k", 10)
    keeps_promise("convert", tmp_path / "rows.parquet", tmp_path / "back.svm")
    keeps_promise("convert", rows, tmp_path / "columns.parquet", "--columns")
    keeps_promise("select", tmp_path / "columns.parquet", "-k", 10, "-m", "saola")


@pytest.mark.slow
def test_tables_keep_large_promises(tmp_path):
    rows = table(tmp_path / "table.parquet", 30_000, 1000, row_group_size=2_000)
    keeps_promise("select", rows, "-k", 10, "--target", "t")
    keeps_promise("convert", rows, tmp_path / "table.csv", "--target", "t")
    keeps_promise("select", tmp_path / "table.csv", "-k", 10, "--target", "t")


@pytest.mark.slow
def test_many_threads_keep_a_promise(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMSIEVE_THREADS", "32")
    rows = tmp_path / "rows.svm"
    workflow.convert("synthetic:x1?rows=75000", rows)
    keeps_promise("select", rows, "-k", 10)
    keeps_promise("convert", rows, tmp_path / "rows.parquet")
    keeps_promise("select", tmp_path / "rows.parquet", "-k", 10)


def test_a_resumed_run_keeps_its_limit(tmp_path, monkeypatch):
    rows, run = tmp_path / "rows.svm", tmp_path / "run"
    rows.write_text("".join(f"{number % 2} {number % 7 + 1}:1\n" for number in range(300)))

    def stop(now):
        if now.done >= 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.select(
            rows, n_features_to_select=2, output=run, checkpoint_every=100, memory="4GB", watch=stop
        )
    assert RunDirectory(run).request().memory == "4GB"
    seen = []
    workflow.resume(run, lambda now: seen.append(machine.is_limited()))
    assert seen
    assert all(seen)


def test_a_limit_and_workers_are_refused_together(tmp_path):
    with pytest.raises(ss.UsageError, match="a memory limit is for one process"):
        ss.select("synthetic:x1?rows=10", engine="local", memory="4GB")


# ---- plans that do not fit


def test_a_row_group_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = table(tmp_path / "table.parquet", 500, 30)
    monkeypatch.setattr(machine, "available_memory", lambda: 1000)
    with pytest.raises(
        ss.DataError, match=r"table\.parquet: \d+ columns? of row group 1, .* smaller row groups"
    ):
        ss.select(path, target="t")


def test_a_matrix_in_npz_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    matrix = csr_array(np.eye(2000, dtype=np.float32))
    save_npz(tmp_path / "rows.npz", matrix)
    monkeypatch.setattr("streamsieve.sources.npz.available_memory", lambda: 1000)
    monkeypatch.setattr(machine, "available_memory", lambda: 1000)
    with pytest.raises(
        ss.DataError, match=r"rows\.npz: its arrays, which are read as a whole, take up to"
    ):
        ss.open_source(tmp_path / "rows.npz")
    with pytest.raises(ss.DataError, match=r"new\.npz: the rows do not fit in memory"):
        write_rows(tmp_path / "new.npz", ArraySource(matrix, np.arange(2000) % 2).row_blocks())
    assert not (tmp_path / "new.npz").exists()


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv"])
def test_a_line_that_does_not_fit_is_refused(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_bytes((b"a,t\n" if name == "rows.csv" else b"1 ") + b" " * (40 << 20))
    monkeypatch.setattr("streamsieve.sources.text.available_memory", lambda: 100 * MB)
    with pytest.raises(
        ss.DataError, match=rf"{name}: a line is longer than .* MB, too long for 100MB of memory"
    ):
        list(ss.open_source(path, "t" if name == "rows.csv" else None).row_blocks())


def test_columns_that_do_not_fit_are_no_whole_matrix(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    dense, y = random.standard_normal((50, 40)), np.arange(50) % 2
    write_columns(tmp_path / "columns.parquet", ArraySource(dense, y))
    sources = [
        ss.open_source(tmp_path / "columns.parquet"),
        ss.open_source(table(tmp_path / "table.parquet", 50, 40), "t"),
    ]
    monkeypatch.setattr(transpose, "available_memory", lambda: 10_000)
    for source in sources:
        with pytest.raises(
            ss.DataError, match=r"does not fit in .* take fewer rows or features, or a method that"
        ):
            whole_matrix(source)


def test_rows_go_through_a_file_where_a_limit_leaves_no_room_for_their_columns(
    tmp_path, monkeypatch
):
    random = np.random.default_rng(0)
    X, y = random.standard_normal((300, 60)), np.arange(300) % 2
    X[:, 7] += y
    write_rows(tmp_path / "rows.svm", ArraySource(X, y).row_blocks(), n_features=60)
    expected = ss.select(tmp_path / "rows.svm", "saola")
    select, scattered = sys.modules["streamsieve.workflow.select"], []
    monkeypatch.setattr(select, "available_memory", lambda: 200_000)
    fill_buckets = buckets.fill_buckets
    monkeypatch.setattr(
        buckets,
        "fill_buckets",
        lambda *arguments: scattered.append(arguments) or fill_buckets(*arguments),
    )
    record = ss.select(tmp_path / "rows.svm", "saola", memory="4GB")
    assert scattered
    assert record.selection.indices.tolist() == expected.selection.indices.tolist()
    assert record.n_rows == 300


@pytest.fixture
def mount(tmp_path, monkeypatch):
    """Return a function that changes the apparent type of the file system of all folders."""
    device = os.stat(tmp_path).st_dev
    monkeypatch.setattr(machine, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def mount(kind):
        number = f"{os.major(device)}:{os.minor(device)}"
        (tmp_path / "mounts").write_text(
            f"22 1 0:1 / /proc rw - proc proc rw\n23 1 {number} / / rw shared:1 - {kind} x rw\n"
        )

    return mount


def test_temporary_files_are_written_where_the_system_has_them(tmp_path, mount):
    mount("ext4")
    assert machine.scratch_folder() == tmp_path


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no file system in memory")
def test_temporary_files_are_not_written_to_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    assert machine.scratch_folder().resolve() in (Path("/var/tmp"), tmp_path)


@pytest.mark.parametrize("kind", ["tmpfs", "ramfs"])
def test_temporary_files_in_memory_alone_are_warned_of(tmp_path, monkeypatch, mount, kind):
    mount(kind)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine, "DISK_FOLDER", tmp_path)
    with pytest.warns(UserWarning, match="is held in memory.*; set TMPDIR to a folder on a disk"):
        assert machine.scratch_folder() == tmp_path


def test_rows_that_go_through_a_file_are_in_the_scratch_folder(tmp_path, monkeypatch):
    write_rows(
        tmp_path / "rows.svm",
        ArraySource(np.eye(60), np.arange(60) % 2).row_blocks(),
        n_features=60,
    )
    select, seen = sys.modules["streamsieve.workflow.select"], []
    monkeypatch.setattr(select, "scratch_folder", lambda: tmp_path)
    transposed = select.transposed
    monkeypatch.setattr(
        select, "transposed", lambda *arguments: seen.append(arguments[2]) or transposed(*arguments)
    )
    ss.select(tmp_path / "rows.svm", "saola", memory="4GB")
    assert [path.parent.parent for path in seen] == [tmp_path]


def test_features_beyond_the_limit_end_a_run_but_not_its_checkpoint(tmp_path, monkeypatch):
    rows, run = tmp_path / "rows.svm", tmp_path / "run"
    lines = [
        f"{row % 2} " + " ".join(f"{row * 2000 + entry + 1}:1" for entry in range(2000))
        for row in range(400)
    ]
    rows.write_text("\n".join(lines) + "\n")
    learned = []

    def room() -> int:
        return 10**9 if not learned or learned[-1] < 300 else 1000

    monkeypatch.setattr("streamsieve.selectors.rows.addresses.available_memory", room)
    with pytest.raises(
        ss.DataError, match=r"different features need .* set max_cells \(sofs\), or"
    ):
        ss.select(
            rows,
            output=run,
            checkpoint_every=50,
            memory="4GB",
            watch=lambda now: learned.append(now.done),
        )
    assert RunDirectory(run).checkpoint is not None


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("sofs", "the first 1 rows, from which scales are chosen"),
        ("saola", "the kept columns"),
        ("mrmr", "all columns, which this method holds"),
        ("projected-gradient", "the standardised columns"),
    ],
)
def test_what_a_method_holds_must_fit(monkeypatch, method, what):
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = random.standard_normal((60, 40)) + 5 * y[:, None]
    monkeypatch.setattr(machine, "available_memory", lambda: 100)
    options = {"n_features_to_select": 3} if method != "saola" else {}
    with pytest.raises(
        ss.DataError, match=rf"{what}.* take up to .* are left; .* use a machine with more memory"
    ):
        ss.select((X, y), method, **options)


def test_arrays_for_ids_are_counted_by_what_was_written():
    learner = SOFS.make(5, normalize=False).start(10**6, [0, 1])
    learner.partial_fit_block(
        RowBlock(np.array([0, 2]), np.array([3, 9]), np.ones(2, np.float32), np.array([1]), 10**6)
    )
    assert bytes_written(learner.memory) < 100
    assert sum(array.nbytes for _, _, array in learner.memory.per_feature_arrays()) >= 10**6


def test_a_first_chunk_of_a_table_is_cut_without_a_change(tmp_path, monkeypatch):
    path = table(tmp_path / "table.csv", 400, 5)
    whole = [block.to_dense(np.float32) for block in ss.open_source(path, "t").row_blocks()]
    monkeypatch.setattr(delimited_text, "chunk_bytes", lambda letters: 500)
    parts = [block.to_dense(np.float32) for block in ss.open_source(path, "t").row_blocks()]
    assert len(parts) > 20 > len(whole)
    np.testing.assert_array_equal(np.concatenate(parts), np.concatenate(whole))


# ---- forecasts


@pytest.mark.parametrize("method", ["local-learning", "relieff", "irelief"])
def test_long_work_is_announced_before_it_begins(caplog, monkeypatch, method):
    monkeypatch.setattr(weighing, "MIN_FORECAST_WORK", 0)
    monkeypatch.setattr(weighing, "LONG_SECONDS", 0.0)
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 12))
    y = (X[:, 0] > 0).astype(int)
    caplog.set_level(logging.WARNING, "streamsieve")
    ss.select((X, y), method)
    (note,) = caplog.messages
    assert re.fullmatch(
        rf"array: {method} on 40 rows and 12 features takes about \d+ min and [\d.]+MB of memory",
        note,
    )


def test_short_work_is_not_announced(caplog):
    ss.select((np.eye(10), np.arange(10) % 2), "local-learning")
    assert not caplog.messages


@pytest.mark.parametrize(("seconds", "text"), [(61, "1 min"), (2400, "40 min"), (9000, "2.5 h")])
def test_times_in_words(seconds, text):
    assert weighing.format_duration(seconds) == text


def test_a_forecast_grows_with_the_features(monkeypatch):
    class Work:
        n_rows, varying = 10**6, np.arange(1000)

    monkeypatch.setattr(weighing, "time_distances", lambda pairs, features: 5.0 + 0.01 * features)
    assert weighing.forecast(Work(), 2.0) == pytest.approx(20.0)


# ---- full disks

FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.argv = ["streamsieve", *sys.argv[2:]]
from streamsieve.cli import main
main()
"""


def on_full_disk(room: int, *arguments: object) -> tuple[int, str]:
    """Exit code and messages of a command where no file may be larger than ``room``."""
    command = warm.python(FULL, str(room), *map(str, arguments))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    rows, run, out = tmp_path / "rows.svm", tmp_path / "run", tmp_path / "out"
    workflow.convert("synthetic:x1?rows=300", rows)
    ss.select(rows, n_features_to_select=100, output=run)
    out.mkdir()
    (out / "old.svm").write_text("1 1:1\n")
    for name, arguments in {
        "old.svm": ("convert", rows, out / "old.svm"),
        "new.parquet": ("convert", rows, out / "new.parquet"),
        "columns.parquet": ("convert", rows, out / "columns.parquet", "--columns"),
        "few.csv": ("apply", run, rows, "-o", out / "few.csv"),
    }.items():
        code, messages = on_full_disk(10_000, *arguments)
        assert code == 1
        assert re.search(rf"error: .*{name}: .*File too large", messages), messages
    assert [path.name for path in out.iterdir()] == ["old.svm"]
    assert (out / "old.svm").read_text() == "1 1:1\n"


@pytest.mark.parametrize("room", [300, 2000, 20_000])
def test_a_run_on_a_full_disk_leaves_what_can_be_resumed_or_nothing(tmp_path, room):
    rows, run = tmp_path / "rows.svm", tmp_path / "run"
    workflow.convert("synthetic:x1?rows=300", rows)
    code, messages = on_full_disk(
        room, "select", rows, "-k", 100, "-o", run, "--checkpoint-every", 100
    )
    assert code == 1
    assert re.search(r"error: .*: .*File too large", messages), messages
    left = sorted(path.name for path in run.iterdir()) if run.exists() else []
    assert left in ([], ["run.json"], ["checkpoint", "run.json"])
    if "checkpoint" in left:
        assert workflow.resume(run).n_rows == 300
