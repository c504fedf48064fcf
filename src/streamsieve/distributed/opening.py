"""Engines by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from .engine import Engine

ENGINES = "local", "ray"


def require_known(name: str, address: str | None) -> None:
    """Refuse a name that is none, and an address where there is nothing to address."""
    if name not in ENGINES:
        raise UsageError(f"{name}: no such engine; there are {' and '.join(ENGINES)}")
    if name == "local" and address is not None:
        raise UsageError("an address is for the ray engine only: the local one works on this machine")


def open_engine(name: str, n_workers: int, address: str | None = None, in_memory: bool = False) -> Engine:
    """The engine of a name. Workers of the local one are threads where the data is in memory, otherwise processes."""
    require_known(name, address)
    if name == "ray":
        try:
            from .ray_engine import RayEngine
        except ModuleNotFoundError as error:
            if error.name != "ray":
                raise
            raise UsageError("the ray engine needs Ray: pip install 'streamsieve[ray]'") from error
        return RayEngine(n_workers, address)
    from .local import ProcessEngine, ThreadEngine

    return ThreadEngine(n_workers) if in_memory else ProcessEngine(n_workers)
