"""Declare the arrays of a state where they are defined.

    class InvestingState(NamedTuple):
        ids: I64 = array("slots", low=0, below=NO_ID)
        basis: F64 = array("slots", "rows")

``streamsieve.state`` derives the rest: new arrays, growth, and the checks of an array from a file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MAX_ID = 2**63 - 2  # of a feature: the width is one more and must fit an int64
NO_ID = MAX_ID + 1
NO_GROUP = -1
# largest absolute value in a column: differences of such values are still finite
MAX_VALUE = 1e300


class ArraySpec(NamedTuple):
    """The declaration of an array.

    ``shape`` has a number or the name of a size per axis; axes with the same name have the same
    size. ``low`` and ``below`` bound every entry; ``below`` may be the name of a size. Integers
    without ``below`` must leave room to be counted up. Numbers are finite, and so are their
    products, unless ``finite`` is False. ``start`` fills a new array; a ``numbered`` array counts
    0, 1, 2, ... instead. Entries that are ``positions`` are indices into arrays over all features.
    A ``dtype`` of None allows any type; in a state it follows from the annotation.
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
    """Return the declaration of an array, used as the default of a state field."""
    return ArraySpec(shape, **options)
