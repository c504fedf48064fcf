"""ReliefF and I-RELIEF against their oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array

import streamsieve as ss
from tests.oracles import relief as oracle
from tests.selectors.matrix.spirals import is_found, spiral
from tests.selectors.matrix.test_local_learning import make_noisy


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_neighbors", [1, 7, 100])
def test_relieff_agrees_with_the_oracle(seed, n_classes, n_neighbors):
    X, y = make_noisy(seed, n_classes)
    y[0] = 9  # alone in its class
    weights = (
        ss.ReliefF(n_neighbors=n_neighbors).fit(csc_array(X) if seed % 2 else X, y).feature_weights_
    )
    np.testing.assert_allclose(weights, oracle.relieff(X, y, n_neighbors), atol=1e-6)


def test_of_equal_distances_the_first_rows_are_the_nearer():
    X = np.random.default_rng(3).integers(0, 5, (60, 5)) / 4.0
    y = np.arange(60) % 3
    np.testing.assert_allclose(
        ss.ReliefF(n_neighbors=4).fit(X, y).feature_weights_, oracle.relieff(X, y, 4), atol=1e-6
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_classes", "sigma"), [(2, 2.0), (2, 0.5), (4, 1.0)])
def test_irelief_agrees_with_the_oracle(seed, n_classes, sigma):
    X, y = make_noisy(seed, n_classes)
    weights = ss.IRelief(sigma=sigma, tol=1e-6, max_iter=300).fit(X, y).feature_weights_
    np.testing.assert_allclose(weights, oracle.irelief(X, y, sigma, 1e-6, 300), atol=1e-4)


def test_irelief_says_when_it_has_not_settled():
    with pytest.warns(UserWarning, match="still change after max_iter=1"):
        ss.IRelief(sigma=0.1, max_iter=1).fit(*make_noisy(0))


@pytest.mark.needs_jit
def test_what_is_plain_among_few_features_is_hidden_among_many():
    X, y = spiral(10, 0)
    assert is_found(ss.ReliefF().fit(X, y).feature_weights_)
    assert not is_found(ss.ReliefF().fit(*spiral(5000, 0)).feature_weights_)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (ss.ReliefF(n_neighbors=0), "n_neighbors=0"),
        (ss.ReliefF(scale="x"), "scale='x'"),
        (ss.IRelief(sigma=-1), "sigma=-1"),
        (ss.IRelief(tol="x"), "tol='x'"),
        (ss.IRelief(max_iter=0), "max_iter=0"),
    ],
)
def test_bad_parameters_are_refused(selector, message):
    with pytest.raises(ValueError, match=message):
        selector.fit(*make_noisy(0))
