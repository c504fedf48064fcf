"""What to do after an interruption."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .terminal import say


@contextmanager
def hint_at_resume(folder: str | Path | None) -> Iterator[None]:
    """After Ctrl-C, say how to go on if there is a checkpoint."""
    from ..runs import RunDirectory

    try:
        yield
    except KeyboardInterrupt:
        if folder and RunDirectory(folder).checkpoint:
            again = f"streamsieve select --resume {shlex.quote(str(folder))}"
            say(f"go on from the last checkpoint with: {again}", err=True)
        raise


@contextmanager
def hint_at_going_on(output: Path) -> Iterator[None]:
    """After an interruption, say that the work so far is kept, if it is."""
    from ..workflow import work_folder

    try:
        yield
    except (KeyboardInterrupt, OSError):
        folder = work_folder(output)
        if folder is not None:
            say(f"the same command goes on from here; to give up instead, remove {shlex.quote(str(folder))}", err=True)
        raise
