"""How many examples the property tests draw: all in the full run, a sixth otherwise, few if kernels are Python."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("FULL_TESTS"))  # set by make test-full
REPRESENTATIVES = ("sofs", "sofs-regressor", "saola", "online-substitution", "local-learning")  # of each kind of method
JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def examples(number: int) -> int:
    if JIT_IS_OFF:
        return number // 20
    return number if FULL else max(number // 6, 5)
