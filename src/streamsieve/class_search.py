"""Classes that nobody has named: rows are learned as of two classes until they turn out to have more.

Two classes need no look at the data beforehand, and a look at all labels of a text means reading
all of it. So learning begins, and when a third label comes up it begins again, with the labels of
the first rows, or of all rows if the label is not among those. There are no more than two new
beginnings, and the answer is that of all classes named.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .errors import spell
from .kernels.jit import compile_seconds
from .registry import methods_for
from .selectors.base import AnyLearner
from .selectors.diagnosis import MAX_NAMED, Remark
from .sources.base import DataSource, by_rows
from .sources.labels import FIRST_ROWS, classes_with
from .sources.writers import label_text
from .targets import MAX_PLAUSIBLE_CLASSES, NewLabelError, NotClassesError

if TYPE_CHECKING:
    from .training import Training

Attempt = Callable[
    [Any | None, bool], "Training"
]  # with the classes, and whether it is a new beginning


def with_all_classes(
    learner: AnyLearner, source: DataSource, classes: Any | None, attempt: Attempt
) -> Training:
    """What ``attempt`` gives with the classes named, or with all there are where the data can be read again."""
    by_labels = learner.reads == "rows" and "classes" in learner.method.targets
    can_search = classes is None and by_labels and source.rewindable
    began, compiled, rows = time.perf_counter(), compile_seconds(), 0
    found: NDArray[Any] | None = None
    with naming_methods(learner):
        while True:
            lost, lost_compiling = time.perf_counter() - began, compile_seconds() - compiled
            try:
                done = attempt(classes if found is None else found, found is not None)
                break
            except NewLabelError as error:
                more = classes_with(by_rows(source), error.label) if can_search else None
                if more is None or (found is not None and more.size <= found.size):
                    raise
                rows, found = max(rows, learner.n_learned if learner.started else 0), more
                learner.reset()
    if found is not None:
        warn_of_many(found, source.name, learner)
        for name, seconds in (
            ("total", lost),
            ("compile", lost_compiling),
            ("read", lost - lost_compiling),
        ):
            done.seconds[name] += seconds
        if rows >= FIRST_ROWS:
            done.remarks.append(began_again(rows, found))
    return done


@contextmanager
def naming_methods(learner: AnyLearner) -> Iterator[None]:
    """Where numbers come to a method for classes, name the methods that learn numbers."""
    try:
        yield
    except NotClassesError as error:
        raise NotClassesError(error.what, methods_for("numbers", learner.reads)) from None


def began_again(rows: int, classes: NDArray[Any]) -> Remark:
    message = (
        f"another label came up after {rows:,} rows, so learning began again with all"
        f" {classes.size:,} classes"
    )
    named = [
        int(label) if label_text(label).isdecimal() else label
        for label in classes[:MAX_NAMED].tolist()
    ]
    named += ["..."] if classes.size > MAX_NAMED else []
    return Remark(
        "began again",
        "note",
        message,
        f"name them to read the rows once: {spell('classes', named)}",
    )


def warn_of_many(classes: NDArray[Any], origin: str, learner: AnyLearner) -> None:
    """Warn of integers that may be numbers to predict."""
    if classes.dtype.kind in "iuf" and classes.size > MAX_PLAUSIBLE_CLASSES:
        others = ", ".join(method for method in methods_for("numbers", learner.reads)[:2])
        warnings.warn(
            f"{origin}: the target has {classes.size:,} different integers, taken as classes; if"
            f" they are numbers to predict, take a method that learns numbers ({others})",
            UserWarning,
            stacklevel=4,
        )
