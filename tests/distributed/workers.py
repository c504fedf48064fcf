"""Workers for the tests of engines.

They are in a module of their own, so that other processes can import them.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np

from streamsieve.errors import DataError


class Counter:
    def __init__(self, start: Any) -> None:
        self.count = start

    def add(self, number: int) -> int:
        self.count += number
        return int(self.count)

    def total(self) -> float:
        return float(np.sum(self.count))

    def twice(self, array: Any, other: dict[str, Any]) -> Any:
        other["same"] += 1.0  # a value that is not shared may be changed
        return 2 * array

    def sum_of(self, shared: dict[str, Any]) -> int:
        return int(shared["numbers"].sum())

    def is_writable(self, arrays: list[Any]) -> list[bool]:
        return [array.flags.writeable for array in arrays]

    def machine(self) -> str:
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def push(self, centre: Any, worker: int, part: Any) -> Any:
        return centre.register(worker, part)

    def pid(self) -> int:
        return os.getpid()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def fail(self, text: str) -> None:
        raise DataError(text)

    def fail_oddly(self) -> None:
        raise OddError("one", "two")


class OddError(Exception):
    """An error that cannot be made again from its text."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first}, {second}")


class Stubborn:
    def __init__(self) -> None:
        raise DataError("no")
