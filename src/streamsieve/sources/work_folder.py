"""The folder beside an output where rows that do not fit in memory are transposed, with its state.

It is new for every conversion, under a name that cannot be predicted, and only files that are known
to belong to it are ever removed from it. The folder of an interrupted conversion is found by its
name. It is resumed if it is a real folder of the same user, no other process works on it, and its
notes are consistent; notes may come from a stranger, and are read as carefully as models.
Otherwise the conversion starts again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from io import BufferedRandom
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UsageError
from ..files import TOKEN_BYTES, is_partial, lock, partial_stem
from ..kernels.arrays import ArraySpec
from ..machine import available_memory
from ..model import Model
from ..state import check_arrays
from .base import MAX_INDEX

RANGES = 1 << 20  # of ids, whatever the width
ENTRY_BYTES = 12  # in the file of buckets
MAX_SHIFT = 40
MAX_ENTRIES = 1 << 40  # of a range
SURVEY, BUCKETS, NOTE = "survey", "buckets", "note"
FILES = SURVEY, BUCKETS, NOTE
SUFFIX = ".columns"
# errors after which the conversion starts again
UNREADABLE = DataError, OSError, LookupError, ValueError, MemoryError

SURVEY_SCHEMA = {
    "y": ArraySpec(("rows",), finite=False),
    "ranges": ArraySpec(("used",), 0, RANGES, dtype=np.int64),  # that have entries
    "counts": ArraySpec(("used",), 1, MAX_ENTRIES, dtype=np.int64),
}
NOTE_SCHEMA = {
    "filled": ArraySpec(("buckets",), 0, dtype=np.int64),
    "sums": ArraySpec(("buckets",), dtype=np.uint32),
}


class EntryCounts(NamedTuple):
    """The counts of the first pass over rows that do not fit in memory."""

    y: NDArray[Any]
    n_features: int
    memory: int  # bytes for the work
    shift: int  # of an id, in bits, to get its range
    counts: NDArray[np.int64]  # entries by range

    @property
    def check_sum(self) -> int:
        """Return a check sum that distinguishes this survey from others."""
        check_sum = zlib.crc32(
            repr((self.n_features, self.memory, self.shift, self.y.dtype)).encode()
        )
        for array in (self.y, self.counts):
            check_sum = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, check_sum)
        return check_sum


class FillProgress(NamedTuple):
    """The progress of the second pass: the rows whose entries are in the buckets."""

    rows: int
    entries: NDArray[np.int64]  # their number in each bucket
    sums: NDArray[np.uint32]  # check sums of these entries


class WorkFolder(AbstractContextManager["WorkFolder"]):
    """The folder in which an output is transposed; removed in the end, unless it can be resumed."""

    def __init__(self, output: Path, stamp: dict[str, Any]) -> None:
        self.output = output
        self.stamp = json.dumps(stamp, sort_keys=True)
        self.path: Path | None = None
        self._lock = -1

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        ended = error is None or isinstance(error, DataError | UsageError)
        self.release(remove=ended or (self.path is not None and not (self.path / SURVEY).exists()))

    def release(self, remove: bool) -> None:
        """Let go of the folder, if there is one.

        With ``remove``, the known files are removed, and the folder if it has no other files.
        """
        if self.path is not None:
            if remove:
                _remove(self.path, self._lock)
            os.close(self._lock)
            self.path = None

    # ---- interrupted work

    def survey(self) -> EntryCounts | None:
        """Return the survey of an interrupted conversion of the same rows, if there is one.

        Other remains are removed.
        """
        result = None
        for path in earlier_folders(self.output):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            except OSError:  # removed in the meantime
                continue
            state = lock(descriptor)
            if state == "taken":
                os.close(descriptor)
                self.release(remove=False)
                raise UsageError(
                    f"{self.output}: another process is writing this file; wait until it has ended"
                )
            survey = self._read_survey(path) if state == "ours" and result is None else None
            if survey is not None:
                result, self.path, self._lock = survey, path, descriptor
            else:
                if state == "ours":
                    _remove(path, descriptor)
                os.close(descriptor)
        return result

    def _read_survey(self, path: Path) -> EntryCounts | None:
        """Return the survey in a folder; None if it cannot be used.

        It must be one of the same rows and consistent, and all files must belong to the folder.
        """
        try:
            if not all(_is_own(path / name) for name in FILES if os.path.lexists(path / name)):
                return None
            header, arrays = _load(path / SURVEY, available_memory() // 4)
            sizes = check_arrays(arrays, SURVEY_SCHEMA, {})
            width, shift = (
                _count(header, "n_features", MAX_INDEX + 1),
                _count(header, "shift", MAX_SHIFT),
            )
            used, counts = arrays["ranges"], np.zeros(RANGES, np.int64)
            if (
                header["stamp"] != self.stamp
                or not sizes["rows"]
                or not sizes["used"]
                or (np.diff(used) <= 0).any()
                or int(used[-1]) << shift >= width
                or int(arrays["counts"].max()) > sizes["rows"] << shift
            ):
                return None
            counts[used] = arrays["counts"]
            return EntryCounts(arrays["y"], width, _count(header, "memory", 2**62), shift, counts)
        except UNREADABLE:
            return None

    # ---- work

    def _keep(self, survey: EntryCounts) -> Path:
        """Save the survey in a new folder and return the folder.

        Raise UsageError if the disk is too small for the buckets.
        """
        needed, free = (
            ENTRY_BYTES * int(survey.counts.sum()),
            shutil.disk_usage(self.output.parent).free,
        )
        if needed > free:
            raise UsageError(
                f"{self.output}: transposing these rows takes {needed / 1e9:.1f} GB of disk, but"
                f" {free / 1e9:.1f} GB are free; free some space, or name an output on another disk"
            )
        self.path, self._lock = _new_folder(self.output)
        header = {
            "stamp": self.stamp,
            "n_features": survey.n_features,
            "memory": survey.memory,
            "shift": survey.shift,
        }
        used = np.flatnonzero(survey.counts)
        arrays = {"y": survey.y, "ranges": used, "counts": survey.counts[used]}
        Model(SURVEY, {}, header, arrays).save(self.path / SURVEY)
        return self.path

    @contextmanager
    def buckets(
        self, survey: EntryCounts, sizes: NDArray[np.int64]
    ) -> Iterator[tuple[BufferedRandom, FillProgress]]:
        """Open the file of buckets of the given sizes, with its progress.

        For new rows the survey is saved first.
        """
        folder = self.path or self._keep(survey)
        self._check_sum = survey.check_sum
        path, filled = folder / BUCKETS, self._read_note(folder, sizes, survey.y.size)
        if filled is None:
            path.unlink(missing_ok=True)
            filled = FillProgress(
                0, np.zeros(sizes.size, np.int64), np.zeros(sizes.size, np.uint32)
            )
        new = 0 if filled.rows else os.O_CREAT | os.O_EXCL
        with open(os.open(path, os.O_RDWR | os.O_NOFOLLOW | new, 0o600), "r+b") as file:
            yield file, filled

    def _read_note(self, path: Path, sizes: NDArray[np.int64], n_rows: int) -> FillProgress | None:
        """Return how far the buckets were filled, if the note about it is consistent."""
        with suppress(*UNREADABLE):
            header, arrays = _load(path / NOTE, (sizes.size << 5) + (1 << 16))
            check_arrays(arrays, NOTE_SCHEMA, {"buckets": sizes.size})
            rows, filled = _count(header, "rows", n_rows), arrays["filled"]
            ends = (np.cumsum(sizes) - sizes + filled)[filled > 0]
            fits = ENTRY_BYTES * int(ends.max(initial=0)) <= (path / BUCKETS).stat().st_size
            complete = rows < n_rows or np.array_equal(filled, sizes)
            if (
                header["survey"] == self._check_sum
                and rows
                and fits
                and complete
                and (filled <= sizes).all()
            ):
                return FillProgress(rows, filled, arrays["sums"])
        return None

    def save_progress(self, file: BufferedRandom, filled: FillProgress) -> None:
        """Save how far the buckets are filled, once the buckets are on the disk."""
        assert self.path is not None
        file.flush()
        os.fsync(file.fileno())
        Model(
            NOTE,
            {},
            {"rows": filled.rows, "survey": self._check_sum},
            {"filled": filled.entries, "sums": filled.sums},
        ).save(self.path / NOTE)


# ---- folders


def earlier_folders(output: Path) -> list[Path]:
    """Return the folders of unfinished conversions to an output: real folders of this user."""
    name = re.compile(
        rf"{re.escape(_start_of_name(output))}[0-9a-f]{{{2 * TOKEN_BYTES}}}{re.escape(SUFFIX)}"
    )
    try:
        with os.scandir(output.parent) as entries:
            real = [
                entry
                for entry in entries
                if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
        return sorted(
            Path(entry) for entry in real if entry.stat(follow_symlinks=False).st_uid == os.getuid()
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _start_of_name(output: Path) -> str:
    """Return the start of the names of folders for an output.

    It includes a check sum, which distinguishes long names.
    """
    return f"{partial_stem(output)}{sha256(os.fsencode(output.name)).hexdigest()[:8]}-"


def _new_folder(output: Path) -> tuple[Path, int]:
    """Create a folder beside an output; return it with the descriptor that keeps it locked."""
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}; create it first")
    while True:
        path = output.with_name(f"{_start_of_name(output)}{token_hex(TOKEN_BYTES)}{SUFFIX}")
        os.mkdir(path, 0o700)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:  # another process removed it before it was locked
            continue
        if lock(descriptor) != "taken" and path.exists():
            return path, descriptor
        os.close(descriptor)


def _remove(path: Path, descriptor: int) -> None:
    """Remove the known files of an open folder, and the folder if it has no other files."""
    with suppress(OSError):  # if there is an unknown file, it stays
        for name in os.listdir(descriptor):
            partial = any(is_partial(name, path / known_name) for known_name in FILES)
            mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
            if (name in FILES or partial) and stat.S_ISREG(mode):
                os.unlink(name, dir_fd=descriptor)
        path.rmdir()


def _load(path: Path, most: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and arrays of a note, a file of the folder, if it is not too large."""
    if path.stat().st_size > most:
        raise ValueError(f"{path}: is too large for a note of a conversion")
    model = Model.load(path)
    if model.method != path.name:
        raise ValueError(f"{path}: holds another kind of note")
    return model.header, model.arrays


def _is_own(path: Path) -> bool:
    """Return True for a regular file without other hard links."""
    status = os.lstat(path)
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _count(header: dict[str, Any], name: str, most: int) -> int:
    """Return an integer of a header; raise ValueError if it is not from 0 to ``most``."""
    value = header[name]
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{name} is {str(value)[:40]!r}")
    return value
