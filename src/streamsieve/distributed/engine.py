"""What runs workers: each an object of its own, in a thread, a process or on another machine, called by name.

A worker is made by a function or class of this package and asked by calls that answer soon, within
about a second: work that takes long is asked for in slices. So a run can be stopped, and how far it
is can be shown, whatever runs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import RunError

SLICE_SECONDS = 0.25  # of work between two answers
MAX_LOSSES = 3  # of one worker, without progress in between

F64 = NDArray[np.float64]


class Answer(NamedTuple):
    """What came of a call, or of a worker: its answer, an error that it raised, or that it is lost."""

    worker: int
    value: Any = None
    error: Exception | None = None
    lost: bool = False  # its process is gone, with all that it knew


class CentreLike(Protocol):
    """The scores that workers of online substitution share: see ``selectors.columns.asyos.Centre``."""

    def scores(self) -> F64: ...

    def register(self, worker: int, part: F64 | None = None) -> F64: ...

    def forget(self, worker: int) -> F64: ...


class Engine(ABC):
    """Some workers, numbered from 0; a context manager that leaves no process behind."""

    name: str

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    @abstractmethod
    def share(self, value: Any) -> Any:
        """The value for several workers: to be given to ``start`` or ``call`` in its place, and sent once only.

        A worker gets the value itself, and must not change it.
        """

    @abstractmethod
    def centre(self, n_rows: int) -> CentreLike:
        """A centre that every worker can be given, and that outlives workers."""

    @abstractmethod
    def start(self, worker: int, make: Callable[..., Any], *args: Any) -> None:
        """Make a worker, also in place of one that is lost; what fails in ``make`` is answered to the first call."""

    @abstractmethod
    def call(self, worker: int, method: str, *args: Any) -> None:
        """Ask a worker that has answered all calls so far."""

    @abstractmethod
    def next(self) -> Answer:
        """The next answer of any worker that was asked."""

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


class Crew:
    """The workers of an engine, of which those that are lost are started again; an error of one is raised here."""

    def __init__(self, engine: Engine, begin: Callable[[int], None]) -> None:
        """``begin`` starts a worker, as far as it had come, and asks it for its next answer."""
        self.engine, self.begin = engine, begin
        self.losses = 0
        self._without_progress = [0] * engine.n_workers

    def note_progress(self, worker: int) -> None:
        """Set the losses of a worker back to 0: ``begin`` would now start it from further on.

        An answer alone is no progress: a worker that is lost after each one would be started again
        for ever.
        """
        self._without_progress[worker] = 0

    def next(self) -> Answer:
        """The next answer that is one."""
        while True:
            answer = self.engine.next()
            if answer.error is not None:
                raise answer.error
            if not answer.lost:
                return answer
            self._note_loss(answer.worker)
            self.begin(answer.worker)

    def _note_loss(self, worker: int) -> None:
        self.losses += 1
        self._without_progress[worker] += 1
        if self._without_progress[worker] >= MAX_LOSSES:
            raise RunError(
                f"worker {worker + 1} of {self.engine.n_workers} was lost {MAX_LOSSES} times"
                " without progress; it may be out of memory: take fewer workers, or machines with"
                " more memory"
            )
