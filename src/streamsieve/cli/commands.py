"""The commands: open, call, print."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..distributed.opening import ENGINES
from ..errors import UsageError
from ..files import replacing
from ..json_text import to_json
from ..sources import formats
from .predictions import write_labels, write_scores
from .show import fit_text, quality_text, show_data, show_methods, show_summary
from .terminal import say

TARGET = click.option("--target", metavar="NAME", help=f"The column to predict, in tables ({formats.table_files()}).")
ZERO_BASED = click.option("--zero-based", is_flag=True, help="Feature ids of svmlight files start at 0, not at 1.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
MEMORY = click.option("--memory", metavar="SIZE", help="The most to take, such as 2GB; what needs more is refused.")
RUN_DIR = click.argument("run_dir", type=click.Path(exists=True, file_okay=False))
DATA = click.argument("data", nargs=-1, required=True)


def read_value(text: str) -> Any:
    """JSON if it is that (true, null, numbers, lists), text otherwise; what is not a number in JSON, NaN, is text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):  # of a list in lists, or an integer of thousands of digits, too
        return text


def read_param(text: str) -> tuple[str, Any]:
    """NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--param {text[:80]}: expected NAME=VALUE, such as gamma=0.5")
    return name, read_value(value)


def read_params(texts: tuple[str, ...], method: str, budget: str | None, workers: int | None) -> dict[str, Any]:
    """The parameters of a method, with the budget and the number of workers among them."""
    from ..workflow import refuse_unknown_parameters

    params: dict[str, Any] = {}
    for name, value in map(read_param, texts):
        if name in params:
            raise UsageError(f"--param {name}=... is given twice; omit one of them")
        params[name] = value
    refuse_unknown_parameters(method, params)
    options = {"n_features_to_select": ("-k", None if budget is None else read_value(budget))}
    options |= {"workers": ("--workers", workers)}
    for name, (option, value) in options.items():
        if value is not None and name in params:
            raise UsageError(f"{option} and --param {name}=... say the same; omit one of them")
        if value is not None:
            params[name] = value
    return params


class Select(click.Command):
    """Refuses files after --test FILE, as a shell writes them for an unquoted pattern: they would be learned from."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        train = ctx.params["train"]
        for option, name, after in zip(["", *given], given, given[1:], strict=False):
            if (option == "--test" or name.startswith("--test=")) and after in train and len(train) > 1:
                raise UsageError(
                    f"{after}: comes after --test FILE and would be learned from; quote a pattern or repeat --test, "
                    "and name what to learn from first"
                )
        return rest


@click.command(
    cls=Select,
    help="Select features from TRAIN: a file, several that are read one after the other, a folder of files or a "
    "quoted pattern, `-` for standard input, or `synthetic:x1`.\n\n"
    f"Files: {formats.readable()}.",
)
@click.argument("train", nargs=-1)
@click.option("-m", "--method", default="sofs", show_default=True, help="See `streamsieve methods`.")
@click.option("-k", "budget", metavar="NUMBER", help="How many features to keep; below 1, a fraction of them all.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the method; repeatable.")
@click.option(
    "--test",
    multiple=True,
    metavar="FILE",
    help="Measure accuracy and AUC, or R2, on these rows afterwards; repeatable.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="RUN_DIR", help="Keep model and result here.")
@click.option(
    "--checkpoint-every",
    type=click.IntRange(1),
    metavar="N",
    help="Keep what was learned so far in RUN_DIR, every N rows, or features for methods that take columns.",
)
@click.option("--resume", type=click.Path(exists=True, file_okay=False), metavar="RUN_DIR", help="Go on with a run.")
@click.option("--classes", metavar="A,B", help="The labels; without it the first two that occur.")
@click.option("--groups", metavar="FILE", help="The group of every feature, one integer per line.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="For methods that draw at random.")
@click.option("--engine", type=click.Choice(ENGINES), help="Train in parts, on workers of this machine or of Ray.")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="How many workers; default: one per core here.")
@click.option("--address", metavar="HOST:PORT", help="Of a Ray cluster; default: one that runs here, or a new one.")
@MEMORY
@TARGET
@ZERO_BASED
@AS_JSON
def select(
    train: tuple[str, ...],
    method: str,
    budget: str | None,
    params: tuple[str, ...],
    test: tuple[str, ...],
    output: Path | None,
    checkpoint_every: int | None,
    resume: str | None,
    classes: str | None,
    groups: str | None,
    seed: int | None,
    engine: str | None,
    workers: int | None,
    address: str | None,
    memory: str | None,
    target: str | None,
    zero_based: bool,
    as_json: bool,
) -> None:
    from .. import workflow
    from ..report import summarize

    if bool(train) == (resume is not None):
        raise UsageError("name the rows to learn from, or a run to go on with (--resume RUN_DIR)")
    if resume is not None:
        refuse_beside_resume(click.get_current_context())
    folder = resume or output
    with progress_bar() as watch, hint_at_resume(folder):
        if resume is not None:
            record = workflow.resume(resume, watch, address)
        else:
            record = workflow.select(
                train,
                method,
                test=test or None,
                classes=None if classes is None else classes.split(","),
                target=target,
                zero_based=zero_based,
                groups=groups,
                seed=seed,
                output=output,
                checkpoint_every=checkpoint_every,
                engine=engine,
                address=address,
                memory=memory,
                watch=watch,
                **read_params(params, method, budget, workers),
            )
    summary = summarize(record)
    if as_json:
        click.echo(to_json(summary))
    else:
        show_summary(summary, folder)


def refuse_beside_resume(context: click.Context) -> None:
    """Refuse every option that was given beside --resume, whichever it is: the run knows what it was asked."""
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in ("train", "resume", "address", "as_json"):  # an argument counts without a value
            raise UsageError(
                f"{option.opts[0]}: --resume goes on with what the run was asked; it takes no other option but --json "
                "and, of a Ray cluster, --address"
            )


@contextmanager
def hint_at_resume(folder: str | Path | None) -> Iterator[None]:
    """After Ctrl-C, say how to go on if there is a checkpoint."""
    from ..runs import RunDirectory

    try:
        yield
    except KeyboardInterrupt:
        if folder and RunDirectory(folder).checkpoint:
            again = f"streamsieve select --resume {shlex.quote(str(folder))}"
            say(f"go on from the last checkpoint with: {again}", err=True)
        raise


@contextmanager
def hint_at_going_on(output: Path) -> Iterator[None]:
    """After an interruption, say that the work so far is kept, if it is."""
    from ..workflow import work_folder

    try:
        yield
    except (KeyboardInterrupt, OSError):
        folder = work_folder(output)
        if folder is not None:
            say(f"the same command goes on from here; to give up instead, remove {shlex.quote(str(folder))}", err=True)
        raise


def progress_bar() -> AbstractContextManager[Any]:
    """A bar on standard error if that is a terminal; nothing otherwise."""
    if not sys.stderr.isatty():
        return nullcontext()
    from .progress import ProgressBar

    return ProgressBar()


@click.command()
@RUN_DIR
@DATA
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The file to write."
)
@MEMORY
@TARGET
@ZERO_BASED
def apply(
    run_dir: str, data: tuple[str, ...], output: Path, memory: str | None, target: str | None, zero_based: bool
) -> None:
    """Write DATA, one or more files, with the selected columns only, renumbered in ascending order of id."""
    from .. import workflow

    rows = workflow.apply(run_dir, data, output, target, zero_based, memory)
    say(f"{rows:,} rows written to {output}", err=True)


@click.command()
@RUN_DIR
@DATA
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the labels here.")
@click.option("--scores", is_flag=True, help="Write a CSV table with the score beside each label, or one per class.")
@TARGET
@ZERO_BASED
def predict(
    run_dir: str, data: tuple[str, ...], output: Path | None, scores: bool, target: str | None, zero_based: bool
) -> None:
    """Print the predicted label, or number, of every row of DATA, one or more files, one a line.

    The accuracy, the balanced accuracy and the AUC, or R2, if DATA has labels, go to standard error.
    """
    from .. import workflow

    rows = workflow.predict(run_dir, data, target, zero_based)
    if scores and rows.classes is None:
        raise UsageError("numbers are predicted, and there are no scores beside them; omit --scores")
    write = write_scores if scores else write_labels
    if output:
        with replacing(output) as partial, partial.open("w", encoding="utf-8", newline="") as file:
            quality = workflow.measure(write(rows, file), rows.classes)
    else:
        quality = workflow.measure(write(rows, sys.stdout), rows.classes)
    if isinstance(quality, workflow.Fit):
        say(f"R2 {fit_text(*quality)}", err=True)
    elif quality is not None:
        say(f"accuracy {quality_text(*quality)}", err=True)


@click.command(
    help=f"Write DATA, one or more files, to OUTPUT in the format its suffix names: {formats.writable()}.\n\n"
    "With --columns, rows that do not fit in memory are transposed through a folder beside OUTPUT. After an "
    "interruption the same command goes on where it was."
)
@DATA
@click.argument("output", type=click.Path(path_type=Path))
@TARGET
@ZERO_BASED
@click.option(
    "--columns", is_flag=True, help=f"Write column by column, to {formats.column_files()}, for methods that need that."
)
@MEMORY
def convert(
    data: tuple[str, ...], output: Path, target: str | None, zero_based: bool, columns: bool, memory: str | None
) -> None:
    from .. import workflow

    if len(data) > 1 and output.is_file():
        raise UsageError(f"{output}: exists already; several files are written to a new one, which is named last")
    if columns:
        with progress_bar() as watch, hint_at_going_on(output):
            features = workflow.convert_to_columns(data, output, target, zero_based, memory, watch)
        say(f"{features:,} columns written to {output}", err=True)
        return
    rows = workflow.convert(data, output, target, zero_based, memory)
    say(f"{rows:,} rows written to {output}", err=True)


@click.command()
@click.argument("kind", metavar="KIND")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The file to write."
)
@click.option("--rows", type=click.IntRange(1), help="How many rows; the paper's number if not given.")
@click.option("--features", type=click.IntRange(1), help="How many features; the paper's number if not given.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed gives rows to test on."
)
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="For substitution: what to learn from it; regression if not given.",
)
@click.option(
    "--informative", type=click.IntRange(1), help="For substitution: how many informative features; 100 if not given."
)
@click.option(
    "--noise",
    type=click.FloatRange(0),
    help="For substitution: standard deviation of the noise; if not given 3, and 0 for classification.",
)
@click.option(
    "--problem",
    type=click.IntRange(0),
    help="For substitution: another number gives other informative features and weights; 0 if not given.",
)
@ZERO_BASED
def generate(kind: str, output: Path, zero_based: bool, **options: Any) -> None:
    """Write synthetic rows of KIND (x1, x2, x3, spiral, clicks, substitution) to a file.

    Few features are informative among very many that are noise: the first ones or, for substitution, random ones.
    """
    from .. import workflow
    from ..sources.synthetic import options_of, synthetic_source

    known, given = options_of(kind), {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in known:
            raise UsageError(
                f"--{name}: {kind} has no such option; it has {', '.join(f'--{other}' for other in known)}"
            )
    written = workflow.convert(synthetic_source(kind, **given), output, zero_based=zero_based)
    say(f"{written:,} rows written to {output}", err=True)


@click.command()
@DATA
@TARGET
@ZERO_BASED
@AS_JSON
def info(data: tuple[str, ...], target: str | None, zero_based: bool, as_json: bool) -> None:
    """Describe DATA, one or more files: rows, features, labels, values."""
    from .. import workflow
    from ..sources import open_source

    source = open_source(data, target, zero_based)
    description = workflow.describe(source)
    if as_json:
        click.echo(to_json(description))
    else:
        show_data(data[0] if len(data) == 1 else source.name, description)


@click.command()
@AS_JSON
def methods(as_json: bool) -> None:
    """List the methods and their parameters."""
    from ..registry import METHODS, describe_method

    descriptions = [describe_method(name) for name in METHODS]
    if as_json:
        click.echo(to_json(descriptions))
    else:
        show_methods(descriptions)


COMMANDS: list[click.Command] = [select, apply, predict, convert, generate, info, methods]
