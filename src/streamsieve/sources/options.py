"""How data is to be read: what a user says of it beside where it is.

A new option is a field of ``ReadOptions`` and its line in ``ReadKeywords``: keyword arguments,
options of the command line and their help, the folder of a run and its report are made from these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

from ..errors import UsageError, spell
from .formats import table_files

Strings = Literal["onehot", "hash", "drop", "error"]
MissingValues = Literal["error", "zero", "mean", "skip"]
Call = TypeVar("Call", bound=Callable[..., Any])


def option(default: Any, title: str, help: str, metavar: str | None = None) -> Any:
    """Declare an option: what a report calls it, its help on the command line and what stands for its value there."""
    return field(default=default, metadata={"title": title, "help": help, "metavar": metavar})


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How data is to be read, by training and whatever follows it alike."""

    target: str | None = option(
        None, "Target column", f"The column to predict, in tables ({table_files()}).", "NAME"
    )
    names: str | tuple[str, ...] | None = option(  # a file, or all of them
        None,
        "Names of features",
        "The names of the features, one a line, for data that has none.",
        "FILE",
    )
    drop: tuple[str, ...] = option((), "Columns omitted", "Features to omit.", "A,B")
    only: tuple[str, ...] | None = option(
        None, "Columns read alone", "Features to read, and no others.", "A,B"
    )
    strings: Strings = option(
        "onehot",
        "Columns of text",
        "Columns of text: a feature per level, hashed to a fixed number of features, omitted or"
        " refused.",
    )
    missing: MissingValues = option(
        "error",
        "Missing values",
        "Missing values: refused, 0, the mean of the column, or skipped by methods that can.",
    )
    weight: str | None = option(
        None,
        "Weights of rows",
        "A column that says how often each row counts, in tables; no feature.",
        "NAME",
    )
    zero_based: bool = option(
        False, "Ids from 0", "Feature ids of svmlight files start at 0, not at 1."
    )

    @classmethod
    def of(cls, **given: Any) -> ReadOptions:
        """Return what a user has given, checked; lists may come as any iterable, or as text with commas."""
        for name in given:
            if name not in OPTIONS:
                raise TypeError(
                    f"{name!r} is not an option of reading; there are {', '.join(OPTIONS)}"
                )
        for name, allowed in CHOICES.items():
            if given.get(name, allowed[0]) not in allowed:
                raise UsageError(
                    f"{spell(name, given[name])} is not known; choose {', '.join(allowed)}"
                )
        options = cls(**given)
        names: Any = options.names
        if names is not None:
            names = str(names) if isinstance(names, str | Path) else tuple(map(str, names))
        only = None if options.only is None else listed(options.only)
        return replace(options, names=names, drop=listed(options.drop), only=only)

    @classmethod
    def taken_from(cls, keywords: dict[str, Any]) -> ReadOptions:
        """Take the options out of keyword arguments that others are among."""
        return cls.of(**{name: keywords.pop(name) for name in OPTIONS if name in keywords})

    def located(self) -> ReadOptions:
        """Return the same, valid from every folder."""
        return (
            replace(self, names=str(Path(self.names).absolute()))
            if isinstance(self.names, str)
            else self
        )


class ReadKeywords(TypedDict, total=False):
    """The options as keyword arguments, beside ``target`` and ``zero_based``, which may come by position."""

    names: str | Path | Iterable[str] | None
    drop: str | Iterable[str]
    only: str | Iterable[str] | None
    strings: Strings
    missing: MissingValues
    weight: str | None


OPTIONS: dict[str, Field[Any]] = {option.name: option for option in fields(ReadOptions)}
CHOICES = {
    name: get_args(kind)
    for name, kind in get_type_hints(ReadOptions).items()
    if kind in (Strings, MissingValues)
}


def listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names from text with commas between them, or from any iterable."""
    return tuple(names.split(",") if isinstance(names, str) else map(str, names))


def shows_options(function: Call) -> Call:
    """Have the signature of a function that takes ``**read: Unpack[ReadKeywords]`` show the options one by one."""
    signature = inspect.signature(function)
    own = [parameter for parameter in signature.parameters.values() if parameter.name != "read"]
    position = next(
        (n for n, parameter in enumerate(own) if parameter.kind is parameter.VAR_KEYWORD), len(own)
    )
    hints = get_type_hints(ReadOptions) | get_type_hints(ReadKeywords)
    own[position:position] = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[name]
        )
        for name, one in OPTIONS.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return function
