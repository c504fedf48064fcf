"""Models that learned different rows become one."""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.blocks import RowBlock, dense_block
from streamsieve.estimators import as_estimator
from streamsieve.model import Model
from streamsieve.registry import METHODS, learner_class, merge_models
from streamsieve.selectors.rows.baselines import AROWLearner
from streamsieve.selectors.rows.sofs import SOFSLearner

from .oracles import merging as oracle
from .oracles.merging import INTERCEPT
from .paths import TEST, TRAIN

Row = tuple[dict[int, float], int]

N_FEATURES = 12
MERGING = (SOFSLearner, AROWLearner)
VARIANTS: list[tuple[Any, dict[str, Any]]] = [
    (SOFSLearner, {}),
    (SOFSLearner, {"criterion": "confidence"}),
    *((SOFSLearner, variant) for variant in SOFSLearner.check_variants),
    (SOFSLearner, {"normalize": "standard"}),
    (AROWLearner, {}),
    (AROWLearner, {"normalize": "standard"}),
]


def block_of(rows: list[Row], width: int = N_FEATURES, dense: bool = False) -> RowBlock:
    y = np.array([code for _, code in rows])
    if dense:
        matrix = np.zeros((len(rows), width))
        for i, (x, _) in enumerate(rows):
            matrix[i, list(x)] = list(x.values())
        return dense_block(matrix, y)
    ids = [sorted(x) for x, _ in rows]
    return RowBlock(
        np.cumsum([0, *map(len, ids)]),
        np.array([j for row in ids for j in row], np.int64),
        np.array([x[j] for (x, _), row in zip(rows, ids, strict=True) for j in row], np.float32),
        y,
        width,
    )


def random_rows(n: int, seed: int, n_classes: int = 2, n_features: int = N_FEATURES) -> list[Row]:
    """Rows of a few features each, the first of which say something about the class."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(n):
        code = int(random.integers(n_classes))
        ids = random.choice(n_features, random.integers(1, 6), replace=False).tolist()
        rows.append(({j: float(random.normal((code - 0.5) * (j < 4))) or 1.0 for j in ids}, code))
    return rows


def started(cls: Any, n_classes: int = 2, width: int | None = N_FEATURES, **params: Any) -> Any:
    return cls(**{"n_features_to_select": 5, **params}).start(width, range(n_classes))


def gone_on(model: Model, rows: list[Row], width: int = N_FEATURES, dense: bool = False) -> Any:
    """A learner that goes on from a model with some rows; the model stays as it is."""
    learner = learner_class(model.method).from_model(model.copy())
    return learner.partial_fit_block(block_of(rows, width, dense)) if rows else learner


def merged(base: Model, parts: list[Any], damp: bool = False) -> Any:
    model = merge_models(base, [part.model() for part in parts], damp)
    return learner_class(model.method).from_model(model)


def contents(learner: Any) -> dict[str, Any]:
    """What a learner has, feature by feature, as the oracle takes it: read from the arrays one by one."""
    state = learner.memory.state
    n_vectors = state.bias.shape[0]
    scale = float(state.scale[0]) if "scale" in state._fields else 1.0
    precision, weight = {}, {}
    for position, cell in enumerate(state.cells):
        j = position if learner.memory.addresses.direct else int(learner.memory.addresses.ids[position])
        entries = np.atleast_1d(cell)
        first = struct.unpack("<i", entries[0].tobytes())[0] if entries.dtype != np.float64 else 0
        if not entries.any():
            continue
        if first < 0:
            excess = np.atleast_1d(state.excess[-1 - first]).tolist()
            weight[j] = np.atleast_1d(state.weight[-1 - first]).tolist()
        else:
            numbers = entries.view(np.float32).tolist() if entries.dtype == np.int32 else entries.tolist()
            excess, weight[j] = numbers[:n_vectors], numbers[n_vectors:] or [0.0] * n_vectors
        precision[j] = [1.0 + e * scale for e in excess]
    precision[INTERCEPT] = (1.0 + state.bias[:, 1] * scale).tolist()
    weight[INTERCEPT] = state.bias[:, 0].tolist()
    return {
        "precision": precision,
        "weight": weight,
        "rows": learner.n_rows_,
        "nonzeros": learner.n_nonzero_,
        "mistakes": learner.mistakes_,
        "updates": learner.updates_,
    }


def assert_same(a: Any, b: Any, rtol: float = 1e-6) -> None:
    """Two learners that have learned the same, to rounding."""
    ours, theirs = contents(a), contents(b)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        if isinstance(values, dict):
            assert values.keys() == theirs[name].keys()
            for j in values:
                np.testing.assert_allclose(values[j], theirs[name][j], rtol=rtol, atol=1e-7)
        else:
            assert values == theirs[name]
    assert a.selection().indices.tolist() == b.selection().indices.tolist()
    np.testing.assert_allclose(a.selection().scores, b.selection().scores, rtol=10 * rtol)
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.memory.labels.counts.tolist() == b.memory.labels.counts.tolist()


VALUES = st.integers(-8, 8).filter(bool).map(lambda quarters: quarters / 4)
ROW_VALUES = st.dictionaries(st.integers(0, N_FEATURES - 1), VALUES, max_size=6)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_merging_agrees_with_its_oracle(data: Any) -> None:
    n_classes = data.draw(st.sampled_from([2, 2, 3, 4]))
    cls = data.draw(st.sampled_from([SOFSLearner, SOFSLearner, AROWLearner]))
    params: dict[str, Any] = {
        "gamma": data.draw(st.sampled_from([0.25, 1.0, 2.0])),
        "fit_intercept": data.draw(st.booleans()),
    }
    budget = data.draw(st.integers(1, 8))
    if cls is SOFSLearner:
        params["criterion"] = data.draw(st.sampled_from(["snr", "confidence"]))
        params["forget"] = data.draw(st.sampled_from([None, None, 10.0, 0.4]))
    damp = data.draw(st.booleans())
    rows = st.lists(st.tuples(ROW_VALUES, st.integers(0, n_classes - 1)), max_size=20)
    base = gone_on(started(cls, n_classes, n_features_to_select=budget, **params).model(), data.draw(rows))
    parts = [gone_on(base.model(), part) for part in data.draw(st.lists(rows, min_size=2, max_size=4))]
    expected = oracle.merge(
        contents(base),
        [contents(part) for part in parts],
        n_classes=n_classes,
        damp=damp,
        forget=params.get("forget"),
        criterion=params.get("criterion"),
        budget=budget,
    )
    assume(expected.get("closest_call", 1.0) > 1e-5)
    learner = merged(base.model(), parts, damp)
    found = contents(learner)
    for name in ("rows", "nonzeros", "mistakes", "updates"):
        assert found[name] == expected[name]
    for name in ("precision", "weight"):
        for j in expected[name].keys() | found[name].keys():
            default = [name == "precision"] * (1 if n_classes == 2 else n_classes)
            ours, theirs = found[name].get(j, default), expected[name].get(j, default)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    if cls is SOFSLearner:
        ids, _, scores = learner._kept(learner.memory.state)
        assert sorted(ids.tolist()) == sorted(expected["scores"])
        assert ids.size <= budget
        for j, score in zip(ids.tolist(), scores.tolist(), strict=True):
            np.testing.assert_allclose(score, expected["scores"][j], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("cls", "params"), VARIANTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_part_is_the_merged_model(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    base = gone_on(started(cls, n_classes, **params).model(), random_rows(30, 0, n_classes))
    part = gone_on(base.model(), random_rows(60, 1, n_classes))
    same = merged(base.model(), [gone_on(part.model(), [])])
    rows, more = block_of(random_rows(50, 2, n_classes)), random_rows(40, 3, n_classes)
    assert_same(same, part, rtol=0)
    np.testing.assert_array_equal(same.scorer()(rows), part.scorer()(rows))
    assert_same(gone_on(same.model(), more), gone_on(part.model(), more), rtol=0)


@pytest.mark.parametrize(("cls", "params"), VARIANTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_part_without_rows_adds_nothing(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    base = gone_on(
        started(cls, n_classes, n_features_to_select=N_FEATURES, **params).model(), random_rows(30, 0, n_classes)
    )
    part = gone_on(base.model(), random_rows(60, 1, n_classes))
    same = merged(base.model(), [gone_on(base.model(), []), part, gone_on(base.model(), [])])
    rows, more = block_of(random_rows(50, 2, n_classes)), random_rows(40, 3, n_classes)
    np.testing.assert_allclose(same.scorer()(rows), part.scorer()(rows), rtol=1e-5, atol=1e-6)
    ours, theirs = contents(gone_on(same.model(), more)), contents(gone_on(part.model(), more))
    for name in ("precision", "weight"):
        for j, values in theirs[name].items():
            np.testing.assert_allclose(ours[name][j], values, rtol=1e-4, atol=1e-5)
    for name in ("rows", "nonzeros", "mistakes", "updates"):
        assert ours[name] == theirs[name]


@pytest.mark.parametrize(("cls", "params"), VARIANTS)
@pytest.mark.parametrize("damp", [False, True])
def test_the_order_of_the_parts_does_not_matter(cls: Any, params: dict[str, Any], damp: bool) -> None:
    base = gone_on(started(cls, 3, **params).model(), random_rows(20, 0, 3))
    parts = [gone_on(base.model(), random_rows(10 + 20 * seed, seed, 3)) for seed in (1, 2, 3)]
    assert_same(merged(base.model(), parts, damp), merged(base.model(), parts[::-1], damp))


@pytest.mark.parametrize(("cls", "params"), VARIANTS)
def test_features_unseen_by_the_base_and_by_some_parts(cls: Any, params: dict[str, Any]) -> None:
    """Parts that share no feature: each one's precisions are those of the part that has met it."""
    base = started(cls, **params)
    apart = [[({3 * part + j % 3: v for j, v in x.items()}, y) for x, y in random_rows(30, part)] for part in range(3)]
    parts = [gone_on(base.model(), rows) for rows in apart]
    found = contents(merged(base.model(), parts))["precision"]
    left = {j: values for part in parts for j, values in contents(part)["precision"].items() if j != INTERCEPT}
    assert found.keys() - {INTERCEPT} == left.keys()
    for j, values in left.items():
        np.testing.assert_allclose(found[j], values, rtol=1e-6)


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("budget", [1, 3, 8, 12, 20])
def test_the_budget_is_kept_exactly(criterion: str, n_classes: int, budget: int) -> None:
    base = started(SOFSLearner, n_classes, n_features_to_select=budget, criterion=criterion)
    parts = [gone_on(base.model(), random_rows(40, seed, n_classes)) for seed in range(4)]
    assert len(merged(base.model(), parts).selection().indices) == min(budget, N_FEATURES)


@pytest.mark.parametrize("criterion", ["snr", "confidence"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_of_equal_features_the_lower_ids_are_kept(criterion: str, n_classes: int) -> None:
    base = started(SOFSLearner, n_classes, n_features_to_select=4, criterion=criterion, fit_intercept=False)
    rows: list[Row] = [(dict.fromkeys(range(8, 12), 1.0), 1), (dict.fromkeys(range(4, 8), 1.0), 1)]
    parts = [gone_on(base.model(), rows) for _ in range(2)]
    assert parts[0].selection().indices.tolist() == [8, 9, 10, 11]  # in a learner the first to come stay
    assert merged(base.model(), parts).selection().indices.tolist() == [4, 5, 6, 7]


def mapped(rows: list[Row], far: int) -> list[Row]:
    """The same rows with every second feature far away; the order of ids stays."""
    return [({j if j < 6 else far + j: v for j, v in x.items()}, y) for x, y in rows]


@pytest.mark.parametrize(("cls", "params"), VARIANTS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_plans_of_addresses_mix(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    """A base and one part by ids, another part by a table: the answer is that of small ids."""
    far = 1 << 40
    near_base = gone_on(started(cls, n_classes, None, **params).model(), [({0: 1.0}, 0)])
    far_base = gone_on(started(cls, n_classes, None, **params).model(), [({0: 1.0}, 0)], 1)
    low = [({j % 6: v for j, v in x.items()}, y) for x, y in random_rows(50, 1, n_classes)]
    others = [random_rows(50, seed, n_classes) for seed in (2, 3)]
    near = [gone_on(near_base.model(), rows) for rows in (low, *others)]
    distant = [
        gone_on(far_base.model(), low, 6),
        *(gone_on(far_base.model(), mapped(rows, far), far + N_FEATURES) for rows in others),
    ]
    assert [part.memory.addresses.direct for part in distant] == [True, False, False]
    a, b = merged(near_base.model(), near), merged(far_base.model(), distant)
    assert b.n_features_in_ == far + N_FEATURES
    assert b.selection().indices.tolist() == [j if j < 6 else far + j for j in a.selection().indices.tolist()]
    assert b.selection().scores.tolist() == a.selection().scores.tolist()
    rows, more = random_rows(30, 4, n_classes), random_rows(30, 5, n_classes)
    expected = a.scorer()(block_of(rows))
    assert b.scorer()(block_of(mapped(rows, far), far + N_FEATURES)).tolist() == expected.tolist()
    a, b = gone_on(a.model(), more), gone_on(b.model(), mapped(more, far), far + N_FEATURES)
    assert b.selection().scores.tolist() == a.selection().scores.tolist()


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("cls", MERGING)
@pytest.mark.parametrize("sizes", [(40, 30, 1, 25), (0, 30, 20), (25, 0, 1)])
def test_moments_are_those_of_all_rows(cls: Any, dense: bool, sizes: tuple[int, ...]) -> None:
    shards = [random_rows(n, seed) for seed, n in enumerate(sizes)]
    shards[1] = [({j: v for j, v in x.items() if j != 7}, y) for x, y in shards[1]]
    base = gone_on(started(cls, normalize="standard").model(), shards[0], dense=dense)
    learner = merged(base.model(), [gone_on(base.model(), rows, dense=dense) for rows in shards[1:]])
    rows = [x for shard in shards for x, _ in shard]
    moments = learner.memory.moments
    assert moments.seen[0] == len(rows)
    assert moments.dense[0] == dense
    for position, j in enumerate(learner.memory.addresses.ids[: learner.memory.addresses.used].tolist()):
        total, squares, mean, deviations = oracle.moments(rows, j)
        wanted = (mean, deviations) if dense else (total, squares)
        np.testing.assert_allclose([moments.first[position], moments.second[position]], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cls", MERGING)
def test_the_mean_norm_is_that_of_all_rows(cls: Any) -> None:
    shards = [random_rows(20 * (seed + 1), seed) for seed in range(4)]
    base = gone_on(started(cls).model(), shards[0])
    learner = merged(base.model(), [gone_on(base.model(), rows) for rows in shards[1:]])
    whole = gone_on(started(cls).model(), [row for shard in shards for row in shard])
    np.testing.assert_allclose(learner.memory.moments.totals, whole.memory.moments.totals, rtol=1e-12)
    assert learner.memory.labels.counts.tolist() == whole.memory.labels.counts.tolist()
    assert (learner.n_rows_, learner.n_nonzero_) == (whole.n_rows_, whole.n_nonzero_)


def test_a_curve_adds_up_and_is_ranked_anew() -> None:
    params = {"n_features_to_select": 6, "curve": [1, 2, 4]}
    base = gone_on(started(SOFSLearner, **params).model(), random_rows(25, 0))
    parts = [gone_on(base.model(), random_rows(40, seed)) for seed in (1, 2)]
    learner = merged(base.model(), parts)
    mistakes = [one.memory.curve.mistakes for one in (base, *parts)]
    curve = learner.memory.curve
    assert curve.mistakes.tolist() == (mistakes[1] + mistakes[2] - mistakes[0]).tolist()
    assert curve.mistakes[-1] == learner.mistakes_
    ids, _, scores = learner._kept(learner.memory.state)
    ranks = {int(j): rank for rank, j in enumerate(ids[np.lexsort((ids, -scores))])}
    expected = [next(g for g, k in enumerate([1, 2, 4, 6]) if ranks[int(j)] < k) for j in ids]
    assert curve.bucket[: ids.size].tolist() == expected
    assert gone_on(learner.model(), random_rows(40, 3)).curve_["accuracy"].size == 4


def test_auto_settles_by_the_merged_curve() -> None:
    base = started(SOFSLearner, n_features_to_select="auto")
    parts = [gone_on(base.model(), random_rows(80, seed)) for seed in range(3)]
    learner = merged(base.model(), parts)
    assert learner.memory.budget == N_FEATURES
    assert 1 <= learner.n_features_selected_ <= N_FEATURES
    assert len(learner.selection().indices) == learner.n_features_selected_


def test_what_all_parts_forget_is_forgotten_once_per_row() -> None:
    """A feature of the base that no part meets: its precision is as if all the rows had come one after another."""
    base = gone_on(started(SOFSLearner, forget=10.0).model(), [({0: 3.0, 1: 1.0}, 1)])
    shards = [[({2: v[0]}, y) for v, y in zip(np.ones((20, 1)), [0, 1] * 10, strict=True)] for _ in range(3)]
    learner = merged(base.model(), [gone_on(base.model(), rows) for rows in shards])
    sequential = gone_on(base.model(), [row for rows in shards for row in rows])
    for j in (0, 1):
        np.testing.assert_allclose(
            contents(learner)["precision"][j], contents(sequential)["precision"][j], rtol=1e-6, atol=0
        )
        np.testing.assert_allclose(contents(learner)["weight"][j], contents(sequential)["weight"][j], rtol=1e-6)
    assert learner.memory.state.scale[0] == 1.0


def test_a_precision_beyond_float32_stays_one() -> None:
    base = started(SOFSLearner, criterion="confidence")
    parts = [gone_on(base.model(), [({0: 1e30, 1: 1.0, 2 + seed: 2.0}, seed % 2)]) for seed in range(3)]
    assert np.isinf(parts[0].memory.state.excess).any()
    learner = merged(base.model(), parts)
    assert learner.selection().indices[np.argmax(learner.selection().scores)] == 0
    assert np.isfinite(learner._kept(learner.memory.state)[1]).all()


def test_rounds_of_merging_go_on_from_bytes() -> None:
    model = started(SOFSLearner, 3, curve=True, forget=200.0, normalize="standard+l2").model()
    for turn in range(5):
        sent = model.to_bytes()
        parts = [gone_on(Model.from_bytes(sent), random_rows(20, 10 * turn + part, 3)).model() for part in range(3)]
        model = merge_models(Model.from_bytes(sent), [Model.from_bytes(part.to_bytes()) for part in parts])
    learner = SOFSLearner.from_model(model)
    assert learner.n_rows_ == 5 * 3 * 20
    assert learner.memory.labels.counts.sum() == 300
    assert learner.mistakes_ < 250


def test_models_given_are_not_changed() -> None:
    base = gone_on(started(SOFSLearner, 3, normalize="standard", curve=True).model(), random_rows(20, 0, 3)).model()
    parts = [gone_on(base, random_rows(20, seed, 3)).model() for seed in (1, 2)]
    before = [model.to_bytes() for model in (base, *parts)]
    learner = SOFSLearner.from_model(merge_models(base, parts))
    learner.partial_fit_block(block_of(random_rows(20, 4, 3)))
    assert [model.to_bytes() for model in (base, *parts)] == before


def test_nothing_learned_anywhere() -> None:
    base = started(SOFSLearner, width=None).model()
    learner = SOFSLearner.from_model(merge_models(base, [base.copy(), base.copy()]))
    assert learner.n_rows_ == 0
    assert gone_on(learner.model(), random_rows(20, 0)).n_rows_ == 20


def test_names_and_text_classes_are_carried_over() -> None:
    """Classes given as text, as on a command line, take the kind of the labels where rows were learned."""
    names = [f"gene {j}" for j in range(N_FEATURES)]
    base = SOFSLearner(4).start(N_FEATURES, ["0", "1"], names).model()
    parts = [gone_on(base, rows) for rows in (random_rows(30, 1), [], random_rows(30, 2))]
    learner = merged(base, parts)
    assert learner.classes_.tolist() == [0, 1]
    assert learner.selection().names.tolist() == [f"gene {j}" for j in learner.selection().indices]


def test_an_estimator_can_be_made_of_it() -> None:
    base = started(SOFSLearner).model()
    estimator = as_estimator(merged(base, [gone_on(base, random_rows(50, seed)) for seed in (1, 2)]))
    assert estimator.predict(np.eye(N_FEATURES)).shape == (N_FEATURES,)
    assert estimator.partial_fit(np.eye(N_FEATURES), np.arange(N_FEATURES) % 2).n_rows_ == 100 + N_FEATURES


# ---- what is refused


@pytest.mark.parametrize("method", METHODS)
def test_methods_that_merge_say_so(method: str) -> None:
    cls = learner_class(method)
    assert cls.merges == (method in ("sofs", "arow"))
    if not cls.merges:
        model = Model(method, {}, {}, {})
        with pytest.raises(ss.UsageError, match=f"models of {method} cannot be merged"):
            merge_models(model, [model])


def other(change: str) -> Any:
    """A learner that cannot have gone on from the base of the next test."""
    params: dict[str, Any] = {"n_features_to_select": 0.5}
    if change == "method":
        return AROWLearner(0.5).start(N_FEATURES, [0, 1])
    if change == "parameters":
        params["gamma"] = 0.25
    classes: Any = {"classes": [0, 2], "more classes": [0, 1, 2], "found classes": None}.get(change, [0, 1])
    width = 100 if change == "budget" else N_FEATURES
    names = [f"f{j}" for j in range(width)] if change == "names" else None
    return SOFSLearner(**params).start(width, classes, names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("method", "part 2 is a model of arow; sofs merges its own alone"),
        ("parameters", "part 2 has gamma=0.25 and the base gamma=1.0"),
        ("classes", r"part 2 has the classes \[0, 2\], not \[0, 1\]"),
        ("more classes", r"part 2 has the classes \[0, 1, 2\], not \[0, 1\]"),
        ("found classes", "part 2 found its classes on the way"),
        ("budget", "part 2 has a budget of 50 and the base one of 6"),
        ("names", "part 2 has other names"),
        ("nothing", "part 2 has learned less than the base"),
    ],
)
def test_a_part_that_does_not_belong_is_refused(change: str, message: str) -> None:
    base = gone_on(started(SOFSLearner, n_features_to_select=0.5).model(), random_rows(20, 0))
    parts = [gone_on(base.model(), random_rows(20, 1)).model(), other(change).model()]
    with pytest.raises(ss.UsageError, match=message):
        merge_models(base.model(), parts)


def test_no_part_is_refused() -> None:
    with pytest.raises(ss.UsageError, match="nothing to merge"):
        merge_models(started(SOFSLearner).model(), [])


def test_dense_and_sparse_rows_are_not_standardised_together() -> None:
    base = started(SOFSLearner, normalize="standard").model()
    parts = [gone_on(base, random_rows(20, 1), dense=dense) for dense in (False, True)]
    with pytest.raises(ss.UsageError, match="some parts learned dense rows"):
        merged(base, parts)


def test_a_damaged_part_is_refused_by_name() -> None:
    base = started(SOFSLearner).model()
    parts = [gone_on(base, random_rows(20, seed)).model().copy() for seed in (1, 2)]
    parts[1].arrays["state.member"][0] = 5000
    with pytest.raises(ss.DataError, match="part 2: not a streamsieve model"):
        merge_models(base, parts)


# ---- size and accuracy

WIDE = """
import numpy as np
from streamsieve.blocks import RowBlock
from streamsieve.machine import peak_memory
from streamsieve.registry import merge_models
from streamsieve.selectors.rows.sofs import SOFSLearner

def part(first, width):
    ids, ones = np.arange(first, first + 1000), np.ones(1000, np.float32)
    block = RowBlock(np.array([0, 1000]), ids, ones, np.array([1]), width)
    return SOFSLearner(100).start(width, [0, 1]).partial_fit_block(block)

merge_models(SOFSLearner(100).start(5000, [0, 1]).model(), [part(0, 5000).model(), part(500, 5000).model()])
width = 200_000_000
parts = [part(at, width) for at in (0, 99_999_500, width - 1000)]
assert all(one.memory.addresses.direct for one in parts)
base = SOFSLearner(100).start(width, [0, 1]).model()
before = peak_memory()
model = merge_models(base, [one.model() for one in parts])
print(model.arrays["ids"].size, peak_memory() - before)
"""


def test_memory_is_that_of_the_touched_features() -> None:
    done = subprocess.run([sys.executable, "-c", WIDE], check=True, capture_output=True, text=True)
    features, more = map(int, done.stdout.split())
    assert features == 3000
    assert more < 50_000_000  # 1,600 MB would be one array of 8 bytes per feature


@pytest.mark.parametrize(
    ("method", "params"),
    [("sofs", {}), ("sofs", {"criterion": "confidence"}), ("sofs", {"forget": 500.0}), ("arow", {})],
)
def test_shards_of_real_rows_come_within_two_points_of_one_pass(method: str, params: dict[str, Any]) -> None:
    """Basehock in 4 shards, merged 16 times."""
    (train,), (test,) = (list(ss.open_source(path).row_blocks()) for path in (TRAIN, TEST))
    cls: Any = learner_class(method)
    start = cls(100, normalize="l2", **params).start(train.n_features, np.unique(train.y))
    model = start.model().copy()
    sequential = start.partial_fit_block(train)
    cuts = np.linspace(0, train.n_rows, 4 * 16 + 1).astype(int).tolist()
    for turn in range(16):
        parts = []
        for k in range(4):
            part = cls.from_model(model.copy())
            at = 4 * turn + k
            parts.append(part.partial_fit_block(train.rows(cuts[at], cuts[at + 1])).model())
        model = merge_models(model, parts)
    learner = cls.from_model(model)

    def accuracy(one: Any) -> float:
        return float((one.predictor()(test) == test.y).mean())

    assert learner.n_rows_ == sequential.n_rows_ == train.n_rows
    assert accuracy(learner) > accuracy(sequential) - 0.02
    assert np.intersect1d(learner.selection().indices, sequential.selection().indices).size >= 90
