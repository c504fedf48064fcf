"""Compiling, reading and learning are measured separately, whichever thread compiles."""

from __future__ import annotations

from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from streamsieve import training
from streamsieve.kernels import jit


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = self.compiled = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    hands = Hands()
    for module in (jit, training):
        monkeypatch.setattr(module, "time", hands)
    monkeypatch.setattr(training, "compile_seconds", lambda: hands.compiled)
    return hands


def event(kind: str) -> Any:
    function = SimpleNamespace(__module__="elsewhere", __qualname__="kernel")
    return SimpleNamespace(kind=kind, data={"dispatcher": SimpleNamespace(py_func=function)})


def start(compiling: Any) -> None:
    compiling.on_start(event(jit.LOCKED))
    compiling.on_start(event(jit.COMPILED))


def end(compiling: Any) -> None:
    compiling.on_end(event(jit.COMPILED))
    compiling.on_end(event(jit.LOCKED))


def on_another_thread(work: Any, compiling: Any) -> None:
    thread = Thread(target=work, args=(compiling,))
    thread.start()
    thread.join()


def test_threads_that_compile_at_once_are_counted_once(hands: Hands) -> None:
    compiling = jit._CompileClock()

    def meanwhile(compiling: Any) -> None:
        start(compiling)
        hands.now = 5.0
        end(compiling)

    start(compiling)
    hands.now = 2.0
    on_another_thread(meanwhile, compiling)
    hands.now = 7.0
    assert compiling.seconds_so_far() == 7.0, "what is under way counts"
    end(compiling)
    hands.now = 20.0
    assert compiling.seconds_so_far() == 7.0


def test_kernels_that_compile_others_are_counted_once_and_keeping_them_counts(hands: Hands) -> None:
    compiling = jit._CompileClock()
    start(compiling)
    hands.now = 1.0
    start(compiling)
    hands.now = 2.0
    end(compiling)
    compiling.on_end(event(jit.COMPILED))
    hands.now = 3.0
    compiling.on_end(event(jit.LOCKED))
    assert compiling.seconds_so_far() == 3.0


def test_a_kernel_that_is_at_hand_is_not_compiled(hands: Hands) -> None:
    compiling = jit._CompileClock()
    compiling.on_start(event(jit.LOCKED))
    hands.now = 4.0
    compiling.on_end(event(jit.LOCKED))
    assert compiling.seconds_so_far() == 0.0


def test_what_is_neither_learning_nor_compiling_is_reading(hands: Hands) -> None:
    clock = training.Clock()
    hands.now, hands.compiled = 3.0, 1.0
    with clock.learning():
        hands.now, hands.compiled = 9.0, 5.0
    hands.now = 10.0
    assert clock.seconds() == {"total": 10.0, "read": 3.0, "learn": 2.0, "compile": 5.0}
