"""What the machine can give, or a user allows: memory there is, memory used, cores; and what it is, in a line.

All that depends on memory asks here, so that a limit set by ``limited`` is obeyed everywhere:
arrays that grow, rows and columns that are held (``available_memory``), blocks read ahead
(``reading_bytes``, ``reading_threads``). The limit is one of the process, as its memory is.
"""

from __future__ import annotations

import math
import mmap
import os
import platform
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
CGROUP_FILES = (  # limit, use, details and what they call cached files, in the two versions of Linux control groups
    ("memory.max", "memory.current", "memory.stat", "inactive_file "),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_inactive_file ",
    ),
)
MOUNTS = Path("/proc/self/mountinfo")
DISK_FOLDER = Path("/var/tmp")  # for temporary files that outlive a restart, so not in memory
PEAK_RESET = "/proc/self/clear_refs"
PROGRAM = 390_000_000  # bytes of a run without data: interpreter, libraries, kernels, which may have to be compiled
STILL_TO_LOAD = (
    280_000_000  # bytes of those that a process which has imported this package has yet to take
)
MIN_BYTES_FOR_DATA = 60_000_000  # bytes: less is not worth a run
PARTS_FOR_READING = 4  # one part in so many of what is for data is for blocks on their way
BLOCKS_WAITING = 4  # beside those that threads work on: read, waiting, made, in use
PACKAGES = ("numpy", "numba", "pyarrow")  # whose versions are part of every measurement
BYTES_PER_THREAD = 8_000_000  # that a thread which reads may have in hand, at the least


@dataclass(slots=True, eq=False)
class Limit:
    """What a user allows this process to hold; of that, what is for blocks on their way and what is not for data."""

    total: int
    for_reading: int
    program: int  # 0 as soon as all of it has been loaded, and so is counted

    def available(self) -> int:
        """What is left for arrays, beside blocks on their way."""
        _give_pages_back()
        return self.total - self.for_reading - max(resident_memory(), self.program)


_limits: list[Limit] = []  # those in force
_mapped: WeakSet[mmap.mmap] = WeakSet()  # files in memory whose pages can go at any time


@contextmanager
def limited(memory: int | str | None) -> Iterator[None]:
    """Hold no more than ``memory`` bytes, "2GB" or the like, in this process; None allows all there is.

    A limit that is too small for any run is refused.
    """
    if memory is None:
        yield
        return
    total, program = read_size(memory), max(PROGRAM, resident_memory() + STILL_TO_LOAD)
    if total < program + MIN_BYTES_FOR_DATA:
        raise UsageError(
            f"memory {memory}: too little; Python, its libraries and the compiled methods alone"
            f" take up to {program / 1e6:,.0f} MB; allow {size_text(program + MIN_BYTES_FOR_DATA)} or"
            " more"
        )
    limit = Limit(total, (total - program) // PARTS_FOR_READING, program)
    _limits.append(limit)
    try:
        yield
    finally:
        _limits.remove(limit)


def read_size(size: int | str) -> int:
    """A number of bytes, or a text such as 2GB, 500 MB or 1.5GiB."""
    found = re.fullmatch(r"\s*(\d{1,18}(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", str(size), re.IGNORECASE)
    if not found or float(found[1]) == 0:
        raise UsageError(f"memory {size!r}: expected a size such as 2GB or 500MB")
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def size_text(size: float) -> str:
    """A size as ``read_size`` reads it, rounded up to two digits or three."""
    unit, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB")
    digits = 1 if size < 10 * unit else 0
    return f"{math.ceil(size / unit * 10**digits) / 10**digits:g}{name}"


def more_memory(needed: int) -> str:
    """What to do where there is not enough memory for ``needed`` bytes more, for a message."""
    if not _limits:
        return "use a machine with more memory"
    limit = min(_limits, key=lambda known: known.total)
    others = max(resident_memory(), limit.program) + needed  # beside blocks on their way
    total = PROGRAM + max(0, others - PROGRAM) * PARTS_FOR_READING / (PARTS_FOR_READING - 1)
    return f"allow {spell('memory', size_text(total))}"


def refuse_beyond_memory(needed: int, what: str, advice: str) -> None:
    """Refuse what takes more memory than is left; ``what`` it is, in the plural, and ``advice`` are for the message."""
    available = available_memory()
    if needed > available:
        raise DataError(
            f"{what} take up to {size_text(needed)} of memory, and {size_text(available)} are left;"
            f" {advice}, or {more_memory(needed)}"
        )


def program_loaded() -> None:
    """Say that a first block has been learned: what the program needs is in memory, and compiled."""
    for limit in _limits:
        limit.program = 0


def refuse_beyond_limit() -> None:
    """Give pages back that can go; refuse to go on if there still is more memory held than allowed."""
    for limit in _limits:
        if resident_memory() <= limit.total - limit.for_reading:
            continue
        _give_pages_back()
        held = resident_memory()
        if held > limit.total:
            raise RunError(
                f"the run has come to {held / 1e6:,.0f} MB of memory, and {limit.total / 1e6:,.0f}"
                f" MB were allowed; allow {size_text(1.5 * held)}, or run with fewer threads"
                f" ({THREADS_VARIABLE}=1)"
            )


def _give_pages_back() -> None:
    """Let go of the pages of mapped files, which are only read: they come back when they are needed."""
    for mapped in list(_mapped):
        mapped.madvise(mmap.MADV_DONTNEED)


def map_file(path: Path) -> mmap.mmap:
    """A file as memory, to be read only; it takes what memory is free, and gives it back where a limit needs it."""
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    return mapped


def reading_bytes() -> int:
    """How much memory all blocks may take that are read ahead, waiting or being worked on."""
    return (
        min(limit.for_reading for limit in _limits)
        if _limits
        else available_memory() // PARTS_FOR_READING
    )


def reading_threads() -> int:
    """How many threads may read: one per core, fewer if memory is short."""
    return max(1, min(cores(), reading_bytes() // BYTES_PER_THREAD))


def is_limited() -> bool:
    """Whether a limit is in force."""
    return bool(_limits)


def fitting(most: int, bytes_each: int, least: int = 1) -> int:
    """How many values, of so many bytes each, a block should have that is one of several read ahead."""
    blocks = reading_threads() + BLOCKS_WAITING
    return max(min(least, most), min(most, reading_bytes() // (blocks * bytes_each)))


def cores() -> int:
    """How many threads to work on: what ``STREAMSIEVE_THREADS`` says, otherwise the cores this process may use."""
    wanted = os.environ.get(THREADS_VARIABLE, "").strip()
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise UsageError(f"{THREADS_VARIABLE}={wanted}: must be an integer of 1 or more")
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int:
    """Bytes to be had without swapping: what limits, the machine, its container and ``ulimit -v`` leave."""
    machine = _bytes_of(Path("/proc/meminfo"), "MemAvailable:") or _machine_bytes() // 2
    return max(
        0,
        min([*(limit.available() for limit in _limits), machine, *_container(), *_address_space()]),
    )


def _machine_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _lines_of(path: Path) -> list[str]:
    """Return the lines of a file of the kernel's; none on systems without it."""
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _bytes_of(path: Path, key: str) -> int | None:
    """Return a figure of the kernel's in bytes; None on systems without it."""
    for line in _lines_of(path):
        if line.startswith(key):
            return int(line.split()[1]) * (1024 if line.endswith("kB") else 1)
    return None


def _bytes_held(position: int) -> int | None:
    """Return one of the sizes of this process that the kernel counts in pages; None on systems without it."""
    lines = _lines_of(Path("/proc/self/statm"))
    return int(lines[0].split()[position]) * os.sysconf("SC_PAGE_SIZE") if lines else None


def _container() -> list[int]:
    """Return what the limit of a container leaves; files that it caches count as free, as the system drops them."""
    for limit, used, details, cached in CGROUP_FILES:
        try:
            left = int((CGROUP / limit).read_text()) - int((CGROUP / used).read_text())
            return [left + (_bytes_of(CGROUP / details, cached) or 0)]
        except (OSError, ValueError):  # no such group, or the limit is "max"
            continue
    return []


def scratch_folder() -> Path:
    """Return a folder for temporary files that take the place of memory, with a warning if it is held in memory."""
    usual = Path(tempfile.gettempdir())
    for folder in (usual, DISK_FOLDER, Path()):
        if os.access(folder, os.W_OK | os.X_OK) and not _is_in_memory(folder):
            return folder
    warnings.warn(
        f"the folder for temporary files, {usual}, is held in memory, and so counts against it; set"
        " TMPDIR to a folder on a disk",
        stacklevel=2,
    )
    return usual


def _is_in_memory(folder: Path) -> bool:
    """Return True if the system keeps the files of a folder in memory; on systems that do not say, False."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    entries = (line.partition(" - ") for line in _lines_of(MOUNTS))
    return any(
        mount.split()[2] == number and kind.split()[0] in ("tmpfs", "ramfs")
        for mount, _, kind in entries
    )


def _address_space() -> list[int]:
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return [] if soft == resource.RLIM_INFINITY else [soft - (_bytes_held(0) or 0)]


def resident_memory() -> int:
    """The bytes this process holds in memory now; on systems that do not say, the most it has held."""
    held = _bytes_held(1)
    return peak_memory() if held is None else held


def peak_memory() -> int:
    """The most bytes this process has held in memory so far."""
    peak = _bytes_of(Path("/proc/self/status"), "VmHWM:")
    if peak is not None:
        return peak
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resets_peak_memory() -> bool:
    """Whether the system can measure the peak from a later moment on."""
    return os.access(PEAK_RESET, os.W_OK)


def reset_peak_memory() -> None:
    """Measure the peak from now on, where the system can."""
    with suppress(OSError):
        Path(PEAK_RESET).write_text("5")  # see proc(5)


def describe_machine(*packages: str) -> str:
    """One line on what was measured where: processor, cores, memory, system, versions of what is used and of these."""
    from importlib import metadata

    versions = [
        f"{name} {metadata.version(name)}" for name in (*PACKAGES, *packages) if is_installed(name)
    ]
    memory = f"{_machine_bytes() / 2**30:.0f} GiB of memory"
    python = f"Python {platform.python_version()}"
    return ", ".join([_processor(), f"{cores()} cores", memory, _system(), python, *versions])


def is_installed(package: str) -> bool:
    from importlib import metadata

    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _processor() -> str:
    for line in _lines_of(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def _system() -> str:
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']} (kernel {platform.release()})"
    except OSError:
        return platform.platform(terse=True)
