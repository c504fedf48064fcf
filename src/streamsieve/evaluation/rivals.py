"""Select features with batch methods of scikit-learn, to compare ours with them.

Each takes the whole matrix and returns exactly k features. They are thin wrappers, for comparisons
only: they have no streams and keep no models. Sparse data stays sparse in all of them. L1-SVM is
LIBLINEAR's (Fan, Chang, Hsieh, Wang, Lin 2008), recursive elimination that of Guyon, Weston,
Barnhill, Vapnik 2002, the trees are the extremely randomised trees of Geurts, Ernst, Wehenkel 2006.
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
MIN_PENALTY = 1e-4  # of the lasso, as a fraction of the penalty that leaves no feature
BISECTION_STEPS = 12  # within a factor of 10; further steps are not worth their time
ELIMINATED_FRACTION = 0.1  # of features, in one step of the recursive elimination
N_TREES = 100

F64 = NDArray[np.float64]
# Returns the strength of every feature under a penalty, 0 for those that it drops.
Strength = Callable[[float], F64]


class Task(NamedTuple):
    """The input of a rival; ``kind`` is that of the target."""

    X: Any
    y: NDArray[Any]
    kind: Kind
    k: int
    seed: int


Rival = Callable[[Task], NDArray[np.int64]]


def select_by(
    rival: str, X: Any, y: NDArray[Any], kind: Kind, k: int, seed: int = 0
) -> NDArray[np.int64]:
    """Return the ids of the ``k`` features that a rival selects, in ascending order.

    These are all features if there are no more than ``k``.
    """
    task = Task(X, y, kind, min(k, X.shape[1]), seed)
    with warnings.catch_warnings():
        # Warnings are about constant columns, and searches that stop before the last digit.
        warnings.simplefilter("ignore")
        return np.sort(RIVALS[rival](task)).astype(np.int64)


def chi2(task: Task) -> NDArray[np.int64]:
    """Select the largest chi-squared statistics, of counts or other values of 0 or more."""
    from sklearn.feature_selection import chi2

    check_classes(task, "chi2")
    values = task.X.data if is_sparse(task.X) else task.X
    if values.size and values.min() < 0:
        raise DataError(
            "chi2 requires counts, and the data has values below 0; take f-test, or scale the"
            " features to 0 and above"
        )
    return select_k_best(chi2, task)


def f_test(task: Task) -> NDArray[np.int64]:
    """Select the largest F statistics: analysis of variance, or correlation for numbers."""
    from sklearn.feature_selection import f_classif, f_regression

    return select_k_best(f_classif if task.kind == "classes" else f_regression, task)


def mutual_information(task: Task) -> NDArray[np.int64]:
    """Select the largest mutual information with the target.

    As in scikit-learn, values of sparse data are taken as discrete.
    """
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    measure = mutual_info_classif if task.kind == "classes" else mutual_info_regression
    return select_k_best(lambda X, y: measure(X, y, random_state=task.seed), task)


def select_k_best(measure: Callable[..., Any], task: Task) -> NDArray[np.int64]:
    """Select the best features by a measure, as scikit-learn's ``SelectKBest`` does."""
    from sklearn.feature_selection import SelectKBest

    return np.flatnonzero(SelectKBest(measure, k=task.k).fit(task.X, task.y).get_support())


def l1_svm(task: Task) -> NDArray[np.int64]:
    """Select the largest weights of LIBLINEAR's L1-SVM.

    C is searched so that k features have weights, or the smallest possible number above k.
    """
    from sklearn.svm import LinearSVC

    check_classes(task, "l1-svm")
    X = standardized(task.X)

    def strength(power: float) -> F64:
        model = LinearSVC(penalty="l1", dual=False, C=10.0**power, random_state=task.seed, tol=1e-3)
        return largest(model.fit(X, task.y).coef_)

    return search_penalty(strength, *C_RANGE, task.k)


def lasso(task: Task) -> NDArray[np.int64]:
    """Select the largest weights of the lasso, with its penalty searched.

    Classes are fitted as numbers 0 and 1, each class in turn.
    """
    from sklearn.linear_model import Lasso

    X, targets = standardized(task.X), target_columns(task)
    X = X.tocsc() if is_sparse(X) else np.asfortranarray(X)
    centred = targets - targets.mean(axis=0)
    # the penalty at which the first column is about to enter
    max_penalty = float(np.abs(X.T @ centred).max()) / len(task.y) or 1.0

    def strength(power: float) -> F64:
        model = Lasso(alpha=max_penalty * 10.0**-power, tol=1e-3)
        return largest(np.array([model.fit(X, column).coef_ for column in targets.T]))

    return search_penalty(strength, 0.0, -float(np.log10(MIN_PENALTY)), task.k)


def rfe(task: Task) -> NDArray[np.int64]:
    """Select by recursive elimination: refit a linear model without the smallest weights."""
    from sklearn.feature_selection import RFE
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    model = (
        LinearSVC(random_state=task.seed, tol=1e-3)
        if task.kind == "classes"
        else Ridge(random_state=task.seed)
    )
    selector = RFE(model, n_features_to_select=task.k, step=ELIMINATED_FRACTION)
    return np.flatnonzero(selector.fit(standardized(task.X), task.y).get_support())


def trees(task: Task) -> NDArray[np.int64]:
    """Select the largest importances in extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    estimator_class = ExtraTreesClassifier if task.kind == "classes" else ExtraTreesRegressor
    forest = estimator_class(N_TREES, random_state=task.seed).fit(task.X, task.y)
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


def check_classes(task: Task, rival: str) -> None:
    """Raise DataError if the target holds numbers."""
    if task.kind == "numbers":
        raise DataError(
            f"{rival} is for classes, but the target holds numbers; take f-test or lasso"
        )


def standardized(X: Any) -> Any:
    """Return dense columns with mean 0 and deviation 1, sparse values as they are.

    Otherwise the units of columns would decide.
    """
    if is_sparse(X):
        return X
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(X)


def target_columns(task: Task) -> F64:
    """Return numbers to fit, one or more columns.

    They are a numeric target, the indicator of the second of two classes, or the indicators of
    more than two classes.
    """
    if task.kind == "numbers":
        return task.y.astype(np.float64)[:, None]
    classes = np.unique(task.y)
    members = task.y[:, None] == (classes[1:] if classes.size == 2 else classes)
    return np.asarray(members, np.float64)


def largest(weights: NDArray[Any]) -> F64:
    """Return the strength of every feature: its largest absolute weight in several models."""
    strength: F64 = np.abs(np.atleast_2d(weights)).max(axis=0)
    return strength


def strongest(strength: F64, k: int) -> NDArray[np.int64]:
    """Return the ``k`` strongest features; of equal ones those with lower ids."""
    return np.argsort(-strength, kind="stable")[:k]


def search_penalty(strength: Strength, few: float, many: float, k: int) -> NDArray[np.int64]:
    """Return the ``k`` strongest features under the strictest penalty found that keeps as many.

    Penalties are powers of 10, searched by decades, then by bisection: ``few`` keeps hardly any
    feature, ``many`` is the loosest to try, and the slowest. Where even that keeps fewer than
    ``k``, all other features are equally weak, and the first of them are added.
    """
    power, kept = few, strength(few)
    while np.count_nonzero(kept) < k and power < many:
        few, power = power, min(power + 1.0, many)
        kept = strength(power)
    for _ in range(BISECTION_STEPS):
        if np.count_nonzero(kept) <= k:
            break
        middle = (few + power) / 2
        strengths = strength(middle)
        if np.count_nonzero(strengths) >= k:
            power, kept = middle, strengths
        else:
            few = middle
    return strongest(kept, k)
