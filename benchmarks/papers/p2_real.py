"""Online substitution and its rivals on real sets: test accuracy with few features."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import p2_rivals as rivals
import streamsieve as ss
from data import load
from report import machine, table

Ids = NDArray[np.int64]

FOLDS = 5
WITH_A_TEST_PART = {"dexter": 20_000, "arcene": 10_000}  # features
RANDOM_SPLITS = {"basehock": 1500}  # rows to learn, as in Wu, Hoi, Mei, Yu (2017), table III
SETS = ("colon", "leukemia", "dexter", "arcene", "basehock")
DENSE = 0.25  # of the values that are not 0: columns with more are centred


class Split(NamedTuple):
    """Rows to learn and rows to test on, sparse."""

    X: Any
    y: NDArray[np.float64]
    X_test: Any
    y_test: NDArray[np.float64]


class Chosen(NamedTuple):
    """The columns that a method takes, and its own model of them, if it has one."""

    ids: Ids
    model: Any  # predicts from these columns


def splits(folder: Path, name: str, repeats: int) -> Iterator[Split]:
    """Five folds, rows at random, or the test part that a set comes with; columns in a random order each time."""
    if name in WITH_A_TEST_PART:
        width = WITH_A_TEST_PART[name]
        X, y = load(folder, f"{name}.train", width)
        X_test, y_test = load(folder, f"{name}.valid", width)
        cuts = [(X, y, X_test, y_test)] * repeats
    else:
        X, y = load(folder, name)
        cuts = [
            (X[train], y[train], X[test], y[test]) for seed in range(repeats) for train, test in rows_of(name, y, seed)
        ]
    for seed, (X, y, X_test, y_test) in enumerate(cuts):
        order = np.random.default_rng(seed).permutation(X.shape[1])
        yield Split(X.tocsc()[:, order].tocsr(), y, X_test.tocsc()[:, order].tocsr(), y_test)


def rows_of(name: str, y: NDArray[np.float64], seed: int) -> Iterator[tuple[Ids, Ids]]:
    """Rows to learn and to test on."""
    if name in RANDOM_SPLITS:
        order = np.random.default_rng(seed).permutation(y.size)
        yield order[: RANDOM_SPLITS[name]], order[RANDOM_SPLITS[name] :]
    else:
        yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)


def of_package(name: str, split: Split, k: int, **params: Any) -> Chosen:
    """A selector of streamsieve that predicts; its model takes whole rows. Nothing where its steps diverge."""
    selector = getattr(ss, name)(k, **params)
    try:
        selector.fit(split.X, split.y)
    except ss.DataError:
        return Chosen(np.empty(0, np.int64), None)
    return Chosen(selector.get_support(indices=True), selector)


def by_l1(loss: str, split: Split, k: int) -> Chosen:
    """LIBLINEAR with an L1 penalty, and the model that its columns are then given."""
    ids = rivals.by_l1_liblinear(scaled(split.X), split.y, k, loss)
    return Chosen(ids, rivals.refit(split.X, split.y, ids, loss))


def scaled(X: Any) -> Any:
    """Columns of variance 1; of sparse ones zeros stay zeros."""
    dense = X.nnz > DENSE * X.shape[0] * X.shape[1]
    return StandardScaler(with_mean=dense).fit_transform(X.toarray() if dense else X)


def by_correlation(split: Split, k: int) -> Chosen:
    """The columns that correlate most with the classes, and logistic regression."""
    scores = np.nan_to_num(f_classif(split.X, split.y)[0], nan=0.0, posinf=np.inf)
    return Chosen(np.sort(np.argsort(-scores, kind="stable")[:k]), None)


def by_saola(split: Split, k: int) -> Chosen:
    return Chosen(ss.SAOLA(k, duplicates="keep").fit(split.X, split.y).get_support(indices=True), None)


METHODS: dict[str, Callable[[Split, int], Chosen]] = {
    "OS pool": partial(of_package, "OnlineSubstitution"),
    "OS pool, 1 scan": partial(of_package, "OnlineSubstitution", n_scans=1),
    "OS paper": partial(of_package, "OnlineSubstitution", solver="paper"),
    "ProjGD": partial(of_package, "ProjectedGradient"),
    "L1 logistic": partial(by_l1, "logistic"),
    "L1 squared hinge": partial(by_l1, "squared_hinge"),
    "correlation": by_correlation,
    "SAOLA": by_saola,
}


def accuracies(split: Split, ids: Ids, model: Any) -> tuple[float, float]:
    """On the test rows, in %: of the method's own model, and of a logistic regression on the columns it chose."""
    common = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=5000))
    if not ids.size:
        rate = 100.0 * float(np.mean(split.y_test == (1.0 if split.y.mean() > 0 else -1.0)))
        return rate, rate
    X, X_test = split.X[:, ids].toarray(), split.X_test[:, ids].toarray()
    usual = 100.0 * float(common.fit(X, split.y).score(X_test, split.y_test))
    if model is None:
        return usual, usual
    test = split.X_test if model.n_features_in_ == split.X.shape[1] else X_test
    return 100.0 * float(model.score(test, split.y_test)), usual


def judged(job: tuple[Split, int, str]) -> tuple[float, float, float]:
    """Both accuracies, and how many columns were taken."""
    split, k, name = job
    warnings.simplefilter("ignore")
    chosen = METHODS[name](split, k)
    return (*accuracies(split, *chosen), float(chosen.ids.size))


def measure(name: str, asked: argparse.Namespace, names: list[str]) -> dict[int, NDArray[np.float64]]:
    """By k: method, split, then own accuracy, that of the common model, columns."""
    cuts = list(splits(asked.data, name, asked.repeats))
    work = [(split, k, method) for k in asked.k for method in names for split in cuts]
    if asked.jobs == 1:
        found = list(map(judged, work))
    else:
        with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
            found = list(pool.map(judged, work))
    print(name, "done", file=sys.stderr, flush=True)
    return dict(zip(asked.k, np.array(found).reshape(len(asked.k), len(names), len(cuts), 3), strict=True))


def tables(asked: argparse.Namespace) -> str:
    names = list(METHODS)
    found = {(name, k): of for name in asked.sets or SETS for k, of in measure(name, asked, names).items()}
    parts = []
    for i, title in enumerate(("its own linear model", "logistic regression, C = 1, on the standardised columns")):
        means = np.array([of.mean(axis=1)[:, i] for of in found.values()])
        rows = [
            [f"{name}, k = {k}", *(f"{mean:.1f}" for mean in line)]
            for (name, k), line in zip(found, means, strict=True)
        ]
        rows.append(["mean", *(f"{mean:.1f}" for mean in means.mean(axis=0))])
        parts += [f"Test accuracy in %: {title}", table(("set", *names), rows)]
    return "\n\n".join([*parts, notes(asked.repeats, found, names), machine("scikit-learn")])


def notes(repeats: int, found: dict[tuple[str, int], NDArray[np.float64]], names: list[str]) -> str:
    """How it was measured, and where fewer columns were taken than asked for."""
    fewer = [
        f"{method} {of[i, :, 2].mean():.0f} ({name}, k = {k})"
        for (name, k), of in found.items()
        for i, method in enumerate(names)
        if of[i, :, 2].mean() < 0.95 * k
    ]
    text = (
        f"Colon and leukemia: five folds, {repeats} times over; dexter and arcene: their own test part, columns in "
        f"{repeats} orders; basehock: 1,500 rows at random, {repeats} times. OS and ProjGD with the logistic loss. "
        "A method whose steps diverge predicts the larger class. Correlation and SAOLA have no model of their own: "
        "logistic regression in both tables."
    )
    return f"{text} Fewer columns than asked for: {'; '.join(fewer)}." if fewer else text
