"""Test SAOLA against its oracle and the authors' library, and with data of users."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import streamsieve as ss
from streamsieve.blocks import columns_of
from streamsieve.kernels.columns.binning import MDL, bin_columns
from streamsieve.kernels.columns.contents import code_columns
from streamsieve.kernels.columns.saola import Rule, is_redundant, possible_removals
from tests.effort import examples
from tests.oracles import saola as oracle
from tests.paths import DATA

GOLDEN = [
    case for case in json.loads((DATA / "lofs.json").read_text()) if case["method"] == "SAOLA"
]


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    n_rows = draw(st.integers(8, 40))
    n_columns = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = random.integers(0, draw(st.integers(2, 3)), n_rows)
    y[:2] = 0, 1
    X = random.integers(-1, 3, (n_rows, n_columns)) * (
        random.random((n_rows, n_columns)) < draw(st.floats(0.2, 1.0))
    )
    for column in range(n_columns):
        kind = random.integers(0, 5)
        if kind == 0:
            X[:, column] = y + (random.random(n_rows) < 0.3)
        elif kind == 1 and column:
            X[:, column] = X[:, random.integers(0, column)]
        elif kind == 2 and column:
            X[:, column] = X[:, random.integers(0, column)] + (random.random(n_rows) < 0.2)
    return X.astype(float), y


def assert_agrees(X: np.ndarray, y: np.ndarray, **params: Any) -> None:
    names = {"n_features_to_select": "budget"}
    rule = {
        names.get(name, name): value for name, value in params.items() if name != "class_weight"
    }
    balanced = params.get("class_weight") == "balanced"
    expected = oracle.select(X.T.tolist(), y.tolist(), balanced=balanced, **rule)
    selection = ss.SAOLA(**params).fit_source([columns_of(csc_array(X))], y).selection()
    assert selection.indices.tolist() == sorted(number for number, _ in expected)
    relevance = dict(expected)
    np.testing.assert_allclose(
        selection.scores, [relevance[i] for i in selection.indices.tolist()], rtol=1e-9
    )


@settings(deadline=None)
@given(
    problems(),
    st.sampled_from(["su", "fisher_z"]),
    st.sampled_from(["min", "max"]),
    st.sampled_from([None, 1, 3]),
    st.sampled_from(["drop", "keep"]),
)
def test_the_papers_rule_agrees_with_the_oracle(problem, measure, bound, budget, duplicates):
    X, y = problem
    rule = {
        "measure": measure,
        "bound": bound,
        "alpha": 0.2,
        "delta": 0.01,
        "duplicates": duplicates,
    }
    assert_agrees(X, y, n_features_to_select=budget, **rule)


@settings(deadline=None)
@given(
    problems(),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["su", "fisher_z"]),
    st.sampled_from([None, "balanced"]),
    st.sampled_from([1, 4, 12]),
)
def test_missing_values_are_left_out_of_every_pair(
    problem, seed, measure, class_weight, block_size
):
    X, y = problem
    random = np.random.default_rng(seed)
    X[
        random.random(X.shape)
        < random.choice([0, 0.1, 0.5, 1.0], X.shape[1], p=[0.3, 0.4, 0.2, 0.1])
    ] = np.nan
    rule = {"measure": measure, "alpha": 0.2, "delta": 0.01}
    expected = dict(
        oracle.select(X.T.tolist(), y.tolist(), balanced=class_weight is not None, **rule)
    )
    selector = ss.SAOLA(missing="skip", class_weight=class_weight, **rule).start(y=y)
    for start in range(0, X.shape[1], block_size):
        selector.partial_fit_columns(X[:, start : start + block_size])
    selection = selector.selection()
    assert selection.indices.tolist() == sorted(expected)
    np.testing.assert_allclose(
        selection.scores, [expected[i] for i in selection.indices.tolist()], rtol=1e-9
    )
    groups = np.arange(X.shape[1]) // 3
    by_groups = oracle.select_groups(X.T.tolist(), groups.tolist(), y.tolist(), **rule)
    selected = (
        ss.GroupSAOLA(missing="skip", **rule).fit(X, y, groups=groups).selection().indices.tolist()
    )
    assert selected == sorted(number for members in by_groups.values() for number in members)


@st.composite
def crowded_problems(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Draw few rows and many columns of few values: many ties and copies, and full selections."""
    n_rows, n_columns = draw(st.integers(6, 16)), draw(st.integers(5, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = random.integers(0, draw(st.integers(2, 3)), n_rows)
    y[:2] = 0, 1
    X = (random.random((n_rows, n_columns)) < draw(st.floats(0.1, 0.6))).astype(float)
    of_a_class = np.flatnonzero(random.random(n_columns) < 0.3)  # of a middle class: no correlation
    X[:, of_a_class] = (y[:, None] == random.integers(0, 3, of_a_class.size)) != (
        X[:, of_a_class] > 0
    )
    X[:, random.random(n_columns) < 0.3] *= random.choice([-1.0, 2.0])
    X[:, random.random(n_columns) < draw(st.sampled_from([0.0, 0.5]))] *= 0.5
    copies = np.flatnonzero(random.random(n_columns) < 0.3)
    X[:, copies] = X[:, random.integers(0, n_columns, copies.size)]
    return X, y


@settings(deadline=None, max_examples=examples(300))
@given(
    crowded_problems(),
    st.sampled_from(["auto", "su", "fisher_z"]),
    st.sampled_from(["min", "max"]),
    st.sampled_from(["paper", "lofs"]),
    st.integers(1, 6),
    st.sampled_from([0.2, 0.9]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from(["drop", "keep"]),
)
# The last column is less relevant than both others. It could remove the second, but the first makes
# it redundant.
@example(
    (
        np.array([[1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
        np.array([2, 0, 1, 2]),
    ),
    "auto",
    "min",
    "paper",
    2,
    0.9,
    40,
    "drop",
)
def test_newcomers_to_a_full_selection_fare_as_by_the_rule(
    problem, measure, bound, variant, budget, alpha, size, copies
):
    X, y = problem
    rule: dict[str, Any] = {"measure": measure, "bound": bound, "variant": variant, "alpha": alpha}
    rule["duplicates"] = copies
    expected, counts = oracle.select_and_count(X.T.tolist(), y.tolist(), budget=budget, **rule)
    selector = ss.SAOLA(budget, **rule).start(y=y)
    for start in range(0, X.shape[1], size):
        selector.partial_fit_columns(X[:, start : start + size])
    selection = selector.learner.finish().results.selection()
    assert selection.indices.tolist() == sorted(number for number, _ in expected)
    np.testing.assert_allclose(
        selection.scores, [dict(expected)[i] for i in selection.indices.tolist()], rtol=1e-9
    )
    assert selector.counts_ == counts


ROUNDING, DIFFERENCE = 1e-13, 1e-9  # a negligible difference, and a real one


@pytest.mark.parametrize("off", [-DIFFERENCE, -ROUNDING, 0.0, ROUNDING, DIFFERENCE])
def test_dependences_that_differ_by_rounding_alone_are_equal(off):
    paper = Rule(
        ties_lose=False, strict=False, larger_bound=False, least=(0.25, 0.5), drops_copies=True
    )
    strict, larger = paper._replace(strict=True), paper._replace(larger_bound=True)
    for relevance, other_relevance in ((0.6, 0.7), (0.7, 0.6)):
        assert is_redundant(paper, relevance, other_relevance, 0.6 + off, 1) is (off > -DIFFERENCE)
        assert is_redundant(strict, relevance, other_relevance, 0.6 + off, 1) is (off == DIFFERENCE)
        assert is_redundant(larger, relevance, other_relevance, 0.7 + off, 1) is (off > -DIFFERENCE)
    for pair, bound in enumerate(paper.least):
        assert is_redundant(paper, 0.1, 0.2, bound + off, pair) is (off > -DIFFERENCE)
    assert possible_removals(paper, 0.6, 0.6 + off) == (off == DIFFERENCE, off == -DIFFERENCE)
    assert possible_removals(paper._replace(ties_lose=True), 0.6, 0.6 + off) == (
        off > -DIFFERENCE,
        off == -DIFFERENCE,
    )


@settings(deadline=None)
@given(problems(), st.sampled_from([None, 3, "mdl"]))
def test_auto_and_bins_look_past_missing_values(problem, bins):
    X, y = problem
    whole = ss.SAOLA(missing="skip", bins=bins).fit(X, y).selection()
    padded, target = np.vstack([X, np.full((3, X.shape[1]), np.nan)]), np.append(y, [0, 1, 1])
    with_missing = ss.SAOLA(missing="skip", bins=bins).fit(padded, target).selection()
    assert with_missing.indices.tolist() == whole.indices.tolist()
    np.testing.assert_allclose(with_missing.scores, whole.scores, rtol=1e-9)


def test_columns_that_never_vary_are_counted():
    X, y = np.random.default_rng(0).normal(0, 1, (20, 6)), np.arange(20) % 2
    X[:, 1], X[:, 3], X[:, 4] = 0, 7.5, np.nan
    X[3, 3] = np.nan
    assert ss.SAOLA(missing="skip").fit(X, y).n_constant_ == 3


@pytest.mark.parametrize(
    "groups",
    [[0, 0, -1], [0, 1.5, 2], [0, None, 1], [0, np.nan, 1], ["a", 1, "c"], [0, 1], ["a", " ", "b"]],
)
def test_unknown_groups_are_refused(groups):
    X, y = np.random.default_rng(0).normal(0, 1, (10, 3)), np.arange(10) % 2
    with pytest.raises(ss.DataError, match="group"):
        ss.GroupSAOLA().fit(X, y, groups=groups)
    with pytest.raises(ss.DataError, match="group"):
        ss.GroupSAOLA().partial_fit_columns(X, y, groups=groups)


@pytest.mark.needs_jit
def test_the_test_of_balanced_classes_is_no_laxer_than_its_level():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((1000, 2000)), (np.arange(1000) < 20).astype(int)
    selector = ss.SAOLA(measure="fisher_z", class_weight="balanced").fit(X, y)
    assert 2000 - selector.counts_["irrelevant"] < 60  # 20 by chance
    tiny = ss.SAOLA(measure="fisher_z", alpha=1e-20).fit(np.column_stack([y + 0.01 * X[:, 0]]), y)
    assert len(tiny.selection()) == 1


def test_many_different_values_take_no_more_memory_than_rows():
    random = np.random.default_rng(1)
    X = random.normal(0, 1, (20_000, 3))
    X[:, 2] = np.round(X[:, 0], 1)
    y = (X[:, 0] > 0).astype(int)
    selector = ss.SAOLA(measure="su").fit(X, y)
    expected = oracle.select(X.T.tolist(), y.tolist(), "su")
    assert selector.selection().indices.tolist() == [number for number, _ in expected]
    np.testing.assert_allclose(
        selector.selection().scores, [score for _, score in expected], rtol=1e-9
    )


@settings(deadline=None)
@given(problems(), st.sampled_from([None, "balanced"]), st.sampled_from(["drop", "keep"]))
def test_the_librarys_rule_agrees_with_the_oracle(problem, class_weight, duplicates):
    X, y = problem
    for measure in ("su", "fisher_z"):
        rule = {"measure": measure, "variant": "lofs", "duplicates": duplicates, "alpha": 0.2}
        assert_agrees(X, y, class_weight=class_weight, **rule)


@settings(deadline=None)
@given(
    problems(),
    st.sampled_from(["su", "fisher_z"]),
    st.integers(1, 5),
    st.sampled_from([None, 2]),
    st.integers(1, 12),
    st.sampled_from(["drop", "keep"]),
)
def test_groups_agree_with_the_oracle(problem, measure, size, budget, block_size, duplicates):
    X, y = problem
    groups = 5 + np.arange(X.shape[1]) // size
    rule = {"measure": measure, "alpha": 0.2, "delta": 0.01, "duplicates": duplicates}
    expected = oracle.select_groups(
        X.T.tolist(), groups.tolist(), y.tolist(), budget=budget, **rule
    )
    selector = ss.GroupSAOLA(budget, **rule).start(y=y)
    for start in range(0, X.shape[1], block_size):
        part = slice(start, start + block_size)
        selector.partial_fit_columns(X[:, part], groups=groups[part])
    selection = selector.selection()
    pairs = sorted((number, group) for group, members in expected.items() for number in members)
    assert list(zip(selection.indices.tolist(), selection.groups.tolist(), strict=True)) == pairs
    assert sum(selector.learner.finish().results.counts_.values()) == X.shape[1]


def test_a_group_in_two_parts_is_refused():
    X, y = np.eye(6), np.array([0, 1, 0, 1, 0, 1])
    X[:, 0] = y
    with pytest.raises(ss.DataError, match="group 1 appears in two parts"):
        ss.GroupSAOLA(measure="su").partial_fit_columns(X, y, groups=[1, 1, 2, 2, 1, 1])
    with pytest.raises(ss.DataError, match="group 'a' appears in two parts"):
        ss.GroupSAOLA(measure="su").partial_fit_columns(X, y, groups=list("aabbaa"))


@pytest.mark.parametrize("measure", ["su", "fisher_z"])
@pytest.mark.parametrize("estimator", [ss.SAOLA, ss.GroupSAOLA])
def test_published_rules_decide_about_copies_and_the_default_drops_them(estimator, measure):
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 200)
    X = np.where(
        random.random((200, 6)) < 0.75, y[:, None], random.integers(0, 3, (200, 6))
    ).astype(float)
    X = np.column_stack([X, X[:, :3], X[:, 0]])

    def selected(**params):
        selector = estimator(measure=measure, bound="max", **params).fit(X, y)
        assert (
            selector.learner.results.result_summary().details["duplicates"]
            == selector.n_duplicates_
        )
        return selector.selection().indices.tolist(), selector.n_duplicates_

    rule = {"measure": measure, "bound": "max"}
    for variant in ("paper", "lofs"):
        indices, dropped = selected(variant=variant)
        assert dropped == 0
        assert selected(variant=variant, duplicates="keep") == (indices, 0)
        if estimator is ss.SAOLA:
            expected = oracle.select(
                X.T.tolist(), y.tolist(), variant=variant, duplicates="keep", **rule
            )
            assert indices == sorted(number for number, _ in expected)
    indices, dropped = selected()
    assert (
        selected(variant="paper", duplicates="drop")
        == selected(variant="default")
        == (indices, dropped)
    )
    assert dropped > 0
    assert selected(duplicates="keep") == selected(variant="paper")


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "case", GOLDEN, ids=[f"{case['data']}-{case['parameters']['measure']}" for case in GOLDEN]
)
@pytest.mark.parametrize("by", ["matrix", "file"])
def test_the_authors_library_selects_the_same(case, by):
    source = ss.open_source(DATA / f"{case['data']}.svm.xz")
    selector = ss.SAOLA(variant="lofs", **case["parameters"])
    if by == "file":
        selector.fit_source(source)
    else:
        columns = ss.sources.columns.as_column_source(source)
        selector.fit(columns.matrix, columns.targets())
    assert selector.selection().indices.tolist() == case["selected"]


def test_auto_decides_by_the_values_and_says_so():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 300)
    X = np.column_stack(
        [y + random.integers(0, 2, 300), y + random.normal(0, 0.5, 300), random.normal(0, 1, 300)]
    )
    selector = ss.SAOLA().fit(X, y)
    assert selector.measures_ == {"fisher_z": 1, "su": 1}
    assert selector.counts_["irrelevant"] == 1


def test_a_regression_is_measured_by_correlation():
    random = np.random.default_rng(4)
    X = random.normal(0, 1, (200, 30))
    y = X[:, 3] - 2 * X[:, 7] + random.normal(0, 0.1, 200)
    selection = ss.SAOLA().fit(X, y).selection()
    assert {3, 7} <= set(selection.indices.tolist())
    with pytest.raises(ss.DataError, match="measure='su' needs classes"):
        ss.SAOLA(measure="su").fit(X, y)


def test_columns_can_be_computed_on_the_fly():
    random = np.random.default_rng(5)
    raw = random.normal(0, 1, (150, 4))
    y = np.where(raw[:, 0] * raw[:, 1] > 0, "same", "other")
    selector = ss.SAOLA(measure="fisher_z")
    for a in range(4):
        for b in range(a, 4):
            selector.partial_fit_columns((raw[:, a] * raw[:, b])[:, None], y, names=[f"{a}x{b}"])
    assert selector.selection().top(1).names.tolist() == ["0x1"]
    blocks = (columns_of(raw[:, [a]] * raw, 4 * a) for a in range(4))
    assert ss.SAOLA(measure="fisher_z").fit_source(blocks, y).selection().top(
        1
    ).indices.tolist() in ([1], [4])
    with pytest.raises(ss.UsageError, match="have no target; pass it as y"):
        ss.SAOLA().fit_source([columns_of(raw)])


def test_a_balanced_target_finds_what_a_rare_class_needs():
    random = np.random.default_rng(6)
    y = (np.arange(4000) % 100 == 0).astype(int)
    rare = np.where(y == 1, random.random(4000) < 0.5, random.random(4000) < 0.02)
    X = np.column_stack([rare, random.random((4000, 5)) < 0.5]).astype(float)
    plain = ss.SAOLA(measure="su").fit(X, y).selection()
    balanced = ss.SAOLA(measure="su", class_weight="balanced").fit(X, y).selection()
    assert balanced.top(1).indices.tolist() == [0]
    assert balanced.scores.max() > 2 * plain.scores.max()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 60), st.integers(2, 6), st.floats(0.2, 1.0))
def test_bins_are_of_equal_frequency(seed, n_rows, bins, density):
    random = np.random.default_rng(seed)
    x = np.where(random.random(n_rows) < density, random.normal(0, 1, n_rows).round(1), 0.0)
    y = random.integers(0, 2, n_rows)
    y[:2] = 0, 1
    codes = bin_codes(x, y, bins)
    middle = np.array([((x < v).sum() + 0.5 * (x == v).sum()) / n_rows for v in x])
    expected = np.minimum(bins - 1, np.floor(bins * middle)).astype(int)
    same = {(a, b) for a, b in zip(codes.tolist(), expected.tolist(), strict=True)}
    assert len(same) == len(set(codes.tolist())) == len(set(expected.tolist()))


def test_bins_by_description_length_cut_where_the_classes_change():
    random = np.random.default_rng(9)
    x = random.permutation(np.linspace(-1, 1, 300))
    y = np.where(x < -0.4, 0, np.where(x < 0.3, 1, 0))
    codes = bin_codes(x, y, "mdl")
    assert len(set(codes.tolist())) == 3
    for code in set(codes.tolist()):
        assert len(set(y[codes == code].tolist())) == 1
    # Random labels are not described by any cut.
    assert len(set(bin_codes(x, random.integers(0, 2, 300), "mdl").tolist())) == 1


@pytest.mark.parametrize("n_classes", [4, 40, 646, 647, 1000])
def test_bins_by_description_length_agree_with_exact_arithmetic_for_any_number_of_classes(
    n_classes: int,
):
    random = np.random.default_rng(n_classes)
    y = np.repeat(np.arange(n_classes), 4)
    x = 0.5 + (4 * y // n_classes) + (random.random(y.size) < 0.05)
    expected = cuts_by_description_length(x.tolist(), y.tolist())
    codes = bin_codes(x, y, "mdl")
    cuts = sorted(min(x[codes == code].tolist()) for code in set(codes.tolist()))[1:]
    assert cuts == sorted(expected)
    assert len(cuts) >= 1


def cuts_by_description_length(x: list[float], y: list[int]) -> list[float]:
    """Return the least values of all bins but the first (Fayyad and Irani 1993, section 3)."""

    def bits(labels: list[int]) -> float:
        return -sum(n / len(labels) * math.log2(n / len(labels)) for n in Counter(labels).values())

    pairs = list(zip(x, y, strict=True))
    parts = {
        cut: (
            [label for value, label in pairs if value < cut],
            [label for value, label in pairs if value >= cut],
        )
        for cut in sorted(set(x))[1:]
    }
    if not parts:
        return []
    n = len(y)
    after, cut = min(
        (sum(len(part) / n * bits(part) for part in both), cut) for cut, both in parts.items()
    )
    spread = len(set(y)) * bits(y) - sum(len(set(part)) * bits(part) for part in parts[cut])
    price = math.log2(n - 1) + math.log2(3 ** len(set(y)) - 2) - spread
    if bits(y) - after <= price / n:
        return []
    sides = [[pair for pair in pairs if (pair[0] < cut) == below] for below in (True, False)]
    return [
        cut,
        *(
            value_of_cut
            for side in sides
            for value_of_cut in cuts_by_description_length(*map(list, zip(*side, strict=True)))
        ),
    ]


def bin_codes(x: np.ndarray, y: np.ndarray, bins: int | str) -> np.ndarray:
    """Return the bin of every row of a column."""
    block = columns_of(csc_array(x[:, None]))
    codes, n_levels = np.zeros(block.values.size, np.int32), np.ones(1, np.int64)
    code_columns(block.indptr, block.values, np.ones(1, bool), 0, 1, codes, n_levels)
    target_arrays = (
        np.ones(y.size),
        y.astype(np.int32),
        np.bincount(y).astype(float),
        np.ones(1, bool),
    )
    n_bins = MDL if bins == "mdl" else bins
    bin_columns(
        block.indptr, block.indices, block.values, *target_arrays, n_bins, 0, 1, codes, n_levels
    )
    dense = np.zeros(x.size, np.int64)
    dense[block.indices] = codes
    assert dense.max() < n_levels[0]
    return dense


def test_what_became_of_features_adds_up_where_groups_exceed_the_budget():
    random = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = random.standard_normal((200, 12)) + 0.6 * y[:, None]
    selector = ss.GroupSAOLA(3).fit(X, y, groups=np.arange(12) // 4)
    counts = selector.counts_
    assert counts["kept"] == len(selector.selection()) == 3
    assert counts["replaced"] > 0
    assert sum(counts.values()) == 12
