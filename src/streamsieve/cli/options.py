"""Options that several commands share, and the bar."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import click

from ..sources import formats
from ..sources.reading import MISSING, STRINGS
from .terminal import be_quiet, be_verbose, is_quiet

TARGET = click.option("--target", metavar="NAME", help=f"The column to predict, in tables ({formats.table_files()}).")
ZERO_BASED = click.option("--zero-based", is_flag=True, help="Feature ids of svmlight files start at 0, not at 1.")
MEMORY = click.option("--memory", metavar="SIZE", help="The most to take, such as 2GB; what needs more is refused.")
READING = [
    click.option("--names", metavar="FILE", help="The names of the features, one a line, for data that has none."),
    click.option("--drop", metavar="A,B", help="Features to omit."),
    click.option("--only", metavar="A,B", help="Features to read, and no others."),
    click.option(
        "--strings",
        type=click.Choice(STRINGS),
        default="onehot",
        show_default=True,
        help="Columns of text: a feature per level, hashed to a fixed number of features, omitted or refused.",
    ),
    click.option(
        "--missing",
        type=click.Choice(MISSING),
        default="error",
        show_default=True,
        help="Missing values: refused, 0, the mean of the column, or skipped by methods that can.",
    ),
]
RUN_DIR = click.argument("run_dir", type=click.Path(exists=True, file_okay=False))
DATA = click.argument("data", nargs=-1, required=True)
QUIET = click.option(
    "--quiet", is_flag=True, expose_value=False, callback=be_quiet, help="Print errors only, and what is asked for."
)
VERBOSE = click.option(
    "--verbose", is_flag=True, expose_value=False, callback=be_verbose, help="Say what is done, and when."
)


def reading_options(command: Any) -> Any:
    """Give a command the options of how data is to be read, beside --target and --zero-based."""
    for option in reversed(READING):
        command = option(command)
    return command


def given_reading(options: dict[str, Any]) -> dict[str, Any]:
    """The options of how data is to be read, but for those that were not given."""
    return {name: value for name, value in options.items() if value is not None}


def progress_bar() -> AbstractContextManager[Any]:
    """A bar on standard error if that is a terminal that can draw one; nothing otherwise."""
    if is_quiet() or not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return nullcontext()
    from ..progress import ProgressBar

    return ProgressBar()
