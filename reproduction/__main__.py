"""Run tables and figures of the papers again: ``python -m reproduction P1.table2``."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence

import click

from streamsieve.errors import DataError, UsageError
from streamsieve.machine import cores

from . import EXPERIMENTS, MISSING, Experiment, Folders, Setting, find_folders
from .data import ROOT, missing_text
from .page import section_text, write_section

PAGE = ROOT / "docs" / "explanation" / "reproduction.md"
ALL = "all"


@click.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option(
    "--list",
    "is_list",
    is_flag=True,
    help="List what there is, the data it needs and whether it is here.",
)
@click.option("--quick", is_flag=True, help="Small, in seconds, on the data that is shipped.")
@click.option(
    "--data", metavar="FOLDER", help="The folder of the data sets, one file name.svm.xz each."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Processes for repeats; as many as there are cores by default.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Write the sections of docs/explanation/reproduction.md; not with --quick.",
)
def main(
    names: tuple[str, ...],
    is_list: bool,
    quick: bool,
    data: str | None,
    jobs: int | None,
    write: bool,
) -> None:
    """Run tables and figures of the papers again, and show them beside the paper's.

    NAME is P1.table2 or the like, P1 for all of that paper, or all. The data is read from --data,
    or the folder that the environment variable STREAMSIEVE_DATA names, or ../shared/data; small
    sets are in examples/data.
    """
    try:
        if quick and write:
            raise UsageError("--quick runs say little beside the paper's figures; omit --write")
        folders = find_folders(data)
        if is_list:
            print_list(find_experiments(names or (ALL,)), folders)
            return
        setting = Setting(
            folders, quick, jobs or cores(), lambda text: click.echo(f"  {text}", err=True)
        )
        for experiment in find_experiments_with_data(names, folders, quick):
            run(experiment, setting, write)
    except (UsageError, DataError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)


def find_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of some names, in the order of the papers."""
    if not names:
        raise UsageError(
            "which table or figure? Name some (P1.table2), a paper (P1) or all; --list shows them"
        )
    wanted: set[str] = set()
    for name in names:
        matches = {title for title in EXPERIMENTS if name in (title, title.partition(".")[0], ALL)}
        if name in MISSING:
            raise UsageError(f"{name}: cannot be run; it would need {MISSING[name]}")
        if not matches:
            raise UsageError(
                f"{name}: there is no such table or figure here; --list shows all of them"
            )
        wanted |= matches
    return [experiment for name, experiment in EXPERIMENTS.items() if name in wanted]


def find_experiments_with_data(
    names: Sequence[str], folders: Folders, quick: bool
) -> list[Experiment]:
    """Return the experiments with these names whose data is here.

    Raise DataError if an experiment was asked for by its own name and its data is missing.
    """
    runnable = []
    for experiment in find_experiments(names):
        missing = folders.missing(experiment.quick_data if quick else experiment.data)
        if missing and experiment.name in names:
            hint = "" if quick else ", or run it small on shipped data (--quick)"
            raise DataError(f"{experiment.name}: {missing_text(missing)}; {folders.advice()}{hint}")
        if missing:
            click.echo(f"{experiment.name} is omitted: {missing_text(missing)}", err=True)
        else:
            runnable.append(experiment)
    return runnable


def run(experiment: Experiment, setting: Setting, write: bool) -> None:
    """Run an experiment, print its section and write it if that is asked for."""
    click.echo(
        f"{experiment.name}:"
        f" {'a few seconds' if setting.quick else minutes_text(experiment.minutes)}",
        err=True,
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Small budgets are measured on purpose: advice on them is for users.
        warnings.simplefilter("ignore")
        tables = experiment.run(setting)
    text = section_text(experiment, tables, setting.quick, time.perf_counter() - start)
    click.echo(f"{text}\n")
    if write:
        write_section(PAGE, experiment.name, text, EXPERIMENTS, MISSING)
        click.echo(f"written to {PAGE}", err=True)


def minutes_text(minutes: float) -> str:
    """Return about how long an experiment takes."""
    return "less than a minute" if minutes < 1 else f"about {minutes:.0f} min"


def print_list(experiments: Sequence[Experiment], folders: Folders) -> None:
    """Print experiments with the data that they need, and those that cannot be run."""
    width = max(len(experiment.name) for experiment in experiments)
    for experiment in experiments:
        click.echo(f"{experiment.name:<{width}}  {experiment.title}")
        needed, missing = ", ".join(experiment.data) or "none", folders.missing(experiment.data)
        status = "can be run here"
        if missing:
            quick = (
                "here only with --quick"
                if not folders.missing(experiment.quick_data)
                else "not here"
            )
            status = f"{quick} ({', '.join(missing)} not found)"
        click.echo(f"{'':<{width}}  {minutes_text(experiment.minutes)}; data: {needed}; {status}")
    click.echo("\nWhat cannot be run, and what it would need:")
    papers = {experiment.name.partition(".")[0] for experiment in experiments}
    for name, needed in MISSING.items():
        if name.partition(".")[0] in papers:
            click.echo(f"{name:<{width}}  {needed}")


if __name__ == "__main__":
    main()
