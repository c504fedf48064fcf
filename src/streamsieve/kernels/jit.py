"""Compile kernels: cached on disk, without the GIL, and with a note when it takes time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")

# Numba's events; the second encloses the first
COMPILED, LOCKED = "numba:compile", "numba:compiler_lock"
logger = logging.getLogger("streamsieve")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` in nopython mode on first use and keep the machine code on disk.

    Where Numba cannot write its cache to any folder (a read-only installation without a home),
    every process compiles the kernel again instead of failing.
    """
    return _compile(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a part of an innermost loop, inlined into every kernel that calls it."""
    return _compile(function, forceinline=True)


def summing(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel whose sums may be reordered, so that they can be vectorised."""
    return _compile(function, fastmath={"reassoc", "contract"})


def inlined_summing(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a part of the innermost loop of a ``summing`` kernel, inlined."""
    return _compile(function, forceinline=True, fastmath={"reassoc", "contract"})


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        dispatcher = numba.njit(function, cache=True, nogil=True, error_model="numpy", **options)
    except RuntimeError:
        dispatcher = numba.njit(function, nogil=True, error_model="numpy", **options)
    return cast(Callable[P, R], dispatcher)


class _CompileClock(event.Listener):
    """A listener that announces the first compilation of a process and measures compile time.

    It measures the time during which at least one thread compiles or saves a compiled kernel.
    Threads that compile at the same time, or wait for each other, are not counted twice. The rest
    of the time of a run is its own work.
    """

    def __init__(self) -> None:
        self.announced = False
        self.lock = threading.Lock()
        # by thread: nested calls of the compiler, since one kernel compiles others
        self.depth: dict[int, int] = {}
        # by compiling thread: start time and name of the kernel
        self.started: dict[int, tuple[float, str]] = {}
        self.busy_since = 0.0  # start of the current period in which any thread compiles
        self.finished_seconds = 0.0  # total of the earlier periods
        # raised in the main thread once its kernel is compiled
        self.pending_interrupt: BaseException | None = None

    def on_start(self, event: Any) -> None:
        now, thread = time.perf_counter(), threading.get_ident()
        if event.kind == LOCKED:
            self.depth[thread] = self.depth.get(thread, 0) + 1
            return
        function = event.data["dispatcher"].py_func
        with self.lock:
            if not self.started:
                self.busy_since = now
            self.started.setdefault(thread, (now, function.__qualname__))
        if not self.announced and function.__module__.startswith("streamsieve."):
            self.announced = True
            logger.warning("compiling streamsieve's kernels for first use (once)")

    def on_end(self, event: Any) -> None:
        now, thread = time.perf_counter(), threading.get_ident()
        if event.kind != LOCKED:  # the result is not yet saved
            return
        depth = self.depth.pop(thread, 1) - 1
        if depth:
            self.depth[thread] = depth
        elif thread in self.started:
            with self.lock:
                started, name = self.started.pop(thread)
                if not self.started:
                    self.finished_seconds += now - self.busy_since
            logger.info("compiled %s in %.2f s", name, now - started)
        error = self.pending_interrupt
        if error is not None and thread == threading.main_thread().ident:
            self.pending_interrupt = None
            raise error

    def seconds_so_far(self) -> float:
        with self.lock:
            return self.finished_seconds + (
                time.perf_counter() - self.busy_since if self.started else 0.0
            )


_COMPILING = _CompileClock()
event.register(COMPILED, _COMPILING)
event.register(LOCKED, _COMPILING)


def compile_seconds() -> float:
    """Return for how many seconds this process has compiled kernels so far, on any thread."""
    return _COMPILING.seconds_so_far()


def interrupt(error: BaseException) -> None:
    """Raise ``error``, for a signal; inside the compiler, only once the kernel is compiled.

    LLVM calls back into Python while it compiles. An exception raised there is lost, or leaves half
    a kernel.
    """
    if threading.get_ident() in _COMPILING.depth:
        _COMPILING.pending_interrupt = error
    else:
        raise error
