"""Declare the arrays of a state where they are defined.

    class InvestingState(NamedTuple):
        ids: I64 = array("slots", low=0, below=NO_ID)
        basis: F64 = array("slots", "rows")

``streamsieve.state`` derives the rest: fresh arrays, growth, and what an array from a file must be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_ID = 2**63 - 2  # of a feature: the width is one more, and an int64
NO_ID = MAX_ID + 1
NO_GROUP = -1
MAX_VALUE = 1e300  # in size, of columns as they come: differences of such values are still numbers


class ArraySpec(NamedTuple):
    """The declaration of an array.

    ``shape`` has a number or the name of a size per axis: axes of one name are of one size. ``low``
    and ``below`` bound every entry; a name for ``below`` is a size, and integers without it leave
    room to count on from them. Numbers are finite, with room for their products, unless ``finite``
    is False. ``start`` fills a fresh array; a ``numbered`` one counts 0, 1, 2, ... instead. Entries
    that are ``positions`` say where features are in arrays over all of them. A ``dtype`` of None
    may be any; in a state it follows from the annotation.
    """

    shape: tuple[int | str, ...]
    low: float | None = None
    below: float | str | None = None
    finite: bool = True
    start: float = 0
    numbered: bool = False
    positions: bool = False
    dtype: Any = None


def array(*shape: int | str, **options: Any) -> Any:
    """Return the declaration of an array, as the default of a field of a state."""
    return ArraySpec(shape, **options)
