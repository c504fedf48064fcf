"""Work that threads share, cut into parts by its size alone: the answer never depends on the number of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from .machine import cores

R = TypeVar("R")

PARTS = 16  # of every work that is large enough: more than most machines have cores, so that none waits long


def cut(size: int, smallest: int = 1) -> list[int]:
    """Where parts of a work of that size begin, and the last one ends: ``PARTS``, or fewer of ``smallest`` at least."""
    parts = max(1, min(PARTS, size // smallest))
    return [size * part // parts for part in range(parts + 1)]


class Threads:
    """As many threads as there are cores, the calling one among them; a context manager."""

    def __init__(self, count: int | None = None) -> None:
        self.count = cores() if count is None else count
        self._pool = ThreadPoolExecutor(self.count - 1) if self.count > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def each(self, n_parts: int, work: Callable[[int], R]) -> list[R]:
        """``work`` of every part, in order. Of parts that fail the first one's error is raised."""
        waiting = deque(range(n_parts))
        found: dict[int, R] = {}
        failed: dict[int, Exception] = {}

        def take() -> None:
            while waiting:
                try:
                    part = waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    found[part] = work(part)
                except Exception as error:
                    failed[part] = error
                    waiting.clear()  # the parts before this one have begun: the first error of all is among them

        helpers = min(self.count, n_parts) - 1
        others = [self._pool.submit(take) for _ in range(helpers)] if self._pool is not None else []
        try:
            take()
        finally:
            waiting.clear()  # where the calling thread is interrupted, the others stop too
            for other in others:
                other.result()
        if failed:
            raise failed[min(failed)]
        return [found[part] for part in range(n_parts)]


def in_parts(cuts: Sequence[int], work: Callable[[int, int], R]) -> list[R]:
    """``work`` of every range between two cuts, in order, on threads for this once."""
    if len(cuts) == 2:
        return [work(cuts[0], cuts[1])]
    with Threads() as threads:
        return threads.each(len(cuts) - 1, lambda part: work(cuts[part], cuts[part + 1]))
