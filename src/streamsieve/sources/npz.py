"""Sparse matrices as ``scipy.sparse.save_npz`` writes them, with an array ``y`` for the labels."""

from __future__ import annotations

import errno
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

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
            with ZipFile(file) as archive:  # its arrays may have to be sorted
                needed = 2 * sum(member.file_size for member in archive.infolist())
            refuse_beyond_memory(
                needed,
                f"{path}: its arrays, which are read as a whole,",
                "write the rows as Parquet",
            )
            file.seek(0)
            matrix: Any = load_npz(file).tocsr()
            matrix.check_format(full_check=True)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                y, names, renumbered = map(arrays.get, ("y", "feature_names", "renumbered"))
    except DAMAGE as error:
        # EINVAL: a seek to an impossible position in a damaged file
        is_system_error = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        if isinstance(error, DataError) or is_system_error:
            raise
        raise DataError(
            f"{path}: not a sparse matrix as scipy.sparse.save_npz writes it, or cut short"
            f" ({error})"
        ) from error
    mark = None if renumbered is None else str(renumbered)
    return ArraySource(matrix, y, names, str(path)).with_facts(renumbered=mark)


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
    optional = {
        "y": rows.y,
        "renumbered": layout.renumbered,
        "feature_names": layout.feature_names,
    }
    for name, values in optional.items():
        if values is not None:
            array = np.asarray(values)
            # Text needs no pickle, but objects do.
            arrays[name] = array.astype(str) if array.dtype == object else array
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return rows.n_rows
