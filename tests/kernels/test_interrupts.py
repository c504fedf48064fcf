"""Press Ctrl-C while kernels are compiled."""

from __future__ import annotations

import signal

import numba
import pytest
from numba.core import event

from streamsieve.cli import _interrupt
from streamsieve.kernels import jit

pytestmark = pytest.mark.needs_jit


class PressesCtrlC(event.Listener):
    """A listener that raises a signal inside the compiler."""

    was_raised = False

    def on_start(self, event):
        signal.raise_signal(signal.SIGINT)
        self.was_raised = True

    def on_end(self, event):
        pass


def test_an_interrupt_waits_for_the_compiler_and_is_raised_once():
    @numba.njit
    def kernel(x):
        return x + 1

    previous_handler, listener = signal.signal(signal.SIGINT, _interrupt), PressesCtrlC()
    event.register(jit.COMPILED, listener)
    try:
        with pytest.raises(KeyboardInterrupt):
            kernel(1)
    finally:
        event.unregister(jit.COMPILED, listener)
        signal.signal(signal.SIGINT, previous_handler)
    assert kernel(1) == 2
    assert listener.was_raised, "the signal was raised inside the compiler"


def test_outside_the_compiler_it_is_raised_at_once():
    with pytest.raises(KeyboardInterrupt):
        jit.interrupt(KeyboardInterrupt())
