"""Test selectors as estimators of river: by its checks, and against selectors without river."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, datasets, evaluate, linear_model, metrics, preprocessing
from scipy.sparse import csr_array

import streamsieve as ss
from streamsieve.compat.features import MAX_REMEMBERED_NAMES, HashedNames, Vocabulary
from streamsieve.compat.river import SelectorClassifier, SelectorRegressor, SelectorTransformer
from streamsieve.compat.stream import MAX_RECENT_ROWS

Model = SelectorClassifier | SelectorRegressor | SelectorTransformer
MODELS: list[list[Model]] = [
    [kind(**params) for params in kind._unit_test_params()]
    for kind in (SelectorClassifier, SelectorRegressor, SelectorTransformer)
]
CHECKS = [
    pytest.param(model, check, marks=pytest.mark.slow if number else ())
    for models in MODELS
    for number, model in enumerate(models)
    for check in checks.yield_checks(model)
]

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(0, 1, (400, 6)) * (RANDOM.random((400, 6)) < 0.7)
NUMBERS = X @ [3.0, -2.0, 1.0, 0.0, 0.0, 0.0] + RANDOM.normal(0, 0.1, 400)
TWO = np.where(NUMBERS > 0, "up", "down")
THREE = np.digitize(NUMBERS, [-1, 1])
NAMES = list("abcdef")
DICTS: list[dict[Any, Any]] = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


@pytest.mark.parametrize(
    ("model", "check"), CHECKS, ids=lambda value: getattr(value, "__name__", type(value).__name__)
)
def test_checks_of_river(model: Model, check: Callable[[Any], None]) -> None:
    check(model.clone())


# ---- the same numbers as without river


@pytest.mark.parametrize(
    "options", [{}, {"normalize": "l2"}, {"normalize": "standard"}, {"class_weight": "balanced"}]
)
@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_one_at_a_time_is_the_selector_to_the_last_bit(
    options: dict[str, Any], labels: Any
) -> None:
    model = SelectorClassifier(ss.SOFS(3, **options), classes=np.unique(labels).tolist())
    selector = ss.SOFS(3, **options)
    rows = csr_array(X)
    for at, (x, label) in enumerate(zip(DICTS, labels, strict=True)):
        model.learn_one(x, label)
        if at % 50 == 49:
            selector.partial_fit(
                rows[at - 49 : at + 1], labels[at - 49 : at + 1], classes=np.unique(labels)
            )
    expected = selector.selection()
    assert model.selection().names.tolist() == [NAMES[feature] for feature in expected.indices]
    assert model.selection().scores.tolist() == expected.scores.tolist()
    assert [model.predict_one(x) for x in DICTS[:50]] == selector.predict(rows[:50]).tolist()
    probabilities = pd.DataFrame([model.predict_proba_one(x) for x in DICTS[:50]])
    np.testing.assert_array_equal(
        probabilities[selector.classes_.tolist()], selector.predict_proba(rows[:50])
    )


def test_numbers_one_at_a_time_are_the_selector_to_the_last_bit() -> None:
    model, selector = (
        SelectorRegressor(ss.SOFSRegressor(3)),
        ss.SOFSRegressor(3).fit(csr_array(X), NUMBERS),
    )
    for x, y in zip(DICTS, NUMBERS.tolist(), strict=True):
        model.learn_one(x, y)
    assert [model.predict_one(x) for x in DICTS[:50]] == selector.predict(
        csr_array(X)[:50]
    ).tolist()


def test_names_in_fixed_memory_are_those_of_rows_by_name() -> None:
    model, selector = SelectorClassifier(ss.SOFS(3, max_cells=64)), ss.SOFS(3, max_cells=64)
    selector.partial_fit(DICTS, TWO)
    for x, y in zip(DICTS, TWO, strict=True):
        model.learn_one(x, y)
    assert model.selection().names.tolist() == selector.selection().names.tolist()
    assert model.selection().scores.tolist() == selector.selection().scores.tolist()
    assert [model.predict_one(x) for x in DICTS] == selector.predict(DICTS).tolist()


@pytest.mark.parametrize(
    "selector", [ss.SOFS(3), ss.SOFS(3, max_cells=64), ss.FOFS(3)], ids=["ids", "cells", "fofs"]
)
def test_many_rows_at_once_are_the_same_rows(selector: Any) -> None:
    model, frame_model = SelectorClassifier(selector), SelectorClassifier(selector)
    frame = pd.DataFrame(X, columns=NAMES)
    for x, y in zip(DICTS, THREE.tolist(), strict=True):
        model.learn_one(x, y)
    frame_model.learn_many(frame[:90], pd.Series(THREE[:90]))
    frame_model.learn_many(frame[90:], pd.Series(THREE[90:]))
    assert model.selection().scores.tolist() == frame_model.selection().scores.tolist()
    assert model.predict_proba_many(frame[:20]).equals(frame_model.predict_proba_many(frame[:20]))
    assert frame_model.predict_many(frame[:20]).tolist() == [
        model.predict_one(x) for x in DICTS[:20]
    ]


def test_weights_count() -> None:
    model, selector = SelectorClassifier(ss.SOFS(3)), ss.SOFS(3)
    weights = np.arange(1, 101) / 10
    selector.partial_fit(csr_array(X[:100]), TWO[:100], sample_weight=weights)
    for x, y, w in zip(DICTS, TWO, weights.tolist(), strict=False):
        model.learn_one(x, y, w=w)
    assert model.selection().scores.tolist() == selector.selection().scores.tolist()
    frame_model = SelectorClassifier(ss.SOFS(3))
    frame_model.learn_many(pd.DataFrame(X[:100], columns=NAMES), pd.Series(TWO[:100]), w=weights)
    assert frame_model.selection().scores.tolist() == selector.selection().scores.tolist()


# ---- names


def test_names_of_a_row_of_weight_0_are_not_learned() -> None:
    plain, weighted = (SelectorClassifier(ss.SOFS(2)) for _ in range(2))
    for number in range(20):
        row, label = {f"x{number % 5}": 1.0 + number % 3}, number % 2 == 1
        weighted.learn_one({f"z{number}": 1.0}, label, w=0.0)
        weighted.learn_one(row, label)
        plain.learn_one(row, label)
    assert weighted.selection().indices.tolist() == plain.selection().indices.tolist()
    assert weighted.selection().names.tolist() == plain.selection().names.tolist()


def test_features_have_any_names_and_come_at_any_time() -> None:
    model = SelectorTransformer(ss.SOFS(2, normalize=False))
    for k in range(60):
        x = {("word", 3): float(k % 2), 17: 1.0, "17": 0.5, None: (k * 7) % 5, f"rare {k}": 1.0}
        model.learn_one(x, k % 2 == 1)
    assert ("word", 3) in model.selection().names.tolist()
    assert model.transform_one({("word", 3): 2.0, "new": 1.0}) == {("word", 3): 2.0}
    assert model.transform_one({}) == {}


@pytest.mark.parametrize("selector", [ss.SOFS(2), ss.SOFS(2, max_cells=256)], ids=["ids", "cells"])
def test_one_and_text_one_are_two_features(selector: Any) -> None:
    model = SelectorTransformer(selector)
    for k in range(100):
        model.learn_one({1: float(k % 2), "1": 1.0 + (k * 7) % 3, "z": (k * 5) % 4}, k % 2)
    best = next(iter(model.selection()))
    assert str(best.name) == "1"
    assert 1 in model.transform_one({1: 1.0, "1": 2.0})


def test_ids_do_not_depend_on_the_order_in_a_row() -> None:
    first, second = Vocabulary(), Vocabulary()
    assert first.assign_ids(["b", "a", 3]) == second.assign_ids([3, "a", "b"])[::-1]
    assert first.find_ids(["new", "a"]) == [3, first.ids["a"]]
    assert first.width() == 3


def test_hashes_of_names_are_remembered_within_bounds() -> None:
    names = HashedNames()
    ids = names.assign_ids(["x", 1, 1.0, True, np.int64(1)])
    assert ids[1] == ids[2] == ids[3] == ids[4] != ids[0]
    for k in range(0, 3 * MAX_REMEMBERED_NAMES, MAX_REMEMBERED_NAMES // 4):
        names.assign_ids([f"{j}" for j in range(k, k + MAX_REMEMBERED_NAMES // 4)])
        assert len(names.ids) <= MAX_REMEMBERED_NAMES
    assert names.assign_ids(["x"]) == ids[:1]


@pytest.mark.parametrize("value", ["text", None, float("nan"), float("inf"), 1e300, 10**400, [1.0]])
def test_a_value_that_is_no_number_is_named_and_nothing_is_learned(value: Any) -> None:
    model = SelectorClassifier(ss.SOFS(2))
    with pytest.raises(ss.DataError, match=r"row 1: the value of 'a'"):
        model.learn_one({"b": 1.0, "a": value}, True)
    with pytest.raises(ss.DataError, match=r"row 1: the value of 'a'"):
        model.learn_many(
            pd.DataFrame({"b": [1.0], "a": pd.Series([value], dtype=object)}), pd.Series([True])
        )
    assert model.predict_one({"a": 1.0}) is None


@pytest.mark.parametrize("classes", [None, ["down", "up"]], ids=["found", "named"])
@pytest.mark.parametrize("learned_before", [0, 30])
def test_refused_rows_leave_no_trace(classes: Any, learned_before: int) -> None:
    model = SelectorClassifier(ss.SOFS(3), classes=classes)
    other = SelectorClassifier(ss.SOFS(3), classes=classes)

    def learn(rows: slice) -> None:
        for each in (model, other):
            for x, label in zip(DICTS[rows], TWO[rows], strict=True):
                each.learn_one(x, label)

    learn(slice(0, learned_before))
    new, frame = {"new": 1.0, "A": 2.0}, pd.DataFrame({"new": [1.0, 2.0], "A": [1.0, 2.0]})
    refused: list[Callable[[], None]] = [
        lambda: model.learn_one({**new, "a": float("nan")}, "up"),
        lambda: model.learn_one(new, None),
        lambda: model.learn_one(new, "up", w=-1.0),
        lambda: model.learn_many(frame.assign(a=np.inf), pd.Series(["up", "down"])),
        lambda: model.learn_many(frame, pd.Series(["up"])),
    ]
    if classes is not None:
        refused.append(lambda: model.learn_one(new, "sideways"))
    for refuse in refused:
        with pytest.raises(ss.DataError):
            refuse()
        assert model._stream.features.width() == other._stream.features.width()
    learn(slice(learned_before, 100))
    assert isinstance(model._stream.features, Vocabulary)
    assert model._stream.features.ids == {name: at for at, name in enumerate(sorted(NAMES))}
    assert model.selection().indices.tolist() == other.selection().indices.tolist()
    assert model.selection().scores.tolist() == other.selection().scores.tolist()


# ---- classes


def test_classes_are_found_and_a_late_one_begins_anew_from_the_last_rows() -> None:
    labels = ["a", "b"] * 600 + ["c", "a", "b"] * 20
    rows = [{"x": float(label == "a"), "y": float(label == "c"), "z": 1.0} for label in labels]
    model = SelectorClassifier(ss.SOFS(2))
    assert model.predict_one(rows[0]) is None
    assert model.predict_proba_one(rows[0]) == {}
    model.learn_one(rows[0], labels[0])
    assert model.predict_proba_one(rows[0]) == {"a": 1.0}
    for x, y in zip(rows[1:1200], labels[1:1200], strict=True):
        model.learn_one(x, y)
    with pytest.warns(
        UserWarning, match=r"row 1,201 has a new class, 'c'.*last 1,024 rows.*classes=\[...\]"
    ):
        model.learn_one(rows[1200], "c")
    for x, y in zip(rows[1201:], labels[1201:], strict=True):
        model.learn_one(x, y)
    assert [model.predict_one(x) for x in rows[-3:]] == ["c", "a", "b"]
    assert (
        model._stream.n_recent
        == MAX_RECENT_ROWS
        == sum(block.n_rows for block in model._stream.recent)
    )


def test_the_last_rows_are_those_of_large_and_small_chunks() -> None:
    random = np.random.default_rng(0)
    values, labels = random.normal(0, 1, (2000, 3)), random.integers(0, 2, 2000)
    model, expected = (
        SelectorClassifier(ss.SOFS(2)),
        SelectorClassifier(ss.SOFS(2), classes=[0, 1, 2]),
    )
    frame, y = pd.DataFrame(values, columns=list("abc")), pd.Series(labels)
    for start, stop in ((0, 1500), (1500, 1501), (1501, 2000)):
        model.learn_many(frame[start:stop], y[start:stop])
    assert sum(block.n_rows for block in model._stream.recent) == MAX_RECENT_ROWS
    with pytest.warns(UserWarning, match="learning restarted"):
        model.learn_one({"a": 1.0}, 2)
    expected.learn_many(frame[2000 - MAX_RECENT_ROWS :], y[2000 - MAX_RECENT_ROWS :])
    expected.learn_one({"a": 1.0}, 2)
    assert model.selection().scores.tolist() == expected.selection().scores.tolist()


def test_an_early_third_class_loses_nothing() -> None:
    without_classes, with_classes = (
        SelectorClassifier(ss.SOFS(3)),
        SelectorClassifier(ss.SOFS(3), classes=[0, 1, 2]),
    )
    for x, y in zip(DICTS, THREE.tolist(), strict=True):
        without_classes.learn_one(x, y)
        with_classes.learn_one(x, y)
    assert without_classes.selection().scores.tolist() == with_classes.selection().scores.tolist()
    assert with_classes.predict_proba_one(DICTS[0]) == without_classes.predict_proba_one(DICTS[0])


def test_classes_named_beforehand() -> None:
    model = SelectorClassifier(ss.SOFS(3), classes=["a", "b"])
    assert model.predict_proba_one({}) == {"a": 0.5, "b": 0.5}
    model.learn_one({"x": 1.0}, "b")
    assert set(model.predict_proba_one({"x": 1.0})) == {"a", "b"}
    with pytest.raises(ss.DataError, match="label 'c' is not one of the classes given"):
        model.learn_one({"x": 1.0}, "c")
    assert model.clone().classes == ["a", "b"]


@pytest.mark.parametrize("label", [None, float("nan"), [1], (1, 2)])
def test_labels_that_are_none_are_refused_and_change_nothing(label: Any) -> None:
    model = SelectorClassifier(ss.SOFS(3))
    with pytest.raises(ss.DataError, match=r"row 1: the label"):
        model.learn_one({"x": 1.0}, label)
    with pytest.raises(ss.DataError, match="weights are numbers"):
        model.learn_many(
            pd.DataFrame({"x": [1.0, 2.0, 3.0]}), pd.Series(["a", "b", "c"]), w=[1.0, 1.0, -1.0]
        )
    model.learn_one({"x": 1.0}, "d", w=0.0)
    assert model.predict_one({"x": 1.0}) is None
    for x, y in zip(DICTS[:20], TWO, strict=False):
        model.learn_one(x, y)
    assert set(model.predict_proba_one(DICTS[0])) == {"up", "down"}


def test_labels_of_two_kinds_are_refused() -> None:
    model = SelectorClassifier(ss.SOFS(3))
    for label in ("a", "b"):
        model.learn_one({"x": 1.0}, label)
    with pytest.raises(ss.DataError, match="labels are all text or all numbers"):
        model.learn_one({"x": 1.0}, 3)
    model.learn_one({"x": 1.0}, "a")


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (ss.SAOLA(), "SAOLA does not learn row by row"),
        (ss.SOFSRegressor(3), "SOFSRegressor learns numbers; use SelectorRegressor"),
        (ss.RandomSelection(3), "must know the number of features beforehand"),
        (ss.SOFS(0), "n_features_to_select"),
    ],
)
def test_selectors_that_cannot_be_wrapped(selector: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SelectorClassifier(selector)


# ---- with the rest of river


def test_progressive_validation_in_a_pipeline() -> None:
    alone = SelectorClassifier(ss.SOFS(5))
    accuracy = evaluate.progressive_val_score(
        datasets.Phishing().take(600), alone, metrics.Accuracy()
    )
    assert accuracy.get() > 0.8
    pipeline = compose.Pipeline(
        preprocessing.StandardScaler(),
        SelectorTransformer(ss.SOFS(4)),
        linear_model.LogisticRegression(),
    )
    accuracy = evaluate.progressive_val_score(
        datasets.Phishing().take(600), pipeline, metrics.Accuracy()
    )
    assert accuracy.get() > 0.8
    error = evaluate.progressive_val_score(
        datasets.TrumpApproval().take(600), SelectorRegressor(ss.SOFSRegressor(4)), metrics.MAE()
    )
    assert error.get() < 2.0


def test_copies_go_on_as_the_model_does() -> None:
    model = SelectorClassifier(ss.SOFS(3))
    for x, y in zip(DICTS[:200], TWO, strict=False):
        model.learn_one(x, y)
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for x, y in zip(DICTS[200:], TWO[200:], strict=True):
        for copied in (model, *copies):
            copied.learn_one(x, y)
    for copied in copies:
        assert copied.selection().scores.tolist() == model.selection().scores.tolist()


def test_without_river_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "streamsieve.compat.river")
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=r"pip install streamsieve\[river\]"):
        importlib.import_module("streamsieve.compat.river")
