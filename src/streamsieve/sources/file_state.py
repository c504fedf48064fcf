"""Check that a file is still the one that was opened, and did not change while it was read.

A pass reads the whole file as it was when the source was opened, or fails. A file that is replaced
by another file of the same name may be read to its end by a process that has it open. A change
within a tick of the file system's clock (some milliseconds) that keeps the size is not detected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..errors import DataError
from .base import file_size

CURE = (
    "wait until it is complete, and begin again (rows that are still being written can be piped:"
    " tail -c +1 -f)"
)


class FileState(NamedTuple):
    """The properties of a file that show whether it is still the same."""

    size: int
    modified_ns: int
    inode: tuple[int, int]  # and its device
    process: int  # the id of the process that read this state

    @classmethod
    def of(cls, file: Path | int) -> FileState:
        """Return the state of a file at a path, which is not a folder, or of an open file."""
        if isinstance(file, Path):
            file_size(file)
        status = os.stat(file)
        return cls(status.st_size, status.st_mtime_ns, (status.st_dev, status.st_ino), os.getpid())

    def begin(self, name: str, file: Path | int) -> FileState:
        """Return the state at the start of a pass, or raise DataError if the file has changed.

        In another process, which may be on another machine and read a copy, only the size is
        compared.
        """
        state = self.of(file)
        if state.size != self.size or (state.process == self.process and state != self):
            raise DataError(f"{name}: has changed since it was opened; open it again")
        return state

    @contextmanager
    def watch(self, name: str, file: Path | int) -> Iterator[FileState]:
        """Yield the state at the start of a pass; raise DataError if the file changes."""
        state = self.begin(name, file)
        yield state
        state.check_unchanged(name, file)

    def check_unchanged(self, name: str, file: Path | int) -> None:
        """Raise DataError if a file has changed since a pass began with this state.

        A file that was removed or replaced has not changed.
        """
        with suppress(FileNotFoundError):
            state = self.of(file)
            if state.inode == self.inode and (state.size, state.modified_ns) != (
                self.size,
                self.modified_ns,
            ):
                raise self.changed(name, state.size)

    def changed(self, name: str, size: int) -> DataError:
        return DataError(
            f"{name}: changed while it was read (was {self.size:,} bytes, is {size:,}); {CURE}"
        )
