"""Models of every method and variant, in every stage of learning, as the bases of mutations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from streamsieve.blocks import RowBlock, columns_of, dense_block
from streamsieve.model import Model
from streamsieve.registry import METHODS, find_method
from streamsieve.sources import open_source
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.named_rows import named_block
from streamsieve.training import train
from tests.checks.data import sparse_stream

FEATURES, BUDGET = 12, 4
WIDE = 2**40  # ids that need a table
FOR_CLASSES = {"logistic", "squared_hinge", "su", "g2", "chi2", "balanced", "mdl"}  # parameters


def rows_of(kind: str, n: int, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Sparse rows with classes or numbers that depend on some columns."""
    X, y = sparse_stream("numbers" if kind == "numbers" else "classes", seed, n, FEATURES)
    if kind == "classes" and n_classes > 2:
        y = (y > 0) + (np.asarray(X.sum(axis=1)) > 0.5).astype(np.int64)
    return X, y


def seeded(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return (
        {"random_state": 0, **params}
        if "random_state" in find_method(method).parameter_names
        else params
    )


def trained(
    method: str, params: dict[str, Any], n_rows: int, kind: str, n_classes: int = 2
) -> Model:
    """Return a model in the middle of training."""
    params = seeded(method, params)
    if (
        "n_features_to_select" in find_method(method).parameter_names
        and find_method(method).reads == "rows"
    ):
        params = {"n_features_to_select": BUDGET, **params}
    learner: Any = find_method(method).make(**params)
    X, y = rows_of(kind, n_rows, n_classes)
    if learner.reads == "rows":
        learner.start(
            FEATURES if learner.needs_width else None, None if kind == "numbers" else np.unique(y)
        )
        learner.partial_fit_block(dense_block(X.toarray(), y))
    elif learner.reads == "columns":
        groups = np.arange(FEATURES) // 3 if learner.method.supports_groups else None
        names = np.array([f"gene {k}" for k in range(FEATURES)], object)
        learner.start(y=y)
        learner.partial_fit_block(
            columns_of(X.toarray(), ids=np.arange(FEATURES), names=names, groups=groups)
        )
    else:
        train(learner, ArraySource(X.toarray(), y))
    model: Model = learner.model()
    return model.copy()


def by_table(method: str, params: dict[str, Any], kind: str) -> Model:
    """Return a model with ids so large that a hash table holds their positions."""
    X, y = rows_of(kind, 40)
    learner: Any = find_method(method).make(
        **{"n_features_to_select": BUDGET, **seeded(method, params)}
    )
    learner.start(None, None if kind == "numbers" else np.unique(y))
    ids = X.indices.astype(np.int64) * (WIDE // FEATURES)
    learner.partial_fit_block(
        RowBlock(X.indptr.astype(np.int64), ids, X.data.astype(np.float32), y, WIDE)
    )
    model: Model = learner.model()
    return model.copy()


def named_rows(method: str, kind: str) -> Model:
    """Return a model of rows by name, in fixed memory."""
    X, y = rows_of(kind, 40)
    block = named_block(
        [{f"w{j}": float(x) for j, x in enumerate(row) if x} for row in X.toarray()]
    )
    learner: Any = find_method(method).make(BUDGET, max_cells=32)
    learner.start(None, None if kind == "numbers" else np.unique(y))
    model: Model = learner.partial_fit_block(block.derived(y=y)).model()
    return model.copy()


def table_of(X: Any) -> pa.Table:
    """Return sparse rows as a table with text, dates, booleans and missing numbers."""
    dense = X.toarray()
    columns = {f"gene {j}": dense[:, j] for j in range(4)}
    columns["colour"] = np.array(["red", "green", "blue", "\x1b[31m<b>"])[
        (dense[:, 4] * 7).astype(int) % 4
    ]
    columns["day"] = (dense[:, 5] * 100).astype(int).astype("datetime64[D]")
    columns["known"] = dense[:, 6] > 0.0
    numbers = pa.array(dense[:, 7], mask=dense[:, 7] == 0.0)
    return pa.table(columns).append_column("depth", numbers)


def of_a_table(method: str, kind: str) -> Model:
    """Return a model with an encoding of a table, and with named groups if it supports groups."""
    X, y = rows_of(kind, 40)
    by_rows = find_method(method).reads == "rows"
    learner: Any = find_method(method).make(
        **seeded(method, {"n_features_to_select": BUDGET} if by_rows else {})
    )
    source = open_source((table_of(X), y), missing="mean")
    groups = [("genes", "looks", "\x1b[31m<b>")[j % 3] for j in range(source.n_features or 0)]
    train(learner, source, groups=groups if learner.method.supports_groups else None)
    model: Model = learner.model()
    return model.copy()


def variants(method: str) -> Iterator[tuple[str, Callable[[], Model]]]:
    """Yield a name and a function that makes the model, for every form of a method's state."""
    learner = find_method(method)
    by_rows = learner.reads == "rows"
    for kind in sorted(learner.targets):
        for number, params in enumerate(({}, *learner.check_variants)):
            if kind == "classes" or not FOR_CLASSES & {str(value) for value in params.values()}:
                yield f"{method}/{kind}/{number}", partial(trained, method, params, 40, kind)
        yield f"{method}/{kind}/frame", partial(of_a_table, method, kind)
        if by_rows:
            yield (
                f"{method}/{kind}/long",
                partial(trained, method, {}, 1100, kind),
            )  # the warm-up is over
            yield (
                f"{method}/{kind}/standard",
                partial(trained, method, {"normalize": "standard"}, 40, kind),
            )
            if not find_method(method).make(BUDGET).needs_width:
                yield (
                    f"{method}/{kind}/table",
                    partial(by_table, method, {"normalize": False}, kind),
                )
        if by_rows and "curve" in learner.parameter_names:
            yield (
                f"{method}/{kind}/auto",
                partial(trained, method, {"n_features_to_select": "auto"}, 600, kind),
            )
        if "max_cells" in learner.parameter_names:
            yield f"{method}/{kind}/named", partial(named_rows, method, kind)
            yield f"{method}/{kind}/cells", partial(trained, method, {"max_cells": 16}, 40, kind)
        if by_rows and kind == "classes" and method != "ofs-partial":
            for number, params in enumerate(({}, *learner.check_variants)):
                yield f"{method}/three/{number}", partial(trained, method, params, 40, kind, 3)
            yield f"{method}/three/long", partial(trained, method, {}, 1100, kind, 3)


def all_bases(
    methods: Iterable[str] = tuple(METHODS), only: Iterable[str] | None = None
) -> dict[str, Model]:
    """Return the models of some methods, or only those with the given names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: make()
            for method in methods
            for name, make in variants(method)
            if only is None or name in only
        }


FEW = (  # one of every kind of state, for where time is short
    *(
        "sofs/classes/0",
        "sofs/classes/1",
        "sofs/three/0",
        "sofs/classes/named",
        "sofs/classes/table",
    ),
    *("sofs/classes/frame", "group-saola/classes/frame"),
    *(
        "sofs-regressor/numbers/1",
        "pet/classes/1",
        "fofs/three/0",
        "ofs-partial/classes/0",
        "ogd/classes/0",
    ),
    *(
        "fobos/classes/standard",
        "arow/classes/0",
        "arow-regressor/numbers/0",
        "random-selection/classes/0",
    ),
    *(
        "saola/classes/0",
        "group-saola/classes/1",
        "ogfs/classes/0",
        "osfs/classes/0",
        "fast-osfs/numbers/0",
    ),
    *(
        "fcbf/classes/0",
        "mrmr/classes/0",
        "iamb/classes/0",
        "mmmb/numbers/0",
        "alpha-investing/classes/0",
    ),
    *(
        "online-substitution/classes/0",
        "asyos/classes/0",
        "grafting/numbers/0",
        "projected-gradient/classes/0",
    ),
    *("local-learning/classes/0", "relieff/classes/0", "irelief/classes/0"),
)
