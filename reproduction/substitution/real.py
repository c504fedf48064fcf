"""Online substitution and its rivals on real sets: accuracy with few features.

Online substitution is by Yang, Fujimaki, Kusumura, Liu (2016).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss

from ..data import Folders
from ..experiment import Cell, Setting, Table
from . import rivals

Ids = NDArray[np.int64]

FOLDS = 5
PARTS = {  # sets that come with rows to test on: both parts, and the number of features
    "dexter": ("dexter.train", "dexter.valid", 20_000),
    "arcene": ("arcene.train", "arcene.valid", 10_000),
    "basehock, 300 rows": ("basehock.train", "basehock.test", 4_862),
}
RANDOM_SPLITS = {"basehock": 1500}  # rows to learn, as in Wu, Hoi, Mei, Yu (2017), table III
SETS = ("colon", "leukemia", "dexter", "arcene", "basehock")
BUDGETS, REPEATS = (10, 50, 100), 3
QUICK_SET, QUICK_BUDGET, QUICK_ROWS = "basehock, 300 rows", 10, 300
DENSE = 0.25  # the fraction of values not 0 above which columns are centred


class Split(NamedTuple):
    """Rows to learn and rows to test on, sparse."""

    X: Any
    y: NDArray[np.float64]
    X_test: Any
    y_test: NDArray[np.float64]


class Chosen(NamedTuple):
    """The columns that a method selects, and its own model, if it has one."""

    ids: Ids
    model: Any  # predicts from these columns


def n_splits(name: str, repeats: int) -> int:
    """Return the number of splits of a set."""
    return repeats if name in PARTS or name in RANDOM_SPLITS else repeats * FOLDS


def split_of(data: Folders, name: str, number: int) -> Split:
    """Return one of five folds, a random split, or the test part of a set.

    Columns are in a random order each time.
    """
    if name in PARTS:
        train, test, width = PARTS[name]
        (X, y), (X_test, y_test) = data.load(train, width), data.load(test, width)
    else:
        rows, labels = data.load(name)
        learned, tested = rows_of(name, labels, number)
        X, y, X_test, y_test = rows[learned], labels[learned], rows[tested], labels[tested]
    if name == QUICK_SET:
        X, y = X[:QUICK_ROWS], y[:QUICK_ROWS]
    order = np.random.default_rng(number).permutation(X.shape[1])
    return Split(X.tocsc()[:, order].tocsr(), y, X_test.tocsc()[:, order].tocsr(), y_test)


def rows_of(name: str, y: NDArray[np.float64], number: int) -> tuple[Ids, Ids]:
    """Return the rows to learn and those to test on."""
    from sklearn.model_selection import StratifiedKFold

    if name in RANDOM_SPLITS:
        order = np.random.default_rng(number).permutation(y.size)
        return order[: RANDOM_SPLITS[name]], order[RANDOM_SPLITS[name] :]
    seed, fold = divmod(number, FOLDS)
    folds: list[tuple[Ids, Ids]] = list(
        StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
    )
    return folds[fold]


def select_by_package(name: str, split: Split, k: int, **params: Any) -> Chosen:
    """Fit a selector of streamsieve that predicts; its model takes complete rows.

    It has no columns if its steps diverge.
    """
    selector = getattr(ss, name)(k, **params)
    try:
        selector.fit(split.X, split.y)
    except ss.DataError:
        return Chosen(np.empty(0, np.int64), None)
    return Chosen(selector.get_support(indices=True), selector)


def by_l1(loss: str, split: Split, k: int) -> Chosen:
    """Select by LIBLINEAR with an L1 penalty, and refit a model on the columns."""
    ids = rivals.by_l1_liblinear(standardize(split.X), split.y, k, loss)
    return Chosen(ids, rivals.refit(split.X, split.y, ids, loss))


def standardize(X: Any) -> Any:
    """Return columns with variance 1; zeros of sparse columns stay zeros."""
    from sklearn.preprocessing import StandardScaler

    dense = X.nnz > DENSE * X.shape[0] * X.shape[1]
    return StandardScaler(with_mean=dense).fit_transform(X.toarray() if dense else X)


def by_correlation(split: Split, k: int) -> Chosen:
    """Select the columns that correlate most with the classes."""
    from sklearn.feature_selection import f_classif

    scores = np.nan_to_num(f_classif(split.X, split.y)[0], nan=0.0, posinf=np.inf)
    return Chosen(np.sort(np.argsort(-scores, kind="stable")[:k]), None)


def by_saola(split: Split, k: int) -> Chosen:
    """Select by SAOLA."""
    return Chosen(
        ss.SAOLA(k, duplicates="keep").fit(split.X, split.y).get_support(indices=True), None
    )


METHODS: dict[str, Callable[[Split, int], Chosen]] = {
    "OS pool": partial(select_by_package, "OnlineSubstitution"),
    "OS pool, 1 scan": partial(select_by_package, "OnlineSubstitution", n_scans=1),
    "OS paper": partial(select_by_package, "OnlineSubstitution", solver="paper"),
    "ProjGD": partial(select_by_package, "ProjectedGradient"),
    "L1 logistic": partial(by_l1, "logistic"),
    "L1 squared hinge": partial(by_l1, "squared_hinge"),
    "correlation": by_correlation,
    "SAOLA": by_saola,
}


def measure_accuracies(split: Split, ids: Ids, own_model: Any) -> tuple[float, float]:
    """Return two accuracies on the test rows, in %.

    They are those of the method's own model, and of a logistic regression on its columns.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=5000))
    if not ids.size:
        rate = 100.0 * float(np.mean(split.y_test == (1.0 if split.y.mean() > 0 else -1.0)))
        return rate, rate
    X, X_test = split.X[:, ids].toarray(), split.X_test[:, ids].toarray()
    accuracy = 100.0 * float(model.fit(X, split.y).score(X_test, split.y_test))
    if own_model is None:
        return accuracy, accuracy
    test = split.X_test if own_model.n_features_in_ == split.X.shape[1] else X_test
    return 100.0 * float(own_model.score(test, split.y_test)), accuracy


def judge(data: Folders, name: str, number: int, budgets: Sequence[int]) -> NDArray[np.float64]:
    """Return by budget and method both accuracies, and the number of selected columns."""
    warnings.simplefilter("ignore")
    split = split_of(data, name, number)
    chosen = [[select(split, k) for select in METHODS.values()] for k in budgets]
    return np.array(
        [
            [(*measure_accuracies(split, *choice), float(choice.ids.size)) for choice in choices]
            for choices in chosen
        ]
    )


def real_sets(setting: Setting) -> list[Table]:
    """Run the comparison on real sets: test accuracy of every method with few features."""
    sets, budgets = ((QUICK_SET,), (QUICK_BUDGET,)) if setting.quick else (SETS, BUDGETS)
    repeats = 1 if setting.quick else REPEATS
    means: dict[tuple[str, int], NDArray[np.float64]] = {}
    for name in sets:
        work = [(setting.data, name, number, budgets) for number in range(n_splits(name, repeats))]
        means |= {
            (name, k): by_method
            for k, by_method in zip(budgets, np.mean(setting.map(judge, work), axis=0), strict=True)
        }
        setting.say(f"{name}: done")
    kinds = (
        "the method's own linear model",
        "logistic regression, C = 1, on the standardised columns",
    )
    tables = [
        Table(f"Test accuracy in %: {kind}", ["set", *METHODS], accuracy_rows(means, i))
        for i, kind in enumerate(kinds)
    ]
    rows = shortfall_rows(means)
    return (
        [*tables, Table("Columns, if fewer were selected than asked for", ["", "mean"], rows)]
        if rows
        else tables
    )


def accuracy_rows(means: dict[tuple[str, int], NDArray[np.float64]], i: int) -> list[list[Cell]]:
    """Return a row for every set and budget, and a row with their mean."""
    rows: list[list[Cell]] = [
        [f"{name}, k = {k}", *(f"{mean:.1f}" for mean in by_method[:, i])]
        for (name, k), by_method in means.items()
    ]
    return [
        *rows,
        [
            "mean",
            *(
                f"{mean:.1f}"
                for mean in np.mean([by_method[:, i] for by_method in means.values()], axis=0)
            ),
        ],
    ]


def shortfall_rows(means: dict[tuple[str, int], NDArray[np.float64]]) -> list[list[Cell]]:
    """Return a row for every method that selected clearly fewer columns than asked for."""
    return [
        [f"{method}, {name}, k = {k}", f"{by_method[i, 2]:.0f}"]
        for (name, k), by_method in means.items()
        for i, method in enumerate(METHODS)
        if by_method[i, 2] < 0.95 * k
    ]
