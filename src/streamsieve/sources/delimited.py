"""CSV and TSV files with a header line, by chunks of complete records."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from copy import copy
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..blocks import DenseRows, RowBlock
from ..errors import DataError, UsageError
from ..kernels.reading.delimited import LABEL, OMITTED, parse_table
from .base import Missing, NoRowsError, Source
from .compression import create_compressed
from .delimited_survey import survey
from .delimited_text import Chunk, DelimitedText, delimiter_of, in_threads
from .formats import Layout
from .label_words import LabelKind, kind_of_labels, labels_of_kind, misfit
from .options import ReadOptions
from .survey import Content, Facts
from .tables import labels, write_table
from .text import MISSING_WORDS, MORE_MISSING_WORDS, count_lines, is_missing, is_number, starts_of_parts

if TYPE_CHECKING:
    import pyarrow as pa

WIDE = 2048  # columns: of a wider table, an array of Arrow's for every column costs too much time
MOST_INEXACT = 1 << 16  # fields that are not plain numbers, at first

Part = TypeVar("Part", RowBlock, DenseRows)
Decode = Callable[[bytes, LabelKind | None, int], Part]  # some records, the kind of labels, the rows before


def open_rows(path: Path, options: ReadOptions, columns: list[str] | None) -> DelimitedSource:
    return DelimitedSource(path, options.target, columns, options)


class DelimitedSource(DelimitedText):
    """A table in text: several threads parse its chunks.

    A shard has the records that begin in a part of the file. That it begins with one is certain as soon as the shard
    before it has been read to its end, which must not be inside quotes.
    """

    def __init__(
        self,
        path: str | Path,
        target: str | None = None,
        columns: list[str] | None = None,
        options: ReadOptions | None = None,
    ) -> None:
        self._label_kind: LabelKind | None = None  # of a part of more: that of the first labels of all
        super().__init__(path, target, columns, options)

    def _use(self, columns: list[str]) -> None:
        super()._use(columns)
        self._field_columns = self._columns_of_fields()

    # ---- rows

    def row_blocks(self, missing: Missing = "error") -> Iterator[RowBlock]:
        if self.encoding is not None:
            return self._decoded(lambda text, kind, first: self._encoded(self._labelled(text, kind), first, missing))
        return self._decoded(lambda text, kind, first: self._block(self._rows(text, kind, first, missing)))

    def dense_rows(self, missing: Missing = "error") -> Iterator[DenseRows] | None:
        if self.encoding is not None:
            return None
        return self._decoded(lambda text, kind, first: self._rows(text, kind, first, missing))

    def _decoded(self, decode: Decode[Part]) -> Generator[Part]:
        """What ``decode`` makes of the records of every chunk."""
        rows = self.bytes_read = 0
        with self._opened() as (raw, stream):
            chunks = self._chunks(raw, stream)
            kind = self._label_kind
            if kind is None and (first := next(chunks, None)) is not None:
                kind, chunks = self._first_label_kind(first.text), chain(self._cut(first), chunks)

            def parse(chunk: Chunk) -> tuple[Chunk, Part | None]:
                try:
                    return chunk, decode(chunk.text, kind, 0)
                except ValueError:  # raised below, where the number of its first row is known
                    return chunk, None

            with closing(in_threads(parse, chunks)) as parts:
                for chunk, part in parts:
                    if part is None:
                        part = self._part_or_fault(decode, chunk.text, kind, self._rows_before() + rows)
                    rows += part.n_rows
                    self.bytes_read = chunk.end
                    if part.n_rows:
                        yield part
        self.bytes_read = self.n_bytes or 0
        if not rows:
            raise NoRowsError(f"{self.name}: holds no rows")
        self._say_unseen()

    def _part_or_fault(self, decode: Decode[Part], text: bytes, kind: LabelKind | None, first_row: int) -> Part:
        """What some records are decoded to; what is wrong with them is found again with its line."""
        try:
            return decode(text, kind, first_row)
        except ValueError as error:
            self._file.refuse_changed(self.name, self.path)
            if isinstance(error, DataError):
                raise
            raise self.located(error, kind) from error

    def _rows(self, text: bytes, kind: LabelKind | None, first_row: int, missing: Missing) -> DenseRows:
        """The rows of some records, with labels of a known kind."""
        if b"\0" in text:
            raise ValueError("a NUL byte")
        if self.is_wide(text):
            return self._wide_rows(text, kind, first_row, missing)
        return self._dense(self._labelled(text, kind), first_row, missing)

    def _labelled(self, text: bytes, kind: LabelKind | None) -> pa.RecordBatch:
        """The columns in use of some records, with labels of a known kind."""
        import pyarrow as pa

        if b"\0" in text:
            raise ValueError("a NUL byte")
        coded = () if self.encoding is None else self.encoding.columns
        texts = {column.name for column in coded if column.kind != "number"}
        types = {name: pa.string() if name in texts else pa.float64() for name in self.columns}
        if self.encoding is None and self.has_labels:
            batch = self._batch(text, self._header, {**types, str(self.target): pa.string()})
            at = batch.schema.get_field_index(str(self.target))
            return batch.set_column(at, str(self.target), labels_of_kind(batch.column(at), kind or "text"))
        batch = self.parsed(text, types) if self.encoding else self._batch(text, self._header, types)
        if self.has_labels:
            found = self._batch(text, self._header, {str(self.target): pa.string()}).column(0)
            batch = batch.append_column(str(self.target), labels_of_kind(found, kind or "text"))
        return batch

    def is_wide(self, text: bytes) -> bool:
        """Whether records are better read by our own kernel: it knows no quotes."""
        return len(self._header) >= WIDE and b'"' not in text

    def _first_label_kind(self, text: bytes) -> LabelKind | None:
        """The kind of the labels, as the first of them show it."""
        import pyarrow as pa

        if not self.has_labels:
            return None
        try:
            return kind_of_labels(self._batch(text, self._header, {str(self.target): pa.string()}).column(0))
        except ValueError as error:
            raise self.located(error) from error

    def _batch(
        self,
        text: bytes,
        header: list[str],
        types: dict[str, pa.DataType | None],
        missing: Sequence[str] = MISSING_WORDS,
    ) -> pa.RecordBatch:
        """The columns of records that have types here, as Arrow reads them; None is a type to be found.

        ``missing`` is how it is written that there is no value.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            read_options=arrow_csv.ReadOptions(column_names=header, block_size=len(text) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in text),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: kind for name, kind in types.items() if kind is not None},
                include_columns=list(types),
                strings_can_be_null=True,
                null_values=list(missing),
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

    def located(self, error: ValueError, kind: LabelKind | None = None) -> DataError:
        """What could not be read, found again with its line."""
        coded = () if self.encoding is None else self.encoding.columns
        wanted = set(self.columns) - {self.target} - {column.name for column in coded if column.kind != "number"}
        gone = MORE_MISSING_WORDS if coded else ()
        with self._opened() as (_, stream):
            lines = count_lines(stream, self._start, returns=True)
            for line, record in self._records(stream, lines):
                if record and len(record) != len(self._header):
                    return DataError(
                        f"{self.name}:{line}: {len(record)} values for {len(self._header)} columns; make them match"
                    )
                for column, value in zip(self._header, record, strict=False):
                    if column in wanted and not is_number(value) and value not in gone:
                        return DataError(
                            f"{self.name}:{line}: column {column!r} is {value!r}, not a number; correct it, or omit "
                            f"the column (--drop {column})"
                        )
                    if column == self.target and kind is not None and not is_missing(value):
                        wrong = misfit(value, kind, f"{self.name}:{line}")
                        if wrong is not None:
                            return wrong
        return DataError(f"{self.name}: {error}")

    # ---- what columns hold

    def survey(self, options: ReadOptions, known: dict[str, Content]) -> list[Facts]:
        """What its columns hold."""
        return survey(self, options, known)

    def wide_values(self, text: bytes) -> NDArray[np.float32]:
        """The features of some records without quotes, NaN for what is missing."""
        return self._wide_rows(text, "text", 0, "keep").values

    def parsed(self, text: bytes, types: dict[str, pa.DataType | None], more_missing: bool = True) -> pa.RecordBatch:
        """The columns of some records that have types here.

        ``more_missing`` says that ``?`` and ``None`` stand for no value, too.
        """
        if b"\0" in text:
            raise ValueError("a NUL byte")
        missing = (*MISSING_WORDS, *(MORE_MISSING_WORDS if more_missing else ()))
        return self._batch(text, self._header, types, missing)

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
