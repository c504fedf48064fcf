"""The formats of files: one entry each, from which opening, writing, help texts and messages are made.

A format is a module beside this one, or a class in it, with the functions that its entry names:

    open_rows(path, ReadOptions, columns) -> Source    open_columns(path, ReadOptions, columns) -> ColumnSource
    write_rows(path, blocks, Layout) -> rows           write_columns(path, ColumnSource, report) -> None

``columns`` are those of a table to read as features, None for all others. What a format cannot do
is None. Nothing heavy is imported here, so that the command line shows its help at once.
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
    """What is known of rows to write before the first of them."""

    name: str  # of the file, for messages
    feature_names: NDArray[Any] | None = None
    n_features: int | None = None
    zero_based: bool = False
    target: str | None = None  # what a table calls its labels
    compression: str = ""
    as_table: bool = False  # where a file can be a table or sparse rows
    renumbered: str | None = (
        None  # the mark of the selection whose features these are, numbered in their order
    )


@dataclass(frozen=True)
class Format:
    """A format, known by the suffixes of its files; functions are named ``module:function``."""

    name: str
    suffixes: tuple[str, ...]
    open_rows: str | None = None
    open_columns: str | None = None
    write_rows: str | None = None
    write_columns: str | None = None
    compressible: bool = False  # a file as a whole
    tables: bool = False  # files can be tables, one column of which is the target
    wants_width: bool = False  # rows are written better when their number of features is known
    signature: bytes = b""  # how its files begin


class Compression(NamedTuple):
    """What a file may be compressed with, known by its last suffix."""

    name: str
    signature: bytes


COMPRESSIONS = {
    ".gz": Compression("gzip", b"\x1f\x8b"),
    ".bz2": Compression("bzip2", b"BZh"),
    ".xz": Compression("xz", b"\xfd7zXZ\x00"),
    ".zst": Compression("Zstandard", b"\x28\xb5\x2f\xfd"),
}

SVMLIGHT = Format(  # also what a file of any other suffix is taken for
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
FOREIGN = {  # how other files begin
    b"\xef\xbb\xbf": "text with a byte order mark before it: save it without one",
    b"\xff\xfe": "text in UTF-16: save it in UTF-8",
    b"\xfe\xff": "text in UTF-16: save it in UTF-8",
    b"PK\x03\x04": (
        "a zip archive: an .npz file needs that suffix, any other must be decompressed first"
    ),
    b"\x89HDF": "an HDF5 file, which cannot be read: export it to Parquet or svmlight first",
}


def function(named: str) -> Any:
    """Return the function that an entry of the table names."""
    module, _, name = named.partition(":")
    return attrgetter(name)(import_module(f".{module}", __package__))


def split_suffix(path: Path) -> tuple[str, str]:
    """The suffix that names the format and the one that names the compression, in lower case: ``.svm``, ``.xz``."""
    compression = path.suffix.lower()
    if compression in COMPRESSIONS:
        return Path(path.stem).suffix.lower(), compression
    return compression, ""


def format_of(path: Path) -> tuple[Format, str]:
    """The format and the compression of a file, by its suffixes; one that its format does not allow is refused."""
    suffix, compression = split_suffix(path)
    known = next((known for known in FORMATS if suffix in known.suffixes), SVMLIGHT)
    if compression and not known.compressible:
        raise UsageError(
            f"{path}: {suffix} files are not compressed as a whole; decompress one to read it, omit"
            f" {compression} to write one"
        )
    return known, compression


def output_format(path: Path) -> tuple[Format, str]:
    """The format and the compression of a file to write; a suffix that names none is refused.

    What is there already and is no file, such as /dev/stdout, gets text.
    """
    known, compression = format_of(path)
    suffix = split_suffix(path)[0]
    if suffix not in known.suffixes and not (path.exists() and not path.is_file()):
        written = " ".join(
            suffix for known in FORMATS if known.write_rows for suffix in known.suffixes
        )
        what = (
            f"{suffix} is the suffix of no format"
            if suffix
            else "without a suffix it has no format"
        )
        raise UsageError(
            f"{path}: {what}; the suffixes are {written}, of text also followed by"
            f" {' '.join(COMPRESSIONS)}"
        )
    if known.write_rows is None:
        raise UsageError(f"{path}: {known.name} is not written; choose {writable()}")
    return known, compression


def kind_of(start: bytes) -> str | None:
    """What a file is that begins like this, with what to do about its name; None if nothing known begins so."""
    for suffix, compression in COMPRESSIONS.items():
        if start.startswith(compression.signature):
            return f"{compression.name} data: give it the suffix {suffix}"
    for known in FORMATS:
        if known.signature and start.startswith(known.signature):
            return f"{known.name} data: give it the suffix {known.suffixes[0]}"
    return next((what for signature, what in FOREIGN.items() if start.startswith(signature)), None)


def readable() -> str:
    """The files that can be read, for help texts."""
    return _listed(known for known in FORMATS if known.open_rows or known.open_columns)


def writable() -> str:
    """The files to which rows can be written, for help texts."""
    return _listed(known for known in FORMATS if known.write_rows)


def column_files() -> str:
    """The files to which columns can be written."""
    return " or ".join(known.suffixes[0] for known in FORMATS if known.write_columns)


def table_files() -> str:
    """The files in which a column can be the target."""
    return " ".join(suffix for known in FORMATS if known.tables for suffix in known.suffixes)


def _listed(formats: Iterable[Format]) -> str:
    others = ", ".join(
        suffix for known in formats if known is not SVMLIGHT for suffix in known.suffixes
    )
    return (
        f"{SVMLIGHT.name} ({SVMLIGHT.suffixes[0]} and any other name), {others}; text also"
        " compressed as " + ", ".join(COMPRESSIONS)
    )
