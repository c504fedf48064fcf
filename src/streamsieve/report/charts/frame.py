"""What charts of two axes share: the place of the plot on the page, its axes, its legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...colours import N_COLOURS
from .scales import Scale, extent, fitting_ticks, linear_ticks, step_for, tick_texts, widened
from .text import SIZE, SMALL, drawn, fitted, label, line, shown, width_of

WIDTH = 480.0
PLOT_HEIGHT = 220.0
ROW = 18.0  # the height of a line of text
BETWEEN = 10.0  # two texts in a row
LONGEST_LEGEND = 150.0
MOST_PARTS = 5  # of a y axis
MOST_DECADES = 6  # with lines between them


class Room(NamedTuple):
    """The plot's edges on the page."""

    left: float
    right: float
    top: float
    bottom: float


def colour_of(position: int) -> int:
    """The colour of the kind at a position, from 1 on; after eight kinds they begin again."""
    return position % N_COLOURS + 1


class Ticks(NamedTuple):
    """Values of an axis, and what is written at them."""

    values: list[float]
    texts: list[str]

    @property
    def width(self) -> float:
        """That of the longest text."""
        return max(width_of(text, SMALL) for text in self.texts)


def y_ticks(values: Sequence[float], percent: bool) -> Ticks:
    """The ticks of a y axis around some values; fractions do not pass 0 and 1."""
    low, high = extent(values)
    if percent and min(values) >= 0 and max(values) <= 1:
        low, high = max(low, 0.0), min(high, 1.0)
    step = step_for(low, high, MOST_PARTS)
    low, high = widened(low, high, MOST_PARTS)
    ticks = linear_ticks(low, high, max(1, round((high - low) / step)))
    return Ticks(ticks, tick_texts(ticks, percent))


def y_axis(scale: Scale, room: Room, ticks: Ticks, title: str) -> list[str]:
    """Lines across the plot with their values, and the title above them."""
    parts = []
    for tick, text in zip(*ticks, strict=True):
        y = scale(tick)
        parts.append(line("grid", room.left, y, room.right, y))
        parts.append(label("tick end", room.left - 6, y + 4, text))
    if title:
        parts.append(label("muted", 0, room.top - 12, f"↑ {shown(title)}", room.right))
    return parts


def x_ticks(scale: Scale, percent: bool = False) -> Ticks:
    """As many ticks of an x axis as have room for their texts."""

    def fits(ticks: list[float]) -> bool:
        texts = tick_texts(ticks, percent, scale.log)
        edges = [(scale(tick), width_of(text, SMALL) / 2) for tick, text in zip(ticks, texts, strict=True)]
        return all(b[0] - b[1] - a[0] - a[1] >= BETWEEN for a, b in pairwise(edges))

    ticks = fitting_ticks(scale, fits)
    return Ticks(ticks, tick_texts(ticks, percent, scale.log))


def x_axis(scale: Scale, room: Room, ticks: Ticks, title: str) -> list[str]:
    """The line below the plot with its values, and the title at its end."""
    parts = [line("axis", room.left, room.bottom, room.right, room.bottom)]
    for tick, text in zip(*ticks, strict=True):
        x, half = scale(tick), width_of(text, SMALL) / 2
        parts.append(line("axis", x, room.bottom, x, room.bottom + 4))
        parts.append(label("tick middle", min(x, WIDTH - half), room.bottom + 17, text))
    if scale.log and len(_powers(scale)) <= MOST_DECADES + 1:
        between = [digit * 10.0**power for power in _powers(scale) for digit in range(2, 10)]
        inside = [tick for tick in between if scale.low <= tick <= scale.high]
        parts += [line("grid", scale(tick), room.bottom, scale(tick), room.bottom + 3) for tick in inside]
    if title:
        parts.append(label("muted end", room.right, room.bottom + 35, f"{shown(title)} →", room.right))
    return parts


def _powers(scale: Scale) -> range:
    """The decades of a logarithmic scale."""
    return range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)


class Entry(NamedTuple):
    """One kind of marks in a legend: its name and how its sample is drawn, at a place."""

    name: Any
    position: int


def legend(entries: Sequence[Entry], top: float, sample: Any, width: float = WIDTH) -> tuple[list[str], float]:
    """Kinds in rows that are as full as they can be, and how high they are; ``sample(position, x, y)`` draws one."""
    parts: list[str] = []
    x, y = 0.0, top
    for entry in entries:
        text = fitted(entry.name, LONGEST_LEGEND)
        needed = 20 + width_of(text)
        if x and x + needed > width:
            x, y = 0.0, y + ROW
        parts.append(sample(entry.position, x, y + ROW / 2))
        parts.append(label("", x + 19, y + ROW / 2 + 4.5, entry.name, LONGEST_LEGEND, SIZE))
        x += needed + 14
    return parts, (y + ROW - top) if entries else 0.0


def swatch(position: int, x: float, y: float) -> str:
    """The sample of bars: a small square."""
    return drawn("rect", f"f{colour_of(position)}", x=x + 1, y=y - 5.5, width=11, height=11, rx=2)
