"""The folder of a comparison: what was asked, every cell that is finished, and the table of them all at the end.

``request.json`` is written before the first cell, a file of ``cells`` after each, the tables last. Every file is whole
or not there, so a comparison can be killed at any moment, and the same command does what is missing. A folder may come
from a stranger: what is not a regular file in it is neither read nor written through.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import DataError, UsageError
from ..files import is_there, lock, replacing
from ..json_text import from_json, to_json
from ..runs.shapes import Shape, fields, is_count, is_number, is_text, list_of, or_none
from .cells import Line

REQUEST, CELLS = "request.json", "cells"
MOST_JSON = 1 << 30  # bytes

is_cell: Shape = fields(
    {
        "data": is_text,
        "method": is_text,
        "model": is_text,
        "k": or_none(is_count),
        "seed": is_count,
        "fold": or_none(is_count),
        **dict.fromkeys(("n_selected", "peak_memory_bytes"), or_none(is_count)),
        **dict.fromkeys(("accuracy", "balanced_accuracy", "auc", "r2", "online_mistake_rate"), or_none(is_number)),
        **dict.fromkeys(("seconds", "learn_seconds", "compile_seconds"), or_none(is_number)),
        "selected": or_none(list_of(is_count)),
        "error": or_none(is_text),
    },
    {},
)
is_request: Shape = fields(
    {
        "data": list_of(fields({"name": is_text, "features": is_count, "fingerprint": is_text}, {"kind": is_text})),
        **dict.fromkeys(("methods", "models"), list_of(is_text)),
        "ks": list_of(lambda k: is_count(k) or k == "auto"),
        "seeds": list_of(is_count),
    },
    {},
)


class ComparisonFolder:
    """The folder of a comparison that is going on; a context manager that keeps other processes off."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: int | None = None

    def __enter__(self) -> ComparisonFolder:
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path}: is not a folder; name another")
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if lock(self._lock) == "taken":
                raise UsageError(f"{self.path}: another process is at work on this comparison; wait until it has ended")
            if not is_there(self.path / REQUEST) and any(self.path.iterdir()):
                raise UsageError(f"{self.path}: holds something else than a comparison; name a new or empty folder")
            self.before = read_request(self.path) if is_there(self.path / REQUEST) else None
            self._make_cells()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _make_cells(self) -> None:
        cells = self.path / CELLS
        if cells.is_symlink():
            raise DataError(f"{cells}: is a link, where only a folder can be; look who made it, and remove it")
        cells.mkdir(exist_ok=True)

    def refuse_changed(self, name: str, fingerprint: str) -> None:
        """Refuse data that is not what earlier cells were measured on."""
        for known in [] if self.before is None else self.before["data"]:
            if known["name"] == name and known["fingerprint"] != fingerprint:
                raise UsageError(
                    f"{self.path}: the data {name!r} has changed since this comparison began, or is read in another "
                    "way; name another folder, or remove this one"
                )

    def ask(self, request: dict[str, Any]) -> None:
        """Note what is asked."""
        write_json(self.path / REQUEST, request)

    def cell(self, digest: str) -> Line | None:
        """A cell that is finished; None if it is not, or not whole."""
        path = self.path / CELLS / f"{digest}.json"
        if not is_there(path):
            return None
        try:
            line = from_json(path.read_text(encoding="utf-8"))
        except ValueError:
            return None
        return line if is_cell(line) else None

    def keep(self, digest: str, line: Line) -> None:
        """Keep a cell that is finished."""
        write_json(self.path / CELLS / f"{digest}.json", line)


def read_request(folder: Path) -> dict[str, Any]:
    """What a comparison was asked."""
    path, cure = folder / REQUEST, "put it back from a copy, or name another folder"
    if not is_there(path):
        raise UsageError(f"{folder}: there is no comparison in this folder")
    if path.stat().st_size > MOST_JSON:
        raise DataError(f"{path}: damaged (it is larger than {MOST_JSON >> 30} GiB); {cure}")
    try:
        request = from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: damaged ({error}); {cure}") from error
    if not is_request(request):
        raise DataError(f"{path}: damaged, or of another version; {cure}")
    found: dict[str, Any] = request
    return found


def write_json(path: Path, content: dict[str, Any]) -> None:
    with replacing(path, follow=False) as partial:
        partial.write_text(to_json(content, indent=1) + "\n", encoding="utf-8")
