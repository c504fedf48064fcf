"""The command that writes a report."""

from __future__ import annotations

from pathlib import Path

import click

from .terminal import say


@click.command(short_help="Write runs and comparisons as one HTML page.")
@click.argument("folders", nargs=-1, required=True, metavar="RUN_DIR...", type=click.Path(exists=True, file_okay=False))
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page to write; its data goes to a .json file beside it.",
)
@click.option("--no-data", is_flag=True, help="Do not read the data of runs again, for correlations and names.")
def report(folders: tuple[str, ...], output: Path, no_data: bool) -> None:
    """Write a report of one or more folders, of runs (select -o) and of comparisons (compare -o).

    It is one HTML file that needs no network. Up to 10,000 rows of the data of each run are read again for
    correlations of the selected features, if the data is still there and unchanged.
    """
    from ..report import write_report

    path = write_report(list(folders), output, read_data=not no_data)
    say(f"report written to {path.resolve()}")
