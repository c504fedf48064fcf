"""Results as Matplotlib figures: what ``plot()`` of a selection, a record and a comparison returns.

Figures belong to whoever asks for them: nothing here is shown, and nothing is kept by Matplotlib's global state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
    from matplotlib.transforms import Transform
except ImportError:
    raise ImportError("plot() makes a Matplotlib figure: pip install 'streamsieve[report]'") from None

from .colours import LIGHT, N_COLOURS
from .naming import shown
from .showing import printable

if TYPE_CHECKING:
    from .runs import RunRecord
    from .selection import Selection

MOST_FEATURES = 20
MOST_SETS = 8  # data sets of a comparison, a row of plots each
LONGEST_NAME = 28
Horizontal = Literal["left", "right"]
Vertical = Literal["top", "bottom"]
MARKERS = "o", "s", "D", "^"
PERCENT = "accuracy", "balanced_accuracy", "online_mistake_rate"


class Comparison(Protocol):
    """What a figure of a comparison needs."""

    @property
    def measure(self) -> str: ...

    def summary(self) -> list[dict[str, Any]]: ...


class Bar(NamedTuple):
    name: str
    value: float
    group: Any = None


class NotebookFigure(Figure):
    """A figure that a notebook shows, whether or not pyplot was imported in it."""

    def _repr_png_(self) -> bytes:
        from io import BytesIO

        file = BytesIO()
        self.savefig(file, format="png", dpi=120)
        return file.getvalue()


def plot_selection(selection: Selection) -> Figure:
    """The best features by score, as bars."""
    lines = selection.ranked(MOST_FEATURES)
    bars = [Bar(shown(line["feature"], line.get("name"), 0), line["score"]) for line in lines]
    figure = NotebookFigure(figsize=(6.4, _bars_height(len(bars))), layout="constrained")
    _draw_bars(figure.add_subplot(), bars, _of_all("score", len(bars), len(selection)))
    return figure


def plot_record(record: RunRecord) -> Figure:
    """The best features with the class each speaks for, mistakes over the stream and accuracy against the number of
    features, as far as the run has them.
    """
    lines = record.table(MOST_FEATURES)
    measured = "weight" if lines and "weight" in lines[0] else "score"
    bars = [Bar(line["feature"], line[measured], line.get("class")) for line in lines]
    traced = "mistakes" if any("mistakes" in point for point in record.trace) else "r2"
    trace = [
        (point["rows"], point[traced]) for point in record.trace if _finite(point.get(traced)) and point["rows"] > 0
    ]
    n_small = (len(trace) > 0) + (record.curve is not None)
    height = max(_bars_height(len(bars)), 2.6 * n_small)
    figure = NotebookFigure(figsize=(10.0 if n_small else 6.4, height), layout="constrained")
    grid = figure.add_gridspec(max(1, n_small), 2 if n_small else 1)
    _draw_bars(
        figure.add_subplot(grid[:, 0]),
        bars,
        _of_all(measured, len(bars), len(record.selection)),
        slots=max(1, 8 * n_small),
    )
    if trace:
        _draw_trace(figure.add_subplot(grid[0, 1]), trace, traced, record.details.get("majority"))
    if record.curve is not None:
        _draw_curve(figure.add_subplot(grid[n_small - 1, 1]), record.curve, len(record.selection))
    return figure


def plot_comparison(comparison: Comparison) -> Figure:
    """Accuracy, or R2, against the number of features with standard deviations, and against time: a row per data set.

    Of several models the first is shown, of more than eight data sets the first eight.
    """
    measure = comparison.measure
    known = [line for line in comparison.summary() if _finite(line[measure]) and _finite(line["n_selected"])]
    known = [line for line in known if line["model"] == known[0]["model"]]
    methods = list(dict.fromkeys(line["method"] for line in known))
    sets = list(dict.fromkeys(line["data"] for line in known))
    figure = NotebookFigure(figsize=(10.0, 0.6 + 3.2 * max(1, min(len(sets), MOST_SETS))), layout="constrained")
    if not sets:
        _say_empty(figure.add_subplot(), "no cell of this comparison has a result yet")
        return figure
    for row, name in enumerate(sets[:MOST_SETS]):
        lines = [line for line in known if line["data"] == name]
        left, right = (figure.add_subplot(min(len(sets), MOST_SETS), 2, 2 * row + side) for side in (1, 2))
        _draw_against(left, lines, methods, "n_selected", measure)
        _draw_against(right, lines, methods, "seconds", measure)
        left.set_title(printable(name, LONGEST_NAME), loc="left", fontsize=11, fontweight="bold", parse_math=False)
        if row == min(len(sets), MOST_SETS) - 1:
            left.set_xlabel("selected features")
            right.set_xlabel("seconds")
    handles = [Line2D([], [], color=_colour(i), marker=_marker(i), markersize=5) for i in range(len(methods))]
    _add_legend(figure, handles, methods)
    return figure


# ---- the plots


def _draw_bars(axes: Axes, bars: Sequence[Bar], title: str, slots: int = 1) -> None:
    """Bars as thick as if there were at least so many of them."""
    known = [bar for bar in bars if _finite(bar.value)]
    if not known:
        _say_empty(axes, "no features were selected")
        return
    groups = list(dict.fromkeys(str(bar.group) for bar in known if bar.group is not None))
    colours = [_colour(0 if bar.group is None else groups.index(str(bar.group))) for bar in known]
    places = range(len(known))
    axes.barh(places, [bar.value for bar in known], color=colours, height=0.72 * min(1.0, len(known) / slots))
    axes.set_yticks(places, [printable(bar.name, LONGEST_NAME) for bar in known], parse_math=False)
    axes.set_ylim(len(known) - 0.4, -0.6)  # the best on top
    axes.set_xlabel(title)
    _quiet(axes, "x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=LIGHT["muted"], linewidth=0.8)
    if len(groups) > 1:
        handles = [Patch(color=_colour(i)) for i in range(len(groups))]
        _add_legend(axes, handles, groups)


def _draw_trace(axes: Axes, trace: list[tuple[float, float]], traced: str, majority: dict[str, Any] | None) -> None:
    rows = [row for row, _ in trace]
    if traced == "mistakes":
        rates = [count / row for row, count in trace]
        axes.plot(rows, rates, color=_colour(0), marker=_few(trace))
        axes.set_ylabel("mistakes so far")
        _percent(axes)
        guess = 0.0 if majority is None else 1 - majority["rate"]
        top = max(*rates, guess, 1e-6)
        axes.set_ylim(0, 1.1 * top)
        if guess:
            axes.axhline(guess, color=LIGHT["muted"], linewidth=1, linestyle=(0, (4, 3)))
            _note(
                axes,
                "always the most frequent class ",
                1.0,
                guess - 0.02 * top,
                axes.get_yaxis_transform(),
                "top",
                right=True,
            )
    else:
        axes.plot(rows, [value for _, value in trace], color=_colour(0), marker=_few(trace))
        axes.set_ylabel("R2 so far")
    axes.set_xlabel("rows")
    axes.set_xlim(0, 1.03 * rows[-1])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(_count))
    _quiet(axes, "y")


def _draw_curve(axes: Axes, curve: dict[str, list[Any]], chosen: int) -> None:
    measure = "accuracy" if "accuracy" in curve else "r2"
    points = [(k, value) for k, value in zip(curve["n_features"], curve[measure], strict=True) if _finite(value)]
    points = [(k, value) for k, value in points if k > 0]
    if not points:
        _say_empty(axes, "no rows were predicted")
        return
    axes.plot([k for k, _ in points], [value for _, value in points], color=_colour(0), marker=_few(points))
    if chosen > 0:
        axes.axvline(chosen, color=LIGHT["ink"], linewidth=1, linestyle=(0, (4, 3)))
        right = chosen**2 > points[0][0] * points[-1][0]  # where there is more room on the left
        _note(axes, f" selected: {chosen:,} ", chosen, 0.02, axes.get_xaxis_transform(), "bottom", right)
    axes.set_ylabel("online accuracy" if measure == "accuracy" else "online R2")
    axes.set_xlabel("features")
    if measure == "accuracy":
        _percent(axes)
    _by_decades(axes, [k for k, _ in points] + [chosen] * (chosen > 0))
    _quiet(axes, "y")


def _draw_against(axes: Axes, lines: list[dict[str, Any]], methods: list[str], x: str, measure: str) -> None:
    places = []
    for i, method in enumerate(methods):
        own = [line for line in lines if line["method"] == method and _finite(line[x]) and line[x] > 0]
        own.sort(key=lambda line: (line[x], line["n_selected"]))
        deviations = [line.get(f"{measure}_sd") or 0.0 for line in own]
        places += [line[x] for line in own]
        axes.errorbar(
            [line[x] for line in own],
            [line[measure] for line in own],
            yerr=deviations if any(deviations) else None,
            color=_colour(i),
            marker=_marker(i),
            markersize=4.5,
            linestyle="-" if x == "n_selected" else "none",
            linewidth=1.6,
            elinewidth=0.9,
            capsize=2,
        )
    axes.set_ylabel("R2" if measure == "r2" else measure.replace("_", " "))
    if measure in PERCENT:
        _percent(axes)
    _by_decades(axes, places)
    _quiet(axes, "y")


# ---- how they look


def _bars_height(n: int) -> float:
    return 1.3 + 0.24 * max(4, n)


def _of_all(measured: str, n: int, n_all: int) -> str:
    return measured if n == n_all else f"{measured} of the best {n} of {n_all:,}"


def _finite(value: Any) -> bool:
    return value is not None and math.isfinite(value)


def _colour(position: int) -> str:
    return LIGHT[f"c{position % N_COLOURS + 1}"]


def _marker(position: int) -> str:
    """After eight kinds colours begin again, with another marker."""
    return MARKERS[position // N_COLOURS % len(MARKERS)]


def _few(points: Sequence[Any]) -> str:
    """Few points are marked."""
    return "o" if len(points) <= 16 else ""


def _say_empty(axes: Axes, message: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, message, ha="center", va="center", color=LIGHT["muted"], transform=axes.transAxes)


def _note(axes: Axes, text: str, x: float, y: float, transform: Transform, vertical: Vertical, right: bool) -> None:
    """Small words beside a line."""
    horizontal: Horizontal = "right" if right else "left"
    words = axes.text(x, y, text, transform=transform, ha=horizontal, va=vertical, fontsize=8.5, color=LIGHT["muted"])
    words.set_in_layout(False)


def _quiet(axes: Axes, grid: str) -> None:
    """Few lines: those across the values, and the axis of what they are of."""
    for side in ("top", "right", "left" if grid == "y" else "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_axisbelow(True)
    axes.grid(axis="y" if grid == "y" else "x", color=LIGHT["grid"], linewidth=0.8)
    axes.tick_params(axis="y" if grid == "y" else "x", length=0, colors=LIGHT["muted"])


def _percent(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))


def _by_decades(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis, with 1-2-5 between few decades."""
    if not values:
        return
    axes.set_xscale("log")
    low, high = min(values), max(values)
    subs = (1.0, 2.0, 5.0) if high < 200 * low else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(10, subs=subs, numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(_count))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if low == high:
        axes.set_xlim(low / 2, high * 2)


def _count(value: float, _: Any = None) -> str:
    """A number of rows, features or seconds, short."""
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(unit, 1e5):
            return f"{value / unit:.4g}{suffix}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def _add_legend(owner: Axes | Figure, handles: Sequence[Any], names: Sequence[str]) -> None:
    """A legend above all plots, where it covers none."""
    place = (
        {"loc": "outside upper left"} if isinstance(owner, Figure) else {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    )
    texts = [printable(name, LONGEST_NAME) for name in names]
    legend = owner.legend(handles, texts, ncols=min(5, len(names)), frameon=False, fontsize=9, **place)
    for text in legend.get_texts():
        text.set_parse_math(False)
