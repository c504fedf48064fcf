"""Bars: of features by score, of spans of time, and of values in one line of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...display import printable
from .axes import (
    WIDTH,
    Room,
    Scale,
    colour_of,
    draw_legend,
    draw_x_axis,
    drawable_value,
    extent,
    number_text,
    set_width,
    x_ticks,
)
from .svg import (
    SMALL,
    draw_element,
    element,
    empty,
    fit_to_width,
    label,
    line,
    picture,
    width_of,
    with_tip,
)

BAR, PITCH = 15.0, 20.0  # the height of a bar, and of a bar with the space below it
SPAN, SPAN_PITCH = 10.0, 17.0
MAX_NAME_WIDTH, MAX_SPAN_NAME_WIDTH = 150.0, 140.0
SPAN_KINDS = "f1", "gone"  # of features that are selected at the end, and of others
MIN_SPAN = 2.0
BLOCKS = "▁▂▃▄▅▆▇█"


def bar_chart(
    items: Sequence[Mapping[str, Any]], *, signed: bool = False, x_title: str = ""
) -> str:
    """Draw one horizontal bar per item with a value, in the order given.

    ``group`` determines the colour, with a legend if there are several groups; without groups and
    with ``signed``, bars below zero have another colour than those above. ``tip`` is shown with the
    value.
    """
    about = f"Bar chart{': ' + x_title if x_title else ''}"
    bars = [(value, item) for item in items if (value := drawable_value(item["value"])) is not None]
    if not bars:
        return empty(WIDTH, about, "nothing to show yet: no values")
    about += "; " + ", ".join(
        f"{printable(item['name'], 60)} {number_text(value)}" for value, item in bars[:10]
    )
    names = dict.fromkeys(
        printable(item["group"]) for _, item in bars if item.get("group") is not None
    )
    groups = {name: position for position, name in enumerate(names)}
    parts, top = draw_legend(groups.items() if len(groups) > 1 else (), _draw_swatch)
    top += 10 if parts else 2
    left = max(width_of(fit_to_width(item["name"], MAX_NAME_WIDTH)) for _, item in bars) + 10
    room = Room(left, WIDTH - 14, top, top + PITCH * len(bars) + 2)
    low, high = set_width(*extent([0.0, *(value for value, _ in bars)]), 5)
    x = Scale(min(low, 0.0), max(high, 0.0), room.left, room.right)
    ticks = x_ticks(x)
    parts += [line("grid", x(tick), room.top, x(tick), room.bottom) for tick in ticks.values]
    for i, (value, item) in enumerate(bars):
        middle, (start, stop) = room.top + PITCH * (i + 0.5), sorted((x(0.0), x(value)))
        has_no_group = item.get("group") is None
        kind = (
            (2 if signed and value < 0 else 1)
            if has_no_group
            else colour_of(groups[printable(item["group"])])
        )
        coordinates = {
            "x": start,
            "y": middle - BAR / 2,
            "width": max(stop - start, 1),
            "height": BAR,
        }
        opening = element("rect", f"mark f{kind}", **coordinates, rx=1.5)
        parts += [
            with_tip(opening, [item["name"], number_text(value), item.get("tip")]),
            label("end", x.start - 8, middle + 4.5, item["name"], MAX_NAME_WIDTH),
        ]
    parts.append(line("axis", x(0.0), room.top, x(0.0), room.bottom))
    parts += draw_x_axis(x, room, ticks, x_title)
    return picture(WIDTH, room.bottom + (44 if x_title else 26), about, parts)


def _draw_swatch(position: int, x: float, y: float) -> str:
    """Draw a small square, the sample of bars in the legend."""
    return draw_element(
        "rect", f"f{colour_of(position)}", x=x + 1, y=y - 5.5, width=11, height=11, rx=2
    )


def timeline(rows: Sequence[Mapping[str, Any]], *, x_title: str, end: float) -> str:
    """Draw a line per feature with the ``stays``, spans of time in which it was selected.

    The axis goes from 0 to ``end``, and no span is beyond it.
    """
    about = f"Timeline of {len(rows):,} features over {x_title}"
    if not rows or end <= 0:
        return empty(WIDTH, about, "nothing to show yet: no feature entered")
    names = [row["name"] for row in rows]
    about += "; " + ", ".join(printable(name, 60) for name in names[:10])
    kinds = [0 if row["selected"] else 1 for row in rows]
    legend_kinds = (("selected at the end", 0), ("left again", 1)) if len(set(kinds)) > 1 else ()
    parts, top = draw_legend(legend_kinds, _draw_sample)
    top += 8 if parts else 2
    left = (
        max(width_of(fit_to_width(name, MAX_SPAN_NAME_WIDTH, SMALL), SMALL) for name in names) + 10
    )
    room = Room(left, WIDTH - 14, top, top + SPAN_PITCH * len(rows) + 2)
    x = Scale(0.0, end, room.left, room.right)
    for i, (row, kind) in enumerate(zip(rows, kinds, strict=True)):
        name, middle = row["name"], room.top + SPAN_PITCH * (i + 0.5)
        parts += [
            line("grid", room.left, middle, room.right, middle),
            label("name end", room.left - 8, middle + 4, name, MAX_SPAN_NAME_WIDTH, SMALL),
        ]
        for start, stop, n in _join_spans(row["stays"], x):
            width = max(MIN_SPAN, x(stop) - x(start))
            coordinates = {
                "x": min(x(start), x.stop - width),
                "y": middle - SPAN / 2,
                "width": width,
                "height": SPAN,
            }
            range_text = f"{x_title}: {number_text(start)} to {number_text(stop)}"
            lines = [name, range_text, f"in {n:,} spans" if n > 1 else None]
            opening = element("rect", f"mark {SPAN_KINDS[kind]}", **coordinates, rx=2)
            parts.append(with_tip(opening, lines))
    parts += draw_x_axis(x, room, x_ticks(x), x_title)
    return picture(WIDTH, room.bottom + 44, about, parts)


def _draw_sample(position: int, x: float, y: float) -> str:
    """Draw a short span, for the legend."""
    return draw_element(
        "rect", SPAN_KINDS[position], x=x, y=y - SPAN / 2, width=14, height=SPAN, rx=2
    )


def _join_spans(spans: Sequence[Sequence[int]], x: Scale) -> list[tuple[int, int, int]]:
    """Return spans joined where no gap is visible, and of how many spans each is made."""
    joined: list[tuple[int, int, int]] = []
    for start, stop in spans:
        if joined and x(start) - x(joined[-1][1]) < 1:
            first, previous_stop, n = joined.pop()
            joined.append((first, max(previous_stop, stop), n + 1))
        else:
            joined.append((start, stop, 1))
    return joined


def sparkline(values: Sequence[Any], width: int = 40) -> str:
    """Return values as blocks of eight heights, with a space for a missing value.

    More than ``width`` values are averaged. If all values are equal, they have middle height.
    """
    parts = min(len(values), width)
    groups = [(len(values) * i // parts, len(values) * (i + 1) // parts) for i in range(parts)]
    means = [_mean(values[start:stop]) for start, stop in groups]
    present = [mean for mean in means if mean is not None]
    low, high = min(present, default=0.0), max(present, default=0.0)
    if not high - low > 1e-9 * max(abs(low), abs(high)):
        return "".join(" " if mean is None else BLOCKS[3] for mean in means)
    return "".join(
        " " if mean is None else BLOCKS[round(7 * ((mean - low) / (high - low)))] for mean in means
    )


def _mean(values: Sequence[Any]) -> float | None:
    present = [number for number in map(drawable_value, values) if number is not None]
    return sum(number / len(present) for number in present) if present else None
