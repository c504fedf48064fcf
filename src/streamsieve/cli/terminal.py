"""The one way to the terminal: what is printed stays on its line and is only text."""

from __future__ import annotations

import logging
import sys
import time

import click

from ..showing import LONGEST_CELL as LONGEST_CELL
from ..showing import printable as printable

LONGEST_LINE = 2000  # letters; what a message quotes may be as long as a file
notes = logging.getLogger("streamsieve")  # its level is how much is said: errors, notes, or every step


def say(text: object, err: bool = False) -> None:
    """Print one line on standard output or standard error; letters that the terminal has not are escaped, too."""
    line = printable(text, LONGEST_LINE)
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


def remark(text: object) -> None:
    """Print one line on standard error, unless only errors are wanted."""
    if not is_quiet():
        say(text, err=True)


class Notes(logging.Handler):
    """Shows what a run says on its way: notes and, if they are wanted, steps with their time."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.perf_counter()

    def emit(self, record: logging.LogRecord) -> None:
        kind = "note" if record.levelno >= logging.WARNING else f"{time.perf_counter() - self.began:.2f} s"
        say(f"streamsieve: {kind}: {record.getMessage()}", err=True)


def begin_notes() -> None:
    """Show notes, and no steps."""
    notes.handlers = [Notes()]
    notes.setLevel(logging.WARNING)


def is_quiet() -> bool:
    return not notes.isEnabledFor(logging.WARNING)


def be_quiet(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Say nothing but errors from now on."""
    _set_level(wanted, logging.ERROR)


def be_verbose(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Say every step from now on."""
    _set_level(wanted, logging.INFO)


def _set_level(wanted: bool, level: int) -> None:
    if wanted and notes.level != logging.WARNING:
        raise click.UsageError("--quiet and --verbose are opposites; omit one of them")
    if wanted:
        notes.setLevel(level)
