"""Work ahead of the consumer on other threads, a few items at a time and in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def ordered_map(function: Callable[[T], U], items: Iterable[T], workers: int, ahead: int) -> Generator[U]:
    """``function`` of every item, in order, computed on ``workers`` threads at most ``ahead`` items early."""
    pending: deque[Future[U]] = deque()
    failure: Exception | None = None
    source = iter(items)
    pool = ThreadPoolExecutor(workers)
    try:
        while failure is None:
            try:
                item = next(source)
            except StopIteration:
                break
            except Exception as error:  # raised after the results of the items before it
                failure = error
                break
            pending.append(pool.submit(function, item))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if failure is not None:
            raise failure
    finally:
        # A finaliser may run this on any thread, at any allocation: joining one here could lock up the interpreter.
        pool.shutdown(wait=False, cancel_futures=True)


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def read_ahead(items: Iterable[T], ahead: int) -> Iterator[T]:
    """The same items, taken from their iterator on another thread, at most ``ahead`` early."""
    handed: queue.SimpleQueue[T | _Failure | None] = queue.SimpleQueue()
    room = threading.Semaphore(ahead)
    abandoned = threading.Event()

    def work() -> None:
        try:
            source = iter(items)
            while not abandoned.is_set():
                if room.acquire(timeout=0.1):
                    handed.put(next(source))
        except StopIteration:
            handed.put(None)
        except BaseException as error:  # handed to the consumer, which raises it
            handed.put(_Failure(error))

    threading.Thread(target=work, name="streamsieve-read-ahead", daemon=True).start()
    try:
        while (item := handed.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            room.release()
            yield item
    finally:
        abandoned.set()
