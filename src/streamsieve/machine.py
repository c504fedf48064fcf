"""What the machine can give: memory there is, memory used, cores."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import UsageError

THREADS_VARIABLE = "STREAMSIEVE_THREADS"
CGROUP_FILES = (  # limit and use, in the two versions of Linux control groups
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def cores() -> int:
    """How many threads to work on: what ``STREAMSIEVE_THREADS`` says, otherwise the cores this process may use."""
    wanted = os.environ.get(THREADS_VARIABLE, "").strip()
    if wanted:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise UsageError(f"{THREADS_VARIABLE}={wanted}: must be an integer of 1 or more")
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int:
    """Bytes to be had without swapping: the least of what the machine, its container and ``ulimit -v`` leave."""
    bounds = [_physical(), *_container(), *_address_space()]
    return max(0, min(bounds))


def _physical() -> int:
    available = _kilobytes("/proc/meminfo", "MemAvailable:")
    return available or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _kilobytes(path: str, key: str) -> int | None:
    """A figure of the kernel's in bytes; None on systems without it."""
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _container() -> list[int]:
    for limit, used in CGROUP_FILES:
        try:
            return [int(Path(limit).read_text()) - int(Path(used).read_text())]
        except (OSError, ValueError):  # no such group, or the limit is "max"
            continue
    return []


def _address_space() -> list[int]:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return []
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return [soft]
    return [soft - pages * os.sysconf("SC_PAGE_SIZE")]


def peak_memory() -> int:
    """The most bytes this process has held in memory so far."""
    peak = _kilobytes("/proc/self/status", "VmHWM:")
    if peak is not None:
        return peak
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
