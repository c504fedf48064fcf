"""Write the report of runs and comparisons: one HTML page, and its data beside it."""

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
from .markup import Html, Section, isolate_text, join_html, key_figure, tag
from .run import describe_run
from .wording import plural

FORMAT = "streamsieve report 1"
SCRIPTS = "table.js", "page.js"
PLACE = re.compile(r"\{\{(\w+)\}\}")
MAX_TITLE_LENGTH = 80
PAGES = {"run": run_page, "comparison": comparison_page}

Source = Any  # a run folder, a folder of a comparison, a RunRecord or a Comparison


def describe(sources: Source | Iterable[Source], read_data: bool = True) -> dict[str, Any]:
    """Return the contents of a report as a JSON dictionary."""
    source_list: list[Source] = list(sources) if isinstance(sources, list | tuple) else [sources]
    if not source_list:
        raise UsageError("a report needs a run or a comparison; name at least one folder")
    return {
        "format": FORMAT,
        "version": __version__,
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "items": [
            describe_comparison(item) if is_comparison(item) else describe_run(item, read_data)
            for item in source_list
        ],
    }


def write_report(
    sources: Source | Iterable[Source], output: str | Path = "report.html", read_data: bool = True
) -> Path:
    """Write a report of runs and comparisons: a page, and its data as ``.json`` beside it.

    Parameters
    ----------
    sources : path, RunRecord, Comparison, or a list of them
        Folders of finished runs, folders of comparisons, or results of ``select`` and ``compare``.
    output : path
        The page to write; it needs no other files and no network.
    read_data : bool
        Read up to 10,000 rows of the data of each run again for the figure of redundancy, if the
        data is still there and unchanged.

    Returns
    -------
    Path
        The path of the page.
    """
    path = Path(output)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{path}: a report is an HTML page; its name must end in .html")
    refuse_inside_result(path)
    report, data_path = describe(sources, read_data), path.with_suffix(".json")
    page = render(report, data_path.name)
    with replacing(path) as partial, replacing(data_path) as beside:
        partial.write_text(page, encoding="utf-8")
        beside.write_text(to_json(report), encoding="utf-8")
    return path


def refuse_inside_result(path: Path) -> None:
    """Raise UsageError if a page would be written to the folder of a result.

    The data of the report could replace the JSON files of the result.
    """
    folder = path.parent
    for file, result in ((RUN_FILE, "run"), (REQUEST, "comparison")):
        if (folder / file).exists() and not is_report(folder / file):
            raise UsageError(
                f"{path}: {folder} is the folder of a {result}; write the report to another folder"
            )


def is_report(path: Path) -> bool:
    """Return True for the data of a report, whose file may have any name."""
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(2 * len(FORMAT))


def render(report: dict[str, Any], data_name: str = "report.json") -> str:
    """Return the page of a report described by ``describe``.

    ``data_name`` is the file beside the page that has the description.
    """
    items = {f"{item['kind']}-{number}": item for number, item in enumerate(report["items"], 1)}
    sections_by_item = {
        prefix: PAGES[item["kind"]].sections(item, prefix) for prefix, item in items.items()
    }
    alone = len(items) == 1
    title = report["items"][0]["title"] if alone else plural(len(items), "result")
    articles = [
        article(prefix, item, sections_by_item[prefix], alone) for prefix, item in items.items()
    ]
    contents = [links(prefix, sections) for prefix, sections in sections_by_item.items()]
    script = "".join(template(name) for name in SCRIPTS)
    parts = {
        "title": join_html(f"{title} - streamsieve report"),
        "version": join_html(report["version"]),
        "style": charts.CSS + template("style.css"),
        "script": script,
        "script_hash": f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        "data": isolate_text(data_name),
        "contents": contents[0] if alone else contents_of_all(items, contents),
        "main": join_html(None if alone else overview(items), articles),
        "footer": join_html(
            f"Written by streamsieve {report['version']} on {report['written']}. All of its data"
            " is in ",
            tag("code", isolate_text(data_name)),
            " beside this page.",
        ),
    }
    # All places are filled in one pass, so that text that is filled in is not searched again.
    return PLACE.sub(lambda place: parts[place[1]], template("page.html"))


def template(name: str) -> str:
    """Return the text of a file in ``templates``."""
    from importlib.resources import files  # slower to import than the rest of this package

    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def links(prefix: str, sections: list[Section]) -> Html:
    """Return links to the sections of a result."""
    return tag(
        "ul",
        (
            tag("li", tag("a", section.title, href=f"#{prefix}-{section.name}"))
            for section in sections
        ),
    )


def contents_of_all(items: dict[str, dict[str, Any]], contents: list[Html]) -> Html:
    """Return links to all results and their sections."""
    lines = (
        tag(
            "li",
            tag(
                "a",
                isolate_text(item["title"], MAX_TITLE_LENGTH),
                href=f"#{prefix}",
                class_="result",
            ),
            tag("details", tag("summary", "sections"), sections),
        )
        for (prefix, item), sections in zip(items.items(), contents, strict=True)
    )
    return tag("ol", lines)


def overview(items: dict[str, dict[str, Any]]) -> Html:
    """Return the headlines of all results of a page."""
    lines = (
        tag(
            "li",
            tag("a", isolate_text(item["title"], MAX_TITLE_LENGTH), href=f"#{prefix}"),
            tag("span", isolate_text(item["headline"])),
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
    """Return one result: its headline and key figures, then its sections."""
    result_tag, section_tag = ("h1", "h2") if alone else ("h2", "h3")
    hero = tag(
        "header",
        tag(
            "p",
            f"{item['kind'].capitalize()} ",
            isolate_text(item["title"], MAX_TITLE_LENGTH),
            class_="kicker",
        ),
        tag(result_tag, isolate_text(item["headline"])),
        tag("dl", map(key_figure, PAGES[item["kind"]].key_figures(item)), class_="figures"),
        class_="hero",
    )
    parts = (
        tag(
            "section",
            tag(section_tag, section.title),
            section.body,
            id=f"{prefix}-{section.name}",
            class_=f"part {section.name}",
        )
        for section in sections
    )
    return tag("article", hero, tag("div", parts, class_="parts"), id=prefix)
