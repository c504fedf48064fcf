"""Commands about streamsieve itself: list methods and complete commands."""

from __future__ import annotations

import shutil
import textwrap
from typing import Any

import click

from ..json_text import to_json
from .options import AS_JSON
from .parameters import (
    BUDGET,
    SHARED,
    complete_method,
    option_name,
    read_method,
    text_of,
    to_typed_words,
)
from .terminal import say

MAX_LINE_WIDTH = 100  # characters of a line of text
READS = {
    "rows": "rows, one after the other, in one pass",
    "columns": "columns, one after the other; rows are turned into columns first",
    "matrix": "the whole matrix, in memory",
}


@click.command(short_help="List the methods, or describe one.")
@click.argument("method", required=False, callback=read_method, shell_complete=complete_method)
@AS_JSON
def methods(method: str | None, as_json: bool) -> None:
    """List the methods, or describe METHOD: its paper, data, target, parameters and an example."""
    from ..manual import describe_method
    from ..registry import METHODS

    descriptions = [describe_method(name) for name in ([method] if method else METHODS)]
    if as_json:
        click.echo(to_json(descriptions[0] if method else descriptions))
    elif method:
        show_method(descriptions[0], options_of_select())
    else:
        from ..evaluation.rivals import RIVALS

        show_methods(descriptions, list(RIVALS))


@click.command(short_help="Print a script for command completion in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options, methods and their parameters in SHELL.

    \b
    bash: eval "$(streamsieve completion bash)", in ~/.bashrc
    zsh:  eval "$(streamsieve completion zsh)", in ~/.zshrc
    fish: streamsieve completion fish > ~/.config/fish/completions/streamsieve.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells above"
    program = click.get_current_context().find_root().command
    click.echo(kind(program, {}, "streamsieve", "_STREAMSIEVE_COMPLETE").source())


def options_of_select() -> set[str]:
    """Return the options that ``select`` has for every method."""
    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    return {opt for option in root.commands["select"].params for opt in option.opts}


def show_methods(descriptions: list[dict[str, Any]], rivals: list[str]) -> None:
    """Print one line per method, and the methods of scikit-learn for comparisons."""
    for method in descriptions:
        say(f"{method['name']:<22}{method['summary']}")
    say("")
    show_text(
        f"streamsieve compare also accepts these methods of scikit-learn: {', '.join(rivals)}", "  "
    )
    say("  streamsieve methods NAME describes one, with its parameters")


def show_method(method: dict[str, Any], taken: set[str]) -> None:
    """Print the description of one method.

    ``taken`` are the options of ``select`` itself, which cannot be options of parameters.
    """
    say(f"{method['name']} (in Python: streamsieve.{method['class']})")
    show_text(method["summary"], "  ")
    if method["description"]:
        say("")
        show_text(method["description"], "  ")
    say("")
    facts = {
        "paper": method["paper"],
        "reads": READS[method["reads"]],
        "target": " or ".join(method["targets"]),
        "predicts": "yes" if method["predicts"] else "no: it selects",
    }
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
        allowed = (
            to_typed_words(parameter["allowed"])
            if choices is None
            else ", ".join(map(text_of, choices))
        )
        show_text(allowed, "      allowed: ", " " * 15)
        show_text(parameter["meaning"], "      ")
    say("example")
    say(f"  {method['example']}")


def show_text(text: str, first: str, indent: str | None = None) -> None:
    """Print a text in lines as wide as the terminal, but at most 100 characters."""
    width = min(MAX_LINE_WIDTH, shutil.get_terminal_size().columns)
    for line in textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=indent or first, break_on_hyphens=False
    ):
        say(line)
