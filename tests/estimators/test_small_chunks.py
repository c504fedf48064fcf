"""Test small chunks of rows: they give the numbers and the errors of larger chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

import streamsieve as ss
from streamsieve.estimators import rows as estimators_of_rows

RANDOM = np.random.default_rng(3)
N_ROWS = 1000
X = RANDOM.normal(0, 1, (N_ROWS, 5)) * (RANDOM.random((N_ROWS, 5)) < 0.8)
X[:, 4] += 1e8  # its values do not differ in float32
NUMBERS = X[:, 0] - 2 * X[:, 1] + RANDOM.normal(0, 0.1, N_ROWS)
CLASSES = (NUMBERS > 0).astype(int)


def learn_one_by_one(selector: Any, rows: Any, y: Any, n_rows: int) -> Any:
    for at in range(n_rows):
        selector.partial_fit(
            rows[at : at + 1], y[at : at + 1], **({} if y is NUMBERS else {"classes": [0, 1]})
        )
    return selector


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize(
    ("selector", "y"),
    [
        (lambda: ss.SOFS(3), CLASSES),
        (lambda: ss.SOFS(3, normalize="standard", class_weight="balanced"), CLASSES),
        (lambda: ss.SOFS(3, criterion="confidence", class_weight={0: 2.0}), CLASSES),
        (lambda: ss.PET(3), CLASSES),
        (lambda: ss.SOFSRegressor(3), NUMBERS),
    ],
    ids=["sofs", "standard", "confidence", "pet", "regressor"],
)
def test_one_row_at_a_time_is_the_same_to_the_last_bit(
    kind: str, selector: Any, y: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: Any = csr_array(X) if kind == "sparse" else X.astype(kind)
    assert_same(learn_one_by_one(selector(), rows, y, N_ROWS), selector().partial_fit(rows, y))
    few = learn_one_by_one(selector(), rows, y, 20)
    monkeypatch.setattr(estimators_of_rows, "small_block", lambda *args: None)
    assert_same(few, learn_one_by_one(selector(), rows, y, 20))


def assert_same(first: Any, second: Any) -> None:
    actual, expected = first.model(), second.model()
    assert actual.arrays.keys() == expected.arrays.keys()
    for name, array in actual.arrays.items():
        np.testing.assert_array_equal(array, expected.arrays[name], err_msg=name)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (np.array([[1.0, np.nan]]), np.array([1]), "NaN"),
        (np.array([[1.0, 1e300]]), np.array([1]), "too large for float32"),
        (np.array([[1.0, 2.0]]), np.array([7]), "label 7"),
        (np.array([[1.0, 2.0]]), np.array([1, 0]), "inconsistent"),
        (np.array([[1.0]]), np.array([1]), "features"),
        (np.array([[1.0, 2.0]], complex), np.array([1]), "Complex"),
        (csr_array(np.array([[np.inf, 2.0]])), np.array([1]), "infinity"),
        (np.empty((0, 2)), np.empty(0, int), "minimum of 1"),
    ],
)
def test_what_is_refused_is_refused_in_the_same_words(rows: Any, y: Any, message: str) -> None:
    selector = ss.SOFS(2, normalize="l2").partial_fit(np.eye(2), np.array([0, 1]))
    with pytest.raises(ValueError, match=message):
        selector.partial_fit(rows, y)
    assert selector.n_rows_ == 2


def test_arrays_of_the_caller_stay_writeable() -> None:
    rows, sparse, y = np.eye(2), csr_array(np.eye(2)), np.array([0, 1])
    selector = ss.SOFS(2).partial_fit(rows, y).partial_fit(rows, y).partial_fit(sparse, y)
    rows[:] = 7.0
    sparse.data[:] = sparse.indices[:] = sparse.indptr[:] = 1
    assert selector.n_rows_ == 6


def test_other_forms_go_the_usual_way() -> None:
    selector = ss.SOFS(2).partial_fit(np.eye(2), np.array([0, 1]))
    unsorted = csr_array(
        (np.array([1.0, 2.0, 0.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    for rows in (
        unsorted,
        csc_array(np.eye(2)),
        np.eye(2).tolist(),
        np.eye(2, dtype=int),
        np.eye(2)[:, ::-1],
    ):
        selector.partial_fit(rows, np.array([0, 1]))
    assert selector.n_rows_ == 12
    assert selector.n_nonzero_ == 12


def test_a_sparse_matrix_whose_entries_begin_later_is_refused() -> None:
    whole = csr_array(X[:6])
    part = csr_array((3, 5))
    part.indptr, part.indices, part.data = whole.indptr[3:], whole.indices, whole.data
    selector = ss.FOFS(3, attributes="random", normalize=False, random_state=0).partial_fit(
        X[:9], CLASSES[:9]
    )
    before = selector.model().to_bytes()
    with pytest.raises(ValueError, match="index pointer should start with 0"):
        selector.partial_fit(part, CLASSES[3:6])
    assert selector.model().to_bytes() == before
