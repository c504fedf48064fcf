"""How data is to be read: what a user says of it beside where it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError

STRINGS = "onehot", "hash", "drop", "error"
MISSING = "error", "zero", "mean", "skip"


class Reading(NamedTuple):
    """How data is to be read, by training and whatever follows it alike."""

    target: str | None = None  # the column to predict, of a table
    zero_based: bool = False  # whether ids in svmlight text start at 0
    names: str | tuple[str, ...] | None = None  # of the features, for data that has none: a file, or all of them
    drop: tuple[str, ...] = ()  # features to omit
    only: tuple[str, ...] | None = None  # features to read, if not all
    strings: str = "onehot"  # what becomes of columns of text and categories
    missing: str = "error"  # what becomes of missing values

    @classmethod
    def of(cls, **options: Any) -> Reading:
        """The same from what a user has given, checked; lists may come as any iterable, or as text with commas."""
        reading = cls(**options)
        for name, known in (("strings", STRINGS), ("missing", MISSING)):
            if getattr(reading, name) not in known:
                raise UsageError(f"{name}={getattr(reading, name)!r} is not known; choose {', '.join(known)}")
        only = None if reading.only is None else listed(reading.only)
        names: Any = reading.names
        if names is not None:
            names = str(names) if isinstance(names, str | Path) else tuple(map(str, names))
        return reading._replace(drop=listed(reading.drop), only=only, names=names)


def listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names from text with commas between them, or from any iterable."""
    return tuple(names.split(",") if isinstance(names, str) else map(str, names))
