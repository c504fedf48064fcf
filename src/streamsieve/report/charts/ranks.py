"""The critical difference diagram of Demsar 2006: average ranks of methods, and which of them do not differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...display import printable
from .axes import Scale, drawable
from .svg import SMALL, element, empty, fitted, hovered, label, line, picture, place, width_of

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
    """Draw average ranks on an axis, the best (lowest) to the right; a bar joins each group that does not differ.

    ``cd`` is the difference from which on two methods differ; it is drawn above the axis.
    """
    about = "Critical difference diagram of average ranks"
    found = ((drawable(value), name) for name, value in ranks.items())
    known = sorted(
        (rank, name) for rank, name in found if rank is not None and 1 <= rank <= len(ranks)
    )
    if len(known) < 2:
        return empty(WIDTH, about, "ranks need two methods or more")
    about += "; best first: " + ", ".join(
        f"{printable(name, 60)} {rank:.2f}" for rank, name in known
    )
    n_right = (len(known) + 1) // 2
    left, right = _room(known[n_right:]), max(_room(known[:n_right]), width_of(BETTER, SMALL) + 2)
    x = Scale(len(ranks), 1, left + 6, WIDTH - right - 6)
    bars, levels = _bars(known, cliques, x)
    first = AXIS + 12 + LEVEL * levels + PITCH / 2
    methods = []
    for i, (rank, name) in enumerate(known):
        line_number, edge, side = (
            (i, WIDTH - right, 1) if i < n_right else (len(known) - 1 - i, left, -1)
        )
        methods += _method(rank, name, x, first + PITCH * line_number, edge, side)
    return picture(
        WIDTH, first + PITCH * n_right, about, [*_bracket(cd, x), *_axis(x), *methods, *bars]
    )


def _room(side: Ranked) -> float:
    """Return how much room the names and ranks of one side take."""
    return (
        max((width_of(fitted(name, MAX_NAME_WIDTH)) for _, name in side), default=0.0)
        + RANK
        + MARGIN
    )


def _axis(x: Scale) -> list[str]:
    parts = [line("rule", x.start, AXIS, x.stop, AXIS)]
    whole = range(int(x.high), int(x.low) + 1)
    every = math.ceil(width_of(f"{whole[-1]}  ", SMALL) * len(whole) / (x.stop - x.start))
    for rank in whole:
        parts.append(line("rule", x(rank), AXIS - 6, x(rank), AXIS))
        if (rank - int(x.high)) % every == 0:
            parts.append(label("tick middle", x(rank), AXIS - 11, f"{rank}"))
    return [*parts, label("tick", x.stop + 8, AXIS + 4, BETTER)]


def _bracket(cd: float, x: Scale) -> list[str]:
    """Draw the critical difference to scale from the right end of the axis, open where the axis is shorter."""
    known = drawable(cd)
    if known is None or known <= 0:
        return []
    start, y = max(x.start, x(x.high + known)), 22.0
    parts = [line("rule", start, y, x.stop, y), line("rule", x.stop, y - 4, x.stop, y + 4)]
    if x.high + known <= x.low:
        parts.append(line("rule", start, y - 4, start, y + 4))
    return [*parts, label("tick strong middle", (start + x.stop) / 2, y - 8, f"CD = {known:.2f}")]


def _method(rank: float, name: str, x: Scale, y: float, edge: float, side: int) -> list[str]:
    """Draw a line from the axis to the rank and the name at the right (side 1) or left (-1)."""
    text, end = (
        f"M{place(x(rank))} {place(AXIS)}V{place(y)}H{place(edge)}",
        "" if side > 0 else " end",
    )
    return [
        hovered(f'<path class="mark lead-line" d="{text}"', [name, f"average rank {rank:.3f}"]),
        label(f"small{end}", edge + 4 * side, y + 4, f"{rank:.2f}"),
        label(end.strip(), edge + (MARGIN + RANK - 6) * side, y + 4.5, name, MAX_NAME_WIDTH),
    ]


def _bars(known: Ranked, cliques: Sequence[Sequence[str]], x: Scale) -> tuple[list[str], int]:
    """Draw a bar below the axis per group, each on the first free level; return how many levels there are too."""
    rank_of = {name: rank for rank, name in known}
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
        parts.append(hovered(opening, ["no significant difference:", *members]))
    return parts, len(levels)
