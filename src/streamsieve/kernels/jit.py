"""How every kernel is compiled: cached on disk, without the GIL, and never silently slow."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")


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
    """Says on standard error, once per process, that a first use is compiling, and adds up how long that takes."""

    def __init__(self) -> None:
        self.said = False
        self.seconds = 0.0
        self.threads = threading.local()  # one kernel compiles others

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if not self.said and module.startswith("streamsieve."):
            self.said = True
            print("streamsieve: compiling kernels for first use (once)", file=sys.stderr)
        nested = self.threads.__dict__.setdefault("began", [])
        nested.append(time.perf_counter())

    def on_end(self, event: Any) -> None:
        began = self.threads.__dict__["began"].pop()
        if not self.threads.__dict__["began"]:
            self.seconds += time.perf_counter() - began


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)


def compile_seconds() -> float:
    """How long this process has compiled kernels so far."""
    return _COMPILING.seconds
