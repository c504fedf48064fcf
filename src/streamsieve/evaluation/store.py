"""Keep a comparison in a folder: its request, every finished cell and, at the end, the table.

``request.json`` is written before the first cell, a file of ``cells`` after each, the tables last.
Every file is complete or absent, so a comparison can be killed at any moment, and the same command
does what is missing. A folder may come from a stranger: anything in it that is not a regular file
is neither read nor written through.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from ..errors import DataError, UsageError
from ..files import file_exists, lock
from ..json_text import Count, conforms, from_json, read_json, write_json
from .cells import COLUMNS, Line

REQUEST, CELLS = "request.json", "cells"


class SetFields(TypedDict):
    """The fields of a data set of a comparison."""

    name: str
    features: Count
    fingerprint: str
    kind: NotRequired[str]


class RequestFields(TypedDict):
    """The fields of a request that are needed when a comparison is read."""

    data: list[SetFields]
    methods: list[str]
    models: list[str]
    ks: list[Count | Literal["auto"]]
    seeds: list[Count]


class ComparisonFolder:
    """The folder of a comparison in progress; a context manager that locks out other processes."""

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
            if not file_exists(self.path / REQUEST) and any(self.path.iterdir()):
                raise UsageError(
                    f"{self.path}: is not empty and does not hold a comparison; name a new or empty"
                    " folder"
                )
            self.before = read_request(self.path) if file_exists(self.path / REQUEST) else None
            if (self.path / CELLS).is_symlink():
                raise DataError(
                    f"{self.path / CELLS}: is a link, but must be a folder; look who made it, and"
                    " remove it"
                )
            (self.path / CELLS).mkdir(exist_ok=True)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def check_unchanged(self, name: str, fingerprint: str) -> None:
        """Raise UsageError if a data set is not the one that earlier cells were measured on."""
        for facts in [] if self.before is None else self.before["data"]:
            if facts["name"] == name and facts["fingerprint"] != fingerprint:
                raise UsageError(
                    f"{self.path}: the data {name!r} has changed since this comparison began, or is"
                    " read with other options; name another folder, or remove this one"
                )

    def write_request(self, request: dict[str, Any]) -> None:
        """Write the request."""
        write_json(self.path / REQUEST, request)

    def cell(self, digest: str) -> Line | None:
        """Return a finished cell; None if it is absent or damaged."""
        path = self.path / CELLS / f"{digest}.json"
        if not file_exists(path):
            return None
        try:
            line = from_json(path.read_text(encoding="utf-8"))
        except ValueError:
            return None
        is_complete = isinstance(line, dict) and all(
            name in line and conforms(line[name], kind) for name, kind in COLUMNS.items()
        )
        return line if is_complete else None

    def keep(self, digest: str, line: Line) -> None:
        """Write a finished cell."""
        write_json(self.path / CELLS / f"{digest}.json", line)


def read_request(folder: Path) -> dict[str, Any]:
    """Return the request of a comparison."""
    path, cure = folder / REQUEST, "put it back from a copy, or name another folder"
    if not file_exists(path):
        raise UsageError(f"{folder}: there is no comparison in this folder")
    request = read_json(path, cure)
    if not conforms(request, RequestFields):
        raise DataError(f"{path}: damaged, or of another version; {cure}")
    return request
