"""What a run was asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from ..engine_choice import EngineChoice
from ..errors import DataError
from ..json_text import Count, Group, Label, Positive, at_least, wrong_fields
from ..sources.options import OPTIONS, ReadOptions
from .data import DataFacts, Location, names_data


def is_part(fraction: Any) -> bool:
    """Return True for a fraction of something that leaves something."""
    return bool(0 < fraction < 1)


def titled(title: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare a field that a report shows under a title."""
    return field(default=default, metadata={"title": title})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run was asked for, as its folder keeps it; a report shows what has a title."""

    method: str
    params: dict[str, Any]
    data: Location | None = titled("Learned from", None)  # None for what is in memory or a pipe
    test: Location | Annotated[float, is_part] | None = titled(
        "Tested on", None
    )  # or on a fraction of the rows
    read: ReadOptions = ReadOptions()
    groups: str | list[Group] | list[tuple[Group, Group]] | None = titled(
        "Groups", None
    )  # a file, or all of them
    classes: list[Label] | None = titled("Classes", None)
    seed: Count | None = titled("Seed", None)
    memory: str | Count | None = titled("Most memory", None)
    resamples: Annotated[int, at_least(2)] | None = titled("Resamples", None)
    checkpoint_every: Positive | None = None
    fingerprint: Annotated[DataFacts, names_data] | None = None
    engine: EngineChoice | None = None

    @classmethod
    def from_dict(cls, content: dict[str, Any], origin: str) -> RunRequest:
        """Return the request in a file; what is missing or of another kind is named."""
        for name in wrong_fields(content, cls):
            if name not in content:
                raise DataError(
                    f"{origin}: damaged, or of another version (no {name!r}); start a new run"
                )
            raise DataError(
                f"{origin}: damaged ({name!r} is {str(content[name])[:60]!r}); start a new run"
            )
        known = {field.name: content[field.name] for field in dataclasses.fields(cls)}
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in known["read"].items()
        }
        engine = None if known["engine"] is None else EngineChoice(**known["engine"])
        return cls(**{**known, "read": ReadOptions(**read), "engine": engine})

    def asked(self) -> Iterator[tuple[str, Any]]:
        """Yield what was asked of the run and its data, but for what is as usual, under the names of the fields."""
        for known in dataclasses.fields(self):
            if known.name == "read":
                yield from (
                    (name, getattr(self.read, name))
                    for name, one in OPTIONS.items()
                    if not is_usual(self.read, one)
                )
            elif known.metadata and not is_usual(self, known):
                yield known.name, getattr(self, known.name)

    def data_read(self) -> dict[str, Any]:
        """Return the fingerprint for a record: of several files the first, the last and how many they are."""
        files = (self.fingerprint or {}).get("files")
        if files is None:
            return dict(self.fingerprint or {})
        paths = {"first": files[0]["path"], "last": files[-1]["path"], "n_files": len(files)}
        return paths | {"bytes": sum(file["bytes"] for file in files)}


def is_usual(options: Any, known: dataclasses.Field[Any]) -> bool:
    """Return True if nobody asked for what a field of a dataclass says."""
    return bool(getattr(options, known.name) == known.default)


def titles() -> dict[str, str]:
    """Return what a report calls the things that can be asked."""
    asked = [*dataclasses.fields(RunRequest), *OPTIONS.values()]
    return {known.name: known.metadata["title"] for known in asked if known.metadata}
