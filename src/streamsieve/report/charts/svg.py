"""Write elements of SVG as text, and their style sheet.

Names are text, never markup, and are shortened to the room that there is.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ...colours import DARK, LIGHT, N_COLOURS
from ...display import printable

SIZE = 13  # of letters, in units of the view
SMALL = 12
MAX_TIP_LENGTH = 1000  # letters of a line
MARGIN = 12  # around charts in a file of their own
TITLE_ROOM = 22  # above each of them
NARROW = frozenset("iljtfrI.,:;'|!()[]{}/\\ -")
WIDE = frozenset("mwMW@%…→↑")
FONTS = (
    '-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans","Noto'
    ' Sans",system-ui,sans-serif'
)
OPENING = re.compile(r'<svg class="chart"(?=[^>]* viewBox="0 0 ([0-9.]+) ([0-9.]+)")')


def width_of(text: str, size: float = SIZE) -> float:
    """Return the approximate width of a text in a sans-serif font, rather too large."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in NARROW or letter in WIDE:
        return 0.34 if letter in NARROW else 0.95
    if letter < "\x7f":
        return 0.72 if letter.isupper() else 0.59
    wide = 1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.68
    return 0.0 if unicodedata.combining(letter) else wide


def fit_to_width(text: Any, room: float, size: float = SIZE) -> str:
    """Return a text of at most ``room`` width; the middle of a longer one is cut."""
    whole = printable(text, 400)  # no label is longer
    if width_of(whole, size) <= room:
        return whole
    lengths = range(5, len(whole))
    fitting = bisect_right(lengths, room, key=lambda n: width_of(printable(whole, n), size))
    return printable(whole, 4 + fitting)


def place(value: float) -> str:
    """Return a coordinate as text, rounded to a tenth of a unit."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(tag: str, kind: str, **places: float) -> str:
    """Return the opening of an element with its class and coordinates, without the bracket."""
    return f'<{tag} class="{kind}"' + "".join(
        f' {key}="{place(value)}"' for key, value in places.items()
    )


def draw_element(tag: str, kind: str, **places: float) -> str:
    """Return an element without content."""
    return element(tag, kind, **places) + "/>"


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a straight line."""
    return draw_element("line", kind, x1=x1, y1=y1, x2=x2, y2=y2)


def label(
    kind: str, x: float, y: float, text: Any, room: float | None = None, size: float = SIZE
) -> str:
    """Draw a text; if it was cut, its title has all of it."""
    whole = printable(text, MAX_TIP_LENGTH)
    short = whole if room is None else fit_to_width(text, room, size)
    title = "" if short == whole else f"<title>{escape(whole)}</title>"
    return f"{element('text', kind, x=x, y=y)}>{escape(short)}{title}</text>"


def with_tip(opening: str, lines: Iterable[Any]) -> str:
    """Return a mark that shows a tip.

    ``opening`` is the opening of the element as ``element`` gives it; its class has ``mark``.
    """
    text = "&#10;".join(
        escape(printable(line, MAX_TIP_LENGTH)) for line in lines if line is not None
    )
    return f'{opening} data-tip="{text}"><title>{text}</title></{opening[1:].split(" ", 1)[0]}>'


def picture(width: float, height: float, about: str, parts: Iterable[str], size: str = "") -> str:
    """Return a whole chart; ``about`` describes it for screen readers."""
    return (
        f'<svg class="chart"{size} viewBox="0 0 {place(width)} {place(height)}" role="img"'
        f' aria-label="{escape(printable(about, MAX_TIP_LENGTH))}"'
        ' xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(parts) + "\n</svg>"
    )


def empty(width: float, about: str, message: str) -> str:
    """Draw an empty chart that says why it is empty."""
    height = 96
    parts = [
        draw_element("rect", "empty", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=6),
        label("muted middle", width / 2, height / 2 + 4, message, width - 20),
    ]
    return picture(width, height, f"{about}: {message}", parts)


# ---- styles: on pages that follow the light or dark setting, and in separate files


IN_LIGHT, IN_DARK = (
    "".join(f"--{name}:{colour};" for name, colour in colours.items()) for colours in (LIGHT, DARK)
)
# The classes of marks of each colour: filled (f1), light (a1, for bands) and drawn (s1).
KINDS = "".join(
    f".chart .f{i}{{fill:var(--c{i})}}.chart .a{i}{{fill:var(--c{i});fill-opacity:.16}}"
    f".chart .s{i}{{stroke:var(--c{i});fill:none}}\n"
    for i in range(1, N_COLOURS + 1)
)
THEME = f""":root{{{IN_LIGHT}}}
@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{{IN_DARK}}}}}
:root[data-theme="dark"]{{{IN_DARK}}}
@media print{{:root,:root:not([data-theme="light"]),:root[data-theme="dark"]{{{IN_LIGHT}}}}}
"""
LAYOUT = """.chart{display:block;width:100%;height:auto;max-width:640px}
.chart[data-size="wide"]{min-width:560px;max-width:740px}
@media print{.chart[data-size]{min-width:0}}
"""
MARKS = f""".chart{{overflow:visible;fill:var(--ink);font-family:{FONTS};font-size:13px;\
font-variant-numeric:tabular-nums}}
.chart text{{fill:var(--ink)}}
.chart .muted{{fill:var(--muted)}}
.chart .tick{{fill:var(--muted);font-size:12px}}
.chart .name{{font-size:12px}}
.chart .small{{font-size:10.5px;fill:var(--muted)}}
.chart .number{{font-size:9px;fill:var(--muted);text-anchor:middle}}
.chart .strong{{font-weight:600}}
.chart .middle{{text-anchor:middle}}
.chart .end{{text-anchor:end}}
.chart .grid{{stroke:var(--grid);stroke-width:1}}
.chart .axis{{stroke:var(--muted);stroke-width:1}}
.chart .rule{{stroke:var(--ink);stroke-width:1.2}}
.chart .chosen{{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:4 3}}
.chart .ring{{stroke:var(--ink);stroke-width:1.6;fill:none}}
.chart .lead{{stroke-width:1;stroke-opacity:.6}}
.chart .curve{{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}}
.chart .d1{{stroke-dasharray:6 4}}
.chart .d2{{stroke-dasharray:2 4}}
.chart .d3{{stroke-dasharray:8 3 2 3}}
.chart .whisker{{stroke-width:1.2;stroke-opacity:.75}}
.chart .dot{{stroke:var(--paper);stroke-width:1}}
.chart .step{{shape-rendering:crispEdges}}
.chart .hit{{opacity:0}}
.chart .hit:hover,.chart .hit:focus{{opacity:1}}
.chart .mark:hover{{stroke:var(--ink);stroke-width:1.5}}
.chart .clique{{stroke:var(--ink);stroke-width:4;stroke-linecap:round;stroke-opacity:.75}}
.chart .lead-line{{fill:none;stroke:var(--muted);stroke-width:1.2}}
.chart .empty{{fill:none;stroke:var(--grid);stroke-dasharray:4 4}}
.chart .blank{{fill:var(--grid);fill-opacity:.5}}
.chart .gone{{fill:var(--c8);fill-opacity:.45}}
.chart .below{{fill:var(--c2)}}
.chart .above{{fill:var(--c1)}}
.chart .on-mark{{fill:var(--paper)}}
"""
CSS = THEME + LAYOUT + MARKS + KINDS


def standalone(pictures: Sequence[tuple[str, str]]) -> str:
    """Return charts, each below its title, as one SVG file in light colours."""
    parts, widest, top = [], 0.0, float(MARGIN)
    for title, svg in pictures:
        width, height = map(float, OPENING.findall(svg)[0])
        places = (
            f'x="{MARGIN}" y="{place(top + TITLE_ROOM)}" width="{place(width)}"'
            f' height="{place(height)}"'
        )
        parts += [
            f'<g class="chart">{label("strong", MARGIN, top + SIZE, title, width)}</g>',
            OPENING.sub(f'<svg class="chart" {places}', svg, count=1),
        ]
        widest, top = max(widest, width), top + TITLE_ROOM + height + MARGIN
    style = MARKS + KINDS
    for name, colour in LIGHT.items():
        style = style.replace(f"var(--{name})", colour)
    size = f'width="{place(widest + 2 * MARGIN)}" height="{place(top)}"'
    about = escape(printable("; ".join(title for title, _ in pictures), MAX_TIP_LENGTH))
    return (
        f'<svg {size} viewBox="0 0 {place(widest + 2 * MARGIN)} {place(top)}" role="img"'
        f' aria-label="{about}" xmlns="http://www.w3.org/2000/svg">\n<style>{style}</style>\n<rect'
        f' {size} fill="{LIGHT["paper"]}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
