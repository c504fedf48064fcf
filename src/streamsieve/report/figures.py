"""The pictures of runs and comparisons, from their descriptions: those of the page, and what ``plot()`` returns."""

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
from ..runs.record import as_read
from ..selection import Selection
from . import charts
from .comparison import OWN, contender, describe_comparison
from .markup import Child, Html, foreign, joined, tag
from .run import describe_run, selected_of
from .wording import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..evaluation.comparison import Comparison

MAX_BARS = 20  # features in the picture of weights
MAX_SETS = 8  # data sets with pictures of their own
MAX_POINTS = 200  # of a line
MIN_RANKS = 5
MAX_NAME_LENGTH = 40  # of a data set
MAX_NOTE_NAME_LENGTH = 28  # of a feature
WIDE = 8  # times the smallest number
MEASURES = {"accuracy": "accuracy", "r2": "R²"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Figure:
    """A picture of the report: a chart under its title, with what to know of it. A notebook shows it."""

    name: str  # in links and names of files
    title: str
    chart: partial[str]  # gives it as inline SVG, in the colours of the page's style sheet
    note: Child = None

    def html(self, prefix: str) -> Html:
        """Return the picture for a page, with buttons that save it; ``prefix`` begins its name there."""
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
        """Write the picture as an SVG file."""
        Figures([self]).save(path)

    def draw(self, axes: Axes) -> None:
        """Draw the picture on Matplotlib axes, as for a PDF: one of bars, lines or points."""
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
    """Pictures by name, in the order of the report. A notebook shows them, one below the other."""

    def __init__(self, figures: Iterable[Figure | None]) -> None:
        super().__init__((figure.name, figure) for figure in figures if figure is not None)

    def save(self, path: str | Path) -> None:
        """Write all pictures as one SVG file, one below the other."""
        if Path(path).suffix.lower() != ".svg":
            raise UsageError(
                f"{path}: pictures are written as SVG; give the file a name that ends in .svg"
            )
        with replacing(Path(path)) as partial_file:
            partial_file.write_text(self._repr_html_(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return charts.standalone([(figure.title, figure.chart()) for figure in self.values()])


def plot(source: Selection | RunRecord | Comparison, axes: Axes | None) -> Figures:
    """Return the pictures of a result; the first of them is drawn on ``axes`` too, if these are given."""
    if isinstance(source, Selection):
        made = figures_of_selection(finite(selected_of(as_read(source.ranked(), first_id=0))))
    elif isinstance(source, RunRecord):
        run = describe_run(source, read_data=False)
        made = [
            *figures_of_selection(run["selected"]),
            curve(run["curve"]),
            mistakes(run["mistakes"]),
            *changes(run["changes"]),
            times(run["cost"]["seconds"]),
        ]
    else:
        found = describe_comparison(source)
        made = [*against_k(found), *against_time(found), ranks(found["ranks"])]
    figures = Figures(made)
    if axes is not None:
        if not figures:
            raise UsageError(
                "there is nothing to draw yet: no cell of this comparison has a result"
            )
        next(iter(figures.values())).draw(axes)
    return figures


# ---- of a run


def figures_of_selection(columns: dict[str, list[Any]]) -> list[Figure | None]:
    """Return the pictures of selected features, from their columns."""
    return [weights(columns), falling_scores(columns["score"])]


def is_wide(numbers: list[int]) -> bool:
    """Return True if numbers are so different that only a logarithmic axis shows them all."""
    return max(numbers) > WIDE * max(1, min(numbers))


def weights(columns: dict[str, list[Any]]) -> Figure:
    """Return the weights, or scores, of the best features as bars, in the colours of their classes."""
    key = "weight" if "weight" in columns else "score"
    n = len(columns[key])
    groups = [
        None if label is None else f"speaks for {label}"
        for label in columns.get("class", [None] * n)
    ]
    best = islice(zip(columns["feature"], columns[key], groups, strict=True), MAX_BARS)
    bars = [(name, value, group) for name, value, group in best if value is not None]
    items = [
        {"name": name, "value": value, "group": group, "tip": group} for name, value, group in bars
    ]
    what = "Weights" if key == "weight" else "Scores"
    title = (
        f"{what} of the best {len(items)} features" if n > len(items) else f"{what} of the features"
    )
    return Figure("weights", title, partial(charts.bar_chart, items, signed=key == "weight"))


def falling_scores(scores: list[float | None]) -> Figure | None:
    """Return how fast scores fall with the rank, which shows where a selection could end."""
    known = [(rank, score) for rank, score in enumerate(scores, 1) if score is not None]
    if len(known) < MIN_RANKS:
        return None
    some = known[:: -(-len(known) // MAX_POINTS)]
    series = {"name": "score", "x": [rank for rank, _ in some], "y": [score for _, score in some]}
    log_x = len(known) > MAX_POINTS
    return Figure(
        "scores",
        "Scores by rank",
        partial(charts.line_chart, [series], x_title="rank", y_title="score", log_x=log_x),
    )


def curve(found: dict[str, Any] | None) -> Figure | None:
    """Return accuracy, or R2, against the number of features."""
    if found is None:
        return None
    quality = MEASURES[found["measure"]]
    series = {"name": f"online {quality}", "x": found["n_features"], "y": found["value"]}
    chart = partial(
        charts.line_chart,
        [series | {"low": found["low"], "high": found["high"]}],
        x_title="features",
        y_title=series["name"],
        log_x=is_wide(found["n_features"]),
        percent=found["measure"] == "accuracy",
        marked={
            "x": found["taken"],
            "label": f"{'chosen' if found['automatic'] else 'kept'}: {found['taken']:,}",
        },
    )
    about = (
        "Each row is predicted with the best k features before it is learned, all in the same pass."
    )
    bars = " Bars are 95% intervals." if found["low"] is not None else ""
    chosen = " The marked number was chosen automatically." if found["automatic"] else ""
    return Figure(
        "curve", f"Online {quality} with the best k features", chart, about + bars + chosen
    )


def mistakes(found: dict[str, Any] | None) -> Figure | None:
    """Return mistakes, or R2, over the stream."""
    if found is None:
        return None
    log_x = is_wide(found["rows"])
    if "r2" in found:
        so_far = {"name": "R² so far", "x": found["rows"], "y": found["r2"]}
        chart = partial(charts.line_chart, [so_far], x_title="rows", y_title="R²", log_x=log_x)
        return Figure("mistakes", "R² of predictions made before learning", chart)
    windows = found["windows"]
    recent = {"name": "in a window", "x": windows["rows"], "y": windows["rate"]}
    ranges = {"low": windows["low"], "high": windows["high"]}
    series = [recent | ranges, {"name": "so far", "x": found["rows"], "y": found["so_far"]}]
    chart = partial(
        charts.line_chart, series, x_title="rows", y_title="mistakes", percent=True, log_x=log_x
    )
    about = (
        "Every row is predicted before it is learned. A window has the rows since the one before;"
        " the ranges are "
    )
    return Figure("mistakes", "Mistakes made before learning", chart, f"{about}95% intervals.")


def changes(found: dict[str, Any] | None) -> list[Figure]:
    """Return when features were among the selected, and how many entered and left from look to look."""
    if found is None:
        return []
    at, unit, end = found["at"], found["unit"], found["end"]
    rows = []
    for feature in found["features"]:
        last = (
            end if feature["selected"] else end - 1
        )  # what left at the very end must not look as if it had stayed
        rows.append(
            {
                "name": feature["name"],
                "spans": [[at, min(stop, last)] for at, stop in feature["stays"]],
            }
        )
    moments = zip(at, found["entered"], found["left"], strict=True)
    last = max((moment for moment, entered, left in moments if entered or left), default=0)
    about = (
        f"The best of those that were selected in the end, and of the {found['n_gone']:,} others"
        f" those that stayed longest. The last change was after {last:,} {unit}."
    )
    about += (
        ""
        if found["complete"]
        else " Of so large a selection, only the best features were followed."
    )
    timeline = partial(charts.timeline, rows, x_title=unit, end=end)
    made = [Figure("stays", "When features were among the selected", timeline, about)]
    if len(at) > 2:
        series = [{"name": key, "x": at, "y": found[key]} for key in ("entered", "left")]
        chart = partial(
            charts.line_chart,
            series,
            x_title=unit,
            y_title="features",
            step=True,
            log_x=is_wide(at),
        )
        made.append(Figure("moves", "How many entered and left", chart))
    return made


def redundancy(found: dict[str, Any]) -> Figure:
    """Return the correlations of the best features."""
    names, matrix = found["names"], found["correlation"]
    pairs = [
        (abs(value), value, a, b)
        for a, line in enumerate(matrix)
        for b, value in enumerate(line[:a])
        if value is not None
    ]
    strongest: Child = None
    if pairs:
        _, value, a, b = max(pairs)
        first, second = (foreign(printable(names[i], MAX_NOTE_NAME_LENGTH)) for i in (b, a))
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
        joined(strongest, f"Over the first {found['n_rows']:,} rows, read again for this report."),
    )


def times(seconds: dict[str, float]) -> Figure:
    """Return where the time went."""
    items = [
        {"name": "reading", "value": seconds["read"]},
        {"name": "learning", "value": seconds["learn"]},
    ]
    return Figure(
        "cost", "Seconds, without compiling", partial(charts.bar_chart, items, x_title="seconds")
    )


# ---- of a comparison


def sets_of(found: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the means of the first model, and of own predictions, by data set."""
    model, sets = found["asked"]["models"][0], defaultdict(list)
    for line in found["summary"]:
        if line["model"] in (model, OWN) and line[found["measure"]] is not None:
            sets[line["data"]].append(line)
    return list(sets.items())


def contenders(lines: list[dict[str, Any]]) -> list[str]:
    """Return methods, and those with their own predictions, in order of appearance."""
    return list(dict.fromkeys(map(contender, lines)))


def against_k(found: dict[str, Any]) -> list[Figure]:
    """Return a picture per data set: a curve per method, with standard deviations."""
    measure, made = found["measure"], []
    for number, (data, lines) in enumerate(sets_of(found)[:MAX_SETS], 1):
        curves = (curve_of(name, lines, measure) for name in contenders(lines))
        series = [one for one in curves if one["x"]]
        ks = [k for one in series for k in one["x"]]
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
        made.append(Figure(f"k-{number}", printable(data, MAX_NAME_LENGTH), chart))
    return made


def curve_of(name: str, lines: list[dict[str, Any]], measure: str) -> dict[str, Any]:
    """Return the means of a method by rising number of features, with their standard deviations where all have one."""
    own = [line for line in lines if contender(line) == name and line["n_selected"]]
    own.sort(key=lambda line: float(line["n_selected"]))
    series = {
        "name": name,
        "x": [line["n_selected"] for line in own],
        "y": [line[measure] for line in own],
    }
    spreads = [line.get(f"{measure}_sd") for line in own]
    if None in spreads:
        return series
    ranges = [
        (mean - spread, mean + spread) for mean, spread in zip(series["y"], spreads, strict=True)
    ]
    return series | {"low": [low for low, _ in ranges], "high": [high for _, high in ranges]}


def against_time(found: dict[str, Any]) -> list[Figure]:
    """Return a picture per data set: how good and how quick each method is; upper left is best."""
    measure, made = found["measure"], []
    for number, (data, lines) in enumerate(sets_of(found)[:MAX_SETS], 1):
        points = [
            {
                "name": f"{contender(line)}, {'auto' if line['k'] is None else line['k']}",
                "x": line["seconds"],
                "y": line[measure],
                "group": contender(line),
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
        made.append(Figure(f"time-{number}", printable(data, MAX_NAME_LENGTH), chart))
    return made


def ranks(found: dict[str, Any]) -> Figure | None:
    """Return average ranks with the critical difference, if there is a test of them."""
    if "missing" in found:
        return None
    p_value = found["friedman"]["p_value"]
    difference = found["critical_difference"]
    about = (
        f"Mean ranks over {found['n_sets']:,} data sets by {MEASURES[found['measure']]}; 1 is best."
        " Methods that a bar joins do not differ significantly (Nemenyi's test, 5%; critical"
        f" difference {difference:.2f}). Friedman's test that all are alike: p = {p_value:.3g}."
    )
    if found["omitted"]:
        omitted = listed([printable(name, MAX_CELL_LENGTH) for name in found["omitted"]])
        about += f" Without {omitted}, which has no figure on some of the data."
    chart = partial(charts.critical_difference, found["average"], difference, found["cliques"])
    return Figure("ranks", "Critical difference", chart, foreign(about))
