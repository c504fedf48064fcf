"""Open engines by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine_choice import EngineChoice
from ..errors import UsageError

if TYPE_CHECKING:
    from .engine import Engine


def open_engine(choice: EngineChoice, in_memory: bool = False) -> Engine:
    """Return the engine that was chosen.

    The workers of the local engine are threads if the data is in memory, otherwise processes.
    """
    if choice.name == "ray":
        try:
            from .ray_engine import RayEngine
        except ModuleNotFoundError as error:
            if error.name != "ray":
                raise
            raise UsageError("the ray engine needs Ray: pip install 'streamsieve[ray]'") from error
        return RayEngine(choice.workers, choice.address)
    from .local import ProcessEngine, ThreadEngine

    return ThreadEngine(choice.workers) if in_memory else ProcessEngine(choice.workers)
