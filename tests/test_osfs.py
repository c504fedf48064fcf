"""OSFS and Fast-OSFS against their oracle and the reference library."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of

from .oracles import osfs as oracle
from .paths import DATA
from .test_saola import problems

FACES = {"OSFS": ss.OSFS, "FastOSFS": ss.FastOSFS}
GOLDEN = [case for case in json.loads((DATA / "lofs.json").read_text()) if case["method"] in FACES]


@pytest.mark.parametrize("method", FACES)
@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(8, 60),
    n_columns=st.integers(1, 12),
    density=st.floats(0.2, 1.0),
    most=st.integers(1, 4),
)
def test_agrees_with_the_oracle(method, seed, n_rows, n_columns, density, most):
    random = np.random.default_rng(seed)
    X = random.normal(0, 1, (n_rows, n_columns)) * (random.random((n_rows, n_columns)) < density)
    for column in range(1, n_columns, 3):
        X[:, column] = X[:, column - 1] + random.normal(0, 0.3, n_rows)
    y = X[:, :3].sum(axis=1) + random.normal(0, 0.5, n_rows)
    expected, closest = oracle.select(X.T, y, 0.1, most, fast=method == "FastOSFS")
    assume(closest > 1e-6)
    selector = FACES[method](measure="fisher_z", alpha=0.1, max_condition=most).fit_blocks(
        [columns_of(csc_array(X))], y
    )
    assert selector.selection().indices.tolist() == sorted(expected)


@pytest.mark.parametrize("method", FACES)
@settings(deadline=None)
@given(problem=problems(), most=st.integers(1, 3))
def test_counts_agree_with_the_oracle(method, problem, most):
    X, y = problem
    expected, closest = oracle.select(X.T.tolist(), y.tolist(), 0.1, most, fast=method == "FastOSFS", by_counts=True)
    assume(closest > 1e-9)
    for measure in ("auto", "g2"):
        selector = FACES[method](measure=measure, alpha=0.1, max_condition=most)
        selector.fit_blocks([columns_of(csc_array(X))], y)
        assert selector.selection().indices.tolist() == sorted(expected)


def test_counts_need_classes():
    random = np.random.default_rng(0)
    with pytest.raises(ss.DataError, match="measure='g2' needs classes"):
        ss.OSFS(measure="g2").fit(random.normal(0, 1, (30, 2)), random.normal(0, 1, 30))


@pytest.mark.parametrize("case", GOLDEN, ids=[case["method"] for case in GOLDEN])
def test_the_reference_library_selects_the_same(case):
    selector = FACES[case["method"]](**case["parameters"]).fit_source(ss.open_source(DATA / f"{case['data']}.svm.xz"))
    assert selector.selection().indices.tolist() == case["selected"]
