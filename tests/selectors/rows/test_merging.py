"""Merging of models that learned different rows."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.blocks import dense_block
from streamsieve.kernels.rows.scores import DEVIATIONS, ERRORS, MEAN, WEIGHT
from streamsieve.model import Model
from streamsieve.registry import merge_models
from streamsieve.selectors.rows import merging
from streamsieve.selectors.rows.baselines import AROW, AROW_REGRESSOR
from streamsieve.selectors.rows.results import complete_curve
from streamsieve.selectors.rows.sofs import SOFS, SOFS_REGRESSOR
from tests.effort import examples
from tests.oracles import merging as oracle
from tests.paths import TEST, TRAIN
from tests.selectors.rows.merging_cases import (
    N_FEATURES,
    NUMBERS,
    Row,
    assert_close,
    assert_same,
    block_of,
    contents,
    continue_learning,
    first_rows,
    merge,
    random_rows,
    start_model,
)

CRITERIA = pytest.mark.parametrize("criterion", ["snr", "confidence"])
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def exact(cls: Any) -> list[dict[str, Any]]:
    """Return variants for shared checks without fixed memory, which cannot be merged."""
    return [params for params in cls.check_variants if "max_cells" not in params]


STANDARD, HUBER = {"normalize": "standard"}, {"loss": "huber"}
OPTIONS: dict[Any, list[dict[str, Any]]] = {
    SOFS: [{}, {"criterion": "confidence"}, STANDARD, *exact(SOFS)],
    AROW: [{}, STANDARD],
    SOFS_REGRESSOR: [{}, {"forget": 20.0}, STANDARD, *exact(SOFS_REGRESSOR)],
    AROW_REGRESSOR: [{}, STANDARD, {"fit_intercept": False}],
}
CASES = [
    (cls, params, n_classes)
    for cls, options in OPTIONS.items()
    for params, n_classes in product(options, (2, 3) if "classes" in cls.targets else (NUMBERS,))
]
VARIANTS = pytest.mark.parametrize(("cls", "params", "n_classes"), CASES)


def of_length_1(row: Row) -> Row:
    length = float(np.linalg.norm(list(row[0].values())))
    return {j: v / length for j, v in row[0].items()}, row[1]


VALUES = st.integers(-8, 8).filter(bool).map(lambda quarters: quarters / 4)
LOSSES = st.sampled_from(["squared", "huber"])
ROW_VALUES = st.dictionaries(st.integers(0, N_FEATURES - 1), VALUES, max_size=6)


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_merging_agrees_with_its_oracle(data: Any) -> None:
    n_classes = data.draw(st.sampled_from([NUMBERS, NUMBERS, 2, 2, 3, 4]))
    sofs = data.draw(st.sampled_from([True, True, False]))
    of_numbers, of_classes = (SOFS_REGRESSOR, SOFS) if sofs else (AROW_REGRESSOR, AROW)
    cls = of_classes if n_classes else of_numbers
    gamma, intercept = data.draw(st.sampled_from([0.25, 1.0, 2.0])), data.draw(st.booleans())
    budget, divisor = data.draw(st.integers(1, 8)), data.draw(st.sampled_from([None, None, 1.5, 3]))
    options, criterion, forget = {}, None, None
    if sofs:
        criterion = data.draw(st.sampled_from(["snr", "confidence"])) if n_classes else "snr"
        forget = data.draw(st.sampled_from([None, None, 10.0, 1.0]))
        options = {
            "forget": forget,
            **({"criterion": criterion} if n_classes else {"loss": data.draw(LOSSES)}),
        }
    start = start_model(
        cls, n_classes, n_features_to_select=budget, gamma=gamma, fit_intercept=intercept, **options
    )
    answers = st.integers(0, n_classes - 1) if n_classes else VALUES
    rows = st.lists(st.tuples(ROW_VALUES, answers), max_size=20)
    base = continue_learning(start, data.draw(rows))
    times = data.draw(st.sampled_from([1, 2, 7]))
    shards = data.draw(st.lists(rows, min_size=1 if times > 1 else 2, max_size=4))
    parts = [continue_learning(base.model(), shard, row_multiplier=times) for shard in shards]
    all_contents = [contents(part) for part in parts]
    rule = {"divisor": divisor or times, "forget": forget, "criterion": criterion, "budget": budget}
    expected = oracle.merge(
        contents(base), all_contents, vectors=max(1, n_classes) if n_classes != 2 else 1, **rule
    )
    assume(expected["closest_call"] > 1e-5)
    learner = merge(base.model(), parts, divisor)
    assert_close(contents(learner), expected, 1e-5)
    if sofs:
        ids, _, scores = learner.kept_by_state(learner.memory.state)
        scores_by_id = dict(zip(ids.tolist(), scores.tolist(), strict=True))
        assert len(scores_by_id) == min(
            budget, len(expected["precision"].keys() - {oracle.INTERCEPT})
        )
        assert scores_by_id == pytest.approx(expected["scores"], rel=1e-4, abs=1e-5)


@VARIANTS
def test_one_part_is_the_merged_model(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    base = continue_learning(
        start_model(cls, n_classes, **params), random_rows(30, 0, n_classes)
    ).model()
    part = continue_learning(base, random_rows(60, 1, n_classes))
    merged = merge(base, [continue_learning(part.model(), [])])
    rows, later_rows = block_of(random_rows(50, 2, n_classes)), random_rows(40, 3, n_classes)
    assert_same(merged, part, 0.0)
    assert (
        merged.results.predictor().score(rows).tolist()
        == part.results.predictor().score(rows).tolist()
    )
    assert_same(
        continue_learning(merged.model(), later_rows),
        continue_learning(part.model(), later_rows),
        0.0,
    )


@VARIANTS
def test_parts_without_rows_add_nothing(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    """With room for every feature; otherwise the kept features may change."""
    first, part_rows, rows, later_rows = (random_rows(40, seed, n_classes) for seed in range(4))
    for dense in (False, True):
        start = start_model(cls, n_classes, dense=dense, **params, n_features_to_select=N_FEATURES)
        base = continue_learning(start, first, dense=dense).model()
        part = continue_learning(base, part_rows, dense=dense)
        merged = merge(base, [continue_learning(base, []), part, continue_learning(base, [])])
        actual, expected = (
            learner.results.predictor().score(block_of(rows, dense=dense))
            for learner in (merged, part)
        )
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
        actual, expected = (
            contents(continue_learning(learner.model(), later_rows, dense=dense))
            for learner in (merged, part)
        )
        assert_close(actual, expected, 1e-4)


@VARIANTS
@pytest.mark.parametrize("divisor", [None, 2])
def test_the_order_of_the_parts_does_not_matter(
    cls: Any, params: Any, n_classes: int, divisor: float | None, monkeypatch: Any
) -> None:
    base = continue_learning(
        start_model(cls, n_classes, **params), random_rows(20, 0, n_classes)
    ).model()
    parts = [
        continue_learning(base, random_rows(10 + 20 * seed, seed, n_classes), row_multiplier=3)
        for seed in (1, 2, 3)
    ]
    merged = merge(base, parts, divisor)
    assert_same(merged, merge(base, parts[::-1], divisor), 1e-6)
    monkeypatch.setattr(merging, "CHUNK", 5)  # nor how many features are merged in one go
    assert_same(merged, merge(base, parts, divisor), 0.0)


@VARIANTS
def test_a_feature_that_one_part_alone_has_met_has_its_precision(
    cls: Any, params: Any, n_classes: int
) -> None:
    base = start_model(cls, n_classes, **params)
    rows_of_parts = [random_rows(30, part, n_classes) for part in range(3)]
    disjoint = [
        [({3 * part + j % 3: v for j, v in x.items()}, y) for x, y in rows]
        for part, rows in enumerate(rows_of_parts)
    ]
    parts = [continue_learning(base, rows) for rows in disjoint]
    actual = contents(merge(base, parts))["precision"]
    expected = {j: values for part in parts for j, values in contents(part)["precision"].items()}
    assert actual.keys() == expected.keys()
    for j in expected.keys() - {oracle.INTERCEPT}:
        np.testing.assert_allclose(actual[j], expected[j], rtol=1e-6)


@CRITERIA
@CLASSES
def test_of_equal_features_the_lower_ids_are_kept(criterion: str, n_classes: int) -> None:
    gamma = 7.0 if n_classes == 2 else 8.0  # so that weights are exact
    params = {
        "n_features_to_select": 4,
        "criterion": criterion,
        "gamma": gamma,
        "fit_intercept": False,
    }
    base = start_model(SOFS, n_classes, **params)
    rows: list[Row] = [(dict.fromkeys(range(8, 12), 1.0), 1), (dict.fromkeys(range(4, 8), 1.0), 1)]
    parts = [continue_learning(base, rows) for _ in range(2)]
    # In a learner the first to come stay.
    assert parts[0].results.selection().indices.tolist() == [8, 9, 10, 11]
    assert merge(base, parts).results.selection().indices.tolist() == [4, 5, 6, 7]


@VARIANTS
def test_plans_of_addresses_mix(cls: Any, params: dict[str, Any], n_classes: int) -> None:
    """Base and one part use ids, other parts a table: the result is that of small ids."""
    far = 1 << 40
    width = far + N_FEATURES

    def distant(rows: list[Row]) -> list[Row]:
        return [({j if j < 6 else far + j: v for j, v in x.items()}, y) for x, y in rows]

    base = continue_learning(
        start_model(cls, n_classes, None, **params), [({0: 1.0}, 0)], 1
    ).model()
    low = [({j % 6: v for j, v in x.items()}, y) for x, y in random_rows(50, 1, n_classes)]
    first_rows_far, second_rows_far, later_rows = (
        random_rows(50, seed, n_classes) for seed in (2, 3, 4)
    )
    far_parts = [
        continue_learning(base, low, 6),
        continue_learning(base, distant(first_rows_far), width),
        continue_learning(base, distant(second_rows_far), width),
    ]
    assert [part.memory.addresses.direct for part in far_parts] == [True, False, False]
    a, b = (
        merge(
            base, [continue_learning(base, rows) for rows in (low, first_rows_far, second_rows_far)]
        ),
        merge(base, far_parts),
    )
    assert b.results.n_features_in_ == width
    assert b.results.selection().indices.tolist() == [
        j if j < 6 else far + j for j in a.results.selection().indices.tolist()
    ]
    scores = a.results.predictor().score(block_of(later_rows))
    assert (
        b.results.predictor().score(block_of(distant(later_rows), width)).tolist()
        == scores.tolist()
    )
    a, b = (
        continue_learning(a.model(), later_rows),
        continue_learning(b.model(), distant(later_rows), width),
    )
    assert b.results.selection().scores.tolist() == a.results.selection().scores.tolist()


@pytest.mark.parametrize("cls", list(OPTIONS))
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("sizes", [(40, 30, 1, 25), (0, 30, 20), (25, 0, 1)])
def test_moments_and_counts_are_those_of_all_rows(
    cls: Any, dense: bool, sizes: tuple[int, ...]
) -> None:
    n_classes = 2 if "classes" in cls.targets else NUMBERS
    # No row is too long.
    shards = [
        list(map(of_length_1, random_rows(n, seed, n_classes))) for seed, n in enumerate(sizes)
    ]
    shards[1] = [({j: v for j, v in x.items() if j != 7}, y) for x, y in shards[1]]
    base = continue_learning(
        start_model(cls, n_classes, dense=dense, normalize="standard"), shards[0], dense=dense
    ).model()
    memory = merge(base, [continue_learning(base, rows, dense=dense) for rows in shards[1:]]).memory
    rows = [*first_rows(n_classes), *(row for shard in shards for row in shard)]
    assert (memory.moments.seen[0], memory.moments.dense[0]) == (len(rows), dense)
    for position, j in enumerate(memory.addresses.ids[: memory.addresses.used].tolist()):
        expected = oracle.moments([x for x, _ in rows], j, dense)
        actual = memory.moments.first[position], memory.moments.second[position]
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)
    base = continue_learning(start_model(cls, n_classes), shards[0])
    parts = [continue_learning(base.model(), shard) for shard in shards[1:]]
    memory = merge(base.model(), parts).memory
    whole = continue_learning(
        start_model(cls, n_classes), rows[len(first_rows(n_classes)) :]
    ).memory
    np.testing.assert_allclose(memory.moments.totals, whole.moments.totals, rtol=1e-12)
    assert merging.rows_of(memory.target).tolist() == merging.rows_of(whole.target).tolist()
    assert memory.counts.tolist() == whole.counts.tolist()
    if not n_classes:
        totals = memory.target.totals
        mean, deviations = oracle.spread([y - 5.0 for _, y in rows])  # 5 is the centre
        errors = [learner.memory.target.totals[ERRORS] for learner in (base, *parts)]
        expected = {WEIGHT: len(rows), MEAN: mean, DEVIATIONS: deviations}
        expected[ERRORS] = errors[0] + sum(error - errors[0] for error in errors[1:])
        assert dict(enumerate(totals)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("cls", "n_classes"), [(SOFS, 2), (SOFS_REGRESSOR, NUMBERS)])
def test_a_curve_adds_up_and_is_ranked_anew(cls: Any, n_classes: int) -> None:
    start = start_model(cls, n_classes, n_features_to_select=6, curve=[1, 2, 4])
    base = continue_learning(start, random_rows(25, 0, n_classes))
    parts = [
        continue_learning(base.model(), random_rows(40, seed, n_classes), row_multiplier=2)
        for seed in (1, 2)
    ]
    learner = merge(base.model(), parts)
    curves = [
        complete_curve(learned.memory, learned.options.curve) for learned in (learner, base, *parts)
    ]
    wrong = [curve.mistakes if n_classes else curve.errors for curve in curves]
    np.testing.assert_allclose(wrong[0], wrong[2] + wrong[3] - wrong[1], rtol=1e-12)
    last = learner.results.mistakes_ if n_classes else learner.memory.target.totals[ERRORS]
    assert wrong[0][-1] == pytest.approx(last)
    largest = learner.memory.small_budgets.members[-1]  # of 5, which answers for 4
    ids, _, scores = learner.kept_by_state(largest.state)
    assert largest.curve.bucket[np.lexsort((ids, -scores))].tolist() == [0, 0, 0, 0, 1]
    auto = start_model(cls, n_classes, n_features_to_select="auto")
    learner = merge(
        auto, [continue_learning(auto, random_rows(80, seed, n_classes)) for seed in range(3)]
    )
    assert (
        len(learner.results.selection().indices)
        == learner.results.n_features_selected_
        <= N_FEATURES
    )


@CRITERIA
def test_what_no_part_meets_is_forgotten_as_if_all_rows_had_come_in_turn(criterion: str) -> None:
    base = continue_learning(
        start_model(SOFS, forget=10.0, criterion=criterion), [({0: 3.0, 1: 1.0}, 1)]
    ).model()
    shard: list[Row] = [({2: 1.0}, code) for code in [0, 1] * 10]
    learner = merge(base, [continue_learning(base, shard) for _ in range(3)])
    actual, expected = contents(learner), contents(continue_learning(base, 3 * shard))
    for name in ("precision", "weight"):
        np.testing.assert_allclose(
            [actual[name][j] for j in (0, 1)], [expected[name][j] for j in (0, 1)], rtol=1e-6
        )
    assert learner.memory.state.scale[0] == 1.0


def test_a_precision_beyond_float32_stays_the_largest() -> None:
    base = start_model(SOFS, criterion="confidence", gamma=1.0)
    parts = [
        continue_learning(base, [({0: 1e30, 1: 1.0, 2 + seed: 2.0}, seed % 2)]) for seed in range(3)
    ]
    assert parts[0].memory.state.excess.max() == np.finfo(np.float32).max
    learner = merge(base, parts)
    assert learner.results.selection().indices[np.argmax(learner.results.selection().scores)] == 0


@pytest.mark.parametrize(
    ("cls", "n_classes", "params"), [(SOFS, 3, {}), (SOFS_REGRESSOR, NUMBERS, HUBER)]
)
def test_rounds_of_merging_go_on_from_bytes_and_change_no_model_given(
    cls: Any, n_classes: int, params: Any
) -> None:
    model = start_model(cls, n_classes, curve=True, forget=200.0, normalize="standard+l2", **params)
    for turn in range(5):
        base = Model.from_bytes(model.to_bytes())
        parts = [
            continue_learning(
                base, random_rows(20, 10 * turn + part, n_classes), row_multiplier=3
            ).model()
            for part in range(3)
        ]
        sent = [member.to_bytes() for member in (base, *parts)]
        model = merge_models(base, [Model.from_bytes(part.to_bytes()) for part in parts])
        cls.load(merge_models(base, parts)).partial_fit_block(
            block_of(random_rows(9, turn, n_classes))
        )
        assert [member.to_bytes() for member in (base, *parts)] == sent
    learner = cls.load(model)
    assert (learner.results.n_rows_, learner.memory.row_multiplier) == (
        len(first_rows(n_classes)) + 5 * 3 * 20,
        1,
    )


def test_names_and_classes_are_carried_over() -> None:
    """Classes given as text, as on a command line, take the type of the learned labels."""
    base = (
        SOFS.make(4, normalize=False)
        .start(N_FEATURES, ["0", "1"], [f"gene {j}" for j in range(N_FEATURES)])
        .model()
    )
    learner = merge(
        base,
        [continue_learning(base, rows) for rows in (random_rows(30, 1), [], random_rows(30, 2))],
    )
    assert learner.results.classes_.tolist() == [0, 1]
    assert learner.results.selection().names.tolist() == [
        f"gene {j}" for j in learner.results.selection().indices
    ]


def test_numbers_that_weigh_little_keep_their_mean() -> None:
    base = continue_learning(start_model(SOFS_REGRESSOR, NUMBERS), random_rows(40, 0, NUMBERS))
    start = Model.from_bytes(base.model().to_bytes())
    start.arrays["target.totals"][:] = 0.0
    light = [
        block_of(random_rows(20, seed, NUMBERS)).derived(sample_weight=np.full(20, 1e-3))
        for seed in (1, 2)
    ]
    parts = [continue_learning(start, []).partial_fit_block(block) for block in light]
    expected = np.mean([y - 5.0 for seed in (1, 2) for _, y in random_rows(20, seed, NUMBERS)])
    assert merge(start, parts).memory.target.totals[MEAN] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cls", "params", "n_classes"), [case for case in CASES if "forget" not in case[1]]
)
def test_parts_that_learn_the_same_rows_are_merged_to_one_of_them(
    cls: Any, params: Any, n_classes: int
) -> None:
    """Each part counts its rows as often as there are parts.

    There is room for every feature, and nothing is forgotten.
    """
    params = {**params, "n_features_to_select": N_FEATURES}
    base = continue_learning(
        start_model(cls, n_classes, **params), random_rows(40, 0, n_classes)
    ).model()
    part = continue_learning(base, random_rows(30, 1, n_classes), row_multiplier=3)
    actual, expected = contents(merge(base, [part] * 3)), contents(part)
    for name in ("precision", "weight"):
        for j, values in expected[name].items():
            np.testing.assert_allclose(actual[name][j], values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cls", list(OPTIONS))
def test_parts_that_know_of_one_another_do_not_go_too_far(cls: Any) -> None:
    """With correlated columns, every part corrects the error of all of them."""
    random = np.random.default_rng(0)
    X = 3.0 * random.standard_normal((5000, 1)) + random.standard_normal((5000, 60))
    y = X[:, :10] @ random.standard_normal(10) + random.standard_normal(5000)
    if "classes" in cls.targets:
        y = (y > 0).astype(float)
    train, test = dense_block(X[:4000], y[:4000]), dense_block(X[4000:], y[4000:])

    def quality(learner: Any) -> float:
        prediction = learner.results.predictor()(test)
        if prediction.probabilities is not None:
            return float((prediction.labels == test.y).mean())
        return float(1.0 - np.mean((prediction.scores - test.y) ** 2) / np.var(test.y))

    def in_rounds(times: int) -> Any:
        model = cls.make(50).start(60, [0.0, 1.0]).partial_fit_block(train.rows(0, 1600)).model()
        for first in range(1600, 4000, 800):
            shards = [train.rows(at, at + 100) for at in range(first, first + 800, 100)]
            parts = [
                cls.load(model.copy()).start_shard(times).partial_fit_block(shard).model()
                for shard in shards
            ]
            model = merge_models(model, parts)
        return cls.load(model)

    expected = quality(cls.make(50).start(60, [0.0, 1.0]).partial_fit_block(train))
    assert quality(in_rounds(8)) > expected - 0.02
    if "numbers" in cls.targets:
        assert quality(in_rounds(1)) < 0.0


WIDE = """
import numpy as np
from streamsieve.blocks import RowBlock
from streamsieve.machine import peak_memory
from streamsieve.registry import merge_models
from streamsieve.selectors.rows.sofs import SOFS

def part(first, width):
    ids, ones = np.arange(first, first + 1000), np.ones(1000, np.float32)
    block = RowBlock(np.array([0, 1000]), ids, ones, np.array([1]), width)
    return SOFS.make(100, normalize=False).start(width, [0, 1]).partial_fit_block(block).model()

base = SOFS.make(100, normalize=False).start(5000, [0, 1]).model()
merge_models(base, [part(0, 5000), part(500, 5000)])
width = 200_000_000
base = SOFS.make(100, normalize=False).start(width, [0, 1]).model()
parts = [part(at, width) for at in (0, 99_999_500, width - 1000)]
assert all(len(one.arrays["state.cells"]) == width for one in parts)
before = peak_memory()
print(merge_models(base, parts).arrays["ids"].size, peak_memory() - before)
"""


def test_memory_is_that_of_the_touched_features() -> None:
    done = subprocess.run([sys.executable, "-c", WIDE], check=True, capture_output=True, text=True)
    features, extra_bytes = map(int, done.stdout.split())
    assert features == 3000
    assert extra_bytes < 50_000_000  # one array of 8 bytes per feature would take 1,600 MB


@pytest.mark.parametrize(
    ("cls", "params", "alike"),
    [
        (SOFS, {"gamma": 1.0}, 90),
        (SOFS, {}, 80),  # it steps further, so parts move further from one another
        (SOFS, {"criterion": "confidence"}, 90),
        (AROW, {}, 90),
    ],
)
def test_shards_of_real_rows_come_within_two_points_of_one_pass(
    cls: Any, params: dict[str, Any], alike: int
) -> None:
    """Basehock in 4 shards, merged 16 times."""
    (train,), (test,) = (list(ss.open_source(path).row_blocks()) for path in (TRAIN, TEST))
    start = cls.make(100, normalize="l2", **params).start(train.n_features, np.unique(train.y))
    model = start.model().copy()
    sequential = start.partial_fit_block(train)
    cuts = np.linspace(0, train.n_rows, 4 * 16 + 1).astype(int).tolist()
    for first in range(0, 4 * 16, 4):
        slices = [train.rows(cuts[k], cuts[k + 1]) for k in range(first, first + 4)]
        parts = [cls.load(model.copy()).partial_fit_block(rows).model() for rows in slices]
        model = merge_models(model, parts)
    learner = cls.load(model)
    accuracy, wanted = (
        float((trained.results.predictor()(test).labels == test.y).mean())
        for trained in (learner, sequential)
    )
    assert learner.results.n_rows_ == train.n_rows
    assert accuracy > wanted - 0.02
    assert (
        np.intersect1d(
            learner.results.selection().indices, sequential.results.selection().indices
        ).size
        >= alike
    )
