"""HTML that cannot be forged, and what pages are made of: key figures, facts, tables.

Names of features, labels and files come from data, and data from anywhere. ``tag`` escapes every
child that was not made by it; text that changes the direction of writing stays within its own
element (``bdi``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from ..display import printable

TEXT_LENGTHS = (
    200,
    80,
    40,
    20,
)  # letters of a text in a table: the first with which a column is not too large
MAX_TEXT_BYTES = 2_500_000  # of a column
DIGITS = 4  # that are shown of a number
MAX_LEVELS = 200  # different texts of a column that are written once each
# What could end a script element, begin a comment, or is a line end to JavaScript, is written as an
# escape in JSON.
IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Column = dict[str, Any]  # of a table
Child = Html | str | int | float | None | Iterable["Child"]


def tag(name: str, *children: Child, **attributes: str) -> Html:
    """Return an element; ``class_`` is its class, ``data_x`` is data-x."""
    known = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(value))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{known}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Html:
    """Return children one after the other: markup as it is, everything else as text."""
    return Html("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, str | int | float):
        return child if isinstance(child, Html) else escape(printable(child))
    return joined(*child)


def foreign(text: object, longest: int | None = None) -> Html:
    """Return text from data on one line, its middle cut if it is long, with a direction of writing of its own."""
    return tag("bdi", printable(text, longest))


def data_block(identity: str, value: Any) -> Html:
    """Return data for the page's scripts, which no text in it can end; all numbers in it are finite."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(
        '<script type="application/json"'
        f' id="{escape(identity)}">{text.translate(IN_SCRIPT)}</script>'
    )


# ---- parts of pages


class Section(NamedTuple):
    """A part of a page under its title; ``body`` is empty where there is nothing to say."""

    name: str  # in links, within the page of one result
    title: str
    body: Html


class KeyFigure(NamedTuple):
    """A number that a reader looks for first, and what to know of it."""

    title: str
    value: str
    note: str = ""


def key_figure(figure: KeyFigure) -> Html:
    """Return one of the numbers at the top of a result."""
    more = tag("span", figure.note) if figure.note else None
    return tag("div", tag("dt", figure.title), tag("dd", tag("strong", figure.value), more))


def facts(known: Mapping[str, Child]) -> Html:
    """Return facts with their titles, but for those that are not known."""
    lines = (
        joined(tag("dt", title), tag("dd", value))
        for title, value in known.items()
        if value not in (None, "")
    )
    return tag("dl", lines, class_="facts")


def note(*text: Child) -> Html:
    """Return words beside a picture or a table, or in place of one."""
    return tag("p", *text, class_="note")


# ---- tables that stay quick at any length: compact JSON, of which the page's script shows the visible rows


def text_column(title: str, values: Sequence[object | None], **more: Any) -> Column:
    """Return texts from data; few different ones are written once each."""
    texts = [None if value is None else str(value) for value in values]
    different = set(texts) - {None}
    if len(different) <= MAX_LEVELS and len(different) * 2 < len(texts):
        levels = sorted((text for text in different if text is not None), key=natural)
        codes = {text: code for code, text in enumerate(levels)} | {None: -1}
        return {
            "title": title,
            "kind": "level",
            "levels": [printable(text, TEXT_LENGTHS[0]) for text in levels],
            "values": [codes[text] for text in texts],
            **more,
        }
    for longest in TEXT_LENGTHS:
        shown = [None if text is None else printable(text, longest) for text in texts]
        if sum(len(text.encode()) for text in shown if text is not None) <= MAX_TEXT_BYTES:
            break
    return {"title": title, "kind": "text", "values": shown, **more}


def natural(text: str) -> tuple[bool, float, str]:
    """Return the order of texts: numbers by their size, before all others."""
    try:
        number = float(text)
    except ValueError:
        return True, 0.0, text
    return math.isnan(number), number if math.isfinite(number) else 0.0, text


def integer_column(title: str, values: Sequence[int | None], **more: Any) -> Column:
    return {"title": title, "kind": "integer", "values": list(values), **more}


def number_column(
    title: str, values: Sequence[float | None], kind: str = "number", **more: Any
) -> Column:
    """Return numbers rounded to what is shown of them: to decimals where that leaves all of them apart from 0.

    The ``kind`` may be "weight" for signed numbers with a bar, "fraction" for those between 0 and 1
    with a bar, and "percent".
    """
    known = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    decimals = DIGITS if kind in ("fraction", "percent") else decimals_of(known)
    rounded = [
        None if value is None or not math.isfinite(value) else _rounded(value, decimals)
        for value in values
    ]
    return {"title": title, "kind": kind, "decimals": decimals, "values": rounded, **more}


def decimals_of(sizes: Sequence[float]) -> int | None:
    """Return with how many decimals some sizes can be shown; None where they differ too much for that."""
    if not sizes:
        return 0
    largest = math.floor(math.log10(max(sizes)))
    decimals = min(max(DIGITS - 1 - largest, 0), 10)
    return decimals if min(sizes) >= 0.5 * 10.0**-decimals and largest < 9 else None


def _rounded(value: float, decimals: int | None) -> float | int:
    rounded = float(f"{value:.{DIGITS}g}") if decimals is None else round(float(value), decimals)
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def table(identity: str, caption: str, columns: list[Column], unit: str, about: str = "") -> Html:
    """Return the place of a table in the page, and its data."""
    n = len(columns[0]["values"]) if columns else 0
    place = tag("div", class_="table", id=f"table-{identity}", data_table=f"data-{identity}")
    data = {"n": n, "caption": caption, "unit": unit, "columns": columns}
    return joined(place, note(about) if about else None, data_block(f"data-{identity}", data))
