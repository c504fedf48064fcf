"""Store the lengths of complete rows beside a file that has only the selected features.

A model that divides rows by their length (``normalize="auto"``, ``"l2"``) predicts a reduced row
like the complete row only if it knows the length of the complete row. The lengths are not a
feature, and other programs read the file; so they are in a separate file, ``.NAME.lengths`` beside
NAME. It has a line of JSON, padded with spaces to 1,024 bytes, and a float64 per row: the squared
length of the row as the model scales it. The line names the model and the beginning of the reduced
file, so that neither a changed file nor another model is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..files import replacing
from ..json_text import from_json, to_json
from ..runs.data import digest, fingerprint
from ..selectors.base import AnyLearner
from ..selectors.parameters import parameters_of

HEADER_BYTES = 1024
MARK_DIGITS = 16
MAX_NAME_LENGTH = 240  # bytes: file systems allow 255, and a suffix is added


def mark_of(*parts: NDArray[Any] | str) -> str:
    """Return a short hash of arrays and texts."""
    return digest(*parts)[:MARK_DIGITS]


def model_mark(learner: AnyLearner) -> str:
    """Return a short hash that identifies a trained model."""
    selection = learner.results.selection()
    settings = f"{learner.method.name} {parameters_of(learner.params)} {learner.results.n_rows_}"
    return mark_of(selection.indices, selection.scores, settings)


def lengths_path(path: Path) -> Path:
    """Return the path of the lengths of the rows of a file.

    The name begins with a dot: hidden files are ignored when a folder is read.
    """
    name = path.name if len(path.name.encode()) <= MAX_NAME_LENGTH else mark_of(path.name)
    return path.with_name(f".{name}.lengths")


@contextmanager
def write_lengths(path: Path, mark: str) -> Iterator[IO[bytes]]:
    """Yield the file for the lengths of the rows of another file being written.

    If no length was written, the file is removed.
    """
    with replacing(lengths_path(path)) as partial, partial.open("r+b") as file:
        file.write(b" " * HEADER_BYTES)
        yield file
        n_rows = (file.tell() - HEADER_BYTES) // 8
        header = to_json({"model": mark, "rows": n_rows, **_content(path)}).encode()
        file.seek(0)
        file.write(header.ljust(HEADER_BYTES - 1) + b"\n")
    if not n_rows:
        lengths_path(path).unlink()


def _content(path: Path) -> dict[str, Any]:
    """Return what shows whether a file is unchanged, wherever it is."""
    return {name: value for name, value in fingerprint(str(path)).items() if name != "path"}


class RowLengths:
    """The squared lengths of the rows of several files in order, read as many as asked."""

    def __init__(self, files: list[Path]) -> None:
        self.parts = (np.memmap(path, "<f8", "r", HEADER_BYTES) for path in files)
        self.rest: NDArray[np.float64] = np.empty(0)

    def __call__(self, count: int) -> NDArray[np.float64]:
        chunks = [self.rest[:count]]
        self.rest, missing = self.rest[count:], count - chunks[0].size
        while missing:
            part = next(self.parts, None)
            if part is None:
                raise DataError("there are more rows than stored lengths; apply the run again")
            chunks.append(part[:missing])
            self.rest, missing = part[missing:], missing - chunks[-1].size
        squares = np.concatenate(chunks)
        if not (squares >= 0.0).all():
            raise DataError("the stored lengths of rows are damaged; apply the run again")
        return squares


def lengths_of(files: list[Path], mark: str) -> RowLengths | str:
    """Return the lengths of the rows of some files, or the reason why they are unknown."""
    for path in files:
        lengths_file = lengths_path(path)
        if not lengths_file.is_file():
            return f"{lengths_file.name} is missing"
        with lengths_file.open("rb") as file:
            content = file.read(HEADER_BYTES)
        try:
            header = from_json(content.decode())
            if lengths_file.stat().st_size != HEADER_BYTES + 8 * header["rows"]:
                raise ValueError
            if header["model"] != mark:
                return f"{lengths_file.name} belongs to another run"
            if any(header[name] != value for name, value in _content(path).items()):
                return f"{path.name} has changed since {lengths_file.name} was written"
        except (ValueError, KeyError, TypeError):
            return f"{lengths_file.name} is damaged"
    return RowLengths([lengths_path(path) for path in files])
