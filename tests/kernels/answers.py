"""Collect the results of every method on a little data of each form, as JSON values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from streamsieve.registry import find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.targets import Kind
from tests.checks import PROMISES, suits
from tests.checks.data import sparse_stream
from tests.checks.rows import spread_out

FEATURES, BUDGET = 12, 7
# parameters that the shared checks do not try
EXTRA_PARAMS: dict[str, tuple[dict[str, Any], ...]] = {
    "sofs": (
        {"curve": [6], "forget": 1.0, "update": "uniform"},
        {"curve": [6], "forget": 1.0, "update": "uniform", "criterion": "confidence"},
        {"n_features_to_select": 2, "normalize": "standard"},
    ),
    "sofs-regressor": ({"curve": [6], "forget": 1.0},),
    "pet": ({"curve": [6], "forget": 1.0},),
    "fofs": ({"curve": [6], "forget": 1.0},),
}
# without a penalty, separable classes take many steps
FAST_PARAMS = {("grafting", "classes"): {"penalty": 0.1}}
Problem = tuple[str, Any, NDArray[Any]]


def row_problems(kind: Kind, many_classes: bool) -> Iterator[Problem]:
    """Yield sparse rows that start the learners of small budgets; many classes; all scales."""
    X, y = sparse_stream(kind, rows=300, features=FEATURES)
    yield "sparse", X, y
    dense = X.toarray()[:60]
    if many_classes:
        yield "four classes", X[:60], 2.0 * (dense[:, 0] > 0) + (y[:60] > 0)
    dense[:, 0] += 5
    dense[:, 1] -= 0.3
    dense[:, 2] *= 100
    dense[::9, :2] = 0
    yield "mixed", csr_array(dense), y[:60]
    yield "dense", dense, y[:60]


def column_problems(kind: Kind, many_classes: bool, rows: int) -> Iterator[Problem]:
    """Yield columns that are equal, constant, far from 0 or rarely present; many classes.

    For numbers there are also columns that all matter.
    """
    stream, y = sparse_stream(kind, rows=rows, features=FEATURES)
    y[::7] *= -1  # classes that cannot be separated
    X = stream.toarray()
    X[:, 1] = X[:, 0]
    X[:, 4] = 2 * X[:, 3] + (X[:, 5] > 0)
    X[:, 7] += 1e6
    X[3:, 8] = 0
    X[:, 9] = 1.0
    yield "sparse", csc_array(X), y
    if many_classes:
        yield "four classes", X, 2.0 * (X[:, 0] > 0) + (y > 0)
    yield "dense", np.asfortranarray(X + 0.3), y
    if kind == "numbers":
        dense = np.random.default_rng(1).standard_normal((rows, FEATURES))
        yield "all matter", dense, dense @ np.arange(1.0, FEATURES + 1)


def problems(
    learner: Any, kind: Kind, params: dict[str, Any], many_classes: bool
) -> Iterator[Problem]:
    if learner.reads != "rows":
        yield from column_problems(kind, many_classes, 24 if learner.reads == "matrix" else 50)
        return
    yield from row_problems(kind, many_classes)
    if not params and "check_huge_ids_change_nothing" not in learner.exempt_from_checks:
        yield "huge ids", *sparse_stream(kind, rows=60, features=FEATURES)


def learn(make: Any, name: str, X: Any, y: NDArray[Any]) -> Any:
    """Return a fitted selector; the problem "huge ids" is learned from rows of huge ids."""
    if name != "huge ids":
        return make().fit(X, y)
    selector = make().start(**make.classes)
    for block in ArraySource(X, y, block_rows=20).row_blocks():
        selector.partial_fit_block(spread_out(block, 5_000_000_000))
    return selector


def cases(method: str) -> Iterator[tuple[str, Any, Problem]]:
    """Yield case, maker of estimators and problem for all parameters of the shared checks."""
    learner = find_method(method)
    checks = PROMISES[learner.reads]
    for kind in sorted(learner.targets):
        for params in ({}, *learner.check_variants, *EXTRA_PARAMS.get(method, ())):
            if not (suits(params, kind) or params.get("loss") == "huber"):
                continue
            make = checks.Maker(method, FAST_PARAMS.get((method, kind), {}) | params, kind)
            if isinstance(make().get_params().get("n_features_to_select"), int):
                make.params = {"n_features_to_select": BUDGET, **make.params}
            tags = make().__sklearn_tags__().classifier_tags
            many_classes = kind == "classes" and (tags is None or tags.multi_class)
            for problem in problems(learner, kind, params, many_classes):
                yield f"{kind} {params} {problem[0]}", make, problem


def answers(method: str) -> dict[str, Any]:
    """Return what was learned and what is predicted, by case."""
    learner = find_method(method)
    answers_by_case = {}
    for name, make, problem in cases(method):
        with warnings.catch_warnings(action="ignore"):
            selector = learn(make, *problem)
            answer = PROMISES[learner.reads].learned(selector)
        if learner.predicts and problem[0] != "huge ids":
            answer["predicted"] = selector.predict(problem[1]).tolist()
        answers_by_case[name] = json.loads(json.dumps(answer))
    return answers_by_case
