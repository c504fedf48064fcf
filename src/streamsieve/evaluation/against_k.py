"""Accuracy and time against the number of features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..registry import make_learner, method_named, refuse_unknown_parameters
from ..targets import labels_like
from ..training import train
from .in_memory import InMemory
from .models import DEFAULT_MODEL, downstream
from .quality import Fit, Quality, hold_out
from .resampling import classes_in


class AgainstK(NamedTuple):
    """A selection of up to ``k`` features, how good a model is on them, and what the selection took."""

    k: int
    n_selected: int
    quality: Quality | Fit | None  # None if nothing was selected
    seconds: float  # reading from memory and learning, without compiling kernels
    learn_seconds: float


def accuracy_against_k(
    train_data: Any,
    test_data: Any,
    method: str = "sofs",
    ks: Iterable[int] = (10, 20, 50, 100),
    *,
    model: Any = DEFAULT_MODEL,
    seed: int = 0,
    **params: Any,
) -> list[AgainstK]:
    """Select from the training data for every number of features, and measure a model on the test data.

    Data is a pair ``(X, y)``, a source or a path, and is held in memory. ``model`` is a name in
    ``MODELS`` or any scikit-learn model. ``seed`` is ``random_state`` of methods and models that
    draw; ``params`` are the method's.
    """
    method = method_named(method)
    refuse_unknown_parameters(method, params)
    learned, tested = InMemory.of(train_data), InMemory.of(test_data)
    rows = np.arange(learned.y.size)
    points = []
    for k in ks:
        learner = make_learner(method, {**params, "n_features_to_select": k}, seed)
        codes, classes = classes_in(learned, learner)
        groups = learned.groups if learner.method.knows_groups else None
        seconds = train(
            learner, learned.rows(rows, learner.reads), classes=classes, groups=groups
        ).seconds
        chosen = learned.selected(learner)
        judge = model
        if isinstance(model, str):
            judge = downstream(model, "classification" if codes.any() else "regression", seed)
        quality = None
        if chosen.size:
            answers = labels_like(
                np.unique(learned.y) if codes.any() else None, tested.y, tested.name
            )
            quality = hold_out(
                judge, learned.columns(chosen), learned.y, tested.columns(chosen), answers
            )
        took = seconds["total"] - seconds["compile"]
        points.append(AgainstK(int(k), chosen.size, quality, took, seconds["learn"]))
    return points
