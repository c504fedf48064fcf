"""Bars: the best features by score, or by weight to either side of zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .frame import ROW, WIDTH, Entry, Room, colour_of, legend, swatch, x_axis, x_ticks
from .scales import Scale, drawable, extent, number_text, widened
from .text import SIZE, element, empty, fitted, hovered, label, line, picture, shown, tip_lines, width_of

MOST_BARS = 50
BAR = 15.0
PITCH = 20.0
LONGEST_NAME = 150.0


def bar_chart(
    items: Sequence[Mapping[str, Any]],
    *,
    signed: bool = False,
    x_title: str = "",
    percent: bool = False,
) -> str:
    """One horizontal bar per item with a value, in the order given, the first 50.

    ``group`` gives the colour, with a legend if there are several; without groups and with ``signed``, bars below zero
    have another colour than those above. ``tip`` is said beside the value.
    """
    about = f"Bar chart{': ' + x_title if x_title else ''}"
    known = [(value, item) for item in items if (value := drawable(item["value"])) is not None]
    if not known:
        return empty(WIDTH, about, "nothing to show yet: no values")
    bars = known[:MOST_BARS]
    about += "; " + ", ".join(f"{shown(item['name'], 60)} {number_text(value, percent)}" for value, item in bars[:10])
    groups: dict[str, int] = {}
    for _, item in bars:
        if item.get("group") is not None:
            groups.setdefault(shown(item["group"]), len(groups))
    entries = [Entry(name, position) for name, position in groups.items()] if len(groups) > 1 else []
    legend_parts, legend_height = legend(entries, 0, swatch)
    top = legend_height + (10 if entries else 2)
    names = max(width_of(fitted(item["name"], LONGEST_NAME)) for _, item in bars)
    room = Room(names + 10, WIDTH - 14, top, top + PITCH * len(bars) + 2)
    values = [value for value, _ in bars]
    low, high = extent([*values, 0.0])
    low, high = widened(low, high, 5)
    x = Scale(min(low, 0.0), max(high, 0.0), room.left, room.right)
    ticks = x_ticks(x, percent)
    parts = legend_parts + [line("grid", x(tick), room.top, x(tick), room.bottom) for tick in ticks.values]
    for i, (value, item) in enumerate(bars):
        group = item.get("group")
        kind = colour_of(groups[shown(group)]) if group is not None else 2 if signed and value < 0 else 1
        lines = [item["name"], number_text(value, percent), *tip_lines(item)]
        parts += _bar(x, room.top + PITCH * (i + 0.5), value, kind, lines)
    parts.append(line("axis", x(0.0), room.top, x(0.0), room.bottom))
    parts += x_axis(x, room, ticks, x_title)
    height = room.bottom + (44 if x_title else 26)
    if len(known) > len(bars):
        parts.append(label("tick", 0, height - 9 if x_title else height + 12, f"and {len(known) - len(bars):,} more"))
        height += 0 if x_title else ROW
    return picture(WIDTH, height, about, parts)


def _bar(x: Scale, middle: float, value: float, kind: int, lines: list[Any]) -> list[str]:
    """A bar from zero to its value, at a height, and its name, the first line of its tip, at the left."""
    start, stop = sorted((x(0.0), x(value)))
    places = {"x": start, "y": middle - BAR / 2, "width": max(stop - start, 1), "height": BAR}
    return [
        hovered(element("rect", f"mark f{kind}", **places, rx=1.5), lines),
        label("end", x.start - 8, middle + 4.5, lines[0], LONGEST_NAME, SIZE),
    ]
