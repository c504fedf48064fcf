"""What is in data, and what a method is, as text for people."""

from __future__ import annotations

import shutil
import textwrap
from typing import Any

from .parameters import BUDGET, SHARED, in_words, option_name, text_of
from .terminal import LONGEST_CELL, printable, say

MOST_LABELS = 50  # shown one by one
MOST_COLUMNS = 12  # named one by one
WIDEST = 100  # letters of a line that is read
READS = {
    "rows": "rows, one after the other, in one pass",
    "columns": "columns, one after the other; rows are transposed first",
    "matrix": "the whole matrix, in memory",
}


def show_data(name: str, description: dict[str, Any]) -> None:
    """What ``info`` found."""
    say(name)
    say(f"  rows       {description['rows']:,}")
    say(f"  features   {description['features']:,}" + (" (named)" if description["named"] else ""))
    say(
        f"  non-zeros  {description['nonzeros']:,} ({description['nonzeros_per_row']:.1f} per row, "
        f"density {description['density']:.3g})"
    )
    if description["nonzeros"]:
        say(f"  values     {description['smallest_value']:.6g} to {description['largest_value']:.6g}")
    if "columns" in description:
        show_columns(description["columns"])
    show_target(description)
    if description["sorted_by_label"]:
        say("  the rows are sorted by label: shuffle them before learning from a stream")


def show_columns(columns: dict[str, Any]) -> None:
    """What the columns of a table are, if they are not just numbers."""
    text, missing = columns["text"], columns["missing"]
    kinds = {"number": columns["numbers"], "boolean": columns["booleans"], "date": columns["dates"], "text": len(text)}
    if sum(map(bool, kinds.values())) > 1 or not kinds["number"]:
        counts = (f"{count:,} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items() if count)
        say(f"  columns    {', '.join(counts)}")
    if text:
        shown = [f"{printable(name, LONGEST_CELL)} ({levels:,})" for name, levels in text.items()]
        say(f"  levels     {listed(shown)}")
    if missing:
        say(f"  missing in {listed([printable(name, LONGEST_CELL) for name in missing])}")
    for note in columns["notes"]:
        say(f"  note       {note}")


def listed(names: list[str]) -> str:
    """Names, not too many of them."""
    return ", ".join(names[:MOST_COLUMNS]) + (", ..." if len(names) > MOST_COLUMNS else "")


def show_target(description: dict[str, Any]) -> None:
    """The labels, one per line, or what numbers they are."""
    labels, target = description["labels"], description["target"]
    if target["kind"] == "none":
        say("  labels     none")
        return
    if target["kind"] == "numbers":
        range_of = f"{target['smallest']:.6g} to {target['largest']:.6g}, mean {target['mean']:.6g}"
        say(f"  target     numbers from {range_of}, {target['values']:,} different ones")
        return
    shown = [(printable(label, LONGEST_CELL), count) for label, count in list(labels.items())[:MOST_LABELS]]
    width = max(len(label) for label, _ in shown)
    for label, count in shown:
        unit = "row" if count == 1 else "rows"
        say(f"  label {label:<{width}}  {count:,} {unit} ({count / description['rows']:.1%})")
    if len(labels) > MOST_LABELS:
        say(f"  and {len(labels) - MOST_LABELS:,} more labels")


def show_methods(descriptions: list[dict[str, Any]], rivals: list[str]) -> None:
    """One line per method; ``rivals`` are those of scikit-learn to compare with."""
    for method in descriptions:
        say(f"{method['name']:<22}{method['summary']}")
    say("")
    show_text(f"streamsieve compare knows rivals of scikit-learn, too: {', '.join(rivals)}", "  ")
    say("  streamsieve methods NAME describes one, with its parameters")


def show_method(method: dict[str, Any], taken: set[str]) -> None:
    """All about one method; ``taken`` are the options of ``select`` itself, which parameters cannot have."""
    say(f"{method['name']} (in Python: streamsieve.{method['class']})")
    show_text(method["summary"], "  ")
    if method["description"]:
        say("")
        show_text(method["description"], "  ")
    say("")
    facts = {"paper": method["paper"], "reads": READS[method["reads"]], "target": " or ".join(method["targets"])}
    facts["predicts"] = "yes" if method["predicts"] else "no: it selects"
    if method["groups"]:
        facts["groups"] = "--groups FILE has the group of every feature"
    for title, text in facts.items():
        show_text(text, f"  {title:<10}", " " * 12)
    say("parameters")
    for parameter in method["parameters"]:
        name, choices = parameter["name"], parameter["choices"]
        option = f"{'-k, ' * (name == BUDGET)}{option_name(name)} VALUE"
        if option_name(name) in taken and name not in SHARED:
            option = f"--param {name}=VALUE"
        say(f"  {option}  (default {text_of(parameter['default'])})")
        allowed = in_words(parameter["allowed"]) if choices is None else ", ".join(map(text_of, choices))
        show_text(allowed, "      allowed: ", " " * 15)
        show_text(parameter["meaning"], "      ")
    say("example")
    say(f"  {method['example']}")


def show_text(text: str, first: str, indent: str | None = None) -> None:
    """A text in lines as wide as the terminal, and no wider than is read well."""
    width = min(WIDEST, shutil.get_terminal_size().columns)
    for line in textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=indent or first, break_on_hyphens=False
    ):
        say(line)
