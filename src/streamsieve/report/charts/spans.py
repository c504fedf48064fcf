"""Spans of time: which features entered the selection, and left it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .frame import WIDTH, Entry, Room, legend, x_axis, x_ticks
from .scales import Scale, drawable, number_text
from .text import SMALL, drawn, element, empty, fitted, hovered, label, line, picture, shown, width_of

MOST_ROWS = 60
BAR = 10.0
PITCH = 17.0
LONGEST_NAME = 140.0
KINDS = "f1", "gone"  # of features that are there at the end, and of those that are not
LEAST_WIDTH = 2.0


def timeline(rows: Sequence[Mapping[str, Any]], *, x_title: str, end: float) -> str:
    """One line per feature with the spans in which it was selected, from 0 to ``end``, the first 60 features.

    A span is a start and a stop; None for the stop means until the end.
    """
    about = f"Timeline of {len(rows):,} features over {x_title}"
    last = drawable(end) or 0.0
    known = [(row, spans) for row in rows if (spans := _spans(row["spans"], last))]
    if not known or last <= 0:
        return empty(WIDTH, about, "nothing to show yet: no feature entered")
    shown_rows = known[:MOST_ROWS]
    about += "; " + ", ".join(shown(row["name"], 60) for row, _ in shown_rows[:10])
    entries = [Entry("selected at the end", 0), Entry("left again", 1)]
    stays = {spans[-1][1] >= last for _, spans in shown_rows}
    legend_parts, height = legend(entries if len(stays) > 1 else [], 0, _sample)
    top = height + 8 if height else 2
    left = max(width_of(fitted(row["name"], LONGEST_NAME, SMALL), SMALL) for row, _ in shown_rows) + 10
    room = Room(left, WIDTH - 14, top, top + PITCH * len(shown_rows) + 2)
    x = Scale(0.0, last, room.left, room.right)
    parts = list(legend_parts)
    for i, (row, spans) in enumerate(shown_rows):
        middle = room.top + PITCH * (i + 0.5)
        stays_at_end = spans[-1][1] >= last
        parts.append(line("grid", room.left, middle, room.right, middle))
        parts.append(label("name end", room.left - 8, middle + 4, row["name"], LONGEST_NAME, SMALL))
        parts += _bars(row["name"], spans, x, middle, KINDS[not stays_at_end], x_title)
    parts += x_axis(x, room, x_ticks(x), x_title)
    height = room.bottom + 44
    if len(known) > len(shown_rows):
        parts.append(label("tick", 0, height - 9, f"and {len(known) - len(shown_rows):,} more"))
    return picture(WIDTH, height, about, parts)


def _sample(position: int, x: float, y: float) -> str:
    return drawn("rect", KINDS[position], x=x, y=y - BAR / 2, width=14, height=BAR, rx=2)


def _spans(spans: Sequence[Sequence[Any]], last: float) -> list[tuple[float, float]]:
    """Spans with both ends, within the time, in order."""
    known = [(drawable(start), last if stop is None else drawable(stop)) for start, stop in spans]
    inside = [(max(0.0, a), min(last, b)) for a, b in known if a is not None and b is not None and a <= b]
    return sorted((a, b) for a, b in inside if a <= b)


def _bars(name: Any, spans: list[tuple[float, float]], x: Scale, middle: float, kind: str, title: str) -> list[str]:
    """The spans of a feature; those with nothing to see between them are one."""
    parts = []
    i = 0
    while i < len(spans):
        start, stop, n = *spans[i], 1
        while i + n < len(spans) and x(spans[i + n][0]) - x(stop) < 1:
            stop, n = max(stop, spans[i + n][1]), n + 1
        width = max(LEAST_WIDTH, x(stop) - x(start))
        at = min(x(start), x.stop - width)
        opening = element("rect", f"mark {kind}", x=at, y=middle - BAR / 2, width=width, height=BAR, rx=2)
        lines = [name, f"{title}: {number_text(start)} to {number_text(stop)}"]
        parts.append(hovered(opening, lines + ([f"in {n:,} spans"] if n > 1 else [])))
        i += n
    return parts
