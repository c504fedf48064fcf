"""OSFS and Fast-OSFS against their oracle and the reference library."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array
from scipy.stats import chi2

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.kernels.columns.independence import log_tail
from tests.oracles import osfs as oracle
from tests.paths import DATA
from tests.selectors.columns.test_saola import problems

ESTIMATORS = {"OSFS": ss.OSFS, "FastOSFS": ss.FastOSFS}
GOLDEN = [
    case for case in json.loads((DATA / "lofs.json").read_text()) if case["method"] in ESTIMATORS
]


@pytest.mark.parametrize("method", ESTIMATORS)
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(8, 60),
    n_columns=st.integers(1, 12),
    density=st.floats(0.2, 1.0),
    max_given=st.integers(1, 4),
)
def test_agrees_with_the_oracle(method, seed, n_rows, n_columns, density, max_given):
    random = np.random.default_rng(seed)
    X = random.normal(0, 1, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < density)
    for column in range(1, n_columns, 3):
        X[:, column] = X[:, column - 1] + random.normal(0, 0.3, n_rows)
    y = X[:, :3].sum(axis=1) + random.normal(0, 0.5, n_rows)
    expected, closest = oracle.select(X.T, y, 0.1, max_given, fast=method == "FastOSFS")
    assume(closest > 1e-6)
    selector = ESTIMATORS[method](
        measure="fisher_z", alpha=0.1, max_condition=max_given
    ).fit_source([columns_of(csc_array(X))], y)
    assert selector.selection().indices.tolist() == sorted(expected)


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("measure", ["g2", "chi2"])
@settings(deadline=None)
@given(
    problem=problems(),
    max_given=st.integers(1, 3),
    duplicates=st.sampled_from(["drop", "keep"]),
)
def test_counts_agree_with_the_oracle(method, measure, problem, max_given, duplicates):
    X, y = problem
    rule = {"fast": method == "FastOSFS", "measure": measure, "duplicates": duplicates}
    expected, closest = oracle.select(X.T.tolist(), y.tolist(), 0.1, max_given, **rule)
    assume(closest > 1e-9)
    for name in ("auto", "g2") if measure == "g2" else ("chi2",):
        selector = ESTIMATORS[method](
            measure=name, alpha=0.1, max_condition=max_given, duplicates=duplicates
        )
        selector.fit_source([columns_of(csc_array(X))], y)
        assert selector.selection().indices.tolist() == sorted(expected)


@pytest.mark.parametrize("measure", ["g2", "chi2"])
def test_counts_need_classes(measure):
    random = np.random.default_rng(0)
    with pytest.raises(ss.DataError, match=f"measure='{measure}' needs classes"):
        ss.OSFS(measure=measure).fit(random.normal(0, 1, (30, 2)), random.normal(0, 1, 30))


@pytest.mark.parametrize("freedom", [1, 2, 5, 40, 3000])
def test_tails_of_chi_squared(freedom):
    values = freedom * np.array([0.0, 0.01, 0.5, 0.9, 1.0, 1.1, 2.0])
    tails = [log_tail(value, freedom) for value in values.tolist()]
    np.testing.assert_allclose(tails, chi2.logsf(values, freedom), rtol=1e-9, atol=1e-14)
    assert log_tail(1e6, freedom) < -400_000  # far beyond the smallest number there is


@pytest.mark.needs_jit
@pytest.mark.parametrize("case", GOLDEN, ids=[case["method"] for case in GOLDEN])
def test_the_reference_library_selects_the_same(case):
    selector = ESTIMATORS[case["method"]](duplicates="keep", **case["parameters"])
    selector.fit_source(ss.open_source(DATA / f"{case['data']}.svm.xz"))
    assert selector.selection().indices.tolist() == case["selected"]
