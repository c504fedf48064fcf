"""Text from data, such as names, labels and files, is printed as text on one line."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.cli.terminal import printable
from tests import warm
from tests.paths import COMMAND

RED = "\x1b[31mred"
FORGED = "a\nstreamsieve: error: forged"
NAMES = [
    RED,
    FORGED,
    "right\u202eleft",
    "bell\x07",
    "c1\x9b31m",
    "line\u2028line",
    "n" * 500,
    "=1+1",
    "日本 ✓ naïve",
]
LABELS = ["\x1b[2Jno", "ye\ns"]
UNSAFE = ["\x1b", "\x07", "\x9b", "\u202e", "\u2028", "\x00", "\r", "\u2066", "\ufeff"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table of hostile names and labels, and a run on it."""
    folder = tmp_path_factory.mktemp("hostile")
    random = np.random.default_rng(0)
    codes = np.arange(200) % 2
    columns = {name: random.normal(0, 1, 200) + codes for name in NAMES}
    pq.write_table(
        pa.table(columns | {"y": [LABELS[code] for code in codes]}), folder / "hostile.parquet"
    )
    ss.select(folder / "hostile.parquet", "sofs", 9, target="y", output=folder / "run")
    return folder


def run(
    folder: Path, *arguments: str, code: int = 0, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [*(COMMAND if environment else warm.streamsieve()), *arguments],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == code, done.stderr.decode()
    return done


def refuse_unsafe(output: bytes) -> str:
    text = output.decode()
    for letter in UNSAFE:
        assert letter not in text, text
    assert not [line for line in text.splitlines() if line.startswith("streamsieve: error: forged")]
    return text


@pytest.mark.parametrize(
    "arguments",
    [
        ("select", "hostile.parquet", "--target", "y", "-k", "9"),
        ("select", "--resume", "run"),
        ("info", "hostile.parquet", "--target", "y"),
        ("predict", "run", "hostile.parquet"),
    ],
)
def test_names_and_labels_are_shown_escaped(folder: Path, arguments: tuple[str, ...]) -> None:
    done = run(folder, *arguments)
    text = refuse_unsafe(done.stdout) + refuse_unsafe(done.stderr)
    assert r"\x1b[2Jno" in text
    if arguments[0] == "select":
        assert r"\x1b[31mred" in text
        assert r"a\nstreamsieve: error: forged" in text
        assert r"right\u202eleft" in text
        assert "日本 ✓ naïve" in text
        assert max(map(len, text.splitlines())) < 200
    if arguments[0] == "predict":
        assert set(done.stdout.decode().splitlines()) == {r"\x1b[2Jno", r"ye\ns"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("select", "hostile.parquet"),
        ("select", "hostile.parquet", "--target", "\x1b[1m"),
        ("select", "\x1b[1m.svm"),
        ("select", "hostile.parquet", "--target", "y", "--classes", "\x1b[1m,b"),
        ("select", "hostile.parquet", "--target", "y", "-m", "\x1b[1m"),
        ("select", "hostile.parquet", "--target", "y", "--param", "\x1b[1m\n=3"),
        ("select", "hostile.parquet", "--target", "y", "--seed", "\x1b[1m"),
        ("apply", "\x1b[1m\nrun", "hostile.parquet", "-o", "x.csv"),
        ("\x1b[1m",),
        ("info", "hostile.parquet", "--\x1b[1m"),
        ("generate", "\x1b[1m", "-o", "x.svm"),
    ],
)
def test_messages_are_escaped(folder: Path, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        warm.streamsieve(*arguments), cwd=folder, capture_output=True, check=False
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in refuse_unsafe(done.stderr)
    refuse_unsafe(done.stdout)


def test_long_names_are_cut_in_messages(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("x" * 10**5 + ",y\n1,2\n")
    done = run(tmp_path, "select", "wide.csv", "--target", "z", code=1)
    assert len(done.stderr) < 5000
    assert "…" in done.stderr.decode()


def test_json_is_plain_letters_and_holds_names_as_they_are(folder: Path) -> None:
    done = run(folder, "select", "--resume", "run", "--json")
    assert done.stdout.isascii()
    assert set(json.loads(done.stdout)["names"]) == set(NAMES)
    refuse_unsafe(done.stdout)


def test_files_hold_names_and_labels_as_they_are(folder: Path) -> None:
    with (folder / "run" / "selection.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert {line["feature"] for line in lines} == set(NAMES)
    assert {line["class"] for line in lines} <= set(LABELS)
    run(folder, "predict", "run", "hostile.parquet", "--scores", "-o", "scores.csv")
    with (folder / "scores.csv").open(newline="", encoding="utf-8") as file:
        assert {line["prediction"] for line in csv.DictReader(file)} == set(LABELS)


def test_scores_on_a_terminal_are_escaped(folder: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        warm.streamsieve("predict", "run", "hostile.parquet", "--scores"),
        cwd=folder,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    output = b""
    try:
        while part := os.read(ours, 1 << 16):
            output += part
    except OSError:  # the other end is closed
        pass
    _, errors = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0, errors.decode()
    assert b"\x1b" not in output
    assert rb"\x1b[2Jno" in output


def test_terminal_without_the_letters_gets_escapes(folder: Path) -> None:
    done = run(folder, "select", "--resume", "run", PYTHONIOENCODING="ascii")
    assert r"\u65e5\u672c" in done.stdout.decode("ascii")


@given(st.text())
def test_printable_text_is_one_line_that_can_be_encoded(text: str) -> None:
    shown = printable(text)
    shown.encode()
    assert len(shown.splitlines()) <= 1
    assert not any(letter in shown for letter in UNSAFE)
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("text", ["naïve 日本", "\u0645\u06cc\u200c\u062e", "\u200f\u0639", "a  b"])
def test_what_scripts_need_is_left_alone(text: str) -> None:
    assert printable(text) == text


@given(st.text(min_size=30), st.integers(20, 40))
def test_long_text_is_cut_in_the_middle(text: str, longest: int) -> None:
    assert len(printable(text, longest)) <= longest


def test_lone_surrogate_is_escaped() -> None:
    assert printable("a\ud800b") == r"a\ud800b"
