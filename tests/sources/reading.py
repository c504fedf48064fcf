"""Small files of every kind, their content and the messages about them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamsieve import DataError, Source, open_source
from streamsieve.sources import delimited_text
from streamsieve.sources.arrays import ArraySource

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def read(source: Source) -> tuple[list[list[float]], list[Any]]:
    """Return the rows with their zeros, and the labels.

    Each block is checked against what a RowBlock promises.
    """
    rows: list[list[float]] = []
    labels: list[Any] = []
    for block in source.row_blocks():
        assert block.values.dtype == np.float32
        assert block.indices.dtype in (np.int32, np.int64)
        assert block.values.all()
        assert block.n_features == source.n_features
        matrix = np.zeros((block.n_rows, block.n_features), np.float32)
        for row in range(block.n_rows):
            ids = block.indices[block.indptr[row] : block.indptr[row + 1]]
            assert (np.diff(ids) > 0).all()
            matrix[row, ids] = block.values[block.indptr[row] : block.indptr[row + 1]]
        rows += matrix.tolist()
        labels += [None] * block.n_rows if block.y is None else block.y.tolist()
    return rows, labels


def put(folder: Path, data: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(path: Path, target: str | None = "y", **options) -> str:
    """Return the message about a file, without the name of the file at its beginning."""
    with pytest.raises(DataError) as caught:
        read(open_source(path, target=target, **options))
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path))


def array_refusal(X: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(ArraySource(X, name="mine"))
    return str(caught.value)


def small_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(delimited_text, "FIRST_BYTES", size)
    monkeypatch.setattr(delimited_text, "CHUNK_BYTES", size)


def put_table(path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None) -> Path:
    table = pa.table(columns).replace_schema_metadata(metadata)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    return path


def put_sparse(
    path: Path, ids: Any, values: Any, labels: Any, id_type=None, value_type=None, metadata=None
) -> Path:
    lists = (
        pa.array(ids, pa.list_(id_type or pa.int32())),
        pa.array(values, pa.list_(value_type or pa.float32())),
    )
    return put_table(path, {"label": labels, "indices": lists[0], "values": lists[1]}, metadata)


def write_frame(frame: pd.DataFrame | pl.DataFrame, path: Path) -> None:
    """Write a data frame as its users would; pandas compresses."""
    if isinstance(frame, pl.DataFrame):
        frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_ipc(path)
    else:
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_feather(path)


def read_sparse(path: Path) -> list[dict[int, float]]:
    rows = []
    for block in open_source(path).row_blocks():
        for row in range(block.n_rows):
            part = slice(block.indptr[row], block.indptr[row + 1])
            rows.append(
                list(zip(block.indices[part].tolist(), block.values[part].tolist(), strict=True))
            )
    return rows
