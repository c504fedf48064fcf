"""Weights of rows: the given weight times a class weight from the rows of each class so far.

Gaps closed:
- Each class counts one row more than seen, so that no count is 0; the row itself is counted.
- A row of weight 0 is ignored: it is not counted.
"""

from __future__ import annotations

from math import sqrt


def row_weights(
    codes: list[int],
    n_classes: int,
    given: list[float] | None = None,
    class_weight: str | None = None,
) -> list[float]:
    """Return the weights of rows in order.

    ``class_weight`` is None, "balanced" (n / (C n_c)) or "auto" (the square root of half of that,
    at least 1).
    """
    counts = [1 for _ in range(n_classes)]
    weights = []
    for t, code in enumerate(codes):
        weight = 1.0 if given is None else given[t]
        if weight == 0:
            weights.append(0.0)
            continue
        counts[code] += 1
        balanced = sum(counts) / (n_classes * counts[code])
        class_factor = {None: 1.0, "balanced": balanced, "auto": max(1.0, sqrt(balanced / 2))}[
            class_weight
        ]
        weights.append(weight * class_factor)
    return weights
