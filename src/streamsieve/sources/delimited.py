"""CSV and TSV files with a header line, by batches."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import DataError
from .base import file_size
from .streams import open_packed, split_suffix, unpacking_errors
from .tables import TableSource

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 16 << 20  # wide tables have few rows to a block, and every column of a block costs time
TAB_SUFFIXES = (".tsv", ".tab")


class DelimitedSource(TableSource):
    """Columns of numbers in text, separated by commas or, for .tsv and .tab, by tabs; plain or packed."""

    def __init__(self, path: str | Path, target: str | None = None, columns: list[str] | None = None) -> None:
        self.path = Path(path)
        suffix, self.packing = split_suffix(self.path)
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
                    if self.has_target and pa.types.is_binary(batch.schema.field(str(self.target)).type):
                        raise self._located(ValueError("labels that are not text"))
                    self.bytes_read = raw.tell()
                    yield batch
            except pa.ArrowInvalid as error:
                if "Empty CSV file" in str(error):
                    return
                raise self._located(error) from error

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
        return text.strip() in ("", "NA", "N/A", "NULL", "null", "#N/A")
    return True
