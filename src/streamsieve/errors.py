"""The errors that users see, and the way in which messages spell arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

NO_VALUE: Any = object()


class Spelling:
    """The spelling of arguments in messages: as in Python, unless an interface overrides it."""

    def argument(self, name: str, value: Any = NO_VALUE) -> str:
        """Return an argument alone, or with a value."""
        return name if value is NO_VALUE else f"{name}={value!r}"

    def allowed(self, text: str) -> str:
        """Return a description of the values that an argument may have."""
        return text


_spelling = Spelling()


@contextmanager
def spelling_as(spelling: Spelling) -> Iterator[None]:
    """Spell arguments in another way inside the context, in all threads."""
    global _spelling
    previous, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = previous


def spell(name: str, value: Any = NO_VALUE) -> str:
    """Return an argument as a user writes it: ``drop='age'``, or ``--drop age`` as an option."""
    return _spelling.argument(name, value)


class DataError(ValueError):
    """The data cannot be used as it is: the message says where, what is wrong and what to do.

    Examples
    --------
    >>> import streamsieve as ss
    >>> try:
    ...     ss.SOFS(1).fit([[1.0, float("nan")], [0.0, 1.0]], [0, 1])
    ... except ValueError:
    ...     print("refused")
    refused
    """


class UsageError(ValueError):
    """A name, an option or a combination of them is invalid: the message says what is valid.

    ``UsageError("test", "must be ...")`` is about one argument, which begins the message.

    Examples
    --------
    >>> import streamsieve as ss
    >>> try:
    ...     ss.select("synthetic:x1?rows=100", "soffs")
    ... except ss.UsageError as error:
    ...     print(str(error).split(" (")[0])
    there is no method 'soffs'
    """

    def __init__(self, *parts: str) -> None:
        *arguments, text = parts
        super().__init__(": ".join([*map(spell, arguments), text]))


class ParameterError(UsageError):
    """A parameter of a method has an invalid value.

    ``choices`` are all valid values, if they are few.
    """

    def __init__(
        self, name: str, value: Any, expected: str, choices: Sequence[Any] | None = None
    ) -> None:
        super().__init__(f"{spell(name, value)}: must be {_spelling.allowed(expected)}")
        self.expected = expected
        self.choices = None if choices is None else list(choices)

    def __reduce__(self) -> tuple[Any, ...]:
        return UsageError, self.args


class RunError(RuntimeError):
    """A run failed although its data and options are correct: the message says what to try."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that suggests the names most similar to an unknown one, for a message.

    It is empty if no name is similar.
    """
    near = get_close_matches(name, list(names))
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def prefix(origin: str) -> str:
    """Return the beginning of a message about a file, or nothing without a file."""
    return f"{origin}: " if origin else ""


def row_prefix(origin: str, rows_before: int | None, row: int) -> str:
    """Return the beginning of a message about a row of a file.

    ``row`` counts from 0 after ``rows_before`` other rows; it is omitted if their number is not
    known.
    """
    return (
        prefix(origin) if rows_before is None else f"{prefix(origin)}row {rows_before + row + 1}: "
    )
