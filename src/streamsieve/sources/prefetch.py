"""Work ahead of the consumer on other threads, a few items at a time and in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Generic, NamedTuple, TypeVar

from ..machine import refuse_beyond_limit

T = TypeVar("T")
U = TypeVar("U")


def ordered_map(
    function: Callable[[T], U], items: Iterable[T], workers: int, ahead: int
) -> Generator[U]:
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
            refuse_beyond_limit()
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if failure is not None:
            raise failure
    finally:
        # A finaliser may run this on any thread, at any allocation: joining one here could lock up
        # the interpreter.
        pool.shutdown(wait=False, cancel_futures=True)


class _Failure(NamedTuple):
    error: BaseException


class Room:
    """How much may wait to be used, of one reader or of several together; each may always have one item waiting."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.changed = threading.Condition()


class Reader(Generic[T]):
    """Items taken from their iterator on another thread, from now on, as long as there is ``room`` for them.

    ``size`` is how much of the room an item takes. Whoever does not read to the end must ``close``.
    """

    def __init__(self, items: Iterable[T], room: Room, size: Callable[[T], int]) -> None:
        self.items, self.room, self.size = items, room, size
        self.handed: queue.SimpleQueue[T | _Failure | None] = queue.SimpleQueue()
        self.closed = False
        self.waiting = 0
        threading.Thread(target=self._work, name="streamsieve-read-ahead", daemon=True).start()

    def _work(self) -> None:
        try:
            source = iter(self.items)
            while self._has_room():
                item = next(source)
                with self.room.changed:
                    self.waiting += 1
                    self.room.left -= self.size(item)
                self.handed.put(item)
        except StopIteration:
            self.handed.put(None)
        except BaseException as error:  # handed to the consumer, which raises it
            self.handed.put(_Failure(error))

    def _has_room(self) -> bool:
        """Wait for room; False if nobody wants more."""
        with self.room.changed:
            while not self.closed and self.waiting and self.room.left <= 0:
                self.room.changed.wait(0.1)
        return not self.closed

    def __iter__(self) -> Iterator[T]:
        while (item := self.handed.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            with self.room.changed:
                self.waiting -= 1
                self.room.left += self.size(item)
                self.room.changed.notify_all()
            refuse_beyond_limit()
            yield item

    def close(self) -> None:
        """Take no more items. Nothing is waited for or locked: a finaliser may run this on any thread."""
        self.closed = True


def read_ahead(items: Iterable[T], ahead: int) -> Iterator[T]:
    """The same items, taken from their iterator on another thread, at most ``ahead`` early."""
    with closing(Reader(items, Room(ahead), lambda _: 1)) as reader:
        yield from reader
