"""Work ahead of the consumer on other threads, a few items at a time and in order."""

from __future__ import annotations

import atexit
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")
U = TypeVar("U")

EXIT_SECONDS = 5.0  # that the end of the process waits for a thread


def ordered_map(function: Callable[[T], U], items: Iterable[T], workers: int, ahead: int) -> Iterator[U]:
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
            except Exception as error:  # raised behind the results of the items before it
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


class _Reader(threading.Thread):
    """A thread that reads ahead until it is told that nobody waits any more."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(target=work, name="streamsieve-read-ahead", daemon=True)
        self.abandoned = threading.Event()


_readers: WeakSet[_Reader] = WeakSet()


@atexit.register
def _stop_readers() -> None:
    """Let no thread be inside a library of C++ when the interpreter goes: that ends in ``std::terminate``."""
    for reader in list(_readers):
        reader.abandoned.set()
    for reader in list(_readers):
        reader.join(EXIT_SECONDS)


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def read_ahead(items: Iterable[T], ahead: int, endless: bool = False) -> Iterator[T]:
    """The same items, taken from their iterator on another thread, at most ``ahead`` early.

    The end of the process waits for that thread to come to a halt, unless it may be ``endless`` before it does.
    """
    handed: queue.SimpleQueue[T | _Failure | None] = queue.SimpleQueue()
    room = threading.Semaphore(ahead)

    def work() -> None:
        try:
            source = iter(items)
            while not reader.abandoned.is_set():
                if room.acquire(timeout=0.1):
                    handed.put(next(source))
        except StopIteration:
            handed.put(None)
        except BaseException as error:  # handed to the consumer, which raises it
            handed.put(_Failure(error))

    reader = _Reader(work)
    if not endless:
        _readers.add(reader)
    reader.start()
    try:
        while (item := handed.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            room.release()
            yield item
    finally:
        reader.abandoned.set()
