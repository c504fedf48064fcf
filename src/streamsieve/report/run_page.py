"""Write the page of one run from its description."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..display import MAX_CELL_LENGTH, printable
from ..runs.request import titles
from . import figures
from .figures import Figure
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
from .wording import percent, plural, seconds, size

MAX_LABEL_LENGTH = 28  # characters of a class
MAX_VALUE_LENGTH = 200  # characters of a parameter
MAX_TIP_LENGTH = 800  # of the files of an option
MAX_CLASSES = 12
FILES = "data", "test", "names"
COLUMNS: dict[str, partial[Column]] = {  # of the table of features, if a run has them
    "weight": partial(number_column, "Weight", kind="weight"),
    "class": partial(text_column, "Class", tip="The class that a large value makes more likely"),
    "score": partial(
        number_column, "Score", tip="The key by which features are selected: larger is better"
    ),
    "frequency": partial(
        number_column,
        "Chosen",
        kind="fraction",
        tip="The fraction of resamples in which it was chosen",
    ),
    "group": partial(text_column, "Group"),
}


def key_figures(run: dict[str, Any]) -> list[KeyFigure]:
    """Return the main figures: the selection, its quality and its cost."""
    quality, times = run["quality"], run["cost"]["seconds"]
    key_list = [
        KeyFigure(
            "Selected", f"{run['n_selected']:,}", f"of {plural(run['n_features'], 'feature')}"
        )
    ]
    if quality["test_accuracy"] is not None:
        balanced, auc = quality["test_balanced_accuracy"], quality["test_auc"]
        details = [] if balanced is None else [f"balanced {percent(balanced)}"]
        details += [] if auc is None else [f"AUC {auc:.3f}"]
        loss = quality["test_log_loss"]
        details += [] if loss is None else [f"log loss {loss:.3f}"]
        key_list.append(
            KeyFigure("Test accuracy", percent(quality["test_accuracy"]), ", ".join(details))
        )
    if quality["test_r2"] is not None:
        key_list.append(
            KeyFigure(
                "Test R²", f"{quality['test_r2']:.3f}", f"typical error {quality['test_error']:.4g}"
            )
        )
    if quality["mistake_rate"] is not None:
        majority = quality["majority_mistake_rate"]
        majority_text = (
            ""
            if majority is None
            else f"{percent(majority)} by always predicting the largest class"
        )
        key_list.append(
            KeyFigure("Online mistakes", percent(quality["mistake_rate"]), majority_text)
        )
    if quality["online_r2"] is not None:
        key_list.append(
            KeyFigure("Online R²", f"{quality['online_r2']:.3f}", "predicted before learned")
        )
    reading = f"after {seconds(times['read'])} of reading {plural(run['n_rows'], 'row')}"
    return [
        *key_list,
        KeyFigure("Learning", seconds(times["learn"]), reading),
        KeyFigure("Peak memory", size(run["cost"]["peak_memory_bytes"]), "of the whole process"),
    ]


def sections(run: dict[str, Any], prefix: str) -> list[Section]:
    """Return the sections of the page in order; ``prefix`` begins the ids of figures and tables."""
    curve, mistakes = run["curve"], run["mistakes"]
    curve_measure = "R²" if curve is not None and curve["measure"] == "r2" else "Accuracy"
    stream_measure = "R²" if mistakes is not None and "r2" in mistakes else "Mistakes"
    cost = [costs_part(run), *figures_html(prefix, figures.times_figure(run["cost"]["seconds"]))]
    candidates = [
        Section("asked", "Settings", settings_part(run["asked"])),
        Section("data", "The data", data_part(run["data"])),
        Section("diagnosis", "Diagnosis", diagnosis_part(run["diagnosis"])),
        Section("features", "Selected features", features_part(run, prefix)),
        Section(
            "curve", f"{curve_measure} against the number of features", curve_part(curve, prefix)
        ),
        Section(
            "mistakes",
            f"{stream_measure} over the stream",
            join_html(figures_html(prefix, figures.mistakes_figure(mistakes))),
        ),
        Section(
            "changes",
            "Features that entered and left",
            side_by_side(prefix, *figures.changes_figures(run["changes"])),
        ),
        Section(
            "reliability",
            "Probabilities on the test rows",
            reliability_part(run["quality"]["test_reliability"], prefix),
        ),
        Section("redundancy", "Redundancy", redundancy_part(run["redundancy"], prefix)),
        Section("cost", "Time and memory", tag("div", cost, class_="beside")),
    ]
    return [section for section in candidates if section.body]


def figures_html(prefix: str, *figure_list: Figure | None) -> list[Html]:
    """Return the HTML of the figures that exist."""
    return [figure.html(prefix) for figure in figure_list if figure is not None]


def side_by_side(prefix: str, *figure_list: Figure | None) -> Html:
    """Return figures side by side where there is room; nothing if there are none."""
    parts = figures_html(prefix, *figure_list)
    return tag("div", parts, class_="pictures") if parts else Html()


def settings_part(request: dict[str, Any]) -> Html:
    """Return the settings of the run."""
    method = join_html(
        tag("code", isolate_text(request["method"], MAX_VALUE_LENGTH)),
        f"; {request['summary']}" if request["summary"] else None,
    )
    values_by_title: dict[str, Child] = {
        "Method": method,
        "Paper": request["paper"],
        "Parameters": settings_html(request["params"]) if request["params"] else "the defaults",
    }
    title = titles()
    for name, value in request["options"].items():
        values = value if isinstance(value, list | tuple) else [value]
        texts = ["yes" if part is True else str(part) for part in values]
        if isinstance(value, float):
            values_by_title[title[name]] = f"{value} of the rows, held out"
        elif name in FILES:  # file names, with their folders in the tip
            names = isolate_text(
                ", ".join(path.rsplit("/", 1)[-1] for path in texts), MAX_VALUE_LENGTH
            )
            values_by_title[title[name]] = tag(
                "span", names, data_tip=printable("\n".join(texts), MAX_TIP_LENGTH)
            )
        else:
            values_by_title[title[name]] = isolate_text(", ".join(texts), MAX_VALUE_LENGTH)
    summary = tag("summary", "Parameters left at their defaults")
    defaults = (
        tag("details", summary, settings_html(request["defaults"])) if request["defaults"] else None
    )
    return join_html(facts(values_by_title), defaults)


def settings_html(params: dict[str, Any]) -> Html:
    """Return parameters with their values."""
    values = (
        (tag("code", isolate_text(f"{name} = {value}", MAX_VALUE_LENGTH)), " ")
        for name, value in params.items()
    )
    return tag("span", values, class_="settings")


def data_part(data: dict[str, Any]) -> Html:
    """Return the facts about the data."""
    fingerprint, density = data["fingerprint"], data["density"]
    values_by_title: dict[str, Child] = {
        "Where": None if data["path"] is None else isolate_text(data["path"], MAX_VALUE_LENGTH),
        "Files": None if data["n_files"] is None else f"{data['n_files']:,}",
        "Size": None if data["n_bytes"] is None else size(data["n_bytes"]),
        "Fingerprint": (
            None
            if fingerprint is None
            else tag("code", isolate_text(fingerprint, 24), data_tip=fingerprint)
        ),
        "Rows": f"{data['n_rows']:,}",
        "Features": f"{data['n_features']:,}",
        "Non-zero values": (
            f"{data['n_nonzero']:,}"
            + ("" if density is None else f" ({100.0 * density:.3g}% of all)")
        ),
        "Classes": class_counts_html(data["classes"]) if data["classes"] else None,
    }
    return facts(values_by_title)


def class_counts_html(classes: list[dict[str, Any]]) -> Html:
    """Return the largest classes with their numbers of rows."""
    total = sum(entry["rows"] for entry in classes) or 1
    largest = sorted(classes, key=lambda entry: -entry["rows"])[:MAX_CLASSES]
    chips = (
        tag(
            "span",
            isolate_text(entry["label"], MAX_LABEL_LENGTH),
            f": {entry['rows']:,} rows ({percent(entry['rows'] / total)})",
            class_="chip",
        )
        for entry in largest
    )
    return join_html(
        chips, f"and {len(classes) - len(largest):,} more" if len(classes) > len(largest) else None
    )


def diagnosis_part(remarks: list[dict[str, str]]) -> Html:
    """Return the warnings and notes of the run."""
    if not remarks:
        return note("No remarks: the run found no problem in the data or the result.")
    lines = (
        tag(
            "li",
            tag("strong", "Warning: " if remark["level"] == "warning" else "Note: "),
            remark["message"],
            tag("span", remark["advice"], class_="advice"),
            class_=f"remark {'warning' if remark['level'] == 'warning' else 'note'}",
        )
        for remark in remarks
    )
    return tag("ul", lines, class_="remarks")


def features_part(run: dict[str, Any], prefix: str) -> Html:
    """Return the figures of the best features, and a table of all of them."""
    columns, n = run["selected"], run["n_selected"]
    if not n:
        return note("No feature was selected; the diagnosis says what to try.")
    table_columns = [
        integer_column("Rank", range(1, n + 1)),
        text_column("Feature", columns["feature"]),
    ]
    if columns["feature"] != [str(index) for index in columns["index"]]:
        table_columns.append(
            integer_column(
                "Index", columns["index"], plain=True, tip="The 0-based number of the feature"
            )
        )
    table_columns += [column(columns[key]) for key, column in COLUMNS.items() if key in columns]
    return join_html(
        side_by_side(prefix, *figures.figures_of_selection(columns)),
        table(f"{prefix}-features", "Selected features, best first", table_columns, "features"),
    )


def curve_part(curve_data: dict[str, Any] | None, prefix: str) -> Html:
    """Return the curve over the number of features, or how to get one."""
    if curve_data is not None:
        return join_html(figures_html(prefix, figures.curve_figure(curve_data)))
    return note(
        "No curve was measured. Request one with ",
        tag("code", "--curve true"),
        " or let the method choose with ",
        tag("code", "-k auto"),
        ", if it can.",
    )


def reliability_part(deciles: list[dict[str, Any]] | None, prefix: str) -> Html:
    """Return a table of predicted probabilities and observed frequencies."""
    if not deciles:
        return Html()
    columns = [
        integer_column("Tenth", range(1, len(deciles) + 1), tip="Of the rows, by probability"),
        integer_column("Rows", [group["rows"] for group in deciles]),
        *(
            number_column(title, [group[key] for group in deciles], "percent")
            for key, title in (("predicted", "Mean probability"), ("observed", "In the class"))
        ),
    ]
    return table(
        f"{prefix}-reliability", "Of the second class, by probability", columns, "groups of rows"
    )


def redundancy_part(redundancy_data: dict[str, Any], prefix: str) -> Html:
    """Return the correlations, or the reason why they are missing."""
    if "missing" in redundancy_data:
        return note("Not shown: ", isolate_text(redundancy_data["missing"], MAX_VALUE_LENGTH), ".")
    return figures.redundancy_figure(redundancy_data).html(prefix)


def costs_part(run: dict[str, Any]) -> Html:
    """Return the time and the memory of the run."""
    times, engine = run["cost"]["seconds"], run["cost"]["engine"]
    per_second = round(run["n_rows"] / times["learn"]) if times["learn"] > 0 else None
    compiling = times.get("compile", 0.0)
    values_by_title: dict[str, Child] = {
        "In all": seconds(times["total"]),
        "Reading": seconds(times["read"]),
        "Learning": seconds(times["learn"]),
        "Compiling": (
            f"{seconds(compiling)}, once for each method and kind of data"
            if compiling > 0.0005
            else None
        ),
        "Rows per second": None if per_second is None else f"{per_second:,} while learning",
        "Peak memory": f"{size(run['cost']['peak_memory_bytes'])} of the whole process",
        "Workers": (
            f"{engine['workers']:,} ({printable(engine['name'], MAX_CELL_LENGTH)})"
            if engine
            else None
        ),
    }
    return facts(values_by_title)
