"""Points of two measures: accuracy against time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .frame import PLOT_HEIGHT, ROW, WIDTH, Entry, Room, colour_of, legend, x_axis, x_ticks, y_axis, y_ticks
from .scales import Scale, drawable, extent, number_text
from .text import SMALL, element, empty, fitted, hovered, label, picture, place, shown, tip_lines, width_of

MOST_MARKS = 2000  # of more, those that lie together are one
MOST_NAMED = 30  # points with their names beside them
LONGEST_NAME = 110.0
BESIDE = (  # where a name may be: how it is anchored, and where from its point
    *(("", 9.0, 4.0), (" end", -9.0, 4.0), (" middle", 0.0, -9.0), (" middle", 0.0, 18.0)),
    *(("", -4.0, -9.0), (" end", 4.0, -9.0), ("", -4.0, 18.0), (" end", 4.0, 18.0)),
)
SIZES = (60, 4.5), (400, 3.5)  # of up to so many points, and how large each is


class Known(NamedTuple):
    """A point with its values, which have a place, and the position of its group."""

    x: float
    y: float
    kind: int
    point: Mapping[str, Any]


class Place(NamedTuple):
    """A point on the page, and how many others it covers."""

    x: float
    y: float
    known: Known
    covered: int = 0


class Axes(NamedTuple):
    x_title: str
    y_title: str
    log_x: bool
    percent: bool


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
    about = f"Scatter plot: {y_title} against {x_title}"
    kinds: dict[str, int] = {}
    known = [one for point in points if (one := _known(point, kinds, log_x)) is not None]
    if not known:
        return empty(WIDTH, about, "nothing to show yet: no values")
    several = list(kinds) if len(kinds) > 1 else []
    of = f" of {', '.join(shown(kind, 60) for kind in several[:10])}" if several else ""
    axes = Axes(x_title, y_title, log_x, percent)
    named = len(known) <= MOST_NAMED and len(kinds) in (1, len(known))
    parts, height, all_named = _plot(known, [] if named else several, axes, named)
    if several and named and not all_named:
        parts, height, _ = _plot(known, several, axes, False)
    return picture(WIDTH, height, f"{about}; {len(known):,} points{of}", parts)


def _known(point: Mapping[str, Any], kinds: dict[str, int], log: bool) -> Known | None:
    """A point that has a place; its group is added to the kinds."""
    x, y = drawable(point["x"]), drawable(point["y"])
    if x is None or y is None or (log and x <= 0):
        return None
    group = point.get("group")
    return Known(x, y, kinds.setdefault("" if group is None else shown(group), len(kinds)), point)


def _plot(known: list[Known], kinds: list[str], axes: Axes, named: bool) -> tuple[list[str], float, bool]:
    """The parts of the chart, its height, and whether every point has its name beside it."""
    ticks = y_ticks([one.y for one in known], axes.percent)
    parts, legend_height = legend([Entry(kind, i) for i, kind in enumerate(kinds)], 0, _sample)
    top = legend_height + (6 if kinds else 0) + (ROW + 6 if axes.y_title else 8)
    room = Room(ticks.width + 8, WIDTH - 14, top, top + PLOT_HEIGHT)
    x = Scale(*extent([one.x for one in known], axes.log_x), room.left + 10, room.right - 10, axes.log_x)
    y = Scale(ticks.values[0], ticks.values[-1], room.bottom - 4, room.top)
    parts += [*y_axis(y, room, ticks, axes.y_title), *x_axis(x, room, x_ticks(x), axes.x_title)]
    places = _seen([Place(x(one.x), y(one.y), one) for one in known])
    radius = next((size for most, size in SIZES if len(places) <= most), 2.2)
    kind = "mark dot" if len(places) <= SIZES[-1][0] else "mark many"
    parts += [hovered(_shape(one.known.kind, one.x, one.y, radius, kind), _tip(one, axes)) for one in places]
    names = _names(places, room) if named else []
    return [*parts, *names], room.bottom + (44 if axes.x_title else 26), len(names) == len(known)


def _tip(one: Place, axes: Axes) -> list[Any]:
    point = one.known.point
    lines = [
        point["name"],
        f"{axes.x_title}: {number_text(one.known.x)}",
        f"{axes.y_title}: {number_text(one.known.y, axes.percent)}",
    ]
    return [*lines, *tip_lines(point)] + ([f"and {one.covered:,} more near it"] if one.covered else [])


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


def _seen(places: list[Place]) -> list[Place]:
    """All points or, of too many, the first of each kind in each cell of a grid just fine enough."""
    if len(places) <= MOST_MARKS:
        return places
    size = 1.0
    while True:
        cells = [(one.known.kind, round(one.x / size), round(one.y / size)) for one in places]
        counts = Counter(cells)
        if len(counts) <= MOST_MARKS or size > WIDTH:
            first = dict(zip(reversed(cells), reversed(places), strict=True))
            return [first[cell]._replace(covered=n - 1) for cell, n in counts.items()]
        size *= 1.5


def _names(places: list[Place], room: Room) -> list[str]:
    """Names beside points, where they cover neither a point nor another name nor the axis."""
    taken = [(one.x - 6, one.y - 6, one.x + 6, one.y + 6) for one in places]
    parts = []
    for one in places:
        name = one.known.point["name"]
        width = width_of(fitted(name, LONGEST_NAME, SMALL), SMALL)
        for kind, at, up in BESIDE:
            left = one.x + at - {"": 0.0, " end": width, " middle": width / 2}[kind]
            box = (left, one.y + up - 11, left + width, one.y + up + 3)
            inside = room.left <= left and left + width <= WIDTH and box[3] < room.bottom
            if inside and not any(_touch(box, other) for other in taken):
                taken.append(box)
                parts.append(label(f"name{kind}", one.x + at, one.y + up, name, LONGEST_NAME, SMALL))
                break
    return parts


def _touch(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
