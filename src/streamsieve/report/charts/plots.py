"""Curves and points of two measures, such as accuracy against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...display import printable
from .axes import (
    PLOT_HEIGHT,
    ROW,
    WIDTH,
    Room,
    Scale,
    colour_of,
    draw_legend,
    draw_x_axis,
    draw_y_axis,
    drawable_value,
    extent,
    number_text,
    x_ticks,
    y_ticks,
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
    place,
    width_of,
    with_tip,
)

MAX_POINTS_WITH_WHISKERS = 16  # with more points, a band is drawn instead
MAX_MARKS = 80  # points of a curve that show a tip
MAX_NAME_WIDTH = 104.0  # at the end of a curve
MAX_NAMED = 30  # points with their names beside them
MAX_BESIDE_WIDTH = 110.0
BESIDE = (  # possible positions of a name: its anchor, and the offset from its point
    *(("", 9.0, 4.0), (" end", -9.0, 4.0), (" middle", 0.0, -9.0), (" middle", 0.0, 18.0)),
    *(("", -4.0, -9.0), (" end", 4.0, -9.0), ("", -4.0, 18.0), (" end", 4.0, 18.0)),
)
LARGE, SMALL_POINT = 4.5, 3.5  # the radius of a point; small with many points
MAX_LARGE_POINTS = 60
NAME_SIZE = {"": 0.0, " end": 1.0, " middle": 0.5}  # the part of a name left of its anchor


class Point(NamedTuple):
    """A point of a curve, with a range of y."""

    x: float
    y: float
    low: float | None
    high: float | None


class Curve(NamedTuple):
    """A curve: a series with its name and position, which decides the colour."""

    name: str
    position: int
    points: list[Point]


def line_chart(
    series: Sequence[Mapping[str, Any]],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    percent: bool = False,
    marked: Mapping[str, Any] | None = None,
    step: bool = False,
) -> str:
    """Draw one or more series as curves.

    A series has ``name``, ``x``, ``y`` and optionally ``low`` and ``high``, all of one length:
    ranges, drawn as whiskers of few points or as a band of many. ``percent``: y are fractions,
    written as percentages. ``marked`` (``x``, ``label``) is a position to highlight. ``step``: a
    value holds until the next.
    """
    about = f"Line chart: {y_title} against {x_title}"
    curves = [
        curve for i, item in enumerate(series) if (curve := _make_curve(i, item, log_x)).points
    ]
    if not curves:
        return empty(WIDTH, about, "nothing to show yet: no values")
    about += "; " + ", ".join(printable(curve.name, 60) for curve in curves[:10])
    marked_x = None if marked is None else drawable_value(marked["x"], log_x)
    xs = [point.x for curve in curves for point in curve.points] + (
        [] if marked_x is None else [marked_x]
    )
    ys = [y for curve in curves for point in curve.points for y in point[1:] if y is not None]
    ticks = y_ticks(ys, percent)
    x_low, x_high = extent(xs, log_x)
    names_at_end = _can_label_ends(curves, x_low, x_high)
    legend_kinds = (
        []
        if names_at_end or len(curves) == 1
        else [(curve.name, curve.position) for curve in curves]
    )
    parts, legend_height = draw_legend(legend_kinds, _draw_curve_sample)
    above = 0.0 if marked_x is None else ROW  # for the label of the highlighted position
    top = (ROW + 6 if y_title else 8) + legend_height + (6 if legend_kinds else 0) + above
    name_width = max(
        width_of(fit_to_width(curve.name, MAX_NAME_WIDTH, SMALL), SMALL) for curve in curves
    )
    room = Room(
        ticks.width + 8, WIDTH - (name_width + 26 if names_at_end else 14), top, top + PLOT_HEIGHT
    )
    x = Scale(x_low, x_high, room.left + 6, room.right - 6, log_x)
    y = Scale(ticks.values[0], ticks.values[-1], room.bottom, room.top)
    parts += draw_y_axis(y, room._replace(top=room.top - above), ticks, y_title) + draw_x_axis(
        x, room, x_ticks(x), x_title
    )
    layers = curves[::-1]  # the first on top
    parts += [part for curve in layers for part in _draw_ranges(curve, x, y)]
    parts += [_draw_path(curve, x, y, step) for curve in layers]
    if marked_x is not None and marked is not None:
        parts += _draw_marked_x(x(marked_x), room, str(marked["label"]))
    for curve in layers:
        parts += _draw_marks(
            curve, x, y, (x_title, y_title), percent, marked_x if len(curves) == 1 else None
        )
    parts += _draw_names_at_end(curves, x, y, room) if names_at_end else []
    return picture(WIDTH, room.bottom + (44 if x_title else 26), about, parts)


def _make_curve(position: int, series: Mapping[str, Any], log_x: bool) -> Curve:
    """Return the points of a series that can be drawn, by rising x."""
    lows, highs = (series.get(key) or [None] * len(series["x"]) for key in ("low", "high"))
    points = []
    for x, y, low, high in zip(series["x"], series["y"], lows, highs, strict=True):
        at, value = drawable_value(x, log_x), drawable_value(y)
        if at is not None and value is not None:
            points.append(Point(at, value, drawable_value(low), drawable_value(high)))
    return Curve(printable(series["name"]), position, sorted(points, key=lambda point: point.x))


def _curve_class(position: int) -> str:
    """Return the class of a curve; after eight curves the colours repeat, dashed."""
    return f"curve s{colour_of(position)}" + (f" d{position // 8 % 4}" if position >= 8 else "")


def _draw_curve_sample(position: int, x: float, y: float) -> str:
    return line(_curve_class(position), x + 1, y, x + 14, y)


def _draw_path(curve: Curve, x: Scale, y: Scale, step: bool) -> str:
    first, *others = [(place(x(point.x)), place(y(point.y))) for point in curve.points]
    path = "".join(f"H{at}V{height}" if step else f"L{at} {height}" for at, height in others)
    return f'<path class="{_curve_class(curve.position)}" d="M{" ".join(first)}{path}"/>'


def _draw_ranges(curve: Curve, x: Scale, y: Scale) -> list[str]:
    """Draw whiskers of few points, or a band of many."""
    ranged = [point for point in curve.points if point.low is not None and point.high is not None]
    kind = colour_of(curve.position)
    if ranged and len(curve.points) > MAX_POINTS_WITH_WHISKERS:
        above = [f"{place(x(point.x))} {place(y(point.high or 0.0))}" for point in ranged]
        below = [f"{place(x(point.x))} {place(y(point.low or 0.0))}" for point in reversed(ranged)]
        return [f'<path class="a{kind}" d="M{"L".join(above + below)}Z"/>']
    parts = []
    for point in ranged:
        at, left, low, high = map(
            place, (x(point.x), x(point.x) - 3, y(point.low or 0.0), y(point.high or 0.0))
        )
        parts.append(
            f'<path class="whisker s{kind}" d="M{at} {low}V{high}M{left} {low}h6M{left} {high}h6"/>'
        )
    return parts


def _draw_marks(
    curve: Curve, x: Scale, y: Scale, titles: tuple[str, str], percent: bool, ringed: float | None
) -> list[str]:
    points, visible = curve.points, len(curve.points) <= 2 * MAX_POINTS_WITH_WHISKERS
    n = min(len(points), MAX_MARKS)
    parts = []
    for point in (points[round(i * (len(points) - 1) / max(1, n - 1))] for i in range(n)):
        lines = [
            curve.name,
            f"{titles[0]}: {number_text(point.x)}",
            f"{titles[1]}: {number_text(point.y, percent)}",
        ]
        if point.low is not None and point.high is not None:
            lines.append(f"{number_text(point.low, percent)} to {number_text(point.high, percent)}")
        if visible and point.x == ringed:
            parts.append(draw_element("circle", "ring", cx=x(point.x), cy=y(point.y), r=6.5))
        kind = f"mark dot f{colour_of(curve.position)}" + ("" if visible else " hit")
        opening = element("circle", kind, cx=x(point.x), cy=y(point.y), r=3.5 if visible else 5)
        parts.append(with_tip(opening, lines))
    return parts


def _draw_marked_x(at: float, room: Room, text: str) -> list[str]:
    """Draw the highlighted position: a line through the plot with its label above."""
    width = width_of(fit_to_width(text, 220, SMALL), SMALL)
    middle = min(max(at, width / 2 + 2), WIDTH - width / 2 - 2)
    return [
        line("chosen", at, room.top - 2, at, room.bottom),
        label("tick strong middle", middle, room.top - 9, text, 220, SMALL),
    ]


def _can_label_ends(curves: list[Curve], low: float, high: float) -> bool:
    """Return True if names are written at the ends of the curves.

    The curves must end together, and no name must be shortened.
    """
    end_together = all(curve.points[-1].x >= high - 0.02 * (high - low) for curve in curves)
    return (
        end_together
        and 1 < len(curves) <= 8
        and all(width_of(curve.name, SMALL) <= MAX_NAME_WIDTH for curve in curves)
    )


def _draw_names_at_end(curves: list[Curve], x: Scale, y: Scale, room: Room) -> list[str]:
    """Draw names to the right of the plot, near their curves and not touching."""
    wanted = sorted((y(curve.points[-1].y), curve.position, curve) for curve in curves)
    heights = spread_apart([height for height, _, _ in wanted], SMALL + 3, room.top, room.bottom)
    parts = []
    for (end, _, curve), height in zip(wanted, heights, strict=True):
        colour, dot = colour_of(curve.position), room.right + 14
        parts += [
            line(f"lead s{colour}", x(curve.points[-1].x) + 5, end, dot, height),
            draw_element("circle", f"f{colour}", cx=dot, cy=height, r=3),
            label("tick", room.right + 21, height + 4, curve.name, MAX_NAME_WIDTH + 2, SMALL),
        ]
    return parts


def spread_apart(wanted: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Return rising heights near the wanted ones, each at least ``apart`` from the next.

    Neighbours that are too near are placed next to each other around the mean of their wanted
    heights; this is repeated until all are apart.
    """
    # Of each group: the first heights that its members want, and their mean.
    groups: list[tuple[list[float], float]] = []
    for i, height in enumerate(wanted):
        group = [height - apart * i]
        while groups and groups[-1][1] > sum(group) / len(group):
            group = groups.pop()[0] + group
        groups.append((group, sum(group) / len(group)))
    flat = [
        first + apart * i for i, first in enumerate(first for group, first in groups for _ in group)
    ]
    excess = max(0.0, flat[-1] - high) if flat else 0.0
    return [
        max(height - excess, low + apart * i) if flat[0] - excess < low else height - excess
        for i, height in enumerate(flat)
    ]


class PlacedPoint(NamedTuple):
    """A point that can be drawn, with its values and the position of its group."""

    x: float
    y: float
    kind: int
    point: Mapping[str, Any]


PlacedName = tuple[float, float, PlacedPoint]  # coordinates on the page, and the point


def scatter(
    points: Sequence[Mapping[str, Any]],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    percent: bool = False,
) -> str:
    """Draw points with a name and, if there are several kinds, a ``group``.

    ``tip`` is shown with their values. Groups have a colour and, after eight of them, another
    shape. Where points have no groups, or each its own, their names are beside them; otherwise a
    legend names the groups.
    """
    kinds: dict[str, int] = {}
    placed_points = []
    for point in points:
        x_value, y_value = drawable_value(point["x"], log_x), drawable_value(point["y"])
        if x_value is not None and y_value is not None:
            group = "" if point.get("group") is None else printable(point["group"])
            kind = kinds.setdefault(group, len(kinds))
            placed_points.append(PlacedPoint(x_value, y_value, kind, point))
    about = f"Scatter plot: {y_title} against {x_title}"
    if not placed_points:
        return empty(WIDTH, about, "nothing to show yet: no values")
    named_kinds = kinds if len(kinds) > 1 else {}
    kinds_text = (
        f" of {', '.join(printable(kind, 60) for kind in list(named_kinds)[:10])}"
        if named_kinds
        else ""
    )
    about += f"; {len(placed_points):,} points{kinds_text}"

    def draw_points(kinds: Mapping[str, int], named: bool) -> tuple[str, bool]:
        """Return the chart, and True if every point has its name beside it."""
        ticks = y_ticks([item.y for item in placed_points], percent)
        parts, height = draw_legend(kinds.items(), _draw_point_sample)
        top = height + (6 if kinds else 0) + (ROW + 6 if y_title else 8)
        room = Room(ticks.width + 8, WIDTH - 14, top, top + PLOT_HEIGHT)
        x = Scale(
            *extent([item.x for item in placed_points], log_x),
            room.left + 10,
            room.right - 10,
            log_x,
        )
        y = Scale(ticks.values[0], ticks.values[-1], room.bottom - 4, room.top)
        parts += [*draw_y_axis(y, room, ticks, y_title), *draw_x_axis(x, room, x_ticks(x), x_title)]
        places = [(x(item.x), y(item.y), item) for item in placed_points]
        radius = LARGE if len(placed_points) <= MAX_LARGE_POINTS else SMALL_POINT
        for left, middle, item in places:
            values = [
                f"{x_title}: {number_text(item.x)}",
                f"{y_title}: {number_text(item.y, percent)}",
            ]
            shape = _open_shape(item.kind, left, middle, radius, "mark dot")
            parts.append(with_tip(shape, [item.point["name"], *values, item.point.get("tip")]))
        names = _draw_names(places, room) if named else []
        svg = picture(WIDTH, room.bottom + (44 if x_title else 26), about, [*parts, *names])
        return svg, len(names) == len(placed_points)

    if len(placed_points) <= MAX_NAMED and len(kinds) in (1, len(placed_points)):
        svg, all_named = draw_points({}, named=True)
        if all_named or not named_kinds:
            return svg
    return draw_points(named_kinds, named=False)[0]


def _draw_point_sample(position: int, x: float, y: float) -> str:
    return _open_shape(position, x + 8, y, 4.5, "dot") + "/>"


def _open_shape(position: int, x: float, y: float, r: float, kind: str) -> str:
    """Return the opening of a mark: a circle, then a square, a diamond, a triangle.

    The shape changes after eight kinds each. The element is not closed.
    """
    classes = f"{kind} f{colour_of(position)}"
    shape = position // 8 % 4
    if shape == 0:
        return element("circle", classes, cx=x, cy=y, r=r)
    if shape == 1:
        return element("rect", classes, x=x - 0.9 * r, y=y - 0.9 * r, width=1.8 * r, height=1.8 * r)
    side, right = place(1.25 * r), place(1.1 * r)
    diamond = f"{place(y - 1.25 * r)}l{side} {side}l-{side} {side}l-{side} -{side}Z"
    triangle = f"{place(y - 1.1 * r)}l{right} {place(2 * r)}h-{place(2.2 * r)}Z"
    return f'<path class="{classes}" d="M{place(x)} {diamond if shape == 2 else triangle}"'


def _draw_names(places: list[PlacedName], room: Room) -> list[str]:
    """Draw names beside points, where they cover no point, no other name and no axis."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y, _ in places]
    parts = []
    for x, y, point in places:
        name = point.point["name"]
        width = width_of(fit_to_width(name, MAX_BESIDE_WIDTH, SMALL), SMALL)
        for kind, at, up in BESIDE:
            left = x + at - width * NAME_SIZE[kind]
            box = (left, y + up - 11, left + width, y + up + 3)
            inside = room.left <= left and left + width <= WIDTH and box[3] < room.bottom
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                parts.append(label(f"name{kind}", x + at, y + up, name, MAX_BESIDE_WIDTH, SMALL))
                break
    return parts


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    """Return True if two boxes overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
