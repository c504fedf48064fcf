"""Compressed files as streams of bytes, to read and to write."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from ..errors import DataError
from .formats import COMPRESSIONS, split_suffix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_compressed(raw: IO[bytes], compression: str) -> IO[bytes]:
    """Return the bytes of an open file, decompressed as the suffix ``compression`` says, if it is one."""
    if compression == ".zst":
        import pyarrow as pa

        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"))
    return cast(IO[bytes], OPEN[compression](raw, "rb")) if compression else raw


def read_compressed(path: Path) -> bytes:
    """Return the content of a file, decompressed as its suffix says."""
    compression = split_suffix(path)[1]
    with path.open("rb") as raw, damage_named(str(path), compression), open_compressed(raw, compression) as file:
        return file.read()


class NamelessGzip(gzip.GzipFile):
    """A new gzip file that does not say how it was called: that is a name for a while, and another every time."""

    def __init__(self, path: Path) -> None:
        self.raw = path.open("wb")
        super().__init__("", "wb", compresslevel=6, fileobj=self.raw, mtime=0)

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.raw.close()


def create_compressed(path: Path, compression: str) -> IO[bytes]:
    """Return a new file that compresses what is written to it."""
    if compression == ".gz":
        return cast(IO[bytes], NamelessGzip(path))
    if compression == ".zst":
        import pyarrow as pa

        return cast(IO[bytes], pa.CompressedOutputStream(pa.OSFile(str(path), "w"), "zstd"))
    return cast(IO[bytes], OPEN[compression](path, "wb")) if compression else path.open("wb")


@contextmanager
def damage_named(name: str, compression: str) -> Iterator[None]:
    """Turn what the decompressors raise on a damaged file into one message."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, OSError, ValueError) as error:
        if isinstance(error, DataError) or not compression or getattr(error, "errno", None):
            raise
        reason: Any = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(
            f"{name}: the {COMPRESSIONS[compression].name} file is damaged or cut short ({reason}); fetch or compress "
            "it again"
        ) from error
