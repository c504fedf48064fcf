"""What several commands share: options, the bar, and hints on how to go on after an interruption."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click

from ..sources.options import CHOICES, OPTIONS
from .terminal import be_quiet, be_verbose, is_quiet, say

Command = TypeVar("Command", bound=Callable[..., Any])

MEMORY = click.option(
    "--memory", metavar="SIZE", help="The most to take, such as 2GB; what needs more is refused."
)
RUN_DIR = click.argument("run_dir", type=click.Path(exists=True, file_okay=False))
DATA = click.argument("data", nargs=-1, required=True)
AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on standard output."
)
QUIET = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=be_quiet,
    help="Print errors only, and what is asked for.",
)
VERBOSE = click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=be_verbose,
    help="Say what is done, and when.",
)


def read_options(*names: str) -> Callable[[Command], Command]:
    """Give a command options of how data is to be read: those of some names, or all."""

    def add(command: Command) -> Command:
        for name in reversed(names or tuple(OPTIONS)):
            command = read_option(name)(command)
        return command

    return add


def read_option(name: str) -> Callable[[Command], Command]:
    """Make the option of the command line for a field of ``ReadOptions``; left out, it comes as None."""
    field = OPTIONS[name]
    words = CHOICES.get(name)
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        is_flag=isinstance(field.default, bool),
        type=click.Choice(words) if words else None,
        default=field.default if words or isinstance(field.default, bool) else None,
        show_default=words is not None,
        metavar=field.metadata["metavar"],
        help=field.metadata["help"],
    )


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def progress_bar() -> AbstractContextManager[Any]:
    """A bar on standard error if that is a terminal that can draw one; nothing otherwise."""
    if is_quiet() or not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return nullcontext()
    from ..progress import ProgressBar

    return ProgressBar()


# ---- how to go on after an interruption


@contextmanager
def hint_after(
    hint: Callable[[Path], str | None],
    output: str | Path | None,
    ends: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
) -> Iterator[None]:
    """After Ctrl-C, or what else ends the work, say how to go on with what is in ``output``, if that can be."""
    try:
        yield
    except ends:
        text = None if output is None else hint(Path(output))
        if text is not None:
            say(text, err=True)
        raise


def last_checkpoint(folder: Path) -> str | None:
    from ..runs import RunDirectory

    again = (
        "go on from the last checkpoint with: streamsieve select --resume"
        f" {shlex.quote(str(folder))}"
    )
    return again if RunDirectory(folder).checkpoint else None


def work_so_far(output: Path) -> str | None:
    from ..workflow import work_folder

    folder = work_folder(output)
    again = (
        f"the same command goes on from here; to give up instead, remove {shlex.quote(str(folder))}"
    )
    return None if folder is None else again


def cells_so_far(output: Path) -> str:
    return f"what is finished is kept in {shlex.quote(str(output))}; the same command does the rest"
