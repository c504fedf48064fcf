"""Promises of every algorithm that needs the whole matrix."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import load
from ..sources import open_source
from ..sources.arrays import ArraySource
from ..sources.writers import write_rows
from .maker import Maker, refuses

ROWS, FEATURES = 120, 40


def whole_data() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows whose first two features decide the class together, among others that do not; many zeros."""
    random = np.random.default_rng(7)
    X = np.rint(256 * random.standard_normal((ROWS, FEATURES))) / 256
    X[:, 2:][random.random((ROWS, FEATURES - 2)) < 0.3] = 0.0
    y = np.where(X[:, 0] + X[:, 1] > 0, 3, -1)
    return X, y


def learned(selector: Any) -> dict[str, Any]:
    selection = selector.selection()
    return {
        "indices": selection.indices.tolist(),
        "scores": selection.scores.tolist(),
        "weights": selector.feature_weights_.tolist(),
    }


def assert_same(found: Any, expected: Any, what: str) -> None:
    """Equal to the last bit."""
    assert learned(found) == learned(expected), f"{what}: {learned(found)} != {learned(expected)}"


def check_finds_the_features(make: Maker) -> None:
    """The features that decide the class have the largest weights."""
    X, y = whole_data()
    assert make(n_features_to_select=2).fit(X, y).selection().indices.tolist() == [0, 1]


def check_forms_of_data(make: Maker) -> None:
    """Dense in any order, sparse, and files of rows: the same answer."""
    from scipy.sparse import csc_array, csr_array

    X, y = whole_data()
    expected = make().fit(X, y)
    assert len(expected.selection()), "nothing was selected"
    forms = [np.asfortranarray(X), X.astype(np.float32), np.repeat(X, 2, axis=1)[:, ::2], csc_array(X), csr_array(X)]
    for form in forms:
        assert_same(make().fit(form, y), expected, type(form).__name__)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rows.svm", "rows.arrow", "rows.parquet", "rows.csv"):
            path = Path(folder) / name
            write_rows(path, ArraySource(X, y).row_blocks(), n_features=FEATURES)
            source = open_source(path, "label" if name == "rows.csv" else None)
            assert_same(make().fit_source(source), expected, name)


def check_saved_model(make: Maker) -> None:
    """A model that was saved is the same when it is loaded."""
    X, y = whole_data()
    expected = make(n_features_to_select=3).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        expected.save(Path(folder) / "model")
        found = load(Path(folder) / "model")
    assert_same(found, expected, "saved and loaded")
    assert found.get_params() == expected.get_params()
    assert found.transform(X).tolist() == expected.transform(X).tolist()


def check_labels_can_be_anything(make: Maker) -> None:
    X, y = whole_data()
    expected = make().fit(X, y)
    for negative, positive in (("ham", "spam"), (0, 1), (3.5, 7.25), (False, True)):
        labels = np.where(y > 0, positive, negative)
        assert_same(make().fit(X, labels), expected, f"labels {negative!r} and {positive!r}")


def check_many_classes(make: Maker) -> None:
    X, _ = whole_data()
    together = X[:, 0] + X[:, 1]
    y = np.array(["a", "b", "c"])[(together > -0.5).astype(int) + (together > 0.5)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether the weights converge is no promise
        assert make(n_features_to_select=2).fit(X, y).selection().indices.tolist() == [0, 1]


def check_useless_columns(make: Maker) -> None:
    """Empty and constant columns change nothing and are never selected."""
    X, y = whole_data()
    expected = make().fit(X, y)
    filler = np.zeros((ROWS, 2))
    filler[:, 1] = 5.5
    found = make().fit(np.concatenate([filler, X, filler], axis=1), y)
    assert found.selection().indices.tolist() == (expected.selection().indices + 2).tolist()
    assert found.feature_weights_[2:-2].tolist() == expected.feature_weights_.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not len(make().fit(filler, y).selection())


def check_budget(make: Maker) -> None:
    X, y = whole_data()
    for budget in (1, 3, FEATURES + 10):
        selector = make(n_features_to_select=budget).fit(X, y)
        weights = selector.feature_weights_
        chosen = selector.get_support(indices=True)
        assert len(chosen) == min(budget, np.count_nonzero(weights > 0)) == selector.transform(X).shape[1]
        assert weights[chosen].min() >= np.delete(weights, chosen).max()


def check_same_answer_twice(make: Maker) -> None:
    X, y = whole_data()
    assert_same(make().fit(X, y), make().fit(X, y), "twice")


def check_refusals(make: Maker) -> None:
    """Bad input raises, and says what is wrong."""
    X, y = whole_data()
    bad = X.copy()
    bad[17, 4] = np.nan
    refuses(lambda: make().fit_source(ArraySource(bad, y)), "feature 4 is missing in row 18")
    refuses(lambda: make().fit_source(ArraySource(X, np.ones(ROWS))), "in all rows")
    refuses(lambda: make().fit_source(ArraySource(X, np.random.default_rng(0).random(ROWS))), "regression")


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
