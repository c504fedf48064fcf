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
    selection = (
        ss.FCBF(delta=delta, bins=None).fit_source([columns_of(csc_array(X))], y).selection()
    )
    assert selection.indices.tolist() == sorted(oracle.fcbf(X.T.tolist(), y.tolist(), delta))


@settings(deadline=None)
@given(problems(), st.integers(1, 8), st.sampled_from(["difference", "quotient"]))
def test_mrmr_agrees_with_the_oracle(problem, budget, criterion):
    X, y = problem
    selector = ss.MRMR(budget, criterion=criterion, bins=None).fit_source(
        [columns_of(csc_array(X))], y
    )
    expected = oracle.mrmr(X.T.tolist(), y.tolist(), budget, criterion == "quotient")
    # In the order of choice.
    ids, _ = selector.learner.rule.kept(selector.learner.results.final_state())
    assert ids.tolist() == expected


def test_columns_that_fcbf_has_removed_remove_no_others():
    """The second column removes the first, which would have removed the third."""
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
    ids, scores = selector.learner.rule.kept(selector.learner.results.final_state())
    expected = oracle.mrmr(X.T.tolist(), y.tolist(), 8, criterion == "quotient")
    assert ids.tolist() == expected
    weights = [1.0] * 60

    def information(a, b):
        return oracle.information(
            X[:, a].tolist(), y.tolist() if b is None else X[:, b].tolist(), weights
        )

    relevance = [information(column, None) for column in expected]
    redundancy = [
        np.mean([information(a, b) for b in expected[:n]]) if n else None
        for n, a in enumerate(expected)
    ]
    for n, (relevant, redundant) in enumerate(zip(relevance, redundancy, strict=True)):
        expected_score = (
            relevant
            if redundant is None
            else relevant - redundant
            if criterion == "difference"
            else relevant / redundant
        )
        assert scores[n] == pytest.approx(expected_score)


@pytest.mark.parametrize("estimator", [ss.FCBF, ss.MRMR])
def test_numbers_are_binned_by_default(estimator):
    random = np.random.default_rng(2)
    X = random.standard_normal((400, 30))
    y = X[:, 11] > 0.3
    assert estimator(1).fit(X, y).selection().indices.tolist() == [11]


@pytest.mark.parametrize("estimator", [ss.FCBF, ss.MRMR])
def test_a_regression_is_refused(estimator):
    random = np.random.default_rng(2)
    with pytest.raises(ss.DataError, match="learns classes, but the target has"):
        estimator().fit(random.standard_normal((50, 3)), random.standard_normal(50))
