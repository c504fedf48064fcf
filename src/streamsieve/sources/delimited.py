"""CSV and TSV files with a header line, read in chunks of complete records."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from ..blocks import RowBlock
from ..errors import DataError, UsageError, spell
from ..kernels.reading.delimited import COPIED, FIRST_TEXT, OMITTED, parse_table
from ..machine import reading_threads
from .arrow_values import Where, levels_in
from .base import Missing, NoRowsError, Source, SourceFacts
from .delimited_text import Chunk, DelimitedText, delimiter_of
from .encoded_rows import column_cells, encode_rows, read_numbers
from .encoding import PLAIN_TEXT, EncodedRows
from .formats import Layout
from .inference import HEAD_ROWS, ColumnStats, Known, content_of, looks_like_id
from .labels import LabelKind, convert_labels, kind_of_labels, label_error
from .levels import TextCells
from .options import ReadOptions
from .prefetch import ordered_map, read_ahead
from .tables import DecodedRows, Finish, TableSource, labels, write_table
from .text import (
    MISSING_WORDS,
    MORE_MISSING_WORDS,
    count_lines,
    create_compressed,
    is_missing,
    is_number,
    starts_of_parts,
)

HEAD_BYTES = 16 << 20  # of a file, at most, from which the types of its columns are inferred
SAMPLE_BYTES = 64 << 10  # bytes, in which most columns of text are recognized
MAX_INEXACT = 1 << 16  # fields that are not plain numbers, in the first attempt
TRUTH = {"true", "false"}
ALL_MISSING = *MISSING_WORDS, *MORE_MISSING_WORDS
MISSING_LETTERS = (
    np.array([word.encode() for word in ALL_MISSING], bytes)
    .view(np.uint8)
    .reshape(len(ALL_MISSING), -1)
)
MISSING_LETTERS = np.pad(MISSING_LETTERS, ((0, 0), (0, 1)))  # every word ends with a zero


class CopiedFields(NamedTuple):
    """Some columns of records as they are written: lines with these fields only."""

    lines: NDArray[np.uint8]
    columns: list[str]
    rows: int


class ParsedFields(NamedTuple):
    """The fields of some records, by how they are read.

    An inexact field is not a plain number, or is text with a quote in quotes; it is given by its
    row, column, start and end.
    """

    matrix: NDArray[np.float32]
    copied: CopiedFields
    inexact: NDArray[np.int64]
    texts: list[TextCells]


class DelimitedSource(TableSource):
    """A table in text, whose chunks are parsed by several threads.

    A shard has the records that begin in a part of the file. Its start is certain to be the start
    of a record once the previous shard has been read to its end, which must not be inside quotes.
    """

    def __init__(self, path: Path, options: ReadOptions, columns: list[str] | None) -> None:
        self.text = text = DelimitedText(path)
        # In a part of a file, this is the kind of the first labels of the whole file.
        self._label_kind: LabelKind | None = None
        facts = SourceFacts(text.name, n_bytes=text.n_bytes, splittable=not text.compression)
        super().__init__(facts, text.header, columns, options)

    # ---- rows

    def _decode_rows(self, missing: Missing, finish: Finish) -> Generator[DecodedRows]:
        rows = self.bytes_read = 0
        with self.text.open_text() as (raw, stream):
            chunks = self.text.chunks(raw, stream)
            kind = self._label_kind
            if kind is None and (first := next(chunks, None)) is not None:
                kind, chunks = (
                    self._kind_of_first_labels(first.text),
                    chain(self.text.cut_chunk(first), chunks),
                )

            def parse(chunk: Chunk) -> tuple[Chunk, DecodedRows | None]:
                try:
                    return chunk, finish(self._decode(chunk.text, kind, 0, missing))
                except ValueError:  # raised below, once the number of its first row is known
                    return chunk, None

            threads = reading_threads()
            with closing(
                ordered_map(parse, read_ahead(chunks, threads), threads, threads)
            ) as parts:
                for chunk, part in parts:
                    if part is None:
                        part = self._decode_or_locate(
                            chunk.text, kind, self._count_rows_before() + rows, missing
                        )
                    rows += part.n_rows
                    self.bytes_read = chunk.end
                    if part.n_rows:
                        yield part
        self.bytes_read = self.facts.n_bytes or 0
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _decode_or_locate(
        self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing
    ) -> DecodedRows:
        """Decode some records; if that fails, raise an error that has the line."""
        try:
            return self._decode(text, kind, first_row, missing)
        except ValueError as error:
            self.text.state.check_unchanged(self.name, self.text.path)
            if isinstance(error, DataError):
                raise
            raise self.locate_error(error, kind) from error

    def _decode(
        self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing
    ) -> DecodedRows:
        """Return the rows of some records, with labels of the given kind."""
        encoding, target, weight = self._encoding, self.label_column, self.facts.weight
        numbers = {
            encoding.columns[position].name: index
            for index, position in enumerate(encoding.others)
            if encoding.columns[position].kind == "number"
        }
        if weight is not None:
            numbers[weight] = encoding.n_numbers
        texts = [column.name for column in encoding.columns if column.kind in PLAIN_TEXT]
        others = set(encoding.column_names) - numbers.keys() - set(texts)
        targets = [] if target is None else [target]
        is_feature = target in encoding.column_names  # then its fields are read again below
        parsed, invalid = self._convert_fields(
            text,
            numbers,
            list(others if is_feature else others | set(targets)),
            encoding.n_numbers + (weight is not None),
            texts,
        )
        for word in invalid.values():
            raise ValueError(f"{word!r} is not a number")
        copied = self._copied_columns(parsed.copied, list(others))
        rows = self._encode(parsed, copied, self.where(first_row), missing)
        weights = None if weight is None else parsed.matrix[:, -1].astype(np.float64)
        if target is None:
            return self.weighted(rows, None, weights)
        fields = self._split_fields(text, {}, targets, 0).copied if is_feature else parsed.copied
        words = convert_labels(
            self._copied_columns(fields, targets, MISSING_WORDS)[target], kind or "text"
        )
        return self.weighted(rows, labels(words, target, self.name, first_row), weights)

    def _encode(
        self, parsed: ParsedFields, copied: dict[str, pa.Array], where: Where, missing: Missing
    ) -> EncodedRows:
        """Return encoded rows of parsed fields and of columns that were copied."""
        encoding = self._encoding
        numbers = np.ascontiguousarray(parsed.matrix[:, : encoding.n_numbers])
        with np.errstate(over="ignore"):
            for index, position in enumerate(encoding.others):
                column = encoding.columns[position]
                if column.kind != "number":
                    numbers[:, index] = read_numbers(encoding, position, copied[column.name], where)
        cells, texts = [], iter(parsed.texts)
        for position in encoding.texts:
            column = encoding.columns[position]
            if column.kind in PLAIN_TEXT:
                cells.append(next(texts))
            else:
                cells.append(column_cells(column, copied[column.table_column], where))
        return encode_rows(encoding, numbers, cells, where, missing == "keep")

    def _convert_fields(
        self,
        text: bytes,
        columns: Mapping[str, int],
        copied: Sequence[str],
        width: int,
        texts: Sequence[str] = (),
    ) -> tuple[ParsedFields, dict[int, str]]:
        """Return parsed fields and invalid fields.

        An invalid field is the first one of a column that is not a number.
        """
        parsed = self._split_fields(text, columns, copied, width, texts)
        invalid = dict[int, str]()
        with np.errstate(over="ignore"):
            for row, column, start, end in parsed.inexact.tolist():
                if column in invalid or column <= FIRST_TEXT:
                    continue
                word = unquote(text[start:end])
                if not is_number(word):
                    invalid[column] = word
                else:
                    parsed.matrix[row, column] = np.nan if is_missing(word) else float(word)
        return parsed, invalid

    def _split_fields(
        self,
        text: bytes,
        columns: Mapping[str, int],
        copied: Sequence[str],
        width: int,
        texts: Sequence[str] = (),
    ) -> ParsedFields:
        """Return columns of numbers, columns to be copied and columns of text."""
        if b"\0" in text:
            raise ValueError("holds a NUL byte")
        actions = {name: FIRST_TEXT - at for at, name in enumerate(texts)}
        actions |= dict.fromkeys(copied, COPIED) | dict(columns)
        n_lines = text.count(b"\n") + text.count(b"\r")
        matrix = np.empty((n_lines, width), np.float32)
        starts, ends = (np.empty((len(texts), n_lines), np.int64) for _ in range(2))
        lines = np.empty(len(text) + 3 * n_lines if copied else 0, np.uint8)
        letters, delimiter = np.frombuffer(text, np.uint8), ord(self.text.delimiter)
        fields = np.array([actions.get(name, OMITTED) for name in self.text.header])
        for capacity in (MAX_INEXACT, len(text)):
            inexact = np.empty((min(capacity, len(text)), 4), np.int64)
            rows, n_inexact, n_written = parse_table(
                letters, delimiter, fields, MISSING_LETTERS, matrix, starts, ends, lines, inexact
            )
            if n_inexact >= 0:
                break
        if rows < 0:
            raise ValueError("a line has a different number of columns")
        text_names = set(copied)
        return ParsedFields(
            matrix[:rows],
            CopiedFields(
                lines[:n_written], [name for name in self.text.header if name in text_names], rows
            ),
            inexact[:n_inexact],
            text_columns(text, letters, starts[:, :rows], ends[:, :rows], inexact[:n_inexact]),
        )

    def _copied_columns(
        self,
        fields: CopiedFields,
        names: Sequence[str],
        missing: Sequence[str] = ALL_MISSING,
        infer: bool = False,
    ) -> dict[str, pa.Array]:
        """Return some of the copied columns as text or, with ``infer``, as an inferred type."""
        if not names or not fields.rows:
            return {name: pa.array([], pa.string()) for name in names}
        lines = fields.lines
        table = arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(lines)),
            read_options=arrow_csv.ReadOptions(
                column_names=fields.columns, block_size=lines.size + 1, use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.text.delimiter, newlines_in_values=True, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=list(names),
                column_types={} if infer else dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                null_values=list(missing),
            ),
        )
        if table.num_rows != fields.rows:
            raise ValueError("a line ends inside a field")
        return {name: table.column(name).combine_chunks() for name in names}

    def _kind_of_first_labels(self, text: bytes) -> LabelKind | None:
        """Return the kind of the first labels, or None if there are no labels."""
        if self.label_column is None:
            return None
        try:
            fields = self._split_fields(text, {}, [self.label_column], 0).copied
            return kind_of_labels(
                self._copied_columns(fields, [self.label_column], MISSING_WORDS)[self.label_column]
            )
        except ValueError as error:
            raise self.locate_error(error) from error

    def locate_error(self, error: ValueError, kind: LabelKind | None = None) -> DataError:
        """Return an error that has the line of the record that could not be read."""
        encoding, text = self._encoding, self.text
        numeric = {column.name for column in encoding.columns if column.kind == "number"} | {
            self.facts.weight
        }
        with text.open_text() as (_, stream):
            lines = count_lines(stream, text.start, returns=True)
            for line, record in text.records(stream, lines):
                if record and len(record) != len(text.header):
                    return DataError(
                        f"{self.name}:{line}: {len(record)} values for {len(text.header)} columns;"
                        " make them match"
                    )
                for column, value in zip(text.header, record, strict=False):
                    if (
                        column in numeric
                        and not is_number(value)
                        and value not in MORE_MISSING_WORDS
                    ):
                        return DataError(
                            f"{self.name}:{line}: column {column!r} is {value!r}, not a number;"
                            f" correct it, or omit the column: {spell('drop', [column])}"
                        )
                    if column == self.label_column and kind is not None and not is_missing(value):
                        wrong_label = label_error(value, kind, f"{self.name}:{line}")
                        if wrong_label is not None:
                            return wrong_label
        return DataError(f"{self.name}: {error}")

    # ---- what columns hold

    def infer(self, options: ReadOptions, known_contents: Known) -> list[ColumnStats]:
        """Return what the columns hold, by the first rows."""
        names = self.features_and_weight
        head = self.text.head(HEAD_BYTES)
        if not head:
            return [ColumnStats(name, "number", as_is=True) for name in names]
        try:
            return self._infer_columns(
                self.text.first_records(head, rows=HEAD_ROWS), names, known_contents
            )
        except ValueError as error:
            raise error if isinstance(error, DataError) else self.locate_error(error) from error

    def _infer_columns(
        self, head: bytes, names: list[str], known_contents: Known
    ) -> list[ColumnStats]:
        encoded = {name for name, content in known_contents.items() if content != "number"}
        for text in (self.text.first_records(head, SAMPLE_BYTES), head):
            invalid: dict[int, str] | None = None
            while invalid is None or invalid:
                numbers = [name for name in names if name not in encoded]
                texts = [name for name in names if name in encoded]
                positions = {name: at for at, name in enumerate(numbers)}
                parsed, invalid = self._convert_fields(text, positions, texts, len(numbers))
                encoded |= {numbers[column] for column in invalid}
        contents = {
            name: content_of(values.type)
            for name, values in self._copied_columns(parsed.copied, texts, infer=True).items()
        }
        words, stats = self._copied_columns(parsed.copied, texts), []
        for name in names:
            if name in encoded:
                stats.append(
                    self._stats_of(
                        ColumnStats(name, known_contents.get(name, contents[name])), words[name]
                    )
                )
                continue
            column_stats, column = (
                ColumnStats(name, "number", as_is=True),
                parsed.matrix[:, positions[name]],
            )
            column_stats.add_numbers(column)
            column_stats.counts_up = looks_like_id(name, column)
            stats.append(column_stats)
        return stats

    def _stats_of(self, stats: ColumnStats, values: pa.Array) -> ColumnStats:
        """Return the statistics of a column that does not hold only numbers.

        It is text if its values do not fit the type that it seems to have.
        """
        where = Where(self.name)
        if (
            stats.content == "boolean"
            and not {level.lower() for level in levels_in(values, stats.name, where)[0]} <= TRUTH
        ):
            stats.content = "text"
        try:
            stats.content = "text" if stats.content == "number" else stats.content
            stats.add(values, where)
        except DataError:  # not a date
            stats = ColumnStats(stats.name, "text")
            stats.add(values, where)
        return stats

    # ---- parts

    def _shards(self, n: int) -> list[Source]:
        text = self.text
        if text.compression:
            raise UsageError(
                f"{self.name}: a compressed file cannot be split into parts; decompress it first"
            )
        end = text.state.size if text.stop is None else text.stop
        starts = starts_of_parts(text.path, text.start, end, n, blank=b"\r\n")
        if len(starts) < 2:
            return [self]
        kind = self.label_kind()
        return [
            self._part(start, stop, kind)
            for start, stop in zip(starts, [*starts[1:], text.stop], strict=True)
        ]

    def label_kind(self) -> LabelKind | None:
        """Return the kind of the labels, by the first of them, or None if there are none."""
        if self._label_kind is None and self.has_labels:
            with self.text.open_text() as (raw, stream):
                first = next(self.text.chunks(raw, stream), None)
                return None if first is None else self._kind_of_first_labels(first.text)
        return self._label_kind

    def read_labels_as_text(self) -> None:
        self._label_kind = "text"

    def _part(self, start: int, stop: int | None, kind: LabelKind | None) -> DelimitedSource:
        part = copy(self)
        part.text, part._label_kind, part.bytes_read = self.text.part(start, stop), kind, 0
        part.facts = replace(self.facts, n_bytes=part.text.n_bytes)
        return part

    def _count_rows_before(self) -> int:
        """Return the number of rows of the file before the rows of this source."""
        text = self.text
        if text.start == text.body:
            return 0
        before = text.part(text.body, text.start)
        with before.open_text() as (raw, stream):
            return sum(
                len(self._split_fields(chunk.text, {}, [], 0).matrix)
                for chunk in before.chunks(raw, stream)
            )


def text_columns(
    text: bytes,
    letters: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    inexact: NDArray[np.int64],
) -> list[TextCells]:
    """Return columns of text; fields with a quote in quotes are written again behind the text."""
    again, size = list[bytes](), len(text)
    for row, column, start, end in inexact[inexact[:, 1] <= FIRST_TEXT].tolist():
        word = unquote(text[start:end], "surrogateescape").encode("utf-8", "surrogateescape")
        at = FIRST_TEXT - column, row
        starts[at], ends[at] = size, size + len(word)
        size += len(word)
        again.append(word)
    if again:
        letters = np.frombuffer(text + b"".join(again), np.uint8)
    return [TextCells(letters, *bounds) for bounds in zip(starts, ends, strict=True)]


def unquote(field: bytes, errors: str = "replace") -> str:
    """Return the content of a field, without its quotes."""
    word = field.decode(errors=errors)
    return next(csv.reader([word]))[0] if word.startswith('"') else word


def write_rows(path: Path, blocks: Iterable[RowBlock], layout: Layout) -> int:
    """Write rows as a table; return the number of rows."""
    options = arrow_csv.WriteOptions(
        delimiter=delimiter_of(Path(layout.name)), quoting_style="needed"
    )
    with create_compressed(path, layout.compression) as file:
        return write_table(
            lambda schema: arrow_csv.CSVWriter(file, schema, write_options=options), blocks, layout
        )
