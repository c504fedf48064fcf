"""The critical difference diagram of Demsar 2006: average ranks, and groups without difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...display import printable
from .axes import Scale, drawable_value
from .svg import (
    SMALL,
    element,
    empty,
    fit_to_width,
    label,
    line,
    picture,
    place,
    width_of,
    with_tip,
)

WIDTH = 540.0
MAX_NAME_WIDTH = 104.0
PITCH = 20.0  # between two names
LEVEL = 9.0  # between two bars over groups
AXIS = 62.0
MARGIN = 10.0  # between a name and its line
RANK = 30.0  # the room of a rank's text

BETTER = "better →"

Ranked = list[tuple[float, str]]


def critical_difference(
    ranks: Mapping[str, float], cd: float, cliques: Sequence[Sequence[str]]
) -> str:
    """Draw average ranks on an axis, with the best (lowest) to the right.

    A bar joins each group of methods that do not differ significantly. ``cd`` is the smallest
    significant difference; it is drawn above the axis.
    """
    about = "Critical difference diagram of average ranks"
    pairs = ((drawable_value(value), name) for name, value in ranks.items())
    ranked = sorted(
        (rank, name) for rank, name in pairs if rank is not None and 1 <= rank <= len(ranks)
    )
    if len(ranked) < 2:
        return empty(WIDTH, about, "ranks need two methods or more")
    about += "; best first: " + ", ".join(
        f"{printable(name, 60)} {rank:.2f}" for rank, name in ranked
    )
    n_right = (len(ranked) + 1) // 2
    left, right = (
        _side_width(ranked[n_right:]),
        max(_side_width(ranked[:n_right]), width_of(BETTER, SMALL) + 2),
    )
    x = Scale(len(ranks), 1, left + 6, WIDTH - right - 6)
    bars, levels = _draw_bars(ranked, cliques, x)
    first = AXIS + 12 + LEVEL * levels + PITCH / 2
    methods = []
    for i, (rank, name) in enumerate(ranked):
        line_number, edge, side = (
            (i, WIDTH - right, 1) if i < n_right else (len(ranked) - 1 - i, left, -1)
        )
        methods += _draw_method(rank, name, x, first + PITCH * line_number, edge, side)
    return picture(
        WIDTH,
        first + PITCH * n_right,
        about,
        [*_draw_bracket(cd, x), *_draw_axis(x), *methods, *bars],
    )


def _side_width(side: Ranked) -> float:
    """Return the width of the names and ranks of one side."""
    return (
        max((width_of(fit_to_width(name, MAX_NAME_WIDTH)) for _, name in side), default=0.0)
        + RANK
        + MARGIN
    )


def _draw_axis(x: Scale) -> list[str]:
    parts = [line("rule", x.start, AXIS, x.stop, AXIS)]
    whole = range(int(x.high), int(x.low) + 1)
    every = math.ceil(width_of(f"{whole[-1]}  ", SMALL) * len(whole) / (x.stop - x.start))
    for rank in whole:
        parts.append(line("rule", x(rank), AXIS - 6, x(rank), AXIS))
        if (rank - int(x.high)) % every == 0:
            parts.append(label("tick middle", x(rank), AXIS - 11, f"{rank}"))
    return [*parts, label("tick", x.stop + 8, AXIS + 4, BETTER)]


def _draw_bracket(cd: float, x: Scale) -> list[str]:
    """Draw the critical difference to scale, from the right end of the axis.

    Its left end is open if the axis is shorter.
    """
    difference = drawable_value(cd)
    if difference is None or difference <= 0:
        return []
    start, y = max(x.start, x(x.high + difference)), 22.0
    parts = [line("rule", start, y, x.stop, y), line("rule", x.stop, y - 4, x.stop, y + 4)]
    if x.high + difference <= x.low:
        parts.append(line("rule", start, y - 4, start, y + 4))
    return [
        *parts,
        label("tick strong middle", (start + x.stop) / 2, y - 8, f"CD = {difference:.2f}"),
    ]


def _draw_method(rank: float, name: str, x: Scale, y: float, edge: float, side: int) -> list[str]:
    """Draw a line from the axis to the rank and the name, right (side 1) or left (-1)."""
    text, end = (
        f"M{place(x(rank))} {place(AXIS)}V{place(y)}H{place(edge)}",
        "" if side > 0 else " end",
    )
    return [
        with_tip(f'<path class="mark lead-line" d="{text}"', [name, f"average rank {rank:.3f}"]),
        label(f"small{end}", edge + 4 * side, y + 4, f"{rank:.2f}"),
        label(end.strip(), edge + (MARGIN + RANK - 6) * side, y + 4.5, name, MAX_NAME_WIDTH),
    ]


def _draw_bars(ranked: Ranked, cliques: Sequence[Sequence[str]], x: Scale) -> tuple[list[str], int]:
    """Draw a bar below the axis per group, and return how many levels the bars take.

    Each bar is on the first free level.
    """
    rank_of = {name: rank for rank, name in ranked}
    groups = [[(rank_of[name], name) for name in clique if name in rank_of] for clique in cliques]
    ends = [
        (min(group)[0], max(group)[0], [name for _, name in group])
        for group in groups
        if len(group) > 1
    ]
    levels: list[float] = []  # where the last bar of each level ends, at the left
    parts = []
    for best, worst, members in sorted(ends):
        right, left = x(best) + 5, x(worst) - 5
        level = next((i for i, end in enumerate(levels) if right < end - 4), len(levels))
        levels[level : level + 1] = [left]
        y = AXIS + 12 + LEVEL * level
        opening = element("line", "mark clique", x1=left, y1=y, x2=right, y2=y)
        parts.append(with_tip(opening, ["no significant difference:", *members]))
    return parts, len(levels)
