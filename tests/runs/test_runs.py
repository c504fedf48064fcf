"""Runs in folders: checkpoints, kills at any moment, resuming, failing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import streamsieve as ss
from streamsieve import workflow
from streamsieve.files import PARTIAL
from streamsieve.training import Progress
from tests import warm
from tests.paths import TEST, TRAIN

PARAMS: dict[str, Any] = {
    "method": "sofs",
    "n_features_to_select": 50,
    "normalize": "l2",
    "n_epochs": 2,
}

# Runs a selection in which the process is killed the n-th time a step of the machinery is reached.
KILLED = """
import json, os, signal, sys
import streamsieve.files, streamsieve.workflow as workflow
step, count, train, test, folder, params = sys.argv[1:]
left = int(count)
def strike(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
replace, sync = os.replace, os.fsync
def before_replace(a, b):
    strike()
    replace(a, b)
def after_replace(a, b):
    replace(a, b)
    strike()
def before_sync(descriptor):
    strike()
    sync(descriptor)
if step == "before-replace":
    os.replace = before_replace
elif step == "after-replace":
    os.replace = after_replace
elif step == "before-sync":
    os.fsync = before_sync
watch = strike if step == "rows" else None
workflow.select(
    train, test=test, output=folder, checkpoint_every=400, watch=watch, **json.loads(params)
)
"""


def comparable(record: ss.RunRecord) -> dict[str, Any]:
    """Return a record without the fields that differ from run to run."""
    content = record.to_dict()
    return {
        key: value for key, value in content.items() if key not in ("seconds", "peak_memory_bytes")
    }


@pytest.fixture(scope="module")
def uninterrupted() -> dict[str, Any]:
    return comparable(workflow.select(TRAIN, test=TEST, **PARAMS))


KILLS = [
    *(("rows", n) for n in (1, 2, 5, 8)),
    *(
        (step, n)
        for step in ("before-replace", "after-replace")
        for n in (1, 2, 3, 7, 8, 9, 10, 11)
    ),
    *(("before-sync", n) for n in (1, 2, 3, 4, 5, 6, 16, 18, 19)),
]


@pytest.mark.parametrize(("step", "count"), KILLS)
def test_resume_after_kill_gives_same_selection(
    tmp_path: Path, uninterrupted: dict[str, Any], step: str, count: int
) -> None:
    folder = tmp_path / "run"
    killed = subprocess.run(
        warm.python(KILLED, step, str(count), TRAIN, TEST, folder, json.dumps(PARAMS)),
        check=False,
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if not (folder / "run.json").exists():
        assert (step, count) in (("before-replace", 1), ("before-sync", 1))
        return
    assert comparable(workflow.resume(folder)) == uninterrupted
    assert comparable(workflow.resume(folder)) == uninterrupted, (
        "a finished run gives its result again"
    )
    assert not [path for path in folder.iterdir() if path.name.endswith(PARTIAL)]
    assert not (folder / "checkpoint").exists()


def test_checkpoints_lose_nothing_past_the_last_one(tmp_path: Path) -> None:
    folder, seen = tmp_path / "run", []

    def watch(progress: Progress) -> None:
        seen.append(progress.done)
        if progress.done >= 1500:  # the end of a block
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workflow.select(TRAIN, output=folder, checkpoint_every=400, watch=watch, **PARAMS)
    assert ss.load(folder / "checkpoint").n_rows_ == 1200
    assert {400, 800, 1200, 1500} <= set(seen)


def test_a_run_that_ends_on_bad_data_leaves_nothing(tmp_path: Path) -> None:
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n-1 2:1\n1 1:x\n")
    with pytest.raises(ss.DataError, match=r"rows\.svm:3: "):
        workflow.select(rows, output=tmp_path / "run", n_features_to_select=1)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


def test_a_run_that_ends_on_bad_data_keeps_its_checkpoint(tmp_path: Path) -> None:
    rows, folder = tmp_path / "rows.svm", tmp_path / "run"
    rows.write_text("1 1:1\n-1 2:1\n" * 200_000 + "1 1:x\n")
    with pytest.raises(ss.DataError, match=r"rows\.svm:400001: "):
        workflow.select(rows, output=folder, n_features_to_select=1, checkpoint_every=1000)
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint", "run.json"]


def test_a_changed_file_is_not_resumed(tmp_path: Path) -> None:
    rows, folder = tmp_path / "rows.svm", tmp_path / "run"
    rows.write_text("1 1:1\n-1 2:1\n" * 1000)

    def watch(progress: Progress) -> None:
        if progress.done >= 1000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workflow.select(
            rows, output=folder, n_features_to_select=1, checkpoint_every=500, watch=watch
        )
    rows.write_text("1 1:2\n-1 2:1\n" * 1000)
    with pytest.raises(ss.DataError, match="has changed since the run began"):
        workflow.resume(folder)
    rows.unlink()
    with pytest.raises(ss.DataError, match="is gone"):
        workflow.resume(folder)


def test_a_folder_that_is_not_empty_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(ss.UsageError, match="not an empty folder"):
        workflow.select(TRAIN, output=tmp_path, **PARAMS)
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_full_disk_leaves_no_half_written_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        workflow.select(TRAIN, output=tmp_path / "run", **PARAMS)
    assert list(tmp_path.iterdir()) == []


def test_the_trace_does_not_depend_on_blocks(tmp_path: Path) -> None:
    from streamsieve.sources.svmlight import SvmlightSource

    large = workflow.select(SvmlightSource(TRAIN), **PARAMS)
    small = workflow.select(SvmlightSource(TRAIN, chunk_bytes=5000), **PARAMS)
    assert large.trace == small.trace
    rows = [point["rows"] for point in large.trace]
    assert rows[:3] == [32, 36, 40]
    assert rows[-4:] == [2304, 2560, 2816, 3000]
    assert large.details["history"] == small.details["history"]


def test_select_takes_arrays_and_hands_back_the_estimator() -> None:
    from tests.checks.data import sparse_stream

    X, y = sparse_stream()
    record = ss.select((X, y), n_features_to_select=5, test=(X, y))
    assert record.selector.score(X, y) == record.test_accuracy
    assert record.selector.get_params()["n_features_to_select"] == 5


def test_unknown_methods_and_parameters_are_named(tmp_path: Path) -> None:
    with pytest.raises(ss.UsageError, match="did you mean sofs"):
        ss.select(TRAIN, method="soffs")
    with pytest.raises(
        ss.UsageError,
        match=r"no parameter 'gama' \(did you mean gamma\?\); its parameters are n_features",
    ):
        ss.select(TRAIN, gama=1)
    with pytest.raises(ss.UsageError, match="gamma=-1: must be"):
        ss.select(TRAIN, gamma=-1)


def test_columns_of_a_test_table_are_found_by_name(tmp_path: Path) -> None:
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    rows = [(i % 7 - 3, (i * 3) % 5 - 2, "yes" if i % 7 > 3 else "no") for i in range(70)]
    train.write_text("a,b,bought\n" + "".join(f"{a},{b},{y}\n" for a, b, y in rows))
    test.write_text("bought,b,a\n" + "".join(f"{y},{b},{a}\n" for a, b, y in rows))
    record = ss.select(train, target="bought", n_features_to_select=1, test=test)
    assert record.selection.names is not None
    table = pd.DataFrame(rows, columns=["a", "b", "bought"])
    assert record.test_accuracy == record.selector.score(table[["a", "b"]], table["bought"])


def interrupted(rows: Any, folder: Path, **params: Any) -> None:
    """Begin a run, and stop it by Ctrl-C after its first block."""

    def watch(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workflow.select(rows, output=folder, n_features_to_select=1, watch=watch, **params)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 1000)
    return path


def test_a_resumed_run_that_is_interrupted_can_be_resumed_again(rows: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    interrupted(rows, folder, checkpoint_every=500)
    (folder / "checkpoint").unlink()

    def watch(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workflow.resume(folder, watch)
    # The first checkpoint is written before the watch is told, so go back to a run without one.
    (folder / "checkpoint").unlink()
    (folder / "run.json").write_text((folder / "run.json").read_text().replace(": 500", ": null"))
    with pytest.raises(KeyboardInterrupt):
        workflow.resume(folder, watch)
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    assert workflow.resume(folder).n_rows == 2000


def test_a_run_in_progress_is_left_alone(rows: Path, tmp_path: Path) -> None:
    folder, refused = tmp_path / "run", []

    def watch(progress: Progress) -> None:
        for second in (
            lambda: workflow.resume(folder),
            lambda: workflow.select(rows, output=folder),
        ):
            with pytest.raises(
                ss.UsageError, match=r"another process|not an empty folder"
            ) as error:
                second()
            refused.append(str(error.value))
        (folder / ".checkpoint.1.partial").touch()
        with pytest.raises(ss.UsageError, match="not finished"):
            workflow.apply(folder, rows, tmp_path / "reduced.svm")
        assert (folder / ".checkpoint.1.partial").exists(), "another process may be writing it"

    workflow.select(rows, output=folder, n_features_to_select=1, watch=watch)
    assert refused
    assert workflow.resume(folder).n_rows == 2000


def test_what_a_kill_before_the_first_file_left_is_no_obstacle(rows: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".run.json.1.partial").touch()
    workflow.select(rows, output=folder, n_features_to_select=1)
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", "{", r"run\.json: damaged .*start a new run"),
        ("run.json", "[]", r"run\.json: damaged .*start a new run"),
        ("run.json", "{}", r"run\.json: damaged, or of another version"),
        (
            "checkpoint",
            "",
            r"checkpoint: not a streamsieve model.*remove it to go on from the start",
        ),
        ("result.json", "{}", r"result\.json: damaged, or of another version .*remove it"),
        ("result.json", "x", r"result\.json: damaged .*remove it"),
    ],
)
def test_damaged_files_of_a_run_are_named(
    rows: Path, tmp_path: Path, name: str, content: str, message: str
) -> None:
    folder = tmp_path / "run"
    interrupted(rows, folder, checkpoint_every=500)
    (folder / name).write_text(content)
    with pytest.raises(ss.DataError, match=message):
        workflow.resume(folder)
    assert (folder / "checkpoint").exists()


def test_damaged_models_are_refused_whatever_the_damage(tmp_path: Path) -> None:
    import numpy as np

    from tests.checks.data import sparse_stream

    whole, damaged = tmp_path / "model", tmp_path / "damaged"
    ss.SOFS(5).fit(*sparse_stream()).save(whole)
    content, random = whole.read_bytes(), np.random.default_rng(0)
    for length in random.integers(0, len(content), 200).tolist():
        damaged.write_bytes(content[:length] + content[length + 7 :])
        with pytest.raises(ss.DataError):
            ss.load(damaged)


def test_resume_follows_the_name_of_a_link_not_of_what_it_points_to(tmp_path: Path) -> None:
    link, folder = tmp_path / "train.svm.xz", tmp_path / "run"
    (tmp_path / "blob").write_bytes(TRAIN.read_bytes())
    link.symlink_to(tmp_path / "blob")
    interrupted(link, folder, checkpoint_every=500)
    assert workflow.resume(folder).n_rows == 1500


def test_numpy_numbers_are_good_parameters(tmp_path: Path, rows: Path) -> None:
    import numpy as np

    record = ss.select(
        rows,
        n_features_to_select=np.int64(1),
        gamma=np.float32(0.5),
        seed=np.int64(1),
        output=tmp_path / "run",
    )
    assert json.loads(json.dumps(record.to_dict()))["params"]["gamma"] == 0.5


def test_records_can_be_pickled(rows: Path) -> None:
    import pickle

    record = pickle.loads(pickle.dumps(ss.select(rows, n_features_to_select=1)))
    assert record.selector.n_rows_ == 2000


def test_all_rows_without_labels_are_predicted(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1.0, -1.0] * 5000, "y": [1, 0] * 5000})
    table.to_parquet(tmp_path / "train.parquet")
    table[["a"]].to_parquet(tmp_path / "new.parquet")  # more than one block
    ss.select(tmp_path / "train.parquet", target="y", output=tmp_path / "run")
    rows = workflow.predict(tmp_path / "run", tmp_path / "new.parquet")
    predictions = list(rows)
    assert len(predictions) > 1
    assert workflow.measure(predictions, rows.classes) is None
    assert sum(len(prediction.labels) for prediction, _ in predictions) == 10_000
    with pytest.raises(ss.DataError, match="must have labels"):
        ss.select(tmp_path / "train.parquet", target="y", test=tmp_path / "new.parquet")


def test_named_features_in_another_order_are_found(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [1.0, -1.0] * 50, "b": [0.5, 0.25] * 50, "y": [1, 0] * 50})
    table.to_csv(tmp_path / "train.csv", index=False)
    table[["b", "a", "y"]].to_csv(tmp_path / "other.csv", index=False)
    for name in ("train", "other"):
        workflow.convert(tmp_path / f"{name}.csv", tmp_path / f"{name}.npz", target="y")
    train = tmp_path / "train.csv"
    assert (
        ss.select(
            train, target="y", n_features_to_select=1, test=tmp_path / "train.npz"
        ).test_accuracy
        == 1.0
    )
    assert (
        ss.select(
            train, target="y", n_features_to_select=1, test=tmp_path / "other.npz"
        ).test_accuracy
        == 1.0
    )
    here = table[["a", "b"]], table["y"]
    assert (
        ss.select(here, n_features_to_select=1, test=(table[["b", "a"]], table["y"])).test_accuracy
        == 1.0
    )
    with pytest.raises(ss.DataError, match=r"there is no column 'b'; the columns are a$"):
        ss.select(here, test=(table[["a"]], table["y"]))


@pytest.mark.parametrize("data", [None, [1]], ids=["None", "list"])
def test_what_is_no_data_is_refused(data: Any) -> None:
    with pytest.raises(ss.UsageError, match="give a path, a source, a table or a pair"):
        ss.select(data)


def test_a_table_needs_a_target() -> None:
    table = pd.DataFrame({"a": [1.0, -1.0] * 20, "y": [1, 0] * 20})
    with pytest.raises(
        ss.DataError,
        match=r"the target column is not given; name it: target='NAME'; the columns are a, y",
    ):
        ss.select(table)
    assert ss.select(table, target="y", n_features_to_select=1).selection.names.tolist() == ["a"]


def test_missing_labels_are_named() -> None:
    for y in ([1.0, float("nan")], ["a", None]):
        with pytest.raises(ss.DataError, match="row 2: has no label"):
            ss.select(([[1.0], [2.0]], y))


def test_an_output_that_is_a_pipe_or_a_link_stays_what_it_is(tmp_path: Path, rows: Path) -> None:
    link, pipe = tmp_path / "link.svm", tmp_path / "pipe"
    link.symlink_to(tmp_path / "real.svm")
    workflow.convert(rows, link)
    assert link.is_symlink()
    assert (tmp_path / "real.svm").read_text() == rows.read_text()
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    workflow.convert(rows, pipe)
    assert reader.communicate(timeout=30)[0] == rows.read_bytes()
    assert pipe.is_fifo()


def test_long_names_and_missing_folders(tmp_path: Path, rows: Path) -> None:
    long = tmp_path / f"{'n' * 250}.svm"
    workflow.convert(rows, long)
    ss.select(rows, n_features_to_select=2, output=tmp_path / "run")
    workflow.apply(tmp_path / "run", rows, long)
    for output in (tmp_path, Path("/")):
        with pytest.raises(ss.UsageError, match="is a folder"):
            workflow.convert(rows, output)
    for name in ("out.svm", "out.parquet", "out.svm.zst"):
        with pytest.raises(
            ss.UsageError, match=rf"{name}: there is no folder .*nowhere; create it first"
        ):
            workflow.convert(rows, tmp_path / "nowhere" / name)


# Several files


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in (1, 2, 10):
        (folder / f"part-{number}.svm").write_text(f"1 1:1 3:{number}\n-1 2:1\n" * 400)
    return folder


def named(parts: Path, way: str) -> Any:
    """Return several files as a list, a folder or a pattern."""
    ways = {
        "list": [parts / f"part-{number}.svm" for number in (1, 2, 10)],
        "pattern": f"{parts}/part-*",
    }
    return ways.get(way, parts)


@pytest.mark.parametrize("way", ["list", "folder", "pattern"])
def test_a_run_on_several_files_is_resumed_with_the_same_result(
    tmp_path: Path, parts: Path, way: str
) -> None:
    folder, data = tmp_path / "run", named(parts, way)
    expected = comparable(workflow.select(data, test=data, n_features_to_select=1))

    def watch(progress: Progress) -> None:
        if progress.done >= 1600:  # the end of a file
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workflow.select(
            data,
            test=data,
            output=folder,
            n_features_to_select=1,
            checkpoint_every=300,
            watch=watch,
        )
    assert ss.load(folder / "checkpoint").n_rows_ == 1500
    assert comparable(workflow.resume(folder)) == expected
    size = sum(path.stat().st_size for path in parts.iterdir())
    first, last = str(parts / "part-1.svm"), str(parts / "part-10.svm")
    assert (
        expected["data"].items()
        >= {
            "first": first,
            "last": last,
            "n_files": 3,
            "bytes": size,
        }.items()
    )


@pytest.mark.parametrize("way", ["list", "folder", "pattern"])
def test_several_files_of_which_one_has_changed_are_not_resumed(
    tmp_path: Path, parts: Path, way: str
) -> None:
    folder = tmp_path / "run"
    interrupted(named(parts, way), folder, checkpoint_every=500)
    second = parts / "part-2.svm"
    text, times = second.read_bytes(), second.stat()
    second.write_bytes(text.replace(b"3:2", b"3:7"))
    os.utime(second, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    with pytest.raises(
        ss.DataError, match=r"part-2\.svm: the file has changed since the run began"
    ):
        workflow.resume(folder)
    second.unlink()
    with pytest.raises(ss.DataError, match=r"part-2\.svm: the file this run reads is gone"):
        workflow.resume(folder)
    second.write_bytes(text)
    os.utime(second, ns=(times.st_atime_ns, times.st_mtime_ns))
    third = parts / "part-3.svm"
    third.write_text("1 1:1\n")
    if way != "list":
        with pytest.raises(ss.DataError, match=r"part-3\.svm: the file is new since the run began"):
            workflow.resume(folder)
        third.unlink()
    assert workflow.resume(folder).n_rows == 2400


def test_a_folder_of_one_file_is_not_resumed_when_another_is_added(
    tmp_path: Path, rows: Path
) -> None:
    folder, data = tmp_path / "run", tmp_path / "data"
    data.mkdir()
    rows.rename(data / "1.svm")
    interrupted(data, folder, checkpoint_every=500)
    (data / "2.svm").write_text("1 1:1\n")
    with pytest.raises(ss.DataError, match=r"2\.svm: the file is new"):
        workflow.resume(folder)


def test_a_list_of_one_file_is_that_file(tmp_path: Path, rows: Path) -> None:
    alone, listed = (ss.select(data, n_features_to_select=1).data for data in (rows, [rows]))
    assert alone == listed
    assert alone["path"] == str(rows)


def test_several_files_are_transposed_into_one(tmp_path: Path, parts: Path) -> None:
    assert workflow.convert_to_columns(parts, tmp_path / "columns.parquet") == 3
    record = ss.select(tmp_path / "columns.parquet", "saola")
    assert record.n_rows == 2400
    assert record.selection.indices.tolist() == ss.select(parts, "saola").selection.indices.tolist()
