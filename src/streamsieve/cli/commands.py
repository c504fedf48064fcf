"""The commands: each opens data, calls the workflow and prints the result."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..engine_choice import ENGINES
from ..errors import UsageError
from ..files import replacing
from ..json_text import to_json
from ..sources import formats
from .options import (
    AS_JSON,
    DATA,
    MEMORY,
    QUIET,
    RUN_DIR,
    VERBOSE,
    checkpoint_hint,
    conversion_hint,
    hint_on_interrupt,
    progress_bar,
    read_options,
    without_unset,
)
from .parameters import complete_method, given_parameters, keep_value, read_method
from .selecting import SelectCommand
from .show import fit_text, quality_text, show_data, show_summary, write_labels, write_scores
from .terminal import is_quiet, remark, say

# Options that are allowed with --resume; the argument counts even without a value.
# The options that may be given beside one that uses the options of a run, as messages name them.
SHOWING = "as_json", "quiet", "verbose"
BESIDE_RESUME = (
    ("train", "resume", "address", *SHOWING),
    ("--json, --quiet, --verbose and, on Ray, --address"),
)
BESIDE_CONTINUE = (
    ("train", "continue_from", "test", "output", "checkpoint_every", "memory", *SHOWING),
    "--test, --output, --checkpoint-every, --memory, --json, --quiet and --verbose",
)


@click.command(
    cls=SelectCommand,
    short_help="Select features from data, and keep the model and the result.",
    help=(
        "Select features from TRAIN: one or more files that are read in order, a folder of files"
        " or a quoted pattern, `-` for standard input, or `synthetic:x1`.\n\nFiles:"
        f" {formats.readable_formats()}."
    ),
)
@click.argument("train", nargs=-1)
@click.option(
    "-m",
    "--method",
    default="sofs",
    show_default=True,
    callback=read_method,
    shell_complete=complete_method,
    metavar="METHOD",
    help=(
        "The method of selection. `streamsieve methods` lists the methods, `streamsieve methods"
        " METHOD` describes one."
    ),
)
@click.option(
    "-k",
    "budget",
    metavar="NUMBER",
    expose_value=False,
    callback=keep_value,
    help=(
        "How many features to keep; below 1, the fraction of all features; `auto` lets the method"
        " choose, if it can."
    ),
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    expose_value=False,
    callback=keep_value,
    help="A parameter of the method, like --name value; repeatable.",
)
@click.option(
    "--test",
    multiple=True,
    metavar="FILE",
    help=(
        "Measure accuracy and AUC, or R2, on these rows afterwards, repeatable; or on a held-out"
        " fraction of the rows, such as 0.2."
    ),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="RUN_DIR",
    help="The folder for the model and the result.",
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(1),
    metavar="N",
    help=(
        "Write a checkpoint to RUN_DIR every N rows, or every N features for methods that learn"
        " from columns."
    ),
)
@click.option(
    "--resume",
    type=click.Path(exists=True, file_okay=False),
    metavar="RUN_DIR",
    help="Resume a run from its last checkpoint.",
)
@click.option(
    "--continue-from",
    type=click.Path(exists=True, file_okay=False),
    metavar="RUN_DIR",
    help="Go on from the model of a run of rows: learn TRAIN, too, with the options of that run.",
)
@click.option(
    "--classes",
    metavar="A,B",
    help=(
        "The class labels. By default they are all labels that occur; in a pipe, which cannot be"
        " read twice, the first two, and a third is an error."
    ),
)
@click.option(
    "--groups",
    metavar="FILE",
    help=(
        "The groups of the features: one integer or name per line, or a feature, a tab and its"
        " group on each line."
    ),
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="For methods that draw random numbers."
)
@click.option(
    "--resamples",
    type=click.IntRange(2),
    metavar="N",
    help="Also select from N subsamples of half the rows; count how often features come out.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="Train in parallel, on workers of this machine or of Ray.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    expose_value=False,
    callback=keep_value,
    help="The number of workers; default: one per core of this machine.",
)
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="The address of a Ray cluster; default: one that runs on this machine, or a new one.",
)
@MEMORY
@read_options()
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    expose_value=False,
    help="Read options from a TOML file; options on the command line take precedence.",
)
@AS_JSON
@QUIET
@VERBOSE
def select(
    train: tuple[str, ...],
    method: str,
    test: tuple[str, ...],
    output: Path | None,
    checkpoint_every: int | None,
    resume: str | None,
    continue_from: str | None,
    classes: str | None,
    groups: str | None,
    seed: int | None,
    resamples: int | None,
    engine: str | None,
    address: str | None,
    memory: str | None,
    as_json: bool,
    **read: Any,
) -> None:
    """Select features from TRAIN; the help text is above."""
    from .. import workflow
    from ..report import summarize

    if bool(train) == (resume is not None):
        raise UsageError("name the data to learn from, or a run to resume (--resume RUN_DIR)")
    if resume is not None:
        refuse_options_beside("--resume", *BESIDE_RESUME)
    elif continue_from is not None:
        refuse_options_beside("--continue-from", *BESIDE_CONTINUE)
    folder = resume or output
    with progress_bar() as watch, hint_on_interrupt(checkpoint_hint, folder):
        if resume is not None:
            record = workflow.resume(resume, watch, address)
        else:
            record = workflow.select(
                train,
                method,
                continue_from=continue_from,
                test=rows_to_test(test),
                classes=None if classes is None else classes.split(","),
                groups=groups,
                seed=seed,
                resamples=resamples,
                output=output,
                checkpoint_every=checkpoint_every,
                engine=engine,
                address=address,
                memory=memory,
                watch=watch,
                **(
                    without_unset(read) | given_parameters(click.get_current_context())
                    if continue_from is None
                    else {}
                ),
            )
    summary = summarize(record)
    if as_json:
        click.echo(to_json(summary))
    elif not is_quiet():
        show_summary(summary, folder)


def rows_to_test(test: tuple[str, ...]) -> float | tuple[str, ...] | None:
    """Return the test files or, if the text is a number and no file, a fraction to hold out."""
    try:
        return float(test[0]) if len(test) == 1 and not Path(test[0]).exists() else test or None
    except ValueError:
        return test


def refuse_options_beside(inheriting: str, allowed: tuple[str, ...], listed: str) -> None:
    """Raise UsageError for an option beside one that uses the options of a run."""
    context = click.get_current_context()
    for option in context.command.get_params(context):
        name = option.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in allowed:
            raise UsageError(
                f"{option.opts[0]}: cannot be combined with {inheriting}, which uses the options of"
                f" the run; only {listed} are allowed"
            )


@click.command(short_help="Write data with the selected features only.")
@RUN_DIR
@DATA
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write.",
)
@click.option(
    "--renumber",
    is_flag=True,
    help="For sparse rows: number the features 1, 2, ... in order of their ids.",
)
@MEMORY
@read_options("target", "zero_based")
@QUIET
@VERBOSE
def apply(
    run_dir: str,
    data: tuple[str, ...],
    output: Path,
    renumber: bool,
    memory: str | None,
    target: str | None,
    zero_based: bool,
) -> None:
    """Write DATA, one or more files, with the selected features only.

    A table has its columns by name, or as x0, x1, ... after the 0-based ids of features without
    names; sparse rows keep their ids.
    """
    from .. import workflow

    rows = workflow.apply(run_dir, data, output, target, zero_based, memory, renumber)
    remark(f"{rows:,} rows written to {output}")


@click.command(short_help="Predict labels or numbers, and measure the accuracy.")
@RUN_DIR
@DATA
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file for the labels.",
)
@click.option(
    "--scores",
    is_flag=True,
    help="Write a CSV table with the score of each label, or one score per class.",
)
@click.option(
    "--proba", is_flag=True, help="Write a CSV table with the probability of every class."
)
@read_options("target", "zero_based")
@QUIET
@VERBOSE
def predict(
    run_dir: str,
    data: tuple[str, ...],
    output: Path | None,
    scores: bool,
    proba: bool,
    target: str | None,
    zero_based: bool,
) -> None:
    """Print the predicted label, or number, of every row of DATA, one per line.

    DATA is one or more files. The selected features suffice, in any order; labels are optional. If
    DATA has labels, the accuracy, the balanced accuracy and the AUC, or R2, are printed to standard
    error.
    """
    from .. import workflow

    rows = workflow.predict(run_dir, data, target, zero_based)
    if scores and proba:
        raise UsageError("--scores and --proba cannot be combined; choose one of them")
    for option, is_given in (("scores", scores), ("probabilities", proba)):
        if is_given and rows.classes is None:
            flag = "--scores" if scores else "--proba"
            raise UsageError(f"this run predicts numbers, which have no {option}; omit {flag}")
    write = partial(write_scores, probabilities=proba) if scores or proba else write_labels
    if output:
        with (
            replacing(output) as new_file,
            new_file.open("w", encoding="utf-8", newline="") as file,
        ):
            quality = workflow.measure(write(rows, file), rows.classes)
    else:
        quality = workflow.measure(write(rows, sys.stdout), rows.classes)
    if isinstance(quality, workflow.Fit):
        remark(f"R2 {fit_text(*quality)}")
    elif quality is not None:
        remark(f"accuracy {quality_text(*quality)}")


@click.command(
    short_help="Write data in another format, or by columns.",
    help=(
        "Write DATA, one or more files, to OUTPUT in the format its suffix names:"
        f" {formats.writable_formats()}.\n\nWith --columns, rows that do not fit in memory are"
        " transposed through a folder beside OUTPUT. After an interruption, the same command"
        " continues where it was."
    ),
)
@DATA
@click.argument("output", type=click.Path(path_type=Path))
@read_options()
@click.option(
    "--columns",
    is_flag=True,
    help=f"Write by columns, to {formats.column_files()}, for methods that learn from columns.",
)
@MEMORY
@QUIET
@VERBOSE
def convert(
    data: tuple[str, ...],
    output: Path,
    columns: bool,
    memory: str | None,
    **read: Any,
) -> None:
    """Write DATA in another format; the help text is above."""
    from .. import workflow

    if len(data) > 1 and output.is_file():
        raise UsageError(
            f"{output}: the file exists already; the last argument must be a new file to write to"
        )
    if columns:
        with (
            progress_bar() as watch,
            hint_on_interrupt(conversion_hint, output, (KeyboardInterrupt, OSError)),
        ):
            features = workflow.convert_to_columns(
                data, output, memory=memory, watch=watch, **without_unset(read)
            )
        remark(f"{features:,} columns written to {output}")
    else:
        rows = workflow.convert(data, output, memory=memory, **without_unset(read))
        remark(f"{rows:,} rows written to {output}")


@click.command(short_help="Write synthetic data for experiments.")
@click.argument("kind", metavar="KIND")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file to write.",
)
@click.option(
    "--rows", type=click.IntRange(1), help="The number of rows; default: as in the paper."
)
@click.option(
    "--features", type=click.IntRange(1), help="The number of features; default: as in the paper."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The seed of the rows; another seed gives test rows.",
)
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="For substitution: the task; default: regression.",
)
@click.option(
    "--informative",
    type=click.IntRange(1),
    help="For substitution: the number of informative features; default: 100.",
)
@click.option(
    "--noise",
    type=click.FloatRange(0),
    help=(
        "For substitution: the standard deviation of the noise; default: 3, for classification 0."
    ),
)
@click.option(
    "--problem",
    type=click.IntRange(0),
    help=(
        "For substitution: another number gives other informative features and weights; default: 0."
    ),
)
@read_options("zero_based")
@QUIET
def generate(kind: str, output: Path, zero_based: bool, **options: Any) -> None:
    """Write synthetic rows of KIND (x1, x2, x3, spiral, clicks, substitution) to a file.

    A few features are informative, and very many are noise. The informative features are the first
    ones or, for substitution, random ones.
    """
    from .. import workflow
    from ..sources.synthetic import SOURCES, options_of

    allowed, given = (
        options_of(kind),
        {name: value for name, value in options.items() if value is not None},
    )
    for name in given:
        if name not in allowed:
            raise UsageError(
                f"--{name}: not supported by {kind}; expected"
                f" {', '.join(f'--{allowed_name}' for allowed_name in allowed)}"
            )
    written = workflow.convert(SOURCES[kind](**given), output, zero_based=zero_based)
    remark(f"{written:,} rows written to {output}")


@click.command(short_help="Describe data: rows, features, labels, values.")
@DATA
@read_options()
@AS_JSON
def info(data: tuple[str, ...], as_json: bool, **read: Any) -> None:
    """Describe DATA, one or more files: rows, features, labels, values."""
    from .. import workflow
    from ..sources import open_source

    source = open_source(data, columns=[], **without_unset(read))  # labels or not
    description = workflow.describe(source)
    if as_json:
        click.echo(to_json(description))
    else:
        show_data(data[0] if len(data) == 1 else source.name, description)
        if source.facts.takes_target and not source.has_labels:
            say("  name the column to predict: --target NAME")


@click.command(short_help="Write runs and comparisons as one HTML page.")
@click.argument(
    "folders",
    nargs=-1,
    required=True,
    metavar="RUN_DIR...",
    type=click.Path(exists=True, file_okay=False),
)
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The page to write; its data is written to a .json file beside it.",
)
@click.option(
    "--no-data",
    is_flag=True,
    help="Do not read the data of runs again for correlations and names.",
)
def report(folders: tuple[str, ...], output: Path, no_data: bool) -> None:
    """Write a report of one or more folders, of runs (select -o) and of comparisons (compare -o).

    The report is one HTML file that needs no network. For the correlations of the selected
    features, up to 10,000 rows of the data of each run are read again, if the data is still there
    and unchanged.
    """
    from ..report import write_report

    path = write_report(list(folders), output, read_data=not no_data)
    say(f"report written to {path.resolve()}")
