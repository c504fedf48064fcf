"""Bars: of features by score, of when they were selected, and of values in one line of a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...display import printable
from .axes import (
    WIDTH,
    Room,
    Scale,
    colour_of,
    drawable,
    extent,
    legend,
    number_text,
    widened,
    x_axis,
    x_ticks,
)
from .svg import SMALL, drawn, element, empty, fitted, hovered, label, line, picture, width_of

BAR, PITCH = 15.0, 20.0  # how thick a bar is, and how far it is from the next
SPAN, SPAN_PITCH = 10.0, 17.0
MAX_NAME_WIDTH, MAX_SPAN_NAME_WIDTH = 150.0, 140.0
SPAN_KINDS = "f1", "gone"  # of features that are there at the end, and of those that are not
MIN_SPAN = 2.0
BLOCKS = "▁▂▃▄▅▆▇█"


def bar_chart(
    items: Sequence[Mapping[str, Any]], *, signed: bool = False, x_title: str = ""
) -> str:
    """Draw one horizontal bar per item with a value, in the order given.

    ``group`` gives the colour, with a legend if there are several; without groups and with
    ``signed``, bars below zero have another colour than those above. ``tip`` is said beside the
    value.
    """
    about = f"Bar chart{': ' + x_title if x_title else ''}"
    bars = [(value, item) for item in items if (value := drawable(item["value"])) is not None]
    if not bars:
        return empty(WIDTH, about, "nothing to show yet: no values")
    about += "; " + ", ".join(
        f"{printable(item['name'], 60)} {number_text(value)}" for value, item in bars[:10]
    )
    names = dict.fromkeys(
        printable(item["group"]) for _, item in bars if item.get("group") is not None
    )
    groups = {name: position for position, name in enumerate(names)}
    parts, top = legend(groups.items() if len(groups) > 1 else (), _swatch)
    top += 10 if parts else 2
    left = max(width_of(fitted(item["name"], MAX_NAME_WIDTH)) for _, item in bars) + 10
    room = Room(left, WIDTH - 14, top, top + PITCH * len(bars) + 2)
    low, high = widened(*extent([0.0, *(value for value, _ in bars)]), 5)
    x = Scale(min(low, 0.0), max(high, 0.0), room.left, room.right)
    ticks = x_ticks(x)
    parts += [line("grid", x(tick), room.top, x(tick), room.bottom) for tick in ticks.values]
    for i, (value, item) in enumerate(bars):
        middle, (start, stop) = room.top + PITCH * (i + 0.5), sorted((x(0.0), x(value)))
        by_sign = item.get("group") is None
        kind = (
            (2 if signed and value < 0 else 1)
            if by_sign
            else colour_of(groups[printable(item["group"])])
        )
        places = {"x": start, "y": middle - BAR / 2, "width": max(stop - start, 1), "height": BAR}
        opening = element("rect", f"mark f{kind}", **places, rx=1.5)
        parts.append(hovered(opening, [item["name"], number_text(value), item.get("tip")]))
        parts.append(label("end", x.start - 8, middle + 4.5, item["name"], MAX_NAME_WIDTH))
    parts.append(line("axis", x(0.0), room.top, x(0.0), room.bottom))
    parts += x_axis(x, room, ticks, x_title)
    return picture(WIDTH, room.bottom + (44 if x_title else 26), about, parts)


def _swatch(position: int, x: float, y: float) -> str:
    """Draw the sample of bars: a small square."""
    return drawn("rect", f"f{colour_of(position)}", x=x + 1, y=y - 5.5, width=11, height=11, rx=2)


def timeline(rows: Sequence[Mapping[str, Any]], *, x_title: str, end: float) -> str:
    """Draw a line per feature with the spans, from a start to a stop, in which it was selected, from 0 to ``end``."""
    about = f"Timeline of {len(rows):,} features over {x_title}"
    last = drawable(end) or 0.0
    known = [(row["name"], spans) for row in rows if (spans := _spans(row["spans"], last))]
    if not known or last <= 0:
        return empty(WIDTH, about, "nothing to show yet: no feature entered")
    about += "; " + ", ".join(printable(name, 60) for name, _ in known[:10])
    kinds = [SPAN_KINDS[spans[-1][1] < last] for _, spans in known]
    both = (("selected at the end", 0), ("left again", 1)) if len(set(kinds)) > 1 else ()
    parts, top = legend(both, _sample)
    top += 8 if parts else 2
    left = max(width_of(fitted(name, MAX_SPAN_NAME_WIDTH, SMALL), SMALL) for name, _ in known) + 10
    room = Room(left, WIDTH - 14, top, top + SPAN_PITCH * len(known) + 2)
    x = Scale(0.0, last, room.left, room.right)
    for i, ((name, spans), kind) in enumerate(zip(known, kinds, strict=True)):
        middle = room.top + SPAN_PITCH * (i + 0.5)
        parts.append(line("grid", room.left, middle, room.right, middle))
        parts.append(label("name end", room.left - 8, middle + 4, name, MAX_SPAN_NAME_WIDTH, SMALL))
        for start, stop, n in _joined(spans, x):
            width = max(MIN_SPAN, x(stop) - x(start))
            places = {
                "x": min(x(start), x.stop - width),
                "y": middle - SPAN / 2,
                "width": width,
                "height": SPAN,
            }
            range_text = f"{x_title}: {number_text(start)} to {number_text(stop)}"
            lines = [name, range_text, f"in {n:,} spans" if n > 1 else None]
            parts.append(hovered(element("rect", f"mark {kind}", **places, rx=2), lines))
    parts += x_axis(x, room, x_ticks(x), x_title)
    return picture(WIDTH, room.bottom + 44, about, parts)


def _sample(position: int, x: float, y: float) -> str:
    return drawn("rect", SPAN_KINDS[position], x=x, y=y - SPAN / 2, width=14, height=SPAN, rx=2)


def _spans(spans: Sequence[Sequence[Any]], last: float) -> list[tuple[float, float]]:
    """Return spans with both ends, within the time, in order."""
    known = [(drawable(start), drawable(stop)) for start, stop in spans]
    inside = [
        (max(0.0, a), min(last, b)) for a, b in known if a is not None and b is not None and a <= b
    ]
    return sorted((a, b) for a, b in inside if a <= b)


def _joined(spans: list[tuple[float, float]], x: Scale) -> list[tuple[float, float, int]]:
    """Return spans with nothing to see between them as one, and of how many it is made."""
    joined: list[tuple[float, float, int]] = []
    for start, stop in spans:
        if joined and x(start) - x(joined[-1][1]) < 1:
            first, before, n = joined.pop()
            joined.append((first, max(before, stop), n + 1))
        else:
            joined.append((start, stop, 1))
    return joined


def sparkline(values: Sequence[Any], width: int = 40) -> str:
    """Return values as blocks of eight heights, a blank where there is none; more than ``width`` are averaged.

    Values that are all the same are of middle height.
    """
    parts = min(len(values), width)
    groups = [(len(values) * i // parts, len(values) * (i + 1) // parts) for i in range(parts)]
    means = [_mean(values[start:stop]) for start, stop in groups]
    known = [mean for mean in means if mean is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return "".join(" " if mean is None else BLOCKS[3] for mean in means)
    return "".join(
        " " if mean is None else BLOCKS[round(7 * ((mean - low) / (high - low)))] for mean in means
    )


def _mean(values: Sequence[Any]) -> float | None:
    known = [number for number in map(drawable, values) if number is not None]
    return sum(number / len(known) for number in known) if known else None
