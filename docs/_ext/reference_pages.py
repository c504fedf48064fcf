"""Write the reference pages that come from the package itself, before Sphinx reads its sources."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import streamsieve
from streamsieve.cli import main as command_line
from streamsieve.manual import describe_method
from streamsieve.registry import METHODS, find_method
from streamsieve.sources import formats
from streamsieve.sources.options import ReadOptions

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

KINDS = {
    "rows": "Methods that read rows",
    "columns": "Methods that read columns",
    "matrix": "Methods that read the whole matrix",
}
FUNCTIONS = ("select", "compare", "open_source", "load")
RESULTS = ("RunRecord", "Selection", "Feature", "Comparison")
DATA = ("Source", "ColumnSource", "RowBlock", "ColumnBlock", "DataError", "UsageError")
WIDTH = 100


def public_names() -> set[str]:
    """Return the names that the reference must have: all that the package makes public."""
    return {name for name in streamsieve.__all__ if not name.startswith("_")}


def python_page() -> str:
    """Return the page of all public classes and functions, each with a page of its own."""
    parts = ["# Python", "```python\nimport streamsieve as ss\n```"]
    parts += summary("Functions", FUNCTIONS)
    for kind, title in KINDS.items():
        names = [METHODS[name].estimator for name in METHODS if find_method(name).reads == kind]
        parts += summary(title, names)
    parts += summary("Results", RESULTS)
    parts += summary("Data and errors", DATA)
    return "\n\n".join(parts) + "\n"


def summary(title: str, names: Iterable[str]) -> list[str]:
    """Return a section that lists objects and makes a page for each."""
    lines = "\n".join(f"   streamsieve.{name}" for name in names)
    body = f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{lines}"
    return [f"## {title}", f"```{{eval-rst}}\n{body}\n```"]


def command_page() -> str:
    """Return the page of the command line: the help of every command."""
    context = click.Context(command_line, info_name="streamsieve", max_content_width=WIDTH)
    parts = ["# Command line", "What `streamsieve COMMAND --help` prints, for every command."]
    for name in command_line.list_commands(context):
        command = command_line.get_command(context, name)
        if command is not None:
            inner = click.Context(command, info_name=name, parent=context, max_content_width=WIDTH)
            parts += [f"## {name}", f"```text\n{command.get_help(inner)}\n```"]
    return "\n\n".join(parts) + "\n"


def methods_page() -> str:
    """Return the page of all methods: what they read and learn, and their parameters."""
    rows = ["| method | class | reads | learns | predicts | groups |", "|---|---|---|---|---|---|"]
    parts = []
    for name in METHODS:
        facts = describe_method(name)
        learns, predicts = " and ".join(facts["targets"]), "yes" if facts["predicts"] else ""
        target = f"[{facts['class']}](generated/streamsieve.{facts['class']})"
        groups = "yes" if facts["groups"] else ""
        rows.append(
            f"| `{name}` | {target} | {facts['reads']} | {learns} | {predicts} | {groups} |"
        )
        parts += [f"## {name}", facts["summary"], *parameter_table(facts["parameters"])]
        parts.append(f"```text\n$ {facts['example']}\n```")
    return "\n\n".join(["# Methods", "\n".join(rows), *parts]) + "\n"


def parameter_table(parameters: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the parameters of a method as a table."""
    lines = ["| parameter | default | values | meaning |", "|---|---|---|---|"]
    for each in parameters:
        cells = f"`{each['name']}`", f"`{each['default']!r}`", each["allowed"], each["meaning"]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    yield "\n".join(lines)


def formats_page() -> str:
    """Return the page of file formats, from the table that opens and writes them."""
    head = "| format | suffixes | rows | columns | tables | compressed |"
    lines = [head, "|---|---|---|---|---|---|"]
    for each in formats.FORMATS:
        suffixes = " ".join(f"`{suffix}`" for suffix in each.suffixes)
        rows = actions(each.open_rows, each.write_rows)
        columns = actions(each.open_columns, each.write_columns)
        tables, packed = "yes" if each.tables else "", "yes" if each.compressible else ""
        lines.append(f"| {each.name} | {suffixes} | {rows} | {columns} | {tables} | {packed} |")
    packers = ", ".join(
        f"`{suffix}` ({each.name})" for suffix, each in formats.COMPRESSIONS.items()
    )
    more = (
        "A file of any other suffix is read as svmlight text, and `-` is svmlight text on standard"
        f" input. Compressed files end in {packers}. A table has named columns, one of which is"
        " the target (`--target NAME`)."
    )
    return "\n\n".join(["# File formats", "\n".join(lines), more]) + "\n"


def actions(read: str | None, written: str | None) -> str:
    """Return what can be done with a form of data."""
    return " and ".join(["read"] * (read is not None) + ["written"] * (written is not None))


def options_page() -> str:
    """Return the page of the options that say how data is read."""
    rows = ["| option | in Python | meaning |", "|---|---|---|"]
    for field in dataclasses.fields(ReadOptions):
        value = f" {field.metadata['metavar']}" if field.metadata["metavar"] else ""
        typed = f"--{field.name.replace('_', '-')}{value}"
        rows.append(f"| `{typed}` | `{field.name}=` | {field.metadata['help']} |")
    about = (
        "These options are the same for `select`, `compare`, `info` and `convert` on the command"
        " line, and for `ss.select`, `ss.compare` and `ss.open_source` in Python."
    )
    return "\n\n".join(["# Options for reading data", about, "\n".join(rows)]) + "\n"


PAGES = {
    "python.md": python_page,
    "command_line.md": command_page,
    "methods.md": methods_page,
    "formats.md": formats_page,
    "options.md": options_page,
}


def write_pages(app: Sphinx, config: Config) -> None:
    """Write every generated page, if its text has changed."""
    folder = Path(app.srcdir) / "reference"
    for name, page in PAGES.items():
        path, text = folder / name, page()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the pages with Sphinx."""
    app.connect("config-inited", write_pages)  # before the pages that autosummary reads are listed
    return {"version": "1", "parallel_read_safe": True}
