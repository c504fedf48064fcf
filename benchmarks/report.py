"""What the benchmarks share: measuring in a process of its own, tables, and the sections of docs/performance.md.

A script's section is between ``<!-- name: begin -->`` and ``<!-- name: end -->``; ``write_section`` replaces what
is between them and leaves the rest of the document alone.
"""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

DOCUMENT = Path(__file__).parents[1] / "docs" / "performance.md"
PACKAGES = ("numpy", "numba", "pyarrow")


def apart(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in a fresh process, so that the peak memory it sees there is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that also reads well in a terminal: the first column to the left, the others to the right."""
    widths = [max(3, *(len(row[column]) for row in [header, *rows])) for column in range(len(header))]
    lines = [
        _line(header, widths),
        _line(["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])], widths),
    ]
    return "\n".join([*lines, *(_line(row, widths) for row in rows)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = cells
    padded = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
    return f"| {' | '.join(padded)} |"


def machine(*packages: str) -> str:
    """One line on what was measured where and when; versions of the packages that every benchmark uses and of these."""
    versions = [f"{name} {metadata.version(name)}" for name in (*PACKAGES, *packages) if installed(name)]
    parts = [
        _processor(),
        f"{_cores()} cores",
        f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB of memory",
        _system(),
        f"Python {platform.python_version()}",
        *versions,
        datetime.date.today().isoformat(),
    ]
    return ", ".join(parts)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _system() -> str:
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']} (kernel {platform.release()})"
    except OSError:
        return platform.platform(terse=True)


def installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def write_section(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Put ``text`` between the markers of a section."""
    from streamsieve.files import replacing

    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = document.read_text()
    before, found, rest = old.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed) or old.count(begin) > 1 or old.count(end) > 1:
        raise ValueError(f"{document.name}: needs {begin} and after it {end}, each of them once")
    with replacing(document) as path:
        path.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")
