"""What pages of runs and of comparisons are made of: sections, key figures, lists of facts, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .markup import Child, Html, joined, tag


class Section(NamedTuple):
    """A part of a page under its title; ``body`` is empty where there is nothing to say."""

    name: str  # in links, within the page of one result
    title: str
    body: Html


class Figure(NamedTuple):
    """A number that a reader looks for first, and what to know of it."""

    title: str
    value: str
    note: str = ""


def figures(some: Sequence[Figure]) -> Html:
    """Numbers in a row of their own."""
    return tag(
        "dl",
        (
            tag(
                "div",
                tag("dt", one.title),
                tag("dd", tag("strong", one.value), tag("span", one.note) if one.note else None),
            )
            for one in some
        ),
        class_="figures",
    )


def facts(known: Mapping[str, Child]) -> Html:
    """Facts with their titles, but for those that are not known."""
    return tag(
        "dl",
        (joined(tag("dt", title), tag("dd", value)) for title, value in known.items() if value not in (None, "")),
        class_="facts",
    )


def picture(identity: str, title: str, svg: str, note: Child = None) -> Html:
    """A picture with its title, what to know of it, and buttons that save it."""
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("span", title, class_="title"),
            tag(
                "span",
                (
                    tag(
                        "button",
                        kind.upper(),
                        type="button",
                        class_="quiet",
                        data_save=kind,
                        aria_label=f"Save {title} as {kind.upper()}",
                    )
                    for kind in ("svg", "png")
                ),
                class_="tools",
            ),
        ),
        tag("div", Html(svg), class_="canvas"),
        tag("p", note, class_="note") if note else None,
        id=f"picture-{identity}",
        class_="picture",
    )


def note(*text: Child) -> Html:
    return tag("p", *text, class_="note")


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
