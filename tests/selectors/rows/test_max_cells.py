"""Fixed memory for any number of ids: ``max_cells``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import streamsieve as ss
from streamsieve.blocks import RowBlock
from streamsieve.kernels.table import fill_table, probe, remove
from streamsieve.registry import merge_models
from streamsieve.selectors.rows import memory as row_memory
from streamsieve.selectors.rows.sofs import SOFS
from tests.checks.data import sparse_stream
from tests.checks.rows import learned
from tests.effort import examples
from tests.estimators.test_named_rows import as_dictionaries
from tests.oracles import max_cells, sofs, sofs_regressor
from tests.oracles.class_weights import row_weights
from tests.oracles.normalization import unit
from tests.selectors.test_models import refused_changes

Row = tuple[dict[int, float], Any]
MANY_IDS = 2**63 - 1


def random_rows(seed: int, n_rows: int, n_classes: int, n_features: int) -> list[Row]:
    """Return rows with normal values under ids from all of int64.

    The first five ids depend on the class.
    """
    random = np.random.default_rng(seed)
    ids = np.unique(random.integers(0, MANY_IDS, n_features))
    rows = []
    for code in random.integers(0, n_classes, n_rows).tolist():
        features = random.choice(ids, random.integers(0, 8), replace=False)
        values = random.standard_normal(features.size) * random.choice([1.0] * 9 + [64.0])
        values += code * np.isin(features, ids[:5])
        rows.append(
            (dict(zip(features.tolist(), values.astype(np.float32).tolist(), strict=True)), code)
        )
    return rows


def block_of(rows: list[Row], weights: list[float] | None = None) -> RowBlock:
    ids = [sorted(x) for x, _ in rows]
    return RowBlock(
        np.cumsum([0, *map(len, ids)]),
        np.array([j for row in ids for j in row], np.int64),
        np.array([x[j] for (x, _), row in zip(rows, ids, strict=True) for j in row], np.float32),
        np.array([code for _, code in rows]),
        MANY_IDS,
        sample_weight=None if weights is None else np.array(weights),
    )


@settings(max_examples=examples(600), deadline=None)
@given(data=st.data())
def test_shared_cells_agree_with_the_oracle(data: Any) -> None:
    n_classes = data.draw(st.sampled_from([2, 2, 3, 4]))
    rows = random_rows(
        data.draw(st.integers(0, 2**32)), data.draw(st.integers(1, 80)), n_classes, 30
    )
    given_weights = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=len(rows), max_size=len(rows))
    )
    class_weight = data.draw(st.sampled_from([None, "auto", "balanced"]))
    normalize = data.draw(st.sampled_from([False, "l2", "auto"]))
    params = {**draw_params(data), "update": data.draw(st.sampled_from(["max_score", "uniform"]))}
    weights = row_weights([code for _, code in rows], n_classes, given_weights, class_weight)
    prepared = [(unit(x), code) for x, code in rows] if normalize else rows
    expected = max_cells.learn(prepared, n_classes, weights, **params)
    assume(expected["closest_call"] > 1e-4)

    selector = ss.SOFS(**params, normalize=normalize, class_weight=class_weight).start(
        classes=range(n_classes)
    )
    block = block_of(rows, given_weights)
    selector.partial_fit_block(block)
    assert selector.mistakes_ == expected["mistakes"]
    assert_agrees(selector, expected)
    if any(weights):
        wanted = [sofs.predict(expected, x) for x, _ in prepared]
        np.testing.assert_allclose(
            selector.learner.results.predictor().score(block).reshape(len(rows), -1),
            wanted,
            **CLOSE,
        )


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_shared_cells_agree_with_the_oracle_for_numbers(data: Any) -> None:
    codes = random_rows(data.draw(st.integers(0, 2**32)), data.draw(st.integers(1, 80)), 2, 30)
    rows = [(x, float(np.float32(sum(x.values()) + 3 * code))) for x, code in codes]
    weights = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=len(rows), max_size=len(rows))
    )
    normalize = data.draw(st.sampled_from([False, "l2", "auto"]))
    params = {**draw_params(data), "loss": data.draw(st.sampled_from(["squared", "huber"]))}
    prepared = [(unit(x), y) for x, y in rows] if normalize else rows
    expected = max_cells.learn_numbers(prepared, weights, **params)
    assume(expected["closest_call"] > 1e-4)

    selector = ss.SOFSRegressor(**params, normalize=normalize).start()
    block = block_of(rows, weights)
    selector.partial_fit_block(block)
    assert_agrees(selector, expected)
    if any(weights):
        wanted = [sofs_regressor.predict(expected, x) for x, _ in prepared]
        np.testing.assert_allclose(
            selector.learner.results.predictor().score(block), wanted, **CLOSE
        )


CLOSE = {"rtol": 1e-3, "atol": 1e-4}  # cells are float32


def draw_params(data: Any) -> dict[str, Any]:
    return {
        "n_features_to_select": data.draw(st.integers(1, 8)),
        "max_cells": data.draw(st.sampled_from([1, 7, 64])),
        "fit_intercept": data.draw(st.booleans()),
        "gamma": data.draw(st.sampled_from(["auto", 0.5, 2.0])),
        "forget": data.draw(st.sampled_from([None, 10.0, 3.7])),
    }


def assert_agrees(selector: Any, expected: dict[str, Any]) -> None:
    state = selector.learner.memory.state
    ids, weights, scores = selector.learner.kept_by_state(state)
    assert set(ids.tolist()) == set(expected["weights"])
    assert selector.updates_ == expected["updates"]
    for j, vector, score in zip(ids.tolist(), weights, scores.tolist(), strict=True):
        np.testing.assert_allclose(vector, expected["weights"][j], **CLOSE)
        np.testing.assert_allclose(score, expected["scores"][j], **CLOSE)
    np.testing.assert_allclose(selector.learner.rule.bias(state), expected["bias"], **CLOSE)
    n_vectors = weights.shape[1]
    excess, shadows = state.cells[:, -2 * n_vectors :: 2], state.cells[:, 1 - 2 * n_vectors :: 2]
    np.testing.assert_allclose(
        np.hstack([shadows, excess * state.scale[0]]), expected["cells"], **CLOSE
    )


def test_a_table_forgets_what_is_removed_and_nothing_else() -> None:
    random = np.random.default_rng(0)
    ids, table = np.full(20, -1, np.int64), np.zeros(64, np.int32)
    ids[:] = np.arange(20)
    fill_table(table, ids, ids.size)
    for new in range(20, 3000):
        slot = int(random.integers(20))
        remove(table, ids, int(ids[slot]))
        ids[slot] = new
        table[probe(table, ids, new)] = slot + 1
        assert [table[probe(table, ids, int(feature))] - 1 for feature in ids] == list(range(20))
        assert np.count_nonzero(table) == 20


def test_enough_cells_learn_what_exact_memory_learns() -> None:
    X, y = sparse_stream()
    exact = ss.SOFS(7, normalize="l2").fit(X, y)
    shared = ss.SOFS(7, max_cells=2**20).fit(X, y)
    assert learned(shared) == learned(exact)


@pytest.mark.parametrize("labels", [2, 4])
def test_saved_in_the_middle_it_goes_on_as_if_never_interrupted(
    tmp_path: Path, labels: int
) -> None:
    rows = random_rows(3, 400, labels, 300)
    block = block_of(rows)
    straight = ss.SOFS(7, max_cells=64, forget=20.0, curve=True).start(classes=range(labels))
    straight.partial_fit_block(block)
    halves = ss.SOFS(7, max_cells=64, forget=20.0, curve=True).start(classes=range(labels))
    halves.partial_fit_block(block.rows(0, 137)).save(tmp_path / "model")
    loaded = ss.load(tmp_path / "model").partial_fit_block(block.rows(137, 400))
    actual, expected = loaded.model().arrays, straight.model().arrays
    assert actual.keys() == expected.keys()
    assert all(actual[name].tobytes() == expected[name].tobytes() for name in expected)


def test_ids_of_a_file_may_be_as_large_as_files_allow(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 3:1 90000000000000001:2\n-1 3:-1 7:0.5 90000000000000001:-2\n" * 20)
    selector = ss.SOFS(2, max_cells=16).fit_source(ss.open_source(path))
    assert selector.selection().indices.tolist() == [2, 90_000_000_000_000_000]
    assert selector.get_support(indices=True).tolist() == [2, 90_000_000_000_000_000]
    with pytest.raises(ss.UsageError, match=r"get_support\(indices=True\)"):
        selector.get_support()
    assert selector.coef_.shape == (1, 90_000_000_000_000_001)
    block = next(ss.open_source(path).row_blocks())
    assert (
        selector.learner.results.predictor()
        .labels(selector.learner.results.predictor().score(block))
        .tolist()
        == [1, -1] * 20
    )


FLAT = """
import resource
import numpy as np
import streamsieve as ss
from streamsieve.blocks import RowBlock

def block(first):
    ids = np.arange(first, first + 100_000) * 9_000_000_000
    y = np.arange(1000) % 2
    return RowBlock(np.arange(0, 100_001, 100), ids, np.ones(100_000, np.float32), y, 2**62)

selector = ss.SOFS(50, max_cells=2**10).start(classes=[0, 1])
for part in range(30):
    selector.partial_fit_block(block(part * 100_000))
    if part == 9:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
sizes = sum(array.nbytes for array in selector.model().arrays.values())
print(grown, sizes)
"""


def test_memory_does_not_grow_with_the_number_of_ids() -> None:
    """Exact memory of two million more ids takes 16 MB for their cells and as much for ids."""
    done = subprocess.run([sys.executable, "-c", FLAT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    grown, size = map(int, done.stdout.split())
    assert grown < 2_000  # KiB
    assert size < 2**10 * 8 + 50 * 100 + 2000


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_cells": 0}, "max_cells=0: must be None or an integer from 1"),
        ({"max_cells": 2.5}, "max_cells=2.5: must be None or an integer from 1"),
        ({"max_cells": True}, "max_cells=True: must be None or an integer from 1"),
        (
            {"max_cells": 8, "criterion": "confidence"},
            "criterion='confidence': must be 'snr' with max_cells",
        ),
        (
            {"max_cells": 8, "normalize": "standard"},
            "normalize='standard': must be 'auto', 'l2' or False with max_cells",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], message: str) -> None:
    X, y = sparse_stream()
    with pytest.raises(ValueError, match=message):
        ss.SOFS(7, **params).fit(X, y)


def test_more_cells_than_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_memory, "available_memory", lambda: 1000)
    with pytest.raises(ss.UsageError, match="max_cells=1000 needs"):
        ss.SOFS(7, max_cells=1000).start(classes=[0, 1])


def test_models_with_shared_cells_are_not_merged() -> None:
    X, y = sparse_stream()
    base = ss.SOFS(7, max_cells=64).start(classes=[-1, 1]).model().copy()
    parts = [ss.SOFS(7, max_cells=64).partial_fit(X, y, classes=[-1, 1]).model() for _ in range(2)]
    with pytest.raises(ss.UsageError, match="models with max_cells cannot be merged"):
        merge_models(base, parts)
    with pytest.raises(ss.UsageError, match="models with max_cells cannot be merged"):
        SOFS.load(base).start_shard(2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by_name", [False, True])
def test_a_changed_array_is_refused_or_harmless(by_name: bool) -> None:
    X, y = sparse_stream(rows=60)
    rows = as_dictionaries(X) if by_name else X
    model = ss.SOFS(3, max_cells=16).partial_fit(rows, y, classes=[-1, 1]).model()
    assert refused_changes(model, rows, y) > 3 * len(model.arrays)


@pytest.mark.parametrize("cells", [None, 1, 15, 17, 2**40])
def test_a_model_with_another_number_of_cells_than_it_says_is_refused(cells: int | None) -> None:
    X, y = sparse_stream()
    model = ss.SOFS(3, max_cells=16).fit(X, y).model().copy()
    model.params["max_cells"] = cells
    with pytest.raises(ss.DataError, match="damaged"):
        SOFS.load(model)


def test_a_kept_feature_without_a_name_or_kept_twice_is_refused() -> None:
    X, y = sparse_stream()
    model = ss.SOFS(3, max_cells=16).fit(as_dictionaries(X), y).model()
    nameless, twice, below = model.copy(), model.copy(), model.copy()
    nameless.arrays["named_ids"][0] += 1
    twice.arrays["state.member_id"][:2] = twice.arrays["state.member"][:2] = twice.arrays[
        "state.member"
    ][0]
    below.arrays["state.cells"][3, 0] = -1.0
    for hostile, message in (
        (nameless, "has no name"),
        (twice, "kept twice"),
        (below, "a precision below its start"),
    ):
        with pytest.raises(ss.DataError, match=message):
            SOFS.load(hostile)
