"""Several files as one source: their rows one file after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import DataError, UsageError, spell
from ..machine import cores, is_limited, reading_bytes
from .base import DataSource, Missing, NoRowsError, Source, by_rows
from .prefetch import Reader, Room

MAX_FILES_AT_ONCE = 4  # files that are read at the same time
BYTES_AHEAD = 64 << 20  # of rows that wait, where every file is decompressed by one thread

Part = TypeVar("Part", RowBlock, DenseRows)
Item = TypeVar("Item")
Open = Callable[
    [Path, list[str] | None], DataSource
]  # a file; of a table, with these columns as features


class _Read(NamedTuple, Generic[Part]):
    """Some rows, the memory they take, and how far their file has been read."""

    rows: Part
    n_bytes: int
    bytes_read: int


class ManySource(Source):
    """Sources of one kind, read in order as if they were one; the next of them are read ahead.

    Blocks, and messages on them, name their own file. A file without rows is not a mistake if
    another has some. A shard has complete files, or parts of a file if there are more shards than
    files.
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
        found = [table for table in tables if table is not None]
        return (
            self._in_order(found, lambda rows: rows.values.nbytes)
            if len(found) == len(tables)
            else None
        )

    def _in_order(
        self, blocks: Iterable[Iterator[Part]], size: Callable[[Part], int]
    ) -> Iterator[Part]:
        """Yield the rows of all files, checked against one another."""
        with closing(self._read_in_order(blocks, size)) as items:
            yield from self._alike((part, rows.y, rows) for part, rows in items)

    def _read_in_order(
        self, blocks: Iterable[Iterator[Part]], size: Callable[[Part], int]
    ) -> Generator[tuple[Source, Part]]:
        """Yield the rows of all files with their file; a few of these are read at once, the next ones ahead."""
        self.bytes_read = done = 0
        at_once = min(cores(), MAX_FILES_AT_ONCE, len(self.parts))
        if is_limited() or (self.encoding is not None and self.encoding.has_groups):
            at_once = 1  # each file has blocks of its own; levels become features in the order of the files
        room = Room(
            1
            if all(part.facts.splittable for part in self.parts)
            else min(BYTES_AHEAD, reading_bytes())
        )
        files = zip(self.parts, blocks, strict=True)
        begun: deque[tuple[Source, Generator[_Read[Part]] | Reader[_Read[Part]]]] = deque()
        try:
            while True:
                for part, rows in islice(files, at_once - len(begun)):
                    reading = read(part, rows, size)
                    begun.append(
                        (
                            part,
                            (
                                reading
                                if at_once == 1
                                else Reader(reading, room, lambda item: item.n_bytes)
                            ),
                        )
                    )
                if not begun:
                    break
                part, items = begun[0]
                for item in items:
                    self.bytes_read = done + item.bytes_read
                    yield part, item.rows
                begun.popleft()
                done += part.facts.n_bytes or 0
                self.bytes_read = done
        finally:
            for _, items in begun:
                items.close()

    def labels(self) -> Iterator[NDArray[Any]]:
        return self._alike(
            (part, some, some) for part in self.parts for some in if_any(part.labels()) if some.size
        )

    def labels_as_written(self) -> None:
        for part in self.parts:
            part.labels_as_written()

    def _alike(self, items: Iterable[tuple[Source, NDArray[Any] | None, Item]]) -> Iterator[Item]:
        """Yield items of files, whose labels must be text or numbers in all of them; refuse data without any."""
        first: tuple[Source, bool] | None = None
        for part, y, item in items:
            is_text = y is not None and y.dtype.kind in "OUS"
            if first is None:
                first = part, is_text
            elif is_text != first[1]:
                kinds = ("text", "numbers") if is_text else ("numbers", "text")
                raise DataError(
                    f"{part.name}: its labels are {kinds[0]}, but {kinds[1]} in {first[0].name};"
                    " write them alike, or name all classes to read labels of tables as text:"
                    f" {spell('classes', ['A', 'B'])}"
                )
            yield item
        if first is None:
            raise NoRowsError(f"{self.name}: none of the {len(self.parts):,} files holds a row")

    # ---- parts

    def _shards(self, n: int) -> list[Source]:
        if n <= len(self.parts):
            groups = in_groups(self.parts, n)
        else:
            groups = [
                [shard]
                for part, share in zip(self.parts, shares_of(self.parts, n), strict=True)
                for shard in (part.shards(share) if share > 1 else [part])
            ]
        with_rows = [group for group in groups if any(map(has_rows, group))]
        return [ManySource(self.name, group) for group in with_rows] or [self]


def read(
    part: Source, blocks: Iterator[Part], size: Callable[[Part], int]
) -> Generator[_Read[Part]]:
    """Yield the rows of a file, if it has any."""
    for rows in if_any(blocks):
        yield _Read(rows, size(rows), part.bytes_read)


def if_any(items: Iterator[Item]) -> Generator[Item]:
    """Yield the items of a file, none if it has no rows."""
    try:
        yield from items
    except NoRowsError:
        return


# ---- shards


def total(sizes: Iterable[int | None]) -> int | None:
    """Return the sum, if all are known."""
    listed = list(sizes)
    return None if None in listed else sum(size or 0 for size in listed)


def sizes_of(parts: Sequence[Source]) -> NDArray[np.float64]:
    """How large files are, in bytes, else in rows; all alike if neither is known of all."""
    for known in ([part.facts.n_bytes for part in parts], [part.n_rows for part in parts]):
        if total(known):
            return np.array(known, np.float64)
    return np.ones(len(parts))


def in_groups(parts: Sequence[Source], n: int) -> list[list[Source]]:
    """Files in order in ``n`` groups of about the same size, none of them empty."""
    starts = np.concatenate([[0.0], np.cumsum(sizes_of(parts))])
    cuts = [0]
    for group in range(1, n):
        nearest = int(np.abs(starts - starts[-1] * group / n).argmin())
        cuts.append(min(max(nearest, cuts[-1] + 1), len(parts) - n + group))
    return [
        list(parts[start:stop]) for start, stop in zip(cuts, [*cuts[1:], len(parts)], strict=True)
    ]


def shares_of(parts: Sequence[Source], n: int) -> list[int]:
    """Into how many shards to split every file, so that they are ``n`` in all and the largest is small."""
    sizes, shares = sizes_of(parts), np.ones(len(parts), np.int64)
    can = np.array([part.facts.splittable for part in parts])
    if can.any():
        for _ in range(n - len(parts)):
            shares[np.where(can, sizes / shares, -1.0).argmax()] += 1
    return [int(share) for share in shares]


def has_rows(part: Source) -> bool:
    """Whether there is a row; its beginning is read if that is not known."""
    if part.n_rows is not None:
        return part.n_rows > 0
    try:
        return any(block.n_rows for block in islice(part.row_blocks("keep"), 1))
    except DataError as error:  # other errors are for whoever reads all of it
        return not isinstance(error, NoRowsError)


# ---- opening


def open_many(
    name: str,
    files: Sequence[Path],
    open_file: Open,
    columns: list[str] | None,
    as_asked: Callable[[Sequence[DataSource], str], None],
) -> ManySource:
    """Files of one kind as one source; ``columns`` are the features of tables, if not all that are there.

    ``as_asked`` has all of them read in one way, if they can be read in several.
    """
    first = by_rows(open_file(files[0], columns))
    parts = [first]
    for path in files[1:]:
        part = by_rows(open_file(path, columns))
        refuse_other_kind(name, first, part)
        if not same_names(first, part):
            part = by_rows(
                open_file(path, names_of(first))
            )  # a table with its columns in another order
        parts.append(part)
    as_asked(parts, name)
    together = ManySource(name, parts)
    if next((kind for part in parts if (kind := part.label_kind()) is not None), None) == "text":
        together.labels_as_written()  # of all files, also where they look like numbers
    return together


def refuse_other_kind(name: str, first: Source, part: Source) -> None:
    """Refuse files that cannot be read as one."""
    kinds = [kind_of(source) for source in (first, part)]
    if kinds[0] != kinds[1]:
        raise DataError(
            f"{name}: {first.name} is {kinds[0]}, and {part.name} is {kinds[1]}; several files are"
            " read as one only if they are of one kind"
        )
    if kinds[0] == COLUMNS:
        raise UsageError(
            f"{name}: {first.name} and {part.name} hold columns, and such files are not read as"
            " one; give the files of rows, or write one of all rows: streamsieve convert --columns"
        )
    if first.facts.renumbered != part.facts.renumbered:
        raise DataError(
            f"{part.name}: its features are not numbered as those of {first.name}; apply the same"
            " run to both"
        )
    if first.has_labels != part.has_labels:
        without, other = (first, part) if part.has_labels else (part, first)
        raise DataError(f"{without.name}: the rows have no labels, but those of {other.name} do")


COLUMNS = "a file of columns"


def kind_of(source: Source) -> str:
    return (
        COLUMNS
        if source.is_transposed
        else "a table"
        if source.facts.takes_target
        else "a file of sparse rows"
    )


def names_of(source: Source) -> list[str] | None:
    return None if source.feature_names is None else [str(name) for name in source.feature_names]


def same_names(first: Source, part: Source) -> bool:
    """Whether features are named alike; a table may have the same columns in another order, all else is refused."""
    known, found = names_of(first), names_of(part)
    if known == found:
        return True
    if known is None or found is None:
        without, other = (first, part) if known is None else (part, first)
        raise DataError(f"{without.name}: its features have no names, but those of {other.name} do")
    absent, more = set(known) - set(found), set(found) - set(known)
    if absent or more:
        one = next(name for name in (*known, *found) if name in absent or name in more)
        missing, other = (part, first) if one in absent else (first, part)
        raise DataError(
            f"{missing.name}: the column {one!r} is not there, but it is in {other.name}; files"
            " that are read as one have the same columns"
        )
    if not part.facts.takes_target:
        raise DataError(
            f"{part.name}: its features are not in the order of {first.name}; write them alike"
        )
    return False
