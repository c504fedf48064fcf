"""CSV and TSV files with a header line, by batches."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock, dense_block
from ..errors import DataError
from ..kernels.reading.delimited import LABEL, LEFT_OUT, parse_table
from .base import Missing, file_size, refuse_not_finite
from .streams import open_packed, split_suffix, unpacking_errors, whole_lines
from .tables import TableSource, labels

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 16 << 20  # wide tables have few rows to a block, and every column of a block costs time
WIDE = 2048  # columns
MOST_HARD = 1 << 16  # fields that are no plain numbers, at first
TAB_SUFFIXES = (".tsv", ".tab")


class DelimitedSource(TableSource):
    """Columns of numbers in text, separated by commas or, for .tsv and .tab, by tabs; plain or packed."""

    def __init__(self, path: str | Path, target: str | None = None, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        suffix, self.packing = split_suffix(self.path)
        self._has_quotes = True  # only of a wide table it is to be found out
        self._label_type: pa.DataType | None = None
        self.delimiter = "\t" if suffix in TAB_SUFFIXES else ","
        self.n_bytes = file_size(self.path)
        super().__init__(str(path), target, columns)

    def _open(self, raw: IO[bytes]) -> IO[bytes]:
        return open_packed(raw, self.packing)

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Every record with the number of its last line."""
        with self.path.open("rb") as raw, unpacking_errors(str(self.path), self.packing):
            text = io.TextIOWrapper(self._open(raw), encoding="utf-8-sig", errors="surrogateescape", newline="")
            reader = csv.reader(text, delimiter=self.delimiter)
            try:
                for record in reader:
                    if not all(value.isascii() or is_utf8(value) for value in record):
                        raise DataError(
                            f"{self.path}:{reader.line_num}: not text in UTF-8; save the file in that encoding"
                        )
                    yield reader.line_num, record
            except csv.Error as error:
                raise DataError(f"{self.path}:{reader.line_num + 1}: not text with columns ({error})") from error

    def _column_names(self) -> list[str]:
        for _, header in self._lines():
            self._header = header
            return header
        raise DataError(f"{self.path}: is empty; expected a line of column names and rows below it")

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        options = arrow_csv.ConvertOptions(
            column_types={column: pa.float64() for column in self.columns},
            include_columns=self.used,
            strings_can_be_null=True,
        )
        # Arrow reads ahead on threads of its own; if they call Python while the interpreter goes, the process aborts.
        opened: Any = self.path.open("rb") if self.packing else pa.OSFile(str(self.path))
        with opened as raw, unpacking_errors(self.name, self.packing):
            try:
                reader = arrow_csv.open_csv(
                    self._open(raw) if self.packing else raw,
                    read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
                    parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter),
                    convert_options=options,
                )
                for batch in reader:
                    if self.has_labels and pa.types.is_binary(batch.schema.field(str(self.target)).type):
                        raise self._located(ValueError("labels that are not text"))
                    self.bytes_read = raw.tell()
                    yield batch
            except pa.ArrowInvalid as error:
                if "Empty CSV file" in str(error):
                    return
                raise self._located(error) from error

    def _blocks(self, missing: Missing) -> Iterator[RowBlock]:
        row = 0
        if len(self._header) >= WIDE:
            for block in self._wide_blocks(missing):
                yield block
                row += block.n_rows
        seen = 0
        for block in super()._blocks(missing) if self._has_quotes else ():
            if seen + block.n_rows > row:
                yield block.rows(max(0, row - seen), block.n_rows)
            seen += block.n_rows

    def _wide_blocks(self, missing: Missing) -> Iterator[RowBlock]:
        """The rows up to the first quote, of a table so wide that an array of Arrow's for every column costs more."""
        row = 0
        with self.path.open("rb") as raw, unpacking_errors(self.name, self.packing):
            stream = self._open(raw)
            self._has_quotes = b'"' in stream.readline()
            for text in whole_lines(stream.read, BLOCK_BYTES, self.name):
                self._has_quotes = self._has_quotes or b'"' in text
                if self._has_quotes:
                    return
                self.bytes_read = raw.tell()
                block = self._wide_block(text, row, missing)
                if block.n_rows:
                    yield block
                row += block.n_rows

    def _wide_block(self, text: bytes, first_row: int, missing: Missing) -> RowBlock:
        """The rows of some lines."""
        place = {column: number for number, column in enumerate(self.columns)}
        places = np.array([place.get(name, LEFT_OUT) for name in self._header], np.int64)
        if self.has_labels:
            places[self._header.index(str(self.target))] = LABEL
        lines, most_hard = text.count(b"\n"), len(text) // 2
        matrix, spans = np.empty((lines, len(self.columns))), np.zeros((lines, 2), np.int64)
        hard = np.empty((min(most_hard, MOST_HARD), 4), np.int64)
        letters = np.frombuffer(text, np.uint8)
        rows, doubtful = parse_table(letters, ord(self.delimiter), places, matrix, spans, hard)
        if doubtful < 0:
            hard = np.empty((most_hard, 4), np.int64)
            rows, doubtful = parse_table(letters, ord(self.delimiter), places, matrix, spans, hard)
        if rows < 0:
            raise self._located(ValueError("a line of another number of columns"))
        for line, column, start, end in hard[:doubtful].tolist():
            word = text[start:end].decode(errors="replace")
            if not is_number(word):
                raise self._located(ValueError(f"{word!r} is not a number"))
            matrix[line, column] = np.nan if is_gap(word) else float(word)
        y = None
        if self.has_labels:
            y = self._wide_labels([text[start:end] for start, end in spans[:rows].tolist()], first_row)
        with np.errstate(over="ignore"):
            block = dense_block(matrix[:rows], y, self.name)
        refuse_not_finite(block, first_row, self.feature_names, missing)
        return block

    def _wide_labels(self, words: list[bytes], first_row: int) -> NDArray[Any]:
        """The target of some rows, of the kind that Arrow finds in the first of them."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        known = {} if not first_row else {"y": self._label_type}
        try:
            table = arrow_csv.read_csv(
                io.BytesIO(b"\n".join([b"y", *(word or b'""' for word in words), b""])),
                parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter),
                convert_options=arrow_csv.ConvertOptions(column_types=known, strings_can_be_null=True),
            )
        except pa.ArrowInvalid as error:
            raise self._located(error) from error
        column = table.column(0).combine_chunks()
        if pa.types.is_binary(column.type):
            raise self._located(ValueError("labels that are not text"))
        self._label_type = column.type
        return labels(column, str(self.target), self.name, first_row)

    def _located(self, error: Exception) -> DataError:
        """What Arrow could not read, found again with its line."""
        names: list[str] = []
        for line, record in self._lines():
            if not names:
                names = record
                continue
            if not record:
                continue
            if len(record) != len(names):
                return DataError(f"{self.name}:{line}: {len(record)} values for {len(names)} columns; make them match")
            for column, value in zip(names, record, strict=True):
                if column != self.target and column in self.columns and not is_number(value):
                    return DataError(
                        f"{self.name}:{line}: column {column!r} is {value!r}, not a number; encode it or leave it out"
                    )
        return DataError(
            f"{self.name}: {error}; the target must hold numbers only or text in quotes from its first row"
        )


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(text: str) -> bool:
    try:
        float(text.replace("_", "?"))
    except ValueError:
        return is_gap(text)
    return True


def is_gap(text: str) -> bool:
    """Whether a field says that there is no value."""
    return text.strip() in ("", "NA", "N/A", "NULL", "null", "#N/A")
