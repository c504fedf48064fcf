"""Test that a selection does not depend on the origin or the unit of columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.kernels.columns import centring
from streamsieve.kernels.columns.slots import measure_column
from streamsieve.registry import find_method
from streamsieve.training import train

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("SAOLA", {}),
    ("SAOLA", {"bins": "mdl"}),
    ("SAOLA", {"missing": "skip", "class_weight": "balanced"}),
    ("GroupSAOLA", {}),
    ("AlphaInvesting", {}),
    ("OSFS", {"measure": "fisher_z"}),
    ("FastOSFS", {}),
    ("OGFS", {}),
    ("FCBF", {}),
    ("MRMR", {"n_features_to_select": 2}),
    ("IAMB", {}),
    ("MMMB", {}),
    ("OnlineSubstitution", {"n_features_to_select": 2}),
    ("OnlineSubstitution", {"n_features_to_select": 2, "solver": "paper"}),
    ("AsyOS", {"n_features_to_select": 2, "workers": 2}),
    ("Grafting", {"n_features_to_select": 2}),
    ("ProjectedGradient", {"n_features_to_select": 2}),
    ("LocalLearning", {}),
    ("ReliefF", {"n_features_to_select": 2}),
    ("IRelief", {"n_features_to_select": 2}),
]
EVERY_METHOD = pytest.mark.parametrize(
    ("name", "params"), METHODS, ids=[f"{n}-{len(p)}" for n, p in METHODS]
)
STRONG = 3  # the most relevant column


def make_problem(
    width: float = 1.0, shift: float = 0.0, unit: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return six columns; the most relevant has two decimals, so that rounding makes no ties."""
    random = np.random.default_rng(1)
    X = random.uniform(0, 1, (120, 6))
    X[:, STRONG] = np.round(X[:, STRONG], 2)
    y = (X[:, STRONG] + 0.3 * X[:, 5] + 0.1 * random.normal(size=120) > 0.65).astype(int)
    X[:, STRONG] = (width * X[:, STRONG] + shift) * unit
    return X, y


def select(name: str, params: dict[str, Any], X: Any, y: Any) -> tuple[list[int], list[float]]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the weights still change")
        selection = getattr(ss, name)(**params).fit(X, y).selection()
    return selection.indices.tolist(), selection.scores.tolist()


@EVERY_METHOD
@pytest.mark.parametrize(("width", "shift"), [(1.0, 1e6), (3600.0, 1.7e9), (1.0, -1e10)])
@pytest.mark.parametrize("form", [np.asarray, csc_array])
def test_where_a_column_is_does_not_matter(name, params, width, shift, form):
    near, scores = select(name, params, *make_problem(width))
    assert STRONG in near
    X, y = make_problem(width, shift)
    far, far_scores = select(name, params, form(X), y)
    assert far == near
    np.testing.assert_allclose(far_scores, scores, rtol=1e-5)


@EVERY_METHOD
@pytest.mark.parametrize("unit", [2.0**-950, 2.0**-150, 2.0**100, 2.0**990])
def test_the_unit_of_a_column_does_not_matter(name, params, unit):
    expected, scores = select(name, params, *make_problem())
    indices, scores_in_unit = select(name, params, *make_problem(unit=unit))
    assert indices == expected
    np.testing.assert_allclose(scores_in_unit, scores, rtol=1e-5)


@EVERY_METHOD
def test_enormous_values_are_refused_by_name(name, params):
    X, y = make_problem()
    X[7, 2] = -1.1e300
    with pytest.raises(
        ss.DataError, match=r"feature 2 is -1.1e\+300 in row 8; .* divide the column"
    ):
        select(name, params, X, y)


@EVERY_METHOD
@pytest.mark.parametrize("width", [1.0, 3600.0])
def test_what_32_bits_cannot_hold_is_said(name, params, width):
    X, y = make_problem(width, 1.7e9)
    coarse = X.astype(np.float32)
    collapsed = np.ptp(coarse[:, STRONG]) == 0
    learner = find_method(name).make(**params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        findings = train(learner, ss.sources.arrays.ArraySource(coarse, y)).findings
    messages = [
        str(finding)
        for finding in findings
        if finding.kind in ("coarse values", "collapsed values")
    ]
    assert len(messages) == 1
    assert "feature 3;" in messages[0]
    assert "array of float64" in messages[0]
    if not collapsed:
        with pytest.warns(UserWarning, match="32-bit numbers hold few of the values"):
            getattr(ss, name)(**params).fit(coarse, y)
    exact = make_problem(width, 1024.0)[0].astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the weights still change|no feature was selected")
        getattr(ss, name)(**params).fit(exact, y)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9 + 0.1, -1e-320, 1e299])
@pytest.mark.parametrize("method", ["SAOLA", "AlphaInvesting", "OSFS", "OGFS", "IAMB"])
def test_equal_values_are_constant_however_many(value, method):
    assert measure_column(100_003, np.full(100_003, value), 0, 100_003)[1] == 0.0
    X, y = make_problem()
    X[:, 0] = value
    assert 0 not in getattr(ss, method)().fit(X, y).selection().indices


def test_a_column_with_missing_values_may_be_far_from_0():
    X, y = make_problem(3600.0, 1.7e9)
    X[::7, STRONG] = np.nan
    X[1::7, 5] = np.nan
    near = X.copy()
    near[:, STRONG] -= 1.7e9
    selections = [
        ss.SAOLA(measure="fisher_z", missing="skip").fit(data, y).selection() for data in (X, near)
    ]
    assert STRONG in selections[0].indices
    np.testing.assert_array_equal(selections[0].indices, selections[1].indices)
    np.testing.assert_allclose(selections[0].scores, selections[1].scores, rtol=1e-9)


def test_of_the_rows_of_a_pair_a_column_may_be_far_from_0():
    """The only row where the column is 0 is missing in the other column."""
    random = np.random.default_rng(0)
    common = random.normal(size=200)
    X = np.column_stack([common, 1e9 + common + 0.1 * random.normal(size=200)])
    X[0] = np.nan, 0.0
    y = (common + 0.5 * random.normal(size=200) > 0).astype(int)
    X = np.column_stack([X, y])
    chosen = ss.SAOLA(measure="fisher_z", missing="skip", alpha=0.5).fit(X[:, :2], y).selection()
    assert chosen.indices.tolist() == [0]


# ---- the kernels


N_ROWS = 4
HUGE, TINY = 2.0**201, 2.0**-201
SPREAD = [1.0, 3.0, 2.0, 1.0]  # not within a factor of two of the first


def columns_of_lists(columns: list[list[float]]) -> tuple[Any, Any]:
    return np.cumsum([0, *map(len, columns)]), np.array(
        [value for column in columns for value in column], float
    )


# A column, and True if a shift or another unit adds precision.
FAR: list[tuple[list[float], bool]] = [
    (SPREAD, False),
    ([5.0, 6.0, 7.0, 10.0], True),
    ([10.0, 5.0, 10.0, 20.0], True),  # on both ends of the factor of two
    ([10.0, 4.999, 10.0, 20.0], False),
    ([10.0, 5.0, 10.0, 20.001], False),
    ([5.0, 6.0, 7.0], False),  # one row is 0
    ([-5.0, -6.0, -7.0, -10.0], True),
    ([5.0, 6.0, -7.0, 6.0], False),
    ([np.nan, 6.0, np.nan, 7.0], True),
    ([np.nan] * 4, False),
    ([0.0, 1.0, 1.0, 1.0], False),
    ([], False),
    ([1.0, -HUGE, 3.0, 0.0], True),
    ([1.0, 2.0**200, 3.0, 0.0], False),
    ([TINY, -TINY], True),
    ([2.0**-200, 1e-300], False),
    ([TINY, 1.0, 3.0, 0.0], False),
    ([0.0, 0.0], False),
]


@pytest.mark.parametrize(("column", "far"), FAR)
def test_columns_that_a_shift_or_a_unit_would_help_are_found(column, far):
    indptr, values = columns_of_lists([[1.0, 2.0], column, SPREAD])
    is_far = np.array([True] * 3)
    centring.find_far(indptr, values, N_ROWS, 1, 3, True, is_far)
    assert is_far.tolist() == [True, far, False]


def test_without_large_values_the_first_says_whether_all_are_looked_at():
    """A column with an ordinary first value is not extreme without values beyond MAX_SIZE."""
    indptr, values = columns_of_lists(
        [[1.0, HUGE, 3.0], [TINY, TINY / 2], [TINY, 1.0], [2.0**-200, TINY], []]
    )
    is_far = np.ones(5, bool)
    centring.find_far(indptr, values, N_ROWS, 0, 5, False, is_far)
    assert is_far.tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(("column", "far"), FAR)
def test_far_columns_are_shifted_by_their_first_value_and_others_stay(column, far):
    indptr, values = columns_of_lists([[8.0, 8.0, 8.0, 8.0], column, [9.0, 9.0, 9.0, 9.0]])
    before = values.copy()
    centring.centre_columns(indptr, N_ROWS, np.array([True, far, True]), 1, 2, values)
    span = slice(indptr[1], indptr[2])
    assert values[:4].tolist() == [8.0] * 4
    assert values[indptr[2] :].tolist() == [9.0] * 4
    original = before[span]
    if not far:
        np.testing.assert_array_equal(values[span], original)
        return
    present = original[~np.isnan(original)]
    if len(column) == N_ROWS and max(abs(present)) < HUGE:
        np.testing.assert_array_equal(values[span], original - present[0])
    else:  # a power of two
        factor = values[span][0] / original[0]
        np.testing.assert_array_equal(values[span], original * factor)
        assert np.frexp(factor)[0] == 0.5
        assert 0.5 <= abs(values[span]).max() < 1.0


def test_a_column_may_need_both_a_shift_and_another_unit():
    values = np.array([3.0, 4.0, 5.0, 3.0]) * 2.0**900
    centring.centre_columns(np.array([0, 4]), N_ROWS, np.ones(1, bool), 0, 1, values)
    np.testing.assert_array_equal(values, np.array([0.0, 1.0, 2.0, 0.0]) / 4.0)


def test_sizes_beyond_which_squares_overflow_or_vanish():
    sizes = [0.0, 2.0**-200, 1.0, 2.0**200, TINY, 5e-324, HUGE]
    assert [centring.is_extreme(size) for size in sizes] == [False] * 4 + [True] * 3
    values = np.array([9.0, -2.0, np.nan, 1.0, 7.0])
    assert centring.largest_size(values, 1, 4) == 2.0
    assert centring.largest_size(values, 2, 3) == centring.largest_size(values, 2, 2) == 0.0
    assert centring.first_present(values, 2, 5) == 1.0
    assert centring.first_present(values, 2, 3) == 0.0


BILLION = 2.0**30  # from here to the next power of two, 32-bit numbers are 128 apart
STEP = 128.0


@pytest.mark.parametrize(
    ("column", "coarse", "varies"),
    [
        ([BILLION, BILLION + STEP, BILLION, BILLION], True, True),
        ([BILLION, BILLION + 64 * STEP, BILLION, BILLION], True, True),
        ([BILLION, BILLION + 65 * STEP, BILLION, BILLION], False, False),
        ([-BILLION, -BILLION - STEP, -BILLION, -BILLION], True, True),
        ([BILLION, np.nan, np.nan, BILLION + STEP], True, True),
        # Below 2^30 they are half as far apart.
        ([BILLION - STEP / 2, BILLION, BILLION, BILLION], True, True),
        ([BILLION, BILLION + STEP / 4, BILLION, BILLION], False, False),  # not a 32-bit number
        ([BILLION, BILLION + STEP, BILLION + 1.0, BILLION], False, False),
        ([BILLION] * 4, True, False),
        ([BILLION] * 3, False, False),
        ([2.0**24] * 4, True, False),
        ([-(2.0**24)] * 4, True, False),
        ([2.0**24 - 1.0] * 4, False, False),
        ([0.25, 0.375, 0.25, 0.25], False, False),
        (SPREAD, False, False),
        ([np.nan] * 4, False, False),
        ([1.5, 1.5 + 2.0**-22, 1.5, 1.5], True, True),
    ],
)
def test_columns_of_few_32_bit_numbers_are_found(column, coarse, varies):
    indptr, values = columns_of_lists([SPREAD, column, [BILLION] * 4])
    is_coarse, has_variation = np.ones(3, bool), np.ones(3, bool)
    centring.find_coarse(indptr, values, N_ROWS, 1, 2, is_coarse, has_variation)
    assert is_coarse.tolist() == [True, coarse, True]
    assert has_variation.tolist() == [True, varies, True]
