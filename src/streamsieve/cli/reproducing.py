"""The command ``reproduce``: the papers' tables and figures, run again."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import DataError, UsageError
from .terminal import remark, say

if TYPE_CHECKING:
    from ..reproduction import Experiment, Folders, Setting

ALL = "all"


@click.command(short_help="Run the tables and figures of the papers again.")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--list", "list_them", is_flag=True, help="List what there is, the data it needs and whether it is here.")
@click.option("--quick", is_flag=True, help="Small, in seconds, on the data that is shipped; writes no page.")
@click.option("--data", metavar="FOLDER", help="The folder of the data sets, one file name.svm.xz each.")
@click.option("--jobs", type=click.IntRange(1), help="Processes for repeats; as many as there are cores by default.")
@click.option("--write", type=click.Path(path_type=Path), metavar="FILE", help="The page to write the results to.")
def reproduce(
    names: tuple[str, ...], list_them: bool, quick: bool, data: str | None, jobs: int | None, write: Path | None
) -> None:
    """Run tables and figures of the papers again, and show the paper's figures beside those measured.

    NAME is P1.table2 or the like, P1 for all of that paper, or all. A full run of a checkout of the project writes
    its section of docs/reproduction.md. The data is read from --data, or the folder that the environment variable
    STREAMSIEVE_DATA names, or ../shared/data beside a checkout; small sets are in its examples/data.
    """
    from ..machine import cores
    from ..reproduction import Setting, find_folders

    folders = find_folders(data)
    if list_them:
        _show_list(_asked(names or (ALL,)), folders)
        return
    setting = Setting(folders, quick, jobs or cores(), lambda text: remark(f"  {text}"))
    for experiment in _with_data(names, folders, quick):
        _run(experiment, setting, write)


def _asked(names: Sequence[str]) -> list[Experiment]:
    """The experiments of some names, in the order of the papers."""
    from ..reproduction import EXPERIMENTS, MISSING

    if not names:
        raise UsageError("which table or figure? Name some (P1.table2), a paper (P1) or all; --list shows them")
    wanted: set[str] = set()
    for name in names:
        found = {known for known in EXPERIMENTS if name in (known, known.partition(".")[0], ALL)}
        if not found:
            raise UsageError(
                f"{name}: cannot be run; it would need {MISSING[name]}"
                if name in MISSING
                else f"{name}: there is no such table or figure here; --list shows those there are"
            )
        wanted |= found
    return [experiment for name, experiment in EXPERIMENTS.items() if name in wanted]


def _with_data(names: Sequence[str], folders: Folders, quick: bool) -> list[Experiment]:
    """Those asked for whose data is here; one that was asked for by its own name must have it."""
    from ..reproduction.data import absent

    able = []
    for experiment in _asked(names):
        missing = folders.missing(experiment.quick_data if quick else experiment.data)
        if missing and experiment.name in names:
            shorter = "" if quick else ", or run it small on shipped data (--quick)"
            raise DataError(f"{experiment.name}: {absent(missing)}; {folders.advice()}{shorter}")
        if missing:
            remark(f"streamsieve: {experiment.name} is omitted: {absent(missing)}")
        else:
            able.append(experiment)
    return able


def _run(experiment: Experiment, setting: Setting, write: Path | None) -> None:
    from ..reproduction import EXPERIMENTS, MISSING
    from ..reproduction.data import checkout
    from ..reproduction.page import section_text, write_section

    remark(f"{experiment.name}: {'a few seconds' if setting.quick else _minutes(experiment.minutes)}")
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small budgets are what is measured: advice on them is for users
        tables = experiment.run(setting)
    text = section_text(experiment, tables, setting.quick, time.perf_counter() - start)
    for line in text.split("\n"):
        say(line)
    say("")
    root = None if setting.quick else checkout()
    page = write or (root and root / "docs" / "reproduction.md")
    if page:
        write_section(page, experiment.name, text, EXPERIMENTS, MISSING)
        remark(f"written to {page}")


def _minutes(minutes: float) -> str:
    return "less than a minute" if minutes < 1 else f"about {minutes:.0f} min"


def _show_list(experiments: Sequence[Experiment], folders: Folders) -> None:
    from ..reproduction import MISSING

    width = max(len(experiment.name) for experiment in experiments)
    for experiment in experiments:
        say(f"{experiment.name:<{width}}  {experiment.title}")
        needed = ", ".join(experiment.data) or "none"
        say(f"{'':<{width}}  {_minutes(experiment.minutes)}; data: {needed}; {_ability(experiment, folders)}")
    say("")
    say("What cannot be run, and what it would need:")
    papers = {experiment.name.partition(".")[0] for experiment in experiments}
    for name, needed in MISSING.items():
        if name.partition(".")[0] in papers:
            say(f"{name:<{width}}  {needed}")


def _ability(experiment: Experiment, folders: Folders) -> str:
    """Whether an experiment can be run with the data that is here."""
    missing = folders.missing(experiment.data)
    if not missing:
        return "can be run here"
    quick = "here only with --quick" if not folders.missing(experiment.quick_data) else "not here"
    return f"{quick} ({', '.join(missing)} not found)"
