"""Sparse matrices as ``scipy.sparse.save_npz`` writes them, with an array ``y`` for the labels."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError
from ..machine import available_memory, refuse_beyond_memory
from .arrays import ArraySource
from .base import file_size
from .formats import Layout
from .options import ReadOptions

COPIES = 3  # of all rows: in blocks, joined, and compressed
ZIP = b"PK\x03\x04"  # the first bytes of a zip archive
DAMAGE = (
    *(OSError, ValueError, KeyError, EOFError, BadZipFile, zlib.error, NotImplementedError),
    *(TypeError, AttributeError, IndexError, OverflowError, RuntimeError),
)


def open_rows(path: Path, options: ReadOptions, columns: list[str] | None) -> ArraySource:
    """Return the whole file, in memory."""
    from scipy.sparse import load_npz

    file_size(path)
    try:
        with path.open("rb") as file:
            if file.read(len(ZIP)) != ZIP:
                raise ValueError("it is not a zip archive")
            refuse_too_large(path, file)
            loaded: Any = load_npz(file)
            matrix = loaded.tocsr()
            matrix.check_format(full_check=True)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                y = arrays.get("y")
                names = arrays.get("feature_names")
                renumbered = arrays.get("renumbered")
    except DAMAGE as error:
        # EINVAL: a seek to an impossible position in a damaged file
        is_system_error = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if isinstance(error, DataError) or is_system_error:
            raise
        raise DataError(
            f"{path}: not a sparse matrix as scipy.sparse.save_npz writes it, or cut short"
            f" ({error})"
        ) from error
    source = ArraySource(matrix, y, names, str(path))
    source.facts = replace(source.facts, renumbered=None if renumbered is None else str(renumbered))
    return source


def refuse_too_large(path: Path, file: IO[bytes]) -> None:
    """Raise DataError if a matrix does not fit in memory.

    It is read as a whole, and may have to be sorted.
    """
    with ZipFile(file) as archive:
        needed = 2 * sum(member.file_size for member in archive.infolist())
    refuse_beyond_memory(
        needed, f"{path}: its arrays, which are read as a whole,", "write the rows as Parquet"
    )
    file.seek(0)


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write the arrays of ``scipy.sparse.save_npz`` plus ``y`` (and ``feature_names``).

    The rows must fit in memory.
    """
    parts, room = [], available_memory() // COPIES
    for block in blocks:
        parts.append(block)
        room -= block.n_bytes
        if room < 0:
            raise DataError(
                f"{layout.name}: the rows do not fit in memory, and .npz is written as a whole;"
                " write .parquet or .svm"
            )
    rows = RowBlock.joined(parts)
    width = max(layout.n_features or 0, rows.n_features)
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([rows.n_rows, width]),
        "indptr": rows.indptr,
        "indices": rows.indices.astype(np.int32 if width < 2**31 else np.int64, copy=False),
        "data": rows.values,
    }
    if rows.y is not None:
        arrays["y"] = as_text(rows.y)
    if layout.renumbered is not None:
        arrays["renumbered"] = np.array(layout.renumbered)
    if layout.feature_names is not None:
        arrays["feature_names"] = as_text(layout.feature_names)
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return rows.n_rows


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Return objects that are text as an array of text, which needs no pickle."""
    return values.astype(str) if values.dtype == object else values
