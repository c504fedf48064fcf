"""Every method against its oracle, the slow and obvious version, on hundreds of random streams."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.estimators import estimator_class
from streamsieve.kernels.rows.partial import EXPLORED
from streamsieve.registry import METHODS, learner_class

from .oracles import ofs_partial

Row = tuple[dict[int, float], int]

N_FEATURES = 12

# On a grid of quarters and powers of two every key is exact, so ties are real ties and selections must be equal.
VALUES = st.integers(-8, 8).filter(bool).map(lambda quarters: quarters / 4)
ROW_VALUES = st.dictionaries(st.integers(0, N_FEATURES - 1), VALUES, max_size=8)
BUDGET = st.integers(1, 8)
POWERS = st.sampled_from([0.25, 0.5, 1.0, 2.0])

PARAMS = {
    "sofs": {
        "n_features_to_select": BUDGET,
        "gamma": POWERS,
        "criterion": st.sampled_from(["confidence", "snr"]),
        "update": st.sampled_from(["max_score", "uniform"]),
        "forget": st.sampled_from([None, None, 10.0, 3.7]),
    },
    "pet": {
        "n_features_to_select": BUDGET,
        "eta": POWERS,
        "trigger": st.sampled_from(["mistake", "margin"]),
        "forget": st.sampled_from([None, None, 5.3]),
    },
    "fofs": {
        "n_features_to_select": BUDGET,
        "eta": st.sampled_from([0.2, 0.5]),
        "regularization": st.sampled_from([0.01, 0.25]),
        "radius": st.sampled_from([None, 1.5]),
        "trigger": st.sampled_from(["margin", "mistake"]),
        "forget": st.sampled_from([None, None, 5.3]),
    },
    "ogd": {"eta": st.sampled_from([0.25, 0.5])},
    "fobos": {"eta": st.sampled_from([0.25, 0.5]), "regularization": st.sampled_from([0.125, 0.25])},
    "arow": {"gamma": POWERS},
}
DRAWING = {"ofs-partial", "random-selection"}  # what they draw is tested below
OTHERS = {method for method in METHODS if learner_class(method).reads != "rows"}  # files of their own


def block_of(rows: list[Row], weights: list[float]) -> RowBlock:
    ids = [sorted(x) for x, _ in rows]
    return RowBlock(
        np.cumsum([0, *map(len, ids)]),
        np.array([j for row in ids for j in row], np.int32),
        np.array([x[j] for (x, _), row in zip(rows, ids, strict=True) for j in row], np.float32),
        np.array([code for _, code in rows]),
        N_FEATURES,
        sample_weight=np.array(weights),
    )


def intercept_inputs(rows: list[Row], weights: list[float]) -> list[float]:
    """0.3 times the mean norm of the rows so far that count."""
    norms: list[float] = []
    constants = []
    for (x, _), weight in zip(rows, weights, strict=True):
        if weight:
            norms.append(float(np.sqrt(sum(value**2 for value in x.values()))))
        constants.append(0.3 * sum(norms) / max(1, len(norms)))
    return constants


def assert_agrees(selector: Any, expected: dict[str, Any], rtol: float, atol: float) -> None:
    ids, weights, scores = selector._kept(selector.memory.state)
    by_id: dict[int, NDArray[Any]] = dict(zip(ids.tolist(), weights, strict=True))
    wanted = {j: w for j, w in expected["weights"].items() if any(w) or j in by_id}
    assert sorted(by_id) == sorted(wanted)
    assert (selector.mistakes_, selector.updates_) == (expected["mistakes"], expected["updates"])
    for j, score in zip(ids.tolist(), scores.tolist(), strict=True):
        np.testing.assert_allclose(by_id[j], wanted[j], rtol=rtol, atol=atol)
        np.testing.assert_allclose(score, expected["scores"][j], rtol=rtol, atol=atol)
    np.testing.assert_allclose(selector._bias(selector.memory.state), expected["bias"], rtol=rtol, atol=atol)


@pytest.mark.parametrize("method", sorted(set(METHODS) - DRAWING - OTHERS))
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_selector_agrees_with_its_oracle(method: str, data: Any) -> None:
    n_classes = data.draw(st.sampled_from([2, 2, 3, 4]))
    rows = data.draw(st.lists(st.tuples(ROW_VALUES, st.integers(0, n_classes - 1)), min_size=1, max_size=40))
    weights = data.draw(
        st.one_of(st.just([1.0] * len(rows)), st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=40, max_size=40))
    )[: len(rows)]
    intercept = data.draw(st.booleans())
    params = {name: data.draw(values) for name, values in PARAMS[method].items()}
    constants = intercept_inputs(rows, weights) if intercept else None
    expected = import_module(f"tests.oracles.{method}").learn(rows, n_classes, weights, constants, **params)
    assume(expected["closest_call"] > 1e-5)
    selector = estimator_class(method)(**params, fit_intercept=intercept).start(N_FEATURES, range(n_classes))
    selector.partial_fit_block(block_of(rows, weights))
    if params.get("forget") and params.get("criterion") == "confidence" and n_classes > 2:
        expected["scores"] = dict(zip(*selector._kept(selector.memory.state)[::2], strict=True))  # may be stale
    if method == "pet" and not intercept and params["forget"] is None:
        assert_agrees(selector, expected, rtol=0.0, atol=0.0)
    elif method == "sofs":  # its precisions are float32
        assert_agrees(selector, expected, rtol=1e-4, atol=1e-5)
    else:
        assert_agrees(selector, expected, rtol=1e-9, atol=1e-10)


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.tuples(ROW_VALUES, st.integers(0, 1)), min_size=1, max_size=40),
    budget=BUDGET,
    epsilon=st.sampled_from([0.2, 0.5, 1.0]),
    intercept=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_partial_inputs_agree_with_their_oracle(
    rows: list[Row], budget: int, epsilon: float, intercept: bool, seed: int
) -> None:
    selector = ss.OFSPartial(budget, epsilon=epsilon, fit_intercept=intercept, random_state=seed)
    selector.start(n_features=N_FEATURES, classes=[0, 1])
    asked: list[set[int] | None] = []
    norms: list[float] = []
    constants = []
    for x, code in rows:
        ids = selector.ask()
        assert ids.size <= budget
        assert (np.diff(ids) > 0).all()
        explored = bool(selector.memory.state.question[EXPLORED])
        assert not explored or ids.size == min(budget, N_FEATURES)
        asked.append(set(ids.tolist()) if explored else None)
        seen = [x.get(j, 0.0) for j in ids.tolist()]
        norms.append(float(np.sqrt(sum(value**2 for value in seen))))
        constants.append(0.3 * sum(norms) / len(norms))
        selector.tell(seen, code)
    expected = ofs_partial.learn(rows, asked, N_FEATURES, budget, epsilon, constants=constants if intercept else None)
    assume(expected["closest_call"] > 1e-7)
    assert_agrees(selector, expected, rtol=1e-9, atol=1e-9)


def test_asking_and_complete_rows_learn_the_same() -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((500, 30))
    y = np.where(X[:, 3] > 0, "yes", "no")
    complete = ss.OFSPartial(5, random_state=1).fit(X, y)
    asking = ss.OFSPartial(5, random_state=1).start(n_features=30, classes=["no", "yes"])
    poisoned = np.full(X.shape, np.nan)
    for row, label in enumerate(y):
        ids = asking.ask()
        poisoned[row, ids] = X[row, ids]
        asking.tell(X[row, ids], label)
    blind = ss.OFSPartial(5, random_state=1).fit(poisoned, y)
    for selector in (asking, blind):
        assert selector.selection().indices.tolist() == complete.selection().indices.tolist()
        assert selector.mistakes_ == complete.mistakes_
        assert selector.decision_function(X).tolist() == complete.decision_function(X).tolist()


def test_random_selection_keeps_every_feature_equally_often() -> None:
    """After a step on a row of all d features each is kept with probability B / d."""
    X = np.ones((1, 10))
    kept = np.zeros(10)
    for seed in range(2000):
        selector = ss.RandomSelection(3, random_state=seed, fit_intercept=False).partial_fit(X, [1], classes=[0, 1])
        kept[selector.selection().indices] += 1
    assert kept.sum() == 3 * 2000
    assert (np.abs(kept - 600) < 5 * np.sqrt(2000 * 0.3 * 0.7)).all()


def test_random_attributes_are_a_fresh_draw_for_every_row() -> None:
    X, y = np.ones((3000, 10)), np.tile([0, 1], 1500)
    selector = ss.PET(10, attributes="random", random_state=0, fit_intercept=False).fit(X, y)
    assert selector.n_rows_ == 3000
    few = ss.PET(2, attributes="random", random_state=0, fit_intercept=False).start(10, [0, 1])
    seen = np.zeros(10)
    for _ in range(1000):
        block, _ = few._inputs(RowBlock(np.array([0, 10]), np.arange(10), np.ones(10, np.float32), None, 10))
        assert block.n_nonzero == 2
        seen[block.indices] += 1
    assert (np.abs(seen - 200) < 5 * np.sqrt(1000 * 0.2 * 0.8)).all()
