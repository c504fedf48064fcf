"""The errors a user meets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class DataError(ValueError):
    """The data cannot be used as it is: the message says where, what is wrong and what to do."""


class UsageError(ValueError):
    """A name, an option or a combination of them that does not exist: the message says which do."""


class ParameterError(ValueError):
    """A parameter of a method has a value that it cannot have; ``choices`` are all it can have, if those are few."""

    def __init__(self, name: str, value: Any, expected: str, choices: Sequence[Any] | None = None) -> None:
        super().__init__(f"{name}={value!r}: must be {expected}")
        self.expected = expected
        self.choices = None if choices is None else list(choices)


class RunError(RuntimeError):
    """A run cannot go on, and neither its data nor its options are wrong: the message says what to try."""


def prefix(origin: str) -> str:
    """How a message begins that names the file it is about, if there is one."""
    return f"{origin}: " if origin else ""


def row_prefix(origin: str, rows_before: int | None, row: int) -> str:
    """The same with a row, counted from 0 after ``rows_before`` others, if it is known how many those are."""
    return prefix(origin) if rows_before is None else f"{prefix(origin)}row {rows_before + row + 1}: "
