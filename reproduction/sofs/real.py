"""Figures 3 and 4 of Wu, Hoi, Mei, Yu (2017), and the question its section 5 leaves open: few features of real sets."""

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
TRAINING_ROWS = {
    "relathe": 1_000,
    "basehock": 1_500,
    "pcmac_asu": 1_000,
    "basehock.train": 1_000,
}  # of table III
BUDGETS = (10, 20, 50, 100, 200, 500, 1_000)
SHIPPED = "basehock.train"
FOR_COMPILING = 50  # rows that are learned before the clock starts

Split = tuple[Any, Any, Any, Any]  # training rows and labels, test rows and labels


def split_of(folders: Folders, name: str, n_train: int, seed: int) -> Split:
    """Random rows to learn from, the others to test; dexter has a validation part of its own."""
    random = np.random.default_rng(seed)
    if name == "dexter":
        X, y = folders.load("dexter.train", 20_000)
        order = random.permutation(len(y))
        return X[order], y[order], *folders.load("dexter.valid", 20_000)
    X, y = folders.load(name)
    order = random.permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    return X[train], y[train], X[test], y[test]


def tuned(make: Callable[[float], Any], values: Sequence[float], X: Any, y: Any) -> Any:
    """A selector, not yet trained, with the value that does best on the last fifth of the rows."""
    cut = len(y) * 4 // 5
    scores = [make(value).fit(X[:cut], y[:cut]).score(X[cut:], y[cut:]) for value in values]
    return make(values[int(np.argmax(scores))])


class Result(NamedTuple):
    accuracy: float  # %
    seconds: float  # of selecting and learning, without the choice of parameters


Method = Callable[[int, Any, Any], Any]  # number of features, training rows, labels -> a selector
ONLINE: dict[str, Method] = {
    "PET": lambda k, X, y: ss.PET(k, **UNIT),
    "FOFS": lambda k, X, y: tuned(lambda eta: ss.FOFS(k, **UNIT, eta=eta), ETAS, X, y),
    "SOFS": lambda k, X, y: tuned(
        lambda gamma: ss.SOFS(k, **{**SOFS, **UNIT, "gamma": gamma}), GAMMAS, X, y
    ),
    "SOFS, defaults": lambda k, X, y: ss.SOFS(k),
}
BATCH = ("mRMR", "L1-SVM")


def figure_3(setting: Setting) -> list[Table]:
    """Test accuracy (figure 3) and time (figure 4) against the number of features."""
    sets = (SHIPPED,) if setting.quick else ("relathe", "pcmac_asu", "basehock")
    budgets = (20, 100) if setting.quick else BUDGETS
    cells = [(name, seed) for name in sets for seed in range(1 if setting.quick else SEEDS)]
    given = [(setting.data, name, seed, budgets) for name, seed in cells]
    runs = setting.each(_compared, given, [name for name, _ in cells])
    methods = [*ONLINE, *BATCH]
    accuracies: list[list[Cell]] = []
    times: list[list[Cell]] = []
    means: dict[tuple[str, int], dict[str, float]] = {}
    for name in sets:
        of_set = [run for (of, _), run in zip(cells, runs, strict=True) if of == name]
        for k in budgets:
            scores = {method: [run[k][method].accuracy for run in of_set] for method in methods}
            seconds = {
                method: float(np.mean([run[k][method].seconds for run in of_set]))
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
        claims_table(_claims(means, sets, budgets)),
    ]


def _claims(
    means: Mapping[tuple[str, int], Mapping[str, float]],
    sets: Sequence[str],
    budgets: Sequence[int],
) -> list[Claim]:
    many = [means[name, k] for name in sets for k in budgets if k >= 100]
    few = [means[name, k] for name in sets for k in budgets if k <= 20]
    ahead = sum(one["SOFS"] > max(one["PET"], one["FOFS"]) for one in many)
    below = sum(one["SOFS"] < max(one[method] for method in BATCH) for one in few)
    passed = sum(one["SOFS"] > one["mRMR"] for one in many)
    return [
        Claim(
            "SOFS is better than PET and FOFS, but where few features are selected",
            f"from 100 features on, in {ahead} of {len(many)} cases",
            ahead == len(many),
        ),
        Claim(
            "batch methods are better with very few features",
            f"up to 20 features, in {below} of {len(few)} cases",
            below == len(few),
        ),
        Claim(
            "SOFS is better than mRMR with more",
            f"from 100 features on, in {passed} of {len(many)} cases",
            passed == len(many),
        ),
    ]


def _compared(
    folders: Folders, name: str, seed: int, budgets: Sequence[int]
) -> dict[int, dict[str, Result]]:
    """Every method at every number of features on one random split."""
    from sklearn.preprocessing import normalize

    X, y, X_test, y_test = split_of(folders, name, TRAINING_ROWS[name], seed)
    rows, test_rows = normalize(X), normalize(X_test)
    batch = Penalised(rows, y)
    found: dict[int, dict[str, Result]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few features do badly is what is measured
        for k in budgets:
            found[k] = {}
            for method, make in ONLINE.items():
                selector = make(k, X, y)
                selector.fit(X[:FOR_COMPILING], y[:FOR_COMPILING])
                start = time.perf_counter()
                selector.fit(X, y)
                seconds = time.perf_counter() - start
                found[k][method] = Result(100 * float(selector.score(X_test, y_test)), seconds)
            found[k]["mRMR"] = _by_mrmr(k, rows, y, test_rows, y_test)
            start = time.perf_counter()
            fitted = batch.nearest(k)
            seconds = time.perf_counter() - start
            found[k]["L1-SVM"] = Result(100 * float(fitted.score(test_rows, y_test)), seconds)
    return found


def _by_mrmr(k: int, X: Any, y: Any, X_test: Any, y_test: Any) -> Result:
    """mRMR's features, then online gradient descent on them, as the paper does it."""
    ss.MRMR(1).fit(X[:FOR_COMPILING], y[:FOR_COMPILING])
    start = time.perf_counter()
    selector = ss.MRMR(k).fit(X, y)
    reduced = selector.transform(X)
    learner = tuned(lambda eta: ss.OGD(1, **AS_GIVEN, eta=eta), ETAS, reduced, y).fit(reduced, y)
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
    """Few features: the paper's rule, the defaults, and two batch methods on all training rows."""
    sets = {SHIPPED: (1000, (20,))} if setting.quick else FEW
    cells = [
        (name, k, seed)
        for name, (_, ks) in sets.items()
        for k in ks
        for seed in range(1 if setting.quick else SEEDS)
    ]
    given = [(setting.data, name, sets[name][0], k, seed) for name, k, seed in cells]
    runs = setting.each(_with_few, given, [name for name, _, _ in cells])
    rows: list[list[Cell]] = []
    for name, (_, budgets) in sets.items():
        for k in budgets:
            figures = np.array(
                [run for (of, n, _), run in zip(cells, runs, strict=True) if (of, n) == (name, k)]
            )
            rows.append([f"{name}, {k}", *(measured_text(values, 1) for values in figures.T)])
    return [Table("Test accuracy, %", ["set, features", *FEW_METHODS], rows)]


def _with_few(folders: Folders, name: str, n_train: int, k: int, seed: int) -> list[float]:
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import normalize

    X, y, X_test, y_test = split_of(folders, name, n_train, seed)
    rows, test_rows = normalize(X), normalize(X_test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few features do badly is what is measured
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
