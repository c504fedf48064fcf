"""Rows transposed into columns within a budget of memory: through a file of buckets, if they do not fit.

One pass over the rows keeps them while they fit. If they do not, it counts how many entries each
range of ids has; ranges are joined to buckets that fit in memory one at a time, a second pass
scatters the entries into them, in one file where every bucket has its part, and then one bucket
after the other is read and sorted. How far the second pass has come is noted on the way: what was
interrupted goes on there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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
from .work_folder import ENTRY_BYTES, RANGES, Filled, Survey, WorkFolder

MAX_BUCKET_WIDTH = 1 << 32  # ids
BYTES_TO_SORT = (
    64  # of memory for an entry of a bucket, while it is read and sorted: some for its column, too
)
NOTE_EVERY = 1 << 26  # entries: how often it is noted how far the second pass is
CHANGED = "has changed while it was read; begin again"


@contextmanager
def transposed(
    source: Source, memory: int, output: Path, stamp: dict[str, Any], report: Report
) -> Iterator[ColumnSource]:
    """The columns of rows, within a budget of ``memory`` bytes for the work.

    Rows that do not fit go through a file in a folder beside ``output``, which is removed in the
    end and also if the data is bad; whatever else interrupts the work, it can go on there for rows
    with the same ``stamp``.
    """
    with WorkFolder(output, stamp) as work:
        survey = work.survey()
        most = available_memory() if stamp.get("memory") is None else memory
        if survey is not None and not can_go_on(survey, source, most):
            work.release(remove=True)
            survey = None
        if survey is None:
            read = survey_rows(source, memory, report)
            if not isinstance(read, Survey):
                yield read
                return
            if not source.rewindable:
                raise UsageError(
                    f"{source.name}: its rows do not fit in the memory allowed, and can be read"
                    " only once"
                )
            survey = read
        plan = plan_buckets(survey)
        with work.buckets(survey, plan.sizes) as (file, before):
            yield BucketSource(
                source,
                survey,
                plan,
                file,
                scatter(source, survey, plan, work, file, before, report),
            )


def can_go_on(survey: Survey, source: Source, most: int) -> bool:
    """Return True if rows of a survey can be those of a source, and transposed in ``most`` bytes."""
    same_size = (
        source.n_rows in (None, survey.y.size) and (source.n_features or 0) <= survey.n_features
    )
    return same_size and int(survey.counts.max()) * BYTES_TO_SORT <= survey.memory <= most


def survey_rows(source: Source, memory: int, report: Report) -> Survey | ColumnSource:
    """Read all rows once: their columns if they can be transposed in ``memory`` bytes, what there is otherwise."""
    limit = FRACTION_OF_MEMORY * memory
    waiting: list[RowBlock] = []
    labels, shift, counts = [], 0, np.zeros(RANGES, np.int64)
    held = n_rows = width = 0
    for block in source.row_blocks("keep"):
        labels.append(block.y)
        n_rows, width = n_rows + block.n_rows, max(width, block.n_features)
        held += block.n_bytes
        waiting.append(block)
        if held > limit:
            for some in waiting:
                shift, counts = count_entries(some, shift, counts)
            waiting.clear()
        report(ROWS_READ, n_rows, source.n_rows)
    if held <= limit:
        return columns_of_rows(source, waiting)
    return Survey(
        labels_of_blocks(source, labels), max(width, source.n_features or 0), memory, shift, counts
    )


def count_entries(
    block: RowBlock, shift: int, counts: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """Count the entries in each range of ids; as many ranges whatever the width, so ``shift`` and counts may change."""
    while block.n_features > counts.size << shift:
        counts = np.append(counts.reshape(-1, 2).sum(axis=1), np.zeros(RANGES // 2, np.int64))
        shift += 1
    count_ranges(block.indices[block.indptr[0] : block.indptr[-1]], shift, counts)
    return shift, counts


class Plan(NamedTuple):
    """Buckets of ids."""

    starts: NDArray[np.int64]  # the first id of each
    bucket_of: NDArray[np.int32]  # by range
    sizes: NDArray[np.int64]  # entries of each


def plan_buckets(survey: Survey) -> Plan:
    """Join ranges to buckets that can be sorted in memory."""
    most = survey.memory // BYTES_TO_SORT
    widest = max(1, MAX_BUCKET_WIDTH >> survey.shift)
    largest = int(survey.counts.max(initial=0))
    if largest > most:
        what = "feature" if survey.shift == 0 else f"range of {1 << survey.shift:,} features"
        raise UsageError(
            f"one {what} has {largest:,} values, which take {largest * BYTES_TO_SORT / 1e6:,.0f} MB"
            f" to sort; allow that much at least: {spell('memory')}"
        )
    bucket_of = np.zeros(survey.counts.size, np.int32)
    starts, sizes, first = [0], [0], 0
    for number in np.flatnonzero(survey.counts).tolist():
        count = int(survey.counts[number])
        if sizes[-1] + count > most or number - first >= widest:
            starts.append(number << survey.shift)
            sizes.append(0)
            first = number
        sizes[-1] += count
        bucket_of[number] = len(starts) - 1
    return Plan(np.array(starts), bucket_of, np.array(sizes))


def scatter(
    source: Source,
    survey: Survey,
    plan: Plan,
    work: WorkFolder,
    file: BufferedRandom,
    before: Filled,
    report: Report,
) -> Filled:
    """Write every entry to its bucket, from where a run ``before`` this one was interrupted.

    The rows must be those of the survey: as many, as wide, with the same labels, and as many
    entries in every bucket.
    """
    done, filled, sums = before
    if done == survey.y.size:
        return before
    offsets = np.cumsum(plan.sizes) - plan.sizes
    entries, ends = np.empty((0, 3), np.uint32), np.empty(plan.sizes.size, np.int64)
    row = since = 0
    width, kinds = source.n_features or 0, set()
    for block in source.row_blocks("keep"):
        labels = labels_of_blocks(source, [block.y])
        kinds.add(labels.dtype)
        if not np.array_equal(labels, survey.y[row : row + block.n_rows]):
            raise DataError(f"{source.name}: {CHANGED}")
        width = max(width, block.n_features)
        if row + block.n_rows > done:
            part = block.rows(max(0, done - row), block.n_rows)
            if entries.shape[0] < part.n_nonzero:
                entries = np.empty((part.n_nonzero, 3), np.uint32)
            rows = part.indptr, part.indices, part.values.view(np.uint32), max(row, done)
            scatter_entries(*rows, survey.shift, plan.bucket_of, plan.starts, ends, entries)
            more = np.diff(ends, prepend=0)
            if (filled + more > plan.sizes).any():
                raise DataError(f"{source.name}: {CHANGED}")
            for bucket in np.flatnonzero(more).tolist():
                chunk = entries[ends[bucket] - more[bucket] : ends[bucket]]
                file.seek(ENTRY_BYTES * int(offsets[bucket] + filled[bucket]))
                file.write(chunk.data)
                sums[bucket] = zlib.crc32(chunk.data, int(sums[bucket]))
            filled += more
            since += part.n_nonzero
        row += block.n_rows
        if since >= NOTE_EVERY:
            work.take_note(file, Filled(row, filled, sums))
            since = 0
        report("rows sorted", row, survey.y.size)
    same = (row, width, np.result_type(*kinds)) == (
        survey.y.size,
        survey.n_features,
        survey.y.dtype,
    )
    if not same or (filled != plan.sizes).any():
        raise DataError(f"{source.name}: {CHANGED}")
    complete = Filled(row, filled, sums)
    work.take_note(file, complete)
    return complete


class BucketSource(ColumnSource):
    """Columns from a file of buckets, one bucket after the other."""

    def __init__(
        self, source: Source, survey: Survey, plan: Plan, file: BufferedRandom, filled: Filled
    ) -> None:
        facts = SourceFacts(source.name, survey.y.size, survey.n_features, source.feature_names)
        super().__init__(replace(facts, first_id=source.facts.first_id, value_type=np.float32))
        self.y, self.plan, self.file, self.sums = survey.y, plan, file, filled.sums.tolist()

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
            entries = read_entries(self.file, size, offset)
            rows, columns = (int(entries[:, part].max(initial=0)) for part in (ROW, COLUMN))
            if zlib.crc32(entries.data) != check_sum or (
                size and (rows >= self.y.size or start + columns >= stop)
            ):
                raise DataError(
                    f"{self.name}: the file of buckets is not as it was written; begin again"
                )
            offset += ENTRY_BYTES * size
            yield from cut_columns(*sorted_columns(entries, start), self.y.size, None, self.name)


def read_entries(file: BufferedRandom, size: int, offset: int) -> NDArray[np.uint32]:
    entries = np.empty((size, 3), np.uint32)
    file.seek(offset)
    if file.readinto(entries.data) < entries.nbytes:
        raise DataError("the file of buckets is shorter than it was; begin again")
    return entries


def sorted_columns(
    entries: NDArray[np.uint32], first_id: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """The columns of a bucket that have values, as CSC arrays, and their ids."""
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
