"""The page of one comparison, from its description."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from . import charts
from .comparison import OWN, contender
from .markup import Child, Html, foreign, joined, tag
from .parts import Figure, Section, facts, figures, note, picture
from .tables import Column, integer_column, number_column, table, text_column
from .wording import DASH, count, listed, percent, seconds, short

MOST_SETS = 8  # data sets with pictures of their own
LONGEST_NAME = 40
LONGEST_VALUE = 300
NAMES = {"accuracy": "accuracy", "r2": "R²"}
COLUMNS = {  # of all lines, and how they are shown
    "data": ("Data", "text"),
    "method": ("Method", "text"),
    "k": ("k", "k"),
    "seed": ("Seed", "integer"),
    "fold": ("Fold", "integer"),
    "model": ("Model", "text"),
    "n_selected": ("Selected", "integer"),
    "accuracy": ("Accuracy", "percent"),
    "balanced_accuracy": ("Balanced", "percent"),
    "auc": ("AUC", "number"),
    "r2": ("R²", "number"),
    "online_mistake_rate": ("Online mistakes", "percent"),
    "seconds": ("Seconds", "number"),
    "learn_seconds": ("Learning", "number"),
    "peak_memory_bytes": ("Memory, MB", "megabytes"),
}


def key_figures(found: dict[str, Any]) -> Html:
    asked = found["asked"]
    some = []
    if found["best"] and len(asked["data"]) == 1:
        best = found["best"][0]
        spread = best.get(f"{found['measure']}_sd")
        beside = f"{short(contender(best), 24)}, {best['n_selected']:,.0f} features"
        some.append(Figure(f"Best {NAMES[found['measure']]}", value_text(found, best[found["measure"]]), beside))
        some.append(
            Figure(
                "In",
                seconds(best["seconds"]),
                "reading and learning" if spread is None else f"± {value_text(found, spread)} over repeats",
            )
        )
    elif "average" in found["ranks"]:
        first = next(iter(found["ranks"]["average"]))
        some.append(Figure("Best on average", short(first, 24), f"mean rank {found['ranks']['average'][first]:.2f}"))
    some.append(Figure("Methods", count(len(asked["methods"]))))
    some.append(Figure("Data sets", count(len(asked["data"]))))
    some.append(
        Figure(
            "Measurements",
            count(found["n_lines"]),
            f"{count(found['n_failed'])} failed" if found["n_failed"] else "all went well",
        )
    )
    some.append(Figure("Time", seconds(found["seconds"]), "of all trainings together"))
    return figures(some)


def value_text(found: dict[str, Any], value: float | None) -> str:
    return DASH if value is None else percent(value) if found["measure"] == "accuracy" else f"{value:.3f}"


def sections(found: dict[str, Any], prefix: str) -> list[Section]:
    """The parts of the page, in order."""
    name = NAMES[found["measure"]]
    title = f"{name[:1].upper()}{name[1:]}"
    made = [
        Section("results", "Results", results(found, prefix)),
        Section("against-k", f"{title} against the number of features", against_k(found, prefix)),
        Section("against-time", f"{title} against time", against_time(found, prefix)),
        Section("ranks", "Average ranks", ranks(found, prefix)),
        Section("stability", "Stability", stability(found, prefix)),
        Section("failed", "What failed", failed(found["failed"], found["n_failed"])),
        Section("lines", "All measurements", all_lines(found, prefix)),
        Section("asked", "What was asked", asked(found["asked"])),
        Section("data", "The data", the_data(found["asked"]["data"], prefix)),
    ]
    return [section for section in made if section.body]


def asked(request: dict[str, Any]) -> Html:
    known: dict[str, Child] = {
        "Methods": foreign(", ".join(map(str, request["methods"])), LONGEST_VALUE),
        "Features": ", ".join(map(str, request["ks"])),
        "Folds": None if not request.get("folds") else str(request["folds"]),
        "Seeds": ", ".join(map(str, request["seeds"])),
        "Judged by": foreign(", ".join(map(str, request["models"])), LONGEST_VALUE),
    }
    if request.get("params"):
        settings = (
            f"{method}.{name} = {value}" for method, given in request["params"].items() for name, value in given.items()
        )
        known["Parameters"] = foreign(", ".join(settings), LONGEST_VALUE)
    return facts(known)


def the_data(sets: list[dict[str, Any]], prefix: str) -> Html:
    columns = [text_column("Name", [one["name"] for one in sets])]
    for key, title in (
        ("rows", "Rows"),
        ("test_rows", "Test rows"),
        ("features", "Features"),
        ("nonzeros", "Non-zeros"),
    ):
        if any(isinstance(one.get(key), int) for one in sets):
            columns.append(integer_column(title, [one.get(key) for one in sets]))
    if any(one.get("classes") for one in sets):
        columns.append(integer_column("Classes", [len(one["classes"]) if one.get("classes") else None for one in sets]))
    columns.append(text_column("Fingerprint", [short(one["fingerprint"], 20) for one in sets]))
    return table(f"{prefix}-sets", "Data sets", columns, "data sets")


def results(found: dict[str, Any], prefix: str) -> Html:
    """A line per data set and k, a column per method; the best of a line, and what equals it, is bold."""
    measure, models = found["measure"], found["asked"]["models"]
    several_models = len(models) > 1
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in found["summary"]:  # own predictions are beside those of the first model
        cells[line["data"], line["k"], models[0] if line["model"] == OWN else line["model"]][contender(line)] = line
    keys = list(cells)
    columns: list[Column] = [text_column("Data", [data for data, _, _ in keys]), k_column([k for _, k, _ in keys])]
    if several_models:
        columns.append(text_column("Model", [model for _, _, model in keys]))
    best = [
        max((line[measure] for line in cells[key].values() if line[measure] is not None), default=None) for key in keys
    ]
    for name in contenders(found["summary"]):
        lines = [cells[key].get(name, {}) for key in keys]
        means = [line.get(measure) for line in lines]
        columns.append(
            number_column(
                short(name, LONGEST_NAME),
                means,
                "percent" if measure == "accuracy" else "number",
                digits=1,
                more=[spread_text(line.get(f"{measure}_sd"), measure) for line in lines],
                bold=[int(mean is not None and mean == top) for mean, top in zip(means, best, strict=True)],
            )
        )
    repeats = len(found["asked"]["seeds"]) > 1 or any(fold is not None for fold in found["lines"]["fold"])
    spread = " ± standard deviation over seeds and folds" if repeats else ""
    about = f"Mean {NAMES[measure]}{spread}; the best of each line in bold."
    return table(f"{prefix}-results", "Results by data set and number of features", columns, "lines", about)


def spread_text(spread: float | None, measure: str) -> str:
    if spread is None:
        return ""
    return f"± {100.0 * spread:.1f}" if measure == "accuracy" else f"± {spread:.3f}"


def k_column(ks: Sequence[int | None]) -> Column:
    """Numbers of features; a method that chooses its own has "auto"."""
    if None not in ks:
        return integer_column("k", [k for k in ks if k is not None])
    return text_column("k", ["auto" if k is None else str(k) for k in ks])


def by_set(found: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The means of the first model, and of own predictions, by data set."""
    model, sets = found["asked"]["models"][0], defaultdict(list)
    for line in found["summary"]:
        if line["model"] in (model, OWN) and line[found["measure"]] is not None:
            sets[line["data"]].append(line)
    return list(sets.items())


def against_k(found: dict[str, Any], prefix: str) -> Html:
    """A curve per method, for each data set; the error bars are standard deviations."""
    measure, made = found["measure"], []
    sets = by_set(found)
    for number, (data, lines) in enumerate(sets[:MOST_SETS], 1):
        series = [one for name in contenders(lines) if (one := curve_of(name, lines, measure))]
        ks = [k for one in series for k in one["x"]]
        if len(set(ks)) < 2:
            continue
        svg = charts.line_chart(
            series,
            x_title="features",
            y_title=NAMES[measure],
            log_x=max(ks) > 8 * max(1, min(ks)),
            percent=measure == "accuracy",
        )
        made.append(picture(f"{prefix}-k-{number}", short(data, LONGEST_NAME), svg))
    if not made:
        return Html()
    about = (
        "Means over seeds and folds; bars are one standard deviation to either side."
        if any(line.get(f"{measure}_sd") is not None for _, lines in sets for line in lines)
        else ""
    )
    return joined(tag("div", made, class_="pictures"), note(about) if about else None, _omitted(len(sets)))


def contenders(lines: list[dict[str, Any]]) -> list[str]:
    """Methods, and those with their own predictions, in order of appearance."""
    return list(dict.fromkeys(map(contender, lines)))


def curve_of(name: str, lines: list[dict[str, Any]], measure: str) -> dict[str, Any] | None:
    mine = sorted(
        (line for line in lines if contender(line) == name and line["n_selected"]),
        key=lambda line: float(line["n_selected"]),
    )
    if not mine:
        return None
    spreads = [line.get(f"{measure}_sd") for line in mine]
    bars = all(spread is not None for spread in spreads)
    return {
        "name": name,
        "x": [line["n_selected"] for line in mine],
        "y": [line[measure] for line in mine],
        "low": [line[measure] - line[f"{measure}_sd"] for line in mine] if bars else None,
        "high": [line[measure] + line[f"{measure}_sd"] for line in mine] if bars else None,
    }


def against_time(found: dict[str, Any], prefix: str) -> Html:
    """How good and how quick each method is, for each data set; upper left is best."""
    measure, sets, made = found["measure"], by_set(found), []
    for number, (data, lines) in enumerate(sets[:MOST_SETS], 1):
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
        svg = charts.scatter(
            points, x_title="seconds", y_title=NAMES[measure], log_x=True, percent=measure == "accuracy"
        )
        made.append(picture(f"{prefix}-time-{number}", short(data, LONGEST_NAME), svg))
    if not made:
        return Html()
    about = (
        "Each point is a method with one number of features; up and to the left is better. Compiling, which is done "
        "once, is not counted."
    )
    return joined(tag("div", made, class_="pictures"), note(about), _omitted(len(sets)))


def _omitted(n_sets: int) -> Html | None:
    return (
        note(f"Pictures of the first {MOST_SETS} of {count(n_sets)} data sets; the tables have all.")
        if n_sets > MOST_SETS
        else None
    )


def ranks(found: dict[str, Any], prefix: str) -> Html:
    known = found["ranks"]
    if "missing" in known:
        order = ", ".join(f"{short(method)} {rank:.2f}" for method, rank in known.get("average", {}).items())
        return joined(
            note("No critical difference: ", foreign(known["missing"], LONGEST_VALUE), "."),
            note("Ranks: ", foreign(order)) if order else None,
        )
    svg = charts.critical_difference(known["average"], known["critical_difference"], known["cliques"])
    p_value = known["friedman"]["p_value"]
    about = (
        f"Mean ranks over {count(known['n_sets'])} data sets by {NAMES.get(known['measure'], known['measure'])}; 1 is "
        "best. Methods that a bar joins do not differ significantly (Nemenyi's test, 5%; critical difference "
        f"{known['critical_difference']:.2f}). Friedman's test that all are alike: p = {p_value:.3g}."
    )
    omitted = (
        f" Without {listed([short(one) for one in known['omitted']])}, which has no figure on some of the data."
        if known["omitted"]
        else ""
    )
    return picture(f"{prefix}-ranks", "Critical difference", svg, foreign(about + omitted))


def stability(found: dict[str, Any], prefix: str) -> Html:
    lines = found["stability"]
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
        "How alike the selections of different seeds and folds are (Nogueira, Sechidis, Brown 2018): 1 is the same, "
        "about 0 random; with a 95% interval."
    )
    return table(f"{prefix}-stability", "Stability of selections", columns, "lines", about)


def failed(lines: list[dict[str, Any]], n_failed: int) -> Html:
    if not lines:
        return Html()
    shown = (
        tag(
            "li",
            tag(
                "strong",
                foreign(f"{line['data']}, {line['method']}, k {line['k']}, seed {line['seed']}: ", LONGEST_VALUE),
            ),
            foreign(line["error"], LONGEST_VALUE),
            class_="remark warning",
        )
        for line in lines
    )
    more = note(f"and {count(n_failed - len(lines))} more") if n_failed > len(lines) else None
    return joined(tag("ul", shown, class_="remarks"), more)


def all_lines(found: dict[str, Any], prefix: str) -> Html:
    """Every measurement, as it is in comparison.csv."""
    columns = []
    for key, (title, kind) in COLUMNS.items():
        values = found["lines"][key]
        if all(value is None for value in values):
            continue
        if kind == "text":
            columns.append(text_column(title, values))
        elif kind == "k":
            columns.append(k_column(values))
        elif kind == "integer":
            columns.append(integer_column(title, values))
        elif kind == "megabytes":
            columns.append(integer_column(title, [None if value is None else round(value / 1e6) for value in values]))
        else:
            columns.append(number_column(title, values, kind))
    return table(f"{prefix}-lines", "All measurements", columns, "measurements")
