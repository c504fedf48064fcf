"""Figures 3 and 4 of Wu, Hoi, Mei, Yu (2017), and few features of real sets.

The latter is the question that section 5 of the paper leaves open.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import streamsieve as ss

from ..beside import Claim, claims_table, measured_text
from ..data import Folders
from ..experiment import Cell, Setting, Table
from ..forms import AS_GIVEN, SOFS, Form
from ..l1_svm import Penalised

SEEDS = 10
GAMMAS = (0.01, 0.1, 1.0)
ETAS = (0.1, 0.5, 2.0)
UNIT: Form = {**AS_GIVEN, "normalize": "l2"}
TRAINING_ROWS = {  # of table III
    "relathe": 1_000,
    "basehock": 1_500,
    "pcmac_asu": 1_000,
    "basehock.train": 1_000,
}
BUDGETS = (10, 20, 50, 100, 200, 500, 1_000)
SHIPPED = "basehock.train"
WARM_UP_ROWS = 50  # learned before the clock starts, to compile

Split = tuple[Any, Any, Any, Any]  # training rows and labels, test rows and labels


def split_of(folders: Folders, name: str, n_train: int, seed: int) -> Split:
    """Return random rows to learn from, and others to test; dexter has its own validation part."""
    random = np.random.default_rng(seed)
    if name == "dexter":
        X, y = folders.load("dexter.train", 20_000)
        order = random.permutation(len(y))
        return X[order], y[order], *folders.load("dexter.valid", 20_000)
    X, y = folders.load(name)
    order = random.permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def tune(make: Callable[[float], Any], values: Sequence[float], X: Any, y: Any) -> Any:
    """Return an untrained selector with the value that is best on the last fifth of the rows."""
    n_train = len(y) * 4 // 5
    scores = [
        make(value).fit(X[:n_train], y[:n_train]).score(X[n_train:], y[n_train:])
        for value in values
    ]
    return make(values[int(np.argmax(scores))])


class Result(NamedTuple):
    """Accuracy and time of a method."""

    accuracy: float  # %
    seconds: float  # of selecting and learning, without the choice of parameters


Method = Callable[[int, Any, Any], Any]  # number of features, training rows, labels -> a selector
ONLINE: dict[str, Method] = {
    "PET": lambda k, X, y: ss.PET(k, **UNIT),
    "FOFS": lambda k, X, y: tune(lambda eta: ss.FOFS(k, **UNIT, eta=eta), ETAS, X, y),
    "SOFS": lambda k, X, y: tune(
        lambda gamma: ss.SOFS(k, **{**SOFS, **UNIT, "gamma": gamma}), GAMMAS, X, y
    ),
    "SOFS, defaults": lambda k, X, y: ss.SOFS(k),
}
BATCH = ("mRMR", "L1-SVM")


def figure_3(setting: Setting) -> list[Table]:
    """Run figures 3 and 4: test accuracy and time against the number of features."""
    sets = (SHIPPED,) if setting.quick else ("relathe", "pcmac_asu", "basehock")
    budgets = (20, 100) if setting.quick else BUDGETS
    cells = [(name, seed) for name in sets for seed in range(1 if setting.quick else SEEDS)]
    arguments = [(setting.data, name, seed, budgets) for name, seed in cells]
    runs = setting.map(_compare_methods, arguments, [name for name, _ in cells])
    methods = [*ONLINE, *BATCH]
    accuracies: list[list[Cell]] = []
    times: list[list[Cell]] = []
    means: dict[tuple[str, int], dict[str, float]] = {}
    for name in sets:
        set_runs = [run for (of_name, _), run in zip(cells, runs, strict=True) if of_name == name]
        for k in budgets:
            scores = {method: [run[k][method].accuracy for run in set_runs] for method in methods}
            seconds = {
                method: float(np.mean([run[k][method].seconds for run in set_runs]))
                for method in methods
            }
            means[name, k] = {method: float(np.mean(values)) for method, values in scores.items()}
            accuracies.append(
                [f"{name}, {k:,}", *(measured_text(values, 1) for values in scores.values())]
            )
            times.append([f"{name}, {k:,}", *(f"{value:.3f}" for value in seconds.values())])
    return [
        Table("Test accuracy, % (figure 3)", ["set, features", *methods], accuracies),
        Table("Seconds (figure 4)", ["set, features", *methods], times),
        claims_table(_check_claims(means, sets, budgets)),
    ]


def _check_claims(
    means: Mapping[tuple[str, int], Mapping[str, float]],
    sets: Sequence[str],
    budgets: Sequence[int],
) -> list[Claim]:
    many_features = [means[name, k] for name in sets for k in budgets if k >= 100]
    few_features = [means[name, k] for name in sets for k in budgets if k <= 20]
    n_ahead = sum(scores["SOFS"] > max(scores["PET"], scores["FOFS"]) for scores in many_features)
    n_below = sum(
        scores["SOFS"] < max(scores[method] for method in BATCH) for scores in few_features
    )
    n_passed = sum(scores["SOFS"] > scores["mRMR"] for scores in many_features)
    return [
        Claim(
            "SOFS is better than PET and FOFS, but where few features are selected",
            f"from 100 features on, in {n_ahead} of {len(many_features)} cases",
            n_ahead == len(many_features),
        ),
        Claim(
            "batch methods are better with very few features",
            f"up to 20 features, in {n_below} of {len(few_features)} cases",
            n_below == len(few_features),
        ),
        Claim(
            "SOFS is better than mRMR with more",
            f"from 100 features on, in {n_passed} of {len(many_features)} cases",
            n_passed == len(many_features),
        ),
    ]


def _compare_methods(
    folders: Folders, name: str, seed: int, budgets: Sequence[int]
) -> dict[int, dict[str, Result]]:
    """Return the results of every method with every number of features, on one random split."""
    from sklearn.preprocessing import normalize

    X, y, X_test, y_test = split_of(folders, name, TRAINING_ROWS[name], seed)
    rows, test_rows = normalize(X), normalize(X_test)
    batch = Penalised(rows, y)
    results: dict[int, dict[str, Result]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about poor results of few features are expected
        for k in budgets:
            results[k] = {}
            for method, make in ONLINE.items():
                selector = make(k, X, y)
                selector.fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
                start = time.perf_counter()
                selector.fit(X, y)
                seconds = time.perf_counter() - start
                results[k][method] = Result(100 * float(selector.score(X_test, y_test)), seconds)
            results[k]["mRMR"] = _run_mrmr(k, rows, y, test_rows, y_test)
            start = time.perf_counter()
            fitted = batch.nearest(k)
            seconds = time.perf_counter() - start
            results[k]["L1-SVM"] = Result(100 * float(fitted.score(test_rows, y_test)), seconds)
    return results


def _run_mrmr(k: int, X: Any, y: Any, X_test: Any, y_test: Any) -> Result:
    """Select features by mRMR, then learn them by online gradient descent, as the paper does."""
    ss.MRMR(1).fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    start = time.perf_counter()
    selector = ss.MRMR(k).fit(X, y)
    reduced = selector.transform(X)
    learner = tune(lambda eta: ss.OGD(1, **AS_GIVEN, eta=eta), ETAS, reduced, y).fit(reduced, y)
    seconds = time.perf_counter() - start
    return Result(100 * float(learner.score(selector.transform(X_test), y_test)), seconds)


FEW: dict[str, tuple[int, tuple[int, ...]]] = {  # training rows; numbers of features
    "relathe": (1000, (20, 100)),
    "basehock": (1500, (20, 100)),
    "pcmac_asu": (1500, (20, 100)),
    "farm-ads": (2900, (10, 50)),
    "dexter": (300, (50, 200)),
}
FEW_METHODS = ("SOFS", "SOFS, defaults", "L1-SVM", "chi2+logistic")


def section_5(setting: Setting) -> list[Table]:
    """Compare the paper's rule, the defaults and two batch methods with few features."""
    sets = {SHIPPED: (1000, (20,))} if setting.quick else FEW
    cells = [
        (name, k, seed)
        for name, (_, ks) in sets.items()
        for k in ks
        for seed in range(1 if setting.quick else SEEDS)
    ]
    arguments = [(setting.data, name, sets[name][0], k, seed) for name, k, seed in cells]
    runs = setting.map(_compare_with_few, arguments, [name for name, _, _ in cells])
    rows: list[list[Cell]] = []
    for name, (_, budgets) in sets.items():
        for k in budgets:
            figures = np.array(
                [
                    run
                    for (of_name, n_features, _), run in zip(cells, runs, strict=True)
                    if (of_name, n_features) == (name, k)
                ]
            )
            rows.append([f"{name}, {k}", *(measured_text(values, 1) for values in figures.T)])
    return [Table("Test accuracy, %", ["set, features", *FEW_METHODS], rows)]


def _compare_with_few(folders: Folders, name: str, n_train: int, k: int, seed: int) -> list[float]:
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import normalize

    X, y, X_test, y_test = split_of(folders, name, n_train, seed)
    rows, test_rows = normalize(X), normalize(X_test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about poor results of few features are expected
        models = [
            (ONLINE["SOFS"](k, X, y).fit(X, y), X_test),
            (ss.SOFS(k).fit(X, y), X_test),
            (Penalised(rows, y).nearest(k), test_rows),
            (
                make_pipeline(SelectKBest(chi2, k=k), LogisticRegression(C=10, max_iter=2000)).fit(
                    rows, y
                ),
                test_rows,
            ),
        ]
        return [100 * float(model.score(part, y_test)) for model, part in models]
