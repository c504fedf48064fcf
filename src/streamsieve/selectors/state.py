"""States of algorithms: NamedTuples of arrays, which kernels change in place."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

NEGATED_AT_ONCE = 1 << 16  # entries


class State(Protocol):
    """A NamedTuple of arrays, of other such states, or of tuples of them."""

    def _asdict(self) -> dict[str, Any]: ...


T = TypeVar("T", bound=State)


def changed(state: T, **arrays: Any) -> T:
    """The same state with other arrays under some names."""
    return cast(T, cast(Any, state)._replace(**arrays))


def arrays_of(state: State, before: str = "") -> dict[str, NDArray[Any]]:
    """All arrays by name; those of a state within a state after its name, or its number in a tuple, and a dot."""
    found: dict[str, NDArray[Any]] = {}
    for name, part in parts_of(state).items():
        found |= {before + name: part} if isinstance(part, np.ndarray) else arrays_of(part, f"{before}{name}.")
    return found


def with_arrays(state: T, arrays: dict[str, NDArray[Any]], before: str = "") -> T:
    """A state like another, of arrays that are named as by ``arrays_of``."""
    parts = {
        name: arrays[before + name] if isinstance(part, np.ndarray) else with_arrays(part, arrays, f"{before}{name}.")
        for name, part in parts_of(state).items()
    }
    return cast(T, tuple(parts.values())) if is_tuple(state) else changed(state, **parts)


def copied(state: T) -> T:
    """The same state in arrays of its own."""
    return with_arrays(state, {name: array.copy() for name, array in arrays_of(state).items()})


def negate(weights: NDArray[Any]) -> None:
    """Change the sign of all weights, in place, and write to no other entry: that would take memory for it."""
    for start in range(0, len(weights), NEGATED_AT_ONCE):
        part = weights[start : start + NEGATED_AT_ONCE]
        np.negative(part, out=part, where=part != 0)


def parts_of(state: Any) -> dict[str, Any]:
    """What a state consists of, by name; of a tuple of states, by number."""
    return {str(number): part for number, part in enumerate(state)} if is_tuple(state) else state._asdict()


def is_tuple(state: Any) -> bool:
    """Whether it is a tuple of states, without names."""
    return type(state) is tuple
