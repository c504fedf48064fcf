"""What a run was asked for, and whether its data is still the same."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from ..engine_choice import EngineChoice
from ..errors import DataError
from ..json_check import Count, Group, Label, Positive, at_least, wrong_fields
from ..sources.finding import STANDARD_INPUT, alone, files_of, is_names, is_no_file
from ..sources.options import OPTIONS, ReadOptions

HEAD_BYTES = 1 << 20


def is_part(fraction: Any) -> bool:
    """Return True for a fraction of something that leaves something."""
    return bool(0 < fraction < 1)


Location = str | Annotated[list[str], bool]  # of one file, folder or pattern, or of several


class FileFacts(TypedDict):
    """A file as it was when a run began."""

    path: str
    bytes: Count


class DataFacts(TypedDict):
    """What shows whether data is still the same."""

    name: NotRequired[str | None]
    path: NotRequired[str]
    bytes: NotRequired[Count]
    files: NotRequired[list[FileFacts]]


def titled(title: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare a field that a report shows under a title."""
    return field(default=default, metadata={"title": title})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run was asked for, as its folder keeps it; a report shows what has a title."""

    method: str
    params: dict[str, Any]
    data: Location | None = titled("Learned from", None)  # None for what is in memory or a pipe
    test: Location | Annotated[float, is_part] | None = titled("Tested on", None)  # or on a fraction of the rows
    read: ReadOptions = ReadOptions()
    groups: str | list[Group] | list[tuple[Group, Group]] | None = titled("Groups", None)  # a file, or all of them
    classes: list[Label] | None = titled("Classes", None)
    seed: Count | None = titled("Seed", None)
    memory: str | Count | None = titled("Most memory", None)
    resamples: Annotated[int, at_least(2)] | None = titled("Resamples", None)
    checkpoint_every: Positive | None = None
    fingerprint: DataFacts | None = None
    engine: EngineChoice | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any], origin: str) -> RunRequest:
        """Return the request in a file; what is missing or of another kind is named."""
        for name in wrong_fields(content, cls):
            if name not in content:
                raise DataError(f"{origin}: damaged, or of another version (no {name!r}); start a new run")
            raise DataError(f"{origin}: damaged ({name!r} is {str(content[name])[:60]!r}); start a new run")
        found = {known.name: content[known.name] for known in dataclasses.fields(cls)}
        read: dict[str, Any] = {name: as_tuple(value) for name, value in found["read"].items()}
        engine = None if found["engine"] is None else EngineChoice(**found["engine"])
        return cls(**{**found, "read": ReadOptions(**read), "engine": engine})

    def asked(self) -> Iterator[tuple[str, Any]]:
        """Yield what was asked of the run and its data, but for what is as usual, under the names of the fields."""
        for known in dataclasses.fields(self):
            if known.name == "read":
                yield from (
                    (name, getattr(self.read, name)) for name, one in OPTIONS.items() if not is_usual(self.read, one)
                )
            elif known.metadata and not is_usual(self, known):
                yield known.name, getattr(self, known.name)

    def with_fingerprint(self) -> RunRequest:
        """Return the same, with what its data looks like now."""
        return replace(self, fingerprint=fingerprint(self.data))

    def data_read(self) -> dict[str, Any]:
        """Return the fingerprint for a record: of several files the first, the last and how many they are."""
        found: dict[str, Any] = {**(self.fingerprint or {})}
        if "files" not in found:
            return found
        files = found["files"]
        known = {"first": files[0]["path"], "last": files[-1]["path"], "n_files": len(files)}
        return known | {"bytes": sum(file["bytes"] for file in files)}


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


def is_usual(options: Any, known: dataclasses.Field[Any]) -> bool:
    """Return True if nobody asked for what a field of a dataclass says."""
    return bool(getattr(options, known.name) == known.default)


def titles() -> dict[str, str]:
    """Return what a report calls the things that can be asked."""
    asked = [*dataclasses.fields(RunRequest), *OPTIONS.values()]
    return {known.name: known.metadata["title"] for known in asked if known.metadata}


def location(data: Any) -> Location | None:
    """Where data can be found again: absolute paths or a synthetic name; None for what is in memory or a pipe."""
    if not is_names(data):
        return None
    names = alone(data)
    if not isinstance(names, str | Path):
        return [str(Path(name).absolute()) for name in names]
    if str(names) == STANDARD_INPUT:
        return None
    return str(names) if is_no_file(names) else str(Path(names).absolute())


def fingerprint(found_at: Location | None) -> Any:
    """What shows whether data is still the same.

    Of a file that is its size and a hash of how it begins; of several, which may be very many, their sizes and times.
    """
    if found_at is None or (isinstance(found_at, str) and is_no_file(found_at)):
        return {"name": found_at}
    if isinstance(found_at, list) or not Path(found_at).is_file():
        return {"files": [_file_as_it_is(path) for path in files_of(found_at)]}
    path = Path(found_at)
    with path.open("rb") as file:
        head = hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()
    return {"path": found_at, "bytes": path.stat().st_size, "sha256_of_first_mib": head}


def _file_as_it_is(path: Path) -> Any:
    found = path.stat()
    return {"path": str(path), "bytes": found.st_size, "modified_ns": found.st_mtime_ns}


def refuse_changed(request: RunRequest) -> None:
    """Refuse to go on with files that are not those the run began with."""
    before = request.fingerprint or {}
    if "files" in before:
        refuse_changed_files(request, {file["path"]: file for file in before["files"]})
    if "path" not in before:
        return
    path = Path(before["path"])
    refuse_gone(path)
    if fingerprint(str(path)) != before:
        raise _changed(path)


def refuse_changed_files(request: RunRequest, before: dict[str, FileFacts]) -> None:
    """Refuse to go on if one of several files is gone, another or new."""
    for path, file in before.items():
        refuse_gone(Path(path))
        if _file_as_it_is(Path(path)) != file:
            raise _changed(Path(path))
    now = fingerprint(request.data)
    for file in now.get("files", ()):
        if file["path"] not in before:
            raise DataError(f"{file['path']}: the file is new since the run began; remove it, or start a new run")


def refuse_gone(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: the file this run reads is gone; put it back to go on")


def _changed(path: Path) -> DataError:
    return DataError(f"{path}: the file has changed since the run began; start a new run")
