"""What every selector must satisfy, picked by the class it is built on.

    for name, check in checks_for("sofs"):
        check()

A check raises AssertionError when the method breaks a promise. A new method in the registry is checked without another
line; parameters to try beside its defaults, and promises that cannot hold, stand with their reasons in its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ..registry import learner_class
from ..selectors.columns.base import ColumnLearner
from ..selectors.matrix.base import MatrixLearner
from ..selectors.rows.base import RowLearner
from . import columns, matrix, rows

Check = Callable[[], None]
KINDS = ((RowLearner, rows), (ColumnLearner, columns), (MatrixLearner, matrix))


def checks_for(method: str) -> Iterator[tuple[str, Check]]:
    """The checks a method must pass, with their names."""
    learner = learner_class(method)
    for kind, promises in KINDS:
        if issubclass(learner, kind):
            for params in ({}, *learner.check_variants):
                for check in promises.CHECKS:
                    if check.__name__ not in learner.exempt_from_checks:
                        told = ",".join(f"{name}={value}" for name, value in params.items())
                        yield f"{check.__name__}({told})", partial(check, promises.Maker(method, params))
