"""Define engines: they run workers in threads, in processes or on other machines.

A worker is an object made by a function or class of this package. It is called by the names of its
methods, and every call must return soon, within about a second: long work is done in slices.
Therefore a run can be stopped, and its progress can be shown, on any engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError
from ..training import Clock

SLICE_SECONDS = 0.25  # of work between two answers
MAX_LOSSES = 3  # of one worker, without progress in between

F64 = NDArray[np.float64]
P = TypeVar("P")
Seconds = tuple[float, float, float]  # total, learning, compiling


class Answer(NamedTuple):
    """The outcome of a call: the answer of a worker, an error that it raised, or its loss."""

    worker: int
    value: Any = None
    error: Exception | None = None
    lost: bool = False  # the process of the worker has ended, and its state is lost


class CentreLike(Protocol):
    """The scores that workers of online substitution share.

    See ``selectors.columns.asyos.Centre``.
    """

    def scores(self) -> F64:
        """Return the scores of all workers together."""
        ...

    def register(self, worker: int, part: F64 | None = None) -> F64:
        """Set the part of a worker, and return the scores of all workers together."""
        ...

    def forget(self, worker: int) -> F64:
        """Remove the part of a worker, and return the scores of the others."""
        ...


class Engine(ABC):
    """Some workers, numbered from 0; a context manager that leaves no process behind."""

    name: str

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Return a handle to a value for several workers, which is sent once only.

        It is passed to ``start`` or ``call`` in place of the value. A worker gets the value itself,
        and must not change it.
        """

    @abstractmethod
    def centre(self, n_rows: int) -> CentreLike:
        """Return a centre that can be passed to every worker and that outlives workers."""

    @abstractmethod
    def start(self, worker: int, make: Callable[..., Any], *args: Any) -> None:
        """Make a worker, or replace one that is lost.

        An error raised by ``make`` is the answer to the first call.
        """

    @abstractmethod
    def call(self, worker: int, method: str, *args: Any) -> None:
        """Call a method of a worker that has answered all earlier calls."""

    @abstractmethod
    def next(self) -> Answer:
        """Return the next answer of any worker that was called."""

    @abstractmethod
    def close(self) -> None:
        """Stop all workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Supervisor:
    """A supervisor of the workers of an engine.

    It restarts workers that are lost, and raises the errors that workers raise.
    """

    def __init__(self, engine: Engine, start_worker: Callable[[int], None]) -> None:
        """Initialize; ``start_worker`` starts a worker from its last progress and calls it."""
        self.engine, self.start_worker = engine, start_worker
        self.losses = 0
        self._losses_without_progress = [0] * engine.n_workers

    def reset_losses(self, worker: int) -> None:
        """Set the count of losses of a worker back to 0.

        Call it when ``start_worker`` would now start the worker from a later state. An answer alone
        is not progress: a worker that is lost after each answer would be restarted forever.
        """
        self._losses_without_progress[worker] = 0

    def next_answer(self) -> Answer:
        """Return the next answer that is a value; restart workers that are lost."""
        while True:
            answer = self.engine.next()
            if answer.error is not None:
                raise answer.error
            if not answer.lost:
                return answer
            self._count_loss(answer.worker)
            self.start_worker(answer.worker)

    def _count_loss(self, worker: int) -> None:
        self.losses += 1
        self._losses_without_progress[worker] += 1
        if self._losses_without_progress[worker] >= MAX_LOSSES:
            raise RunError(
                f"worker {worker + 1} of {self.engine.n_workers} was lost {MAX_LOSSES} times"
                " without progress; it may be out of memory: take fewer workers, or machines with"
                " more memory"
            )


def assign_shards(pieces: Sequence[P], sizes: Sequence[float], n_workers: int) -> list[list[P]]:
    """Return the pieces of each worker, in order: each goes to the worker with the smallest total.

    They are assigned before a run, by their sizes alone: timing has no influence. Among workers
    with equal totals the first gets the piece. A worker without any piece comes before all others,
    so that none is idle unless there are fewer pieces than workers.
    """
    assignments: list[list[P]] = [[] for _ in range(n_workers)]
    totals = [0.0] * n_workers
    for piece, size in zip(pieces, sizes, strict=True):
        worker = min(
            range(n_workers), key=lambda number: (bool(assignments[number]), totals[number])
        )
        assignments[worker].append(piece)
        totals[worker] += size
    return assignments


def seconds_by(clock: Clock) -> Seconds:
    """Return the seconds that a clock has counted."""
    seconds = clock.seconds()
    return seconds["total"], seconds["learn"], seconds["compile"]


class WorkerSeconds:
    """The seconds of all workers together."""

    def __init__(self) -> None:
        self.seconds: Seconds = (0.0, 0.0, 0.0)

    def add(self, seconds: Seconds) -> None:
        """Add the seconds of one worker."""
        busy, learning, compiling = (a + b for a, b in zip(self.seconds, seconds, strict=True))
        self.seconds = busy, learning, compiling

    def per_worker(self, n_workers: int, total: float) -> dict[str, float]:
        """Return seconds as a training reports them: means over workers, and the total time."""
        busy, learning, compiling = (seconds / n_workers for seconds in self.seconds)
        reading = max(0.0, busy - learning - compiling)
        return {"total": total, "read": reading, "learn": learning, "compile": compiling}
