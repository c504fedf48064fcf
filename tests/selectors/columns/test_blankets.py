"""IAMB and MMMB against their oracles, and on networks whose Markov blanket is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of
from tests.oracles import blankets as oracle

ESTIMATORS = {"iamb": ss.IAMB, "mmmb": ss.MMMB}


@st.composite
def networks(draw: Any, kinds: str = "both") -> tuple[np.ndarray, np.ndarray, list[bool]]:
    """Draw columns that depend on earlier ones, some of them copies; one of them is the target."""
    n_rows = draw(st.integers(25, 120))
    n_columns = draw(st.integers(2, 8))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns: list[np.ndarray] = []
    discrete = []
    target = int(random.integers(0, n_columns))
    for number in range(n_columns):
        parents = [c for c in columns if random.random() < 0.4]
        is_discrete = number == target or (
            random.random() < 0.5 if kinds == "both" else kinds == "discrete"
        )
        shift = sum(random.choice([-1, 1]) * (parent - parent.mean()) for parent in parents)
        if columns and random.random() < 0.1 and number != target and kinds != "both":
            column = columns[-1].copy()
        elif is_discrete:
            column = np.round(np.clip(shift + random.normal(0, 0.7, n_rows), -1, 1))
        else:
            column = shift + random.normal(0, 0.7, n_rows)
        assume(np.ptp(column) > 0)
        columns.append(column)
        discrete.append(bool(is_discrete))
    y = columns.pop(target)
    discrete.pop(target)
    return np.column_stack(columns), y.astype(int), discrete


def assert_agrees(method, X, y, discrete, counts, alpha, **params):
    judge = oracle.Judge([*X.T, y], discrete, alpha, counts)
    expected = (
        oracle.iamb(judge) if method == "iamb" else oracle.mmmb(judge, params["max_condition"])
    )
    assume(judge.closest > 1e-6)
    selector = ESTIMATORS[method](alpha=alpha, **params).fit_source([columns_of(csc_array(X))], y)
    selection = selector.selection()
    assert selection.indices.tolist() == sorted(expected)
    scores = [
        (score, expected[c])
        for c, score in zip(selection.indices.tolist(), selection.scores, strict=True)
    ]
    np.testing.assert_allclose(
        *zip(*[pair for pair in scores if pair[1] < 500], (1, 1), strict=False), rtol=1e-6
    )


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("measure", ["g2", "chi2"])
@settings(deadline=None)
@given(
    network=networks("discrete"),
    alpha=st.sampled_from([0.01, 0.1]),
    max_condition=st.integers(1, 3),
)
def test_counts_agree_with_the_oracle(method, measure, network, alpha, max_condition):
    X, y, discrete = network
    params = {"max_condition": max_condition} if method == "mmmb" else {}
    assert_agrees(method, X, y, [*discrete, True], measure, alpha, measure=measure, **params)


@pytest.mark.parametrize("method", ESTIMATORS)
@settings(deadline=None)
@given(
    network=networks("continuous"),
    alpha=st.sampled_from([0.01, 0.1]),
    max_condition=st.integers(1, 3),
)
def test_correlations_agree_with_the_oracle(method, network, alpha, max_condition):
    X, y, _ = network
    params = {"max_condition": max_condition} if method == "mmmb" else {}
    assert_agrees(
        method, X, y, [False] * (X.shape[1] + 1), "g2", alpha, measure="fisher_z", **params
    )


@pytest.mark.parametrize("method", ESTIMATORS)
@settings(deadline=None)
@given(network=networks(), alpha=st.sampled_from([0.01, 0.1]), max_condition=st.integers(1, 3))
def test_each_test_suits_its_variables(method, network, alpha, max_condition):
    X, y, discrete = network
    params = {"max_condition": max_condition} if method == "mmmb" else {}
    assert_agrees(method, X, y, [*discrete, True], "g2", alpha, measure="auto", **params)


@pytest.mark.parametrize("estimator", [ss.IAMB, ss.MMMB])
@pytest.mark.parametrize("measure", ["fisher_z", "g2", "chi2"])
def test_a_blanket_is_parents_children_and_spouses(estimator, measure):
    random = np.random.default_rng(3)
    rows = 2000
    X = random.integers(0, 2, (rows, 40)).astype(float)
    y = (X[:, 3] + X[:, 7] + random.random(rows) > 1.5).astype(int)  # of parents 3 and 7
    X[:, 10] = y + X[:, 11] + random.random(rows) > 1.5  # a child, and its other parent
    # Column 20 depends on y through the child only.
    X[:, 20] = np.where(random.random(rows) < 0.8, X[:, 10], 1 - X[:, 10])
    assert estimator(measure=measure, alpha=1e-4).fit(X, y).selection().indices.tolist() == [
        3,
        7,
        10,
        11,
    ]


@pytest.mark.parametrize("estimator", [ss.IAMB, ss.MMMB])
def test_of_copies_the_first_is_taken(estimator):
    random = np.random.default_rng(4)
    X = random.normal(0, 1, (300, 12))
    y = X[:, 2] - X[:, 5] + random.normal(0, 0.5, 300)
    X[:, 8], X[:, 9] = 2 * X[:, 2], -X[:, 5]
    assert estimator(alpha=1e-4).fit(X, y).selection().indices.tolist() == [2, 5]


@pytest.mark.parametrize("estimator", [ss.IAMB, ss.MMMB])
def test_the_target_itself_is_enough(estimator):
    random = np.random.default_rng(5)
    X = random.normal(0, 1, (100, 5))
    selection = estimator().fit(X, X[:, 1]).selection()
    assert selection.indices.tolist() == [1]
    assert np.isfinite(selection.scores).all()


def test_too_few_rows_for_a_test_let_nothing_in():
    random = np.random.default_rng(6)
    y = np.arange(60) % 2
    # 13 degrees of freedom, and 1.
    X = np.column_stack([y + 2 * random.integers(0, 7, 60), y]).astype(float)
    assert ss.IAMB().fit(X[:, :1], y).selection().indices.tolist() == []
    assert ss.IAMB().fit(X, y).selection().indices.tolist() == [1]


@pytest.mark.needs_jit
def test_many_noisy_columns_end_with_the_rows():
    """At a level of 0.01 one more of thousands always passes: the rule of five rows stops it."""
    random = np.random.default_rng(7)
    X = random.normal(0, 1, (150, 2000))
    selection = ss.IAMB(alpha=0.05).fit(X, X[:, 0] + random.normal(0, 0.3, 150)).selection()
    assert 0 in selection.indices
    assert len(selection) <= 150 // 5


@pytest.mark.parametrize("estimator", [ss.IAMB, ss.MMMB])
@pytest.mark.parametrize("measure", ["g2", "chi2"])
def test_counts_need_classes(estimator, measure):
    random = np.random.default_rng(0)
    with pytest.raises(ss.DataError, match=f"measure='{measure}' needs classes"):
        estimator(measure=measure).fit(random.normal(0, 1, (30, 2)), random.normal(0, 1, 30))
