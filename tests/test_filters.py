"""FCBF and mRMR against their oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of

from .oracles import filters as oracle
from .test_saola import problems


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
    selector = ss.MRMR(budget, criterion=criterion, bins=None).fit_source([columns_of(csc_array(X))], y)
    expected = oracle.mrmr(X.T.tolist(), y.tolist(), budget, criterion == "quotient")
    ids, _ = selector._kept(selector._settled())  # in the order of choice
    assert ids.tolist() == expected


@pytest.mark.parametrize("face", [ss.FCBF, ss.MRMR])
def test_numbers_are_binned_by_default(face):
    random = np.random.default_rng(2)
    X = random.standard_normal((400, 30))
    y = X[:, 11] > 0.3
    assert face(1).fit(X, y).selection().indices.tolist() == [11]


@pytest.mark.parametrize("face", [ss.FCBF, ss.MRMR])
def test_a_regression_is_refused(face):
    random = np.random.default_rng(2)
    with pytest.raises(ss.DataError, match="learns classes, and the target is a regression's"):
        face().fit(random.standard_normal((50, 3)), random.standard_normal(50))
