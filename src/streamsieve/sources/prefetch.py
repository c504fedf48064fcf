"""Work ahead of the consumer on other threads, a few items at a time and in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Generic, TypeVar

from ..machine import refuse_beyond_limit

T = TypeVar("T")
U = TypeVar("U")


def ordered_map(
    function: Callable[[T], U], items: Iterable[T], workers: int, ahead: int
) -> Generator[U]:
    """Yield ``function`` of every item, in order.

    It is computed on ``workers`` threads, at most ``ahead`` items early.
    """
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
            refuse_beyond_limit()
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if failure is not None:
            raise failure
    finally:
        # A finaliser may run this on any thread, at any allocation: waiting for a worker here could
        # lock up the interpreter.
        pool.shutdown(wait=False, cancel_futures=True)


class ReadAheadBudget:
    """The amount of data that may be read ahead, by one reader or by several together.

    A reader takes an item as long as some of the amount is left, so the last one may exceed it.
    Every reader may always have one item waiting.
    """

    def __init__(self, size: int) -> None:
        self.left = size
        self.changed = threading.Condition()  # guards ``left`` and ``n_waiting`` of every reader


class Reader(Generic[T]):
    """Items taken from their iterator on another thread, as far ahead as a ``budget`` allows.

    Reading starts at once. ``item_size`` returns how much of the budget an item takes. A consumer
    that does not read to the end must call ``close``.
    """

    def __init__(
        self, items: Iterable[T], budget: ReadAheadBudget, item_size: Callable[[T], int]
    ) -> None:
        self.items, self.budget, self.item_size = items, budget, item_size
        # items, an error, or None at the end
        self.results: queue.SimpleQueue[T | BaseException | None] = queue.SimpleQueue()
        self.closed = False
        self.n_waiting = 0  # items read, but not taken by the consumer
        threading.Thread(target=self._work, name="streamsieve-read-ahead", daemon=True).start()

    def _work(self) -> None:
        try:
            source = iter(self.items)
            while self._may_read():
                item = next(source)
                with self.budget.changed:
                    self.n_waiting += 1
                    self.budget.left -= self.item_size(item)
                self.results.put(item)
        except StopIteration:
            self.results.put(None)
        except BaseException as error:  # passed to the consumer, which raises it
            self.results.put(error)

    def _may_read(self) -> bool:
        """Wait until the next item may be read; return False if the reader was closed."""
        with self.budget.changed:
            while not self.closed and self.n_waiting and self.budget.left <= 0:
                self.budget.changed.wait(0.1)  # in short waits, since ``close`` does not notify
        return not self.closed

    def __iter__(self) -> Iterator[T]:
        while (item := self.results.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            with self.budget.changed:
                self.n_waiting -= 1
                self.budget.left += self.item_size(item)
                self.budget.changed.notify_all()
            refuse_beyond_limit()
            yield item

    def close(self) -> None:
        """Stop taking items, without waiting or locking: a finaliser may run this on any thread."""
        self.closed = True


def read_ahead(items: Iterable[T], ahead: int) -> Iterator[T]:
    """Yield the same items, at most ``ahead`` of which another thread has taken in advance."""
    with closing(Reader(items, ReadAheadBudget(ahead), lambda _: 1)) as reader:
        yield from reader
