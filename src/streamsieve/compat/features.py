"""Features with names, which are any hashable objects, and the ids of these names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import NamedIds
from ..kernels.reading.entries import hash_names
from ..sources.named_rows import WIDTH, text_of

# whose hash is remembered: a look-up is faster than computing it again
MAX_REMEMBERED_NAMES = 1 << 16
NOT_TEXT = "\0"  # before the text of a name that is not text: 1 and "1" are two features


class Vocabulary:
    """Ids in order of appearance; every name is remembered.

    Features that are new in the same row are numbered in the order of their text, so that the order
    of names within a row has no effect.
    """

    id_type: type[np.signedinteger[Any]] = np.int32

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}  # in order of their names' appearance

    def width(self, n_new: int = 0) -> int:
        """Return a number above all assigned ids, and above those of ``n_new`` new names."""
        return len(self.ids) + n_new

    def assign_ids(self, names: Iterable[Hashable]) -> list[int]:
        """Return the ids of the features of a row to learn; assign ids to new features."""
        ids = self.ids
        try:
            return [ids[name] for name in names]
        except KeyError:
            pass
        for name in sorted((name for name in names if name not in ids), key=text_of_name):
            ids[name] = len(ids)
        return [ids[name] for name in names]

    def forget(self, width: int) -> None:
        """Remove the ids that were assigned since the width was ``width``."""
        while len(self.ids) > width:
            self.ids.popitem()

    def find_ids(self, names: Iterable[Hashable]) -> list[int]:
        """Return the ids of the features of a row to predict; new ones get unused ids."""
        ids, width = self.ids, len(self.ids)
        return [ids.get(name, width + k) for k, name in enumerate(names)]

    def block_names(self, ids: NDArray[Any], names: Iterable[Hashable]) -> NamedIds | None:
        """Return the names of the features of a block, if ids are hashes."""
        return None

    def feature_names(self, ids: NDArray[np.int64], names: NDArray[Any] | None) -> NDArray[Any]:
        """Return the names of selected features; ``names`` are those that the learner has."""
        return as_objects(list(self.ids))[ids]


class HashedNames:
    """Ids that are hashes of names, for selectors in fixed memory.

    The learner has the names of the features that it keeps; the methods are those of a vocabulary.
    """

    id_type: type[np.signedinteger[Any]] = np.int64

    def __init__(self) -> None:
        self.ids: dict[Hashable, int] = {}

    def width(self, n_new: int = 0) -> int:
        return WIDTH

    def assign_ids(self, names: Iterable[Hashable]) -> list[int]:
        ids = self.ids
        try:
            return [ids[name] for name in names]
        except KeyError:
            pass
        texts = [text_of_name(name) for name in names]
        hashed = np.empty(len(texts), np.int64)
        hash_names(*text_of(texts), hashed)
        hashes: list[int] = hashed.tolist()
        if len(ids) + len(hashes) > MAX_REMEMBERED_NAMES:
            ids.clear()
        ids.update(zip(names, hashes, strict=True))
        return hashes

    def forget(self, width: int) -> None:
        pass  # the hash of a name never changes

    find_ids = assign_ids

    def block_names(self, ids: NDArray[Any], names: Iterable[Hashable]) -> NamedIds | None:
        return NamedIds(ids, [text_of_name(name) for name in names])

    def feature_names(self, ids: NDArray[np.int64], names: NDArray[Any] | None) -> NDArray[Any]:
        return as_objects(
            [str(name).removeprefix(NOT_TEXT) for name in ([] if names is None else names)]
        )


def text_of_name(name: Hashable) -> str:
    """Return a text for a name; names that are one dictionary key have the same text."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, int | float) and name % 1 == 0:
        name = int(name)  # 1, 1.0 and True are one key
    return NOT_TEXT + repr(name)


def as_objects(values: list[Any]) -> NDArray[Any]:
    """Return an array of objects of any type, tuples included."""
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects
