"""AROW with diagonal covariance over all features (SOFS without truncation).

P1 (Wu, Hoi, Mei, Yu 2017), equation 8, many classes as in its section 3.6. Gaps closed:
- Many classes take the max-score update; of equal best rivals the class of lowest code counts.
- Mistakes, intercept and row weights are those of SOFS.
- ``weights`` are those of every feature of a learned row; the budget takes no part in learning.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .pet import Row, adds_up, lead, nearer, scores
from .sofs import directions


def learn(
    rows: list[Row],
    n_classes: int = 2,
    weights: list[float] | None = None,
    constants: list[float] | None = None,
    *,
    n_features_to_select: int | None = None,
    gamma: float = 1.0,
) -> dict[str, Any]:
    classes = range(1 if n_classes == 2 else n_classes)
    mu: dict[int, list[float]] = {}
    precision: dict[int, list[float]] = {}
    bias = [0.0 for _ in classes]
    bias_precision = [1.0 for _ in classes]
    mistakes = updates = 0
    closest_call = float("inf")

    for t, (x, code) in enumerate(rows):
        v = 1.0 if weights is None else weights[t]
        z = 0.0 if constants is None else constants[t]
        if v == 0:
            continue

        score = scores(mu, bias, x, z)
        ahead = lead(score, code, n_classes)
        closest_call = nearer(closest_call, ahead, 0.0, tie_is_real=adds_up(mu, bias, x, z))
        mistakes += ahead <= 0

        a, call = directions(score, code, n_classes, "max_score")
        closest_call = min(closest_call, call)
        margin = 0.0
        for c in classes:
            margin += a[c] * score[c]
        closest_call = nearer(closest_call, margin, 1.0, tie_is_real=False)
        loss = max(0.0, 1 - margin)
        if loss == 0:
            continue
        updates += 1

        for j in x:
            mu.setdefault(j, [0.0 for _ in classes])
            precision.setdefault(j, [1.0 for _ in classes])
        spread = 0.0
        for j in sorted(x):
            for c in classes:
                spread += a[c] ** 2 * (1 / precision[j][c]) * x[j] ** 2
        for c in classes:
            spread += a[c] ** 2 * (1 / bias_precision[c]) * z**2
        beta = 1 / (spread + gamma / v)
        for c in classes:
            for j in x:
                mu[j][c] += loss * beta * a[c] * (1 / precision[j][c]) * x[j]
                precision[j][c] += a[c] ** 2 * x[j] ** 2 / (gamma / v)
            bias[c] += loss * beta * a[c] * (1 / bias_precision[c]) * z
            bias_precision[c] += a[c] ** 2 * z**2 / (gamma / v)

    final = {}
    for j in mu:
        total = 0.0
        for c in classes:
            total += mu[j][c] ** 2 * precision[j][c]
        final[j] = sqrt(total)
    return {
        "weights": mu,
        "bias": bias,
        "scores": final,
        "mistakes": mistakes,
        "updates": updates,
        "closest_call": closest_call,
    }
