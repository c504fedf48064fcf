"""Whether a file is still the one that was opened: one that changes while it is read must not pass for another.

A pass reads what was there when the source was opened, all of it, or fails. A file that is replaced
as a whole, by another of its name, may be read to its end by whoever has it open. What is written
within a tick of the file system's clock (some milliseconds), and leaves the size as it was, is not
noticed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from ..errors import DataError
from .base import file_size

CURE = (
    "wait until it is complete, and begin again (rows that are still being written can be piped:"
    " tail -c +1 -f)"
)


class FileState(NamedTuple):
    """What shows that a file is still the same."""

    size: int
    modified_ns: int
    inode: tuple[int, int]  # and its device
    process: int  # that has looked at it

    @classmethod
    def of(cls, file: Path | int) -> FileState:
        """The state of a file at a path, which is not a folder, or of one that is open."""
        if isinstance(file, Path):
            file_size(file)
        found = os.stat(file)
        return cls(found.st_size, found.st_mtime_ns, (found.st_dev, found.st_ino), os.getpid())

    def begin(self, name: str, file: Path | int) -> FileState:
        """The state at the start of a pass, of a file that must be the one whose state this is.

        In another process, which may be on another machine and read a copy, the size alone must be
        the same.
        """
        now = self.of(file)
        if now.size != self.size or (now.process == self.process and now != self):
            raise DataError(f"{name}: has changed since it was opened; open it again")
        return now

    def refuse_changed(self, name: str, file: Path | int) -> None:
        """Refuse a file that has changed since a pass began with this state; one that has been replaced has not."""
        try:
            now = self.of(file)
        except FileNotFoundError:
            return
        if now.inode == self.inode and (now.size, now.modified_ns) != (self.size, self.modified_ns):
            raise self.changed(name, now.size)

    def changed(self, name: str, size: int) -> DataError:
        return DataError(
            f"{name}: changed while it was read (was {self.size:,} bytes, is {size:,}); {CURE}"
        )
