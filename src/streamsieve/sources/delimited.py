"""CSV and TSV files with a header line, by chunks of complete records."""

from __future__ import annotations

import csv
import io
import math
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from copy import copy
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import DataError, UsageError
from ..kernels.reading.delimited import LABEL, OMITTED, end_of_records, parse_table
from ..machine import fitting, reading_threads
from .base import Missing, NoRowsError, Source
from .changes import FileState
from .compression import create_compressed, damage_named, open_compressed
from .formats import Layout, Options, kind_of, split_suffix
from .label_words import LabelKind, kind_of_labels, labels_of_kind, misfit
from .prefetch import ordered_map, read_ahead
from .tables import BYTES_PER_VALUE, TableSource, labels, write_table
from .text import count_lines, is_missing, is_number, is_utf8, refuse_endless_line, starts_of_parts

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_BYTES = 16 << 20  # of a file, in which the kind of its labels must show
CHUNK_BYTES = 4 << 20  # at most
LEAST_CHUNK = 64 << 10
WIDE = 2048  # columns: of a wider table, an array of Arrow's for every column costs too much time
MOST_INEXACT = 1 << 16  # fields that are not plain numbers, at first

Part = TypeVar("Part", RowBlock, DenseRows)


def open_rows(path: Path, options: Options) -> DelimitedSource:
    return DelimitedSource(path, options.target, options.columns)


def chunk_bytes(letters_per_value: float) -> int:
    """How much text makes a chunk of a good size."""
    return fitting(CHUNK_BYTES, 2 + math.ceil(BYTES_PER_VALUE / letters_per_value), LEAST_CHUNK)


def delimiter_of(path: Path) -> str:
    return "," if split_suffix(path)[0] == ".csv" else "\t"


class Chunk(NamedTuple):
    """Complete records, and where in the file they end."""

    text: bytes
    end: int


class DelimitedSource(TableSource):
    """Columns of numbers in text, separated by commas or, for .tsv and .tab, by tabs; plain or compressed.

    One thread reads, and cuts the text where records end; several parse it. A shard has the records that begin in a
    part of the file. That it begins with one is certain as soon as the shard before it has been read to its end, which
    must not be inside quotes.
    """

    def __init__(self, path: str | Path, target: str | None = None, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        self.compression = split_suffix(self.path)[1]
        self.splittable = not self.compression
        self.delimiter = delimiter_of(self.path)
        self._file = FileState.of(self.path)
        self.n_bytes = self._file.size
        self._label_kind: LabelKind | None = None  # of a part of more: that of the first labels of all
        self._base = 0  # what bytes are counted from
        self._stop: int | None = None  # where the records end, if not with the file
        super().__init__(str(path), target, columns)
        self._body = self._start
        self._field_columns = self._columns_of_fields()

    # ---- the text

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """The file, and its text."""
        with self.path.open("rb") as raw, damage_named(self.name, self.compression):
            yield raw, open_compressed(raw, self.compression)

    def _column_names(self) -> list[str]:
        """The first record; the others begin after it, at ``_start``."""
        text = b""
        with self._opened() as (_, stream):
            while data := stream.read(CHUNK_BYTES):
                text += data
                self._start = end_of_records(np.frombuffer(text, np.uint8), ord(self.delimiter), True)
                if self._start:
                    break
                refuse_endless_line(len(text), self.name)
        known = kind_of(text.removeprefix(BOM_UTF8))
        if known is not None:
            raise DataError(f"{self.path}: this is {known}")
        if not text:
            raise DataError(f"{self.path}: is empty; expected a line of column names and rows below it")
        self._start = self._start or len(text)
        self._header = next(self._records(io.BytesIO(text[: self._start]), 0), (0, list[str]()))[1]
        values = len(self._header) * max(1, text.count(b"\n", self._start))
        self._letters_per_value = max(2.0, (len(text) - self._start) / max(1, values))
        return self._header

    def _records(self, stream: IO[bytes], lines: int) -> Iterator[tuple[int, list[str]]]:
        """Every record of a stream with the number of its last line, counted on from ``lines``."""
        with io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            reader = csv.reader(text, delimiter=self.delimiter)
            try:
                for record in reader:
                    line = lines + reader.line_num
                    if not all(value.isascii() or is_utf8(value) for value in record):
                        raise DataError(f"{self.path}:{line}: not text in UTF-8; save the file in that encoding")
                    if any("\0" in value for value in record):
                        raise DataError(f"{self.path}:{line}: holds a NUL byte; save the file as text in UTF-8")
                    yield line, record
            except csv.Error as error:
                line = lines + reader.line_num + 1
                raise DataError(f"{self.path}:{line}: not text with columns ({error})") from error

    def _chunks(self, raw: IO[bytes], stream: IO[bytes]) -> Iterator[Chunk]:
        """The text after the header, or that of the shard, in chunks of complete records."""
        known = self._file.begin(self.name, raw.fileno())
        with damage_named(self.name, self.compression):
            if self.compression:
                stream.read(self._start)
            else:
                stream.seek(self._start)
            at, rest, size = self._start, b"", FIRST_BYTES
            usual = chunk_bytes(self._letters_per_value)
            while data := stream.read(size if self._stop is None else min(size, self._stop - at)):
                text, at = rest + data, at + len(data)
                end = self._end_of_records(text)
                chunk, rest = text[:end], text[end:]
                size = usual if end else 2 * size  # so that a long record is not searched again and again
                refuse_endless_line(len(rest), self.name)
                if chunk.strip(b"\r\n"):  # records, not empty lines alone
                    yield Chunk(chunk, (raw.tell() if self.compression else at) - self._base)
            known.refuse_changed(self.name, raw.fileno())
        last = rest + b"\n"
        if rest and (self._stop is not None or self._end_of_records(last) < len(last)):
            raise self._unclosed(at - len(rest))
        if rest.strip(b"\r\n"):
            yield Chunk(last, self.n_bytes or 0)

    def _cut(self, chunk: Chunk) -> Iterator[Chunk]:
        """The first chunk, which is long so that it shows what labels are, in chunks of the usual size."""
        start, size = 0, chunk_bytes(self._letters_per_value)
        while len(chunk.text) - start > size:
            end = start + self._end_of_records(chunk.text[start : start + size])
            if end == start:
                break
            if chunk.text[start:end].strip(b"\r\n"):
                yield Chunk(chunk.text[start:end], chunk.end - (len(chunk.text) - end))
            start = end
        if chunk.text[start:].strip(b"\r\n"):
            yield Chunk(chunk.text[start:], chunk.end)

    def _unclosed(self, start: int) -> DataError:
        """What to say of a record that begins at ``start`` and ends inside quotes."""
        with self._opened() as (_, stream):
            line = count_lines(stream, start, returns=True) + 1
        if self._stop is not None:
            return DataError(
                f"{self.name}: from line {line} on, a field in quotes goes on over the end of a line, so that the file "
                "cannot be split into parts; write it as Parquet first: streamsieve convert"
            )
        return DataError(f"{self.name}:{line}: a quote that is opened here is never closed; close or remove it")

    def _end_of_records(self, text: bytes) -> int:
        if b'"' in text:
            return end_of_records(np.frombuffer(text, np.uint8), ord(self.delimiter), False)
        return text.rfind(b"\n") + 1

    # ---- rows

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        return self._decoded(missing, self._block)

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows]:
        return self._decoded(missing, lambda rows: rows)

    def _decoded(self, missing: Missing, finish: Callable[[DenseRows], Part]) -> Generator[Part]:
        """What ``finish`` makes of the rows of every chunk."""
        rows = self.bytes_read = 0
        with self._opened() as (raw, stream):
            chunks = self._chunks(raw, stream)
            kind = self._label_kind
            if kind is None and (first := next(chunks, None)) is not None:
                kind, chunks = self._first_label_kind(first.text), chain(self._cut(first), chunks)

            def parse(chunk: Chunk) -> tuple[Chunk, Part | None]:
                try:
                    return chunk, finish(self._rows(chunk.text, kind, 0, missing))
                except ValueError:  # raised below, where the number of its first row is known
                    return chunk, None

            threads = reading_threads()
            with closing(ordered_map(parse, read_ahead(chunks, threads), threads, threads)) as parts:
                for chunk, part in parts:
                    if part is None:
                        part = finish(self._rows_or_fault(chunk.text, kind, self._rows_before() + rows, missing))
                    rows += part.n_rows
                    self.bytes_read = chunk.end
                    if part.n_rows:
                        yield part
        self.bytes_read = self.n_bytes or 0
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _rows_or_fault(self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing) -> DenseRows:
        """The rows of some records; what is wrong with them is found again with its line."""
        try:
            return self._rows(text, kind, first_row, missing)
        except ValueError as error:
            self._file.refuse_changed(self.name, self.path)
            if isinstance(error, DataError):
                raise
            raise self._located(error, kind) from error

    def _rows(self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing) -> DenseRows:
        """The rows of some records, with labels of a known kind."""
        if b"\0" in text:
            raise ValueError("a NUL byte")
        if len(self._header) >= WIDE and b'"' not in text:
            return self._wide_rows(text, kind, first_row, missing)
        batch = self._batch(text, self._header, self._types())
        if self.has_labels:
            at = batch.schema.get_field_index(str(self.target))
            batch = batch.set_column(at, str(self.target), labels_of_kind(batch.column(at), kind or "text"))
        return self._dense(batch, first_row, missing)

    def _types(self) -> dict[str, pa.DataType]:
        """What the columns in use are read as."""
        import pyarrow as pa

        return {name: pa.string() if name == self.target else pa.float64() for name in self.used}

    def _first_label_kind(self, text: bytes) -> LabelKind | None:
        """The kind of the labels, as the first of them show it."""
        import pyarrow as pa

        if not self.has_labels:
            return None
        try:
            return kind_of_labels(self._batch(text, self._header, {str(self.target): pa.string()}).column(0))
        except ValueError as error:
            raise self._located(error) from error

    def _batch(self, text: bytes, header: list[str], types: dict[str, pa.DataType]) -> pa.RecordBatch:
        """The columns of records that have types here, as Arrow reads them."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            read_options=arrow_csv.ReadOptions(column_names=header, block_size=len(text) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in text),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                strings_can_be_null=True,
            ),
        )
        if not table.num_rows:
            return pa.RecordBatch.from_pylist([], schema=table.schema)
        return table.combine_chunks().to_batches()[0]

    def _wide_rows(self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing) -> DenseRows:
        """The rows of some records without quotes."""
        import pyarrow as pa

        lines, most_inexact = text.count(b"\n"), len(text) // 2
        matrix, spans = np.empty((lines, len(self.columns)), np.float32), np.zeros((lines, 2), np.int64)
        inexact = np.empty((min(most_inexact, MOST_INEXACT), 4), np.int64)
        letters, columns = np.frombuffer(text, np.uint8), self._field_columns
        rows, doubtful = parse_table(letters, ord(self.delimiter), columns, matrix, spans, inexact)
        if doubtful < 0:
            inexact = np.empty((most_inexact, 4), np.int64)
            rows, doubtful = parse_table(letters, ord(self.delimiter), columns, matrix, spans, inexact)
        if rows < 0:
            raise ValueError("a line of another number of columns")
        with np.errstate(over="ignore"):
            for line, column, start, end in inexact[:doubtful].tolist():
                word = text[start:end].decode(errors="replace")
                if not is_number(word):
                    raise ValueError(f"{word!r} is not a number")
                matrix[line, column] = np.nan if is_missing(word) else float(word)
        y = None
        if self.has_labels:
            words = [text[start:end] or b'""' for start, end in spans[:rows].tolist()]
            target = str(self.target)
            column = self._batch(b"\n".join([*words, b""]), [target], {target: pa.string()}).column(0)
            y = labels(labels_of_kind(column, kind or "text"), target, self.name, first_row)
        self._refuse_not_finite(matrix[:rows], first_row, missing)
        return DenseRows(matrix[:rows], y)

    def _columns_of_fields(self) -> NDArray[np.int64]:
        """Which feature every field of a line is, for ``parse_table``."""
        features = {column: number for number, column in enumerate(self.columns)}
        found = np.array([features.get(name, OMITTED) for name in self._header], np.int64)
        if self.has_labels:
            found[self._header.index(str(self.target))] = LABEL
        return found

    def _located(self, error: ValueError, kind: LabelKind | None = None) -> DataError:
        """What could not be read, found again with its line."""
        wanted = set(self.columns) - {self.target}
        with self._opened() as (_, stream):
            lines = count_lines(stream, self._start, returns=True)
            for line, record in self._records(stream, lines):
                if record and len(record) != len(self._header):
                    return DataError(
                        f"{self.name}:{line}: {len(record)} values for {len(self._header)} columns; make them match"
                    )
                for column, value in zip(self._header, record, strict=False):
                    if column in wanted and not is_number(value):
                        return DataError(
                            f"{self.name}:{line}: column {column!r} is {value!r}, not a number; encode it or omit it"
                        )
                    if column == self.target and kind is not None and not is_missing(value):
                        wrong = misfit(value, kind, f"{self.name}:{line}")
                        if wrong is not None:
                            return wrong
        return DataError(f"{self.name}: {error}")

    # ---- parts

    def _shards(self, n: int) -> list[Source]:
        if not self.splittable:
            raise UsageError(f"{self.name}: a compressed file cannot be split into parts; decompress it first")
        end = self._file.size if self._stop is None else self._stop
        starts = starts_of_parts(self.path, self._start, end, n, blank=b"\r\n")
        if len(starts) < 2:
            return [self]
        kind = self.label_kind()
        return [self._part(start, stop, kind) for start, stop in zip(starts, [*starts[1:], self._stop], strict=True)]

    def label_kind(self) -> LabelKind | None:
        """The kind of the labels, as the first of them show it; None if there are none."""
        if self._label_kind is None:
            with self._opened() as (raw, stream):
                first = next(self._chunks(raw, stream), None)
                return None if first is None else self._first_label_kind(first.text)
        return self._label_kind

    def labels_as_written(self) -> None:
        self._label_kind = "text"

    def _part(self, start: int, stop: int | None, kind: LabelKind | None) -> DelimitedSource:
        part = copy(self)
        part._start = part._base = start
        part._stop, part._label_kind = stop, kind
        part.n_bytes, part.bytes_read = (self._file.size if stop is None else stop) - start, 0
        return part

    def _rows_before(self) -> int:
        """The rows of the file before those of this source."""
        import pyarrow as pa

        if self._start == self._body:
            return 0
        first = {self._header[0]: pa.binary()}
        with self._opened() as (raw, stream):
            chunks = self._part(self._body, self._start, None)._chunks(raw, stream)
            return sum(self._batch(chunk.text, self._header, first).num_rows for chunk in chunks)


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as a table; the number of rows."""
    from pyarrow import csv as arrow_csv

    options = arrow_csv.WriteOptions(delimiter=delimiter_of(Path(layout.name)), quoting_style="needed")
    with create_compressed(path, layout.compression) as file:
        return write_table(lambda schema: arrow_csv.CSVWriter(file, schema, write_options=options), blocks, layout)
