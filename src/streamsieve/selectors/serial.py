"""One call at a time: what threads ask of one learner is done one after the other.

Learning moves and stretches arrays in place, which nobody may look at meanwhile. So whatever learns, and whatever reads
what was learned, holds the lock of its learner until it is done: ``save`` until the file is written, since a copy would
take the memory twice; ``fit`` until the end of its data, so that nobody saves half of it. Who must not wait that long
hands over one block at a time with ``partial_fit`` or ``partial_fit_block``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import getattr_static, isfunction
from threading import RLock
from typing import Any

SERIALIZED = (
    # learning
    *("start", "reset", "begin_pass", "partial_fit_block", "finish", "take_up", "as_part", "take_over", "ask", "tell"),
    *("name_groups", "fit", "fit_source", "partial_fit", "partial_fit_columns"),
    # what was learned
    *("selection", "findings", "diagnosis", "predictor", "scorer", "linear_model", "loss_on", "model", "save"),
    *("remembered", "tally", "predict", "predict_proba", "decision_function", "_scores", "coef_", "intercept_"),
    *("curve_", "kept_now", "_settled"),
)
LOCK = "_lock"

Method = Callable[..., Any]


class Lock(type(RLock())):  # type: ignore[misc]  # typeshed has the function alone
    """The lock of a learner. A copy of a learner, or one that is sent to another process, has a lock of its own."""

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def lock_of(learner: Any) -> Lock:
    """The lock of a learner, made when it is first needed; an estimator over the learner has the same."""
    known: dict[str, Any] = learner.__dict__
    lock: Lock = known.get(LOCK) or known.setdefault(LOCK, Lock())
    return lock


def serialize(learner: type) -> None:
    """Have the methods of a class that learn, or read what was learned, wait for one another.

    What it inherits is found here, too. Classes that only others are made of, and have no name of a method, are left
    as they are: so a call that an overriding method passes on costs nothing more.
    """
    if getattr_static(learner, "method", None) is None:
        return
    for name in SERIALIZED:
        found = getattr_static(learner, name, None)
        if isinstance(found, property) and found.fget is not None and not _is_serialized(found.fget):
            setattr(learner, name, property(serialized(found.fget), doc=found.__doc__))
        elif isfunction(found) and not _is_serialized(found):
            setattr(learner, name, (predicting if name == "predictor" else serialized)(found))


def _is_serialized(method: Method) -> bool:
    return LOCK in vars(method)


def serialized(method: Method) -> Method:
    """The same method, holding the lock of its learner."""

    @wraps(method)
    def alone(self: Any, *args: Any, **options: Any) -> Any:
        with self.__dict__.get(LOCK) or lock_of(self):
            return method(self, *args, **options)

    vars(alone)[LOCK] = True
    return alone


def predicting(method: Method) -> Method:
    """The same method, which makes a predictor that holds the lock of its learner, too."""

    @wraps(method)
    def made(self: Any) -> Any:
        predictor = method(self)
        predict = predictor.predict

        def alone(block: Any, squares: Any) -> Any:
            with lock_of(self):
                return predict(block, squares)

        return replace(predictor, predict=alone)

    return serialized(made)
