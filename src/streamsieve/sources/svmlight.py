"""Svmlight text files: one row per line, ``label [qid:n] index:value ... [# comment]``.

Rows to predict may be without labels, but then all of them must be: a line that begins with
``index:value`` has no label.
"""

from __future__ import annotations

import mmap
import os
import re
import select
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError, UsageError, prefix, spell
from ..kernels.reading import svmlight as text_kernel
from ..machine import reading_threads
from .base import Missing, NoRowsError, Source, SourceFacts
from .file_state import FileState
from .formats import Layout, split_suffix
from .options import ReadOptions
from .prefetch import ordered_map, read_ahead
from .svmlight_parsing import Bytes, Fault, Scratch, parse_text
from .text import (
    DAMAGE,
    count_lines,
    create_compressed,
    explain_damage,
    open_compressed,
    refuse_endless_line,
    starts_of_parts,
    whole_lines,
)
from .writers import label_text

CHUNK_BYTES = 1 << 20
MARGIN_BYTES = 64 << 10  # read beyond a chunk in the hope of finding the end of its last line
PAGE = mmap.PAGESIZE
# the first line of a file with the features of a selection
MARK = b"# streamsieve: renumbered, k=%d, selection=%s\n"
MARKED = re.compile(rb"# streamsieve: renumbered, k=\d+, selection=([0-9a-f]+)\s")
MAX_MARK_LENGTH = 100  # bytes

# Rows or a fault; the number of lines (before a fault); the end, from the start of the source.
Parsed = tuple[RowBlock | Fault, int, int]


def open_rows(path: Path, options: ReadOptions, columns: list[str] | None) -> SvmlightSource:
    """Return the source of an svmlight file."""
    return SvmlightSource(path, options.zero_based)


class SvmlightSource(Source):
    """A text file, plain or compressed, or standard input for the path ``-``.

    Feature ids are 0-based here; the file counts from 1 unless ``zero_based``. A few chunks of text
    are read and parsed ahead on other threads, without the GIL; rows keep their order. A shard has
    the lines that begin in a part of the file.
    """

    def __init__(
        self, path: str | Path, zero_based: bool = False, chunk_bytes: int = CHUNK_BYTES
    ) -> None:
        self.path = Path(path)
        self.chunk_bytes = chunk_bytes
        self.compression = split_suffix(self.path)[1]
        self._start = 0  # of the lines in the file
        facts = SourceFacts(str(path), first_id=0 if zero_based else 1)
        if facts.name == "-":
            facts = replace(facts, name="standard input", rewindable=False)
        else:
            self._file = FileState.of(self.path)
            facts = replace(
                facts,
                splittable=not self.compression,
                n_bytes=self._file.size,
                renumbered=read_mark(self.path, self.compression),
            )
        super().__init__(facts)

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        return self._check(self._parse_file() if self.facts.splittable else self._parse_stream())

    def _parse_file(self) -> Generator[Parsed]:
        """Read and parse spans of the file on several threads at once."""
        end = self._start + (self.facts.n_bytes or 0)
        with (
            self.path.open("rb") as file,
            self._file.watch(self.name, file.fileno()) as file_state,
        ):

            def parse(start: int) -> Parsed:
                stop = min(start + self.chunk_bytes, end)
                text = lines_of_span(file.fileno(), start, stop, file_state, self.name)
                return *parse_text(text, self.facts.first_id, self.name), stop - self._start

            threads = reading_threads()
            yield from ordered_map(
                parse, range(self._start, end, self.chunk_bytes), threads, threads + 1
            )

    def _parse_stream(self) -> Generator[Parsed]:
        """Decompress one stream of bytes on one thread and parse it on others."""
        with self.path.open("rb") if self.rewindable else standard_input() as raw:
            file_state = self._file.begin(self.name, raw.fileno()) if self.rewindable else None
            with explain_damage(self.name, self.compression):
                stream = open_compressed(raw, self.compression)

            def read(size: int) -> bytes:
                # an unbuffered pipe returns what it has, or None if it has nothing yet
                while (data := stream.read(size)) is None:
                    select.select([raw], [], [])
                if not data and file_state is not None:
                    file_state.check_unchanged(self.name, raw.fileno())
                return data

            def chunks() -> Iterator[tuple[bytes, int]]:
                with explain_damage(self.name, self.compression):
                    for chunk in whole_lines(read, self.chunk_bytes, self.name):
                        yield chunk, raw.tell() if self.rewindable else 0

            def parse(chunk: tuple[bytes, int]) -> Parsed:
                # too late to check which selection the features belong to
                if not self.rewindable and MARKED.match(chunk[0]):
                    raise DataError(f"{self.name}: these rows are renumbered; give them as a file")
                text = np.frombuffer(chunk[0], np.uint8)
                return *parse_text(text, self.facts.first_id, self.name), chunk[1]

            threads = reading_threads()
            yield from ordered_map(parse, read_ahead(chunks(), threads + 1), threads, threads + 1)

    def _check(self, parts: Generator[Parsed]) -> Iterator[RowBlock]:
        """Yield the blocks of parsed parts; raise DataError with the line number for a fault."""
        lines = self.bytes_read = 0
        labelled: bool | None = None  # not known before the first row
        with closing(parts):
            for result, n_lines, end in parts:
                lines += n_lines
                if isinstance(result, Fault):
                    if self.rewindable:
                        self._file.check_unchanged(self.name, self.path)
                        with self.path.open("rb") as file:
                            lines += count_lines(file, self._start)
                    raise DataError(f"{self.name}:{lines + 1}: {result.message}")
                self.bytes_read = end
                if result.n_rows:
                    if labelled is not None and labelled != (result.y is not None):
                        raise DataError(
                            f"{self.name}: some rows have labels and others have none; give all"
                            " rows a label, or none"
                        )
                    labelled = result.y is not None
                    yield result
        if labelled is None:
            raise NoRowsError(
                f"{self.name}: holds no rows; an svmlight line is 'label index:value ...'"
            )

    def _shards(self, n: int) -> list[Source]:
        if not self.facts.splittable:
            raise UsageError(
                f"{self.name}: only a file that is not compressed can be split into parts; "
                + ("decompress it first" if self.compression else "save the rows to a file first")
            )
        end = self._start + (self.facts.n_bytes or 0)
        starts = starts_of_parts(self.path, self._start, end, n, blank=b" \t\r\n", comment=b"#")
        return [self._part(start, stop) for start, stop in pairwise([*starts, end])] or [self]

    def _part(self, start: int, stop: int) -> Source:
        part = self.with_facts(n_bytes=stop - start)
        part._start, part.bytes_read = start, 0
        return part


def read_mark(path: Path, compression: str) -> str | None:
    """Return the mark of a file whose features are those of a selection, numbered in their order.

    Return None if the file has no such line.
    """
    try:
        with path.open("rb") as raw:
            match = MARKED.match(open_compressed(raw, compression).read(MAX_MARK_LENGTH))
    except DAMAGE:  # raised when the file is read
        return None
    return None if match is None else match[1].decode()


def standard_input() -> IO[bytes]:
    """Return standard input without a buffer.

    The lock of a buffer would delay Ctrl-C until the next bytes of a pipe.
    """
    if sys.stdin is None:
        raise UsageError("standard input is closed; give a file instead")
    return cast(IO[bytes], os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0))


def lines_of_span(descriptor: int, start: int, stop: int, file: FileState, name: str) -> Bytes:
    """Return all lines that begin in a span of a file, each up to its end.

    A newline is added to a last line without one. Raise DataError if the file ends at another
    position than when it was opened, as recorded in ``file``.

    The lines are in the thread's scratch until its next call, at the same offset from the start of
    a page as in the file: the system copies between equally aligned addresses several times faster.
    """
    base = PAGE + start % PAGE  # the position in the scratch where the span starts
    first = base - 1 if start else base  # the byte before shows whether a line begins at ``start``
    last = base + stop - start
    limit = last + MARGIN_BYTES
    while True:
        refuse_endless_line(limit - base, name)
        text = Scratch.get(limit + 1).text
        filled = read_at(descriptor, text, first, limit, start - (base - first))
        if filled < limit and start + filled - base != file.size:
            raise file.changed(name, os.fstat(descriptor).st_size)
        begin = text.find(b"\n", first, last) + 1 if start else base
        if begin in (0, last):
            return np.empty(0, np.uint8)
        end = text.find(b"\n", last - 1, filled)
        if end < 0 and filled < limit:
            text[filled] = text_kernel.NEWLINE
            end = filled
        if end >= 0:
            return np.frombuffer(text, np.uint8)[begin : end + 1]
        limit += limit - base


def read_at(descriptor: int, buffer: mmap.mmap, begin: int, end: int, offset: int) -> int:
    """Fill ``buffer`` from ``begin`` to ``end`` with the bytes of a file from ``offset`` on.

    Return the position that was reached.
    """
    with memoryview(buffer) as view:
        position = begin
        while position < end and (
            n_read := os.preadv(descriptor, [view[position:end]], offset + position - begin)
        ):
            position += n_read
    return position


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as text, formatted on several threads; return the number of rows."""
    first_index = 0 if layout.zero_based else 1

    def format_block(block: RowBlock) -> tuple[NDArray[np.uint8], int]:
        return text_of(block, first_index), block.n_rows

    n_rows, threads = 0, reading_threads()
    with (
        create_compressed(path, layout.compression) as file,
        closing(ordered_map(format_block, blocks, threads, threads + 1)) as texts,
    ):
        if layout.renumbered is not None:
            file.write(MARK % (layout.n_features or 0, layout.renumbered.encode()))
        for text, rows in texts:
            file.write(text.data)
            n_rows += rows
    return n_rows


def text_of(block: RowBlock, first_index: int) -> NDArray[np.uint8]:
    """Return the lines of a block."""
    if not block.n_rows:
        return np.empty(0, np.uint8)
    if block.y is None:
        raise DataError(
            f"{block.origin}: the rows have no labels, which svmlight text must have; write"
            f" .parquet, .arrow, .npz or a table, or name the target: {spell('target', 'NAME')}"
        )
    distinct, codes = np.unique(block.y, return_inverse=True)
    if np.isnan(block.values).any():
        raise DataError(
            f"{prefix(block.origin)}there are missing values, which svmlight text cannot hold;"
            " write .parquet, .arrow, .npz or a table"
        )
    if distinct.dtype.kind not in "biuf":
        raise DataError(
            f"{block.origin}: an svmlight label must be a number, not {str(distinct[0])!r}; write"
            " .npz or .parquet"
        )
    labels = [label_text(label.item() + 0).encode() for label in distinct]
    ends = np.cumsum([len(label) for label in labels])
    max_length = int(np.diff(ends, prepend=0).max())
    out = np.empty(
        block.n_rows * (max_length + 1) + block.n_nonzero * text_kernel.MAX_ENTRY_LENGTH, np.uint8
    )
    label_bytes = np.frombuffer(b"".join(labels), np.uint8)
    size = text_kernel.format_rows(
        block.indptr, block.indices, block.values, codes, label_bytes, ends, first_index, out
    )
    return out[:size]
