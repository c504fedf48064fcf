"""Write data in another format, by rows or by columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

from ..errors import UsageError
from ..files import LONGEST_STEM, clear_partial
from ..machine import available_memory
from ..runs import fingerprint, location
from ..sources import open_source
from ..sources.base import ColumnSource, by_rows
from ..sources.buckets import transposed
from ..sources.column_lists import FEATURES_WRITTEN
from ..sources.writers import needs_width, refuse_other_than_columns, write_columns, write_rows
from ..training import Progress, Watch


def convert(data: Any, output: str | Path, target: str | None = None, zero_based: bool = False) -> int:
    """Write ``data`` in the format that the suffix of ``output`` names; the number of rows.

    Rows of an unknown width may be read once before, to find it: ids then take half the room.
    """
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

    Rows are transposed within ``memory`` bytes, "2GB" or the like, half of what is available if it is not given:
    through a folder beside the output if they do not fit. What was interrupted goes on there when asked for again.
    """
    path = Path(output)
    refuse_other_than_columns(path)
    budget = available_memory() // 2 if memory is None else min(read_size(memory), available_memory())
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
    with transposed(source, budget, work_folder(path), stamp, report) as columns:
        if work_folder(path).exists():  # and locked
            clear_partial(path)
        return write_columns(path, columns, report)


def work_folder(output: Path) -> Path:
    """Where rows are transposed on their way to a file of columns."""
    return output.with_name(f".{output.name[:LONGEST_STEM]}.columns")


def read_size(size: int | str) -> int:
    """A number of bytes, or a text such as 2GB, 500 MB or 1.5GiB."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?)(i?)b?\s*", str(size), re.IGNORECASE)
    if not found or float(found[1]) == 0:
        raise UsageError(f"memory {size!r}: expected a size such as 2GB or 500MB")
    power = " kmgt".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)
