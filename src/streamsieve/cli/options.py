"""Options that several commands share, the progress bar, and hints after interruptions."""

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
    "--memory",
    metavar="SIZE",
    help="The largest memory to use, such as 2GB; what needs more is refused.",
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
    help="Print only errors and the requested output.",
)
VERBOSE = click.option(
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=be_verbose,
    help="Print every step with its time.",
)


def read_options(*names: str) -> Callable[[Command], Command]:
    """Give a command the options for reading data: those with the given names, or all."""

    def add(command: Command) -> Command:
        for name in reversed(names or tuple(OPTIONS)):
            command = read_option(name)(command)
        return command

    return add


def read_option(name: str) -> Callable[[Command], Command]:
    """Return the command-line option of a field of ``ReadOptions``; the default is None."""
    field = OPTIONS[name]
    words = CHOICES.get(name)
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        is_flag=isinstance(field.default, bool),
        type=click.Choice(words) if words else click.INT if field.type == "int" else None,
        default=field.default if words or isinstance(field.default, bool) else None,
        show_default=words is not None,
        metavar=field.metadata["metavar"],
        help=field.metadata["help"],
    )


def without_unset(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def progress_bar() -> AbstractContextManager[Any]:
    """Return a progress bar if standard error is a terminal that can draw one."""
    if is_quiet() or not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        return nullcontext()
    from ..progress import ProgressBar

    return ProgressBar()


# ---- hints after an interruption


@contextmanager
def hint_on_interrupt(
    hint: Callable[[Path], str | None],
    output: str | Path | None,
    ends: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
) -> Iterator[None]:
    """Print how to continue after an interruption, if that is possible.

    ``ends`` are the exceptions that count as interruptions; ``hint`` returns the text for
    ``output``, or None.
    """
    try:
        yield
    except ends:
        text = None if output is None else hint(Path(output))
        if text is not None:
            say(text, err=True)
        raise


def checkpoint_hint(folder: Path) -> str | None:
    """Return how to resume a run from its checkpoint, or None."""
    from ..runs import RunDirectory

    hint = (
        "resume from the last checkpoint with: streamsieve select --resume"
        f" {shlex.quote(str(folder))}"
    )
    return hint if RunDirectory(folder).checkpoint else None


def conversion_hint(output: Path) -> str | None:
    """Return how to continue a conversion, or None."""
    from ..workflow import work_folder

    folder = work_folder(output)
    hint = f"the same command continues from here; to give up, remove {shlex.quote(str(folder))}"
    return None if folder is None else hint


def comparison_hint(output: Path) -> str:
    """Return how to continue a comparison."""
    return f"finished cells are in {shlex.quote(str(output))}; the same command does the rest"
