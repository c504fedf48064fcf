"""``streamsieve compare``: compare methods, with tables in the terminal and in a folder."""

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
    comparison_hint,
    hint_on_interrupt,
    progress_bar,
    read_options,
    without_unset,
)
from .parameters import completions_of, read_value
from .terminal import is_quiet, say


def complete_contender(
    ctx: click.Context, option: click.Parameter, start: str
) -> list[CompletionItem]:
    """Return the methods, also of scikit-learn, that begin with ``start``."""
    from ..evaluation.rivals import RIVALS
    from ..registry import METHODS

    return completions_of([*METHODS, *RIVALS], start)


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
        "A method to compare, repeatable: one that `streamsieve methods` lists, or one of"
        " scikit-learn: chi2, f-test, mutual-information, l1-svm, lasso, rfe, trees."
    ),
)
@click.option(
    "-k",
    "budgets",
    default="auto",
    show_default=True,
    metavar="NUMBER,...",
    help="How many features to select, such as 10,50,100; `auto` lets methods choose, if they can.",
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
        "A model to fit on the selected features, repeatable: linear, logistic, knn, tree, forest."
    ),
)
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    metavar="N",
    help="The number of folds of the cross-validation.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help=(
        "The number of repetitions, with other folds or, with --test, another order of the rows."
    ),
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="The number of processes; default: one per core.",
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
    help="What to predict.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder for finished cells and the tables.",
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
    """Compare methods by the accuracy of models on the selected features, time and memory.

    Every TRAIN is a data set of its own: a file, a folder of files or a quoted pattern. Without
    --test it is split into folds: features are selected from all folds but one, a model learns from
    the same rows, and its accuracy is measured on the remaining fold. Methods that predict also
    have a line for their own predictions: own.

    \b
    streamsieve compare train.svm -m sofs -m chi2 -k 10,50,100 -o comparison

    With -o, the same command computes only the missing cells, after an interruption or with more
    methods, numbers of features or seeds.
    """
    from ..workflow.compare import compare as run_comparison

    with progress_bar() as watch, hint_on_interrupt(comparison_hint, output):
        comparison = run_comparison(
            list(train),
            ",".join(methods),
            budgets,
            test=list(test) or None,
            models=",".join(models),
            folds=folds,
            seeds=seeds,
            jobs=jobs,
            params=parse_params(params),
            task=task,
            output=output,
            watch=watch,
            **without_unset(read),
        )
    if as_json:
        click.echo(to_json(comparison.to_dict()))
    elif not is_quiet():
        from .comparison_tables import show_comparison  # rich takes a while to load

        show_comparison(comparison)
        if output is not None:
            say(f"saved to {output}")


def parse_params(texts: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return parameters by method, from texts METHOD.NAME=VALUE."""
    params: dict[str, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        method, dot, parameter = name.partition(".")
        if not equals or not dot or not method or not parameter:
            raise UsageError(
                f"--param {text[:80]}: expected METHOD.NAME=VALUE, such as --param sofs.gamma=0.5"
            )
        if parameter in params.setdefault(method, {}):
            raise UsageError(f"--param {name}=... is given twice; omit one of them")
        params[method][parameter] = read_value(value)
    return params
