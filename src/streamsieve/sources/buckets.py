"""Transpose rows into columns within a memory budget, through a file of buckets if necessary.

A first pass over the rows keeps them as long as they fit. If they do not fit, it counts the entries
in each range of ids; ranges are joined to buckets that fit in memory one at a time. A second pass
writes the entries to their buckets, all in one file where every bucket has its part. Then the
buckets are read and sorted one after the other. The progress of the second pass is saved on the
way, so that interrupted work is resumed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import ColumnBlock, RowBlock
from ..errors import DataError, UsageError, spell
from ..kernels.columns.transpose import COLUMN, ROW, count_ranges, scatter_entries, sort_entries
from ..machine import available_memory
from .base import ColumnSource, Report, Source, SourceFacts
from .columns import FRACTION_OF_MEMORY, cut_columns, with_empty_columns
from .transpose import ROWS_READ, columns_of_rows, labels_of_blocks
from .work_folder import ENTRY_BYTES, RANGES, EntryCounts, FillProgress, WorkFolder

MAX_BUCKET_WIDTH = 1 << 32  # ids
BYTES_TO_SORT = 64  # of memory per entry of a bucket while it is read and sorted, with its column
NOTE_EVERY = 1 << 26  # entries after which the progress of the second pass is saved
CHANGED = "has changed while it was read; begin again"


@contextmanager
def transposed(
    source: Source, memory: int, output: Path, stamp: dict[str, Any], report: Report
) -> Iterator[ColumnSource]:
    """Transpose rows to columns, with at most ``memory`` bytes for the work.

    Rows that do not fit go through a file in a folder beside ``output``. The folder is removed in
    the end, and also if the data is bad; after any other interruption, the work can be resumed
    there for rows with the same ``stamp``.
    """
    with WorkFolder(output, stamp) as work:
        entry_counts = work.survey()
        available = available_memory() if stamp.get("memory") is None else memory
        if entry_counts is not None and not can_resume(entry_counts, source, available):
            work.release(remove=True)
            entry_counts = None
        if entry_counts is None:
            result = read_or_count_rows(source, memory, report)
            if not isinstance(result, EntryCounts):
                yield result
                return
            if not source.rewindable:
                raise UsageError(
                    f"{source.name}: its rows do not fit in the memory allowed, and can be read"
                    " only once"
                )
            entry_counts = result
        plan = plan_buckets(entry_counts)
        with work.buckets(entry_counts, plan.sizes) as (file, previous):
            yield BucketSource(
                source,
                entry_counts,
                plan,
                file,
                fill_buckets(source, entry_counts, plan, work, file, previous, report),
            )


def can_resume(entry_counts: EntryCounts, source: Source, available: int) -> bool:
    """Return True if the counts can be those of a source and ``available`` bytes are enough."""
    return (
        source.n_rows in (None, entry_counts.y.size)
        and (source.n_features or 0) <= entry_counts.n_features
        and int(entry_counts.counts.max()) * BYTES_TO_SORT <= entry_counts.memory <= available
    )


def read_or_count_rows(source: Source, memory: int, report: Report) -> EntryCounts | ColumnSource:
    """Read all rows once; return their columns if ``memory`` bytes suffice, else entry counts."""
    limit = FRACTION_OF_MEMORY * memory
    blocks: list[RowBlock] = []
    labels, shift, counts = [], 0, np.zeros(RANGES, np.int64)
    held_bytes = n_rows = width = 0
    for block in source.row_blocks("keep"):
        labels.append(block.y)
        n_rows, width = n_rows + block.n_rows, max(width, block.n_features)
        held_bytes += block.n_bytes
        blocks.append(block)
        if held_bytes > limit:
            for held_block in blocks:
                shift, counts = count_entries(held_block, shift, counts)
            blocks.clear()
        report(ROWS_READ, n_rows, source.n_rows)
    if held_bytes <= limit:
        return columns_of_rows(source, blocks)
    return EntryCounts(
        labels_of_blocks(source, labels), max(width, source.n_features or 0), memory, shift, counts
    )


def count_entries(
    block: RowBlock, shift: int, counts: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Add the entries of a block to the counts by range of ids.

    The number of ranges is the same for any width, so ``shift`` and the counts may change.
    """
    while block.n_features > counts.size << shift:
        counts = np.append(counts.reshape(-1, 2).sum(axis=1), np.zeros(RANGES // 2, np.int64))
        shift += 1
    count_ranges(block.indices[block.indptr[0] : block.indptr[-1]], shift, counts)
    return shift, counts


class BucketPlan(NamedTuple):
    """Buckets of ids."""

    starts: NDArray[np.int64]  # the first id of each
    bucket_of: NDArray[np.int32]  # by range
    sizes: NDArray[np.int64]  # numbers of entries


def plan_buckets(entry_counts: EntryCounts) -> BucketPlan:
    """Join ranges of ids to buckets that can be sorted in memory."""
    max_entries = entry_counts.memory // BYTES_TO_SORT
    max_ranges = max(1, MAX_BUCKET_WIDTH >> entry_counts.shift)
    largest = int(entry_counts.counts.max(initial=0))
    if largest > max_entries:
        unit = (
            "feature"
            if entry_counts.shift == 0
            else f"range of {1 << entry_counts.shift:,} features"
        )
        raise UsageError(
            f"one {unit} has {largest:,} values, which take {largest * BYTES_TO_SORT / 1e6:,.0f} MB"
            f" to sort; allow at least that much: {spell('memory')}"
        )
    bucket_of = np.zeros(entry_counts.counts.size, np.int32)
    starts, sizes, first = [0], [0], 0
    for range_number in np.flatnonzero(entry_counts.counts).tolist():
        count = int(entry_counts.counts[range_number])
        if sizes[-1] + count > max_entries or range_number - first >= max_ranges:
            starts.append(range_number << entry_counts.shift)
            sizes.append(0)
            first = range_number
        sizes[-1] += count
        bucket_of[range_number] = len(starts) - 1
    return BucketPlan(np.array(starts), bucket_of, np.array(sizes))


def fill_buckets(
    source: Source,
    entry_counts: EntryCounts,
    plan: BucketPlan,
    work: WorkFolder,
    file: BufferedRandom,
    previous: FillProgress,
    report: Report,
) -> FillProgress:
    """Write every entry to its bucket, from the row where a ``previous`` run was interrupted.

    The rows must be those that were counted: the same number, width and labels, and the same number
    of entries in every bucket.
    """
    n_done, filled, sums = previous
    if n_done == entry_counts.y.size:
        return previous
    offsets = np.cumsum(plan.sizes) - plan.sizes
    entries, ends = np.empty((0, 3), np.uint32), np.empty(plan.sizes.size, np.int64)
    row = n_unsaved = 0
    width, dtypes = source.n_features or 0, set()
    for block in source.row_blocks("keep"):
        labels = labels_of_blocks(source, [block.y])
        dtypes.add(labels.dtype)
        if not np.array_equal(labels, entry_counts.y[row : row + block.n_rows]):
            raise DataError(f"{source.name}: {CHANGED}")
        width = max(width, block.n_features)
        if row + block.n_rows > n_done:
            part = block.rows(max(0, n_done - row), block.n_rows)
            if entries.shape[0] < part.n_nonzero:
                entries = np.empty((part.n_nonzero, 3), np.uint32)
            rows = part.indptr, part.indices, part.values.view(np.uint32), max(row, n_done)
            scatter_entries(*rows, entry_counts.shift, plan.bucket_of, plan.starts, ends, entries)
            added = np.diff(ends, prepend=0)
            if (filled + added > plan.sizes).any():
                raise DataError(f"{source.name}: {CHANGED}")
            for bucket in np.flatnonzero(added).tolist():
                chunk = entries[ends[bucket] - added[bucket] : ends[bucket]]
                file.seek(ENTRY_BYTES * int(offsets[bucket] + filled[bucket]))
                file.write(chunk.data)
                sums[bucket] = zlib.crc32(chunk.data, int(sums[bucket]))
            filled += added
            n_unsaved += part.n_nonzero
        row += block.n_rows
        if n_unsaved >= NOTE_EVERY:
            work.save_progress(file, FillProgress(row, filled, sums))
            n_unsaved = 0
        report("rows sorted", row, entry_counts.y.size)
    if (
        row != entry_counts.y.size
        or width != entry_counts.n_features
        or np.result_type(*dtypes) != entry_counts.y.dtype
        or (filled != plan.sizes).any()
    ):
        raise DataError(f"{source.name}: {CHANGED}")
    complete = FillProgress(row, filled, sums)
    work.save_progress(file, complete)
    return complete


class BucketSource(ColumnSource):
    """Columns from a file of buckets, one bucket after the other."""

    def __init__(
        self,
        source: Source,
        entry_counts: EntryCounts,
        plan: BucketPlan,
        file: BufferedRandom,
        filled: FillProgress,
    ) -> None:
        super().__init__(
            SourceFacts(
                source.name,
                entry_counts.y.size,
                entry_counts.n_features,
                source.feature_names,
                first_id=source.facts.first_id,
                value_type=np.float32,
            )
        )
        self.y, self.plan, self.file, self.sums = entry_counts.y, plan, file, filled.sums.tolist()

    def targets(self) -> NDArray[Any]:
        return self.y

    def column_blocks(self) -> Iterator[ColumnBlock]:
        names = self.feature_names
        for block in with_empty_columns(self._columns(), self.n_features or 0, self.y.size):
            yield block if names is None else block.derived(names=names[block.ids])

    def _columns(self) -> Iterator[ColumnBlock]:
        offset, starts = 0, self.plan.starts.tolist()
        stops = [*starts[1:], self.n_features or 0]
        for start, stop, size, check_sum in zip(
            starts, stops, self.plan.sizes.tolist(), self.sums, strict=True
        ):
            entries = np.empty((size, 3), np.uint32)
            self.file.seek(offset)
            n_read = self.file.readinto(entries.data)
            max_row, max_column = (int(entries[:, field].max(initial=0)) for field in (ROW, COLUMN))
            if (
                n_read < entries.nbytes
                or zlib.crc32(entries.data) != check_sum
                or (size and (max_row >= self.y.size or start + max_column >= stop))
            ):
                raise DataError(
                    f"{self.name}: the file of buckets is not as it was written; begin again"
                )
            offset += ENTRY_BYTES * size
            yield from cut_columns(*sort_columns(entries, start), self.y.size, None, self.name)


def sort_columns(
    entries: NDArray[np.uint32], first_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Return the columns of a bucket that have values as CSC arrays, and their ids."""
    columns: NDArray[Any] = entries[:, COLUMN]
    width = int(columns.max(initial=0)) + 1
    if width > entries.shape[0] + RANGES:
        present, columns = np.unique(columns, return_inverse=True)
        width = present.size
    else:
        present = np.arange(width)
    indptr = np.zeros(width + 1, np.int64)
    rows, bits = np.empty(entries.shape[0], np.int32), np.empty(entries.shape[0], np.uint32)
    sort_entries(entries, columns, indptr, rows, bits)
    used = np.flatnonzero(np.diff(indptr))
    return (
        np.append(indptr[used], indptr[-1]),
        rows,
        bits.view(np.float32),
        first_id + present[used].astype(np.int64),
    )
