"""The learned state of a learner as one object: to save, to copy, to send to another process.

A model is a JSON header and named NumPy arrays. Its file is a zip archive of them, stored without
compression; nothing in it is ever executed. It may come from a stranger: sizes are checked before
anything is read, and every array is checked against a declared schema before a kernel uses it.
"""

from __future__ import annotations

import errno
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .errors import DataError, UsageError
from .files import replacing
from .json_text import from_json, to_json
from .state import Arrays
from .version import __version__

FORMAT = 2
HEADER = "header.json"
ARRAY_NAME = re.compile(r"[a-z][a-z0-9_.]*")
KINDS = "biufUS"  # of arrays: no objects, no records
PART_BYTES = 1 << 24  # read at a time
NAMES = "names"  # the prefix of the arrays that hold the names of features
NAMED_IDS = "named_ids"  # their ids, where not all features have a name


@dataclass(slots=True, eq=False)
class Model:
    """The result of learning, with the method and its parameters.

    ``params`` and ``header`` must be representable in JSON; ``note`` belongs to the caller of
    ``save``.
    """

    method: str
    params: dict[str, Any]
    header: dict[str, Any]
    arrays: Arrays
    note: dict[str, Any] | None = None
    version: str = __version__

    def save(self, path: str | Path) -> None:
        """Write the model to a file, all or nothing."""
        with replacing(Path(path)) as partial, partial.open("wb") as file:
            self._write(file)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the model that ``save`` wrote."""
        with refusing_damage(path), Path(path).open("rb") as file:
            return cls._read(file, str(path))

    def to_bytes(self) -> bytes:
        """Return the model as the bytes of its file."""
        buffer = io.BytesIO()
        self._write(buffer)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        with refusing_damage("a model in memory"):
            return cls._read(io.BytesIO(data), "a model in memory")

    def copy(self) -> Model:
        """Return a copy that shares nothing that learning changes."""
        return Model(
            self.method,
            dict(self.params),
            from_json(to_json(self.header)),
            {name: array.copy() for name, array in self.arrays.items()},
            self.note,
            self.version,
        )

    def _write(self, file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            top = {
                "streamsieve_format": FORMAT,
                "method": self.method,
                "version": self.version,
                "params": self.params,
                "note": self.note,
                "learned": self.header,
            }
            # ZipInfo leaves out the time of writing
            archive.writestr(zipfile.ZipInfo(HEADER), to_json(top, indent=1))
            for name, array in self.arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    npy.write_array(member, np.asarray(array, order="C"), allow_pickle=False)

    @classmethod
    def _read(cls, file: IO[bytes], origin: str) -> Self:
        size = file.seek(0, io.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            members = _members(archive, size)
            top = from_json(archive.read(HEADER))
            version = top["streamsieve_format"]
            if version != FORMAT:
                raise DataError(
                    f"{origin}: model format {version}, this version reads {FORMAT}; install the"
                    f" version that wrote it ({top.get('version', 'unknown')}) or train again"
                )
            arrays = {name: _read_array(archive, member) for name, member in members.items()}
        fields = (top["method"], top["params"], top["learned"], top["note"], top["version"])
        for value, kind in zip(fields, (str, dict, dict, dict | None, str), strict=True):
            if not isinstance(value, kind):
                raise ValueError(f"its header has an unexpected value {str(value)[:40]!r}")
        return cls(fields[0], fields[1], fields[2], arrays, fields[3], fields[4])


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays in an archive by name; raise ValueError if they exceed the file."""
    members: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for member in archive.infolist():
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"{member.filename[:40]!r} is compressed")
        total += member.file_size
        if member.filename == HEADER:
            continue
        name = member.filename.removesuffix(".npy")
        if name == member.filename or not ARRAY_NAME.fullmatch(name) or name in members:
            raise ValueError(f"it has an unexpected member {member.filename[:40]!r}")
        members[name] = member
    if total > size:
        raise ValueError(f"its members claim {total:,} bytes, but it has {size:,}")
    return members


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array in an archive; raise an error if its header and its size do not agree."""
    with archive.open(info) as member:
        version = npy.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{info.filename!r} is an array of version {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(member)
        if dtype.kind not in KINDS or not dtype.isnative or (fortran and len(shape) > 1):
            raise ValueError(f"{info.filename!r} holds {dtype} values")
        if (
            min(shape, default=0) < 0
            or math.prod(shape) * dtype.itemsize != info.file_size - member.tell()
        ):
            raise ValueError(f"the size of {info.filename!r} does not match its shape {shape}")
        array = np.empty(shape, dtype)
        rest = array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")
        while rest:
            part = member.read(min(len(rest), PART_BYTES))
            if not part:
                raise EOFError(f"{info.filename!r} is cut short")
            rest[: len(part)] = part
            rest = rest[len(part) :]
        member.read(1)  # reading the end compares the check sum
    return array


@contextmanager
def refusing_damage(path: str | Path) -> Iterator[None]:
    """Convert the errors that an invalid or damaged model file raises into one message."""
    try:
        yield
    except (DataError, UsageError):
        raise
    except (
        *(zipfile.BadZipFile, zlib.error, struct.error, OSError, NotImplementedError),
        *(LookupError, EOFError, TypeError, ValueError, RuntimeError, OverflowError),
    ) as error:
        # EINVAL: a seek to an impossible position in a damaged file
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise DataError(f"{path}: not a streamsieve model, or damaged ({error})") from error


# ---- texts


def texts_to_arrays(name: str, texts: Any) -> Arrays:
    """Return a list of texts as one text in UTF-8 and the offset of each.

    The arrays are as large as the texts together, not as the longest times their number.
    """
    encoded = [str(text).encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return {f"{name}.text": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.offsets": offsets}


def pop_texts(name: str, arrays: Arrays) -> NDArray[Any] | None:
    """Remove the texts that ``texts_to_arrays`` stored and return them; None if there are none."""
    if f"{name}.offsets" not in arrays:
        return None
    text, offsets = arrays.pop(f"{name}.text"), arrays.pop(f"{name}.offsets")
    if (
        text.dtype != np.uint8
        or offsets.dtype != np.int64
        or text.ndim != 1
        or offsets.ndim != 1
        or not offsets.size
    ):
        raise ValueError(f"the {name} are not texts")
    if offsets[0] != 0 or offsets[-1] != text.size or (np.diff(offsets) < 0).any():
        raise ValueError(f"the {name} have invalid offsets")
    data, cuts = text.tobytes(), offsets.tolist()
    texts = [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]
    return np.array(texts, dtype=object)


def pop_numbered_texts(name: str, numbers: str, arrays: Arrays) -> dict[int, str] | None:
    """Remove texts and the array of their numbers; return the texts by number, or None."""
    keys, texts = arrays.pop(numbers, None), pop_texts(name, arrays)
    if keys is None and texts is None:
        return None
    if (
        keys is None
        or texts is None
        or keys.dtype != np.int64
        or keys.shape != texts.shape
        or np.unique(keys).size != keys.size
    ):
        raise ValueError(f"its {name} do not match the numbers that they belong to")
    return dict(zip(keys.tolist(), texts.tolist(), strict=True))


# ---- checks for all models


def check_classes(classes: NDArray[Any]) -> None:
    """Raise ValueError if classes are not sorted, or if one of them is not a valid label."""
    if classes.ndim != 1 or (classes.size > 1 and not (classes[1:] > classes[:-1]).all()):
        raise ValueError("its classes are not sorted")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("a class is not finite")


def check_ids(ids: NDArray[np.int64], width: int) -> None:
    """Raise ValueError if an id is not that of a feature, or appears twice."""
    if ids.size and not 0 <= ids.min() <= ids.max() < width:
        raise ValueError(f"it has a feature id outside of its {width:,} features")
    if np.unique(ids).size != ids.size:
        raise ValueError("a feature appears twice")


def check_scores(scores: NDArray[np.float64]) -> None:
    """Raise ValueError if a score is NaN."""
    if np.isnan(scores).any():
        raise ValueError("a feature has a score that is not a number")
