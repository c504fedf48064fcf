"""Names for the features of data that has none: a file with one a line, or any sequence of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import RowBlock
from ..errors import DataError, UsageError, spell
from ..naming import title
from .base import DataSource, Source
from .compression import damage_named, open_compressed
from .formats import COMPRESSIONS
from .wrapped import WrappedRows


def given_names(names: str | Sequence[str]) -> NDArray[Any]:
    """Return the names that a user gives, in a file or one by one."""
    return read_names(Path(names)) if isinstance(names, str) else sound_names(names, "names, number ")


def read_names(path: Path) -> NDArray[Any]:
    """The names in a file, one a line, in order of the features; it may be compressed."""
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    with path.open("rb") as raw, damage_named(str(path), compression):
        text = open_compressed(raw, compression).read()
    try:
        lines = text.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}:{line}: this is not UTF-8 text; save the names in UTF-8") from error
    if not lines[-1]:
        lines.pop()
    return sound_names(lines, f"{path}:")


def sound_names(names: Iterable[str], origin: str) -> NDArray[Any]:
    """Names as an array, each of them there once; ``origin`` is what comes before the number of a line, from 1."""
    listed = names if isinstance(names, list) else list(map(str, names))
    if not listed:
        raise DataError(f"{origin.rstrip(':')}: there are no names; give one a line")
    different = set(listed)
    if len(different) < len(listed) or "" in different:
        refuse_unsound(listed, origin)
    found = np.empty(len(listed), object)
    found[:] = listed
    return found


def refuse_unsound(names: list[str], origin: str) -> None:
    """Refuse the first name that is empty or was there before."""
    known: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        if not name:
            raise DataError(f"{origin}{line}: there is no name; every feature needs one")
        if name in known:
            raise DataError(f"{origin}{line}: the name {name!r} appears twice, first in line {known[name]}; rename one")
        known[name] = line


def give_names(source: DataSource, given: str | Sequence[str]) -> DataSource:
    """Return the same data with names for its features, from a file or one by one.

    Sparse data may have fewer features than there are names: it is as wide as the names then.
    """
    names, origin = given_names(given), given if isinstance(given, str) else "names"
    if source.has_names:
        raise UsageError(f"{source.name}: its features have names already; omit {spell('names')}")
    if (source.n_features or 0) > names.size:
        raise too_few(source, (source.n_features or 0) - 1, names, origin)
    return source.named(names, origin)


def too_few(source: DataSource, feature: int, names: NDArray[Any], origin: str) -> DataError:
    return DataError(
        f"{source.name}: there is a {title(feature, None, source.facts.first_id)}, and {origin} has "
        f"{names.size:,} names; {feature + 1:,} are needed, one a line"
    )


class NamedRows(WrappedRows):
    """Rows whose features have got names."""

    def __init__(self, rows: Source, names: NDArray[Any], origin: str) -> None:
        super().__init__(rows, feature_names=names, n_features=names.size)
        self.names, self.origin = names, origin

    def _changed(self, block: RowBlock) -> RowBlock:
        if block.n_features > self.names.size:
            raise too_few(self, block.n_features - 1, self.names, self.origin)
        return block
