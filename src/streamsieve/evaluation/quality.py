"""Measure the quality of predictions: accuracy and AUC for classes, R2 and error for numbers.

``hold_out`` and ``cross_validated`` measure any scikit-learn model on columns that were selected
before. Only these functions import scikit-learn: measuring the predictions of a learner does not
need it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UsageError
from ..sources.arrays import as_labels
from ..values import is_sparse

N_GROUPS = 10  # of rows, by their predicted probability
MIN_PROBABILITY = 1e-15  # of the true class, so that the log loss is finite


class Quality(NamedTuple):
    """The quality of predicted classes; the AUC is None if all rows are of one class."""

    accuracy: float  # the fraction of correct labels
    balanced_accuracy: float  # the same within each class, averaged over the classes
    auc: float | None  # the probability that a row of the class scores above a row of another one


class Fit(NamedTuple):
    """The quality of predicted numbers."""

    r2: float | None  # the fraction of the variance that is predicted; None without variance
    error: float  # the root of the mean squared error


class Reliability(NamedTuple):
    """The quality of predicted probabilities.

    ``deciles`` is for two classes: ten groups of rows by the probability of the second class, each
    with its number of rows, the mean probability and the fraction of rows that are of the class.
    """

    log_loss: float  # the mean logarithm of 1 / the probability of the true class
    deciles: list[dict[str, float]]


def reliability_of(
    y: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any]
) -> Reliability | None:
    """Return the quality of probabilities, a column per class; None for labels without one."""
    codes = np.minimum(np.searchsorted(classes, y), classes.size - 1)
    if not (classes[codes] == y).all():
        return None
    chosen = np.maximum(probabilities[np.arange(y.size), codes], MIN_PROBABILITY)
    deciles = []
    if classes.size == 2:
        order = np.argsort(probabilities[:, 1], kind="stable")
        for part in np.array_split(order, min(N_GROUPS, y.size)):
            deciles.append(
                {
                    "rows": part.size,
                    "predicted": float(probabilities[part, 1].mean()),
                    "observed": float(codes[part].mean()),
                }
            )
    return Reliability(float(-np.log(chosen).mean()), deciles)


def quality_of_labels(
    y: NDArray[Any],
    hits: NDArray[np.bool_],
    evidence: NDArray[np.float64] | None,
    classes: NDArray[Any],
) -> Quality:
    """Return the quality of predicted classes; ``hits`` is True where a prediction equals ``y``.

    ``evidence`` has the scores of the second of two classes in one column, or those of every class
    in a column each. The AUC of more than two classes is that of each class against all others,
    averaged over the classes, as in scikit-learn's ``roc_auc_score`` with ``multi_class="ovr"``.
    """
    _, codes = np.unique(y, return_inverse=True)
    recalls = np.bincount(codes, hits) / np.bincount(codes)
    areas = []
    if evidence is not None:
        scored = classes[-1:] if evidence.shape[1] == 1 else classes
        curves = [area_under_curve(y == label, evidence[:, c]) for c, label in enumerate(scored)]
        areas = [area for area in curves if area is not None]  # where they are defined
    return Quality(
        float(hits.mean()), float(recalls.mean()), sum(areas) / len(areas) if areas else None
    )


def area_under_curve(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float | None:
    """Return the probability that a positive row scores above a negative one.

    Ties count half. Return None if there are no positive or no negative rows.
    """
    n_positive = int(np.count_nonzero(positive))
    n_negative = positive.size - n_positive
    if not n_positive or not n_negative:
        return None
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(sizes) - (sizes - 1) / 2.0  # mean ranks of equal scores, from 1
    above = float(ranks[group[positive]].sum()) - n_positive * (n_positive + 1) / 2.0
    return above / (n_positive * n_negative)


def fit_of_numbers(y: NDArray[np.float64], predicted: NDArray[np.float64]) -> Fit:
    """Return the quality of predicted numbers."""
    errors, deviations = float(((y - predicted) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return Fit(1.0 - errors / deviations if deviations else None, float(np.sqrt(errors / y.size)))


def hold_out(model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> Quality | Fit:
    """Measure the quality of a scikit-learn model on rows that it was not fitted on.

    A clone of the model is fitted, so that the model given stays as it is. Classifiers have a
    ``Quality``, all others a ``Fit``. The AUC is computed from ``decision_function``, or from
    ``predict_proba`` where the model has no ``decision_function``.
    """
    from sklearn.base import clone, is_classifier

    labels, test_labels = as_labels(y_train, ""), as_labels(y_test, "")
    check_rows(X_train, labels, "training")
    check_rows(X_test, test_labels, "test")
    fitted = clone(model).fit(X_train, labels)
    predicted = np.asarray(fitted.predict(X_test))
    if not is_classifier(fitted):
        return fit_of_numbers(test_labels.astype(np.float64), predicted.astype(np.float64))
    return quality_of_labels(
        test_labels, predicted == test_labels, evidence_of(fitted, X_test), fitted.classes_
    )


def evidence_of(model: Any, X: Any) -> NDArray[np.float64] | None:
    """Return the scores of a fitted classifier for every class, or for the second of two.

    Return None if it predicts labels only.
    """
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), np.float64)
        return scores[:, None] if scores.ndim == 1 else scores
    if not hasattr(model, "predict_proba"):
        return None
    probabilities = np.asarray(model.predict_proba(X), np.float64)
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


def cross_validated(
    model: Any, X: Any, y: Any, folds: int = 5, seed: int = 0
) -> list[Quality | Fit]:
    """Measure the quality of a scikit-learn model by cross-validation, and return it for each fold.

    Rows are shuffled by ``seed``; for classifiers, folds have the classes in the same fractions.
    """
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold

    labels = as_labels(y, "")
    check_rows(X, labels, "training")
    if folds < 2:
        raise UsageError("folds", f"must be 2 or more, got {folds}")
    if folds > labels.size:
        raise DataError(
            f"{folds} folds need as many rows or more, got {labels.size} rows; take fewer folds"
        )
    matrix = X.tocsr() if is_sparse(X) else np.asarray(X)
    splitter = StratifiedKFold if is_classifier(model) else KFold
    if is_classifier(model):
        check_class_counts(labels, folds)
    parts = splitter(folds, shuffle=True, random_state=seed).split(matrix, labels)
    return [
        hold_out(model, matrix[train], labels[train], matrix[test], labels[test])
        for train, test in parts
    ]


def check_rows(X: Any, y: NDArray[Any], which: str) -> None:
    """Raise DataError if a matrix and labels differ in length, or are empty."""
    if np.shape(X)[0] != y.size or not y.size:
        raise DataError(
            f"the {which} data has {np.shape(X)[0]:,} rows and {y.size:,} labels; give one label"
            " per row"
        )


def check_class_counts(labels: NDArray[Any], folds: int) -> None:
    """Raise DataError if a class has too few rows for every fold to have one."""
    classes, counts = np.unique(labels, return_counts=True)
    rarest = int(counts.argmin())
    if counts[rarest] < folds:
        raise DataError(
            f"class {classes[rarest]} has {counts[rarest]} rows, too few for {folds} folds; take"
            " fewer folds"
        )
