"""What is in memory already: NumPy, SciPy sparse, pandas, polars, Arrow."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, dense_block
from ..errors import DataError
from .base import ColumnSource, Missing, Source, refuse_not_finite
from .columns import blocks_of_columns

BLOCK_VALUES = 1 << 20


class ArraySource(Source, ColumnSource):
    """A matrix, dense or sparse, with its labels."""

    def __init__(
        self,
        X: Any,
        y: Any | None = None,
        feature_names: NDArray[Any] | None = None,
        name: str = "array",
        block_rows: int | None = None,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        super().__init__(name)
        X, names = as_matrix(X, name)
        self.matrix = X
        self.y = None if y is None else as_labels(y, name)
        self.has_labels = y is not None
        self.n_rows, self.n_features = (int(size) for size in X.shape)
        if self.y is not None and len(self.y) != self.n_rows:
            raise DataError(f"{name}: {self.n_rows} rows but {len(self.y)} labels")
        self.feature_names = names if feature_names is None else feature_names
        self.block_rows = block_rows
        self.sample_weight = sample_weight
        self.value_type = np.float32 if X.dtype == np.float32 else np.float64

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        n_rows = self.n_rows or 0
        sparse = is_sparse(self.matrix)
        if self.block_rows:
            cuts = np.arange(0, n_rows, self.block_rows)
        elif sparse:
            blocks = np.arange(BLOCK_VALUES, self.matrix.indptr[-1], BLOCK_VALUES)
            cuts = np.unique(np.append(0, np.searchsorted(self.matrix.indptr, blocks, side="right") - 1))
        else:
            cuts = np.arange(0, n_rows, max(1, BLOCK_VALUES // max(1, self.matrix.shape[1])))
        if not n_rows:
            raise DataError(f"{self.name}: holds no rows")
        block_of = sparse_block if sparse else dense_block
        for start, stop in zip(cuts.tolist(), [*cuts.tolist()[1:], n_rows], strict=True):
            labels = None if self.y is None else self.y[start:stop]
            with np.errstate(over="ignore"):
                block = block_of(self.matrix[start:stop], labels, self.name)
            if self.sample_weight is not None:
                block = replace(block, sample_weight=self.sample_weight[start:stop])
            refuse_not_finite(block, start, self.feature_names, missing)
            yield block

    def column_blocks(self) -> Iterator[ColumnBlock]:
        """The columns in order, in blocks."""
        matrix = self.matrix.tocsc() if is_sparse(self.matrix) else self.matrix
        if is_sparse(matrix):
            matrix.eliminate_zeros()
        return blocks_of_columns(matrix, self.feature_names, self.name)

    def targets(self) -> NDArray[Any]:
        return super().targets() if self.y is None else self.y


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")


def as_matrix(X: Any, origin: str) -> tuple[Any, NDArray[Any] | None]:
    """A NumPy array or a canonical CSR matrix, and the column names if there are any."""
    if is_sparse(X):
        csr = X.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        return csr, None
    names = table_names(X)
    if type(X).__module__.startswith("pyarrow"):
        matrix = np.column_stack([column.to_numpy(zero_copy_only=False) for column in X.columns])
    elif hasattr(X, "isna"):  # pandas, whose pd.NA is no float
        matrix = X.to_numpy(na_value=np.nan) if X.isna().to_numpy().any() else X.to_numpy()
    else:
        matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise DataError(f"{origin}: expected rows and columns, got an array of {matrix.ndim} dimension(s)")
    if matrix.dtype.kind not in "biuf":
        matrix = numbers_of(matrix, names, origin)
    return matrix, names


def numbers_of(matrix: NDArray[Any], names: NDArray[Any] | None, origin: str) -> NDArray[Any]:
    """Objects as float64; the first column that is not numbers is named."""
    numbers = np.empty(matrix.shape)
    for position in range(matrix.shape[1]):
        try:
            if any(isinstance(value, str | bytes) for value in matrix[:, position]):
                raise ValueError
            numbers[:, position] = matrix[:, position]
        except (TypeError, ValueError):
            column = f"column {names[position]!r}" if names is not None else f"feature {position}"
            raise DataError(f"{origin}: {column} does not hold numbers; encode it or leave it out") from None
    return numbers


def table_names(X: Any) -> NDArray[Any] | None:
    """The column names of a pandas, polars or Arrow table, if all are text."""
    names = list(X.column_names) if hasattr(X, "column_names") else list(getattr(X, "columns", ()))
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def as_labels(y: Any, origin: str) -> NDArray[Any]:
    """Labels as a flat array, from a list, an array or a column of a table."""
    labels: NDArray[Any] = np.asarray(y.to_numpy(zero_copy_only=False) if hasattr(y, "combine_chunks") else y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise DataError(f"{origin}: expected one label a row, got an array of {labels.ndim} dimension(s)")
    if labels.dtype.kind in "fO":
        missing = labels != labels
        if labels.dtype == object:
            missing = np.array([label is None or label != label for label in labels.tolist()], bool)
        if missing.any():
            at = f"{origin}: " if origin else ""
            raise DataError(f"{at}row {int(np.argmax(missing)) + 1}: has no label; fill it in or drop the row")
    return labels


def sparse_block(matrix: Any, y: NDArray[Any] | None, origin: str = "") -> RowBlock:
    """A block of the rows of a canonical CSR matrix; entries that are 0 in float32 are left out."""
    values = matrix.data.astype(np.float32, copy=False)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices
    if not values.all():
        present = values != 0
        indptr = np.concatenate([[0], np.cumsum(present)])[indptr]
        indices, values = indices[present], values[present]
    return RowBlock(indptr, indices, values, y, matrix.shape[1], origin)


def open_npz(path: Path) -> ArraySource:
    """A file that ``scipy.sparse.save_npz`` wrote, with one more array ``y`` for the labels."""
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
