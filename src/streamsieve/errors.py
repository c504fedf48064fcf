"""The errors a user meets."""

from __future__ import annotations


class DataError(ValueError):
    """The data cannot be used as it is: the message says where, what is wrong and what to do."""


class UsageError(ValueError):
    """A name, an option or a combination of them that does not exist: the message says which do."""


class RunError(RuntimeError):
    """A run cannot go on, and neither its data nor its options are wrong: the message says what to try."""


def prefix(origin: str) -> str:
    """How a message begins that names the file it is about, if there is one."""
    return f"{origin}: " if origin else ""


def row_prefix(origin: str, rows_before: int | None, row: int) -> str:
    """The same with a row, counted from 0 after ``rows_before`` others, if it is known how many those are."""
    return prefix(origin) if rows_before is None else f"{prefix(origin)}row {rows_before + row + 1}: "
