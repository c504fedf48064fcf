"""How good predictions are: accuracy, balanced accuracy and AUC of classes, R2 and error of numbers.

``hold_out`` and ``cross_validated`` measure any scikit-learn model on columns that were selected
already. scikit-learn is imported by them alone: who measures predictions of a learner does not need
it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, UsageError
from ..sources.arrays import as_labels
from ..values import is_sparse


class Quality(NamedTuple):
    """How good predictions of classes are; the AUC is None if all rows are of one class."""

    accuracy: float  # the fraction of right labels
    balanced_accuracy: float  # the same within each class, averaged over the classes
    auc: float | None  # the chance that a row of the class scores above one that is not of it


class Fit(NamedTuple):
    """How good predictions of numbers are."""

    r2: float | None  # the fraction of the variance that is predicted; None if there is none
    error: float  # the root of the mean squared error


def quality_of_labels(
    y: NDArray[Any],
    hits: NDArray[np.bool_],
    evidence: NDArray[np.float64] | None,
    classes: NDArray[Any],
) -> Quality:
    """The quality of predicted classes; ``hits`` says which of them are those in ``y``.

    ``evidence`` is how much speaks for the second of two classes, one column, or for every class, a
    column each. The AUC of more than two classes is that of each against all others, averaged over
    the classes, as scikit-learn's ``roc_auc_score`` with ``multi_class="ovr"`` has it.
    """
    _, codes = np.unique(y, return_inverse=True)
    recalls = np.bincount(codes, hits) / np.bincount(codes)
    known = [] if evidence is None else areas_of(y, evidence, classes)
    return Quality(
        float(hits.mean()), float(recalls.mean()), sum(known) / len(known) if known else None
    )


def areas_of(y: NDArray[Any], evidence: NDArray[np.float64], classes: NDArray[Any]) -> list[float]:
    """The area under the curve of every class that has one."""
    positive = classes[-1:] if evidence.shape[1] == 1 else classes
    areas = [area_under_curve(y == label, evidence[:, c]) for c, label in enumerate(positive)]
    return [area for area in areas if area is not None]


def area_under_curve(positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> float | None:
    """The chance that a positive row scores above another, a tie counting half; None without both kinds of rows."""
    n_positive = int(np.count_nonzero(positive))
    n_negative = positive.size - n_positive
    if not n_positive or not n_negative:
        return None
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(sizes) - (sizes - 1) / 2.0  # the mean rank of equal scores, from 1
    above = float(ranks[group[positive]].sum()) - n_positive * (n_positive + 1) / 2.0
    return above / (n_positive * n_negative)


def fit_of_numbers(y: NDArray[np.float64], predicted: NDArray[np.float64]) -> Fit:
    """The quality of predicted numbers."""
    errors, deviations = float(((y - predicted) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return Fit(1.0 - errors / deviations if deviations else None, float(np.sqrt(errors / y.size)))


def hold_out(model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any) -> Quality | Fit:
    """How good a scikit-learn model is on rows that it was not fitted on.

    A clone of the model is fitted, so that the one given stays as it is. Classifiers have a
    ``Quality``, all others a ``Fit``. The AUC is by ``decision_function``, or by ``predict_proba``
    where there is none.
    """
    from sklearn.base import clone, is_classifier

    y, answers = as_labels(y_train, ""), as_labels(y_test, "")
    refuse_other_rows(X_train, y, "training")
    refuse_other_rows(X_test, answers, "test")
    fitted = clone(model).fit(X_train, y)
    predicted = np.asarray(fitted.predict(X_test))
    if not is_classifier(fitted):
        return fit_of_numbers(answers.astype(np.float64), predicted.astype(np.float64))
    return quality_of_labels(
        answers, predicted == answers, evidence_of(fitted, X_test), fitted.classes_
    )


def evidence_of(model: Any, X: Any) -> NDArray[np.float64] | None:
    """What a fitted classifier says for every class, or for the second of two; None if it gives labels alone."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), np.float64)
        return scores[:, None] if scores.ndim == 1 else scores
    if not hasattr(model, "predict_proba"):
        return None
    chances = np.asarray(model.predict_proba(X), np.float64)
    return chances[:, 1:] if chances.shape[1] == 2 else chances


def cross_validated(
    model: Any, X: Any, y: Any, folds: int = 5, seed: int = 0
) -> list[Quality | Fit]:
    """How good a scikit-learn model is on each of ``folds`` parts, fitted on the others.

    Rows are shuffled by ``seed``; for classifiers every part has the classes in the same fractions.
    """
    from sklearn.base import is_classifier
    from sklearn.model_selection import KFold, StratifiedKFold

    labels = as_labels(y, "")
    refuse_other_rows(X, labels, "training")
    if folds < 2:
        raise UsageError("folds", f"must be 2 or more, got {folds}")
    if folds > labels.size:
        raise DataError(
            f"{folds} folds need as many rows at least, and there are {labels.size}; take fewer"
            " folds"
        )
    matrix = X.tocsr() if is_sparse(X) else np.asarray(X)
    kind = StratifiedKFold if is_classifier(model) else KFold
    if is_classifier(model):
        refuse_rare(labels, folds)
    parts = kind(folds, shuffle=True, random_state=seed).split(matrix, labels)
    return [
        hold_out(model, matrix[train], labels[train], matrix[test], labels[test])
        for train, test in parts
    ]


def refuse_other_rows(X: Any, y: NDArray[Any], which: str) -> None:
    """Refuse a matrix and labels of different lengths, and nothing at all."""
    if np.shape(X)[0] != y.size or not y.size:
        raise DataError(
            f"the {which} data has {np.shape(X)[0]:,} rows and {y.size:,} labels; give one label"
            " per row"
        )


def refuse_rare(labels: NDArray[Any], folds: int) -> None:
    """Refuse classes of which not every fold can have a row."""
    classes, counts = np.unique(labels, return_counts=True)
    rarest = int(counts.argmin())
    if counts[rarest] < folds:
        raise DataError(
            f"class {classes[rarest]} has {counts[rarest]} rows, too few for {folds} folds; take"
            " fewer folds"
        )
