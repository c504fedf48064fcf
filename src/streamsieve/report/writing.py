"""The report of runs and comparisons, as a page and as data beside it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..files import replacing
from ..json_text import to_json
from ..sources.finding import RUN_FILE
from ..version import __version__
from .comparison import REQUEST, describe_comparison, is_comparison
from .html import render
from .run import describe_run

FORMAT = "streamsieve report 1"

Source = Any  # a run folder, a folder of a comparison, a RunRecord or a Comparison


def describe(sources: Source | Iterable[Source], read_data: bool = True) -> dict[str, Any]:
    """Return all that a report says, as JSON can hold it."""
    several: list[Source] = list(sources) if isinstance(sources, list | tuple) else [sources]
    if not several:
        raise UsageError("a report needs a run or a comparison; name at least one folder")
    return {
        "format": FORMAT,
        "version": __version__,
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "items": [describe_comparison(one) if is_comparison(one) else describe_run(one, read_data) for one in several],
    }


def write_report(
    sources: Source | Iterable[Source], output: str | Path = "report.html", read_data: bool = True
) -> Path:
    """Write a report of one or several runs and comparisons: a page, and its data as ``.json`` beside it.

    Parameters
    ----------
    sources : path, RunRecord, Comparison, or a list of them
        Folders of finished runs, folders of comparisons, or what ``select`` and ``compare`` have returned.
    output : path
        The page to write; it needs nothing beside itself, and no network.
    read_data : bool
        Read up to 10,000 rows of the data of each run again, if it is still there and unchanged, for the picture of
        redundancy.

    Returns
    -------
    Path
        Of the page.
    """
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: a report is a page; give it a name that ends in .html")
    refuse_inside_result(path)
    report, data_path = describe(sources, read_data), path.with_suffix(".json")
    page = render(report, data_path.name)
    with replacing(path) as partial, replacing(data_path) as beside:
        partial.write_text(page, encoding="utf-8")
        beside.write_text(to_json(report), encoding="utf-8")
    return path


def is_report(path: Path) -> bool:
    """Return True for the data of a report, which may have any name."""
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(2 * len(FORMAT))


def refuse_inside_result(path: Path) -> None:
    """Raise UsageError if a page is to be written to the folder of a run or a comparison, whose JSON it may replace."""
    folder = path.parent
    for file, what in ((RUN_FILE, "run"), (REQUEST, "comparison")):
        if (folder / file).exists() and not is_report(folder / file):
            raise UsageError(f"{path}: {folder} is the folder of a {what}; write the report to another folder")
