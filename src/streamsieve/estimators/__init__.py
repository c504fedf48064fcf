"""All methods as scikit-learn estimators.

The class of a method combines the interface of its kind with the parameters of the method:
``SOFS`` is a ``RowClassifier`` with ``SOFSParameters``. It is made from the registry when it is
first used; the stub of the package lists all classes.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ..errors import UsageError
from ..model import Model, refusing_damage
from ..registry import METHODS, find_method, method_named
from ..selectors.base import AnyLearner
from ..sources.finding import MODEL_FILE
from .base import Estimator

__all__ = ["Estimator", "as_estimator", "estimator_class", "load"]


def estimator_class(method: str) -> type[Estimator]:
    """Return the estimator class of a method."""
    return make_class(method_named(method))


@cache
def make_class(name: str) -> type[Estimator]:
    """Make the estimator class of a method: the interface of its kind with its parameters."""
    method, title = find_method(name), METHODS[name].estimator
    kinds = {"columns": ("columns", "ColumnEstimator"), "matrix": ("matrix", "MatrixEstimator")}
    row_kind = "rows", "RowClassifier" if "classes" in method.targets else "RowRegressor"
    module, kind = kinds.get(method.reads, row_kind)
    interface: type[Estimator] = getattr(import_module(f".{module}", __package__), kind)
    failures = {**interface.expected_failed_checks, **method.expected_failed_checks}
    attributes = {
        "method": method,
        "expected_failed_checks": failures,
        "__doc__": method.doc,
        "__module__": "streamsieve",
        "__qualname__": title,
    }
    return type(title, (interface, method.parameters), attributes)


def as_estimator(learner: AnyLearner) -> Estimator:
    """Return an estimator around a learner; they share everything learned from then on."""
    estimator: Any = estimator_class(learner.method.name)(**vars(learner.params))
    estimator._lock, estimator._learner = learner.lock, learner
    return cast(Estimator, estimator)


def load(path: str | Path) -> Any:
    """Return the estimator that ``save`` wrote to ``path``; learning continues as if uninterrupted.

    ``path`` may be the folder of a finished run, for the model in it.

    Examples
    --------
    >>> import tempfile
    >>> import streamsieve as ss
    >>> selector = ss.SOFS(1).fit([[1, 0], [0, 1]] * 10, [0, 1] * 10)
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     selector.save(file.name)
    ...     ss.load(file.name).n_rows_
    20
    """
    if Path(path).is_dir():
        folder, path = Path(path), Path(path) / MODEL_FILE
        if not path.is_file():
            raise UsageError(f"{folder}: this folder does not contain the model of a finished run")
    model = Model.load(path)
    with refusing_damage(path):
        return as_estimator(find_method(model.method).load(model, str(path)))
