"""Remarks on results: when they are given, when they are not, and that their advice helps."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

import streamsieve as ss
from streamsieve import workflow
from streamsieve.estimators import estimator_class
from streamsieve.registry import METHODS, find_method
from streamsieve.selectors.diagnosis import Finding
from streamsieve.selectors.rows.diagnosis import separates
from streamsieve.sources.arrays import ArraySource
from streamsieve.sources.writers import write_rows
from streamsieve.training import Progress, train
from tests.paths import DATA

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]
Data = tuple[Matrix, Labels]

MAJORITY, EMPTY, ALL, EDGE, SCALES, COPIES = (
    "majority",
    "nothing selected",
    "no limit",
    "edge of grid",
    "scales",
    "duplicates",
)


def findings_on(data: Any, method: str = "sofs", **params: Any) -> dict[str, Finding]:
    """Return the remarks on a run, by kind."""
    learner = find_method(method).make(**params)
    y = data[1] if isinstance(data, tuple) else None
    classes = None if y is None or learner.reads != "rows" else np.unique(y)
    source = ArraySource(*data) if isinstance(data, tuple) else ss.open_source(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        findings = train(learner, source, classes=classes).findings
    by_kind = {finding.kind: finding for finding in findings}
    assert len(by_kind) == len(findings), "one remark of a kind"
    return by_kind


def warnings_among(findings: dict[str, Finding]) -> list[Finding]:
    return [finding for finding in findings.values() if finding.level == "warning"]


def follow_advice(
    finding: Finding, method: str, params: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return method and parameters after following a remark, as a user would type them."""
    other = re.search(r"try the method ([a-z-]+)", finding.advice)
    set_to = re.search(r"(\w+)=(\[.*\]|\S+)", finding.advice)
    assert other or set_to, finding.advice
    changed = {set_to[1]: ast.literal_eval(set_to[2])} if set_to else {}
    return (other[1], changed) if other else (method, params | changed)


def fit(method: str, params: dict[str, Any], data: Data) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator_class(method)(**params).fit(*data)


def linear(
    random: np.random.Generator, rows: int, width: int, informative: int, noise: float = 0.0
) -> Data:
    X = random.standard_normal((rows, width))
    score = X[:, :informative].sum(axis=1) / np.sqrt(informative) + noise * random.standard_normal(
        rows
    )
    return X, (score > 0).astype(np.int64)


# ---- no better than the majority class


def rare(random: np.random.Generator) -> Data:
    X, _ = linear(random, 20_000, 50, 5)
    score = X[:, :5].sum(axis=1) + 6.0 * random.standard_normal(len(X))
    return X, (score > np.quantile(score, 0.95)).astype(np.int64)


def one_loud_column(random: np.random.Generator) -> Data:
    X, y = linear(random, 4000, 30, 5)
    X[:, 7] = 1e4 * random.standard_normal(len(X))
    return X, y


def three_loud(random: np.random.Generator) -> Data:
    X = random.standard_normal((6000, 20))
    y = X[:, :3].argmax(axis=1)
    X[:, 7] = 1e4 * random.standard_normal(len(X))
    return X, y


def many_weak(random: np.random.Generator) -> Data:
    return linear(random, 4000, 400, 400)


def very_many_weak(random: np.random.Generator) -> Data:
    return linear(random, 4000, 2000, 2000)


@pytest.mark.parametrize(
    ("make", "method", "params", "level", "advice"),
    [
        (
            rare,
            "sofs",
            {"n_features_to_select": 5, "class_weight": None},
            "note",
            "class_weight='balanced'",
        ),
        (
            one_loud_column,
            "sofs",
            {"n_features_to_select": 5, "normalize": "l2"},
            "warning",
            "normalize='auto'",
        ),
        (
            three_loud,
            "sofs",
            {"n_features_to_select": 5, "normalize": False},
            "warning",
            "normalize='auto'",
        ),
        (many_weak, "sofs", {"criterion": "confidence", "gamma": 1e9}, "note", "gamma='auto'"),
        (many_weak, "random-selection", {"random_state": 0}, "warning", "the method sofs"),
        (
            very_many_weak,
            "sofs",
            {"n_features_to_select": 10},
            "warning",
            "n_features_to_select=100",
        ),
    ],
)
def test_no_better_than_the_majority(
    make: Callable[[np.random.Generator], Data],
    method: str,
    params: dict[str, Any],
    level: str,
    advice: str,
) -> None:
    """It is a note where scores separate the classes and only the decisions are useless."""
    X, y = make(np.random.default_rng(1))
    half = len(y) // 2
    learn = X[:half], y[:half]
    finding = findings_on(learn, method, **params)[MAJORITY]
    assert finding.level == level
    assert finding.advice == f"try {advice}"
    before, after = (
        balanced_accuracy_score(y[half:], fit(name, values, learn).predict(X[half:]))
        for name, values in ((method, params), follow_advice(finding, method, params))
    )
    assert after > before + 0.03


def test_classes_that_no_linear_rule_tells_apart() -> None:
    random = np.random.default_rng(1)
    X = random.standard_normal((600, 20))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)
    finding = findings_on((X, y))[MAJORITY]
    method, params = follow_advice(finding, "sofs", {})
    assert (method, params) == ("local-learning", {"sigma": "auto"})
    assert fit(method, params, (X, y)).selection().top(2).indices.tolist() == [0, 1]


def test_the_message_has_both_numbers() -> None:
    random = np.random.default_rng(0)
    y = np.where(random.random(2000) < 0.4, "no", "yes")
    finding = findings_on((random.standard_normal((2000, 30)), y))[MAJORITY]
    others = np.count_nonzero(y == "no")
    assert re.fullmatch(
        r"[\d,]+ of 2,000 rows were predicted wrongly before they were learned, not clearly fewer"
        r" than by predicting "
        rf"'yes' for all of them \({others}\)",
        finding.message,
    )


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_labels_without_sense_are_noticed(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    noticed = [
        MAJORITY
        in findings_on((random.standard_normal((1000, 20)), random.integers(0, n_classes, 1000)))
        for _ in range(20)
    ]
    assert sum(noticed) >= 18


@pytest.mark.parametrize("rows", [20, 60, 150, 400, 2000])
@pytest.mark.parametrize("rate", [0.5, 0.1])
def test_short_and_hard_streams_cause_no_alarm(rows: int, rate: float) -> None:
    """Labels that depend on the features, weakly: 30 % of them are drawn at random."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        X, _ = linear(random, rows, 10, 3)
        score = X[:, :3].sum(axis=1)
        y = (score > np.quantile(score, 1 - rate)).astype(np.int64)
        drawn = random.random(rows) < 0.3
        y[drawn] = random.random(drawn.sum()) < rate
        assert not warnings_among(findings_on((X, y), n_features_to_select=3))


@pytest.mark.parametrize(("name", "k"), [("german", 3), ("splice", 2), ("leukemia", 10)])
def test_real_data_cause_no_alarm(name: str, k: int) -> None:
    assert not warnings_among(findings_on(str(DATA / f"{name}.svm.xz"), n_features_to_select=k))


def test_a_rare_class_is_worth_mistakes() -> None:
    """Weighted classes make more mistakes than the majority, and are better all the same."""
    X, y = rare(np.random.default_rng(1))
    learner = fit("sofs", {"n_features_to_select": 5, "class_weight": "balanced"}, (X, y))
    assert learner.mistakes_ > y.sum()
    assert MAJORITY not in findings_on((X, y), n_features_to_select=5, class_weight="balanced")


def test_what_is_better_than_chance() -> None:
    def better(*pairs: tuple[int, int]) -> bool | None:
        hits, rows = np.array(pairs).T
        return separates(hits, rows)

    assert better((20, 30), (20, 30)) is None, "too few to say"
    assert better((500, 500), (0, 500)) is False, "always the same class"
    assert better((9000, 9000), (0, 1000)) is False
    assert better((250, 500), (250, 500)) is False, "a coin"
    assert better((300, 500), (300, 500)) is True
    assert better((7000, 9000), (600, 1000)) is True, (
        "more mistakes than the majority makes, for the rare class"
    )
    assert better((18_970, 19_000), (5, 1000)) is False, "hardly anything, if anything"
    assert better((100, 300), (100, 300), (100, 300)) is False
    assert better((150, 300), (150, 300), (150, 300)) is True
    assert better((0, 0), (200, 400), (200, 400)) is False, (
        "a class that never occurred counts nowhere"
    )


def test_little_is_enough_where_there_is_no_doubt() -> None:
    """51 % right of very many rows."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 200_000)
    x = np.where(random.random(y.size) < 0.51, y, 1 - y)
    assert MAJORITY not in findings_on((np.column_stack([2.0 * x - 1.0, np.ones(y.size)]), y))


@pytest.mark.parametrize("informative", [True, False])
def test_rows_that_were_explored_are_not_judged(informative: bool) -> None:
    random = np.random.default_rng(0)
    X, y = linear(random, 2000, 4, 1)
    y = y if informative else random.permutation(y)
    learner = (
        find_method("ofs-partial").make(2, epsilon=0.5, random_state=0).start(4, classes=[0, 1])
    )
    learner.partial_fit_block(next(ArraySource(X, y).row_blocks()))
    hits, sums, rows = learner.memory.target.separation
    assert np.isfinite(sums).all()
    assert 800 < rows.sum() < 1200
    assert (hits <= rows).all()
    assert separates(hits, rows) is informative


def test_classes_that_are_swapped_are_counted_all_the_same() -> None:
    """Without ``classes``, a single class counts as the second until a larger one appears."""
    X, y = linear(np.random.default_rng(0), 300, 5, 2)
    y[:40] = 0
    counted = []
    for classes in (None, [0, 1]):
        learner = find_method("sofs").make(normalize=False).start(5, classes=classes)
        for block in ArraySource(X, y, block_rows=20).row_blocks():
            learner.partial_fit_block(block)
        counted.append(learner.memory.target.separation)
    from_rows, from_classes = counted
    assert from_rows.hits.tolist() == from_classes.hits.tolist()
    assert from_rows.sums.tolist() == from_classes.sums.tolist()
    assert from_classes.hits.sum() > 200


# ---- nothing selected


def weak(random: np.random.Generator) -> Data:
    X = random.standard_normal((300, 6))
    return X, (0.25 * X[:, 3] + random.standard_normal(300) > 0).astype(np.int64)


def spirals(random: np.random.Generator) -> Data:
    block = next(iter(ss.open_source("synthetic:spiral?features=50").row_blocks()))
    return block.to_dense(), block.y


@pytest.mark.parametrize(
    ("method", "params", "make", "seed"),
    [
        ("saola", {"alpha": 0.001}, weak, 1),
        ("saola", {"measure": "su", "delta": 0.5}, weak, 1),
        ("group-saola", {"alpha": 0.001}, weak, 1),
        ("osfs", {"alpha": 0.001}, weak, 1),
        ("fast-osfs", {"alpha": 0.001}, weak, 1),
        ("iamb", {"alpha": 0.001}, weak, 1),
        ("mmmb", {"alpha": 0.001}, weak, 1),
        ("fcbf", {}, weak, 1),
        ("fcbf", {"delta": 0.5}, weak, 0),
        ("mrmr", {}, weak, 1),
        ("alpha-investing", {"wealth": 0.001}, weak, 0),
        ("ogfs", {"regularization": 0.5}, weak, 1),
        ("local-learning", {"regularization": 10}, spirals, 0),
        ("fobos", {"regularization": 1e6}, weak, 0),
    ],
)
def test_nothing_selected(
    method: str, params: dict[str, Any], make: Callable[[np.random.Generator], Data], seed: int
) -> None:
    data = make(np.random.default_rng(seed))
    findings = findings_on(data, method, **params)
    assert findings[EMPTY].level == "warning"
    name, values = follow_advice(findings[EMPTY], method, params)
    assert len(fit(name, values, data).selection()) > 0


@pytest.mark.parametrize(
    ("method", "params", "advice"),
    [
        ("alpha-investing", {}, "; wealth=1.0 accepts more features, but also more false ones"),
        ("alpha-investing", {"wealth": 1.0}, ""),
        (
            "saola",
            {"measure": "fisher_z", "alpha": 1e-4},
            "; alpha=0.001 accepts more features, but also more false ones",
        ),
        ("osfs", {"alpha": 0.5}, ""),
    ],
)
def test_noise_is_called_so_and_advice_is_within_what_parameters_may_be(
    method: str, params: dict[str, Any], advice: str
) -> None:
    random = np.random.default_rng(8)
    data = np.where(random.random((400, 3)) < 0.5, -1.0, 1.0), np.arange(400) % 2
    if method == "osfs":  # as far from the target as can be
        data = np.tile([[1.0], [1.0], [-1.0], [-1.0]], (100, 1)), data[1]
    finding = findings_on(data, method, **params)[EMPTY]
    invests = method == "alpha-investing"
    reason = (
        "improves the fit more than chance would"
        if invests
        else "depends on the target by this test"
    )
    assert finding.advice == f"no feature {reason}{advice}"
    _, values = follow_advice(finding, method, params) if advice else ("", params)
    find_method(method).make(**values)


@pytest.mark.parametrize("method", ["saola", "sofs"])
def test_data_in_which_there_is_nothing(method: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.svm"
    path.write_text("1\n0\n1\n0\n")
    finding = findings_on(str(path), method)[EMPTY]
    assert finding.advice.endswith("streamsieve info")
    assert workflow.describe(ss.open_source(path))["nonzeros"] == 0, "which is where it shows"


# ---- how many features


def test_auto_at_the_end_of_its_grid() -> None:
    X, y = many_weak(np.random.default_rng(0))
    params = {"n_features_to_select": "auto", "curve": [5, 10, 50]}
    learn = X[:2000], y[:2000]
    finding = findings_on(learn, **params)[EDGE]
    assert (finding.level, finding.advice) == ("warning", "try curve=[50, 100, 250]")
    _, further = follow_advice(finding, "sofs", params)
    before, after = (fit("sofs", values, learn) for values in (params, further))
    assert after.score(X[2000:], y[2000:]) > before.score(X[2000:], y[2000:]) + 0.03


def test_auto_at_the_beginning_of_its_grid() -> None:
    data = linear(np.random.default_rng(0), 3000, 100, 2)
    params = {"n_features_to_select": "auto", "curve": [50, 100]}
    finding = findings_on(data, **params)[EDGE]
    assert finding.level == "note"
    _, all_numbers = follow_advice(finding, "sofs", params)
    before, after = (fit("sofs", values, data) for values in (params, all_numbers))
    assert after.n_features_selected_ < before.n_features_selected_
    assert after.score(*data) > before.score(*data) - 0.01


def test_auto_inside_its_grid_or_with_all_features_is_no_edge() -> None:
    assert EDGE not in findings_on(
        linear(np.random.default_rng(0), 3000, 100, 5), n_features_to_select="auto"
    )
    assert EDGE not in findings_on(
        linear(np.random.default_rng(0), 3000, 5, 5), n_features_to_select="auto"
    )


def test_a_budget_that_limits_nothing() -> None:
    data = linear(np.random.default_rng(0), 3000, 40, 3)
    finding = findings_on(data)[ALL]
    assert finding.level == "note"
    assert finding.message == "n_features_to_select=100 has no effect: the data has 40 features"
    _, chosen = follow_advice(finding, "sofs", {})
    before, after = (fit("sofs", values, data) for values in ({}, chosen))
    assert len(after.selection()) < 20
    assert after.score(*data) > before.score(*data) - 0.01
    assert ALL in findings_on(data, n_features_to_select=40)
    assert ALL not in findings_on(data, n_features_to_select=39)
    assert findings_on(data, "saola", n_features_to_select=40)[ALL].advice == "try a smaller number"
    assert ALL not in findings_on(data, "saola")


# ---- scales


@pytest.mark.parametrize("normalize", [False, "l2"])
def test_columns_of_different_scales(normalize: bool | str) -> None:
    dataset = load_breast_cancer()
    order = np.random.default_rng(0).permutation(len(dataset.target))
    data = dataset.data[order], dataset.target[order]
    params = {"n_features_to_select": 5, "normalize": normalize}
    finding = findings_on(data, **params)[SCALES]
    assert finding.level == "note"
    assert re.search(r"feature 23 are about 7\d\d and those of feature 19 0\.003", finding.message)
    _, auto = follow_advice(finding, "sofs", params)
    before, after = (fit("sofs", values, data) for values in (params, auto))
    assert after.score(*data) > before.score(*data) + 0.03
    assert SCALES not in findings_on(data, **auto)
    assert SCALES not in findings_on(data, n_features_to_select=5, normalize="standard")


def test_columns_of_similar_scales() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 2000)
    for X in (
        random.standard_normal((2000, 200)) * 10.0 ** random.uniform(-1, 1, 200),
        np.exp(1.5 * random.standard_normal((2000, 200))),
        random.poisson(0.05, (2000, 500)).astype(float),
        csr_array(random.poisson(0.05, (2000, 500)) * 10.0 ** random.uniform(-4, 4, 500)[:1]),
    ):
        assert SCALES not in findings_on((X, y), normalize=False)


# ---- copies


@pytest.mark.parametrize("method", ["saola", "ogd"])
def test_copies_among_the_selected(method: str) -> None:
    """Eight informative features, of which the best four come three times."""
    random = np.random.default_rng(0)
    X = random.standard_normal((4000, 60))
    y = (X[:, :8] @ np.array([2.0, 2, 2, 2, 1, 1, 1, 1]) > 0).astype(np.int64)
    with_copies = np.column_stack([X, X[:, :4], X[:, :4]])
    params = {"n_features_to_select": 8, **({"duplicates": "keep"} if method == "saola" else {})}
    finding = findings_on((with_copies, y), method, **params)[COPIES]
    assert finding.level == "note"
    assert finding.message.startswith(
        "some selected features are equal in every row that was used: feature "
    )
    before, after = (
        LogisticRegression().fit(reduced, y).score(reduced, y)
        for reduced in (fit(method, params, (data, y)).transform(data) for data in (with_copies, X))
    )
    assert after > before + 0.05


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("sofs", {"n_features_to_select": 12}),
        ("sofs", {"n_features_to_select": 12, "criterion": "confidence"}),
        ("sofs", {"n_features_to_select": 12, "normalize": "standard"}),
        ("sofs", {"n_features_to_select": 12, "forget": 500.0, "n_epochs": 2}),
        ("arow", {"n_features_to_select": 12}),
        ("ogd", {"n_features_to_select": 12}),
        ("saola", {"duplicates": "keep"}),
        ("saola", {"measure": "su", "duplicates": "keep"}),
        ("group-saola", {"duplicates": "keep"}),
        ("osfs", {"duplicates": "keep"}),
        ("fast-osfs", {"duplicates": "keep"}),
        ("local-learning", {}),
        ("relieff", {"n_features_to_select": 12}),
        ("irelief", {"n_features_to_select": 12}),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_copies_are_found_where_they_are(
    method: str, params: dict[str, Any], n_classes: int, kind: str
) -> None:
    random = np.random.default_rng(0)
    X = (
        random.standard_normal((400, 20))
        if kind == "numbers"
        else random.integers(0, 4, (400, 20)).astype(float)
    )
    score = X[:, :3].sum(axis=1) + 0.5 * random.standard_normal(400)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    data = np.column_stack([X, X[:, :3]]), y
    selected = fit(method, params, data).selection().indices.tolist()
    pairs = [
        f"feature {feature} = feature {feature + 20}"
        for feature in range(3)
        if {feature, feature + 20} <= set(selected)
    ]
    findings = findings_on(data, method, **params)
    assert (COPIES in findings) == bool(pairs)
    if pairs:
        assert findings[COPIES].message.endswith(": " + ", ".join(pairs))


def test_columns_that_occur_equally_often_are_no_copies() -> None:
    """Ones in equally many rows give equal precisions; and some agree on all of the first rows."""
    random = np.random.default_rng(0)
    groups = [random.permutation(np.repeat(np.arange(10), 300)) for _ in range(6)]
    groups.append(np.concatenate([groups[0][:1100], random.permutation(groups[0][1100:])]))
    X = np.column_stack([group[:, None] == np.arange(10) for group in groups]).astype(float)
    y = (X @ random.standard_normal(70) > 0).astype(np.int64)
    for normalize in (False, "l2", "auto"):
        assert COPIES not in findings_on(
            (csr_array(X), y), n_features_to_select=60, normalize=normalize
        )


# ---- where it is said


@pytest.fixture
def useless_file(tmp_path: Path) -> Path:
    """Return a file of large, wide columns with copies: several remarks apply to it."""
    X, y = one_loud_column(np.random.default_rng(1))
    path = tmp_path / "useless.svm"
    write_rows(path, ArraySource(np.column_stack([X, X[:, 7]]), y).row_blocks(), n_features=31)
    return path


def test_a_fit_warns_where_it_was_called_and_partial_fit_does_not() -> None:
    X, y = one_loud_column(np.random.default_rng(1))
    for learn in (lambda item: item.fit(X, y), lambda item: item.fit_source(ArraySource(X, y))):
        with pytest.warns(
            UserWarning, match="not clearly fewer than .*; try normalize='auto'"
        ) as caught:
            learn(ss.SOFS(normalize="l2"))
        assert [Path(item.filename).name for item in caught] == [Path(__file__).name], (
            "one warning, and no note"
        )
    with pytest.warns(UserWarning, match="not clearly fewer than") as caught:
        ss.select((X, y), normalize="l2")
    assert Path(caught[0].filename).name == Path(__file__).name
    ss.SOFS(normalize="l2").partial_fit(X, y)


def test_any_form_of_the_data_gets_the_same_remarks(useless_file: Path) -> None:
    X, y = one_loud_column(np.random.default_rng(1))
    X = np.column_stack([X, X[:, 7]]).astype(np.float32)
    again = useless_file.with_name("zero_based.svm")
    # Zero-based ids are those of arrays.
    write_rows(again, ArraySource(X, y).row_blocks(), n_features=31, zero_based=True)
    expected = findings_on(ss.open_source(again, zero_based=True), normalize="l2")
    assert set(expected) == {MAJORITY, ALL, SCALES, COPIES}
    for source in (
        ArraySource(X, y),
        ArraySource(csr_array(X), y),
        ArraySource(X, y, block_rows=1),
        ArraySource(X, y, block_rows=700),
    ):
        learner = find_method("sofs").make(normalize="l2")
        findings = {
            finding.kind: finding for finding in train(learner, source, classes=[0, 1]).findings
        }
        assert {**findings, MAJORITY: None} == {**expected, MAJORITY: None}
        assert (
            findings[MAJORITY].message.replace("predicting 0 ", "predicting 0.0 ")
            == expected[MAJORITY].message
        )


class StopHereError(Exception):
    """Raised to interrupt a run."""


@pytest.mark.filterwarnings("ignore:.*not clearly fewer than")
def test_a_resumed_run_says_the_same(useless_file: Path, tmp_path: Path) -> None:
    expected = workflow.select(useless_file, normalize="l2").details["diagnosis"]

    def watch(now: Progress) -> None:
        if now.done >= 1500:
            raise StopHereError

    with pytest.raises(StopHereError):
        workflow.select(
            useless_file, normalize="l2", output=tmp_path / "run", checkpoint_every=500, watch=watch
        )
    assert workflow.resume(tmp_path / "run").details["diagnosis"] == expected
    with pytest.warns(UserWarning, match="not clearly fewer than"):
        finished = workflow.resume(tmp_path / "run")
    assert finished.details["diagnosis"] == expected


def test_what_was_not_asked_for_is_not_read() -> None:
    X, y = linear(np.random.default_rng(0), 500, 20, 5)
    X[:, 10:] *= 1e6
    assert SCALES in findings_on((X, y), "fofs", n_features_to_select=5, normalize=False)
    assert SCALES not in findings_on((X, y), "ofs-partial", n_features_to_select=5, random_state=0)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_diagnosis(method: str) -> None:
    X, y = linear(np.random.default_rng(0), 120, 8, 3)
    empty = findings_on((np.zeros(X.shape), y), method)
    assert "nothing selected" in empty
    for finding in (*empty.values(), *findings_on((X, y), method).values()):
        assert finding.level in ("warning", "note")
        assert finding.message
        assert finding.advice
