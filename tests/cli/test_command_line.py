"""Conveniences of the command line: typed values, output, completion in shells."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from streamsieve.cli import main
from streamsieve.cli.options import progress_bar
from streamsieve.cli.parameters import read_value
from streamsieve.cli.terminal import be_quiet, begin_notes, notes
from streamsieve.manual import describe_parameters
from streamsieve.progress import ProgressBar, clock
from streamsieve.registry import METHODS, find_method
from streamsieve.training import Progress
from tests.paths import COMMAND

ROWS = "".join(f"{'+1' if i % 3 else -1} 1:{i % 3 + 1} 2:{i % 5 + 1} 3:1\n" for i in range(30))


@pytest.fixture(autouse=True)
def restore(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore what commands change in this process."""
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
    level, handlers = notes.level, notes.handlers
    yield
    notes.setLevel(level)
    notes.handlers = handlers


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("rows.svm")
    path.write_text(ROWS)
    return path


def run(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, list(arguments), prog_name="streamsieve")


def params(*arguments: str) -> dict[str, object]:
    done = run("select", "rows.svm", "--json", *arguments)
    assert done.exit_code == 0, done.output
    values: dict[str, object] = json.loads(done.stdout)["params"]
    return values


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_is_an_option_or_said_not_to_be(method: str) -> None:
    shown = run("select", "-m", method, "--help").output
    for parameter in describe_parameters(find_method(method)):
        option = f"--{parameter.name.replace('_', '-')}"
        assert re.search(rf"^  {option} ", shown, re.MULTILINE), (
            f"{option} is not in the help of {method}"
        )
    if method == "saola":
        assert "--param missing=VALUE" in shown


@pytest.mark.usefixtures("rows")
def test_parameters_are_options() -> None:
    values = params(
        "-k",
        "2",
        "--normalize",
        "l2",
        "--fit-intercept",
        "False",
        "--n-epochs",
        "2",
        "--gamma",
        "2.5",
    )
    assert values["normalize"] == "l2"
    assert values["fit_intercept"] is False
    assert values["n_epochs"] == 2
    assert values["gamma"] == 2.5
    assert params("-m", "FastOSFS", "--alpha=0.05")["alpha"] == 0.05


@pytest.mark.usefixtures("rows")
def test_what_is_typed_wins_over_the_file() -> None:
    Path("run.toml").write_text(
        'method = "PET"\nk = 2\n[params]\neta = 0.5\ntrigger = "mistake"\nforget = "null"\n'
    )
    assert params("--config", "run.toml")["eta"] == 0.5
    values = params("--config", "run.toml", "--eta", "0.25", "-k", "1")
    assert (values["eta"], values["n_features_to_select"], values["trigger"]) == (
        0.25,
        1,
        "mistake",
    )


@pytest.mark.usefixtures("rows")
def test_a_file_can_name_all_that_a_run_needs() -> None:
    Path("run.toml").write_text(
        'train = "rows.svm"\ntest = ["rows.svm"]\nclasses = [1, -1]\nk = 1\noutput = "run"\n'
    )
    done = run("select", "--config", "run.toml", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert json.loads(Path("run/result.json").read_text())["n_selected"] == 1


@pytest.mark.usefixtures("rows")
def test_quiet_leaves_only_what_is_asked_for() -> None:
    assert run("select", "rows.svm", "-k", "3", "-o", "run", "--quiet").output == ""
    assert (
        json.loads(run("select", "rows.svm", "-k", "3", "--json", "--quiet").output)["n_features"]
        == 3
    )
    assert set(run("predict", "run", "rows.svm", "--quiet").output.split()) <= {"1", "-1"}
    assert run("apply", "run", "rows.svm", "-o", "less.svm", "--quiet").output == ""
    assert "there is no method" in run("select", "rows.svm", "-m", "none", "--quiet").output


@pytest.mark.usefixtures("rows")
def test_verbose_says_what_is_done_when() -> None:
    said = run(
        "select", "rows.svm", "-k", "2", "-o", "run", "--checkpoint-every", "20", "--verbose"
    ).stderr
    steps = re.findall(r"^streamsieve: \d+\.\d\d s: (\w+)", said, re.MULTILINE)
    assert [step for step in steps if step != "compiled"] == [
        "opened",
        "reading",
        "checkpoint",
        "read",
        "wrote",
    ]


def test_values_are_read_as_json_or_as_words_of_python() -> None:
    assert [
        read_value(text)
        for text in ("true", "False", "None", "null", "1e-3", "[1, 2]", "l2", "NaN")
    ] == [*(True, False, None, None, 1e-3, [1, 2], "l2", "NaN")]


def completions(words: str) -> list[str]:
    environment = {
        "_STREAMSIEVE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = CliRunner(env=environment).invoke(main, prog_name="streamsieve")
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_the_shell_completes_methods_options_and_values() -> None:
    assert completions("streamsieve select -m sa") == ["saola"]
    assert completions("streamsieve select rows.svm -m saola --al") == ["--alpha"]
    assert completions("streamsieve select -m saola --measure ") == ["auto", "su", "fisher_z"]
    assert completions("streamsieve methods fast") == ["fast-osfs"]
    for mistake in ("-m nothing", "--config none.toml", "--gamma 1 --gamma 2", "--nothing"):
        assert completions(f"streamsieve select {mistake} --chec") == ["--checkpoint-every"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_every_shell(shell: str) -> None:
    assert "_STREAMSIEVE_COMPLETE" in run("completion", shell).output


def run_in_terminal(*arguments: str, stop: bool = False, **environment: str) -> tuple[str, int]:
    """Return the output of a command in a terminal, and its exit code.

    With ``stop``, Ctrl-C is pressed once there is a progress bar.
    """
    process, terminal = pty.fork()
    if process == 0:
        os.execve(
            sys.executable, [*COMMAND, *arguments], {**os.environ, "TERM": "xterm", **environment}
        )
    shown, stopped, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            chunk = os.read(terminal, 1 << 16)
        except OSError:  # closed by the last process that had it
            break
        shown += chunk
        if stop and not stopped and b"elapsed" in shown:
            os.write(terminal, b"\x03")
            stopped = True
        if not chunk:
            break
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_ctrl_c_begins_a_new_line_and_leaves_a_clean_terminal() -> None:
    shown, code = run_in_terminal("select", "-", stop=True)
    assert code == 1
    assert re.search(r"\^C\r\n", shown)
    *_, last = shown.split("\x1b[2K")  # all before was erased
    assert last == "streamsieve: error: interrupted\r\n"
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is there again"


def test_the_bar_says_what_is_elapsed_and_left_without_colours_if_none_are_wanted() -> None:
    shown, code = run_in_terminal(
        "select", "synthetic:x1?rows=3000", "-k", "5", NO_COLOR="1", COLUMNS="120"
    )
    assert code == 0
    assert re.search(r"\d+% [\d,]+ rows .*\d:\d\d elapsed, \d:\d\d left", shown)
    assert not re.search(r"\x1b\[\d*m", shown)


def test_there_is_no_bar_where_none_can_be_drawn_or_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    begin_notes()
    assert isinstance(progress_bar(), ProgressBar)
    monkeypatch.setenv("TERM", "dumb")
    assert not isinstance(progress_bar(), ProgressBar)
    monkeypatch.setenv("TERM", "xterm")
    context = click.Context(main)
    be_quiet(context, main.params[0], True)
    assert not isinstance(progress_bar(), ProgressBar)
    begin_notes()
    terminal.isatty = lambda: False  # a file
    assert not isinstance(progress_bar(), ProgressBar)


def test_the_bar_leaves_out_what_is_not_known() -> None:
    with ProgressBar() as bar:
        bar(Progress(1000, None, "rows"))
        (task,) = bar.tasks
        text = " ".join(str(column(task)) for column in bar.columns if not isinstance(column, str))
    assert "elapsed" in text
    assert "left" not in text
    assert "%" not in text
    assert [clock(seconds) for seconds in (0.9, 12, 75, 3723)] == [
        "0:00",
        "0:12",
        "1:15",
        "1:02:03",
    ]


def test_help_of_select_needs_no_numba() -> None:
    script = (
        "import sys\nfrom streamsieve.cli import main\nmain(['select', '--help'],"
        " standalone_mode=False)\nassert not {'numpy', 'numba', 'rich'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
