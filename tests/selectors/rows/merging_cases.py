"""Small models that learned different rows, and what they have, for the tests of merging."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from streamsieve.blocks import RowBlock, dense_block
from streamsieve.kernels.rows.members import MISTAKES, UPDATES
from streamsieve.kernels.rows.second_order import SecondOrderState
from streamsieve.kernels.rows.signal import SignalState
from streamsieve.model import Model
from streamsieve.registry import find_method, merge_models
from streamsieve.state import arrays_of
from tests.oracles import merging as oracle

Row = tuple[dict[int, float], float]

N_FEATURES = 12
NUMBERS = 0  # classes of a target of numbers
COUNTS = ("rows", "nonzeros", "mistakes", "updates")


def block_of(rows: list[Row], width: int = N_FEATURES, dense: bool = False) -> RowBlock:
    """Return rows as a block."""
    y = np.array([answer for _, answer in rows])
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
    """Return rows of a few features each.

    The first features are related to the class or the number.
    """
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for _ in range(n):
        answer = int(random.integers(n_classes)) if n_classes else 5.0 + float(random.normal())
        level = answer - 0.5 if n_classes else answer - 5.0
        ids = random.choice(N_FEATURES, random.integers(1, 6), replace=False).tolist()
        rows.append(({j: float(random.normal(level * (j < 4))) for j in ids}, answer))
    return rows


def first_rows(n_classes: int) -> list[Row]:
    """Return rows without values, from which only the centre of a numeric target is learned: 5."""
    return [] if n_classes else [({}, 4.0 + 2.0 * (row % 2)) for row in range(32)]


def start_model(
    cls: Any, n_classes: int = 2, width: int | None = N_FEATURES, dense: bool = False, **params: Any
) -> Model:
    """Return a model that knows its classes, or the centre of its numbers."""
    learner = cls.make(**{"n_features_to_select": 5, "normalize": False, **params})
    learner.start(width, range(n_classes) if n_classes else None)
    return continue_learning(learner.model(), first_rows(n_classes), width or 1, dense).model()


def continue_learning(
    model: Model,
    rows: list[Row],
    width: int = N_FEATURES,
    dense: bool = False,
    row_multiplier: int = 1,
) -> Any:
    """Return a learner that continues from a model with some rows, as one of several parts.

    The model does not change.
    """
    learner: Any = find_method(model.method).load(model.copy()).start_shard(row_multiplier)
    return learner.partial_fit_block(block_of(rows, width, dense)) if rows else learner


def merge(base: Model, parts: list[Any], divisor: float | None = None) -> Any:
    """Return the learner of the merged model."""
    model = merge_models(base, [part.model() for part in parts], divisor)
    return find_method(model.method).load(model)


def contents(learner: Any) -> dict[str, Any]:
    """Return what a learner has learned, feature by feature, in the form of the oracle.

    It is read from the arrays one by one.
    """
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
            gains = np.atleast_1d(state.excess[-1 - flag]).tolist()
            weight[j] = np.atleast_1d(state.weight[-1 - flag]).tolist()
        else:
            numbers = (entries.view(np.float32) if entries.dtype == np.int32 else entries).tolist()
            if isinstance(state, SecondOrderState):  # a bound, then class by class
                per_class = (len(numbers) - 1) // n_vectors
                numbers = numbers[1::per_class] + (numbers[2::2] if per_class == 2 else [])
            gains, weight[j] = numbers[:n_vectors], numbers[n_vectors:] or [0.0] * n_vectors
        precision[j] = [1.0 + gain * scale for gain in gains]
    precision[oracle.INTERCEPT] = (1.0 + state.bias[:, 1] * scale).tolist()
    weight[oracle.INTERCEPT] = state.bias[:, 0].tolist()
    error_scale = state.usual.tolist() if isinstance(state, SignalState) else [0.0, 0.0]
    counts = (
        learner.results.n_rows_,
        learner.results.n_nonzero_,
        *state.counts[[MISTAKES, UPDATES]].tolist(),
    )
    return {
        "precision": precision,
        "weight": weight,
        "usual": error_scale,
        **dict(zip(COUNTS, counts, strict=True)),
    }


def assert_close(actual: dict[str, Any], expected: dict[str, Any], tolerance: float) -> None:
    """Check that two contents are equal; a feature in only one has precision 1 and weight 0."""
    for name, start in (("precision", 1.0), ("weight", 0.0)):
        for j in actual[name].keys() | expected[name].keys():
            absent = [start] * len(actual[name][oracle.INTERCEPT])
            ours, theirs = actual[name].get(j, absent), expected[name].get(j, absent)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(actual["usual"], expected["usual"], rtol=tolerance)
    assert [actual[name] for name in COUNTS] == [expected[name] for name in COUNTS]


def assert_same(a: Any, b: Any, tolerance: float) -> None:
    """Check that two learners have learned the same."""
    assert_close(contents(a), contents(b), tolerance)
    assert a.results.selection().indices.tolist() == b.results.selection().indices.tolist()
    np.testing.assert_allclose(
        a.results.selection().scores, b.results.selection().scores, rtol=tolerance
    )
    targets = (arrays_of(learner.memory.target.state()) for learner in (a, b))
    for ours, theirs in zip(*(arrays.values() for arrays in targets), strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=max(tolerance, 1e-12), atol=max(tolerance, 1e-12)
        )
