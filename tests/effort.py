"""How many examples the property tests draw: all of them in the full run, a third of them otherwise."""

from __future__ import annotations

import os

FULL = bool(os.environ.get("FULL_TESTS"))  # set by make test-full


def examples(number: int) -> int:
    return number if FULL else number // 3
