"""How long complete rows are, beside a file that has the selected features alone.

A model that divides rows by their length (``normalize="auto"``, ``"l2"``) predicts a reduced row as
the complete one only if it knows the length of that. The lengths are no feature, and other programs
read the file; so they are in a file of their own, ``.NAME.lengths`` beside NAME: a line of JSON,
filled with blanks to 1,024 bytes, and a float64 per row, the square of its length as the model
scales it. The line names the model and says how the reduced file begins, so that neither a changed
file nor another model is taken for the one that is meant.
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
MAX_NAME_LENGTH = 240  # bytes: file systems allow 255, and more is added


def mark_of(*parts: NDArray[Any] | str) -> str:
    """Return a few digits that are the same for the same arrays and texts, and for no others."""
    return digest(*parts)[:MARK_DIGITS]


def model_mark(learner: AnyLearner) -> str:
    """What tells one trained model from another."""
    selection = learner.results.selection()
    known = f"{learner.method.name} {parameters_of(learner.params)} {learner.results.n_rows_}"
    return mark_of(selection.indices, selection.scores, known)


def beside(path: Path) -> Path:
    """Where the lengths of the rows of a file are; what a folder is read for omits hidden files."""
    name = path.name if len(path.name.encode()) <= MAX_NAME_LENGTH else mark_of(path.name)
    return path.with_name(f".{name}.lengths")


@contextmanager
def writing_lengths(path: Path, mark: str) -> Iterator[IO[bytes]]:
    """Yield the file for the lengths of the rows of another, which is written meanwhile; without any it is removed."""
    with replacing(beside(path)) as partial, partial.open("r+b") as file:
        file.write(b" " * HEADER_BYTES)
        yield file
        n_rows = (file.tell() - HEADER_BYTES) // 8
        header = to_json({"model": mark, "rows": n_rows, **_content(path)}).encode()
        file.seek(0)
        file.write(header.ljust(HEADER_BYTES - 1) + b"\n")
    if not n_rows:
        beside(path).unlink()


def _content(path: Path) -> dict[str, Any]:
    """What shows whether a file is still the same, wherever it is."""
    return {name: value for name, value in fingerprint(str(path)).items() if name != "path"}


class Lengths:
    """The squared lengths of the rows of files in order, as many as are asked for each time."""

    def __init__(self, files: list[Path]) -> None:
        self.parts = (np.memmap(path, "<f8", "r", HEADER_BYTES) for path in files)
        self.rest: NDArray[np.float64] = np.empty(0)

    def __call__(self, count: int) -> NDArray[np.float64]:
        found = [self.rest[:count]]
        self.rest, missing = self.rest[count:], count - found[0].size
        while missing:
            part = next(self.parts, None)
            if part is None:
                raise DataError("there are more rows than lengths of them; apply the run again")
            found.append(part[:missing])
            self.rest, missing = part[missing:], missing - found[-1].size
        squares = np.concatenate(found)
        if not (squares >= 0.0).all():
            raise DataError("the lengths of rows are damaged; apply the run again")
        return squares


def lengths_of(files: list[Path], mark: str) -> Lengths | str:
    """The lengths of the rows of some files; in words why not, if they are not known of all."""
    for path in files:
        known = beside(path)
        if not known.is_file():
            return f"there is no {known.name} beside it"
        with known.open("rb") as file:
            content = file.read(HEADER_BYTES)
        try:
            header = from_json(content.decode())
            if known.stat().st_size != HEADER_BYTES + 8 * header["rows"]:
                raise ValueError
            if header["model"] != mark:
                return f"{known.name} is of another run"
            if any(header[name] != value for name, value in _content(path).items()):
                return f"{path.name} has changed since {known.name} was written"
        except (ValueError, KeyError, TypeError):
            return f"{known.name} is damaged"
    return Lengths([beside(path) for path in files])
