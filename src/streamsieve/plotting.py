"""The charts of the report on Matplotlib axes that the user has created, as for a PDF.

Bars, lines and points. The arguments are those of the charts of ``report.charts``. Nothing is
shown, and pyplot is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from .colours import LIGHT, N_COLOURS
from .display import printable

MAX_NAME_LENGTH = 28
MARKERS = "o", "s", "D", "^"
MAX_POINTS_WITH_MARKERS = 16  # of a line


def draw_bars(
    axes: Axes, items: Sequence[Mapping[str, Any]], *, signed: bool = False, x_title: str = ""
) -> None:
    """Draw one horizontal bar per item, the first on top, in the colours of their groups."""
    groups = list(dict.fromkeys(item["group"] for item in items if item.get("group")))
    colours = [
        groups.index(item["group"]) if item.get("group") else int(signed and item["value"] < 0)
        for item in items
    ]
    axes.barh(
        range(len(items)),
        [item["value"] for item in items],
        color=list(map(colour_of, colours)),
        height=0.72,
    )
    names = [printable(item["name"], MAX_NAME_LENGTH) for item in items]
    axes.set_yticks(range(len(items)), names, parse_math=False)
    axes.set_ylim(len(items) - 0.4, -0.6)
    axes.set_xlabel(x_title)
    axes.axvline(0, color=LIGHT["muted"], linewidth=0.8)
    remove_clutter(axes, "x")
    add_legend(axes, groups, [Patch(color=colour_of(position)) for position in range(len(groups))])


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
    """Draw lines with bands from ``low`` to ``high``; ``marked`` is a position to point out."""
    lines = []
    for position, curve in enumerate(series):
        unknown = [None] * len(curve["x"])
        ranges = curve.get("low") or unknown, curve.get("high") or unknown
        points = zip(curve["x"], curve["y"], *ranges, strict=True)
        present = [point for point in points if point[1] is not None]
        x, y, low, high = np.array(present, np.float64).reshape(-1, 4).T
        lines += axes.plot(
            x,
            y,
            color=colour_of(position),
            marker=marker_of(position) if x.size <= MAX_POINTS_WITH_MARKERS else "",
            drawstyle="steps-post" if step else "default",
        )
        axes.fill_between(x, low, high, color=colour_of(position), alpha=0.16, linewidth=0)
    if marked is not None:
        axes.axvline(marked["x"], color=LIGHT["ink"], linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(
            marked["label"],
            (marked["x"], 1),
            xycoords=axes.get_xaxis_transform(),
            va="bottom",
            ha="center",
        )
    describe_axes(axes, x_title, y_title, log_x, percent)
    add_legend(axes, [curve["name"] for curve in series], lines)


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
    groups = list(dict.fromkeys(point["group"] for point in points))
    marks = []
    for position, group in enumerate(groups):
        members = [point for point in points if point["group"] == group]
        x, y = [point["x"] for point in members], [point["y"] for point in members]
        marks.append(axes.scatter(x, y, color=colour_of(position), marker=marker_of(position)))
    describe_axes(axes, x_title, y_title, log_x, percent)
    add_legend(axes, groups, marks)


def describe_axes(axes: Axes, x_title: str, y_title: str, log_x: bool, percent: bool) -> None:
    """Add titles and ticks; a logarithmic axis has ticks at 1, 2 and 5 of every decade."""
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    if percent:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0), numticks=12))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(count_text)
    remove_clutter(axes, "y")


def count_text(value: float, _: object) -> str:
    """Return a number with separators, without decimals if it is an integer."""
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def remove_clutter(axes: Axes, across: Literal["x", "y"]) -> None:
    """Keep few lines: the grid across the values, and the axis of the categories or positions."""
    axes.spines[["top", "right", "left" if across == "y" else "bottom"]].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis=across, color=LIGHT["grid"], linewidth=0.8)


def add_legend(axes: Axes, names: Sequence[str], marks: Sequence[Any]) -> None:
    """Add a legend of several names above the plot, where it covers nothing."""
    if len(names) < 2:
        return
    legend = axes.legend(
        marks,
        [printable(name, MAX_NAME_LENGTH) for name in names],
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=min(5, len(names)),
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def colour_of(position: int) -> str:
    """Return the colour of a series."""
    return LIGHT[f"c{position % N_COLOURS + 1}"]


def marker_of(position: int) -> str:
    """Return the marker of a series; it changes after eight series, when the colours repeat."""
    return MARKERS[position // N_COLOURS % len(MARKERS)]
