"""Blocks to files that are complete or not there, in the format of their suffix; and what the formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, next_cut
from ..errors import DataError, UsageError
from ..files import replacing
from ..machine import fitting
from .base import ColumnSource, Report
from .formats import Layout, column_files, format_of, function, writable

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"  # what a file calls its labels if no other name is given
LARGEST_EXACT = 2.0**53  # integers beyond are not all floats
BLOCK_NONZEROS = 1 << 20  # of a block in a file, at most
BYTES_PER_NONZERO = 24  # an id and a value, as Arrow has them and in a block

Create = Callable[["pa.Schema"], Any]  # opens a writer of batches


def write_rows(
    path: Path,
    blocks: Iterable[RowBlock],
    feature_names: NDArray[Any] | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    target: str | None = None,
) -> int:
    """Write blocks to a file in the format its suffix names; the number of rows written.

    ``target`` makes a file that can be a table or sparse rows, such as Parquet, a table of named columns with the
    labels under that name. ``n_features`` is the width where it is known before the last block.
    """
    known, compression = format_of(path)
    if known.write_rows is None:
        raise UsageError(f"{path}: {known.name} is not written; choose {writable()}")
    with replacing(path) as partial:
        layout = Layout(str(path), feature_names, n_features, zero_based, target, compression)
        rows: int = function(known.write_rows)(partial, blocks, layout)
    return rows


def write_columns(path: Path, source: ColumnSource, report: Report | None = None) -> int:
    """Write columns to a file; the number of features."""
    refuse_other_than_columns(path)
    with replacing(path) as partial:
        function(str(format_of(path)[0].write_columns))(partial, source, report)
    return source.n_features or 0


def refuse_other_than_columns(path: Path) -> None:
    """Refuse a file whose format has no columns."""
    if format_of(path)[0].write_columns is None:
        raise UsageError(f"{path}: columns are written to {column_files()} files")


def needs_width(path: Path) -> bool:
    """Whether a file in this format is better for a width that is known before its first row."""
    return format_of(path)[0].wants_width


def label_text(label: Any) -> str:
    """A label as a file shows it: integers without a point."""
    if isinstance(label, float | np.floating) and float(label).is_integer() and abs(float(label)) < LARGEST_EXACT:
        return str(int(label))
    return str(label)


def labels_of(block: RowBlock) -> NDArray[Any]:
    if block.y is None:
        raise DataError(f"{block.origin}: the rows have no labels, and the new file needs them; name the --target")
    return block.y


def titles_of(layout: Layout) -> list[str]:
    """What a table calls its features: their names or, without names, their ids."""
    if layout.n_features is None:
        raise UsageError(
            f"{layout.name}: a table needs the number of columns before the first row, which svmlight text does not "
            "say; write sparse .arrow, .parquet or .npz, or apply a selection first"
        )
    names = range(layout.n_features) if layout.feature_names is None else layout.feature_names
    titles = [str(name) for name in names]
    target = layout.target or LABEL
    if target in titles:
        raise UsageError(f"{layout.name}: a feature and the target are both called {target!r}; choose another --target")
    return titles


def block_nonzeros() -> int:
    """How many entries of sparse rows, or of columns, make a block of a good size."""
    return fitting(BLOCK_NONZEROS, BYTES_PER_NONZERO)


def regrouped(blocks: Iterable[RowBlock], most_rows: int) -> Iterator[RowBlock]:
    """The same rows in blocks of a good size for a file: small ones joined, large ones cut."""
    waiting: list[RowBlock] = []
    rows = nonzeros = 0
    most_nonzeros = block_nonzeros()
    for piece in _pieces(blocks, most_rows, most_nonzeros):
        if waiting and (rows + piece.n_rows > most_rows or nonzeros + piece.n_nonzero > most_nonzeros):
            yield RowBlock.joined(waiting)
            waiting, rows, nonzeros = [], 0, 0
        waiting.append(piece)
        rows, nonzeros = rows + piece.n_rows, nonzeros + piece.n_nonzero
    if waiting:
        yield RowBlock.joined(waiting)


def _pieces(blocks: Iterable[RowBlock], most_rows: int, most_nonzeros: int) -> Iterator[RowBlock]:
    for block in blocks:
        start = 0
        while start < block.n_rows:
            stop = next_cut(block.indptr, start, most_rows, most_nonzeros)
            yield block.rows(start, stop)
            start = stop


def as_before(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the types of the first one, if that loses nothing."""
    import pyarrow as pa

    try:
        return batch.cast(schema)
    except pa.ArrowInvalid as error:
        raise DataError(f"the first rows hold other types than later ones ({error}); write the data alike") from error


def write_batches(batches: Iterable[pa.RecordBatch], create: Create) -> int:
    """Write batches; the first one decides the schema, so it must be there."""
    writer = None
    n_rows = 0
    try:
        for batch in batches:
            if writer is None:
                writer = create(batch.schema)
                schema = batch.schema
            writer.write(batch if batch.schema == schema else as_before(batch, schema))
            n_rows += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    if not n_rows:
        raise DataError("there are no rows to write")
    return n_rows
