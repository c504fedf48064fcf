"""Sparse rows as lists of ids and values in Arrow columns: what Parquet and Arrow files share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, next_cut, tidy_rows
from ..errors import DataError
from ..kernels.reading.checking import check_rows
from .base import LARGEST_INDEX, Missing, refuse_not_finite
from .tables import BatchSource, labels, plain_numbers, rows_at_once

if TYPE_CHECKING:
    import pyarrow as pa

LABEL, INDICES, VALUES = "label", "indices", "values"
WIDTH_KEY, NAMES_KEY = b"n_features", b"feature_names"  # of a schema's metadata
BLOCK_NONZEROS = 1 << 20


def is_sparse(schema: pa.Schema) -> bool:
    """Whether columns are those of sparse rows: one of lists of ids, one of lists of values."""
    return all(schema.names.count(name) == 1 and is_list(schema.field(name).type) for name in (INDICES, VALUES))


def is_list(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_list(kind) or kinds.is_large_list(kind))


def metadata_of(names: NDArray[Any] | None, n_features: int | None) -> dict[bytes, bytes]:
    """Width and names as the schema of sparse rows keeps them."""
    metadata = {} if n_features is None else {WIDTH_KEY: str(n_features).encode()}
    if names is not None:
        metadata[NAMES_KEY] = json.dumps([str(name) for name in names]).encode()
    return metadata


class ListSource(BatchSource):
    """Records with lists of whole numbers and lists of values, checked."""

    unit = "row"  # what a record is

    def _unequal(self, first: int) -> DataError:
        return DataError(
            f"{self.name}: from {self.unit} {first + 1} on, indices and values differ in length; write the file again"
        )

    def _offsets(self, lists: pa.Array, first: int) -> NDArray[np.int64]:
        """Where the lists of records begin, counted from 0."""
        if lists.null_count:
            raise self._unequal(first)
        offsets: NDArray[np.int64] = plain_numbers(lists.offsets).astype(np.int64)
        if offsets[0] < 0 or offsets[-1] > len(lists.values) or (np.diff(offsets) < 0).any():
            raise DataError(
                f"{self.name}: from {self.unit} {first + 1} on, the lists are damaged; write the file again"
            )
        offsets -= offsets[0]
        return offsets

    def _shared_offsets(self, batch: pa.RecordBatch, first: int) -> NDArray[np.int64]:
        """Where the lists of records begin, the same for both."""
        indptr = self._offsets(batch.column(INDICES), first)
        if not np.array_equal(indptr, self._offsets(batch.column(VALUES), first)):
            raise self._unequal(first)
        return indptr

    def _entries(self, lists: pa.Array, fits: Callable[[Any], bool], what: str, first: int) -> NDArray[Any]:
        entries = lists.flatten()
        if entries.null_count or not fits(entries.type):
            found = "missing entries" if entries.null_count else f"{entries.type} values"
            raise DataError(
                f"{self.name}: from {self.unit} {first + 1} on, a list of {what} holds {found}; write the file again"
            )
        return plain_numbers(entries)


def is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


class SparseSource(ListSource):
    """Sparse rows: columns ``indices`` (list of int) and ``values`` (list of float), and ``label`` if they have one."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        super().__init__(str(path))
        self.path = path
        self.has_labels = LABEL in schema.names
        self.used = [INDICES, VALUES, *([LABEL] if self.has_labels else [])]
        metadata = schema.metadata or {}
        try:
            if NAMES_KEY in metadata:
                self.feature_names = np.array(json.loads(metadata[NAMES_KEY]), dtype=object)
                self.n_features = len(self.feature_names)
            if WIDTH_KEY in metadata:
                self.n_features = int(metadata[WIDTH_KEY])
        except (ValueError, TypeError) as error:
            raise DataError(f"{path}: its metadata cannot be read ({error}); write the file again") from error
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise DataError(
                f"{path}: its metadata has {len(self.feature_names):,} names for {self.n_features:,} features; "
                "write the file again"
            )

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in order, with the columns in ``used``."""
        raise NotImplementedError

    def _blocks(self, missing: Missing) -> Iterator[RowBlock]:
        row = 0
        for batch in self._batches():
            indptr = self._shared_offsets(batch, row)
            start = 0
            while start < batch.num_rows:
                stop = next_cut(indptr, start, rows_at_once(1, BLOCK_NONZEROS), BLOCK_NONZEROS)
                part = indptr[start : stop + 1] - indptr[start]
                yield self._block(batch.slice(start, stop - start), part, row + start, missing)
                start = stop
            row += batch.num_rows

    def _block(self, batch: pa.RecordBatch, indptr: NDArray[np.int64], first_row: int, missing: Missing) -> RowBlock:
        import pyarrow.types as kind

        indices = self._entries(batch.column(INDICES), kind.is_integer, "whole numbers", first_row)
        if indices.dtype == np.uint64 and indices.size and indices.max() > LARGEST_INDEX:
            raise self._too_large(int(indices.max()))
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        with np.errstate(over="ignore"):
            values = self._entries(batch.column(VALUES), is_number, "numbers", first_row).astype(np.float32, copy=False)
        lowest, highest, untidy, finite = check_rows(indptr, frozen(indices), frozen(values).view(np.uint32))
        if lowest < 0:
            raise DataError(f"{self.name}: a negative feature id; ids start at 0")
        if highest > LARGEST_INDEX:
            raise self._too_large(highest)
        width = highest + 1 if self.n_features is None else self.n_features
        if highest >= width:
            row = first_row + int(np.searchsorted(indptr, np.argmax(indices >= width), side="right"))
            raise DataError(
                f"{self.name}: row {row}: feature {int(indices[indices >= width][0])} in a file of {width:,} features, "
                "counted from 0; write the file again"
            )
        if untidy:
            (indptr, indices, values), repeated = tidy_rows(indptr, indices, values, width)
            if repeated:
                raise DataError(f"{self.name}: row {first_row + repeated[0] + 1}: feature {repeated[1]} stands twice")
        y = labels(batch.column(LABEL), LABEL, self.name, first_row) if self.has_labels else None
        block = RowBlock(indptr, indices, values, y, width, self.name)
        if not finite:
            refuse_not_finite(block, first_row, self.feature_names, missing)
        return block

    def _too_large(self, index: int) -> DataError:
        return DataError(
            f"{self.name}: feature id {index} is too large: the largest is {LARGEST_INDEX:,}; hash or renumber the "
            "features"
        )


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to, the one kind of array that the kernel is compiled for."""
    view = array.view()
    view.flags.writeable = False
    return view
