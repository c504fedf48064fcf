"""Text with columns: its header, and chunks of complete records for threads."""

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
from .text import count_lines, explain_damage, is_utf8, open_compressed, refuse_endless_line

FIRST_BYTES = 16 << 20  # of a file, from which the kind of its labels is inferred
CHUNK_BYTES = 4 << 20  # at most
MIN_CHUNK = 64 << 10


def chunk_bytes(letters_per_value: float) -> int:
    """Return the number of bytes of text that make a chunk of a good size."""
    return fitting(CHUNK_BYTES, 2 + math.ceil(BYTES_PER_VALUE / letters_per_value), MIN_CHUNK)


def delimiter_of(path: Path) -> str:
    """Return the delimiter of a file by its suffix: a comma for .csv, otherwise a tab."""
    return "," if split_suffix(path)[0] == ".csv" else "\t"


def has_records(text: bytes) -> bool:
    """Return True unless all lines are empty."""
    return re.search(rb"[^\r\n]", text) is not None


class Chunk(NamedTuple):
    """Complete records, and their end in the file."""

    text: bytes
    end: int


class DelimitedText:
    """Text with columns, separated by commas or, for .tsv and .tab, by tabs; plain or compressed.

    One thread reads the text and cuts it where records end; several threads take the records. A
    part has the records that begin in a range of the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.name = Path(path), str(path)
        self.compression = split_suffix(self.path)[1]
        self.delimiter = delimiter_of(self.path)
        self.state = FileState.of(self.path)
        self.start = 0  # the start of the records
        self.stop: int | None = None  # the end of the records, if not that of the file
        self.header = self._read_header()
        self.body = self.start

    @property
    def n_bytes(self) -> int:
        """Return the size of the file, or of the part."""
        end = self.state.size if self.stop is None else self.stop
        return end - (0 if self.start == self.body else self.start)

    def part(self, start: int, stop: int | None) -> Self:
        """Return the records that begin in a range of the file."""
        part = copy(self)
        part.start, part.stop = start, stop
        return part

    @contextmanager
    def open_text(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Open the file; yield it and its text."""
        with self.path.open("rb") as raw, explain_damage(self.name, self.compression):
            yield raw, open_compressed(raw, self.compression)

    def _read_header(self) -> list[str]:
        """Return the first record, and set ``start`` to the beginning of the others."""
        text = b""
        with self.open_text() as (_, stream):
            while data := stream.read(CHUNK_BYTES):
                text += data
                self.start = end_of_records(
                    np.frombuffer(text, np.uint8), ord(self.delimiter), True
                )
                if self.start:
                    break
                refuse_endless_line(len(text), self.name)
        other_kind = kind_of(text.removeprefix(BOM_UTF8))
        if other_kind is not None:
            raise DataError(f"{self.path}: this is {other_kind}")
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
        """Yield each record of a stream and the number of its last line, counted from ``lines``."""
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
        """Yield the text after the header, or that of the part, in chunks of complete records."""
        state = self.state.begin(self.name, raw.fileno())
        with explain_damage(self.name, self.compression):
            if self.compression:
                stream.read(self.start)
            else:
                stream.seek(self.start)
            position, rest, size, base = (
                self.start,
                b"",
                FIRST_BYTES,
                0 if self.start == self.body else self.start,
            )
            chunk_size = chunk_bytes(self._letters_per_value)
            while data := stream.read(
                size if self.stop is None else min(size, self.stop - position)
            ):
                text, position = rest + data, position + len(data)
                end = self._end_of_records(text)
                chunk, rest = text[:end], text[end:]
                # Doubled so that a long record is not searched again and again.
                size = chunk_size if end else 2 * size
                refuse_endless_line(len(rest), self.name)
                if has_records(chunk):
                    yield Chunk(chunk, (raw.tell() if self.compression else position) - base)
            state.check_unchanged(self.name, raw.fileno())
        last = rest + b"\n"
        if rest and (self.stop is not None or self._end_of_records(last) < len(last)):
            raise self._open_quote_error(position - len(rest))
        if has_records(rest):
            yield Chunk(last, self.n_bytes or 0)

    def cut_chunk(self, chunk: Chunk) -> Iterator[Chunk]:
        """Cut the first chunk into chunks of the usual size.

        The first chunk is long so that the kind of the labels can be inferred from it.
        """
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

    def _open_quote_error(self, start: int) -> DataError:
        """Return the error for a record that begins at ``start`` and ends inside quotes."""
        with self.open_text() as (_, stream):
            line = count_lines(stream, start, returns=True) + 1
        if self.stop is not None:
            return DataError(
                f"{self.name}: from line {line} on, a field in quotes contains a line break, so"
                " the file cannot be split into parts; write it as Parquet first: streamsieve"
                " convert"
            )
        return DataError(
            f"{self.name}:{line}: a quote that is opened here is never closed; close or remove it"
        )

    def _end_of_records(self, text: bytes) -> int:
        if b'"' in text:
            return end_of_records(np.frombuffer(text, np.uint8), ord(self.delimiter), False)
        return text.rfind(b"\n") + 1

    def first_records(self, text: bytes, size: int = 0, rows: int = 0) -> bytes:
        """Return the first of some records, about ``size`` bytes of them or ``rows`` lines."""
        if rows:
            ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
            size = len(text) if ends.size <= rows else int(ends[rows - 1]) + 1
        end = self._end_of_records(text[:size])
        return text[:end] if end else text

    def head(self, size: int) -> bytes:
        """Return the first records, about ``size`` bytes of them, but at least one."""
        text, end = b"", 0
        with self.open_text() as (_, stream):
            if self.compression:
                stream.read(self.start)
            else:
                stream.seek(self.start)
            while not end and (data := stream.read(size)):
                text += data
                # The last line may have no end.
                complete = text if len(data) == size else text + b"\n"
                end = self._end_of_records(complete)
                size = 2 * size
                refuse_endless_line(len(text), self.name)
        records = complete[:end] if end else text + b"\n"
        return records if has_records(records) else b""
