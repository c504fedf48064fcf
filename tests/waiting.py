"""Wait for another process, or for a thread that gives no signal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def wait_for(condition: Callable[[], Any], seconds: float = 120.0) -> None:
    """Return as soon as a condition holds; fail if it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds:g} seconds in vain"
        time.sleep(0.005)
