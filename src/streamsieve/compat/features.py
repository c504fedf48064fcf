"""Features that are known by name, any hashable, and how a name becomes an id."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..blocks import NamedIds
from ..kernels.reading.entries import hash_names
from ..sources.named_rows import WIDTH, text_of

MAX_REMEMBERED_NAMES = (
    1 << 16
)  # names whose hash is remembered: to look it up is faster than to find it again
NOT_TEXT = "\0"  # before what is shown of a name that is not text: 1 and "1" are two features


class Features(Protocol):
    """What knows the ids of features."""

    id_type: type[np.signedinteger[Any]]

    def width(self, n_found: int = 0) -> int:
        """More than every id that was given out, and than those of so many names that were ``found``."""

    def learned(self, names: Iterable[Hashable]) -> list[int]:
        """The ids of features in a row to learn; new ones are given ids."""

    def forget(self, width: int) -> None:
        """Take back the ids that were given out since there was that ``width``."""

    def found(self, names: Iterable[Hashable]) -> list[int]:
        """The ids of features in a row to predict; new ones have ids that no learned feature has."""

    def named(self, ids: NDArray[Any], names: Iterable[Hashable]) -> NamedIds | None:
        """The names that go with a block, where ids are hashes."""

    def titles(self, ids: NDArray[np.int64], names: NDArray[Any] | None) -> NDArray[Any]:
        """What selected features are called; ``names`` are what the learner calls them."""


class Vocabulary:
    """Ids in the order of appearance; every name is remembered.

    Features that are new in the same row are numbered in the order of their text, so that the order
    in which a row names them changes nothing.
    """

    id_type: type[np.signedinteger[Any]] = np.int32

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}
        self.names: list[Hashable] = []

    def width(self, n_found: int = 0) -> int:
        return len(self.names) + n_found

    def learned(self, names: Iterable[Hashable]) -> list[int]:
        ids = self.ids
        try:
            return [ids[name] for name in names]
        except KeyError:
            pass
        for name in sorted((name for name in names if name not in ids), key=text_of_name):
            ids[name] = len(ids)
            self.names.append(name)
        return [ids[name] for name in names]

    def forget(self, width: int) -> None:
        while len(self.names) > width:
            del self.ids[self.names.pop()]

    def found(self, names: Iterable[Hashable]) -> list[int]:
        ids, width = self.ids, len(self.names)
        return [ids.get(name, width + k) for k, name in enumerate(names)]

    def named(self, ids: NDArray[Any], names: Iterable[Hashable]) -> NamedIds | None:
        return None

    def titles(self, ids: NDArray[np.int64], names: NDArray[Any] | None) -> NDArray[Any]:
        return as_objects([self.names[feature] for feature in ids.tolist()])


class HashedNames:
    """Ids that are hashes of names, for selectors in fixed memory; the learner knows the names of what it keeps."""

    id_type: type[np.signedinteger[Any]] = np.int64

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}

    def width(self, n_found: int = 0) -> int:
        return WIDTH

    def learned(self, names: Iterable[Hashable]) -> list[int]:
        ids = self.ids
        try:
            return [ids[name] for name in names]
        except KeyError:
            pass
        hashes = self._hashes(list(names))
        if len(ids) + len(hashes) > MAX_REMEMBERED_NAMES:
            ids.clear()
        ids.update(zip(names, hashes, strict=True))
        return hashes

    def forget(self, width: int) -> None:
        pass  # a hash is the same whether it is remembered or not

    found = learned

    def _hashes(self, names: list[Hashable]) -> list[int]:
        ids = np.empty(len(names), np.int64)
        hash_names(*text_of([text_of_name(name) for name in names]), ids)
        found: list[int] = ids.tolist()
        return found

    def named(self, ids: NDArray[Any], names: Iterable[Hashable]) -> NamedIds | None:
        return NamedIds(ids, [text_of_name(name) for name in names])

    def titles(self, ids: NDArray[np.int64], names: NDArray[Any] | None) -> NDArray[Any]:
        return as_objects(
            [str(name).removeprefix(NOT_TEXT) for name in ([] if names is None else names)]
        )


def text_of_name(name: Hashable) -> str:
    """A text for every name, equal for names that a dictionary takes for the same."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, int | float) and name % 1 == 0:
        name = int(name)  # 1, 1.0 and True are one key
    return NOT_TEXT + repr(name)


def as_objects(values: list[Any]) -> NDArray[Any]:
    """An array of any objects, tuples among them."""
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects
