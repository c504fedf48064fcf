"""Commands about streamsieve itself: its methods, and the completion of commands."""

from __future__ import annotations

import click

from ..json_text import to_json
from .describe import show_method, show_methods
from .parameters import complete_method, read_method

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")


@click.command(short_help="List the methods, or describe one.")
@click.argument("method", required=False, callback=read_method, shell_complete=complete_method)
@AS_JSON
def methods(method: str | None, as_json: bool) -> None:
    """List the methods, or describe METHOD: what it does, reads and predicts, its parameters and what they may be."""
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


@click.command(short_help="Print what completes commands in a shell.")
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
    """The options that ``select`` has whatever the method is."""
    root = click.get_current_context().find_root().command
    assert isinstance(root, click.Group)
    return {opt for option in root.commands["select"].params for opt in option.opts}
