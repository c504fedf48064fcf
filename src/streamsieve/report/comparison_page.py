"""Write the page of one comparison from its description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..display import MAX_CELL_LENGTH, printable
from . import figures
from .comparison import OWN, method_label, value_text
from .figures import MAX_NAME_LENGTH, MAX_SETS, MEASURES, Figure, method_labels
from .markup import (
    Child,
    Column,
    Html,
    KeyFigure,
    Section,
    facts,
    integer_column,
    isolate_text,
    join_html,
    note,
    number_column,
    table,
    tag,
    text_column,
)
from .wording import seconds

MAX_VALUE_LENGTH = 300


def k_column(ks: Sequence[int | None]) -> Column:
    """Return a column of numbers of features, with "auto" where the method chooses."""
    if None not in ks:
        return integer_column("k", ks)
    return text_column("k", ["auto" if k is None else k for k in ks])


def memory_column(sizes: Sequence[int | None]) -> Column:
    """Return a column of sizes in megabytes."""
    return integer_column(
        "Memory, MB", [None if size is None else round(size / 1e6) for size in sizes]
    )


COLUMNS: dict[str, Callable[[list[Any]], Column]] = {  # of all lines
    "data": partial(text_column, "Data"),
    "method": partial(text_column, "Method"),
    "k": k_column,
    "seed": partial(integer_column, "Seed"),
    "fold": partial(integer_column, "Fold"),
    "model": partial(text_column, "Model"),
    "n_selected": partial(integer_column, "Selected"),
    "accuracy": partial(number_column, "Accuracy", kind="percent"),
    "balanced_accuracy": partial(number_column, "Balanced", kind="percent"),
    "auc": partial(number_column, "AUC"),
    "r2": partial(number_column, "R²"),
    "online_mistake_rate": partial(number_column, "Online mistakes", kind="percent"),
    "seconds": partial(number_column, "Seconds"),
    "learn_seconds": partial(number_column, "Learning"),
    "peak_memory_bytes": memory_column,
}
SIZES = {"rows": "Rows", "test_rows": "Test rows", "features": "Features", "nonzeros": "Non-zeros"}


def key_figures(comparison: dict[str, Any]) -> list[KeyFigure]:
    """Return the best method, and how much was compared."""
    request, measure, ranks, best_figures = (
        comparison["asked"],
        comparison["measure"],
        comparison["ranks"],
        [],
    )
    if comparison["best"] and len(request["data"]) == 1:
        best = comparison["best"][0]
        spread = best.get(f"{measure}_sd")
        method = f"{printable(method_label(best), 24)}, {best['n_selected']:,.0f} features"
        best_figures.append(
            KeyFigure(f"Best {MEASURES[measure]}", value_text(comparison, best[measure]), method)
        )
        about = (
            "reading and learning"
            if spread is None
            else f"± {value_text(comparison, spread)} over repeats"
        )
        best_figures.append(KeyFigure("Time of the best", seconds(best["seconds"]), about))
    elif "average" in ranks:
        first, rank = next(iter(ranks["average"].items()))
        best_figures.append(
            KeyFigure("Best on average", printable(first, 24), f"mean rank {rank:.2f}")
        )
    failed = f"{comparison['n_failed']:,} failed" if comparison["n_failed"] else "no failures"
    return [
        *best_figures,
        KeyFigure("Methods", f"{len(request['methods']):,}"),
        KeyFigure("Data sets", f"{len(request['data']):,}"),
        KeyFigure("Measurements", f"{comparison['n_lines']:,}", failed),
        KeyFigure("Time", seconds(comparison["seconds"]), "of all trainings together"),
    ]


def sections(comparison: dict[str, Any], prefix: str) -> list[Section]:
    """Return the sections of the page in order; ``prefix`` begins the ids of figures and tables."""
    name = MEASURES[comparison["measure"]]
    title = f"{name[:1].upper()}{name[1:]}"
    candidates = [
        Section("results", "Results", results_part(comparison, prefix)),
        Section(
            "against-k",
            f"{title} against the number of features",
            against_k_part(comparison, prefix),
        ),
        Section("against-time", f"{title} against time", against_time_part(comparison, prefix)),
        Section("ranks", "Average ranks", ranks_part(comparison["ranks"], prefix)),
        Section("stability", "Stability", stability_part(comparison["stability"], prefix)),
        Section("failed", "Failures", failures_part(comparison["failed"], comparison["n_failed"])),
        Section("lines", "All measurements", lines_part(comparison["lines"], prefix)),
        Section("asked", "Settings", settings_part(comparison["asked"])),
        Section("data", "The data", data_part(comparison["asked"]["data"], prefix)),
    ]
    return [section for section in candidates if section.body]


def settings_part(request: dict[str, Any]) -> Html:
    """Return the settings of the comparison."""
    values_by_title: dict[str, Child] = {
        "Methods": isolate_text(", ".join(map(str, request["methods"])), MAX_VALUE_LENGTH),
        "Features": ", ".join(map(str, request["ks"])),
        "Folds": None if not request.get("folds") else str(request["folds"]),
        "Seeds": ", ".join(map(str, request["seeds"])),
        "Judged by": isolate_text(", ".join(map(str, request["models"])), MAX_VALUE_LENGTH),
    }
    if request.get("params"):
        settings = (
            f"{method}.{name} = {value}"
            for method, params in request["params"].items()
            for name, value in params.items()
        )
        values_by_title["Parameters"] = isolate_text(", ".join(settings), MAX_VALUE_LENGTH)
    return facts(values_by_title)


def data_part(sets: list[dict[str, Any]], prefix: str) -> Html:
    """Return a table of the data sets."""
    columns = [text_column("Name", [data_set["name"] for data_set in sets])]
    for key, title in SIZES.items():
        if any(isinstance(data_set.get(key), int) for data_set in sets):
            columns.append(integer_column(title, [data_set.get(key) for data_set in sets]))
    if any(data_set.get("classes") for data_set in sets):
        columns.append(
            integer_column(
                "Classes",
                [
                    len(data_set["classes"]) if data_set.get("classes") else None
                    for data_set in sets
                ],
            )
        )
    columns.append(
        text_column("Fingerprint", [printable(data_set["fingerprint"], 20) for data_set in sets])
    )
    return table(f"{prefix}-sets", "Data sets", columns, "data sets")


def results_part(comparison: dict[str, Any], prefix: str) -> Html:
    """Return a table with a line per data set and k, and a column per method.

    The best value of a line, and values equal to it, are bold.
    """
    measure, models, is_accuracy = (
        comparison["measure"],
        comparison["asked"]["models"],
        comparison["measure"] == "accuracy",
    )
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in comparison["summary"]:  # own predictions are in the lines of the first model
        cells[line["data"], line["k"], models[0] if line["model"] == OWN else line["model"]][
            method_label(line)
        ] = line
    columns: list[Column] = [
        text_column("Data", [data for data, _, _ in cells]),
        k_column([k for _, k, _ in cells]),
    ]
    if len(models) > 1:
        columns.append(text_column("Model", [model for _, _, model in cells]))
    best = [
        max((line[measure] for line in row.values() if line[measure] is not None), default=None)
        for row in cells.values()
    ]
    for name in method_labels(comparison["summary"]):
        lines = [row.get(name, {}) for row in cells.values()]
        means = [line.get(measure) for line in lines]
        columns.append(
            number_column(
                printable(name, MAX_NAME_LENGTH),
                means,
                "percent" if is_accuracy else "number",
                digits=1,
                more=[spread_text(line.get(f"{measure}_sd"), is_accuracy) for line in lines],
                bold=[
                    int(mean is not None and mean == top)
                    for mean, top in zip(means, best, strict=True)
                ],
            )
        )
    repeats = len(comparison["asked"]["seeds"]) > 1 or any(
        fold is not None for fold in comparison["lines"]["fold"]
    )
    spread = " ± standard deviation over seeds and folds" if repeats else ""
    about = f"Mean {MEASURES[measure]}{spread}; the best of each line in bold."
    return table(
        f"{prefix}-results", "Results by data set and number of features", columns, "lines", about
    )


def spread_text(spread: float | None, is_accuracy: bool) -> str:
    """Return a standard deviation as text."""
    return "" if spread is None else f"± {100.0 * spread:.1f}" if is_accuracy else f"± {spread:.3f}"


def against_k_part(comparison: dict[str, Any], prefix: str) -> Html:
    """Return the figures of the measure against the number of features."""
    key = f"{comparison['measure']}_sd"
    has_spread = any(
        line.get(key) is not None for _, lines in figures.sets_of(comparison) for line in lines
    )
    about = (
        "Means over seeds and folds; bars are one standard deviation to either side."
        if has_spread
        else ""
    )
    return figures_part(figures.against_k_figures(comparison), comparison, prefix, about)


def against_time_part(comparison: dict[str, Any], prefix: str) -> Html:
    """Return the figures of the measure against time."""
    about = (
        "Each point is a method with one number of features; up and to the left is better."
        " Compiling is not counted: it happens once for each method and kind of data."
    )
    return figures_part(figures.against_time_figures(comparison), comparison, prefix, about)


def figures_part(
    figure_list: list[Figure], comparison: dict[str, Any], prefix: str, about: str
) -> Html:
    """Return the figures of data sets with notes, or nothing if there are none."""
    if not figure_list:
        return Html()
    n_sets = len(figures.sets_of(comparison))
    omitted = f"Figures of the first {MAX_SETS} of {n_sets:,} data sets; the tables have all."
    return join_html(
        tag("div", (figure.html(prefix) for figure in figure_list), class_="pictures"),
        note(about) if about else None,
        note(omitted) if n_sets > MAX_SETS else None,
    )


def ranks_part(ranks: dict[str, Any], prefix: str) -> Html:
    """Return the critical difference diagram, or the reason why there is none."""
    figure = figures.ranks_figure(ranks)
    if figure is not None:
        return figure.html(prefix)
    order = ", ".join(
        f"{printable(name, MAX_CELL_LENGTH)} {rank:.2f}"
        for name, rank in ranks.get("average", {}).items()
    )
    return join_html(
        note(
            "No critical difference: ",
            isolate_text(ranks["missing"], MAX_VALUE_LENGTH),
            ".",
        ),
        note("Ranks: ", isolate_text(order)) if order else None,
    )


def stability_part(lines: list[dict[str, Any]], prefix: str) -> Html:
    """Return a table of the stability of selections."""
    if not lines:
        return note("Stability needs selections from several seeds or folds.")
    columns = [
        text_column("Data", [line["data"] for line in lines]),
        text_column("Method", [line["method"] for line in lines]),
        k_column([line["k"] for line in lines]),
        integer_column("Selections", [line["n"] for line in lines]),
        number_column("Stability", [line["value"] for line in lines]),
        number_column("Low", [line["low"] for line in lines]),
        number_column("High", [line["high"] for line in lines]),
    ]
    about = (
        "How alike the selections of different seeds and folds are (Nogueira, Sechidis, Brown"
        " 2018): 1 is the same, about 0 random; with a 95% interval."
    )
    return table(f"{prefix}-stability", "Stability of selections", columns, "lines", about)


def failures_part(lines: list[dict[str, Any]], n_failed: int) -> Html:
    """Return a list of the failures."""
    if not lines:
        return Html()
    where = "{data}, {method}, k {k}, seed {seed}: "
    shown = (
        tag(
            "li",
            tag("strong", isolate_text(where.format(**line), MAX_VALUE_LENGTH)),
            isolate_text(line["error"], MAX_VALUE_LENGTH),
            class_="remark warning",
        )
        for line in lines
    )
    more = note(f"and {n_failed - len(lines):,} more") if n_failed > len(lines) else None
    return join_html(tag("ul", shown, class_="remarks"), more)


def lines_part(lines: dict[str, list[Any]], prefix: str) -> Html:
    """Return a table of every measurement, as in comparison.csv."""
    columns = [
        column(lines[key])
        for key, column in COLUMNS.items()
        if any(value is not None for value in lines[key])
    ]
    return table(f"{prefix}-lines", "All measurements", columns, "measurements")
