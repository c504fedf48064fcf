"""Online substitution and its rivals on problems with known true features.

Measured are how many true features are found, and how near the model is to the true one. The
problems are those of Yang, Fujimaki, Kusumura, Liu (2016), section 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import streamsieve as ss
from streamsieve.evaluation.support import recovery_error, support_recall

from ..experiment import Setting
from . import rivals
from .problems import Problem, Recipe, draw

F64 = NDArray[np.float64]

SCANS = (1, 2, 3, 4, 5)
WORKERS = (1, 2, 5, 10, 20)


class LinearModel(NamedTuple):
    """A linear model of some columns."""

    ids: NDArray[np.int64]
    weights: F64
    intercept: float


class Outcome(NamedTuple):
    """The recall of true features, and an error.

    For numbers the error is the distance to the true weights divided by their length, for classes
    the fraction of test rows with wrong classes.
    """

    recall: float
    error: float


Contestant = Callable[[Problem], LinearModel]


def fit_package_selector(name: str, problem: Problem, **params: Any) -> LinearModel:
    """Fit a selector of streamsieve, with its own model; no columns if its steps diverge."""
    recipe = problem.recipe
    selector = getattr(ss, name)(recipe.s, loss=recipe.loss, **params)
    try:
        selector.fit(problem.X, problem.y)
    except ss.DataError:
        return LinearModel(np.empty(0, np.int64), np.empty(0), 0.0)
    return LinearModel(selector.get_support(indices=True), selector.coef_, selector.intercept_)


def fit_rival(
    select: Callable[[F64, F64, int, str], NDArray[np.int64]], problem: Problem
) -> LinearModel:
    """Fit the model that all rivals get, on columns that a function selects."""
    recipe = problem.recipe
    ids = select(problem.X, problem.y, recipe.s, recipe.loss)
    model = rivals.refit(problem.X, problem.y, ids, recipe.loss)
    return LinearModel(ids[model.get_support(indices=True)], model.coef_, model.intercept_)


def batch_l1(X: F64, y: F64, k: int, loss: str) -> NDArray[np.int64]:
    """Select by the lasso, or by LIBLINEAR with an L1 penalty, on standardised columns."""
    if loss == "squared":
        return rivals.by_lasso(X, y, k)
    return rivals.by_l1_liblinear(rivals.standardized(X).T, y, k, loss)


def fit_true_columns(problem: Problem) -> LinearModel:
    """Fit the model on the true columns."""
    return fit_rival(lambda *_: problem.true_ids, problem)


def make_substitution(solver: str, scans: int) -> Contestant:
    """Return online substitution with a solver and a number of scans."""
    return partial(fit_package_selector, "OnlineSubstitution", solver=solver, n_scans=scans)


def scans_title(solver: str, scans: int) -> str:
    """Return the name of online substitution with a solver and a number of scans."""
    return f"OS {solver}, {scans} scan{'s' if scans > 1 else ''}"


def workers_title(workers: int) -> str:
    """Return the name of AsyOS with a number of workers."""
    return f"AsyOS, {workers} worker{'s' if workers > 1 else ''}"


CONTESTANTS: dict[str, Contestant] = {
    **{
        scans_title(solver, scans): make_substitution(solver, scans)
        for solver in ("pool", "paper")
        for scans in SCANS
    },
    **{
        workers_title(workers): partial(fit_package_selector, "AsyOS", workers=workers, n_scans=2)
        for workers in WORKERS
    },
    "ProjGD": partial(fit_package_selector, "ProjectedGradient"),
    "Grafting": partial(fit_package_selector, "Grafting"),
    "L1 coordinate descent": partial(fit_rival, rivals.by_l1_steps),
    "L0 coordinate descent": partial(fit_rival, rivals.by_l0_steps),
    "Lasso or L1": partial(fit_rival, batch_l1),
    "true features": fit_true_columns,
}


def judge(problem: Problem, model: LinearModel) -> Outcome:
    """Return the recall of true features, and the error of the model."""
    recall = support_recall(model.ids, problem.true_ids)
    if problem.recipe.loss == "squared":
        weights, true_weights = np.zeros(problem.recipe.p), np.zeros(problem.recipe.p)
        weights[model.ids], true_weights[problem.true_ids] = model.weights, problem.true_weights
        return Outcome(recall, recovery_error(weights, true_weights))
    scores = problem.X_test[:, model.ids] @ model.weights + model.intercept
    return Outcome(recall, float(np.mean(np.where(scores > 0.0, 1.0, -1.0) != problem.y_test)))


def run_contestants(recipe: Recipe, seed: int, names: Sequence[str]) -> F64:
    """Return the outcomes on one problem, with a row for each contestant."""
    warnings.simplefilter("ignore")
    problem = draw(recipe, seed)
    return np.array([judge(problem, CONTESTANTS[name](problem)) for name in names])


def run_contest(
    setting: Setting, recipes: Iterable[Recipe], names: Sequence[str], repeats: int
) -> F64:
    """Return outcomes by recipe, contestant and seed, each with a recall and an error."""
    outcomes = []
    for recipe in recipes:
        outcomes.append(
            setting.map(run_contestants, [(recipe, seed, tuple(names)) for seed in range(repeats)])
        )
        setting.say(
            f"p = {recipe.p:,}, {recipe.design} columns, {recipe.loss} loss, noise"
            f" {recipe.noise:g}: done"
        )
    return np.array(outcomes).swapaxes(1, 2)
