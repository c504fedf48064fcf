"""The page of one run, from its description."""

from __future__ import annotations

from typing import Any

from ..runs.request import titles
from . import charts
from .markup import Child, Html, foreign, joined, tag
from .parts import Figure, Section, facts, figures, note, picture, plural
from .tables import Column, integer_column, number_column, table, text_column
from .wording import count, density, percent, seconds, short, size

MOST_BARS = 20  # features in the picture of weights
LONGEST_IN_CHART = 28  # letters of a name
MOST_CLASSES = 12
LEAST_RANKS = 5
WIDE = 8  # times the smallest number
MOST_POINTS = 200  # of a line
LONGEST_VALUE = 200  # letters of a parameter
FILES = "data", "test", "names"


def key_figures(run: dict[str, Any]) -> Html:
    """What did I get, how good is it, and what did it cost."""
    quality, cost = run["quality"], run["cost"]
    some = [Figure("Selected", count(run["n_selected"]), f"of {plural(run['n_features'], 'feature')}")]
    if quality["test_accuracy"] is not None:
        more = (
            [f"balanced {percent(quality['test_balanced_accuracy'])}"]
            if quality["test_balanced_accuracy"] is not None
            else []
        )
        more += [f"AUC {quality['test_auc']:.3f}"] if quality["test_auc"] is not None else []
        some.append(Figure("Test accuracy", percent(quality["test_accuracy"]), ", ".join(more)))
    if quality["test_r2"] is not None:
        some.append(Figure("Test R²", f"{quality['test_r2']:.3f}", f"typical error {quality['test_error']:.4g}"))
    if quality["mistake_rate"] is not None:
        majority = quality["majority_mistake_rate"]
        beside = "" if majority is None else f"{percent(majority)} by always guessing the largest class"
        some.append(Figure("Online mistakes", percent(quality["mistake_rate"]), beside))
    if quality["online_r2"] is not None:
        some.append(Figure("Online R²", f"{quality['online_r2']:.3f}", "predicted before learned"))
    times = cost["seconds"]
    some.append(
        Figure(
            "Learning",
            seconds(times["learn"]),
            f"after {seconds(times['read'])} of reading {plural(run['n_rows'], 'row')}",
        )
    )
    some.append(Figure("Peak memory", size(cost["peak_memory_bytes"]), "of the whole process"))
    return figures(some)


def sections(run: dict[str, Any], prefix: str) -> list[Section]:
    """The parts of the page, in order; ``prefix`` begins the names of its pictures and tables."""
    made = [
        Section("asked", "What was asked", asked(run["asked"])),
        Section("data", "The data", the_data(run["data"])),
        Section("diagnosis", "Diagnosis", diagnosis(run["diagnosis"])),
        Section("features", "Selected features", features(run, prefix)),
        Section("curve", "Accuracy against the number of features", curve(run, prefix)),
        Section("mistakes", "Mistakes over the stream", mistakes(run, prefix)),
        Section("changes", "Features that entered and left", changes(run, prefix)),
        Section("redundancy", "Redundancy", redundancy(run["redundancy"], prefix)),
        Section("cost", "Time and memory", cost(run, prefix)),
    ]
    if run["curve"] is not None and run["curve"]["measure"] == "r2":
        made[4] = made[4]._replace(title="R² against the number of features")
    if run["mistakes"] is not None and "r2" in run["mistakes"]:
        made[5] = made[5]._replace(title="R² over the stream")
    return [section for section in made if section.body]


def asked(request: dict[str, Any]) -> Html:
    method = joined(
        tag("code", foreign(request["method"], LONGEST_VALUE)),
        f"; {request['summary']}" if request["summary"] else None,
    )
    known: dict[str, Child] = {"Method": method, "Paper": request["paper"]}
    known["Parameters"] = settings(request["params"]) if request["params"] else "the defaults"
    title = titles()
    for name, value in request["options"].items():
        several = [
            "yes" if one is True else str(one) for one in (value if isinstance(value, list | tuple) else [value])
        ]
        if isinstance(value, float):
            known[title[name]] = f"{value} of the rows, held out"
        else:
            known[title[name]] = file_name(several) if name in FILES else foreign(", ".join(several), LONGEST_VALUE)
    others = (
        tag("details", tag("summary", "Parameters left at their defaults"), settings(request["defaults"]))
        if request["defaults"]
        else None
    )
    return joined(facts(known), others)


def file_name(paths: list[str]) -> Html:
    """Files by their names, the folders in the tip."""
    names = ", ".join(path.rsplit("/", 1)[-1] for path in paths)
    return tag("span", foreign(names, LONGEST_VALUE), data_tip=short("\n".join(paths), 4 * LONGEST_VALUE))


def settings(params: dict[str, Any]) -> Html:
    return tag(
        "span",
        ((tag("code", foreign(f"{name} = {value}", LONGEST_VALUE)), " ") for name, value in params.items()),
        class_="settings",
    )


def the_data(data: dict[str, Any]) -> Html:
    known: dict[str, Child] = {
        "Where": None if data["path"] is None else foreign(data["path"], LONGEST_VALUE),
        "Files": None if data["n_files"] is None else count(data["n_files"]),
        "Size": None if data["n_bytes"] is None else size(data["n_bytes"]),
        "Fingerprint": None
        if data["fingerprint"] is None
        else tag("code", foreign(data["fingerprint"], 24), data_tip=str(data["fingerprint"])),
        "Rows": count(data["n_rows"]),
        "Features": count(data["n_features"]),
        "Non-zero values": f"{count(data['n_nonzero'])} ({density(data['density'])} of all)"
        if data["density"] is not None
        else count(data["n_nonzero"]),
        "Classes": None if not data["classes"] else class_counts(data["classes"]),
    }
    return facts(known)


def class_counts(classes: list[dict[str, Any]]) -> Html:
    total = sum(one["rows"] for one in classes) or 1
    largest = sorted(classes, key=lambda one: -one["rows"])[:MOST_CLASSES]
    chips = (
        tag(
            "span",
            foreign(one["label"], LONGEST_IN_CHART),
            f": {count(one['rows'])} rows ({percent(one['rows'] / total)})",
            class_="chip",
        )
        for one in largest
    )
    return joined(chips, f"and {count(len(classes) - len(largest))} more" if len(classes) > len(largest) else None)


def diagnosis(remarks: list[dict[str, str]]) -> Html:
    if not remarks:
        return note("Nothing to remark: the run found no sign of trouble in the data or the result.")
    return tag(
        "ul",
        (
            tag(
                "li",
                tag("strong", "Warning: " if remark["level"] == "warning" else "Note: "),
                remark["message"],
                tag("span", remark["advice"], class_="advice"),
                class_=f"remark {'warning' if remark['level'] == 'warning' else 'note'}",
            )
            for remark in remarks
        ),
        class_="remarks",
    )


def features(run: dict[str, Any], prefix: str) -> Html:
    """The weights of the best features as a picture, and all of them as a table."""
    columns, n = run["selected"], run["n_selected"]
    if not n:
        return note("No feature was selected; the diagnosis says what to try.")
    shown: list[Column] = [integer_column("Rank", range(1, n + 1))]
    shown.append(text_column("Feature", columns["feature"]))
    if columns["feature"] != [str(index) for index in columns["index"]]:
        shown.append(integer_column("Index", columns["index"], plain=True, tip="The 0-based number of the feature"))
    if "weight" in columns:
        shown.append(number_column("Weight", columns["weight"], "weight"))
    if "class" in columns:
        shown.append(text_column("Speaks for", columns["class"], tip="The class that a large value makes likelier"))
    shown.append(
        number_column("Score", columns["score"], tip="The key by which features are selected: larger is better")
    )
    if "frequency" in columns:
        shown.append(
            number_column(
                "Chosen", columns["frequency"], "fraction", tip="The fraction of resamples in which it was chosen"
            )
        )
    if "group" in columns:
        shown.append(text_column("Group", columns["group"]))
    pictures = tag("div", weights(run, prefix), falling_scores(columns["score"], prefix), class_="pictures")
    return joined(pictures, table(f"{prefix}-features", "Selected features, best first", shown, "features"))


def weights(run: dict[str, Any], prefix: str) -> Html:
    columns = run["selected"]
    key = "weight" if "weight" in columns else "score"
    classes = columns.get("class", [None] * run["n_selected"])
    lines = list(zip(columns["feature"], columns[key], classes, strict=True))[:MOST_BARS]
    items = [
        {
            "name": name,
            "value": value,
            "group": None if label is None else f"speaks for {label}",
            "tip": None if label is None else f"speaks for {label}",
        }
        for name, value, label in lines
        if value is not None
    ]
    if not items:
        return Html()
    what = "Weights" if key == "weight" else "Scores"
    title = f"{what} of the best {len(items)} features" if run["n_selected"] > len(items) else f"{what} of the features"
    return picture(f"{prefix}-weights", title, charts.bar_chart(items, signed=key == "weight"))


def falling_scores(scores: list[float | None], prefix: str) -> Html:
    """How fast scores fall with the rank, which shows where a selection could end."""
    known = [(rank, score) for rank, score in enumerate(scores, 1) if score is not None]
    if len(known) < LEAST_RANKS:
        return Html()
    step = -(-len(known) // MOST_POINTS)
    some = known[::step]
    series = {"name": "score", "x": [rank for rank, _ in some], "y": [score for _, score in some]}
    svg = charts.line_chart([series], x_title="rank", y_title="score", log_x=len(known) > MOST_POINTS)
    return picture(f"{prefix}-scores", "Scores by rank", svg)


def is_wide(numbers: list[int]) -> bool:
    """Whether numbers are so different that only a logarithmic axis shows them all."""
    return max(numbers) > WIDE * max(1, min(numbers))


def curve(run: dict[str, Any], prefix: str) -> Html:
    found = run["curve"]
    if found is None:
        return note(
            "No curve was measured. Ask for one with ",
            tag("code", "--curve true"),
            " or let the method choose with ",
            tag("code", "-k auto"),
            ", where a method can.",
        )
    is_accuracy = found["measure"] == "accuracy"
    series = {
        "name": "online accuracy" if is_accuracy else "online R²",
        "x": found["n_features"],
        "y": found["value"],
        "low": found["low"],
        "high": found["high"],
    }
    label = f"chosen: {count(found['taken'])}" if found["automatic"] else f"kept: {count(found['taken'])}"
    svg = charts.line_chart(
        [series],
        x_title="features",
        y_title=series["name"],
        log_x=is_wide(found["n_features"]),
        percent=is_accuracy,
        marked={"x": found["taken"], "label": label},
    )
    about = "Each row is predicted with the best k features before it is learned, all in the same pass."
    about += " Bars are 95% intervals." if found["low"] is not None else ""
    about += " The marked number was chosen automatically." if found["automatic"] else ""
    return picture(
        f"{prefix}-curve", f"Online {'accuracy' if is_accuracy else 'R²'} with the best k features", svg, about
    )


def mistakes(run: dict[str, Any], prefix: str) -> Html:
    found = run["mistakes"]
    if found is None:
        return Html()
    if "r2" in found:
        svg = charts.line_chart(
            [{"name": "R² so far", "x": found["rows"], "y": found["r2"], "low": None, "high": None}],
            x_title="rows",
            y_title="R²",
            log_x=is_wide(found["rows"]),
        )
        return picture(f"{prefix}-mistakes", "R² of predictions made before learning", svg)
    windows = found["windows"]
    recent = {"name": "in a window", "x": windows["rows"], "y": windows["rate"]}
    recent |= {"low": windows["low"], "high": windows["high"]}
    so_far = {"name": "so far", "x": found["rows"], "y": found["so_far"], "low": None, "high": None}
    svg = charts.line_chart(
        [recent, so_far], x_title="rows", y_title="mistakes", percent=True, log_x=is_wide(found["rows"])
    )
    return picture(
        f"{prefix}-mistakes",
        "Mistakes made before learning",
        svg,
        "Every row is predicted before it is learned. A window has the rows since the one before; the ranges are "
        "95% intervals.",
    )


def changes(run: dict[str, Any], prefix: str) -> Html:
    found = run["changes"]
    if found is None:
        return Html()
    unit = found["unit"]
    moments = zip(found["at"], found["entered"], found["left"], strict=True)
    last = max((at for at, entered, left in moments if entered or left), default=0)
    followed = "" if found["complete"] else " Of so large a selection, only the best features were followed."
    rows = [{"name": one["name"], "spans": drawn_stays(one, found["end"])} for one in found["features"]]
    stays = picture(
        f"{prefix}-stays",
        "When features were among the selected",
        charts.timeline(rows, x_title=unit, end=found["end"]),
        f"The best of those that were selected in the end, and of the {count(found['n_gone'])} others those that "
        f"stayed longest. The last change was after {count(last)} {unit}.{followed}",
    )
    moves = [
        {"name": name, "x": found["at"], "y": found[key], "low": None, "high": None}
        for name, key in (("entered", "entered"), ("left", "left"))
    ]
    busy = (
        picture(
            f"{prefix}-moves",
            "How many entered and left",
            charts.line_chart(moves, x_title=unit, y_title="features", step=True, log_x=is_wide(found["at"])),
        )
        if len(found["at"]) > 2
        else None
    )
    return tag("div", stays, busy, class_="pictures")


def drawn_stays(feature: dict[str, Any], end: int) -> list[list[int]]:
    """When a feature was selected; what left at the very end must not look as if it had stayed."""
    if feature["selected"]:
        return [list(stay) for stay in feature["stays"]]
    return [[start, min(stop, end - 1)] for start, stop in feature["stays"]]


def redundancy(found: dict[str, Any], prefix: str) -> Html:
    if "missing" in found:
        return note("Not shown: ", foreign(found["missing"], LONGEST_VALUE), ".")
    names = [short(name, LONGEST_IN_CHART) for name in found["names"]]
    svg = charts.heat_map(found["names"], found["correlation"], title="correlation")
    pairs = sorted(
        (
            (abs(value), value, a, b)
            for a, line in enumerate(found["correlation"])
            for b, value in enumerate(line[:a])
            if value is not None
        ),
        reverse=True,
    )
    strongest = None
    if pairs:
        _, value, a, b = pairs[0]
        strongest = joined(
            "The most alike are ",
            foreign(names[b]),
            " and ",
            foreign(names[a]),
            f", with a correlation of {value:+.2f}. ",
        )
    return picture(
        f"{prefix}-redundancy",
        f"Correlations of the best {len(names)} features",
        svg,
        joined(strongest, f"Over the first {count(found['n_rows'])} rows, read again for this report."),
    )


def cost(run: dict[str, Any], prefix: str) -> Html:
    spent, engine = run["cost"]["seconds"], run["cost"]["engine"]
    known: dict[str, Child] = {
        "In all": seconds(spent["total"]),
        "Reading": seconds(spent["read"]),
        "Learning": seconds(spent["learn"]),
        "Compiling": f"{seconds(spent['compile'])}, once for this machine"
        if spent.get("compile", 0.0) > 0.0005
        else None,
        "Rows per second": count(round(run["n_rows"] / spent["learn"])) + " while learning"
        if spent["learn"] > 0
        else None,
        "Peak memory": size(run["cost"]["peak_memory_bytes"]) + " of the whole process",
        "Workers": None if not engine else f"{engine['workers']:,} ({short(engine['name'])})",
    }
    items = [
        {"name": name, "value": spent[key], "group": None, "tip": None}
        for name, key in (("reading", "read"), ("learning", "learn"))
    ]
    chart = picture(f"{prefix}-cost", "Seconds, without compiling", charts.bar_chart(items, x_title="seconds"))
    return tag("div", facts(known), chart, class_="beside")
