"""A hundred million features in a separate process: memory is 4 or 8 bytes each, and the blocks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from streamsieve.blocks import RowBlock
from streamsieve.machine import resident_memory
from streamsieve.registry import find_method

FEATURES = 100_000_000
SLACK = 0.06 * FEATURES  # times the bytes per feature: what stretching an array may leave unused
BLOCKS = 60_000_000  # bytes: some rows in flight, a table that gave way to plain arrays
SWAPPED = 8_000_000  # features: 64 MB or more if all were touched
FIRST_ROWS = 60 << 22  # bytes: the first rows, of about 2^22 values, and a pass over their columns

LEARN = """
import sys
import numpy as np
from streamsieve.blocks import RowBlock
from streamsieve.machine import peak_memory
from streamsieve.selectors.rows.sofs import SOFS

features, criterion, widths = int(sys.argv[1]), sys.argv[2], sys.argv[3]
learner = SOFS.make(100, criterion=criterion).start(features if widths == "declared" else None)
random = np.random.default_rng(0)
for number in range(101):
    width = features * max(1, number) // 100 if widths == "rising" else features
    ids = np.unique(random.integers(0, width, 100_000 if number else 10)).astype(np.int32)
    ones = np.ones(ids.size, np.float32)
    block = RowBlock(np.array([0, ids.size]), ids, ones, np.array([number % 2]), width)
    learner.partial_fit_block(block)
    if number == 0:
        before = peak_memory()
assert learner.memory.addresses.direct
print(learner.n_features_in_, peak_memory() - before)
"""


@pytest.mark.parametrize(
    ("criterion", "bytes_per_feature", "widths"),
    [
        pytest.param("confidence", 4, "declared", marks=pytest.mark.slow),
        pytest.param("snr", 8, "declared", marks=pytest.mark.slow),
        pytest.param("confidence", 4, "met", marks=pytest.mark.slow),
        pytest.param("snr", 8, "rising", marks=pytest.mark.slow),
    ],
)
def test_peak_memory_at_a_hundred_million_features(
    criterion: str, bytes_per_feature: int, widths: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEARN, str(FEATURES), criterion, widths],
        check=True,
        capture_output=True,
        text=True,
    )
    seen, peak = map(int, done.stdout.split())
    assert seen == FEATURES
    assert peak <= bytes_per_feature * (FEATURES + SLACK) + BLOCKS + FIRST_ROWS


@pytest.mark.parametrize("method", ["sofs", "arow", "ogd", "fobos"])
def test_swapping_the_classes_touches_no_memory_of_features_that_never_came(method: str) -> None:
    learner = find_method(method).make(5, normalize=False).start(SWAPPED)
    row = RowBlock(
        np.array([0, 3]),
        np.array([0, 7, SWAPPED - 1]),
        np.ones(3, np.float32),
        np.array([1]),
        SWAPPED,
    )
    learner.partial_fit_block(row)
    before, score = resident_memory(), learner.results.predictor().score(row)
    empty = {"indptr": np.zeros(2, np.int64), "indices": row.indices[:0], "values": row.values[:0]}
    learner.partial_fit_block(row.derived(**empty, y=np.array([2])))
    assert learner.results.classes_.tolist() == [1, 2]
    assert np.sign(learner.results.predictor().score(row)) == -np.sign(score)
    assert resident_memory() - before < 4 * SWAPPED
