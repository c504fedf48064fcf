"""The number of examples of the property tests.

All are drawn in the full run, a sixth otherwise, and few if kernels run in Python.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

FULL = bool(os.environ.get("FULL_TESTS"))  # set by make test-full
REPRESENTATIVES = (
    "sofs",
    "sofs-regressor",
    "saola",
    "online-substitution",
    "local-learning",
)  # of each kind of method
JIT_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def of_every_kind(methods: Iterable[str]) -> list[Any]:
    """Return methods to parametrise a test with.

    Those that do not represent a kind are for the full run.
    """
    return [
        pytest.param(name, marks=() if name in REPRESENTATIVES else pytest.mark.slow)
        for name in methods
    ]


def examples(number: int) -> int:
    if JIT_IS_OFF:
        return number // 20
    return number if FULL else max(number // 6, 5)
