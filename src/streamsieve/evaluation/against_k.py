"""Measure accuracy and time against the number of features."""

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
    """A selection of up to ``k`` features, the quality of a model on them, and the time taken."""

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
    """Measure a model on the test data, with features selected for every number of features.

    Data is a pair ``(X, y)``, a source or a path, and is held in memory. Features are selected from
    the training data. ``model`` is a name in ``MODELS`` or any scikit-learn model. ``seed`` is the
    ``random_state`` of methods and models that use randomness; ``params`` are the parameters of
    the method.
    """
    method = method_named(method)
    refuse_unknown_parameters(method, params)
    train_set, test_set = InMemory.of(train_data), InMemory.of(test_data)
    rows = np.arange(train_set.y.size)
    points = []
    for k in ks:
        learner = make_learner(method, {**params, "n_features_to_select": k}, seed)
        codes, classes = classes_in(train_set, learner)
        groups = train_set.groups if learner.method.supports_groups else None
        seconds = train(
            learner, train_set.rows(rows, learner.reads), classes=classes, groups=groups
        ).seconds
        features = train_set.selected(learner)
        estimator = model
        if isinstance(model, str):
            estimator = downstream(model, "classification" if codes.any() else "regression", seed)
        quality = None
        if features.size:
            test_labels = labels_like(
                np.unique(train_set.y) if codes.any() else None, test_set.y, test_set.name
            )
            quality = hold_out(
                estimator,
                train_set.columns(features),
                train_set.y,
                test_set.columns(features),
                test_labels,
            )
        selection_seconds = seconds["total"] - seconds["compile"]
        points.append(AgainstK(int(k), features.size, quality, selection_seconds, seconds["learn"]))
    return points
