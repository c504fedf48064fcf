"""The resources of the machine: memory, cores, and folders for temporary files.

All code that depends on memory asks this module, so that a limit set by ``limited`` is obeyed
everywhere: arrays that grow, rows and columns that are held (``available_memory``), blocks read
ahead (``reading_bytes``, ``reading_threads``). The limit is one of the process, as its memory is.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import resource
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from .errors import DataError, RunError, UsageError, spell

THREADS_VARIABLE = "STREAMSIEVE_THREADS"
CGROUP = Path("/sys/fs/cgroup")
# limit, usage, details and the key of cached files in them, in both versions of control groups
CGROUP_FILES = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file "),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file ",
    ),
)
MOUNTS = Path("/proc/self/mountinfo")
DISK_FOLDER = Path("/var/tmp")  # for temporary files that survive a reboot, so not in memory
PEAK_RESET = "/proc/self/clear_refs"
# bytes of a run without data: interpreter, libraries, kernels, which may have to be compiled
PROGRAM = 390_000_000
# bytes of those that a process takes after it has imported this package
STILL_TO_LOAD = 280_000_000
MIN_BYTES_FOR_DATA = 60_000_000  # a smaller limit is an error
PARTS_FOR_READING = 4  # one part in so many of the memory for data is for blocks read ahead
BLOCKS_WAITING = 4  # beside those that threads work on: read, waiting, made, in use
BYTES_PER_THREAD = 8_000_000  # the least that a reading thread may use


@dataclass(slots=True, eq=False)
class Limit:
    """A limit on the memory of this process, in bytes."""

    total: int
    for_reading: int  # the part for blocks read ahead
    program: int  # the part for the program; 0 once all of it is loaded, and so is counted

    def available(self) -> int:
        """Return the memory that is left for arrays, beside blocks read ahead."""
        _release_pages()
        return self.total - self.for_reading - max(resident_memory(), self.program)


_limits: list[Limit] = []  # the limits in force
_mapped: WeakSet[mmap.mmap] = WeakSet()  # mapped files, whose pages can be released at any time


@contextmanager
def limited(memory: int | str | None) -> Iterator[None]:
    """Limit the memory of this process to ``memory``, bytes or a text such as "2GB", if given.

    Raise UsageError for a limit that is too small for any run.
    """
    if memory is None:
        yield
        return
    total, program = read_size(memory), max(PROGRAM, resident_memory() + STILL_TO_LOAD)
    if total < program + MIN_BYTES_FOR_DATA:
        raise UsageError(
            f"memory {memory}: too little; Python, its libraries and the compiled methods alone"
            f" take up to {program / 1e6:,.0f} MB; allow"
            f" {size_text(program + MIN_BYTES_FOR_DATA)} or more"
        )
    limit = Limit(total, (total - program) // PARTS_FOR_READING, program)
    _limits.append(limit)
    try:
        yield
    finally:
        _limits.remove(limit)


def read_size(size: int | str) -> int:
    """Return a number of bytes, given as such or as a text such as 2GB, 500 MB or 1.5GiB."""
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", str(size), re.IGNORECASE)
    if not match or float(match[1]) == 0:
        raise UsageError(f"memory {size!r}: expected a size such as 2GB or 500MB")
    power = " kmgt".index(match[2].lower() or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def size_text(size: float) -> str:
    """Return a size as text that ``read_size`` reads, rounded up to two or three digits."""
    unit, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB")
    digits = 1 if size < 10 * unit else 0
    return f"{math.ceil(size / unit * 10**digits) / 10**digits:g}{name}"


def more_memory(needed: int) -> str:
    """Return the advice for a lack of memory for ``needed`` more bytes, for a message."""
    if not _limits:
        return "use a machine with more memory"
    limit = min(_limits, key=lambda candidate: candidate.total)
    others = max(resident_memory(), limit.program) + needed  # beside blocks read ahead
    total = PROGRAM + max(0, others - PROGRAM) * PARTS_FOR_READING / (PARTS_FOR_READING - 1)
    return f"allow {spell('memory', size_text(total))}"


def refuse_beyond_memory(needed: int, what: str, advice: str) -> None:
    """Raise DataError if ``needed`` bytes are more than the memory that is left.

    ``what`` takes them (in the plural) and ``advice`` are for the message.
    """
    left = available_memory()
    if needed > left:
        raise DataError(
            f"{what} take up to {size_text(needed)} of memory, and {size_text(left)} are left;"
            f" {advice}, or {more_memory(needed)}"
        )


def note_program_loaded() -> None:
    """Record that a first block was learned: the program is loaded, and compiled."""
    for limit in _limits:
        limit.program = 0


def refuse_beyond_limit() -> None:
    """Release pages; raise RunError if the process still holds more memory than allowed."""
    for limit in _limits:
        if resident_memory() <= limit.total - limit.for_reading:
            continue
        _release_pages()
        held = resident_memory()
        if held > limit.total:
            raise RunError(
                f"the run takes {held / 1e6:,.0f} MB of memory, but {limit.total / 1e6:,.0f} MB"
                f" are allowed; allow {size_text(1.5 * held)}, or run with fewer threads"
                f" ({THREADS_VARIABLE}=1)"
            )


def _release_pages() -> None:
    """Release the pages of mapped files, which are only read: they are loaded again when needed."""
    for mapped in list(_mapped):
        mapped.madvise(mmap.MADV_DONTNEED)


def map_file(path: Path) -> mmap.mmap:
    """Return a file as read-only memory.

    It takes free memory, and releases it where a limit requires it.
    """
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    return mapped


def reading_bytes() -> int:
    """Return the memory that all blocks together may take that are read ahead or worked on."""
    return (
        min(limit.for_reading for limit in _limits)
        if _limits
        else available_memory() // PARTS_FOR_READING
    )


def reading_threads() -> int:
    """Return the number of threads that may read: one per core, fewer if memory is short."""
    return max(1, min(cores(), reading_bytes() // BYTES_PER_THREAD))


def is_limited() -> bool:
    """Return True if a limit is in force."""
    return bool(_limits)


def fitting(most: int, bytes_each: int, least: int = 1) -> int:
    """Return the number of values for a block that is one of several read ahead.

    A value has ``bytes_each`` bytes; the number is at most ``most``.
    """
    blocks = reading_threads() + BLOCKS_WAITING
    return max(min(least, most), min(most, reading_bytes() // (blocks * bytes_each)))


def cores() -> int:
    """Return the number of threads to use.

    It is the value of ``STREAMSIEVE_THREADS``, or else the number of cores this process may use.
    """
    setting = os.environ.get(THREADS_VARIABLE, "").strip()
    if setting:
        if not setting.isdecimal() or int(setting) < 1:
            raise UsageError(f"{THREADS_VARIABLE}={setting}: must be an integer of 1 or more")
        return int(setting)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int:
    """Return the bytes that are available without swapping.

    That is what the limits, the machine, its container and ``ulimit -v`` leave.
    """
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    machine = _bytes_of(Path("/proc/meminfo"), "MemAvailable:") or whole // 2
    return max(
        0,
        min([*(limit.available() for limit in _limits), machine, *_container(), *_address_space()]),
    )


def _lines_of(path: Path) -> list[str]:
    """Return the lines of a file of the kernel; an empty list on systems without it."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _bytes_of(path: Path, key: str) -> int | None:
    """Return a figure of the kernel in bytes; None on systems without it."""
    for line in _lines_of(path):
        if line.startswith(key):
            return int(line.split()[1]) * (1024 if line.endswith("kB") else 1)
    return None


def _bytes_held(position: int) -> int | None:
    """Return a size of this process that the kernel counts in pages; None on systems without it."""
    lines = _lines_of(Path("/proc/self/statm"))
    return int(lines[0].split()[position]) * os.sysconf("SC_PAGE_SIZE") if lines else None


def _container() -> list[int]:
    """Return what the limit of a container leaves, as a list with at most one entry.

    Files in its cache count as free, as the system drops them when needed.
    """
    for limit, used, details, cached in CGROUP_FILES:
        try:
            left = int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text())
            return [left + (_bytes_of(CGROUP / details, cached) or 0)]
        except (OSError, ValueError):  # no such group, or the limit is "max"
            continue
    return []


def scratch_folder() -> Path:
    """Return a folder for temporary files; warn if the system keeps it in memory."""
    default = Path(tempfile.gettempdir())
    for folder in (default, DISK_FOLDER, Path()):
        if os.access(folder, os.W_OK | os.X_OK) and not _is_in_memory(folder):
            return folder
    warnings.warn(
        f"the folder for temporary files, {default}, is held in memory; set TMPDIR to a folder on"
        " a disk",
        stacklevel=2,
    )
    return default


def _is_in_memory(folder: Path) -> bool:
    """Return True if the system keeps the files of a folder in memory; False if it does not say."""
    device = os.stat(folder).st_dev
    device_number = f"{os.major(device)}:{os.minor(device)}"
    entries = (line.partition(" - ") for line in _lines_of(MOUNTS))
    return any(
        mount.split()[2] == device_number and kind.split()[0] in ("tmpfs", "ramfs")
        for mount, _, kind in entries
    )


def _address_space() -> list[int]:
    """Return what ``ulimit -v`` leaves, as a list with at most one entry."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [] if soft == resource.RLIM_INFINITY else [soft - (_bytes_held(0) or 0)]


def resident_memory() -> int:
    """Return the bytes this process holds in memory now.

    On systems that do not say, return the peak so far.
    """
    held = _bytes_held(1)
    return peak_memory() if held is None else held


def peak_memory() -> int:
    """Return the most bytes this process has held in memory so far."""
    peak = _bytes_of(Path("/proc/self/status"), "VmHWM:")
    if peak is not None:
        return peak
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resets_peak_memory() -> bool:
    """Return True if the system can measure the peak from a later moment on."""
    return os.access(PEAK_RESET, os.W_OK)


def reset_peak_memory() -> None:
    """Measure the peak from now on, where the system can do so."""
    with suppress(OSError):
        Path(PEAK_RESET).write_text("5")  # see proc(5)


def is_installed(package: str) -> bool:
    """Return True if a package is installed."""
    from importlib import metadata

    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
