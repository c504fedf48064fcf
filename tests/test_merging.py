"""Models that learned different rows become one."""

from __future__ import annotations

import struct
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.blocks import RowBlock, dense_block
from streamsieve.kernels.rows.second_order import SecondOrderState
from streamsieve.model import Model
from streamsieve.registry import METHODS, learner_class, merge_models
from streamsieve.selectors.rows import merging
from streamsieve.selectors.rows.baselines import AROWLearner
from streamsieve.selectors.rows.sofs import SOFSLearner

from .oracles import merging as oracle
from .paths import TEST, TRAIN

Row = tuple[dict[int, float], int]

N_FEATURES = 12
COUNTS = ("rows", "nonzeros", "mistakes", "updates")
CRITERIA = pytest.mark.parametrize("criterion", ["snr", "confidence"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])
EXACT = [params for params in SOFSLearner.check_variants if "max_cells" not in params]  # others are not merged
OPTIONS = ({}, {"criterion": "confidence"}, {"normalize": "standard"}, *EXACT)
ON_AROW = [(AROWLearner, {}), (AROWLearner, {"normalize": "standard"})]
VARIANTS = pytest.mark.parametrize(("cls", "params"), [*product([SOFSLearner], OPTIONS), *ON_AROW])


def block_of(rows: list[Row], width: int = N_FEATURES, dense: bool = False) -> RowBlock:
    y = np.array([code for _, code in rows])
    if dense:
        return dense_block(np.array([[x.get(j, 0.0) for j in range(width)] for x, _ in rows]), y)
    ids = [sorted(x) for x, _ in rows]
    return RowBlock(
        np.cumsum([0, *map(len, ids)]),
        np.array([j for row in ids for j in row], np.int64),
        np.array([x[j] for (x, _), row in zip(rows, ids, strict=True) for j in row], np.float32),
        y,
        width,
    )


def random_rows(n: int, seed: int, n_classes: int = 2) -> list[Row]:
    """Rows of a few features each, the first of which say something about the class."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(n):
        code = int(random.integers(n_classes))
        ids = random.choice(N_FEATURES, random.integers(1, 6), replace=False).tolist()
        rows.append(({j: float(random.normal((code - 0.5) * (j < 4))) for j in ids}, code))
    return rows


def started(cls: Any, n_classes: int = 2, width: int | None = N_FEATURES, **params: Any) -> Model:
    model: Model = (
        cls(**{"n_features_to_select": 5, "normalize": False, **params}).start(width, range(n_classes)).model()
    )
    return model


def gone_on(model: Model, rows: list[Row], width: int = N_FEATURES, dense: bool = False) -> Any:
    """A learner that goes on from a model with some rows; the model stays as it is."""
    learner: Any = learner_class(model.method).from_model(model.copy())
    return learner.partial_fit_block(block_of(rows, width, dense)) if rows else learner


def merged(base: Model, parts: list[Any], damp: bool = False) -> Any:
    model = merge_models(base, [part.model() for part in parts], damp)
    return learner_class(model.method).from_model(model)


def contents(learner: Any) -> dict[str, Any]:
    """What a learner has, feature by feature, as the oracle takes it: read from the arrays one by one."""
    state, addresses = learner.memory.state, learner.memory.addresses
    n_vectors = state.bias.shape[0]
    scale = float(state.scale[0]) if "scale" in state._fields else 1.0
    precision, weight = {}, {}
    for position, cell in enumerate(state.cells):
        j = position if addresses.direct else int(addresses.ids[position])
        entries = np.atleast_1d(cell)
        if not entries.any():
            continue
        flag = 0 if entries.dtype == np.float64 else struct.unpack("<i", entries[0].tobytes())[0]
        if flag < 0:
            excess = np.atleast_1d(state.excess[-1 - flag]).tolist()
            weight[j] = np.atleast_1d(state.weight[-1 - flag]).tolist()
        else:
            numbers = (entries.view(np.float32) if entries.dtype == np.int32 else entries).tolist()
            if isinstance(state, SecondOrderState):  # a bound, then class by class
                per_class = (len(numbers) - 1) // n_vectors
                numbers = numbers[1::per_class] + (numbers[2::2] if per_class == 2 else [])
            excess, weight[j] = numbers[:n_vectors], numbers[n_vectors:] or [0.0] * n_vectors
        precision[j] = [1.0 + e * scale for e in excess]
    precision[oracle.INTERCEPT] = (1.0 + state.bias[:, 1] * scale).tolist()
    weight[oracle.INTERCEPT] = state.bias[:, 0].tolist()
    counts = (learner.n_rows_, learner.n_nonzero_, learner.mistakes_, learner.updates_)
    return {"precision": precision, "weight": weight, **dict(zip(COUNTS, counts, strict=True))}


def assert_close(found: dict[str, Any], expected: dict[str, Any], tolerance: float) -> None:
    """Two contents are the same; what is in one of them alone is of precision 1 and weight 0."""
    for name, start in (("precision", 1.0), ("weight", 0.0)):
        for j in found[name].keys() | expected[name].keys():
            absent = [start] * len(found[name][oracle.INTERCEPT])
            ours, theirs = found[name].get(j, absent), expected[name].get(j, absent)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert [found[name] for name in COUNTS] == [expected[name] for name in COUNTS]


def assert_same(a: Any, b: Any, tolerance: float) -> None:
    """Two learners have learned the same."""
    assert_close(contents(a), contents(b), tolerance)
    assert a.selection().indices.tolist() == b.selection().indices.tolist()
    np.testing.assert_allclose(a.selection().scores, b.selection().scores, rtol=tolerance)
    assert a.known.labels.counts.tolist() == b.known.labels.counts.tolist()


VALUES = st.integers(-8, 8).filter(bool).map(lambda quarters: quarters / 4)
ROW_VALUES = st.dictionaries(st.integers(0, N_FEATURES - 1), VALUES, max_size=6)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_merging_agrees_with_its_oracle(data: Any) -> None:
    n_classes = data.draw(st.sampled_from([2, 2, 3, 4]))
    cls = data.draw(st.sampled_from([SOFSLearner, SOFSLearner, AROWLearner]))
    gamma, intercept = data.draw(st.sampled_from([0.25, 1.0, 2.0])), data.draw(st.booleans())
    budget, damp = data.draw(st.integers(1, 8)), data.draw(st.booleans())
    own = {}
    if cls is SOFSLearner:
        own["criterion"] = data.draw(st.sampled_from(["snr", "confidence"]))
        own["forget"] = data.draw(st.sampled_from([None, None, 10.0, 0.4]))
    start = started(cls, n_classes, n_features_to_select=budget, gamma=gamma, fit_intercept=intercept, **own)
    rows = st.lists(st.tuples(ROW_VALUES, st.integers(0, n_classes - 1)), max_size=20)
    base = gone_on(start, data.draw(rows))
    parts = [gone_on(base.model(), part) for part in data.draw(st.lists(rows, min_size=2, max_size=4))]
    all_contents = [contents(part) for part in parts]
    expected = oracle.merge(contents(base), all_contents, n_classes=n_classes, damp=damp, budget=budget, **own)
    assume(expected["closest_call"] > 1e-5)
    learner = merged(base.model(), parts, damp)
    assert_close(contents(learner), expected, 1e-5)
    if cls is SOFSLearner:
        ids, _, scores = learner._kept(learner.memory.state)
        found = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        assert len(found) == min(budget, len(expected["precision"].keys() - {oracle.INTERCEPT}))
        assert found == pytest.approx(expected["scores"], rel=1e-4, abs=1e-5)


@VARIANTS
@CLASSES
def test_one_part_is_the_merged_model(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    base = gone_on(started(cls, n_classes, **params), random_rows(30, 0, n_classes)).model()
    part = gone_on(base, random_rows(60, 1, n_classes))
    same = merged(base, [gone_on(part.model(), [])])
    rows, more = block_of(random_rows(50, 2, n_classes)), random_rows(40, 3, n_classes)
    assert_same(same, part, 0.0)
    assert same.scorer()(rows).tolist() == part.scorer()(rows).tolist()
    assert_same(gone_on(same.model(), more), gone_on(part.model(), more), 0.0)


@VARIANTS
@CLASSES
def test_parts_without_rows_add_nothing(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    """With room for every feature, or those may change that are kept."""
    start = started(cls, n_classes, **params, n_features_to_select=N_FEATURES)
    first, own, rows, more = (random_rows(40, seed, n_classes) for seed in range(4))
    for dense in (False, True):
        base = gone_on(start, first, dense=dense).model()
        part = gone_on(base, own, dense=dense)
        same = merged(base, [gone_on(base, []), part, gone_on(base, [])])
        found, expected = (one.scorer()(block_of(rows, dense=dense)) for one in (same, part))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        found, expected = (contents(gone_on(one.model(), more, dense=dense)) for one in (same, part))
        assert_close(found, expected, 1e-4)


@VARIANTS
@pytest.mark.parametrize("damp", [False, True])
def test_the_order_of_the_parts_does_not_matter(cls: Any, params: Any, damp: bool, monkeypatch: Any) -> None:
    base = gone_on(started(cls, 3, **params), random_rows(20, 0, 3)).model()
    parts = [gone_on(base, random_rows(10 + 20 * seed, seed, 3)) for seed in (1, 2, 3)]
    found = merged(base, parts, damp)
    assert_same(found, merged(base, parts[::-1], damp), 1e-6)
    monkeypatch.setattr(merging, "CHUNK", 5)  # nor how many features are merged in one go
    assert_same(found, merged(base, parts, damp), 0.0)


@VARIANTS
def test_a_feature_that_one_part_alone_has_met_has_its_precision(cls: Any, params: dict[str, Any]) -> None:
    base = started(cls, **params)
    apart = [[({3 * part + j % 3: v for j, v in x.items()}, y) for x, y in random_rows(30, part)] for part in range(3)]
    parts = [gone_on(base, rows) for rows in apart]
    found = contents(merged(base, parts))["precision"]
    expected = {j: values for part in parts for j, values in contents(part)["precision"].items()}
    assert found.keys() == expected.keys()
    for j in expected.keys() - {oracle.INTERCEPT}:
        np.testing.assert_allclose(found[j], expected[j], rtol=1e-6)


@CRITERIA
@CLASSES
def test_of_equal_features_the_lower_ids_are_kept(criterion: str, n_classes: int) -> None:
    gamma = 7.0 if n_classes == 2 else 8.0  # so that weights are exact
    params = {"n_features_to_select": 4, "criterion": criterion, "gamma": gamma, "fit_intercept": False}
    base = started(SOFSLearner, n_classes, **params)
    rows: list[Row] = [(dict.fromkeys(range(8, 12), 1.0), 1), (dict.fromkeys(range(4, 8), 1.0), 1)]
    parts = [gone_on(base, rows) for _ in range(2)]
    assert parts[0].selection().indices.tolist() == [8, 9, 10, 11]  # in a learner the first to come stay
    assert merged(base, parts).selection().indices.tolist() == [4, 5, 6, 7]


@VARIANTS
@CLASSES
def test_plans_of_addresses_mix(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    """A base and a part by ids, other parts by a table: the answer is that of small ids."""
    far = 1 << 40
    width = far + N_FEATURES

    def distant(rows: list[Row]) -> list[Row]:
        return [({j if j < 6 else far + j: v for j, v in x.items()}, y) for x, y in rows]

    base = gone_on(started(cls, n_classes, None, **params), [({0: 1.0}, 0)], 1).model()
    low = [({j % 6: v for j, v in x.items()}, y) for x, y in random_rows(50, 1, n_classes)]
    one, two, more = (random_rows(50, seed, n_classes) for seed in (2, 3, 4))
    far_parts = [gone_on(base, low, 6), gone_on(base, distant(one), width), gone_on(base, distant(two), width)]
    assert [part.memory.addresses.direct for part in far_parts] == [True, False, False]
    a, b = merged(base, [gone_on(base, rows) for rows in (low, one, two)]), merged(base, far_parts)
    assert b.n_features_in_ == width
    assert b.selection().indices.tolist() == [j if j < 6 else far + j for j in a.selection().indices.tolist()]
    scores = a.scorer()(block_of(more))
    assert b.scorer()(block_of(distant(more), width)).tolist() == scores.tolist()
    a, b = gone_on(a.model(), more), gone_on(b.model(), distant(more), width)
    assert b.selection().scores.tolist() == a.selection().scores.tolist()


@pytest.mark.parametrize("cls", [SOFSLearner, AROWLearner])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("sizes", [(40, 30, 1, 25), (0, 30, 20), (25, 0, 1)])
def test_moments_and_counts_are_those_of_all_rows(cls: Any, dense: bool, sizes: tuple[int, ...]) -> None:
    shards = [random_rows(n, seed) for seed, n in enumerate(sizes)]
    shards[1] = [({j: v for j, v in x.items() if j != 7}, y) for x, y in shards[1]]
    base = gone_on(started(cls, normalize="standard"), shards[0], dense=dense).model()
    memory = merged(base, [gone_on(base, rows, dense=dense) for rows in shards[1:]]).memory
    rows = [row for shard in shards for row in shard]
    assert (memory.moments.seen[0], memory.moments.dense[0]) == (len(rows), dense)
    for position, j in enumerate(memory.addresses.ids[: memory.addresses.used].tolist()):
        expected = oracle.moments([x for x, _ in rows], j, dense)
        found = memory.moments.first[position], memory.moments.second[position]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    base = gone_on(started(cls), shards[0]).model()
    memory = merged(base, [gone_on(base, shard) for shard in shards[1:]]).memory
    whole = gone_on(started(cls), rows).memory
    np.testing.assert_allclose(memory.moments.totals, whole.moments.totals, rtol=1e-12)
    assert memory.target.labels.counts.tolist() == whole.target.labels.counts.tolist()
    assert memory.counts.tolist() == whole.counts.tolist()


def test_a_curve_adds_up_and_is_ranked_anew() -> None:
    base = gone_on(started(SOFSLearner, n_features_to_select=6, curve=[1, 2, 4]), random_rows(25, 0))
    parts = [gone_on(base.model(), random_rows(40, seed)) for seed in (1, 2)]
    learner = merged(base.model(), parts)
    wrong = [one._known_curve().mistakes for one in (learner, base, *parts)]
    assert wrong[0].tolist() == (wrong[2] + wrong[3] - wrong[1]).tolist()
    assert wrong[0][-1] == learner.mistakes_
    largest = learner.memory.rungs.rungs[-1]  # of 5, which answers for 4
    ids, _, scores = learner._kept(largest.state)
    assert largest.curve.bucket[np.lexsort((ids, -scores))].tolist() == [0, 0, 0, 0, 1]
    auto = started(SOFSLearner, n_features_to_select="auto")
    learner = merged(auto, [gone_on(auto, random_rows(80, seed)) for seed in range(3)])
    assert len(learner.selection().indices) == learner.n_features_selected_ <= N_FEATURES


@CRITERIA
def test_what_no_part_meets_is_forgotten_as_if_all_rows_had_come_in_turn(criterion: str) -> None:
    base = gone_on(started(SOFSLearner, forget=10.0, criterion=criterion), [({0: 3.0, 1: 1.0}, 1)]).model()
    shard: list[Row] = [({2: 1.0}, code) for code in [0, 1] * 10]
    learner = merged(base, [gone_on(base, shard) for _ in range(3)])
    found, expected = contents(learner), contents(gone_on(base, 3 * shard))
    for name in ("precision", "weight"):
        np.testing.assert_allclose([found[name][j] for j in (0, 1)], [expected[name][j] for j in (0, 1)], rtol=1e-6)
    assert learner.memory.state.scale[0] == 1.0


def test_a_precision_beyond_float32_stays_the_largest() -> None:
    base = started(SOFSLearner, criterion="confidence", gamma=1.0)
    parts = [gone_on(base, [({0: 1e30, 1: 1.0, 2 + seed: 2.0}, seed % 2)]) for seed in range(3)]
    assert parts[0].memory.state.excess.max() == np.finfo(np.float32).max
    learner = merged(base, parts)
    assert learner.selection().indices[np.argmax(learner.selection().scores)] == 0


def test_rounds_of_merging_go_on_from_bytes_and_change_no_model_given() -> None:
    model = started(SOFSLearner, 3, curve=True, forget=200.0, normalize="standard+l2")
    for turn in range(5):
        base = Model.from_bytes(model.to_bytes())
        parts = [gone_on(base, random_rows(20, 10 * turn + part, 3)).model() for part in range(3)]
        sent = [one.to_bytes() for one in (base, *parts)]
        model = merge_models(base, [Model.from_bytes(part.to_bytes()) for part in parts])
        SOFSLearner.from_model(merge_models(base, parts)).partial_fit_block(block_of(random_rows(9, turn, 3)))
        assert [one.to_bytes() for one in (base, *parts)] == sent
    assert SOFSLearner.from_model(model).n_rows_ == 5 * 3 * 20


def test_names_and_classes_are_carried_over() -> None:
    """Classes given as text, as on a command line, take the kind of the labels where rows were learned."""
    base = (
        SOFSLearner(4, normalize=False).start(N_FEATURES, ["0", "1"], [f"gene {j}" for j in range(N_FEATURES)]).model()
    )
    learner = merged(base, [gone_on(base, rows) for rows in (random_rows(30, 1), [], random_rows(30, 2))])
    assert learner.classes_.tolist() == [0, 1]
    assert learner.selection().names.tolist() == [f"gene {j}" for j in learner.selection().indices]


def test_methods_that_do_not_merge_are_refused() -> None:
    assert [method for method in METHODS if learner_class(method).merges] == ["sofs", "arow"]
    for method in METHODS.keys() - {"sofs", "arow"}:
        with pytest.raises(ss.UsageError, match=f"models of {method} cannot be merged"):
            merge_models(Model(method, {}, {}, {}), [Model(method, {}, {}, {})])


def half(**params: Any) -> SOFSLearner:
    return SOFSLearner(0.5, normalize=False, **params)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            AROWLearner(0.5).start(N_FEATURES, [0, 1]),
            "part 2 is a model of arow; sofs merges its own alone",
        ),
        (
            half(gamma=0.25).start(N_FEATURES, [0, 1]),
            "part 2 has gamma=0.25 and the base gamma='auto'",
        ),
        (half().start(N_FEATURES, [0, 2]), r"part 2 has the classes \[0, 2\], not \[0, 1\]"),
        (
            half().start(N_FEATURES, [0, 1, 2]),
            r"part 2 has the classes \[0, 1, 2\], not \[0, 1\]",
        ),
        (half().start(N_FEATURES), "part 2 found its classes in the rows"),
        (half().start(100, [0, 1]), "part 2 has a budget of 50 and the base one of 6"),
        (half().start(N_FEATURES, [0, 1], list("abcdefghijkl")), "part 2 has other names"),
        (half().start(N_FEATURES, [0, 1]), "part 2 has learned less than the base"),
    ],
)
def test_a_part_that_does_not_belong_is_refused(other: Any, message: str) -> None:
    base = gone_on(started(SOFSLearner, n_features_to_select=0.5), random_rows(20, 0)).model()
    with pytest.raises(ss.UsageError, match=message):
        merged(base, [gone_on(base, random_rows(20, 1)), other])


def test_what_else_is_refused() -> None:
    base = started(SOFSLearner, normalize="standard")
    with pytest.raises(ss.UsageError, match="nothing to merge"):
        merge_models(base, [])
    assert merged(base, [gone_on(base, []), gone_on(base, [])]).n_rows_ == 0
    parts = [gone_on(base, random_rows(20, 1), dense=dense).model() for dense in (False, True)]
    with pytest.raises(ss.UsageError, match="some parts learned dense rows"):
        merge_models(base, parts)
    parts[1].arrays["state.member"][0] = 5000
    with pytest.raises(ss.DataError, match="part 2: not a streamsieve model"):
        merge_models(base, parts)


WIDE = """
import numpy as np
from streamsieve.blocks import RowBlock
from streamsieve.machine import peak_memory
from streamsieve.registry import merge_models
from streamsieve.selectors.rows.sofs import SOFSLearner

def part(first, width):
    ids, ones = np.arange(first, first + 1000), np.ones(1000, np.float32)
    block = RowBlock(np.array([0, 1000]), ids, ones, np.array([1]), width)
    return SOFSLearner(100, normalize=False).start(width, [0, 1]).partial_fit_block(block).model()

merge_models(SOFSLearner(100, normalize=False).start(5000, [0, 1]).model(), [part(0, 5000), part(500, 5000)])
width = 200_000_000
base = SOFSLearner(100, normalize=False).start(width, [0, 1]).model()
parts = [part(at, width) for at in (0, 99_999_500, width - 1000)]
assert all(len(one.arrays["state.cells"]) == width for one in parts)
before = peak_memory()
print(merge_models(base, parts).arrays["ids"].size, peak_memory() - before)
"""


def test_memory_is_that_of_the_touched_features() -> None:
    done = subprocess.run([sys.executable, "-c", WIDE], check=True, capture_output=True, text=True)
    features, more = map(int, done.stdout.split())
    assert features == 3000
    assert more < 50_000_000  # one array of 8 bytes per feature would take 1,600 MB


@pytest.mark.parametrize(
    ("cls", "params", "alike"),
    [
        (SOFSLearner, {"gamma": 1.0}, 90),
        (SOFSLearner, {}, 80),  # it steps further, so parts move further from one another
        (SOFSLearner, {"criterion": "confidence"}, 90),
        (AROWLearner, {}, 90),
    ],
)
def test_shards_of_real_rows_come_within_two_points_of_one_pass(cls: Any, params: dict[str, Any], alike: int) -> None:
    """Basehock in 4 shards, merged 16 times."""
    (train,), (test,) = (list(ss.open_source(path).row_blocks()) for path in (TRAIN, TEST))
    start = cls(100, normalize="l2", **params).start(train.n_features, np.unique(train.y))
    model = start.model().copy()
    sequential = start.partial_fit_block(train)
    cuts = np.linspace(0, train.n_rows, 4 * 16 + 1).astype(int).tolist()
    for first in range(0, 4 * 16, 4):
        slices = [train.rows(cuts[k], cuts[k + 1]) for k in range(first, first + 4)]
        parts = [cls.from_model(model.copy()).partial_fit_block(rows).model() for rows in slices]
        model = merge_models(model, parts)
    learner = cls.from_model(model)
    accuracy, wanted = (float((one.predictor()(test).labels == test.y).mean()) for one in (learner, sequential))
    assert learner.n_rows_ == train.n_rows
    assert accuracy > wanted - 0.02
    assert np.intersect1d(learner.selection().indices, sequential.selection().indices).size >= alike
