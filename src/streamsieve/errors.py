"""The errors a user meets, and how their messages write the arguments that a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

NO_VALUE: Any = object()


class Spelling:
    """How messages write arguments: as in Python, unless another interface says how it writes them."""

    def argument(self, name: str, value: Any = NO_VALUE) -> str:
        """Return an argument by itself, or with a value."""
        return name if value is NO_VALUE else f"{name}={value!r}"

    def allowed(self, text: str) -> str:
        """Return a description of the values that an argument may have."""
        return text


_spelling = Spelling()


@contextmanager
def spelling_as(spelling: Spelling) -> Iterator[None]:
    """Write arguments in another way meanwhile, in all threads."""
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


def spell(name: str, value: Any = NO_VALUE) -> str:
    """Return an argument as a user writes it: ``drop='age'`` in Python, ``--drop age`` on the command line."""
    return _spelling.argument(name, value)


class DataError(ValueError):
    """The data cannot be used as it is: the message says where, what is wrong and what to do."""


class UsageError(ValueError):
    """A name, an option or a combination of them cannot be: the message says why, and what can.

    ``UsageError("test", "must be ...")`` is about one argument, which begins the message.
    """

    def __init__(self, *parts: str) -> None:
        *arguments, text = parts
        super().__init__(": ".join([*map(spell, arguments), text]))


class ParameterError(UsageError):
    """A parameter of a method has a value that it cannot have; ``choices`` are all it can have, if those are few."""

    def __init__(
        self, name: str, value: Any, expected: str, choices: Sequence[Any] | None = None
    ) -> None:
        super().__init__(f"{spell(name, value)}: must be {_spelling.allowed(expected)}")
        self.expected = expected
        self.choices = None if choices is None else list(choices)

    def __reduce__(self) -> tuple[Any, ...]:
        return UsageError, self.args


class RunError(RuntimeError):
    """A run cannot go on, and neither its data nor its options are wrong: the message says what to try."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that names those most like one that there is not, to go into a message; nothing if none is."""
    near = get_close_matches(name, list(names))
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def prefix(origin: str) -> str:
    """How a message begins that names the file it is about, if there is one."""
    return f"{origin}: " if origin else ""


def row_prefix(origin: str, rows_before: int | None, row: int) -> str:
    """The same with a row, counted from 0 after ``rows_before`` others, if it is known how many those are."""
    return (
        prefix(origin) if rows_before is None else f"{prefix(origin)}row {rows_before + row + 1}: "
    )
