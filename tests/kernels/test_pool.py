"""Check the fit of the pool: columns that matter get their weight, others almost none."""

from __future__ import annotations

import numpy as np
import pytest

from streamsieve.kernels.columns.pool import fit_pool
from streamsieve.selectors.columns.substitution import START, SWEEPS


def test_weights_are_those_of_the_columns_that_matter() -> None:
    random = np.random.default_rng(0)
    n_rows, truth = 400, np.array([2.0, 0.0, 0.0, -1.0, 0.0])
    Z = random.standard_normal((n_rows, truth.size))
    Z[:, 1] = (
        0.8 * Z[:, 0] + 0.6 * Z[:, 1]
    )  # explains much alone, and nothing together with the first
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    z = Z @ truth + 0.1 * random.standard_normal(n_rows)
    gram, responses, square = Z.T @ Z / n_rows, Z.T @ z / n_rows, float(z @ z) / n_rows
    prior = np.array([square * START[0], square * START[1], START[2]])
    weights, gains = np.zeros(truth.size), np.zeros(truth.size)
    for _ in range(5):
        fit_pool(gram, responses, square, n_rows, 2, SWEEPS, prior, weights, gains)
    np.testing.assert_allclose(weights, truth, atol=0.02)
    np.testing.assert_allclose(gains, responses - gram @ weights + weights, atol=0.02)
    assert prior[0] == pytest.approx(0.01, rel=0.2)  # the variance of the error
