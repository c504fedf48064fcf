"""Print results as text."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from .terminal import MAX_CELL_LENGTH, can_show, printable, say

if TYPE_CHECKING:
    from ..workflow.apply import Predicted, Predictions

MAX_LABELS = 50  # shown one by one
MAX_COLUMNS = 12  # named one by one
# The titles of the columns of a table of features.
COLUMNS = {
    "feature": "feature",
    "index": "index",
    "score": "score",
    "weight": "weight",
    "class": "class",
    "group": "group",
    "frequency": "frequency",
}


def show_summary(summary: dict[str, Any], saved_to: Any) -> None:
    """Print the summary of a run, after its notes."""
    from ..runs.record import to_display_lines

    details, engine = summary["details"], summary["details"].get("engine")
    for remark in details.get("diagnosis", []):
        if remark["level"] == "note":
            say(f"streamsieve: note: {remark['message']}; {remark['advice']}", err=True)
    say(f"{summary['method']} kept {summary['n_selected']:,} of {summary['n_features']:,} features")
    show_facts(
        {
            "rows": f"{summary['n_rows']:,} ({summary['n_nonzero']:,} non-zeros)",
            "online mistakes": mistakes_text(summary),
            "online R2": (
                None if details.get("online_r2") is None else f"{details['online_r2']:.4f}"
            ),
            "test R2": (
                fit_text(summary["test_r2"], details["test_error"])
                if "test_r2" in summary
                else None
            ),
            "test accuracy": (
                None
                if "test_accuracy" not in summary
                else quality_text(
                    summary["test_accuracy"],
                    details.get("test_balanced_accuracy"),
                    details.get("test_auc"),
                )
            ),
        }
    )
    if "curve" in summary:
        curve = summary["curve"]
        kind, shown = ("accuracy", "{:.2%}") if "accuracy" in curve else ("r2", "{:.4f}")
        say(f"  online {'accuracy' if kind == 'accuracy' else 'R2'} with the best k features")
        for k, value in zip(curve["n_features"], curve[kind], strict=True):
            say(f"    {k:>6,}        {'-' if value is None else shown.format(value)}")
    measures = summary.get("measures") if summary["params"].get("measure") == "auto" else None
    measured = (
        None
        if measures is None
        else ", ".join(f"{count:,} by {name}" for name, count in measures.items())
    )
    show_facts(
        {
            "relevant": measured,
            "stability": (
                stability_text(details["stability"])
                if details.get("stability") is not None
                else None
            ),
            "groups": f"{len(set(details['groups'])):,}" if "groups" in details else None,
            "workers": workers_text(engine) if engine else None,
            "time": time_taken(summary["seconds"], per_worker=bool(engine)),
            "peak memory": f"{summary['peak_memory_bytes'] / 1e6:,.0f} MB",
        }
    )
    if summary["best"]:
        say(f"best {len(summary['best'])} by score")
        for line in table_of_features(
            to_display_lines(summary["best"], details.get("first_id", 0))
        ):
            say(f"  {line}")
    if saved_to:
        say(f"saved to {saved_to}")


def show_facts(facts: dict[str, str | None], width: int = 16) -> None:
    """Print facts after their titles, except those that are None."""
    for title, text in facts.items():
        if text is not None:
            say(f"  {title:<{width}}{text}")


def mistakes_text(summary: dict[str, Any]) -> str | None:
    """Return mistakes in all, per row and over the rows, and those of the majority class."""
    if summary["mistake_rate"] is None:
        return None
    from ..report.charts import sparkline
    from ..report.run import windowed_mistakes
    from ..sources.writers import label_text

    rates, majority = f"{summary['mistake_rate']:.2%}", summary["details"].get("majority")
    if majority is not None:
        label = cell_text(label_text(majority["class"]))
        rates += f"; always predicting {label}: {summary['majority_mistake_rate']:.2%}"
    over_rows = sparkline(windowed_mistakes(summary["trace"]))
    drawn = f", over the rows {over_rows}" if over_rows and can_show(over_rows) else ""
    return f"{summary['mistakes']:,} ({rates}){drawn}"


def quality_text(accuracy: float, balanced_accuracy: float | None, auc: float | None) -> str:
    """Return the accuracy, with the balanced accuracy and the AUC if they are given."""
    details = [] if balanced_accuracy is None else [f"balanced {balanced_accuracy:.2%}"]
    details += [] if auc is None else [f"AUC {auc:.4f}"]
    return f"{accuracy:.2%}" + (f" ({', '.join(details)})" if details else "")


def fit_text(r2: float | None, error: float) -> str:
    """Return the quality of predicted numbers."""
    return f"{'-' if r2 is None else f'{r2:.4f}'} (root mean squared error {error:.6g})"


def table_of_features(lines: list[dict[str, Any]]) -> list[str]:
    """Return features as lines of aligned columns with titles, numbers to the right."""
    from ..sources.writers import label_text

    show = {
        "score": "{:.6g}".format,
        "weight": "{:+.6g}".format,
        "class": lambda label: "-" if label is None else label_text(label),
        "frequency": "{:.0%}".format,
    }
    titles = [title for title in COLUMNS if title in lines[0]]
    rows = [[COLUMNS[title] for title in titles]]
    rows += [[cell_text(show.get(title, str)(line[title])) for title in titles] for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [">" if title in ("score", "weight", "frequency") else "<" for title in titles]
    cells = (
        [f"{text:{side}{width}}" for text, side, width in zip(row, aligned, widths, strict=True)]
        for row in rows
    )
    return ["  ".join(row).rstrip() for row in cells]


def cell_text(text: str) -> str:
    """Return a name or a label for a table: on one line, and not too long."""
    return printable(text, MAX_CELL_LENGTH)


def stability_text(stability: dict[str, Any]) -> str:
    """Return the stability of the selections from subsamples, with its interval."""
    value, low, high = (stability[key] for key in ("value", "low", "high"))
    measured = "-" if value is None else f"{value:.2f}"
    measured += "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    return f"{measured} over {stability['resamples']:,} subsamples of half the rows"


def workers_text(engine: dict[str, Any]) -> str:
    """Return how many workers a run had, and how their results were merged."""
    text = f"{engine['workers']:,} ({engine['name']})"
    text += f", {engine['rounds']:,} rounds" if "rounds" in engine else ""
    if "approximate" in engine:
        text += (
            f", selected again from the {engine['approximate']['survivors']:,} that they kept"
            " (approximate)"
        )
    return text + (
        f"; {engine['lost_workers']:,} lost and started again" if engine["lost_workers"] else ""
    )


def time_taken(seconds: dict[str, float], per_worker: bool = False) -> str:
    """Return the total seconds and their parts; each method and kind of data compiles once."""
    parts = f"reading {seconds['read']:.2f}, learning {seconds['learn']:.2f}"
    compiling = seconds.get("compile", 0.0)
    parts += f", compiling {compiling:.2f}" if compiling else ""
    return f"{seconds['total']:.2f} s ({'per worker ' if per_worker else ''}{parts})"


# ---- data and predictions


def show_data(name: str, description: dict[str, Any]) -> None:
    """Print the description of data by ``info``."""
    per_row = f"{description['nonzeros_per_row']:.1f} per row, density {description['density']:.3g}"
    extremes = description["smallest_value"], description["largest_value"]
    say(name)
    facts = {
        "rows": f"{description['rows']:,}",
        "features": f"{description['features']:,}" + (" (named)" if description["named"] else ""),
        "non-zeros": f"{description['nonzeros']:,} ({per_row})",
        "values": "{:.6g} to {:.6g}".format(*extremes) if description["nonzeros"] else None,
    }
    show_facts(facts, 11)
    if "columns" in description:
        show_columns(description["columns"])
    show_target(description)
    if description["sorted_by_label"]:
        say("  the rows are sorted by label: shuffle them before learning from a stream")


def show_columns(columns: dict[str, Any]) -> None:
    """Print the kinds of the columns of a table, unless all are numbers."""
    text, missing = columns["text"], columns["missing"]
    kinds = {
        "number": columns["numbers"],
        "boolean": columns["booleans"],
        "date": columns["dates"],
        "text": len(text),
    }
    if sum(map(bool, kinds.values())) > 1 or not kinds["number"]:
        counts = (
            f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items() if count
        )
        say(f"  columns    {', '.join(counts)}")
    levels = [f"{cell_text(name)} ({count:,})" for name, count in text.items()]
    incomplete = list_names(list(map(cell_text, missing))) if missing else None
    show_facts({"levels": list_names(levels) if levels else None, "missing in": incomplete}, 11)
    for note in columns["notes"]:
        say(f"  note       {note}")


def list_names(names: list[str]) -> str:
    """Return names, shortened if there are many."""
    return ", ".join(names[:MAX_COLUMNS]) + (", ..." if len(names) > MAX_COLUMNS else "")


def show_target(description: dict[str, Any]) -> None:
    """Print the labels, one per line, or the range of the numbers."""
    labels, target = description["labels"], description["target"]
    if target["kind"] == "none":
        say("  labels     none")
        return
    if target["kind"] == "numbers":
        range_of = f"{target['smallest']:.6g} to {target['largest']:.6g}, mean {target['mean']:.6g}"
        say(f"  target     numbers from {range_of}, {target['values']:,} different ones")
        return
    shown = [
        (printable(label, MAX_CELL_LENGTH), count)
        for label, count in list(labels.items())[:MAX_LABELS]
    ]
    width = max(len(label) for label, _ in shown)
    for label, count in shown:
        unit = "row" if count == 1 else "rows"
        say(f"  label {label:<{width}}  {count:,} {unit} ({count / description['rows']:.1%})")
    if len(labels) > MAX_LABELS:
        say(f"  and {len(labels) - MAX_LABELS:,} more labels")


def write_labels(rows: Predictions, file: IO[str]) -> Iterator[Predicted]:
    """Write predicted labels, one per line, as they pass by.

    Line ends within a label are escaped.
    """
    from ..sources.writers import label_text

    for prediction, y in rows:
        file.writelines(f"{printable(label_text(label))}\n" for label in prediction.labels.tolist())
        yield prediction, y


def write_scores(
    rows: Predictions, file: IO[str], probabilities: bool = False
) -> Iterator[Predicted]:
    """Write a table of predicted labels and scores, or probabilities, as they pass by.

    Of two classes, the score is that of the second.
    """
    from ..sources.writers import label_text

    writer = csv.writer(file, lineterminator="\n")
    on_screen = file.isatty()

    def shown(label: Any) -> str:
        return printable(label_text(label)) if on_screen else label_text(label)

    classes = [] if rows.classes is None else [shown(label) for label in rows.classes.tolist()]
    writer.writerow(
        [
            "prediction",
            *(
                [f"probability_{label}" for label in classes]
                if probabilities
                else ["score"]
                if len(classes) == 2
                else [f"score_{label}" for label in classes]
            ),
        ]
    )
    for prediction, y in rows:
        values: Any = prediction.probabilities if probabilities else prediction.scores
        scores = values.reshape(len(prediction.labels), -1).tolist()
        writer.writerows(
            [shown(label), *row_scores]
            for label, row_scores in zip(prediction.labels.tolist(), scores, strict=True)
        )
        yield prediction, y
