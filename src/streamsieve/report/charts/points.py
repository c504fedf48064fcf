"""Points of two measures: accuracy against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .axes import (
    PLOT_HEIGHT,
    ROW,
    WIDTH,
    Room,
    Scale,
    colour_of,
    drawable,
    extent,
    legend,
    number_text,
    x_axis,
    x_ticks,
    y_axis,
    y_ticks,
)
from .svg import SMALL, element, empty, fitted, hovered, label, picture, place, shown, tip_lines, width_of

MOST_NAMED = 30  # points with their names beside them
LONGEST_NAME = 110.0
BESIDE = (  # where a name may be: how it is anchored, and where from its point
    *(("", 9.0, 4.0), (" end", -9.0, 4.0), (" middle", 0.0, -9.0), (" middle", 0.0, 18.0)),
    *(("", -4.0, -9.0), (" end", 4.0, -9.0), ("", -4.0, 18.0), (" end", 4.0, 18.0)),
)
LARGE, SMALL_POINT = 4.5, 3.5  # a point of few, and of more than so many
MANY = 60
NAME_SIZE = {"": 0.0, " end": 1.0, " middle": 0.5}  # how much of a name is at the left of its anchor


class Known(NamedTuple):
    """A point with its values, which have a place, and the position of its group."""

    x: float
    y: float
    kind: int
    point: Mapping[str, Any]


Place = tuple[float, float, Known]  # on the page


def scatter(
    points: Sequence[Mapping[str, Any]],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    percent: bool = False,
) -> str:
    """Points with a name and, if they are of several kinds, a ``group``; ``tip`` is said beside their values.

    Groups have a colour and, after eight of them, another shape. Where points have no groups, or each its own, their
    names are beside them; otherwise a legend names the groups.
    """
    kinds: dict[str, int] = {}
    known = [one for point in points if (one := _known(point, kinds, log_x)) is not None]
    about = f"Scatter plot: {y_title} against {x_title}"
    if not known:
        return empty(WIDTH, about, "nothing to show yet: no values")
    several = kinds if len(kinds) > 1 else {}
    of = f" of {', '.join(shown(kind, 60) for kind in list(several)[:10])}" if several else ""
    about += f"; {len(known):,} points{of}"

    def drawn_with(kinds: Mapping[str, int], named: bool) -> tuple[str, bool]:
        """The chart, and whether every point has its name beside it."""
        ticks = y_ticks([one.y for one in known], percent)
        parts, height = legend(kinds.items(), _sample)
        top = height + (6 if kinds else 0) + (ROW + 6 if y_title else 8)
        room = Room(ticks.width + 8, WIDTH - 14, top, top + PLOT_HEIGHT)
        x = Scale(*extent([one.x for one in known], log_x), room.left + 10, room.right - 10, log_x)
        y = Scale(ticks.values[0], ticks.values[-1], room.bottom - 4, room.top)
        parts += [*y_axis(y, room, ticks, y_title), *x_axis(x, room, x_ticks(x), x_title)]
        places = [(x(one.x), y(one.y), one) for one in known]
        radius = LARGE if len(known) <= MANY else SMALL_POINT
        for left, height, one in places:
            values = [f"{x_title}: {number_text(one.x)}", f"{y_title}: {number_text(one.y, percent)}"]
            shape = _shape(one.kind, left, height, radius, "mark dot")
            parts.append(hovered(shape, [one.point["name"], *values, *tip_lines(one.point)]))
        names = _names(places, room) if named else []
        svg = picture(WIDTH, room.bottom + (44 if x_title else 26), about, [*parts, *names])
        return svg, len(names) == len(known)

    if len(known) <= MOST_NAMED and len(kinds) in (1, len(known)):
        svg, all_named = drawn_with({}, named=True)
        if all_named or not several:
            return svg
    return drawn_with(several, named=False)[0]


def _known(point: Mapping[str, Any], kinds: dict[str, int], log: bool) -> Known | None:
    """A point that has a place; its group is added to the kinds."""
    x, y = drawable(point["x"]), drawable(point["y"])
    if x is None or y is None or (log and x <= 0):
        return None
    group = point.get("group")
    return Known(x, y, kinds.setdefault("" if group is None else shown(group), len(kinds)), point)


def _sample(position: int, x: float, y: float) -> str:
    return _shape(position, x + 8, y, 4.5, "dot") + "/>"


def _shape(position: int, x: float, y: float, r: float, kind: str) -> str:
    """A circle, after eight kinds a square, then a diamond, then a triangle: opened, not closed."""
    classes = f"{kind} f{colour_of(position)}"
    shape = position // 8 % 4
    if shape == 0:
        return element("circle", classes, cx=x, cy=y, r=r)
    if shape == 1:
        return element("rect", classes, x=x - 0.9 * r, y=y - 0.9 * r, width=1.8 * r, height=1.8 * r)
    if shape == 2:
        top, side = place(y - 1.25 * r), place(1.25 * r)
        return f'<path class="{classes}" d="M{place(x)} {top}l{side} {side}l-{side} {side}l-{side} -{side}Z"'
    top, right, down = place(y - 1.1 * r), place(1.1 * r), place(2 * r)
    return f'<path class="{classes}" d="M{place(x)} {top}l{right} {down}h-{place(2.2 * r)}Z"'


def _names(places: list[Place], room: Room) -> list[str]:
    """Names beside points, where they cover neither a point nor another name nor the axis."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y, _ in places]
    parts = []
    for x, y, one in places:
        name = one.point["name"]
        width = width_of(fitted(name, LONGEST_NAME, SMALL), SMALL)
        for kind, at, up in BESIDE:
            left = x + at - width * NAME_SIZE[kind]
            box = (left, y + up - 11, left + width, y + up + 3)
            inside = room.left <= left and left + width <= WIDTH and box[3] < room.bottom
            if inside and not any(_touch(box, other) for other in taken):
                taken.append(box)
                parts.append(label(f"name{kind}", x + at, y + up, name, LONGEST_NAME, SMALL))
                break
    return parts


def _touch(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
