"""Files that are complete or absent, and folders whose files may come from a stranger."""

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
# characters of a name that its partial file repeats: file systems allow 255 bytes
MAX_STEM_LENGTH = 40
TOKEN_BYTES = 8  # of a name that cannot be predicted

Lock = Literal["ours", "taken", "unknown"]  # unknown: a file system without locks


@contextmanager
def replacing(path: Path, follow: bool = True) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to, moved over it if the block ends without error.

    If the block fails, the file is removed. A reader, and a machine that loses power, sees the old
    file or the new one, never a part. The file beside it is new, has a unique name for every call,
    and is locked while it is written; what killed processes left of such files is removed first. A
    device or a pipe, which must not be replaced, is written to directly. Of a symbolic link the
    target is replaced, unless ``follow`` is False: then anything that is not a regular file is an
    error.
    """
    if not follow:
        file_exists(path)
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first")
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
    """Create a file beside ``path``; return it with the descriptor that keeps it locked."""
    while True:
        partial = path.with_name(f"{partial_stem(path)}{token_hex(TOKEN_BYTES)}{PARTIAL}")
        try:
            descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            error.filename = str(path)
            raise
        if lock(descriptor) != "taken" and partial.exists():
            return partial, descriptor
        os.close(descriptor)  # another process removed it before it was locked


def partial_stem(path: Path) -> str:
    """Return the beginning of the names of files that are written beside a path."""
    return f".{path.name[:MAX_STEM_LENGTH]}."


def is_partial(name: str, path: Path) -> bool:
    """Return True if a file of this name, beside ``path``, was written to replace it."""
    return bool(
        re.fullmatch(rf"{re.escape(partial_stem(path))}[0-9a-f]+{re.escape(PARTIAL)}", name)
    )


def clear_partial(path: Path) -> None:
    """Remove the files that killed processes left beside ``path``, none of a living process."""
    try:
        with os.scandir(path.parent) as entries:
            remains = [entry.path for entry in entries if is_partial(entry.name, path)]
    except PermissionError:  # a folder that may be written to, but not listed
        return
    for name in remains:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # removed in the meantime, or not a file of this user
            continue
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and lock(descriptor) == "ours":
                Path(name).unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def lock(descriptor: int) -> Lock:
    """Lock a file or folder for the holder of this descriptor, until it is closed.

    The lock also excludes other threads of this process.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return "taken"
    except OSError:
        return "unknown"
    return "ours"


def file_exists(path: Path) -> bool:
    """Return True if there is a regular file; raise DataError for anything else but an absent file.

    For folders that may come from a stranger: a link in them may name any file of the user, and a
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
            f"{path}: is {what}, but must be a regular file; check who created it, and remove it"
        )
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
