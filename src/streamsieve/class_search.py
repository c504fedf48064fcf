"""Classes that are not given: rows are learned with two classes until more labels appear.

Two classes can be learned without looking at the data first, but finding all labels of a text file
means reading all of it. So learning begins with two, and when a third label appears it starts
again, with the labels of the first rows, or of all rows if the label is not among those. There are
at most two restarts, and the result is the same as with all classes given.
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
from .selectors.diagnosis import MAX_NAMED, Finding
from .sources.base import DataSource, as_row_source
from .sources.labels import FIRST_ROWS, classes_with
from .sources.writers import label_text
from .targets import MAX_PLAUSIBLE_CLASSES, NewLabelError, NotClassesError

if TYPE_CHECKING:
    from .training import Training

Attempt = Callable[[Any | None, bool], "Training"]  # of the classes, and whether it is a restart


def train_with_all_classes(
    learner: AnyLearner, source: DataSource, classes: Any | None, attempt: Attempt
) -> Training:
    """Return the result of ``attempt`` with the classes given, or with all classes of the data.

    The classes of the data are found where it can be read again.
    """
    by_labels = learner.reads == "rows" and "classes" in learner.method.targets
    can_search = classes is None and by_labels and source.rewindable
    started, compiled_before, rows = time.perf_counter(), compile_seconds(), 0
    classes_found: NDArray[Any] | None = None
    with naming_methods(learner):
        while True:
            lost_seconds, lost_compile_seconds = (
                time.perf_counter() - started,
                compile_seconds() - compiled_before,
            )
            try:
                done = attempt(
                    classes if classes_found is None else classes_found, classes_found is not None
                )
                break
            except NewLabelError as error:
                new_classes = (
                    classes_with(as_row_source(source), error.label) if can_search else None
                )
                if new_classes is None or (
                    classes_found is not None and new_classes.size <= classes_found.size
                ):
                    raise
                rows, classes_found = (
                    max(rows, learner.n_learned if learner.started else 0),
                    new_classes,
                )
                learner.reset()
    if classes_found is not None:
        warn_of_many(classes_found, source.name, learner)
        for name, seconds in (
            ("total", lost_seconds),
            ("compile", lost_compile_seconds),
            ("read", lost_seconds - lost_compile_seconds),
        ):
            done.seconds[name] += seconds
        if rows >= FIRST_ROWS:
            done.findings.append(restart_remark(rows, classes_found))
    return done


@contextmanager
def naming_methods(learner: AnyLearner) -> Iterator[None]:
    """Add the methods that learn numbers to the error of a method that learns classes."""
    try:
        yield
    except NotClassesError as error:
        methods = ", ".join(methods_for("numbers", learner.reads))
        raise NotClassesError(f"{error}: {methods}") from None


def restart_remark(rows: int, classes: NDArray[Any]) -> Finding:
    """Return the remark that learning was started again."""
    message = (
        f"another label appeared after {rows:,} rows, so learning started again with all"
        f" {classes.size:,} classes"
    )
    named = [
        int(label) if label_text(label).isdecimal() else label
        for label in classes[:MAX_NAMED].tolist()
    ]
    named += ["..."] if classes.size > MAX_NAMED else []
    return Finding(
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
            f" they are numbers to predict, use a method that learns numbers ({others})",
            UserWarning,
            stacklevel=4,
        )
