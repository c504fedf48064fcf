"""One call at a time: what threads ask of one learner is done one after the other.

Learning moves and stretches arrays in place, which nobody may look at meanwhile. So whatever
learns, and whatever reads what was learned, holds the lock of its learner until it is done:
``save`` until the file is written, since a copy would take the memory twice; ``fit`` until the end
of its data, so that nobody saves half of it. Who must not wait that long hands over one block at a
time with ``partial_fit`` or ``partial_fit_block``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Lock(type(RLock())):  # type: ignore[misc]  # typeshed has the function alone
    """The lock of a learner. A copy of a learner, or one that is sent to another process, has a lock of its own."""

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def alone(method: F) -> F:
    """Have a method hold the ``lock`` of its object."""

    @wraps(method)
    def wrapper(self: Any, *args: Any, **options: Any) -> Any:
        with self.lock:
            return method(self, *args, **options)

    return cast(F, wrapper)
