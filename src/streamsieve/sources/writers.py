"""Blocks of rows to files: svmlight text, Parquet, Arrow, SciPy's npz, CSV. Whole or not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, next_cut
from ..errors import DataError, UsageError
from ..files import replacing
from ..kernels.reading import svmlight as text_kernel
from . import ARROW_SUFFIXES, PARQUET_SUFFIXES, TABLE_SUFFIXES
from .base import ColumnSource, Report
from .column_lists import FEATURE, batches_of_columns
from .lists import BLOCK_NONZEROS, INDICES, LABEL, VALUES, metadata_of
from .prefetch import ordered_map, read_ahead
from .streams import create_packed, split_suffix
from .tables import BATCH_VALUES, rows_at_once

if TYPE_CHECKING:
    import pyarrow as pa

Names = NDArray[Any] | None
COLUMN_SUFFIXES = (*PARQUET_SUFFIXES, *ARROW_SUFFIXES)
FORMATTERS = 2  # threads
BLOCKS_AHEAD = 3


def write_rows(
    path: Path,
    blocks: Iterable[RowBlock],
    feature_names: Names = None,
    n_features: int | None = None,
    zero_based: bool = False,
    target: str | None = None,
) -> int:
    """Write blocks to a file in the format its suffix names; the number of rows written.

    ``target`` makes a Parquet or Arrow file a table of named columns with the labels under that name; without it such a
    file holds sparse rows. ``n_features`` is the width where it is known before the last block.
    """
    suffix, packing = split_suffix(path)
    if packing and suffix in (*COLUMN_SUFFIXES, ".npz"):
        how = "read as they lie on the disk" if suffix in ARROW_SUFFIXES else "packed inside"
        raise UsageError(f"{path}: {suffix} files are {how}; leave {packing} away")
    titles: list[str] = []
    if suffix in TABLE_SUFFIXES or (suffix in COLUMN_SUFFIXES and target is not None):
        if n_features is None:
            raise UsageError(
                f"{path}: a table needs the number of columns before the first row, which svmlight text does "
                "not tell; write sparse .arrow, .parquet or .npz, or apply a selection first"
            )
        titles = [str(name) for name in (range(n_features) if feature_names is None else feature_names)]
        if (target or "label") in titles:
            raise UsageError(
                f"{path}: a feature and the target are both called {target or 'label'!r}; choose another --target"
            )
    with replacing(path) as partial:
        if suffix in COLUMN_SUFFIXES:
            create = _create_arrow if suffix in ARROW_SUFFIXES else _create_parquet
            if target is None:
                return _write_sparse(lambda schema: create(partial, schema), blocks, feature_names, n_features)
            return _write_table(lambda schema: create(partial, schema), blocks, titles, target)
        if suffix == ".npz":
            return _write_npz(partial, blocks, feature_names, n_features)
        if suffix in TABLE_SUFFIXES:
            delimiter = "," if suffix == ".csv" else "\t"
            return _write_delimited(partial, blocks, titles, target or "label", packing, delimiter)
        return _write_svmlight(partial, blocks, packing, 0 if zero_based else 1)


def write_columns(path: Path, source: ColumnSource, report: Report | None = None) -> int:
    """Write columns to a file as ``column_lists`` describes; the number of features."""
    refuse_other_than_columns(path)
    create = _create_arrow if split_suffix(path)[0] in ARROW_SUFFIXES else _create_parquet
    with replacing(path) as partial:
        batches = read_ahead(batches_of_columns(source, report), 1)  # sorted while the one before is written
        _write_batches(batches, lambda schema: create(partial, schema))
    return source.n_features or 0


def refuse_other_than_columns(path: Path) -> None:
    """Refuse a file whose format has no columns."""
    suffix, packing = split_suffix(path)
    if packing or suffix not in COLUMN_SUFFIXES:
        raise UsageError(f"{path}: columns are written to .parquet or .arrow files")


def label_text(label: Any) -> str:
    """A label as a file shows it: whole numbers without a point."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def labels_of(block: RowBlock) -> NDArray[Any]:
    if block.y is None:
        raise DataError(f"{block.origin}: the rows have no labels, and the new file needs them; name the --target")
    return block.y


def _write_svmlight(path: Path, blocks: Iterable[RowBlock], packing: str, first_index: int) -> int:
    def formatted(block: RowBlock) -> tuple[NDArray[np.uint8], int]:
        return svmlight_text(block, first_index), block.n_rows

    n_rows = 0
    with (
        create_packed(path, packing) as file,
        closing(ordered_map(formatted, blocks, FORMATTERS, BLOCKS_AHEAD)) as texts,
    ):
        for text, rows in texts:
            file.write(text.data)
            n_rows += rows
    return n_rows


def svmlight_text(block: RowBlock, first_index: int) -> NDArray[np.uint8]:
    """The lines of a block."""
    if not block.n_rows:
        return np.empty(0, np.uint8)
    known, codes = np.unique(labels_of(block), return_inverse=True)
    if known.dtype.kind not in "biuf":
        raise DataError(f"{block.origin}: an svmlight label is a number, not {str(known[0])!r}; write .npz or .parquet")
    labels = [label_text(label.item() + 0).encode() for label in known]
    ends = np.cumsum([len(label) for label in labels])
    longest = int(np.diff(ends, prepend=0).max())
    out = np.empty(block.n_rows * (longest + 1) + block.n_nonzero * text_kernel.LONGEST_ENTRY, np.uint8)
    label_bytes = np.frombuffer(b"".join(labels), np.uint8)
    size = text_kernel.format_rows(
        block.indptr, block.indices, block.values, codes, label_bytes, ends, first_index, out
    )
    return out[:size]


def needs_width(path: Path) -> bool:
    """Whether a file in this format is better for a width that is known before its first row."""
    return split_suffix(path)[0] in COLUMN_SUFFIXES


def _write_npz(path: Path, blocks: Iterable[RowBlock], names: Names, n_features: int | None) -> int:
    """The keys of ``scipy.sparse.save_npz`` plus ``y`` (and ``feature_names``); the rows must fit in memory."""
    parts = list(blocks)
    width = max(n_features or 0, max(block.n_features for block in parts))
    small = width < 2**31
    lengths = np.concatenate([np.diff(block.indptr) for block in parts])
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([lengths.size, width]),
        "indptr": np.concatenate([[0], np.cumsum(lengths)]),
        "indices": np.concatenate([block.indices for block in parts]).astype(np.int32 if small else np.int64),
        "data": np.concatenate([block.values for block in parts]),
        "y": _plain_text(np.concatenate([labels_of(block) for block in parts])),
    }
    if names is not None:
        arrays["feature_names"] = _plain_text(names)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return int(lengths.size)


def _plain_text(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are text as an array of text, which needs no pickle."""
    return values.astype(str) if values.dtype == object else values


def regrouped(blocks: Iterable[RowBlock], most_rows: int) -> Iterator[RowBlock]:
    """The same rows in blocks of a good size for a file: small ones joined, large ones cut."""
    waiting: list[RowBlock] = []
    rows = nonzeros = 0
    for piece in _pieces(blocks, most_rows):
        if waiting and (rows + piece.n_rows > most_rows or nonzeros + piece.n_nonzero > BLOCK_NONZEROS):
            yield _joined(waiting)
            waiting, rows, nonzeros = [], 0, 0
        waiting.append(piece)
        rows, nonzeros = rows + piece.n_rows, nonzeros + piece.n_nonzero
    if waiting:
        yield _joined(waiting)


def _pieces(blocks: Iterable[RowBlock], most_rows: int) -> Iterator[RowBlock]:
    for block in blocks:
        start = 0
        while start < block.n_rows:
            stop = next_cut(block.indptr, start, most_rows, BLOCK_NONZEROS)
            yield block.rows(start, stop)
            start = stop


def _joined(blocks: list[RowBlock]) -> RowBlock:
    if len(blocks) == 1:
        return blocks[0]
    return replace(
        blocks[0],
        indptr=np.concatenate([[0], np.cumsum(np.concatenate([np.diff(block.indptr) for block in blocks]))]),
        indices=np.concatenate([block.indices for block in blocks]),
        values=np.concatenate([block.values for block in blocks]),
        y=None if blocks[0].y is None else np.concatenate([labels_of(block) for block in blocks]),
        n_features=max(block.n_features for block in blocks),
        sample_weight=None,
    )


Create = Callable[["pa.Schema"], Any]  # opens a writer of batches


def _create_parquet(path: Path, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    if INDICES not in schema.names:
        return pq.ParquetWriter(path, schema, compression="zstd")
    # Ids that ascend are hardly ever worth a dictionary: their differences pack better.
    ascending = [f"{INDICES}.list.element", *([FEATURE] if FEATURE in schema.names else [])]
    others = [f"{VALUES}.list.element", *(name for name in schema.names if name not in (INDICES, VALUES, FEATURE))]
    known = dict.fromkeys(ascending, "DELTA_BINARY_PACKED")
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=others, column_encoding=known)


def _create_arrow(path: Path, schema: pa.Schema) -> Any:
    import pyarrow as pa

    return pa.ipc.new_file(str(path), schema)


def _write_batches(batches: Iterable[pa.RecordBatch], create: Create) -> int:
    """Write batches; the first one decides the schema, so it must be there."""
    writer = None
    n_rows = 0
    try:
        for batch in batches:
            if writer is None:
                writer = create(batch.schema)
                schema = batch.schema
            writer.write(batch.cast(schema) if batch.schema != schema else batch)
            n_rows += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    if not n_rows:
        raise DataError("there are no rows to write")
    return n_rows


def _write_sparse(create: Create, blocks: Iterable[RowBlock], names: Names, n_features: int | None) -> int:
    """Lists of ids and values. Ids are int32 if the width is known to fit, int64 otherwise."""
    import pyarrow as pa

    metadata = metadata_of(names, n_features)
    id_type = pa.int32() if n_features is not None and n_features < 2**31 else pa.int64()

    def batch_of(block: RowBlock) -> pa.RecordBatch:
        offsets = pa.array(block.indptr.astype(np.int32))
        columns = {
            LABEL: pa.array(labels_of(block)),
            INDICES: pa.ListArray.from_arrays(offsets, pa.array(block.indices, id_type)),
            VALUES: pa.ListArray.from_arrays(offsets, pa.array(block.values)),
        }
        return pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata)

    return _write_batches(map(batch_of, regrouped(blocks, rows_at_once(1, BLOCK_NONZEROS))), create)


def _table_batch(block: RowBlock, names: list[str], target: str) -> pa.RecordBatch:
    """A block as named columns, zeros filled in, the labels last."""
    import pyarrow as pa

    dense = replace(block, n_features=len(names)).to_dense().astype(np.float32)
    titles = list(names)
    columns = [pa.array(dense[:, i]) for i in range(len(names))]
    if block.y is not None:
        columns.append(pa.array(block.y))
        titles.append(target)
    return pa.RecordBatch.from_arrays(columns, titles)


def _write_table(create: Create, blocks: Iterable[RowBlock], names: list[str], target: str) -> int:
    most_rows = rows_at_once(len(names), BATCH_VALUES)
    return _write_batches((_table_batch(block, names, target) for block in regrouped(blocks, most_rows)), create)


def _write_delimited(
    path: Path, blocks: Iterable[RowBlock], names: list[str], target: str, packing: str, delimiter: str
) -> int:
    from pyarrow import csv as arrow_csv

    with create_packed(path, packing) as file:
        options = arrow_csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        return _write_table(
            lambda schema: arrow_csv.CSVWriter(file, schema, write_options=options), blocks, names, target
        )
