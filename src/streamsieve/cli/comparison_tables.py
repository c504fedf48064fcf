"""Print a comparison: a table per data set, ranks over all data sets, failures."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from ..display import MAX_CELL_LENGTH, printable
from ..errors import UsageError
from ..evaluation.comparison import (
    Comparison,
    Ranks,
    group_lines,
    measure_text,
    memory_text,
    seconds_text,
)
from ..report.charts import sparkline
from .terminal import MAX_LINE_LENGTH, draw, say

MEASURE_NAMES = {"accuracy": "accuracy", "r2": "R2"}
FAILED, CHOSEN = "failed", "auto"  # auto: the method chooses the number of features


def show_comparison(comparison: Comparison) -> None:
    """Print the tables, the failures and the ranks of a comparison."""
    summary = comparison.summary()
    facts = {set_facts["name"]: set_facts for set_facts in comparison.request["data"]}
    for number, ((name,), lines) in enumerate(group_lines(summary, "data")):
        if number:
            say("")
        measure = "r2" if facts[name]["kind"] == "numbers" else "accuracy"
        say(title_of(facts[name], comparison.request, MEASURE_NAMES[measure]))
        table = budget_table(lines, measure)
        width = shutil.get_terminal_size().columns
        if Console(width=10_000).measure(table).maximum > width:
            table = narrow_table(lines, measure)
        draw(table)
    show_failures(summary, several=len(facts) > 1)
    try:
        ranks = comparison.ranks()
    except UsageError:  # of one method
        return
    if ranks.n_sets > 1:
        show_ranks(ranks)


def title_of(facts: dict[str, Any], request: dict[str, Any], measure: str) -> str:
    """Return the title of the table of a data set."""
    test = facts["test_rows"]
    parts = f"{request['folds']} folds" if test is None else f"{test:,} test rows"
    seeds = len(request["seeds"])
    parts += f", {seeds:,} seeds" if seeds > 1 else ""
    name = printable(facts["name"], MAX_CELL_LENGTH)
    return f"{name}: {measure}, {facts['rows']:,} rows, {facts['features']:,} features, {parts}"


def budget_table(lines: Sequence[dict[str, Any]], measure: str) -> Table:
    """Return a table with a line per method and model, and a column per budget.

    Time and memory are those of all budgets together.
    """
    budgets = sorted({line["k"] for line in lines}, key=lambda k: (k is None, k))
    numbers = [k for k in budgets if k is not None]
    titles = ["method", *("k chosen" if k is None else f"k={k:,}" for k in budgets)]
    titles += ["over k", "time", "memory"] if len(numbers) > 1 else ["time", "memory"]
    table = empty_table(titles, wraps=False)
    best, first = best_of(lines, measure), lines[0]["model"]
    for (method, model), method_lines in group_lines(lines, "method", "model"):
        by_k = {line["k"]: line for line in method_lines}
        cells = [value_cell(by_k.get(k), measure, best, chosen=k is None) for k in budgets]
        if len(numbers) > 1:
            cells.append(
                Text(sparkline([by_k[k][measure] if k in by_k else None for k in numbers]))
            )
        table.add_row(
            Text(method if model == first else f"{method} ({model})"),
            *cells,
            *cost_cells(method_lines),
        )
    return table


def narrow_table(lines: Sequence[dict[str, Any]], measure: str) -> Table:
    """Return a table with a line per method, budget and model, for narrow terminals."""
    table = empty_table(
        ["method", "k", "model", MEASURE_NAMES[measure], "time", "memory"], wraps=True
    )
    best = best_of(lines, measure)
    for line in lines:
        k = CHOSEN if line["k"] is None else f"{line['k']:,}"
        shown = value_cell(line, measure, best, chosen=line["k"] is None)
        table.add_row(
            Text(line["method"]), Text(k), Text(line["model"]), shown, *cost_cells([line])
        )
    return table


def empty_table(titles: Sequence[str], wraps: bool) -> Table:
    """Return a table with texts to the left and numbers to the right.

    Names of methods are never wrapped.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for title in titles:
        side: JustifyMethod = "left" if title in ("method", "model", "over k") else "right"
        table.add_column(title, justify=side, no_wrap=not wraps or title == "method")
    return table


def best_of(lines: Sequence[dict[str, Any]], measure: str) -> float | None:
    """Return the largest value of a measure, or None."""
    return max((line[measure] for line in lines if line[measure] is not None), default=None)


def value_cell(line: dict[str, Any] | None, measure: str, best: float | None, chosen: bool) -> Text:
    """Return the mean of a cell with its deviation, the best in bold.

    If the method has chosen the number of features, the number is added.
    """
    if line is None:
        return Text("")
    if line[measure] is None:
        return Text(FAILED, style="red")
    text = measure_text(line, measure) + (f" ({line['n_selected']:,.0f})" if chosen else "")
    return Text(text, style="bold" if line[measure] == best else "")


def cost_cells(lines: Sequence[dict[str, Any]]) -> list[Text]:
    """Return the mean time of one selection, and the largest memory."""
    seconds = [line["seconds"] for line in lines if line["seconds"] is not None]
    memory = [line["peak_memory_bytes"] for line in lines if line["peak_memory_bytes"] is not None]
    mean = sum(seconds) / len(seconds) if seconds else None
    return [Text(seconds_text(mean)), Text(memory_text(max(memory, default=None)))]


def show_failures(summary: Sequence[dict[str, Any]], several: bool) -> None:
    """Print each failure once."""
    for (data, method, error), lines in group_lines(
        [line for line in summary if line["error"] is not None], "data", "method", "error"
    ):
        where = f" on {printable(data, MAX_CELL_LENGTH)}" if several else ""
        failed, all_lines = (
            sum(line["failed"] for line in lines),
            sum(line["n"] + line["failed"] for line in lines),
        )
        count = "" if failed == all_lines else f" ({failed:,} of {all_lines:,} times)"
        say(printable(f"{method} failed{where}{count}: {error}", MAX_LINE_LENGTH))


def show_ranks(ranks: Ranks) -> None:
    """Print average ranks, and whether they differ significantly."""
    order = ", ".join(f"{method} {rank:.2f}" for method, rank in ranks.average.items())
    say(f"average ranks over {ranks.n_sets:,} data sets: {order}")
    if ranks.critical_difference is not None and ranks.friedman is not None:
        difference, p_value = ranks.critical_difference, ranks.friedman.p_value
        say(f"  critical difference {difference:.2f} (Nemenyi, 5%), Friedman p {p_value:.2g}")
    if ranks.omitted:
        say(f"  omitted, without a result on some of the data: {', '.join(ranks.omitted)}")
