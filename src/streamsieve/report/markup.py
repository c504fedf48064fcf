"""HTML that cannot be forged, and the parts of pages: key figures, facts, tables.

Names of features, labels and files come from data of any origin. ``tag`` escapes every child that
was not made by it; text that changes the direction of writing stays within its own element
(``bdi``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from ..display import printable

# Characters of a text in a table: the first length with which a column is not too large.
TEXT_LENGTHS = 200, 80, 40, 20
MAX_TEXT_BYTES = 2_500_000  # of a column
DIGITS = 4  # of a number that are shown
MAX_LEVELS = 200  # different texts of a column that are stored only once each
# Characters that could end a script element or begin a comment, or are line ends to JavaScript, are
# written as escapes in JSON.
IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Html(str):
    """Text that is already markup."""

    __slots__ = ()


Column = dict[str, Any]  # of a table
Child = Html | str | int | float | None | Iterable["Child"]


def tag(name: str, *children: Child, **attributes: str) -> Html:
    """Return an element; ``class_`` is its class, and ``data_x`` becomes data-x."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(value))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{attribute_text}>{join_html(*children)}</{name}>")


def join_html(*children: Child) -> Html:
    """Return children joined: markup as it is, everything else as escaped text."""
    return Html("".join(_child_html(child) for child in children))


def _child_html(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, str | int | float):
        return child if isinstance(child, Html) else escape(printable(child))
    return join_html(*child)


def isolate_text(text: object, longest: int | None = None) -> Html:
    """Return text from data on one line, isolated from the direction of writing around it.

    The middle of a long text is cut.
    """
    return tag("bdi", printable(text, longest))


def data_block(identity: str, value: Any) -> Html:
    """Return data for the page's scripts; all its numbers are finite, and no text can end it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(
        '<script type="application/json"'
        f' id="{escape(identity)}">{text.translate(IN_SCRIPT)}</script>'
    )


# ---- parts of pages


class Section(NamedTuple):
    """A part of a page under its title; ``body`` may be empty."""

    name: str  # in links, within the page of one result
    title: str
    body: Html


class KeyFigure(NamedTuple):
    """A number that readers look for first, with a note."""

    title: str
    value: str
    note: str = ""


def key_figure(figure: KeyFigure) -> Html:
    """Return one of the numbers at the top of a result."""
    note_html = tag("span", figure.note) if figure.note else None
    return tag("div", tag("dt", figure.title), tag("dd", tag("strong", figure.value), note_html))


def facts(values_by_title: Mapping[str, Child]) -> Html:
    """Return facts with their titles, except those that are unknown."""
    lines = (
        join_html(tag("dt", title), tag("dd", value))
        for title, value in values_by_title.items()
        if value not in (None, "")
    )
    return tag("dl", lines, class_="facts")


def note(*text: Child) -> Html:
    """Return a paragraph beside, or instead of, a figure or a table."""
    return tag("p", *text, class_="note")


# ---- tables of any length: compact JSON, of which the page's script shows the visible rows


def text_column(title: str, values: Sequence[object | None], **more: Any) -> Column:
    """Return a column of texts; if few are different, each is stored once."""
    texts = [None if value is None else str(value) for value in values]
    different = set(texts) - {None}
    if len(different) <= MAX_LEVELS and len(different) * 2 < len(texts):
        levels = sorted((text for text in different if text is not None), key=natural_key)
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


def natural_key(text: str) -> tuple[bool, float, str]:
    """Return the sort key of a text: numbers by size, before all other texts."""
    try:
        number = float(text)
    except ValueError:
        return True, 0.0, text
    return math.isnan(number), number if math.isfinite(number) else 0.0, text


def integer_column(title: str, values: Sequence[int | None], **more: Any) -> Column:
    """Return a column of integers."""
    return {"title": title, "kind": "integer", "values": list(values), **more}


def number_column(
    title: str, values: Sequence[float | None], kind: str = "number", **more: Any
) -> Column:
    """Return a column of numbers, rounded to the digits that are shown.

    Numbers are rounded to decimals if that leaves none of them at 0, otherwise to significant
    digits. The ``kind`` may be "weight" for signed numbers with a bar, "fraction" for numbers
    between 0 and 1 with a bar, and "percent".
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    decimals = DIGITS if kind in ("fraction", "percent") else decimals_of(sizes)
    rounded = [
        None if value is None or not math.isfinite(value) else _round_shown(value, decimals)
        for value in values
    ]
    return {"title": title, "kind": kind, "decimals": decimals, "values": rounded, **more}


def decimals_of(sizes: Sequence[float]) -> int | None:
    """Return how many decimals show some sizes, or None if they differ too much."""
    if not sizes:
        return 0
    largest = math.floor(math.log10(max(sizes)))
    decimals = min(max(DIGITS - 1 - largest, 0), 10)
    return decimals if min(sizes) >= 0.5 * 10.0**-decimals and largest < 9 else None


def _round_shown(value: float, decimals: int | None) -> float | int:
    rounded = float(f"{value:.{DIGITS}g}") if decimals is None else round(float(value), decimals)
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def table(identity: str, caption: str, columns: list[Column], unit: str, about: str = "") -> Html:
    """Return the element of a table in the page, and its data."""
    n = len(columns[0]["values"]) if columns else 0
    element = tag("div", class_="table", id=f"table-{identity}", data_table=f"data-{identity}")
    data = {"n": n, "caption": caption, "unit": unit, "columns": columns}
    return join_html(element, note(about) if about else None, data_block(f"data-{identity}", data))
