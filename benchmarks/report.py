"""Shared parts of the benchmarks: separate processes, data sets, sections of the docs.

A script's section is between ``<!-- name: begin -->`` and ``<!-- name: end -->``; ``write_section``
replaces what is between them and leaves the rest of the document alone.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from streamsieve.files import replacing
from streamsieve.machine import is_installed as installed

sys.path.append(str(Path(__file__).parents[1]))  # where the papers' data and tables are
from reproduction.data import find_folders
from reproduction.machine import describe_machine
from reproduction.tables import aligned as table

__all__ = [
    "apart",
    "data_option",
    "installed",
    "load",
    "machine",
    "parser",
    "table",
    "write_section",
]

P = ParamSpec("P")
R = TypeVar("R")

DOCUMENT = Path(__file__).parents[1] / "docs" / "explanation" / "performance.md"


def apart(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in a fresh process, so that the peak memory it sees there is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def machine(*packages: str) -> str:
    """Return one line on what was measured where and when.

    It has the versions of the packages that all benchmarks use, and of these.
    """
    return f"{describe_machine(*packages)}, {datetime.date.today().isoformat()}"


def parser(description: str) -> argparse.ArgumentParser:
    """Return the options of scripts that read the papers' data sets."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_option(options)
    options.add_argument("--sets", nargs="*", help="only these data sets")
    return options


def data_option(options: argparse.ArgumentParser) -> None:
    """Add the option for the folder of the papers' data sets."""
    options.add_argument(
        "--data", type=Path, default=Path(find_folders().paths[0]), help="folder of the data sets"
    )


def load(folder: Path, name: str, n_features: int | None = None) -> tuple[Any, Any]:
    """Return sparse rows and labels of -1 and 1 of one of the papers' data sets."""
    return find_folders(folder).load(name, n_features)


def write_section(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Put ``text`` between the markers of a section."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    old = document.read_text()
    before, marker, rest = old.partition(begin)
    _, closed, after = rest.partition(end)
    if not (marker and closed) or old.count(begin) > 1 or old.count(end) > 1:
        raise ValueError(f"{document.name}: needs {begin} and after it {end}, each of them once")
    with replacing(document) as path:
        path.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")
