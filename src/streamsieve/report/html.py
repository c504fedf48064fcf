"""The report as one HTML page: everything in it, nothing from the network, all of it made from a plain dictionary."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from typing import Any

from . import charts, comparison_page, run_page
from .markup import Html, foreign, joined, tag
from .parts import Section, plural

SCRIPTS = "table.js", "page.js"
PLACE = re.compile(r"\{\{(\w+)\}\}")
LONGEST_TITLE = 80
PAGES = {"run": run_page, "comparison": comparison_page}
KINDS = {"run": "Run", "comparison": "Comparison"}


def render(report: dict[str, Any], data_name: str = "report.json") -> str:
    """Return the page of a report, as ``describe`` gives it; ``data_name`` is the file beside it that holds it."""
    items = report["items"]
    pages = [(f"{item['kind']}-{number}", item) for number, item in enumerate(items, 1)]
    made = {prefix: PAGES[item["kind"]].sections(item, prefix) for prefix, item in pages}
    script = "".join(template(name) for name in SCRIPTS)
    alone = len(items) == 1
    overview = Html() if alone else _overview(pages)
    return _filled(
        template("page.html"),
        title=joined(
            f"{items[0]['title']} - streamsieve report"
            if alone
            else f"{plural(len(items), 'result')} - streamsieve report"
        ),
        version=joined(report["version"]),
        style=Html(charts.CSS + template("style.css")),
        script=Html(script),
        script_hash=f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
        data=joined(foreign(data_name)),
        contents=_contents(pages, made),
        main=joined(overview, (_article(prefix, item, made[prefix], alone) for prefix, item in pages)),
        footer=joined(
            f"Written by streamsieve {report['version']} on {report['written']}. All of its data is in ",
            tag("code", foreign(data_name)),
            " beside this page.",
        ),
    )


def template(name: str) -> str:
    """The text of a file in ``templates``."""
    from importlib.resources import files  # which takes longer to import than the rest of this package

    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _filled(page: str, **parts: str) -> str:
    """A template with its places filled, all at once: what is filled in is not looked at again."""
    return PLACE.sub(lambda place: parts[place[1]], page)


def _contents(pages: list[tuple[str, dict[str, Any]]], made: dict[str, list[Section]]) -> Html:
    """Links to every result and to every section of it."""

    def links(prefix: str) -> Html:
        return tag("ul", (tag("li", tag("a", one.title, href=f"#{prefix}-{one.name}")) for one in made[prefix]))

    if len(pages) == 1:
        return links(pages[0][0])
    return tag(
        "ol",
        (
            tag(
                "li",
                tag("a", foreign(item["title"], LONGEST_TITLE), href=f"#{prefix}", class_="result"),
                tag("details", tag("summary", "sections"), links(prefix)),
            )
            for prefix, item in pages
        ),
    )


def _overview(pages: list[tuple[str, dict[str, Any]]]) -> Html:
    """What is in a page with several results, each in its sentence."""
    lines = (
        tag(
            "li",
            tag("a", foreign(item["title"], LONGEST_TITLE), href=f"#{prefix}"),
            tag("span", foreign(item["headline"])),
        )
        for prefix, item in pages
    )
    return tag("section", tag("h1", plural(len(pages), "result")), tag("ol", lines, class_="overview"), class_="hero")


def _article(prefix: str, item: dict[str, Any], sections: list[Section], alone: bool) -> Html:
    """One result: its sentence and key figures, then its sections."""
    top, below = ("h1", "h2") if alone else ("h2", "h3")
    hero = tag(
        "header",
        tag("p", f"{KINDS[item['kind']]} ", foreign(item["title"], LONGEST_TITLE), class_="kicker"),
        tag(top, foreign(item["headline"])),
        PAGES[item["kind"]].key_figures(item),
        class_="hero",
    )
    parts = (
        tag("section", tag(below, one.title), one.body, id=f"{prefix}-{one.name}", class_=f"part {one.name}")
        for one in sections
    )
    return tag("article", hero, tag("div", parts, class_="parts"), id=prefix)
