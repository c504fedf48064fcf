"""Alpha-investing against its oracle and the reference library."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.kernels.columns.investing import InvestingState, invest_in_columns
from tests.oracles import alpha_investing as oracle
from tests.paths import DATA


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(10, 50), st.integers(1, 40), st.floats(0.1, 1.0))
def test_agrees_with_the_oracle(seed, n_rows, n_columns, density):
    random = np.random.default_rng(seed)
    X = random.normal(0, 1, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < density)
    for column in range(1, n_columns, 5):
        X[:, column] = X[:, column - 1]  # nothing new
    y = X[:, :3].sum(axis=1) + random.normal(0, 0.3, n_rows)
    expected, closest = oracle.select(X.T, y)
    assume(closest > 1e-6)
    selection = ss.AlphaInvesting().fit_source([columns_of(csc_array(X))], y).selection()
    assert selection.indices.tolist() == expected


def test_columns_without_anything_new_are_not_taken_and_cost_their_test():
    """Constant ones, and multiples of kept ones; what they were tested at is spent all the same."""
    random = np.random.default_rng(0)
    signal, noise = random.normal(0, 1, (2, 60))
    y = signal + 0.1 * noise
    X = np.column_stack(
        [np.zeros(60), np.full(60, 3.0), 1e-6 * signal, 2.0 * signal, signal + 5.0, np.zeros(60)]
    )
    selector = ss.AlphaInvesting().fit(X, y)
    assert selector.selection().indices.tolist() == [2]
    wealth = 0.5
    for i in range(2, 8):  # the constant was the first
        wealth += (0.5 if i == 4 else 0.0) - wealth / (2 * i)
    state = selector.learner.results.final_state()
    assert state.wealth[0] == pytest.approx(wealth)
    y = (y - y.mean()) / np.linalg.norm(y - y.mean())  # as it is learned
    residual = y - np.polyval(np.polyfit(signal, y, 1), signal)
    np.testing.assert_allclose(state.residual, residual, atol=1e-12)
    assert state.error[0] == pytest.approx(residual @ residual)
    assert selector.selection().scores[0] == pytest.approx(30.0 * (1.0 - residual @ residual))


def test_the_kernel_stops_when_there_is_no_free_slot():
    random = np.random.default_rng(1)
    X = random.normal(0, 1, (3, 40))
    X -= X.mean(axis=1, keepdims=True)
    y = X.sum(axis=0)
    state = InvestingState(
        ids=np.zeros(1, np.int64),
        scores=np.zeros(1),
        basis=np.zeros((1, 40)),
        residual=y.copy(),
        wealth=np.array([0.5]),
        error=np.array([y @ y]),
        counts=np.array([1, 0]),
    )
    columns = (
        np.arange(4) * 40,
        np.tile(np.arange(40, dtype=np.int32), 3),
        X.ravel(),
        np.array([7, 8, 9]),
    )
    assert invest_in_columns(state, 0.5, *columns, 0) == 1
    assert (state.ids[0], state.counts.tolist()) == (7, [2, 1])
    np.testing.assert_allclose(abs(state.basis[0]), abs(X[0]) / np.linalg.norm(X[0]))


@pytest.mark.needs_jit
def test_the_reference_library_selects_the_same():
    case = next(
        case
        for case in json.loads((DATA / "lofs.json").read_text())
        if case["method"] == "AlphaInvesting"
    )
    source = ss.open_source(DATA / f"{case['data']}.svm.xz")
    assert (
        ss.AlphaInvesting(**case["parameters"]).fit_source(source).selection().indices.tolist()
        == case["selected"]
    )
