"""Make the models that judge selected features: scikit-learn's, by short names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import UsageError, did_you_mean


def downstream(name: str = "linear", task: str = "classification", seed: int = 0) -> Any:
    """Return a new scikit-learn model by its name in ``MODELS``.

    ``seed`` is the ``random_state`` of models that use randomness.
    """
    if name not in MODELS:
        raise UsageError(
            f"unknown model {name!r}{did_you_mean(name, MODELS)}; the models are"
            f" {', '.join(MODELS)}"
        )
    if task not in ("classification", "regression"):
        raise UsageError("task", f"must be 'classification' or 'regression', got {task!r}")
    return MODELS[name](task == "classification", seed)


def linear(classifies: bool, seed: int) -> Any:
    """Return a linear SVM with squared hinge loss, or ridge regression, on standardised columns.

    The SVM uses the primal solver: it is deterministic, and selected columns are few.
    """
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    return standardised(LinearSVC(dual=False) if classifies else Ridge())


def logistic(classifies: bool, seed: int) -> Any:
    """Return logistic regression on standardised columns."""
    from sklearn.linear_model import LogisticRegression

    if not classifies:
        raise UsageError("the model 'logistic' predicts classes; for numbers take 'linear'")
    return standardised(LogisticRegression(max_iter=1000))


def knn(classifies: bool, seed: int) -> Any:
    """Return the nearest neighbour, by the columns as they are."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier(1) if classifies else KNeighborsRegressor(1)


def tree(classifies: bool, seed: int) -> Any:
    """Return a decision tree."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    estimator_class = DecisionTreeClassifier if classifies else DecisionTreeRegressor
    return estimator_class(random_state=seed)


def forest(classifies: bool, seed: int) -> Any:
    """Return a forest of 100 trees."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    estimator_class = RandomForestClassifier if classifies else RandomForestRegressor
    return estimator_class(100, random_state=seed)


def standardised(model: Any) -> Any:
    """Return a pipeline of a standardizer and a model.

    Columns get variance 1 and, if they are dense, mean 0.
    """
    from sklearn.pipeline import make_pipeline

    from .standardizer import Standardizer

    return make_pipeline(Standardizer(), model)


MODELS: dict[str, Callable[[bool, int], Any]] = {
    "linear": linear,
    "knn": knn,
    "tree": tree,
    "forest": forest,
    "logistic": logistic,
}
