"""Small random streams for the checks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from streamsieve.targets import Kind

ROWS, FEATURES, BUDGET = 300, 40, 7


def sparse_stream(
    kind: Kind = "classes", seed: int = 0, rows: int = ROWS, features: int = FEATURES
) -> tuple[Any, NDArray[np.float64]]:
    """Return sparse rows on a coarse grid of values, so that there are many ties, and a target.

    Labels or numbers depend on some of the columns.
    """
    random = np.random.default_rng(seed)
    dense = random.integers(-4, 5, (rows, features)) / 4.0
    dense[random.random((rows, features)) < 0.7] = 0
    hidden = random.standard_normal(features) * (np.arange(features) % 3 == 0)
    numbers = dense @ hidden + 0.1 * random.standard_normal(rows)
    return csr_array(dense), (
        3.0 + numbers if kind == "numbers" else np.where(numbers > 0, 1.0, -1.0)
    )
