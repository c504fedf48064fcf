"""Work ahead of the consumer on other threads, a few items at a time and in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def ordered_map(function: Callable[[T], U], items: Iterable[T], workers: int, ahead: int) -> Iterator[U]:
    """``function`` of every item, in order, computed on ``workers`` threads at most ``ahead`` items early."""
    pending: deque[Future[U]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def read_ahead(items: Iterable[T], ahead: int) -> Iterator[T]:
    """The same items, taken from their iterator on another thread, at most ``ahead`` early."""
    handed: queue.Queue[T | _Failure | None] = queue.Queue(ahead)
    abandoned = threading.Event()

    def hand_over(item: T | _Failure | None) -> None:
        waiting = True
        while waiting and not abandoned.is_set():
            try:
                handed.put(item, timeout=0.1)
                waiting = False
            except queue.Full:
                pass

    def work() -> None:
        try:
            for item in items:
                hand_over(item)
                if abandoned.is_set():
                    return
            hand_over(None)
        except BaseException as error:  # handed to the consumer, which raises it
            hand_over(_Failure(error))

    threading.Thread(target=work, name="streamsieve-read-ahead", daemon=True).start()
    try:
        while (item := handed.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        abandoned.set()
