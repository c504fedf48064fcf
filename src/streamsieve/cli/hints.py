"""How to go on after an interruption."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .terminal import say


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

    again = f"go on from the last checkpoint with: streamsieve select --resume {shlex.quote(str(folder))}"
    return again if RunDirectory(folder).checkpoint else None


def work_so_far(output: Path) -> str | None:
    from ..workflow import work_folder

    folder = work_folder(output)
    again = f"the same command goes on from here; to give up instead, remove {shlex.quote(str(folder))}"
    return None if folder is None else again


def cells_so_far(output: Path) -> str:
    return f"what is finished is kept in {shlex.quote(str(output))}; the same command does the rest"
