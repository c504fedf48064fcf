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
from streamsieve.registry import METHODS, find_method
from tests.effort import examples
from tests.oracles import ofs_partial, sofs
from tests.oracles.class_weights import row_weights
from tests.oracles.normalization import prepare_rows_to_predict, prepared, unit

Row = tuple[dict[int, float], int]

N_FEATURES = 12

# On a grid of quarters and powers of two every key is exact, so ties are real ties and selections
# must be equal.
VALUES = st.integers(-8, 8).filter(bool).map(lambda quarters: quarters / 4)
ROW_VALUES = st.dictionaries(st.integers(0, N_FEATURES - 1), VALUES, max_size=8)
BUDGET = st.integers(1, 8)
POWERS = st.sampled_from([0.25, 0.5, 1.0, 2.0])

PARAMS = {  # of every method on rows that learns classes and draws nothing
    "sofs": {
        "n_features_to_select": BUDGET,
        "gamma": st.one_of(st.just("auto"), POWERS),
        "criterion": st.sampled_from(["snr", "snr", "confidence"]),
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
    "fobos": {
        "eta": st.sampled_from([0.25, 0.5]),
        "regularization": st.sampled_from([0.125, 0.25]),
    },
    "arow": {"gamma": POWERS},
}
MAX_ROWS = 40
ROW_WEIGHTS = st.one_of(
    st.just([1.0] * MAX_ROWS),
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=MAX_ROWS, max_size=MAX_ROWS),
)
DRAWING = {"ofs-partial", "random-selection"}  # what they draw is tested below
OTHERS = {  # tested in other files
    method
    for method in METHODS
    if find_method(method).reads != "rows" or "classes" not in find_method(method).targets
}
TESTED = sorted(set(METHODS) - DRAWING - OTHERS)


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
    """Return 0.3 times the mean norm of the rows so far that have a weight."""
    norms: list[float] = []
    constants = []
    for (x, _), weight in zip(rows, weights, strict=True):
        if weight:
            norms.append(float(np.sqrt(sum(value**2 for value in x.values()))))
        constants.append(0.3 * sum(norms) / max(1, len(norms)))
    return constants


def mixed_rows(seed: int, n_rows: int, n_classes: int) -> list[Row]:
    """Return rows of two columns that are rarely 0, and sparse ones.

    Four of the sparse ones have other scales, the rest one scale.
    """
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_classes, n_rows)
    X = random.standard_normal((n_rows, N_FEATURES)) * (random.random((n_rows, N_FEATURES)) < 0.35)
    X[:, 2:6] *= [100.0, 12.0, 0.01, 0.08]  # some near the limit between two scales
    X[:, 0] = random.standard_normal(n_rows) + 5.0
    X[:, 1] = random.standard_normal(n_rows) - 0.5
    X[random.random(n_rows) < 0.1, :2] = 0.0
    rows = X.astype(np.float32).tolist()
    return [
        ({j: x for j, x in enumerate(row) if x}, code)
        for row, code in zip(rows, codes.tolist(), strict=True)
    ]


def assert_agrees(selector: Any, expected: dict[str, Any], rtol: float, atol: float) -> None:
    ids, weights, scores = selector.learner.kept_by_state(selector.learner.memory.state)
    by_id: dict[int, NDArray[Any]] = dict(zip(ids.tolist(), weights, strict=True))
    wanted = {j: w for j, w in expected["weights"].items() if any(w) or j in by_id}
    assert sorted(by_id) == sorted(wanted)
    assert (selector.mistakes_, selector.updates_) == (expected["mistakes"], expected["updates"])
    for j, score in zip(ids.tolist(), scores.tolist(), strict=True):
        np.testing.assert_allclose(by_id[j], wanted[j], rtol=rtol, atol=atol)
        np.testing.assert_allclose(score, expected["scores"][j], rtol=rtol, atol=atol)
    np.testing.assert_allclose(
        selector.learner.rule.bias(selector.learner.memory.state),
        expected["bias"],
        rtol=rtol,
        atol=atol,
    )


def expected_of(
    method: str,
    rows: list[Row],
    n_classes: int,
    weights: list[float],
    intercept: bool,
    params: dict[str, Any],
) -> dict[str, Any]:
    if method == "sofs":
        return sofs.learn(rows, n_classes, weights, fit_intercept=intercept, **params)
    constants = intercept_inputs(rows, weights) if intercept else None
    oracle: dict[str, Any] = import_module(f"tests.oracles.{method.replace('-', '_')}").learn(
        rows, n_classes, weights, constants, **params
    )
    return oracle


def as_learned(
    rows: list[Row], weights: list[float], normalize: bool | str
) -> tuple[list[Row], float]:
    """Return the rows as an algorithm gets them, and the closest call.

    Rows of weight 0 are absent and stay as they are.
    """
    if normalize is False:
        return rows, float("inf")
    counting = [t for t, weight in enumerate(weights) if weight]
    raw = [rows[t][0] for t in counting]
    values, closest_call = (
        prepared(raw) if normalize == "auto" else ([unit(x) for x in raw], float("inf"))
    )
    result = list(rows)
    for t, x in zip(counting, values, strict=True):
        result[t] = x, rows[t][1]
    return result, closest_call


def as_predicted(
    rows: list[Row], weights: list[float], normalize: bool | str
) -> tuple[list[dict[int, float]], float]:
    """Return the rows as they are scored after learning, and the closest call."""
    raw = [x for x, _ in rows]
    if normalize == "auto":
        return prepare_rows_to_predict(
            [x for x, weight in zip(raw, weights, strict=True) if weight], raw
        )
    return [unit(x) for x in raw] if normalize else raw, float("inf")


@pytest.mark.parametrize("method", sorted(set(TESTED) - {"sofs"}))
@settings(max_examples=examples(400), deadline=None)
@given(data=st.data())
def test_selector_agrees_with_its_oracle(method: str, data: Any) -> None:
    n_classes = data.draw(st.sampled_from([2, 2, 3, 4]))
    rows = data.draw(
        st.lists(
            st.tuples(ROW_VALUES, st.integers(0, n_classes - 1)), min_size=1, max_size=MAX_ROWS
        )
    )
    weights = data.draw(ROW_WEIGHTS)[: len(rows)]
    intercept = data.draw(st.booleans())
    params = {name: data.draw(values) for name, values in PARAMS[method].items()}
    expected = expected_of(method, rows, n_classes, weights, intercept, params)
    assume(expected["closest_call"] > 1e-5)
    selector = estimator_class(method)(
        **params, fit_intercept=intercept, normalize=False, class_weight=None
    )
    selector.start(N_FEATURES, range(n_classes)).partial_fit_block(block_of(rows, weights))
    if method == "pet" and not intercept and params["forget"] is None:
        assert_agrees(selector, expected, rtol=0.0, atol=0.0)
    else:
        assert_agrees(selector, expected, rtol=1e-9, atol=1e-10)


@settings(max_examples=examples(1000), deadline=None)
@given(data=st.data())
def test_sofs_agrees_with_its_oracle(data: Any) -> None:
    n_classes = data.draw(st.sampled_from([2, 2, 3, 4]))
    lengths = st.sampled_from([1.0] * 9 + [64.0])  # some rows are far longer than the others
    drawn = st.tuples(ROW_VALUES, lengths, st.integers(0, n_classes - 1))
    rows = [
        ({j: value * length for j, value in x.items()}, code)
        for x, length, code in data.draw(st.lists(drawn, min_size=1, max_size=MAX_ROWS))
    ]
    normalize = data.draw(st.sampled_from([False, False, "l2", "auto"]))
    compare("sofs", data, rows, n_classes, normalize, least_distance=1e-5)


def rows_of_classes(seed: int, n_rows: int, n_classes: int) -> list[Row]:
    """Return rows without ties whose class depends on a few features.

    Many of them are learned well.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, N_FEATURES)) * (random.random((n_rows, N_FEATURES)) < 0.5)
    X[n_rows // 2] = 0.0
    scores = X[:, :n_classes] + 0.4 * random.standard_normal((n_rows, n_classes))
    rows = X.astype(np.float32).tolist()
    codes = scores.argmax(axis=1).tolist()
    return [
        ({j: x for j, x in enumerate(row) if x}, code)
        for row, code in zip(rows, codes, strict=True)
    ]


@pytest.mark.parametrize(
    ("n_classes", "update"), [(2, "max_score"), (3, "uniform"), (5, "max_score")]
)
@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("forget", [None, 2.0, 30.0])
def test_sofs_agrees_with_its_oracle_over_longer_streams(
    n_classes: int, update: str, criterion: str, forget: float | None
) -> None:
    """Streams are so long that old precisions are rescaled; rows come in several blocks."""
    form: dict[str, Any] = {
        "update": update,
        "criterion": criterion,
        "forget": forget,
        "n_features_to_select": 4,
    }
    form |= {"fit_intercept": True, "gamma": 0.5}
    compared = 0
    for seed in range(8):
        if compared == 2:
            break
        rows = rows_of_classes(seed, 120, n_classes)
        weights = (
            np.random.default_rng(seed)
            .choice([0.0, 0.5, 1.0, 2.0], len(rows), p=[0.1, 0.2, 0.5, 0.2])
            .tolist()
        )
        expected = sofs.learn(rows, n_classes, weights, **form)
        if expected["closest_call"] < 1e-5:
            continue
        compared += 1
        selector = ss.SOFS(**form, normalize=False, class_weight=None).start(
            N_FEATURES, range(n_classes)
        )
        for first in (0, 50, 100):
            part = slice(first, first + 50)
            selector.partial_fit_block(block_of(rows[part], weights[part]))
        if forget and criterion == "confidence" and n_classes > 2:
            # The scores may be stale.
            expected["scores"] = dict(
                zip(
                    *selector.learner.kept_by_state(selector.learner.memory.state)[::2], strict=True
                )
            )
        assert_agrees(selector, expected, rtol=1e-4, atol=1e-5)
    assert compared == 2


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sofs_and_its_curve_do_not_depend_on_blocks(criterion: str, n_classes: int) -> None:
    rows, models = rows_of_classes(7, 80, n_classes), []
    for size in (1, 80):
        selector = ss.SOFS(4, criterion=criterion, curve=[1, 2], normalize=False, class_weight=None)
        selector.start(N_FEATURES, range(n_classes))
        for first in range(0, 80, size):
            selector.partial_fit_block(block_of(rows[first : first + size], [1.0] * size))
        models.append(selector.model().arrays)
    for name, array in models[0].items():
        np.testing.assert_array_equal(models[1][name], array, err_msg=name)


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize(("n_classes", "value"), [(2, 2.0), (3, 3.0)])
def test_sofs_learns_nothing_from_a_margin_of_exactly_one(
    n_classes: int, value: float, criterion: str
) -> None:
    """Row one, a mistake with margin 0, makes a weight of 1/2 or 1/3."""
    selector = ss.SOFS(
        1, criterion=criterion, gamma=1.0, normalize=False, fit_intercept=False, class_weight=None
    )
    selector.start(N_FEATURES, range(n_classes))
    for x, updates in ((1.0, 1), (value, 1), (0.75 * value, 2)):
        selector.partial_fit_block(block_of([({3: x}, 1)], [1.0]))
        assert (selector.mistakes_, selector.updates_) == (1, updates)


@pytest.mark.parametrize("method", TESTED)
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_columns_of_all_kinds_are_scaled_and_learned_as_the_oracles_say(
    method: str, data: Any
) -> None:
    n_classes = data.draw(st.sampled_from([2, 3]))
    rows = mixed_rows(
        data.draw(st.integers(0, 2**32)), data.draw(st.integers(1, MAX_ROWS)), n_classes
    )
    normalize = data.draw(st.sampled_from(["l2", "auto", "auto"]))
    compare(method, data, rows, n_classes, normalize, least_distance=1e-4)


def compare(
    method: str,
    data: Any,
    rows: list[Row],
    n_classes: int,
    normalize: bool | str,
    least_distance: float,
) -> None:
    """Compare the selector with its oracle on rows, with drawn weights and parameters."""
    given_weights = data.draw(ROW_WEIGHTS)[: len(rows)]
    class_weight = data.draw(st.sampled_from([None, "auto", "balanced"]))
    intercept = data.draw(st.booleans())
    params = {name: data.draw(values) for name, values in PARAMS[method].items()}
    weights = row_weights([code for _, code in rows], n_classes, given_weights, class_weight)
    learned, learning = as_learned(rows, weights, normalize)
    to_predict, predicting = as_predicted(rows, weights, normalize)
    expected = expected_of(method, learned, n_classes, weights, intercept, params)
    assume(min(learning, predicting, expected["closest_call"]) > least_distance)

    selector = estimator_class(method)(
        **params, fit_intercept=intercept, normalize=normalize, class_weight=class_weight
    ).start(N_FEATURES, range(n_classes))
    block = block_of(rows, given_weights)
    selector.partial_fit_block(block)
    if params.get("forget") and params.get("criterion") == "confidence" and n_classes > 2:
        # The scores may be stale.
        expected["scores"] = dict(
            zip(*selector.learner.kept_by_state(selector.learner.memory.state)[::2], strict=True)
        )
    assert_agrees(selector, expected, rtol=1e-4, atol=1e-5)  # values and precisions are float32
    if method == "sofs" and any(weights):
        wanted = [sofs.predict(expected, x) for x in to_predict]
        scores = selector.learner.results.predictor().score(block).reshape(len(rows), -1)
        np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-4)


@settings(max_examples=examples(300), deadline=None)
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
    selector = ss.OFSPartial(
        budget, epsilon=epsilon, fit_intercept=intercept, class_weight=None, random_state=seed
    )
    selector.start(n_features=N_FEATURES, classes=[0, 1])
    asked: list[set[int] | None] = []
    norms: list[float] = []
    constants = []
    for x, code in rows:
        ids = selector.ask()
        assert ids.size <= budget
        assert (np.diff(ids) > 0).all()
        explored = bool(selector.learner.memory.state.question[EXPLORED])
        assert not explored or ids.size == min(budget, N_FEATURES)
        asked.append(set(ids.tolist()) if explored else None)
        seen = [x.get(j, 0.0) for j in ids.tolist()]
        norms.append(float(np.sqrt(sum(value**2 for value in seen))))
        constants.append(0.3 * sum(norms) / len(norms))
        selector.tell(seen, code)
    expected = ofs_partial.learn(
        rows, asked, N_FEATURES, budget, epsilon, constants=constants if intercept else None
    )
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
    n_runs = 400
    for seed in range(n_runs):
        selector = ss.RandomSelection(
            3, normalize=False, fit_intercept=False, random_state=seed
        ).partial_fit(X, [1], classes=[0, 1])
        kept[selector.selection().indices] += 1
    assert kept.sum() == 3 * n_runs
    assert (np.abs(kept - 0.3 * n_runs) < 5 * np.sqrt(n_runs * 0.3 * 0.7)).all()


def test_random_attributes_are_a_fresh_draw_for_every_row() -> None:
    X, y = np.ones((3000, 10)), np.tile([0, 1], 1500)
    selector = ss.PET(
        10, attributes="random", normalize=False, fit_intercept=False, random_state=0
    ).fit(X, y)
    assert selector.n_rows_ == 3000
    drawing = ss.PET(
        2, attributes="random", normalize=False, fit_intercept=False, random_state=0
    ).start(10, [0, 1])
    seen = np.zeros(10)
    for _ in range(1000):
        block = RowBlock(np.array([0, 10]), np.arange(10), np.ones(10, np.float32), None, 10)
        rows = drawing.learner.inputs.make_rows(
            block, drawing.learner.memory, drawing.learner.rule, np.zeros(1, np.int64), np.ones(1)
        )
        assert rows.indices.size == 2
        seen[rows.indices] += 1
    assert (np.abs(seen - 200) < 5 * np.sqrt(1000 * 0.2 * 0.8)).all()
