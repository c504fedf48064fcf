"""Several files read as one source: the rows of one file after those of the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import DataError, UsageError, spell
from ..machine import cores, is_limited, reading_bytes
from .base import DataSource, Missing, NoRowsError, Source, as_row_source
from .prefetch import ReadAheadBudget, Reader

MAX_FILES_AT_ONCE = 4  # files that are read at the same time
BYTES_AHEAD = 64 << 20  # of rows that wait, where every file is decompressed by one thread

Part = TypeVar("Part", RowBlock, DenseRows)
Item = TypeVar("Item")
# opens a file; of a table, with the given columns as features
Open = Callable[[Path, list[str] | None], DataSource]


class ManySource(Source):
    """Sources of one kind, read in order as if they were one; the next files are read ahead.

    Blocks and messages name the file they come from. A file without rows is allowed if another one
    has rows. A shard has complete files, or parts of a file if there are more shards than files.
    """

    def __init__(self, name: str, parts: Sequence[Source]) -> None:
        self.parts = list(parts)
        widths = [part.n_features for part in self.parts if part.n_features is not None]
        super().__init__(
            replace(
                self.parts[0].facts,
                name=name,
                n_rows=total(part.n_rows for part in self.parts),
                n_bytes=total(part.facts.n_bytes for part in self.parts),
                n_features=max(widths) if len(widths) == len(self.parts) else None,
                rewindable=all(part.rewindable for part in self.parts),
                splittable=True,
            )
        )

    def complete(self) -> None:
        for part in self.parts:
            part.complete()

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        return self._in_order(
            [part.row_blocks(missing) for part in self.parts], lambda block: block.n_bytes
        )

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows] | None:
        tables = [part.dense_rows(missing) for part in self.parts]
        present = [table for table in tables if table is not None]
        return (
            self._in_order(present, lambda rows: rows.values.nbytes)
            if len(present) == len(tables)
            else None
        )

    def _in_order(
        self, blocks: Iterable[Iterator[Part]], size: Callable[[Part], int]
    ) -> Iterator[Part]:
        """Yield the rows of all files, with their labels checked against one another."""
        with closing(self._read_in_order(blocks, size)) as items:
            yield from self._check_labels((part, rows.y, rows) for part, rows in items)

    def _read_in_order(
        self, blocks: Iterable[Iterator[Part]], size: Callable[[Part], int]
    ) -> Generator[tuple[Source, Part]]:
        """Yield the rows of all files, each with its file.

        A few files are read at once, the next ones ahead of time.
        """
        self.bytes_read = done = 0
        at_once = min(cores(), MAX_FILES_AT_ONCE, len(self.parts))
        # Every open file holds blocks in memory, and levels become features in the order of files.
        if is_limited() or (self.encoding is not None and self.encoding.has_groups):
            at_once = 1
        room = ReadAheadBudget(
            1
            if all(source.facts.splittable for source in self.parts)
            else min(BYTES_AHEAD, reading_bytes())
        )
        files = zip(self.parts, blocks, strict=True)
        readers: deque[tuple[Source, Generator[Part] | Reader[Part]]] = deque()
        try:
            while True:
                for source, file_blocks in islice(files, at_once - len(readers)):
                    items = skip_no_rows(file_blocks)
                    readers.append((source, items if at_once == 1 else Reader(items, room, size)))
                if not readers:
                    break
                source, reader = readers[0]
                for rows in reader:
                    self.bytes_read = done + source.bytes_read
                    yield source, rows
                readers.popleft()
                done += source.facts.n_bytes or 0
                self.bytes_read = done
        finally:
            for _, reader in readers:
                reader.close()

    def labels(self) -> Iterator[NDArray[Any]]:
        return self._check_labels(
            (part, y, y) for part in self.parts for y in skip_no_rows(part.labels()) if y.size
        )

    def read_labels_as_text(self) -> None:
        for part in self.parts:
            part.read_labels_as_text()

    def _check_labels(
        self, items: Iterable[tuple[Source, NDArray[Any] | None, Item]]
    ) -> Iterator[Item]:
        """Yield the items of all files; raise DataError if only some of them have text labels.

        Raise NoRowsError if there are no items.
        """
        first: tuple[Source, bool] | None = None
        for part, y, item in items:
            is_text = y is not None and y.dtype.kind in "OUS"
            if first is None:
                first = part, is_text
            elif is_text != first[1]:
                kinds = ("text", "numbers") if is_text else ("numbers", "text")
                raise DataError(
                    f"{part.name}: its labels are {kinds[0]}, but {kinds[1]} in {first[0].name};"
                    " write them in one form, or name all classes to read labels of tables as text:"
                    f" {spell('classes', ['A', 'B'])}"
                )
            yield item
        if first is None:
            raise NoRowsError(f"{self.name}: none of the {len(self.parts):,} files holds a row")

    # ---- parts

    def _shards(self, n: int) -> list[Source]:
        if n <= len(self.parts):
            groups = split_into_groups(self.parts, n)
        else:
            groups = [
                [shard]
                for part, share in zip(self.parts, shares_of(self.parts, n), strict=True)
                for shard in (part.shards(share) if share > 1 else [part])
            ]
        with_rows = [group for group in groups if any(map(has_rows, group))]
        return [ManySource(self.name, group) for group in with_rows] or [self]


def skip_no_rows(items: Iterator[Item]) -> Generator[Item]:
    """Yield the items of a file; yield nothing if it has no rows."""
    try:
        yield from items
    except NoRowsError:
        return


# ---- shards


def total(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of sizes; None if one of them is not known."""
    listed = list(sizes)
    return None if None in listed else sum(size or 0 for size in listed)


def sizes_of(parts: Sequence[Source]) -> NDArray[np.float64]:
    """Return the sizes of files in bytes, else in rows; ones if neither is known of all files."""
    for sizes in ([part.facts.n_bytes for part in parts], [part.n_rows for part in parts]):
        if total(sizes):
            return np.array(sizes, np.float64)
    return np.ones(len(parts))


def split_into_groups(parts: Sequence[Source], n: int) -> list[list[Source]]:
    """Split files, in order, into ``n`` non-empty groups of about the same size."""
    starts = np.concatenate([[0.0], np.cumsum(sizes_of(parts))])
    cuts = [0]
    for group in range(1, n):
        nearest = int(np.abs(starts - starts[-1] * group / n).argmin())
        cuts.append(min(max(nearest, cuts[-1] + 1), len(parts) - n + group))
    return [
        list(parts[start:stop]) for start, stop in zip(cuts, [*cuts[1:], len(parts)], strict=True)
    ]


def shares_of(parts: Sequence[Source], n: int) -> list[int]:
    """Return the number of shards into which to split every file.

    They are ``n`` in all, and the largest shard is as small as possible.
    """
    sizes, shares = sizes_of(parts), np.ones(len(parts), np.int64)
    splittable = np.array([part.facts.splittable for part in parts])
    if splittable.any():
        for _ in range(n - len(parts)):
            shares[np.where(splittable, sizes / shares, -1.0).argmax()] += 1
    return [int(share) for share in shares]


def has_rows(part: Source) -> bool:
    """Return True if a source has a row; its beginning is read if the number is not known."""
    if part.n_rows is not None:
        return part.n_rows > 0
    try:
        return any(block.n_rows for block in islice(part.row_blocks("keep"), 1))
    except DataError as error:  # other errors are raised when all of it is read
        return not isinstance(error, NoRowsError)


# ---- opening


def open_many(
    name: str,
    files: Sequence[Path],
    open_file: Open,
    columns: list[str] | None,
    apply_options: Callable[[Sequence[DataSource], str], None],
) -> ManySource:
    """Return files of one kind as one source.

    ``columns`` are the features of tables, if not all columns are. ``apply_options`` sets how all
    files are read, for formats that can be read in several ways.
    """
    first = as_row_source(open_file(files[0], columns))
    parts = [first]
    for path in files[1:]:
        part = as_row_source(open_file(path, columns))
        refuse_other_kind(name, first, part)
        if not have_same_names(first, part):  # a table with its columns in another order
            part = as_row_source(open_file(path, names_of(first)))
        parts.append(part)
    apply_options(parts, name)
    combined = ManySource(name, parts)
    if next((kind for part in parts if (kind := part.label_kind()) is not None), None) == "text":
        combined.read_labels_as_text()  # in all files, also where they look like numbers
    return combined


def refuse_other_kind(name: str, first: Source, part: Source) -> None:
    """Raise an error if two files cannot be read as one."""
    kinds = [kind_of(source) for source in (first, part)]
    if kinds[0] != kinds[1]:
        raise DataError(
            f"{name}: {first.name} is {kinds[0]}, and {part.name} is {kinds[1]}; files that are"
            " read as one must be of one kind"
        )
    if kinds[0] == COLUMNS:
        raise UsageError(
            f"{name}: {first.name} and {part.name} hold columns, and such files cannot be read as"
            " one; give the files of rows, or write one of all rows: streamsieve convert --columns"
        )
    if first.facts.renumbered != part.facts.renumbered:
        raise DataError(
            f"{part.name}: its features are numbered differently from those of {first.name}; apply"
            " the same run to both"
        )
    if first.has_labels != part.has_labels:
        without, other = (first, part) if part.has_labels else (part, first)
        raise DataError(f"{without.name}: the rows have no labels, but those of {other.name} do")


COLUMNS = "a file of columns"


def kind_of(source: Source) -> str:
    """Return the kind of a source, for messages."""
    return (
        COLUMNS
        if source.is_transposed
        else "a table"
        if source.facts.takes_target
        else "a file of sparse rows"
    )


def names_of(source: Source) -> list[str] | None:
    """Return the names of the features of a source; None if they have none."""
    return None if source.feature_names is None else [str(name) for name in source.feature_names]


def have_same_names(first: Source, part: Source) -> bool:
    """Return True if two sources have the same features in the same order.

    Return False for a table with the same columns in another order; raise DataError otherwise.
    """
    names, other_names = names_of(first), names_of(part)
    if names == other_names:
        return True
    if names is None or other_names is None:
        without, other = (first, part) if names is None else (part, first)
        raise DataError(f"{without.name}: its features have no names, but those of {other.name} do")
    absent, extra = set(names) - set(other_names), set(other_names) - set(names)
    if absent or extra:
        column = next(name for name in (*names, *other_names) if name in absent or name in extra)
        missing, other = (part, first) if column in absent else (first, part)
        raise DataError(
            f"{missing.name}: there is no column {column!r}, but {other.name} has it; files that"
            " are read as one must have the same columns"
        )
    if not part.facts.takes_target:
        raise DataError(
            f"{part.name}: its features are not in the order of {first.name}; write them in that"
            " order"
        )
    return False
