"""Processes that are killed at any moment, asked to end, or race one another.

Files are complete or absent.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import warm
from tests.waiting import wait_for

FEW = 2
MANY = 67  # of each of three kinds: 200 kills
# The command line; rows are transposed through a folder as if there were little memory.
MAIN = """
import sys
from streamsieve import workflow
from streamsieve.cli import main
sys.modules["streamsieve.workflow.convert"].work_bytes = lambda memory: 1 << 20
main()
"""
SELECT = ["-k", "20", "--param", "normalize=l2", "--param", "n_epochs=2"]


def command(*words: str | Path) -> list[str]:
    return warm.python(MAIN, *words)


def begin(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=300, check=False)


def complete(*words: str | Path) -> None:
    """Run a command that must succeed."""
    done = run(*words)
    assert done.returncode == 0, done.stderr


def run_and_kill(seconds: float, *words: str | Path) -> None:
    """Kill a command after some time, if it has not ended by then."""
    process = begin(*words)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of rows that take about a second."""
    path, draw = tmp_path_factory.mktemp("data") / "rows.svm", np.random.default_rng(0)
    lines = []
    for _ in range(3000):
        ids = np.sort(draw.choice(3000, 40, replace=False))
        values = draw.integers(1, 100, 40)
        label = 1 if values[ids < 1500].sum() > values.sum() / 2 else -1
        lines.append(
            f"{label} " + " ".join(f"{i + 1}:{v}" for i, v in zip(ids, values, strict=True))
        )
    path.write_text("\n".join(lines * 4) + "\n")
    return path


def comparable(folder: Path) -> dict[str, Any]:
    record = json.loads((folder / "result.json").read_text())
    return {
        name: value
        for name, value in record.items()
        if name not in ("seconds", "peak_memory_bytes")
    }


FINISHED = ["model", "result.json", "run.json", "selection.csv"]


def kill_often(kind: str, times: int, rows: Path, folder: Path) -> dict[str, int]:
    """Kill a command at random moments, run it again or resume it, and compare the results.

    Return how often the process was killed at each stage.
    """
    words: list[str | Path] = {
        "select": ["select", rows, *SELECT, "--checkpoint-every", "500", "-o"],
        "rows": ["convert", rows],
        "columns": ["convert", "--columns", rows],
    }[kind]
    name = {"select": "run", "rows": "rows.svm.gz", "columns": "rows.parquet"}[kind]
    expected, draw, met = folder / "expected" / name, random.Random(0), dict[str, int]()
    expected.parent.mkdir()
    complete(*words, expected)
    start = time.perf_counter()
    complete(*words, folder / f"again {name}")
    seconds = time.perf_counter() - start
    for number in range(times):
        output = folder / str(number) / name
        output.parent.mkdir()
        run_and_kill(seconds * draw.random(), *words, output)
        if kind == "select":
            left = sorted(path.name for path in output.iterdir()) if output.exists() else []
            stage = (
                "checkpoint"
                if "checkpoint" in left
                else "result"
                if "result.json" in left
                else "begun"
            )
            complete(*(["select", "--resume"] if "run.json" in left else words), output)
            assert comparable(output) == comparable(expected)
            assert (output / "selection.csv").read_bytes() == (
                expected / "selection.csv"
            ).read_bytes()
            assert sorted(path.name for path in output.iterdir()) == FINISHED
        else:
            stage = (
                "complete"
                if output.exists()
                else "remains"
                if list(output.parent.iterdir())
                else "nothing"
            )
            assert not output.exists() or output.read_bytes() == expected.read_bytes(), (
                "complete or not there"
            )
            output.unlink(missing_ok=True)
            complete(*words, output)
            assert output.read_bytes() == expected.read_bytes()
        assert [path.name for path in output.parent.iterdir()] == [name]
        met[stage] = met.get(stage, 0) + 1
        shutil.rmtree(output.parent)
    return met


@pytest.mark.parametrize("kind", ["select", "rows", "columns"])
def test_what_is_killed_can_be_done_again(rows: Path, tmp_path: Path, kind: str) -> None:
    kill_often(kind, FEW, rows, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["select", "rows", "columns"])
def test_what_is_killed_200_times_can_be_done_again(rows: Path, tmp_path: Path, kind: str) -> None:
    met = kill_often(kind, MANY, rows, tmp_path)
    print(kind, met)
    assert len(met) > 1, "kills at several stages"


# ---- asked to end


@pytest.fixture(scope="module")
def many_rows(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same rows many times, so that a process is still at work when it gets a signal."""
    path = tmp_path_factory.mktemp("data") / "many.svm"
    path.write_bytes(rows.read_bytes() * 30)
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize(
    "options", [[], ["--engine", "local", "--workers", "2"]], ids=["alone", "workers"]
)
def test_a_run_that_is_asked_to_end_keeps_its_checkpoint(
    many_rows: Path, tmp_path: Path, number: signal.Signals, options: list[str]
) -> None:
    folder = tmp_path / "run"
    process = begin(
        "select", many_rows, *SELECT, "-o", folder, "--checkpoint-every", "2000", *options
    )
    wait_for(lambda: (folder / "checkpoint").exists() or process.poll() is not None)
    process.send_signal(number)
    output, messages = process.communicate(timeout=60)
    assert process.returncode == (1 if number == signal.SIGINT else 128 + number), messages
    assert output == ""
    said = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert messages.splitlines()[-2:] == [
        f"resume from the last checkpoint with: streamsieve select --resume {folder}",
        f"streamsieve: error: {said}",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint", "run.json"]


@pytest.mark.parametrize("kind", ["rows", "columns"])
def test_a_conversion_that_is_asked_to_end_leaves_nothing_half_written(
    many_rows: Path, tmp_path: Path, kind: str
) -> None:
    options = ["--columns"] if kind == "columns" else []
    output = tmp_path / ("out.parquet" if options else "out.svm")
    process = begin("convert", many_rows, output, *options)
    wait_for(lambda: list(tmp_path.iterdir()) or process.poll() is not None)
    process.terminate()
    messages = process.communicate(timeout=60)[1]
    assert process.returncode == 143, messages
    assert "ended by SIGTERM" in messages
    left = [path.name for path in tmp_path.iterdir()]
    if kind == "rows":
        assert left == []
    elif left:  # the work so far, which the same command goes on with
        assert left[0].endswith(".columns")
        assert "the same command continues from here" in messages
    assert not output.exists()


def test_what_is_ignored_stays_so(rows: Path, tmp_path: Path) -> None:
    """Ignored signals stay ignored, as under nohup."""
    code = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        " os.execv(sys.argv[1], sys.argv[1:])"
    )
    output = tmp_path / "out.svm"
    process = subprocess.Popen([sys.executable, "-c", code, *command("convert", rows, output)])
    wait_for(lambda: list(tmp_path.iterdir()))
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 0
    assert output.exists()


# ---- several at once


def race(*commands: list[str | Path]) -> list[tuple[int, str]]:
    processes = [begin(*words) for words in commands]
    done = [process.communicate(timeout=120)[1] for process in processes]
    return [
        (process.returncode, messages) for process, messages in zip(processes, done, strict=True)
    ]


def test_runs_that_race_for_one_folder(rows: Path, tmp_path: Path) -> None:
    folder, expected = tmp_path / "run", tmp_path / "expected"
    words = ["select", rows, *SELECT, "--checkpoint-every", "2000", "-o"]
    assert run(*words, expected).returncode == 0
    ended = race(*[[*words, folder]] * 2)
    assert [code for code, _ in ended].count(0) == 1
    for code, messages in ended:
        assert code in (0, 2)
        assert (
            code == 0
            or "another process is at work" in messages
            or "is not an empty folder" in messages
        )
    assert comparable(folder) == comparable(expected)
    assert sorted(path.name for path in folder.iterdir()) == FINISHED
    for name in FINISHED:
        if name != "run.json":
            (folder / name).unlink()
    ended = race(*[["select", "--resume", folder]] * 2)
    assert 0 in [code for code, _ in ended]
    for code, messages in ended:
        assert code == 0 or (code == 2 and "another process is at work" in messages)
    assert comparable(folder) == comparable(expected)
    assert sorted(path.name for path in folder.iterdir()) == FINISHED


@pytest.mark.parametrize("kind", ["rows", "columns", "apply"])
def test_conversions_that_race_for_one_file(rows: Path, tmp_path: Path, kind: str) -> None:
    run_dir, outputs = tmp_path / "run", tmp_path / "outputs"
    outputs.mkdir()
    if kind == "apply":
        assert run("select", rows, *SELECT, "-o", run_dir).returncode == 0
        words: list[str | Path] = ["apply", run_dir, rows, "-o"]
    else:
        words = ["convert", *(["--columns"] if kind == "columns" else []), rows]
    name = "out.parquet" if kind == "columns" else "out.svm"
    assert run(*words, tmp_path / name).returncode == 0
    ended = race(*[[*words, outputs / name]] * 2)
    assert 0 in [code for code, _ in ended]
    for code, messages in ended:
        assert code == 0 or (code == 2 and "another process is writing this file" in messages)
    assert (outputs / name).read_bytes() == (tmp_path / name).read_bytes()
    beside = [f".{name}.lengths"] if kind == "apply" else []
    assert sorted(path.name for path in outputs.iterdir()) == [*beside, name]


# ---- nowhere to write to


@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
@pytest.mark.parametrize(
    "words", ["predict {run} {rows}", "select {rows} -k 2 --json", "select {rows} -k 2", "--help"]
)
def test_what_cannot_be_written_to_standard_output_is_said(
    tmp_path: Path, words: str, redirection: str
) -> None:
    few = tmp_path / "few.svm"
    few.write_text("1 1:1\n-1 2:1\n" * 10)
    assert run("select", few, "-k", "2", "-o", tmp_path / "run").returncode == 0
    shell = (
        shlex.join(command(*words.format(run=tmp_path / "run", rows=few).split()))
        + " "
        + redirection
    )
    done = subprocess.run(shell, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    expected = (
        "standard output is closed"
        if redirection == ">&-"
        else "standard output: No space left on device"
    )
    assert done.stderr.count("streamsieve: error: ") == 1
    assert f"streamsieve: error: {expected}" in done.stderr
    assert "Traceback" not in done.stderr


def test_other_streams_that_are_closed_are_no_obstacle(tmp_path: Path) -> None:
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n-1 2:1\n" * 10)
    shell = shlex.join(command("convert", rows, tmp_path / "out.svm")) + " <&- >&- 2>&-"
    assert subprocess.run(shell, shell=True, check=False).returncode == 0
    assert (tmp_path / "out.svm").read_bytes() == rows.read_bytes()
