"""A model as one file: a zip archive of a JSON header and NumPy arrays. Nothing in it is ever executed."""

from __future__ import annotations

import errno
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from .errors import DataError, UsageError
from .files import replacing

FORMAT = 1
HEADER = "header.json"


def write_model(path: str | Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write header and arrays to ``path``, all of it or nothing."""
    with replacing(Path(path)) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(HEADER, json.dumps({"streamsieve_format": FORMAT, **header}, indent=1))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read_model(path: str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that ``write_model`` wrote."""
    with refusing_damage(path), zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read(HEADER))
        if header.get("streamsieve_format") != FORMAT:
            raise DataError(
                f"{path}: model format {header.get('streamsieve_format')}, this version reads {FORMAT}; install "
                f"the version that wrote it ({header.get('version', 'unknown')}) or train again"
            )
        arrays = {}
        for name in archive.namelist():
            if name != HEADER:
                with archive.open(name) as member:
                    arrays[name.removesuffix(".npy")] = npy.read_array(member, allow_pickle=False)
    return header, arrays


@contextmanager
def refusing_damage(path: str | Path) -> Iterator[None]:
    """Turn what a file raises that is no model, or not whole, into one message."""
    try:
        yield
    except (DataError, UsageError):
        raise
    except (
        *(zipfile.BadZipFile, zlib.error, struct.error, OSError),
        *(LookupError, EOFError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError),
    ) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a seek to where no file can be
            raise
        raise DataError(f"{path}: not a streamsieve model, or damaged ({error})") from error
