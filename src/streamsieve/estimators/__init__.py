"""All methods as scikit-learn estimators.

The class of a method is the interface of its kind with the parameters of the method: ``SOFS`` is a
``RowClassifier`` with ``SOFSParameters``. It is made from the registry when it is first used; the
stub of the package names all of them.
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
    """Return the estimator of a method."""
    return make_class(method_named(method))


@cache
def make_class(name: str) -> type[Estimator]:
    """Make the estimator of a method: the interface of its kind, with its parameters."""
    method, title = find_method(name), METHODS[name].estimator
    kinds = {"columns": ("columns", "ColumnEstimator"), "matrix": ("matrix", "MatrixEstimator")}
    of_rows = "rows", "RowClassifier" if "classes" in method.targets else "RowRegressor"
    module, kind = kinds.get(method.reads, of_rows)
    interface: type[Estimator] = getattr(import_module(f".{module}", __package__), kind)
    failing = {**interface.expected_failed_checks, **method.expected_failed_checks}
    described = {
        "method": method,
        "__doc__": method.doc,
        "__module__": "streamsieve",
        "__qualname__": title,
    }
    return type(
        title, (interface, method.parameters), {**described, "expected_failed_checks": failing}
    )


def as_estimator(learner: AnyLearner) -> Estimator:
    """Return an estimator that has a learner; what either learns from then on, both know."""
    estimator: Any = estimator_class(learner.method.name)(**vars(learner.params))
    estimator._lock, estimator._learner = learner.lock, learner
    return cast(Estimator, estimator)


def load(path: str | Path) -> Any:
    """Return the estimator that ``save`` wrote to ``path``; learning goes on as if never interrupted.

    The folder of a finished run stands for the model in it.
    """
    if Path(path).is_dir():
        folder, path = Path(path), Path(path) / MODEL_FILE
        if not path.is_file():
            raise UsageError(f"{folder}: there is no model of a finished run in this folder")
    model = Model.load(path)
    with refusing_damage(path):
        return as_estimator(find_method(model.method).load(model, str(path)))
