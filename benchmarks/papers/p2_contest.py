"""Online substitution and its rivals on problems whose truth is known: who finds it, and how near the model comes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import p2_rivals as rivals
import streamsieve as ss
from p2_data import Problem, Setting, draw

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
    setting = problem.setting
    selector = getattr(ss, name)(setting.s, loss=setting.loss, **params)
    try:
        selector.fit(problem.X, problem.y)
    except ss.DataError:
        return Found(np.empty(0, np.int64), np.empty(0), 0.0)
    return Found(selector.get_support(indices=True), selector.coef_, selector.intercept_)


def of_rival(select: Callable[[F64, F64, int, str], NDArray[np.int64]], problem: Problem) -> Found:
    """Columns that something else selects, with the model that all are given."""
    setting = problem.setting
    ids = select(problem.X, problem.y, setting.s, setting.loss)
    model = rivals.refit(problem.X, problem.y, ids, setting.loss)
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
    **{scans_of(solver, scans): substitution(solver, scans) for solver in ("pool", "paper") for scans in SCANS},
    **{workers_of(workers): partial(of_package, "AsyOS", workers=workers, n_scans=2) for workers in WORKERS},
    "ProjGD": partial(of_package, "ProjectedGradient"),
    "Grafting": partial(of_package, "Grafting"),
    "L1 coordinate descent": partial(of_rival, rivals.by_l1_steps),
    "L0 coordinate descent": partial(of_rival, rivals.by_l0_steps),
    "Lasso or L1": partial(of_rival, batch_l1),
    "true features": truth,
}


def there(names: Iterable[str], s: int) -> list[str]:
    """Those that can select s features: a worker keeps one at least."""
    idle = {workers_of(q) for q in WORKERS if q > s}
    return [name for name in names if name not in idle]


def judged(problem: Problem, found: Found) -> Outcome:
    """How much of the truth was found, and how far the model is from it."""
    recall = np.isin(problem.true_ids, found.ids).mean()
    if problem.setting.loss == "squared":
        off = np.zeros(problem.setting.p)
        off[found.ids] = found.weights
        off[problem.true_ids] -= problem.true_weights
        return Outcome(float(recall), float(np.linalg.norm(off) / np.linalg.norm(problem.true_weights)))
    scores = problem.X_test[:, found.ids] @ found.weights + found.intercept
    return Outcome(float(recall), float(np.mean(np.where(scores > 0.0, 1.0, -1.0) != problem.y_test)))


class Job(NamedTuple):
    """Some contestants on one problem."""

    setting: Setting
    names: tuple[str, ...]
    seed: int


def run(job: Job) -> F64:
    """The outcomes, a line for each contestant."""
    warnings.simplefilter("ignore")
    problem = draw(job.setting, job.seed)
    return np.array([judged(problem, CONTESTANTS[name](problem)) for name in job.names])


def contest(settings: Sequence[Setting], names: Sequence[str], repeats: int, jobs: int) -> F64:
    """Outcomes by setting, contestant and seed, each a recall and an error."""
    work = [Job(setting, tuple(names), seed) for setting in settings for seed in range(repeats)]
    found = []
    for job, outcomes in zip(work, in_order(work, jobs), strict=True):
        found.append(outcomes)
        if job.seed == repeats - 1:
            recalls = np.mean(found[-repeats:], axis=0)[:, 0]
            print(*job.setting, "recall", *(f"{recall:.3f}" for recall in recalls), file=sys.stderr, flush=True)
    return np.array(found).reshape(len(settings), repeats, len(names), 2).swapaxes(1, 2)


def in_order(work: Sequence[Job], jobs: int) -> Iterator[F64]:
    if jobs == 1:
        yield from map(run, work)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run, work)
