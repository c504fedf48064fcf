"""Measures of stability: compared with slow versions, and properties for any selections."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from streamsieve import UsageError
from streamsieve.evaluation import jaccard, nogueira, yu_matching
from tests.effort import examples
from tests.oracles import stability as slow

WIDTH = 9
SELECTIONS = st.lists(st.sets(st.integers(0, WIDTH - 1)), min_size=2, max_size=8)


@settings(max_examples=examples(90), deadline=None)
@given(SELECTIONS)
def test_nogueira_is_that_of_the_definition(selections: list[set[int]]) -> None:
    result = nogueira(selections, WIDTH)
    if not any(selections):
        assert np.isnan(result).all()
        return
    if all(len(selection) == WIDTH for selection in selections):
        assert result == (1.0, 1.0, 1.0)
        return
    value, deviation = slow.nogueira(selections, WIDTH)
    assert result.value == pytest.approx(value, abs=1e-12)
    assert result.low == pytest.approx(value - 1.959963984540054 * deviation, abs=1e-9)
    assert result.high == pytest.approx(min(1.0, value + 1.959963984540054 * deviation), abs=1e-9)


@settings(max_examples=examples(30), deadline=None)
@given(st.sets(st.integers(0, WIDTH - 1), min_size=1), st.integers(2, 6))
def test_the_same_selection_again_and_again_is_stable(selection: set[int], times: int) -> None:
    assert nogueira([selection] * times, WIDTH) == pytest.approx((1.0, 1.0, 1.0))
    assert jaccard([selection] * times) == 1.0


def test_selections_without_features_have_no_stability() -> None:
    assert np.isnan(nogueira([[], [], []], 100)).all()


def test_selections_at_random_are_not_stable() -> None:
    random = np.random.default_rng(0)
    result = nogueira(
        [random.choice(1000, random.integers(20, 60), replace=False) for _ in range(200)], 1000
    )
    assert result.low < result.value < result.high
    assert abs(result.value) < 0.01


def test_a_hand_computed_case() -> None:
    """Two selections of 2 of 4 features that share one are as alike as by chance.

    The features have p = 1, 1/2, 1/2.
    """
    assert nogueira([[0, 1], [0, 2]], 4).value == pytest.approx(
        1.0 - 2.0 * (0.25 + 0.25) / 4 / 0.25
    )
    assert jaccard([[0, 1], [0, 2]]) == pytest.approx(1 / 3)
    assert jaccard([[], [0]]) == 0.0
    assert jaccard([[], []]) == 1.0


def test_the_deviation_is_that_of_many_repeats() -> None:
    """Compare the asymptotic variance with the spread of estimates over random sets."""
    random = np.random.default_rng(1)
    probabilities = np.linspace(0.05, 0.95, 20) ** 2
    draws = random.random((200, 60, 20)) < probabilities
    results = [nogueira([np.flatnonzero(line) for line in draw], 20) for draw in draws]
    values = np.array([result.value for result in results])
    estimated = np.mean([(result.value - result.low) / 1.959963984540054 for result in results])
    assert estimated == pytest.approx(values.std(), rel=0.12)
    k = probabilities.sum()
    truth = 1.0 - np.mean(probabilities * (1.0 - probabilities)) / (k / 20 * (1.0 - k / 20))
    inside = np.mean([result.low <= truth <= result.high for result in results])
    assert 0.9 <= inside <= 0.99


def test_width_costs_nothing() -> None:
    assert nogueira([[5, 10**12], [10**12]], 10**13).value == pytest.approx(2 / 3, abs=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_matching_is_the_best_of_all_pairings(seed: int, n_first: int, n_second: int) -> None:
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, (12, 6))
    a, b = (random.choice(6, size, replace=False) for size in (n_first, n_second))
    weights = [
        [slow.symmetrical_uncertainty(X[:, i].tolist(), X[:, j].tolist()) for j in b] for i in a
    ]
    expected = slow.best_pairing(weights) / max(n_first, n_second)
    assert yu_matching(a, b, X) == pytest.approx(expected, abs=1e-9)
    assert yu_matching(b, a, csr_array(X)) == pytest.approx(expected, abs=1e-9)


def test_matching_knows_copies_and_monotone_functions() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(300, 3))
    X = np.column_stack([x, np.exp(x), np.zeros(300)])
    assert yu_matching([0, 1, 2], [3, 4, 5], X) == pytest.approx(1.0)
    assert jaccard([[0, 1, 2], [3, 4, 5]]) == 0.0
    assert yu_matching([0], [1], X) < 0.3
    assert yu_matching([0, 1], [0], X) == pytest.approx(0.5)
    assert yu_matching([], [], X) == 1.0
    assert yu_matching([], [1], X) == 0.0


def test_pairs_of_all_selections_are_averaged() -> None:
    sets = [{0, 1, 2}, {1, 2}, {2, 3}, {0}]
    expected = np.mean([len(a & b) / len(a | b) for a, b in combinations(sets, 2)])
    assert jaccard(sets) == pytest.approx(expected)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="two selections or more, got 1"):
        jaccard([[1]])
    with pytest.raises(UsageError, match="feature 7 is not one of 5 features"):
        nogueira([[1], [7]], 5)
    with pytest.raises(UsageError, match="X has 2 columns, but the selections go up to feature 4"):
        yu_matching([0], [4], np.zeros((3, 2)))
