"""Write blocks to files in the format of their suffix, all or nothing; functions of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, line_ranges
from ..errors import DataError, UsageError
from ..files import replacing
from ..machine import fitting
from .base import ColumnSource, Report
from .formats import SVMLIGHT, Layout, column_files, format_of, import_function, output_format

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"  # the name of the labels in a file if no other is given
MAX_EXACT = 2.0**53  # not all larger integers are floats
BLOCK_NONZEROS = 1 << 20  # of a block in a file, at most
BYTES_PER_NONZERO = 24  # an id and a value, in Arrow and in a block

Create = Callable[["pa.Schema"], Any]  # opens a writer of batches
Block = TypeVar("Block", RowBlock, ColumnBlock)


def write_rows(
    path: Path,
    blocks: Iterable[RowBlock],
    feature_names: NDArray[Any] | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    target: str | None = None,
    as_table: bool = False,
    renumbered: str | None = None,
) -> int:
    """Write blocks to a file in the format of its suffix; return the number of rows.

    With ``as_table``, a file that can be a table or sparse rows, such as Parquet, becomes a table
    of named columns; the same is true with a ``target``, the name of the labels in it.
    ``n_features`` is the width where it is known before the last block. ``renumbered`` is the mark
    of the selection whose features these are, numbered in their order.
    """
    file_format, compression = output_format(path)
    with replacing(path) as partial:
        layout = Layout(
            str(path),
            feature_names,
            n_features,
            zero_based,
            target,
            compression,
            as_table or target is not None,
            renumbered,
        )
        return int(import_function(str(file_format.write_rows))(partial, blocks, layout))


def write_columns(path: Path, source: ColumnSource, report: Report | None = None) -> int:
    """Write columns to a file; return the number of features."""
    check_can_hold_columns(path)
    with replacing(path) as partial:
        import_function(str(format_of(path)[0].write_columns))(partial, source, report)
    return source.n_features or 0


def check_can_hold_columns(path: Path) -> None:
    """Raise UsageError for a file whose format cannot hold columns."""
    if format_of(path)[0].write_columns is None:
        raise UsageError(f"{path}: columns can only be written to {column_files()} files")


def needs_width(path: Path) -> bool:
    """Return True if a format benefits from a width that is known before its first row."""
    file_format = format_of(path)[0]
    return file_format.wants_width or file_format.tables


def is_table(path: Path, of_table: bool) -> bool:
    """Return True if a table is written to this file; ``of_table``: the rows come from one."""
    file_format = format_of(path)[0]
    return file_format.tables and (of_table or not file_format.wants_width)


def holds_names(path: Path) -> bool:
    """Return True if a file in this format holds the names of features."""
    return format_of(path)[0] is not SVMLIGHT


def label_text(label: Any) -> str:
    """Return a label as a file shows it: integers without a decimal point."""
    if (
        isinstance(label, float | np.floating)
        and float(label).is_integer()
        and abs(float(label)) < MAX_EXACT
    ):
        return str(int(label))
    return str(label)


def titles_of_ids(ids: Iterable[int]) -> list[str]:
    """Return the column names of features without names, from which their ids can be read."""
    return [f"x{feature}" for feature in ids]


def is_title_of_id(title: str) -> bool:
    """Return True if a column name is that of a feature without a name."""
    return title[:1] == "x" and title[1:].isdecimal()


def titles_of(layout: Layout) -> list[str]:
    """Return the column names of features: their names or, without names, those of their ids."""
    if layout.n_features is None:
        raise UsageError(
            f"{layout.name}: a table needs the number of columns before the first row, which"
            " svmlight text does not say; write sparse .arrow, .parquet or .npz, or apply a"
            " selection first"
        )
    names = layout.feature_names
    titles = (
        titles_of_ids(range(layout.n_features)) if names is None else list(map(str, names.tolist()))
    )
    target = layout.target or LABEL
    if target in titles:
        raise UsageError(
            f"{layout.name}: a feature and the target are both called {target!r}; rename one of"
            " them"
        )
    return titles


def block_nonzeros() -> int:
    """Return a suitable number of entries of sparse rows, or of columns, for a block."""
    return fitting(BLOCK_NONZEROS, BYTES_PER_NONZERO)


def regroup(blocks: Iterable[RowBlock], most_rows: int) -> Iterator[RowBlock]:
    """Yield the same rows in blocks of a suitable size for a file, joined or cut."""
    most_nonzeros = block_nonzeros()
    pieces = (
        block.rows(start, stop)
        for block in blocks
        for start, stop in line_ranges(block.indptr, most_rows, most_nonzeros)
    )
    return join_blocks(pieces, most_rows)


def join_blocks(blocks: Iterable[Block], most_lines: int) -> Iterator[Block]:
    """Yield the same rows or columns with small blocks joined, up to a suitable size for a file."""
    waiting: list[Block] = []
    lines = nonzeros = 0
    most_nonzeros = block_nonzeros()
    for block in blocks:
        n_lines = block.indptr.size - 1
        if waiting and (lines + n_lines > most_lines or nonzeros + block.n_nonzero > most_nonzeros):
            yield type(block).joined(waiting)
            waiting, lines, nonzeros = [], 0, 0
        if n_lines or not waiting:
            waiting.append(block)
            lines, nonzeros = lines + n_lines, nonzeros + block.n_nonzero
    if waiting:
        yield type(waiting[0]).joined(waiting)


def cast_to_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the types of the first batch; raise DataError if that loses values."""
    import pyarrow as pa

    try:
        return batch.cast(schema)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"the first rows hold other types than later ones ({error}); write all data with the"
            " same types"
        ) from error


def write_batches(batches: Iterable[pa.RecordBatch], create: Create) -> int:
    """Write batches; the first one determines the schema, so there must be one."""
    remaining, n_rows = iter(batches), 0
    first = next(remaining, None)
    if first is not None:
        schema = first.schema
        with create(schema) as writer:
            for batch in chain([first], remaining):
                writer.write(batch if batch.schema == schema else cast_to_schema(batch, schema))
                n_rows += batch.num_rows
    if not n_rows:
        raise DataError("there are no rows to write")
    return n_rows
