"""The figures of runs and comparisons, for the page and for ``plot()``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..display import MAX_CELL_LENGTH, printable
from ..errors import UsageError
from ..files import replacing
from ..json_text import finite
from ..runs import RunRecord
from ..runs.record import to_display_lines
from ..selection import Selection
from . import charts
from .comparison import OWN, describe_comparison, method_label
from .markup import Child, Html, isolate_text, join_html, tag
from .run import describe_run, selected_of
from .wording import join_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation.comparison import Comparison

MAX_BARS = 20  # features in the figure of weights
MAX_SETS = 8  # data sets with their own figures
MAX_POINTS = 200  # of a line
MIN_RANKS = 5
MAX_NAME_LENGTH = 40  # of a data set
MAX_NOTE_NAME_LENGTH = 28  # of a feature
WIDE = 8  # the ratio of numbers from which an axis is logarithmic
MEASURES = {"accuracy": "accuracy", "r2": "R²"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Figure:
    """A figure of the report: a chart with its title and a note; notebooks show it."""

    name: str  # in links and names of files
    title: str
    chart: partial[str]  # returns inline SVG, in the colours of the page's style sheet
    note: Child = None

    def html(self, prefix: str) -> Html:
        """Return the figure for a page, with buttons to save it; ``prefix`` begins its id."""
        buttons = (
            tag(
                "button",
                kind.upper(),
                type="button",
                class_="quiet",
                data_save=kind,
                aria_label=f"Save {self.title} as {kind.upper()}",
            )
            for kind in ("svg", "png")
        )
        caption = tag(
            "figcaption",
            tag("span", self.title, class_="title"),
            tag("span", buttons, class_="tools"),
        )
        canvas = tag("div", Html(self.chart()), class_="canvas")
        about = tag("p", self.note, class_="note") if self.note else None
        return tag(
            "figure", caption, canvas, about, id=f"picture-{prefix}-{self.name}", class_="picture"
        )

    def save(self, path: str | Path) -> None:
        """Write the figure as an SVG file."""
        Figures([self]).save(path)

    def draw(self, axes: Axes) -> None:
        """Draw a figure of bars, lines or points on Matplotlib axes, as for a PDF."""
        from .. import plotting

        drawings: dict[Callable[..., str], Callable[..., None]] = {
            charts.bar_chart: plotting.draw_bars,
            charts.line_chart: plotting.draw_lines,
            charts.scatter: plotting.draw_points,
        }
        if self.chart.func not in drawings:
            raise UsageError(f"{self.title}: cannot be drawn on Matplotlib axes; save it as SVG")
        drawings[self.chart.func](axes, *self.chart.args, **self.chart.keywords)

    def __repr__(self) -> str:
        return f"<Figure: {printable(self.title, MAX_CELL_LENGTH)}>"

    def _repr_html_(self) -> str:
        return Figures([self])._repr_html_()


class Figures(dict[str, Figure]):
    """Figures by name, in the order of the report; notebooks show them in one column."""

    def __init__(self, figures: Iterable[Figure | None]) -> None:
        super().__init__((figure.name, figure) for figure in figures if figure is not None)

    def save(self, path: str | Path) -> None:
        """Write all figures to one SVG file, one below the other."""
        if Path(path).suffix.lower() != ".svg":
            raise UsageError(
                f"{path}: figures are written as SVG; the name of the file must end in .svg"
            )
        with replacing(Path(path)) as partial_file:
            partial_file.write_text(self._repr_html_(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return charts.standalone([(figure.title, figure.chart()) for figure in self.values()])


def plot(source: Selection | RunRecord | Comparison, axes: Axes | None) -> Figures:
    """Return the figures of a result; the first is also drawn on ``axes`` if they are given."""
    if isinstance(source, Selection):
        figure_list = figures_of_selection(
            finite(selected_of(to_display_lines(source.ranked(), first_id=0)))
        )
    elif isinstance(source, RunRecord):
        run = describe_run(source, read_data=False)
        figure_list = [
            *figures_of_selection(run["selected"]),
            curve_figure(run["curve"]),
            mistakes_figure(run["mistakes"]),
            *changes_figures(run["changes"]),
            times_figure(run["cost"]["seconds"]),
        ]
    else:
        comparison = describe_comparison(source)
        figure_list = [
            *against_k_figures(comparison),
            *against_time_figures(comparison),
            ranks_figure(comparison["ranks"]),
        ]
    figures = Figures(figure_list)
    if axes is not None:
        if not figures:
            raise UsageError("there is nothing to draw: no cell of this comparison has a result")
        next(iter(figures.values())).draw(axes)
    return figures


# ---- of a run


def figures_of_selection(columns: dict[str, list[Any]]) -> list[Figure | None]:
    """Return the figures of the selected features, from their columns."""
    return [weights_figure(columns), scores_figure(columns["score"])]


def is_wide(numbers: list[int]) -> bool:
    """Return True if numbers differ so much that they need a logarithmic axis."""
    return max(numbers) > WIDE * max(1, min(numbers))


def weights_figure(columns: dict[str, list[Any]]) -> Figure:
    """Return the weights, or scores, of the best features as bars coloured by class."""
    key = "weight" if "weight" in columns else "score"
    n = len(columns[key])
    groups = [
        None if label is None else f"predicts class {label}"
        for label in columns.get("class", [None] * n)
    ]
    best = islice(zip(columns["feature"], columns[key], groups, strict=True), MAX_BARS)
    items = [
        {"name": name, "value": value, "group": group, "tip": group}
        for name, value, group in best
        if value is not None
    ]
    quantity = "Weights" if key == "weight" else "Scores"
    title = (
        f"{quantity} of the best {len(items)} features"
        if n > len(items)
        else f"{quantity} of the features"
    )
    return Figure("weights", title, partial(charts.bar_chart, items, signed=key == "weight"))


def scores_figure(scores: list[float | None]) -> Figure | None:
    """Return the scores by rank, which show where a selection could end."""
    ranked = [(rank, score) for rank, score in enumerate(scores, 1) if score is not None]
    if len(ranked) < MIN_RANKS:
        return None
    points = ranked[:: -(-len(ranked) // MAX_POINTS)]
    chart = partial(
        charts.line_chart,
        [{"name": "score", "x": [rank for rank, _ in points], "y": [score for _, score in points]}],
        x_title="rank",
        y_title="score",
        log_x=len(ranked) > MAX_POINTS,
    )
    return Figure("scores", "Scores by rank", chart)


def curve_figure(curve_data: dict[str, Any] | None) -> Figure | None:
    """Return accuracy, or R2, against the number of features."""
    if curve_data is None:
        return None
    quality = MEASURES[curve_data["measure"]]
    series = {
        "name": f"online {quality}",
        "x": curve_data["n_features"],
        "y": curve_data["value"],
        "low": curve_data["low"],
        "high": curve_data["high"],
    }
    chart = partial(
        charts.line_chart,
        [series],
        x_title="features",
        y_title=series["name"],
        log_x=is_wide(curve_data["n_features"]),
        percent=curve_data["measure"] == "accuracy",
        marked={
            "x": curve_data["taken"],
            "label": f"{'chosen' if curve_data['automatic'] else 'kept'}: {curve_data['taken']:,}",
        },
    )
    about = (
        "Each row is predicted with the best k features before it is learned, all in the same pass."
    )
    bars = " Bars are 95% intervals." if curve_data["low"] is not None else ""
    chosen = " The marked number was chosen automatically." if curve_data["automatic"] else ""
    return Figure(
        "curve", f"Online {quality} with the best k features", chart, about + bars + chosen
    )


def mistakes_figure(mistake_data: dict[str, Any] | None) -> Figure | None:
    """Return mistakes, or R2, over the stream."""
    if mistake_data is None:
        return None
    log_x = is_wide(mistake_data["rows"])
    if "r2" in mistake_data:
        so_far = {"name": "R² so far", "x": mistake_data["rows"], "y": mistake_data["r2"]}
        chart = partial(charts.line_chart, [so_far], x_title="rows", y_title="R²", log_x=log_x)
        return Figure("mistakes", "R² of predictions made before learning", chart)
    windows = mistake_data["windows"]
    series = [
        {
            "name": "in a window",
            "x": windows["rows"],
            "y": windows["rate"],
            "low": windows["low"],
            "high": windows["high"],
        },
        {"name": "so far", "x": mistake_data["rows"], "y": mistake_data["so_far"]},
    ]
    chart = partial(
        charts.line_chart, series, x_title="rows", y_title="mistakes", percent=True, log_x=log_x
    )
    about = (
        "Every row is predicted before it is learned. A window is the rows since the previous one;"
        " the ranges are 95% intervals."
    )
    return Figure("mistakes", "Mistakes made before learning", chart, about)


def changes_figures(change_data: dict[str, Any] | None) -> list[Figure]:
    """Return when features were selected, and how many entered and left over time."""
    if change_data is None:
        return []
    times, unit, end = change_data["at"], change_data["unit"], change_data["end"]
    moments = zip(times, change_data["entered"], change_data["left"], strict=True)
    last = max((moment for moment, entered, left in moments if entered or left), default=0)
    about = (
        f"The best of the features selected in the end, and of the {change_data['n_gone']:,} others"
        f" those that stayed longest. The last change was after {last:,} {unit}."
    )
    if not change_data["complete"]:
        about += " The selection is so large that only the best features were followed."
    timeline = partial(charts.timeline, change_data["features"], x_title=unit, end=end)
    figure_list = [Figure("stays", "When features were among the selected", timeline, about)]
    if len(times) > 2:
        series = [{"name": key, "x": times, "y": change_data[key]} for key in ("entered", "left")]
        chart = partial(
            charts.line_chart,
            series,
            x_title=unit,
            y_title="features",
            step=True,
            log_x=is_wide(times),
        )
        figure_list.append(Figure("moves", "How many entered and left", chart))
    return figure_list


def redundancy_figure(redundancy_data: dict[str, Any]) -> Figure:
    """Return the correlations of the best features."""
    names, matrix = redundancy_data["names"], redundancy_data["correlation"]
    pairs = [
        (abs(value), value, a, b)
        for a, line in enumerate(matrix)
        for b, value in enumerate(line[:a])
        if value is not None
    ]
    strongest: Child = None
    if pairs:
        _, value, a, b = max(pairs)
        first, second = (isolate_text(printable(names[i], MAX_NOTE_NAME_LENGTH)) for i in (b, a))
        strongest = (
            "The most alike are ",
            first,
            " and ",
            second,
            f", with a correlation of {value:+.2f}. ",
        )
    return Figure(
        "redundancy",
        f"Correlations of the best {len(names)} features",
        partial(charts.heat_map, names, matrix, title="correlation"),
        join_html(
            strongest,
            f"Over the first {redundancy_data['n_rows']:,} rows, read again for this report.",
        ),
    )


def times_figure(seconds: dict[str, float]) -> Figure:
    """Return the time for reading and learning."""
    items = [
        {"name": "reading", "value": seconds["read"]},
        {"name": "learning", "value": seconds["learn"]},
    ]
    return Figure(
        "cost", "Seconds, without compiling", partial(charts.bar_chart, items, x_title="seconds")
    )


# ---- of a comparison


def sets_of(comparison: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the means of the first model and of own predictions, by data set."""
    model, sets = comparison["asked"]["models"][0], defaultdict(list)
    for line in comparison["summary"]:
        if line["model"] in (model, OWN) and line[comparison["measure"]] is not None:
            sets[line["data"]].append(line)
    return list(sets.items())


def method_labels(lines: list[dict[str, Any]]) -> list[str]:
    """Return the labels of methods in order of appearance."""
    return list(dict.fromkeys(map(method_label, lines)))


def against_k_figures(comparison: dict[str, Any]) -> list[Figure]:
    """Return a figure per data set: a curve per method, with standard deviations."""
    measure, figure_list = comparison["measure"], []
    for number, (data, lines) in enumerate(sets_of(comparison)[:MAX_SETS], 1):
        curves = (curve_of(name, lines, measure) for name in method_labels(lines))
        series = [curve_data for curve_data in curves if curve_data["x"]]
        ks = [k for curve_data in series for k in curve_data["x"]]
        if len(set(ks)) < 2:
            continue
        chart = partial(
            charts.line_chart,
            series,
            x_title="features",
            y_title=MEASURES[measure],
            log_x=is_wide(ks),
            percent=measure == "accuracy",
        )
        figure_list.append(Figure(f"k-{number}", printable(data, MAX_NAME_LENGTH), chart))
    return figure_list


def curve_of(name: str, lines: list[dict[str, Any]], measure: str) -> dict[str, Any]:
    """Return the means of a method by rising number of features.

    Standard deviations are added where all means have one.
    """
    method_lines = sorted(
        (line for line in lines if method_label(line) == name and line["n_selected"]),
        key=lambda line: float(line["n_selected"]),
    )
    series = {
        "name": name,
        "x": [line["n_selected"] for line in method_lines],
        "y": [line[measure] for line in method_lines],
    }
    spreads = [line.get(f"{measure}_sd") for line in method_lines]
    if None in spreads:
        return series
    ranges = [
        (mean - spread, mean + spread) for mean, spread in zip(series["y"], spreads, strict=True)
    ]
    return series | {"low": [low for low, _ in ranges], "high": [high for _, high in ranges]}


def against_time_figures(comparison: dict[str, Any]) -> list[Figure]:
    """Return a figure per data set: quality against time of each method."""
    measure, figure_list = comparison["measure"], []
    for number, (data, lines) in enumerate(sets_of(comparison)[:MAX_SETS], 1):
        points = [
            {
                "name": f"{method_label(line)}, {'auto' if line['k'] is None else line['k']}",
                "x": line["seconds"],
                "y": line[measure],
                "group": method_label(line),
                "tip": f"{line['n_selected']:,.0f} features",
            }
            for line in lines
            if line["seconds"] is not None
        ]
        chart = partial(
            charts.scatter,
            points,
            x_title="seconds",
            y_title=MEASURES[measure],
            log_x=True,
            percent=measure == "accuracy",
        )
        figure_list.append(Figure(f"time-{number}", printable(data, MAX_NAME_LENGTH), chart))
    return figure_list


def ranks_figure(ranks: dict[str, Any]) -> Figure | None:
    """Return average ranks with the critical difference, or None if there is no test of them."""
    if "missing" in ranks:
        return None
    p_value, difference = ranks["friedman"]["p_value"], ranks["critical_difference"]
    about = (
        f"Mean ranks over {ranks['n_sets']:,} data sets by {MEASURES[ranks['measure']]}; 1 is best."
        " Methods joined by a bar do not differ significantly (Nemenyi's test, 5%; critical"
        f" difference {difference:.2f}). Friedman's test that methods are equal: p = {p_value:.3g}."
    )
    if ranks["omitted"]:
        omitted = join_words([printable(name, MAX_CELL_LENGTH) for name in ranks["omitted"]])
        about += f" Without {omitted}, which has no result on some of the data."
    chart = partial(charts.critical_difference, ranks["average"], difference, ranks["cliques"])
    return Figure("ranks", "Critical difference", chart, isolate_text(about))
