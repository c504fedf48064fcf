"""Every method against its oracle, the slow and obvious version, on hundreds of random streams."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamsieve.blocks import RowBlock
from streamsieve.estimators import estimator_class
from streamsieve.registry import METHODS

Row = tuple[dict[int, float], int]

# On a grid of quarters and powers of two every key is exact, so ties are real ties and selections must be equal.
VALUES = st.integers(-8, 8).filter(bool).map(lambda quarters: quarters / 4)
ROWS = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 11), VALUES, max_size=8), st.sampled_from([-1, 1])),
    min_size=1,
    max_size=40,
)
PARAMS = {
    "sofs": st.fixed_dictionaries(
        {
            "n_features_to_select": st.integers(1, 8),
            "gamma": st.sampled_from([0.25, 0.5, 1.0, 2.0]),
            "criterion": st.just("confidence"),
        }
    ),
}


def block_of(rows: list[Row]) -> RowBlock:
    ids = [sorted(x) for x, _ in rows]
    return RowBlock(
        np.cumsum([0, *map(len, ids)]),
        np.array([j for row in ids for j in row], np.int32),
        np.array([x[j] for (x, _), row in zip(rows, ids, strict=True) for j in row], np.float32),
        np.array([y for _, y in rows]),
        12,
    )


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=400, deadline=None)
@given(data=st.data(), rows=ROWS)
def test_selector_agrees_with_its_oracle(method: str, data: Any, rows: list[Row]) -> None:
    params = data.draw(PARAMS[method])
    expected = import_module(f"tests.oracles.{method.replace('-', '_')}").learn(rows, **params)
    assume(expected["closest_call"] > 1e-9)
    selector = estimator_class(method)(**params).start(12, [-1, 1]).partial_fit_block(block_of(rows))
    ids, weights, scores = selector._kept(selector._state)
    assert sorted(ids.tolist()) == sorted(expected["weights"])
    assert (selector.mistakes_, selector.updates_) == (expected["mistakes"], expected["updates"])
    np.testing.assert_allclose(weights, [expected["weights"][j] for j in ids.tolist()], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scores, [expected["scores"][j] for j in ids.tolist()], rtol=1e-6)
