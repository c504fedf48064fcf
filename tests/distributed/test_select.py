"""``select`` on an engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import streamsieve as ss
from streamsieve.engine_choice import EngineChoice
from streamsieve.training import Progress
from streamsieve.workflow import resume
from tests.waiting import wait_for

X1 = "synthetic:x1?rows=6000&features=400"


class StopError(Exception):
    pass


def stop_at(rows: int):
    def watch(progress: Progress) -> None:
        if progress.done >= rows:
            raise StopError

    return watch


def test_the_record_says_who_has_worked():
    record = ss.select(
        X1,
        n_features_to_select=10,
        engine="local",
        workers=2,
        test="synthetic:x1?rows=500&features=400&seed=1",
    )
    assert record.n_rows == 6000
    assert record.test_accuracy > 0.6
    engine = record.details["engine"]
    assert (engine["name"], engine["workers"], engine["lost_workers"]) == ("local", 2, 0)
    assert set(record.seconds) == {"total", "read", "learn", "compile"}
    json.dumps(record.to_dict())


def test_arrays_in_memory_are_learned_by_threads():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 20))
    y = (X[:, 3] + X[:, 7] > 0).astype(int)
    record = ss.select((X, y), n_features_to_select=2, engine="local", workers=2)
    assert record.selection.indices.tolist() == [3, 7]


def test_an_interrupted_run_is_resumed(tmp_path):
    options = {"n_features_to_select": 10, "engine": "local", "workers": 2}
    whole = ss.select(X1, **options)
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        ss.select(X1, output=folder, checkpoint_every=1000, watch=stop_at(4000), **options)
    request = json.loads((folder / "run.json").read_text())
    assert request["engine"] == {"name": "local", "workers": 2, "address": None}
    record = resume(folder)
    assert record.selection.indices.tolist() == whole.selection.indices.tolist()
    np.testing.assert_array_equal(record.selection.scores, whole.selection.scores)
    assert [point["rows"] for point in record.trace][-1] == 6000


def test_a_folder_cannot_choose_a_cluster(tmp_path):
    """Refuse a stranger's folder, whose cluster would run code here."""
    folder = tmp_path / "run"
    with pytest.raises(StopError):
        ss.select(
            X1, n_features_to_select=10, output=folder, checkpoint_every=1000, watch=stop_at(3000)
        )
    with pytest.raises(ss.UsageError, match="does not use Ray; omit the address"):
        resume(folder, address="127.0.0.1:6379")
    request = json.loads((folder / "run.json").read_text())
    strange = {"name": "ray", "workers": 2, "address": "stranger.example:6379"}
    (folder / "run.json").write_text(json.dumps(request | {"engine": strange}))
    with pytest.raises(ss.UsageError, match="if you trust it, say so: address='stranger"):
        resume(folder)


def test_workers_are_as_many_as_cores_if_nothing_is_said(monkeypatch):
    monkeypatch.setenv("STREAMSIEVE_THREADS", "3")
    assert EngineChoice.of("local", None, None) == EngineChoice("local", 3)


@pytest.mark.parametrize("workers", [0, -1, 5000])
def test_a_number_of_workers_that_cannot_be(workers):
    with pytest.raises(ss.UsageError, match="workers: must be from 1"):
        ss.select(X1, engine="local", workers=workers)


def test_asyos_has_workers_of_its_own_in_a_simulation():
    record = ss.select("synthetic:substitution?rows=100&features=150", "asyos", 4, workers=2)
    assert record.params["workers"] == 2
    assert "engine" not in record.details


def test_models_with_cells_that_are_shared_are_not_merged():
    with pytest.raises(ss.UsageError, match="max_cells"):
        ss.select(X1, n_features_to_select=10, max_cells=64, engine="local", workers=2)


def children_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def test_ctrl_c_leaves_no_process(tmp_path):
    command = [
        sys.executable,
        "-m",
        "streamsieve",
        "select",
        "synthetic:x1?rows=100000000",
        "-k",
        "10",
    ]
    command += [
        "--engine",
        "local",
        "--workers",
        "2",
        "-o",
        str(tmp_path / "run"),
        "--checkpoint-every",
        "1",
    ]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    # until both workers have finished a round
    wait_for(lambda: (tmp_path / "run" / "checkpoint").exists() or run.poll() is not None)
    workers = children_of(run.pid)
    run.send_signal(signal.SIGINT)
    _, printed = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "streamsieve: error: interrupted" in printed
    assert "Traceback" not in printed
    assert len(workers) == 2
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)
