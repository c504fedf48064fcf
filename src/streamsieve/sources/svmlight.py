"""Svmlight text files: one row a line, ``label [qid:n] index:value ... [# comment]``."""

from __future__ import annotations

import mmap
import os
import re
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, tidy_rows
from ..errors import DataError, UsageError
from ..kernels.reading import svmlight as text_kernel
from .base import LARGEST_INDEX, Missing, Source, file_size
from .prefetch import ordered_map, read_ahead
from .streams import SIGNATURES, open_packed, refuse_endless_line, split_suffix, unpacking_errors, whole_lines

CHUNK_BYTES = 1 << 20
MARGIN_BYTES = 64 << 10  # read beyond a chunk in the hope of finding the end of its last line
PAGE = mmap.PAGESIZE
PARSERS = 2
BLOCKS_AHEAD = 3
OVERFLOW = 2.0**128 - 2.0**103  # the least number whose nearest float32 would be infinite

Bytes = NDArray[np.uint8]


class SvmlightSource(Source):
    """A text file, plain or packed (.gz .bz2 .xz .zst), or standard input for the path ``-``.

    Feature ids are 0-based here; the file counts from 1 unless ``zero_based``. A few blocks of text are read and
    parsed ahead on other threads, without the GIL; rows keep their order.
    """

    def __init__(self, path: str | Path, zero_based: bool = False, chunk_bytes: int = CHUNK_BYTES) -> None:
        super().__init__(str(path))
        self.path = Path(path)
        self.zero_based = zero_based
        self.chunk_bytes = chunk_bytes
        self.packing = split_suffix(self.path)[1]
        self.rewindable = self.name != "-"
        if self.rewindable:
            self.n_bytes = file_size(self.path)
        else:
            self.name = "standard input"

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        if self.rewindable and not self.packing:
            yield from self._checked(self._plain())
        else:
            yield from self._checked(self._stream())

    def _plain(self) -> Generator[_Parsed]:
        """Spans of the file, read and parsed on several threads at once."""
        with self.path.open("rb") as file:
            descriptor, size = file.fileno(), self.n_bytes or 0
            spans = range(0, size, self.chunk_bytes)

            def parse(start: int) -> _Parsed:
                stop = min(start + self.chunk_bytes, size)
                return self._parse(lines_of_span(descriptor, start, stop, self.name), stop)

            yield from ordered_map(parse, spans, PARSERS, BLOCKS_AHEAD)

    def _stream(self) -> Generator[_Parsed]:
        """One stream of bytes, unpacked on one thread and parsed on another."""
        with self.path.open("rb") if self.rewindable else standard_input() as raw:
            with unpacking_errors(self.name, self.packing):
                stream = open_packed(raw, self.packing)
            read = stream.read  # a pipe, unbuffered, hands over what it has

            def chunks() -> Iterator[tuple[bytes, int]]:
                with unpacking_errors(self.name, self.packing):
                    for chunk in whole_lines(read, self.chunk_bytes, self.name):
                        yield chunk, raw.tell() if self.rewindable else 0

            def parse(chunk: tuple[bytes, int]) -> _Parsed:
                return self._parse(np.frombuffer(chunk[0], np.uint8), chunk[1])

            yield from ordered_map(parse, read_ahead(chunks(), BLOCKS_AHEAD), 1, BLOCKS_AHEAD)

    def _checked(self, parts: Generator[_Parsed]) -> Iterator[RowBlock]:
        """The blocks of parsed parts; a fault becomes an error with the line number in the file."""
        lines = rows = 0
        self.bytes_read = 0
        with closing(parts):
            for part in parts:
                if isinstance(part.result, Fault):
                    raise DataError(f"{self.name}:{lines + part.lines + 1}: {part.result.message}")
                lines += part.lines
                rows += part.result.n_rows
                self.bytes_read = part.end
                if part.result.n_rows:
                    yield part.result
        if not rows:
            raise DataError(f"{self.name}: holds no rows; an svmlight line is 'label index:value ...'")

    def _parse(self, text: Bytes, end: int) -> _Parsed:
        first = 0 if self.zero_based else 1
        return _Parsed(*parse_text(text, first, self.name), end)


def standard_input() -> IO[bytes]:
    """Standard input without a buffer, whose lock would keep Ctrl-C waiting for the next bytes of a pipe."""
    if sys.stdin is None:
        raise UsageError("standard input is closed; name a file")
    return cast(IO[bytes], os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0))


class Fault(NamedTuple):
    """What is wrong with a line."""

    message: str


class _Parsed(NamedTuple):
    result: RowBlock | Fault
    lines: int  # read in all; with a fault, before the bad one
    end: int  # where in the file the part ends


def lines_of_span(descriptor: int, start: int, stop: int, name: str) -> Bytes:
    """All lines that begin in a span of a file, each to its end; a newline is added to a last line without one.

    They stand in the thread's scratch until its next call, as far from a page's start as in the file: the system copies
    between places that are aligned alike several times faster.
    """
    base = PAGE + start % PAGE  # where in the scratch the span starts
    first = base - 1 if start else base  # the byte before tells whether a line begins at ``start``
    last = base + stop - start
    limit = last + MARGIN_BYTES
    while True:
        refuse_endless_line(limit - base, name)
        text = Scratch.get(limit + 1).text
        got = read_at(descriptor, text, first, limit, start - (base - first))
        begin = text.find(b"\n", first, last) + 1 if start else base
        if begin in (0, last):
            return np.empty(0, np.uint8)
        end = text.find(b"\n", last - 1, got)
        if end < 0 and got < limit:
            text[got] = text_kernel.NEWLINE
            end = got
        if end >= 0:
            return np.frombuffer(text, np.uint8)[begin : end + 1]
        limit += limit - base


def read_at(descriptor: int, buffer: mmap.mmap, begin: int, end: int, offset: int) -> int:
    """Fill ``buffer`` from ``begin`` to ``end`` with a file's bytes from ``offset`` on; where that came to."""
    with memoryview(buffer) as view:
        at = begin
        while at < end and (more := os.preadv(descriptor, [view[at:end]], offset + at - begin)):
            at += more
    return at


class Scratch:
    """Text, and arrays for the kernel to fill from any text of that size; each thread reuses its own.

    Mapped, not allocated: only what is touched takes memory, and all of it goes back when the thread ends.
    """

    _of_thread = threading.local()

    def __init__(self, size: int) -> None:
        self.size = size
        self.text = mmap.mmap(-1, size)
        self.indptr = mapped(size // 2 + 2, np.int64)
        self.labels = mapped(size // 2 + 1, np.float64)
        self.values = mapped(size // 4 + 1, np.float32)
        self.hard = mapped(2 * (size // text_kernel.SHORTEST_HARD + 1), np.int64).reshape(-1, 2)
        self.narrow = mapped(size // 4 + 1, np.int32)
        self.wide = mapped(size // 4 + 1, np.int64)

    @classmethod
    def get(cls, size: int) -> Scratch:
        mine: Scratch | None = getattr(cls._of_thread, "scratch", None)
        if mine is None or mine.size < size:
            mine = cls._of_thread.scratch = cls(size)
        return mine


def mapped(count: int, dtype: Any) -> NDArray[Any]:
    """An array of zeros that takes memory page by page as it is touched."""
    return np.frombuffer(mmap.mmap(-1, count * np.dtype(dtype).itemsize), dtype)


def parse_text(text: Bytes, first_index: int, origin: str) -> tuple[RowBlock | Fault, int]:
    """A block of the rows in whole lines, or the first fault; and the number of lines before its end."""
    scratch = Scratch.get(text.size)
    report = np.zeros(text_kernel.REPORT_SIZE, np.int64)
    for indices, largest in ((scratch.narrow, 2**31 - 2), (scratch.wide, LARGEST_INDEX)):
        text_kernel.parse_rows(
            text,
            first_index,
            largest,
            scratch.indptr,
            indices,
            scratch.values,
            scratch.labels,
            scratch.hard,
            report,
        )
        if report[text_kernel.FAULT] != text_kernel.WIDE_INDEX:
            break
    lines = int(report[text_kernel.LINES])
    if report[text_kernel.FAULT]:
        where = int(report[text_kernel.WHERE])
        fault = Fault(describe_fault(text, int(report[text_kernel.FAULT]), where))
        before = text[: start_of_line(text, where)]
        earlier = parse_text(before, first_index, origin) if before.size else None
        return earlier if earlier and isinstance(earlier[0], Fault) else (fault, lines)
    n_rows, filled = int(report[text_kernel.ROWS]), int(report[text_kernel.NONZEROS])
    labels, values = scratch.labels[:n_rows].copy(), scratch.values[:filled].copy()
    for where, position in scratch.hard[: report[text_kernel.HARD]].tolist():
        number = float(token_at(text, where))
        if position < 0:
            labels[-1 - position] = number
        elif abs(number) >= OVERFLOW:
            message = describe_fault(text, text_kernel.TOO_LARGE, start_of_entry(text, where))
            return Fault(message), text[:where].tobytes().count(b"\n")
        else:
            values[position] = number
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        return Fault(f"label {labels[row]} is too large for a number"), line_of_row(text, row)
    arrays = scratch.indptr[: n_rows + 1].copy(), indices[:filled].copy(), values
    if report[text_kernel.UNTIDY]:
        arrays, repeated = tidy_rows(*arrays, int(report[text_kernel.WIDTH]))
        if repeated:
            row, feature = repeated
            return Fault(repeated_message(feature + first_index)), line_of_row(text, row)
    return RowBlock(*arrays, labels, int(report[text_kernel.WIDTH]), origin), lines


def line_of_row(text: Bytes, row: int) -> int:
    """How many lines stand before a row: blank lines and comments are no rows."""
    for number, line in enumerate(text.tobytes().split(b"\n")):
        content = line.split(b"#")[0].strip()
        if content:
            if row == 0:
                return number
            row -= 1
    return 0


def token_at(text: Bytes, where: int) -> str:
    """The text from ``where`` to the next blank or comment."""
    for length in (64, text.size):
        head, *rest = re.split(rb"[ \t\r\n#]", text[where : where + length].tobytes(), maxsplit=1)
        if rest or length == text.size:
            break
    return head.decode("ascii", "backslashreplace")


def start_of_entry(text: Bytes, where: int) -> int:
    """Where the ``index:value`` starts whose value stands at ``where``."""
    return where - len(re.split(rb"[ \t\r\n]", text[max(0, where - 32) : where].tobytes())[-1])


def start_of_line(text: Bytes, where: int) -> int:
    return text[:where].tobytes().rfind(b"\n") + 1


def repeated_message(index: int) -> str:
    return f"feature {index} stands twice in this row; merge or drop one of the entries"


def describe_fault(text: Bytes, fault: int, where: int) -> str:
    """The fault in words, with what to do about it."""
    token = token_at(text, where)
    shown = token if len(token) <= 40 else token[:37] + "..."
    if not token.isprintable() or "\\x" in token or b"\0" in text[:4096].tobytes():
        return describe_binary(text)
    index, _, value = shown.partition(":")
    return _MESSAGES[fault](shown, index, value)


def _number_fault(what: str, number: str) -> str:
    if number.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return f"{what} is {number}; replace or drop values that are not finite"
    return f"{what} {number!r} is not a number; expected something like 1, -0.5 or 2e-3"


_MESSAGES: dict[int, Callable[[str, str, str], str]] = {
    text_kernel.BAD_LABEL: lambda token, index, value: (
        _number_fault("the label", token) + "; an svmlight line is 'label index:value ...'"
    ),
    text_kernel.BAD_INDEX: lambda token, index, value: (
        f"feature index {index} is negative; indices start at 1, or at 0 with --zero-based (zero_based=True)"
        if index[1:].isdigit() and index[0] == "-"
        else f"{token!r} does not start with a feature index; expected index:value, such as 7:0.5"
    ),
    text_kernel.NO_COLON: lambda token, index, value: (
        f"{token!r} has no colon behind its index; expected index:value, such as 7:0.5"
    ),
    text_kernel.BAD_VALUE: lambda token, index, value: _number_fault(f"the value of feature {index}", value),
    text_kernel.TOO_LARGE: lambda token, index, value: (
        f"the value of feature {index}, {value}, is too large for float32 (3.4e38); scale the column down"
    ),
    text_kernel.ZERO_INDEX: lambda token, index, value: (
        "feature index 0 in a file whose indices start at 1; say --zero-based (zero_based=True) if they start at 0"
    ),
    text_kernel.WIDE_INDEX: lambda token, index, value: (
        f"feature index {index} is too large: the largest is {LARGEST_INDEX:,}; hash or renumber the features"
    ),
    text_kernel.REPEATED: lambda token, index, value: repeated_message(int(index)),
}


def describe_binary(text: Bytes) -> str:
    start = text[:16].tobytes()
    for signature, kind in SIGNATURES.items():
        if start.startswith(signature):
            return f"this is {kind}"
    return "holds bytes that are not text; is this an svmlight file, and whole?"
