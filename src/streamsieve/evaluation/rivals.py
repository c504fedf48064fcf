"""Batch methods of scikit-learn beside ours: each takes the whole matrix and gives exactly k features.

They are thin wrappers, for comparisons alone: no streams, no models to keep. Sparse data stays
sparse in all of them. L1-SVM is LIBLINEAR's (Fan, Chang, Hsieh, Wang, Lin 2008), recursive
elimination that of Guyon, Weston, Barnhill, Vapnik 2002, the trees are the extremely randomised
ones of Geurts, Ernst, Wehenkel 2006.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..targets import Kind
from ..values import is_sparse

C_RANGE = -6.0, 4.0  # of the L1-SVM, as powers of 10
PENALTIES = 1e-4  # the smallest penalty of the lasso, as a fraction of the one that leaves nothing
STEPS = 12  # of bisection within a factor of 10: further ones change nothing that is worth the time
ELIMINATED = 0.1  # the fraction of features that one step of the recursive elimination drops
TREES = 100

F64 = NDArray[np.float64]
Strength = Callable[[float], F64]  # of every feature under a penalty, 0 for those that it drops


class Task(NamedTuple):
    """What a rival is given; ``kind`` says what the target holds."""

    X: Any
    y: NDArray[Any]
    kind: Kind
    k: int
    seed: int


Rival = Callable[[Task], NDArray[np.int64]]


def select_by(
    rival: str, X: Any, y: NDArray[Any], kind: Kind, k: int, seed: int = 0
) -> NDArray[np.int64]:
    """The ids of the ``k`` features that a rival takes, ascending; all of them if there are no more."""
    task = Task(X, y, kind, min(k, X.shape[1]), seed)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # columns that are constant, searches that stop before the last digit
        return np.sort(RIVALS[rival](task)).astype(np.int64)


def chi2(task: Task) -> NDArray[np.int64]:
    """The largest chi-squared statistics, of counts or other values of 0 or more."""
    from sklearn.feature_selection import chi2

    refuse_numbers(task, "chi2")
    values = task.X.data if is_sparse(task.X) else task.X
    if values.size and values.min() < 0:
        raise DataError(
            "chi2 is for counts, and there are values below 0; take f-test, or scale the features"
            " to 0 and above"
        )
    return k_best(chi2, task)


def f_test(task: Task) -> NDArray[np.int64]:
    """The largest F statistics: analysis of variance for classes, correlation for numbers."""
    from sklearn.feature_selection import f_classif, f_regression

    return k_best(f_classif if task.kind == "classes" else f_regression, task)


def mutual_information(task: Task) -> NDArray[np.int64]:
    """The largest mutual information with the target; as scikit-learn has it, sparse values are levels."""
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    measure = mutual_info_classif if task.kind == "classes" else mutual_info_regression
    return k_best(lambda X, y: measure(X, y, random_state=task.seed), task)


def k_best(measure: Callable[..., Any], task: Task) -> NDArray[np.int64]:
    """scikit-learn's own choice of the best."""
    from sklearn.feature_selection import SelectKBest

    chosen: NDArray[np.int64] = (
        SelectKBest(measure, k=task.k).fit(task.X, task.y).get_support(indices=True)
    )
    return chosen


def l1_svm(task: Task) -> NDArray[np.int64]:
    """The largest weights of LIBLINEAR's L1-SVM, with C searched so that k features have any, or the next number."""
    from sklearn.svm import LinearSVC

    refuse_numbers(task, "l1-svm")
    X = standardized(task.X)

    def strength(power: float) -> F64:
        model = LinearSVC(penalty="l1", dual=False, C=10.0**power, random_state=task.seed, tol=1e-3)
        return largest(model.fit(X, task.y).coef_)

    return searched(strength, *C_RANGE, task.k)


def lasso(task: Task) -> NDArray[np.int64]:
    """The largest weights of the lasso, with its penalty searched; classes are numbers 0 and 1, each in its turn."""
    from sklearn.linear_model import Lasso

    X, targets = standardized(task.X), indicators(task)
    X = X.tocsc() if is_sparse(X) else np.asfortranarray(X)
    centred = targets - targets.mean(axis=0)
    most = (
        float(np.abs(X.T @ centred).max()) / len(task.y) or 1.0
    )  # the first column is about to enter here

    def strength(power: float) -> F64:
        model = Lasso(alpha=most * 10.0**-power, tol=1e-3)
        return largest(np.array([model.fit(X, column).coef_ for column in targets.T]))

    return searched(strength, 0.0, -float(np.log10(PENALTIES)), task.k)


def rfe(task: Task) -> NDArray[np.int64]:
    """Recursive elimination: a linear model again and again, without the features of the smallest weights."""
    from sklearn.feature_selection import RFE
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    model = (
        LinearSVC(random_state=task.seed, tol=1e-3)
        if task.kind == "classes"
        else Ridge(random_state=task.seed)
    )
    eliminated = RFE(model, n_features_to_select=task.k, step=ELIMINATED).fit(
        standardized(task.X), task.y
    )
    chosen: NDArray[np.int64] = eliminated.get_support(indices=True)
    return chosen


def trees(task: Task) -> NDArray[np.int64]:
    """The largest importances in extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesClassifier if task.kind == "classes" else ExtraTreesRegressor
    forest = kind(TREES, random_state=task.seed).fit(task.X, task.y)
    return strongest(forest.feature_importances_, task.k)


RIVALS: dict[str, Rival] = {
    "chi2": chi2,
    "f-test": f_test,
    "mutual-information": mutual_information,
    "l1-svm": l1_svm,
    "lasso": lasso,
    "rfe": rfe,
    "trees": trees,
}


def refuse_numbers(task: Task, rival: str) -> None:
    if task.kind == "numbers":
        raise DataError(
            f"{rival} is for classes, and the target holds numbers; take f-test or lasso"
        )


def standardized(X: Any) -> Any:
    """Dense columns with mean 0 and deviation 1, or their units would decide; sparse values are as they are."""
    if is_sparse(X):
        return X
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(X)


def indicators(task: Task) -> F64:
    """Numbers to fit, a column each: the target or, of more than two classes, whether a row is of each of them."""
    if task.kind == "numbers":
        return task.y.astype(np.float64)[:, None]
    classes = np.unique(task.y)
    members = task.y[:, None] == (classes[1:] if classes.size == 2 else classes)
    return np.asarray(members, np.float64)


def largest(weights: NDArray[Any]) -> F64:
    """How strong every feature is: its largest weight, of several models."""
    strength: F64 = np.abs(np.atleast_2d(weights)).max(axis=0)
    return strength


def strongest(strength: F64, k: int) -> NDArray[np.int64]:
    """The ``k`` strongest features; of equal ones the lower id."""
    return np.argsort(-strength, kind="stable")[:k]


def searched(strength: Strength, few: float, many: float, k: int) -> NDArray[np.int64]:
    """The ``k`` strongest features under the strictest penalty found that keeps as many: by decades, then by bisection.

    Penalties are powers of 10: ``few`` keeps hardly any feature, ``many`` is the loosest to try,
    and the slowest. Where even that keeps fewer than ``k``, the other features are as weak as each
    other: the first of them make up the number.
    """
    power, kept = few, strength(few)
    while np.count_nonzero(kept) < k and power < many:
        few, power = power, min(power + 1.0, many)
        kept = strength(power)
    for _ in range(STEPS):
        if np.count_nonzero(kept) <= k:
            break
        middle = (few + power) / 2
        found = strength(middle)
        if np.count_nonzero(found) >= k:
            power, kept = middle, found
        else:
            few = middle
    return strongest(kept, k)
