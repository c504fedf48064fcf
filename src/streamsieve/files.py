"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from .errors import UsageError

PARTIAL = ".partial"
LONGEST_STEM = 40  # characters of a name that its partial file repeats: file systems allow 255 bytes


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to, moved over it when the block ends well and removed when it does not.

    A reader, and a machine that loses power, sees the old file or the new one, never a part. A device or a pipe, which
    must not be replaced, is written to as it is; of a symbolic link it is the target that is replaced.
    """
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        yield path
        return
    if path.is_symlink():
        path = path.resolve()
    partial = path.with_name(f".{path.name[:LONGEST_STEM]}.{os.getpid()}{PARTIAL}")
    try:
        yield partial
        _sync(partial)
        os.replace(partial, path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # Arrow does not say which file
            error.filename = str(path)
        raise
    _sync(path.parent)


def clear_partial(path: Path) -> None:
    """Remove what killed processes left beside ``path``; for who keeps living ones off it."""
    for remains in path.parent.glob(f".{escape(path.name[:LONGEST_STEM])}.*{PARTIAL}"):
        remains.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
