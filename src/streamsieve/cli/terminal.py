"""The one way to the terminal: what is printed stays on its line and is only text."""

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

MAX_LINE_LENGTH = 2000  # letters; what a message quotes may be as long as a file
notes = logging.getLogger(
    "streamsieve"
)  # its level is how much is said: errors, notes, or every step


def say(text: object, err: bool = False) -> None:
    """Print one line on standard output or standard error; letters that the terminal has not are escaped, too."""
    line = printable(text, MAX_LINE_LENGTH)
    encoding = encoding_of(sys.stderr if err else sys.stdout)
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding), err=err)


def draw(picture: RenderableType) -> None:
    """Print what rich draws, of ``printable`` cells, on standard output; colours are for terminals."""
    from rich.console import Console

    console, encoding = Console(highlight=False, markup=False, emoji=False), encoding_of(sys.stdout)
    with console.capture() as captured:
        console.print(picture)
    for line in captured.get().splitlines():
        click.echo(line.rstrip().encode(encoding, "backslashreplace").decode(encoding))


def encoding_of(stream: object) -> str:
    encoding: str | None = getattr(stream, "encoding", None)
    return encoding or "utf-8"


def can_show(text: str) -> bool:
    """Whether standard output has all letters of a text."""
    encoding = encoding_of(sys.stdout)
    return text.encode(encoding, "replace").decode(encoding) == text


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
        kind = (
            "note"
            if record.levelno >= logging.WARNING
            else f"{time.perf_counter() - self.began:.2f} s"
        )
        say(f"streamsieve: {kind}: {record.getMessage()}", err=True)


def begin_notes() -> None:
    """Show notes, and no steps."""
    notes.handlers = [Notes()]
    notes.setLevel(logging.WARNING)


def is_quiet() -> bool:
    return not notes.isEnabledFor(logging.WARNING)


def set_level(level: int, ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    """Say more or less from now on, if that is wanted."""
    if wanted and notes.level != logging.WARNING:
        raise click.UsageError("--quiet and --verbose are opposites; omit one of them")
    if wanted:
        notes.setLevel(level)


be_quiet, be_verbose = partial(set_level, logging.ERROR), partial(set_level, logging.INFO)
