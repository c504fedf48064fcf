"""The report of runs and comparisons: one HTML page with everything in it, and its data beside it."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..files import replacing
from ..json_text import to_json
from ..sources.finding import RUN_FILE
from ..version import __version__
from . import charts, comparison_page, run_page
from .comparison import REQUEST, describe_comparison, is_comparison
from .markup import Html, Section, foreign, joined, key_figure, tag
from .run import describe_run
from .wording import plural

FORMAT = "streamsieve report 1"
SCRIPTS = "table.js", "page.js"
PLACE = re.compile(r"\{\{(\w+)\}\}")
MAX_TITLE_LENGTH = 80
PAGES = {"run": run_page, "comparison": comparison_page}

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
        "items": [
            describe_comparison(one) if is_comparison(one) else describe_run(one, read_data)
            for one in several
        ],
    }


def write_report(
    sources: Source | Iterable[Source], output: str | Path = "report.html", read_data: bool = True
) -> Path:
    """Write a report of one or several runs and comparisons: a page, and its data as ``.json`` beside it.

    Parameters
    ----------
    sources : path, RunRecord, Comparison, or a list of them
        Folders of finished runs, folders of comparisons, or what ``select`` and ``compare`` have
        returned.
    output : path
        The page to write; it needs nothing beside itself, and no network.
    read_data : bool
        Read up to 10,000 rows of the data of each run again, if it is still there and unchanged,
        for the picture of redundancy.

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


def refuse_inside_result(path: Path) -> None:
    """Raise UsageError if a page is to be written to the folder of a run or a comparison, whose JSON it may replace."""
    folder = path.parent
    for file, what in ((RUN_FILE, "run"), (REQUEST, "comparison")):
        if (folder / file).exists() and not is_report(folder / file):
            raise UsageError(
                f"{path}: {folder} is the folder of a {what}; write the report to another folder"
            )


def is_report(path: Path) -> bool:
    """Return True for the data of a report, which may have any name."""
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(2 * len(FORMAT))


def render(report: dict[str, Any], data_name: str = "report.json") -> str:
    """Return the page of a report, as ``describe`` gives it; ``data_name`` is the file beside it that holds it."""
    items = {f"{item['kind']}-{number}": item for number, item in enumerate(report["items"], 1)}
    made = {prefix: PAGES[item["kind"]].sections(item, prefix) for prefix, item in items.items()}
    alone = len(items) == 1
    title = report["items"][0]["title"] if alone else plural(len(items), "result")
    articles = [article(prefix, item, made[prefix], alone) for prefix, item in items.items()]
    contents = [links(prefix, sections) for prefix, sections in made.items()]
    script = "".join(template(name) for name in SCRIPTS)
    parts = {
        "title": joined(f"{title} - streamsieve report"),
        "version": joined(report["version"]),
        "style": charts.CSS + template("style.css"),
        "script": script,
        "script_hash": f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        "data": foreign(data_name),
        "contents": contents[0] if alone else contents_of_all(items, contents),
        "main": joined(None if alone else overview(items), articles),
        "footer": joined(
            f"Written by streamsieve {report['version']} on {report['written']}. All of its data"
            " is in ",
            tag("code", foreign(data_name)),
            " beside this page.",
        ),
    }
    # All places are filled at once: what is filled in is not looked at again.
    return PLACE.sub(lambda place: parts[place[1]], template("page.html"))


def template(name: str) -> str:
    """Return the text of a file in ``templates``."""
    from importlib.resources import (
        files,
    )  # which takes longer to import than the rest of this package

    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def links(prefix: str, sections: list[Section]) -> Html:
    """Return links to every section of a result."""
    return tag(
        "ul", (tag("li", tag("a", one.title, href=f"#{prefix}-{one.name}")) for one in sections)
    )


def contents_of_all(items: dict[str, dict[str, Any]], contents: list[Html]) -> Html:
    """Return links to every result and to every section of it."""
    lines = (
        tag(
            "li",
            tag("a", foreign(item["title"], MAX_TITLE_LENGTH), href=f"#{prefix}", class_="result"),
            tag("details", tag("summary", "sections"), sections),
        )
        for (prefix, item), sections in zip(items.items(), contents, strict=True)
    )
    return tag("ol", lines)


def overview(items: dict[str, dict[str, Any]]) -> Html:
    """Return what is in a page with several results, each in its sentence."""
    lines = (
        tag(
            "li",
            tag("a", foreign(item["title"], MAX_TITLE_LENGTH), href=f"#{prefix}"),
            tag("span", foreign(item["headline"])),
        )
        for prefix, item in items.items()
    )
    return tag(
        "section",
        tag("h1", plural(len(items), "result")),
        tag("ol", lines, class_="overview"),
        class_="hero",
    )


def article(prefix: str, item: dict[str, Any], sections: list[Section], alone: bool) -> Html:
    """Return one result: its sentence and key figures, then its sections."""
    top, below = ("h1", "h2") if alone else ("h2", "h3")
    hero = tag(
        "header",
        tag(
            "p",
            f"{item['kind'].capitalize()} ",
            foreign(item["title"], MAX_TITLE_LENGTH),
            class_="kicker",
        ),
        tag(top, foreign(item["headline"])),
        tag("dl", map(key_figure, PAGES[item["kind"]].key_figures(item)), class_="figures"),
        class_="hero",
    )
    parts = (
        tag(
            "section",
            tag(below, one.title),
            one.body,
            id=f"{prefix}-{one.name}",
            class_=f"part {one.name}",
        )
        for one in sections
    )
    return tag("article", hero, tag("div", parts, class_="parts"), id=prefix)
