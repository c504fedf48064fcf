"""FCBF and mRMR against their oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of
from tests.oracles import filters as oracle
from tests.selectors.columns.test_saola import problems


@settings(deadline=None)
@given(problems(), st.sampled_from([0.0, 0.05]))
def test_fcbf_agrees_with_the_oracle(problem, delta):
    X, y = problem
    found = ss.FCBF(delta=delta, bins=None).fit_source([columns_of(csc_array(X))], y).selection()
    assert found.indices.tolist() == sorted(oracle.fcbf(X.T.tolist(), y.tolist(), delta))


@settings(deadline=None)
@given(problems(), st.integers(1, 8), st.sampled_from(["difference", "quotient"]))
def test_mrmr_agrees_with_the_oracle(problem, budget, criterion):
    X, y = problem
    selector = ss.MRMR(budget, criterion=criterion, bins=None).fit_source(
        [columns_of(csc_array(X))], y
    )
    expected = oracle.mrmr(X.T.tolist(), y.tolist(), budget, criterion == "quotient")
    ids, _ = selector.learner.rule.kept(
        selector.learner.results.settled()
    )  # in the order of choice
    assert ids.tolist() == expected


def test_columns_that_fcbf_has_removed_remove_no_others():
    """The first is removed by the second, and would have removed the third, which the second does not."""
    X = np.array(
        [
            [1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0],
            [1, 0] * 5 + [0, 0],
        ]
    ).T
    y = np.arange(12) > 5
    assert oracle.fcbf(X.T.tolist(), y.tolist(), 0.0) == [1, 2]
    assert ss.FCBF(delta=0.0, bins=None).fit(X, y).selection().indices.tolist() == [1, 2]


def test_fcbf_removes_a_column_that_is_as_uncertain_of_the_target_as_of_another():
    y = np.arange(40) % 3
    X = np.column_stack([y, (y + (np.arange(40) < 9)) % 3])
    assert ss.FCBF(delta=0.0, bins=None).fit(X, y).selection().indices.tolist() == [0]


@pytest.mark.parametrize("criterion", ["difference", "quotient"])
@pytest.mark.parametrize("seed", range(3))
def test_mrmr_agrees_with_the_oracle_when_many_are_chosen(criterion, seed):
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, 60)
    X = np.where(
        random.random((60, 12)) < random.uniform(0.2, 0.8, 12),
        y[:, None],
        random.integers(0, 3, (60, 12)),
    )
    X[:, 7] = X[:, 2]
    selector = ss.MRMR(8, criterion=criterion, bins=None).fit(X, y)
    ids, scores = selector.learner.rule.kept(selector.learner.results.settled())
    expected = oracle.mrmr(X.T.tolist(), y.tolist(), 8, criterion == "quotient")
    assert ids.tolist() == expected
    weights = [1.0] * 60

    def information(a, b):
        return oracle.information(
            X[:, a].tolist(), y.tolist() if b is None else X[:, b].tolist(), weights
        )

    relevance = [information(column, None) for column in expected]
    shared = [
        np.mean([information(a, b) for b in expected[:n]]) if n else None
        for n, a in enumerate(expected)
    ]
    for n, (relevant, mean) in enumerate(zip(relevance, shared, strict=True)):
        worth = (
            relevant
            if mean is None
            else relevant - mean
            if criterion == "difference"
            else relevant / mean
        )
        assert scores[n] == pytest.approx(worth)


@pytest.mark.parametrize("face", [ss.FCBF, ss.MRMR])
def test_numbers_are_binned_by_default(face):
    random = np.random.default_rng(2)
    X = random.standard_normal((400, 30))
    y = X[:, 11] > 0.3
    assert face(1).fit(X, y).selection().indices.tolist() == [11]


@pytest.mark.parametrize("face", [ss.FCBF, ss.MRMR])
def test_a_regression_is_refused(face):
    random = np.random.default_rng(2)
    with pytest.raises(ss.DataError, match="learns classes, but the target has"):
        face().fit(random.standard_normal((50, 3)), random.standard_normal(50))
