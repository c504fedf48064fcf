"""One call at a time: calls by several threads on one learner run one after the other.

Learning moves arrays and extends them in place, and nobody may read them meanwhile. So everything
that learns, and everything that reads what was learned, holds the lock of its learner until it is
done: ``save`` until the file is written, since a copy would double the memory; ``fit`` until the
end of its data, so that nobody saves half of it. Callers that cannot wait so long pass one block at
a time to ``partial_fit`` or ``partial_fit_block``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Lock(type(RLock())):  # type: ignore[misc]  # typeshed declares only the function
    """The lock of a learner.

    A copy of a learner, or one that is sent to another process, has its own lock.
    """

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def alone(method: F) -> F:
    """Return the method so that it holds the ``lock`` of its object while it runs."""

    @wraps(method)
    def wrapper(self: Any, *args: Any, **options: Any) -> Any:
        with self.lock:
            return method(self, *args, **options)

    return cast(F, wrapper)
