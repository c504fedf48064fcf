"""Online substitution and its rivals on problems whose truth is known: who finds it, and how near the model comes.

The problems are those of Yang, Fujimaki, Kusumura, Liu (2016), section 5.
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


class Found(NamedTuple):
    """A linear model of some columns."""

    ids: NDArray[np.int64]
    weights: F64
    intercept: float


class Outcome(NamedTuple):
    recall: float
    error: float  # of numbers: distance to the true weights, against their length; of classes: wrong ones of a test set


Contestant = Callable[[Problem], Found]


def of_package(name: str, problem: Problem, **params: Any) -> Found:
    """A selector of streamsieve, with its own model; nothing where its steps diverge."""
    recipe = problem.recipe
    selector = getattr(ss, name)(recipe.s, loss=recipe.loss, **params)
    try:
        selector.fit(problem.X, problem.y)
    except ss.DataError:
        return Found(np.empty(0, np.int64), np.empty(0), 0.0)
    return Found(selector.get_support(indices=True), selector.coef_, selector.intercept_)


def of_rival(select: Callable[[F64, F64, int, str], NDArray[np.int64]], problem: Problem) -> Found:
    """Columns that something else selects, with the model that all are given."""
    recipe = problem.recipe
    ids = select(problem.X, problem.y, recipe.s, recipe.loss)
    model = rivals.refit(problem.X, problem.y, ids, recipe.loss)
    return Found(ids[model.get_support(indices=True)], model.coef_, model.intercept_)


def batch_l1(X: F64, y: F64, k: int, loss: str) -> NDArray[np.int64]:
    """Lasso, or LIBLINEAR with an L1 penalty, for standardised columns."""
    if loss == "squared":
        return rivals.by_lasso(X, y, k)
    return rivals.by_l1_liblinear(rivals.standardized(X).T, y, k, loss)


def truth(problem: Problem) -> Found:
    return of_rival(lambda *_: problem.true_ids, problem)


def substitution(solver: str, scans: int) -> Contestant:
    return partial(of_package, "OnlineSubstitution", solver=solver, n_scans=scans)


def scans_of(solver: str, scans: int) -> str:
    return f"OS {solver}, {scans} scan{'s' if scans > 1 else ''}"


def workers_of(workers: int) -> str:
    return f"AsyOS, {workers} worker{'s' if workers > 1 else ''}"


CONTESTANTS: dict[str, Contestant] = {
    **{
        scans_of(solver, scans): substitution(solver, scans)
        for solver in ("pool", "paper")
        for scans in SCANS
    },
    **{
        workers_of(workers): partial(of_package, "AsyOS", workers=workers, n_scans=2)
        for workers in WORKERS
    },
    "ProjGD": partial(of_package, "ProjectedGradient"),
    "Grafting": partial(of_package, "Grafting"),
    "L1 coordinate descent": partial(of_rival, rivals.by_l1_steps),
    "L0 coordinate descent": partial(of_rival, rivals.by_l0_steps),
    "Lasso or L1": partial(of_rival, batch_l1),
    "true features": truth,
}


def judged(problem: Problem, found: Found) -> Outcome:
    """How much of the truth was found, and how far the model is from it."""
    recall = support_recall(found.ids, problem.true_ids)
    if problem.recipe.loss == "squared":
        weights, true_weights = np.zeros(problem.recipe.p), np.zeros(problem.recipe.p)
        weights[found.ids], true_weights[problem.true_ids] = found.weights, problem.true_weights
        return Outcome(recall, recovery_error(weights, true_weights))
    scores = problem.X_test[:, found.ids] @ found.weights + found.intercept
    return Outcome(recall, float(np.mean(np.where(scores > 0.0, 1.0, -1.0) != problem.y_test)))


def run(recipe: Recipe, seed: int, names: Sequence[str]) -> F64:
    """The outcomes on one problem, a line for each contestant."""
    warnings.simplefilter("ignore")
    problem = draw(recipe, seed)
    return np.array([judged(problem, CONTESTANTS[name](problem)) for name in names])


def contest(setting: Setting, recipes: Iterable[Recipe], names: Sequence[str], repeats: int) -> F64:
    """Outcomes by recipe, contestant and seed, each a recall and an error."""
    found = []
    for recipe in recipes:
        found.append(setting.each(run, [(recipe, seed, tuple(names)) for seed in range(repeats)]))
        setting.say(
            f"p = {recipe.p:,}, {recipe.design} columns, {recipe.loss} loss, noise"
            f" {recipe.noise:g}: done"
        )
    return np.array(found).swapaxes(1, 2)
