"""States of algorithms: NamedTuples of arrays, which kernels change in place."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, cast


class State(Protocol):
    """A NamedTuple of arrays."""

    def _asdict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=State)


def changed(state: T, **arrays: Any) -> T:
    """The same state with other arrays under some names."""
    return cast(T, cast(Any, state)._replace(**arrays))
