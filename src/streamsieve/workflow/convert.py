"""Write data in another format, by rows or by columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

from ..machine import available_memory, limited
from ..runs import fingerprint, location
from ..sources import open_source
from ..sources.base import ColumnSource, by_rows
from ..sources.buckets import transposed
from ..sources.column_lists import FEATURES_WRITTEN
from ..sources.work_folder import earlier_folders
from ..sources.writers import needs_width, refuse_other_than_columns, write_columns, write_rows
from ..training import Progress, Watch


def convert(
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
) -> int:
    """Write ``data`` in the format that the suffix of ``output`` names; the number of rows.

    Rows of an unknown width may be read once before, to find it: ids then take half the room. The process takes no more
    than ``memory`` bytes, "2GB" or the like.
    """
    with limited(memory):
        source, path = by_rows(open_source(data, target, zero_based)), Path(output)
        width = source.n_features
        if width is None and source.rewindable and needs_width(path):
            width = max(block.n_features for block in source.row_blocks())
        return write_rows(path, source.row_blocks(), source.feature_names, width, zero_based)


def convert_to_columns(
    data: Any,
    output: str | Path,
    target: str | None = None,
    zero_based: bool = False,
    memory: int | str | None = None,
    watch: Watch | None = None,
) -> int:
    """Write ``data`` to a Parquet or Arrow file column by column; the number of features.

    The process takes no more than ``memory`` bytes, "2GB" or the like; if it is not given, half of what is available.
    Rows that do not fit are transposed through a folder beside the output. What was interrupted goes on there when
    asked for again.
    """
    path = Path(output)
    refuse_other_than_columns(path)
    with limited(memory):
        return _write_columns(data, path, target, zero_based, memory, watch)


def work_bytes(memory: int | str | None) -> int:
    """How much memory transposing may take: what a limit leaves, but for what is written, or half of what there is."""
    return int((0.5 if memory is None else 0.8) * available_memory())


def _write_columns(
    data: Any, path: Path, target: str | None, zero_based: bool, memory: int | str | None, watch: Watch | None
) -> int:
    source = open_source(data, target, zero_based)

    def report(unit: str, done: int, total: int | None) -> None:
        if watch and unit == FEATURES_WRITTEN:
            watch(Progress(done, total, unit))
        elif watch:
            watch(Progress(done, total, unit, source.bytes_read, source.n_bytes))

    if isinstance(source, ColumnSource):
        return write_columns(path, source, report)
    stamp = {"data": fingerprint(location(data)), "target": target, "zero_based": zero_based, "memory": memory}
    if location(data) is None:
        stamp["data"] = uuid4().hex  # what is in memory or a pipe is never the same again
    with transposed(source, work_bytes(memory), path, stamp, report) as columns:
        return write_columns(path, columns, report)


def work_folder(output: str | Path) -> Path | None:
    """Where rows for a file of columns were transposed until that was interrupted, if so."""
    return next(iter(earlier_folders(Path(output))), None)
