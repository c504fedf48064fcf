"""Write data in another format, by rows or by columns."""

from __future__ import annotations

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack
from uuid import uuid4

from ..errors import UsageError
from ..machine import available_memory, limited
from ..runs import fingerprint, location
from ..sources import open_with_options
from ..sources.base import FEATURES_WRITTEN, ColumnSource, Source, as_row_source, check_no_weight
from ..sources.buckets import transposed
from ..sources.formats import output_format
from ..sources.options import ReadKeywords, ReadOptions, document_options
from ..sources.work_folder import earlier_folders
from ..sources.writers import (
    check_can_hold_columns,
    holds_names,
    is_table,
    needs_width,
    write_columns,
    write_rows,
)
from ..training import Progress, Watch, reporter

MAX_TABLE_WIDTH = 10_000  # columns of sparse rows

notes = logging.getLogger("streamsieve")


@document_options
def convert(
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
    **read: Unpack[ReadKeywords],
) -> int:
    """Write ``data`` in the format that ``output`` names; return the number of rows.

    The suffix of ``output`` names the format. A table stays a table where the format allows it. The
    other options are those of ``open_source``. Rows of unknown width may be read once before, to
    find the width: ids then take half the space, and a table needs it. ``memory`` limits the bytes
    that the process may take, such as "2GB".
    """
    path = Path(output)
    output_format(path)
    with limited(memory):
        source = as_row_source(open_with_options(data, read_options(target, zero_based, read)))
        source.complete()
        width, as_table = source.n_features, is_table(path, source.facts.takes_target)
        if width is None and source.rewindable and needs_width(path):
            width = max(block.n_features for block in source.row_blocks())
        if as_table and not source.facts.takes_target:
            refuse_as_table(source, path, width)
        if source.has_names and not holds_names(path):
            notes.warning(
                "%s: svmlight text cannot hold names; .parquet, .arrow and .npz can", path
            )
        target, renumbered = (
            (source.facts.target, None) if as_table else (None, source.facts.renumbered)
        )
        blocks, names = source.row_blocks(), source.read_feature_names()
        return write_rows(path, blocks, names, width, zero_based, target, as_table, renumbered)


def read_options(target: str | None, zero_based: bool, read: ReadKeywords) -> ReadOptions:
    """Return how the data to be converted is read: without weights."""
    options = ReadOptions.of(target=target, zero_based=zero_based, **read)
    check_no_weight(
        options.weight, "weights are for learning, and their column is written like any other"
    )
    return options


def refuse_as_table(source: Source, path: Path, width: int | None) -> None:
    """Raise UsageError if sparse rows cannot be written as a table.

    They cannot if they are too wide, or if the ids would be confused with others in a table.
    """
    if width is not None and width > MAX_TABLE_WIDTH:
        raise UsageError(
            f"{path}: {source.name} has {width:,} features, and a table of more than"
            f" {MAX_TABLE_WIDTH:,} columns, most of them 0, is too wide; write sparse .parquet,"
            " .arrow or .npz, or apply a selection first"
        )
    if source.facts.renumbered is not None and not source.has_names:
        raise UsageError(
            f"{path}: the features of {source.name} are renumbered and have no names for the"
            " columns of a table; apply the run to the rows that they come from"
        )


@document_options
def convert_to_columns(
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
    watch: Watch | None = None,
    **read: Unpack[ReadKeywords],
) -> int:
    """Write ``data`` by columns, to Parquet or Arrow; return the number of features.

    The other options are those of ``open_source``. ``memory`` limits the bytes that the process may
    take, such as "2GB"; the default is half of what is available. Rows that do not fit are
    transposed through a folder beside the output. After an interruption, the same call continues
    where it was.
    """
    path = Path(output)
    check_can_hold_columns(path)
    with limited(memory):
        options = read_options(target, zero_based, read)
        source, place = open_with_options(data, options), location(data)
        report_reading = reporter(watch, source)

        def report(unit: str, done: int, total: int | None) -> None:
            if unit != FEATURES_WRITTEN:
                report_reading(unit, done, total)
            elif watch:
                watch(Progress(done, total, unit))

        if isinstance(source, ColumnSource):
            return write_columns(path, source, report)
        # Data in memory or in a pipe is never the same again.
        stamp = {
            "data": uuid4().hex if place is None else fingerprint(place),
            "memory": memory,
            **asdict(options),
        }
        with transposed(as_row_source(source), work_bytes(memory), path, stamp, report) as columns:
            return write_columns(path, columns, report)


def work_bytes(memory: int | str | None) -> int:
    """Return how many bytes transposing may take.

    That is what a limit leaves, except for what writing needs, or half of the available memory.
    """
    return int((0.5 if memory is None else 0.8) * available_memory())


def work_folder(output: str | Path) -> Path | None:
    """Return the folder that an interrupted transposition has left, or None."""
    return next(iter(earlier_folders(Path(output))), None)
