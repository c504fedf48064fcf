"""Frozen blocks of plain arrays, which sources pass to selectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import DataError
from .values import (
    ascends,
    check_usable,
    from_zero,
    frozen,
    is_sparse,
    normalize_labels,
    refuse_unfit,
)

if TYPE_CHECKING:
    from .sources.encoding import Encoding

Number = TypeVar("Number", bound=np.generic)
Rows = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]  # in CSR form


class NamedIds(NamedTuple):
    """The names from which the ids of some rows were hashed.

    An id may appear several times.
    """

    ids: NDArray[np.int64]
    names: list[str]

    def of(self, wanted: NDArray[np.int64]) -> dict[int, str]:
        """Return the names of some ids, where they are known; the first of several for one id."""
        wanted = np.sort(wanted)
        if not wanted.size:
            return {}
        positions = np.minimum(np.searchsorted(wanted, self.ids), wanted.size - 1)
        matches = np.flatnonzero(wanted[positions] == self.ids)
        feature_ids, first = np.unique(self.ids[matches], return_index=True)
        return {
            feature: self.names[matches[i]]
            for feature, i in zip(feature_ids.tolist(), first.tolist(), strict=True)
        }


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some rows in CSR form, with their labels.

    Within a row the feature ids ascend and no id appears twice; no value is 0, NaN or infinite. The
    arrays are read-only. ``n_features`` is the width of the rows as far as this block knows it:
    more than every id in it.

    Parts of a block and blocks made from others (``rows``, ``derived``, ``joined``) are not checked
    again.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> block = ss.RowBlock(np.array([0, 1, 2]), np.array([0, 2]), np.ones(2), np.array([0, 1]), 3)
    >>> block.to_dense().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    indptr: NDArray[np.int64]
    indices: NDArray[Any]  # int32 or int64
    values: NDArray[np.float32]
    y: NDArray[Any] | None
    n_features: int
    origin: str = ""  # the file the rows came from, for messages
    dense: bool = False  # True if an absent entry is a measured 0
    sample_weight: NDArray[np.float64] | None = None
    # where ids are hashes of names: the names in these rows, and maybe in others
    names: NamedIds | None = None
    encoding: Encoding | None = None  # of the table that the rows came from, which gives the ids

    def __post_init__(self) -> None:
        refuse_unfit("rows", self.indptr, self.indices, self.values, self.n_features)
        put, (indptr, indices, values) = (
            object.__setattr__,
            from_zero(self.indptr, self.indices, self.values),
        )
        put(self, "indptr", frozen(indptr, np.int64))
        put(
            self,
            "indices",
            frozen(indices, indices.dtype if indices.dtype in (np.int32, np.int64) else np.int64),
        )
        put(self, "values", frozen(values, np.float32))
        if self.y is not None:
            check_usable(self.y, "y", self.origin)
            put(
                self,
                "y",
                normalize_labels(check_one_per_row(self.y, self.n_rows, "labels"), self.origin),
            )
        if self.sample_weight is not None:
            weights = check_one_per_row(self.sample_weight, self.n_rows, "weights")
            put(self, "sample_weight", np.asarray(weights, np.float64))

    @classmethod
    def trusted(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[Any],
        values: NDArray[np.float32],
        y: NDArray[Any] | None,
        n_features: int,
        origin: str = "",
        dense: bool = False,
        sample_weight: NDArray[np.float64] | None = None,
        names: NamedIds | None = None,
        encoding: Encoding | None = None,
    ) -> RowBlock:
        """Return a block of arrays that are known to be valid: nothing is checked or copied.

        They must be contiguous and of the right types, and become read-only.
        """
        block = object.__new__(cls)
        for array in (indptr, indices, values):
            array.flags.writeable = False
        put = object.__setattr__
        put(block, "indptr", indptr)
        put(block, "indices", indices)
        put(block, "values", values)
        put(block, "y", y)
        put(block, "n_features", n_features)
        put(block, "origin", origin)
        put(block, "dense", dense)
        put(block, "sample_weight", sample_weight)
        put(block, "names", names)
        put(block, "encoding", encoding)
        return block

    def derived(self, **changes: Any) -> RowBlock:
        """Return the same block with other values in some fields, which must fit the rest."""
        return RowBlock.trusted(**({name: getattr(self, name) for name in ROW_FIELDS} | changes))

    def with_entries(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[Any],
        values: NDArray[np.float32],
        n_features: int,
    ) -> RowBlock:
        """Return the same rows with other entries, which must fit.

        It is a faster ``derived``, for changes that are made to every block.
        """
        rest = self.origin, self.dense, self.sample_weight, self.names, self.encoding
        return RowBlock.trusted(indptr, indices, values, self.y, n_features, *rest)

    def with_target(self, y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> RowBlock:
        """Return the same rows with other labels and maybe weights."""
        rest = self.origin, self.dense, sample_weight, self.names, self.encoding
        return RowBlock.trusted(self.indptr, self.indices, self.values, y, self.n_features, *rest)

    @property
    def n_rows(self) -> int:
        return self.indptr.size - 1

    @property
    def n_nonzero(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def n_bytes(self) -> int:
        """Return the memory that ids and values take."""
        return self.values.nbytes + self.indices.nbytes + self.indptr.nbytes

    def rows(self, start: int, stop: int) -> RowBlock:
        """Return the rows from ``start`` to before ``stop``, without copying."""
        if start == 0 and stop >= self.n_rows:
            return self
        indptr = self.indptr[start : stop + 1]
        begin, end = indptr[0], indptr[-1]
        return RowBlock.trusted(
            indptr - begin,
            self.indices[begin:end],
            self.values[begin:end],
            None if self.y is None else self.y[start:stop],
            self.n_features,
            self.origin,
            self.dense,
            None if self.sample_weight is None else self.sample_weight[start:stop],
            self.names,
            self.encoding,
        )

    def masked(self, kept: NDArray[np.bool_]) -> RowBlock:
        """Return the rows that a mask keeps."""
        if kept.all():
            return self
        lengths = np.diff(self.indptr)
        inside = slice(int(self.indptr[0]), int(self.indptr[-1]))
        entries = np.repeat(kept, lengths)
        return self.derived(
            indptr=np.concatenate([[0], np.cumsum(lengths[kept])]),
            indices=self.indices[inside][entries],
            values=self.values[inside][entries],
            y=None if self.y is None else self.y[kept],
            sample_weight=None if self.sample_weight is None else self.sample_weight[kept],
        )

    def with_some_entries(self, kept: NDArray[np.bool_]) -> RowBlock:
        """Return the same rows with the entries that a mask keeps."""
        if kept.all():
            return self
        inside = slice(int(self.indptr[0]), int(self.indptr[-1]))
        before = np.concatenate([[0], np.cumsum(kept)])
        return self.derived(
            indptr=before[self.indptr - self.indptr[0]],
            indices=self.indices[inside][kept],
            values=self.values[inside][kept],
        )

    def to_dense(self, kind: Any = np.float64) -> NDArray[Any]:
        """Return the rows as a matrix with zeros filled in."""
        matrix = np.zeros((self.n_rows, self.n_features), kind)
        matrix[np.repeat(np.arange(self.n_rows), np.diff(self.indptr)), self.indices] = self.values
        return matrix

    def without_zero_weights(self) -> RowBlock:
        """Return the rows that count: rows of weight 0 are as good as absent."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.masked(self.sample_weight != 0)

    @staticmethod
    def joined(blocks: list[RowBlock]) -> RowBlock:
        """Return the rows of several blocks, which must have the same optional fields."""
        first = blocks[0]
        if len(blocks) == 1:
            return first
        return first.derived(
            indptr=join_indptr([block.indptr for block in blocks]),
            indices=np.concatenate(
                [block.indices[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            values=np.concatenate(
                [block.values[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            y=concatenate_all(block.y for block in blocks),
            sample_weight=concatenate_all(block.sample_weight for block in blocks),
            n_features=max(block.n_features for block in blocks),
        )


ROW_FIELDS = tuple(field.name for field in fields(RowBlock))


class DenseRows(NamedTuple):
    """Some rows of a table with every value written out, and their labels."""

    values: NDArray[np.float32]  # of shape (n_rows, n_features)
    y: NDArray[Any] | None

    @property
    def n_rows(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlock:
    """Some columns in CSC form, with the ids of their features.

    Within a column the row numbers ascend; no value is 0 or infinite, and NaN is a missing value.
    The arrays are read-only. ``groups`` are the groups of the columns, if they arrive in groups.

    Examples
    --------
    >>> import numpy as np
    >>> import streamsieve as ss
    >>> block = ss.ColumnBlock(np.array([0, 1]), np.array([2]), np.ones(1), np.array([7]), 3)
    >>> block.n_columns, block.ids.tolist()
    (1, [7])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]  # row numbers
    values: NDArray[np.float64]
    ids: NDArray[np.int64]
    n_rows: int
    names: NDArray[Any] | None = None
    groups: NDArray[np.int64] | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        refuse_unfit("columns", self.indptr, self.indices, self.values, self.n_rows)
        put, (indptr, indices, values) = (
            object.__setattr__,
            from_zero(self.indptr, self.indices, self.values),
        )
        put(self, "indptr", frozen(indptr, np.int64))
        put(self, "indices", frozen(indices, np.int32))
        put(self, "values", frozen(values, np.float64))
        put(self, "ids", frozen(self.ids, np.int64))
        refuse_other_lengths(self.n_columns, self.ids, self.names, self.groups)

    @classmethod
    def trusted(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        ids: NDArray[np.int64],
        n_rows: int,
        names: NDArray[Any] | None = None,
        groups: NDArray[np.int64] | None = None,
        origin: str = "",
    ) -> ColumnBlock:
        """Return a block of arrays that are known to be valid: nothing is checked or copied.

        They must be contiguous and of the right types, and become read-only.
        """
        block = object.__new__(cls)
        for array in (indptr, indices, values, ids):
            array.flags.writeable = False
        put = object.__setattr__
        put(block, "indptr", indptr)
        put(block, "indices", indices)
        put(block, "values", values)
        put(block, "ids", ids)
        put(block, "n_rows", n_rows)
        put(block, "names", names)
        put(block, "groups", groups)
        put(block, "origin", origin)
        return block

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts to pickle; the arrays of the copy are read-only, too."""
        return ColumnBlock.trusted, tuple(getattr(self, name) for name in COLUMN_FIELDS)

    def derived(self, **changes: Any) -> ColumnBlock:
        """Return the same block with other values in some fields, which must fit the rest."""
        return ColumnBlock.trusted(
            **({name: getattr(self, name) for name in COLUMN_FIELDS} | changes)
        )

    @property
    def n_columns(self) -> int:
        return self.indptr.size - 1

    @property
    def n_nonzero(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    def columns(self, start: int, stop: int) -> ColumnBlock:
        """Return the columns from ``start`` to before ``stop``, without copying."""
        if start == 0 and stop >= self.n_columns:
            return self
        indptr = self.indptr[start : stop + 1]
        begin, end = indptr[0], indptr[-1]
        return ColumnBlock.trusted(
            indptr - begin,
            self.indices[begin:end],
            self.values[begin:end],
            self.ids[start:stop],
            self.n_rows,
            None if self.names is None else self.names[start:stop],
            None if self.groups is None else self.groups[start:stop],
            self.origin,
        )

    def without_empty(self) -> ColumnBlock:
        """Return the columns that have values."""
        filled = np.diff(self.indptr) > 0
        if filled.all():
            return self
        return self.derived(
            indptr=np.concatenate([self.indptr[:-1][filled], self.indptr[-1:]]),
            ids=self.ids[filled],
            names=None if self.names is None else self.names[filled],
            groups=None if self.groups is None else self.groups[filled],
        )

    def masked(self, kept: NDArray[np.bool_]) -> ColumnBlock:
        """Return the columns that a mask keeps."""
        return self if kept.all() else self.picked(np.flatnonzero(kept))

    def picked(self, columns: NDArray[np.int64]) -> ColumnBlock:
        """Return some columns, by their positions, in that order."""
        lengths = np.diff(self.indptr)[columns]
        indptr = np.append(0, np.cumsum(lengths))
        entries = np.repeat(self.indptr[columns] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return self.derived(
            indptr=indptr,
            indices=self.indices[entries],
            values=self.values[entries],
            ids=self.ids[columns],
            names=None if self.names is None else self.names[columns],
            groups=None if self.groups is None else self.groups[columns],
        )

    def without_zeros(self) -> ColumnBlock:
        """Return the same columns with values of 0 omitted."""
        is_nonzero = self.values != 0
        indptr = np.concatenate([[0], np.cumsum(is_nonzero)])[self.indptr]
        return self.derived(
            indptr=indptr, indices=self.indices[is_nonzero], values=self.values[is_nonzero]
        )

    @staticmethod
    def joined(blocks: list[ColumnBlock]) -> ColumnBlock:
        """Return the columns of several blocks, which must have the same optional fields."""
        first = blocks[0]
        if len(blocks) == 1:
            return first
        return first.derived(
            indptr=join_indptr([block.indptr for block in blocks]),
            indices=np.concatenate(
                [block.indices[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            values=np.concatenate(
                [block.values[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            ids=np.concatenate([block.ids for block in blocks]),
            names=concatenate_all(block.names for block in blocks),
            groups=concatenate_all(block.groups for block in blocks),
        )


COLUMN_FIELDS = tuple(field.name for field in fields(ColumnBlock))


def join_indptr(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the ``indptr`` of concatenated lines, from 0."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))])


def concatenate_all(parts: Iterable[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Return arrays concatenated; None if one of them is None."""
    arrays = list(parts)
    present = [part for part in arrays if part is not None]
    return np.concatenate(present) if len(present) == len(arrays) else None


def next_cut(indptr: NDArray[Any], start: int, most_lines: int, most_nonzeros: int) -> int:
    """Return the end of a part of lines (rows or columns) that begins at ``start``.

    The part has no more lines and non-zeros than the limits, but at least one line.
    """
    end = int(np.searchsorted(indptr, int(indptr[start]) + most_nonzeros, side="right")) - 1
    return min(max(end, start + 1), start + most_lines, indptr.size - 1)


def line_ranges(
    indptr: NDArray[Any], most_lines: int, most_nonzeros: int
) -> Iterator[tuple[int, int]]:
    """Yield the start and end of consecutive parts of lines (rows or columns).

    A part has no more lines and non-zeros than the limits, or a single line.
    """
    start = 0
    while start < indptr.size - 1:
        stop = next_cut(indptr, start, most_lines, most_nonzeros)
        yield start, stop
        start = stop


def check_one_per_row(values: Any, n_rows: int, what: str) -> NDArray[Any]:
    """Return labels or weights as an array; raise DataError if there is not one per row."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"a block of rows with {what} of shape {array.shape}; expected one per row")
    if array.size != n_rows:
        raise DataError(f"a block of {n_rows} rows with {array.size} {what}")
    return array


def refuse_other_lengths(n_columns: int, *arrays: NDArray[Any] | None) -> None:
    """Raise DataError if ids, names or groups are not one for each column."""
    for array in arrays:
        if array is not None and len(array) != n_columns:
            raise DataError(
                f"a block of {n_columns} columns with {len(array)} ids, names or groups"
            )


def columns_of(
    matrix: Any,
    first_id: int = 0,
    ids: NDArray[np.int64] | None = None,
    names: NDArray[Any] | None = None,
    groups: NDArray[np.int64] | None = None,
    origin: str = "",
) -> ColumnBlock:
    """Return a block of the columns of a matrix, dense or sparse.

    Their ids are those given, or count from ``first_id``.
    """
    if is_sparse(matrix):
        csc = canonical(matrix.tocsc())
        indptr, indices, values = from_zero(csc.indptr, csc.indices, csc.data)
    else:
        matrix = np.asarray(matrix)
        indptr, indices, values = nonzeros(matrix.T)
    n_rows, n_columns = matrix.shape
    ids = np.arange(first_id, first_id + n_columns) if ids is None else ids
    refuse_other_lengths(n_columns, ids, names, groups)
    lines = frozen(indptr, np.int64), frozen(indices, np.int32), frozen(values, np.float64)
    return ColumnBlock.trusted(*lines, frozen(ids, np.int64), n_rows, names, groups, origin)


def canonical(matrix: Any) -> Any:
    """Return a CSR or CSC matrix with ascending unique indices and without zeros.

    The result is a copy if the matrix was not canonical. The flags of the matrix are not trusted:
    they may be older than its arrays.
    """
    if ascends(matrix.indptr, matrix.indices) and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def canonical_rows(
    indptr: NDArray[np.int64], indices: NDArray[Any], values: NDArray[np.float32], width: int
) -> tuple[Rows, tuple[int, int] | None]:
    """Return rows with ascending ids and without zeros.

    With them comes the row and id of the first entry that appears twice, or None.
    """
    from scipy.sparse import csr_array

    matrix = csr_array((values, indices, indptr), shape=(indptr.size - 1, width), copy=True)
    matrix.has_sorted_indices = False
    matrix.sort_indices()
    same = np.append(False, matrix.indices[1:] == matrix.indices[:-1])
    starts = matrix.indptr[:-1]
    same[starts[starts < same.size]] = False
    if same.any():
        at = int(np.flatnonzero(same)[0])
        repeated = (
            int(np.searchsorted(matrix.indptr, at, side="right")) - 1,
            int(matrix.indices[at]),
        )
        return (indptr, indices, values), repeated
    matrix.eliminate_zeros()
    return (matrix.indptr.astype(np.int64), matrix.indices.astype(indices.dtype), matrix.data), None


def dense_block(matrix: NDArray[Any], y: NDArray[Any] | None, origin: str = "") -> RowBlock:
    """Return a block of the non-zeros of a dense matrix."""
    indptr, indices, values = nonzeros(matrix.astype(np.float32, copy=False))
    return RowBlock.trusted(indptr, indices, values, y, matrix.shape[1], origin, dense=True)


def nonzeros(
    lines: NDArray[Number],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Number]]:
    """Return the non-zero values of the lines of a matrix, in CSR form.

    These are ``indptr``, the positions in the lines and the values, line after line.
    """
    n_lines, length = lines.shape
    lines = np.ascontiguousarray(lines)
    present, positions = lines != 0, np.tile(np.arange(length, dtype=np.int32), n_lines)
    if lines.size and present.all():  # as in most tables
        return np.arange(0, lines.size + 1, length, dtype=np.int64), positions, lines.ravel()
    indptr = np.zeros(n_lines + 1, np.int64)
    np.cumsum(np.count_nonzero(present, axis=1), out=indptr[1:])
    where = np.flatnonzero(present)  # many times faster than a mask or the indices of both axes
    return indptr, positions[where], lines.ravel()[where]
