"""What travels between sources and selectors: frozen blocks of plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import DataError
from .values import (
    ascends,
    from_zero,
    frozen,
    is_sparse,
    refuse_unfit,
    refuse_unusable,
    simple_labels,
)

Number = TypeVar("Number", bound=np.generic)
Rows = tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float32]]  # in CSR form


class NamedIds(NamedTuple):
    """The names that the ids of some rows are hashes of; an id may be there several times."""

    ids: NDArray[np.int64]
    names: list[str]

    def of(self, wanted: NDArray[np.int64]) -> dict[int, str]:
        """The names of some ids, as far as they are there; of several for an id the first."""
        wanted = np.sort(wanted)
        if not wanted.size:
            return {}
        at = np.minimum(np.searchsorted(wanted, self.ids), wanted.size - 1)
        there = np.flatnonzero(wanted[at] == self.ids)
        found, first = np.unique(self.ids[there], return_index=True)
        return {
            feature: self.names[there[i]]
            for feature, i in zip(found.tolist(), first.tolist(), strict=True)
        }


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some rows in CSR form, with their labels.

    Within a row the feature ids ascend and no id appears twice; no value is 0, NaN or infinite. The
    arrays are read-only. ``n_features`` is the width of the rows as far as this block knows it:
    more than every id in it.

    Parts of a block and blocks made from others (``rows``, ``derived``, ``joined``) are not checked
    again.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[Any]  # int32 or int64
    values: NDArray[np.float32]
    y: NDArray[Any] | None
    n_features: int
    origin: str = ""  # the file the rows came from, for messages
    dense: bool = False  # whether what is not there is a 0 that was measured
    sample_weight: NDArray[np.float64] | None = None
    names: NamedIds | None = (
        None  # where ids are hashes of names: those of these rows, and maybe of others
    )

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
            refuse_unusable(self.y, "y", self.origin)
            put(self, "y", simple_labels(one_per_row(self.y, self.n_rows, "labels"), self.origin))
        if self.sample_weight is not None:
            weights = one_per_row(self.sample_weight, self.n_rows, "weights")
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
    ) -> RowBlock:
        """A block of contiguous arrays of the right types that are known to fit: nothing is checked or copied.

        The arrays become read-only.
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
        return block

    def derived(self, **changes: Any) -> RowBlock:
        """The same block with other arrays or facts in some fields, which must fit the rest."""
        return RowBlock.trusted(**({name: getattr(self, name) for name in ROW_FIELDS} | changes))

    def with_entries(
        self,
        indptr: NDArray[np.int64],
        indices: NDArray[Any],
        values: NDArray[np.float32],
        n_features: int,
    ) -> RowBlock:
        """The same rows with other entries, which must fit: ``derived``, for what is done to every block."""
        rest = self.origin, self.dense, self.sample_weight, self.names
        return RowBlock.trusted(indptr, indices, values, self.y, n_features, *rest)

    def with_target(self, y: NDArray[Any], sample_weight: NDArray[np.float64] | None) -> RowBlock:
        """The same rows with a label, and maybe a weight, each."""
        rest = self.origin, self.dense, sample_weight, self.names
        return RowBlock.trusted(self.indptr, self.indices, self.values, y, self.n_features, *rest)

    @property
    def n_rows(self) -> int:
        return self.indptr.size - 1

    @property
    def n_nonzero(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def n_bytes(self) -> int:
        """The memory that ids and values take."""
        return self.values.nbytes + self.indices.nbytes + self.indptr.nbytes

    def rows(self, start: int, stop: int) -> RowBlock:
        """The rows from ``start`` to before ``stop``, without copying."""
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
        """The rows as a matrix, zeros filled in."""
        matrix = np.zeros((self.n_rows, self.n_features), kind)
        matrix[np.repeat(np.arange(self.n_rows), np.diff(self.indptr)), self.indices] = self.values
        return matrix

    def without_weightless(self) -> RowBlock:
        """The rows that count: those of weight 0 are as good as absent."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.masked(self.sample_weight != 0)

    @staticmethod
    def joined(blocks: list[RowBlock]) -> RowBlock:
        """The rows of several blocks, alike in what they know."""
        first = blocks[0]
        if len(blocks) == 1:
            return first
        return first.derived(
            indptr=joined_indptr([block.indptr for block in blocks]),
            indices=np.concatenate(
                [block.indices[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            values=np.concatenate(
                [block.values[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            y=all_of(block.y for block in blocks),
            sample_weight=all_of(block.sample_weight for block in blocks),
            n_features=max(block.n_features for block in blocks),
        )


ROW_FIELDS = tuple(field.name for field in fields(RowBlock))


class DenseRows(NamedTuple):
    """Some rows of a table, every value written out, with their labels."""

    values: NDArray[np.float32]  # a row each
    y: NDArray[Any] | None

    @property
    def n_rows(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlock:
    """Some columns in CSC form, with the ids of their features.

    Within a column the row numbers ascend; no value is 0 or infinite, and NaN is one that is
    missing. The arrays are read-only. ``groups`` are the columns' groups, if they arrive in groups.
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
        """A block of contiguous arrays of the right types that are known to fit: nothing is checked or copied.

        The arrays become read-only.
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
        """What pickle keeps; the arrays of the copy are read-only, too."""
        return ColumnBlock.trusted, tuple(getattr(self, name) for name in COLUMN_FIELDS)

    def derived(self, **changes: Any) -> ColumnBlock:
        """The same block with other arrays or facts in some fields, which must fit the rest."""
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
        """The columns from ``start`` to before ``stop``, without copying."""
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
        """The columns that have values."""
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
        if kept.all():
            return self
        lengths = np.diff(self.indptr)
        inside = slice(int(self.indptr[0]), int(self.indptr[-1]))
        entries = np.repeat(kept, lengths)
        return self.derived(
            indptr=np.concatenate([[0], np.cumsum(lengths[kept])]),
            indices=self.indices[inside][entries],
            values=self.values[inside][entries],
            ids=self.ids[kept],
            names=None if self.names is None else self.names[kept],
            groups=None if self.groups is None else self.groups[kept],
        )

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
        """The same columns, values of 0 omitted."""
        there = self.values != 0
        indptr = np.concatenate([[0], np.cumsum(there)])[self.indptr]
        return self.derived(indptr=indptr, indices=self.indices[there], values=self.values[there])

    @staticmethod
    def joined(blocks: list[ColumnBlock]) -> ColumnBlock:
        """The columns of several blocks, alike in what they know."""
        first = blocks[0]
        if len(blocks) == 1:
            return first
        return first.derived(
            indptr=joined_indptr([block.indptr for block in blocks]),
            indices=np.concatenate(
                [block.indices[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            values=np.concatenate(
                [block.values[block.indptr[0] : block.indptr[-1]] for block in blocks]
            ),
            ids=np.concatenate([block.ids for block in blocks]),
            names=all_of(block.names for block in blocks),
            groups=all_of(block.groups for block in blocks),
        )


COLUMN_FIELDS = tuple(field.name for field in fields(ColumnBlock))


def joined_indptr(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the ``indptr`` of lines end to end, from 0."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))])


def all_of(parts: Iterable[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Arrays end to end; None if one is not there."""
    found = list(parts)
    present = [part for part in found if part is not None]
    return np.concatenate(present) if len(present) == len(found) else None


def next_cut(indptr: NDArray[Any], start: int, most_lines: int, most_nonzeros: int) -> int:
    """Where a part that begins at a line, a row or a column, ends to have no more than this; it has one at least."""
    end = int(np.searchsorted(indptr, int(indptr[start]) + most_nonzeros, side="right")) - 1
    return min(max(end, start + 1), start + most_lines, indptr.size - 1)


def line_ranges(
    indptr: NDArray[Any], most_lines: int, most_nonzeros: int
) -> Iterator[tuple[int, int]]:
    """Yield where parts of lines, rows or columns, begin and end that have no more than this, or a single line."""
    start = 0
    while start < indptr.size - 1:
        stop = next_cut(indptr, start, most_lines, most_nonzeros)
        yield start, stop
        start = stop


def one_per_row(values: Any, n_rows: int, what: str) -> NDArray[Any]:
    """Return labels or weights of rows as an array; refuse those that are not one for each."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(
            f"a block of rows with {what} of shape {array.shape}; expected one for each row"
        )
    if array.size != n_rows:
        raise DataError(f"a block of {n_rows} rows with {array.size} {what}")
    return array


def refuse_other_lengths(n_columns: int, *known: NDArray[Any] | None) -> None:
    """Refuse ids, names or groups that are not one for each column."""
    for what in known:
        if what is not None and len(what) != n_columns:
            raise DataError(f"a block of {n_columns} columns with {len(what)} ids, names or groups")


def columns_of(
    matrix: Any,
    first_id: int = 0,
    ids: NDArray[np.int64] | None = None,
    names: NDArray[Any] | None = None,
    groups: NDArray[np.int64] | None = None,
    origin: str = "",
) -> ColumnBlock:
    """A block of the columns of a matrix, dense or sparse, with ids from ``first_id`` on or those given."""
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
    """A CSR or CSC matrix with ascending indices, none of them twice, and without zeros; a copy if it was not so.

    What the matrix says of itself may be of a time before somebody wrote to its arrays.
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
    """Return rows with ascending ids and without zeros; and row and id of the first that appears twice, if any."""
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
    """A block of the non-zeros of a dense matrix."""
    indptr, indices, values = nonzeros(matrix.astype(np.float32, copy=False))
    return RowBlock.trusted(indptr, indices, values, y, matrix.shape[1], origin, dense=True)


def nonzeros(
    lines: NDArray[Number],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Number]]:
    """Where in each line of a matrix values are that are not 0, and these values, line after line."""
    n_lines, length = lines.shape
    lines = np.ascontiguousarray(lines)
    present, positions = lines != 0, np.tile(np.arange(length, dtype=np.int32), n_lines)
    if lines.size and present.all():  # as in most tables
        return np.arange(0, lines.size + 1, length, dtype=np.int64), positions, lines.ravel()
    indptr = np.zeros(n_lines + 1, np.int64)
    np.cumsum(np.count_nonzero(present, axis=1), out=indptr[1:])
    where = np.flatnonzero(present)  # many times faster than a mask or the indices of both axes
    return indptr, positions[where], lines.ravel()[where]
