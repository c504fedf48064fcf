"""Checks of every method on columns."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamsieve.blocks import ColumnBlock, columns_of
from streamsieve.estimators import load
from streamsieve.sources import open_source
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from streamsieve.state import arrays_of
from streamsieve.targets import Kind
from tests.checks.maker import Maker, assert_refused, assert_refused_without_trace

ROWS, FEATURES = 120, 60


def wide_data(kind: Kind) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return rows and a target that depends on the first features, two of which have near copies.

    All other features are independent of the target.
    """
    random = np.random.default_rng(7)
    X = random.integers(-2, 3, (ROWS, FEATURES)).astype(np.float64)
    numbers = X[:, 0] + X[:, 1] + random.normal(0, 0.5, ROWS)
    y: NDArray[Any] = numbers if kind == "numbers" else np.where(numbers > 0, 3, -1)
    X[:, 10] = X[:, 0] + random.integers(0, 2, ROWS)
    X[:, 20] = 2 * X[:, 1]
    return X, y


def learned(selector: Any) -> dict[str, Any]:
    selection = selector.selection()
    return {"indices": selection.indices.tolist(), "scores": selection.scores.tolist()}


def assert_same(actual: Any, expected: Any, what: str) -> None:
    assert learned(actual) == learned(expected), f"{what}: {learned(actual)} != {learned(expected)}"


def blocks_of(X: NDArray[np.float64], size: int) -> list[ColumnBlock]:
    return [columns_of(X[:, start : start + size], start) for start in range(0, X.shape[1], size)]


def one_pass(make: Maker) -> dict[str, Any]:
    """Return parameters with which features are read once, as in learning piece by piece."""
    return {"n_scans": 1} if "n_scans" in make.estimator.method.parameter_names else {}


def check_block_sizes(make: Maker) -> None:
    """Check that columns in blocks of 1, of 7 and of all give the same answer."""
    X, y = wide_data(make.kind)
    expected = make().fit(X, y)
    assert len(expected.selection()), "nothing was selected"
    for size in (1, 7, FEATURES):
        selector = make().fit_source(blocks_of(X, size), y=y)
        assert_same(selector, expected, f"blocks of {size} columns")


def check_forms_of_data(make: Maker) -> None:
    """Check that dense and sparse data and files of rows give the same answer."""
    from scipy.sparse import csc_array, csr_array

    X, y = wide_data(make.kind)
    expected = make().fit(X, y)
    for form in (csc_array, csr_array):
        assert_same(make().fit(form(X), y), expected, form.__name__)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rows.svm", "rows.arrow", "rows.parquet"):
            path = Path(folder) / name
            write_rows(path, ArraySource(X, y).row_blocks(), n_features=FEATURES)
            assert_same(make().fit_source(open_source(path)), expected, name)


def check_selection_on_the_way(make: Maker) -> None:
    """Check that the selection can be read at any time, without an effect on learning.

    It is that of the columns so far.
    """
    X, y = wide_data(make.kind)
    selector, half = make(**one_pass(make)), FEATURES // 2
    selector.partial_fit_columns(X[:, :half], y)
    assert_same(selector, make(**one_pass(make)).fit(X[:, :half], y), "half of the columns")
    for feature in range(half, FEATURES):
        selector.partial_fit_columns(X[:, feature : feature + 1])
        selector.selection()
    assert_same(selector, make(**one_pass(make)).fit(X, y), "looked at after every column")


def check_save_in_the_middle(make: Maker) -> None:
    """Check that a model saved and loaded between two columns continues as if it had not been."""
    X, y = wide_data(make.kind)
    expected = make(**one_pass(make)).fit_source(blocks_of(X, FEATURES), y)
    selector = make(**one_pass(make)).start(y=y)
    with tempfile.TemporaryDirectory() as folder:
        for number, block in enumerate(blocks_of(X, 1)):
            if number % 9 == 4:
                selector.save(Path(folder) / "model")
                selector = load(Path(folder) / "model")
            selector.partial_fit_block(block)
    assert_same(selector, expected, "saved and loaded")


def check_ids_and_names(make: Maker) -> None:
    """Check that ids are those given, in any order and however large, and names stay with them."""
    X, y = wide_data(make.kind)
    expected = make(**one_pass(make)).fit(X, y).selection().indices
    ids = 10**12 + 3 * np.arange(FEATURES)
    names = np.array([f"gene {feature}" for feature in range(FEATURES)], dtype=object)
    selector = make(**one_pass(make))
    for start in range(0, FEATURES, 7):
        part = slice(start, start + 7)
        selector.partial_fit_columns(X[:, part], y, feature_ids=ids[part], names=names[part])
    selection = selector.selection()
    assert selection.indices.tolist() == ids[expected].tolist()
    assert selection.names is not None
    assert selection.names.tolist() == names[expected].tolist()


def check_useless_columns(make: Maker) -> None:
    """Check that empty and constant columns change nothing and are never selected."""
    X, y = wide_data(make.kind)
    expected = make().fit(X, y).selection().indices
    filler = np.zeros((ROWS, 2))
    filler[:, 1] = 5.5
    padded = np.concatenate([filler, X, filler], axis=1)
    assert make().fit(padded, y).selection().indices.tolist() == (expected + 2).tolist()


def check_refusals(make: Maker) -> None:
    """Check that bad input raises an error that says what is wrong."""
    X, y = wide_data(make.kind)
    with_nan, with_infinity = X.copy(), X.copy()
    with_nan[17, 4], with_infinity[17, 4] = np.nan, np.inf
    short_block = columns_of(X[1:, :1])
    assert_refused(lambda: make().start(y=y).partial_fit_block(short_block), f"{ROWS - 1} rows")
    assert_refused(lambda: make().start(y=np.ones(ROWS)), "in all rows")
    if make.params.get("missing") == "skip":
        make().start(y=y).partial_fit_block(columns_of(with_nan))
    else:
        assert_refused(
            lambda: make().start(y=y).partial_fit_block(columns_of(with_nan)),
            "feature 4 is missing in row 18",
        )
    assert_refused(
        lambda: make().start(y=y).partial_fit_block(columns_of(with_infinity)),
        "feature 4 is infinite in row 18",
    )
    started = make().start(y=y)
    assert_refused(
        lambda: started.partial_fit_columns(X[:, :2], -y), "differs from that of the first columns"
    )


def check_memory_is_that_of_the_kept(make: Maker) -> None:
    """Check that memory does not grow with the number of features that were offered."""
    X, y = wide_data(make.kind)
    random = np.random.default_rng(8)
    selector = make().start(y=y).partial_fit_block(columns_of(X))
    for number in range(1, 31):
        noise = random.integers(-2, 3, (ROWS, FEATURES))
        selector.partial_fit_block(columns_of(noise, number * FEATURES))
    kept = len(selector.selection())
    held = sum(array.nbytes for array in arrays_of(selector.learner.memory.state).values())
    assert held <= max(200, 5 * kept) * (ROWS * 16 + 4096), f"{held} bytes for {kept} kept columns"


def check_refused_columns_leave_no_trace(make: Maker) -> None:
    """Check that columns that are refused change nothing, and learning continues.

    Refused are the first columns and later ones.
    """
    X, y = wide_data(make.kind)
    learner, uninterrupted = make().start(y=y), make().start(y=y)
    infinite = X[:, :20].copy()
    infinite[3, 15] = np.inf
    for start in (0, 20):
        assert_refused_without_trace(learner, columns_of(X[:-1, :20], start), "columns of 119 rows")
        assert_refused_without_trace(learner, columns_of(infinite, start), "infinite in row 4")
        assert_refused_without_trace(
            learner, columns_of(X[:, :2], ids=np.array([-1, 70])), "negative"
        )
        block = columns_of(X[:, start : start + 20], start)
        learner.partial_fit_block(block)
        uninterrupted.partial_fit_block(block)
        if not learner.learner.rule.allows_repeats:
            assert_refused_without_trace(
                learner, columns_of(X[:, :3], ids=np.array([90, 91, 90])), "appears twice"
            )
    assert_same(learner, uninterrupted, "after columns that were refused")


CHECKS = (
    check_block_sizes,
    check_selection_on_the_way,
    check_forms_of_data,
    check_save_in_the_middle,
    check_ids_and_names,
    check_useless_columns,
    check_refusals,
    check_memory_is_that_of_the_kept,
    check_refused_columns_leave_no_trace,
)
