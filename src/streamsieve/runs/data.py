"""Describe the data of a run: its location, whether it has changed, and facts for the record."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..json_text import Count
from ..selectors.base import AnyLearner
from ..selectors.parameters import to_builtin
from ..sources.base import DataSource
from ..sources.finding import STANDARD_INPUT, files_of, is_names, is_special_name, unwrap_single
from ..values import is_sparse

HEAD_BYTES = 1 << 20
MAX_SAMPLED_ENTRIES = 4096  # entries of an array
MAX_CLASSES = 1000  # that are counted one by one

Location = str | Annotated[list[str], bool]  # a file, folder or pattern, or several of them


class FileFacts(TypedDict):
    """A file as it was when a run began."""

    path: str
    bytes: Count


class DataFacts(TypedDict):
    """The fields of a fingerprint, by which changed data is recognised."""

    name: NotRequired[str | None]
    path: NotRequired[str]
    bytes: NotRequired[Count]
    files: NotRequired[list[FileFacts]]


def names_data(facts: DataFacts) -> bool:
    """Return True if a fingerprint names its data."""
    return not facts.keys().isdisjoint(("name", "path", "files"))


def location(data: Any) -> Location | None:
    """Return where data can be found again: absolute paths, or a synthetic name.

    Return None for data in memory and for pipes.
    """
    if not is_names(data):
        return None
    names = unwrap_single(data)
    if not isinstance(names, str | Path):
        return [str(Path(name).absolute()) for name in names]
    if str(names) == STANDARD_INPUT:
        return None
    return str(names) if is_special_name(names) else str(Path(names).absolute())


def fingerprint(data: Location | None) -> Any:
    """Return a fingerprint, by which changed data is recognised.

    For a file it is the size and a hash of the beginning; for several files, of which there may be
    very many, it is their sizes and times.
    """
    if data is None or (isinstance(data, str) and is_special_name(data)):
        return {"name": data}
    if isinstance(data, list) or not Path(data).is_file():
        states = [(str(path), path.stat()) for path in files_of(data)]
        return {
            "files": [
                {"path": path, "bytes": status.st_size, "modified_ns": status.st_mtime_ns}
                for path, status in states
            ]
        }
    path = Path(data)
    with path.open("rb") as file:
        head = hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()
    return {"path": data, "bytes": path.stat().st_size, "sha256_of_first_mib": head}


def check_unchanged(data: Location | None, before: Any) -> None:
    """Raise DataError if the files are not those of the fingerprint ``before``."""
    before = before or {}
    files = {
        file["path"]: file for file in before.get("files", [before] if "path" in before else [])
    }
    for path in files:
        if not Path(path).exists():
            raise DataError(f"{path}: the file this run reads is gone; put it back to go on")
    now = fingerprint(data) if files else {"files": []}
    for file in now.get("files", [now]):
        path = file.get("path", data)
        if path not in files:
            raise DataError(
                f"{path}: the file is new since the run began; remove it, or start a new run"
            )
        if file != files[path]:
            raise DataError(f"{path}: the file has changed since the run began; start a new run")


def digest(*parts: str | bytes | NDArray[Any]) -> str:
    """Return 32 hexadecimal digits that are the same only for the same parts."""
    hasher = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            if part.dtype == object:  # texts
                part = np.array([str(value) for value in part.tolist()])
            hasher.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            hasher.update(part.encode() if isinstance(part, str) else part)
    return hasher.hexdigest()[:32]


def describe_data(before: Any, source: DataSource, learner: AnyLearner) -> dict[str, Any]:
    """Return the facts about learned data that go into a record, as far as they are known.

    These are its size, density and classes, and a fingerprint that is the same for the same data in
    any place. The fingerprint is made of sizes, names and samples: it takes no time, and misses
    changes of a few values.
    """
    results, width = learner.results, learner.features.width
    rows, classes = results.n_rows_, results.class_rows() or {}
    matrix_bytes = (
        None if source.matrix is None else sum(array.nbytes for array in arrays_of(source.matrix))
    )
    counts = [] if len(classes) > MAX_CLASSES else classes.items()
    facts = {
        "n_bytes": matrix_bytes if source.facts.n_bytes is None else source.facts.n_bytes,
        "fingerprint": fingerprint_anywhere(before or {}, source),
        "density": results.n_nonzero_ / (rows * width) if rows and width else None,
        "classes": [{"label": to_builtin(label), "rows": count} for label, count in counts] or None,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def fingerprint_anywhere(before: Any, source: DataSource) -> str | None:
    """Return a short text that is the same for the same data in any place.

    Return None for data that can be read only once. ``before`` is the fingerprint that the run
    began with.
    """
    try:
        if "files" in before:
            files = [(Path(file["path"]), file["bytes"]) for file in before["files"]]
            names = str([(path.name, size) for path, size in files])
            return digest(names, *ends_of(files[0][0]), *ends_of(files[-1][0]))
        if "path" in before:
            return digest(*ends_of(Path(before["path"])))
    except OSError:  # a file that was moved after the run had read it
        return None
    if before.get("name") is not None:
        return digest(before["name"])
    if source.matrix is None:
        return None
    arrays = [*arrays_of(source.matrix), *([source.targets()] if source.has_labels else [])]
    return digest(
        str(source.matrix.shape), *(part for array in arrays for part in sample_of(array))
    )


def ends_of(path: Path) -> tuple[str, bytes, bytes]:
    """Return the size of a file, its beginning and its end."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD_BYTES)
        file.seek(max(0, size - HEAD_BYTES))
        return str(size), head, file.read(HEAD_BYTES)


def sample_of(array: NDArray[Any]) -> tuple[str, str | NDArray[Any]]:
    """Return the type and the shape of an array, and some entries at even distances."""
    positions = np.linspace(0, array.size - 1, min(MAX_SAMPLED_ENTRIES, array.size)).astype(
        np.int64
    )
    entries = array[np.unravel_index(positions, array.shape)]
    return f"{array.dtype} {array.shape}", (
        str(entries.tolist()) if entries.dtype == object else entries
    )


def arrays_of(matrix: Any) -> list[NDArray[Any]]:
    """Return the arrays of a dense or sparse matrix."""
    return [matrix.indptr, matrix.indices, matrix.data] if is_sparse(matrix) else [matrix]
