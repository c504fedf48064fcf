"""Sparse matrices as ``scipy.sparse.save_npz`` writes them, with one more array ``y`` for the labels."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError
from .arrays import ArraySource
from .formats import Layout, Options
from .writers import labels_of


def open_rows(path: Path, options: Options) -> ArraySource:
    """The whole file, in memory."""
    from scipy.sparse import load_npz

    try:
        with path.open("rb") as file:
            loaded: Any = load_npz(file)
            matrix = loaded.tocsr()
            matrix.check_format(full_check=True)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                y = arrays.get("y")
                names = arrays.get("feature_names")
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(
            f"{path}: not a sparse matrix as scipy.sparse.save_npz writes it, or cut short ({error})"
        ) from error
    return ArraySource(matrix, y, names, str(path))


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """The keys of ``scipy.sparse.save_npz`` plus ``y`` (and ``feature_names``); the rows must fit in memory."""
    parts = list(blocks)
    rows = RowBlock.joined([part.derived(y=labels_of(part)) for part in parts])
    width = max(layout.n_features or 0, rows.n_features)
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([rows.n_rows, width]),
        "indptr": rows.indptr,
        "indices": rows.indices.astype(np.int32 if width < 2**31 else np.int64, copy=False),
        "data": rows.values,
        "y": as_text(labels_of(rows)),
    }
    if layout.feature_names is not None:
        arrays["feature_names"] = as_text(layout.feature_names)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return rows.n_rows


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are text as an array of text, which needs no pickle."""
    return values.astype(str) if values.dtype == object else values
