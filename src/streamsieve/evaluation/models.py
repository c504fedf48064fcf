"""The models that selected features are judged by, as scikit-learn has them, under short names."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from ..errors import UsageError

Task = str  # "classification" or "regression"
DEFAULT_MODEL = "linear"


def downstream(name: str = DEFAULT_MODEL, task: Task = "classification", seed: int = 0) -> Any:
    """A fresh scikit-learn model of a name in ``MODELS``; ``seed`` is for those that draw."""
    if name not in MODELS:
        near = get_close_matches(name, MODELS)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"there is no model {name!r}{hint}; the models are {', '.join(MODELS)}")
    if task not in ("classification", "regression"):
        raise UsageError("task", f"must be 'classification' or 'regression', got {task!r}")
    return MODELS[name](task == "classification", seed)


def linear(classifies: bool, seed: int) -> Any:
    """A linear SVM of squared hinge loss, or ridge regression, on standardised columns.

    The primal solver: it draws nothing, and selected columns are few.
    """
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    return standardised(LinearSVC(dual=False) if classifies else Ridge())


def logistic(classifies: bool, seed: int) -> Any:
    """Logistic regression on standardised columns."""
    from sklearn.linear_model import LogisticRegression

    if not classifies:
        raise UsageError("the model 'logistic' predicts classes; for numbers take 'linear'")
    return standardised(LogisticRegression(max_iter=1000))


def knn(classifies: bool, seed: int) -> Any:
    """The nearest neighbour, by the columns as they are."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return KNeighborsClassifier(1) if classifies else KNeighborsRegressor(1)


def tree(classifies: bool, seed: int) -> Any:
    """A decision tree."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if classifies else DecisionTreeRegressor
    return kind(random_state=seed)


def forest(classifies: bool, seed: int) -> Any:
    """A forest of 100 trees."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classifies else RandomForestRegressor
    return kind(100, random_state=seed)


def standardised(model: Any) -> Any:
    """The model on columns of variance 1, and of mean 0 where they are dense."""
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
