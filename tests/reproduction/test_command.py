"""The command ``python -m reproduction``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reproduction import __main__ as command
from reproduction.data import VARIABLE


def call(*arguments: str) -> Result:
    return CliRunner().invoke(command.main, list(arguments), catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"which table or figure\? Name some"),
        (["P1.table9"], "P1.table9: there is no such table or figure here; --list shows"),
        (["P4.table7"], "P4.table7: cannot be run; it would need CIFAR-10"),
        (
            ["P5.fig4", "--data", "nowhere", "--quick"],
            "nowhere: there is no such folder; name the one",
        ),
        (["P5.fig4", "--quick", "--write"], "omit --write"),
    ],
)
def test_what_cannot_be_run_is_said(arguments: list[str], message: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert re.search(message, done.stderr)


def test_missing_data_is_named_with_what_to_do(tmp_path: Path) -> None:
    done = call("P4.fig6", "--data", str(tmp_path))
    assert done.exit_code == 1
    assert (
        "data not found: codrna.svm.xz (LIBSVM's cod-rna, test part, 271,617 x 8), covtype"
        in done.stderr
    )
    assert f"(looked in {tmp_path}, " in done.stderr
    assert "run it small on shipped data (--quick)" in done.stderr


def test_what_there_is_can_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    lines = call("--list", "P4.fig6", "P5").stdout.splitlines()
    assert lines[0].startswith("P4.fig6    mistake rates over the stream")
    assert lines[1].endswith(
        "data: codrna, covtype; here only with --quick (codrna, covtype not found)"
    )
    assert any(line.endswith("data: none; can be run here") for line in lines)
    assert [line.split()[0] for line in lines[lines.index("") + 2 :]] == [
        "P4.table4",
        "P4.table7",
        "P5.fig9",
    ]


def test_a_page_is_written_only_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "results.md"
    monkeypatch.setattr(command, "PAGE", page)
    done = call("P3.friedman")
    assert done.stdout.startswith(
        "## P3.friedman: Friedman tests: average ranks and critical differences"
    )
    assert "| III, J48, SAOLA            |         2.35 |           2.35 |" in done.stdout
    assert not page.exists()
    assert f"written to {page}" in call("P3.friedman", "--write").stderr
    assert page.read_text().count("P3.friedman -->") == 2
