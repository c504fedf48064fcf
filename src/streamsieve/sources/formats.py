"""The formats of files, in one table for opening, writing, help texts and messages.

A format is a module in this package, or a class in it, with the functions that its entry names:

    open_rows(path, ReadOptions, columns) -> Source
    open_columns(path, ReadOptions, columns) -> ColumnSource
    write_rows(path, blocks, Layout) -> rows
    write_columns(path, ColumnSource, report) -> None

``columns`` are the columns of a table to read as features, or None for all except the target.
Functions that a format does not have are None. No heavy module is imported here, so that the
command line shows its help quickly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Layout(NamedTuple):
    """The facts about rows that are known before the first of them is written."""

    name: str  # of the file, for messages
    feature_names: NDArray[Any] | None = None
    n_features: int | None = None
    zero_based: bool = False
    target: str | None = None  # the name of the label column of a table
    compression: str = ""
    as_table: bool = False  # if a file can be a table or sparse rows
    renumbered: str | None = None  # the mark of the selection that renumbered the features


@dataclass(frozen=True)
class Format:
    """A format, recognized by the suffixes of its files; functions are ``module:name``."""

    name: str
    suffixes: tuple[str, ...]
    open_rows: str | None = None
    open_columns: str | None = None
    write_rows: str | None = None
    write_columns: str | None = None
    compressible: bool = False  # a file can be compressed as a whole
    tables: bool = False  # files can be tables with a target column
    wants_width: bool = False  # rows take less space if the number of features is known
    signature: bytes = b""  # the first bytes of its files


class Compression(NamedTuple):
    """A compression, recognized by the last suffix of a file."""

    name: str
    signature: bytes


COMPRESSIONS = {
    ".gz": Compression("gzip", b"\x1f\x8b"),
    ".bz2": Compression("bzip2", b"BZh"),
    ".xz": Compression("xz", b"\xfd7zXZ\x00"),
    ".zst": Compression("Zstandard", b"\x28\xb5\x2f\xfd"),
}

SVMLIGHT = Format(  # also the format of files with unknown suffixes
    "svmlight text",
    (".svm", ".svmlight", ".libsvm"),
    open_rows="svmlight:open_rows",
    write_rows="svmlight:write_rows",
    compressible=True,
)
FORMATS = (
    SVMLIGHT,
    Format(
        "text with columns",
        (".csv", ".tsv", ".tab"),
        open_rows="delimited:DelimitedSource",
        write_rows="delimited:write_rows",
        compressible=True,
        tables=True,
    ),
    Format(
        "Parquet",
        (".parquet", ".pq"),
        open_rows="batch_files:ParquetFile.open",
        open_columns="batch_files:ParquetFile.open",
        write_rows="batch_files:ParquetFile.write_rows",
        write_columns="batch_files:ParquetFile.write_columns",
        tables=True,
        wants_width=True,
        signature=b"PAR1",
    ),
    Format(
        "Arrow",
        (".arrow", ".feather", ".ipc"),
        open_rows="batch_files:ArrowFile.open",
        open_columns="batch_files:ArrowFile.open",
        write_rows="batch_files:ArrowFile.write_rows",
        write_columns="batch_files:ArrowFile.write_columns",
        tables=True,
        wants_width=True,
        signature=b"ARROW1",
    ),
    Format(
        "SciPy's npz",
        (".npz",),
        open_rows="npz:open_rows",
        write_rows="npz:write_rows",
    ),
)
FOREIGN = {  # the first bytes of files in other formats
    b"\xef\xbb\xbf": "text with a byte order mark before it: save it without one",
    b"\xff\xfe": "text in UTF-16: save it in UTF-8",
    b"\xfe\xff": "text in UTF-16: save it in UTF-8",
    b"PK\x03\x04": (
        "a zip archive: an .npz file needs that suffix, any other must be decompressed first"
    ),
    b"\x89HDF": "an HDF5 file, which cannot be read: export it to Parquet or svmlight first",
}


def import_function(reference: str) -> Any:
    """Import what an entry of the table gives as ``module:name``."""
    module, _, name = reference.partition(":")
    return attrgetter(name)(import_module(f".{module}", __package__))


def split_suffix(path: Path) -> tuple[str, str]:
    """Return the suffixes of the format and the compression in lower case: ``.svm``, ``.xz``."""
    compression = path.suffix.lower()
    if compression in COMPRESSIONS:
        return Path(path.stem).suffix.lower(), compression
    return compression, ""


def format_of(path: Path) -> tuple[Format, str]:
    """Return the format and the compression of a file, by its suffixes.

    UsageError is raised for a compression that the format does not allow.
    """
    suffix, compression = split_suffix(path)
    file_format = next((entry for entry in FORMATS if suffix in entry.suffixes), SVMLIGHT)
    if compression and not file_format.compressible:
        raise UsageError(
            f"{path}: {suffix} files cannot be compressed as a whole; decompress the file to read"
            f" it, omit {compression} to write it"
        )
    return file_format, compression


def output_format(path: Path) -> tuple[Format, str]:
    """Return the format and the compression of a file to write, by its suffixes.

    UsageError is raised for an unknown suffix. An existing path that is not a regular file, such as
    /dev/stdout, gets svmlight text.
    """
    file_format, compression = format_of(path)
    suffix = split_suffix(path)[0]
    if suffix not in file_format.suffixes and not (path.exists() and not path.is_file()):
        suffixes = " ".join(
            suffix for entry in FORMATS if entry.write_rows for suffix in entry.suffixes
        )
        problem = f"{suffix} is not a known suffix" if suffix else "the name has no suffix"
        raise UsageError(
            f"{path}: {problem}; the suffixes are {suffixes}, for text also followed by"
            f" {' '.join(COMPRESSIONS)}"
        )
    if file_format.write_rows is None:
        raise UsageError(
            f"{path}: {file_format.name} cannot be written; choose {writable_formats()}"
        )
    return file_format, compression


def kind_of(start: bytes) -> str | None:
    """Return a description of a file by its first bytes, with advice on its name.

    It is None if they are not those of a known format.
    """
    for suffix, compression in COMPRESSIONS.items():
        if start.startswith(compression.signature):
            return f"{compression.name} data: give it the suffix {suffix}"
    for file_format in FORMATS:
        if file_format.signature and start.startswith(file_format.signature):
            return f"{file_format.name} data: give it the suffix {file_format.suffixes[0]}"
    return next(
        (description for signature, description in FOREIGN.items() if start.startswith(signature)),
        None,
    )


def readable_formats() -> str:
    """Return the formats that can be read, for help texts."""
    return _describe_formats(entry for entry in FORMATS if entry.open_rows or entry.open_columns)


def writable_formats() -> str:
    """Return the formats in which rows can be written, for help texts."""
    return _describe_formats(entry for entry in FORMATS if entry.write_rows)


def column_files() -> str:
    """Return the suffixes of files in which columns can be written."""
    return " or ".join(entry.suffixes[0] for entry in FORMATS if entry.write_columns)


def table_files() -> str:
    """Return the suffixes of files in which a column can be the target."""
    return " ".join(suffix for entry in FORMATS if entry.tables for suffix in entry.suffixes)


def _describe_formats(formats: Iterable[Format]) -> str:
    suffixes = ", ".join(
        suffix for entry in formats if entry is not SVMLIGHT for suffix in entry.suffixes
    )
    return (
        f"{SVMLIGHT.name} ({SVMLIGHT.suffixes[0]} and any other name), {suffixes}; text also"
        " compressed as " + ", ".join(COMPRESSIONS)
    )
