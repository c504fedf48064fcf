"""A heat map of pairs: how much selected features have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .frame import WIDTH
from .scales import drawable, number_text, tick_texts
from .text import SMALL, drawn, element, empty, fitted, hovered, label, picture, place, shown, width_of

MOST_ROWS = 100
LONGEST_NAME = 130.0
LONGEST_IN_TIP = 60  # letters: a name is in the tips of a whole row and column
LARGEST_CELL = 42.0
SMALLEST_CELL = 16.0
SMALLEST_OF_MANY = 14.0
FEW = 9  # rows, with the value written in each cell
MANY = 40  # rows, of more than which cells that nobody sees are not drawn
UNSEEN = 0.03  # how strong a colour must be to be seen
STRONG = 0.8  # what is written on a stronger colour has the colour of the paper
LEGEND = 120.0, 10.0, 24  # width, height, steps
LEGEND_ROOM = 52.0


class Range(NamedTuple):
    """The values that have a colour; to either side of zero, or from ``low`` on."""

    low: float
    high: float

    @property
    def two_sided(self) -> bool:
        return self.low < 0 < self.high

    def strength(self, value: float) -> float:
        """How strong the colour of a value is, from 0 to 1; below zero on the lower side."""
        if self.two_sided:
            return max(-1.0, min(1.0, value / max(-self.low, self.high)))
        return max(0.0, min(1.0, (value - self.low) / (self.high - self.low)))


def heat_map(
    names: Sequence[Any], matrix: Sequence[Sequence[Any]], *, low: float = -1, high: float = 1, title: str = ""
) -> str:
    """What each name has in common with those before it, from a symmetric matrix; the first 100 names.

    Colours go from ``low`` to ``high``: to either side of zero, or from ``low`` on if both have one sign. Names are
    numbered, and the number of a column is on the diagonal, in the row of its name.
    """
    about = f"Heat map{': ' + title if title else ''}"
    n = min(len(names), MOST_ROWS)
    if n < 2:
        return empty(WIDTH, about, "nothing to show: pairs need two features or more")
    about += f"; {len(names):,} names: {', '.join(shown(name, 60) for name in names[:10])}"
    colours = Range(low, high if high > low else low + 1)
    numbers = width_of(str(n), SMALL) + 12
    left = max(width_of(fitted(name, LONGEST_NAME, SMALL), SMALL) for name in names[:n]) + numbers + 4
    cell = min(LARGEST_CELL, max(SMALLEST_OF_MANY if n > MANY else SMALLEST_CELL, (WIDTH - left) / n))
    width = max(WIDTH, left + cell * n)
    free = left + cell * (LEGEND_ROOM / cell + 2) < width - max(LEGEND[0], width_of(title)) - 16
    top = 2.0 if free else LEGEND_ROOM
    parts = _legend(colours, title, width)
    for i in range(n):
        y = top + cell * i
        parts.append(label("name end", left - numbers, y + cell / 2 + 4, names[i], LONGEST_NAME, SMALL))
        parts.append(label("tick end", left - 6, y + cell / 2 + 4, i + 1))
        for j in range(i):
            parts += _cell(colours, (names[i], names[j]), matrix[i][j], (left + cell * j, y, cell), n)
        parts += _diagonal(i, left + cell * i, y, cell)
    height = top + cell * n + 4
    if len(names) > n:
        parts.append(label("tick", 0, height + 14, f"the first {n:,} of {len(names):,}"))
        height += 20
    return picture(width, height, about, parts, "huge" if n > MANY else "wide" if width > WIDTH + 40 else "")


def _diagonal(i: int, x: float, y: float, size: float) -> list[str]:
    number = label(
        "tick middle" if size >= 18 else "number", x + size / 2, y + size / 2 + (4 if size >= 18 else 3), i + 1
    )
    return [drawn("rect", "blank", x=x + 0.5, y=y + 0.5, width=size - 1, height=size - 1), number]


def _cell(colours: Range, pair: tuple[Any, Any], value: Any, at: tuple[float, float, float], n: int) -> list[str]:
    x, y, size = at
    places = {"x": x + 0.5, "y": y + 0.5, "width": size - 1, "height": size - 1}
    known = drawable(value)
    names = [shown(name, LONGEST_IN_TIP) for name in pair]
    if known is None:
        return [hovered(element("rect", "mark empty", **places), [*names, "no value"])]
    strength = colours.strength(known)
    if n > MANY and abs(strength) < UNSEEN:
        return []
    opening = element("rect", f"mark {'below' if strength < 0 else 'above'}", **places)
    parts = [hovered(f'{opening} fill-opacity="{abs(strength):.2f}"', [*names, number_text(known)])]
    if n <= FEW:
        kind = "name middle" + (" on-mark" if abs(strength) > STRONG else "")
        parts.append(label(kind, x + size / 2, y + size / 2 + 4, f"{known:.2f}".replace("-", "\u2212")))
    return parts


def _legend(colours: Range, title: str, width: float) -> list[str]:
    """The colours with their values, at the upper right, where half a matrix has nothing."""
    total, height, steps = LEGEND
    left, top = width - total - 8, 20.0
    parts = []
    for i in range(steps):
        value = colours.low + (colours.high - colours.low) * (i + 0.5) / steps
        strength = colours.strength(value)
        opening = element("rect", f"step {'below' if strength < 0 else 'above'}", x=left + total / steps * i, y=top)
        size = f'width="{place(total / steps)}" height="{place(height)}"'
        parts.append(f'{opening} {size} fill-opacity="{abs(strength):.2f}"/>')
    ends = [colours.low, 0.0, colours.high] if colours.two_sided else [colours.low, colours.high]
    for value, text in zip(ends, tick_texts(ends), strict=True):
        at = left + total * (value - colours.low) / (colours.high - colours.low)
        parts.append(label("tick middle", at, top + height + 14, text))
    if title:
        parts.append(label("muted end", width - 8, top - 7, title, width - 8))
    return parts
