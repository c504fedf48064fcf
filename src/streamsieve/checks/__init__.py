"""What every selector must satisfy, picked by the class it is built on.

    for name, check in checks_for("sofs"):
        check("sofs")

A check takes the name of a method and raises AssertionError when the method breaks a promise. A new method in the
registry is checked without another line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..registry import learner_class
from ..selectors.rows.base import RowLearner
from . import rows

Check = Callable[[str], None]


def checks_for(method: str) -> Iterator[tuple[str, Check]]:
    """The checks a method must pass, with their names."""
    if issubclass(learner_class(method), RowLearner):
        yield from ((check.__name__, check) for check in rows.CHECKS)
