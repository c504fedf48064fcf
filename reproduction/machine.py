"""Describe the machine of a measurement in one line."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

from streamsieve.machine import cores, is_installed

PACKAGES = ("numpy", "numba", "pyarrow")  # whose versions are part of every measurement


def describe_machine(*packages: str) -> str:
    """Return one line on the machine of a measurement.

    It has the processor, cores, memory, system and the versions of the main packages and of
    ``packages``.
    """
    versions = [
        f"{name} {metadata.version(name)}" for name in (*PACKAGES, *packages) if is_installed(name)
    ]
    n_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    memory = f"{n_bytes / 2**30:.0f} GiB of memory"
    python = f"Python {platform.python_version()}"
    return ", ".join([processor(), f"{cores()} cores", memory, system(), python, *versions])


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def system() -> str:
    """Return the name of the operating system."""
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']} (kernel {platform.release()})"
    except OSError:
        return platform.platform(terse=True)
