"""HTML that cannot be forged: whatever is not markup of ours becomes text.

Names of features, labels and files come from data, and data from anywhere. ``tag`` escapes every child that was not
made by it; text that changes the direction of writing stays within its own element (``bdi``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from ..showing import printable

VOID = frozenset({"br", "meta", "input"})
# What could end a script element, begin a comment, or is a line end to JavaScript, is written as an escape in JSON.
IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child = Html | str | int | float | None | Iterable["Child"]


def tag(name: str, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element; ``class_`` is its class, an attribute that is None or False is omitted, ``data_x`` is data-x."""
    known = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(printable(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{known}>" if name in VOID else f"<{name}{known}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Html:
    """Some children one after the other: markup as it is, everything else as text."""
    return Html("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int | float):
        return escape(printable(child))
    return joined(*child)


def foreign(text: object, longest: int | None = None) -> Html:
    """Text from data: on its line, cut in its middle if it is too long, with a direction of writing of its own."""
    return tag("bdi", printable(text, longest))


def data_block(identity: str, value: Any) -> Html:
    """Data for the page's scripts, which no text in it can end; all numbers in it are finite."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(f'<script type="application/json" id="{escape(identity)}">{text.translate(IN_SCRIPT)}</script>')
