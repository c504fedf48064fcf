"""AROW for numeric targets, with diagonal covariance, over all features.

Crammer, Kulesza, Dredze 2009; for regression Vaits, Crammer 2011.

Every row is learned. With e the residual y - c0 - b z - mu.x: mu_j += e S_j x_j / (x'Sx + gamma),
where the sum includes the intercept, and 1/S_j += x_j^2 / gamma.

Gaps closed:
- c0 is as for SOFS: the median of the first 1, 2, 4, ..., 32 targets; the last median is used from
  the start.
- The intercept is a feature of value ``constants[row]``. Row weights are as for SOFS: gamma / v in
  place of gamma.
- ``weights`` are those of every feature seen; the budget takes no part in learning.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from .sofs_regressor import NumericRow, Values, center, first_targets


def learn(
    rows: list[NumericRow],
    weights: list[float] | None = None,
    constants: list[float] | None = None,
    *,
    n_features_to_select: int | None = None,
    gamma: float = 1.0,
) -> dict[str, Any]:
    if weights is None:
        weights = [1.0] * len(rows)
    c0 = center(first_targets([y for (_, y), v in zip(rows, weights, strict=True) if v != 0]))
    mu: Values = {}
    precision: Values = {}
    bias, bias_precision = 0.0, 1.0
    updates = 0
    predictions = []
    squared_error = 0.0

    for t, (x, y) in enumerate(rows):
        z = 0.0 if constants is None else constants[t]
        if weights[t] == 0:
            continue
        updates += 1
        gamma_t = gamma / weights[t]
        for j in x:
            mu.setdefault(j, 0.0)
            precision.setdefault(j, 1.0)

        score = bias * z
        spread = z**2 / bias_precision
        for j in sorted(x):
            score += mu[j] * x[j]
            spread += x[j] ** 2 / precision[j]
        e = y - c0 - score
        predictions.append(c0 + score)
        squared_error += e**2

        beta = 1 / (spread + gamma_t)
        for j in x:
            mu[j] += e * beta * x[j] / precision[j]
            precision[j] += x[j] ** 2 / gamma_t
        bias += e * beta * z / bias_precision
        bias_precision += z**2 / gamma_t

    return {
        "weights": {j: [mu[j]] for j in mu},
        "bias": [bias],
        "center": c0,
        "precisions": precision,
        "bias_precision": bias_precision,
        "scores": {j: abs(mu[j]) * sqrt(precision[j]) for j in mu},
        "predictions": predictions,  # of each row before it was learned, of weight above 0
        "squared_error": squared_error,  # of these predictions
        "updates": updates,
        "closest_call": float("inf"),
    }
