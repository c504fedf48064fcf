"""The commands: open, call, print."""

from __future__ import annotations

import sys
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
    given,
    hint_after,
    last_checkpoint,
    progress_bar,
    read_options,
    work_so_far,
)
from .parameters import complete_method, given_parameters, keep, read_method
from .selecting import Select
from .show import fit_text, quality_text, show_data, show_summary, write_labels, write_scores
from .terminal import is_quiet, remark, say

BESIDE_RESUME = (
    "train",
    "resume",
    "address",
    "as_json",
    "quiet",
    "verbose",
)  # the argument counts without a value


@click.command(
    cls=Select,
    short_help="Select features from data, and keep the model and the result.",
    help=(
        "Select features from TRAIN: a file, several that are read one after the other, a folder"
        " of files or a quoted pattern, `-` for standard input, or `synthetic:x1`.\n\nFiles:"
        f" {formats.readable()}."
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
        "How to select. `streamsieve methods` lists the methods, `streamsieve methods METHOD`"
        " describes one."
    ),
)
@click.option(
    "-k",
    "budget",
    metavar="NUMBER",
    expose_value=False,
    callback=keep,
    help=(
        "How many features to keep; below 1, a fraction of them all; `auto`, where a method can"
        " choose."
    ),
)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    expose_value=False,
    callback=keep,
    help="A parameter of the method, as --name value is; repeatable.",
)
@click.option(
    "--test",
    multiple=True,
    metavar="FILE",
    help=(
        "Measure accuracy and AUC, or R2, on these rows afterwards, repeatable; or on a fraction"
        " held out: 0.2."
    ),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="RUN_DIR",
    help="Keep model and result here.",
)
@click.option(
    "--checkpoint-every",
    type=click.IntRange(1),
    metavar="N",
    help=(
        "Keep what was learned so far in RUN_DIR, every N rows, or features for methods that take"
        " columns."
    ),
)
@click.option(
    "--resume",
    type=click.Path(exists=True, file_okay=False),
    metavar="RUN_DIR",
    help="Go on with a run.",
)
@click.option(
    "--classes",
    metavar="A,B",
    help="The labels; without it those that occur, in a pipe the first two.",
)
@click.option(
    "--groups",
    metavar="FILE",
    help=(
        "The groups of the features: one integer or name per line, or lines of a feature, a tab and"
        " its group."
    ),
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="For methods that draw at random."
)
@click.option(
    "--resamples",
    type=click.IntRange(2),
    metavar="N",
    help="Select from N subsamples of half the rows, too: how often each feature comes out.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="Train in parts, on workers of this machine or of Ray.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    metavar="N",
    expose_value=False,
    callback=keep,
    help="How many workers; default: one per core here.",
)
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="Of a Ray cluster; default: one that runs here, or a new one.",
)
@MEMORY
@read_options()
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    expose_value=False,
    help="Take options from a TOML file; those that are typed win.",
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
    from .. import workflow
    from ..report import summarize

    if bool(train) == (resume is not None):
        raise UsageError("name the rows to learn from, or a run to go on with (--resume RUN_DIR)")
    if resume is not None:
        refuse_beside_resume(click.get_current_context())
    folder = resume or output
    with progress_bar() as watch, hint_after(last_checkpoint, folder):
        if resume is not None:
            record = workflow.resume(resume, watch, address)
        else:
            record = workflow.select(
                train,
                method,
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
                **(given(read) | given_parameters(click.get_current_context())),
            )
    summary = summarize(record)
    if as_json:
        click.echo(to_json(summary))
    elif not is_quiet():
        show_summary(summary, folder)


def rows_to_test(test: tuple[str, ...]) -> float | tuple[str, ...] | None:
    """Return what was typed: files or, if it is a number and no file is called so, a fraction to be held out."""
    try:
        return float(test[0]) if len(test) == 1 and not Path(test[0]).exists() else test or None
    except ValueError:
        return test


def refuse_beside_resume(context: click.Context) -> None:
    """Refuse every option that was given beside --resume, whichever it is: the run knows what it was asked."""
    for option in context.command.get_params(context):
        name = option.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in BESIDE_RESUME:
            raise UsageError(
                f"{option.opts[0]}: --resume goes on with what the run was asked; it takes no other"
                " option but --json, --quiet, --verbose and, of a Ray cluster, --address"
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
    help="Sparse rows: number the features 1, 2, ... in order of their ids.",
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

    A table has them by name, without names as x0, x1, ... after their 0-based ids; sparse rows keep
    their ids.
    """
    from .. import workflow

    rows = workflow.apply(run_dir, data, output, target, zero_based, memory, renumber)
    remark(f"{rows:,} rows written to {output}")


@click.command(short_help="Predict labels or numbers, and measure how well.")
@RUN_DIR
@DATA
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the labels here."
)
@click.option(
    "--scores",
    is_flag=True,
    help="Write a CSV table with the score beside each label, or one per class.",
)
@read_options("target", "zero_based")
@QUIET
@VERBOSE
def predict(
    run_dir: str,
    data: tuple[str, ...],
    output: Path | None,
    scores: bool,
    target: str | None,
    zero_based: bool,
) -> None:
    """Print the predicted label, or number, of every row of DATA, one or more files, one a line.

    The selected features are enough, in any order; labels need not be there. The accuracy, the
    balanced accuracy and the AUC, or R2, if DATA has labels, go to standard error.
    """
    from .. import workflow

    rows = workflow.predict(run_dir, data, target, zero_based)
    if scores and rows.classes is None:
        raise UsageError(
            "numbers are predicted, and there are no scores beside them; omit --scores"
        )
    write = write_scores if scores else write_labels
    if output:
        with replacing(output) as partial, partial.open("w", encoding="utf-8", newline="") as file:
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
        f" {formats.writable()}.\n\nWith --columns, rows that do not fit in memory are transposed"
        " through a folder beside OUTPUT. After an interruption the same command goes on where it"
        " was."
    ),
)
@DATA
@click.argument("output", type=click.Path(path_type=Path))
@read_options()
@click.option(
    "--columns",
    is_flag=True,
    help=f"Write column by column, to {formats.column_files()}, for methods that need that.",
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
    from .. import workflow

    if len(data) > 1 and output.is_file():
        raise UsageError(
            f"{output}: exists already; several files are written to a new one, which is named last"
        )
    if columns:
        with progress_bar() as watch, hint_after(work_so_far, output, (KeyboardInterrupt, OSError)):
            features = workflow.convert_to_columns(
                data, output, memory=memory, watch=watch, **given(read)
            )
        remark(f"{features:,} columns written to {output}")
    else:
        rows = workflow.convert(data, output, memory=memory, **given(read))
        remark(f"{rows:,} rows written to {output}")


@click.command(short_help="Write synthetic data, to try things out.")
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
    "--rows", type=click.IntRange(1), help="How many rows; the paper's number if not given."
)
@click.option(
    "--features", type=click.IntRange(1), help="How many features; the paper's number if not given."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Another seed gives rows to test on.",
)
@click.option(
    "--task",
    type=click.Choice(["regression", "classification"]),
    help="For substitution: what to learn from it; regression if not given.",
)
@click.option(
    "--informative",
    type=click.IntRange(1),
    help="For substitution: how many informative features; 100 if not given.",
)
@click.option(
    "--noise",
    type=click.FloatRange(0),
    help=(
        "For substitution: standard deviation of the noise; if not given 3, and 0 for"
        " classification."
    ),
)
@click.option(
    "--problem",
    type=click.IntRange(0),
    help=(
        "For substitution: another number gives other informative features and weights; 0 if not"
        " given."
    ),
)
@read_options("zero_based")
@QUIET
def generate(kind: str, output: Path, zero_based: bool, **options: Any) -> None:
    """Write synthetic rows of KIND (x1, x2, x3, spiral, clicks, substitution) to a file.

    Few features are informative among very many that are noise: the first ones or, for
    substitution, random ones.
    """
    from .. import workflow
    from ..sources.synthetic import options_of, synthetic_source

    known, given = (
        options_of(kind),
        {name: value for name, value in options.items() if value is not None},
    )
    for name in given:
        if name not in known:
            raise UsageError(
                f"--{name}: {kind} has no such option; it has"
                f" {', '.join(f'--{other}' for other in known)}"
            )
    written = workflow.convert(synthetic_source(kind, **given), output, zero_based=zero_based)
    remark(f"{written:,} rows written to {output}")


@click.command(short_help="Describe data: rows, features, labels, values.")
@DATA
@read_options()
@AS_JSON
def info(data: tuple[str, ...], as_json: bool, **read: Any) -> None:
    """Describe DATA, one or more files: rows, features, labels, values."""
    from .. import workflow
    from ..sources import open_source

    source = open_source(data, columns=[], **given(read))  # labels or not
    description = workflow.describe(source)
    if as_json:
        click.echo(to_json(description))
    else:
        show_data(data[0] if len(data) == 1 else source.name, description)
        if source.facts.takes_target and not source.has_labels:
            say("  say which column is to be predicted: --target NAME")


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
    help="The page to write; its data goes to a .json file beside it.",
)
@click.option(
    "--no-data",
    is_flag=True,
    help="Do not read the data of runs again, for correlations and names.",
)
def report(folders: tuple[str, ...], output: Path, no_data: bool) -> None:
    """Write a report of one or more folders, of runs (select -o) and of comparisons (compare -o).

    It is one HTML file that needs no network. Up to 10,000 rows of the data of each run are read
    again for correlations of the selected features, if the data is still there and unchanged.
    """
    from ..report import write_report

    path = write_report(list(folders), output, read_data=not no_data)
    say(f"report written to {path.resolve()}")
