"""``streamsieve compare``: methods beside each other, as tables in the terminal and in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..errors import UsageError
from ..json_text import to_json
from .options import (
    AS_JSON,
    QUIET,
    VERBOSE,
    cells_so_far,
    given,
    hint_after,
    progress_bar,
    read_options,
)
from .parameters import completed, read_value
from .terminal import is_quiet, say


def complete_contender(
    ctx: click.Context, option: click.Parameter, start: str
) -> list[CompletionItem]:
    from ..evaluation.rivals import RIVALS
    from ..registry import METHODS

    return completed([*METHODS, *RIVALS], start)


@click.command(short_help="Compare methods: accuracy, time and memory.")
@click.argument("train", nargs=-1, required=True)
@click.option(
    "-m",
    "--method",
    "methods",
    multiple=True,
    required=True,
    metavar="METHOD",
    shell_complete=complete_contender,
    help=(
        "What to compare, repeatable: a method that `streamsieve methods` lists, or one of"
        " scikit-learn's: chi2, f-test, mutual-information, l1-svm, lasso, rfe, trees."
    ),
)
@click.option(
    "-k",
    "budgets",
    default="auto",
    show_default=True,
    metavar="NUMBER,...",
    help="How many features to select, such as 10,50,100; `auto` lets methods choose that can.",
)
@click.option(
    "--test",
    multiple=True,
    metavar="FILE",
    help="Test on these rows, not by cross-validation; one for each TRAIN, in the same order.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    default=["linear"],
    show_default=True,
    metavar="MODEL",
    help=(
        "What is fitted on the selected features, repeatable: linear, logistic, knn, tree, forest."
    ),
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    metavar="N",
    help="Of the cross-validation.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help=(
        "How often to repeat it all, with other folds; with --test, with the rows in another order."
    ),
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="How many processes work at once; default: one per core.",
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="METHOD.NAME=VALUE",
    help="A parameter of a method, such as sofs.gamma=0.5; repeatable.",
)
@click.option(
    "--task",
    type=click.Choice(["auto", "classification", "regression"]),
    default="auto",
    show_default=True,
    help="What is to be predicted.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep every finished cell and the tables here.",
)
@read_options()
@AS_JSON
@QUIET
@VERBOSE
def compare(
    train: tuple[str, ...],
    methods: tuple[str, ...],
    budgets: str,
    test: tuple[str, ...],
    models: tuple[str, ...],
    folds: int,
    seeds: int,
    jobs: int | None,
    params: tuple[str, ...],
    task: str,
    output: Path | None,
    as_json: bool,
    **read: Any,
) -> None:
    """Compare methods by the accuracy of models on the features that they select, by time and by memory.

    Every TRAIN is a data set of its own: a file, a folder of files or a quoted pattern. Without
    --test it is cut into folds; features are selected from all folds but one, and a model that
    learns from the same rows is tested on that one. Methods that predict by themselves have a line
    for that, too: own.

    \b
    streamsieve compare train.svm -m sofs -m chi2 -k 10,50,100 -o comparison

    With -o the same command does only what is missing, after an interruption or with more methods,
    numbers or seeds.
    """
    from ..workflow.compare import compare as run_comparison

    with progress_bar() as watch, hint_after(cells_so_far, output):
        comparison = run_comparison(
            list(train),
            ",".join(methods),
            budgets,
            test=list(test) or None,
            models=",".join(models),
            folds=folds,
            seeds=seeds,
            jobs=jobs,
            params=given_params(params),
            task=task,
            output=output,
            watch=watch,
            **given(read),
        )
    if as_json:
        click.echo(to_json(comparison.to_dict()))
    elif not is_quiet():
        from .comparison_tables import show_comparison  # rich takes a while to load

        show_comparison(comparison)
        if output is not None:
            say(f"saved to {output}")


def given_params(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Parameters by method, from METHOD.NAME=VALUE."""
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        method, dot, parameter = name.partition(".")
        if not equals or not dot or not method or not parameter:
            raise UsageError(
                f"--param {text[:80]}: expected METHOD.NAME=VALUE, such as --param sofs.gamma=0.5"
            )
        if parameter in found.setdefault(method, {}):
            raise UsageError(f"--param {name}=... is given twice; omit one of them")
        found[method][parameter] = read_value(value)
    return found
