"""Write the page of results: one section per experiment, between markers with its name.

A run replaces its own section. The rest of the page is written from the list of experiments: an
introduction, the sections that exist, in the order of the papers, and the experiments that have no
section yet or cannot have one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamsieve.files import replacing

from .experiment import Experiment, Table
from .machine import describe_machine
from .tables import aligned, markdown

# packages that influence figures, beside those that every measurement names
PACKAGES = ("scipy", "scikit-learn")
QUICK = (
    "A quick run, with less data and fewer repeats than the paper's: its figures say little beside"
    " the paper's."
)
SECTION = re.compile(r"<!-- (?P<name>[\w.]+) -->\n(?P<text>.*?)\n<!-- /(?P=name) -->", re.DOTALL)
INTRODUCTION = """# The papers' tables and figures, run again

`python -m reproduction NAME...` runs tables or figures of the papers again, by the protocol of each
paper. It needs a clone of the project. It prints the figures of the paper beside those measured.

- `--list` shows all tables and figures, the data that they need and how long they take.
- `--quick` runs them small, on the sets in `examples/data`.
- `--write` also writes their sections of this page.

All other data is read from the folder that `--data` or `STREAMSIEVE_DATA` names. It has one file
`name.svm.xz` per set. `python -m reproduction.download --to FOLDER` downloads most sets from their
public sources and keeps those that have the recorded digest; it says what to use for the others.
The addresses were never tried from the machine where this was written: some may have moved.

How to read the tables:

- Methods have the form of the papers (`reproduction/forms.py`), not streamsieve's defaults, unless
  a row says so.
- A star marks a figure that is further from the paper's than the section allows. The notes of the
  section give the reason, if it is known.
- Some results are only drawn in a paper, and cannot be read off exactly. Then the section has what
  the paper says about the drawing.
- The times of a paper are those of its own machines and programs. They show how times grow, not
  which program is faster.
- Tables of one paper that are run together share runs. The first of them then has the time of all.

The papers ([in full](../methods/index.md)):
"""


def section_text(
    experiment: Experiment, tables: Sequence[Table], quick: bool, seconds: float
) -> str:
    """Return the section of an experiment that was run."""
    command = f"python -m reproduction {experiment.name}{' --quick' if quick else ''}"
    lines = [
        f"## {experiment.name}: {experiment.title}",
        "",
        f"{experiment.paper}. `{command}`: {duration(seconds)}, on {describe_machine(*PACKAGES)}.",
    ]
    if quick:
        lines += ["", QUICK]
    for table in tables:
        lines += ["", markdown(table)]
    if experiment.notes:
        lines += [
            "",
            "Where this differs from the paper, and why:",
            "",
            *(f"- {note}" for note in experiment.notes),
        ]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Return a time as text, without digits that a second run would not repeat."""
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def write_section(
    path: Path,
    name: str,
    text: str,
    experiments: Mapping[str, Experiment],
    missing: Mapping[str, str],
) -> None:
    """Replace a section of the page, or add it in its place; keep the other sections."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {match["name"]: match["text"] for match in SECTION.finditer(old)}
    sections[name] = text
    page = page_text(sections, experiments, missing)
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8")


def page_text(
    sections: Mapping[str, str], experiments: Mapping[str, Experiment], missing: Mapping[str, str]
) -> str:
    """Return the whole page."""
    papers = {name.partition(".")[0]: experiment.paper for name, experiment in experiments.items()}
    parts = [
        INTRODUCTION + "\n" + "\n".join(f"- {number}: {paper}" for number, paper in papers.items())
    ]
    parts += [
        f"<!-- {name} -->\n{sections[name]}\n<!-- /{name} -->"
        for name in experiments
        if name in sections
    ]
    not_run = [name for name in experiments if name not in sections]
    if not_run:
        parts.append(f"Not run in full yet: {', '.join(not_run)}.")
    rows = [[name, needed] for name, needed in missing.items()]
    parts.append(
        "## What cannot be run\n\n" + aligned(["table or figure", "what it would need"], rows)
    )
    return "\n\n".join(parts) + "\n"
