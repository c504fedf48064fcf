"""The page of one run, from its description."""

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
    foreign,
    integer_column,
    joined,
    note,
    number_column,
    table,
    tag,
    text_column,
)
from .wording import percent, plural, seconds, size

MAX_LABEL_LENGTH = 28  # letters of a class
MAX_VALUE_LENGTH = 200  # letters of a parameter
MAX_TIP_LENGTH = 800  # of the files of an option
MAX_CLASSES = 12
FILES = "data", "test", "names"
COLUMNS: dict[str, partial[Column]] = {  # of the table of features, as far as a run has them
    "weight": partial(number_column, "Weight", kind="weight"),
    "class": partial(text_column, "Speaks for", tip="The class that a large value makes likelier"),
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
    """Return what came out, how good it is, and what it cost."""
    quality, times = run["quality"], run["cost"]["seconds"]
    some = [
        KeyFigure(
            "Selected", f"{run['n_selected']:,}", f"of {plural(run['n_features'], 'feature')}"
        )
    ]
    if quality["test_accuracy"] is not None:
        balanced, auc = quality["test_balanced_accuracy"], quality["test_auc"]
        more = [] if balanced is None else [f"balanced {percent(balanced)}"]
        more += [] if auc is None else [f"AUC {auc:.3f}"]
        some.append(KeyFigure("Test accuracy", percent(quality["test_accuracy"]), ", ".join(more)))
    if quality["test_r2"] is not None:
        some.append(
            KeyFigure(
                "Test R²", f"{quality['test_r2']:.3f}", f"typical error {quality['test_error']:.4g}"
            )
        )
    if quality["mistake_rate"] is not None:
        majority = quality["majority_mistake_rate"]
        beside = (
            "" if majority is None else f"{percent(majority)} by always guessing the largest class"
        )
        some.append(KeyFigure("Online mistakes", percent(quality["mistake_rate"]), beside))
    if quality["online_r2"] is not None:
        some.append(
            KeyFigure("Online R²", f"{quality['online_r2']:.3f}", "predicted before learned")
        )
    reading = f"after {seconds(times['read'])} of reading {plural(run['n_rows'], 'row')}"
    learning = KeyFigure("Learning", seconds(times["learn"]), reading)
    return [
        *some,
        learning,
        KeyFigure("Peak memory", size(run["cost"]["peak_memory_bytes"]), "of the whole process"),
    ]


def sections(run: dict[str, Any], prefix: str) -> list[Section]:
    """Return the parts of the page, in order; ``prefix`` begins the names of its pictures and tables."""
    curve, mistakes = run["curve"], run["mistakes"]
    of_curve = "R²" if curve is not None and curve["measure"] == "r2" else "Accuracy"
    of_stream = "R²" if mistakes is not None and "r2" in mistakes else "Mistakes"
    cost = [costs(run), *pictures(prefix, figures.times(run["cost"]["seconds"]))]
    made = [
        Section("asked", "What was asked", asked(run["asked"])),
        Section("data", "The data", the_data(run["data"])),
        Section("diagnosis", "Diagnosis", diagnosis(run["diagnosis"])),
        Section("features", "Selected features", features(run, prefix)),
        Section("curve", f"{of_curve} against the number of features", curve_part(curve, prefix)),
        Section(
            "mistakes",
            f"{of_stream} over the stream",
            joined(pictures(prefix, figures.mistakes(mistakes))),
        ),
        Section(
            "changes",
            "Features that entered and left",
            beside(prefix, *figures.changes(run["changes"])),
        ),
        Section("redundancy", "Redundancy", redundancy(run["redundancy"], prefix)),
        Section("cost", "Time and memory", tag("div", cost, class_="beside")),
    ]
    return [section for section in made if section.body]


def pictures(prefix: str, *some: Figure | None) -> list[Html]:
    """Return the pictures that there are."""
    return [figure.html(prefix) for figure in some if figure is not None]


def beside(prefix: str, *some: Figure | None) -> Html:
    """Return pictures side by side where there is room; nothing where there are none."""
    made = pictures(prefix, *some)
    return tag("div", made, class_="pictures") if made else Html()


def asked(request: dict[str, Any]) -> Html:
    method = joined(
        tag("code", foreign(request["method"], MAX_VALUE_LENGTH)),
        f"; {request['summary']}" if request["summary"] else None,
    )
    known: dict[str, Child] = {"Method": method, "Paper": request["paper"]}
    known["Parameters"] = settings(request["params"]) if request["params"] else "the defaults"
    title = titles()
    for name, value in request["options"].items():
        values = value if isinstance(value, list | tuple) else [value]
        texts = ["yes" if part is True else str(part) for part in values]
        if isinstance(value, float):
            known[title[name]] = f"{value} of the rows, held out"
        elif name in FILES:  # by their names, the folders in the tip
            names = foreign(", ".join(path.rsplit("/", 1)[-1] for path in texts), MAX_VALUE_LENGTH)
            known[title[name]] = tag(
                "span", names, data_tip=printable("\n".join(texts), MAX_TIP_LENGTH)
            )
        else:
            known[title[name]] = foreign(", ".join(texts), MAX_VALUE_LENGTH)
    summary = tag("summary", "Parameters left at their defaults")
    rest = tag("details", summary, settings(request["defaults"])) if request["defaults"] else None
    return joined(facts(known), rest)


def settings(params: dict[str, Any]) -> Html:
    values = (
        (tag("code", foreign(f"{name} = {value}", MAX_VALUE_LENGTH)), " ")
        for name, value in params.items()
    )
    return tag("span", values, class_="settings")


def the_data(data: dict[str, Any]) -> Html:
    fingerprint, density = data["fingerprint"], data["density"]
    known: dict[str, Child] = {
        "Where": None if data["path"] is None else foreign(data["path"], MAX_VALUE_LENGTH),
        "Files": None if data["n_files"] is None else f"{data['n_files']:,}",
        "Size": None if data["n_bytes"] is None else size(data["n_bytes"]),
        "Fingerprint": (
            None
            if fingerprint is None
            else tag("code", foreign(fingerprint, 24), data_tip=fingerprint)
        ),
        "Rows": f"{data['n_rows']:,}",
        "Features": f"{data['n_features']:,}",
        "Non-zero values": (
            f"{data['n_nonzero']:,}"
            + ("" if density is None else f" ({100.0 * density:.3g}% of all)")
        ),
        "Classes": class_counts(data["classes"]) if data["classes"] else None,
    }
    return facts(known)


def class_counts(classes: list[dict[str, Any]]) -> Html:
    total = sum(one["rows"] for one in classes) or 1
    largest = sorted(classes, key=lambda one: -one["rows"])[:MAX_CLASSES]
    chips = (
        tag(
            "span",
            foreign(one["label"], MAX_LABEL_LENGTH),
            f": {one['rows']:,} rows ({percent(one['rows'] / total)})",
            class_="chip",
        )
        for one in largest
    )
    return joined(
        chips, f"and {len(classes) - len(largest):,} more" if len(classes) > len(largest) else None
    )


def diagnosis(remarks: list[dict[str, str]]) -> Html:
    if not remarks:
        return note(
            "Nothing to remark: the run found no sign of trouble in the data or the result."
        )
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


def features(run: dict[str, Any], prefix: str) -> Html:
    """Return the weights of the best features as a picture, and all of them as a table."""
    columns, n = run["selected"], run["n_selected"]
    if not n:
        return note("No feature was selected; the diagnosis says what to try.")
    shown = [integer_column("Rank", range(1, n + 1)), text_column("Feature", columns["feature"])]
    if columns["feature"] != [str(index) for index in columns["index"]]:
        shown.append(
            integer_column(
                "Index", columns["index"], plain=True, tip="The 0-based number of the feature"
            )
        )
    shown += [column(columns[key]) for key, column in COLUMNS.items() if key in columns]
    return joined(
        beside(prefix, *figures.figures_of_selection(columns)),
        table(f"{prefix}-features", "Selected features, best first", shown, "features"),
    )


def curve_part(found: dict[str, Any] | None, prefix: str) -> Html:
    if found is not None:
        return joined(pictures(prefix, figures.curve(found)))
    return note(
        "No curve was measured. Ask for one with ",
        tag("code", "--curve true"),
        " or let the method choose with ",
        tag("code", "-k auto"),
        ", where a method can.",
    )


def redundancy(found: dict[str, Any], prefix: str) -> Html:
    if "missing" in found:
        return note("Not shown: ", foreign(found["missing"], MAX_VALUE_LENGTH), ".")
    return figures.redundancy(found).html(prefix)


def costs(run: dict[str, Any]) -> Html:
    spent, engine = run["cost"]["seconds"], run["cost"]["engine"]
    per_second = round(run["n_rows"] / spent["learn"]) if spent["learn"] > 0 else None
    compiling = spent.get("compile", 0.0)
    known: dict[str, Child] = {
        "In all": seconds(spent["total"]),
        "Reading": seconds(spent["read"]),
        "Learning": seconds(spent["learn"]),
        "Compiling": f"{seconds(compiling)}, once for this machine" if compiling > 0.0005 else None,
        "Rows per second": None if per_second is None else f"{per_second:,} while learning",
        "Peak memory": f"{size(run['cost']['peak_memory_bytes'])} of the whole process",
        "Workers": (
            f"{engine['workers']:,} ({printable(engine['name'], MAX_CELL_LENGTH)})"
            if engine
            else None
        ),
    }
    return facts(known)
