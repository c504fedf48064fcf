"""Text files, compressed or not: chunks of whole lines, and positions at which to split a file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from ..errors import DataError
from ..machine import available_memory, more_memory, size_text
from .formats import COMPRESSIONS, split_suffix

# the errors that decompressors raise on a damaged file
DAMAGE = EOFError, lzma.LZMAError, zlib.error, OSError, ValueError
OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

MAX_LINE_LENGTH = 1 << 30
LONG_LINE = 16 << 20
BYTES_PER_LETTER = 12  # of a line: itself, twice while it grows, and what is parsed from it
PIECE = 1 << 16  # bytes of a line that are read at once
MISSING_WORDS = (  # fields that stand for a missing value
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)
MORE_MISSING_WORDS = "None", "none", "?"  # in tables that hold more than numbers


def open_compressed(raw: IO[bytes], compression: str) -> IO[bytes]:
    """Return the bytes of an open file, decompressed as the suffix ``compression`` says."""
    if compression == ".zst":
        import pyarrow as pa

        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
    return cast(IO[bytes], OPEN[compression](raw, "rb")) if compression else raw


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file, decompressed as its suffix says."""
    compression = split_suffix(path)[1]
    with (
        path.open("rb") as raw,
        explain_damage(str(path), compression),
        open_compressed(raw, compression) as file,
    ):
        content = file.read()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: not UTF-8 text; save the file in UTF-8") from error


@contextmanager
def create_compressed(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """Create a file that compresses the data written to it."""
    with path.open("wb") as raw:
        file: Any = raw
        if compression == ".gz":
            # Without the name of a temporary file, which is different every time.
            file = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
        elif compression == ".zst":
            import pyarrow as pa

            file = pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd")
        elif compression:
            file = OPEN[compression](raw, "wb")
        with file:
            yield file


@contextmanager
def explain_damage(name: str, compression: str) -> Iterator[None]:
    """Convert the errors that decompressors raise on a damaged file into one message."""
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, DataError) or not compression or getattr(error, "errno", None):
            raise
        reason: Any = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{name}: the {COMPRESSIONS[compression].name} file is damaged or cut short ({reason});"
            " download or compress it again"
        ) from error


# ---- lines


def whole_lines(read: Callable[[int], bytes], chunk_bytes: int, name: str) -> Iterator[bytes]:
    """Yield a stream in chunks that end at the end of a line.

    A newline is added to a last line without one.
    """
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
    """Raise DataError if a line or record is endless, or too long for the memory."""
    if length > LONG_LINE and length * BYTES_PER_LETTER > available_memory():
        raise DataError(
            f"{name}: a line is longer than {length / 1e6:,.0f} MB, too long for"
            f" {size_text(available_memory())} of memory; write the rows as Parquet, or"
            f" {more_memory(length * BYTES_PER_LETTER)}"
        )
    if length > MAX_LINE_LENGTH:
        raise DataError(
            f"{name}: a line is longer than {MAX_LINE_LENGTH >> 30} GiB; this is not text with"
            " lines"
        )


def starts_of_parts(
    path: Path, begin: int, end: int, n: int, blank: bytes, comment: bytes = b""
) -> list[int]:
    """Return positions that split a span of a file into at most ``n`` parts.

    Each position is the start of a line that holds a row.

    Given    begin: the start of a line; blank: the characters of a line without a row;
             comment: the characters with which a comment may start.
    Back     the starts in order. Only the text near them is read; none if no line holds a row.
    """
    starts: list[int] = []
    with path.open("rb") as file:
        for part in range(n):
            at = begin + (end - begin) * part // n
            file.seek(max(begin, at - 1))
            if at > begin:
                _read_line(file, blank, comment)
            at = file.tell()
            while at < end and not _read_line(file, blank, comment):
                at = file.tell()
            if at < end and at not in starts[-1:]:
                starts.append(at)
    return starts


def _read_line(file: IO[bytes], blank: bytes, comment: bytes) -> bool:
    """Read the rest of a line; return True if it has more than blanks and a comment."""
    first_letter = b""
    while piece := file.readline(PIECE):
        first_letter = first_letter or piece.lstrip(blank)[:1]
        if piece.endswith(b"\n"):
            break
    return bool(first_letter) and first_letter != comment


def count_lines(stream: IO[bytes], size: int, returns: bool = False) -> int:
    """Return the number of lines that end in the next ``size`` bytes of a stream.

    With ``returns``, a carriage return alone also ends a line.
    """
    lines = 0
    last = b""
    for start in range(0, size, PIECE):
        piece = stream.read(min(PIECE, size - start))
        lines += piece.count(b"\n")
        if returns:
            lines += piece.count(b"\r") - (last + piece).count(b"\r\n")
            last = piece[-1:]
    return lines


def is_utf8(text: str) -> bool:
    """Return True if a text can be encoded in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(text: str) -> bool:
    """Return True if a field is a number or stands for a missing value."""
    try:
        float(text.replace("_", "?"))
    except ValueError:
        return is_missing(text)
    return True


def is_missing(text: str) -> bool:
    """Return True if a field stands for a missing value."""
    return text in MISSING_WORDS
