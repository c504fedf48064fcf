"""Work ahead of the consumer: in order, not too far, and ended when nobody wants it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from operator import length_hint

import pytest

from streamsieve.sources.prefetch import ReadAheadBudget, Reader, ordered_map, read_ahead

SOON = 10  # seconds until a wait that should end at once is given up


def fail_at(last: int, error: Exception) -> Iterator[int]:
    yield from range(last)
    raise error


def drain(items: Iterator[int]) -> tuple[list[int], Exception | None]:
    """Return the items, and the error that ended them."""
    got = []
    try:
        for item in items:
            got.append(item)
    except Exception as error:
        return got, error
    return got, None


def left_alive(before: set[threading.Thread]) -> list[str]:
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(SOON)
    return [thread.name for thread in started if thread.is_alive()]


@pytest.mark.parametrize(("workers", "ahead"), [(1, 1), (1, 4), (2, 3), (4, 2)])
def test_map_keeps_the_order(workers, ahead):
    first_done = threading.Event()

    def square(number: int) -> int:
        if number == 0 and workers > 1:
            first_done.wait(SOON)  # the second item is ready before the first
        elif number == 1:
            first_done.set()
        return number * number

    assert list(ordered_map(square, range(50), workers, ahead)) == [n * n for n in range(50)]


def test_map_of_nothing_is_nothing():
    assert list(ordered_map(str, [], 2, 3)) == []


def test_map_runs_on_as_many_threads_as_asked():
    both = threading.Barrier(2)
    assert sorted(ordered_map(lambda _: both.wait(SOON), range(2), workers=2, ahead=2)) == [0, 1]


@pytest.mark.parametrize("ahead", [1, 3])
def test_map_takes_no_more_than_ahead(ahead):
    numbers = iter(range(30))
    left = [length_hint(numbers) for _ in ordered_map(str, numbers, 2, ahead)]
    assert left == [max(30 - received - ahead, 0) for received in range(1, 31)]


def test_error_in_the_function_comes_in_its_place():
    got, error = drain(ordered_map(lambda number: 12 // (4 - number), range(10), 2, 3))
    assert got == [3, 4, 6, 12]
    assert isinstance(error, ZeroDivisionError)


def test_error_in_the_items_comes_behind_the_results_before_it():
    problem = OSError("no more")
    assert drain(ordered_map(lambda number: number, fail_at(5, problem), 2, 3)) == (
        [0, 1, 2, 3, 4],
        problem,
    )


def test_error_in_the_function_comes_before_a_later_one_in_the_items():
    _, error = drain(ordered_map(lambda number: 1 // number, fail_at(2, OSError("no more")), 1, 3))
    assert isinstance(error, ZeroDivisionError)


def test_closed_map_starts_no_more_work_and_leaves_no_thread():
    before = set(threading.enumerate())
    done: list[int] = []
    results = ordered_map(done.append, range(1000), 2, 3)
    next(results)
    results.close()
    assert not left_alive(before)
    assert len(done) <= 4


def test_closing_a_map_does_not_wait_for_work_under_way():
    started, let_go, finished = threading.Event(), threading.Event(), threading.Event()

    def work(number: int) -> None:
        if number:
            started.set()
            let_go.wait(2)
            finished.set()

    results = ordered_map(work, range(3), 1, 2)
    next(results)
    started.wait(SOON)
    # a finaliser may run anywhere, so joining a thread in it can lock up the interpreter
    results.close()
    early = not finished.is_set()
    let_go.set()
    assert early


def test_read_ahead_gives_the_same_items():
    assert list(read_ahead(iter(range(100)), 3)) == list(range(100))
    assert list(read_ahead([], 3)) == []


def test_read_ahead_takes_items_on_another_thread_before_they_are_asked_for():
    third = threading.Event()
    threads = []

    def items() -> Iterator[int]:
        for number in range(5):
            threads.append(threading.current_thread())
            if number == 2:
                third.set()
            yield number

    results = read_ahead(items(), 2)
    assert next(results) == 0
    assert third.wait(SOON)
    assert list(results) == [1, 2, 3, 4]
    assert len(set(threads)) == 1
    assert threading.current_thread() not in threads


@pytest.mark.parametrize("ahead", [1, 3])
def test_read_ahead_takes_no_more_than_ahead(ahead):
    too_far = threading.Event()

    def items() -> Iterator[int]:
        for number in range(50):
            if number > ahead:  # the consumer holds number 0
                too_far.set()
            yield number

    results = read_ahead(items(), ahead)
    next(results)
    assert not too_far.wait(0.2)
    assert list(results) == list(range(1, 50))


def test_read_ahead_raises_an_error_behind_the_items_before_it():
    problem = OSError("no more")
    assert drain(read_ahead(fail_at(5, problem), 2)) == ([0, 1, 2, 3, 4], problem)


def test_closed_read_ahead_leaves_no_thread():
    before = set(threading.enumerate())
    results = read_ahead(iter(range(1000)), 2)
    next(results)
    results.close()
    assert not left_alive(before)


def test_read_ahead_after_an_error_leaves_no_thread():
    before = set(threading.enumerate())
    _, error = drain(read_ahead(fail_at(1, OSError("no more")), 2))
    assert error is not None
    assert not left_alive(before)


class WatchedRoom(ReadAheadBudget):
    """A room that records waiting readers.

    It tells when one reader, and when a second one, has found it full twice in a row.
    """

    def __init__(self, size):
        super().__init__(size)
        self.full = threading.Event(), threading.Event()
        waits, wait = Counter(), self.changed.wait

        def wait_for_room(timeout):
            waits[threading.get_ident()] += 1
            for event, _ in zip(
                self.full, [count for count in waits.values() if count > 1], strict=False
            ):
                event.set()
            return wait(timeout)

        self.changed.wait = wait_for_room


@pytest.mark.parametrize("full_one_first", [True, False])
def test_readers_share_a_room_and_each_has_one_item_at_least(full_one_first):
    taken = [0, 0]

    def items(number: int) -> Iterator[int]:
        for item in range(10):
            taken[number] += 1
            yield item

    room = WatchedRoom(8)
    first = Reader(items(0), room, lambda _: 2)
    assert room.full[0].wait(SOON)
    second = Reader(items(1), room, lambda _: 2)
    assert room.full[1].wait(SOON)
    assert taken == [4, 1]
    for reader in (first, second) if full_one_first else (second, first):
        assert list(reader) == list(range(10))
    assert room.left == 8


def test_a_closed_reader_that_waits_for_room_leaves_no_thread():
    before = set(threading.enumerate())
    room = WatchedRoom(1)
    reader = Reader(iter(range(1000)), room, lambda _: 1)
    assert room.full[0].wait(SOON)
    reader.close()
    assert not left_alive(before)
