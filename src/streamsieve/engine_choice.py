"""The engine that runs the workers of a run, and the number of workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from .errors import UsageError, spell
from .json_text import Positive, at_most
from .machine import cores

EngineName = Literal["local", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
MAX_WORKERS = 1024


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine that runs the workers of a run."""

    name: EngineName
    workers: Annotated[Positive, at_most(MAX_WORKERS)]
    address: str | None = None  # of a cluster

    @classmethod
    def of(
        cls, engine: str | None, workers: int | None, address: str | None
    ) -> EngineChoice | None:
        """Return the engine that a user has chosen, checked; None if no engine is given."""
        if engine is None:
            if workers is not None or address is not None:
                raise UsageError(
                    "workers and an address need an engine; choose one:"
                    f" {spell('engine', 'local')} or {spell('engine', 'ray')}"
                )
            return None
        workers = cores() if workers is None else workers
        if not 1 <= workers <= MAX_WORKERS:
            raise UsageError(f"{workers} workers: must be from 1 to {MAX_WORKERS:,}")
        name = next((name for name in ENGINES if name == engine), None)
        if name is None:
            raise UsageError(f"{engine}: unknown engine; the engines are {' and '.join(ENGINES)}")
        if name == "local" and address is not None:
            raise UsageError(
                "an address is only for the ray engine; the local engine runs on this machine"
            )
        return cls(name, workers, address)
