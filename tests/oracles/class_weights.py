"""How much a row counts: its own weight times that of its class, which goes by how many rows of each class came so far.

Gaps closed:
- A class has one row more than were seen of it, so that every class always has some; the row itself is counted.
- A row of weight 0 was never there: it is not counted.
"""

from __future__ import annotations

from math import sqrt


def row_weights(
    codes: list[int],
    n_classes: int,
    given: list[float] | None = None,
    class_weight: str | None = None,
) -> list[float]:
    """``class_weight`` is None, "balanced" (n / (C n_c)) or "auto" (half of that, rooted, and at least 1)."""
    counts = [1 for _ in range(n_classes)]
    weights = []
    for t, code in enumerate(codes):
        own = 1.0 if given is None else given[t]
        if own == 0:
            weights.append(0.0)
            continue
        counts[code] += 1
        balanced = sum(counts) / (n_classes * counts[code])
        by_class = {None: 1.0, "balanced": balanced, "auto": max(1.0, sqrt(balanced / 2))}[
            class_weight
        ]
        weights.append(own * by_class)
    return weights
