"""The folder of a comparison: what was asked, every cell that is finished, and the table of them all at the end.

``request.json`` is written before the first cell, a file of ``cells`` after each, the tables last.
Every file is whole or not there, so a comparison can be killed at any moment, and the same command
does what is missing. A folder may come from a stranger: what is not a regular file in it is neither
read nor written through.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from ..errors import DataError, UsageError
from ..files import is_there, lock, replacing
from ..json_text import Count, Measure, conforms, from_json, to_json
from .cells import Line

REQUEST, CELLS = "request.json", "cells"
MAX_JSON = 1 << 30  # bytes


class CellFields(TypedDict):
    """A finished cell, as its file has it."""

    data: str
    method: str
    model: str
    k: Count | None
    seed: Count
    fold: Count | None
    n_selected: Count | None
    peak_memory_bytes: Count | None
    accuracy: Measure
    balanced_accuracy: Measure
    auc: Measure
    r2: Measure
    online_mistake_rate: Measure
    seconds: Measure
    learn_seconds: Measure
    compile_seconds: Measure
    selected: list[Count] | None
    error: str | None


class SetFields(TypedDict):
    """A data set that was compared on."""

    name: str
    features: Count
    fingerprint: str
    kind: NotRequired[str]


class RequestFields(TypedDict):
    """What was asked, as far as it must be known again."""

    data: list[SetFields]
    methods: list[str]
    models: list[str]
    ks: list[Count | Literal["auto"]]
    seeds: list[Count]


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
                raise UsageError(
                    f"{self.path}: another process is at work on this comparison; wait until it has"
                    " ended"
                )
            if not is_there(self.path / REQUEST) and any(self.path.iterdir()):
                raise UsageError(
                    f"{self.path}: holds something else than a comparison; name a new or empty"
                    " folder"
                )
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
            raise DataError(
                f"{cells}: is a link, where only a folder can be; look who made it, and remove it"
            )
        cells.mkdir(exist_ok=True)

    def refuse_changed(self, name: str, fingerprint: str) -> None:
        """Refuse data that is not what earlier cells were measured on."""
        for known in [] if self.before is None else self.before["data"]:
            if known["name"] == name and known["fingerprint"] != fingerprint:
                raise UsageError(
                    f"{self.path}: the data {name!r} has changed since this comparison began, or is"
                    " read in another way; name another folder, or remove this one"
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
        return line if conforms(line, CellFields) else None

    def keep(self, digest: str, line: Line) -> None:
        """Keep a cell that is finished."""
        write_json(self.path / CELLS / f"{digest}.json", line)


def read_request(folder: Path) -> dict[str, Any]:
    """What a comparison was asked."""
    path, cure = folder / REQUEST, "put it back from a copy, or name another folder"
    if not is_there(path):
        raise UsageError(f"{folder}: there is no comparison in this folder")
    if path.stat().st_size > MAX_JSON:
        raise DataError(f"{path}: damaged (it is larger than {MAX_JSON >> 30} GiB); {cure}")
    try:
        request = from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path}: damaged ({error}); {cure}") from error
    if not conforms(request, RequestFields):
        raise DataError(f"{path}: damaged, or of another version; {cure}")
    found: dict[str, Any] = request
    return found


def write_json(path: Path, content: dict[str, Any]) -> None:
    with replacing(path, follow=False) as partial:
        partial.write_text(to_json(content, indent=1) + "\n", encoding="utf-8")
