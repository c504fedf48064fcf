"""Byte streams of files, packed or plain, to read and to write."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ..errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}

LONGEST_LINE = 1 << 30

SIGNATURES = {  # how files of other kinds begin, for the message when one turns up as text
    b"\x1f\x8b": "a gzip file: give it the suffix .gz",
    b"BZh": "a bzip2 file: give it the suffix .bz2",
    b"\xfd7zXZ\x00": "an xz file: give it the suffix .xz",
    b"\x28\xb5\x2f\xfd": "a Zstandard file: give it the suffix .zst",
    b"PAR1": "a Parquet file: give it the suffix .parquet",
    b"ARROW1": "an Arrow file: give it the suffix .arrow",
    b"PK\x03\x04": "a zip archive: an .npz file needs that suffix, any other must be unpacked first",
    b"\x89HDF": "an HDF5 file, which cannot be read: export it to Parquet or svmlight first",
}


def split_suffix(path: Path) -> tuple[str, str]:
    """The suffix that names the format and the one that names the packing, in lower case: ``.svm``, ``.xz``."""
    packing = path.suffix.lower()
    if packing in PACKED:
        return Path(path.stem).suffix.lower(), packing
    return packing, ""


def open_packed(raw: IO[bytes], packing: str) -> IO[bytes]:
    """The unpacked bytes of an open file."""
    if packing == ".gz":
        return cast(IO[bytes], gzip.open(raw, "rb"))
    if packing == ".bz2":
        return cast(IO[bytes], bz2.open(raw, "rb"))
    if packing == ".xz":
        return cast(IO[bytes], lzma.open(raw, "rb"))
    if packing == ".zst":
        import pyarrow as pa

        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
    return raw


def create_packed(path: Path, packing: str) -> IO[bytes]:
    """A new file that packs what is written to it."""
    if packing == ".gz":
        return cast(IO[bytes], gzip.GzipFile(path, "wb", compresslevel=6, mtime=0))
    if packing == ".bz2":
        return cast(IO[bytes], bz2.open(path, "wb"))
    if packing == ".xz":
        return cast(IO[bytes], lzma.open(path, "wb"))
    if packing == ".zst":
        import pyarrow as pa

        return cast(IO[bytes], pa.CompressedOutputStream(pa.OSFile(str(path), "w"), "zstd"))
    return path.open("wb")


@contextmanager
def unpacking_errors(name: str, packing: str) -> Iterator[None]:
    """Turn what the unpackers raise on a damaged archive into one message."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, OSError, ValueError) as error:
        if isinstance(error, DataError) or not packing or getattr(error, "errno", None):
            raise
        reason: Any = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{name}: the {PACKED[packing]} archive is damaged or cut short ({reason}); fetch or pack it again"
        ) from error


def whole_lines(read: Callable[[int], bytes], chunk_bytes: int, name: str) -> Iterator[bytes]:
    """The stream in chunks that end where a line ends; a newline is added to a last line without one."""
    rest = b""
    while data := read(chunk_bytes):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
            refuse_endless_line(len(rest), name)
    if rest:
        yield rest + b"\n"


def refuse_endless_line(length: int, name: str) -> None:
    if length > LONGEST_LINE:
        raise DataError(f"{name}: a line is longer than {LONGEST_LINE >> 30} GiB; this is no text with lines")
