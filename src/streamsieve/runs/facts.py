"""What a record says of the data of a run, beside where it is: facts that cost nearly nothing to know."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..selectors.base import AnyLearner
from ..selectors.parameters import to_builtin
from ..sources.base import DataSource
from ..values import is_sparse
from .request import HEAD_BYTES, RunRequest

MOST_CLASSES = 1000  # that are counted one by one
SAMPLED = 4096  # entries of an array


def data_facts(request: RunRequest, source: DataSource, learner: AnyLearner) -> dict[str, Any]:
    """Of data that was learned: its size, its fingerprint, how dense it is and its classes, as far as they are known.

    The fingerprint says whether data is the same wherever it lies. It is made of sizes, names and samples, so it takes
    no time, and misses a change of a few values in the middle.
    """
    results, width = learner.results, learner.features.width
    rows, classes = results.n_rows_, list((results.class_rows() or {}).items())
    facts = {
        "n_bytes": size_of(source.matrix) if source.facts.n_bytes is None else source.facts.n_bytes,
        "fingerprint": fingerprint_of(request, source),
        "density": results.n_nonzero_ / (rows * width) if rows and width else None,
        "classes": [{"label": to_builtin(label), "rows": count} for label, count in classes] or None,
    }
    if len(classes) > MOST_CLASSES:
        facts["classes"] = None
    return {name: fact for name, fact in facts.items() if fact is not None}


def fingerprint_of(request: RunRequest, source: DataSource) -> str | None:
    """A short text that is the same for the same data; None for what is gone once it is read."""
    known, digest = request.fingerprint or {}, hashlib.sha256()
    try:
        if "files" in known:
            digest.update(str([(Path(file["path"]).name, file["bytes"]) for file in known["files"]]).encode())
            for file in (known["files"][0], known["files"][-1]):
                add_ends(digest, Path(file["path"]))
        elif "path" in known:
            add_ends(digest, Path(known["path"]))
        elif (name := known.get("name")) is not None:
            digest.update(name.encode())
        elif source.matrix is not None:
            add_matrix(digest, source.matrix)
            if source.has_labels:
                add_array(digest, source.targets())
        else:
            return None
    except OSError:  # a file that was moved meanwhile: the run has read it all the same
        return None
    return digest.hexdigest()[:32]


def add_ends(digest: Any, path: Path) -> None:
    """The size of a file, how it begins and how it ends."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(str(size).encode() + file.read(HEAD_BYTES))
        file.seek(max(0, size - HEAD_BYTES))
        digest.update(file.read(HEAD_BYTES))


def add_matrix(digest: Any, matrix: Any) -> None:
    """The shape and some values of a matrix."""
    digest.update(str(matrix.shape).encode())
    for array in arrays_of(matrix):
        add_array(digest, array)


def add_array(digest: Any, array: NDArray[Any]) -> None:
    """The type and the shape of an array, and some of its entries, evenly spread."""
    digest.update(f"{array.dtype} {array.shape}".encode())
    at = np.linspace(0, array.size - 1, min(SAMPLED, array.size)).astype(np.int64)
    some = array[np.unravel_index(at, array.shape)]
    digest.update(str(some.tolist()).encode() if some.dtype == object else some.tobytes())


def arrays_of(matrix: Any) -> list[NDArray[Any]]:
    """What a matrix is made of, dense or sparse."""
    return [matrix.indptr, matrix.indices, matrix.data] if is_sparse(matrix) else [matrix]


def size_of(matrix: Any) -> int | None:
    """The memory of a matrix, if there is one."""
    return None if matrix is None else sum(int(array.nbytes) for array in arrays_of(matrix))
