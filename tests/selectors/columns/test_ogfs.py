"""OGFS against its oracle, and on groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import streamsieve as ss
from tests.oracles import ogfs as oracle
from tests.selectors.columns.test_saola import problems


def assert_agrees(X, y, groups, block_size, epsilon, alpha, penalty, budget):
    expected, closest = oracle.select(X.T, groups, y, epsilon, alpha, penalty, budget)
    assume(closest > 1e-8)
    selector = ss.OGFS(budget, epsilon=epsilon, alpha=alpha, regularization=penalty).start(y=y)
    for start in range(0, X.shape[1], block_size):
        part = slice(start, start + block_size)
        selector.partial_fit_columns(X[:, part], groups=groups[part])
    selection = selector.selection()
    assert selection.indices.tolist() == sorted(expected)
    assert selection.groups.tolist() == groups[selection.indices].tolist()
    np.testing.assert_allclose(
        selection.scores, [expected[c] for c in selection.indices.tolist()], rtol=1e-5
    )


@settings(deadline=None)
@given(
    problem=problems(),
    size=st.integers(1, 5),
    block_size=st.integers(1, 12),
    epsilon=st.sampled_from([0.001, 0.05]),
    alpha=st.sampled_from([0.05, 0.5]),
    penalty=st.sampled_from([None, 0.05, 0.2]),
    budget=st.sampled_from([None, 2]),
)
def test_discrete_columns_agree_with_the_oracle(
    problem, size, block_size, epsilon, alpha, penalty, budget
):
    X, y = problem
    groups = 5 + np.arange(X.shape[1]) // size
    assert_agrees(X, y, groups, block_size, epsilon, alpha, penalty, budget)


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    n_columns=st.integers(1, 30),
    size=st.integers(1, 8),
    block_size=st.integers(1, 30),
    penalty=st.sampled_from([None, 0.05, 0.2]),
    budget=st.sampled_from([None, 3]),
)
def test_columns_of_numbers_agree_with_the_oracle(
    seed, n_classes, n_columns, size, block_size, penalty, budget
):
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(50) % n_classes)
    signal = random.normal(0, 1, (n_classes, n_columns)) * (random.random(n_columns) < 0.5)
    X = (signal[y] + random.normal(0, 1, (50, n_columns))) * 10.0 ** random.integers(
        -2, 3, n_columns
    )
    groups = np.arange(n_columns) // size
    assert_agrees(X, y, groups, block_size, 0.001, 0.05, penalty, budget)


def test_few_features_of_few_groups_are_kept():
    random = np.random.default_rng(2)
    X = random.normal(0, 1, (400, 600))
    y = X[:, 12] + X[:, 15] - X[:, 311] + random.normal(0, 0.3, 400) > 0
    X[:, 500] = 3 - 2 * X[:, 12]
    selector = ss.OGFS().fit(X, y, groups=np.arange(600) // 10)
    selection = selector.selection()
    assert {12, 15} <= set(selection.indices.tolist())
    assert 500 not in selection.indices
    assert len(set(selection.groups.tolist())) <= 5
    assert sum(selector.counts_.values()) == 600


def test_a_column_that_tells_the_classes_apart_is_enough():
    random = np.random.default_rng(3)
    X = random.normal(0, 1, (60, 20))
    y = np.arange(60) % 2
    X[:, 4] = 7.0 * y
    selection = ss.OGFS().fit(X, y).selection()
    assert selection.top(1).indices.tolist() == [4]
    assert np.isfinite(selection.scores).all()


def test_scale_and_offset_do_not_matter():
    random = np.random.default_rng(4)
    X = random.normal(0, 1, (200, 40))
    y = X[:, 3] + X[:, 21] > 0
    groups = np.arange(40) // 5
    expected = ss.OGFS().fit(X, y, groups=groups).selection().indices.tolist()
    scaled = X * 10.0 ** random.integers(-3, 4, 40) + random.integers(-5, 5, 40)
    assert ss.OGFS().fit(scaled, y, groups=groups).selection().indices.tolist() == expected


def test_a_group_in_two_parts_is_refused():
    X, y = np.eye(6), np.array([0, 1, 0, 1, 0, 1])
    X[:, 0] = y
    with pytest.raises(ss.DataError, match="group 1 appears in two parts"):
        ss.OGFS(regularization=0.1).partial_fit_columns(X, y, groups=[1, 1, 2, 2, 1, 1])
    with pytest.raises(ss.DataError, match="groups must be integers"):
        ss.OGFS().fit(X, y, groups=[-1, -1, 2, 2, 3, 3])


def test_a_regression_is_refused():
    random = np.random.default_rng(5)
    with pytest.raises(ss.DataError, match="learns classes, but the target has"):
        ss.OGFS().fit(random.normal(0, 1, (30, 3)), random.normal(0, 1, 30))
