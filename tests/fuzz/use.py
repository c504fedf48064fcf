"""All uses of a model, and what must hold for any model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import streamsieve as ss
from streamsieve.blocks import RowBlock, columns_of, dense_block
from streamsieve.model import Model
from streamsieve.registry import find_method
from streamsieve.selection import Selection
from streamsieve.sources import open_like
from streamsieve.sources.base import as_row_source
from streamsieve.sources.named_rows import named_block
from streamsieve.sources.options import ReadOptions

from .bases import FEATURES, rows_of, table_of

REFUSALS = (ss.DataError, ss.UsageError)


class NonsenseError(AssertionError):
    """What a model gave that no model may give."""


def check(condition: bool, what: str) -> None:
    if not condition:
        raise NonsenseError(what)


def check_selection(learner: Any) -> Selection:
    """Ids are sorted, unique and within the width, no more than asked for; scores are finite."""
    selection: Selection = learner.results.selection()
    ids, width = selection.indices, learner.results.n_features_in_
    check(ids.ndim == 1 and selection.scores.shape == ids.shape, "ids and scores differ in number")
    check(bool((np.diff(ids) > 0).all()), "ids are not sorted, or not unique")
    check(
        not ids.size or 0 <= ids[0] <= ids[-1] < width,
        f"ids {ids[:1]} to {ids[-1:]} of {width} features",
    )
    wanted = getattr(learner.params, "n_features_to_select", None)
    if isinstance(wanted, int) and not isinstance(wanted, bool):
        check(ids.size <= wanted, f"{ids.size} of {wanted} features")
    check(bool(np.isfinite(selection.scores).all()), "a score is not finite")
    check(selection.names is None or selection.names.shape == ids.shape, "names do not go with ids")
    return selection


def rows_for(learner: Any, n: int, seed: int) -> RowBlock:
    """Return rows with answers that the model supports, by name if it has names."""
    numbers = "classes" not in learner.method.targets
    X, y = rows_of("numbers" if numbers else "classes", n, seed=seed)
    if learner.reads == "rows" and not numbers:
        classes = learner.memory.target.labels.classes
        y = classes[np.arange(n) % len(classes)] if len(classes) else y
    if learner.reads == "rows" and learner.memory.names is not None:
        named = named_block(
            [{f"w{j}": float(x) for j, x in enumerate(row) if x} for row in X.toarray()]
        )
        return named.derived(y=y)
    if learner.features.encoding is not None:
        source = open_like((table_of(X), y), ReadOptions(), None, learner.features.encoding)
        return next(iter(as_row_source(source).row_blocks()))
    return dense_block(X.toarray(), y)


def predict(learner: Any) -> None:
    if not (learner.method.predicts and learner.n_learned):
        return
    block = rows_for(learner, 5, 2)
    predictor = learner.results.predictor()
    labels, scores, chances = predictor(block)
    check(len(labels) == block.n_rows, "not one prediction per row")
    check(bool(np.isfinite(scores).all()), "a score of a row is not finite")
    check(labels.dtype.kind != "f" or bool(np.isfinite(labels).all()), "a prediction is not finite")
    check(
        predictor.classes is None or set(labels.tolist()) <= set(predictor.classes.tolist()),
        "a class of its own",
    )
    if chances is not None:
        check(bool((chances >= 0).all() and (chances <= 1).all()), "a probability is none")


def learn(learner: Any) -> None:
    """Learn from one more block, in the form that the model needs."""
    if learner.reads == "rows":
        learner.partial_fit_block(rows_for(learner, 24, 1))
    elif learner.reads == "columns":
        check(learner.results.n_rows_ <= 10**5, "far more rows than the file can hold")
        X = rows_of("classes", learner.results.n_rows_, seed=1)[0].toarray()
        first = max(100, learner.results.n_features_in_)
        if learner.features.encoding is not None:  # no feature more than its table has
            return
        groups = np.arange(10**6, 10**6 + FEATURES) // 3 if learner.method.supports_groups else None
        names = np.array([f"n{k}" for k in range(FEATURES)], object)
        ids = np.arange(first, first + FEATURES)
        learner.partial_fit_block(columns_of(X, ids=ids, names=names, groups=groups))


def use(data: bytes) -> str:
    """Load, select, predict, learn, save and load again: how far it came ("refused" or "used")."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = Model.from_bytes(data)
            learner = find_method(model.method).load(model)
        except REFUSALS:
            return "refused"
        with np.errstate(all="ignore"):
            return use_learner(learner)


def use_learner(learner: Any) -> str:
    said = "used"
    steps = (
        lambda: check_selection(learner),
        lambda: predict(learner),
        lambda: learner.results.result_summary(),
        lambda: learn(learner),
        lambda: check_selection(learner),
        lambda: predict(learner),
    )
    for step in steps:
        try:
            step()
        except REFUSALS:  # data that does not fit the model, in words
            said = "used, but not for all"
    again = learner.method.load(Model.from_bytes(learner.model().to_bytes()))
    try:
        before, after = check_selection(learner), check_selection(again)
    except REFUSALS:
        return said
    check(
        before.indices.tolist() == after.indices.tolist(),
        "it selects something else once it is saved",
    )
    check(before.scores.tolist() == after.scores.tolist(), "its scores differ once it is saved")
    return said
