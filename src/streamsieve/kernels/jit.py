"""How every kernel is compiled: cached on disk, without the GIL, and never silently slow."""

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

COMPILED, LOCKED = (
    "numba:compile",
    "numba:compiler_lock",
)  # Numba's events; the second is around the first
notes = logging.getLogger("streamsieve")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` in nopython mode on first use and keep the machine code on disk.

    Where Numba finds no folder it may write its cache to (a read-only installation without a
    home), the kernel is compiled anew in every process instead of failing.
    """
    return _compiled(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A part of a kernel's innermost loop: compiled as ``kernel`` does, into every kernel that calls it."""
    return _compiled(function, forceinline=True)


def summing(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose sums may be taken in another order than written, so that several are taken at once."""
    return _compiled(function, fastmath={"reassoc", "contract"})


def inlined_summing(function: Callable[P, R]) -> Callable[P, R]:
    """A part of the innermost loop of a ``summing`` kernel."""
    return _compiled(function, forceinline=True, fastmath={"reassoc", "contract"})


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        compiled = numba.njit(function, cache=True, nogil=True, error_model="numpy", **options)
    except RuntimeError:
        compiled = numba.njit(function, nogil=True, error_model="numpy", **options)
    return cast(Callable[P, R], compiled)


class _Compiling(event.Listener):
    """Says, once per process, that a first use is compiling, and measures for how long any thread compiles.

    Measured is the time during which at least one thread compiles or keeps what it compiled. So
    threads that compile at once, or wait for one that does, are not counted twice, and what is left
    of a run's time is work of its own.
    """

    def __init__(self) -> None:
        self.said = False
        self.changing = threading.Lock()
        self.depth: dict[
            int, int
        ] = {}  # of calls of the compiler, by thread: one kernel compiles others
        self.began: dict[
            int, tuple[float, str]
        ] = {}  # by thread that compiles: since when, and what
        self.first = 0.0  # since when any thread does
        self.seconds = 0.0  # when none did
        self.interrupt: BaseException | None = None  # of the main thread, for when a kernel is done

    def on_start(self, event: Any) -> None:
        now, thread = time.perf_counter(), threading.get_ident()
        if event.kind == LOCKED:
            self.depth[thread] = self.depth.get(thread, 0) + 1
            return
        function = event.data["dispatcher"].py_func
        with self.changing:
            if not self.began:
                self.first = now
            self.began.setdefault(thread, (now, function.__qualname__))
        if not self.said and function.__module__.startswith("streamsieve."):
            self.said = True
            notes.warning("compiling streamsieve's kernels for first use (once)")

    def on_end(self, event: Any) -> None:
        now, thread = time.perf_counter(), threading.get_ident()
        if event.kind != LOCKED:  # the result is still to be kept
            return
        depth = self.depth.pop(thread, 1) - 1
        if depth:
            self.depth[thread] = depth
        else:
            self._finished(thread, now)
        interrupt = self.interrupt
        if interrupt is not None and thread == threading.main_thread().ident:
            self.interrupt = None
            raise interrupt

    def _finished(self, thread: int, now: float) -> None:
        with self.changing:
            began, name = self.began.pop(thread, (now, ""))
            if name and not self.began:
                self.seconds += now - self.first
        if name:
            notes.info("compiled %s in %.2f s", name, now - began)

    def so_far(self) -> float:
        with self.changing:
            return self.seconds + (time.perf_counter() - self.first if self.began else 0.0)


_COMPILING = _Compiling()
event.register(COMPILED, _COMPILING)
event.register(LOCKED, _COMPILING)


def compile_seconds() -> float:
    """For how long this process has compiled kernels so far, on any thread."""
    return _COMPILING.so_far()


def interrupt(error: BaseException) -> None:
    """Raise ``error``, for a signal; if this thread is in the compiler, as soon as a kernel is done.

    LLVM calls back into Python while it compiles, and what is raised there is lost: an interrupt,
    or half a kernel.
    """
    if threading.get_ident() in _COMPILING.depth:
        _COMPILING.interrupt = error
    else:
        raise error
