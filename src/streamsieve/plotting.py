"""Charts of the report on Matplotlib axes that the user has made, as for a PDF: bars, lines and points.

The arguments are those of the charts of ``report.charts``. Nothing is shown, and pyplot is not
needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from .colours import LIGHT, N_COLOURS
from .display import printable

MAX_NAME_LENGTH = 28
MARKERS = "o", "s", "D", "^"
MAX_POINTS_WITH_MARKERS = 16  # each is marked


def draw_bars(
    axes: Axes, items: Sequence[Mapping[str, Any]], *, signed: bool = False, x_title: str = ""
) -> None:
    """Draw one horizontal bar per item, the first on top, in the colours of their groups."""
    bars = [item for item in items if is_finite(item["value"])]
    groups = list(dict.fromkeys(item["group"] for item in bars if item.get("group") is not None))
    colours = []
    for item in bars:
        position = 1 if signed and item["value"] < 0 else 0
        colours.append(
            colour_of(position if item.get("group") is None else groups.index(item["group"]))
        )
    axes.barh(range(len(bars)), [item["value"] for item in bars], color=colours, height=0.72)
    axes.set_yticks(
        range(len(bars)),
        [printable(item["name"], MAX_NAME_LENGTH) for item in bars],
        parse_math=False,
    )
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlabel(x_title)
    axes.axvline(0, color=LIGHT["muted"], linewidth=0.8)
    quieten(axes, "x")
    if len(groups) > 1:
        add_legend(
            axes, groups, [Patch(color=colour_of(position)) for position in range(len(groups))]
        )


def draw_lines(
    axes: Axes,
    series: Sequence[Mapping[str, Any]],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    percent: bool = False,
    marked: Mapping[str, Any] | None = None,
    step: bool = False,
) -> None:
    """Draw curves with bands from ``low`` to ``high``; ``marked`` is a place to point out."""
    lines = []
    for position, one in enumerate(series):
        colour, n = colour_of(position), len(one["x"])
        known = [i for i in range(n) if is_finite(one["y"][i]) and (one["x"][i] > 0 or not log_x)]
        x, y = [one["x"][i] for i in known], [one["y"][i] for i in known]
        marker = marker_of(position) if len(known) <= MAX_POINTS_WITH_MARKERS else ""
        lines += axes.plot(
            x, y, color=colour, marker=marker, drawstyle="steps-post" if step else "default"
        )
        low, high = one.get("low") or [None] * n, one.get("high") or [None] * n
        ranged = [i for i in known if is_finite(low[i]) and is_finite(high[i])]
        bounds = [low[i] for i in ranged], [high[i] for i in ranged]
        axes.fill_between(
            [one["x"][i] for i in ranged], *bounds, color=colour, alpha=0.16, linewidth=0
        )
    if marked is not None:
        axes.axvline(
            marked["x"],
            color=LIGHT["ink"],
            linewidth=1,
            linestyle=(0, (4, 3)),
            label=marked["label"],
        )
        axes.annotate(
            marked["label"],
            (marked["x"], 1),
            xycoords=axes.get_xaxis_transform(),
            va="bottom",
            ha="center",
        )
    describe_axes(axes, x_title, y_title, log_x, percent)
    if len(series) > 1:
        add_legend(axes, [one["name"] for one in series], lines)


def draw_points(
    axes: Axes,
    points: Sequence[Mapping[str, Any]],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    percent: bool = False,
) -> None:
    """Draw points in the colours of their groups."""
    groups = list(dict.fromkeys(str(point.get("group")) for point in points))
    marks = []
    for position, group in enumerate(groups):
        own = [point for point in points if str(point.get("group")) == group]
        x, y = [point["x"] for point in own], [point["y"] for point in own]
        marks.append(axes.scatter(x, y, color=colour_of(position), marker=marker_of(position)))
    describe_axes(axes, x_title, y_title, log_x, percent)
    if len(groups) > 1:
        add_legend(axes, groups, marks)


def describe_axes(axes: Axes, x_title: str, y_title: str, log_x: bool, percent: bool) -> None:
    """Write titles and ticks, 1-2-5 of every decade on a logarithmic axis."""
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    if percent:
        axes.yaxis.set_major_formatter(FuncFormatter(percent_text))
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=12))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(FuncFormatter(count_text))
    quieten(axes, "y")


def percent_text(value: float, _: object) -> str:
    return f"{100 * value:.4g}%"


def count_text(value: float, _: object) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def quieten(axes: Axes, across: str) -> None:
    """Leave few lines: those across the values, and the axis of what they are of."""
    axes.spines[["top", "right", "left" if across == "y" else "bottom"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="y" if across == "y" else "x", color=LIGHT["grid"], linewidth=0.8)


def add_legend(axes: Axes, names: Sequence[str], marks: Sequence[Any]) -> None:
    """Write a legend above the plot, where it covers nothing."""
    texts = [printable(name, MAX_NAME_LENGTH) for name in names]
    legend = axes.legend(
        marks,
        texts,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=min(5, len(texts)),
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def colour_of(position: int) -> str:
    return LIGHT[f"c{position % N_COLOURS + 1}"]


def marker_of(position: int) -> str:
    """Return a marker; after eight kinds colours begin again, with another one."""
    return MARKERS[position // N_COLOURS % len(MARKERS)]
