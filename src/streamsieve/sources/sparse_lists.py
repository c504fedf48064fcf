"""Sparse rows as lists of ids and values in Arrow columns: what Parquet and Arrow files share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, next_cut
from ..errors import DataError
from ..json_text import from_json, to_json
from ..kernels.reading.entries import check_rows
from .base import LARGEST_INDEX, Missing, refuse_not_finite
from .batch_rows import BatchFile, BatchRows, BatchSource, file_facts
from .canonical import canonical_rows
from .formats import Layout
from .tables import as_array, labels, rows_at_once
from .writers import LABEL, Create, block_nonzeros, regrouped, write_batches

if TYPE_CHECKING:
    import pyarrow as pa

INDICES, VALUES = "indices", "values"  # beside ``LABEL``
WIDTH_KEY, NAMES_KEY = b"n_features", b"feature_names"  # of a schema's metadata
RENUMBERED_KEY = b"renumbered"  # the mark of a selection


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
        metadata[NAMES_KEY] = to_json([str(name) for name in names]).encode()
    return metadata


def names_in(metadata: Mapping[bytes, bytes]) -> NDArray[Any]:
    """The names of all features in a schema's metadata; a ValueError if they are not."""
    names = from_json(metadata[NAMES_KEY])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of features are not a list of texts")
    return np.array(names, dtype=object)


def count_in(metadata: Mapping[bytes, bytes], key: bytes) -> int:
    """A number of rows or features in a schema's metadata; a ValueError if it cannot be one."""
    digits = metadata[key].strip()
    if not digits.isdigit() or len(digits) > len(str(LARGEST_INDEX)) or int(digits) > LARGEST_INDEX + 1:
        shown = digits[:40].decode(errors="backslashreplace")
        raise ValueError(f"{key.decode()} is {shown!r}; it is an integer from 0 to {LARGEST_INDEX + 1:,}")
    return int(digits)


class ListReader(NamedTuple):
    """Lists of integers and lists of values of records, checked; ``unit`` is what a record is."""

    name: str  # of the file
    unit: str

    def offsets(self, lists: pa.Array, first: int) -> NDArray[np.int64]:
        """Return where the lists of records begin, counted from 0."""
        if lists.null_count:
            raise self._unequal(first)
        offsets: NDArray[np.int64] = as_array(lists.offsets).astype(np.int64)
        if offsets[0] < 0 or offsets[-1] > len(lists.values) or (np.diff(offsets) < 0).any():
            raise self._damaged(first, "the lists are damaged")
        offsets -= offsets[0]
        return offsets

    def shared_offsets(self, batch: pa.RecordBatch, first: int) -> NDArray[np.int64]:
        """Return where the lists of records begin, the same for both."""
        indptr = self.offsets(batch.column(INDICES), first)
        if not np.array_equal(indptr, self.offsets(batch.column(VALUES), first)):
            raise self._unequal(first)
        return indptr

    def entries(self, lists: pa.Array, fits: Callable[[Any], bool], what: str, first: int) -> NDArray[Any]:
        """Return the entries of all lists, which must be of a type that fits."""
        entries = lists.flatten()
        if entries.null_count or not fits(entries.type):
            found = "missing entries" if entries.null_count else f"{entries.type} values"
            raise self._damaged(first, f"a list of {what} holds {found}")
        return as_array(entries)

    def _unequal(self, first: int) -> DataError:
        return self._damaged(first, "indices and values differ in length")

    def _damaged(self, first: int, what: str) -> DataError:
        return DataError(f"{self.name}: from {self.unit} {first + 1} on, {what}; write the file again")


def is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_integer(kind) or kinds.is_floating(kind))


class SparseSource(BatchSource):
    """Sparse rows: columns ``indices`` (list of int) and ``values`` (list of float), and ``label`` if they have one."""

    label_column = LABEL

    def __init__(self, file: BatchFile, schema: pa.Schema, at_once: int) -> None:
        self.rows, self.at_once, metadata = BatchRows(file, str(file.path)), at_once, schema.metadata or {}
        self.lists = ListReader(str(file.path), "row")
        try:
            names = names_in(metadata) if NAMES_KEY in metadata else None
            width = None if names is None else len(names)
            width = count_in(metadata, WIDTH_KEY) if WIDTH_KEY in metadata else width
            mark = metadata[RENUMBERED_KEY].decode() if RENUMBERED_KEY in metadata else None
        except (ValueError, TypeError) as error:
            raise DataError(f"{file.path}: its metadata cannot be read ({error}); write the file again") from error
        if names is not None and len(names) != width:
            raise DataError(
                f"{file.path}: its metadata has {len(names):,} names for {width:,} features; write the file again"
            )
        facts = replace(file_facts(file), n_features=width, feature_names=names, renumbered=mark)
        super().__init__(replace(facts, has_labels=LABEL in file.names))

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        return self.rows.decoded(self._numbered(), lambda batch, first: self._block(batch, first, missing), self)

    def _numbered(self) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield batches of a good size, each with the number of its first row."""
        most, used = block_nonzeros(), [INDICES, VALUES, *([LABEL] if self.has_labels else [])]
        for batch, row in self.rows.numbered(used, self.at_once):
            indptr = self.lists.shared_offsets(batch, row)
            start = 0
            while start < batch.num_rows:
                stop = next_cut(indptr, start, rows_at_once(1, most), most)
                yield batch.slice(start, stop - start), row + start
                start = stop

    def _block(self, batch: pa.RecordBatch, first_row: int, missing: Missing) -> RowBlock:
        import pyarrow.types as kind

        indptr = self.lists.shared_offsets(batch, first_row)
        indices = self.lists.entries(batch.column(INDICES), kind.is_integer, "integers", first_row)
        if indices.dtype == np.uint64 and indices.size and indices.max() > LARGEST_INDEX:
            raise self._too_large(int(indices.max()))
        if indices.dtype not in (np.int32, np.int64):
            indices = indices.astype(np.int64)
        with np.errstate(over="ignore"):
            values = self.lists.entries(batch.column(VALUES), is_number, "numbers", first_row).astype(
                np.float32, copy=False
            )
        lowest, highest, canonical, finite = check_rows(indptr, frozen(indices), frozen(values).view(np.uint32))
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
        if not canonical:
            (indptr, indices, values), repeated = canonical_rows(indptr, indices, values, width)
            if repeated:
                raise DataError(f"{self.name}: row {first_row + repeated[0] + 1}: feature {repeated[1]} appears twice")
        y = labels(batch.column(LABEL), LABEL, self.name, first_row) if self.has_labels else None
        block = RowBlock.trusted(indptr, frozen(indices), frozen(values), y, width, self.name)
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


def write_sparse(create: Create, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as lists of ids and values; ids are int32 if the width is known to fit, int64 otherwise."""
    import pyarrow as pa

    metadata = metadata_of(layout.feature_names, layout.n_features)
    if layout.renumbered is not None:
        metadata[RENUMBERED_KEY] = layout.renumbered.encode()
    id_type = pa.int32() if layout.n_features is not None and layout.n_features < 2**31 else pa.int64()

    def batch_of(block: RowBlock) -> pa.RecordBatch:
        offsets = pa.array(block.indptr.astype(np.int32))
        columns = {} if block.y is None else {LABEL: pa.array(block.y)}
        columns |= {
            INDICES: pa.ListArray.from_arrays(offsets, pa.array(block.indices, id_type)),
            VALUES: pa.ListArray.from_arrays(offsets, pa.array(block.values)),
        }
        return pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata)

    return write_batches(map(batch_of, regrouped(blocks, rows_at_once(1, block_nonzeros()))), create)
