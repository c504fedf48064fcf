"""The errors a user meets."""

from __future__ import annotations


class DataError(ValueError):
    """The data cannot be used as it is: the message says where, what is wrong and what to do."""


class UsageError(ValueError):
    """A name, an option or a combination of them that does not exist: the message says which do."""


def prefix(origin: str) -> str:
    """How a message begins that names the file it is about, if there is one."""
    return f"{origin}: " if origin else ""
