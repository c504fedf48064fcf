"""The page of one comparison, from its description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..display import MAX_CELL_LENGTH, printable
from . import figures
from .comparison import OWN, contender, value_text
from .figures import MAX_NAME_LENGTH, MAX_SETS, MEASURES, Figure, contenders
from .markup import (
    Child,
    Column,
    Html,
    KeyFigure,
    Section,
    facts,
    foreign,
    integer_column,
    joined,
    note,
    number_column,
    table,
    tag,
    text_column,
)
from .wording import seconds

MAX_VALUE_LENGTH = 300


def k_column(ks: Sequence[int | None]) -> Column:
    """Return numbers of features; a method that chooses its own has "auto"."""
    if None not in ks:
        return integer_column("k", ks)
    return text_column("k", ["auto" if k is None else k for k in ks])


def memory_column(sizes: Sequence[int | None]) -> Column:
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


def key_figures(found: dict[str, Any]) -> list[KeyFigure]:
    """Return which method is best, and how much was compared."""
    request, measure, ranks, some = found["asked"], found["measure"], found["ranks"], []
    if found["best"] and len(request["data"]) == 1:
        best = found["best"][0]
        spread = best.get(f"{measure}_sd")
        method = f"{printable(contender(best), 24)}, {best['n_selected']:,.0f} features"
        some.append(
            KeyFigure(f"Best {MEASURES[measure]}", value_text(found, best[measure]), method)
        )
        about = (
            "reading and learning"
            if spread is None
            else f"± {value_text(found, spread)} over repeats"
        )
        some.append(KeyFigure("In", seconds(best["seconds"]), about))
    elif "average" in ranks:
        first, rank = next(iter(ranks["average"].items()))
        some.append(KeyFigure("Best on average", printable(first, 24), f"mean rank {rank:.2f}"))
    failed = f"{found['n_failed']:,} failed" if found["n_failed"] else "all went well"
    return [
        *some,
        KeyFigure("Methods", f"{len(request['methods']):,}"),
        KeyFigure("Data sets", f"{len(request['data']):,}"),
        KeyFigure("Measurements", f"{found['n_lines']:,}", failed),
        KeyFigure("Time", seconds(found["seconds"]), "of all trainings together"),
    ]


def sections(found: dict[str, Any], prefix: str) -> list[Section]:
    """Return the parts of the page, in order; ``prefix`` begins the names of its pictures and tables."""
    name = MEASURES[found["measure"]]
    title = f"{name[:1].upper()}{name[1:]}"
    made = [
        Section("results", "Results", results(found, prefix)),
        Section("against-k", f"{title} against the number of features", against_k(found, prefix)),
        Section("against-time", f"{title} against time", against_time(found, prefix)),
        Section("ranks", "Average ranks", ranks(found["ranks"], prefix)),
        Section("stability", "Stability", stability(found["stability"], prefix)),
        Section("failed", "What failed", failures(found["failed"], found["n_failed"])),
        Section("lines", "All measurements", all_lines(found["lines"], prefix)),
        Section("asked", "What was asked", asked(found["asked"])),
        Section("data", "The data", the_data(found["asked"]["data"], prefix)),
    ]
    return [section for section in made if section.body]


def asked(request: dict[str, Any]) -> Html:
    known: dict[str, Child] = {
        "Methods": foreign(", ".join(map(str, request["methods"])), MAX_VALUE_LENGTH),
        "Features": ", ".join(map(str, request["ks"])),
        "Folds": None if not request.get("folds") else str(request["folds"]),
        "Seeds": ", ".join(map(str, request["seeds"])),
        "Judged by": foreign(", ".join(map(str, request["models"])), MAX_VALUE_LENGTH),
    }
    if request.get("params"):
        settings = (
            f"{method}.{name} = {value}"
            for method, given in request["params"].items()
            for name, value in given.items()
        )
        known["Parameters"] = foreign(", ".join(settings), MAX_VALUE_LENGTH)
    return facts(known)


def the_data(sets: list[dict[str, Any]], prefix: str) -> Html:
    columns = [text_column("Name", [one["name"] for one in sets])]
    for key, title in SIZES.items():
        if any(isinstance(one.get(key), int) for one in sets):
            columns.append(integer_column(title, [one.get(key) for one in sets]))
    if any(one.get("classes") for one in sets):
        columns.append(
            integer_column(
                "Classes", [len(one["classes"]) if one.get("classes") else None for one in sets]
            )
        )
    columns.append(text_column("Fingerprint", [printable(one["fingerprint"], 20) for one in sets]))
    return table(f"{prefix}-sets", "Data sets", columns, "data sets")


def results(found: dict[str, Any], prefix: str) -> Html:
    """Return a line per data set and k, a column per method; the best of a line, and what equals it, is bold."""
    measure, models, is_accuracy = (
        found["measure"],
        found["asked"]["models"],
        found["measure"] == "accuracy",
    )
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in found["summary"]:  # own predictions are beside those of the first model
        cells[line["data"], line["k"], models[0] if line["model"] == OWN else line["model"]][
            contender(line)
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
    for name in contenders(found["summary"]):
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
    repeats = len(found["asked"]["seeds"]) > 1 or any(
        fold is not None for fold in found["lines"]["fold"]
    )
    spread = " ± standard deviation over seeds and folds" if repeats else ""
    about = f"Mean {MEASURES[measure]}{spread}; the best of each line in bold."
    return table(
        f"{prefix}-results", "Results by data set and number of features", columns, "lines", about
    )


def spread_text(spread: float | None, is_accuracy: bool) -> str:
    return "" if spread is None else f"± {100.0 * spread:.1f}" if is_accuracy else f"± {spread:.3f}"


def against_k(found: dict[str, Any], prefix: str) -> Html:
    key = f"{found['measure']}_sd"
    has_spread = any(
        line.get(key) is not None for _, lines in figures.sets_of(found) for line in lines
    )
    about = (
        "Means over seeds and folds; bars are one standard deviation to either side."
        if has_spread
        else ""
    )
    return pictures(figures.against_k(found), found, prefix, about)


def against_time(found: dict[str, Any], prefix: str) -> Html:
    about = (
        "Each point is a method with one number of features; up and to the left is better."
        " Compiling, which is done once, is not counted."
    )
    return pictures(figures.against_time(found), found, prefix, about)


def pictures(made: list[Figure], found: dict[str, Any], prefix: str, about: str) -> Html:
    """Return pictures of data sets with what to know of them; nothing where there are none."""
    if not made:
        return Html()
    n_sets = len(figures.sets_of(found))
    omitted = f"Pictures of the first {MAX_SETS} of {n_sets:,} data sets; the tables have all."
    return joined(
        tag("div", (figure.html(prefix) for figure in made), class_="pictures"),
        note(about) if about else None,
        note(omitted) if n_sets > MAX_SETS else None,
    )


def ranks(found: dict[str, Any], prefix: str) -> Html:
    figure = figures.ranks(found)
    if figure is not None:
        return figure.html(prefix)
    order = ", ".join(
        f"{printable(name, MAX_CELL_LENGTH)} {rank:.2f}"
        for name, rank in found.get("average", {}).items()
    )
    return joined(
        note("No critical difference: ", foreign(found["missing"], MAX_VALUE_LENGTH), "."),
        note("Ranks: ", foreign(order)) if order else None,
    )


def stability(lines: list[dict[str, Any]], prefix: str) -> Html:
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


def failures(lines: list[dict[str, Any]], n_failed: int) -> Html:
    if not lines:
        return Html()
    where = "{data}, {method}, k {k}, seed {seed}: "
    shown = (
        tag(
            "li",
            tag("strong", foreign(where.format(**line), MAX_VALUE_LENGTH)),
            foreign(line["error"], MAX_VALUE_LENGTH),
            class_="remark warning",
        )
        for line in lines
    )
    more = note(f"and {n_failed - len(lines):,} more") if n_failed > len(lines) else None
    return joined(tag("ul", shown, class_="remarks"), more)


def all_lines(lines: dict[str, list[Any]], prefix: str) -> Html:
    """Return every measurement, as it is in comparison.csv."""
    known = [key for key in COLUMNS if any(value is not None for value in lines[key])]
    columns = [COLUMNS[key](lines[key]) for key in known]
    return table(f"{prefix}-lines", "All measurements", columns, "measurements")
