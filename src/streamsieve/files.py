"""Files that are whole or not there, and folders whose files may be a stranger's."""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Literal

from .errors import DataError, UsageError

PARTIAL = ".partial"
MAX_STEM_LENGTH = (
    40  # characters of a name that its partial file repeats: file systems allow 255 bytes
)
TOKEN_BYTES = 8  # of a name that nobody can foresee

Lock = Literal["ours", "taken", "unknown"]  # unknown: a file system without locks


@contextmanager
def replacing(path: Path, follow: bool = True) -> Iterator[Path]:
    """A path beside ``path`` to write to, moved over it when the block ends well and removed when it does not.

    A reader, and a machine that loses power, sees the old file or the new one, never a part. The
    file beside it is new, with a name of its own for every call, and locked while it is written;
    what killed processes left of such files is removed first. A device or a pipe, which must not be
    replaced, is written to as it is; of a symbolic link it is the target that is replaced, unless
    ``follow`` is False: then whatever is not a regular file is refused.
    """
    if not follow:
        is_there(path)
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        yield path
        return
    if follow and path.is_symlink():
        path = path.resolve()
    clear_partial(path)
    partial, descriptor = _new_partial(path)
    try:
        yield partial
        os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # Arrow does not say which file
            error.filename = str(path)
        raise
    finally:
        os.close(descriptor)
    _sync(path.parent)


def _new_partial(path: Path) -> tuple[Path, int]:
    """A new file beside ``path``, and the descriptor that keeps it locked."""
    while True:
        partial = path.with_name(f"{partial_stem(path)}{token_hex(TOKEN_BYTES)}{PARTIAL}")
        try:
            descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            error.filename = str(path)
            raise
        if lock(descriptor) != "taken" and partial.exists():
            return partial, descriptor
        os.close(descriptor)  # taken for remains before it was locked


def partial_stem(path: Path) -> str:
    """How the names of files begin that are written beside a path."""
    return f".{path.name[:MAX_STEM_LENGTH]}."


def is_partial(name: str, path: Path) -> bool:
    """Whether a file of this name, beside ``path``, is one that was to be moved over it."""
    return bool(
        re.fullmatch(rf"{re.escape(partial_stem(path))}[0-9a-f]+{re.escape(PARTIAL)}", name)
    )


def clear_partial(path: Path) -> None:
    """Remove what killed processes left beside ``path``; nobody who lives is disturbed."""
    try:
        with os.scandir(path.parent) as entries:
            remains = [entry.path for entry in entries if is_partial(entry.name, path)]
    except PermissionError:  # a folder that may be written to, but not listed
        return
    for name in remains:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # gone by now, or not a file of ours
            continue
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and lock(descriptor) == "ours":
                Path(name).unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def lock(descriptor: int) -> Lock:
    """Take a file or folder for whoever has this descriptor, until it is closed; other threads are others, too."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "taken"
    except OSError:
        return "unknown"
    return "ours"


def is_there(path: Path) -> bool:
    """Whether there is a file; one that leads elsewhere, or is no regular file, is refused.

    For folders that may come from a stranger: a link in them may name any file of the user's, a
    pipe never ends.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        what = (
            "a link"
            if stat.S_ISLNK(mode)
            else "a folder"
            if stat.S_ISDIR(mode)
            else "a device or a pipe"
        )
        raise DataError(
            f"{path}: is {what}, where only a regular file can be; look who made it, and remove it"
        )
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
