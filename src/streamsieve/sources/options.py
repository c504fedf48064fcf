"""Options for reading data, beside the place where it is.

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

MAX_BUCKETS = 1 << 31  # of a column
Strings = Literal["auto", "onehot", "hash", "drop", "error"]
MissingValues = Literal["error", "zero", "mean", "skip"]
Dates = Literal["days", "auto"]
Call = TypeVar("Call", bound=Callable[..., Any])


def option(default: Any, title: str, help: str, metavar: str | None = None) -> Any:
    """Declare an option.

    ``title`` is its name in a report, ``help`` its help on the command line and ``metavar`` the
    placeholder for its value there.
    """
    return field(default=default, metadata={"title": title, "help": help, "metavar": metavar})


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options with which data is read, in training and in everything that follows it."""

    target: str | None = option(
        None, "Target column", f"The column to predict, in tables ({table_files()}).", "NAME"
    )
    names: str | tuple[str, ...] | None = option(  # a file, or the names themselves
        None,
        "Names of features",
        "The names of the features, one per line, for data without names.",
        "FILE",
    )
    drop: tuple[str, ...] = option((), "Columns omitted", "Features to omit.", "A,B")
    only: tuple[str, ...] | None = option(
        None, "Columns read alone", "Features to read, and no others.", "A,B"
    )
    strings: Strings = option(
        "auto",
        "Columns of text",
        "Columns of text: a feature for every value, except columns that are like IDs or sentences"
        " (auto); for at most 1,000 values a column (onehot); for buckets of a hash; omitted; or"
        " refused.",
    )
    n_buckets: int = option(
        1 << 20, "Buckets of hashed text", "Buckets of a column with --strings hash.", "N"
    )
    missing: MissingValues = option(
        "error",
        "Missing values",
        "Missing values: refused, 0, the mean of the column, or skipped by methods that can.",
    )
    dates: Dates = option(
        "days",
        "Dates",
        "Dates and times: days since 1970, or the hour and the weekday as categories (auto).",
    )
    weight: str | None = option(
        None,
        "Weights of rows",
        "A column that says how often each row counts, in tables; it is not a feature.",
        "NAME",
    )
    zero_based: bool = option(
        False, "Ids from 0", "Feature ids of svmlight files start at 0, not at 1."
    )

    @classmethod
    def of(cls, **given: Any) -> ReadOptions:
        """Return the options that a user has given, checked.

        Lists may be given as any iterable, or as text with commas.
        """
        for name in given:
            if name not in OPTIONS:
                raise TypeError(
                    f"{name!r} is not a reading option; the options are {', '.join(OPTIONS)}"
                )
        for name, allowed in CHOICES.items():
            if given.get(name, allowed[0]) not in allowed:
                raise UsageError(
                    f"{spell(name, given[name])} is not known; choose {', '.join(allowed)}"
                )
        options = cls(**given)
        if not isinstance(options.n_buckets, int) or not 0 < options.n_buckets <= MAX_BUCKETS:
            raise UsageError(
                "n_buckets",
                f"must be an integer from 1 to {MAX_BUCKETS:,}, got {options.n_buckets!r}",
            )
        names: Any = options.names
        if names is not None:
            names = str(names) if isinstance(names, str | Path) else tuple(map(str, names))
        only = None if options.only is None else split_names(options.only)
        return replace(options, names=names, drop=split_names(options.drop), only=only)

    @classmethod
    def pop_from(cls, keywords: dict[str, Any]) -> ReadOptions:
        """Remove the reading options from keyword arguments and return them."""
        return cls.of(**{name: keywords.pop(name) for name in OPTIONS if name in keywords})

    def with_absolute_paths(self) -> ReadOptions:
        """Return the same options, with paths that are valid from every folder."""
        return (
            replace(self, names=str(Path(self.names).absolute()))
            if isinstance(self.names, str)
            else self
        )


class ReadKeywords(TypedDict, total=False):
    """The options as keyword arguments.

    ``target`` and ``zero_based`` are not among them: they may be given by position.
    """

    names: str | Path | Iterable[str] | None
    drop: str | Iterable[str]
    only: str | Iterable[str] | None
    strings: Strings
    n_buckets: int
    missing: MissingValues
    dates: Dates
    weight: str | None


OPTIONS: dict[str, Field[Any]] = {option.name: option for option in fields(ReadOptions)}
CHOICES = {
    name: get_args(kind)
    for name, kind in get_type_hints(ReadOptions).items()
    if kind in (Strings, MissingValues, Dates)
}


def split_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names from text with commas between them, or from any iterable."""
    return tuple(names.split(",") if isinstance(names, str) else map(str, names))


def document_options(function: Call) -> Call:
    """Make the signature of a function show the reading options one by one.

    The function takes ``**read: Unpack[ReadKeywords]``.
    """
    signature = inspect.signature(function)
    shown = [parameter for parameter in signature.parameters.values() if parameter.name != "read"]
    position = next(
        (n for n, parameter in enumerate(shown) if parameter.kind is parameter.VAR_KEYWORD),
        len(shown),
    )
    hints = get_type_hints(ReadOptions) | get_type_hints(ReadKeywords)
    shown[position:position] = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hints[name]
        )
        for name, option in OPTIONS.items()
        if name not in signature.parameters
    ]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return function
