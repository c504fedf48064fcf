"""Recovery after an abrupt change, in which informative features become noise.

    python benchmarks/drift.py

A stream of 40,000 rows with 200 sparse features, 10 of them informative; after 20,000 rows 10
others are. Accuracy is online, in windows; "right" counts how many of the 10 kept features are
informative at the end of the window. SOFS (Wu, Hoi, Mei, Yu 2017) by the paper's criterion, with an
intercept, and with its defaults.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import streamsieve as ss

RULES: dict[str, dict[str, Any]] = {
    "confidence": {
        "criterion": "confidence",
        "gamma": 1.0,
        "normalize": False,
        "class_weight": None,
    },
    "defaults": {},
}
ROWS, FEATURES, INFORMATIVE, WINDOW = 40_000, 200, 10, 4_000


def stream(seed: int = 0) -> tuple[Any, NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    dense = random.standard_normal((ROWS, FEATURES)) * (random.random((ROWS, FEATURES)) < 0.2)
    hidden = random.uniform(0.5, 1.5, INFORMATIVE)
    half = ROWS // 2
    score = np.concatenate(
        [dense[:half, :INFORMATIVE] @ hidden, dense[half:, -INFORMATIVE:] @ hidden]
    )
    return csr_array(dense.astype(np.float32)), np.where(
        score + 0.1 * random.standard_normal(ROWS) > 0, 1.0, -1.0
    )


def main() -> None:
    X, y = stream()
    print(
        "rows so far            "
        + "".join(f"{end:>16,}" for end in range(WINDOW, ROWS + 1, WINDOW))
    )
    for rule, form in RULES.items():
        for forget in (None, 2000):
            selector = ss.SOFS(INFORMATIVE, **form, forget=forget)
            cells, before = [], 0
            for start in range(0, ROWS, WINDOW):
                selector.partial_fit(
                    X[start : start + WINDOW], y[start : start + WINDOW], classes=[-1, 1]
                )
                kept = selector.selection().indices
                right = (
                    kept < INFORMATIVE if start < ROWS // 2 else kept >= FEATURES - INFORMATIVE
                ).sum()
                accuracy = 1 - (selector.mistakes_ - before) / WINDOW
                before = selector.mistakes_
                cells.append(f"{accuracy:>7.1%} {right:>2} right".rjust(16))
            print(f"{rule:<11}forget {forget!s:<5}" + "".join(cells))
    for rule, form in RULES.items():
        times = {}
        for forget in (None, 2000):
            selector = ss.SOFS(INFORMATIVE, **form, forget=forget)
            times[forget] = min(timed(selector, X, y) for _ in range(5))
        print(
            f"{rule}: learning takes {times[None]:.3f} s without and {times[2000]:.3f} s with"
            " forgetting"
        )


def timed(selector: Any, X: Any, y: Any) -> float:
    start = time.perf_counter()
    selector.fit(X, y)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
