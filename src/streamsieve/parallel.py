"""Work shared among threads, split by its size alone.

The result never depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from .machine import cores

R = TypeVar("R")

# of all work that is large enough: more than most machines have cores, so that none waits long
PARTS = 16


def cut(size: int, smallest: int = 1) -> list[int]:
    """Return the bounds of the parts of a work of a given size.

    There are ``PARTS`` parts, or fewer of at least ``smallest`` each.
    """
    parts = max(1, min(PARTS, size // smallest))
    return [size * part // parts for part in range(parts + 1)]


class Threads:
    """As many threads as there are cores, including the calling one; a context manager."""

    def __init__(self, count: int | None = None) -> None:
        self.count = cores() if count is None else count
        self._pool = ThreadPoolExecutor(self.count - 1) if self.count > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each(self, n_parts: int, work: Callable[[int], R]) -> list[R]:
        """Return ``work`` of every part, in order; raise the error of the first part that fails."""
        waiting = iter(range(n_parts))
        results: dict[int, R] = {}
        failed: dict[int, Exception] = {}

        def take() -> None:
            for part in waiting:
                try:
                    results[part] = work(part)
                except Exception as error:
                    failed[part] = error
                    # all parts before this one have started, so the first error is among theirs
                    list(waiting)

        helpers = min(self.count, n_parts) - 1
        others = [self._pool.submit(take) for _ in range(helpers)] if self._pool is not None else []
        try:
            take()
        finally:
            list(waiting)  # where the calling thread is interrupted, the others stop too
            for other in others:
                other.result()
        if failed:
            raise failed[min(failed)]
        return [results[part] for part in range(n_parts)]


def in_parts(cuts: Sequence[int], work: Callable[[int, int], R]) -> list[R]:
    """Return ``work`` of every range between two cuts, in order, on threads created for it."""
    if len(cuts) == 2:
        return [work(cuts[0], cuts[1])]
    with Threads() as threads:
        return threads.each(len(cuts) - 1, lambda part: work(cuts[part], cuts[part + 1]))
