"""What a run was asked for, and whether its data is still the same."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..sources.finding import STANDARD_INPUT, alone, files_of, is_names, is_no_file
from ..sources.formats import SVMLIGHT, format_of
from ..sources.reading import MISSING, STRINGS, Reading
from .shapes import Shape, fields, is_count, is_group, is_label, is_object, is_pair, is_text, list_of, or_none

if TYPE_CHECKING:
    from ..sources.base import DataSource

HEAD_BYTES = 1 << 20

Location = str | list[str]  # of one file, folder or pattern, or of several


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run was asked for, as its folder keeps it."""

    method: str
    params: dict[str, Any]
    data: Location | None = None  # where it is; None for what is in memory or a pipe
    test: Location | None = None
    classes: list[Any] | None = None
    target: str | None = None
    zero_based: bool = False
    names: str | tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    kept: dict[str, Any] | None = None  # what these left of data that has ids: the ids that are read
    strings: str = "onehot"
    missing: str = "error"
    groups: str | list[Any] | None = None  # a file; or one for each feature, or pairs of a feature and its group
    seed: int | None = None
    checkpoint_every: int | None = None
    fingerprint: dict[str, Any] | None = None  # of the data
    engine: str | None = None  # what runs its workers, if it is trained in parts
    workers: int | None = None
    address: str | None = None  # of a cluster
    memory: str | int | None = None  # that the process may take
    resamples: int | None = None  # subsamples that are selected from, too

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any], origin: str) -> RunRequest:
        """The request in a file; what is missing or of another kind is named."""
        content = LATER | content
        for known in dataclasses.fields(cls):
            if known.name not in content:
                raise DataError(f"{origin}: damaged, or of another version (no {known.name!r}); start a new run")
            value = content[known.name]
            if not KINDS[known.name](value):
                raise DataError(f"{origin}: damaged ({known.name!r} is {str(value)[:60]!r}); start a new run")
        found = {known.name: content[known.name] for known in dataclasses.fields(cls)}
        lists = {name: tuple(found[name]) for name in ("names", "drop", "only") if isinstance(found[name], list)}
        return cls(**found | lists)

    @property
    def reading(self) -> Reading:
        """How its data is to be read."""
        return Reading(**{name: getattr(self, name) for name in Reading._fields})

    @property
    def first_id(self) -> int:
        """What its data calls feature 0, by the name of the first file: earlier records do not say."""
        if self.data is None or self.zero_based or (isinstance(self.data, str) and is_no_file(self.data)):
            return 0
        first = Path(self.data if isinstance(self.data, str) else self.data[0])
        return int(not first.is_dir() and format_of(first)[0] is SVMLIGHT)

    def with_facts(self, source: DataSource) -> RunRequest:
        """Return the same, with what its data looks like now, and which of its features are read."""
        kept = None if source.kept is None else source.kept.to_dict()
        return replace(self, fingerprint=fingerprint(self.data), kept=kept)

    def data_read(self) -> dict[str, Any]:
        """The fingerprint for a record: of several files the first, the last and how many they are."""
        found = self.fingerprint or {}
        if "files" not in found:
            return found
        files = found["files"]
        known = {"first": files[0]["path"], "last": files[-1]["path"], "n_files": len(files)}
        return known | {"bytes": sum(file["bytes"] for file in files)}


is_location = or_none(lambda value: is_text(value) or (list_of(is_text)(value) and bool(value)))
is_file = fields({"path": is_text, "bytes": is_count}, {})

KINDS: dict[str, Shape] = {
    "method": is_text,
    "params": is_object,
    "data": is_location,
    "test": is_location,
    "classes": or_none(list_of(is_label)),
    "target": or_none(is_text),
    "zero_based": lambda value: isinstance(value, bool),
    "names": or_none(lambda value: is_text(value) or list_of(is_text)(value)),
    "drop": list_of(is_text),
    "only": or_none(list_of(is_text)),
    "kept": or_none(fields({"only": or_none(list_of(is_count)), "drop": list_of(is_count)}, {})),
    "strings": lambda value: value in STRINGS,
    "missing": lambda value: value in MISSING,
    "groups": or_none(lambda value: is_text(value) or list_of(is_group)(value) or list_of(is_pair)(value)),
    "seed": or_none(is_count),
    "checkpoint_every": or_none(lambda value: is_count(value) and value > 0),
    "fingerprint": or_none(fields({}, {"path": is_text, "bytes": is_count, "files": list_of(is_file)})),
    "engine": or_none(is_text),
    "workers": or_none(lambda value: is_count(value) and value > 0),
    "address": or_none(is_text),
    "memory": or_none(lambda value: is_text(value) or is_count(value)),
    "resamples": or_none(lambda value: is_count(value) and value > 1),
}
LATER: dict[str, Any] = {  # what earlier versions did not have, and how they went about it
    **dict.fromkeys(("engine", "workers", "address", "memory", "names", "only", "kept", "resamples")),
    "drop": [],
    "strings": "error",
    "missing": "error",
}


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


def fingerprint(found_at: Location | None) -> dict[str, Any]:
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


def _file_as_it_is(path: Path) -> dict[str, Any]:
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


def refuse_changed_files(request: RunRequest, before: dict[str, dict[str, Any]]) -> None:
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
