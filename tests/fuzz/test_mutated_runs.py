"""Run folders changed by a stranger: every field of every file, in all uses of a folder."""

from __future__ import annotations

import copy
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

import streamsieve as ss
from streamsieve import workflow
from streamsieve.cli.show import show_summary
from streamsieve.errors import RunError
from streamsieve.registry import load_learner
from streamsieve.report import summarize
from streamsieve.runs import RunRecord
from streamsieve.training import Progress

from .mutations import paths_in

REFUSALS = (
    ss.DataError,
    ss.UsageError,
    RunError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 2**63, 10**29, 1.5, "", "x", "\x1b[2J", "no/such/file", "-", "."),
    *(
        [],
        [1],
        [None],
        ["x"],
        [["x"]],
        {},
        {"x": 1},
        {"path": 5},
        {"files": 5},
        {"files": [5]},
        {"files": [{}]},
    ),
)
ROWS = "".join(
    f"{1 if row % 3 else -1} {1 + row % 5}:{row % 7 + 1} {7 + row % 2}:2\n" for row in range(60)
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run, and of its rows."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "rows.svm").write_text(ROWS)
    workflow.select(
        folder / "rows.svm", n_features_to_select=3, output=folder / "run", test=folder / "rows.svm"
    )
    return folder


def mutations_of(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the content with one field, at any depth, replaced or removed."""
    changed: list[tuple[str, dict[str, Any]]] = []
    for path in paths_in(content):
        if len(path) > 1 and isinstance(path[-1], int) and path[-1]:
            continue  # one entry of a list is as good as another
        for value in (*VALUES, "gone"):
            again = copy.deepcopy(content)
            holder = again
            for key in path[:-1]:
                holder = holder[key]
            if value == "gone":
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            changed.append((f"{path} = {value!r}", again))
    return changed


def harmless(what: str, call: Any) -> bool:
    """Return True if a call works, False if it is refused in words; anything else fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except REFUSALS:
        return False
    except Exception as error:
        raise AssertionError(f"{what}: {error!r}") from error
    return True


def show(record: RunRecord) -> None:
    """Show a record as the command line does."""
    summary = summarize(record)
    json.dumps(summary)
    show_summary(summary, None)


@pytest.fixture
def closed_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove standard input: a folder that names it must not wait for it."""
    monkeypatch.setattr("sys.stdin", None)


@pytest.mark.usefixtures("closed_input")
def test_a_changed_result_is_refused_or_harmless(finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished / "run", tmp_path / "run")
    content, worked = json.loads((finished / "run" / "result.json").read_text()), set()
    for what, changed in mutations_of(content):
        (tmp_path / "run" / "result.json").write_text(json.dumps(changed))
        worked.add(harmless(what, lambda: show(workflow.resume(tmp_path / "run"))))
    assert worked == {True, False}, "some changes are refused, and some are harmless"


@pytest.mark.usefixtures("closed_input")
def test_a_changed_request_is_refused_or_harmless(finished: Path, tmp_path: Path) -> None:
    content = json.loads((finished / "run" / "run.json").read_text())
    folder, rows, worked = tmp_path / "run", finished / "rows.svm", set()
    for what, changed in mutations_of(content):
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps(changed))
        resumed = harmless(f"{what}, resumed", lambda: workflow.resume(folder))
        worked.add(resumed)
        assert (folder / "model").exists() == resumed, what
        if resumed:
            harmless(f"{what}, applied", lambda: workflow.apply(folder, rows, tmp_path / "out.svm"))
            harmless(f"{what}, predicted", lambda: list(workflow.predict(folder, rows)))
        shutil.rmtree(folder)
    assert worked == {True, False}, "some changes are refused, and some are harmless"


NOTES: tuple[Any, ...] = (
    {},
    {"positions": 5},
    {"positions": [1, "x"], "times": 2},
    {"positions": [-1, 2], "times": 2},
    {"positions": [2**63, 1], "times": 2},
    {"positions": [1, 1], "times": 10**9},
    {"trace": 7},
    {"trace": [5]},
    {"trace": [{"rows": "x"}]},
    {"trace": [{}]},
)


@pytest.fixture(scope="module", params=[None, "local"])
def interrupted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with a checkpoint, in one process or in parts."""
    folder = tmp_path_factory.mktemp("interrupted")
    (folder / "rows.svm").write_text(ROWS * 25)

    def stop(progress: Progress) -> None:
        if (folder / "run" / "checkpoint").exists():
            raise KeyboardInterrupt

    options = {} if request.param is None else {"engine": request.param, "workers": 2}
    with pytest.raises(KeyboardInterrupt):
        workflow.select(
            folder / "rows.svm",
            n_features_to_select=3,
            output=folder / "run",
            checkpoint_every=100,
            watch=stop,
            **options,
        )
    return folder / "run"


@pytest.mark.usefixtures("closed_input")
@pytest.mark.parametrize("note", [None, *NOTES])
def test_a_changed_note_is_refused_or_harmless(
    interrupted: Path, tmp_path: Path, note: Any
) -> None:
    """Change the note of a checkpoint.

    It has the trace so far and, for parallel runs, the progress of every worker.
    """
    folder = tmp_path / "run"
    shutil.copytree(interrupted, folder)
    if note is None:  # unchanged
        assert workflow.resume(folder).n_rows == 1500
        return
    learner, _ = load_learner(folder / "checkpoint")
    learner.save(folder / "checkpoint", note)
    harmless(str(note), lambda: workflow.resume(folder))
