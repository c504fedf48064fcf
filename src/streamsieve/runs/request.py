"""What a run was asked for, and whether its data is still the same."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any

from ..errors import DataError

HEAD_BYTES = 1 << 20
SYNTHETIC = "synthetic:"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a run was asked for, as its folder keeps it."""

    method: str
    params: dict[str, Any]
    data: str | None = None  # where it is; None for what is in memory or a pipe
    test: str | None = None
    classes: list[Any] | None = None
    target: str | None = None
    zero_based: bool = False
    groups: str | None = None
    seed: int | None = None
    checkpoint_every: int | None = None
    fingerprint: dict[str, Any] | None = None  # of the data

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any], origin: str) -> RunRequest:
        """The request in a file; what is missing or of another kind is named."""
        for known in fields(cls):
            if known.name not in content:
                raise DataError(f"{origin}: damaged, or of another version (no {known.name!r}); start a new run")
            if not isinstance(content[known.name], KINDS[known.name]):
                raise DataError(f"{origin}: damaged ({known.name!r} is {content[known.name]!r}); start a new run")
        return cls(**{known.name: content[known.name] for known in fields(cls)})

    def with_fingerprint(self) -> RunRequest:
        """The same, with what its data looks like now."""
        return replace(self, fingerprint=fingerprint(self.data))


KINDS: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "params": (dict,),
    "data": (str, NoneType),
    "test": (str, NoneType),
    "classes": (list, NoneType),
    "target": (str, NoneType),
    "zero_based": (bool,),
    "groups": (str, NoneType),
    "seed": (int, NoneType),
    "checkpoint_every": (int, NoneType),
    "fingerprint": (dict, NoneType),
}


def location(data: Any) -> str | None:
    """Where data can be found again: an absolute path or a synthetic name; None for what is in memory or a pipe."""
    if not isinstance(data, str | Path) or str(data) == "-":
        return None
    return str(data) if str(data).startswith(SYNTHETIC) else str(Path(data).absolute())


def fingerprint(found_at: str | None) -> dict[str, Any]:
    """What shows whether data is still the same: of a file its size and a hash of how it begins."""
    if found_at is None or found_at.startswith(SYNTHETIC):
        return {"name": found_at}
    path = Path(found_at)
    with path.open("rb") as file:
        head = hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()
    return {"path": found_at, "bytes": path.stat().st_size, "sha256_of_first_mib": head}


def refuse_changed(request: RunRequest) -> None:
    """Refuse to go on with a file that is not the one the run began with."""
    before = request.fingerprint or {}
    if "path" not in before:
        return
    path = Path(before["path"])
    if not path.exists():
        raise DataError(f"{path}: the file this run reads is gone; put it back to go on")
    if fingerprint(str(path)) != before:
        raise DataError(f"{path}: the file has changed since the run began; start a new run")
