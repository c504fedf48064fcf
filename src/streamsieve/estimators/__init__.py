"""The algorithms as scikit-learn estimators: all the glue, once.

Each public class is an interface mixed over a learner: ``SOFS`` over ``selectors.rows.sofs.SOFSLearner``.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..model import Model, refusing_damage
from ..registry import METHODS, method_named
from ..selectors.base import AnyLearner
from ..sources.finding import MODEL_FILE
from .base import Estimator

__all__ = ["Estimator", "as_estimator", "estimator_class", "load"]


def estimator_class(method: str) -> type[Estimator]:
    """Return the estimator over the learner of a method."""
    found = METHODS[method_named(method)]
    folder = found.learner.partition(".")[0]
    estimator: type[Estimator] = vars(import_module(f".{folder}", __package__))[found.estimator]
    return estimator


def as_estimator(learner: AnyLearner) -> Estimator:
    """The same learner as an estimator; what either learns from then on, both know."""
    kind = estimator_class(learner.method)
    estimator = kind.__new__(kind)
    estimator.__dict__ = learner.__dict__
    return estimator


def load(path: str | Path) -> Any:
    """The estimator that ``save`` wrote to ``path``; learning goes on as if never interrupted.

    The folder of a finished run stands for the model in it.
    """
    if Path(path).is_dir():
        folder, path = Path(path), Path(path) / MODEL_FILE
        if not path.is_file():
            raise UsageError(f"{folder}: there is no model of a finished run in this folder")
    model = Model.load(path)
    with refusing_damage(path):
        return estimator_class(model.method).from_model(model, str(path))
