"""Print to the terminal: every message stays on its line and is only text."""

from __future__ import annotations

import logging
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import click

from ..display import MAX_CELL_LENGTH as MAX_CELL_LENGTH
from ..display import printable as printable

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_LINE_LENGTH = 2000  # characters; a message may quote text that is as long as a file
notes = logging.getLogger("streamsieve")  # the level decides: errors, notes, or every step


def say(text: object, err: bool = False) -> None:
    """Print one line on standard output or standard error.

    Characters that the terminal cannot show are escaped.
    """
    line = printable(text, MAX_LINE_LENGTH)
    encoding = encoding_of(sys.stderr if err else sys.stdout)
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


def draw(picture: RenderableType) -> None:
    """Print a picture of rich, made of ``printable`` cells; colours are for terminals only."""
    from rich.console import Console

    console, encoding = Console(highlight=False, markup=False, emoji=False), encoding_of(sys.stdout)
    with console.capture() as captured:
        console.print(picture)
    for line in captured.get().splitlines():
        click.echo(line.rstrip().encode(encoding, "backslashreplace").decode(encoding))


def encoding_of(stream: object) -> str:
    """Return the encoding of a stream."""
    return str(getattr(stream, "encoding", None) or "utf-8")


def can_show(text: str) -> bool:
    """Return True if standard output can show all characters of a text."""
    encoding = encoding_of(sys.stdout)
    return text.encode(encoding, "replace").decode(encoding) == text


def remark(text: object) -> None:
    """Print one line on standard error, unless --quiet is given."""
    if not is_quiet():
        say(text, err=True)


class Notes(logging.Handler):
    """Prints notes of a run and, with --verbose, its steps with their time."""

    def __init__(self) -> None:
        super().__init__()
        self.began = time.perf_counter()

    def emit(self, record: logging.LogRecord) -> None:
        label = (
            "note"
            if record.levelno >= logging.WARNING
            else f"{time.perf_counter() - self.began:.2f} s"
        )
        say(f"streamsieve: {label}: {record.getMessage()}", err=True)


def begin_notes() -> None:
    """Print notes from now on, but no steps."""
    notes.handlers = [Notes()]
    notes.setLevel(logging.WARNING)


def is_quiet() -> bool:
    """Return True if only errors are printed."""
    return not notes.isEnabledFor(logging.WARNING)


def set_level(level: int, ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Set how much is printed from now on, if the option is given."""
    if wanted and notes.level != logging.WARNING:
        raise click.UsageError("--quiet and --verbose cannot be combined; omit one of them")
    if wanted:
        notes.setLevel(level)


be_quiet, be_verbose = partial(set_level, logging.ERROR), partial(set_level, logging.INFO)
