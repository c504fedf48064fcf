"""Checks of every method on the whole matrix."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsieve.estimators import load
from streamsieve.selectors.matrix.data import Matrix
from streamsieve.sources import open_source
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from streamsieve.state import arrays_of
from streamsieve.targets import Kind
from tests.checks.maker import Maker, assert_refused

ROWS, FEATURES = 120, 40


def whole_data(kind: Kind) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return rows and a target that the first two features determine together.

    All other features are independent of the target and have many zeros.
    """
    random = np.random.default_rng(7)
    X = np.rint(256 * random.standard_normal((ROWS, FEATURES))) / 256
    X[:, 2:][random.random((ROWS, FEATURES - 2)) < 0.3] = 0.0
    total = X[:, 0] + X[:, 1]
    return X, total if kind == "numbers" else np.where(total > 0, 3, -1)


def learned(selector: Any) -> dict[str, Any]:
    """Return all that was learned, except the names of classes."""
    selection, state = selector.selection(), arrays_of(selector.learner.memory.state)
    arrays = {name: array.tolist() for name, array in state.items() if name != "classes"}
    return {"selected": selection.indices.tolist(), "by": selection.scores.tolist(), **arrays}


def assert_same(actual: Any, expected: Any, what: str) -> None:
    """Assert that two estimators learned the same, to the last bit."""
    assert learned(actual) == learned(expected), f"{what}: {learned(actual)} != {learned(expected)}"


def check_finds_the_features(make: Maker) -> None:
    """Check that the features that determine the target are selected first."""
    X, y = whole_data(make.kind)
    assert make(n_features_to_select=2).fit(X, y).selection().indices.tolist() == [0, 1]


def check_forms_of_data(make: Maker) -> None:
    """Check that dense data in any order, sparse data and files of rows give the same answer."""
    from scipy.sparse import csc_array, csr_array

    X, y = whole_data(make.kind)
    expected = make().fit(X, y)
    assert len(expected.selection()), "nothing was selected"
    forms = [
        np.asfortranarray(X),
        X.astype(np.float32),
        np.repeat(X, 2, axis=1)[:, ::2],
        csc_array(X),
        csr_array(X),
    ]
    for form in forms:
        assert_same(make().fit(form, y), expected, type(form).__name__)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rows.svm", "rows.arrow", "rows.parquet", "rows.csv"):
            path = Path(folder) / name
            write_rows(path, ArraySource(X, y).row_blocks(), n_features=FEATURES)
            source = open_source(path, "label" if name == "rows.csv" else None)
            assert_same(make().fit_source(source), expected, name)


def check_saved_model(make: Maker) -> None:
    """Check that a model is the same after it was saved and loaded."""
    X, y = whole_data(make.kind)
    expected = make(n_features_to_select=3).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        expected.save(Path(folder) / "model")
        loaded = load(Path(folder) / "model")
    assert_same(loaded, expected, "saved and loaded")
    assert loaded.get_params() == expected.get_params()
    assert loaded.transform(X).tolist() == expected.transform(X).tolist()


def check_labels_can_be_anything(make: Maker) -> None:
    if make.kind == "numbers":
        return
    X, y = whole_data(make.kind)
    expected = make().fit(X, y)
    pairs: list[tuple[Any, Any]] = [("ham", "spam"), (0, 1), (False, True)]
    if "numbers" not in make.estimator.method.targets:
        pairs.append((3.5, 7.25))
    for negative, positive in pairs:
        labels = np.where(y > 0, positive, negative)
        assert_same(make().fit(X, labels), expected, f"labels {negative!r} and {positive!r}")


def check_many_classes(make: Maker) -> None:
    if make.kind == "numbers":
        return
    X, _ = whole_data(make.kind)
    total = X[:, 0] + X[:, 1]
    y = np.array(["a", "b", "c"])[(total > -0.5).astype(int) + (total > 0.5)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the weights need not converge
        assert make(n_features_to_select=2).fit(X, y).selection().indices.tolist() == [0, 1]


def check_useless_columns(make: Maker) -> None:
    """Check that empty and constant columns change nothing and are never selected."""
    X, y = whole_data(make.kind)
    expected = make().fit(X, y)
    filler = np.zeros((ROWS, 2))
    filler[:, 1] = 5.5
    padded = make().fit(np.concatenate([filler, X, filler], axis=1), y)
    assert padded.selection().indices.tolist() == (expected.selection().indices + 2).tolist()
    assert padded.selection().scores.tolist() == expected.selection().scores.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not len(make().fit(filler, y).selection())


def check_budget(make: Maker) -> None:
    X, y = whole_data(make.kind)
    n_selectable = len(make(n_features_to_select=FEATURES + 10).fit(X, y).selection())
    for budget in (1, 3, FEATURES + 10):
        selector = make(n_features_to_select=budget).fit(X, y)
        chosen = selector.get_support(indices=True)
        assert len(chosen) == min(budget, n_selectable) == selector.transform(X).shape[1]
        assert (selector.scores_ > 0).all()


def check_same_answer_twice(make: Maker) -> None:
    X, y = whole_data(make.kind)
    assert_same(make().fit(X, y), make().fit(X, y), "twice")


def check_refusals(make: Maker) -> None:
    """Check that bad input raises an error that says what is wrong."""
    X, y = whole_data(make.kind)
    with_nan, with_infinity = X.copy(), X.copy()
    with_nan[17, 4], with_infinity[17, 4] = np.nan, np.inf
    assert_refused(
        lambda: make().fit_source(ArraySource(with_nan, y)), "feature 4 is missing in row 18"
    )
    assert_refused(
        lambda: make().fit_source(ArraySource(with_infinity, y)), "feature 4 is infinite in row 18"
    )
    assert_refused(lambda: make().fit_source(ArraySource(X, np.ones(ROWS))), "in all rows")
    assert_refused(lambda: make().start(y=y[1:]).partial_fit_block(Matrix(X)), f"{ROWS - 1}")
    if "numbers" not in make.estimator.method.targets:
        assert_refused(
            lambda: make().fit_source(ArraySource(X, np.random.default_rng(0).random(ROWS))),
            "numbers with fractions",
        )


CHECKS = (
    check_finds_the_features,
    check_forms_of_data,
    check_saved_model,
    check_labels_can_be_anything,
    check_many_classes,
    check_useless_columns,
    check_budget,
    check_same_answer_twice,
    check_refusals,
)
