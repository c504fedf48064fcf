"""Elements of SVG as text: names are shown, never read as markup, and take no more room than there is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from ...showing import printable

SIZE = 13  # of letters, in units of the view
SMALL = 12
LONGEST_TIP = 1000  # letters of a line
NOT_XML = re.compile("[\ufffe\uffff]")  # beside what ``printable`` replaces
NARROW = frozenset("iljtfrI.,:;'|!()[]{}/\\ -")
WIDE = frozenset("mwMW@%…→↑")


def shown(text: Any, longest: int | None = None) -> str:
    """A text that XML can hold, on one line, not escaped yet."""
    return printable(NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text)), longest)


def width_of(text: str, size: float = SIZE) -> float:
    """About how wide a text is in a font without serifs; rather too wide than too narrow."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in NARROW:
        return 0.34
    if letter in WIDE:
        return 0.95
    if letter < "\x7f":
        return 0.72 if letter.isupper() else 0.59
    if unicodedata.combining(letter):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.68


def fitted(text: Any, room: float, size: float = SIZE) -> str:
    """A text that takes no more than some room, the middle cut where it would."""
    whole = shown(text, 400)  # no label is longer
    if width_of(whole, size) <= room:
        return whole
    few, many = 4, len(whole)
    while many - few > 1:
        half = (few + many) // 2
        few, many = (half, many) if width_of(shown(whole, half), size) <= room else (few, half)
    return shown(whole, few)


def place(value: float) -> str:
    """A coordinate, to a tenth of a unit."""
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


def element(tag: str, kind: str, **places: float) -> str:
    """The opening of an element of a class with its coordinates, without the closing bracket."""
    return f'<{tag} class="{kind}"' + "".join(f' {key}="{place(value)}"' for key, value in places.items())


def drawn(tag: str, kind: str, **places: float) -> str:
    return element(tag, kind, **places) + "/>"


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return drawn("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def label(kind: str, x: float, y: float, text: Any, room: float | None = None, size: float = SIZE) -> str:
    """A text at a place; the whole of it is in its title where it was cut."""
    whole = shown(text, LONGEST_TIP)
    short = whole if room is None else fitted(text, room, size)
    title = "" if short == whole else f"<title>{escape(whole)}</title>"
    return f"{element('text', kind, x=x, y=y)}>{escape(short)}{title}</text>"


def tip_lines(point: Mapping[str, Any]) -> list[str]:
    """The lines of the ``tip`` that a point or an item may have."""
    return str(point["tip"]).split("\n") if point.get("tip") else []


def hovered(opening: str, lines: Iterable[Any]) -> str:
    """A mark that shows a tip: the opening of an element whose class has ``mark``, as ``element`` gives it."""
    text = "&#10;".join(escape(shown(line, LONGEST_TIP)) for line in lines)
    return f'{opening} data-tip="{text}"><title>{text}</title></{opening[1:].split(" ", 1)[0]}>'


def picture(width: float, height: float, about: str, parts: Iterable[str], size: str = "") -> str:
    """A whole chart; ``about`` is what it shows, for those who do not see it."""
    wide = f' data-size="{size}"' if size else ""
    return (
        f'<svg class="chart"{wide} viewBox="0 0 {place(width)} {place(height)}" role="img" '
        f'aria-label="{escape(shown(about, LONGEST_TIP))}" xmlns="http://www.w3.org/2000/svg">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def empty(width: float, about: str, message: str) -> str:
    """The chart of nothing: it says why."""
    height = 96
    parts = [
        drawn("rect", "empty", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=6),
        label("muted middle", width / 2, height / 2 + 4, message, width - 20),
    ]
    return picture(width, height, f"{about}: {message}", parts)
