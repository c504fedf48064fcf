"""The command line against recorded transcripts, and the examples of the documentation."""

from __future__ import annotations

import fcntl
import gzip
import json
import re
import signal
import subprocess
import sys
import termios
from array import array
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests import warm
from tests.cli.console import run_transcript
from tests.paths import COMMAND, ROOT
from tests.waiting import wait_for

CASES = sorted((ROOT / "tests" / "cli_cases").glob("*.console"))
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """Return a folder with a link to ``examples/``, as in a checkout."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_transcript_is_reproduced(case: Path, workplace: Path) -> None:
    run_transcript(case.read_text(), workplace)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_in_documents_run(document: Path, workplace: Path) -> None:
    text = document.read_text()
    (workplace / "tests").mkdir()
    (workplace / "tests" / "data").symlink_to(ROOT / "tests" / "data")
    for transcript in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        run_transcript(transcript, workplace)
    script = "\n".join(map(dedent, re.findall(r"```python\n(.*?)```", text, re.DOTALL)))
    done = subprocess.run(
        warm.python(script), cwd=workplace, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_start_up_imports_nothing_heavy() -> None:
    script = (
        "import sys, streamsieve\nfrom streamsieve.cli import main\nmain(['--help'],"
        " standalone_mode=False)\nheavy = {'numpy', 'scipy', 'sklearn', 'numba', 'pyarrow', 'rich',"
        " 'pandas'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_a_run_from_a_file_needs_no_scikit_learn(tmp_path: Path) -> None:
    script = (
        "import sys, streamsieve as ss\n"
        "ss.select('synthetic:x1?rows=100', n_features_to_select=5)\n"
        "heavy = {'sklearn', 'pyarrow', 'rich', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_compiling_is_announced_once_on_standard_error(tmp_path: Path) -> None:
    script = (
        "import json, numpy as np, streamsieve as ss\n"
        "record = ss.select((np.eye(2)[[0, 1] * 4], [0, 1] * 4), 'relieff', 1)\n"
        "print(json.dumps(record.seconds))"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": ""}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        for _ in range(2)
    )
    assert first.stderr == "compiling streamsieve's kernels for first use (once)\n"
    assert second.stderr == ""
    for done, compiles in ((first, True), (second, False)):
        seconds = json.loads(done.stdout)
        assert (seconds["compile"] > 0) == compiles
        assert seconds["read"] + seconds["learn"] + seconds["compile"] == pytest.approx(
            seconds["total"]
        )


SLOW_DISK = """
import io, sys, time
from streamsieve.cli import main
from streamsieve.sources import delimited_text as delimited

class Slow(io.RawIOBase):
    def __init__(self, raw):
        self.raw = raw
    def readable(self):
        return True
    def read(self, size=-1):
        time.sleep(0.3)
        return self.raw.read(size)
    def seek(self, at):
        return self.raw.seek(at)
    def readinto(self, buffer):
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

decompressed = delimited.open_compressed
delimited.FIRST_BYTES = delimited.CHUNK_BYTES = 1 << 16
delimited.open_compressed = lambda raw, compression: Slow(decompressed(raw, compression))
sys.argv[1:] = ["select", sys.argv[1], "--target", "y", "--classes", "5,6"]
main()
"""


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_a_failure_in_a_table_ends_with_its_exit_code(tmp_path: Path, name: str) -> None:
    """Check that no thread is between Arrow and Python at exit.

    On a slow disk that aborted the process.
    """
    text = "a,b,y\n" + "1.5,2.5,1\n2.5,1.5,0\n" * 100_000
    (tmp_path / name).write_bytes(
        gzip.compress(text.encode(), 1) if name.endswith(".gz") else text.encode()
    )
    done = subprocess.run(
        [sys.executable, "-c", SLOW_DISK, name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert "label 1 is not one of the classes given" in done.stderr


def n_unread(pipe: Any) -> int:
    """Return how many bytes in a pipe nobody has read."""
    count = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_ctrl_c_does_not_wait_for_a_pipe() -> None:
    process = subprocess.Popen(
        [*COMMAND, "select", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write("1 1:1\n-1 2:1\n")
    process.stdin.flush()
    wait_for(lambda: n_unread(process.stdin) == 0)
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(10) == 1
    finally:
        process.kill()
        process.stdin.close()
    with process.stderr:
        assert process.stderr.read().endswith("streamsieve: error: interrupted\n")
