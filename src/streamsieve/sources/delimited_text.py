"""Text with columns as text: its header, and chunks of complete records that threads take."""

from __future__ import annotations

import csv
import io
import math
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import IO, NamedTuple, Self

import numpy as np

from ..errors import DataError
from ..kernels.reading.delimited import end_of_records
from ..machine import fitting
from .file_state import FileState
from .formats import kind_of, split_suffix
from .tables import BYTES_PER_VALUE
from .text import count_lines, damage_named, is_utf8, open_compressed, refuse_endless_line

FIRST_BYTES = 16 << 20  # of a file, in which the kind of its labels must show
CHUNK_BYTES = 4 << 20  # at most
MIN_CHUNK = 64 << 10


def chunk_bytes(letters_per_value: float) -> int:
    """How much text makes a chunk of a good size."""
    return fitting(CHUNK_BYTES, 2 + math.ceil(BYTES_PER_VALUE / letters_per_value), MIN_CHUNK)


def delimiter_of(path: Path) -> str:
    return "," if split_suffix(path)[0] == ".csv" else "\t"


def has_records(text: bytes) -> bool:
    """Return True unless all lines are empty."""
    return re.search(rb"[^\r\n]", text) is not None


class Chunk(NamedTuple):
    """Complete records, and where in the file they end."""

    text: bytes
    end: int


class DelimitedText:
    """Text with columns, separated by commas or, for .tsv and .tab, by tabs; plain or compressed.

    One thread reads, and cuts the text where records end; several take the records. A part has the
    records that begin in a part of the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.name = Path(path), str(path)
        self.compression = split_suffix(self.path)[1]
        self.delimiter = delimiter_of(self.path)
        self.state = FileState.of(self.path)
        self.start = 0  # of the records
        self.stop: int | None = None  # where they end, if not with the file
        self.header = self._read_header()
        self.body = self.start

    @property
    def n_bytes(self) -> int:
        """Return the size of the file, or of the part."""
        end = self.state.size if self.stop is None else self.stop
        return end - (0 if self.start == self.body else self.start)

    def part(self, start: int, stop: int | None) -> Self:
        """Return the records that begin in a part of the file."""
        part = copy(self)
        part.start, part.stop = start, stop
        return part

    @contextmanager
    def opened(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file, and its text."""
        with self.path.open("rb") as raw, damage_named(self.name, self.compression):
            yield raw, open_compressed(raw, self.compression)

    def _read_header(self) -> list[str]:
        """Return the first record; the others begin after it, at ``start``."""
        text = b""
        with self.opened() as (_, stream):
            while data := stream.read(CHUNK_BYTES):
                text += data
                self.start = end_of_records(
                    np.frombuffer(text, np.uint8), ord(self.delimiter), True
                )
                if self.start:
                    break
                refuse_endless_line(len(text), self.name)
        known = kind_of(text.removeprefix(BOM_UTF8))
        if known is not None:
            raise DataError(f"{self.path}: this is {known}")
        if not text:
            raise DataError(
                f"{self.path}: is empty; expected a line of column names and rows below it"
            )
        self.start = self.start or len(text)
        header = next(self.records(io.BytesIO(text[: self.start]), 0), (0, list[str]()))[1]
        values = len(header) * max(1, text.count(b"\n", self.start))
        self._letters_per_value = max(2.0, (len(text) - self.start) / max(1, values))
        return header

    def records(self, stream: IO[bytes], lines: int) -> Iterator[tuple[int, list[str]]]:
        """Every record of a stream with the number of its last line, counted on from ``lines``."""
        with io.TextIOWrapper(
            stream, encoding="utf-8-sig", errors="surrogateescape", newline=""
        ) as text:
            reader = csv.reader(text, delimiter=self.delimiter)
            try:
                for record in reader:
                    line = lines + reader.line_num
                    if not all(value.isascii() or is_utf8(value) for value in record):
                        raise DataError(
                            f"{self.path}:{line}: not text in UTF-8; save the file in that encoding"
                        )
                    if any("\0" in value for value in record):
                        raise DataError(
                            f"{self.path}:{line}: holds a NUL byte; save the file as text in UTF-8"
                        )
                    yield line, record
            except csv.Error as error:
                line = lines + reader.line_num + 1
                raise DataError(f"{self.path}:{line}: not text with columns ({error})") from error

    def chunks(self, raw: IO[bytes], stream: IO[bytes]) -> Iterator[Chunk]:
        """The text after the header, or that of the shard, in chunks of complete records."""
        known = self.state.begin(self.name, raw.fileno())
        with damage_named(self.name, self.compression):
            if self.compression:
                stream.read(self.start)
            else:
                stream.seek(self.start)
            at, rest, size, base = (
                self.start,
                b"",
                FIRST_BYTES,
                0 if self.start == self.body else self.start,
            )
            usual = chunk_bytes(self._letters_per_value)
            while data := stream.read(size if self.stop is None else min(size, self.stop - at)):
                text, at = rest + data, at + len(data)
                end = self._end_of_records(text)
                chunk, rest = text[:end], text[end:]
                size = (
                    usual if end else 2 * size
                )  # so that a long record is not searched again and again
                refuse_endless_line(len(rest), self.name)
                if has_records(chunk):
                    yield Chunk(chunk, (raw.tell() if self.compression else at) - base)
            known.refuse_changed(self.name, raw.fileno())
        last = rest + b"\n"
        if rest and (self.stop is not None or self._end_of_records(last) < len(last)):
            raise self._unclosed(at - len(rest))
        if has_records(rest):
            yield Chunk(last, self.n_bytes or 0)

    def cut(self, chunk: Chunk) -> Iterator[Chunk]:
        """The first chunk, which is long so that it shows what labels are, in chunks of the usual size."""
        start, size = 0, chunk_bytes(self._letters_per_value)
        while len(chunk.text) - start > size:
            end = start + self._end_of_records(chunk.text[start : start + size])
            if end == start:
                break
            if has_records(chunk.text[start:end]):
                yield Chunk(chunk.text[start:end], chunk.end - (len(chunk.text) - end))
            start = end
        if has_records(chunk.text[start:]):
            yield Chunk(chunk.text[start:], chunk.end)

    def _unclosed(self, start: int) -> DataError:
        """What to say of a record that begins at ``start`` and ends inside quotes."""
        with self.opened() as (_, stream):
            line = count_lines(stream, start, returns=True) + 1
        if self.stop is not None:
            return DataError(
                f"{self.name}: from line {line} on, a field in quotes goes on over the end of a"
                " line, so that the file cannot be split into parts; write it as Parquet first:"
                " streamsieve convert"
            )
        return DataError(
            f"{self.name}:{line}: a quote that is opened here is never closed; close or remove it"
        )

    def _end_of_records(self, text: bytes) -> int:
        if b'"' in text:
            return end_of_records(np.frombuffer(text, np.uint8), ord(self.delimiter), False)
        return text.rfind(b"\n") + 1

    def first_records(self, text: bytes, size: int = 0, rows: int = 0) -> bytes:
        """Return the first of some records, about so many bytes or so many lines of them."""
        if rows:
            ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
            size = len(text) if ends.size <= rows else int(ends[rows - 1]) + 1
        end = self._end_of_records(text[:size])
        return text[:end] if end else text

    def head(self, size: int) -> bytes:
        """Return the first records, about so many bytes of them, or one."""
        text, end = b"", 0
        with self.opened() as (_, stream):
            if self.compression:
                stream.read(self.start)
            else:
                stream.seek(self.start)
            while not end and (data := stream.read(size)):
                text += data
                complete = (
                    text if len(data) == size else text + b"\n"
                )  # the last line may have no end
                end = self._end_of_records(complete)
                size = 2 * size
                refuse_endless_line(len(text), self.name)
        found = complete[:end] if end else text + b"\n"
        return found if has_records(found) else b""
