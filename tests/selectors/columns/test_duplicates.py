"""Test that exact copies of kept features are dropped, unless the rule decides, and named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.distributed.columns import train_column_shards
from streamsieve.distributed.local import ThreadEngine
from streamsieve.kernels.columns.contents import are_equal, fingerprint
from streamsieve.registry import find_method
from streamsieve.sources.arrays import ArraySource
from streamsieve.training import train

RULES: list[tuple[str, dict[str, Any]]] = [
    ("saola", {}),
    ("saola", {"measure": "fisher_z", "class_weight": "balanced"}),
    ("saola", {"measure": "su", "bins": 4}),
    ("saola", {"n_features_to_select": 4}),
    ("group-saola", {}),
    ("osfs", {}),
    ("fast-osfs", {"measure": "fisher_z"}),
]
EVERY_RULE = pytest.mark.parametrize(
    ("method", "params"), RULES, ids=[f"{m}-{len(p)}" for m, p in RULES]
)
NAMES = np.array(["a", "b", "c", "a again", "a once more"], object)


def make_copies(discrete: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return three relevant columns and two copies of the first, with labels."""
    random = np.random.default_rng(3)
    X = random.normal(size=(400, 3))
    y = (X @ [1.0, 0.6, 0.4] + 0.5 * random.normal(size=400) > 0).astype(int)
    if discrete:
        X = (X > 0).astype(float)
    return X[:, [0, 1, 2, 0, 0]], y


def learn(method: str, X: Any, y: Any, **params: Any) -> Any:
    learner: Any = find_method(method).make(**params)
    names = NAMES[: X.shape[1]] if X.shape[1] <= NAMES.size else None
    learner.findings = train(learner, ArraySource(X, y, names)).findings
    return learner


@EVERY_RULE
@pytest.mark.parametrize("discrete", [False, True])
def test_of_copies_the_first_is_kept(method, params, discrete):
    X, y = make_copies(discrete)
    without_copies = learn(method, X[:, :3], y, **params)
    learner = learn(method, X, y, **params)
    assert (
        learner.results.selection().indices.tolist()
        == without_copies.results.selection().indices.tolist()
    )
    assert (
        learner.results.n_duplicates_ == learner.results.result_summary().details["duplicates"] == 2
    )
    (finding,) = [finding for finding in learner.findings if finding.kind == "copies dropped"]
    assert "2 exact copies" in finding.message
    assert "column 'a again' = column 'a', column 'a once more' = column 'a'" in finding.message
    assert not [finding for finding in without_copies.findings if finding.kind == "copies dropped"]


@EVERY_RULE
def test_the_rule_alone_keeps_copies(method, params):
    X, y = make_copies()
    learner = learn(method, X, y, **params, duplicates="keep")
    assert {0, 3, 4} <= set(learner.results.selection().indices.tolist())
    assert learner.results.result_summary().details["duplicates"] == 0


@EVERY_RULE
def test_equal_but_for_shift_unit_or_labels_is_no_copy(method, params):
    X, y = make_copies(discrete=True)
    for other in (2.0 * X[:, 0], X[:, 0] + 1.0, 1.0 - X[:, 0], X[:, 0] * 3.0):
        assert (
            learn(method, np.column_stack([X[:, 0], other]), y, **params).results.n_duplicates_ == 0
        )


@EVERY_RULE
@pytest.mark.parametrize("size", [1, 2, 5])
def test_blocks_do_not_matter(method, params, size, tmp_path: Path):
    X, y = make_copies()
    whole = learn(method, X, y, **params)
    learner: Any = find_method(method).make(**params).start(y=y)
    for start in range(0, 5, size):
        part = slice(start, start + size)
        learner.partial_fit_block(columns_of(X[:, part], start, names=NAMES[part]))
        learner.save(tmp_path / "model")
        learner = ss.load(tmp_path / "model").learner
    assert (
        learner.results.selection().indices.tolist() == whole.results.selection().indices.tolist()
    )
    assert [
        str(finding) for finding in learner.results.diagnosis(ss.selectors.diagnosis.DataSample())
    ] == [str(finding) for finding in whole.findings if finding.kind != "no groups"]


def test_missing_values_are_part_of_a_copy():
    X, y = make_copies()
    X[::9] = np.nan
    X[5, 4] = np.nan
    learner = learn("saola", X, y, missing="skip")
    assert learner.results.n_duplicates_ == 1
    assert 3 not in learner.results.selection().indices


def test_copies_are_dropped_across_groups():
    X, y = make_copies()
    selection = ss.GroupSAOLA().fit(X, y, groups=[0, 0, 1, 1, 2]).selection()
    assert selection.indices.tolist() == [0, 1, 2]
    assert selection.groups.tolist() == [0, 0, 1]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_shards_drop_the_same_copies(workers):
    X, y = make_copies()
    wide = np.column_stack([X, X[:, :3]])
    one_pass = learn("saola", wide, y)
    learner: Any = find_method("saola").make()
    with ThreadEngine(workers) as engine:
        findings = train_column_shards(learner, ArraySource(wide, y), engine).findings
    assert (
        learner.results.selection().indices.tolist()
        == one_pass.results.selection().indices.tolist()
        == [0, 1, 2]
    )
    assert learner.results.n_duplicates_ == one_pass.results.n_duplicates_ == 5
    assert [finding.kind for finding in findings] == ["copies dropped"]
    assert sum(learner.results.counts_.values()) == 8


def fingerprints_of(*columns: list[tuple[int, float]]) -> list[float]:
    """Return the fingerprints of columns of rows and values."""
    indptr = np.cumsum([0, *map(len, columns)])
    rows = np.array([row for column in columns for row, _ in column], np.int32)
    values = np.array([value for column in columns for _, value in column])
    return [fingerprint(indptr, rows, values, column) for column in range(len(columns))]


def test_fingerprints_of_columns_that_differ_are_different():
    column = [(0, 1.0), (3, -2.0), (4, 1.5), (7, np.nan), (8, 0.5)]
    others = [
        [(row, 2.0 * value) for row, value in column],
        [(row, value + 1.0) for row, value in column],
        [(row, -value) for row, value in column],
        [(row + 1, value) for row, value in column],
        column[1:],
        column[:-1],
        [(0, 1.0), (3, 1.5), (4, -2.0), (7, np.nan), (8, 0.5)],
        [(0, 1.0), (3, -2.0), (4, 1.5), (6, np.nan), (8, 0.5)],
    ]
    first, again, *different = fingerprints_of(column, list(column), *others)
    assert first == again
    assert np.isfinite(first)
    assert len({first, *different}) == 1 + len(others)


def test_the_fingerprint_of_a_column_is_that_of_saved_models():
    """Models store fingerprints to recognise copies, so the function must not change."""
    golden = (1.0 + np.sqrt(5.0)) / 2.0 - 1.0
    factors = [1.0 + row * golden % 1.0 for row in (1, 4, 5)]
    expected = factors[0] * 2.0 - factors[1] * 5.0 + factors[2]
    np.testing.assert_allclose(
        fingerprints_of([(9, 1.0)], [(0, 2.0), (3, -5.0), (4, np.nan)])[1], expected, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("line", "other", "equal"),
    [
        ([1.0, np.nan, 0.0], [1.0, np.nan, 0.0], True),
        ([1.0, np.nan, 0.0], [1.0, 2.0, 0.0], False),
        ([1.0, 2.0, 0.0], [1.0, np.nan, 0.0], False),
        ([1.0, 2.0, 0.0], [1.0, 2.0, 1e-300], False),
        ([3.0, 2.0, 0.0], [1.0, 2.0, 0.0], False),
        ([], [], True),
    ],
)
def test_lines_are_equal_in_every_value_and_where_none_is(line, other, equal):
    assert are_equal(np.array(line), np.array(other)) is equal
