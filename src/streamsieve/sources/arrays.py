"""Sources of data in memory: NumPy, SciPy sparse, pandas, polars, Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock, canonical, dense_block, line_ranges
from ..errors import DataError, prefix
from ..values import check_sparse, check_usable, is_sparse, normalize_labels
from .base import (
    ColumnSource,
    DataSource,
    Missing,
    NoRowsError,
    Source,
    SourceFacts,
    refuse_not_finite,
)
from .columns import MatrixColumns, blocks_of_columns, slice_lines

if TYPE_CHECKING:
    from .wrapped import KeptFeatures

BLOCK_VALUES = 1 << 20


class ArraySource(Source, ColumnSource):
    """A matrix, dense or sparse, with its labels; it keeps its form, CSC as well as CSR."""

    def __init__(
        self,
        X: Any,
        y: Any | None = None,
        feature_names: NDArray[Any] | None = None,
        name: str = "array",
        block_rows: int | None = None,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> None:
        self.matrix, names = as_matrix(X, name)
        self.y = None if y is None else as_labels(y, name)
        n_rows, width = (int(size) for size in self.matrix.shape)
        if not width:
            raise DataError(f"{prefix(name)}the data has no columns")
        if self.y is not None and len(self.y) != n_rows:
            raise DataError(f"{prefix(name)}{n_rows} rows but {len(self.y)} labels")
        super().__init__(
            SourceFacts(
                name,
                n_rows,
                width,
                names if feature_names is None else feature_names,
                has_labels=y is not None,
                splittable=True,
                columns_splittable=True,
                value_type=np.float32 if self.matrix.dtype == np.float32 else np.float64,
            )
        )
        self.block_rows, self.sample_weight = block_rows, sample_weight
        self._first_row = 0  # not 0 in a shard

    def keep_features(self, kept: KeptFeatures) -> DataSource:
        source = self.with_facts(kept=kept.joined(self.facts.kept))
        mask = kept.among(np.arange(self.n_features or 0))
        if is_sparse(self.matrix):
            from scipy.sparse import diags_array

            source.matrix = (self.matrix @ diags_array(mask.astype(self.matrix.dtype))).asformat(
                self.matrix.format
            )
        else:
            source.matrix = np.where(mask, self.matrix, self.matrix.dtype.type(0))
        return source

    def named(self, names: NDArray[Any], origin: str) -> DataSource:
        width = names.size
        source = self.with_facts(n_features=width, feature_names=names)
        if width > (self.n_features or 0):
            if not is_sparse(self.matrix):
                raise DataError(
                    f"{self.name}: {origin} has {width:,} names for {self.n_features:,} columns;"
                    " give one name per column"
                )
            # Of a new matrix with the same arrays, ``resize`` changes the shape alone.
            source.matrix = type(self.matrix)(self.matrix)
            source.matrix.resize(self.matrix.shape[0], width)
        return source

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        n_rows, matrix = self.n_rows or 0, self._in_form("csr")
        if not n_rows:
            raise NoRowsError(f"{prefix(self.name)}holds no rows")
        block_of = sparse_block if is_sparse(matrix) else dense_block
        ends = (
            matrix.indptr.astype(np.int64)
            if is_sparse(matrix)
            else np.arange(n_rows + 1) * (self.n_features or 0)
        )
        for start, stop in line_ranges(ends, self.block_rows or n_rows, BLOCK_VALUES):
            labels = None if self.y is None else self.y[start:stop]
            with np.errstate(over="ignore"):
                block = block_of(rows_of(matrix, start, stop), labels, self.name)
            if self.sample_weight is not None:
                block = block.derived(sample_weight=self.sample_weight[start:stop])
            refuse_not_finite(block, self._first_row + start, self.feature_names, missing)
            yield block

    def _in_form(self, form: Literal["csr", "csc"]) -> Any:
        """Return the matrix, in this form if it is sparse."""
        return canonical(self.matrix.asformat(form)) if is_sparse(self.matrix) else self.matrix

    def column_blocks(self) -> Iterator[ColumnBlock]:
        """Yield the columns in order, in blocks."""
        return blocks_of_columns(self._in_form("csc"), self.feature_names, self.name)

    def _column_shards(self, n: int) -> list[ColumnSource]:
        return MatrixColumns(
            self.name,
            self._in_form("csc"),
            self.y,
            self.n_features or 0,
            names=self.feature_names,
            value_type=self.facts.value_type,
        ).column_shards(n)

    def labels(self) -> Iterator[NDArray[Any]]:
        return super().labels() if self.y is None else iter([self.y])

    def targets(self) -> NDArray[Any]:
        return super().targets() if self.y is None else self.y

    def _shards(self, n: int) -> list[Source]:
        n_rows, matrix = self.n_rows or 0, self._in_form("csr")
        starts = sorted({n_rows * part // n for part in range(n)})
        return [
            self._part(matrix, start, stop)
            for start, stop in zip(starts, [*starts[1:], n_rows], strict=True)
        ]

    def _part(self, matrix: Any, start: int, stop: int) -> Source:
        part = self.with_facts(n_rows=stop - start)
        part.matrix, part._first_row = rows_of(matrix, start, stop), self._first_row + start
        part.y = None if self.y is None else self.y[start:stop]
        part.sample_weight = None if self.sample_weight is None else self.sample_weight[start:stop]
        return part


def as_matrix(X: Any, origin: str) -> tuple[Any, NDArray[Any] | None]:
    """Return a NumPy array or a CSR or CSC matrix, and the column names if there are any."""
    if is_sparse(X):
        return check_sparse(X, "X", origin), None
    check_usable(X, "X", origin)
    titles = list(getattr(X, "column_names", getattr(X, "columns", ())))
    has_names = bool(titles) and all(isinstance(title, str) for title in titles)
    names = np.array(titles, dtype=object) if has_names else None
    if type(X).__module__.startswith("pyarrow"):
        matrix = np.column_stack([column.to_numpy(zero_copy_only=False) for column in X.columns])
    elif hasattr(X, "isna"):  # pandas, whose pd.NA is not a float
        matrix = X.to_numpy(na_value=np.nan) if X.isna().to_numpy().any() else X.to_numpy()
    else:
        matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise DataError(
            f"{prefix(origin)}expected rows and columns, got an array of {matrix.ndim} dimension(s)"
        )
    if matrix.dtype.kind not in "biuf":
        matrix = numbers_of(matrix, names, origin)
    return matrix, names


def numbers_of(matrix: NDArray[Any], names: NDArray[Any] | None, origin: str) -> NDArray[Any]:
    """Return an array of objects as float64, or raise DataError that names the first bad column."""
    numbers = np.empty(matrix.shape)
    for position in range(matrix.shape[1]):
        try:
            if any(isinstance(value, str | bytes) for value in matrix[:, position]):
                raise ValueError
            numbers[:, position] = matrix[:, position]
        except (TypeError, ValueError, OverflowError):
            column = f"column {names[position]!r}" if names is not None else f"feature {position}"
            raise DataError(
                f"{prefix(origin)}{column} does not hold numbers; encode it or omit it"
            ) from None
    return numbers


def is_frame(data: Any) -> bool:
    """Return True for a table of pandas, polars or Arrow."""
    if type(data).__module__.startswith("pyarrow"):
        return hasattr(data, "schema")
    return hasattr(data, "columns") and hasattr(data, "dtypes")


def names_of(frame: Any) -> list[str]:
    """Return the names of the columns of a table."""
    columns = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return [str(name) for name in columns]


def as_labels(y: Any, origin: str) -> NDArray[Any]:
    """Return labels as a flat array, given a list, an array or a column of a table."""
    check_usable(y, "y", origin)
    labels: NDArray[Any] = np.asarray(
        y.to_numpy(zero_copy_only=False) if hasattr(y, "combine_chunks") else y
    )
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise DataError(
            f"{prefix(origin)}expected one label per row, got an array of {labels.ndim}"
            " dimension(s)"
        )
    labels = normalize_labels(labels, origin)
    if labels.dtype.kind in "fO":
        missing = labels != labels
        if labels.dtype == object:
            missing = np.array([label is None or label != label for label in labels.tolist()], bool)
        if missing.any():
            row = int(np.argmax(missing)) + 1
            raise DataError(f"{prefix(origin)}row {row}: has no label; fill it in or drop the row")
    return labels


def rows_of(matrix: Any, start: int, stop: int) -> Any:
    """Return some rows of a dense or a canonical CSR matrix without copying their values."""
    if not is_sparse(matrix):
        return matrix[start:stop]
    rows = slice_lines(matrix, start, stop)
    rows.has_canonical_format = True
    return rows


def sparse_block(matrix: Any, y: NDArray[Any] | None, origin: str = "") -> RowBlock:
    """Return a canonical CSR matrix as a block, without entries that are 0 in float32."""
    values = matrix.data.astype(np.float32, copy=False)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices
    if not values.all():
        present = values != 0
        indptr = np.concatenate([[0], np.cumsum(present)])[indptr]
        indices, values = indices[present], values[present]
    return RowBlock(indptr, indices, values, y, matrix.shape[1], origin)
