"""The curve over the number of features, and the small learners that answer for small numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.estimators import as_estimator
from streamsieve.registry import merge_models
from streamsieve.selectors.rows import curves as curves_module
from streamsieve.selectors.rows.curves import BUDGETS, OPEN_ROWS, split_grid
from streamsieve.selectors.rows.results import complete_curve
from streamsieve.selectors.rows.targets import Classes
from tests.oracles import rungs as oracle

pytestmark = pytest.mark.filterwarnings("ignore:n_features_to_select=.auto. chose")

CRITERIA = pytest.mark.parametrize("criterion", ["snr", "confidence"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
NORMALIZED = pytest.mark.parametrize("normalize", ["auto", "l2", False])


def stream(
    n_rows: int, n_features: int, n_classes: int = 2, filled: float = 0.1, seed: int = 0
) -> tuple[Any, Any]:
    """Return sparse rows whose class depends on the first columns, and their classes."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features)) * (
        random.random((n_rows, n_features)) < filled
    )
    hidden = (
        random.standard_normal((n_features, n_classes))
        * (3.0 / (1.0 + np.arange(n_features)))[:, None]
    )
    y = (X @ hidden + 0.2 * random.standard_normal((n_rows, n_classes))).argmax(axis=1)
    return csr_array(X.astype(np.float32)), y


def small_budget_of(selector: Any, budget: int) -> Any:
    return next(
        small for small in selector.learner.memory.small_budgets.members if small.budget == budget
    )


def learned(selector: Any, state: Any) -> dict[str, Any]:
    ids, weights, scores = selector.learner.kept_by_state(state)
    order = np.argsort(ids)
    return {
        "ids": ids[order].tolist(),
        "weights": weights[order].tolist(),
        "scores": scores[order].tolist(),
        "bias": selector.learner.rule.bias(state).tolist(),
        "counts": state.counts.tolist(),
    }


def all_learned(selector: Any) -> list[Any]:
    """Return everything that small budgets and curve have learned, to the last bit."""
    of_rungs = [
        (learned(selector, small.state), small.curve.mistakes.tolist(), small.calibration.tolist())
        for small in selector.learner.memory.small_budgets.members
    ]
    return [
        learned(selector, selector.learner.memory.state),
        selector.curve_["accuracy"].tolist(),
        *of_rungs,
    ]


# ---- which learner answers


def test_every_number_is_answered_by_the_smallest_rung_that_reaches_it() -> None:
    def grids(*numbers: int) -> list[list[int]]:
        return [grid.tolist() for grid in split_grid(np.array(numbers))]

    assert grids(1, 2, 5, 10, 20) == [[1], [2], [5], [10], [20]]
    assert grids(3, 7, 60, 100, 500, 1000) == [[3, 5], [7, 10], [60, 100, 200], [500, 1000]]
    assert grids(300, 400) == [[300, 400]]
    assert grids(1) == [[1]]


def test_only_rungs_that_the_grid_needs_are_there() -> None:
    X, y = stream(50, 30)
    assert [
        small.budget
        for small in ss.SOFS(25, curve=[2, 7]).fit(X, y).learner.memory.small_budgets.members
    ] == [2, 10]
    assert ss.SOFS(30, curve=[30]).fit(X, y).learner.memory.small_budgets is None
    assert ss.SOFS(25).fit(X, y).learner.memory.small_budgets is None


# ---- a small budget equals a separate run


@CRITERIA
@CLASSES
@NORMALIZED
def test_a_rung_is_a_run_of_its_own_as_long_as_it_sees_all_features(
    criterion: str, n_classes: int, normalize: Any
) -> None:
    X, y = stream(OPEN_ROWS, 400, n_classes)
    form = {"criterion": criterion, "normalize": normalize}
    with_curve = ss.SOFS(100, curve=[1, 3, 5, 20, 60], **form).fit(X, y)
    for budget in (1, 5, 20):
        separate = ss.SOFS(budget, **form).fit(X, y)
        assert learned(with_curve, small_budget_of(with_curve, budget).state) == learned(
            separate, separate.learner.memory.state
        )
        at = with_curve.curve_["n_features"].tolist().index(budget)
        assert with_curve.curve_["accuracy"][at] == 1 - separate.mistakes_ / separate.n_rows_


@CRITERIA
@CLASSES
def test_a_rung_whose_candidates_are_all_features_is_one_for_ever(
    criterion: str, n_classes: int
) -> None:
    X, y = stream(5000, 25, n_classes, filled=0.4)
    with_curve = ss.SOFS("auto", criterion=criterion, curve=[1, 2, 5, 10, 25]).fit(X, y)
    for budget in (1, 2, 5, 10):
        separate = ss.SOFS(budget, criterion=criterion).fit(X, y)
        small = small_budget_of(with_curve, budget)
        assert learned(with_curve, small.state) == learned(separate, separate.learner.memory.state)
        assert small.calibration.tolist() == separate.learner.memory.target.calibration.tolist()
        assert small.curve.mistakes[-1] == separate.mistakes_


@CRITERIA
@CLASSES
def test_a_rung_is_near_a_run_of_its_own_among_many_features(
    criterion: str, n_classes: int
) -> None:
    X, y = stream(4000, 2000, n_classes, filled=0.02)
    grid = [1, 2, 5, 10, 20, 50, 100]
    from_curve = ss.SOFS(100, criterion=criterion, curve=grid).fit(X, y).curve_["accuracy"]
    separate = [1 - ss.SOFS(k, criterion=criterion).fit(X, y).mistakes_ / len(y) for k in grid]
    assert np.abs(from_curve - separate).max() < 0.03
    assert from_curve[-1] == separate[-1]


@pytest.mark.parametrize(("n_rows", "n_features"), [(OPEN_ROWS, 300), (3000, 25)])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_rung_for_numbers_is_a_run_of_its_own(n_rows: int, n_features: int, loss: str) -> None:
    X, _ = stream(n_rows, n_features, filled=0.2)
    y = X @ (3.0 / (1.0 + np.arange(n_features))) + 0.1 * np.random.default_rng(1).standard_normal(
        n_rows
    )
    with_curve = ss.SOFSRegressor("auto", loss=loss, curve=[2, 10, n_features]).fit(X, y)
    for at, budget in enumerate((2, 10)):
        separate = ss.SOFSRegressor(budget, loss=loss).fit(X, y)
        assert learned(with_curve, small_budget_of(with_curve, budget).state) == learned(
            separate, separate.learner.memory.state
        )
        assert with_curve.curve_["r2"][at] == pytest.approx(separate.r2_, abs=1e-12)


def test_rungs_for_numbers_are_near_runs_of_their_own() -> None:
    X, _ = stream(4000, 1000, filled=0.02)
    y = X @ (3.0 / (1.0 + np.arange(1000))) + 0.3 * np.random.default_rng(1).standard_normal(4000)
    from_curve = ss.SOFSRegressor(100, curve=[1, 2, 5, 10, 20, 50]).fit(X, y).curve_["r2"]
    separate = [ss.SOFSRegressor(k).fit(X, y).r2_ for k in (1, 2, 5, 10, 20, 50, 100)]
    assert np.abs(from_curve - separate).max() < 0.02


@pytest.mark.parametrize("estimator", [ss.PET, ss.FOFS])
def test_first_order_methods_have_rungs_too(estimator: Any) -> None:
    X, y = stream(3000, 500, filled=0.05)
    from_curve = estimator(100, curve=[5, 20]).fit(X, y).curve_["accuracy"]
    separate = [1 - estimator(k).fit(X, y).mistakes_ / len(y) for k in (5, 20, 100)]
    assert (from_curve - separate).min() > -0.03


# ---- the candidates


def rows_of(X: Any, y: NDArray[np.int64]) -> list[tuple[dict[int, float], int]]:
    bounds = zip(X.indptr[:-1], X.indptr[1:], y.tolist(), strict=True)
    return [
        (dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)), code)
        for a, b, code in bounds
    ]


@pytest.mark.parametrize(
    ("criterion", "n_classes", "forget"),
    [
        *(("snr", n_classes, forget) for n_classes in (2, 3) for forget in (None, 300.0)),
        *(("confidence", 2, forget) for forget in (None, 300.0)),
        # With forgetting, ranks by keys of different ages differ from the oracle's.
        ("confidence", 3, None),
    ],
)
def test_candidates_agree_with_the_oracle(
    criterion: str, n_classes: int, forget: float | None
) -> None:
    X, y = stream(1100, 70, n_classes, filled=0.12)
    budgets, form = (
        [1, 2, 5],
        {"criterion": criterion, "forget": forget, "gamma": "auto", "fit_intercept": True},
    )
    expected = oracle.learn(rows_of(X, y), n_classes, budgets=budgets, main_budget=50, **form)
    selector = ss.SOFS(50, curve=budgets, normalize=False, class_weight=None, **form).fit(X, y)
    sees_a_part = [
        small.allowed.sum() < 70 for small in selector.learner.memory.small_budgets.members
    ]
    assert sees_a_part == [True, True, True]
    for budget in budgets:
        assert expected[budget]["closest_call"] > 1e-7
        small = small_budget_of(selector, budget)
        ids, weights, scores = selector.learner.kept_by_state(small.state)
        assert small.curve.mistakes[-1] == expected[budget]["mistakes"]
        assert sorted(ids.tolist()) == sorted(expected[budget]["weights"])
        wanted = [expected[budget]["weights"][j] for j in ids.tolist()]
        np.testing.assert_allclose(weights, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            scores, [expected[budget]["scores"][j] for j in ids.tolist()], rtol=1e-4
        )
        np.testing.assert_allclose(
            selector.learner.rule.bias(small.state), expected[budget]["bias"], rtol=1e-4, atol=1e-5
        )


def test_rungs_remember_their_candidates_alone() -> None:
    X, y = stream(1500, 5000, filled=0.01)
    selector = ss.SOFS(100, curve=True).fit(X, y)
    small_budgets = selector.learner.memory.small_budgets
    most = 5 * 50 + 20 + sum(budget for budget in BUDGETS if budget <= 50)
    assert small_budgets.addresses.used <= most
    for smaller, larger in zip(small_budgets.members, small_budgets.members[1:], strict=False):
        assert not (smaller.allowed & ~larger.allowed).any()
    for small in small_budgets.members:
        assert small.state.cells.shape[0] == small_budgets.addresses.used
        assert not small.state.cells[~small.allowed].any()


# ---- nothing but the rows matters


@CRITERIA
@CLASSES
@NORMALIZED
def test_chunks_and_saving_change_nothing(
    criterion: str, n_classes: int, normalize: Any, tmp_path: Any
) -> None:
    X, y = stream(1400, 300, n_classes)
    form = {"criterion": criterion, "normalize": normalize, "curve": [1, 3, 10, 60]}
    whole = ss.SOFS("auto", **form).fit(X, y)
    for cuts in ((100, 600), (OPEN_ROWS, 1024), (1, 2, 300, 1399)):
        chunked = ss.SOFS("auto", **form)
        for start, stop in zip((0, *cuts), (*cuts, len(y)), strict=True):
            chunked.partial_fit(X[start:stop], y[start:stop], classes=range(n_classes))
            chunked.save(tmp_path / "model")
            chunked = ss.load(tmp_path / "model")
        assert all_learned(chunked) == all_learned(whole)
        assert chunked.predict_proba(X).tolist() == whole.predict_proba(X).tolist()


def test_ids_as_wide_as_any_change_nothing() -> None:
    X, y = stream(1100, 200)
    wide = 10**12
    far = np.sort(np.random.default_rng(0).choice(wide, 200, replace=False))
    near, distant = ss.SOFS(60, curve=True), ss.SOFS(60, curve=True)
    near.fit_source([RowBlock(X.indptr.astype(np.int64), X.indices, X.data, y, 200)])
    distant.fit_source([RowBlock(X.indptr.astype(np.int64), far[X.indices], X.data, y, wide)])
    assert near.curve_["accuracy"].tolist() == distant.curve_["accuracy"].tolist()
    for small, wide_small in zip(
        near.learner.memory.small_budgets.members,
        distant.learner.memory.small_budgets.members,
        strict=True,
    ):
        expected, learned_wide = learned(near, small.state), learned(distant, wide_small.state)
        assert far[expected.pop("ids")].tolist() == learned_wide.pop("ids")
        assert expected == learned_wide


@CRITERIA
def test_classes_met_in_the_other_order_change_signs_alone(criterion: str) -> None:
    X, y = stream(600, 100)
    block = RowBlock(X.indptr.astype(np.int64), X.indices, X.data, y, 100)
    first = int(np.flatnonzero(y != y[0])[0])
    parts = [block.rows(0, first), block.rows(first, block.n_rows)]
    form = {"criterion": criterion, "curve": [2, 8]}
    from_classes, from_rows = (
        ss.SOFS("auto", **form).fit_source([block], classes=[0, 1]),
        ss.SOFS("auto", **form).fit_source(parts),
    )
    assert all_learned(from_classes) == all_learned(from_rows)


# ---- auto


@CRITERIA
@CLASSES
def test_auto_predicts_with_the_rung_that_answers(
    monkeypatch: pytest.MonkeyPatch, criterion: str, n_classes: int
) -> None:
    X, y = stream(3000, 300, n_classes)
    selector = ss.SOFS("auto", criterion=criterion, curve=[1, 5, 7, 200]).fit(X, y)
    for k, budget in ((5, 5), (7, 10)):
        monkeypatch.setattr(
            Classes, "choose_number", lambda self, curve, n_rows, k=k: [1, 5, 7, 200].index(k)
        )
        small = small_budget_of(selector, budget)
        ids, weights, scores = selector.learner.kept_by_state(small.state)
        best = np.lexsort((ids, -scores))[:k]
        assert selector.n_features_selected_ == k
        assert selector.selection().indices.tolist() == sorted(ids[best].tolist())
        assert selector.coef_.toarray()[:, ids[best]].tolist() == weights[best].T.tolist()
        if k == budget:
            separate = ss.SOFS(k, criterion=criterion)
            separate.start(300, range(n_classes))
            separate.learner.memory.state, separate.learner.memory.target.calibration = (
                small.state,
                small.calibration,
            )
            (
                separate.learner.memory.moments,
                separate.learner.memory.scaling,
                separate.learner.memory.counts,
            ) = (
                selector.learner.memory.moments,
                selector.learner.memory.scaling,
                selector.learner.memory.counts,
            )
            assert separate.decision_function(X).tolist() == selector.decision_function(X).tolist()
            assert separate.predict_proba(X).tolist() == selector.predict_proba(X).tolist()
            assert separate.intercept_.tolist() == selector.intercept_.tolist()


@CRITERIA
def test_candidates_are_counted_with_the_intercept_of_their_row(criterion: str) -> None:
    """One class is nine times as frequent and features say little, so the intercept decides."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((400, 120)), random.random(400) < 0.9
    selector = ss.SOFS(
        100, criterion=criterion, curve=[60, 100], normalize=False, class_weight=None
    )
    whole = selector.partial_fit(X, y, classes=[False, True]).curve_["accuracy"].tolist()
    rows = ss.SOFS(**selector.get_params())
    for start in range(0, 400, 3):
        rows.partial_fit(X[start : start + 3], y[start : start + 3], classes=[False, True])
    assert rows.curve_["accuracy"].tolist() == whole


def test_auto_is_as_good_as_its_curve_says() -> None:
    X, y = stream(6000, 400)
    selector = ss.SOFS("auto").fit(X[:4000], y[:4000])
    at = selector.curve_["n_features"].tolist().index(selector.n_features_selected_)
    assert selector.score(X[4000:], y[4000:]) > selector.curve_["accuracy"][at] - 0.03


# ---- models


def test_a_damaged_rung_is_refused() -> None:
    X, y = stream(600, 100)
    model = ss.SOFS(50, curve=[5, 20]).fit(X, y).model()
    for name, value in (("rungs.5.state.member", 7), ("rungs.20.curve.grid", 3), ("rungs.ids", 4)):
        damaged = model.copy()
        damaged.arrays[name] = np.full_like(damaged.arrays[name], value)
        with pytest.raises(ss.DataError, match="damaged"):
            ss.SOFS.method.load(damaged)


# ---- merging


def curve_of(selector: Any) -> Any:
    """Return the curve of a selector, including its small budgets."""
    return complete_curve(selector.learner.memory, selector.curve)


@CRITERIA
@CLASSES
@pytest.mark.parametrize("forget", [None, 2000.0])
def test_rungs_of_merged_models_know_what_the_parts_knew(
    criterion: str, n_classes: int, forget: float | None
) -> None:
    X, y = stream(6600, 400, n_classes, filled=0.05)
    form = {"criterion": criterion, "normalize": "l2", "curve": [2, 10, 50], "forget": forget}
    base = ss.SOFS(100, **form).partial_fit(X[:600], y[:600], classes=range(n_classes))
    parts = []
    for start in (600, 2600):
        part = as_estimator(base.method.load(base.model().copy()))
        parts.append(part.partial_fit(X[start : start + 2000], y[start : start + 2000]))
    merged = as_estimator(
        base.method.load(merge_models(base.model(), [part.model() for part in parts]))
    )
    wrong = [curve_of(model).mistakes for model in (merged, base, *parts)]
    assert wrong[0].tolist() == (wrong[2] + wrong[3] - wrong[1]).tolist()
    for small in merged.learner.memory.small_budgets.members:
        ids, _, scores = merged.learner.kept_by_state(small.state)
        assert ids.size == small.budget
        assert (scores > (0.0 if criterion == "snr" else -n_classes)).all()
    merged.partial_fit(X[4600:], y[4600:])
    after = curve_of(merged).mistakes - wrong[0]
    straight = ss.SOFS(100, **form).partial_fit(X[:4600], y[:4600], classes=range(n_classes))
    before = curve_of(straight).mistakes
    straight.partial_fit(X[4600:], y[4600:])
    assert (after < curve_of(straight).mistakes - before + 0.05 * 2000).all()


def test_what_only_some_rows_have_is_looked_up_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks that all ids share change no result: they only save time."""
    X, y = stream(1100, 300)
    expected = all_learned(ss.SOFS(50, curve=True).fit(X, y))
    monkeypatch.setattr(curves_module, "MARKS", 4)
    assert all_learned(ss.SOFS(50, curve=True).fit(X, y)) == expected
