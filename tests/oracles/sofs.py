"""SOFS for two classes, from algorithm 6 of Wu, Hoi, Mei, Yu (2017), with its gaps closed.

The heap starts empty and fills freely; entering is strict; of equally confident members the one of highest id goes.
"""

from __future__ import annotations

from typing import Any


def learn(
    rows: list[tuple[dict[int, float], int]], n_features_to_select: int, gamma: float = 1.0, **_: Any
) -> dict[str, Any]:
    mu: dict[int, float] = {}  # the kept features
    sigma_inverse: dict[int, float] = {}
    mistakes = updates = 0
    closest_call = float("inf")  # how near a decision came to going the other way by rounding alone
    for x, y in rows:
        margin = y * sum(mu.get(j, 0.0) * x[j] for j in sorted(x))
        closest_call = min(closest_call, abs(margin - 1), abs(margin) if margin else float("inf"))
        mistakes += margin <= 0
        loss = max(0.0, 1 - margin)
        if loss == 0:
            continue
        updates += 1
        sigma = {j: 1 / sigma_inverse.get(j, 1.0) for j in x}
        beta = 1 / (sum(sigma[j] * x[j] ** 2 for j in x) + gamma)
        step = {j: loss * beta * y * sigma[j] * x[j] for j in x}
        for j in x:
            sigma_inverse[j] = sigma_inverse.get(j, 1.0) + x[j] ** 2 / gamma
            if j in mu:
                mu[j] += step[j]
        outsiders = [j for j in sorted(x) if j not in mu]
        for j in outsiders:
            if len(mu) < n_features_to_select:
                mu[j] = step[j]
                continue
            least = min(mu, key=lambda member: (sigma_inverse[member], -member))
            if sigma_inverse[j] > sigma_inverse[least]:
                del mu[least]
                mu[j] = step[j]
    return {
        "weights": mu,
        "scores": {j: sigma_inverse[j] for j in mu},
        "mistakes": mistakes,
        "updates": updates,
        "closest_call": closest_call,
    }
