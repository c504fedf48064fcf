"""CSV and TSV files with a header line, by chunks of complete records."""

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
from ..kernels.reading.delimited import COPIED, OMITTED, parse_table
from ..machine import reading_threads
from .arrow_values import Where, levels_in
from .base import Missing, NoRowsError, Source, SourceFacts
from .delimited_text import Chunk, DelimitedText, delimiter_of
from .encoded_rows import encode_rows, read_numbers
from .formats import Layout
from .inference import HEAD_ROWS, ColumnStats, Known, content_of, looks_like_id
from .labels import LabelKind, kind_of_labels, labels_of_kind, misfit
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

HEAD_BYTES = 16 << 20  # of a file, at most, which show what its columns hold
FIRST_LOOK = 64 << 10  # bytes, which show most columns of text
MAX_INEXACT = 1 << 16  # fields that are not plain numbers, at first
TRUTH = {"true", "false"}
ALL_MISSING = *MISSING_WORDS, *MORE_MISSING_WORDS
MISSING_LETTERS = (
    np.array([word.encode() for word in ALL_MISSING], bytes)
    .view(np.uint8)
    .reshape(len(ALL_MISSING), -1)
)
MISSING_LETTERS = np.pad(MISSING_LETTERS, ((0, 0), (0, 1)))  # every word ends with a zero


class CopiedFields(NamedTuple):
    """Some columns of records as they are written: lines with these fields alone."""

    lines: NDArray[np.uint8]
    columns: list[str]
    rows: int


class DelimitedSource(TableSource):
    """A table in text: several threads parse its chunks.

    A shard has the records that begin in a part of the file. That it begins with one is certain as
    soon as the shard before it has been read to its end, which must not be inside quotes.
    """

    def __init__(self, path: Path, options: ReadOptions, columns: list[str] | None) -> None:
        self.text = text = DelimitedText(path)
        self._label_kind: LabelKind | None = (
            None  # of a part of more: that of the first labels of all
        )
        facts = SourceFacts(text.name, n_bytes=text.n_bytes, splittable=not text.compression)
        super().__init__(facts, text.header, columns, options)

    # ---- rows

    def _decoded(self, missing: Missing, finish: Finish) -> Generator[DecodedRows]:
        rows = self.bytes_read = 0
        with self.text.opened() as (raw, stream):
            chunks = self.text.chunks(raw, stream)
            kind = self._label_kind
            if kind is None and (first := next(chunks, None)) is not None:
                kind, chunks = (
                    self._kind_of_first_labels(first.text),
                    chain(self.text.cut(first), chunks),
                )

            def parse(chunk: Chunk) -> tuple[Chunk, DecodedRows | None]:
                try:
                    return chunk, finish(self._decode(chunk.text, kind, 0, missing))
                except ValueError:  # raised below, where the number of its first row is known
                    return chunk, None

            threads = reading_threads()
            with closing(
                ordered_map(parse, read_ahead(chunks, threads), threads, threads)
            ) as parts:
                for chunk, part in parts:
                    if part is None:
                        part = self._decoded_again(
                            chunk.text, kind, self._rows_before() + rows, missing
                        )
                    rows += part.n_rows
                    self.bytes_read = chunk.end
                    if part.n_rows:
                        yield part
        self.bytes_read = self.facts.n_bytes or 0
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")

    def _decoded_again(
        self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing
    ) -> DecodedRows:
        """Return some records; what is wrong with them is found again with its line."""
        try:
            return self._decode(text, kind, first_row, missing)
        except ValueError as error:
            self.text.state.refuse_changed(self.name, self.text.path)
            if isinstance(error, DataError):
                raise
            raise self.located(error, kind) from error

    def _decode(
        self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing
    ) -> DecodedRows:
        """Return the rows of some records, with labels of a known kind."""
        encoding, where, target, weight = (
            self._encoding,
            self.where(first_row),
            self.label_column,
            self.facts.weight,
        )
        others = [encoding.columns[position] for position in encoding.others]
        parsed = {column.name: at for at, column in enumerate(others) if column.kind == "number"}
        if weight is not None:
            parsed[weight] = len(others)
        as_text = [column.name for column in encoding.columns if column.kind != "number"]
        targets = [] if target is None else [target]
        is_feature = target in encoding.column_names  # then its fields are read once more
        copied = as_text if is_feature else [*as_text, *targets]
        matrix, fields = self._parsed(text, parsed, copied, len(others) + (weight is not None))
        texts = self._texts(fields, as_text)
        numbers = np.ascontiguousarray(matrix[:, : len(others)])
        with np.errstate(over="ignore"):
            for at, (position, column) in enumerate(zip(encoding.others, others, strict=True)):
                if column.kind != "number":
                    numbers[:, at] = read_numbers(encoding, position, texts[column.name], where)
        levels = [texts[encoding.columns[position].name] for position in encoding.texts]
        rows = encode_rows(encoding, numbers, levels, where, missing == "keep")
        weights = None if weight is None else matrix[:, -1].astype(np.float64)
        if target is None:
            return self.weighted(rows, None, weights)
        fields = self._split(text, {}, targets, 0)[1] if is_feature else fields
        words = labels_of_kind(self._texts(fields, targets, MISSING_WORDS)[target], kind or "text")
        return self.weighted(rows, labels(words, target, self.name, first_row), weights)

    def _parsed(
        self, text: bytes, columns: Mapping[str, int], copied: Sequence[str], width: int
    ) -> tuple[NDArray[np.float32], CopiedFields]:
        """Return columns of numbers, and others as they are written; a ValueError if they cannot be read so."""
        matrix, fields, wrong = self._converted(text, columns, copied, width)
        for word in wrong.values():
            raise ValueError(f"{word!r} is not a number")
        return matrix, fields

    def _converted(
        self, text: bytes, columns: Mapping[str, int], copied: Sequence[str], width: int
    ) -> tuple[NDArray[np.float32], CopiedFields, dict[int, str]]:
        """Return columns of numbers, others as they are written, and by column the first field that is no number."""
        matrix, fields, doubtful = self._split(text, columns, copied, width)
        wrong = dict[int, str]()
        with np.errstate(over="ignore"):
            for row, column, start, end in doubtful.tolist():
                if column in wrong:
                    continue
                word = word_of(text[start:end])
                if not is_number(word):
                    wrong[column] = word
                else:
                    matrix[row, column] = np.nan if is_missing(word) else float(word)
        return matrix, fields, wrong

    def _split(
        self, text: bytes, columns: Mapping[str, int], copied: Sequence[str], width: int
    ) -> tuple[NDArray[np.float32], CopiedFields, NDArray[np.int64]]:
        """Return columns of numbers, others as they are written, and the fields that are no plain numbers."""
        if b"\0" in text:
            raise ValueError("a NUL byte")
        as_text = set(copied)
        wanted = [
            COPIED if name in as_text else columns.get(name, OMITTED) for name in self.text.header
        ]
        n_lines = text.count(b"\n") + text.count(b"\r")
        matrix = np.empty((n_lines, width), np.float32)
        lines = np.empty(len(text) + 3 * n_lines if copied else 0, np.uint8)
        letters, delimiter = np.frombuffer(text, np.uint8), ord(self.text.delimiter)
        for room in (MAX_INEXACT, len(text)):
            inexact = np.empty((min(room, len(text)), 4), np.int64)
            rows, found, written = parse_table(
                letters, delimiter, np.array(wanted), MISSING_LETTERS, matrix, lines, inexact
            )
            if found >= 0:
                break
        if rows < 0:
            raise ValueError("a line of another number of columns")
        fields = CopiedFields(
            lines[:written], [name for name in self.text.header if name in as_text], rows
        )
        return matrix[:rows], fields, inexact[:found]

    def _texts(
        self,
        fields: CopiedFields,
        names: Sequence[str],
        missing: Sequence[str] = ALL_MISSING,
        infer: bool = False,
    ) -> dict[str, pa.Array]:
        """Return some of the copied columns as text, or as whatever they look like."""
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
            raise ValueError("a line that ends in a field")
        return {name: table.column(name).combine_chunks() for name in names}

    def _kind_of_first_labels(self, text: bytes) -> LabelKind | None:
        """Return the kind of the labels, as the first of them show it."""
        if self.label_column is None:
            return None
        try:
            fields = self._split(text, {}, [self.label_column], 0)[1]
            return kind_of_labels(
                self._texts(fields, [self.label_column], MISSING_WORDS)[self.label_column]
            )
        except ValueError as error:
            raise self.located(error) from error

    def located(self, error: ValueError, kind: LabelKind | None = None) -> DataError:
        """Return what to say of what could not be read, found again with its line."""
        encoding, text = self._encoding, self.text
        wanted = {column.name for column in encoding.columns if column.kind == "number"} | {
            self.facts.weight
        }
        with text.opened() as (_, stream):
            lines = count_lines(stream, text.start, returns=True)
            for line, record in text.records(stream, lines):
                if record and len(record) != len(text.header):
                    return DataError(
                        f"{self.name}:{line}: {len(record)} values for {len(text.header)} columns;"
                        " make them match"
                    )
                for column, value in zip(text.header, record, strict=False):
                    if (
                        column in wanted
                        and not is_number(value)
                        and value not in MORE_MISSING_WORDS
                    ):
                        return DataError(
                            f"{self.name}:{line}: column {column!r} is {value!r}, not a number;"
                            f" correct it, or omit the column: {spell('drop', [column])}"
                        )
                    if column == self.label_column and kind is not None and not is_missing(value):
                        wrong = misfit(value, kind, f"{self.name}:{line}")
                        if wrong is not None:
                            return wrong
        return DataError(f"{self.name}: {error}")

    # ---- what columns hold

    def infer(self, options: ReadOptions, known: Known) -> list[ColumnStats]:
        """Return what the columns hold, by the first rows."""
        names = self.features_and_weight
        head = self.text.head(HEAD_BYTES)
        if not head:
            return [ColumnStats(name, "number", as_is=True) for name in names]
        try:
            return self._inferred(self.text.first_records(head, rows=HEAD_ROWS), names, known)
        except ValueError as error:
            raise error if isinstance(error, DataError) else self.located(error) from error

    def _inferred(self, head: bytes, names: list[str], known: Known) -> list[ColumnStats]:
        coded = {name for name, content in known.items() if content != "number"}
        for text in (self.text.first_records(head, FIRST_LOOK), head):
            wrong: dict[int, str] | None = None
            while wrong is None or wrong:
                numbers = [name for name in names if name not in coded]
                texts = [name for name in names if name in coded]
                positions = {name: at for at, name in enumerate(numbers)}
                matrix, fields, wrong = self._converted(text, positions, texts, len(numbers))
                coded |= {numbers[column] for column in wrong}
        seem = {
            name: content_of(values.type)
            for name, values in self._texts(fields, texts, infer=True).items()
        }
        words, stats = self._texts(fields, texts), []
        for name in names:
            if name in coded:
                stats.append(
                    self._stats_of(ColumnStats(name, known.get(name, seem[name])), words[name])
                )
                continue
            one, column = ColumnStats(name, "number", as_is=True), matrix[:, positions[name]]
            one.add_numbers(column)
            one.counts_up = looks_like_id(name, column)
            stats.append(one)
        return stats

    def _stats_of(self, one: ColumnStats, values: pa.Array) -> ColumnStats:
        """Return what a column holds that is not numbers; what does not fit the type it seems to have is text."""
        where = Where(self.name)
        if (
            one.content == "boolean"
            and not {level.lower() for level in levels_in(values, one.name, where)[0]} <= TRUTH
        ):
            one.content = "text"
        try:
            one.content = "text" if one.content == "number" else one.content
            one.add(values, where)
        except DataError:  # not a date
            one = ColumnStats(one.name, "text")
            one.add(values, where)
        return one

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
        """Return the kind of the labels, as the first of them show it; None if there are none."""
        if self._label_kind is None and self.has_labels:
            with self.text.opened() as (raw, stream):
                first = next(self.text.chunks(raw, stream), None)
                return None if first is None else self._kind_of_first_labels(first.text)
        return self._label_kind

    def labels_as_written(self) -> None:
        self._label_kind = "text"

    def _part(self, start: int, stop: int | None, kind: LabelKind | None) -> DelimitedSource:
        part = copy(self)
        part.text, part._label_kind, part.bytes_read = self.text.part(start, stop), kind, 0
        part.facts = replace(self.facts, n_bytes=part.text.n_bytes)
        return part

    def _rows_before(self) -> int:
        """Return the number of rows of the file before those of this source."""
        text = self.text
        if text.start == text.body:
            return 0
        before = text.part(text.body, text.start)
        with before.opened() as (raw, stream):
            return sum(
                len(self._split(chunk.text, {}, [], 0)[0]) for chunk in before.chunks(raw, stream)
            )


def word_of(field: bytes) -> str:
    """Return what is in a field, without its quotes."""
    word = field.decode(errors="replace")
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
