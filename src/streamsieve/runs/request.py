"""Define the request of a run."""

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


def is_proper_fraction(fraction: Any) -> bool:
    """Return True for a fraction between 0 and 1, exclusive."""
    return bool(0 < fraction < 1)


def titled_field(title: str, default: Any = dataclasses.MISSING) -> Any:
    """Declare a field that a report shows under a title."""
    return field(default=default, metadata={"title": title})


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The run from whose model another run goes on, and the number of rows it had learned."""

    path: str
    n_rows: Count

    def __str__(self) -> str:
        return f"{self.path}, after {self.n_rows:,} rows"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The request of a run, as its folder keeps it; a report shows the fields with a title."""

    method: str
    params: dict[str, Any]
    data: Location | None = titled_field(
        "Learned from", None
    )  # None for what is in memory or a pipe
    # data, or a fraction of the rows
    test: Location | Annotated[float, is_proper_fraction] | None = titled_field("Tested on", None)
    read: ReadOptions = ReadOptions()
    # a file, or the groups themselves
    groups: str | list[Group] | list[tuple[Group, Group]] | None = titled_field("Groups", None)
    classes: list[Label] | None = titled_field("Classes", None)
    seed: Count | None = titled_field("Seed", None)
    memory: str | Count | None = titled_field("Most memory", None)
    resamples: Annotated[int, at_least(2)] | None = titled_field("Resamples", None)
    checkpoint_every: Positive | None = None
    fingerprint: Annotated[DataFacts, names_data] | None = None
    engine: EngineChoice | None = None
    earlier: EarlierRun | None = titled_field("Goes on from", None)

    @classmethod
    def from_dict(cls, content: dict[str, Any], origin: str) -> RunRequest:
        """Return the request in a file.

        Raise DataError that names a field which is missing or of a wrong type.
        """
        for name in wrong_fields(content, cls):
            if name not in content:
                raise DataError(
                    f"{origin}: damaged, or of another version (no {name!r}); start a new run"
                )
            raise DataError(
                f"{origin}: damaged ({name!r} is {str(content[name])[:60]!r}); start a new run"
            )
        fields = {field.name: content[field.name] for field in dataclasses.fields(cls)}
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields["read"].items()
        }
        engine = None if fields["engine"] is None else EngineChoice(**fields["engine"])
        earlier = None if fields["earlier"] is None else EarlierRun(**fields["earlier"])
        return cls(**{**fields, "read": ReadOptions(**read), "engine": engine, "earlier": earlier})

    def asked(self) -> Iterator[tuple[str, Any]]:
        """Yield the names and values of the fields that differ from their defaults."""
        for request_field in dataclasses.fields(self):
            if request_field.name == "read":
                yield from (
                    (name, getattr(self.read, name))
                    for name, option in OPTIONS.items()
                    if not is_default(self.read, option)
                )
            elif request_field.metadata and not is_default(self, request_field):
                value = getattr(self, request_field.name)
                yield request_field.name, str(value) if request_field.name == "earlier" else value

    def summarize_fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint for a record.

        Of several files it has the first, the last and the number of files.
        """
        files = (self.fingerprint or {}).get("files")
        if files is None:
            return dict(self.fingerprint or {})
        return {
            "first": files[0]["path"],
            "last": files[-1]["path"],
            "n_files": len(files),
            "bytes": sum(file["bytes"] for file in files),
        }


def is_default(options: Any, field: dataclasses.Field[Any]) -> bool:
    """Return True if a field of a dataclass has its default value."""
    return bool(getattr(options, field.name) == field.default)


def titles() -> dict[str, str]:
    """Return the titles that a report has for the fields of a request."""
    fields = [*dataclasses.fields(RunRequest), *OPTIONS.values()]
    return {field.name: field.metadata["title"] for field in fields if field.metadata}
