"""Results as text for people."""

from __future__ import annotations

from typing import Any

from .terminal import LONGEST_CELL, can_show, printable, say

# what the columns of a table of features are called
COLUMNS = {
    "feature": "feature",
    "index": "index",
    "score": "score",
    "weight": "weight",
    "class": "speaks for",
    "group": "group",
    "frequency": "frequency",
}


def show_summary(summary: dict[str, Any], saved_to: Any) -> None:
    """A run, from its summary; what is to be noted comes first, as warnings do."""
    from ..report.charts import sparkline
    from ..report.run import windowed_mistakes
    from ..runs.record import as_read

    for remark in summary["details"].get("diagnosis", []):
        if remark["level"] == "note":
            say(f"streamsieve: note: {remark['message']}; {remark['advice']}", err=True)
    say(f"{summary['method']} kept {summary['n_selected']:,} of {summary['n_features']:,} features")
    say(f"  rows            {summary['n_rows']:,} ({summary['n_nonzero']:,} non-zeros)")
    if summary["mistake_rate"] is not None:
        over_rows = sparkline(windowed_mistakes(summary["trace"]))
        drawn = f", over the rows {over_rows}" if over_rows and can_show(over_rows) else ""
        say(f"  online mistakes {summary['mistakes']:,} ({mistake_rates(summary)}){drawn}")
    if summary["details"].get("online_r2") is not None:
        say(f"  online R2       {summary['details']['online_r2']:.4f}")
    if "test_r2" in summary:
        say(f"  test R2         {fit_text(summary['test_r2'], summary['details']['test_error'])}")
    if "test_accuracy" in summary:
        details = summary["details"]
        measures = quality_text(
            summary["test_accuracy"], details.get("test_balanced_accuracy"), details.get("test_auc")
        )
        say(f"  test accuracy   {measures}")
    if "curve" in summary:
        curve = summary["curve"]
        kind, shown = ("accuracy", "{:.2%}") if "accuracy" in curve else ("r2", "{:.4f}")
        values = ["-" if one is None else shown.format(one) for one in curve[kind]]
        say(f"  online {'accuracy' if kind == 'accuracy' else 'R2'} with the best k features")
        for k, value in zip(curve["n_features"], values, strict=True):
            say(f"    {k:>6,}        {value}")
    if "measures" in summary and summary["params"].get("measure") == "auto":
        measured = ", ".join(f"{count:,} by {measure}" for measure, count in summary["measures"].items())
        say(f"  relevant        {measured}")
    stability = summary["details"].get("stability")
    if stability is not None:
        say(f"  stability       {stability_text(stability)}")
    if "groups" in summary["details"]:
        say(f"  groups          {len(set(summary['details']['groups'])):,}")
    engine = summary["details"].get("engine")
    if engine:
        say(f"  workers         {workers_text(engine)}")
    say(f"  time            {time_taken(summary['seconds'], per_worker=bool(engine))}")
    say(f"  peak memory     {summary['peak_memory_bytes'] / 1e6:,.0f} MB")
    if summary["best"]:
        say(f"best {len(summary['best'])} by score")
        for line in table_of_features(as_read(summary["best"], summary["details"].get("first_id", 0))):
            say(f"  {line}")
    if saved_to:
        say(f"saved to {saved_to}")


def mistake_rates(summary: dict[str, Any]) -> str:
    """Mistakes per row, and what always predicting the most frequent class would have cost."""
    rate, majority = f"{summary['mistake_rate']:.2%}", summary["details"].get("majority")
    if majority is None:
        return rate
    from ..sources.writers import label_text

    return f"{rate}; always predicting {cell(label_text(majority['class']))}: {summary['majority_mistake_rate']:.2%}"


def quality_text(accuracy: float, balanced_accuracy: float | None, auc: float | None) -> str:
    """Accuracy, and what else is known of how good predictions are."""
    more = [] if balanced_accuracy is None else [f"balanced {balanced_accuracy:.2%}"]
    more += [] if auc is None else [f"AUC {auc:.4f}"]
    return f"{accuracy:.2%}" + (f" ({', '.join(more)})" if more else "")


def fit_text(r2: float | None, error: float) -> str:
    """How good predicted numbers are."""
    return f"{'-' if r2 is None else f'{r2:.4f}'} (root mean squared error {error:.6g})"


def table_of_features(lines: list[dict[str, Any]]) -> list[str]:
    """Features as aligned columns under their titles, numbers to the right."""
    from ..sources.writers import label_text

    show = {
        "score": "{:.6g}".format,
        "weight": "{:+.6g}".format,
        "class": lambda label: "-" if label is None else label_text(label),
        "frequency": "{:.0%}".format,
    }
    titles = [title for title in COLUMNS if title in lines[0]]
    rows = [[COLUMNS[title] for title in titles]]
    rows += [[cell(show.get(title, str)(line[title])) for title in titles] for line in lines]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [">" if title in ("score", "weight", "frequency") else "<" for title in titles]
    cells = ([f"{text:{side}{width}}" for text, side, width in zip(row, aligned, widths, strict=True)] for row in rows)
    return ["  ".join(row).rstrip() for row in cells]


def cell(text: str) -> str:
    """A name or a label in a table: on one line, and not too long."""
    return printable(text, LONGEST_CELL)


def stability_text(stability: dict[str, Any]) -> str:
    """How alike the selections from subsamples are, with what it may be off by."""
    value, low, high = (stability[key] for key in ("value", "low", "high"))
    measured = "-" if value is None else f"{value:.2f}"
    measured += "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    return f"{measured} over {stability['resamples']:,} subsamples of half the rows"


def workers_text(engine: dict[str, Any]) -> str:
    """Who has worked on a run, and how their work became one."""
    text = f"{engine['workers']:,} ({engine['name']})"
    text += f", {engine['rounds']:,} rounds" if "rounds" in engine else ""
    if "approximate" in engine:
        text += f", selected again from the {engine['approximate']['survivors']:,} that they kept (approximate)"
    return text + (f"; {engine['lost_workers']:,} lost and started again" if engine["lost_workers"] else "")


def time_taken(seconds: dict[str, float], per_worker: bool = False) -> str:
    """Seconds in all and where they went; compiling happens once, at first use."""
    parts = f"reading {seconds['read']:.2f}, learning {seconds['learn']:.2f}"
    compiling = seconds.get("compile", 0.0)
    parts += f", compiling {compiling:.2f}" if compiling else ""
    return f"{seconds['total']:.2f} s ({'per worker ' if per_worker else ''}{parts})"
